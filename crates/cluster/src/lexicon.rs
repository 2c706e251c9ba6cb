//! Terms and ids of the whole graph, as one node sees them: what is not at hand is asked of its owners, in batches.
//!
//! Values and blank nodes have no text anywhere. The key of an id lies with the owner of the id's block, the id of a key with
//! the owner of its hash. A triple term's key is three ids, so its text takes as many journeys as it is deep, each for the
//! whole batch; and so does its id.

use crate::ask::Asks;
use crate::ground::Ground;
use crate::session::{Kept, Session, Slot};
use crate::terms::PartTerms;
use oxrdf::{NamedNode, NamedOrBlankNode, Term, TermRef, Triple};
use rdf::dictionary::TRIPLE_TERM_DEPTH_MAX;
use rdf::{Lexicon, LexiconError, Progress, Tag, TermBuffer, VertexId, inline, key};
use std::sync::Arc;
use store::view::GraphView;

/// See the module's documentation. Made for a query: what was fetched stays with its session.
pub struct RemoteLexicon<P, T> {
    ground: Arc<Ground<P, T>>,
    session: Arc<Session>,
}

/// What is known of a term's id.
enum Known {
    /// It, or that there is none.
    Id(Option<VertexId>),
    /// It has to be asked.
    Missing,
}

impl<P: GraphView + Send + Sync + 'static, T: PartTerms> RemoteLexicon<P, T> {
    pub(crate) fn new(ground: &Arc<Ground<P, T>>, session: &Arc<Session>) -> Self {
        RemoteLexicon {
            ground: Arc::clone(ground),
            session: Arc::clone(session),
        }
    }

    /// Collects the ids whose keys are missing, these and those within triple terms that have come.
    fn missing_ids(kept: &Kept, id: VertexId, depth: usize, missing: &mut Vec<VertexId>) {
        if !id.tag().is_some_and(Tag::is_dictionary) {
            return;
        }
        let Some(Slot::Here(Some(bytes))) = kept.keys.get(&id) else {
            if !matches!(kept.keys.get(&id), Some(Slot::Here(None))) {
                missing.push(id);
            }
            return;
        };
        if id.has_tag(Tag::TripleTerm)
            && depth < TRIPLE_TERM_DEPTH_MAX
            && let Ok(components) = key::decode_triple(bytes)
        {
            for component in components {
                Self::missing_ids(kept, component, depth + 1, missing);
            }
        }
    }

    /// The id of a term as far as it is known; what is missing to know it is collected.
    fn known_id(&self, kept: &Kept, term: TermRef<'_>, missing: &mut Vec<(Tag, Vec<u8>)>) -> Known {
        let (kind, bytes) = match term {
            TermRef::NamedNode(iri) => (Tag::Iri, iri.as_str().as_bytes().to_vec()),
            TermRef::BlankNode(node) => {
                return Known::Id(self.ground.terms().blank_id(node.as_str()));
            }
            TermRef::Literal(literal) => {
                if let Some(id) = inline::encode(literal) {
                    return Known::Id(Some(id));
                }
                let mut bytes = Vec::new();
                key::encode_literal(literal, &mut bytes);
                (Tag::Literal, bytes)
            }
            TermRef::Triple(triple) => {
                let subject = Term::from(triple.subject.clone());
                let predicate = Term::from(triple.predicate.clone());
                let parts = [&subject, &predicate, &triple.object];
                let parts = parts.map(|part| self.known_id(kept, part.as_ref(), missing));
                let mut components = [VertexId::UNBOUND; 3];
                for (component, part) in components.iter_mut().zip(&parts) {
                    match part {
                        Known::Id(Some(id)) => *component = *id,
                        Known::Id(None) => return Known::Id(None),
                        Known::Missing => return Known::Missing,
                    }
                }
                (Tag::TripleTerm, key::encode_triple(components).to_vec())
            }
        };
        let name = (kind, bytes);
        match kept.ids.get(&name) {
            Some(Slot::Here(id)) => Known::Id(*id),
            Some(Slot::Coming(_)) | None => {
                missing.push(name);
                Known::Missing
            }
        }
    }

    /// Appends the term of an id whose keys are here.
    fn push(&self, kept: &Kept, id: VertexId, terms: &mut TermBuffer) -> Result<(), LexiconError> {
        let unknown = || LexiconError::UnknownId(id);
        match id.tag() {
            Some(Tag::Unbound) => terms.push_unbound(),
            Some(tag) if tag.is_inline() => inline::decode(id, terms).map_err(|_| unknown())?,
            Some(Tag::Blank) => {
                let label = self.ground.terms().blank_label(id);
                terms.push_blank(&label.ok_or_else(unknown)?);
            }
            Some(tag) if tag.is_dictionary() => {
                let Some(Slot::Here(bytes)) = kept.keys.get(&id) else {
                    unreachable!("the term of {id:?} is asked ahead")
                };
                let bytes = bytes.as_deref().ok_or_else(unknown)?;
                match tag {
                    Tag::Iri => {
                        let iri = str::from_utf8(bytes);
                        terms.push_iri(iri.map_err(|_| unknown())?);
                    }
                    Tag::Literal => key::decode_literal(bytes, terms).map_err(|_| unknown())?,
                    _ => terms.push_triple(self.triple(kept, id, 0)?),
                }
            }
            _ => return Err(unknown()),
        }
        Ok(())
    }

    fn triple(&self, kept: &Kept, id: VertexId, depth: usize) -> Result<Triple, LexiconError> {
        let unknown = || LexiconError::UnknownId(id);
        let Some(Slot::Here(bytes)) = kept.keys.get(&id) else {
            unreachable!("the parts of {id:?} are asked ahead")
        };
        let bytes = bytes.as_deref().filter(|_| depth < TRIPLE_TERM_DEPTH_MAX);
        let components = bytes.and_then(|bytes| key::decode_triple(bytes).ok());
        let [subject, predicate, object] = components.ok_or_else(unknown)?;
        let subject = match self.term(kept, subject, depth + 1)? {
            Term::NamedNode(iri) => NamedOrBlankNode::from(iri),
            Term::BlankNode(node) => node.into(),
            Term::Literal(_) | Term::Triple(_) => return Err(unknown()),
        };
        let Term::NamedNode(predicate) = self.term(kept, predicate, depth + 1)? else {
            return Err(unknown());
        };
        let predicate: NamedNode = predicate;
        Ok(Triple::new(
            subject,
            predicate,
            self.term(kept, object, depth + 1)?,
        ))
    }

    fn term(&self, kept: &Kept, id: VertexId, depth: usize) -> Result<Term, LexiconError> {
        if id.has_tag(Tag::TripleTerm) {
            return Ok(self.triple(kept, id, depth)?.into());
        }
        let mut one = TermBuffer::new();
        self.push(kept, id, &mut one)?;
        let term = one.get(0).map(TermRef::into_owned);
        term.ok_or(LexiconError::UnknownId(id))
    }
}

impl<P: GraphView + Send + Sync + 'static, T: PartTerms> Lexicon for RemoteLexicon<P, T> {
    fn fetch(&self, ids: &[VertexId], terms: &[TermRef<'_>]) -> Result<Progress, LexiconError> {
        // What is at hand comes at once, and what lies within it is missing next.
        loop {
            let mut asks = Asks::new(&self.ground, &self.session)?;
            let (mut missing_ids, mut missing_keys) = (Vec::new(), Vec::new());
            {
                let kept = self.session.kept();
                for id in ids {
                    Self::missing_ids(&kept, *id, 0, &mut missing_ids);
                }
                for term in terms {
                    self.known_id(&kept, *term, &mut missing_keys);
                }
            }
            if missing_ids.is_empty() && missing_keys.is_empty() {
                return Ok(Progress::Ready);
            }
            asks.keys_of_ids(missing_ids.into_iter());
            for kind in [Tag::Iri, Tag::Literal, Tag::TripleTerm] {
                let of_kind = missing_keys.iter().filter(|name| name.0 == kind);
                asks.ids_of_keys(kind, of_kind.map(|name| name.1.clone()));
            }
            if let pending @ Progress::Pending(_) = asks.send() {
                return Ok(pending);
            }
        }
    }

    fn ids(
        &self,
        terms: &[TermRef<'_>],
        ids: &mut Vec<Option<VertexId>>,
    ) -> Result<(), LexiconError> {
        let kept = self.session.kept();
        kept.failure()?;
        for term in terms {
            match self.known_id(&kept, *term, &mut Vec::new()) {
                Known::Id(id) => ids.push(id),
                Known::Missing => unreachable!("the id of {term} is asked ahead"),
            }
        }
        Ok(())
    }

    fn terms(&self, ids: &[VertexId], terms: &mut TermBuffer) -> Result<(), LexiconError> {
        let kept = self.session.kept();
        kept.failure()?;
        ids.iter().try_for_each(|id| self.push(&kept, *id, terms))
    }
}
