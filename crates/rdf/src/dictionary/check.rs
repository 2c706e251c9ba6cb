//! Checks that a dictionary keeps its invariants: what `somersault check` runs.
//!
//! First every block of every file is read and compared with its checksum. Where that finds
//! nothing, every key is decoded, must be canonical (there is no other key for its term, and no
//! inline value that it should have been), and must be found by the index under its own ordinal.
//! An index has as many entries as there are keys, so it then holds nothing else; and a key that
//! stands under two ordinals is found under one only, so duplicates are found too.
//!
//! Cost: all bytes once, and a lookup a key in batches; memory for one batch.

use super::Dictionary;
use super::table::{KeyBatch, Keys, Table};
use crate::id::{Tag, VertexId};
use crate::lexicon::{Lexicon, LexiconError};
use crate::terms::TermBuffer;
use crate::{inline, key};
use memory::DamagedBlock;
use oxrdf::TermRef;

/// Keys that are looked up together.
const BATCH_KEYS: usize = 1024;
/// Bytes of keys after which a batch is looked up, however few they are.
const BATCH_BYTES: usize = 1 << 22;

/// Something that is wrong with a dictionary.
#[derive(Debug, thiserror::Error)]
pub enum DictionaryFault {
    /// A block does not match its checksum or cannot be read.
    #[error("dictionary file {0}")]
    Damaged(#[from] DamagedBlock),
    /// A term could not be read although all checksums match.
    #[error("term {id:?}: {error}")]
    Unreadable {
        /// The term's id.
        id: VertexId,
        /// What reading it gave.
        error: LexiconError,
    },
    /// A term breaks an invariant.
    #[error("term {id:?} {kind}")]
    Term {
        /// The term's id.
        id: VertexId,
        /// Which invariant.
        kind: FaultKind,
    },
}

/// The invariant that a term breaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FaultKind {
    /// The index does not find it.
    #[error("is not found by the index")]
    NotIndexed,
    /// The index finds it under another id, so it is stored twice.
    #[error("is found under {0:?}")]
    FoundAs(VertexId),
    /// Its key is not the one that its term has.
    #[error("has a key that is not canonical")]
    NotCanonical,
}

impl Dictionary {
    /// Calls `report` with everything that is wrong, files before terms.
    pub fn check(&self, mut report: impl FnMut(DictionaryFault)) {
        let mut damaged = false;
        for file in self.files() {
            for block in file.damaged_blocks() {
                damaged = true;
                report(DictionaryFault::Damaged(block));
            }
        }
        if !damaged {
            self.check_kind(Tag::Iri, &self.iris, &mut report);
            self.check_kind(Tag::Literal, &self.literals, &mut report);
            self.check_kind(Tag::TripleTerm, &self.triple_terms, &mut report);
        }
    }

    fn check_kind<K: Keys>(
        &self,
        kind: Tag,
        table: &Table<K>,
        report: &mut impl FnMut(DictionaryFault),
    ) {
        let mut scan = self.keys(kind, 0);
        let mut batch = Batch::default();
        loop {
            let id = VertexId::new(kind, scan.ordinal());
            match scan.next_key() {
                Ok(Some(key)) => {
                    if !self.is_canonical(id, key) {
                        report(DictionaryFault::Term {
                            id,
                            kind: FaultKind::NotCanonical,
                        });
                    }
                    batch.push(id, key);
                }
                Ok(None) => break,
                Err(error) => report(DictionaryFault::Unreadable { id, error }),
            }
            if batch.is_full() {
                batch.check(kind, table, report);
            }
        }
        batch.check(kind, table, report);
    }

    /// Whether this is the key that the term of this id has.
    fn is_canonical(&self, id: VertexId, key: &[u8]) -> bool {
        let mut terms = TermBuffer::new();
        if id.has_tag(Tag::Literal) {
            let decoded = key::decode_literal(key, &mut terms);
            let literal = decoded.ok().and_then(|()| terms.get(0));
            matches!(literal, Some(TermRef::Literal(literal)) if inline::encode(literal).is_none())
        } else {
            // For a triple term this reads its components, all the way down.
            self.terms(&[id], &mut terms).is_ok()
        }
    }
}

/// Keys that were read and are still to be found.
#[derive(Default)]
struct Batch {
    keys: KeyBatch,
    ids: Vec<VertexId>,
    bytes: usize,
}

impl Batch {
    fn push(&mut self, id: VertexId, key: &[u8]) {
        self.keys.push(key);
        self.ids.push(id);
        self.bytes += key.len();
    }

    fn is_full(&self) -> bool {
        self.ids.len() >= BATCH_KEYS || self.bytes >= BATCH_BYTES
    }

    /// Looks the keys up, reports those that are not found where they stand, and empties itself.
    fn check<K: Keys>(
        &mut self,
        kind: Tag,
        table: &Table<K>,
        report: &mut impl FnMut(DictionaryFault),
    ) {
        let mut found = vec![None; self.ids.len()];
        let looked_up = table.find(&self.keys, |position, ordinal| {
            found[position] = Some(ordinal);
        });
        if let (Err(error), Some(&id)) = (looked_up, self.ids.first()) {
            report(DictionaryFault::Unreadable { id, error });
        } else {
            for (&id, found) in self.ids.iter().zip(found) {
                match found.map(|ordinal| VertexId::new(kind, ordinal)) {
                    Some(other) if other == id => {}
                    Some(other) => report(DictionaryFault::Term {
                        id,
                        kind: FaultKind::FoundAs(other),
                    }),
                    None => report(DictionaryFault::Term {
                        id,
                        kind: FaultKind::NotIndexed,
                    }),
                }
            }
        }
        self.keys.clear();
        self.ids.clear();
        self.bytes = 0;
    }
}
