//! The streams and standing queries of a database, driven in one loop.
//!
//! Whoever has items, promises or the time gives them in; [`Hub::advance`] then does what has become possible, in an
//! order that is a function of what was given: evaluations that are ready, then the next seals. Seals of one moment are
//! one commit, whatever streams they are of, and the evaluations that wait for them come after it.
//!
//! A `CONSTRUCT` into a stream is an item of that stream at the close of its report. Streams and queries have no circles:
//! a query whose output could reach one of its own windows is refused.

use super::info::{HubStream, QueryInfo, StreamInfo};
use super::items::{BlankScope, TimedQuads, ids_of, too_large};
use super::planned::Planned;
use super::registered::{Registered, evaluated, quad_of};
use super::report::StandingReport;
use crate::change::{absorb, with_dictionary};
use crate::database::Database;
use crate::error::{Kind, QueryError, Unit};
use crate::moment::Graph;
use crate::panics::guarded;
use oxrdf::{NamedNode, Quad, TermRef};
use query::plan::Form;
use query::standing::{Freshness, Output, StandingQuery};
use rdf::VertexId;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::ops::ControlFlow;
use std::sync::Arc;
use store::delta::IdQuad;
use stream::{
    Absorb, Accepted, Definition, Differences, Evaluation, Items, PartId, QueryId, Schedule, Seal,
    SealPoint, SourceId, StreamError, StreamId, Streams, Time,
};

/// See the head of this file.
pub struct Hub {
    database: Database,
    streams: Streams,
    /// What the streams are, in terms.
    settings: BTreeMap<StreamId, HubStream>,
    queries: BTreeMap<QueryId, Registered>,
    /// How many queries were ever registered.
    made: u64,
    /// Seals that were taken and belong to one commit, which failed or is not complete yet.
    taken: Vec<Seal>,
    /// A seal that was taken and belongs to the next commit.
    held: Option<Seal>,
    /// The numbers of sources, by name.
    sources: BTreeMap<String, SourceId>,
    /// The last commits, oldest first, for evaluations that see an earlier one than the newest.
    moments: VecDeque<CommitMoment>,
}

/// A commit of streams and what it covers.
struct CommitMoment {
    vector: Vec<(StreamId, SealPoint)>,
    graph: Arc<Graph>,
}

/// Commits that are remembered. A close within a batch sees the commit before that batch's; the others are for streams of
/// different grains.
const MOMENTS_MAX: usize = 8;

/// Takes reports; the first error or break ends the loop.
pub(super) type Take<'t> = dyn FnMut(StandingReport) -> Result<ControlFlow<()>, QueryError> + 't;

impl Hub {
    /// None yet. Streams that store something need a database that can be changed.
    pub fn new(database: Database) -> Hub {
        Hub {
            database,
            streams: Streams::new(),
            settings: BTreeMap::new(),
            queries: BTreeMap::new(),
            made: 0,
            taken: Vec::new(),
            held: None,
            sources: BTreeMap::new(),
            moments: VecDeque::new(),
        }
    }

    /// Makes a stream that begins at this moment.
    pub fn create(&mut self, settings: &HubStream, begin_ms: u64) -> Result<(), QueryError> {
        let absorbs = settings.absorb.as_ref().is_none_or(|them| !them.is_empty());
        if self.database.is_following() {
            let message = "this server follows another process: streams are made there";
            return Err(QueryError::new(Kind::Policy, message));
        }
        if absorbs && !self.database.is_writable() {
            let message =
                "the stream would be stored, and this database was opened for reading only";
            return Err(QueryError::new(Kind::Policy, message)
                .with_hint("open it with --allow-update, or make a stream that absorbs nothing"));
        }
        let mut definition = Definition::new(settings.name.clone());
        definition.grain_ms = settings.grain_ms;
        definition.lateness_ms = settings.lateness_ms;
        definition.idle_ms = settings.idle_ms;
        definition.arrival_time = settings.arrival_time;
        definition.budget_bytes = settings.budget_bytes;
        definition.absorb = match &settings.absorb {
            None => Absorb::All,
            Some(predicates) if predicates.is_empty() => Absorb::Nothing,
            Some(predicates) => {
                let ids = predicates.iter().map(|iri| self.iri(iri));
                Absorb::Only(ids.collect::<Result<_, _>>()?)
            }
        };
        if let Some(graph) = &settings.into {
            definition.into = self.iri(graph)?;
        }
        let id = self.streams.create(definition, Time(begin_ms));
        self.settings.insert(id.map_err(refused)?, settings.clone());
        Ok(())
    }

    fn iri(&self, iri: &str) -> Result<VertexId, QueryError> {
        let node = NamedNode::new(iri).map_err(|error| {
            QueryError::new(Kind::Syntax, format!("<{iri}> is not an IRI: {error}"))
        })?;
        with_dictionary(&self.database, |live| {
            let mut ids = Vec::new();
            live.intern(&[TermRef::NamedNode(node.as_ref())], &mut ids)
                .map_err(too_large)?;
            Ok(ids[0])
        })
    }

    /// Whether there is a stream of this name.
    pub fn has_stream(&self, name: &str) -> bool {
        self.streams.find(name).is_some()
    }

    /// Forgets a stream that no query names.
    pub fn drop_stream(&mut self, name: &str) -> Result<(), QueryError> {
        let id = self.stream(name)?;
        let is_written = |query: &&Registered| query.writes == Some(id);
        if let Some(query) = self.queries.values().find(is_written) {
            let message = format!(
                "the query `{}` writes the stream <{name}>: drop it first",
                query.name
            );
            return Err(QueryError::new(Kind::Conflict, message));
        }
        self.streams.drop_stream(id).map_err(refused)?;
        self.settings.remove(&id);
        let is_other = |seal: &Seal| seal.stream != id;
        self.taken.retain(is_other);
        self.held = self.held.take().filter(is_other);
        Ok(())
    }

    /// The streams, by name.
    pub fn streams(&self) -> Vec<StreamInfo> {
        let infos = self.settings.keys().map(|id| self.info(*id));
        let mut infos: Vec<StreamInfo> = infos.filter_map(Result::ok).collect();
        infos.sort_by(|one, other| one.settings.name.cmp(&other.settings.name));
        infos
    }

    /// A stream by its name.
    pub fn stream_info(&self, name: &str) -> Result<StreamInfo, QueryError> {
        self.info(self.stream(name)?)
    }

    fn info(&self, id: StreamId) -> Result<StreamInfo, QueryError> {
        let status = self.streams.status(id).map_err(refused)?;
        let settings = self.settings.get(&id);
        let settings = settings.ok_or_else(|| refused(StreamError::NoStream(id)))?;
        let queries = self.queries.values();
        let readers = queries.filter(|query| query.reads.contains(&id));
        Ok(StreamInfo {
            settings: settings.clone(),
            watermark_ms: status.watermark.0,
            covered_ms: status.covered.0,
            is_idle: status.is_idle,
            held_bytes: status.held_bytes,
            queries: readers.map(|query| query.name.clone()).collect(),
        })
    }

    /// The moment from which on a query that is registered now is evaluated (milliseconds): its streams have come so far.
    pub fn reached_ms(&self, query: &StandingQuery) -> Result<u64, QueryError> {
        let mut reached = 0;
        for name in query.streams() {
            let status = self.streams.status(self.stream(name)?).map_err(refused)?;
            reached = reached.max(status.covered.0);
        }
        Ok(reached)
    }

    /// The number of a query.
    fn query(&self, name: &str) -> Result<QueryId, QueryError> {
        let found = self.queries.iter().find(|(_, query)| query.name == name);
        found.map(|(id, _)| *id).ok_or_else(|| no_query(name))
    }

    /// Forgets a query.
    pub fn unregister(&mut self, name: &str) -> Result<(), QueryError> {
        let id = self.query(name)?;
        self.streams.unregister(id).map_err(refused)?;
        if let Some(query) = self.queries.remove(&id)
            && let Some(target) = query.writes
        {
            let source = SourceId(id.0 + OF_QUERIES);
            self.streams.leave(target, source).map_err(refused)?;
        }
        Ok(())
    }

    /// Evaluates a query no more until it is resumed.
    pub fn pause(&mut self, name: &str) -> Result<(), QueryError> {
        let id = self.query(name)?;
        self.streams.pause(id).map_err(refused)?;
        if let Some(query) = self.queries.get_mut(&id) {
            query.is_paused = true;
            if let Some(target) = query.writes {
                // Whoever reads what it writes does not wait for it.
                let source = SourceId(id.0 + OF_QUERIES);
                self.streams.leave(target, source).map_err(refused)?;
            }
        }
        Ok(())
    }

    /// Goes on with a query that was paused, from where its streams are.
    pub fn resume(&mut self, name: &str) -> Result<(), QueryError> {
        let id = self.query(name)?;
        let reached = self.reached_ms(&self.queries[&id].planned.query)?;
        self.streams.resume(id, Time(reached)).map_err(refused)?;
        if let Some(query) = self.queries.get_mut(&id) {
            query.is_paused = false;
            if let Some(target) = query.writes {
                let source = SourceId(id.0 + OF_QUERIES);
                self.streams.join(target, source).map_err(refused)?;
            }
        }
        Ok(())
    }

    /// The registered queries, by name.
    pub fn queries(&self) -> Vec<QueryInfo> {
        let info = |query: &Registered| QueryInfo {
            name: query.name.clone(),
            text: query.text.clone(),
            streams: query
                .planned
                .query
                .streams()
                .into_iter()
                .map(str::to_owned)
                .collect(),
            output: match &query.planned.query.output {
                Output::Stream(name) => Some(name.clone()),
                Output::Table => None,
            },
            is_paused: query.is_paused,
            evaluations: query.evaluations,
            close_ms: query.close.map(|close| close.0),
            failure: query.failure.clone(),
        };
        let mut infos: Vec<QueryInfo> = self.queries.values().map(info).collect();
        infos.sort_by(|one, other| one.name.cmp(&other.name));
        infos
    }

    /// The plan of a query as it was made last; `None` before its first evaluation.
    pub fn explain(&self, name: &str) -> Result<Option<String>, QueryError> {
        Ok(self.queries[&self.query(name)?].planned.explain())
    }

    /// Registers a query from this moment on, by the name that its text gives or else this one. A stream that it writes and
    /// that is not there is made.
    pub fn register(
        &mut self,
        query: StandingQuery,
        otherwise: &str,
        at_ms: u64,
    ) -> Result<(), QueryError> {
        self.register_text(query, otherwise, None, at_ms)?;
        Ok(())
    }

    /// The same with its text, which is shown to people; gives its name.
    pub(super) fn register_text(
        &mut self,
        query: StandingQuery,
        otherwise: &str,
        text: Option<&str>,
        at_ms: u64,
    ) -> Result<String, QueryError> {
        let name = query.name.clone().unwrap_or_else(|| otherwise.to_owned());
        if self.queries.values().any(|known| known.name == name) {
            let message =
                format!("a query `{name}` is registered: drop it first, or give another name");
            return Err(QueryError::new(Kind::Conflict, message));
        }
        let find = |name: &str| self.streams.find(name);
        let schedule = Schedule::of(&query, find).map_err(|error| refused(error.into()))?;
        let reads = schedule
            .windows
            .iter()
            .map(|window| window.stream)
            .collect();
        let differences = Differences::new(query.relation, query.difference);
        self.refuse_circle(&query, &reads)?;
        let query = Arc::new(query);
        let planned = with_dictionary(&self.database, |live| {
            Planned::new(live, Arc::clone(&query))
        })?;
        let writes = self.output(&query, at_ms)?;
        let id = QueryId(self.made);
        self.streams
            .register(id, schedule, Time(at_ms))
            .map_err(refused)?;
        self.made += 1;
        self.queries.insert(
            id,
            Registered {
                name: name.clone(),
                planned,
                differences,
                reads,
                writes,
                text: text.map(str::to_owned),
                is_paused: false,
                evaluations: 0,
                close: None,
                failure: None,
            },
        );
        Ok(name)
    }

    /// An error where what a query writes could reach what it reads, or where it has nothing to write.
    fn refuse_circle(
        &self,
        query: &StandingQuery,
        reads: &BTreeSet<StreamId>,
    ) -> Result<(), QueryError> {
        let Output::Stream(name) = &query.output else {
            return Ok(());
        };
        if !matches!(query.query.form(), Form::Construct(_)) {
            let message = format!("only CONSTRUCT has triples for a stream <{name}>");
            return Err(QueryError::new(Kind::Syntax, message)
                .with_hint("REGISTER QUERY for a table of solutions"));
        }
        let mut reached: BTreeSet<StreamId> = self.streams.find(name).into_iter().collect();
        loop {
            let before = reached.len();
            for query in self.queries.values() {
                if !query.reads.is_disjoint(&reached) {
                    reached.extend(query.writes);
                }
            }
            if reached.len() == before {
                break;
            }
        }
        if reached.is_disjoint(reads) {
            return Ok(());
        }
        let message = format!("the stream <{name}> would feed itself through this query");
        Err(QueryError::new(Kind::Conflict, message))
    }

    /// The stream that a query writes, made where it is not there: then nothing of it is stored.
    fn output(
        &mut self,
        query: &StandingQuery,
        at_ms: u64,
    ) -> Result<Option<StreamId>, QueryError> {
        let Output::Stream(name) = &query.output else {
            return Ok(None);
        };
        if !self.has_stream(name) {
            let stream = HubStream {
                absorb: Some(Vec::new()),
                ..HubStream::new(name)
            };
            self.create(&stream, at_ms)?;
        }
        let target = self.streams.find(name);
        assert!(target.is_some(), "it was made where it was not there");
        if let Some(target) = target {
            let source = SourceId(self.made + OF_QUERIES);
            self.streams.join(target, source).map_err(refused)?;
        }
        Ok(target)
    }

    /// Takes items of a source of a stream, all or none. Blank nodes are those of `scope`, or of each item.
    pub fn push(
        &mut self,
        stream: &str,
        source: &str,
        mut scope: Option<&mut BlankScope>,
        items: &[TimedQuads],
    ) -> Result<Accepted, QueryError> {
        let id = self.stream(stream)?;
        if let Some(item) = items.iter().find(|item| item.time_ms > TIME_MAX_MS) {
            let message = format!("an item's time is {} ms: that is no date", item.time_ms);
            return Err(QueryError::new(Kind::Syntax, message)
                .with_hint("times are milliseconds since 1970"));
        }
        let numbered = with_dictionary(&self.database, |live| {
            let mut numbered = Items::new();
            for item in items {
                let mut own = BlankScope::default();
                let scope = scope.as_deref_mut().unwrap_or(&mut own);
                let quads = ids_of(live, scope, &item.quads)?;
                numbered.add(Time(item.time_ms), &quads);
            }
            Ok(numbered)
        })?;
        let source = self.source(source);
        self.streams.push(id, source, &numbered).map_err(refused)
    }

    /// The number of a source.
    fn source(&mut self, name: &str) -> SourceId {
        if let Some(known) = self.sources.get(name) {
            return *known;
        }
        let number = SourceId(self.sources.len() as u64);
        self.sources.insert(name.to_owned(), number);
        number
    }

    /// A source promises that its later items have at least this time.
    pub fn watermark(
        &mut self,
        stream: &str,
        source: &str,
        time_ms: u64,
    ) -> Result<(), QueryError> {
        let id = self.stream(stream)?;
        let source = self.source(source);
        self.streams
            .watermark(id, source, Time(time_ms))
            .map_err(refused)
    }

    /// The edge's clock says this.
    pub fn tick(&mut self, now_ms: u64) {
        self.streams.tick(Time(now_ms));
    }

    fn stream(&self, name: &str) -> Result<StreamId, QueryError> {
        self.streams.find(name).ok_or_else(|| {
            let message = format!("there is no stream <{name}>");
            QueryError::new(Kind::NotFound, message).with_hint("create it first")
        })
    }

    /// Does all that has become possible, and shows each report.
    pub fn advance(&mut self, take: &mut Take<'_>) -> Result<ControlFlow<()>, QueryError> {
        loop {
            while let Some(ready) = self.streams.next_ready() {
                if self.evaluate(&ready, take)?.is_break() {
                    return Ok(ControlFlow::Break(()));
                }
            }
            if !self.commit()? {
                return Ok(ControlFlow::Continue(()));
            }
            self.promise()?;
        }
    }

    /// Queries that write streams promise that what they write next is not before their next instants, also where they
    /// have nothing to write.
    fn promise(&mut self) -> Result<(), QueryError> {
        for (id, query) in &self.queries {
            if let (Some(target), false) = (query.writes, query.is_paused) {
                let progress = self.streams.progress(*id).map_err(refused)?;
                let source = SourceId(id.0 + OF_QUERIES);
                self.streams
                    .watermark(target, source, progress)
                    .map_err(refused)?;
            }
        }
        Ok(())
    }

    /// Commits what is stored of the next seals, all that end at one moment; false where there is none. If it fails, the
    /// seals are committed next time.
    fn commit(&mut self) -> Result<bool, QueryError> {
        if self.taken.is_empty() {
            let Some(first) = self.held.take().or_else(|| self.streams.next_seal()) else {
                return Ok(false);
            };
            let end = self.end_of(&first)?;
            self.taken.push(first);
            while let Some(next) = self.streams.next_seal() {
                if self.end_of(&next)? > end {
                    self.held = Some(next);
                    break;
                }
                self.taken.push(next);
            }
        }
        let mut quads: Vec<IdQuad> = Vec::new();
        for seal in &self.taken {
            let definition = self.streams.definition(seal.stream).map_err(refused)?;
            quads.extend(definition.absorbed(&seal.items));
        }
        if self.moments.is_empty() {
            self.note_moment();
        }
        if !quads.is_empty() {
            absorb(&self.database, &quads)?;
        }
        for seal in std::mem::take(&mut self.taken) {
            self.streams
                .sealed(PartId(0), seal.stream, seal.until)
                .map_err(refused)?;
        }
        self.note_moment();
        Ok(true)
    }

    fn note_moment(&mut self) {
        if self.moments.len() == MOMENTS_MAX {
            self.moments.pop_front();
        }
        self.moments.push_back(CommitMoment {
            vector: self.streams.vector(),
            graph: self.database.graph(),
        });
    }

    /// The graph that an evaluation sees: that of the first commit which covers every batch of the query's streams that ends
    /// by its close, as far as it is remembered; else the newest.
    fn graph_at(&self, close: Time, query: &Registered) -> Arc<Graph> {
        let covers = |moment: &&CommitMoment| {
            query.reads.iter().all(|stream| {
                let known = moment.vector.iter().find(|(known, _)| known == stream);
                let grain_ms = self.streams.definition(*stream).map_or(1, |it| it.grain_ms);
                let end_ms = close.0 - close.0 % grain_ms;
                known.is_some_and(|(_, point)| point.covered(grain_ms).0 >= end_ms)
            })
        };
        let known = self.moments.iter().find(covers);
        match (query.planned.query.freshness, known) {
            (Freshness::Aligned, Some(moment)) => Arc::clone(&moment.graph),
            _ => self.database.graph(),
        }
    }

    /// The moment that a seal covers.
    fn end_of(&self, seal: &Seal) -> Result<Time, QueryError> {
        let definition = self.streams.definition(seal.stream).map_err(refused)?;
        Ok(seal.until.covered(definition.grain_ms))
    }

    /// Evaluates a query and shows its report. What fails is in the report: other queries go on.
    fn evaluate(
        &mut self,
        ready: &Evaluation,
        take: &mut Take<'_>,
    ) -> Result<ControlFlow<()>, QueryError> {
        let Some(query) = self.queries.get(&ready.query) else {
            return Ok(ControlFlow::Continue(()));
        };
        let graph = self.graph_at(ready.close, query);
        let Some(query) = self.queries.get_mut(&ready.query) else {
            return Ok(ControlFlow::Continue(()));
        };
        let evaluated = guarded(|| evaluated(&self.database, &graph, query, ready));
        query.evaluations += 1;
        query.close = Some(ready.close);
        query.failure = evaluated.as_ref().err().map(|error| error.message.clone());
        let policy = query.planned.query.report;
        let report = evaluated.unwrap_or_else(|error| Some(query.failed(ready, error)));
        let writes = query.writes;
        let mut quads: Vec<Quad> = Vec::new();
        if writes.is_some() {
            let rows = report.as_ref().map_or(&[][..], |report| &report.rows);
            quads.extend(rows.iter().filter_map(quad_of));
        }
        let taken = match report {
            Some(report) if policy.rows && report.has_no_rows() => ControlFlow::Continue(()),
            Some(report) => take(report)?,
            None => ControlFlow::Continue(()),
        };
        if let Some(target) = writes
            && let Err(error) = self.write(target, ready, &quads)
            && let Some(query) = self.queries.get_mut(&ready.query)
        {
            query.failure = Some(error.message);
        }
        Ok(taken)
    }

    /// Gives the triples of a report to the stream that its query writes, as one item at its close.
    fn write(
        &mut self,
        target: StreamId,
        ready: &Evaluation,
        quads: &[Quad],
    ) -> Result<(), QueryError> {
        if quads.is_empty() {
            return Ok(());
        }
        let source = SourceId(ready.query.0 + OF_QUERIES);
        let ids = with_dictionary(&self.database, |live| {
            ids_of(live, &mut BlankScope::default(), quads)
        })?;
        let mut items = Items::new();
        items.add(ready.close, &ids);
        self.streams.push(target, source, &items).map_err(refused)?;
        Ok(())
    }
}

/// The latest time of an item (milliseconds): instants behind it are numbers still.
const TIME_MAX_MS: u64 = 1 << 62;

/// Sources of streams that are queries have their numbers from here on.
const OF_QUERIES: u64 = 1 << 40;

/// A refusal of the streams in the words for a request.
#[allow(clippy::needless_pass_by_value)] // for `map_err`
fn refused(error: StreamError) -> QueryError {
    let kind = match &error {
        StreamError::NameTaken(_) | StreamError::InUse { .. } | StreamError::QueryTaken(_) => {
            Kind::Conflict
        }
        StreamError::NoStream(_) | StreamError::NoQuery(_) | StreamError::NoPart(_) => {
            Kind::NotFound
        }
        StreamError::Full { .. } => Kind::Memory,
        StreamError::Definition(_) | StreamError::Schedule(_) => Kind::Unsupported,
        StreamError::Unsealed { .. } => Kind::Internal,
    };
    let failure = QueryError::new(kind, &error);
    match error {
        StreamError::Full {
            held_bytes,
            budget_bytes,
            ..
        } => failure.with_limit(Unit::Bytes, budget_bytes, held_bytes),
        _ => failure,
    }
}

/// There is no such query.
pub(super) fn no_query(name: &str) -> QueryError {
    QueryError::new(
        Kind::NotFound,
        format!("there is no registered query `{name}`"),
    )
}
