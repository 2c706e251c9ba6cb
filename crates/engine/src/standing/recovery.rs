//! Streams and standing queries of a store that is opened again: the last generation's image of them, and the log since.
//!
//! ```text
//! image --> hub --> messages in order --> hub as it stood
//!                     |        ^
//!                   ready      '-- report: the next that is ready was this one
//! ```
//!
//! **What is due.** Reports are in the log in the order in which evaluations were made, and before whatever was decided after
//! them. So what a seal made ready stays with the streams, as a query and a moment each, until the log tells of its report; what is
//! still ready at the end of the log is evaluated then, over the same windows and the same stored graph: the report is the one that
//! would have been made (SOSP'17 section 5: at least once; the number of a report makes it once for whoever remembers it), and
//! millions of them take no memory. An instant that was reported is evaluated again only where the next report is compared
//! with its answer: the last that was made, over the graph that it saw, which the log names. The log is read twice, first for
//! which graphs these are.
//!
//! Cost: reading the log, layers of its commits from the moment on which some query has not reported yet, and one for each graph
//! that an answer is made of again.

use super::hub::Hub;
use super::journal::Journals;
use super::log::codec::Take;
use super::log::image::HubImage;
use super::log::messages::{Basis, Message, ReportLine};
use crate::change::{Listener, LogRecords, ReplayMoment};
use crate::error::{Kind, QueryError};
use crate::moment::Graph;
use crate::options::Options;
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet, VecDeque};
use std::ops::ControlFlow;
use std::sync::Arc;
use store::record::RecordReader;
use stream::{SealPoint, StreamId};

/// Commits of streams that may lie between a close and its evaluation; as many are remembered while a hub is open.
const COMMITS_BEFORE: usize = 8;

/// See the head of this file.
pub(super) struct Recovery {
    options: Options,
    hub: Option<Hub>,
    journals: Arc<Journals>,
    scan: Scan,
    /// From this record on graphs are remembered as those of commits.
    from: u64,
    /// The snapshots of the last answers.
    last: BTreeSet<u64>,
    /// Graphs that reported evaluations saw, by number.
    graphs: BTreeMap<u64, Arc<Graph>>,
}

/// Streams and queries as they stood, and the journals.
pub(super) type Recovered = (Hub, Arc<Journals>);

/// What the first reading of the log collects.
#[derive(Default)]
struct Scan {
    /// For each query, the first of the last few commits of streams before its last report, or before it was registered.
    moments: HashMap<String, u64>,
    /// The records of the last commits of streams.
    commits: VecDeque<u64>,
    /// Queries whose reports may be revised.
    revised: HashSet<String>,
    /// The snapshot of the last answer of each other query whose reports are compared.
    last: HashMap<String, u64>,
    /// How many reports of queries that are revised have an answer over each snapshot.
    wanted: BTreeMap<u64, u64>,
}

impl Scan {
    fn read(&mut self, number: u64, message: Message) {
        let moment = self.commits.front().copied().unwrap_or(0);
        match message {
            Message::Report { query, basis, .. } => {
                if let Basis::Snapshot(number) = basis {
                    if self.revised.contains(&query) {
                        *self.wanted.entry(number).or_default() += 1;
                    } else {
                        self.last.insert(query.clone(), number);
                    }
                }
                self.moments.insert(query, moment);
            }
            Message::Query { name, text, .. } => {
                self.ask(&name, &text);
                self.moments.insert(name, moment);
            }
            Message::Resume { name } => {
                self.moments.insert(name, moment);
            }
            Message::DropQuery { name } => {
                self.last.remove(&name);
                self.moments.remove(&name);
            }
            Message::Pause { name } => {
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
            | Message::ForgetSources { .. }
            | Message::Promise { .. } => {}
        }
    }

    /// There is a query of this text. One that only looks as if it were revised costs a few graphs.
    fn ask(&mut self, name: &str, text: &str) {
        self.last.remove(name);
        if text.contains("revise") {
            self.revised.insert(name.to_owned());
        } else {
            self.revised.remove(name);
        }
    }
}

impl Recovery {
    /// `options`: those that the database is opened with.
    pub(super) fn new(options: &Options) -> Recovery {
        Recovery {
            options: options.clone(),
            hub: None,
            journals: Arc::new(Journals::new(options.memory_pool_bytes)),
            scan: Scan::default(),
            from: u64::MAX,
            last: BTreeSet::new(),
            graphs: BTreeMap::new(),
        }
    }

    /// What was recovered, when the log has been read.
    pub(super) fn finish(self) -> Option<Recovered> {
        Some((self.hub?, self.journals))
    }

    fn scanned(&self, first: u64, log: &LogRecords<'_>) -> Result<Scan, QueryError> {
        let mut scan = Scan::default();
        for query in self.hub.iter().flat_map(Hub::queries) {
            scan.ask(&query.name, query.text.as_deref().unwrap_or_default());
            if !query.is_paused {
                scan.moments.insert(query.name, 0);
            }
        }
        let mut failed = None;
        log(
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
        failed.map_or(Ok(scan), Err)
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
                    Ok(()) => self.journals.open(&name),
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
                self.journals.close(&name);
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
            Message::ForgetSources { stream, sources } => {
                forgiven(hub.forget_again(&stream, &sources))
            }
            Message::LateStored => {
                hub.late_is_stored();
                Ok(())
            }
            Message::Gap { stream, time_ms } => forgiven(hub.gap_again(&stream, time_ms)),
            Message::Reveal { stream } => {
                hub.reveal_again(&stream)?;
                if moment.number() >= self.from {
                    hub.reveal_over(moment.graph()?);
                }
                Ok(())
            }
            Message::Seal { stream, until } => {
                hub.late_is_stored();
                seals.push((hub.seal_again(&stream, until)?, until));
                Ok(())
            }
            Message::Report {
                query,
                close_ms,
                basis,
                lines,
            } => self.report(&query, close_ms, basis, lines),
        }
    }

    /// A query was evaluated at this close, and said these lines.
    fn report(
        &mut self,
        query: &str,
        close_ms: u64,
        basis: Basis,
        lines: Vec<ReportLine>,
    ) -> Result<(), QueryError> {
        let hub = self.hub.as_mut().ok_or_else(unprepared)?;
        let number = hub.report_again(query, close_ms, basis, &self.graphs);
        if let (Some(number), true) = (number, self.scan.revised.contains(query)) {
            self.let_go(number);
        }
        for line in lines {
            let instance = line.instance.map(Into::into);
            self.journals.add(query, line.json.into(), instance);
        }
        Ok(())
    }

    /// Whether an answer over a snapshot is to be made again.
    fn wants(&self, number: u64) -> bool {
        self.last.contains(&number) || self.scan.wanted.contains_key(&number)
    }

    /// An answer over this snapshot is noted: its graph may not be looked for again.
    fn let_go(&mut self, number: u64) {
        if let Some(left) = self.scan.wanted.get_mut(&number) {
            *left -= 1;
            if *left == 0 {
                self.scan.wanted.remove(&number);
            }
        }
        if !self.wants(number) {
            self.graphs.remove(&number);
        }
    }

    /// Queries see the commits of streams in a record.
    fn see(
        &mut self,
        seals: &[(StreamId, SealPoint)],
        moment: &mut dyn ReplayMoment,
    ) -> Result<(), QueryError> {
        let hub = self.hub.as_mut().ok_or_else(unprepared)?;
        hub.see_again(seals)?;
        if moment.number() >= self.from {
            hub.note_graph(moment.graph()?);
        }
        Ok(())
    }
}

impl Listener for Recovery {
    fn begin(
        &mut self,
        kept: &[u8],
        graph: &Graph,
        log: &LogRecords<'_>,
    ) -> Result<(), QueryError> {
        let live = graph.dictionary.live();
        let mut image = HubImage::decode(kept, live)?;
        let mut hub = Hub::replaying(live);
        hub.restore(&image, &self.options)?;
        self.journals.restore(std::mem::take(&mut image.journals));
        self.hub = Some(hub);
        let number = graph.snapshot.number();
        self.scan = self.scanned(number + 1, log)?;
        let from = self.scan.moments.values().min();
        self.from = from.copied().unwrap_or(u64::MAX);
        self.last = self.scan.last.values().copied().collect();
        let graph = Arc::new(graph.with_version(graph.version.clone()));
        if self.wants(number) {
            self.graphs.insert(number, Arc::clone(&graph));
        }
        if let Some(hub) = &mut self.hub {
            hub.note_graph(graph);
        }
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
        if self.wants(moment.number()) {
            self.graphs.insert(moment.number(), moment.graph()?);
        }
        if seals.is_empty() {
            return Ok(());
        }
        self.see(&seals, moment)
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
