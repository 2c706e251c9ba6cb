//! Bytes that are appended by one thread while others read those that are there.
//!
//! ```text
//! words:   | chunk 0: 8192 words of 64 bits | chunk 1 | ...      byte p is byte p % 8 of word p / 8
//! ```
//!
//! Chunks stay where they are, and a word is an atomic number, so reading takes no lock and needs
//! no `unsafe`. A word may hold the end of one record and the beginning of the next: it is then
//! stored twice, the second time with the same first bytes, so whoever reads the first record sees
//! the same whichever of the two it gets.
//!
//! | field | written by | read by |
//! |---|---|---|
//! | `chunks`, and the words in them | the thread that appends (the dictionary's lock sees to it that there is one) | any thread, words whose place it has acquired |
//! | `length` | the thread that appends | the same |
//!
//! Invariant: all loads and stores are relaxed, for this structure publishes nothing. Whoever tells
//! a reader where bytes lie does so with a release that comes after [`Arena::append`] and that the
//! reader has acquired.
//!
//! Cost: no bytes besides those appended, up to one chunk; a read is a load and a shift for 8 bytes.

use crate::sync::{AtomicU64, GrowingList, sized};
use memory::prefetch;
use std::sync::atomic::Ordering;

/// log2 of the words of a chunk: 64 KiB.
const CHUNK_LOG2: usize = sized(13, 1);
const CHUNK_WORDS: usize = 1 << CHUNK_LOG2;
/// Bytes of a word.
const WORD: usize = size_of::<u64>();

/// Bytes, appended to and never changed; see the module's documentation.
#[derive(Debug, Default)]
pub(super) struct Arena {
    chunks: GrowingList<Box<[AtomicU64]>>,
    /// Bytes appended. Written by the one who appends.
    length: AtomicU64,
}

impl Arena {
    /// Bytes appended so far, as the thread that appends knows them.
    pub(super) fn length(&self) -> u64 {
        self.length.load(Ordering::Relaxed)
    }

    /// Bytes of memory held.
    pub(super) fn bytes(&self) -> u64 {
        self.chunks.count() as u64 * (CHUNK_WORDS * WORD + size_of::<Box<[AtomicU64]>>()) as u64
    }

    /// Appends bytes. One thread at a time: what two append at once is lost or mixed.
    pub(super) fn append(&self, bytes: &[u8]) {
        let start = self.length();
        let (mut at, mut rest) = (start, bytes);
        while !rest.is_empty() {
            let (number, first) = place(at);
            if number == self.chunks.count() {
                self.chunks
                    .push((0..CHUNK_WORDS).map(|_| AtomicU64::new(0)).collect());
            }
            let taken = rest
                .len()
                .min((CHUNK_WORDS - first) * WORD - (at as usize % WORD));
            store(&self.chunk(number)[first..], at, &rest[..taken]);
            rest = &rest[taken..];
            at += taken as u64;
        }
        let capacity = self.chunks.count() * CHUNK_WORDS * WORD;
        assert!(at <= capacity as u64, "bytes lie in the chunks");
        self.length.store(at, Ordering::Relaxed);
    }

    /// Appends `length` bytes from `at` on to `out`. Bytes that were never appended read as 0.
    #[inline]
    pub(super) fn read(&self, at: u64, length: usize, out: &mut Vec<u8>) {
        let mut words = self.words(at);
        out.reserve(length + WORD);
        for _ in 0..length / WORD {
            out.extend_from_slice(&words.next().to_le_bytes());
        }
        let left = length % WORD;
        if left > 0 {
            out.extend_from_slice(&words.next().to_le_bytes()[..left]);
        }
    }

    /// Whether the bytes from `at` on are these.
    #[inline]
    pub(super) fn equals(&self, at: u64, bytes: &[u8]) -> bool {
        let mut words = self.words(at);
        let (whole, left) = bytes.as_chunks::<WORD>();
        whole
            .iter()
            .all(|&word| words.next() == u64::from_le_bytes(word))
            && (left.is_empty() || {
                let mut word = [0; WORD];
                word[..left.len()].copy_from_slice(left);
                let mask = u64::MAX >> (8 * (WORD - left.len()));
                words.next() & mask == u64::from_le_bytes(word)
            })
    }

    /// The 16 bytes from `at` on.
    #[inline]
    pub(super) fn pair(&self, at: u64) -> u128 {
        let mut words = self.words(at);
        u128::from(words.next()) | u128::from(words.next()) << 64
    }

    /// Asks for the cache line of a byte.
    #[inline]
    pub(super) fn prefetch(&self, at: u64) {
        let (number, word) = place(at);
        prefetch(self.chunk(number), word);
    }

    /// The words of a chunk; none where there is no such chunk.
    #[inline]
    fn chunk(&self, number: usize) -> &[AtomicU64] {
        self.chunks.get(number).map_or(&[], |chunk| chunk)
    }

    #[inline]
    fn words(&self, at: u64) -> Words<'_> {
        let (number, next) = place(at);
        let mut words = Words {
            arena: self,
            chunk: self.chunk(number),
            number,
            next,
            low: 0,
            shift: 8 * (at as u32 % WORD as u32),
        };
        words.low = words.load();
        words
    }
}

/// The chunk of a byte, and its word there.
#[inline]
fn place(at: u64) -> (usize, usize) {
    let word = (at / WORD as u64) as usize;
    (word >> CHUNK_LOG2, word % CHUNK_WORDS)
}

/// Stores bytes that begin at position `at` in the first of `words`, which hold them all.
fn store(words: &[AtomicU64], at: u64, mut bytes: &[u8]) {
    let mut begun = at as usize % WORD;
    for word in words {
        if bytes.is_empty() {
            return;
        }
        let taken = bytes.len().min(WORD - begun);
        let mut piece = [0; WORD];
        piece[begun..begun + taken].copy_from_slice(&bytes[..taken]);
        let before = if begun == 0 {
            0
        } else {
            word.load(Ordering::Relaxed)
        };
        word.store(before | u64::from_le_bytes(piece), Ordering::Relaxed);
        bytes = &bytes[taken..];
        begun = 0;
    }
}

/// Words from a byte on that need not be a word's first.
struct Words<'a> {
    arena: &'a Arena,
    chunk: &'a [AtomicU64],
    number: usize,
    /// The index in the chunk of the word to be loaded next.
    next: usize,
    /// The word loaded last.
    low: u64,
    /// Bits of `low` that come before what is read.
    shift: u32,
}

impl Words<'_> {
    /// The next 8 bytes.
    #[inline]
    fn next(&mut self) -> u64 {
        let high = self.load();
        // For a shift of 0 nothing of the next word is wanted.
        let bytes = self.low >> self.shift | (high << 1) << (63 - self.shift);
        self.low = high;
        bytes
    }

    #[inline]
    fn load(&mut self) -> u64 {
        if self.next == self.chunk.len() {
            self.number += 1;
            self.chunk = self.arena.chunk(self.number);
            self.next = 0;
        }
        let word = self.chunk.get(self.next);
        self.next += usize::from(word.is_some());
        word.map_or(0, |word| word.load(Ordering::Relaxed))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Records of all lengths and contents that depend on their number.
    fn record(number: usize) -> Vec<u8> {
        let length = match number % 50 {
            49 => CHUNK_WORDS * WORD + number,
            odd => odd,
        };
        (0..length).map(|at| (number * 31 + at * 7) as u8).collect()
    }

    #[test]
    fn records_come_back_from_any_position() {
        let arena = Arena::default();
        let mut starts = Vec::new();
        for number in 0..400 {
            starts.push(arena.length());
            arena.append(&record(number));
        }
        let mut bytes = Vec::new();
        for (number, &start) in starts.iter().enumerate() {
            let expected = record(number);
            bytes.clear();
            arena.read(start, expected.len(), &mut bytes);
            assert_eq!(bytes, expected);
            assert!(arena.equals(start, &expected));
            for at in [0, expected.len() / 2, expected.len().saturating_sub(1)] {
                let mut changed = expected.clone();
                if let Some(byte) = changed.get_mut(at) {
                    *byte ^= 0x80;
                    assert!(!arena.equals(start, &changed));
                }
            }
        }
        assert!(arena.bytes() >= arena.length());
    }

    #[test]
    fn what_is_not_there_reads_as_zero() {
        let arena = Arena::default();
        arena.append(b"abc");
        assert_eq!(arena.pair(1), u128::from(u16::from_le_bytes(*b"bc")));
        assert_eq!(arena.pair(1 << 50), 0);
        arena.prefetch(u64::MAX);
        assert!(arena.equals(0, b"") && !arena.equals(0, b"abx"));
    }
}
