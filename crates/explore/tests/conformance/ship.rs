//! A plan whose intersections are expansions and checks again, so that rows go to the second list and not the list to them.
//!
//! The same plan otherwise: an order that was chosen for checks would be another one, and the two could not be compared.

use query::plan::{Action, Node, Plan, Side, Slot, Step};
use rdf::Direction;

/// The plan, shipping.
pub fn shipped(plan: &Plan) -> Plan {
    let mut shipped = plan.clone();
    shipped.steps = plan.steps.iter().flat_map(steps).collect();
    shipped
}

fn steps(step: &Step) -> Vec<Step> {
    let Action::Intersect { sides, into } = &step.action else {
        return vec![step.clone()];
    };
    let [near, far] = sides;
    let mut keep = step.keep.clone();
    keep.extend([far.from, *into]);
    keep.sort_unstable();
    keep.dedup();
    let expand = Action::Expand {
        from: Node::Slot(near.from),
        predicate: Node::Constant(near.predicate),
        direction: near.direction,
        source: near.source,
        scope: near.scope,
        into: *into,
    };
    vec![
        Step {
            action: expand,
            keep,
            estimate: step.estimate,
        },
        Step {
            action: check(far, *into),
            keep: step.keep.clone(),
            estimate: step.estimate,
        },
    ]
}

/// Whether a vertex is in a side's list, by that list.
fn check(side: &Side, vertex: Slot) -> Action {
    let ends = match side.direction {
        Direction::Out => [side.from, vertex],
        Direction::In => [vertex, side.from],
    };
    let [subject, object] = ends.map(Node::Slot);
    Action::Check {
        subject,
        predicate: Node::Constant(side.predicate),
        object,
        from: side.direction,
        source: side.source,
        scope: side.scope,
    }
}
