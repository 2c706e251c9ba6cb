//! Join two columns that may be unbound: rows are kept where they hold the same term or one of them
//! holds none, and the first column then holds what is bound (SPARQL 1.1 Query section 18.3).
//!
//! Equality of ids is equality of terms, so a row costs two loads and a comparison.

use super::{Flow, StepOutcome};
use crate::error::WalkError;
use query::plan::Slot;
use rdf::VertexId;

/// Which columns; `None`: not alive, so unbound in every row. Where neither is, or only the first,
/// there is nothing to compare, and `prepare` chooses otherwise.
pub(crate) struct UnifyPolicy {
    /// The column that stays, if it is alive before.
    pub(crate) left: Option<Slot>,
    /// The other.
    pub(crate) right: Slot,
    /// Where the bound one is put, if somebody needs it.
    pub(crate) into: Option<Slot>,
}

/// The state of one walk.
pub(crate) struct UnifyCheck<'p> {
    policy: &'p UnifyPolicy,
    positions: Vec<u32>,
}

impl<'p> UnifyCheck<'p> {
    pub(crate) fn new(policy: &'p UnifyPolicy) -> Self {
        UnifyCheck {
            policy,
            positions: Vec::new(),
        }
    }

    pub(crate) fn run(&mut self, flow: &mut Flow<'_>) -> Result<StepOutcome, WalkError> {
        let right = flow.input.live(self.policy.right);
        let left = self.policy.left.map(|slot| flow.input.live(slot));
        self.positions.clear();
        let Some(left) = left else {
            if let Some(into) = self.policy.into {
                flow.output.cells_mut(into).extend_from_slice(right);
            }
            flow.output.absorb(flow.input, flow.carried)?;
            return Ok(StepOutcome::Drained);
        };
        let compatible = |(left, right): (VertexId, VertexId)| {
            left == right || left.is_unbound() || right.is_unbound()
        };
        let pairs = left.iter().copied().zip(right.iter().copied());
        let kept = (0_u32..).zip(pairs).filter(|(_, pair)| compatible(*pair));
        self.positions.extend(kept.map(|(row, _)| row));
        if let Some(into) = self.policy.into {
            let bound = |&row: &u32| {
                let (left, right) = (left[row as usize], right[row as usize]);
                if left.is_unbound() { right } else { left }
            };
            let cells = self.positions.iter().map(bound);
            flow.output.cells_mut(into).extend(cells);
        }
        flow.keep(&self.positions)?;
        Ok(StepOutcome::Drained)
    }
}
