//! Patterns between two columns: what intersections are made of.
//!
//! [`problem`](super::problem) finds them, and [`intersect`](super::intersect) makes one step of two; so a link stands
//! below both.

use crate::algebra::Pattern;
use crate::plan::{ConstantId, Node, Scope, Side, Slot, Source};
use rdf::Direction;

/// A pattern between two columns by a constant predicate, in a graph that is known.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Link {
    subject: Slot,
    predicate: ConstantId,
    object: Slot,
    scope: Scope,
    source: Source,
}

impl Link {
    /// A pattern as a link, if it is one.
    pub(super) fn of(pattern: &Pattern) -> Option<Link> {
        let (Node::Slot(subject), Node::Constant(predicate), Node::Slot(object)) =
            (pattern.subject, pattern.predicate, pattern.object)
        else {
            return None;
        };
        let scope = match pattern.graph {
            None => Scope::Default,
            Some(graph @ Node::Constant(_)) => Scope::Named(graph),
            Some(Node::Slot(_)) => return None,
        };
        (subject != object).then_some(Link {
            subject,
            predicate,
            object,
            scope,
            source: pattern.source,
        })
    }

    /// The columns that it is between.
    pub(super) fn ends(&self) -> [Slot; 2] {
        [self.subject, self.object]
    }

    /// The list of an end, and the column of the other one.
    pub(super) fn seen_from(&self, from: Slot) -> (Side, Slot) {
        let (direction, other) = if from == self.subject {
            (Direction::Out, self.object)
        } else {
            (Direction::In, self.subject)
        };
        let side = Side {
            from,
            predicate: self.predicate,
            direction,
            scope: self.scope,
            source: self.source,
        };
        (side, other)
    }
}
