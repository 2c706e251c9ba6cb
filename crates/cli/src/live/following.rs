//! The reports of a query, or the changes of an answer, one after the other, over connections that break and come back.
//!
//! ```text
//! connect --> read events --> reports, in the order of their numbers
//!    ^            | broken, silent for longer than the server ever is, or the server ended
//!    '-- pause <--'   a quarter of a second, doubled each time up to 15 s, or what the server asks for
//! ```
//!
//! A new connection says which report was seen last (`Last-Event-ID`), so none comes twice and none is left out without
//! being said: what the server does not keep any more is a [`Heard::Missed`], and where numbers begin again
//! (a query of the same name on a server that was started anew) that is a [`Heard::Anew`]. Changes of a live query are
//! counted here; where the server does not know any more what was seen, the whole answer comes again.
//!
//! The first connection is not tried twice, unless the server says that it is starting: an address that is wrong shows at
//! once. So does what is larger than any that is taken, since it would be as large the next time.

use super::events::{EVENT_BYTES_MAX, EventReader, ServerEvent};
use super::order::Order;
use crate::endpoint::{Endpoint, Refusal, ReportBytes};
use crate::exit::Code;
use crate::stop::Stop;
use crate::text::{Form, form, is_ordered};
use crate::trouble::Trouble;
use serde_json::Value;
use std::collections::VecDeque;
use std::io::Read;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// The first pause before a new connection, and the longest.
const PAUSE: Duration = Duration::from_millis(250);
const PAUSE_MAX: Duration = Duration::from_secs(15);
/// A server says something every 15 s; one that is silent for so long is gone.
const SILENCE_MAX: Duration = Duration::from_secs(45);
/// How long a connection may take until its answer begins.
const CONNECT_MAX: Duration = Duration::from_secs(20);
/// How often whoever pauses looks whether to stop.
const LOOK: Duration = Duration::from_millis(25);
const READ_BYTES: usize = 64 << 10;

/// How long the first answer of a live query may take: as long as its server lets it.
const ANSWER_MAX: Duration = Duration::from_mins(10);

/// What is followed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Followed {
    /// The reports of the registered query of this name.
    Registered(String),
    /// The answer of this query, and how it changes.
    Live(String),
}

/// What is heard of a query.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Heard {
    /// A report, or the answer of a live query or a change of it.
    Report {
        /// Its number; how many came with it, of a live query.
        number: u64,
        /// It, as one line of JSON.
        line: String,
    },
    /// So many reports before the next one are not kept any more (count).
    Missed(u64),
    /// The next report is not behind the last one: numbers begin again.
    Anew,
    /// The connection broke.
    Broken {
        /// Why.
        why: String,
        /// When it is tried again.
        pause: Duration,
        /// Whether there was a connection at all.
        was_there: bool,
    },
    /// There is a connection again.
    Back,
    /// The query was dropped, says the server.
    Gone(String),
    /// The server does not know the query any more: it was started anew.
    Unknown(String),
    /// A live query has ended: its time, its memory, or its server's wish.
    Ended(Trouble),
    /// Nothing until the time that was given.
    Nothing,
}

/// Follows the reports of a query.
pub struct Following {
    endpoint: Endpoint,
    followed: Followed,
    /// The number of the last report.
    seen: u64,
    /// The id of the last event of a live query.
    last_id: Option<String>,
    patience: Patience,
    connection: Option<Connected>,
    heard: VecDeque<Heard>,
    was_connected: bool,
    pause: Duration,
    /// When to connect again.
    resume_at: Option<Instant>,
    /// When the time for all of it is over.
    deadline: Option<Instant>,
}

struct Connected {
    bytes: ReportBytes,
    events: EventReader,
    heard_at: Instant,
}

/// Until when the connection is waited for; shared with the thread that speaks.
#[derive(Clone)]
struct Patience {
    stop: Stop,
    until: Arc<Mutex<Instant>>,
}

impl Patience {
    fn set(&self, until: Instant) {
        *self.until.lock().unwrap_or_else(PoisonError::into_inner) = until;
    }

    fn is_over(&self) -> bool {
        let until = *self.until.lock().unwrap_or_else(PoisonError::into_inner);
        self.stop.is_raised() || Instant::now() >= until
    }
}

impl Following {
    /// Follows a query behind the report with number `seen`, a live one from its answer. Nothing is asked yet.
    pub fn new(endpoint: Endpoint, followed: Followed, seen: u64, stop: &Stop) -> Following {
        Following {
            // The body is the subscription, and has no end.
            endpoint: endpoint.without_limit(),
            followed,
            seen,
            last_id: None,
            patience: Patience {
                stop: stop.clone(),
                until: Arc::new(Mutex::new(Instant::now())),
            },
            connection: None,
            heard: VecDeque::new(),
            was_connected: false,
            pause: PAUSE,
            resume_at: None,
            deadline: None,
        }
    }

    /// The same, until then and no longer: [`Heard::Nothing`] is heard afterwards.
    #[must_use]
    pub fn until(self, deadline: Option<Instant>) -> Following {
        Following { deadline, ..self }
    }

    /// Begins again with the whole answer of a live query.
    pub fn ask_anew(&mut self) {
        self.last_id = None;
        self.connection = None;
        self.heard.clear();
    }

    /// What to call it.
    pub fn title(&self) -> &str {
        match &self.followed {
            Followed::Registered(name) => name,
            Followed::Live(_) => "answer",
        }
    }

    /// The order of the rows of a live query; `None` where it orders none.
    pub fn order(&self) -> Option<Order> {
        match &self.followed {
            Followed::Live(text) if form(text) == Some(Form::Select) && is_ordered(text) => {
                let (endpoint, text) = (self.endpoint.clone(), text.clone());
                Some(Order::of(endpoint, text, &self.patience.stop))
            }
            Followed::Live(_) | Followed::Registered(_) => None,
        }
    }

    /// Whether the changes of an answer come, and no reports.
    pub fn is_live(&self) -> bool {
        matches!(self.followed, Followed::Live(_))
    }

    /// The number of the last report that was heard of and given, or after which it began.
    pub fn seen(&self) -> u64 {
        let waiting = self.heard.iter().find_map(|heard| match heard {
            Heard::Report { number, .. } => Some(number.saturating_sub(1)),
            _ => None,
        });
        waiting.unwrap_or(self.seen)
    }

    /// Whether more was heard already.
    pub fn has_more(&self) -> bool {
        !self.heard.is_empty()
    }

    /// Follows a query of this name from its beginning: it was registered anew.
    pub fn begin_again(&mut self, query: String) {
        self.followed = Followed::Registered(query);
        self.seen = 0;
        self.connection = None;
        self.resume_at = None;
    }

    /// The next that is heard; waits for it until then. Fails where stopped, and where trying again makes no sense.
    pub fn next(&mut self, until: Instant) -> Result<Heard, Trouble> {
        loop {
            if let Some(heard) = self.heard.pop_front() {
                return Ok(heard);
            }
            if self.patience.stop.is_raised() {
                return Err(Trouble::new(Code::Interrupted, ""));
            }
            if self.is_over() {
                return Ok(Heard::Nothing);
            }
            if self.connection.is_some() {
                if !self.listen(until)? {
                    return Ok(Heard::Nothing);
                }
                continue;
            }
            match self.resume_at.filter(|resume| Instant::now() < *resume) {
                Some(_) if Instant::now() >= until => return Ok(Heard::Nothing),
                Some(resume) => {
                    let left = resume.min(until) - Instant::now().min(resume.min(until));
                    std::thread::sleep(left.min(LOOK));
                }
                None => self.connect()?,
            }
        }
    }

    fn connect(&mut self) -> Result<(), Trouble> {
        let until = Instant::now() + self.connect_max();
        self.patience
            .set(self.deadline.map_or(until, |deadline| until.min(deadline)));
        let patience = self.patience.clone();
        let is_stopped = move || patience.is_over();
        let (endpoint, last_id) = (&self.endpoint, self.last_id.as_deref());
        let is_first = !self.was_connected;
        let asked = match &self.followed {
            Followed::Registered(name) => endpoint.reports(name, (self.seen, is_first), is_stopped),
            Followed::Live(text) => endpoint.changes(text, (last_id, is_first), is_stopped),
        };
        let refusal = match asked {
            Ok(bytes) => {
                self.connection = Some(Connected {
                    bytes,
                    events: EventReader::default(),
                    heard_at: Instant::now(),
                });
                if self.resume_at.take().is_some() {
                    self.heard.push_back(Heard::Back);
                }
                self.was_connected = true;
                return Ok(());
            }
            Err(refusal) => refusal,
        };
        self.refused(refusal)
    }

    fn connect_max(&self) -> Duration {
        if self.is_live() && self.last_id.is_none() {
            ANSWER_MAX
        } else {
            CONNECT_MAX
        }
    }

    fn is_over(&self) -> bool {
        self.deadline
            .is_some_and(|deadline| Instant::now() >= deadline)
    }

    fn refused(&mut self, refusal: Refusal) -> Result<(), Trouble> {
        let Refusal {
            status,
            pause,
            trouble,
        } = refusal;
        if self.patience.stop.is_raised() {
            return Err(Trouble::new(Code::Interrupted, ""));
        }
        match status {
            None if self.is_over() => Ok(()),
            Some(404) if self.was_connected => {
                self.heard.push_back(Heard::Unknown(trouble.message));
                Ok(())
            }
            Some(429 | 502 | 503 | 504) => {
                self.broken(trouble.message, pause);
                Ok(())
            }
            None if self.was_connected => {
                let why = match trouble.code {
                    // Nobody stopped it: it took too long.
                    Code::Interrupted => {
                        let seconds = self.connect_max().as_secs();
                        format!("{}: no answer within {seconds} s", self.endpoint.url())
                    }
                    _ => trouble.message,
                };
                self.broken(why, None);
                Ok(())
            }
            None if trouble.code == Code::Interrupted => {
                let seconds = self.connect_max().as_secs();
                let message = format!("{}: no answer within {seconds} s", self.endpoint.url());
                Err(Trouble::new(Code::Connection, message))
            }
            _ => Err(trouble),
        }
    }

    fn broken(&mut self, why: String, asked: Option<Duration>) {
        let pause = self.pause.max(asked.unwrap_or_default()).min(PAUSE_MAX);
        self.pause = (self.pause * 2).min(PAUSE_MAX);
        self.connection = None;
        self.resume_at = Some(Instant::now() + pause);
        // Whose connection it is is known; a line of a terminal has no room for it.
        let why = match why.split_once(": ") {
            Some((url, why)) if url.starts_with("http") => why.to_owned(),
            _ => why,
        };
        let was_there = self.was_connected;
        self.heard.push_back(Heard::Broken {
            why,
            pause,
            was_there,
        });
    }

    /// Reads what comes; `false` where nothing did until then.
    fn listen(&mut self, until: Instant) -> Result<bool, Trouble> {
        let connected = self.connection.as_mut().expect("there is a connection");
        let silent_at = connected.heard_at + SILENCE_MAX;
        self.patience.set(until.min(silent_at));
        let mut buffer = vec![0; READ_BYTES];
        let read = connected.bytes.read(&mut buffer);
        let why = match read {
            Ok(0) => "the server has ended the connection".to_owned(),
            Ok(len) => {
                connected.heard_at = Instant::now();
                if connected.events.take(&buffer[..len]).is_err() {
                    // It would be as large the next time.
                    let url = self.endpoint.url();
                    let message =
                        format!("{url}: what comes at once is larger than {EVENT_BYTES_MAX} bytes");
                    return Err(Trouble::new(Code::Limit, message));
                }
                self.take_events();
                return Ok(true);
            }
            Err(error) => {
                let trouble = connected.bytes.take_trouble();
                let is_stopped = trouble
                    .as_ref()
                    .is_some_and(|trouble| trouble.code == Code::Interrupted);
                if !is_stopped {
                    trouble.map_or_else(|| error.to_string(), |trouble| trouble.message)
                } else if Instant::now() >= silent_at {
                    let seconds = SILENCE_MAX.as_secs();
                    format!("nothing was heard of the server for {seconds} s")
                } else {
                    return Ok(self.patience.stop.is_raised());
                }
            }
        };
        self.broken(why, None);
        Ok(true)
    }

    fn take_events(&mut self) {
        let Some(connected) = self.connection.as_mut() else {
            return;
        };
        let mut events = Vec::new();
        while let Some(event) = connected.events.pop() {
            self.pause = PAUSE;
            events.push(event);
        }
        for event in events {
            self.take_event(event);
        }
    }

    fn take_event(&mut self, event: ServerEvent) {
        let member = |name: &str| {
            let data: Value = serde_json::from_str(&event.data).unwrap_or_default();
            data.get(name).cloned().unwrap_or_default()
        };
        match event.name.as_str() {
            "missed" => {
                let count = member("missed").as_u64().unwrap_or(0);
                self.heard.push_back(Heard::Missed(count));
            }
            "ended" => {
                let words = ["detail", "hint"].map(member);
                let words = words.iter().filter_map(Value::as_str);
                let why = words.collect::<Vec<_>>().join("; ");
                let code = match member("limit") {
                    Value::Null => Code::Failed,
                    _ => Code::Limit,
                };
                let message = format!("the live query has ended: {why}");
                self.heard
                    .push_back(Heard::Ended(Trouble::new(code, message)));
                self.connection = None;
            }
            "gone" => {
                let detail = member("detail");
                let detail = detail.as_str().unwrap_or("the query was dropped");
                self.heard.push_back(Heard::Gone(detail.to_owned()));
                self.connection = None;
            }
            "answer" | "difference" => {
                self.last_id = event.id;
                self.seen += 1;
                let (number, line) = (self.seen, event.data);
                self.heard.push_back(Heard::Report { number, line });
            }
            "" => {
                let id = event.id.as_ref().and_then(|id| id.parse().ok());
                let number = id.unwrap_or(self.seen + 1);
                if number <= self.seen {
                    self.heard.push_back(Heard::Anew);
                }
                self.seen = number;
                let line = event.data;
                self.heard.push_back(Heard::Report { number, line });
            }
            // What later versions of the server may say besides.
            _ => {}
        }
    }
}
