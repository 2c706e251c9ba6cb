//! What a pattern demands of a variable: an edge, or a class.
//!
//! The [index](super::index) counts the vertices that answer one demand, and a [star](super::star) has many; so a demand
//! stands below both.
//!
//! Invariant: patterns that demand the same have equal values, so a star has each demand once.

use rdf::{Direction, VertexId};

/// What a pattern demands of the variable.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Demand {
    /// An edge of this predicate ([`Direction::Out`]: the variable is the subject).
    Predicate(Direction, VertexId),
    /// An edge of any predicate.
    Any(Direction),
    /// To be of this class.
    Type(VertexId),
}

impl Demand {
    /// The direction of the sets that answer it; `None` for a class.
    pub(super) fn direction(self) -> Option<Direction> {
        match self {
            Demand::Predicate(direction, _) | Demand::Any(direction) => Some(direction),
            Demand::Type(_) => None,
        }
    }
}
