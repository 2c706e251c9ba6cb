//! The ways to walk one pattern, given what is bound, and what each costs.
//!
//! | subject | predicate | object | moves |
//! |---|---|---|---|
//! | known | known | known | check |
//! | known | known | - | expand out |
//! | - | known | known | expand in |
//! | - | known | - | keys of the predicate, then expand |
//! | known | - | any | predicates of the subject, then expand or check |
//! | - | - | known | predicates of the object, then expand |
//! | - | - | - | all predicates, then keys, then expand |
//!
//! A variable that stands in two places of the pattern is known for the second once the first is
//! bound, so the moves are found one after the other.

use super::costs;
use super::problem::{Other, Sized};
use crate::plan::{Node, Slot};
use rdf::Direction;

/// Estimates end here, so that sums and products of them stay numbers.
pub(super) const ROWS_MAX: f64 = 1e100;

/// One move of a pattern's walk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Move {
    AllPredicates,
    Predicates(Direction),
    Keys(Direction),
    Expand(Direction),
    Check,
}

/// Whether a pattern's subject, predicate and object are known: constants, and variables that are bound.
pub(super) type Ends = [bool; 3];

/// What is known of a pattern, given what is bound.
pub(super) fn known(sized: &Sized, bound: impl Fn(Slot) -> bool) -> Ends {
    nodes(sized).map(|node| match node {
        Node::Constant(_) => true,
        Node::Slot(slot) => bound(slot),
    })
}

/// A pattern's subject, predicate and object.
pub(super) fn nodes(sized: &Sized) -> [Node; 3] {
    let pattern = &sized.pattern;
    [pattern.subject, pattern.predicate, pattern.object]
}

/// The next move.
fn next(known: Ends, keys: Direction) -> Move {
    match known {
        [true, true, true] => Move::Check,
        [true, true, false] => Move::Expand(Direction::Out),
        [false, true, true] => Move::Expand(Direction::In),
        [false, true, false] => Move::Keys(keys),
        [true, false, _] => Move::Predicates(Direction::Out),
        [false, false, true] => Move::Predicates(Direction::In),
        [false, false, false] => Move::AllPredicates,
    }
}

/// The variable that a move binds (apart from a graph).
pub(super) fn binds(sized: &Sized, step: Move) -> Option<Slot> {
    let pattern = &sized.pattern;
    let node = match step {
        Move::AllPredicates | Move::Predicates(_) => pattern.predicate,
        Move::Keys(Direction::Out) | Move::Expand(Direction::In) => pattern.subject,
        Move::Keys(Direction::In) | Move::Expand(Direction::Out) => pattern.object,
        Move::Check => return None,
    };
    match node {
        Node::Slot(slot) => Some(slot),
        Node::Constant(_) => None,
    }
}

/// The moves of a pattern, first to last; at most three. `keys`: which end is listed when neither is known.
pub(super) fn moves(
    sized: &Sized,
    mut known: Ends,
    keys: Direction,
) -> impl Iterator<Item = Move> + '_ {
    let mut is_done = false;
    std::iter::from_fn(move || {
        if is_done {
            return None;
        }
        let step = next(known, keys);
        is_done = matches!(step, Move::Expand(_) | Move::Check);
        if !is_done && let Some(made) = binds(sized, step) {
            for (node, known) in nodes(sized).into_iter().zip(&mut known) {
                *known |= node == Node::Slot(made);
            }
        }
        Some(step)
    })
}

/// What a walk knows about rows: how many come in and go out, and which column is sorted.
#[derive(Clone, Copy, Debug)]
pub(super) struct Flow {
    pub rows_in: f64,
    pub rows_out: f64,
    /// The first column of the walk, which is sorted.
    pub leading: Option<Slot>,
}

/// Rows after a move, and its cost in nanoseconds.
pub(super) fn estimate(sized: &Sized, step: Move, flow: Flow) -> (f64, f64) {
    /// Predicates of one vertex, where nothing is known of it.
    const PREDICATES_OF_VERTEX: f64 = 8.0;
    let Sized {
        pattern,
        predicates,
        ..
    } = sized;
    let rows = flow.rows_in;
    let per_row_predicate = match pattern.predicate {
        Node::Slot(_) => costs::LOOKUP,
        Node::Constant(_) => 0.0,
    };
    match step {
        Move::AllPredicates => {
            let out = (rows * predicates).min(ROWS_MAX);
            (out, costs::STEP + out * costs::ROW)
        }
        Move::Predicates(direction) => {
            let out = (rows * predicates.min(PREDICATES_OF_VERTEX)).min(ROWS_MAX);
            let from = end(sized, direction);
            (out, costs::STEP + lookups(from, flow) + out * costs::ROW)
        }
        Move::Keys(direction) => {
            let out = (rows * sized.keys[direction as usize]).min(ROWS_MAX);
            (out, costs::STEP + out * (costs::KEY + costs::ROW))
        }
        Move::Expand(direction) => {
            let from = end(sized, direction);
            let cost = lookups(from, flow) + rows * per_row_predicate;
            (
                flow.rows_out,
                costs::STEP + cost + flow.rows_out * costs::ROW,
            )
        }
        Move::Check => {
            let both = [pattern.subject, pattern.object];
            let is_constant = both.iter().any(|node| matches!(node, Node::Constant(_)));
            let check = if is_constant {
                costs::CHECK_CONSTANT
            } else {
                costs::CHECK
            };
            let out = flow.rows_out.min(rows);
            let cost = rows * (check + per_row_predicate) + out * costs::ROW;
            (out, costs::STEP + cost)
        }
    }
}

/// The end that a move of this direction starts from.
fn end(sized: &Sized, direction: Direction) -> Node {
    match direction {
        Direction::Out => sized.pattern.subject,
        Direction::In => sized.pattern.object,
    }
}

/// Finding the lists of a node for all rows: once for a constant.
pub(super) fn lookups(from: Node, flow: Flow) -> f64 {
    match from {
        Node::Constant(_) => costs::LOOKUP,
        Node::Slot(slot) if flow.leading == Some(slot) => flow.rows_in * costs::LOOKUP_SORTED,
        Node::Slot(_) => flow.rows_in * costs::LOOKUP,
    }
}

/// Cost of all moves of a pattern, and the column it leads with if it is the first.
pub(super) fn cost(sized: &Sized, known: Ends, keys: Direction, flow: Flow) -> (f64, Option<Slot>) {
    let mut flow = flow;
    let mut sum = 0.0;
    for step in moves(sized, known, keys) {
        let (rows, cost) = estimate(sized, step, flow);
        sum += cost;
        flow.rows_in = rows;
        flow.leading = flow.leading.or(binds(sized, step));
    }
    (sum, flow.leading)
}

/// Cost of an item that is no pattern.
pub(super) fn cost_of_other(other: &Other, bound: &impl Fn(Slot) -> bool, flow: Flow) -> f64 {
    /// Before what it needs; only where nothing else is left.
    const NOT_READY: f64 = 1e150;
    const _: () = assert!(NOT_READY > ROWS_MAX, "all else comes before it");

    let work = if other.slots.iter().any(|slot| bound(*slot)) {
        flow.rows_in * other.row_ns
    } else {
        other.start_ns + flow.rows_in * costs::ROW
    };
    let wait = if other.is_ready(bound) {
        0.0
    } else {
        NOT_READY
    };
    costs::STEP + work + flow.rows_out * costs::ROW + wait
}
