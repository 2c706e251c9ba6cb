//! Items of a stream in the body of a push.
//!
//! | type | an item is | its time |
//! |---|---|---|
//! | `text/plain`, `application/x-nt-ts` | a line of `.nt.ts`: milliseconds, a tab, a statement | that of the line |
//! | `application/x-ndjson`, or one as `application/json` | a line `{"t": MS, "nquads": "..."}`; a line `{"watermark": MS}` is a promise | `t`, else what it says itself, else `time` of the address |
//! | a document of RDF | the whole document, or each graph of it that has a time | what it says itself ([`crate::request::timing`]), else `time` of the address |
//! | none, the body is empty | a heartbeat | `watermark` of the address |
//!
//! A malformed line is rejected alone, with its place, and the others are taken; so is a statement of N-Triples or
//! N-Quads, and an item whose time is none or more than a day ahead. A malformed document in another format is refused, and so is a body of which nothing is well formed. Labels of
//! blank nodes mean the same node within an item.
//!
//! Cost: terms are read into memory of their own, which is drawn on the account of the body before the next is read.

use crate::request::intake::Intake;
use crate::request::parameters::quoted;
use crate::request::timing::{NO_TIME, NO_TIME_HINT, Timed, Timing, no_time, text_bytes};
use crate::response::problem::Problem;
use crate::run::account::BodyAccount;
use serde::Deserialize;
use somersault::terms::format::{Format, ReadError, read_quads};
use somersault::terms::{Quad, QuadRef};
use somersault::{Kind, Live, Position, QueryError, TimedQuads, recorded, statements};
use std::ops::ControlFlow;

/// Rejected lines that an answer lists (count); it says how many there were.
pub(crate) const REJECTIONS_MAX: usize = 100;
/// Bytes that an item and a statement hold besides their texts, about.
const QUAD_BYTES: u64 = 256;

const LINES: [&str; 2] = ["application/x-nt-ts", "text/plain"];
const OBJECTS: [&str; 3] = [
    "application/x-ndjson",
    "application/ndjson",
    "application/jsonl",
];
/// How a body has items.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ItemsForm {
    /// Lines of `.nt.ts`.
    Lines,
    /// Lines of JSON.
    Objects,
    /// One item.
    Document(Format),
}

/// What a push says besides its body.
#[derive(Clone, Debug)]
pub(crate) struct Delivery {
    /// Whose items they are.
    pub source: String,
    /// The time of items that bring none (milliseconds).
    pub time_ms: Option<u64>,
    /// The predicate of the items' own triples that say their times.
    pub time_predicate: Option<String>,
    /// What its source promises after the items (milliseconds).
    pub watermark_ms: Option<u64>,
    /// The position of the first item, where the source counts them.
    pub position: Option<u64>,
}

/// A line that was not taken.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Rejection {
    /// Where it is wrong.
    pub position: Position,
    /// What is wrong.
    pub message: String,
}

/// What a body holds.
#[derive(Debug, Default)]
pub(crate) struct ReadItems {
    /// The items, in their order.
    pub items: Vec<TimedQuads>,
    /// The latest promise of the source (milliseconds).
    pub watermark_ms: Option<u64>,
    /// Lines, statements and graphs that were not taken (count).
    pub rejected: u64,
    /// The first of them.
    pub rejections: Vec<Rejection>,
    /// How many positions of the source the body takes (count): those of its items, and of what would have been items.
    pub positions: u64,
    /// Which of these have no item, from 0, ascending.
    pub unfilled: Vec<u64>,
}

/// The media types that are taken.
pub(crate) fn offered() -> Vec<&'static str> {
    let documents = Format::ALL.iter().map(|format| format.media_type());
    let lines = LINES.into_iter().chain([OBJECTS[0]]);
    lines.chain(documents).collect()
}

impl ItemsForm {
    /// The form of this name, short or a media type; lines of `.nt.ts` where there is none.
    pub fn named(name: Option<&str>) -> Result<ItemsForm, Problem> {
        let Some(name) = name else {
            return Ok(ItemsForm::Lines);
        };
        // A plus that was not encoded has become a blank.
        let name = name.trim().to_ascii_lowercase().replace(' ', "+");
        if let Some((_, form)) = NAMES.iter().find(|(known, _)| *known == name) {
            return Ok(*form);
        }
        if let Some(format) = Format::from_name(&name) {
            return Ok(ItemsForm::Document(format));
        }
        ItemsForm::of(&name).map_err(|_| {
            let short = NAMES.iter().map(|(name, _)| *name);
            let formats = Format::ALL.iter().map(|format| format.name());
            let names: Vec<&str> = short.chain(formats).collect();
            let why = format!(
                "`format` is {}; the formats of items are {}, or their media types",
                quoted(&name),
                names.join(", ")
            );
            Problem::bad_request(why)
        })
    }

    /// The form of a body of this type, which is in lower case.
    pub fn of(media_type: &str) -> Result<ItemsForm, Problem> {
        if LINES.contains(&media_type) {
            return Ok(ItemsForm::Lines);
        }
        if OBJECTS.contains(&media_type) {
            return Ok(ItemsForm::Objects);
        }
        let format = Format::from_media_type(media_type);
        format.map(ItemsForm::Document).ok_or_else(|| {
            let why = format!("`{media_type}` is no type of items");
            Problem::unsupported_media_type(why, offered())
        })
    }
}

/// The short names of forms, besides those of formats of RDF.
pub(crate) const NAMES: [(&str, ItemsForm); 4] = [
    ("nt.ts", ItemsForm::Lines),
    ("nt-ts", ItemsForm::Lines),
    ("ndjson", ItemsForm::Objects),
    ("jsonl", ItemsForm::Objects),
];

/// A line of JSON.
#[derive(Deserialize)]
#[serde(
    deny_unknown_fields,
    expecting = r#"{"t": MS, "nquads": "..."} or {"watermark": MS}"#
)]
struct LineObject {
    t: Option<u64>,
    nquads: Option<String>,
    watermark: Option<u64>,
}

impl Delivery {
    /// The items of a body, which is empty where it has no form. A body of which nothing is well formed is refused.
    pub fn read(
        &self,
        form: Option<ItemsForm>,
        body: &Intake,
        is_arrival_time: bool,
    ) -> Result<ReadItems, Problem> {
        let mut reading = ItemsReading {
            account: &body.account,
            timing: Timing {
                // The edge's clock is the time of such a stream.
                said_ms: self.time_ms.or(is_arrival_time.then_some(0)),
                predicate: self.time_predicate.as_deref(),
                is_arrival: is_arrival_time,
            },
            read: ReadItems {
                watermark_ms: self.watermark_ms,
                ..ReadItems::default()
            },
        };
        match form {
            None if self.watermark_ms.is_none() => {
                let why =
                    "the body is empty: a heartbeat needs `watermark=MILLISECONDS` in the address";
                return Err(Problem::bad_request(why));
            }
            None => {}
            Some(ItemsForm::Lines) => {
                self.refuse_times()?;
                reading.lines(&body.bytes)?;
            }
            Some(ItemsForm::Objects) => reading.objects(&body.bytes)?,
            Some(ItemsForm::Document(format)) => reading.document(format, &body.bytes)?,
        }
        Ok(reading.read)
    }

    /// Lines of `.nt.ts` take no times from elsewhere.
    fn refuse_times(&self) -> Result<(), Problem> {
        let named = match (self.time_ms, &self.time_predicate) {
            (Some(_), _) => "time",
            (None, Some(_)) => "time-predicate",
            (None, None) => return Ok(()),
        };
        let why = format!(
            "`{named}` is for items that bring no time; each line of .nt.ts brings its own"
        );
        Err(Problem::bad_request(why))
    }
}

impl ReadItems {
    /// Refuses a body of which nothing is well formed.
    pub fn or_refused(self) -> Result<ReadItems, Problem> {
        match self.rejections.first() {
            Some(first) if self.items.is_empty() && self.watermark_ms.is_none() => {
                let Rejection { position, message } = first;
                let why = format!("no item of the body is well formed: {message}");
                let also = self.rejections[1..].iter();
                let also = also.map(|rejection| (&*rejection.message, rejection.position));
                let problem = Problem::bad_request(why).at(Some(*position));
                let problem = problem.and_also(also.clone());
                Err(match message.as_str() {
                    NO_TIME => no_time().at(Some(*position)).and_also(also),
                    message if message.starts_with(NO_TIME) => problem.with_hint(NO_TIME_HINT),
                    _ => problem,
                })
            }
            _ => Ok(self),
        }
    }

    /// Notes what is no item, where it is a part of one or nobody counts it.
    pub fn reject(&mut self, position: Position, message: String) {
        self.rejected += 1;
        if self.rejections.len() < REJECTIONS_MAX {
            self.rejections.push(Rejection { position, message });
        }
    }

    /// The same of what would have been an item.
    fn leave_out(&mut self, position: Position, message: String) {
        self.reject(position, message);
        self.unfilled.push(self.positions);
        self.positions += 1;
    }

    fn add(&mut self, item: TimedQuads) {
        self.items.push(item);
        self.positions += 1;
    }
}

/// A body that is being read.
struct ItemsReading<'b> {
    account: &'b BodyAccount,
    timing: Timing<'b>,
    read: ReadItems,
}

impl ItemsReading<'_> {
    fn lines(&mut self, text: &[u8]) -> Result<(), Problem> {
        for (item, line) in recorded(None, text).zip(lines_of_items(text)) {
            let item = item.and_then(|item| Live::check_time(item.time_ms).map(|()| item));
            match item {
                Ok(item) => self.add(item)?,
                Err(error) => {
                    let place = error.position.unwrap_or(Position { line, column: 1 });
                    self.leave_out(place, error.message)?;
                }
            }
        }
        Ok(())
    }

    fn objects(&mut self, text: &[u8]) -> Result<(), Problem> {
        for (place, line) in text.split(|byte| *byte == b'\n').enumerate() {
            if line.trim_ascii().is_empty() {
                continue;
            }
            self.object(line, place as u64 + 1)?;
        }
        Ok(())
    }

    /// One object, which begins on the line of this number.
    fn object(&mut self, text: &[u8], line: u64) -> Result<(), Problem> {
        match item_of(text, self.timing) {
            Ok(Said::Item(item)) => self.add(item),
            Ok(Said::Promise(ms)) => {
                self.read.watermark_ms = self.read.watermark_ms.max(Some(ms));
                Ok(())
            }
            Err((column, message)) => self.leave_out(Position { line, column }, message),
        }
    }

    /// The items of a document. What is malformed of it is left out where the format has lines.
    fn document(&mut self, format: Format, text: &[u8]) -> Result<(), Problem> {
        // What a line of JSON says is no linked data: none of its names is an IRI.
        if format == Format::JsonLd && serde_json::from_slice::<LineObject>(text).is_ok() {
            return self.object(text, 1);
        }
        let quads = if matches!(format, Format::NTriples | Format::NQuads) {
            self.statements(text, format == Format::NQuads)?
        } else {
            self.whole(format, text)?
        };
        if quads.is_empty() && self.read.rejected == 0 && !text.trim_ascii().is_empty() {
            return self.leave_out(BEGINNING, "the document has no statement".to_owned());
        }
        let Timed { items, refused } = self.timing.items(quads);
        for item in items {
            self.read.add(item);
        }
        for why in refused {
            self.leave_out(BEGINNING, why)?;
        }
        Ok(())
    }

    fn statements(&mut self, text: &[u8], has_graphs: bool) -> Result<Vec<Quad>, Problem> {
        let mut quads = Vec::new();
        for statement in statements(text, has_graphs) {
            match statement {
                Ok(quad) => {
                    self.take(quad.as_ref())?;
                    quads.push(quad);
                }
                // A part of an item, which counts for itself.
                Err(error) => self.read.reject(position_of(&error), error.message),
            }
        }
        Ok(quads)
    }

    fn whole(&self, format: Format, text: &[u8]) -> Result<Vec<Quad>, Problem> {
        let (mut quads, mut refused) = (Vec::new(), None);
        let read = read_quads(format, text, None, &mut |quad| match self.take(quad) {
            Ok(()) => {
                quads.push(quad.into_owned());
                ControlFlow::Continue(())
            }
            Err(problem) => {
                refused = Some(problem);
                ControlFlow::Break(())
            }
        });
        if let Some(problem) = refused {
            return Err(problem);
        }
        read.map_err(unread)?;
        Ok(quads)
    }

    fn add(&mut self, item: TimedQuads) -> Result<(), Problem> {
        for quad in &item.quads {
            self.take(quad.as_ref())?;
        }
        self.read.add(item);
        Ok(())
    }

    fn leave_out(&mut self, position: Position, message: String) -> Result<(), Problem> {
        self.account.take(size_of::<u64>() as u64)?;
        self.read.leave_out(position, message);
        Ok(())
    }

    fn take(&self, quad: QuadRef<'_>) -> Result<(), Problem> {
        self.account.take(QUAD_BYTES + text_bytes(quad))
    }
}

/// The numbers of the lines that are items of `.nt.ts`, or should be: neither blank nor a comment.
fn lines_of_items(text: &[u8]) -> impl Iterator<Item = u64> + '_ {
    let lines = text.split(|byte| *byte == b'\n').zip(1..);
    lines.filter_map(|(line, number)| {
        let line = line.trim_ascii();
        (!line.is_empty() && !line.starts_with(b"#")).then_some(number)
    })
}

/// Where a document is wrong of which nobody knows the place.
const BEGINNING: Position = Position { line: 1, column: 1 };

fn position_of(error: &QueryError) -> Position {
    error.position.unwrap_or(BEGINNING)
}

/// What a line of JSON says.
enum Said {
    Item(TimedQuads),
    Promise(u64),
}

/// Reads a line of JSON; else the column of what is wrong, and what it is.
fn item_of(line: &[u8], timing: Timing<'_>) -> Result<Said, (u64, String)> {
    let read: LineObject = serde_json::from_slice(line).map_err(|error| {
        let message = error.to_string();
        // Its line is always the first: the number of this one stands beside it.
        let what = message.split(" at line ").next().unwrap_or_default();
        let what = what.replace("expected u64", "expected milliseconds");
        (error.column() as u64, what)
    })?;
    let at_first = |message: String| (1, message);
    match (read.nquads, read.watermark) {
        (None, Some(ms)) if read.t.is_none() => {
            Live::check_time(ms).map_err(|error| at_first(error.message))?;
            Ok(Said::Promise(ms))
        }
        (Some(text), None) => {
            let quads = statements(text.as_bytes(), true).collect::<Result<Vec<_>, _>>();
            let quads = quads.map_err(|error| {
                let Position { line, column } = position_of(&error);
                let what = error.message;
                at_first(format!("`nquads`, line {line}, column {column}: {what}"))
            })?;
            if quads.is_empty() {
                return Err(at_first("`nquads` has no statement".to_owned()));
            }
            let item = match read.t {
                None => timing.item(quads),
                Some(time_ms) => Live::check_time(time_ms)
                    .map(|()| TimedQuads { time_ms, quads })
                    .map_err(|error| error.message),
            };
            item.map(Said::Item).map_err(at_first)
        }
        _ => {
            let why = r#"a line is {"t": MS, "nquads": "..."} or {"watermark": MS}"#;
            Err(at_first(why.to_owned()))
        }
    }
}

fn unread(error: ReadError) -> Problem {
    let (position, message) = match error {
        ReadError::Syntax {
            line,
            column,
            message,
            ..
        } => {
            let column = column.unwrap_or(1);
            (line.map(|line| Position { line, column }), message)
        }
        ReadError::Io(error) => (None, error.to_string()),
    };
    let mut failure = QueryError::new(Kind::Syntax, format!("the document: {message}"));
    failure.position = position;
    Problem::of_change(&failure)
}
