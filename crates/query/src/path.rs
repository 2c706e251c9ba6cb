//! Property paths as plain data (SPARQL 1.1 Query sections 9 and 18.4).
//!
//! The translator has taken apart what is a join or a union of patterns: a sequence, an alternative or
//! an inverse at the top of a path. What reaches the engine is a closure, or a negated set, or one of
//! those forms inside a closure, where results are sets.

use crate::node::ConstantId;

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

    /// Whether it connects with itself a term that is no subject and no object of the graph, where
    /// that term is one end of the pattern. The other end is a term too, or else a variable.
    ///
    /// By the letter of SPARQL 1.1 Query section 18.4: `*` and `?` connect any term with itself if
    /// one end is that term, but only vertices of the graph if both are variables; and a sequence has
    /// a variable between its parts, so that a part with no term at either side leaves the term out.
    pub fn connects_outside(&self, other_is_term: bool) -> bool {
        match self {
            Path::Predicate(_) | Path::Negated { .. } => false,
            Path::ZeroOrMore(_) | Path::ZeroOrOne(_) => true,
            Path::Inverse(inner) => inner.connects_outside(other_is_term),
            Path::OneOrMore(inner) => inner.connects_outside(false),
            Path::Sequence(parts) => {
                let mut parts = parts.iter();
                other_is_term && parts.len() == 2 && parts.all(|part| part.connects_outside(false))
            }
            Path::Alternative(parts) => parts
                .iter()
                .any(|part| part.connects_outside(other_is_term)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sequence_makes_variables_between_its_parts() {
        let star = |path: Path| Path::ZeroOrMore(Box::new(path));
        let plus = |path: Path| Path::OneOrMore(Box::new(path));
        let one = || star(Path::Predicate(ConstantId(0)));
        let two = Path::Sequence(vec![one(), one()]);
        let three = Path::Sequence(vec![one(), one(), one()]);
        let either = Path::Alternative(vec![two.clone(), one()]);
        for (path, beside_variable, beside_term) in [
            (one(), true, true),
            (plus(one()), true, true),
            (two.clone(), false, true),
            (Path::Inverse(Box::new(two.clone())), false, true),
            (plus(two.clone()), false, false),
            (star(plus(two)), true, true),
            (three, false, false),
            (either, true, true),
        ] {
            assert!(path.allows_no_length());
            assert_eq!(path.connects_outside(false), beside_variable, "{path:?}");
            assert_eq!(path.connects_outside(true), beside_term, "{path:?}");
        }
        assert!(!plus(Path::Predicate(ConstantId(0))).connects_outside(true));
    }
}
