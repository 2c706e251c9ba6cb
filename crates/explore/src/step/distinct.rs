//! `DISTINCT`: passes on each row the first time it is seen.

use super::row_set::RowSet;
use super::{Flow, StepOutcome};
use crate::error::WalkError;
use crate::limits::Limits;
use query::plan::Slot;

/// The rows seen. Without columns all rows are equal: one is passed on.
pub(crate) struct DistinctCheck<'a> {
    seen: Option<RowSet<'a>>,
    positions: Vec<u32>,
}

impl<'a> DistinctCheck<'a> {
    pub(crate) fn new(columns: &'a [Slot], limits: Limits<'a>) -> Self {
        let seen = (!columns.is_empty()).then(|| RowSet::new(columns, limits));
        DistinctCheck {
            seen,
            positions: Vec::new(),
        }
    }

    pub(crate) fn run(&mut self, flow: &mut Flow<'_>) -> Result<StepOutcome, WalkError> {
        let Some(seen) = &mut self.seen else {
            flow.input.truncate(1);
            flow.output.absorb(flow.input, flow.carried)?;
            return Ok(StepOutcome::Satisfied);
        };
        self.positions.clear();
        seen.insert(flow.input, &mut self.positions)?;
        flow.keep(&self.positions)?;
        Ok(StepOutcome::Drained)
    }
}
