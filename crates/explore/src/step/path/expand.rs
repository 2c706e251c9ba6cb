//! Follow a path from the known end: one breadth-first search for each distinct start of a chunk.
//!
//! What a search finds is given out as it goes, to every row with that start, so a result may be
//! larger than memory and a walk that ends early does not search on. Where no column is needed
//! afterwards the step is a multiplication.

use super::ahead::Ahead;
use super::search::{Advance, Search};
use super::{Automaton, Jobs, PathScope};
use crate::chunk::ROWS_MAX;
use crate::error::WalkError;
use crate::limits::Limits;
use crate::step::{Context, Flow, PatternOperand, StepOutcome};
use query::plan::{Slot, Source};
use store::view::GraphView;

/// From where, by what.
pub(crate) struct ExpandPolicy {
    pub(crate) from: PatternOperand,
    /// In the direction that is followed.
    pub(crate) automaton: Automaton,
    pub(crate) scope: PathScope,
    pub(crate) source: Source,
    /// The new column; `None`: nobody needs it.
    pub(crate) into: Option<Slot>,
}

/// The state of one walk.
pub(crate) struct PathExpansion<'p, 'a> {
    policy: &'p ExpandPolicy,
    jobs: Jobs,
    is_planned: bool,
    job: usize,
    is_searching: bool,
    ahead: Ahead<'p, 'a>,
    search: Search<'p, 'a>,
    /// The row of the job that what was found is given to, and how much of it was.
    place: u64,
    offset: usize,
}

impl<'p, 'a> PathExpansion<'p, 'a> {
    pub(crate) fn new(policy: &'p ExpandPolicy, limits: Limits<'a>) -> Self {
        PathExpansion {
            policy,
            jobs: Jobs::default(),
            is_planned: false,
            job: 0,
            is_searching: false,
            ahead: Ahead::new(&policy.automaton, limits),
            search: Search::new(&policy.automaton, limits),
            place: 0,
            offset: 0,
        }
    }

    pub(crate) fn run<V: GraphView, L>(
        &mut self,
        context: Context<'_, 'a, V, L>,
        flow: &mut Flow<'_>,
    ) -> Result<StepOutcome, WalkError> {
        let dataset = context.scene.dataset(self.policy.source);
        if !self.is_planned {
            let (from, scope) = (self.policy.from, &self.policy.scope);
            self.jobs.plan(flow.input, from, scope, dataset);
            self.is_planned = true;
            self.job = 0;
            self.ahead.again();
        }
        let view = context.view(self.policy.source);
        if let Some(ticket) = self.ahead.ask(view, dataset, &self.jobs.list)? {
            return Ok(StepOutcome::Pending(ticket));
        }
        while self.job < self.jobs.list.len() {
            if !self.is_searching {
                assert_eq!(self.offset, 0, "all that was found has been given");
                let job = &self.jobs.list[self.job];
                self.search.begin(job.start, job.edges)?;
                self.is_searching = true;
                self.place = job.rows.start;
            }
            if !self.give(flow)? || flow.is_full() {
                return Ok(StepOutcome::More);
            }
            match self.search.advance(view, dataset)? {
                Advance::On => {}
                Advance::Pending(ticket) => return Ok(StepOutcome::Pending(ticket)),
                Advance::Done => {
                    self.is_searching = false;
                    self.job += 1;
                }
            }
        }
        self.is_planned = false;
        Ok(StepOutcome::Drained)
    }

    /// Gives what was found to each row of the job; whether all of it was given.
    fn give(&mut self, flow: &mut Flow<'_>) -> Result<bool, WalkError> {
        let rows = self.jobs.list[self.job].rows.clone();
        let found = self.search.found();
        if found.is_empty() {
            return Ok(true);
        }
        if flow.carried.is_empty() && self.policy.into.is_none() {
            let product = (rows.end - rows.start).checked_mul(found.len() as u64);
            flow.output.add_rows(product.unwrap_or(ROWS_MAX + 1))?;
            self.search.forget_found();
            return Ok(true);
        }
        while self.place < rows.end {
            if flow.is_full() {
                return Ok(false);
            }
            let found = &self.search.found()[self.offset..];
            let found = &found[..found.len().min(flow.room())];
            if let Some(into) = self.policy.into {
                flow.output.cells_mut(into).extend_from_slice(found);
            }
            let row = self.jobs.row(self.place);
            flow.output
                .repeat(flow.input, flow.carried, row, found.len());
            flow.output.add_rows(found.len() as u64)?;
            self.offset += found.len();
            if self.offset == self.search.found().len() {
                self.offset = 0;
                self.place += 1;
            }
        }
        self.place = rows.start;
        self.search.forget_found();
        Ok(true)
    }
}
