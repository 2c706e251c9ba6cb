//! From hashes to ordinals while both grow: a hash table that is read without a lock.
//!
//! ```text
//! directory:  64 parts, chosen by the first 6 bits of the hash
//! part:       slots of 64 bits: the next 32 bits of the hash, ordinal + 1; 0 where it is empty
//! ```
//!
//! Linear probing from the home `bits * slots / 2^32`. One thread inserts, by storing into an empty
//! slot with release; a reader that acquires the slot sees all that was written before. A part that
//! is fuller than 4/5 is replaced by one a quarter larger: the old one stays whole for whoever reads
//! it, and misses only terms that are newer than the reader. So readers wait for the exchange of a
//! pointer, once a batch, and for nothing else.
//!
//! | field | written by | read by |
//! |---|---|---|
//! | `Slots::directory` | the thread that inserts (the dictionary's lock sees to it that there is one) | any thread, once a batch |
//! | `Directory::parts` | nobody after it was made | any thread |
//! | `SlotArray::slots` | the thread that inserts: an empty slot, with release, once | any thread, with acquire |
//! | `SlotArray::used` | the thread that inserts | the same |
//!
//! Why so many parts: to copy one is short even when there are many terms. They begin at sizes
//! between one and one and a quarter, so they are never replaced all at once and the whole is about
//! 72 % full whatever its size: 11 bytes a term. Homes are in the order of hashes, so the copy reads
//! and writes front to back.
//!
//! Hashes are those of the files (xxh3 without a seed); data made to collide on purpose make
//! inserting and finding its own terms slow, and nothing wrong.

use crate::sync::{AtomicU64, AtomicUsize, RwLock, sized};
use memory::prefetch;
use std::sync::atomic::Ordering;
use std::sync::{Arc, PoisonError};

/// Bits of the hash that choose the part.
const PART_BITS: usize = sized(6, 1);
const PARTS: usize = 1 << PART_BITS;
/// Slots of the smallest part.
const SLOTS_MIN: usize = sized(32, 2);
/// A part is at most this full: 4 of 5.
const FILL: (usize, usize) = (4, 5);
const _: () = assert!(
    FILL.0 < FILL.1 && SLOTS_MIN * FILL.0 >= FILL.1,
    "the smallest part takes a key, and none is ever full, so looking for a key ends"
);
/// Ordinals that a slot can hold, with the number for an empty slot left out.
pub(super) const ORDINALS_MAX: u64 = u32::MAX as u64;

/// The part of a hash, and the bits that its slot keeps.
#[inline]
fn split(hash: u64) -> (usize, u64) {
    let bits = hash << PART_BITS >> 32;
    ((hash >> (64 - PART_BITS)) as usize, bits)
}

/// The growing table; see the module's documentation.
#[derive(Debug, Default)]
pub(super) struct Slots {
    directory: RwLock<Arc<Directory>>,
}

/// What a reader holds for a batch: no part at all before the first term.
#[derive(Debug, Default)]
pub(super) struct Directory {
    parts: Vec<Arc<SlotArray>>,
}

#[derive(Debug)]
struct SlotArray {
    slots: Box<[AtomicU64]>,
    /// Slots that are not empty. Written by the one who inserts.
    used: AtomicUsize,
}

impl Slots {
    /// The table as it is: every term inserted before is in it.
    #[inline]
    pub(super) fn now(&self) -> Arc<Directory> {
        let directory = self.directory.read();
        Arc::clone(&directory.unwrap_or_else(PoisonError::into_inner))
    }

    /// Bytes of memory held.
    pub(super) fn bytes(&self) -> u64 {
        let now = self.now();
        let parts = now.parts.iter();
        parts
            .map(|part| (size_of_val(&*part.slots) + size_of::<SlotArray>()) as u64)
            .sum()
    }

    /// Inserts an ordinal below [`ORDINALS_MAX`] (asserted) that is not there. `now` is the table
    /// as it is and is replaced when that changes. One thread at a time.
    #[inline]
    pub(super) fn insert(&self, now: &mut Arc<Directory>, hash: u64, ordinal: u64) {
        assert!(ordinal < ORDINALS_MAX, "the caller checked the ordinal");
        let (number, bits) = split(hash);
        if !now.parts.get(number).is_some_and(|part| part.has_room()) {
            self.grow(now, number);
        }
        now.parts[number].insert(bits << 32 | (ordinal + 1));
    }

    #[cold]
    fn grow(&self, now: &mut Arc<Directory>, number: usize) {
        let mut parts = now.parts.clone();
        if parts.is_empty() {
            let size = |part| SLOTS_MIN + SLOTS_MIN * part / (4 * PARTS);
            parts.extend((0..PARTS).map(|part| Arc::new(SlotArray::new(size(part)))));
        } else {
            parts[number] = Arc::new(parts[number].larger());
        }
        assert!(parts[number].has_room(), "a part that grew has room");
        *now = Arc::new(Directory { parts });
        let mut directory = self
            .directory
            .write()
            .unwrap_or_else(PoisonError::into_inner);
        let before = std::mem::replace(&mut *directory, Arc::clone(now));
        drop(directory);
        drop(before);
    }
}

impl Directory {
    /// Asks for the home of a hash.
    #[inline]
    pub(super) fn prefetch(&self, hash: u64) {
        let (number, bits) = split(hash);
        if let Some(part) = self.parts.get(number) {
            prefetch(&part.slots, part.home(bits));
        }
    }

    /// The ordinals under which a key with this hash may be found.
    #[inline]
    pub(super) fn candidates(&self, hash: u64) -> SlotCandidates<'_> {
        let (number, bits) = split(hash);
        let part = self.parts.get(number);
        SlotCandidates {
            slots: part.map_or(&[], |part| &part.slots),
            at: part.map_or(0, |part| part.home(bits)),
            bits,
        }
    }
}

/// Walks the slots from a home on, up to the first that is empty.
pub(super) struct SlotCandidates<'a> {
    slots: &'a [AtomicU64],
    at: usize,
    bits: u64,
}

impl Iterator for SlotCandidates<'_> {
    type Item = u64;

    #[inline]
    fn next(&mut self) -> Option<u64> {
        loop {
            let slot = self.slots.get(self.at)?.load(Ordering::Acquire);
            if slot == 0 {
                self.slots = &[];
                return None;
            }
            self.at = if self.at + 1 == self.slots.len() {
                0
            } else {
                self.at + 1
            };
            if slot >> 32 == self.bits {
                return Some((slot & u64::from(u32::MAX)) - 1);
            }
        }
    }
}

impl SlotArray {
    fn new(slots: usize) -> SlotArray {
        SlotArray {
            slots: (0..slots).map(|_| AtomicU64::new(0)).collect(),
            used: AtomicUsize::new(0),
        }
    }

    #[inline]
    fn has_room(&self) -> bool {
        (self.used.load(Ordering::Relaxed) + 1) * FILL.1 <= self.slots.len() * FILL.0
    }

    #[inline]
    fn home(&self, bits: u64) -> usize {
        ((bits * self.slots.len() as u64) >> 32) as usize
    }

    /// Stores a slot at the first empty place from its home on; there is one.
    #[inline]
    fn insert(&self, slot: u64) {
        let (before, from) = self.slots.split_at(self.home(slot >> 32));
        let empty = |slot: &&AtomicU64| slot.load(Ordering::Relaxed) == 0;
        let place = from.iter().chain(before).find(empty);
        let place = place.expect("a part is never full");
        place.store(slot, Ordering::Release);
        self.used
            .store(self.used.load(Ordering::Relaxed) + 1, Ordering::Relaxed);
    }

    /// A part a quarter larger with the same entries.
    fn larger(&self) -> SlotArray {
        let part = SlotArray::new(self.slots.len() + self.slots.len().div_ceil(4));
        let slots = self.slots.iter().map(|slot| slot.load(Ordering::Relaxed));
        slots
            .filter(|&slot| slot != 0)
            .for_each(|slot| part.insert(slot));
        let used = |part: &SlotArray| part.used.load(Ordering::Relaxed);
        assert_eq!(used(&part), used(self), "each entry moves");
        part
    }
}

#[cfg(test)]
mod tests {
    use super::super::key_hash;
    use super::*;

    #[test]
    fn every_hash_finds_its_ordinal_while_the_table_grows() {
        let slots = Slots::default();
        assert_eq!(slots.now().candidates(7).next(), None);
        let hash = |number: u64| key_hash(&number.to_le_bytes());
        let early = {
            let mut now = slots.now();
            (0..1000).for_each(|ordinal| slots.insert(&mut now, hash(ordinal), ordinal));
            slots.now()
        };
        let mut now = slots.now();
        for ordinal in 1000..100_000 {
            slots.insert(&mut now, hash(ordinal), ordinal);
        }
        for ordinal in 0..100_000 {
            assert!(now.candidates(hash(ordinal)).any(|found| found == ordinal));
        }
        assert!((0..1000).all(|ordinal| early.candidates(hash(ordinal)).any(|o| o == ordinal)));
        let absent: usize = (100_000..200_000)
            .map(|number| now.candidates(hash(number)).count())
            .sum();
        assert!(absent < 10, "{absent} candidates for absent keys");
        let bytes_per_term = slots.bytes() as f64 / 1e5;
        assert!(bytes_per_term < 12.5, "{bytes_per_term}");
    }

    #[test]
    fn equal_hashes_and_the_ends_of_the_range() {
        let slots = Slots::default();
        let mut now = slots.now();
        let hashes = [0, u64::MAX, 1 << 63, u64::MAX >> PART_BITS];
        for ordinal in 0..4000 {
            slots.insert(&mut now, hashes[ordinal as usize % 4], ordinal);
        }
        for (first, hash) in hashes.into_iter().enumerate() {
            let mut found: Vec<u64> = now.candidates(hash).collect();
            found.sort_unstable();
            let expected: Vec<u64> = (first as u64..4000).step_by(4).collect();
            assert_eq!(found, expected);
        }
    }
}
