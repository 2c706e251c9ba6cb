//! Streams and standing queries of a store that is opened again: the last generation's image of them, and the log since.
//!
//! ```text
//! image --> hub --> messages in order --> hub as it stood
//!                        |
//!                        '--> evaluations: reported already, or due, each with the graph of its moment
//! ```
//!
//! **What is due.** An instant whose report the log does not have is evaluated again, over the same windows and the same
//! stored graph, so the report is the one that would have been made (SOSP'17 section 5: at least once; the number of a
//! report makes it once for whoever remembers it). An instant that was reported is evaluated again only where the next report
//! is compared with it. The log is read twice: first for how far each query has come.
//!
//! Cost: reading the log, and layers of its commits from the moment on which some query has not reported yet.

use super::hub::{Compared, Hub};
use super::journal::Journal;
use super::log::codec::Take;
use super::log::image::HubImage;
use super::log::messages::Message;
use crate::change::{Listener, ReplayMoment};
use crate::error::{Kind, QueryError};
use crate::moment::Graph;
use crate::options::Options;
use std::collections::{BTreeMap, HashMap, VecDeque};
use std::ops::ControlFlow;
use store::log::Log;
use store::record::RecordReader;
use stream::{Evaluation, SealPoint, StreamId};

/// Commits of streams that may lie between a close and its evaluation; as many are remembered while a hub is open.
const COMMITS_BEFORE: usize = 8;

/// See the head of this file.
pub(super) struct Recovery {
    options: Options,
    hub: Option<Hub>,
    journals: BTreeMap<String, Journal>,
    progress: Progress,
    /// The record that registers each query, 0 for the generation.
    registered: HashMap<String, u64>,
}

/// Streams and queries as they stood, and the journals.
pub(super) type Recovered = (Hub, BTreeMap<String, Journal>);

/// How far queries have come by the end of the log.
#[derive(Debug, Default)]
struct Progress {
    /// How many evaluations of each query the log has, by its name and the record that registers it, 0 for the generation.
    evaluations: HashMap<(String, u64), u64>,
    /// From this record on graphs are remembered.
    from: u64,
}

/// What the first reading of the log collects.
#[derive(Default)]
struct Scan {
    /// The record that registers each query, 0 for the generation.
    registered: HashMap<String, u64>,
    evaluations: HashMap<(String, u64), u64>,
    /// For each query, the first of the last few commits of streams before its last report, or before it was registered.
    moments: HashMap<String, u64>,
    /// The records of the last commits of streams.
    commits: VecDeque<u64>,
}

impl Scan {
    fn read(&mut self, number: u64, message: Message) {
        let moment = self.commits.front().copied().unwrap_or(0);
        match message {
            Message::Report { query, .. } => {
                let registered = self.registered.get(&query).copied().unwrap_or(0);
                let told = self.evaluations.entry((query.clone(), registered));
                *told.or_default() += 1;
                self.moments.insert(query, moment);
            }
            Message::Query { name, text, .. } => {
                self.registered.insert(name.clone(), number);
                // What is revised is compared with all that was told.
                let moment = if text.contains("revise") { 0 } else { moment };
                self.moments.insert(name, moment);
            }
            Message::Resume { name } => {
                self.moments.insert(name, moment);
            }
            Message::DropQuery { name } | Message::Pause { name } => {
                self.moments.remove(&name);
            }
            Message::Seal { .. } => {
                if self.commits.back() != Some(&number) {
                    self.commits.push_back(number);
                }
                if self.commits.len() > COMMITS_BEFORE {
                    self.commits.pop_front();
                }
            }
            Message::Stream { .. }
            | Message::DropStream { .. }
            | Message::Items(_)
            | Message::AddInstances { .. }
            | Message::DropInstance { .. }
            | Message::LateStored
            | Message::Gap { .. }
            | Message::Reveal { .. }
            | Message::Promise { .. } => {}
        }
    }
}

impl Recovery {
    /// `options`: those that the database is opened with.
    pub(super) fn new(options: &Options) -> Recovery {
        Recovery {
            options: options.clone(),
            hub: None,
            journals: BTreeMap::new(),
            progress: Progress::default(),
            registered: HashMap::new(),
        }
    }

    /// What was recovered, when the log has been read.
    pub(super) fn finish(self) -> Option<Recovered> {
        Some((self.hub?, self.journals))
    }

    fn scanned(&self, first: u64, log: &dyn Log) -> Result<Progress, QueryError> {
        let mut scan = Scan::default();
        for query in self.hub.iter().flat_map(Hub::queries) {
            if !query.is_paused {
                scan.moments.insert(query.name, 0);
            }
        }
        let mut failed = None;
        log.read(
            first,
            &mut |number, record| match each_message(record, &mut |message| {
                scan.read(number, message);
                Ok(())
            }) {
                Ok(()) => ControlFlow::Continue(()),
                Err(error) => {
                    failed = Some(error);
                    ControlFlow::Break(())
                }
            },
        )?;
        match failed {
            Some(error) => Err(error),
            None => Ok(Progress {
                from: scan.moments.values().min().copied().unwrap_or(u64::MAX),
                evaluations: scan.evaluations,
            }),
        }
    }

    fn obey(
        &mut self,
        message: Message,
        record: &RecordReader<'_>,
        seals: &mut Vec<(StreamId, SealPoint)>,
        moment: &mut dyn ReplayMoment,
    ) -> Result<(), QueryError> {
        let hub = self.hub.as_mut().ok_or_else(unprepared)?;
        match message {
            Message::Stream { stream, begin_ms } => forgiven(hub.create_again(&stream, begin_ms)),
            Message::DropStream { name } => forgiven(hub.drop_stream(&name)),
            Message::Query {
                name,
                text,
                at_ms,
                instances,
            } => {
                let instances = instances.as_deref();
                match hub.query_again(&name, &text, instances, at_ms, &self.options) {
                    Ok(()) => self.note_query(name, moment.number()),
                    // It was read then.
                    Err(error) if error.kind == Kind::Syntax => return Err(error),
                    Err(_) => {}
                }
                Ok(())
            }
            Message::AddInstances {
                template,
                instances,
            } => hub.add_again(&template, &instances),
            Message::DropInstance { template, instance } => {
                forgiven(hub.remove_instance(&template, &instance))
            }
            Message::DropQuery { name } => {
                self.journals.remove(&name);
                forgiven(hub.unregister(&name))
            }
            Message::Pause { name } => forgiven(hub.pause(&name)),
            Message::Resume { name } => forgiven(hub.resume(&name)),
            Message::Items(items) => hub.take_again(&items, record.new_blanks()),
            Message::Promise {
                stream,
                source,
                time_ms,
                now_ms,
            } => {
                hub.tick(now_ms);
                forgiven(hub.watermark(&stream, &source, time_ms))
            }
            Message::LateStored => {
                hub.late_is_stored();
                Ok(())
            }
            Message::Gap { stream, time_ms } => forgiven(hub.gap_again(&stream, time_ms)),
            Message::Reveal { stream } => {
                let ready = hub.reveal_again(&stream)?;
                self.judge(ready, moment)
            }
            Message::Seal { stream, until } => {
                hub.late_is_stored();
                seals.push((hub.seal_again(&stream, until)?, until));
                Ok(())
            }
            Message::Report {
                query,
                close_ms,
                lines,
            } => {
                hub.note_evaluated(&query, close_ms);
                if let Some(journal) = self.journals.get_mut(&query) {
                    for line in lines {
                        journal.add(line.json.into(), line.instance.map(Into::into));
                    }
                }
                Ok(())
            }
        }
    }

    /// A query is registered by a record.
    fn note_query(&mut self, name: String, number: u64) {
        self.registered.insert(name.clone(), number);
        self.journals.insert(name, Journal::default());
    }

    /// What the commits of streams in a record make ready is reported already, or due.
    fn see(
        &mut self,
        seals: &[(StreamId, SealPoint)],
        moment: &mut dyn ReplayMoment,
    ) -> Result<(), QueryError> {
        let hub = self.hub.as_mut().ok_or_else(unprepared)?;
        let evaluations = hub.see_again(seals)?;
        if moment.number() >= self.progress.from {
            hub.note_graph(moment.graph()?);
        }
        self.judge(evaluations, moment)
    }

    /// Evaluations are reported already, as many as the log tells of, or due.
    fn judge(
        &mut self,
        evaluations: Vec<Evaluation>,
        moment: &mut dyn ReplayMoment,
    ) -> Result<(), QueryError> {
        let hub = self.hub.as_mut().ok_or_else(unprepared)?;
        for ready in evaluations {
            let Some((name, compared)) = hub.known(&ready) else {
                continue;
            };
            let registered = self.registered.get(name).copied().unwrap_or(0);
            let told = (name.to_owned(), registered);
            let told = self.progress.evaluations.get_mut(&told);
            let left = told.filter(|left| **left > 0);
            let is_reported = left.is_some();
            let is_last = left.is_none_or(|left| {
                *left -= 1;
                *left == 0
            });
            let is_wanted = match compared {
                Compared::Nothing => !is_reported,
                Compared::Last => is_last,
                Compared::All => true,
            };
            if is_wanted {
                hub.leave(ready, &moment.graph()?, is_reported);
            }
        }
        Ok(())
    }
}

impl Listener for Recovery {
    fn begin(&mut self, kept: &[u8], graph: &Graph, log: &dyn Log) -> Result<(), QueryError> {
        let live = graph.dictionary.live();
        let mut image = HubImage::decode(kept, live)?;
        let mut hub = Hub::replaying(live);
        hub.restore(&image, &self.options)?;
        self.journals = std::mem::take(&mut image.journals);
        self.hub = Some(hub);
        self.progress = self.scanned(graph.snapshot.number() + 1, log)?;
        Ok(())
    }

    fn hear(
        &mut self,
        record: &RecordReader<'_>,
        moment: &mut dyn ReplayMoment,
    ) -> Result<(), QueryError> {
        let mut seals = Vec::new();
        let mut take = Take::new(record.messages());
        while !take.is_empty() {
            let message = Message::take(&mut take)?;
            self.obey(message, record, &mut seals, moment)?;
        }
        if !seals.is_empty() {
            return self.see(&seals, moment);
        }
        // What was registered or resumed may be ready without a seal.
        let hub = self.hub.as_mut().ok_or_else(unprepared)?;
        let evaluations = hub.ready_again();
        self.judge(evaluations, moment)
    }
}

/// Gives each message of a record.
fn each_message(
    record: &[u8],
    each: &mut dyn FnMut(Message) -> Result<(), QueryError>,
) -> Result<(), QueryError> {
    let reader = RecordReader::new(record)
        .map_err(|error| QueryError::new(Kind::Damaged, format!("a record of the log: {error}")))?;
    let mut take = Take::new(reader.messages());
    while !take.is_empty() {
        each(Message::take(&mut take)?)?;
    }
    Ok(())
}

/// What was refused then is refused now.
#[allow(clippy::unnecessary_wraps)] // an arm of others that fail
fn forgiven(done: Result<(), QueryError>) -> Result<(), QueryError> {
    drop(done);
    Ok(())
}

fn unprepared() -> QueryError {
    QueryError::new(Kind::Internal, "a log was told before its generation")
}
