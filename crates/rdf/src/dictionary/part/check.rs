//! Checks that parts keep their invariants: each alone, and all of them together.
//!
//! Alone ([`PartDictionary::check`]): the blocks of every file match their checksums; every key by id is canonical; every key
//! by hash belongs to the node, stands under an ordinal that is greater than the one before, and is found by the index at
//! its place. Together ([`check_parts`]): there is one part for each node, of one placement and one number of terms; every key
//! by id is found, at the node that owns its hash, under the ordinal that it has; and there are as many keys by hash as
//! terms. Ordinals by id are dealt out by arithmetic, each to one node. So both halves have the same terms, each of
//! them once.
//!
//! Cost: all bytes once, and two lookups a key in batches; memory for a batch a node.

use super::ordinals::Ordinals;
use super::{PartDictionary, PartTerms};
use crate::dictionary::check::FaultKind;
use crate::dictionary::index::key_hash;
use crate::dictionary::records::is_triple_term;
use crate::dictionary::table::{KeyBatch, KeyCursor, Keys};
use crate::dictionary::{TRIPLE_TERM_DEPTH_MAX, TermCounts};
use crate::id::{Tag, VertexId};
use crate::lexicon::LexiconError;
use crate::terms::TermBuffer;
use crate::{inline, key};
use memory::DamagedBlock;
use oxrdf::TermRef;

/// Keys that are looked up together.
const BATCH_KEYS: usize = 1024;
/// Bytes of keys after which a batch is looked up, however few they are.
const BATCH_BYTES: usize = 1 << 20;

/// Something that is wrong with a node's part, or with parts together.
#[derive(Debug, thiserror::Error)]
pub enum PartFault {
    /// A block does not match its checksum or cannot be read.
    #[error("node {node}: dictionary file {block}")]
    Damaged {
        /// Whose part it is.
        node: u16,
        /// The block.
        block: DamagedBlock,
    },
    /// There is not one part for each node.
    #[error("node {node} has {parts} parts of the dictionary, not one")]
    Parts {
        /// The node.
        node: u16,
        /// How many it has.
        parts: usize,
    },
    /// Two parts were not cut together.
    #[error(
        "the part of node {node} was cut by another placement, or of other terms, than that of node {other}"
    )]
    Foreign {
        /// Whose part it is.
        node: u16,
        /// The node whose part it differs from.
        other: u16,
    },
    /// A term could not be read although all checksums match.
    #[error("node {node}: term {id:?}: {error}")]
    Unreadable {
        /// Whose part it is.
        node: u16,
        /// The term's id.
        id: VertexId,
        /// What reading it gave.
        error: LexiconError,
    },
    /// A term breaks an invariant: its key, or what is found by it at the node that owns the key's hash.
    #[error("node {node}: term {id:?} {kind}")]
    Term {
        /// The node that has its text.
        node: u16,
        /// The term's id.
        id: VertexId,
        /// Which invariant.
        kind: FaultKind,
    },
    /// A key by hash breaks an invariant.
    #[error("node {node}: key {place} by hash of the kind {kind:?} {problem}")]
    Hashed {
        /// Whose part it is.
        node: u16,
        /// The kind of the term.
        kind: Tag,
        /// Its place.
        place: u64,
        /// Which invariant.
        problem: HashedProblem,
    },
    /// Keys by hash are not as many as terms.
    #[error("{found} terms of the kind {kind:?} are found by their keys, but there are {wanted}")]
    Count {
        /// The kind.
        kind: Tag,
        /// Terms that there are.
        wanted: u64,
        /// Keys by hash at all nodes together.
        found: u64,
    },
}

/// The invariant that a key by hash breaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum HashedProblem {
    /// Another node owns its hash.
    #[error("belongs to node {0}")]
    Elsewhere(u16),
    /// Its ordinal is not greater than the one before.
    #[error("has an ordinal that does not follow the one before")]
    Order,
    /// The index does not find it, or another key in its place.
    #[error("is not found by the index where it stands")]
    NotFound,
    /// It or its ordinal cannot be read although all checksums match.
    #[error("cannot be read")]
    Unreadable,
}

/// Checks the parts of a cluster, each alone and all together: calls `report` with everything that is wrong.
pub fn check_parts(parts: &[&PartDictionary], mut report: impl FnMut(PartFault)) {
    let mut are_read = true;
    for part in parts {
        are_read &= part.check_alone(&mut report);
    }
    let Some(by_node) = by_node(parts, &mut report) else {
        return;
    };
    if are_read {
        let together = Together { parts: by_node };
        together.check(Tag::Iri, |part| &part.iris, &mut report);
        together.check(Tag::Literal, |part| &part.literals, &mut report);
        together.check(Tag::TripleTerm, |part| &part.triple_terms, &mut report);
        together.check_depths(&mut report);
    }
}

impl PartDictionary {
    /// Calls `report` with everything that is wrong with this part by itself.
    pub fn check(&self, mut report: impl FnMut(PartFault)) {
        self.check_alone(&mut report);
    }

    /// Whether no block is damaged.
    fn check_alone(&self, report: &mut impl FnMut(PartFault)) -> bool {
        let node = self.node();
        let mut damaged = false;
        for file in self.files() {
            for block in file.damaged_blocks() {
                damaged = true;
                report(PartFault::Damaged { node, block });
            }
        }
        if !damaged {
            self.check_kind(Tag::Iri, &self.iris, report);
            self.check_kind(Tag::Literal, &self.literals, report);
            self.check_kind(Tag::TripleTerm, &self.triple_terms, report);
        }
        !damaged
    }

    fn check_kind<K: Keys>(
        &self,
        kind: Tag,
        terms: &PartTerms<K>,
        report: &mut impl FnMut(PartFault),
    ) {
        let node = self.node();
        self.each_by_id(kind, terms, |id, key| match key {
            Ok(key) if is_canonical(id, key, self.counts()) => {}
            Ok(_) => report(PartFault::Term {
                node,
                id,
                kind: FaultKind::NotCanonical,
            }),
            Err(error) => report(PartFault::Unreadable { node, id, error }),
        });
        let mut hashed = |place, problem| {
            report(PartFault::Hashed {
                node,
                kind,
                place,
                problem,
            });
        };
        check_ordinals(&terms.ordinals, &mut hashed);
        self.check_hashed(terms, &mut hashed);
    }

    /// Calls `each` with all ids whose text is here, and their keys.
    fn each_by_id<K: Keys>(
        &self,
        kind: Tag,
        terms: &PartTerms<K>,
        mut each: impl FnMut(VertexId, Result<&[u8], LexiconError>),
    ) {
        let mut cursor = terms.by_id.cursor();
        for place in 0..terms.by_id.count() {
            let id = VertexId::new(kind, self.owned.ordinal(place));
            each(id, cursor.key(place));
        }
    }

    /// Whether keys by hash belong here and are found where they stand.
    fn check_hashed<K: Keys>(
        &self,
        terms: &PartTerms<K>,
        report: &mut impl FnMut(u64, HashedProblem),
    ) {
        let mut cursor = terms.by_hash.keys.cursor();
        let mut batch = Batch::default();
        let count = terms.by_hash.keys.count();
        for place in 0..count {
            match cursor.key(place) {
                Ok(key) => {
                    let owner = self.placement().owner_of_hash(key_hash(key));
                    if owner != self.node() {
                        report(place, HashedProblem::Elsewhere(owner));
                    }
                    batch.push(place, key);
                }
                Err(_) => report(place, HashedProblem::Unreadable),
            }
            if batch.is_full() || place + 1 == count {
                let mut found = vec![None; batch.keys.len()];
                let looked_up = terms.by_hash.find(&batch.keys, |position, place| {
                    found[position] = Some(place);
                });
                for (place, found) in batch.numbers.iter().zip(found) {
                    if looked_up.is_err() || found != Some(*place) {
                        report(*place, HashedProblem::NotFound);
                    }
                }
                batch.clear();
            }
        }
    }
}

/// Whether ordinals ascend.
fn check_ordinals(ordinals: &Ordinals, report: &mut impl FnMut(u64, HashedProblem)) {
    let mut least = 0;
    for place in 0..ordinals.count() {
        match ordinals.get(place) {
            Ok(ordinal) if ordinal < least => report(place, HashedProblem::Order),
            Ok(ordinal) => least = ordinal + 1,
            Err(_) => report(place, HashedProblem::Unreadable),
        }
    }
}

/// The parts in the order of their nodes, if there is one for each and all were cut together.
fn by_node<'p>(
    parts: &[&'p PartDictionary],
    report: &mut impl FnMut(PartFault),
) -> Option<Vec<&'p PartDictionary>> {
    let first = parts.first()?;
    let mut fits = true;
    for part in parts {
        if part.placement() != first.placement() || part.counts() != first.counts() {
            fits = false;
            report(PartFault::Foreign {
                node: part.node(),
                other: first.node(),
            });
        }
    }
    let mut ordered = Vec::with_capacity(parts.len());
    for node in 0..first.placement().nodes() {
        let mut of_node = parts.iter().filter(|part| part.node() == node);
        ordered.extend(of_node.next());
        let count = parts.iter().filter(|part| part.node() == node).count();
        if count != 1 {
            fits = false;
            report(PartFault::Parts { node, parts: count });
        }
    }
    fits.then_some(ordered)
}

/// One part for each node, in order, cut together.
struct Together<'p> {
    parts: Vec<&'p PartDictionary>,
}

impl Together<'_> {
    /// Whether each key by id is found under its id by its hash, and none else is.
    fn check<K: Keys>(
        &self,
        kind: Tag,
        of: impl Fn(&PartDictionary) -> &PartTerms<K>,
        report: &mut impl FnMut(PartFault),
    ) {
        let Some(first) = self.parts.first() else {
            return;
        };
        for part in &self.parts {
            let mut batches = Vec::new();
            batches.resize_with(self.parts.len(), Batch::default);
            part.each_by_id(kind, of(part), |id, key| {
                // What cannot be read was reported when the part was checked by itself.
                let Ok(key) = key else { return };
                let owner = usize::from(part.placement().owner_of_hash(key_hash(key)));
                batches[owner].push(id.payload(), key);
                if batches[owner].is_full() {
                    find(
                        kind,
                        part.node(),
                        of(self.parts[owner]),
                        &mut batches[owner],
                        report,
                    );
                }
            });
            for (owner, mut batch) in self.parts.iter().zip(batches) {
                find(kind, part.node(), of(owner), &mut batch, report);
            }
        }
        let (wanted, found) = (
            first.counts().of(kind),
            self.parts
                .iter()
                .map(|part| of(part).ordinals.count())
                .sum(),
        );
        if wanted != found {
            report(PartFault::Count {
                kind,
                wanted,
                found,
            });
        }
    }

    /// Whether triple terms hold one another no deeper than a reader follows them.
    fn check_depths(&self, report: &mut impl FnMut(PartFault)) {
        for part in &self.parts {
            part.each_by_id(Tag::TripleTerm, &part.triple_terms, |id, _| {
                if self
                    .depth(id)
                    .is_some_and(|depth| depth > TRIPLE_TERM_DEPTH_MAX)
                {
                    report(PartFault::Term {
                        node: part.node(),
                        id,
                        kind: FaultKind::NotCanonical,
                    });
                }
            });
        }
    }

    /// How many triple terms hold one another from this one on, one more than allowed at most. `None` where one cannot be
    /// read, which its own part reports.
    fn depth(&self, id: VertexId) -> Option<usize> {
        let mut id = id;
        let mut components = Vec::new();
        for depth in 0..=TRIPLE_TERM_DEPTH_MAX {
            if !id.has_tag(Tag::TripleTerm) {
                return Some(depth);
            }
            let owner = self.parts.first()?.placement().owner(id);
            components.clear();
            let owner = self.parts[usize::from(owner)];
            owner.components(&[id], &mut components).ok()?;
            let [[_, _, object]] = components[..] else {
                return None;
            };
            id = object;
        }
        Some(TRIPLE_TERM_DEPTH_MAX + 1)
    }
}

/// Looks keys up by hash, reports those that are not found under their ordinals, and empties the batch. `node` has the texts.
fn find<K: Keys>(
    kind: Tag,
    node: u16,
    owner: &PartTerms<K>,
    batch: &mut Batch,
    report: &mut impl FnMut(PartFault),
) {
    let mut found = Vec::new();
    let looked_up = owner.find(&batch.keys, &mut found);
    if let (Err(error), Some(&ordinal)) = (looked_up, batch.numbers.first()) {
        let id = VertexId::new(kind, ordinal);
        report(PartFault::Unreadable { node, id, error });
    } else {
        for (&ordinal, found) in batch.numbers.iter().zip(found) {
            let problem = match found {
                Some(other) if other == ordinal => continue,
                Some(other) => FaultKind::FoundAs(VertexId::new(kind, other)),
                None => FaultKind::NotIndexed,
            };
            report(PartFault::Term {
                node,
                id: VertexId::new(kind, ordinal),
                kind: problem,
            });
        }
    }
    batch.clear();
}

/// Whether this is the key that the term of this id has, where there are so many terms of each kind.
fn is_canonical(id: VertexId, key: &[u8], counts: TermCounts) -> bool {
    match id.tag() {
        Some(Tag::Iri) => str::from_utf8(key).is_ok(),
        Some(Tag::Literal) => {
            let mut terms = TermBuffer::new();
            let decoded = key::decode_literal(key, &mut terms);
            let literal = decoded.ok().and_then(|()| terms.get(0));
            matches!(literal, Some(TermRef::Literal(literal)) if inline::encode(literal).is_none())
        }
        _ => key::decode_triple(key).is_ok_and(|components| {
            let is_stored = |id: &VertexId| match id.tag() {
                Some(tag) if tag.is_inline() => inline::decode(*id, &mut TermBuffer::new()).is_ok(),
                Some(tag) => id.payload() < counts.of(tag),
                None => false,
            };
            is_triple_term(components, id.payload()) && components.iter().all(is_stored)
        }),
    }
}

/// Keys that were read and are still to be found, with the place or ordinal of each.
#[derive(Default)]
struct Batch {
    keys: KeyBatch,
    numbers: Vec<u64>,
}

impl Batch {
    fn push(&mut self, number: u64, key: &[u8]) {
        self.keys.push(key);
        self.numbers.push(number);
    }

    fn is_full(&self) -> bool {
        self.numbers.len() >= BATCH_KEYS || self.keys.key_bytes() >= BATCH_BYTES
    }

    fn clear(&mut self) {
        self.keys.clear();
        self.numbers.clear();
    }
}
