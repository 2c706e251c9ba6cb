//! What a part answers, in batches: ids of the keys, and texts of the ids, that its node owns.
//!
//! Everything here may be asked by another node, so nothing is asserted of ids and keys: those that the node does not own,
//! that there are not, or that have no text are errors of their own. Triple terms are answered by the ids of their
//! components and never followed: the components lie elsewhere, and whoever asks goes on with them.
//!
//! Cost: as of a whole dictionary, see `table` and `stream`; batches wait for memory together.

use super::{PartDictionary, PartLookupError, PartTerms};
use crate::dictionary::BLANK_PREFIX;
use crate::dictionary::index::key_hash;
use crate::dictionary::records::RecordCursor;
use crate::dictionary::stream::StreamCursor;
use crate::dictionary::table::{GROUP, KeyBatch, KeyCursor, Keys};
use crate::id::{Tag, VertexId};
use crate::lexicon::LexiconError;
use crate::terms::TermBuffer;
use crate::{inline, key};
use std::fmt::Write;

impl PartDictionary {
    /// Appends to `ids`, for each key in order, the id of the term of this kind that has it, or `None` where the cluster
    /// stores no such term. The node must own all keys; on an error nothing is appended.
    pub fn ids_of_keys(
        &self,
        kind: Tag,
        keys: &KeyBatch,
        ids: &mut Vec<Option<VertexId>>,
    ) -> Result<(), PartLookupError> {
        if !kind.is_dictionary() {
            return Err(PartLookupError::NoKeys(kind));
        }
        self.check_keys(keys)?;
        let mut ordinals = Vec::new();
        match kind {
            Tag::Iri => self.iris.find(keys, &mut ordinals)?,
            Tag::Literal => self.literals.find(keys, &mut ordinals)?,
            _ => self.triple_terms.find(keys, &mut ordinals)?,
        }
        let id = |ordinal: Option<u64>| ordinal.map(|ordinal| VertexId::new(kind, ordinal));
        ids.extend(ordinals.into_iter().map(id));
        Ok(())
    }

    /// Appends to `keys` the key of each id in order, until the keys of the batch together pass so many bytes; gives how
    /// many, at least one where there is one. A triple term's key are its components ([`key::decode_triple`]). The node
    /// must own all ids, and they must have keys; on an error those before it stay appended.
    pub fn keys_of_ids(
        &self,
        ids: &[VertexId],
        key_bytes_max: usize,
        keys: &mut KeyBatch,
    ) -> Result<usize, PartLookupError> {
        let mut reader = Reader::new(self);
        let mut appended = 0;
        for group in ids.chunks(GROUP) {
            self.prefetch(group);
            for &id in group {
                keys.push(reader.key(id)?);
                appended += 1;
                if keys.key_bytes() > key_bytes_max {
                    return Ok(appended);
                }
            }
        }
        Ok(appended)
    }

    /// Appends the term of each id in order, until their texts pass so many bytes; gives how many, at least one where there
    /// is one. Blank nodes, inline values and unbound cells are answered by any part. Of other ids the node must be the
    /// owner, and none may be a triple term; on an error those before it stay appended.
    pub fn terms(
        &self,
        ids: &[VertexId],
        text_bytes_max: usize,
        terms: &mut TermBuffer,
    ) -> Result<usize, PartLookupError> {
        let mut reader = Reader::new(self);
        let mut appended = 0;
        for group in ids.chunks(GROUP) {
            self.prefetch(group);
            for &id in group {
                reader.append(id, terms)?;
                appended += 1;
                if terms.text_bytes() > text_bytes_max {
                    return Ok(appended);
                }
            }
        }
        Ok(appended)
    }

    /// Appends the components of each triple term in order: subject, predicate, object. The node must own all ids; on an
    /// error those before it stay appended.
    pub fn components(
        &self,
        ids: &[VertexId],
        components: &mut Vec<[VertexId; 3]>,
    ) -> Result<(), PartLookupError> {
        for &id in ids {
            match self.place(id)? {
                (Tag::TripleTerm, place) => {
                    let records = &self.triple_terms.by_id;
                    components.push(records.components_at(place, id.payload())?);
                }
                _ => return Err(PartLookupError::Simple(id)),
            }
        }
        Ok(())
    }

    /// Where the text of an id lies that the node owns.
    #[inline]
    fn place(&self, id: VertexId) -> Result<(Tag, u64), PartLookupError> {
        let Some(kind) = id.tag().filter(|kind| kind.is_dictionary()) else {
            return Err(PartLookupError::NoText(id));
        };
        let ordinal = id.payload();
        match self.owned.place(ordinal) {
            Some(place) if ordinal < self.head.counts.of(kind) => Ok((kind, place)),
            Some(_) => Err(LexiconError::UnknownId(id).into()),
            None => Err(PartLookupError::IdElsewhere {
                id,
                owner: self.head.placement.owner(id),
                node: self.head.node,
            }),
        }
    }

    /// Whether the node owns the hashes of all keys.
    fn check_keys(&self, keys: &KeyBatch) -> Result<(), PartLookupError> {
        for position in 0..keys.len() {
            let hash = key_hash(keys.get(position));
            let owner = self.head.placement.owner_of_hash(hash);
            if owner != self.head.node {
                return Err(PartLookupError::KeyElsewhere {
                    position,
                    hash,
                    owner,
                    node: self.head.node,
                });
            }
        }
        Ok(())
    }

    /// Brings what a group of ids will read into the caches.
    fn prefetch(&self, ids: &[VertexId]) {
        if ids.len() == 1 {
            return;
        }
        let places = || ids.iter().filter_map(|id| self.place(*id).ok());
        for (kind, place) in places() {
            match kind {
                Tag::Iri => self.iris.by_id.prefetch_place(place),
                Tag::Literal => self.literals.by_id.prefetch_place(place),
                _ => self.triple_terms.by_id.prefetch_place(place),
            }
        }
        for (kind, place) in places() {
            match kind {
                Tag::Iri => self.iris.by_id.prefetch_key(place),
                Tag::Literal => self.literals.by_id.prefetch_key(place),
                _ => {}
            }
        }
    }
}

impl<K: Keys> PartTerms<K> {
    /// Appends the ordinal of each key, or `None` where it is not stored.
    pub(super) fn find(
        &self,
        keys: &KeyBatch,
        ordinals: &mut Vec<Option<u64>>,
    ) -> Result<(), LexiconError> {
        let first = ordinals.len();
        ordinals.resize(first + keys.len(), None);
        let places = &mut ordinals[first..];
        self.by_hash.find(keys, |position, place| {
            self.ordinals.prefetch(place);
            places[position] = Some(place);
        })?;
        for place in places.iter_mut().flatten() {
            *place = self.ordinals.get(*place)?;
        }
        Ok(())
    }
}

/// Reads keys by id, one after another: forwards within a block at the cost of one entry each.
struct Reader<'p> {
    part: &'p PartDictionary,
    iris: StreamCursor<'p>,
    literals: StreamCursor<'p>,
    records: RecordCursor<'p>,
    label: String,
}

impl<'p> Reader<'p> {
    fn new(part: &'p PartDictionary) -> Reader<'p> {
        Reader {
            part,
            iris: part.iris.by_id.cursor(),
            literals: part.literals.by_id.cursor(),
            records: part.triple_terms.by_id.cursor(),
            label: String::new(),
        }
    }

    #[inline]
    fn key(&mut self, id: VertexId) -> Result<&[u8], PartLookupError> {
        let (kind, place) = self.part.place(id)?;
        let key = match kind {
            Tag::Iri => self.iris.key(place),
            Tag::Literal => self.literals.key(place),
            _ => {
                // Read for its checks: what another node is given to follow must end.
                self.part
                    .triple_terms
                    .by_id
                    .components_at(place, id.payload())?;
                self.records.key(place)
            }
        };
        Ok(key?)
    }

    #[inline]
    fn append(&mut self, id: VertexId, terms: &mut TermBuffer) -> Result<(), PartLookupError> {
        let part = self.part;
        match id.tag() {
            Some(Tag::Iri) => {
                let (_, place) = part.place(id)?;
                match str::from_utf8(self.iris.key(place)?) {
                    Ok(iri) => terms.push_iri(iri),
                    Err(_) => return Err(part.iris.by_id.nonsense(place).into()),
                }
            }
            Some(Tag::Literal) => {
                let (_, place) = part.place(id)?;
                key::decode_literal(self.literals.key(place)?, terms)
                    .map_err(|_| part.literals.by_id.nonsense(place))?;
            }
            Some(Tag::TripleTerm) => {
                part.place(id)?;
                return Err(PartLookupError::Compound(id));
            }
            Some(Tag::Blank) if id.payload() < part.head.counts.blank_nodes => {
                self.label.clear();
                write!(self.label, "{BLANK_PREFIX}{}", id.payload()).expect("a string grows");
                terms.push_blank(&self.label);
            }
            Some(tag) if tag.is_inline() => {
                inline::decode(id, terms).map_err(|_| LexiconError::UnknownId(id))?;
            }
            _ if id.is_unbound() => terms.push_unbound(),
            _ => return Err(LexiconError::UnknownId(id).into()),
        }
        Ok(())
    }
}
