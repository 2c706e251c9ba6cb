//! A push: batches of lines to a stream, at the pace of the server and of the items.
//!
//! **Back-pressure.** A server that has no room takes nothing of a batch and says so (429, 503). The batch is sent again
//! after the pause that the server names; where it is the stream's budget that is full, half of the lines are sent at once
//! from then on, and with each batch that gets in an eighth more, so that batches find their size. Meanwhile nothing is
//! read: the source waits too.
//!
//! **What is wrong.** Malformed lines are left out by the server, which says where they are in what it was sent; here that
//! becomes the line of the file. Where one line keeps the whole batch from being taken (a time that is days ahead), the
//! batch is cut until that line stands alone. A connection that breaks ends the push: whether the last batch was
//! taken is not known, and a line that is sent twice is an item twice. Where the source counts its items, it is sent again:
//! what is there already is passed over. So it is where the server's disk is full (507).

use super::items::{ItemLines, ItemsInput};
use super::time::now_ms;
use crate::endpoint::{Delivery, Endpoint, Taken};
use crate::exit::Code;
use crate::progress::Meter;
use crate::say::say;
use crate::stop::Stop;
use crate::trouble::Trouble;
use serde_json::{Value, json};
use std::time::{Duration, Instant};

/// The pause where the server names none, and the longest that is kept to.
const PAUSE: Duration = Duration::from_secs(1);
const PAUSE_MAX: Duration = Duration::from_mins(1);
/// How long a connection that has broken is tried again where items are counted, unless somebody says otherwise.
const RECONNECT_MAX: Duration = Duration::from_mins(1);
/// How often whoever waits looks whether to stop.
const LOOK: Duration = Duration::from_millis(25);
/// Lines that were not taken and are said one by one (count).
const SAID_MAX: u64 = 100;
/// How a server begins to say that no line of a batch is an item; what follows is of the first.
const NONE_IS_ONE: &str = "no item of the body is well formed: ";
/// Lines that were found by cutting batches (count), after which the push ends: it would go on with a request a line.
const CUT_MAX: u64 = 100;

/// The time of items that bring none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ItemTime {
    /// Nobody says.
    Unsaid,
    /// This one (milliseconds).
    At(u64),
    /// That of the clock when they are sent.
    Now,
}

/// What has become of the items.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PushAccount {
    /// Items that were taken (count).
    pub taken: u64,
    /// Items that came too late for any window (count).
    pub late: u64,
    /// Lines that are no items (count).
    pub rejected: u64,
    /// Whether some of them are none for want of a time.
    pub needs_time: bool,
    /// Items that were there already (count).
    pub known: u64,
    /// Positions that the source left out (count).
    pub missing: u64,
    /// What is before this is decided (milliseconds); as the server said last.
    pub sealed_ms: Option<u64>,
    /// Items that are in the log (count), or the position behind them where the source counts them; `None`: the server keeps
    /// no log.
    pub durable: Option<u64>,
    /// The position that the source's next item has, where it counts them.
    pub position: Option<u64>,
    /// Bytes of the batches that were taken.
    pub bytes: u64,
    /// How long the server had no room.
    pub waited: Duration,
    /// The time of the latest item (milliseconds).
    pub latest_ms: Option<u64>,
}

/// How items are sent.
#[derive(Clone, Debug)]
pub struct PushOptions {
    /// The stream's IRI.
    pub stream: String,
    /// Whose items they are.
    pub source: Option<String>,
    /// The position of the first item, where the source counts them.
    pub position: Option<u64>,
    /// The time of items that bring none.
    pub time: ItemTime,
    /// The predicate of triples that say the times of items.
    pub time_predicate: Option<String>,
    /// How many times as fast as their own time; `None`: as fast as can be.
    pub speed: Option<f64>,
    /// How long to wait for room; `None`: without end.
    pub patience: Option<Duration>,
}

/// Pushes items.
pub struct Pusher<'p> {
    endpoint: &'p Endpoint,
    options: PushOptions,
    stop: &'p Stop,
    meter: Meter,
    account: PushAccount,
    /// When the first item was sent that has a time, and that time (milliseconds).
    origin: Option<(Instant, u64)>,
    /// How many lines are sent at once; as many as there are until the stream's budget was full.
    lines_max: usize,
    /// Lines that were found by cutting batches (count).
    cut: u64,
    /// Whether anything was taken.
    has_been_heard: bool,
}

impl<'p> Pusher<'p> {
    /// Nothing is sent yet.
    pub fn new(endpoint: &'p Endpoint, options: PushOptions, stop: &'p Stop) -> Pusher<'p> {
        Pusher {
            endpoint,
            options,
            stop,
            meter: Meter::new("push", None),
            account: PushAccount::default(),
            origin: None,
            lines_max: usize::MAX,
            cut: 0,
            has_been_heard: false,
        }
    }

    /// Sends the items of an input until its end.
    pub fn input(&mut self, input: &mut ItemsInput) -> Result<(), Trouble> {
        while let Some(lines) = input.next_lines(self.stop)? {
            if self.options.speed.is_none() {
                self.send(input, lines)?;
            } else {
                self.send_paced(input, lines)?;
            }
        }
        Ok(())
    }

    /// The source promises that nothing before this will come; without a time, nothing up to the last item's.
    pub fn promise(&mut self, watermark_ms: Option<u64>) -> Result<(), Trouble> {
        let last = self.account.latest_ms.map(|last| last.saturating_add(1));
        let Some(watermark_ms) = watermark_ms.or(last) else {
            let message = "--watermark: no item has brought a time; say which: --watermark=MS";
            return Err(Trouble::new(Code::Usage, message));
        };
        let delivery = Delivery {
            watermark_ms: Some(watermark_ms),
            source: self.options.source.clone(),
            ..Delivery::default()
        };
        let mut pausing = None;
        loop {
            match self.push(&delivery, Vec::new())? {
                Taken::Whole(account) => {
                    self.count(&account, 0);
                    return Ok(());
                }
                Taken::Later {
                    pause,
                    is_full,
                    trouble,
                } => {
                    self.wait(pause, is_full, &trouble, &mut pausing)?;
                }
                Taken::Refused(trouble) | Taken::Never(trouble) => return Err(trouble),
            }
        }
    }

    /// What has become of the items so far.
    pub fn account(&self) -> &PushAccount {
        &self.account
    }

    /// The end, with the account of the whole.
    pub fn finish(self) -> PushAccount {
        let account = self.account;
        let details = json!({
            "late": account.late,
            "rejected": account.rejected,
            "known": account.known,
            "missing": account.missing,
            "durable": account.durable,
            "sealed": account.sealed_ms,
            "settled": account.sealed_ms,
            "position": account.position,
            "waited_seconds": account.waited.as_secs_f64(),
        });
        let is_for_people = self.meter.is_for_people();
        self.meter.finish(account.bytes, account.taken, &details);
        if is_for_people {
            say_progress(&account);
        }
        account
    }

    /// Sends lines when they are due.
    fn send_paced(&mut self, input: &ItemsInput, mut lines: ItemLines) -> Result<(), Trouble> {
        loop {
            let form = input.form();
            let ahead = lines.lines().enumerate().find_map(|(place, line)| {
                let due = self.due(form.time_of(line)?);
                (due > Instant::now()).then_some((place, due))
            });
            let Some((place, due)) = ahead else {
                return self.send(input, lines);
            };
            let (now, later) = lines.split(place);
            self.send(input, now)?;
            self.sleep_until(due)?;
            lines = later;
        }
    }

    /// When an item of this time is to be sent.
    fn due(&mut self, time_ms: u64) -> Instant {
        let (begun, origin_ms) = *self.origin.get_or_insert_with(|| (Instant::now(), time_ms));
        let passed = Duration::from_millis(time_ms.saturating_sub(origin_ms));
        let speed = self.options.speed.unwrap_or(f64::INFINITY);
        let wait = Duration::try_from_secs_f64(passed.as_secs_f64() / speed);
        // What is due in a lifetime is due never.
        begun
            + wait
                .unwrap_or(Duration::MAX)
                .min(Duration::from_hours(1 << 20))
    }

    /// Sends lines, in parts where the server takes no more at once.
    fn send(&mut self, input: &ItemsInput, lines: ItemLines) -> Result<(), Trouble> {
        let mut pausing = None;
        let mut parts = vec![lines];
        while let Some(part) = parts.pop() {
            let len = part.len();
            if len == 0 {
                continue;
            }
            if len > self.lines_max {
                let (first, behind) = part.split(self.lines_max);
                parts.push(behind);
                parts.push(first);
                continue;
            }
            let delivery = self.delivery(input);
            let taken = self.push(&delivery, part.bytes().to_vec());
            let taken = match taken {
                Err(trouble) if self.may_be_sent_again(&trouble) => Taken::Later {
                    pause: None,
                    is_full: false,
                    trouble,
                },
                taken => taken.map_err(|trouble| lost(input, &part, &trouble))?,
            };
            match taken {
                Taken::Whole(account) => {
                    went_on(&mut pausing);
                    self.has_been_heard = true;
                    if len == self.lines_max {
                        self.lines_max = len.saturating_add(len / 8 + 1);
                    }
                    self.count(&account, part.bytes().len() as u64);
                    self.say_rejections(input, &part, &account);
                }
                Taken::Later {
                    pause,
                    is_full,
                    trouble,
                } => {
                    let waited = self.wait(pause, is_full, &trouble, &mut pausing);
                    waited.map_err(|trouble| lost(input, &part, &trouble))?;
                    if is_full {
                        self.lines_max = (len / 2).max(1);
                    }
                    parts.push(part);
                }
                Taken::Refused(trouble) => self.refused(input, part, &trouble, &mut parts)?,
                Taken::Never(trouble) => return Err(not_taken(input, &part, &trouble)),
            }
        }
        Ok(())
    }

    /// A part of which nothing was taken because of what is in it.
    fn refused(
        &mut self,
        input: &ItemsInput,
        part: ItemLines,
        trouble: &Trouble,
        parts: &mut Vec<ItemLines>,
    ) -> Result<(), Trouble> {
        // With a place: none of the lines is an item, and the place is that of the first.
        let Some(position) = trouble.position else {
            let len = part.len();
            if len > 1 {
                let (first, behind) = part.split(len / 2);
                parts.push(behind);
                parts.push(first);
                return Ok(());
            }
            self.cut += 1;
            if self.cut > CUT_MAX {
                return Err(lost(input, &part, trouble));
            }
            self.pass(input, &part);
            self.reject(input, part.first_line, None, &trouble.message);
            return Ok(());
        };
        self.pass(input, &part);
        let message = trouble
            .message
            .strip_prefix(NONE_IS_ONE)
            .unwrap_or(&trouble.message);
        let first = (message.to_owned(), position);
        let said = trouble.further.len() as u64 + 1;
        for (message, position) in std::iter::once(&first).chain(&trouble.further) {
            let line = part.first_line + position.line.saturating_sub(1);
            self.reject(input, line, Some(position.column), message);
        }
        self.account.rejected += part.items().max(said) - said;
        Ok(())
    }

    /// The positions of a part of which nothing was taken.
    fn pass(&mut self, input: &ItemsInput, part: &ItemLines) {
        if let Some(position) = &mut self.options.position {
            *position += input.form().items_in(part);
        }
    }

    /// Whether a part whose connection broke is sent again: nothing of it is taken twice.
    fn may_be_sent_again(&self, trouble: &Trouble) -> bool {
        let is_counted = self.options.position.is_some();
        is_counted && self.has_been_heard && trouble.code == Code::Connection
    }

    fn delivery(&self, input: &ItemsInput) -> Delivery {
        Delivery {
            media_type: input.form().media_type(),
            source: self.options.source.clone(),
            position: self.options.position,
            time_predicate: self.options.time_predicate.clone(),
            time_ms: match self.options.time {
                ItemTime::Unsaid => None,
                ItemTime::At(ms) => Some(ms),
                ItemTime::Now => Some(now_ms()),
            },
            watermark_ms: None,
        }
    }

    fn push(&self, delivery: &Delivery, items: Vec<u8>) -> Result<Taken, Trouble> {
        let stream = &self.options.stream;
        self.endpoint.push(stream, delivery, items, self.stop)
    }

    fn count(&mut self, account: &Value, bytes: u64) {
        let number = |name: &str| account.get(name).and_then(Value::as_u64);
        let counts = [
            ("taken", &mut self.account.taken),
            ("late", &mut self.account.late),
            ("rejected", &mut self.account.rejected),
            ("known", &mut self.account.known),
            ("missing", &mut self.account.missing),
        ];
        for (name, count) in counts {
            *count += number(name).unwrap_or(0);
        }
        let account = &mut self.account;
        account.sealed_ms = number("sealed").or(account.sealed_ms);
        account.durable = match number("position") {
            Some(_) => number("durable"),
            None => number("durable").map(|more| more + account.durable.unwrap_or(0)),
        };
        account.latest_ms = number("latest").max(account.latest_ms);
        account.position = number("position").or(account.position);
        if let (Some(position), Some(more)) = (&mut self.options.position, number("positions")) {
            *position += more;
        }
        self.account.bytes += bytes;
        self.meter.update(self.account.bytes, self.account.taken);
    }

    fn say_rejections(&mut self, input: &ItemsInput, part: &ItemLines, account: &Value) {
        let listed = account.get("rejections").and_then(Value::as_array);
        let listed = listed.map(Vec::as_slice).unwrap_or_default();
        let before = self.account.rejected;
        // They were counted with the others of this part.
        self.account.rejected = before.saturating_sub(listed.len() as u64);
        for rejection in listed {
            let number = |name: &str| rejection.get(name).and_then(Value::as_u64);
            let message = rejection.get("message").and_then(Value::as_str);
            let line = part.first_line + number("line").unwrap_or(1).saturating_sub(1);
            self.reject(input, line, number("column"), message.unwrap_or_default());
        }
    }

    /// Counts a line that was not taken, and says it.
    fn reject(&mut self, input: &ItemsInput, line: u64, column: Option<u64>, message: &str) {
        self.account.rejected += 1;
        self.account.needs_time |= message.contains("needs a time");
        let name = input.name();
        let column = column.map_or_else(String::new, |column| format!(", column {column}"));
        if self.account.rejected <= SAID_MAX {
            say!("rejected: {name}, line {line}{column}: {message}");
        } else if self.account.rejected == SAID_MAX + 1 {
            say!("rejected: more lines, which are only counted");
        }
    }

    /// Waits before the same is sent again.
    fn wait(
        &mut self,
        pause: Option<Duration>,
        is_full: bool,
        trouble: &Trouble,
        pausing: &mut Option<Pausing>,
    ) -> Result<(), Trouble> {
        let now = Instant::now();
        let is_broken = trouble.code == Code::Connection;
        let Pausing { since, .. } = *pausing.get_or_insert_with(|| {
            let what = match (is_broken, is_full) {
                (true, _) => "trying again",
                (false, true) => "waiting for room",
                (false, false) => "waiting",
            };
            say!("{what}: {}", trouble.message);
            Pausing {
                since: now,
                is_broken,
            }
        });
        let mut until = now + pause.unwrap_or(PAUSE).min(PAUSE_MAX);
        let patience = self.options.patience;
        if let Some(patience) = patience.or(is_broken.then_some(RECONNECT_MAX)) {
            if now >= since + patience {
                let seconds = patience.as_secs_f64();
                let (code, what) = match (is_broken, is_full) {
                    (true, _) => (Code::Connection, "no connection"),
                    (false, true) => (Code::Limit, "no room"),
                    (false, false) => (Code::Limit, "nothing was taken"),
                };
                let message = format!("{what} for {seconds} s: {}", trouble.message);
                return Err(Trouble::new(code, message));
            }
            until = until.min(since + patience);
        }
        self.sleep_until(until)?;
        self.account.waited += now.elapsed();
        Ok(())
    }

    fn sleep_until(&self, until: Instant) -> Result<(), Trouble> {
        loop {
            if self.stop.is_raised() {
                return Err(Trouble::new(Code::Interrupted, "cancelled"));
            }
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Ok(());
            }
            std::thread::sleep(left.min(LOOK));
        }
    }
}

/// Since when nothing is taken, and why.
#[derive(Clone, Copy, Debug)]
struct Pausing {
    since: Instant,
    is_broken: bool,
}

/// Says that it goes on, where it did not.
fn went_on(pausing: &mut Option<Pausing>) {
    if let Some(Pausing { since, is_broken }) = pausing.take() {
        let seconds = since.elapsed().as_secs_f64();
        let what = if is_broken { "a connection" } else { "room" };
        say!("there is {what} again, after {seconds:.1} s");
    }
}

/// Says how far items have come.
fn say_progress(account: &PushAccount) {
    if account.known > 0 {
        match account.known {
            1 => say!("1 item was there already"),
            known => say!("{known} items were there already"),
        }
    }
    match (account.durable, account.position) {
        (Some(durable), Some(_)) => say!("items before position {durable} are durable"),
        (Some(1), None) => say!("1 item is durable"),
        (Some(durable), None) => say!("{durable} items are durable"),
        (None, _) => say!("the server keeps no log: what it has taken ends with it"),
    }
    if let Some(sealed) = account.sealed_ms {
        say!(
            "everything before {} is sealed",
            super::time::moment(sealed)
        );
    }
}

/// A failure that ends the push, with how far it came.
fn lost(input: &ItemsInput, part: &ItemLines, trouble: &Trouble) -> Trouble {
    ended(input, part, "was not taken, or nobody knows", trouble)
}

/// The same, where nothing of a part was taken.
fn not_taken(input: &ItemsInput, part: &ItemLines, trouble: &Trouble) -> Trouble {
    ended(input, part, "was not taken", trouble)
}

fn ended(input: &ItemsInput, part: &ItemLines, how: &str, trouble: &Trouble) -> Trouble {
    let (name, line) = (input.name(), part.first_line);
    let message = format!(
        "{name}: what begins with line {line} {how}: {}",
        trouble.message
    );
    Trouble::new(trouble.code, message)
}
