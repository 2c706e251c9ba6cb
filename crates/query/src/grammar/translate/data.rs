//! The quads of `INSERT DATA` and `DELETE DATA`.
//!
//! A quad is places in a list of terms: a term that the text repeats is listed once. A triple term with a blank
//! node in it is not known to be the same as another one, and is listed each time.

use super::Made;
use super::triples::bytes_of;
use crate::grammar::abstract_query::{
    Blank, Constant, NamePattern, QuadPattern, TermPattern, Terms, TriplePattern,
};
use crate::limits::Exceeded;
use crate::update::{Data, TermIndex};
use hashbrown::HashMap;
use oxrdf::{BlankNode, NamedNode, NamedOrBlankNode, Term, Triple};

/// Quads, as they come.
pub(super) struct Filling<'a, 't> {
    terms: &'a Terms<'t>,
    made: &'a mut Made,
    data: Data,
    /// By constant.
    places: Vec<Option<TermIndex>>,
    /// Numbers, in the order of the text.
    blanks: HashMap<Blank, TermIndex>,
}

impl<'a, 't> Filling<'a, 't> {
    pub(super) fn new(terms: &'a Terms<'t>, made: &'a mut Made) -> Filling<'a, 't> {
        Filling {
            terms,
            made,
            data: Data::default(),
            places: Vec::new(),
            blanks: HashMap::new(),
        }
    }

    pub(super) fn finish(self) -> Data {
        self.data
    }

    /// Adds a quad; `false` where a literal or a triple term is a subject.
    pub(super) fn push(&mut self, quad: &QuadPattern) -> Result<bool, Exceeded> {
        let TriplePattern {
            subject,
            predicate,
            object,
        } = &quad.triple;
        let graph = match quad.graph {
            None => Some(TermIndex::NONE),
            Some(graph) => self.name(graph),
        };
        let subject = match subject {
            TermPattern::Constant(constant) => self.name(NamePattern::Constant(*constant)),
            TermPattern::Blank(blank) => Some(self.blank(*blank)),
            TermPattern::Variable(_) | TermPattern::Triple(_) => None,
        };
        let predicate = self.name(*predicate);
        let object = match object {
            TermPattern::Constant(constant) => Some(self.constant(*constant)),
            TermPattern::Blank(blank) => Some(self.blank(*blank)),
            TermPattern::Variable(_) => None,
            TermPattern::Triple(triple) => match self.triple(triple)? {
                Some(triple) => {
                    let triple = Term::from(triple);
                    let push = |terms: &mut rdf::TermBuffer| terms.push(triple.as_ref());
                    Some(self.data.push_term(push))
                }
                None => None,
            },
        };
        let (Some(subject), Some(predicate), Some(object), Some(graph)) =
            (subject, predicate, object, graph)
        else {
            return Ok(false);
        };
        self.data.push([subject, predicate, object, graph]);
        Ok(true)
    }

    fn constant(&mut self, constant: Constant) -> TermIndex {
        let at = constant.index();
        if self.places.len() <= at {
            self.places.resize(at + 1, None);
        }
        let term = self.terms.term(constant).as_ref();
        let data = &mut self.data;
        *self.places[at].get_or_insert_with(|| data.push_term(|terms| terms.push(term)))
    }

    /// The place of an IRI; `None` of what is none.
    fn name(&mut self, name: NamePattern) -> Option<TermIndex> {
        match name {
            NamePattern::Constant(constant) if self.terms.term(constant).is_named_node() => {
                Some(self.constant(constant))
            }
            _ => None,
        }
    }

    fn blank(&mut self, blank: Blank) -> TermIndex {
        let data = &mut self.data;
        *self
            .blanks
            .entry(blank)
            .or_insert_with(|| data.push_blank())
    }

    /// A triple term; its blank nodes are labelled by their numbers. As deep as triple terms are nested.
    fn triple(&mut self, pattern: &TriplePattern) -> Result<Option<Triple>, Exceeded> {
        let subject = match self.term(&pattern.subject)? {
            Some(Term::NamedNode(node)) => NamedOrBlankNode::from(node),
            Some(Term::BlankNode(node)) => node.into(),
            _ => return Ok(None),
        };
        let (Some(predicate), Some(object)) =
            (self.named(pattern.predicate)?, self.term(&pattern.object)?)
        else {
            return Ok(None);
        };
        Ok(Some(Triple {
            subject,
            predicate,
            object,
        }))
    }

    fn named(&mut self, name: NamePattern) -> Result<Option<NamedNode>, Exceeded> {
        let NamePattern::Constant(constant) = name else {
            return Ok(None);
        };
        let Term::NamedNode(node) = self.terms.term(constant) else {
            return Ok(None);
        };
        self.made.count(node.as_str().len())?;
        Ok(Some(node.clone()))
    }

    fn term(&mut self, pattern: &TermPattern) -> Result<Option<Term>, Exceeded> {
        Ok(match pattern {
            TermPattern::Constant(constant) => {
                let term = self.terms.term(*constant);
                self.made.count(bytes_of(term))?;
                Some(term.clone())
            }
            TermPattern::Blank(blank) => {
                let number = self.blank(*blank).blank();
                number.map(|number| BlankNode::new_unchecked(format!("b{number}")).into())
            }
            TermPattern::Triple(inner) => self.triple(inner)?.map(Term::from),
            TermPattern::Variable(_) => None,
        })
    }
}
