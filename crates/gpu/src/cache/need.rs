//! What a query needs of the segments: which, in what order, and how often it looks into each.
//!
//! The planner has said how many rows leave each step; so many lookups does the next one make. An estimate is all that is wanted: it
//! decides what is copied to the device and what is read where it is, never what an answer is.

use explore::Prepared;
use query::plan::{Action, ConstantId, Node, Step};
use rdf::Direction;
use std::collections::HashMap;
use std::ops::Range;
use store::{GraphView, SegmentKey, Snapshot};

/// How often a query looks into a segment, in expectation.
pub(crate) type Lookups = HashMap<SegmentKey, f64>;

/// The lookups of these steps.
pub(crate) fn lookups(
    prepared: &Prepared<'_>,
    snapshot: &Snapshot,
    steps: Range<usize>,
) -> Lookups {
    let mut lookups = Lookups::new();
    let plan = &prepared.plan().steps;
    let before = steps.start.checked_sub(1).map(|step| &plan[step].estimate);
    let mut rows = before.map_or(1.0, |estimate| estimate.rows.max(1.0));
    for step in &plan[steps] {
        // A seed is read once; its rows are what leaves it.
        let of_step = if rows > 1.0 {
            rows
        } else {
            step.estimate.rows.max(rows)
        };
        for predicate in predicates(step) {
            let id = prepared.ids()[predicate.0 as usize];
            let Some(predicate) = snapshot.predicate_id(id) else {
                continue;
            };
            for direction in [Direction::Out, Direction::In] {
                let key = SegmentKey {
                    predicate,
                    direction,
                };
                let own = lookups.entry(key).or_insert(0.0);
                *own += if of_step.is_finite() { of_step } else { 1.0 };
            }
        }
        rows = step.estimate.rows.max(1.0);
    }
    lookups
}

fn predicates(step: &Step) -> Vec<ConstantId> {
    let constant = |node: &Node| match node {
        Node::Constant(constant) => Some(*constant),
        Node::Slot(_) => None,
    };
    match &step.action {
        Action::Expand { predicate, .. }
        | Action::ExpandKeys { predicate, .. }
        | Action::Check { predicate, .. } => constant(predicate).into_iter().collect(),
        Action::Intersect { sides, .. } => sides.iter().map(|side| side.predicate).collect(),
        _ => Vec::new(),
    }
}
