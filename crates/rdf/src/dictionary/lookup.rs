//! The dictionary as a [`Lexicon`]: batches of terms to ids and back.
//!
//! Inline values and blank nodes are answered from the id alone; the others are sorted by kind and
//! looked up in one batch a kind. Ids are decoded in the order given: a cursor a kind goes forwards
//! within a block at the cost of one entry, so that runs of neighbouring ids (results in order of
//! ids, dumps) cost a fraction of random ones, and no sorting is needed to profit.
//!
//! Triple terms are followed to a bounded depth: deeper ones cannot be stored, see
//! [`TRIPLE_TERM_DEPTH_MAX`].

use super::table::{GROUP, KeyBatch, KeyCursor, Keys};
use super::{Dictionary, TRIPLE_TERM_DEPTH_MAX};
use crate::id::{Tag, VertexId};
use crate::lexicon::{Lexicon, LexiconError};
use crate::terms::TermBuffer;
use crate::{inline, key};
use oxrdf::{NamedOrBlankNode, TermRef, Triple};

/// The keys of one kind that a batch of terms asks for, and for which terms.
#[derive(Default)]
struct Wanted {
    keys: KeyBatch,
    positions: Vec<usize>,
}

impl Wanted {
    fn push_with(&mut self, position: usize, append: impl FnOnce(&mut Vec<u8>)) {
        self.positions.push(position);
        self.keys.push_with(append);
    }
}

/// What a batch of terms asks for, by kind.
#[derive(Default)]
struct WantedTerms {
    iris: Wanted,
    literals: Wanted,
    triple_terms: Wanted,
}

impl Lexicon for Dictionary {
    fn ids(
        &self,
        terms: &[TermRef<'_>],
        ids: &mut Vec<Option<VertexId>>,
    ) -> Result<(), LexiconError> {
        self.append_ids(terms, ids, 0)
    }

    fn terms(&self, ids: &[VertexId], terms: &mut TermBuffer) -> Result<(), LexiconError> {
        self.append_terms(ids, terms, 0)
    }
}

impl Dictionary {
    fn append_ids(
        &self,
        terms: &[TermRef<'_>],
        ids: &mut Vec<Option<VertexId>>,
        depth: usize,
    ) -> Result<(), LexiconError> {
        let first = ids.len();
        let mut wanted = WantedTerms::default();
        for (position, &term) in (first..).zip(terms) {
            ids.push(self.id_without_text(position, term, &mut wanted, depth)?);
        }
        let WantedTerms {
            iris,
            literals,
            triple_terms,
        } = wanted;
        let mut give = |tag, wanted: &Wanted, index: usize, ordinal| {
            ids[wanted.positions[index]] = Some(VertexId::new(tag, ordinal));
        };
        self.iris
            .find(&iris.keys, |i, ordinal| give(Tag::Iri, &iris, i, ordinal))?;
        self.literals.find(&literals.keys, |i, ordinal| {
            give(Tag::Literal, &literals, i, ordinal);
        })?;
        self.triple_terms.find(&triple_terms.keys, |i, ordinal| {
            give(Tag::TripleTerm, &triple_terms, i, ordinal);
        })
    }

    /// The id of a term that has no text in the dictionary; for others notes what to look up.
    fn id_without_text(
        &self,
        position: usize,
        term: TermRef<'_>,
        wanted: &mut WantedTerms,
        depth: usize,
    ) -> Result<Option<VertexId>, LexiconError> {
        match term {
            TermRef::NamedNode(iri) => wanted.iris.push_with(position, |key| {
                key.extend_from_slice(iri.as_str().as_bytes());
            }),
            TermRef::BlankNode(blank) => return Ok(self.blank(blank.as_str())),
            TermRef::Literal(literal) => match inline::encode(literal) {
                Some(id) => return Ok(Some(id)),
                None => wanted
                    .literals
                    .push_with(position, |bytes| key::encode_literal(literal, bytes)),
            },
            TermRef::Triple(triple) => {
                if let Some(components) = self.components_of(triple, depth)? {
                    let record = key::encode_triple(components);
                    wanted
                        .triple_terms
                        .push_with(position, |key| key.extend_from_slice(&record));
                }
            }
        }
        Ok(None)
    }

    /// The ids of a triple term's components, if all of them are stored.
    fn components_of(
        &self,
        triple: &Triple,
        depth: usize,
    ) -> Result<Option<[VertexId; 3]>, LexiconError> {
        if depth == TRIPLE_TERM_DEPTH_MAX {
            return Ok(None);
        }
        let terms: [TermRef<'_>; 3] = [
            triple.subject.as_ref().into(),
            triple.predicate.as_ref().into(),
            triple.object.as_ref(),
        ];
        let mut ids = Vec::with_capacity(3);
        self.append_ids(&terms, &mut ids, depth + 1)?;
        Ok(match ids[..] {
            [Some(subject), Some(predicate), Some(object)] => Some([subject, predicate, object]),
            _ => None,
        })
    }

    /// The id of the blank node with this label, if [`push_label`] makes it.
    fn blank(&self, label: &str) -> Option<VertexId> {
        let digits = label.strip_prefix(super::BLANK_PREFIX)?;
        let canonical = digits == "0" || !digits.starts_with('0');
        if !canonical || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
            return None;
        }
        let number = digits
            .parse()
            .ok()
            .filter(|&number| number < self.blank_nodes)?;
        Some(VertexId::new(Tag::Blank, number))
    }

    fn append_terms(
        &self,
        ids: &[VertexId],
        terms: &mut TermBuffer,
        depth: usize,
    ) -> Result<(), LexiconError> {
        let mut reader = Reader {
            dictionary: self,
            iris: self.iris.keys.cursor(),
            literals: self.literals.keys.cursor(),
            depth,
        };
        for group in ids.chunks(GROUP) {
            if group.len() > 1 {
                self.prefetch(group);
            }
            for &id in group {
                reader.append(id, terms)?;
            }
        }
        Ok(())
    }

    /// Brings what a group of ids will read into the caches.
    fn prefetch(&self, ids: &[VertexId]) {
        for id in ids {
            match id.tag() {
                Some(Tag::Iri) => self.iris.keys.prefetch_place(id.payload()),
                Some(Tag::Literal) => self.literals.keys.prefetch_place(id.payload()),
                _ => {}
            }
        }
        for id in ids {
            match id.tag() {
                Some(Tag::Iri) => self.iris.keys.prefetch_key(id.payload()),
                Some(Tag::Literal) => self.literals.keys.prefetch_key(id.payload()),
                _ => {}
            }
        }
    }
}

/// Decodes ids one after another.
struct Reader<'a> {
    dictionary: &'a Dictionary,
    iris: super::stream::StreamCursor<'a>,
    literals: super::stream::StreamCursor<'a>,
    depth: usize,
}

impl Reader<'_> {
    #[inline]
    fn append(&mut self, id: VertexId, terms: &mut TermBuffer) -> Result<(), LexiconError> {
        let dictionary = self.dictionary;
        let ordinal = id.payload();
        match id.tag() {
            Some(Tag::Iri) if ordinal < dictionary.iris.keys.count() => {
                match str::from_utf8(self.iris.key(ordinal)?) {
                    Ok(iri) => terms.push_iri(iri),
                    Err(_) => return Err(dictionary.iris.keys.nonsense(ordinal)),
                }
            }
            Some(Tag::Literal) if ordinal < dictionary.literals.keys.count() => {
                key::decode_literal(self.literals.key(ordinal)?, terms)
                    .map_err(|_| dictionary.literals.keys.nonsense(ordinal))?;
            }
            Some(Tag::TripleTerm) if ordinal < dictionary.triple_terms.keys.count() => {
                terms.push_triple(self.triple(ordinal)?);
            }
            Some(Tag::Blank) if ordinal < dictionary.blank_nodes => {
                terms.push_blank(&format!("{}{ordinal}", super::BLANK_PREFIX));
            }
            Some(tag) if tag.is_inline() => {
                inline::decode(id, terms).map_err(|_| LexiconError::UnknownId(id))?;
            }
            _ if id.is_unbound() => terms.push_unbound(),
            _ => return Err(LexiconError::UnknownId(id)),
        }
        Ok(())
    }

    /// The triple term with an ordinal that exists.
    fn triple(&self, ordinal: u64) -> Result<Triple, LexiconError> {
        let records = &self.dictionary.triple_terms.keys;
        if self.depth == TRIPLE_TERM_DEPTH_MAX {
            return Err(records.nonsense(ordinal));
        }
        let components = records.components(ordinal)?;
        let mut terms = TermBuffer::new();
        self.dictionary
            .append_terms(&components, &mut terms, self.depth + 1)?;
        let subject = match terms.get(0) {
            Some(TermRef::NamedNode(iri)) => NamedOrBlankNode::from(iri.into_owned()),
            Some(TermRef::BlankNode(blank)) => NamedOrBlankNode::from(blank.into_owned()),
            _ => return Err(records.nonsense(ordinal)),
        };
        match (terms.get(1), terms.get(2)) {
            (Some(TermRef::NamedNode(predicate)), Some(object)) => Ok(Triple::new(
                subject,
                predicate.into_owned(),
                object.into_owned(),
            )),
            _ => Err(records.nonsense(ordinal)),
        }
    }
}
