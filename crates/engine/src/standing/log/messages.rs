//! What the log says of streams and standing queries: the messages of its records, in order.
//!
//! ```text
//! stream  drop  query  drop  pause  resume   what people do
//! instances  drop                            the same, of templates
//! items  promise                             what a source brought, as text, before anybody is told that it was taken
//! forget                                     sources that promise nothing any more and are remembered no longer
//! late  reveal                               what came late is stored, and revises
//! gap                                        what a query had for a stream is not there
//! seal                                       which items a span of a stream has, once and for all
//! report                                     how far a query has come, what it said there, and what is compared with it
//! ```
//!
//! A record's changes of the graph are what its seals absorb. A seal names its span; the items were told before it. What was
//! taken as late, and which instants were evaluated, follows from the order of messages: a recovery does the same again and
//! decides nothing. Ticks of a clock are not told: what came of them is in the seals.
//!
//! Items are chunks as those of changes ([`store::record`]): a table of terms, and quads by their places in it.

use super::codec::{Mistake, Put, Take};
use crate::standing::info::HubStream;
use stream::SealPoint;

/// See the head of this file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::standing) enum Message {
    /// A stream is made.
    Stream { stream: HubStream, begin_ms: u64 },
    /// A stream is dropped.
    DropStream { name: String },
    /// A query is registered.
    Query {
        name: String,
        text: String,
        at_ms: u64,
        /// Of a template.
        instances: Option<Vec<u8>>,
    },
    /// Instances of a template come.
    AddInstances {
        template: String,
        instances: Vec<u8>,
    },
    /// An instance of a template goes.
    DropInstance { template: String, instance: String },
    /// A query is dropped.
    DropQuery { name: String },
    /// A query is paused.
    Pause { name: String },
    /// A query is resumed.
    Resume { name: String },
    /// A source brought items.
    Items(ItemsMessage),
    /// A source promised something without an item.
    Promise {
        stream: String,
        source: String,
        time_ms: u64,
        now_ms: u64,
    },
    /// Sources of a stream are forgotten: nobody waits for them, and they count no items.
    ForgetSources {
        stream: String,
        sources: Vec<String>,
    },
    /// A span of a stream is decided.
    Seal { stream: String, until: SealPoint },
    /// What came late in all streams so far is stored.
    LateStored,
    /// Queries that it revises see what came late in a stream.
    Reveal { stream: String },
    /// What a query had for a stream at a moment found no room there, or could not be made.
    Gap { stream: String, time_ms: u64 },
    /// A query was evaluated at a close, and said these lines of JSON.
    Report {
        query: String,
        close_ms: u64,
        basis: Basis,
        lines: Vec<ReportLine>,
    },
}

/// What of an evaluation the next reports of its query are compared with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::standing) enum Basis {
    /// Its answer, if they are compared with any: the log says nothing more.
    Unsaid,
    /// Nothing, because it made no answer: it failed, or all windows were empty. The answer before it is what counts.
    Nothing,
    /// Its answer over the snapshot of this number.
    Snapshot(u64),
}

/// What a query said at a close.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::standing) struct ReportLine {
    /// The instance of a template that it is of.
    pub(in crate::standing) instance: Option<String>,
    /// The report as JSON.
    pub(in crate::standing) json: String,
}

/// Items of a source.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(in crate::standing) struct ItemsMessage {
    pub(in crate::standing) stream: String,
    pub(in crate::standing) source: Source,
    /// The position that the source's next item has, where it counts them.
    pub(in crate::standing) next_position: Option<u64>,
    /// The edge's clock (milliseconds).
    pub(in crate::standing) now_ms: u64,
    /// Items before this were late then.
    pub(in crate::standing) settled: SealPoint,
    /// The time of each item, and how many quads it has.
    pub(in crate::standing) times: Vec<(u64, u64)>,
    /// Their quads.
    pub(in crate::standing) chunk: Vec<u8>,
}

/// Who brings items.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(in crate::standing) enum Source {
    /// Somebody outside, by name.
    Outside(String),
    /// A query, by name.
    Query(String),
}

impl Default for Source {
    fn default() -> Source {
        Source::Outside(String::new())
    }
}

const STREAM: u8 = 1;
const DROP_STREAM: u8 = 2;
const QUERY: u8 = 3;
const DROP_QUERY: u8 = 4;
const PAUSE: u8 = 5;
const RESUME: u8 = 6;
const ITEMS: u8 = 7;
const SEAL: u8 = 8;
const REPORT: u8 = 9;
const PROMISE: u8 = 10;
const LATE_STORED: u8 = 11;
const REVEAL: u8 = 12;
const ADD_INSTANCES: u8 = 13;
const DROP_INSTANCE: u8 = 14;
const GAP: u8 = 15;
const COMPARED_REPORT: u8 = 16;
const FORGET_SOURCES: u8 = 17;

impl Message {
    /// Appends it.
    pub(in crate::standing) fn put(&self, put: &mut Put) {
        match self {
            Message::Stream { stream, begin_ms } => {
                put.bytes.push(STREAM);
                put_settings(put, stream);
                put.number(*begin_ms);
            }
            Message::DropStream { name } => named(put, DROP_STREAM, name),
            Message::Query {
                name,
                text,
                at_ms,
                instances,
            } => {
                named(put, QUERY, name);
                put.text(text);
                put.number(*at_ms);
                put.flag(instances.is_some());
                if let Some(instances) = instances {
                    put.raw(instances);
                }
            }
            Message::AddInstances {
                template,
                instances,
            } => {
                named(put, ADD_INSTANCES, template);
                put.raw(instances);
            }
            Message::DropInstance { template, instance } => {
                named(put, DROP_INSTANCE, template);
                put.text(instance);
            }
            Message::DropQuery { name } => named(put, DROP_QUERY, name),
            Message::Pause { name } => named(put, PAUSE, name),
            Message::Resume { name } => named(put, RESUME, name),
            Message::Items(items) => {
                put.bytes.push(ITEMS);
                items.put(put);
            }
            Message::Promise {
                stream,
                source,
                time_ms,
                now_ms,
            } => {
                named(put, PROMISE, stream);
                put.text(source);
                put.number(*time_ms);
                put.number(*now_ms);
            }
            Message::ForgetSources { stream, sources } => put_forgotten(put, stream, sources),
            Message::LateStored => put.bytes.push(LATE_STORED),
            Message::Reveal { stream } => named(put, REVEAL, stream),
            Message::Gap { stream, time_ms } => named_at(put, GAP, stream, *time_ms),
            Message::Seal { stream, until } => {
                named(put, SEAL, stream);
                put_point(put, *until);
            }
            Message::Report {
                query,
                close_ms,
                basis,
                lines,
            } => {
                basis.put(put, query, *close_ms);
                put_lines(put, lines);
            }
        }
    }

    /// Takes the next one.
    pub(in crate::standing) fn take(take: &mut Take<'_>) -> Result<Message, Mistake> {
        Ok(match take.byte()? {
            STREAM => Message::Stream {
                stream: take_settings(take)?,
                begin_ms: take.number()?,
            },
            DROP_STREAM => Message::DropStream { name: take.text()? },
            QUERY => Message::Query {
                name: take.text()?,
                text: take.text()?,
                at_ms: take.number()?,
                instances: if take.flag()? {
                    Some(take.raw()?.to_vec())
                } else {
                    None
                },
            },
            ADD_INSTANCES => Message::AddInstances {
                template: take.text()?,
                instances: take.raw()?.to_vec(),
            },
            DROP_INSTANCE => Message::DropInstance {
                template: take.text()?,
                instance: take.text()?,
            },
            DROP_QUERY => Message::DropQuery { name: take.text()? },
            PAUSE => Message::Pause { name: take.text()? },
            RESUME => Message::Resume { name: take.text()? },
            ITEMS => Message::Items(ItemsMessage::take(take)?),
            PROMISE => Message::Promise {
                stream: take.text()?,
                source: take.text()?,
                time_ms: take.number()?,
                now_ms: take.number()?,
            },
            FORGET_SOURCES => Message::ForgetSources {
                stream: take.text()?,
                sources: take_texts(take)?,
            },
            LATE_STORED => Message::LateStored,
            REVEAL => Message::Reveal {
                stream: take.text()?,
            },
            GAP => Message::Gap {
                stream: take.text()?,
                time_ms: take.number()?,
            },
            SEAL => Message::Seal {
                stream: take.text()?,
                until: take_point(take)?,
            },
            kind @ (REPORT | COMPARED_REPORT) => {
                let (query, close_ms) = (take.text()?, take.number()?);
                let basis = match kind {
                    REPORT => Basis::Unsaid,
                    _ => take.maybe()?.map_or(Basis::Nothing, Basis::Snapshot),
                };
                let lines = (0..take.count()?).map(|_| {
                    let instance = take.flag()?.then(|| take.text()).transpose()?;
                    let json = take.text()?;
                    Ok(ReportLine { instance, json })
                });
                Message::Report {
                    query,
                    close_ms,
                    basis,
                    lines: lines.collect::<Result<_, _>>()?,
                }
            }
            _ => return Err(Mistake("a kind of message")),
        })
    }
}

impl Basis {
    /// Appends the beginning of a report, whose kind says whether there is one.
    fn put(self, put: &mut Put, query: &str, close_ms: u64) {
        let number = match self {
            Basis::Unsaid => return named_at(put, REPORT, query, close_ms),
            Basis::Nothing => None,
            Basis::Snapshot(number) => Some(number),
        };
        named_at(put, COMPARED_REPORT, query, close_ms);
        put.maybe(number);
    }
}

impl ReportLine {
    fn put(&self, put: &mut Put) {
        put.flag(self.instance.is_some());
        if let Some(instance) = &self.instance {
            put.text(instance);
        }
        put.text(&self.json);
    }
}

impl ItemsMessage {
    fn put(&self, put: &mut Put) {
        put.text(&self.stream);
        self.source.put(put);
        put.maybe(self.next_position);
        put.number(self.now_ms);
        put_point(put, self.settled);
        put.number(self.times.len() as u64);
        let mut before = 0;
        for &(time_ms, quads) in &self.times {
            // Times ascend mostly; what goes back wraps around.
            put.number(zigzag(time_ms.wrapping_sub(before)));
            put.number(quads);
            before = time_ms;
        }
        put.raw(&self.chunk);
    }

    fn take(take: &mut Take<'_>) -> Result<ItemsMessage, Mistake> {
        let mut message = ItemsMessage {
            stream: take.text()?,
            source: Source::take(take)?,
            next_position: take.maybe()?,
            now_ms: take.number()?,
            settled: take_point(take)?,
            ..ItemsMessage::default()
        };
        let mut time_ms: u64 = 0;
        for _ in 0..take.count()? {
            time_ms = time_ms.wrapping_add(unzigzag(take.number()?));
            message.times.push((time_ms, take.number()?));
        }
        message.chunk = take.raw()?.to_vec();
        Ok(message)
    }
}

impl Source {
    pub(in crate::standing) fn put(&self, put: &mut Put) {
        let (is_query, name) = match self {
            Source::Outside(name) => (false, name),
            Source::Query(name) => (true, name),
        };
        put.flag(is_query);
        put.text(name);
    }

    pub(in crate::standing) fn take(take: &mut Take<'_>) -> Result<Source, Mistake> {
        Ok(if take.flag()? {
            Source::Query(take.text()?)
        } else {
            Source::Outside(take.text()?)
        })
    }
}

/// Small numbers for small steps, forth or back.
fn zigzag(step: u64) -> u64 {
    (step << 1) ^ ((step as i64 >> 63) as u64)
}

fn unzigzag(number: u64) -> u64 {
    (number >> 1) ^ (number & 1).wrapping_neg()
}

fn named(put: &mut Put, kind: u8, name: &str) {
    put.bytes.push(kind);
    put.text(name);
}

fn named_at(put: &mut Put, kind: u8, name: &str, time_ms: u64) {
    named(put, kind, name);
    put.number(time_ms);
}

fn put_forgotten(put: &mut Put, stream: &str, sources: &[String]) {
    named(put, FORGET_SOURCES, stream);
    put.number(sources.len() as u64);
    for source in sources {
        put.text(source);
    }
}

fn put_lines(put: &mut Put, lines: &[ReportLine]) {
    put.number(lines.len() as u64);
    for line in lines {
        line.put(put);
    }
}

fn take_texts(take: &mut Take<'_>) -> Result<Vec<String>, Mistake> {
    (0..take.count()?).map(|_| take.text()).collect()
}

pub(in crate::standing) fn put_point(put: &mut Put, point: SealPoint) {
    put.number(point.batches);
    put.flag(point.edge);
}

pub(in crate::standing) fn take_point(take: &mut Take<'_>) -> Result<SealPoint, Mistake> {
    Ok(SealPoint {
        batches: take.number()?,
        edge: take.flag()?,
    })
}

pub(in crate::standing) fn put_settings(put: &mut Put, stream: &HubStream) {
    put.text(&stream.name);
    put.number(stream.grain_ms);
    put.number(stream.lateness_ms);
    put.maybe(stream.idle_ms);
    put.flag(stream.absorb.is_some());
    if let Some(absorb) = &stream.absorb {
        put.number(absorb.len() as u64);
        for predicate in absorb {
            put.text(predicate);
        }
    }
    put.flag(stream.into.is_some());
    if let Some(into) = &stream.into {
        put.text(into);
    }
    put.flag(stream.arrival_time);
    put.number(stream.budget_bytes);
}

pub(in crate::standing) fn take_settings(take: &mut Take<'_>) -> Result<HubStream, Mistake> {
    let mut stream = HubStream::new(&take.text()?);
    stream.grain_ms = take.number()?;
    stream.lateness_ms = take.number()?;
    stream.idle_ms = take.maybe()?;
    if take.flag()? {
        let predicates = (0..take.count()?).map(|_| take.text());
        stream.absorb = Some(predicates.collect::<Result<_, _>>()?);
    }
    if take.flag()? {
        stream.into = Some(take.text()?);
    }
    stream.arrival_time = take.flag()?;
    stream.budget_bytes = take.number()?;
    Ok(stream)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn messages() -> Vec<Message> {
        let stream = HubStream {
            idle_ms: Some(5000),
            absorb: Some(vec!["urn:p".to_owned(), "urn:q".to_owned()]),
            into: Some("urn:g".to_owned()),
            arrival_time: true,
            ..HubStream::new("urn:s")
        };
        let name = || "é".to_owned();
        let mut said = vec![
            Message::Stream {
                stream,
                begin_ms: 7,
            },
            Message::Stream {
                stream: HubStream::new("urn:t"),
                begin_ms: u64::MAX,
            },
            Message::DropStream { name: name() },
            Message::Query {
                name: name(),
                text: "SELECT *".to_owned(),
                at_ms: 3,
                instances: None,
            },
            Message::Query {
                name: name(),
                text: String::new(),
                at_ms: 0,
                instances: Some(vec![1, 2]),
            },
            Message::AddInstances {
                template: name(),
                instances: vec![7],
            },
            Message::DropInstance {
                template: name(),
                instance: "a".to_owned(),
            },
            Message::DropQuery { name: name() },
            Message::Pause { name: name() },
            Message::Resume { name: name() },
        ];
        said.extend(followed());
        said
    }

    fn followed() -> Vec<Message> {
        let name = || "é".to_owned();
        vec![
            Message::Items(ItemsMessage {
                stream: name(),
                source: Source::Query(name()),
                next_position: Some(9),
                now_ms: 100,
                settled: SealPoint {
                    batches: 4,
                    edge: true,
                },
                times: vec![(5, 1), (3, 0), (u64::MAX, 2), (0, 1)],
                chunk: vec![1, 2, 3],
            }),
            Message::Items(ItemsMessage::default()),
            Message::ForgetSources {
                stream: name(),
                sources: vec![String::new(), name()],
            },
            Message::Promise {
                stream: name(),
                source: name(),
                time_ms: 3,
                now_ms: u64::MAX,
            },
            Message::LateStored,
            Message::Reveal { stream: name() },
            Message::Gap {
                stream: name(),
                time_ms: 700,
            },
            Message::Seal {
                stream: name(),
                until: SealPoint::whole(8),
            },
            Message::Report {
                query: name(),
                close_ms: 800,
                basis: Basis::Unsaid,
                lines: Vec::new(),
            },
            Message::Report {
                query: name(),
                close_ms: 800,
                basis: Basis::Nothing,
                lines: Vec::new(),
            },
            Message::Report {
                query: name(),
                close_ms: 800,
                basis: Basis::Snapshot(300),
                lines: vec![
                    ReportLine {
                        instance: None,
                        json: "{}".to_owned(),
                    },
                    ReportLine {
                        instance: Some(name()),
                        json: String::new(),
                    },
                ],
            },
        ]
    }

    #[test]
    fn messages_come_back() {
        let mut put = Put::default();
        for message in messages() {
            message.put(&mut put);
        }
        let mut take = Take::new(&put.bytes);
        for message in messages() {
            assert_eq!(Message::take(&mut take), Ok(message));
        }
        assert!(take.is_empty());
    }

    /// Whatever the bytes are: an error, or a message.
    #[test]
    fn damaged_messages_are_refused_or_read() {
        for message in messages() {
            let mut put = Put::default();
            message.put(&mut put);
            for length in 0..put.bytes.len() {
                assert!(Message::take(&mut Take::new(&put.bytes[..length])).is_err());
            }
            for at in 0..put.bytes.len() {
                for bit in 0..8 {
                    let mut changed = put.bytes.clone();
                    changed[at] ^= 1 << bit;
                    drop(Message::take(&mut Take::new(&changed)));
                }
            }
        }
    }
}
