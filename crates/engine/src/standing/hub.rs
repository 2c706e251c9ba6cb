//! The streams and standing queries of a database, driven in one loop.
//!
//! Whoever has items, promises or the time gives them in; [`Hub::advance`] then does what has become possible, in an
//! order that is a function of what was given: evaluations that are ready, then the next seals. Seals of one moment are
//! one commit, whatever streams they are of, and the evaluations that wait for them come after it.
//!
//! A `CONSTRUCT` into a stream is an item of that stream at the close of its report. Streams and queries have no circles:
//! a query whose output could reach one of its own windows is refused.

mod base;
mod commits;
mod evaluations;
mod feed;
mod late;
mod leap;
mod moments;
mod queries;
mod records;
mod registry;
mod restored;
mod room;
mod sources;
mod streams;
mod templates;
mod terms;

pub(super) use templates::{ReadInstances, ReadTemplate};

use super::costs::{HubCosts, timed};
use super::info::{Arrivals, HubStream};
use super::journal::Journals;
use super::registered::Compared;
use super::report::StandingReport;
use super::windows::Windows;
use crate::budget::StreamShare;
use crate::database::Database;
use crate::error::{Kind, QueryError, Unit};
use crate::moment::Graph;
use crate::stop::StopToken;
use base::Base;
use moments::Moments;
use records::Unconfirmed;
use registry::Registry;
use sources::Sources;
use std::collections::{BTreeMap, VecDeque};
use std::ops::ControlFlow;
use std::sync::Arc;
use std::time::{Duration, Instant};
use store::delta::IdQuad;
use stream::{Evaluation, QueryId, Seal, SealPoint, SourceId, StreamError, StreamId, Streams};
use terms::HubTerms;

/// See the head of this file.
pub struct Hub {
    base: Base,
    streams: Streams,
    /// What the streams are, in terms.
    settings: BTreeMap<StreamId, HubStream>,
    queries: Registry,
    /// How many queries were ever registered.
    made: u64,
    /// Seals that were taken and belong to one commit, which failed or is not complete yet.
    taken: Vec<Seal>,
    /// Who brings items.
    sources: Sources,
    /// What came, by stream.
    arrivals: BTreeMap<StreamId, Arrivals>,
    /// What came late, by stream.
    late: BTreeMap<StreamId, Lateness>,
    /// What of it the next commit stores.
    late_quads: Vec<IdQuad>,
    /// Commits, for evaluations that see an earlier one than the newest.
    moments: Moments<Arc<Graph>>,
    /// The terms of items.
    terms: HubTerms,
    /// What the edge's clock last said (milliseconds).
    now_ms: u64,
    /// Messages that go into the next record.
    unsaid: Vec<u8>,
    /// Whether some of them are not to be lost: what comes later in the log rests on them.
    is_needed: bool,
    /// Seals that no record says yet, by stream: nothing came in them, and nothing rests on them so far.
    quiet: BTreeMap<StreamId, SealPoint>,
    /// Records that nobody has waited for, since the last that was awaited.
    unconfirmed: Vec<Unconfirmed>,
    /// Reports that are shown when the log has them.
    withheld: Vec<Reported>,
    /// What it holds of the database's memory; `None` while a log is replayed.
    share: Option<StreamShare>,
    /// Reports that are kept for consumers, by whoever gets them.
    journals: Option<Arc<Journals>>,
    /// Evaluations before the last stop whose answers reports are compared with, by query, oldest first.
    due: BTreeMap<QueryId, VecDeque<Due>>,
    /// The graph that revisions see which the last stop has left.
    revealed: Option<Arc<Graph>>,
    costs: HubCosts,
    /// Those of the last close.
    windows: Windows,
    /// When whoever has it lets others have it; `None`: when all is done.
    turn: Option<HubTurn>,
    /// The last turn ended before all was done.
    is_behind: bool,
    /// Ends all that it does, evaluations among it.
    stop: StopToken,
}

/// What may be done before others have their turn: streams that catch up have millions of closes to evaluate.
struct HubTurn {
    /// Evaluations (count).
    left: u64,
    until: Instant,
}

/// Evaluations of a turn (count), some 10 us each where nothing came.
const TURN_EVALUATIONS: u64 = 10_000;
/// A turn is over after the evaluation that goes on for longer.
const TURN: Duration = Duration::from_millis(50);

/// An evaluation that was reported before the last stop, and is made again for the sake of a report that is compared with it.
struct Due {
    ready: Evaluation,
    graph: Arc<Graph>,
    /// The last instance that the query had then, if it is a template.
    made: u64,
}

/// What came late in one stream.
#[derive(Clone, Copy, Debug, Default)]
struct Lateness {
    /// Items (count).
    items: u64,
    /// The side stream, once it is there.
    side: Option<StreamId>,
}

/// A report, and how it stands in the log where somebody keeps one.
pub struct Reported {
    /// The report.
    pub report: StandingReport,
    /// The same as one line of JSON, where it was made.
    pub line: Option<Arc<str>>,
}

/// Takes reports; the first error or break ends the loop.
pub(super) type Take<'t> = dyn FnMut(Reported) -> Result<ControlFlow<()>, QueryError> + 't;

impl Hub {
    /// None yet. Streams that store something need a database that can be changed.
    pub fn new(database: Database) -> Hub {
        let drawn = database.clone();
        let mut hub = Hub::over(Base::Open(database));
        hub.draw_on(&drawn);
        hub
    }

    fn over(base: Base) -> Hub {
        Hub {
            base,
            streams: Streams::new(),
            settings: BTreeMap::new(),
            queries: Registry::default(),
            made: 0,
            taken: Vec::new(),
            sources: Sources::default(),
            arrivals: BTreeMap::new(),
            late: BTreeMap::new(),
            late_quads: Vec::new(),
            moments: Moments::default(),
            terms: HubTerms::default(),
            now_ms: 0,
            unsaid: Vec::new(),
            is_needed: false,
            quiet: BTreeMap::new(),
            unconfirmed: Vec::new(),
            withheld: Vec::new(),
            share: None,
            journals: None,
            due: BTreeMap::new(),
            revealed: None,
            costs: HubCosts::default(),
            windows: Windows::default(),
            turn: None,
            is_behind: false,
            stop: StopToken::starting_now(None),
        }
    }

    /// From now on whoever cancels the token stops what the hub does: it is an error then, and the hub is of no more use, because
    /// what was under way is not begun again.
    pub(in crate::standing) fn stop_by(&mut self, stop: StopToken) {
        self.stop = stop;
    }

    fn may_go_on(&self) -> Result<(), QueryError> {
        may_go_on(&self.stop)
    }

    /// What its work has cost so far.
    pub fn costs(&self) -> HubCosts {
        self.costs
    }

    /// Adds what `work` takes to a cost, but for waiting for the disk, which is one of its own.
    fn costing<T>(
        &mut self,
        cost: fn(&mut HubCosts) -> &mut Duration,
        work: impl FnOnce(&mut Hub) -> T,
    ) -> T {
        let (begun, synced) = (Instant::now(), self.costs.syncing);
        let done = work(self);
        let waited = self.costs.syncing.saturating_sub(synced);
        *cost(&mut self.costs) += begun.elapsed().saturating_sub(waited);
        done
    }

    /// Does all that has become possible, and shows each report.
    pub fn advance(&mut self, take: &mut Take<'_>) -> Result<ControlFlow<()>, QueryError> {
        loop {
            if self.evaluate_due_and_ready(take)?.is_break() {
                return Ok(ControlFlow::Break(()));
            }
            if !self.reach_ready()? {
                return Ok(ControlFlow::Continue(()));
            }
        }
    }

    /// Does what has become possible, as far as it is done in a turn, and shows each report; false: there is more to do. What is
    /// done is the same, and in the same order, however it is divided.
    pub(in crate::standing) fn advance_for_a_turn(
        &mut self,
        take: &mut Take<'_>,
    ) -> Result<bool, QueryError> {
        self.turn = Some(HubTurn {
            left: TURN_EVALUATIONS,
            until: Instant::now() + TURN,
        });
        let advanced = self.advance(take);
        let turn = self.turn.take();
        self.is_behind = turn.is_some_and(|turn| turn.left == 0);
        advanced.map(|_| !self.is_behind)
    }

    /// Whether the last turn ended before all was done: somebody takes another one.
    pub(in crate::standing) fn is_behind(&self) -> bool {
        self.is_behind
    }

    /// Whether others are to have their turn before the next evaluation.
    fn is_turn_over(&mut self) -> bool {
        let Some(turn) = &mut self.turn else {
            return false;
        };
        if turn.left > 0 && Instant::now() >= turn.until {
            turn.left = 0;
        }
        let is_over = turn.left == 0;
        turn.left = turn.left.saturating_sub(1);
        is_over
    }

    /// Does what has become possible until something is to be evaluated or shown, which [`Hub::evaluate_due_and_ready`] does, on
    /// whatever thread; false: nothing is.
    pub fn reach_ready(&mut self) -> Result<bool, QueryError> {
        let reached = self.go_on();
        self.say_held();
        reached
    }

    fn go_on(&mut self) -> Result<bool, QueryError> {
        loop {
            let is_due = !(self.withheld.is_empty() && self.due.is_empty());
            if is_due || self.streams.has_ready() {
                return Ok(true);
            }
            self.promise()?;
            if self.reveal_late()? {
                continue;
            }
            self.may_go_on()?;
            if !self.commit()? {
                self.absorb_late()?;
                self.forget_crowds()?;
                // Whoever reads the log after a crash need not evaluate again what it has; if this fails, they do.
                if !self.unsaid.is_empty() {
                    drop(self.costing(|costs| &mut costs.logging, |hub| hub.tell(hub.is_needed)));
                }
                self.tidy_terms();
                return Ok(false);
            }
        }
    }

    /// Evaluates what the last stop has left and all that is ready, and shows each report.
    pub fn evaluate_due_and_ready(
        &mut self,
        take: &mut Take<'_>,
    ) -> Result<ControlFlow<()>, QueryError> {
        let evaluated = self.evaluate_all(take);
        self.say_held();
        evaluated
    }

    fn evaluate_all(&mut self, take: &mut Take<'_>) -> Result<ControlFlow<()>, QueryError> {
        if self.show_withheld(take)?.is_break() {
            return Ok(ControlFlow::Break(()));
        }
        while let Some((_, mut due)) = self.due.pop_first() {
            due.drain(..).try_for_each(|due| self.evaluate_due(&due))?;
        }
        self.evaluate_ready(take)
    }

    fn evaluate_ready(&mut self, take: &mut Take<'_>) -> Result<ControlFlow<()>, QueryError> {
        loop {
            self.may_go_on()?;
            if self.streams.has_ready() {
                if self.is_turn_over() {
                    return Ok(ControlFlow::Break(()));
                }
                self.tell_quiet()?;
            }
            // First, since it may change the slices that an evaluation is given.
            let seen = self.see_terms()?;
            let ready = timed(&mut self.costs.windows, || self.streams.next_ready());
            let Some(ready) = ready else {
                self.revealed = None;
                return Ok(ControlFlow::Continue(()));
            };
            if self.evaluate(&ready, &seen, take)?.is_break() {
                return Ok(ControlFlow::Break(()));
            }
        }
    }

    /// Queries that write streams promise that what they write next is not before their next instants, also where they
    /// have nothing to write.
    fn promise(&mut self) -> Result<(), QueryError> {
        for (id, query) in self.queries.writers() {
            if let (Some(target), false) = (query.writes, query.is_paused) {
                let progress = self.streams.progress(id).map_err(refused)?;
                let source = SourceId(id.0 + OF_QUERIES);
                self.streams
                    .watermark(target, source, progress)
                    .map_err(refused)?;
            }
        }
        self.promise_sides()
    }
}

/// An error once somebody has stopped it.
fn may_go_on(stop: &StopToken) -> Result<(), QueryError> {
    match stop.reason() {
        None => Ok(()),
        Some(_) => Err(QueryError::new(Kind::Cancelled, "it was stopped")),
    }
}

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
