//! Property paths as plain data (SPARQL 1.1 Query sections 9 and 18.4).
//!
//! The translator has taken apart what is a join or a union of patterns: a sequence, an alternative or
//! an inverse at the top of a path. What reaches the engine is a closure, or a negated set, or one of
//! those forms inside a closure, where results are sets.

use crate::plan::ConstantId;

/// A path between two vertices.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Path {
    /// One edge with this predicate.
    Predicate(ConstantId),
    /// `^p`
    Inverse(Box<Path>),
    /// `p / q / ...`, at least two.
    Sequence(Vec<Path>),
    /// `p | q | ...`, at least two.
    Alternative(Vec<Path>),
    /// `p*`
    ZeroOrMore(Box<Path>),
    /// `p+`
    OneOrMore(Box<Path>),
    /// `p?`
    ZeroOrOne(Box<Path>),
    /// `!(p|^q|...)`: one edge with none of the predicates `forward`, or one against its direction with
    /// none of `backward`. A list that is `None` allows no edge in its direction.
    Negated {
        /// Predicates excluded forward.
        forward: Option<Vec<ConstantId>>,
        /// Predicates excluded backward.
        backward: Option<Vec<ConstantId>>,
    },
}

impl Path {
    /// Whether it connects every vertex with itself.
    pub fn allows_no_length(&self) -> bool {
        match self {
            Path::Predicate(_) | Path::Negated { .. } => false,
            Path::ZeroOrMore(_) | Path::ZeroOrOne(_) => true,
            Path::Inverse(inner) | Path::OneOrMore(inner) => inner.allows_no_length(),
            Path::Sequence(parts) => parts.iter().all(Path::allows_no_length),
            Path::Alternative(parts) => parts.iter().any(Path::allows_no_length),
        }
    }
}
