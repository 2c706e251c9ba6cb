//! Which segments a plan's steps name, before anything is known of them.

use explore::Prepared;
use query::plan::{Action, ConstantId, Node};
use rdf::Direction;
use std::ops::Range;
use store::{GraphView, SegmentKey, Snapshot};

/// The segments that a program of these steps begins by looking at, each once: up to the first step that none has. It may come to others.
pub(crate) fn keys(
    prepared: &Prepared<'_>,
    snapshot: &Snapshot,
    steps: Range<usize>,
) -> Vec<SegmentKey> {
    let plan = &prepared.plan().steps;
    let mut keys = Vec::new();
    for step in &plan[steps.start.min(plan.len())..steps.end.min(plan.len())] {
        let Some(named) = named(&step.action) else {
            break;
        };
        for (predicate, direction) in named {
            let id = prepared.ids()[predicate.0 as usize];
            let key = snapshot.predicate_id(id).map(|predicate| SegmentKey {
                predicate,
                direction,
            });
            keys.extend(key.filter(|key| !keys.contains(key)));
        }
    }
    keys
}

/// The predicates of a step, with the direction in which it asks for them; `None`: no program has such a step.
fn named(action: &Action) -> Option<Vec<(ConstantId, Direction)>> {
    let of = |node: &Node, direction: Direction| match node {
        Node::Constant(predicate) => vec![(*predicate, direction)],
        Node::Slot(_) => Vec::new(),
    };
    match action {
        Action::Expand {
            predicate,
            direction,
            ..
        }
        | Action::ExpandKeys {
            predicate,
            direction,
            ..
        } => Some(of(predicate, *direction)),
        Action::Check {
            subject,
            predicate,
            object,
            from,
            ..
        } => {
            let direction = match (subject, object) {
                (_, Node::Constant(_)) => Direction::In,
                (Node::Constant(_), _) => Direction::Out,
                _ => *from,
            };
            Some(of(predicate, direction))
        }
        Action::Intersect { sides, .. } => {
            let sides = sides.iter();
            Some(sides.map(|it| (it.predicate, it.direction)).collect())
        }
        Action::Same { .. } | Action::Filter(_) => Some(Vec::new()),
        _ => None,
    }
}
