//! Are both ends connected?
//!
//! The search begins at the end that has fewer distinct values among the rows of a chunk, and goes on
//! only until every other end that rows ask for has been reached. The last search is kept: where one
//! end is a constant, or the same for many rows, later chunks first look into what it has reached, so
//! all of them together cost one search. A start with a single other end is searched from both ends
//! at once, always where the frontier is narrower, until the two meet (Pohl, "Bi-directional
//! search", Machine Intelligence 6, 1971): in a graph whose searches widen that visits the square
//! root of what one search would.

use super::search::{Advance, Search};
use super::{Automaton, Edges, Job, Jobs, PathScope, cell};
use crate::chunk::Chunk;
use crate::error::WalkError;
use crate::limits::Limits;
use crate::scope::Dataset;
use crate::step::{Context, Flow, PatternOperand, StepOutcome};
use query::plan::Source;
use rdf::{Direction, VertexId};
use store::view::{GraphView, Ticket};

/// Which ends, by what.
pub(crate) struct CheckPolicy {
    pub(crate) subject: PatternOperand,
    pub(crate) object: PatternOperand,
    /// Forward, and turned around.
    pub(crate) automata: Box<[Automaton; 2]>,
    pub(crate) scope: PathScope,
    pub(crate) source: Source,
}

/// The state of one walk.
pub(crate) struct PathCheck<'p, 'a> {
    policy: &'p CheckPolicy,
    jobs: Jobs,
    is_planned: bool,
    job: usize,
    /// From which end this chunk is searched.
    from: Direction,
    /// From the subject, and from the object.
    searches: [Search<'p, 'a>; 2],
    /// What the search from one end has begun with, if it is still good.
    kept: Option<(Direction, Edges, VertexId)>,
    is_searching: bool,
    is_double: bool,
    /// The job's rows that are not yet known to be connected.
    open: Vec<u32>,
    /// Rows that are.
    connected: Vec<u32>,
}

impl<'p, 'a> PathCheck<'p, 'a> {
    pub(crate) fn new(policy: &'p CheckPolicy, limits: Limits<'a>) -> Self {
        let [forward, backward] = &*policy.automata;
        PathCheck {
            policy,
            jobs: Jobs::default(),
            is_planned: false,
            job: 0,
            from: Direction::Out,
            searches: [Search::new(forward, limits), Search::new(backward, limits)],
            kept: None,
            is_searching: false,
            is_double: false,
            open: Vec::new(),
            connected: Vec::new(),
        }
    }

    pub(crate) fn run<V: GraphView, L>(
        &mut self,
        context: Context<'_, 'a, V, L>,
        flow: &mut Flow<'_>,
    ) -> Result<StepOutcome, WalkError> {
        let dataset = context.scene.dataset(self.policy.source);
        if !self.is_planned {
            self.plan(flow.input, dataset);
        }
        while self.job < self.jobs.list.len() {
            if !self.is_searching {
                self.begin(flow.input)?;
            }
            let pending = if self.is_double {
                self.meet(context.view(self.policy.source), dataset)?
            } else {
                self.reach(flow.input, context.view(self.policy.source), dataset)?
            };
            if let Some(ticket) = pending {
                return Ok(StepOutcome::Pending(ticket));
            }
            self.is_searching = false;
            self.job += 1;
        }
        self.is_planned = false;
        if flow.input.slots().next().is_none() {
            if !self.connected.is_empty() {
                flow.output.absorb(flow.input, flow.carried)?;
            }
            return Ok(StepOutcome::Drained);
        }
        self.connected.sort_unstable();
        flow.keep(&self.connected)?;
        Ok(StepOutcome::Drained)
    }

    /// Chooses the end that is searched from.
    fn plan(&mut self, input: &Chunk, dataset: &Dataset) {
        self.is_planned = true;
        self.job = 0;
        self.connected.clear();
        let scope = &self.policy.scope;
        let places = [self.policy.subject, self.policy.object];
        self.from = Direction::Out;
        self.jobs.plan(input, places[0], scope, dataset);
        let is_constant = |place: PatternOperand| matches!(place, PatternOperand::Constant(_));
        if is_constant(places[0]) || self.jobs.list.len() <= 1 && !is_constant(places[1]) {
            return;
        }
        let mut others = Jobs::default();
        others.plan(input, places[1], scope, dataset);
        if is_constant(places[1]) || others.list.len() < self.jobs.list.len() {
            self.from = Direction::In;
            self.jobs = others;
        }
    }

    /// The end of a row that is not searched from.
    fn target(&self, input: &Chunk, row: u32) -> VertexId {
        let place = match self.from {
            Direction::Out => self.policy.object,
            Direction::In => self.policy.subject,
        };
        match place {
            PatternOperand::Constant(target) => target,
            PatternOperand::Slot(slot) => cell(input, slot, row),
        }
    }

    /// Begins the searches of a job.
    fn begin(&mut self, input: &Chunk) -> Result<(), WalkError> {
        self.is_searching = true;
        let Job { edges, start, rows } = self.jobs.list[self.job].clone();
        // Rows without columns are all equal.
        let rows = if input.slots().next().is_none() {
            0..1
        } else {
            rows
        };
        self.open.clear();
        self.open
            .extend(rows.map(|place| self.jobs.row(place) as u32));
        let mut open = std::mem::take(&mut self.open);
        open.retain(|&row| !self.target(input, row).is_unbound());
        self.open = open;
        let Some(&first) = self.open.first() else {
            self.is_double = false;
            return Ok(());
        };
        let target = self.target(input, first);
        let is_single = self
            .open
            .iter()
            .all(|&row| self.target(input, row) == target);
        let is_kept = self.kept == Some((self.from, edges, start));
        self.is_double = is_single && !is_kept;
        if is_kept {
            return Ok(());
        }
        let (from, to) = (self.from as usize, self.from.reversed() as usize);
        self.searches[from].begin(start, edges)?;
        self.kept = Some((self.from, edges, start));
        if self.is_double {
            self.searches[to].begin(target, edges)?;
            // The search from this end stops where it meets the other, in the middle of a step's
            // result, but it loses nothing: it may be gone on with.
            if self.searches[from].begins_at(start, &self.searches[to]) {
                self.connected.append(&mut self.open);
            }
        }
        Ok(())
    }

    /// Goes on until all ends of the job have been reached, or cannot be.
    fn reach<V: GraphView>(
        &mut self,
        input: &Chunk,
        view: &'a V,
        dataset: &Dataset,
    ) -> Result<Option<Ticket>, WalkError> {
        loop {
            let mut open = std::mem::take(&mut self.open);
            open.retain(|&row| {
                let target = self.target(input, row);
                let is_reached = self.searches[self.from as usize].has_reached(target);
                if is_reached {
                    self.connected.push(row);
                }
                !is_reached
            });
            self.open = open;
            if self.open.is_empty() {
                return Ok(None);
            }
            let search = &mut self.searches[self.from as usize];
            search.forget_found();
            match search.advance(view, dataset)? {
                Advance::On => {}
                Advance::Done => return Ok(None),
                Advance::Pending(ticket) => return Ok(Some(ticket)),
            }
        }
    }

    /// Goes on from both ends until they meet, or cannot.
    fn meet<V: GraphView>(
        &mut self,
        view: &'a V,
        dataset: &Dataset,
    ) -> Result<Option<Ticket>, WalkError> {
        while !self.open.is_empty() {
            let [forward, backward] = &mut self.searches;
            let (search, other) = if backward.width() < forward.width() {
                (backward, forward)
            } else {
                (forward, backward)
            };
            search.forget_found();
            match search.advance(view, dataset)? {
                Advance::On => {
                    if search.meets(other) {
                        self.connected.append(&mut self.open);
                    }
                }
                Advance::Done => break,
                Advance::Pending(ticket) => return Ok(Some(ticket)),
            }
        }
        Ok(None)
    }
}
