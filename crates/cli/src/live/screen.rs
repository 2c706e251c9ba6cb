//! The latest report, or the answer of a live query, as a table on a terminal, drawn anew in its place.
//!
//! ```text
//! likes  report 17  2026-11-26 02:06:06.000Z  12 rows
//! ┌─────┬───────┐
//! │ who │ likes │
//! ...
//! … 4 more rows
//! the connection broke; trying again in 2.0 s: ...
//! ```
//!
//! The cursor stays below the last line, and to draw again it goes up by as many lines as were drawn: nothing is hidden, no
//! other screen is opened, and no mode of the terminal changed, so whatever ends the process leaves a terminal in order.
//! That holds as long as no line is folded: lines are cut to the width of the terminal, and a frame has fewer of them than
//! the terminal. A terminal of another size than before has folded what was drawn; it is cleared.

use super::answer::LiveAnswer;
use super::report::{Report, Said};
use super::time::moment;
use crate::table::{Style, Table, cut};
use somersault::output::Sink;
use std::fmt::Write as _;
use std::io::{self, Write};

/// Lines of a frame besides rows: the head, four of the table, rows that are left out, what is noted, and one for the
/// cursor.
const OTHER_LINES: usize = 8;

/// The size of a terminal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Size {
    /// Lines.
    pub lines: usize,
    /// Cells in a line.
    pub columns: usize,
}

impl Size {
    /// That of the terminal that standard output is.
    pub fn of_terminal() -> Size {
        let (lines, columns) = console::Term::stdout().size();
        Size {
            lines: usize::from(lines),
            columns: usize::from(columns),
        }
    }
}

/// What is shown.
#[derive(Clone, Debug, Default)]
pub struct Shown {
    /// The query's name.
    pub query: String,
    /// The latest report: its number and its line.
    pub report: Option<(u64, String)>,
    /// Whether it is a live query, which has no reports.
    pub is_live: bool,
    /// Its answer.
    pub answer: LiveAnswer,
    /// Reports that were not kept (count).
    pub missed: u64,
    /// What else there is to say.
    pub note: String,
    /// Prefixes that shorten names, and their IRIs.
    pub prefixes: Vec<(String, String)>,
}

impl Shown {
    /// The lines of a frame, none wider than the terminal and fewer than it has.
    pub fn frame(&self, size: Size) -> Vec<String> {
        let rows_max = size.lines.saturating_sub(OTHER_LINES).max(1);
        let mut head = self.query.clone();
        let mut lines = Vec::new();
        match &self.report {
            None => match self.answer.title() {
                None => head.push_str(self.nothing_yet()),
                Some(title) => {
                    let _ = write!(head, "  {title}");
                    match self.answer.said(rows_max) {
                        Ok(said) => lines = self.said(said, &mut head, size),
                        Err(why) => lines.push(format!("the answer cannot be read: {why}")),
                    }
                }
            },
            Some((number, line)) => {
                let _ = write!(head, "  report {number}");
                match Report::read(line, rows_max) {
                    Ok(report) => lines = self.body(report, &mut head, size),
                    Err(why) => lines.push(format!("the report cannot be read: {why}")),
                }
            }
        }
        if self.missed > 0 {
            let _ = write!(head, "  ({} missed)", self.missed);
        }
        lines.insert(0, head);
        if !self.note.is_empty() {
            lines.push(self.note.clone());
        }
        // A terminal of few lines shows the beginning.
        lines.truncate(size.lines.saturating_sub(1).max(1));
        let visible = |c: char| if c.is_control() { ' ' } else { c };
        lines
            .into_iter()
            .map(|line| {
                cut(
                    &line.chars().map(visible).collect::<String>(),
                    size.columns.max(2),
                )
            })
            .collect()
    }

    fn nothing_yet(&self) -> &'static str {
        if self.is_live {
            "  none yet"
        } else {
            "  no report yet"
        }
    }

    fn body(&self, report: Report, head: &mut String, size: Size) -> Vec<String> {
        if let Some(close) = report.close_ms {
            let _ = write!(head, "  {}", moment(close));
        }
        let lines = self.said(report.said, head, size);
        if let Some(before) = report.incomplete_before_ms {
            let _ = write!(head, "  (without what came before {})", moment(before));
        }
        lines
    }

    fn said(&self, said: Said, head: &mut String, size: Size) -> Vec<String> {
        match said {
            Said::Failure(why) => vec![format!("it failed: {why}")],
            Said::Boolean(value) => vec![value.to_string()],
            Said::Rows { names, rows, count } => {
                let plural = if count == 1 { "" } else { "s" };
                let _ = write!(head, "  {count} row{plural}");
                let left_out = count - rows.len as u64;
                let style = Style::boxed(size.columns, self.prefixes.clone());
                let mut text = Vec::new();
                let mut table = Table::new(&mut text, style);
                let printed = table
                    .head(&names)
                    .and_then(|()| table.rows(&rows))
                    .and_then(|()| table.finish());
                printed.expect("memory takes everything");
                let text = String::from_utf8_lossy(&text);
                let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
                // How many rows there are stands in the head.
                lines.pop();
                if left_out > 0 {
                    lines.push(format!("… {left_out} more rows"));
                }
                lines
            }
        }
    }
}

/// Draws frames.
pub struct LiveScreen<'w> {
    output: Box<dyn Write + 'w>,
    /// What was drawn last: its lines, and the size of the terminal.
    drawn: Option<(usize, Size)>,
}

impl<'w> LiveScreen<'w> {
    /// Nothing is drawn yet.
    pub fn new(output: Box<dyn Write + 'w>) -> LiveScreen<'w> {
        LiveScreen {
            output,
            drawn: None,
        }
    }

    /// Draws, in the place of what was drawn before.
    pub fn draw(&mut self, shown: &Shown, size: Size) -> io::Result<()> {
        let lines = shown.frame(size);
        let mut text = match self.drawn {
            None => String::new(),
            Some((height, same)) if same == size => format!("\r\x1b[{height}A"),
            Some(_) => "\x1b[2J\x1b[H".to_owned(),
        };
        for line in &lines {
            let _ = write!(text, "{line}\x1b[K\r\n");
        }
        text.push_str("\x1b[J");
        self.output.write_all(text.as_bytes())?;
        self.output.flush()?;
        self.drawn = Some((lines.len(), size));
        Ok(())
    }

    /// Leaves the last frame as it is, with nothing behind it: the terminal has echoed Ctrl-C there.
    pub fn leave(&mut self) -> io::Result<()> {
        if self.drawn.take().is_some() {
            self.output.write_all(b"\r\x1b[J")?;
            self.output.flush()?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use unicode_width::UnicodeWidthStr;

    fn shown(rows: usize) -> Shown {
        let row = |number: usize| {
            format!(
                "{{\"x\":{{\"type\":\"uri\",\"value\":\"http://e/{number}\"}},\
                 \"y\":{{\"type\":\"literal\",\"value\":\"日本語 {}\"}}}}",
                "long ".repeat(number)
            )
        };
        let rows: Vec<String> = (0..rows).map(row).collect();
        let line = format!(
            "{{\"close\":2000,\"query\":\"q\",\"head\":{{\"vars\":[\"x\",\"y\"]}},\"results\":{{\"bindings\":[{}]}}}}",
            rows.join(",")
        );
        Shown {
            query: "q".to_owned(),
            report: Some((17, line)),
            prefixes: vec![("e".to_owned(), "http://e/".to_owned())],
            ..Shown::default()
        }
    }

    fn size(lines: usize, columns: usize) -> Size {
        Size { lines, columns }
    }

    #[test]
    fn a_frame_is_the_report() {
        let expected = "\
q  report 17  2000 ms  2 rows
┌─────┬────────────────┐
│ x   │ y              │
├─────┼────────────────┤
│ e:0 │ \"日本語 \"      │
│ e:1 │ \"日本語 long \" │
└─────┴────────────────┘";
        assert_eq!(shown(2).frame(size(24, 80)).join("\n"), expected);
    }

    #[test]
    fn a_frame_fits_every_terminal() {
        let mut shown = shown(50);
        shown.missed = 3;
        shown.note = "the connection broke\u{1b}[2J ".repeat(10);
        for lines in [1, 2, 5, 9, 24, 100] {
            for columns in [1, 2, 10, 17, 40, 200] {
                let frame = shown.frame(size(lines, columns));
                let width = frame.iter().map(|line| line.width()).max().unwrap();
                assert!(width <= columns.max(2), "{width} in {columns}");
                assert!(frame.len() < lines.max(2), "{} in {lines}", frame.len());
                assert!(frame.iter().all(|line| !line.contains('\u{1b}')));
            }
        }
        let frame = shown.frame(size(24, 80));
        assert!(frame[0].ends_with("50 rows  (3 missed)"), "{}", frame[0]);
        assert!(
            frame.iter().any(|line| line == "… 34 more rows"),
            "{frame:?}"
        );
    }

    #[test]
    fn what_is_no_table_is_said() {
        let mut shown = Shown {
            query: "q".to_owned(),
            ..Shown::default()
        };
        assert_eq!(shown.frame(size(24, 80)), ["q  no report yet"]);
        let mut says = |line: &str| {
            shown.report = Some((1, line.to_owned()));
            shown.frame(size(24, 80))
        };
        assert_eq!(
            says(r#"{"close":5,"query":"q","head":{},"boolean":false}"#),
            ["q  report 1  5 ms", "false"]
        );
        assert_eq!(
            says(r#"{"close":5,"query":"q","error":"out of time"}"#),
            ["q  report 1  5 ms", "it failed: out of time"]
        );
        assert!(says("{")[1].starts_with("the report cannot be read"));
    }

    #[test]
    fn frames_take_each_other_s_place() {
        let mut output = Vec::new();
        let mut screen = LiveScreen::new(Box::new(&mut output));
        screen.draw(&shown(2), size(24, 80)).unwrap();
        screen.draw(&shown(1), size(24, 80)).unwrap();
        screen.draw(&shown(1), size(24, 60)).unwrap();
        screen.leave().unwrap();
        screen.leave().unwrap();
        drop(screen);
        let text = String::from_utf8(output).unwrap();
        let frames: Vec<&str> = text.split_inclusive("\x1b[J").collect();
        assert_eq!(frames.len(), 4, "{text:?}");
        assert!(!frames[0].starts_with('\r') && frames[0].matches("\r\n").count() == 7);
        assert!(frames[1].starts_with("\r\x1b[7A"), "{text:?}");
        assert!(frames[2].starts_with("\x1b[2J\x1b[H"), "{text:?}");
        assert_eq!(frames[3], "\r\x1b[J");
    }
}
