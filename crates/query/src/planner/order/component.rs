//! A component of the join graph in its order.
//!
//! [`order`](crate::planner::order) calls three ways to order one: [`dynamic`](super::dynamic), [`greedy`](super::greedy) and
//! [`refine`](super::refine). Each of them makes this type, so it stands below all four.
//!
//! Invariant: the order has each pattern of the component once.

use crate::node::Node;
use crate::planner::problem::Problem;
use rdf::Direction;
use std::cmp::Ordering;

/// One pattern of the order.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(in crate::planner) struct Ordered {
    /// Index into [`Problem::patterns`].
    pub pattern: usize,
    /// Rows after it for each row before its component, without filters.
    pub rows: f64,
    /// Which end is listed when neither is known.
    pub keys: Direction,
    /// Whether it begins a component.
    pub begins: bool,
    /// Whether the rows were found by walking a sample.
    pub is_sampled: bool,
    /// Whether it is checked within the expansion of the pattern before it ([`crate::planner::intersect`]).
    pub is_met: bool,
}

/// A component in its order.
#[derive(Default)]
pub(super) struct Component {
    pub order: Vec<Ordered>,
    pub cost: f64,
    pub rows: f64,
}

/// Which end of a pattern to list when neither is known: the one with the larger star, as the first
/// column is sorted and later lookups by it are cheap; else the one with fewer keys.
pub(super) fn keys(problem: &Problem<'_>, pattern: usize) -> Direction {
    let sized = &problem.patterns[pattern];
    let uses = |node| match node {
        Node::Slot(slot) => sized
            .variables
            .iter()
            .find(|&&variable| problem.variables[variable].slot == slot)
            .map_or(0, |&variable| problem.variables[variable].places()),
        Node::Constant(_) => 0,
    };
    let (subject, object) = (uses(sized.pattern.subject), uses(sized.pattern.object));
    match subject.cmp(&object) {
        Ordering::Less => Direction::In,
        Ordering::Equal if sized.keys[1] < sized.keys[0] => Direction::In,
        Ordering::Greater | Ordering::Equal => Direction::Out,
    }
}
