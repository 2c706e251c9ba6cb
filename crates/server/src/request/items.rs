//! Items of a stream in the body of a push.
//!
//! | type | an item is | its time |
//! |---|---|---|
//! | `text/plain`, `application/x-nt-ts` | a line of `.nt.ts`: milliseconds, a tab, a statement | that of the line |
//! | `application/x-ndjson` | a line `{"t": MS, "nquads": "..."}`; a line `{"watermark": MS}` is a promise | `t`, else `time` of the address |
//! | a document of RDF | the whole document | `time` of the address |
//! | none, the body is empty | a heartbeat | `watermark` of the address |
//!
//! A malformed line is rejected alone, with its place, and the others are taken; so is a statement of N-Triples or
//! N-Quads. A malformed document in another format is refused, and so is a body of which nothing is well formed. Labels of
//! blank nodes mean the same node within a body.
//!
//! Cost: terms are read into memory of their own, which is drawn on the account of the body before the next is read.

use crate::request::intake::Intake;
use crate::response::problem::Problem;
use crate::run::account::BodyAccount;
use serde::Deserialize;
use somersault::terms::format::{Format, ReadError, read_quads};
use somersault::terms::{GraphNameRef, QuadRef, TermRef};
use somersault::{Kind, Position, QueryError, TimedQuads, recorded, statements};
use std::ops::ControlFlow;

/// Rejected lines that an answer lists (count); it says how many there were.
const REJECTIONS_MAX: usize = 100;
/// Bytes that an item and a statement hold besides their texts, about.
const QUAD_BYTES: u64 = 256;

const LINES: [&str; 2] = ["application/x-nt-ts", "text/plain"];
const OBJECTS: [&str; 3] = [
    "application/x-ndjson",
    "application/ndjson",
    "application/jsonl",
];
const NO_TIME: &str = "an item of this stream needs a time";
const NO_TIME_HINT: &str = "give `time=MILLISECONDS` in the address, or send lines that have it (application/x-nt-ts, \
                            application/x-ndjson); a stream that is made with `arrival_time` needs none";

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
    /// Lines that were not taken (count).
    pub rejected: u64,
    /// The first of them.
    pub rejections: Vec<Rejection>,
}

/// The media types that are taken.
pub(crate) fn offered() -> Vec<&'static str> {
    let documents = Format::ALL.iter().map(|format| format.media_type());
    let lines = LINES.into_iter().chain([OBJECTS[0]]);
    lines.chain(documents).collect()
}

impl ItemsForm {
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

/// A line of JSON.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct LineObject {
    t: Option<u64>,
    nquads: Option<String>,
    watermark: Option<u64>,
}

impl Delivery {
    /// The items of a body, which is empty where it has no form.
    pub fn read(
        &self,
        form: Option<ItemsForm>,
        body: &Intake,
        is_arrival_time: bool,
    ) -> Result<ReadItems, Problem> {
        // The edge's clock is the time of such a stream.
        let time_ms = self.time_ms.or(is_arrival_time.then_some(0));
        let mut reading = ItemsReading {
            account: &body.account,
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
            Some(ItemsForm::Lines) if self.time_ms.is_some() => {
                let why = "`time` is for items that bring none; each line of .nt.ts brings its own";
                return Err(Problem::bad_request(why));
            }
            Some(ItemsForm::Lines) => reading.lines(&body.bytes)?,
            Some(ItemsForm::Objects) => reading.objects(&body.bytes, time_ms)?,
            Some(ItemsForm::Document(format)) => {
                let time_ms = time_ms.ok_or_else(no_time)?;
                reading.document(format, &body.bytes, time_ms)?;
            }
        }
        reading.read.or_refused()
    }
}

fn no_time() -> Problem {
    Problem::bad_request(NO_TIME).with_hint(NO_TIME_HINT)
}

impl ReadItems {
    /// Refuses a body of which nothing is well formed.
    fn or_refused(self) -> Result<ReadItems, Problem> {
        match self.rejections.first() {
            Some(first) if self.items.is_empty() && self.watermark_ms.is_none() => {
                let Rejection { position, message } = first;
                let why = format!("no item of the body is well formed: {message}");
                let problem = Problem::bad_request(why).at(Some(*position));
                Err(if message == NO_TIME {
                    problem.with_hint(NO_TIME_HINT)
                } else {
                    problem
                })
            }
            _ => Ok(self),
        }
    }

    fn reject(&mut self, position: Position, message: String) {
        self.rejected += 1;
        if self.rejections.len() < REJECTIONS_MAX {
            self.rejections.push(Rejection { position, message });
        }
    }
}

/// A body that is being read.
struct ItemsReading<'b> {
    account: &'b BodyAccount,
    read: ReadItems,
}

impl ItemsReading<'_> {
    fn lines(&mut self, text: &[u8]) -> Result<(), Problem> {
        for item in recorded("the body", text) {
            match item {
                Ok(item) => self.add(item)?,
                Err(error) => self.reject(&error),
            }
        }
        Ok(())
    }

    fn objects(&mut self, text: &[u8], time_ms: Option<u64>) -> Result<(), Problem> {
        for (place, line) in text.split(|byte| *byte == b'\n').enumerate() {
            if line.trim_ascii().is_empty() {
                continue;
            }
            let number = place as u64 + 1;
            match item_of(line, time_ms) {
                Ok(Said::Item(item)) => self.add(item)?,
                Ok(Said::Promise(ms)) => {
                    self.read.watermark_ms = self.read.watermark_ms.max(Some(ms));
                }
                Err((column, message)) => {
                    let position = Position {
                        line: number,
                        column,
                    };
                    self.read.reject(position, message);
                }
            }
        }
        Ok(())
    }

    /// One item. What is malformed of it is left out where the format has lines.
    fn document(&mut self, format: Format, text: &[u8], time_ms: u64) -> Result<(), Problem> {
        let mut item = TimedQuads {
            time_ms,
            quads: Vec::new(),
        };
        if matches!(format, Format::NTriples | Format::NQuads) {
            for statement in statements(text, format == Format::NQuads) {
                match statement {
                    Ok(quad) => {
                        self.take(quad.as_ref())?;
                        item.quads.push(quad);
                    }
                    Err(error) => self.reject(&error),
                }
            }
        } else {
            let mut refused = None;
            let read = read_quads(format, text, None, &mut |quad| match self.take(quad) {
                Ok(()) => {
                    item.quads.push(quad.into_owned());
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
        }
        if !item.quads.is_empty() {
            self.read.items.push(item);
        }
        Ok(())
    }

    fn add(&mut self, item: TimedQuads) -> Result<(), Problem> {
        for quad in &item.quads {
            self.take(quad.as_ref())?;
        }
        self.read.items.push(item);
        Ok(())
    }

    fn take(&self, quad: QuadRef<'_>) -> Result<(), Problem> {
        let terms = [quad.subject.into(), quad.predicate.into(), quad.object];
        let texts: u64 = terms.into_iter().map(text_bytes).sum();
        let graph = match quad.graph_name {
            GraphNameRef::NamedNode(node) => node.as_str().len() as u64,
            GraphNameRef::BlankNode(_) | GraphNameRef::DefaultGraph => 0,
        };
        self.account.take(QUAD_BYTES + texts + graph)
    }

    fn reject(&mut self, error: &QueryError) {
        let position = error.position.unwrap_or(Position { line: 1, column: 1 });
        self.read.reject(position, error.message.clone());
    }
}

/// What the text of a term holds (bytes).
fn text_bytes(term: TermRef<'_>) -> u64 {
    let bytes = match term {
        TermRef::NamedNode(node) => node.as_str().len(),
        TermRef::BlankNode(node) => node.as_str().len(),
        TermRef::Literal(literal) => literal.value().len() + literal.datatype().as_str().len(),
        TermRef::Triple(triple) => triple.to_string().len(),
    };
    bytes as u64
}

/// What a line of JSON says.
enum Said {
    Item(TimedQuads),
    Promise(u64),
}

/// Reads a line of JSON; else the column of what is wrong, and what it is.
fn item_of(line: &[u8], time_ms: Option<u64>) -> Result<Said, (u64, String)> {
    let read: LineObject = serde_json::from_slice(line).map_err(|error| {
        let message = error.to_string();
        // Its line is always the first: the number of this one stands beside it.
        let what = message.split(" at line ").next().unwrap_or_default();
        (error.column() as u64, what.to_owned())
    })?;
    match (read.nquads, read.watermark) {
        (None, Some(ms)) if read.t.is_none() => Ok(Said::Promise(ms)),
        (Some(text), None) => {
            let time_ms = read.t.or(time_ms).ok_or_else(|| (1, NO_TIME.to_owned()))?;
            let quads = statements(text.as_bytes(), true).collect::<Result<Vec<_>, _>>();
            let quads = quads.map_err(|error| {
                let place = error.position.unwrap_or(Position { line: 1, column: 1 });
                let (line, column) = (place.line, place.column);
                let what = error.message;
                (1, format!("`nquads`, line {line}, column {column}: {what}"))
            })?;
            if quads.is_empty() {
                return Err((1, "`nquads` has no statement".to_owned()));
            }
            Ok(Said::Item(TimedQuads { time_ms, quads }))
        }
        _ => {
            let why = r#"a line is {"t": MS, "nquads": "..."} or {"watermark": MS}"#;
            Err((1, why.to_owned()))
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
