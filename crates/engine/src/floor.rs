//! The floor of a query: bytes of the store that its answer depends on, and the misses that wait for
//! one another. A benchmark prints it beside the time.
//!
//! Counted from a profiled run, step by step, with the rows that really flowed:
//!
//! | step | bytes | dependent misses |
//! |---|---|---|
//! | first expansion from a constant | 4 a row | 2: key, list |
//! | keys of a predicate | 4 a key | 1 |
//! | expansion of a column | a key index entry (at most a cache line) a row in, 4 a row out | 2, overlapped within a chunk |
//! | check | one cache line a row in, at most | 1, overlapped |
//! | intersection | as two expansions, of the rows it gives; what is skipped in its lists is not counted | 2, overlapped |
//!
//! Rows in order share lines: a row costs no more than the share of a rank block (64 bytes for 448
//! vertices) that a dense pass touches, where the rows are as many as fill whole blocks. So the
//! floor is that of a dense pass: 64 / 448 bytes a row for membership. Steps that touch no store
//! (filters, sorting) count nothing. It is a bound from below, meant to be compared, not reached.

use crate::prepared::Query;
use query::plan::{Action, Node};

/// A query's floor.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Floor {
    /// Bytes read at least once.
    pub touched_bytes: u64,
    /// Misses, each of which needs the one before.
    pub dependent_misses: u64,
}

/// A neighbour in its 4-byte code.
const NEIGHBOUR_BYTES: u64 = 4;
/// Vertices that a 64-byte rank block covers.
const VERTICES_PER_BLOCK: u64 = 448;
const BLOCK_BYTES: u64 = 64;

impl Query {
    /// The floor of the last run, which must have been a profiled one, on the processors; zero otherwise.
    pub fn floor(&self) -> Floor {
        let mut floor = Floor::default();
        let Some(answered) = &self.answered else {
            return floor;
        };
        if answered.is_on_device() {
            return floor;
        }
        let mut rows_in = 1;
        for (step, profile) in self.plan.steps.iter().zip(&answered.profile) {
            let (bytes, misses) = of_step(&step.action, rows_in, profile.rows);
            floor.touched_bytes += bytes;
            floor.dependent_misses += misses;
            rows_in = profile.rows;
        }
        floor
    }
}

fn of_step(action: &Action, rows_in: u64, rows_out: u64) -> (u64, u64) {
    let membership = (rows_in * BLOCK_BYTES).div_ceil(VERTICES_PER_BLOCK);
    match action {
        Action::Expand {
            from: Node::Constant(_),
            ..
        } => (rows_out * NEIGHBOUR_BYTES, 2),
        Action::Expand { .. } => (membership + rows_out * NEIGHBOUR_BYTES, 2),
        Action::Intersect { .. } => (2 * (membership + rows_out * NEIGHBOUR_BYTES), 2),
        Action::ExpandKeys { .. } => (rows_out * NEIGHBOUR_BYTES, 1),
        Action::Check { .. } => (membership, 1),
        Action::ExpandPredicates { .. } => (membership + rows_in * NEIGHBOUR_BYTES, 2),
        _ => (0, 0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use query::plan::{ConstantId, Scope, Slot, Source};
    use rdf::Direction;

    #[test]
    fn a_seed_costs_its_list() {
        let action = Action::Expand {
            from: Node::Constant(ConstantId(0)),
            predicate: Node::Constant(ConstantId(1)),
            direction: Direction::In,
            scope: Scope::Default,
            into: Slot(0),
            source: Source::STORE,
        };
        assert_eq!(of_step(&action, 1, 1000), (4000, 2));
    }

    #[test]
    fn a_check_costs_its_share_of_rank_blocks() {
        let constant = Node::Constant(ConstantId(0));
        let action = Action::Check {
            subject: Node::Slot(Slot(0)),
            predicate: constant,
            object: constant,
            from: Direction::Out,
            scope: Scope::Default,
            source: Source::STORE,
        };
        assert_eq!(of_step(&action, 448_000, 5), (64_000, 1));
    }
}
