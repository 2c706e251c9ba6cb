//! `OFFSET` and `LIMIT`: skips rows, lets some pass, then says that nothing more is wanted.

use super::{Flow, StepOutcome};
use crate::error::WalkError;

/// Rows to skip, rows to pass on.
#[derive(Clone, Copy)]
pub(crate) struct SlicePolicy {
    pub(crate) offset: u64,
    pub(crate) limit: Option<u64>,
}

/// What is still to be skipped and passed on.
pub(crate) struct Slicing {
    left: SlicePolicy,
}

impl Slicing {
    pub(crate) fn new(policy: &SlicePolicy) -> Self {
        Slicing { left: *policy }
    }

    pub(crate) fn run(&mut self, flow: &mut Flow<'_>) -> Result<StepOutcome, WalkError> {
        let skipped = self.left.offset.min(flow.input.rows());
        self.left.offset -= skipped;
        flow.input.skip(skipped);
        if let Some(limit) = &mut self.left.limit {
            flow.input.truncate(*limit);
            assert!(
                flow.input.rows() <= *limit,
                "no more rows pass than the limit"
            );
            *limit -= flow.input.rows();
        }
        flow.output.absorb(flow.input, flow.carried)?;
        Ok(if self.left.limit == Some(0) {
            StepOutcome::Satisfied
        } else {
            StepOutcome::Drained
        })
    }
}
