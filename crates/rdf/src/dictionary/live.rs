//! A dictionary that grows while it is read: files that do not change, and new terms in memory.
//!
//! ```text
//! ordinal:  0 ........ base.counts() ........ a reader's counts ........ counts()
//!           |  in the files  |  new, seen by the reader  |  new, not yet seen  |
//! ```
//!
//! Invariant: an id is given once and means the same term for ever, here and in every dictionary
//! that comes of this one ([`LiveDictionary::rebased`]). So a version of a graph needs no dictionary
//! of its own: it remembers how many terms there were, and a [view](super::DictionaryView) answers as if there
//! were no others. That a reader does not see later terms matters, and not only for tidiness: a
//! term that a query computed has an id of the query's own, and must not have a second one as soon
//! as somebody stores it.
//!
//! How terms get ids here is in [`intern`](super::intern), and what a reader sees in [`view`](super::view): both stand
//! above this file.
//!
//! | field | written by | read by |
//! |---|---|---|
//! | `base`, and where new ordinals begin | nobody after it was made | any thread |
//! | `grown` | the thread that has `writer` | any thread, without it: terms that were counted, or found in a slot |
//! | `blank_nodes` | any thread, upwards | any thread |
//! | `writer` | held by the thread that adds terms, and while they are copied | |
//!
//! So readers wait for the exchange of a pointer at most (see `slots`). Terms of a change that is given up stay:
//! they are named by nothing, and cost their bytes until the store is written anew from its text.
//!
//! Cost: a new term takes its key's bytes and about 16 more, see `grown`.

use super::error::GrowError;
use super::grown::{Grown, GrownTerms};
use super::table::KeyBatch;
use super::{Dictionary, TermCounts};
use crate::id::{Tag, VertexId};
use crate::sync::{AtomicU64, Mutex, MutexGuard};
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// Keys that are copied together into a new dictionary.
const REBASE_KEYS: usize = 1024;

/// A dictionary that grows; see the module's documentation.
#[derive(Debug)]
pub struct LiveDictionary {
    base: Arc<Dictionary>,
    grown: GrownTerms,
    pub(super) blank_nodes: AtomicU64,
    writer: Mutex<()>,
}

impl LiveDictionary {
    /// The terms of `base`, and no others yet.
    pub fn new(base: Arc<Dictionary>) -> LiveDictionary {
        let start = base.counts();
        LiveDictionary {
            base,
            grown: GrownTerms {
                start,
                iris: Grown::default(),
                literals: Grown::default(),
                triple_terms: Grown::default(),
            },
            blank_nodes: AtomicU64::new(start.blank_nodes),
            writer: Mutex::new(()),
        }
    }

    /// The files under the new terms.
    pub fn base(&self) -> &Arc<Dictionary> {
        &self.base
    }

    /// Number of terms of each kind, now. What [`LiveDictionary::intern`] gave before is counted,
    /// and where a triple term is, so is what it holds.
    pub fn counts(&self) -> TermCounts {
        let GrownTerms {
            start,
            iris,
            literals,
            triple_terms,
        } = &self.grown;
        // Triple terms first: what they hold was counted before them.
        let triple_terms = start.triple_terms + triple_terms.count();
        TermCounts {
            iris: start.iris + iris.count(),
            blank_nodes: self.blank_nodes.load(Ordering::Acquire),
            literals: start.literals + literals.count(),
            triple_terms,
        }
    }

    /// Bytes of memory that the new terms hold.
    pub fn bytes(&self) -> u64 {
        let GrownTerms {
            iris,
            literals,
            triple_terms,
            ..
        } = &self.grown;
        iris.bytes() + literals.bytes() + triple_terms.bytes()
    }

    /// Reserves this many numbers of blank nodes and gives the first.
    pub fn fresh_blank_nodes(&self, count: u64) -> Result<u64, GrowError> {
        self.blank_nodes
            .fetch_update(Ordering::AcqRel, Ordering::Acquire, |first| {
                let next = first.checked_add(count)?;
                (next <= VertexId::PAYLOAD_MAX).then_some(next)
            })
            .map_err(|_| GrowError::NoMoreBlankNodes)
    }

    /// Reserves all numbers of blank nodes below `end`, for changes that name them by number.
    pub fn reserve_blank_nodes(&self, end: u64) -> Result<(), GrowError> {
        if end > VertexId::PAYLOAD_MAX {
            return Err(GrowError::NoMoreBlankNodes);
        }
        self.blank_nodes.fetch_max(end, Ordering::AcqRel);
        Ok(())
    }

    /// The same terms with the same ids over files that hold more of them: what a checkpoint wrote
    /// and opened again. Terms are added to one of the two dictionaries only from now on, the new
    /// one; readers may keep the old one for as long as they like.
    ///
    /// The files must hold this dictionary's first terms (asserted of their number). O(new terms
    /// that are not in them).
    #[must_use]
    pub fn rebased(&self, base: Arc<Dictionary>) -> LiveDictionary {
        let writer = self.lock_writer();
        let rebased = LiveDictionary::new(base);
        rebased
            .blank_nodes
            .fetch_max(self.counts().blank_nodes, Ordering::AcqRel);
        for kind in [Tag::Iri, Tag::Literal, Tag::TripleTerm] {
            let (from, to) = (self.grown.start.of(kind), rebased.grown.start.of(kind));
            assert!(
                from <= to && to <= self.counts().of(kind),
                "files hold the first terms of the dictionary that they are of"
            );
            if let (Some(old), Some(new)) = (self.grown.of(kind), rebased.grown.of(kind)) {
                copy_from(old, to - from, new);
            }
        }
        drop(writer);
        rebased
    }

    /// The new terms.
    pub(super) fn grown(&self) -> &GrownTerms {
        &self.grown
    }

    /// Makes the caller the one who adds terms. Panics after a thread that panicked here: what can is an assertion
    /// that a term's parts belong together, and adding more to parts that do not would give one id to two terms.
    /// Whoever reads is not concerned.
    pub(super) fn lock_writer(&self) -> MutexGuard<'_, ()> {
        self.writer
            .lock()
            .expect("terms are whole, no thread that added one has panicked")
    }
}

/// Adds the keys of `old` from an ordinal on to `new`, which has none.
fn copy_from(old: &Grown, first: u64, new: &Grown) {
    let mut key = Vec::new();
    let mut batch = KeyBatch::new();
    let positions: Vec<usize> = (0..REBASE_KEYS).collect();
    let count = old.count();
    for from in (first..count).step_by(REBASE_KEYS) {
        batch.clear();
        for ordinal in from..count.min(from + REBASE_KEYS as u64) {
            old.key(ordinal, &mut key);
            batch.push(&key);
        }
        new.find_or_add(&batch, &positions[..batch.len()], |_, _| {})
            .expect("what fitted one table fits another");
    }
    assert!(new.count() == count - first, "a key has one ordinal");
}
