//! A lexicon of the terms that it was given, numbered in the order of their coming: no file, no hash but the library's.

use oxrdf::{Dataset, GraphName, Term, TermRef};
use rdf::{Lexicon, LexiconError, Tag, TermBuffer, VertexId, inline};
use std::collections::HashMap;
use store::view::GraphScope;

/// See the module's documentation.
#[derive(Debug, Default)]
pub struct PlainTerms {
    terms: Vec<Term>,
    ids: HashMap<Term, VertexId>,
}

impl PlainTerms {
    /// The id of a term, inline where there is such.
    pub fn id(&mut self, term: &Term) -> VertexId {
        if let Term::Literal(literal) = term
            && let Some(id) = inline::encode(literal.as_ref())
        {
            return id;
        }
        if let Some(&id) = self.ids.get(term) {
            return id;
        }
        let tag = match term {
            Term::NamedNode(_) => Tag::Iri,
            Term::BlankNode(_) => Tag::Blank,
            Term::Literal(_) => Tag::Literal,
            Term::Triple(_) => Tag::TripleTerm,
        };
        let id = VertexId::new(tag, self.terms.len() as u64);
        self.terms.push(term.clone());
        self.ids.insert(term.clone(), id);
        id
    }

    /// The ids of a dataset's quads, its terms among those given from then on: the same in each run, whatever order
    /// hashing gives to the dataset.
    pub fn quads(&mut self, dataset: &Dataset) -> Vec<(VertexId, VertexId, VertexId, VertexId)> {
        let mut sorted: Vec<_> = dataset.iter().map(oxrdf::QuadRef::into_owned).collect();
        sorted.sort_by_cached_key(ToString::to_string);
        let mut quads = Vec::with_capacity(sorted.len());
        for quad in sorted {
            let graph = match quad.graph_name {
                GraphName::DefaultGraph => GraphScope::DEFAULT_GRAPH,
                GraphName::NamedNode(graph) => self.id(&graph.into()),
                GraphName::BlankNode(graph) => self.id(&graph.into()),
            };
            let subject = self.id(&quad.subject.into());
            let predicate = self.id(&quad.predicate.into());
            quads.push((subject, predicate, self.id(&quad.object), graph));
        }
        quads
    }
}

impl Lexicon for PlainTerms {
    fn ids(
        &self,
        terms: &[TermRef<'_>],
        ids: &mut Vec<Option<VertexId>>,
    ) -> Result<(), LexiconError> {
        ids.extend(terms.iter().map(|term| match term {
            TermRef::Literal(literal) if inline::encode(*literal).is_some() => {
                inline::encode(*literal)
            }
            term => self.ids.get(&term.into_owned()).copied(),
        }));
        Ok(())
    }

    fn terms(&self, ids: &[VertexId], terms: &mut TermBuffer) -> Result<(), LexiconError> {
        for &id in ids {
            match id.tag() {
                Some(Tag::Unbound) => terms.push_unbound(),
                Some(tag) if tag.is_inline() => {
                    inline::decode(id, terms).map_err(|_| LexiconError::UnknownId(id))?;
                }
                Some(Tag::QueryLocal) | None => return Err(LexiconError::UnknownId(id)),
                Some(_) => {
                    // An id from outside may be of no term here, or of one of another kind.
                    let known = self.terms.get(id.payload() as usize);
                    let known = known.filter(|term| self.ids[*term] == id);
                    let term = known.ok_or(LexiconError::UnknownId(id))?;
                    terms.push(term.as_ref());
                }
            }
        }
        Ok(())
    }
}
