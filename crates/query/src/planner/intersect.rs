//! Where an expansion and a check of its new column are one step, and what that costs.
//!
//! ```text
//!  expand ?z -memberOf-> ?x         both ends of the check are columns, one of them new,
//!  check  ?x -degreeFrom-> ?y       the other bound before the expansion
//! ```
//!
//! An expansion copies every neighbour out and the check looks each of them up, some 30 ns together; an
//! intersection finds two lists and meets them, some 100 ns a row and little more for long lists, because
//! entities that are described together have neighbouring ids and lists that come often are marked as bits
//! (`explore::step::intersect`). So it pays from a few neighbours on, and it is what keeps a cycle within the bound of
//! its output (Atserias, Grohe and Marx, "Size bounds and query plans for relational joins", FOCS'08). The order is
//! searched with its price ([`super::order`]): a walk whose expansions are never made is not dear.

use super::access::{self, Flow, Move};
use super::costs;
use super::link::Link;
use super::order::component::Ordered;
use super::problem::Problem;
use crate::plan::{Node, Side, Slot};
use rdf::Direction;

/// An expansion by one link that meets another.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Intersection {
    pub sides: [Side; 2],
    pub into: Slot,
    /// Which end of the expansion's pattern is listed first, where neither was known.
    pub keys: Option<Direction>,
}

/// The intersection of two patterns, if a walk that has bound these columns expands the first into a new one that the
/// second checks. `keys`: which end is listed where neither is known.
pub(super) fn intersection(
    expanded: &Link,
    checked: &Link,
    keys: Direction,
    is_bound: impl Fn(Slot) -> bool,
) -> Option<Intersection> {
    let [subject, object] = expanded.ends();
    let (from, listed) = match [subject, object].map(&is_bound) {
        [true, false] => (subject, None),
        [false, true] => (object, None),
        [false, false] if keys == Direction::Out => (subject, Some(keys)),
        [false, false] => (object, Some(keys)),
        [true, true] => return None,
    };
    let (near, into) = expanded.seen_from(from);
    let other = match checked.ends() {
        [subject, object] if object == into => subject,
        [subject, object] if subject == into => object,
        _ => return None,
    };
    if !is_bound(other) && other != from {
        return None;
    }
    let (far, _) = checked.seen_from(other);
    Some(Intersection {
        sides: [near, far],
        into,
        keys: listed,
    })
}

impl Intersection {
    /// The cost of the expanded pattern with the check. `expanded`: rows of the expansion, were it made; `flow`: from
    /// the rows before both to those after both.
    pub(super) fn cost(
        &self,
        problem: &Problem<'_>,
        [near, far]: [usize; 2],
        expanded: f64,
        flow: Flow,
    ) -> (f64, Option<Slot>) {
        let mut flow = flow;
        let mut cost = 0.0;
        let near = &problem.patterns[near];
        if let Some(keys) = self.keys {
            let (rows, listing) = access::estimate(near, Move::Keys(keys), flow);
            cost += listing;
            flow.rows_in = rows;
            flow.leading = flow.leading.or(Some(self.sides[0].from));
        }
        cost += self.step_cost(problem, far, expanded, flow);
        (cost, flow.leading.or(Some(self.into)))
    }

    /// The cost of the step alone, whose check is of the pattern `far`.
    pub(super) fn step_cost(
        &self,
        problem: &Problem<'_>,
        far: usize,
        expanded: f64,
        flow: Flow,
    ) -> f64 {
        let far = &problem.patterns[far];
        let neighbours = far.neighbours(self.sides[1].direction);
        let mean = (expanded / flow.rows_in.max(1.0)).min(neighbours);
        let lookups = self
            .sides
            .map(|side| access::lookups(Node::Slot(side.from), flow));
        let rows = flow.rows_out.min(expanded) * costs::ROW;
        let meet = flow.rows_in * (costs::INTERSECT + mean * costs::MEET);
        // As much as two steps, which it stands for: the search counts on that.
        2.0 * costs::STEP + lookups[0] + lookups[1] + meet + rows
    }
}

/// Marks the checks that are to be done within the expansion just before them, in an order that was found without
/// looking for them. `arrived`: what is bound before its first pattern.
pub(super) fn mark(problem: &Problem<'_>, order: &mut [Ordered], arrived: impl Fn(Slot) -> bool) {
    let mut bound: Vec<Slot> = Vec::new();
    let is_bound = |bound: &[Slot], slot: Slot| arrived(slot) || bound.contains(&slot);
    let mut before = 1.0;
    for at in 0..order.len() {
        let here = order[at];
        if here.begins {
            before = 1.0;
        }
        if let Some(&next) = order.get(at + 1)
            && !here.is_met
            && !next.begins
            && is_cheaper(problem, [here, next], before, |slot| is_bound(&bound, slot))
        {
            order[at + 1].is_met = true;
        }
        let variables = problem.patterns[here.pattern].variables.iter();
        bound.extend(variables.map(|&variable| problem.variables[variable].slot));
        before = here.rows;
    }
}

/// Whether two patterns of an order cost less as one step.
fn is_cheaper(
    problem: &Problem<'_>,
    [near, far]: [Ordered; 2],
    rows_in: f64,
    is_bound: impl Fn(Slot) -> bool,
) -> bool {
    let patterns = [near, far].map(|ordered| ordered.pattern);
    let sized = patterns.map(|pattern| &problem.patterns[pattern]);
    let [Some(expanded), Some(checked)] = sized.map(|sized| sized.link) else {
        return false;
    };
    let Some(found) = intersection(&expanded, &checked, near.keys, &is_bound) else {
        return false;
    };
    let leading = None;
    let flow = |rows_in, rows_out| Flow {
        rows_in,
        rows_out,
        leading,
    };
    let (together, _) = found.cost(problem, patterns, near.rows, flow(rows_in, far.rows));
    let known = access::known(sized[0], &is_bound);
    let first = flow(rows_in, near.rows);
    let (expansion, _) = access::cost(sized[0], known, near.keys, first);
    let second = flow(near.rows, far.rows);
    let (check, _) = access::cost(sized[1], [true; 3], far.keys, second);
    together < expansion + check
}
