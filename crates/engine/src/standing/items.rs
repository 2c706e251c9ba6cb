//! Items of a stream: from terms to ids.
//!
//! What is stored has ids of the dictionary, which never forgets. What passes by has ids that die with it, except where the
//! dictionary has the term already.
//!
//! Blank nodes are scoped to what brought them: an item, or a file whose labels are unique ([`BlankScope`]). A label of
//! a scope is one node, whatever other scopes call theirs.

use super::log::items::ItemsText;
use crate::error::{Kind, QueryError};
use oxrdf::{GraphName, NamedOrBlankNode, Quad, Term, TermRef};
use rdf::dictionary::LiveDictionary;
use rdf::distinct::DistinctTerms;
use rdf::transient::{TermHolder, TransientTerms};
use rdf::{Lexicon, Tag, VertexId};
use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use store::delta::IdQuad;
use store::record::TermPlace;
use store::view::GraphScope;
use stream::{Items, Time};

/// One item as it arrives: what was said at one moment.
#[derive(Clone, Debug, PartialEq)]
pub struct TimedQuads {
    /// Its time (milliseconds since the epoch).
    pub time_ms: u64,
    /// What it says.
    pub quads: Vec<Quad>,
}

/// Where items stand in the count of their source.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Positions<'p> {
    /// The position of the first one.
    pub first: u64,
    /// How many positions they take, those of items that were not well-formed included.
    pub count: u64,
    /// Which of these positions have no item, because it was not well-formed: counted from the first one, ascending.
    pub rejected: &'p [u64],
}

impl Positions<'_> {
    /// How many of `items` are here already, where the source's next position is `next`.
    pub(super) fn known(self, next: u64, items: usize) -> usize {
        let known = next.saturating_sub(self.first);
        if known >= self.count {
            return items;
        }
        let rejected = self.rejected.partition_point(|place| *place < known);
        usize::try_from(known.saturating_sub(rejected as u64)).map_or(items, |it| it.min(items))
    }
}

/// What labels of blank nodes mean within one scope.
#[derive(Debug, Default)]
pub struct BlankScope {
    numbers: HashMap<String, VertexId>,
}

/// Gives the terms of one push ids.
///
/// A quad that its stream stores has ids of the dictionary, new ones where there are none. A term of another quad has the
/// dictionary's id where it is there, else a transient one. All terms of a push are looked up together, each once however
/// often it is named.
pub(super) struct Numbering<'n> {
    live: &'n Arc<LiveDictionary>,
    transient: &'n mut TransientTerms,
    holder: TermHolder,
    /// The predicates of quads that are stored; `None`: all.
    absorbed: Option<HashSet<&'n str>>,
    /// Of hash tables.
    seed: u64,
}

/// The terms of a push: those of quads that are stored, and the others.
struct Laid<'i> {
    terms: [DistinctTerms<'i>; 2],
    /// Where each of them stands in the text, if there is one.
    in_text: [Vec<TermPlace>; 2],
    /// Of each quad, whether it is stored.
    are_stored: Vec<bool>,
    /// Of each quad's terms, in order, the places.
    places: Vec<u32>,
}

impl Laid<'_> {
    fn new(seed: u64) -> Self {
        Laid {
            terms: [0; 2].map(|_| DistinctTerms::new(seed)),
            in_text: Default::default(),
            are_stored: Vec::new(),
            places: Vec::new(),
        }
    }
}

impl<'n> Numbering<'n> {
    /// Of a stream that stores quads of these predicates alone; `None`: all. The dictionary's turn must be held.
    pub(super) fn new(
        live: &'n Arc<LiveDictionary>,
        transient: &'n mut TransientTerms,
        holder: TermHolder,
        absorb: Option<&'n [String]>,
        seed: u64,
    ) -> Numbering<'n> {
        Numbering {
            live,
            transient,
            holder,
            absorbed: absorb.map(|them| them.iter().map(String::as_str).collect()),
            seed,
        }
    }

    /// The items with ids. Blank nodes are those of `scope`, or of each item. `text` gets what is to be kept of them.
    pub(super) fn items(
        mut self,
        mut scope: Option<&mut BlankScope>,
        items: &[TimedQuads],
        mut text: Option<&mut ItemsText>,
    ) -> Result<Items, QueryError> {
        let mut laid = Laid::new(self.seed);
        for item in items {
            let mut own = BlankScope::default();
            let scope = scope.as_deref_mut().unwrap_or(&mut own);
            for quad in &item.quads {
                self.lay(quad, scope, &mut laid, text.as_deref_mut())?;
            }
            if let Some(text) = &mut text {
                text.item(item.time_ms, item.quads.len());
            }
        }
        let [stored, passing] = &laid.terms;
        let ids = [self.interned(stored)?, self.found(passing)?];
        let mut are_stored = laid.are_stored.into_iter();
        let mut places = laid.places.into_iter();
        let mut numbered = Items::new();
        for item in items {
            let quads = item.quads.iter().map(|quad| {
                let is_stored = are_stored.next().expect("every quad was laid");
                let ids = &ids[usize::from(!is_stored)];
                let mut next = || {
                    let place = places.next().expect("every term has a place");
                    ids[place as usize]
                };
                let (subject, predicate, object) = (next(), next(), next());
                let graph = match quad.graph_name {
                    GraphName::DefaultGraph => GraphScope::DEFAULT_GRAPH,
                    GraphName::NamedNode(_) | GraphName::BlankNode(_) => next(),
                };
                (subject, predicate, object, graph)
            });
            let quads: Vec<IdQuad> = quads.collect();
            numbered.add(Time(item.time_ms), &quads);
        }
        Ok(numbered)
    }

    /// Adds the terms of a quad, their blank nodes by the labels of the dictionary, and says them in `text`.
    fn lay<'i>(
        &self,
        quad: &'i Quad,
        scope: &mut BlankScope,
        laid: &mut Laid<'i>,
        text: Option<&mut ItemsText>,
    ) -> Result<(), QueryError> {
        let absorbed = self.absorbed.as_ref();
        let is_stored = absorbed.is_none_or(|them| them.contains(quad.predicate.as_str()));
        laid.are_stored.push(is_stored);
        let list = usize::from(!is_stored);
        let (terms, in_text) = (&mut laid.terms[list], &mut laid.in_text[list]);
        let graph: Option<TermRef<'i>> = match &quad.graph_name {
            GraphName::DefaultGraph => None,
            GraphName::NamedNode(graph) => Some(graph.as_ref().into()),
            GraphName::BlankNode(graph) => Some(graph.as_ref().into()),
        };
        let named: [TermRef<'i>; 3] = [
            quad.subject.as_ref().into(),
            quad.predicate.as_ref().into(),
            quad.object.as_ref(),
        ];
        let first = laid.places.len();
        for term in named.into_iter().chain(graph) {
            laid.places.push(match term {
                TermRef::NamedNode(_) | TermRef::Literal(_) => terms.place(term),
                TermRef::BlankNode(_) | TermRef::Triple(_) => {
                    let mut renamed = term.into_owned();
                    scope.rename(self.live, &mut renamed)?;
                    terms.own(renamed)
                }
            });
        }
        if let Some(text) = text {
            // Those that are new.
            for place in in_text.len()..terms.len() {
                in_text.push(text.term(terms.get(place as u32))?);
            }
            let places = laid.places[first..].iter();
            text.quad(places.map(|place| in_text[*place as usize]));
        }
        Ok(())
    }

    /// The ids of terms that are stored.
    fn interned(&self, terms: &DistinctTerms<'_>) -> Result<Vec<VertexId>, QueryError> {
        let terms: Vec<TermRef<'_>> = terms.iter().collect();
        let mut ids = Vec::with_capacity(terms.len());
        self.live.intern(&terms, &mut ids).map_err(too_large)?;
        Ok(ids)
    }

    /// The ids of terms that pass by.
    fn found(&mut self, terms: &DistinctTerms<'_>) -> Result<Vec<VertexId>, QueryError> {
        if terms.is_empty() {
            return Ok(Vec::new());
        }
        let view = self.live.view(self.live.counts());
        let terms: Vec<TermRef<'_>> = terms.iter().collect();
        let mut found = Vec::with_capacity(terms.len());
        view.ids(&terms, &mut found)?;
        let mut ids = Vec::with_capacity(terms.len());
        for (term, id) in terms.iter().zip(found) {
            ids.push(match id {
                Some(id) => id,
                None => self
                    .transient
                    .intern(*term, self.holder)
                    .map_err(too_large)?,
            });
        }
        Ok(ids)
    }
}

impl BlankScope {
    /// Replaces the labels of blank nodes in a term by those of the dictionary.
    fn rename(&mut self, live: &LiveDictionary, term: &mut Term) -> Result<(), QueryError> {
        match term {
            Term::BlankNode(node) => *node = self.node(live, node.as_str())?,
            Term::Triple(triple) => {
                if let NamedOrBlankNode::BlankNode(node) = &mut triple.subject {
                    *node = self.node(live, node.as_str())?;
                }
                self.rename(live, &mut triple.object)?;
            }
            Term::NamedNode(_) | Term::Literal(_) => {}
        }
        Ok(())
    }

    fn node(&mut self, live: &LiveDictionary, label: &str) -> Result<oxrdf::BlankNode, QueryError> {
        let id = if let Some(id) = self.numbers.get(label) {
            *id
        } else {
            let number = live.fresh_blank_nodes(1).map_err(too_large)?;
            let id = VertexId::new(Tag::Blank, number);
            self.numbers.insert(label.to_owned(), id);
            id
        };
        Ok(oxrdf::BlankNode::new_unchecked(format!(
            "b{}",
            id.payload()
        )))
    }
}

#[allow(clippy::needless_pass_by_value)] // for `map_err`
pub(super) fn too_large(error: rdf::dictionary::GrowError) -> QueryError {
    QueryError::new(Kind::Shape, error)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn items_that_are_here_are_told_from_those_that_are_not() {
        let at = |first, rejected| Positions {
            first,
            count: 5,
            rejected,
        };
        // Five positions, of which the second and the fourth have no item.
        let known = |next| at(10, &[1, 3]).known(next, 3);
        assert_eq!([0, 10, 11, 12, 13, 14].map(known), [0, 0, 1, 1, 2, 2]);
        assert_eq!([15, 99].map(known), [3, 3]);
        assert_eq!(at(0, &[]).known(2, 5), 2);
    }
}
