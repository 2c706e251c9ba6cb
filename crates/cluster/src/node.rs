//! A node among others: what happens to it, the queries that it walks for whoever asked, and those that it was asked.
//!
//! | who | calls | |
//! |---|---|---|
//! | one thread that polls the fabric | [`Node::handle`] | never blocks for long: questions about the part are answered there |
//! | any number of workers | [`Node::work`] | until it says that there is nothing to do; [`Host::wake`] says that there is |
//! | whoever asks a query | `Node::start`, then `Running::next` | parks or waits by the ticket that it gives |
//!
//! So the same node runs on threads, or in one thread under virtual time.
//!
//! A node that is away fails the queries that sent rows to it or were begun there; others go on. Nothing of a query that has
//! ended is believed: what still comes for it is dropped.

use crate::bytes::Malformed;
use crate::error::Failure;
use crate::figures::Figures;
use crate::ground::Ground;
use crate::host::{HomeSection, Host};
use crate::message::{Begin, Message, Mode, QueryId};
use crate::reading::locations::LOCATION_BYTES_MAX;
use crate::register::{Placed, Register};
use crate::run::halt::Halt;
use crate::run::queue::Scheduler;
use crate::run::stage::Stage;
use crate::run::{At, Materials, Run};
use crate::session::Session;
use crate::terms::PartTerms;
use crate::trace::Trace;
use crate::visit::Visit;
use explore::{MemoryBudget, Service, Stop};
use fabric::Event;
use oxsdatatypes::DateTime;
use query::plan::Plan;
use query::wire::{DecodeError, decode_rows};
use rdf::{NodeCause, NodeError, VertexId};
use std::fmt::Write as _;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use store::view::{GraphView, ViewError};

/// Bytes that a node may have for others beside what their queries have: rows that came before their query, answers in the
/// making, and messages that wait for room. All that its queries may have bounds it too.
const EXCHANGE_BYTES_MAX: u64 = 1 << 30;

/// A query to be walked over all parts.
pub struct PartsQuery<P, T> {
    /// The plan, made with the statistics of all parts.
    pub plan: Arc<Plan>,
    /// For each constant of the plan the id that the lexicon has for it.
    pub ids: Vec<Option<VertexId>>,
    /// How rows come to what they need.
    pub mode: Mode,
    /// What `NOW()` gives.
    pub now: DateTime,
    /// What random numbers follow from.
    pub seed: u64,
    /// Rows of a full chunk.
    pub chunk_rows: usize,
    /// Where memory comes from, here.
    pub memory: Arc<dyn MemoryBudget + Send>,
    /// What was asked for it already.
    pub visit: Visit<P, T>,
    /// Bytes that it may have on each other node.
    pub memory_bytes: u64,
    /// Who says stop.
    pub stop: Arc<dyn Stop + Send>,
    /// What is left until its deadline.
    pub time: Option<Duration>,
    /// Whether each node says what its sections did ([`Running::done_by_section`](crate::Running::done_by_section)).
    pub is_profiled: bool,
    /// What it is part of, where it is followed: each node then gives what it did to its [`Host`].
    pub trace: Option<Trace>,
}

/// See the module's documentation.
pub struct Node<P, T> {
    ground: Arc<Ground<P, T>>,
    scheduler: Arc<Scheduler<P, T>>,
    state: Mutex<Register<P, T>>,
}

/// Queries know their node's ground and scheduler. Where these know queries, in who waits for a ticket and in what is to be
/// done, they would keep each other for ever.
impl<P, T> Drop for Node<P, T> {
    fn drop(&mut self) {
        self.ground.forget();
        self.scheduler.forget();
    }
}

impl<P: GraphView + Send + Sync + 'static, T: PartTerms> Node<P, T> {
    /// A node on this ground.
    pub fn new(mut ground: Ground<P, T>, host: Arc<dyn Host>) -> Node<P, T> {
        ground.draw_on(host.memory(EXCHANGE_BYTES_MAX));
        let ground = ground.with_location_memory(host.memory(LOCATION_BYTES_MAX));
        Node {
            ground: Arc::new(ground),
            scheduler: Arc::new(Scheduler::new(host)),
            state: Mutex::default(),
        }
    }

    /// Whether somebody may do the first steps of this plan in a walk's stead, were this the only node.
    pub fn has_offloader(&self, plan: &Plan, memory: &Arc<dyn MemoryBudget + Send>) -> bool {
        let all = HomeSection {
            column: None,
            takes_members: true,
        };
        let host = self.scheduler.host();
        host.offloader(plan, all, memory).is_some()
    }

    /// What it stands on.
    pub fn ground(&self) -> &Arc<Ground<P, T>> {
        &self.ground
    }

    /// What it did so far.
    pub fn figures(&self) -> Figures {
        let locations = self.ground.locations();
        Figures {
            locations,
            term_bytes: self.ground.known_terms().bytes(),
            ..self.state().figures
        }
    }

    /// Queries that are walked here now.
    pub fn queries(&self) -> usize {
        self.state().runs.len()
    }

    fn state(&self) -> MutexGuard<'_, Register<P, T>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes what the fabric's poll gave, in order.
    pub fn handle(&self, events: impl Iterator<Item = Event>) {
        for event in events {
            match event {
                Event::Message { from, bytes } => match Message::decode(&bytes) {
                    Ok(message) => self.message(from.0, message),
                    Err(error) => self.nonsense(from.0, &bytes, &error),
                },
                Event::Room { to } => self.ground.has_room(to.0),
                Event::Down { node, cause, .. } => {
                    self.state().figures.losses += 1;
                    self.away(node.0, &cause.to_string());
                }
                // Whoever runs the node writes it down.
                Event::Refused { .. } | Event::Up { .. } | Event::Written { .. } => {}
                Event::Read {
                    token,
                    into,
                    result,
                    ..
                } => self.ground.has_read(token, &into, result),
            }
        }
    }

    /// Works on one section of one query for some milliseconds; `false`: there was nothing to do.
    pub fn work(&self) -> bool {
        let Some((run, at)) = self.scheduler.pop() else {
            return false;
        };
        // A panic ends the query, and not the thread that others need.
        match catch_unwind(AssertUnwindSafe(|| run.stage(at).work(&run, at))) {
            Ok(true) => self.scheduler.push(run, at),
            Ok(false) => run.tell_took(),
            Err(_) => {
                let what = "a panic ended it there, which is a bug of ours";
                run.fail(NodeError::fault(self.ground.here(), what).into());
                run.stage(at).clear();
            }
        }
        true
    }

    /// Begins a query here; whoever gets it ends it. Errors: the plan cannot be walked over parts, or a node that it needs
    /// is away.
    pub(crate) fn begin_here(
        &self,
        question: PartsQuery<P, T>,
    ) -> Result<Arc<Run<P, T>>, ViewError> {
        if question.plan.views() > 1 || !question.plan.tables().is_empty() {
            let refused = NodeError {
                node: self.ground.here(),
                cause: NodeCause::Unsupported,
                what: "windows over streams are not answered on a cluster".to_owned(),
            };
            return Err(Failure::from(refused).into());
        }
        let halt = Arc::new(Halt::new(
            Arc::clone(self.ground.fabric()),
            question.time,
            Some(question.stop),
        ));
        let materials = Materials {
            plan: question.plan,
            ids: question.ids,
            now: question.now,
            seed: question.seed,
            chunk_rows: question.chunk_rows,
            memory_bytes: question.memory_bytes,
            memory: question.memory,
            service: self.service(&halt),
            is_profiled: question.is_profiled,
            trace: question.trace,
        };
        let id = {
            let mut state = self.state();
            state.last += 1;
            QueryId {
                home: self.ground.here(),
                life: self.ground.fabric().life(),
                number: state.last,
            }
        };
        let run = Run::new(
            id,
            &self.ground,
            &self.scheduler,
            question.mode,
            (materials, Arc::clone(question.visit.session())),
            halt,
        );
        let run = Arc::new(run);
        self.state().runs.insert(id, Arc::clone(&run));
        if let Err(error) = self.begin_elsewhere(&run) {
            self.end_elsewhere(&run);
            self.close(id);
            return Err(error);
        }
        if run.starts().contains(&id.home) {
            // Whoever asks does it.
            run.schedule_quietly(At {
                section: 0,
                in_place: false,
            });
        }
        Ok(run)
    }

    /// Tells the nodes that start; others are told when rows come to them.
    fn begin_elsewhere(&self, run: &Arc<Run<P, T>>) -> Result<(), ViewError> {
        let here = self.ground.here();
        for node in run.starts().into_iter().filter(|node| *node != here) {
            self.tell(run, node)?;
        }
        Ok(())
    }

    /// Tells a node of a query that was asked here, once.
    fn tell(&self, run: &Arc<Run<P, T>>, node: u16) -> Result<(), Failure> {
        let Some(mut home) = run.at_home() else {
            return Ok(());
        };
        if home.nodes.contains(&node) {
            return Ok(());
        }
        if run.halt.is_over() {
            // Whoever ends it has taken the list of those who are told, or is about to: nobody would tell this one.
            let _ = self.ground.send(node, &Message::End(run.id));
            return Ok(());
        }
        let begin = match &home.begin {
            Some(begin) => Arc::clone(begin),
            None => Arc::clone(home.begin.insert(Arc::new(run.begin()?))),
        };
        let begin = Message::Begin(run.id, run.with_time_left(&begin));
        self.ground.send(node, &begin)?;
        home.nodes.push(node);
        Ok(())
    }

    /// A query that was asked here is over: its last rows may still be looked at here.
    pub(crate) fn end_elsewhere(&self, run: &Arc<Run<P, T>>) {
        let nodes = run
            .at_home()
            .map(|mut home| std::mem::take(&mut home.nodes));
        for node in nodes.unwrap_or_default() {
            // One that is away has forgotten it.
            let _ = self.ground.send(node, &Message::End(run.id));
        }
    }

    /// Frees what a query has here.
    pub(crate) fn close(&self, id: QueryId) {
        let (run, _) = self.state().end(id, None);
        if let Some(run) = run {
            self.note(&run);
            let spans = run.spans();
            if !spans.is_empty() {
                let now = self.ground.fabric().now();
                self.scheduler.host().followed(spans, now);
            }
            run.halt.end();
            run.stages.iter().flatten().for_each(Stage::clear);
        }
    }

    /// A query was asked here and walked by this node alone, over [`Visit::view_alone`] and no `Running`. An error: something of
    /// the part that it may have looked at was damaged.
    pub fn walked_alone(&self, visit: &Visit<P, T>) -> Result<(), ViewError> {
        let fetched = visit.fetched();
        let mut state = self.state();
        state.figures.asked += 1;
        state.figures.fetched.add(fetched);
        drop(state);
        self.ground.part().damage().map_or(Ok(()), Err)
    }

    /// Adds what a query did to the node's figures.
    fn note(&self, run: &Run<P, T>) {
        let fetched = run.session.kept().fetched;
        let figures = &mut self.state().figures;
        figures.shipped.add(run.shipped());
        figures.fetched.add(fetched);
        if run.id.home == self.ground.here() {
            figures.asked += 1;
        } else {
            figures.helped += 1;
        }
    }

    fn message(&self, from: u16, message: Message) {
        match message {
            Message::Ask { request, question } => self.ground.answer(from, request, &question),
            Message::Piece {
                request,
                is_last,
                bytes,
            } => self.ground.piece(from, request, is_last, &bytes),
            Message::Begin(query, begin) => self.begin(from, query, &begin),
            Message::End(query) if query.home == from => self.close(query),
            Message::End(_) => {}
            Message::Unknown(query) => self.unknown(from, query),
            Message::Nonsense { what } => {
                self.away(
                    from,
                    &format!("it could not read what was sent to it: {what}"),
                );
            }
            Message::Rows {
                query, ref rows, ..
            } => {
                let bytes = rows.len();
                self.rows((query, from, bytes), message);
            }
            Message::Took(..)
            | Message::Did(..)
            | Message::Room { .. }
            | Message::Failed { .. }
            | Message::Ended { .. } => {
                self.of_run(from, message);
            }
        }
    }

    /// A message that is none: nothing that the two nodes still wait for from each other can be relied on, on both sides.
    fn nonsense(&self, from: u16, bytes: &[u8], error: &Malformed) {
        self.away(from, &format!("it sent what is no message: {error}"));
        // Whoever cannot read this one answers it with nothing.
        if !Message::is_nonsense(bytes) {
            let what = error.to_string();
            let _ = self.ground.send(from, &Message::Nonsense { what });
        }
    }

    /// Rows have come, perhaps for a query that is not known yet.
    fn rows(&self, (query, from, bytes): (QueryId, u16, usize), message: Message) {
        let (here, memory) = (self.ground.here(), self.ground.memory());
        let placed = self
            .state()
            .place((query, from, bytes), message, here, memory);
        match placed {
            Placed::Known(message) => self.of_run(from, message),
            Placed::Kept { is_first: true } => {
                let asked = self.ground.send(query.home, &Message::Unknown(query));
                if let Err(failure) = asked {
                    self.give_up(query, None, &failure.told_by(here));
                }
            }
            Placed::Refused(error) => self.give_up(query, Some(from), &error),
            Placed::GivenUp(error) => {
                let _ = self.ground.send(from, &Message::Failed { query, error });
            }
            Placed::Kept { is_first: false } | Placed::Ended => {}
        }
    }

    /// A query cannot begin here. Whoever was asked may be out of reach, so all are told that have sent rows for it, or will.
    fn give_up(&self, query: QueryId, from: Option<u16>, cause: &NodeError) {
        let (_, mut senders) = self.state().end(query, Some(cause.clone()));
        senders.extend(from);
        senders.insert(query.home);
        for sender in senders {
            let error = cause.clone();
            let failed = Message::Failed { query, error };
            // Who is away has lost the query, or will not miss its rows.
            let _ = self.ground.send(sender, &failed);
        }
    }

    /// Rows have come to a node for a query that was asked here.
    fn unknown(&self, node: u16, query: QueryId) {
        let run = self.state().runs.get(&query).map(Arc::clone);
        let Some(run) = run.filter(|run| !run.halt.is_over()) else {
            let _ = self.ground.send(node, &Message::End(query));
            return;
        };
        if let Err(failure) = self.tell(&run, node) {
            run.fail(failure);
        }
    }

    /// A message about a query that is walked here.
    fn of_run(&self, from: u16, message: Message) {
        let query = match &message {
            Message::Rows { query, .. }
            | Message::Took(query, _)
            | Message::Did(query, _)
            | Message::Room { query, .. }
            | Message::Failed { query, .. }
            | Message::Ended { query, .. } => *query,
            _ => unreachable!("these are about no query's walk"),
        };
        let Some(run) = self.state().runs.get(&query).map(Arc::clone) else {
            return;
        };
        match message {
            Message::Rows {
                section,
                in_place,
                rows,
                ..
            } => {
                let at = At {
                    section: section as usize,
                    in_place,
                };
                let refused =
                    |error: DecodeError| Failure::from(NodeError::fault(from, error.to_string()));
                let rows = decode_rows(&rows).map_err(refused);
                if let Err(failure) = rows.and_then(|rows| run.accept(from, at, rows)) {
                    run.fail(failure);
                }
            }
            Message::Took(_, took) => run.count(from, &took),
            Message::Did(_, did) => run.said(from, did),
            Message::Ended {
                section, in_place, ..
            } if from == query.home => {
                let section = section as usize;
                run.input_ended(At { section, in_place });
            }
            Message::Room {
                section, tables, ..
            } => {
                for blocked in run.has_room(section as usize, from, tables as usize) {
                    run.schedule(blocked);
                }
            }
            Message::Failed { mut error, .. } => {
                if error.node != from {
                    // Of a link that is cut both ends are to be known.
                    let _ = write!(error.what, " (as node {from} sees it)");
                }
                run.fail(error.into());
            }
            _ => {}
        }
    }

    /// A query of another node begins.
    fn begin(&self, from: u16, query: QueryId, begin: &Begin) {
        if query.home != from {
            return;
        }
        let mut state = self.state();
        if let Some(cause) = state.given_up(query) {
            drop(state);
            self.give_up(query, None, &cause);
            return;
        }
        if state.knows(query) {
            return;
        }
        let run = match self.run(query, begin) {
            Ok(run) => Arc::new(run),
            Err(what) => {
                drop(state);
                self.give_up(query, None, &NodeError::fault(self.ground.here(), what));
                return;
            }
        };
        state.runs.insert(query, Arc::clone(&run));
        let early = state.take_early(query);
        drop(state);
        if run.starts().contains(&self.ground.here()) {
            run.schedule(At {
                section: 0,
                in_place: false,
            });
        }
        for early in early {
            self.of_run(early.from, early.message);
        }
    }

    /// Who asks other endpoints for a query, no longer than it may.
    fn service(&self, halt: &Arc<Halt>) -> Option<Arc<dyn Service + Send>> {
        let stop = Arc::clone(halt) as Arc<dyn Stop + Send>;
        self.scheduler.host().service(halt.left(), stop)
    }

    fn run(&self, query: QueryId, begin: &Begin) -> Result<Run<P, T>, String> {
        let (plan, ids) =
            query::wire::decode_plan(&begin.plan).map_err(|error| error.to_string())?;
        if plan.views() > 1 || !plan.tables().is_empty() {
            return Err("a plan of a cluster looks at the store alone".to_owned());
        }
        let now = begin
            .now
            .parse()
            .map_err(|_| "its moment is none".to_owned())?;
        let time = Some(begin.time_ns).filter(|time| *time < u64::MAX);
        let host = self.scheduler.host();
        let fabric = Arc::clone(self.ground.fabric());
        let halt = Arc::new(Halt::new(fabric, time.map(Duration::from_nanos), None));
        let materials = Materials {
            plan: Arc::new(plan),
            ids,
            now,
            seed: begin.seed,
            chunk_rows: (begin.chunk_rows as usize).clamp(1, 1 << 16),
            memory_bytes: begin.memory_bytes,
            memory: host.memory(begin.memory_bytes),
            service: self.service(&halt),
            is_profiled: begin.is_profiled,
            trace: begin.trace,
        };
        let session = Arc::new(Session::new(Arc::clone(&materials.memory)));
        let run = Run::new(
            query,
            &self.ground,
            &self.scheduler,
            begin.mode,
            (materials, session),
            halt,
        );
        if run.division() != begin.division {
            return Err(
                "it divides the plan into other sections: run the same release on all nodes"
                    .to_owned(),
            );
        }
        Ok(run)
    }

    /// A node is away.
    fn away(&self, node: u16, what: &str) {
        self.ground.is_away(node, what);
        let runs: Vec<Arc<Run<P, T>>> = self.state().runs.values().map(Arc::clone).collect();
        for run in runs {
            if run.id.home == node {
                self.close(run.id);
            } else if run.needs(node) {
                run.fail(NodeError::away(node, what).into());
            }
        }
        let unknown = self.state().unknown_of(node);
        for query in unknown {
            self.give_up(query, None, &NodeError::away(node, what));
        }
    }
}
