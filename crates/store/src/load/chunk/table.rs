//! The distinct terms of one chunk, numbered by kind in order of first appearance.
//!
//! An open-addressing table from a key's hash to a [`LocalTerm`]; the keys of each kind lie one
//! after the other in an arena, which is then the chunk's contribution to the dictionary as it is.
//! A chunk of 8 MB of LUBM has some 15,000 distinct terms, so slots and keys stay in the
//! second-level cache, which a table over the whole input would not (that is why repetitions
//! between chunks are left to [`resolve`](super::super::resolve)).
//!
//! Invariant: two keys of a kind get the same number exactly when they are equal bytes. The hash is
//! seeded by the load's key, so nobody can prepare an input whose terms all collide.
//!
//! Cost: one hash of the key, one probe, one comparison: 20 to 30 ns for keys of LUBM's length.

use super::term::{KINDS, LocalTerm, TermKind};
use xxhash_rust::xxh3::xxh3_64_with_seed;

const SLOTS_MIN: usize = 1 << 12;
const _: () = assert!(SLOTS_MIN.is_power_of_two(), "places are cut off a hash");

/// Keys one after the other, with the end of each.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Keys {
    /// The keys' bytes.
    pub bytes: Vec<u8>,
    /// Where each key ends.
    pub ends: Vec<u32>,
}

impl Keys {
    /// Number of keys.
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// The key at `index`.
    #[inline]
    pub fn get(&self, index: usize) -> &[u8] {
        let start = if index == 0 { 0 } else { self.ends[index - 1] };
        &self.bytes[start as usize..self.ends[index] as usize]
    }

    /// The keys in order.
    pub fn iter(&self) -> impl Iterator<Item = &[u8]> {
        (0..self.len()).map(|index| self.get(index))
    }

    fn push(&mut self, key: &[u8]) {
        self.bytes.extend_from_slice(key);
        self.ends
            .push(u32::try_from(self.bytes.len()).expect("a chunk is less than 4 GiB"));
    }

    fn clear(&mut self) {
        self.bytes.clear();
        self.ends.clear();
    }
}

/// The table; see the module's documentation. Kept by a thread from chunk to chunk.
pub struct TermTable {
    seed: u64,
    slots: Vec<Slot>,
    keys: [Keys; KINDS],
    len: usize,
}

/// A place of the table; `term` is [`LocalTerm::NONE`] where it is empty.
#[derive(Clone, Copy)]
struct Slot {
    hash: u32,
    term: LocalTerm,
}

const EMPTY: Slot = Slot {
    hash: 0,
    term: LocalTerm::NONE,
};

impl TermTable {
    /// An empty table whose hashes depend on this seed.
    pub fn new(seed: u64) -> TermTable {
        TermTable {
            seed,
            slots: vec![EMPTY; SLOTS_MIN],
            keys: Default::default(),
            len: 0,
        }
    }

    /// Forgets the terms and keeps the memory.
    pub fn clear(&mut self) {
        self.slots.fill(EMPTY);
        self.keys.iter_mut().for_each(Keys::clear);
        self.len = 0;
    }

    /// The keys of a kind, in order of first appearance.
    pub fn keys(&self, kind: TermKind) -> &Keys {
        &self.keys[kind as usize]
    }

    /// The key of a term of this table.
    pub fn key(&self, term: LocalTerm) -> &[u8] {
        self.keys[term.kind() as usize].get(term.number() as usize)
    }

    /// The term with this key, which is entered if it is not there yet.
    #[inline]
    pub fn enter(&mut self, kind: TermKind, key: &[u8]) -> LocalTerm {
        // The kind is told apart by comparing terms; mixing it in spares most false matches.
        let hash = xxh3_64_with_seed(key, self.seed ^ kind as u64);
        let tag = (hash >> 32) as u32;
        let mask = self.slots.len() - 1;
        let mut place = hash as usize & mask;
        loop {
            let slot = self.slots[place];
            if slot.term == LocalTerm::NONE {
                return self.insert(place, tag, kind, key);
            }
            if slot.hash == tag && slot.term.kind() == kind && self.key(slot.term) == key {
                return slot.term;
            }
            place = (place + 1) & mask;
        }
    }

    fn insert(&mut self, place: usize, tag: u32, kind: TermKind, key: &[u8]) -> LocalTerm {
        let keys = &mut self.keys[kind as usize];
        let term = LocalTerm::new(kind, keys.len() as u32);
        keys.push(key);
        self.slots[place] = Slot { hash: tag, term };
        self.len += 1;
        if self.len * 2 > self.slots.len() {
            self.grow();
        }
        term
    }

    #[cold]
    fn grow(&mut self) {
        let entered: usize = self.keys.iter().map(Keys::len).sum();
        assert_eq!(entered, self.len, "each key is in the table once");
        let slots = self.slots.len() * 2;
        self.slots.clear();
        self.slots.resize(slots, EMPTY);
        for kind in TermKind::ALL {
            for (number, key) in self.keys[kind as usize].iter().enumerate() {
                let hash = xxh3_64_with_seed(key, self.seed ^ kind as u64);
                let mut place = hash as usize & (slots - 1);
                while self.slots[place].term != LocalTerm::NONE {
                    place = (place + 1) & (slots - 1);
                }
                let term = LocalTerm::new(kind, number as u32);
                self.slots[place] = Slot {
                    hash: (hash >> 32) as u32,
                    term,
                };
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn terms_are_numbered_by_kind_in_order_of_first_appearance() {
        let mut table = TermTable::new(1);
        for round in 0..2 {
            for i in 0..10_000_u32 {
                let key = i.to_string();
                let iri = table.enter(TermKind::Iri, key.as_bytes());
                let literal = table.enter(TermKind::Literal, key.as_bytes());
                assert_eq!(
                    (iri.kind(), iri.number()),
                    (TermKind::Iri, i),
                    "round {round}"
                );
                assert_eq!((literal.kind(), literal.number()), (TermKind::Literal, i));
                assert_eq!(table.key(iri), key.as_bytes());
            }
        }
        assert_eq!(table.keys(TermKind::Iri).len(), 10_000);
        table.clear();
        assert_eq!(table.enter(TermKind::Iri, b"7").number(), 0);
        assert_eq!(table.enter(TermKind::Iri, b"").number(), 1);
    }
}
