//! Terms that a node has asked others for, kept for all its queries: the id of a text, the text of an id.
//!
//! A dictionary only grows, and an id is never given twice. So what was told once holds; that a term is stored nowhere does
//! not, and is not kept. Light queries ask about a handful of terms each, often the same ones: what is asked in large batches,
//! as the terms of a long answer, is not kept, because it would push out what is asked again.
//!
//! Memory is drawn on the node's account, [`TERM_BYTES_MAX`] at most. Beyond, all are forgotten and asked again.

use crate::held::{Held, Memory};
use hashbrown::HashMap;
use rdf::{Tag, VertexId};
use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

/// What all of them may take (bytes).
const TERM_BYTES_MAX: u64 = 16 << 20;

/// Terms of one question that are kept; of a longer one, none.
const BATCH_MAX: usize = 64;

/// What a term takes beside its text, in each direction (bytes).
const ENTRY_BYTES: u64 = 64;

/// See the module's documentation.
pub(crate) struct KnownTerms {
    state: RwLock<State>,
}

struct State {
    ids: HashMap<(Tag, Box<[u8]>), VertexId>,
    keys: HashMap<VertexId, Arc<[u8]>>,
    held: Held,
    bytes: u64,
}

impl KnownTerms {
    /// None yet; they are drawn on this memory.
    pub(crate) fn new(memory: &Memory) -> KnownTerms {
        KnownTerms {
            state: RwLock::new(State {
                ids: HashMap::new(),
                keys: HashMap::new(),
                held: Held::nothing(memory),
                bytes: 0,
            }),
        }
    }

    fn read(&self) -> RwLockReadGuard<'_, State> {
        self.state.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn write(&self) -> RwLockWriteGuard<'_, State> {
        self.state.write().unwrap_or_else(PoisonError::into_inner)
    }

    /// What they take.
    pub(crate) fn bytes(&self) -> u64 {
        self.read().bytes
    }

    /// The id of the term of a kind with this key, where it is known.
    pub(crate) fn id(&self, kind: Tag, key: &[u8]) -> Option<VertexId> {
        let name = (kind, key);
        let state = self.read();
        state.ids.get(&Name(name)).copied()
    }

    /// The key of an id, where it is known.
    pub(crate) fn key(&self, id: VertexId) -> Option<Arc<[u8]>> {
        self.read().keys.get(&id).cloned()
    }

    /// Keeps the ids that others told of keys of a kind.
    pub(crate) fn keep_ids<'k>(
        &self,
        kind: Tag,
        told: impl ExactSizeIterator<Item = (&'k [u8], Option<VertexId>)>,
    ) {
        if told.len() > BATCH_MAX {
            return;
        }
        let mut state = self.write();
        for (key, id) in told {
            if let Some(id) = id
                && state.has_room(key.len())
            {
                state.ids.insert((kind, key.into()), id);
            }
        }
    }

    /// Keeps the keys that others told of ids.
    pub(crate) fn keep_keys<'k>(
        &self,
        told: impl ExactSizeIterator<Item = (VertexId, Option<&'k [u8]>)>,
    ) {
        if told.len() > BATCH_MAX {
            return;
        }
        let mut state = self.write();
        for (id, key) in told {
            if let Some(key) = key
                && state.has_room(key.len())
            {
                state.keys.insert(id, key.into());
            }
        }
    }
}

impl State {
    /// Draws memory for another one; `false`: there is none, even for this one alone.
    fn has_room(&mut self, key_len: usize) -> bool {
        let bytes = ENTRY_BYTES + key_len as u64;
        if self.bytes + bytes > TERM_BYTES_MAX {
            self.forget();
        }
        let is_granted = bytes <= TERM_BYTES_MAX && self.held.grow(bytes).is_ok();
        self.bytes += if is_granted { bytes } else { 0 };
        is_granted
    }

    fn forget(&mut self) {
        self.ids = HashMap::new();
        self.keys = HashMap::new();
        drop(self.held.split(self.bytes));
        self.bytes = 0;
    }
}

/// A kind and a key that are looked for without being copied.
#[derive(PartialEq, Eq, Hash)]
struct Name<'k>((Tag, &'k [u8]));

impl hashbrown::Equivalent<(Tag, Box<[u8]>)> for Name<'_> {
    fn equivalent(&self, other: &(Tag, Box<[u8]>)) -> bool {
        (self.0.0, self.0.1) == (other.0, &*other.1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use explore::MemoryBudget;
    use explore::limits::Unlimited;
    use std::sync::atomic::{AtomicU64, Ordering};

    /// Counts what is drawn.
    #[derive(Default)]
    struct Counted(AtomicU64);

    impl MemoryBudget for Counted {
        fn try_reserve(&self, bytes: u64) -> Result<(), explore::MemoryExceeded> {
            self.0.fetch_add(bytes, Ordering::Relaxed);
            Ok(())
        }

        fn release(&self, bytes: u64) {
            self.0.fetch_sub(bytes, Ordering::Relaxed);
        }
    }

    fn id(number: u64) -> VertexId {
        VertexId::new(Tag::Iri, number)
    }

    #[test]
    fn what_was_told_is_known_and_what_is_nowhere_is_not() {
        let memory: Memory = Arc::new(Unlimited);
        let known = KnownTerms::new(&memory);
        known.keep_ids(
            Tag::Iri,
            [(&b"a"[..], Some(id(1))), (&b"b"[..], None)].into_iter(),
        );
        known.keep_keys([(id(1), Some(&b"a"[..]))].into_iter());
        assert_eq!(known.id(Tag::Iri, b"a"), Some(id(1)));
        assert_eq!(known.id(Tag::Literal, b"a"), None);
        assert_eq!(known.id(Tag::Iri, b"b"), None);
        assert_eq!(known.key(id(1)).as_deref(), Some(&b"a"[..]));
        assert_eq!(known.key(id(2)), None);
    }

    #[test]
    fn a_long_answer_pushes_nothing_out() {
        let memory: Memory = Arc::new(Unlimited);
        let known = KnownTerms::new(&memory);
        let told = vec![(&b"a"[..], Some(id(1))); BATCH_MAX + 1];
        known.keep_ids(Tag::Iri, told.into_iter());
        assert_eq!(known.id(Tag::Iri, b"a"), None);
    }

    #[test]
    fn they_are_forgotten_before_they_take_too_much_and_all_is_given_back() {
        let counted = Arc::new(Counted::default());
        let memory: Memory = Arc::clone(&counted) as _;
        let known = KnownTerms::new(&memory);
        let long = vec![b'x'; 1 << 20];
        for number in 0..40 {
            let mut key = long.clone();
            key.push(number);
            known.keep_ids(Tag::Iri, [(&key[..], Some(id(number.into())))].into_iter());
            assert!(counted.0.load(Ordering::Relaxed) <= TERM_BYTES_MAX);
        }
        assert!(counted.0.load(Ordering::Relaxed) > 0);
        drop(known);
        assert_eq!(counted.0.load(Ordering::Relaxed), 0);
    }
}
