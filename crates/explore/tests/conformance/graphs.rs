//! The graphs of `CONSTRUCT` and `DESCRIBE`, by their definitions (SPARQL 1.1 Query sections 16.2 and 16.4).
//!
//! `engine` makes them of rows, on their way out; here a row is a map from slots to terms, and nothing is fast.

use oxrdf::{BlankNode, NamedOrBlankNode, Term, Triple};
use query::plan::{Slot, TemplateTerm};

/// One solution, and which it is.
pub struct Solution<'s> {
    pub number: usize,
    pub constants: &'s [Term],
    pub value: &'s dyn Fn(Slot) -> Option<Term>,
}

impl Solution<'_> {
    /// The triple of a template; `None` where a part is unbound or impossible.
    pub fn made(&self, template: &[TemplateTerm; 3]) -> Option<Triple> {
        let [subject, predicate, object] = template;
        triple_of([
            self.part(subject)?,
            self.part(predicate)?,
            self.part(object)?,
        ])
    }

    fn part(&self, part: &TemplateTerm) -> Option<Term> {
        match part {
            TemplateTerm::Slot(slot) => (self.value)(*slot),
            TemplateTerm::Constant(constant) => Some(self.constants[constant.0 as usize].clone()),
            TemplateTerm::Blank(blank) => {
                let label = format!("made{}x{blank}", self.number);
                Some(BlankNode::new_unchecked(label).into())
            }
            TemplateTerm::Triple(parts) => Some(self.made(parts)?.into()),
        }
    }
}

/// The triple with these parts, if they may be its parts.
pub fn triple_of([subject, predicate, object]: [Term; 3]) -> Option<Triple> {
    let subject = match subject {
        Term::NamedNode(iri) => NamedOrBlankNode::from(iri),
        Term::BlankNode(blank) => blank.into(),
        Term::Literal(_) | Term::Triple(_) => return None,
    };
    match predicate {
        Term::NamedNode(predicate) => Some(Triple::new(subject, predicate, object)),
        _ => None,
    }
}
