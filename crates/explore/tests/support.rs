//! Small random graphs and plans, and an evaluator that is too simple to be wrong.
//!
//! Vertices are IRIs (which are predicates and graphs too), inline integers and strings, so that
//! every kind of place meets every kind of term. Everything follows from a seed.

#![allow(dead_code, reason = "each test file uses its part")]

pub mod filters;
pub mod naive;
pub mod peer;
pub mod plans;
pub mod values;

use oxrdf::{Literal, NamedNode, Term, TermRef};
use query::plan::Plan;
use rdf::{Lexicon, LexiconError, Tag, TermBuffer, VertexId, inline};
use store::GraphScope;
pub use testkit::plain_terms::PlainTerms;
pub use testkit::random::Random;

/// Subject, predicate, object, graph.
pub type Quad = (VertexId, VertexId, VertexId, VertexId);

/// The default graph of a quad.
pub const DEFAULT: VertexId = GraphScope::DEFAULT_GRAPH;

/// IRI number `n`.
pub fn iri(n: u64) -> VertexId {
    VertexId::new(Tag::Iri, n)
}

/// The string number `n`.
pub fn string(n: u64) -> VertexId {
    VertexId::new(Tag::Literal, n)
}

/// An inline integer.
pub fn integer(value: i64) -> VertexId {
    inline::from_integer(value).expect("small")
}

/// Names every IRI and string by its number.
pub struct Numbered;

impl Numbered {
    pub fn term(id: VertexId) -> Term {
        let mut terms = TermBuffer::new();
        Numbered.terms(&[id], &mut terms).expect("a known kind");
        terms.get(0).expect("bound").into_owned()
    }
}

impl Lexicon for Numbered {
    fn ids(
        &self,
        terms: &[TermRef<'_>],
        ids: &mut Vec<Option<VertexId>>,
    ) -> Result<(), LexiconError> {
        ids.extend(terms.iter().map(|term| {
            match term {
                TermRef::NamedNode(node) => node.as_str()[3..].parse().ok().map(iri),
                TermRef::Literal(literal) => inline::encode(*literal)
                    .or_else(|| literal.value().strip_prefix('s')?.parse().ok().map(string)),
                _ => None,
            }
        }));
        Ok(())
    }

    fn terms(&self, ids: &[VertexId], terms: &mut TermBuffer) -> Result<(), LexiconError> {
        for &id in ids {
            match id.tag() {
                Some(Tag::Unbound) => terms.push_unbound(),
                Some(Tag::Iri) => terms.push_iri(&format!("ex:{}", id.payload())),
                Some(Tag::Literal) => terms.push_simple(&format!("s{}", id.payload())),
                _ => inline::decode(id, terms).map_err(|_| LexiconError::UnknownId(id))?,
            }
        }
        Ok(())
    }
}

/// The ids of a plan's constants.
pub fn constants(plan: &Plan, lexicon: &impl Lexicon) -> Vec<Option<VertexId>> {
    let terms: Vec<TermRef<'_>> = plan.constants.iter().map(Term::as_ref).collect();
    let mut ids = Vec::new();
    lexicon
        .ids(&terms, &mut ids)
        .expect("a test lexicon answers");
    ids
}

/// A term that no test graph holds.
pub fn absent() -> Term {
    NamedNode::new_unchecked("http://example.com/absent").into()
}

/// A string that no test graph holds.
pub fn absent_string() -> Term {
    Literal::new_simple_literal("absent").into()
}

/// A random graph: few vertices, so that patterns meet.
pub fn quads(random: &mut Random) -> Vec<Quad> {
    let count = random.below(160);
    let graphs = random.below(3) as u64;
    (0..count)
        .map(|_| {
            let subject = iri(random.below(6) as u64);
            let predicate = iri(random.below(3) as u64);
            let object = match random.below(10) {
                0..=5 => iri(random.below(6) as u64),
                6..=8 => integer(random.below(4) as i64),
                _ => string(random.below(2) as u64),
            };
            let graph = match random.below(2 + graphs as usize) {
                0 | 1 => DEFAULT,
                graph => iri(2 + graph as u64),
            };
            (subject, predicate, object, graph)
        })
        .collect()
}
