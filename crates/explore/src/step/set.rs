//! Expand by one sorted set that all rows share: the seed of most walks.
//!
//! From a constant (`?x rdf:type ub:Course`), the keys of a predicate, all predicates, all graphs.
//! Elements are decoded by ordinal, so workers share a seed by cutting `from..to`. Several input
//! rows make a product, row by row. Where no column is needed afterwards the step is a
//! multiplication.
//!
//! Costs a decode (about 1 ns an element) and a copy of the carried columns.

use super::{Flow, StepOutcome};
use crate::chunk::ROWS_MAX;
use crate::error::WalkError;
use query::plan::Slot;
use std::ops::Range;
use store::VertexSet;

/// The set, and the column it fills (`None`: nobody needs it).
pub(crate) struct SetPolicy<'a> {
    pub(crate) set: VertexSet<'a>,
    pub(crate) into: Option<Slot>,
}

/// The state of one walk.
pub(crate) struct SetExpansion<'p, 'a> {
    policy: &'p SetPolicy<'a>,
    range: Range<u64>,
    row: u64,
    ordinal: u64,
}

impl<'p, 'a> SetExpansion<'p, 'a> {
    pub(crate) fn new(policy: &'p SetPolicy<'a>) -> Self {
        SetExpansion {
            policy,
            range: 0..policy.set.len(),
            row: 0,
            ordinal: 0,
        }
    }

    /// Only these elements, by ordinal. Asserts that they exist.
    pub(crate) fn restrict(&mut self, range: Range<u64>) {
        assert!(
            range.end <= self.policy.set.len(),
            "a seed is cut within its length"
        );
        self.ordinal = range.start;
        self.range = range;
    }

    pub(crate) fn run(&mut self, flow: &mut Flow<'_>) -> Result<StepOutcome, WalkError> {
        let length = self.range.end.saturating_sub(self.range.start);
        if flow.carried.is_empty() && self.policy.into.is_none() {
            let product = flow.input.rows().checked_mul(length);
            flow.output.add_rows(product.unwrap_or(ROWS_MAX + 1))?;
            return Ok(StepOutcome::Drained);
        }
        if length == 0 {
            return Ok(StepOutcome::Drained);
        }
        while self.row < flow.input.rows() {
            if flow.is_full() {
                return Ok(StepOutcome::More);
            }
            let take = (flow.room() as u64).min(self.range.end - self.ordinal);
            if let Some(into) = self.policy.into {
                let cells = flow.output.cells_mut(into);
                self.policy
                    .set
                    .decode(self.ordinal, self.ordinal + take, cells)?;
            }
            flow.output
                .repeat(flow.input, flow.carried, self.row, take as usize);
            flow.output.add_rows(take)?;
            self.ordinal += take;
            if self.ordinal == self.range.end {
                self.row += 1;
                self.ordinal = self.range.start;
            }
        }
        self.row = 0;
        Ok(StepOutcome::Drained)
    }
}
