//! The new terms of one kind: keys by ordinal and ordinals by key, in memory, growing.
//!
//! ```text
//! keys:   key 0 | key 1 | ...                     an arena
//! ends:   5 bytes a key: where it ends in keys    an arena
//! slots:  hash -> ordinal                         see `slots`
//! ```
//!
//! [`GrownTerms`] are those of all kinds, which both the growing dictionary and a [lookup](super::lookup) read.
//!
//! Ordinals count from the first new term. Invariant: a key and its end are written before its
//! slot, and its slot before the count, each with release. So a reader that got a number of terms
//! from [`Grown::count`], or from somebody who did, finds all of them.
//!
//! | field | written by | read by |
//! |---|---|---|
//! | `keys`, `ends` | the thread that adds (the dictionary's lock sees to it that there is one) | any thread, of ordinals below a count or in a slot that it has acquired |
//! | `slots` | the thread that adds | any thread: the table as it was when its batch began |
//! | `count` | the thread that adds, last | any thread |
//!
//! Cost: the key's bytes and about 16 more: 5 for its end, 11 for its slot. Batches ask for what
//! they will read before they read it, as those of the files do (see `table`).

use super::arena::Arena;
use super::error::GrowError;
use super::format::{OFFSET_BYTES, OFFSET_MAX};
use super::index::key_hash;
use super::slots::{Directory, ORDINALS_MAX, Slots};
use super::table::{GROUP, KeyBatch};
use super::{KEY_BYTES_MAX, TermCounts};
use crate::id::Tag;
use crate::sync::AtomicU64;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::Ordering;

const END_BYTES: u64 = OFFSET_BYTES as u64;
const _: () = assert!(
    2 * OFFSET_BYTES <= size_of::<u128>(),
    "the ends of a key and of the one before are read at once"
);

/// The new terms of all kinds.
#[derive(Debug)]
pub(super) struct GrownTerms {
    /// Where their ordinals begin.
    pub(super) start: TermCounts,
    pub(super) iris: Grown,
    pub(super) literals: Grown,
    pub(super) triple_terms: Grown,
}

impl GrownTerms {
    /// The new terms of a kind that has keys.
    #[inline]
    pub(super) fn of(&self, kind: Tag) -> Option<&Grown> {
        match kind {
            Tag::Iri => Some(&self.iris),
            Tag::Literal => Some(&self.literals),
            Tag::TripleTerm => Some(&self.triple_terms),
            _ => None,
        }
    }
}

/// New terms of a kind; see the module's documentation.
#[derive(Debug, Default)]
pub(super) struct Grown {
    keys: Arena,
    ends: Arena,
    slots: Slots,
    count: AtomicU64,
}

impl Grown {
    /// Number of new terms, now.
    #[inline]
    pub(super) fn count(&self) -> u64 {
        self.count.load(Ordering::Acquire)
    }

    /// Bytes of memory held.
    pub(super) fn bytes(&self) -> u64 {
        self.keys.bytes() + self.ends.bytes() + self.slots.bytes()
    }

    /// Replaces `key` by the key of an ordinal that the reader knows to exist.
    #[inline]
    pub(super) fn key(&self, ordinal: u64, key: &mut Vec<u8>) {
        let Range { start, end } = self.place(ordinal);
        key.clear();
        self.keys.read(start, (end - start) as usize, key);
    }

    /// Asks for what says where a key lies.
    #[inline]
    pub(super) fn prefetch_place(&self, ordinal: u64) {
        self.ends.prefetch(ordinal.saturating_sub(1) * END_BYTES);
    }

    /// Asks for the first two cache lines of a key.
    #[inline]
    pub(super) fn prefetch_key(&self, ordinal: u64) {
        let Range { start, end } = self.place(ordinal);
        self.keys.prefetch(start);
        self.keys.prefetch(end.saturating_sub(1).min(start + 64));
    }

    /// Calls `found` with the position in the batch and the ordinal of each key that is stored, of
    /// those that stand at `positions` (ascending).
    pub(super) fn find(
        &self,
        batch: &KeyBatch,
        positions: &[usize],
        mut found: impl FnMut(usize, u64),
    ) {
        let now = self.slots.now();
        let mut hashes = [0; GROUP];
        for group in positions.chunks(GROUP) {
            self.prepare(&now, batch, group, &mut hashes);
            for (&position, &hash) in group.iter().zip(&hashes) {
                if let Some(ordinal) = self.find_one(&now, hash, batch.get(position)) {
                    found(position, ordinal);
                }
            }
        }
    }

    /// Calls `given` with the position in the batch and the ordinal of each key that stands at
    /// `positions`: that under which it is stored, or the next one. On an error those before the key
    /// that does not fit are stored. One thread at a time.
    pub(super) fn find_or_add(
        &self,
        batch: &KeyBatch,
        positions: &[usize],
        mut given: impl FnMut(usize, u64),
    ) -> Result<(), GrowError> {
        let mut now = self.slots.now();
        let mut hashes = [0; GROUP];
        for group in positions.chunks(GROUP) {
            self.prepare(&now, batch, group, &mut hashes);
            for (&position, &hash) in group.iter().zip(&hashes) {
                let key = batch.get(position);
                let ordinal = match self.find_one(&now, hash, key) {
                    Some(ordinal) => ordinal,
                    None => self.add(&mut now, hash, key)?,
                };
                given(position, ordinal);
            }
        }
        Ok(())
    }

    /// Adds a key that is not stored.
    #[inline]
    fn add(&self, now: &mut Arc<Directory>, hash: u64, key: &[u8]) -> Result<u64, GrowError> {
        let ordinal = self.count.load(Ordering::Relaxed);
        let end = self.keys.length() + key.len() as u64;
        assert!(key.len() <= KEY_BYTES_MAX, "the caller checked the length");
        if ordinal == ORDINALS_MAX || end > OFFSET_MAX {
            return Err(GrowError::Full);
        }
        assert_eq!(
            self.ends.length(),
            ordinal * END_BYTES,
            "ordinals are dense: each key has an end"
        );
        self.keys.append(key);
        self.ends.append(&end.to_le_bytes()[..OFFSET_BYTES]);
        self.slots.insert(now, hash, ordinal);
        self.count.store(ordinal + 1, Ordering::Release);
        Ok(ordinal)
    }

    /// Where a key lies.
    #[inline]
    fn place(&self, ordinal: u64) -> Range<u64> {
        let Some(before) = ordinal.checked_sub(1) else {
            return 0..self.ends.pair(0) as u64 & OFFSET_MAX;
        };
        let pair = self.ends.pair(before * END_BYTES);
        let (start, end) = (pair as u64, (pair >> (8 * OFFSET_BYTES)) as u64);
        start & OFFSET_MAX..end & OFFSET_MAX
    }

    #[inline]
    fn find_one(&self, now: &Directory, hash: u64, key: &[u8]) -> Option<u64> {
        now.candidates(hash).find(|&ordinal| {
            let Range { start, end } = self.place(ordinal);
            end - start == key.len() as u64 && self.keys.equals(start, key)
        })
    }

    /// Hashes a group of keys and brings what looking them up will read into the caches.
    #[inline]
    fn prepare(
        &self,
        now: &Directory,
        batch: &KeyBatch,
        group: &[usize],
        hashes: &mut [u64; GROUP],
    ) {
        for (hash, &position) in hashes.iter_mut().zip(group) {
            *hash = key_hash(batch.get(position));
            now.prefetch(*hash);
        }
        if group.len() == 1 {
            return;
        }
        let mut likely = [0; GROUP];
        let mut likely_count = 0;
        for &hash in &hashes[..group.len()] {
            if let Some(ordinal) = now.candidates(hash).next() {
                self.prefetch_place(ordinal);
                likely[likely_count] = ordinal;
                likely_count += 1;
            }
        }
        for &ordinal in &likely[..likely_count] {
            self.prefetch_key(ordinal);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_of_all_lengths_come_back_both_ways() {
        let grown = Grown::default();
        let key = |number: usize| {
            let length = if number == 77 { 200_000 } else { number % 90 };
            [&number.to_le_bytes()[..], &vec![b'x'; length]].concat()
        };
        let mut batch = KeyBatch::new();
        batch.push(b"");
        (0..3000).for_each(|number| batch.push(&key(number)));
        let positions: Vec<usize> = (0..batch.len()).collect();
        let ordinals = |positions: &[usize]| {
            let mut ordinals = Vec::new();
            let added = grown.find_or_add(&batch, positions, |_, ordinal| ordinals.push(ordinal));
            added.unwrap();
            ordinals
        };
        assert!(ordinals(&positions[..100]).into_iter().eq(0..100));
        assert!(ordinals(&positions).into_iter().eq(0..3001));
        assert_eq!(ordinals(&positions[7..9]), [7, 8]);
        assert_eq!(grown.count(), 3001);
        let mut found = Vec::new();
        grown.find(&batch, &positions, |position, ordinal| {
            found.push((position, ordinal));
        });
        assert!(
            found.iter().all(|&(at, ordinal)| at as u64 == ordinal) && found.len() == batch.len()
        );
        let mut read = Vec::new();
        for &position in &positions {
            grown.key(position as u64, &mut read);
            assert_eq!(read, batch.get(position));
        }
        let mut absent = KeyBatch::new();
        absent.push(b"absent");
        grown.find(&absent, &[0], |_, _| panic!("it was never added"));
    }
}
