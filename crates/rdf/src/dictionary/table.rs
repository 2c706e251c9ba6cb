//! One kind of term, both ways: keys by ordinal and ordinals by key, in batches.
//!
//! Looking up keys one after another would wait for memory four times each (a line of the index,
//! an offset, a block, the end of a long block). So a batch goes in groups, and each group goes
//! through these places one after the other, asking for all cache lines of a place before the
//! first is needed. Prefetching is a hint only: what is then read is checked as ever.

use super::error::OpenError;
use super::index::{HashIndex, key_hash};
use crate::lexicon::LexiconError;
use memory::CheckedRegion;
use std::sync::Arc;

/// Lookups that are under way at the same time: more than a core has outstanding misses.
pub(super) const GROUP: usize = 32;

/// Keys by ordinal.
pub(super) trait Keys {
    /// A reader that remembers where it is.
    type Cursor<'a>: KeyCursor
    where
        Self: 'a;

    fn count(&self) -> u64;
    fn cursor(&self) -> Self::Cursor<'_>;
    /// Asks for what must be read before a key's own bytes are known.
    fn prefetch_place(&self, ordinal: u64);
    /// Asks for a key's own bytes.
    fn prefetch_key(&self, ordinal: u64);
    fn files(&self) -> Vec<&Arc<CheckedRegion>>;
}

/// Reads one key at a time.
pub(super) trait KeyCursor {
    /// The key with an ordinal that exists (asserted); valid until the next call.
    fn key(&mut self, ordinal: u64) -> Result<&[u8], LexiconError>;
}

/// Keys to be looked up together, with the caller's number for each.
#[derive(Debug, Default)]
pub struct KeyBatch {
    bytes: Vec<u8>,
    ends: Vec<usize>,
}

impl KeyBatch {
    /// An empty batch.
    pub fn new() -> KeyBatch {
        KeyBatch::default()
    }

    /// Forgets the keys and keeps the memory.
    pub fn clear(&mut self) {
        self.bytes.clear();
        self.ends.clear();
    }

    /// Number of keys.
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// Whether there is no key.
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// Appends a key.
    pub fn push(&mut self, key: &[u8]) {
        self.push_with(|bytes| bytes.extend_from_slice(key));
    }

    /// Appends the key that `append` appends to the bytes it is given.
    pub fn push_with(&mut self, append: impl FnOnce(&mut Vec<u8>)) {
        append(&mut self.bytes);
        self.ends.push(self.bytes.len());
    }

    /// Bytes of all keys together.
    pub fn key_bytes(&self) -> usize {
        self.bytes.len()
    }

    /// The key at `index`, below the length.
    #[inline]
    pub fn get(&self, index: usize) -> &[u8] {
        let start = if index == 0 { 0 } else { self.ends[index - 1] };
        &self.bytes[start..self.ends[index]]
    }
}

/// Keys and their index.
#[derive(Debug)]
pub(super) struct Table<K> {
    pub(super) keys: K,
    pub(super) index: HashIndex,
}

impl<K: Keys> Table<K> {
    /// Puts two opened parts together; they must be of the same number of terms.
    pub(super) fn new(keys: K, index: HashIndex) -> Result<Table<K>, OpenError> {
        if keys.count() != index.count() {
            return Err(OpenError::format(
                index.file(),
                super::FormatProblem::Mismatch,
            ));
        }
        Ok(Table { keys, index })
    }

    /// Calls `found` with the position in the batch and the ordinal of each key that is stored, in
    /// order of positions.
    pub(super) fn find(
        &self,
        batch: &KeyBatch,
        mut found: impl FnMut(usize, u64),
    ) -> Result<(), LexiconError> {
        let mut cursor = self.keys.cursor();
        let mut hashes = [0; GROUP];
        for start in (0..batch.len()).step_by(GROUP) {
            let end = batch.len().min(start + GROUP);
            for (hash, position) in hashes.iter_mut().zip(start..end) {
                *hash = key_hash(batch.get(position));
            }
            let hashes = &hashes[..end - start];
            if hashes.len() > 1 {
                self.prefetch(hashes)?;
            }
            for (&hash, position) in hashes.iter().zip(start..end) {
                if let Some(ordinal) = self.find_one(&mut cursor, hash, batch.get(position))? {
                    found(position, ordinal);
                }
            }
        }
        Ok(())
    }

    /// The ordinal of one key.
    #[inline]
    fn find_one(
        &self,
        cursor: &mut K::Cursor<'_>,
        hash: u64,
        key: &[u8],
    ) -> Result<Option<u64>, LexiconError> {
        let mut candidates = self.index.candidates(hash);
        while let Some(ordinal) = candidates.next()? {
            if cursor.key(ordinal)? == key {
                return Ok(Some(ordinal));
            }
        }
        Ok(None)
    }

    /// Brings what a group of lookups will read into the caches.
    fn prefetch(&self, hashes: &[u64]) -> Result<(), LexiconError> {
        for &hash in hashes {
            self.index.prefetch(hash);
        }
        let mut likely = [0; GROUP];
        let mut likely_count = 0;
        for &hash in hashes {
            if let Some(ordinal) = self.index.candidates(hash).next()? {
                self.keys.prefetch_place(ordinal);
                likely[likely_count] = ordinal;
                likely_count += 1;
            }
        }
        for &ordinal in &likely[..likely_count] {
            self.keys.prefetch_key(ordinal);
        }
        Ok(())
    }
}
