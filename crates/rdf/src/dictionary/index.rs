//! From the hash of a key to its ordinal: a table of cache lines in the order of the hashes.
//!
//! ```text
//! header (count: number of terms; parameter: bytes of an ordinal, w) | line 0 | line 1 | ...
//! line, 64 bytes:  S fingerprints, 1 byte each, 0 where the slot is empty
//!                  S ordinals, w bytes each                              S = 64 / (1 + w)
//! ```
//!
//! A key's home is line `hash * homes / 2^64` (the hash scaled down to the number of homes), and
//! its fingerprint are the low 8 bits of the hash, 1 in place of 0. Invariant: entries stand in
//! the order of their hashes, each at its home or, where that is full, in the first line after it
//! that was not; so every line between an entry and its home is full, and a lookup reads on while
//! lines are full. A few lines after the last home take what runs over.
//!
//! Why this way: pairs that come sorted by hash are written front to back with memory for one
//! line, a lookup costs one cache miss (1.2 lines on average at 7/8 full), and a fingerprint keeps
//! all but 1 of 255 wrong slots from being decoded. `w` is as small as the number of terms allows:
//! at 16.7 million terms and fewer an entry is 4 bytes, 4.6 with the empty slots. A table of bucket
//! starts beside packed entries would save up to 0.4 bytes a term and cost a second miss.
//!
//! Hashes are xxh3-64 without a seed, so the same input gives the same bytes; data made to collide
//! on purpose would make lookups of its own terms slow, and nothing else.

use super::error::{FormatProblem, OpenError, WriteError, damaged};
use super::format::{FileKind, FileScope, HEADER_BYTES, Header, ordinal_bytes, read_u64};
use crate::id::Tag;
use crate::lexicon::LexiconError;
use memory::{CheckedRegion, prefetch};
use std::io::Write;
use std::sync::Arc;
use xxhash_rust::xxh3::xxh3_64;

/// Bytes of a line: one cache line.
pub(super) const LINE_BYTES: usize = 64;
/// Of the slots of the homes, this share is filled: 7 of 8.
const FILL: (u64, u64) = (7, 8);
/// The most slots that a line has.
const SLOTS_MAX: usize = 32;
const _: () = assert!(
    SLOTS_MAX == LINE_BYTES / 2 && SLOTS_MAX as u32 == u32::BITS,
    "a line of the shortest ordinals has a bit for each slot"
);
const _: () = assert!(FILL.0 < FILL.1, "lookups end at a slot that is empty");

/// The hash of a key, by which an [`IndexWriter`] wants its pairs sorted.
#[inline]
pub fn key_hash(key: &[u8]) -> u64 {
    xxh3_64(key)
}

/// The fingerprint of a key with this hash; never 0.
#[inline]
fn fingerprint(hash: u64) -> u8 {
    (hash as u8).max(1)
}

/// How many lines and slots an index of so many terms has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct IndexLayout {
    /// Bytes of an ordinal, 1 to 8.
    width: usize,
    /// Entries of a line.
    slots: usize,
    /// Lines that are a home.
    homes: u64,
}

impl IndexLayout {
    fn of(count: u64) -> IndexLayout {
        let width = ordinal_bytes(count);
        let slots = LINE_BYTES / (1 + width);
        let filled_lines = count.div_ceil(slots as u64);
        IndexLayout {
            width,
            slots,
            homes: (filled_lines * FILL.1).div_ceil(FILL.0),
        }
    }

    /// The home of a hash. There must be one.
    #[inline]
    fn home(self, hash: u64) -> u64 {
        ((u128::from(hash) * u128::from(self.homes)) >> 64) as u64
    }
}

/// Writes the index of one kind, front to back, with memory for one line.
pub struct IndexWriter<W: Write> {
    out: W,
    shape: IndexLayout,
    count: u64,
    written: u64,
    last_hash: u64,
    line: [u8; LINE_BYTES],
    line_number: u64,
    filled: usize,
}

impl<W: Write> IndexWriter<W> {
    /// A writer of exactly `count` pairs. The output should be buffered: it writes once a line.
    pub fn new(kind: Tag, count: u64, out: W) -> Result<IndexWriter<W>, WriteError> {
        IndexWriter::create(kind, FileScope::Whole, count, out)
    }

    /// A writer of exactly `count` pairs of a node's part: from the hashes that the node owns to places among the keys
    /// that have them, as a [cut](super::part::cut_texts) gives both.
    pub fn of_part(kind: Tag, node: u16, count: u64, out: W) -> Result<IndexWriter<W>, WriteError> {
        IndexWriter::create(kind, FileScope::ByHash(node), count, out)
    }

    fn create(
        kind: Tag,
        scope: FileScope,
        count: u64,
        mut out: W,
    ) -> Result<IndexWriter<W>, WriteError> {
        assert!(kind.is_dictionary(), "other kinds have no index");
        let shape = IndexLayout::of(count);
        let parameter = shape.width as u8;
        out.write_all(
            &Header {
                part: FileKind::Index,
                kind,
                scope,
                parameter,
                count,
            }
            .to_bytes(),
        )?;
        Ok(IndexWriter {
            out,
            shape,
            count,
            written: 0,
            last_hash: 0,
            line: [0; LINE_BYTES],
            line_number: 0,
            filled: 0,
        })
    }

    /// Appends the next pair: the [`key_hash`] of a key and its ordinal. Hashes must not descend
    /// and ordinals must be below the count (both asserted).
    pub fn push(&mut self, hash: u64, ordinal: u64) -> Result<(), WriteError> {
        assert!(hash >= self.last_hash, "pairs are sorted by hash");
        assert!(
            ordinal < self.count && self.written < self.count,
            "pairs are as many as said"
        );
        let home = self.shape.home(hash);
        while self.line_number < home || self.filled == self.shape.slots {
            self.end_line()?;
        }
        let IndexLayout { width, slots, .. } = self.shape;
        let at = slots + self.filled * width;
        self.line[self.filled] = fingerprint(hash);
        self.line[at..at + width].copy_from_slice(&ordinal.to_le_bytes()[..width]);
        self.filled += 1;
        self.written += 1;
        self.last_hash = hash;
        Ok(())
    }

    /// Ends the file and gives it back, unsynced and unflushed, with its length in bytes.
    pub fn finish(mut self) -> Result<(W, u64), WriteError> {
        assert!(self.written == self.count, "pairs are as many as said");
        while self.line_number < self.shape.homes || self.filled > 0 {
            self.end_line()?;
        }
        Ok((
            self.out,
            HEADER_BYTES as u64 + self.line_number * LINE_BYTES as u64,
        ))
    }

    fn end_line(&mut self) -> Result<(), WriteError> {
        self.out.write_all(&self.line)?;
        self.line = [0; LINE_BYTES];
        self.line_number += 1;
        self.filled = 0;
        Ok(())
    }
}

/// Reads the index of one kind.
#[derive(Debug)]
pub(super) struct HashIndex {
    file: Arc<CheckedRegion>,
    shape: IndexLayout,
    count: u64,
}

impl HashIndex {
    /// Opens the file; reads its header only.
    pub(super) fn open(
        kind: Tag,
        scope: FileScope,
        file: Arc<CheckedRegion>,
    ) -> Result<HashIndex, OpenError> {
        let header = Header::read(&file, FileKind::Index, kind, scope)?;
        let body = file.len() - HEADER_BYTES as u64;
        let wrong_length = || OpenError::format(&file, FormatProblem::Length);
        if header.count > file.len() || !body.is_multiple_of(LINE_BYTES as u64) {
            return Err(wrong_length());
        }
        let shape = IndexLayout::of(header.count);
        if body / (LINE_BYTES as u64) < shape.homes || usize::from(header.parameter) != shape.width
        {
            return Err(wrong_length());
        }
        Ok(HashIndex {
            file,
            shape,
            count: header.count,
        })
    }

    /// Number of terms.
    pub(super) fn count(&self) -> u64 {
        self.count
    }

    /// The file.
    pub(super) fn file(&self) -> &Arc<CheckedRegion> {
        &self.file
    }

    /// Asks for the line of a hash's home.
    #[inline]
    pub(super) fn prefetch(&self, hash: u64) {
        prefetch(
            self.file.region().bytes(),
            line_at(self.shape.home(hash)) as usize,
        );
    }

    /// The ordinals under which a key with this hash may be found, each below the count.
    #[inline]
    pub(super) fn candidates(&self, hash: u64) -> Candidates<'_> {
        Candidates {
            index: self,
            fingerprint: fingerprint(hash),
            next_line: self.shape.home(hash),
            line: &[0; LINE_BYTES],
            matches: 0,
            full: self.count > 0,
        }
    }
}

/// Where a line begins in its file.
#[inline]
pub(super) fn line_at(line: u64) -> u64 {
    HEADER_BYTES as u64 + line * LINE_BYTES as u64
}

/// The first line that may hold a key with this hash, of an index of so many terms, at least one.
pub(super) fn home_of(hash: u64, count: u64) -> u64 {
    IndexLayout::of(count).home(hash)
}

/// The slots of one line that may hold a key, for whoever has read that line and nothing else.
pub(super) struct LineOfSlots {
    line: [u8; LINE_BYTES],
    shape: IndexLayout,
    matches: u32,
}

impl LineOfSlots {
    /// A line of an index of so many terms, and the hash of the key.
    pub(super) fn new(line: [u8; LINE_BYTES], hash: u64, count: u64) -> LineOfSlots {
        let shape = IndexLayout::of(count);
        LineOfSlots {
            matches: matches_of(&line, fingerprint(hash), shape.slots),
            line,
            shape,
        }
    }

    /// The next ordinal.
    pub(super) fn next(&mut self) -> Option<u64> {
        let slot = (self.matches != 0).then(|| self.matches.trailing_zeros() as usize)?;
        self.matches &= self.matches - 1;
        Some(ordinal_of(&self.line, slot, self.shape))
    }

    /// Whether the next line may hold the key, too.
    pub(super) fn is_full(&self) -> bool {
        self.line[self.shape.slots - 1] != 0
    }
}

/// A bit for each slot of a line that has the fingerprint.
#[inline]
fn matches_of(line: &[u8; LINE_BYTES], fingerprint: u8, slots: usize) -> u32 {
    slots_with(line, fingerprint) & (u32::MAX >> (32 - slots))
}

/// The ordinal in a slot.
#[inline]
fn ordinal_of(line: &[u8; LINE_BYTES], slot: usize, shape: IndexLayout) -> u64 {
    number_at(line, shape.slots + slot * shape.width, shape.width)
}

/// Walks the slots that may hold a key, in order.
pub(super) struct Candidates<'a> {
    index: &'a HashIndex,
    fingerprint: u8,
    next_line: u64,
    line: &'a [u8; LINE_BYTES],
    /// A bit for each slot of `line` that has the fingerprint and was not given yet.
    matches: u32,
    /// Whether `line` was full, so that the next one may hold the key too.
    full: bool,
}

impl Candidates<'_> {
    /// The next ordinal, or `None` when no further slot can hold the key.
    #[inline]
    pub(super) fn next(&mut self) -> Result<Option<u64>, LexiconError> {
        loop {
            while self.matches != 0 {
                let slot = self.matches.trailing_zeros() as usize;
                self.matches &= self.matches - 1;
                let ordinal = ordinal_of(self.line, slot, self.index.shape);
                if ordinal < self.index.count {
                    return Ok(Some(ordinal));
                }
            }
            let start = line_at(self.next_line);
            if !self.full || start >= self.index.file.len() {
                return Ok(None);
            }
            self.load(start)?;
        }
    }

    #[inline]
    fn load(&mut self, start: u64) -> Result<(), LexiconError> {
        let bytes = self.index.file.bytes(start..start + LINE_BYTES as u64);
        let (lines, _) = bytes.map_err(|block| damaged(&block))?.as_chunks();
        self.line = lines.first().expect("a line was asked for");
        self.next_line += 1;
        let slots = self.index.shape.slots;
        self.full = self.line[slots - 1] != 0;
        self.matches = matches_of(self.line, self.fingerprint, slots);
        Ok(())
    }
}

/// A bit for each of the first 32 bytes of a line that is `fingerprint`: 8 bytes at a time, so
/// that no loop over slots is left. Those behind the last slot say nothing.
#[inline]
fn slots_with(line: &[u8; LINE_BYTES], fingerprint: u8) -> u32 {
    const LOW_BITS: u64 = u64::MAX / 0xff;
    const HIGH_BITS: u64 = LOW_BITS << 7;
    let (words, _) = line[..SLOTS_MAX].as_chunks();
    let mut bits = 0;
    for (place, &word) in words.iter().enumerate() {
        let unlike = u64::from_le_bytes(word) ^ (LOW_BITS * u64::from(fingerprint));
        // The high bit of each byte that is 0 in `unlike`; no carry leaves a byte.
        let like = !(((unlike & !HIGH_BITS) + !HIGH_BITS) | unlike) & HIGH_BITS;
        // Gathers the 8 high bits into the top byte.
        let gathered = (like >> 7).wrapping_mul(0x0102_0408_1020_4080) >> 56;
        bits |= (gathered as u32) << (8 * place);
    }
    bits
}

/// The number of `width` bytes at `at` of a line, which they must not exceed.
#[inline]
fn number_at(line: &[u8; LINE_BYTES], at: usize, width: usize) -> u64 {
    let start = at.min(LINE_BYTES - 8);
    let word = read_u64(&line[start..]) >> (8 * (at - start));
    word & (u64::MAX >> (64 - 8 * width))
}

#[cfg(test)]
mod tests {
    use super::*;
    use memory::Region;

    fn build(hashes: &[u64]) -> Vec<u8> {
        let mut pairs: Vec<(u64, u64)> = hashes.iter().copied().zip(0..).collect();
        pairs.sort_unstable();
        let mut writer = IndexWriter::new(Tag::Iri, pairs.len() as u64, Vec::new()).unwrap();
        for (hash, ordinal) in pairs {
            writer.push(hash, ordinal).unwrap();
        }
        let (bytes, length) = writer.finish().unwrap();
        assert_eq!(bytes.len() as u64, length);
        bytes
    }

    fn open(bytes: &[u8]) -> Result<HashIndex, OpenError> {
        let file = CheckedRegion::unchecked("index", Region::heap(bytes).unwrap());
        HashIndex::open(Tag::Iri, FileScope::Whole, Arc::new(file))
    }

    fn candidates(index: &HashIndex, hash: u64) -> Vec<u64> {
        let mut found = Vec::new();
        let mut candidates = index.candidates(hash);
        while let Some(ordinal) = candidates.next().unwrap() {
            found.push(ordinal);
        }
        found
    }

    #[test]
    fn every_hash_finds_its_ordinal_and_few_others() {
        for count in [0_u64, 1, 2, 31, 255, 256, 257, 70_000] {
            let hashes: Vec<u64> = (0..count).map(|i| key_hash(&i.to_le_bytes())).collect();
            let index = open(&build(&hashes)).unwrap();
            let mut given = 0;
            for (ordinal, &hash) in hashes.iter().enumerate() {
                let found = candidates(&index, hash);
                assert!(found.contains(&(ordinal as u64)));
                given += found.len() as u64;
            }
            assert!(
                given <= count + count / 5 + 5,
                "{given} candidates for {count} keys"
            );
        }
    }

    #[test]
    fn all_slots_of_a_fingerprint_are_seen() {
        let line: [u8; LINE_BYTES] = std::array::from_fn(|at| [1, 2, 128, 129, 255, 0][at % 6]);
        for fingerprint in [1, 2, 3, 127, 128, 129, 254, 255] {
            let expected = (0..32).fold(0, |bits, at| {
                bits | u32::from(line[at] == fingerprint) << at
            });
            assert_eq!(slots_with(&line, fingerprint), expected);
        }
        assert_eq!(number_at(&line, 0, 3), 0x80_02_01);
        assert_eq!(
            number_at(&line, 61, 3),
            u64::from_le_bytes([2, 128, 129, 0, 0, 0, 0, 0])
        );
    }

    #[test]
    fn equal_hashes_and_the_ends_of_the_range() {
        let hashes = [vec![0; 100], vec![u64::MAX; 100], vec![1 << 63; 3]].concat();
        let index = open(&build(&hashes)).unwrap();
        assert_eq!(candidates(&index, 0).len(), 100);
        assert_eq!(candidates(&index, u64::MAX).len(), 100);
        assert!(candidates(&index, 1 << 63).len() >= 3);
    }

    #[test]
    fn the_size_is_what_the_decision_says() {
        let count = 1 << 17;
        let hashes: Vec<u64> = (0_u64..count).map(|i| key_hash(&i.to_le_bytes())).collect();
        let bytes_per_term = build(&hashes).len() as f64 / count as f64;
        assert!(bytes_per_term < 4.6, "{bytes_per_term}");
    }

    #[test]
    fn wrong_lengths_are_refused() {
        let bytes = build(&[1, 2, 3]);
        assert!(open(&bytes).is_ok());
        assert!(open(&bytes[..bytes.len() - 1]).is_err());
        assert!(open(&bytes[..HEADER_BYTES]).is_err());
    }
}
