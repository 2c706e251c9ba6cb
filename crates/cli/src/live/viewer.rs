//! A subscription as it is watched: reports to a terminal or into a pipe, until enough came, the time is over, or there are
//! none any more.
//!
//! A terminal shows the latest report, or the answer of a live query as it is now, drawn some times a second at most, however many come. A pipe gets each report as a
//! line of JSON with its `number`, each change of an answer as it came; what else there is to say goes to standard error.

use super::following::{Following, Heard};
use super::order::Order;
use super::screen::{LiveScreen, Shown, Size};
use crate::exit::Code;
use crate::say::say;
use crate::trouble::Trouble;
use std::io::{self, Write};
use std::time::{Duration, Instant};

/// The least time between two frames.
const FRAME: Duration = Duration::from_millis(50);
/// How long nothing is heard before it is looked whether the terminal has another size.
const LOOK: Duration = Duration::from_millis(500);

/// Where reports go.
pub enum View<'w> {
    /// To a terminal.
    Screen(LiveScreen<'w>, Box<Shown>),
    /// Into a pipe or a file.
    Lines(Box<dyn Write + 'w>),
}

impl<'w> View<'w> {
    /// A terminal.
    pub fn screen(output: Box<dyn Write + 'w>, prefixes: Vec<(String, String)>) -> View<'w> {
        let shown = Shown {
            prefixes,
            ..Shown::default()
        };
        View::Screen(LiveScreen::new(output), Box::new(shown))
    }
}

/// Why a subscription has ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum End {
    /// So many reports came as were wanted.
    Counted,
    /// The time is over; so many reports came (count).
    Late(u64),
    /// The query was dropped.
    Gone(String),
    /// The server does not know the query any more.
    Unknown(String),
    /// The last report that can come has come; so many came (count).
    Out(u64),
}

/// Watches a subscription.
pub struct Watch<'w> {
    /// Whose reports come.
    pub following: Following,
    view: View<'w>,
    /// How many reports are wanted; `None`: all.
    count: Option<u64>,
    /// When the time is over.
    deadline: Option<Instant>,
    /// The number of the last report that can come; `None`: more can always come.
    last: Option<u64>,
    came: u64,
    drawn_at: Option<Instant>,
    is_stale: bool,
    /// Of the rows of a live query that orders them.
    order: Option<Order>,
}

impl<'w> Watch<'w> {
    /// Watches so many reports at most, and not for longer than until then.
    pub fn new(
        following: Following,
        view: View<'w>,
        count: Option<u64>,
        deadline: Option<Instant>,
    ) -> Watch<'w> {
        let order = match view {
            View::Screen(..) => following.order(),
            View::Lines(_) => None,
        };
        Watch {
            following: following.until(deadline),
            view,
            count,
            deadline,
            last: None,
            came: 0,
            drawn_at: None,
            is_stale: true,
            order,
        }
    }

    /// Watches no longer than until the report of this number: nobody makes more.
    #[must_use]
    pub fn until(self, last: Option<u64>) -> Watch<'w> {
        Watch { last, ..self }
    }

    /// Watches until the end. The terminal is in order afterwards, whatever the end is.
    pub fn run(&mut self) -> Result<End, Trouble> {
        let end = self.watch();
        let drawn = self.draw(end.is_ok());
        let left = match &mut self.view {
            View::Screen(screen, _) => screen.leave(),
            View::Lines(output) => output.flush(),
        };
        let end = end?;
        drawn.and(left)?;
        Ok(end)
    }

    fn watch(&mut self) -> Result<End, Trouble> {
        loop {
            if self.count.is_some_and(|count| self.came >= count) {
                return Ok(End::Counted);
            }
            if self.last.is_some_and(|last| self.following.seen() >= last) {
                return Ok(End::Out(self.came));
            }
            let now = Instant::now();
            if self.deadline.is_some_and(|deadline| now >= deadline) {
                return Ok(End::Late(self.came));
            }
            self.draw(false)?;
            let heard = self.following.next(self.wait_until(now))?;
            match heard {
                Heard::Report { number, line } => self.report(number, line)?,
                Heard::Missed(count) => self.missed(count),
                Heard::Anew => self.note("the server was started anew: numbers begin again"),
                Heard::Broken {
                    why,
                    pause,
                    was_there,
                } => {
                    let seconds = pause.as_secs_f64();
                    let what = if was_there {
                        "the connection broke"
                    } else {
                        "not yet"
                    };
                    self.note(&format!("{what}; trying again in {seconds} s: {why}"));
                }
                Heard::Back => self.note("the connection is there again"),
                Heard::Ended(trouble) => return Err(trouble),
                Heard::Gone(why) => return Ok(End::Gone(why)),
                Heard::Unknown(why) => return Ok(End::Unknown(why)),
                Heard::Nothing => {}
            }
        }
    }

    /// Until when to wait for more.
    fn wait_until(&self, now: Instant) -> Instant {
        let is_asked = self.order.as_ref().is_some_and(Order::is_awaited);
        let look = match (&self.view, self.drawn_at) {
            _ if is_asked => now + FRAME,
            (View::Screen(..), Some(drawn)) if self.is_stale => drawn + FRAME,
            _ => now + LOOK,
        };
        self.deadline.map_or(look, |deadline| deadline.min(look))
    }

    fn report(&mut self, number: u64, line: String) -> io::Result<()> {
        self.came += 1;
        match &mut self.view {
            View::Screen(_, shown) => {
                shown.note.clear();
                if !self.following.is_live() {
                    shown.report = Some((number, line));
                } else if let Err(why) = shown.answer.take(&line) {
                    shown.note = format!("asking anew, because what came does not fit: {why}");
                    self.following.ask_anew();
                } else if let Some(order) = &mut self.order {
                    order.want();
                }
                self.is_stale = true;
                Ok(())
            }
            View::Lines(output) => {
                if self.following.is_live() {
                    writeln!(output, "{line}")?;
                } else {
                    writeln!(output, "{}", numbered(number, &line))?;
                }
                if self.following.has_more() {
                    return Ok(());
                }
                output.flush()
            }
        }
    }

    fn missed(&mut self, count: u64) {
        if let View::Screen(_, shown) = &mut self.view {
            shown.missed += count;
            self.is_stale = true;
        } else {
            say!("somersault: {count} reports are not kept any more and were missed");
        }
    }

    fn note(&mut self, words: &str) {
        if let View::Screen(_, shown) = &mut self.view {
            words.clone_into(&mut shown.note);
            self.is_stale = true;
        } else {
            say!("somersault: {words}");
        }
    }

    /// Draws, if it is time to.
    fn draw(&mut self, is_last: bool) -> io::Result<()> {
        let View::Screen(screen, shown) = &mut self.view else {
            return Ok(());
        };
        let now = Instant::now();
        if let Some(order) = &mut self.order {
            if let Some(answer) = order.poll() {
                shown.answer.arrange(answer);
                self.is_stale = true;
            }
            if order.is_coming() && !is_last {
                return Ok(());
            }
        }
        let passed = self.drawn_at.map(|drawn| now - drawn);
        let is_due = match passed {
            None => true,
            Some(passed) if self.is_stale => is_last || passed >= FRAME,
            Some(passed) => passed >= LOOK,
        };
        if is_due {
            self.following.title().clone_into(&mut shown.query);
            shown.is_live = self.following.is_live();
            screen.draw(shown, Size::of_terminal())?;
            (self.drawn_at, self.is_stale) = (Some(now), false);
        }
        Ok(())
    }
}

impl End {
    /// What it means for whoever wanted so many reports.
    pub fn outcome(self, count: Option<u64>) -> Result<(), Trouble> {
        match (self, count) {
            (End::Counted, _) | (End::Late(_) | End::Out(_), None) => Ok(()),
            (End::Out(came), Some(count)) => {
                let message =
                    format!("{came} of {count} reports are there, and nobody pushes to the store");
                Err(Trouble::new(Code::Limit, message))
            }
            (End::Late(came), Some(count)) => {
                let message = format!("{came} of {count} reports came in the time");
                Err(Trouble::new(Code::Limit, message))
            }
            (End::Gone(why) | End::Unknown(why), _) => {
                let message = format!("there are no more reports: {why}");
                Err(Trouble::new(Code::Failed, message))
            }
        }
    }
}

/// A report's line with its number.
fn numbered(number: u64, line: &str) -> String {
    match line.strip_prefix('{') {
        Some(rest) => format!("{{\"number\":{number},{rest}"),
        None => line.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_have_their_numbers() {
        assert_eq!(numbered(7, "{\"close\":5}"), "{\"number\":7,\"close\":5}");
    }

    #[test]
    fn ends_are_exit_codes() {
        assert_eq!(End::Counted.outcome(Some(2)), Ok(()));
        assert_eq!(End::Late(1).outcome(None), Ok(()));
        let late = End::Late(1).outcome(Some(2)).unwrap_err();
        assert_eq!(late.code, Code::Limit);
        assert_eq!(late.message, "1 of 2 reports came in the time");
        assert_eq!(End::Out(1).outcome(None), Ok(()));
        let out = End::Out(1).outcome(Some(2)).unwrap_err();
        assert_eq!(out.code, Code::Limit);
        let gone = End::Gone("dropped".to_owned()).outcome(None).unwrap_err();
        assert_eq!(gone.code, Code::Failed);
    }
}
