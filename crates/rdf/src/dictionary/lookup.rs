//! The dictionary as a [`Lexicon`]: batches of terms to ids and back.
//!
//! Inline values and blank nodes are answered from the id alone; the others are sorted by kind and
//! looked up in one batch a kind. Ids are decoded in the order given: a cursor a kind goes forwards
//! within a block at the cost of one entry, so that runs of neighbouring ids (results in order of
//! ids, dumps) cost a fraction of random ones, and no sorting is needed to profit.
//!
//! The same code serves a dictionary and one that grows ([`Scope`]): the files are asked first, the
//! new terms for what is left.
//!
//! Triple terms are followed to a bounded depth: deeper ones cannot be stored, see
//! [`TRIPLE_TERM_DEPTH_MAX`].

use super::grown::{Grown, GrownTerms};
use super::table::{GROUP, KeyBatch, KeyCursor, Keys};
use super::{Dictionary, TRIPLE_TERM_DEPTH_MAX, TermCounts};
use crate::id::{Tag, VertexId};
use crate::lexicon::{Lexicon, LexiconError};
use crate::terms::TermBuffer;
use crate::{inline, key};
use oxrdf::{NamedOrBlankNode, TermRef, Triple};
use std::fmt::Write;

/// log2 of the ids whose keys lie together: a block's.
const NEIGHBOURS_LOG2: u32 = 4;

/// The keys of one kind that a batch of terms asks for, and for which terms.
#[derive(Default)]
struct KeyRequests {
    keys: KeyBatch,
    positions: Vec<usize>,
}

impl KeyRequests {
    fn push_with(&mut self, position: usize, append: impl FnOnce(&mut Vec<u8>)) {
        self.positions.push(position);
        self.keys.push_with(append);
    }
}

/// What a batch of terms asks for, by kind.
#[derive(Default)]
struct WantedTerms {
    iris: KeyRequests,
    literals: KeyRequests,
    triple_terms: KeyRequests,
}

impl Lexicon for Dictionary {
    fn ids(
        &self,
        terms: &[TermRef<'_>],
        ids: &mut Vec<Option<VertexId>>,
    ) -> Result<(), LexiconError> {
        Scope::of(self).append_ids(terms, ids, 0)
    }

    fn terms(&self, ids: &[VertexId], terms: &mut TermBuffer) -> Result<(), LexiconError> {
        self.terms_within(ids, usize::MAX, terms).map(|_| ())
    }

    fn terms_within(
        &self,
        ids: &[VertexId],
        text_bytes_max: usize,
        terms: &mut TermBuffer,
    ) -> Result<usize, LexiconError> {
        Scope::of(self).append_terms(ids, text_bytes_max, terms, 0)
    }
}

/// What a lookup sees: a dictionary's files and, where there are any, new terms over them.
#[derive(Clone, Copy)]
pub(super) struct Scope<'a> {
    pub(super) base: &'a Dictionary,
    /// `None` where nothing but the files is seen, and all of it.
    pub(super) grown: Option<&'a GrownTerms>,
    /// Terms from these ordinals on are not seen.
    pub(super) counts: TermCounts,
}

impl<'a> Scope<'a> {
    fn of(base: &'a Dictionary) -> Scope<'a> {
        Scope {
            base,
            grown: None,
            counts: base.counts(),
        }
    }

    pub(super) fn append_ids(
        self,
        terms: &[TermRef<'_>],
        ids: &mut Vec<Option<VertexId>>,
        depth: usize,
    ) -> Result<(), LexiconError> {
        assert!(depth <= TRIPLE_TERM_DEPTH_MAX, "recursion is bounded");
        let first = ids.len();
        let mut wanted = WantedTerms::default();
        for (position, &term) in (first..).zip(terms) {
            ids.push(self.id_without_text(position, term, &mut wanted, depth)?);
        }
        for (tag, wanted) in [
            (Tag::Iri, wanted.iris),
            (Tag::Literal, wanted.literals),
            (Tag::TripleTerm, wanted.triple_terms),
        ] {
            self.find(tag, &wanted.keys, |index, ordinal| {
                ids[wanted.positions[index]] = Some(VertexId::new(tag, ordinal));
            })?;
        }
        Ok(())
    }

    /// Calls `found` with the position in the batch and the ordinal of each key that is seen, in no
    /// particular order.
    pub(super) fn find(
        self,
        kind: Tag,
        keys: &KeyBatch,
        mut found: impl FnMut(usize, u64),
    ) -> Result<(), LexiconError> {
        let (Some(terms), false) = (self.grown, keys.is_empty()) else {
            return self.base.find_each(kind, keys, found);
        };
        let (count, start) = (self.counts.of(kind), terms.start.of(kind));
        let mut missing = Vec::new();
        let mut next = 0;
        self.base.find_each(kind, keys, |position, ordinal| {
            missing.extend(next..position);
            next = position + 1;
            if ordinal < count {
                found(position, ordinal);
            }
        })?;
        missing.extend(next..keys.len());
        if let (Some(grown), false) = (terms.of(kind), missing.is_empty()) {
            grown.find(keys, &missing, |position, ordinal| {
                if start + ordinal < count {
                    found(position, start + ordinal);
                }
            });
        }
        Ok(())
    }

    /// The id of a term that has no text in the dictionary; for others notes what to look up.
    fn id_without_text(
        self,
        position: usize,
        term: TermRef<'_>,
        wanted: &mut WantedTerms,
        depth: usize,
    ) -> Result<Option<VertexId>, LexiconError> {
        match term {
            TermRef::NamedNode(iri) => wanted.iris.push_with(position, |key| {
                key.extend_from_slice(iri.as_str().as_bytes());
            }),
            TermRef::BlankNode(blank) => {
                return Ok(self.counts.blank_node(blank.as_str()));
            }
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
        self,
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

    /// Appends the terms of ids until their texts pass the greatest number of bytes; gives how many.
    pub(super) fn append_terms(
        self,
        ids: &[VertexId],
        text_bytes_max: usize,
        terms: &mut TermBuffer,
        depth: usize,
    ) -> Result<usize, LexiconError> {
        assert!(depth <= TRIPLE_TERM_DEPTH_MAX, "recursion is bounded");
        let mut reader = Reader {
            scope: self,
            iris: self.base.iris.keys.cursor(),
            literals: self.base.literals.keys.cursor(),
            key: Vec::new(),
            label: String::new(),
            depth,
        };
        let mut appended = 0;
        for group in ids.chunks(GROUP) {
            if group.len() > 1 {
                self.prefetch(group);
            }
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

    /// Brings what a group of ids will read into the caches. Neighbours of the id before them are
    /// found where it is.
    fn prefetch(self, ids: &[VertexId]) {
        let are_neighbours = |left: &VertexId, right: &VertexId| {
            left.bits() >> NEIGHBOURS_LOG2 == right.bits() >> NEIGHBOURS_LOG2
        };
        let firsts = || ids.chunk_by(are_neighbours).map(|neighbours| neighbours[0]);
        for id in firsts() {
            match (id.tag(), self.new_term(id)) {
                (_, Some((grown, ordinal))) => grown.prefetch_place(ordinal),
                (Some(Tag::Iri), _) => self.base.iris.keys.prefetch_place(id.payload()),
                (Some(Tag::Literal), _) => self.base.literals.keys.prefetch_place(id.payload()),
                _ => {}
            }
        }
        for id in firsts() {
            match (id.tag(), self.new_term(id)) {
                (_, Some((grown, ordinal))) => grown.prefetch_key(ordinal),
                (Some(Tag::Iri), _) => self.base.iris.keys.prefetch_key(id.payload()),
                (Some(Tag::Literal), _) => self.base.literals.keys.prefetch_key(id.payload()),
                _ => {}
            }
        }
    }

    /// Where the key of a new term is that is seen.
    #[inline]
    fn new_term(self, id: VertexId) -> Option<(&'a Grown, u64)> {
        let terms = self.grown?;
        let kind = id.tag()?;
        let grown = terms.of(kind)?;
        let ordinal = id.payload().checked_sub(terms.start.of(kind))?;
        (id.payload() < self.counts.of(kind)).then_some((grown, ordinal))
    }
}

/// The number of the blank node that the dictionary gives this label.
pub(super) fn blank_number(label: &str) -> Option<u64> {
    let digits = label.strip_prefix(super::BLANK_PREFIX)?;
    let canonical = digits == "0" || !digits.starts_with('0');
    if !canonical || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    digits.parse().ok()
}

/// Decodes ids one after another.
struct Reader<'a> {
    scope: Scope<'a>,
    iris: super::stream::StreamCursor<'a>,
    literals: super::stream::StreamCursor<'a>,
    /// The key of a new term.
    key: Vec<u8>,
    /// The label of a blank node.
    label: String,
    depth: usize,
}

impl Reader<'_> {
    #[inline]
    fn append(&mut self, id: VertexId, terms: &mut TermBuffer) -> Result<(), LexiconError> {
        let Scope { base, counts, .. } = self.scope;
        let ordinal = id.payload();
        match id.tag() {
            Some(Tag::Iri) if ordinal < counts.iris.min(base.iris.keys.count()) => {
                match str::from_utf8(self.iris.key(ordinal)?) {
                    Ok(iri) => terms.push_iri(iri),
                    Err(_) => return Err(base.iris.keys.nonsense(ordinal)),
                }
            }
            Some(Tag::Literal) if ordinal < counts.literals.min(base.literals.keys.count()) => {
                key::decode_literal(self.literals.key(ordinal)?, terms)
                    .map_err(|_| base.literals.keys.nonsense(ordinal))?;
            }
            Some(Tag::TripleTerm) if ordinal < counts.triple_terms => {
                terms.push_triple(self.triple(id)?);
            }
            Some(Tag::Blank) if ordinal < counts.blank_nodes => {
                self.label.clear();
                write!(self.label, "{}{ordinal}", super::BLANK_PREFIX).expect("a string grows");
                terms.push_blank(&self.label);
            }
            Some(tag) if tag.is_inline() => {
                inline::decode(id, terms).map_err(|_| LexiconError::UnknownId(id))?;
            }
            _ if id.is_unbound() => terms.push_unbound(),
            _ => return self.append_new(id, terms),
        }
        Ok(())
    }

    /// Appends a new IRI or literal.
    fn append_new(&mut self, id: VertexId, terms: &mut TermBuffer) -> Result<(), LexiconError> {
        let Some((grown, ordinal)) = self.scope.new_term(id) else {
            return Err(LexiconError::UnknownId(id));
        };
        grown.key(ordinal, &mut self.key);
        let unknown = LexiconError::UnknownId(id);
        if id.has_tag(Tag::Iri) {
            terms.push_iri(str::from_utf8(&self.key).map_err(|_| unknown)?);
            return Ok(());
        }
        key::decode_literal(&self.key, terms).map_err(|_| unknown)
    }

    /// The triple term of an id that is seen.
    fn triple(&mut self, id: VertexId) -> Result<Triple, LexiconError> {
        let ordinal = id.payload();
        let records = &self.scope.base.triple_terms.keys;
        let nonsense = || {
            if ordinal < records.count() {
                records.nonsense(ordinal)
            } else {
                LexiconError::UnknownId(id)
            }
        };
        if self.depth == TRIPLE_TERM_DEPTH_MAX {
            return Err(nonsense());
        }
        let components = match self.scope.new_term(id) {
            None => records.components(ordinal)?,
            Some((grown, new)) => {
                grown.key(new, &mut self.key);
                key::decode_triple(&self.key).map_err(|_| nonsense())?
            }
        };
        let mut terms = TermBuffer::new();
        self.scope
            .append_terms(&components, usize::MAX, &mut terms, self.depth + 1)?;
        let subject = match terms.get(0) {
            Some(TermRef::NamedNode(iri)) => NamedOrBlankNode::from(iri.into_owned()),
            Some(TermRef::BlankNode(blank)) => NamedOrBlankNode::from(blank.into_owned()),
            _ => return Err(nonsense()),
        };
        match (terms.get(1), terms.get(2)) {
            (Some(TermRef::NamedNode(predicate)), Some(object)) => Ok(Triple::new(
                subject,
                predicate.into_owned(),
                object.into_owned(),
            )),
            _ => Err(nonsense()),
        }
    }
}
