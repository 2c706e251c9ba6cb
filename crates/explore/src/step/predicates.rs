//! The predicates that a vertex has, from its signature: the start of a pattern with an unknown
//! predicate. One row for each; what follows decides which are in scope.

use super::{Context, Flow, PatternOperand, StepOutcome};
use crate::chunk::ROWS_MAX;
use crate::error::WalkError;
use query::plan::{Slot, Source};
use rdf::{Direction, PredicateId};
use store::view::{GraphView, Progress};

/// Of which vertex.
pub(crate) struct PredicatesPolicy {
    pub(crate) from: PatternOperand,
    pub(crate) direction: Direction,
    pub(crate) source: Source,
    pub(crate) into: Option<Slot>,
}

/// The state of one walk.
pub(crate) struct PredicatesExpansion<'p> {
    policy: &'p PredicatesPolicy,
    asked: bool,
    row: u64,
    offset: usize,
    predicates: Vec<PredicateId>,
    ends: Vec<u32>,
}

impl<'p> PredicatesExpansion<'p> {
    pub(crate) fn new(policy: &'p PredicatesPolicy) -> Self {
        let (predicates, ends) = (Vec::new(), Vec::new());
        PredicatesExpansion {
            policy,
            asked: false,
            row: 0,
            offset: 0,
            predicates,
            ends,
        }
    }

    pub(crate) fn run<V: GraphView, L>(
        &mut self,
        context: Context<'_, '_, V, L>,
        flow: &mut Flow<'_>,
    ) -> Result<StepOutcome, WalkError> {
        if !self.asked {
            if let Progress::Pending(ticket) = self.ask(context.view(self.policy.source), flow)? {
                return Ok(StepOutcome::Pending(ticket));
            }
            self.asked = true;
        }
        let rows = if self.predicates.is_empty() {
            0
        } else {
            flow.input.rows()
        };
        if flow.carried.is_empty() && self.policy.into.is_none() {
            self.count(rows, flow)?;
        }
        while self.row < rows {
            if flow.is_full() {
                return Ok(StepOutcome::More);
            }
            let found = self.predicates_of_row();
            let take = flow.room().min(found.len());
            let taken = &found[..take];
            if let Some(slot) = self.policy.into {
                let vertices = taken
                    .iter()
                    .map(|&one| context.view(self.policy.source).predicate_vertex(one));
                flow.output.cells_mut(slot).extend(vertices);
            }
            let is_last = take == found.len();
            flow.output.repeat(flow.input, flow.carried, self.row, take);
            flow.output.add_rows(take as u64)?;
            self.offset += take;
            if is_last {
                self.row += 1;
                self.offset = 0;
            }
        }
        self.row = 0;
        self.asked = false;
        Ok(StepOutcome::Drained)
    }

    fn ask<V: GraphView>(&mut self, view: &V, flow: &Flow<'_>) -> Result<Progress, WalkError> {
        self.predicates.clear();
        self.ends.clear();
        let constant;
        let vertices = match self.policy.from {
            PatternOperand::Slot(slot) => flow.input.live(slot),
            PatternOperand::Constant(vertex) => {
                constant = [vertex];
                &constant
            }
        };
        let direction = self.policy.direction;
        let (predicates, ends) = (&mut self.predicates, &mut self.ends);
        let progress = view.predicates_of(direction, vertices, predicates, ends)?;
        if progress == Progress::Ready {
            assert_eq!(ends.len(), vertices.len(), "a vertex has its predicates");
        }
        Ok(progress)
    }

    /// What is left of the current row's predicates.
    fn predicates_of_row(&self) -> &[PredicateId] {
        let list = match self.policy.from {
            PatternOperand::Slot(_) => self.row as usize,
            PatternOperand::Constant(_) => 0,
        };
        let start = if list == 0 {
            0
        } else {
            self.ends[list - 1] as usize
        };
        &self.predicates[start + self.offset..self.ends[list] as usize]
    }

    /// No column is needed.
    fn count(&mut self, rows: u64, flow: &mut Flow<'_>) -> Result<(), WalkError> {
        let found = self.predicates.len() as u64;
        let product = match self.policy.from {
            PatternOperand::Slot(_) => Some(found),
            PatternOperand::Constant(_) => rows.checked_mul(found),
        };
        self.row = rows;
        flow.output.add_rows(product.unwrap_or(ROWS_MAX + 1))
    }
}
