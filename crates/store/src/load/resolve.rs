//! One term, one ordinal: which terms of different chunks are the same, and what their final
//! ordinals are.
//!
//! Each chunk numbers its distinct terms by first appearance. Put one after the other in the order
//! of the chunks, these numbers are *provisional ordinals*: already in order of first appearance,
//! but a term that occurs in several chunks has several. Records (128-bit hash, place) are spread
//! over partitions by hash; sorted, equal terms are neighbours and the smallest place is the first
//! appearance. Only *repetitions* are kept, as (provisional ordinal, that of the first
//! appearance), and one bit for each in a bitmap with ranks, so that
//!
//! ```text
//! final ordinal of a first appearance = provisional - number of repetitions before it
//! ```
//!
//! Invariant: the result depends on the order of the input alone. Equal hashes are taken as equal
//! terms: SipHash-1-3 with 128 bits under a key that the input's author does not know; among 10^12
//! terms the chance of any collision is below 10^-14.
//!
//! Cost: 24 bytes a chunk-distinct term, sorted in partitions of bounded size; then 16 bytes a
//! repetition, and 1.1 bits a chunk-distinct term that stay in memory to the end of encoding.

use super::buckets::{Buckets, Spreader};
use super::chunk::{ORDINAL_KINDS, TermKind};
use super::error::LoadError;
use super::radix;
use super::scratch::{ScratchSpace, Spill};
use super::sorted::{self, Buffers};
use super::workers;
use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};

const _: () = assert!(
    Occurrence::NUMBER_BITS + u32::BITS == Occurrence::KIND_SHIFT
        && ORDINAL_KINDS <= 1 << (u64::BITS - Occurrence::KIND_SHIFT),
    "number, chunk and kind fill a word and do not overlap"
);

/// Where a term first appears within its chunk: kind (4 bits), chunk (32), number (28).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Occurrence(u64);

impl Occurrence {
    const NUMBER_BITS: u32 = 28;
    const KIND_SHIFT: u32 = 60;

    /// The place of a chunk's term.
    pub fn new(kind: TermKind, chunk: u32, number: u32) -> Occurrence {
        assert!(number < 1 << Self::NUMBER_BITS, "a chunk has fewer terms");
        let chunk = u64::from(chunk) << Self::NUMBER_BITS;
        Occurrence((kind as u64) << Self::KIND_SHIFT | chunk | u64::from(number))
    }

    fn kind(self) -> usize {
        (self.0 >> Self::KIND_SHIFT) as usize
    }

    fn chunk(self) -> u32 {
        (self.0 >> Self::NUMBER_BITS) as u32
    }

    fn number(self) -> u64 {
        self.0 & ((1 << Self::NUMBER_BITS) - 1)
    }
}

/// A term's hash and place, as spread over partitions.
pub type HashRecord = [u64; 3];

/// The record of a term.
pub fn hash_record(hash: (u64, u64), place: Occurrence) -> HashRecord {
    [hash.0, hash.1, place.0]
}

/// The partition of a record among `partitions`, a power of two.
#[inline]
pub fn partition_of(record: &HashRecord, partitions: usize) -> usize {
    debug_assert!(partitions.is_power_of_two());
    (record[0] >> 32) as usize & (partitions - 1)
}

/// (kind and provisional ordinal of a repetition, provisional ordinal of the first appearance).
pub type Repetition = [u64; 2];

/// Which group of consecutive chunks a chunk's repetitions are kept with.
#[derive(Clone, Copy, Debug)]
pub struct Groups {
    chunks_per_group: u32,
}

impl Groups {
    /// Groups for this many chunks, at most `groups_max`.
    pub fn new(chunks: usize, groups_max: usize) -> Groups {
        Groups {
            chunks_per_group: chunks.div_ceil(groups_max).max(1) as u32,
        }
    }

    /// The group of a chunk.
    pub fn of(self, chunk: u32) -> usize {
        (chunk / self.chunks_per_group) as usize
    }

    /// Number of groups.
    pub fn count(self, chunks: usize) -> usize {
        chunks.div_ceil(self.chunks_per_group as usize).max(1)
    }
}

/// How much of a partition is sorted at a time, and where what is sorted waits.
#[derive(Clone, Copy)]
pub struct Pieces<'p> {
    /// Records in memory at a time (and as many again as scratch).
    pub records: usize,
    /// Where runs go.
    pub scratch: &'p dyn ScratchSpace,
}

/// From provisional to final ordinals; see the module's documentation.
pub struct Numbering {
    kinds: [KindNumbering; ORDINAL_KINDS],
}

struct KindNumbering {
    /// The first final ordinal that is given.
    first: u64,
    /// Provisional ordinal of each chunk's first term, and the number of all.
    bases: Vec<u64>,
    repeated: RankBits,
}

impl Numbering {
    /// Numbers for chunks with these counts of terms, before any repetition is known. `first` are
    /// the ordinals that the first terms of each kind shall get.
    pub fn new(counts: &[[u32; ORDINAL_KINDS]], first: [u64; ORDINAL_KINDS]) -> Numbering {
        let kinds = std::array::from_fn(|kind| {
            let mut bases = Vec::with_capacity(counts.len() + 1);
            let mut base = 0;
            bases.push(0);
            for count in counts {
                base += u64::from(count[kind]);
                bases.push(base);
            }
            KindNumbering {
                first: first[kind],
                bases,
                repeated: RankBits::new(base),
            }
        });
        Numbering { kinds }
    }

    /// Provisional ordinals of a chunk's terms of a kind.
    pub fn provisional(&self, kind: TermKind, chunk: u32) -> Range<u64> {
        let bases = &self.kinds[kind as usize].bases;
        bases[chunk as usize]..bases[chunk as usize + 1]
    }

    /// Final ordinal of the first appearance with this provisional ordinal. O(1).
    #[inline]
    pub fn ordinal(&self, kind: TermKind, provisional: u64) -> u64 {
        let kind = &self.kinds[kind as usize];
        kind.first + provisional - kind.repeated.rank(provisional)
    }

    /// One more than the largest final ordinal of a kind.
    pub fn end(&self, kind: TermKind) -> u64 {
        let numbering = &self.kinds[kind as usize];
        self.ordinal(kind, numbering.bases.last().copied().unwrap_or(0))
    }

    /// Final ordinals of a chunk's terms of a kind, in order; whether each is its first
    /// appearance. `repetitions` are those of the chunk's group, sorted.
    pub fn ordinals<F>(&self, kind: TermKind, chunk: u32, repetitions: &[Repetition], mut give: F)
    where
        F: FnMut(u64, bool),
    {
        let provisional = self.provisional(kind, chunk);
        let end = provisional.end;
        let tagged = |ordinal: u64| (kind as u64) << Occurrence::KIND_SHIFT | ordinal;
        let start = repetitions.partition_point(|each| each[0] < tagged(provisional.start));
        let mut repetitions = repetitions[start..].iter().peekable();
        let mut next = self.ordinal(kind, provisional.start);
        for ordinal in provisional {
            if let Some(repetition) = repetitions.next_if(|each| each[0] == tagged(ordinal)) {
                give(self.ordinal(kind, repetition[1]), false);
            } else {
                give(next, true);
                next += 1;
            }
        }
        assert_eq!(
            next,
            self.ordinal(kind, end),
            "ordinals are dense: each repetition of the chunk was found"
        );
    }

    /// Finds all repetitions: sorts each partition of `records` (which is emptied), marks them here
    /// and spreads them to `repetitions` by group. `pieces` says how much a thread sorts at a time.
    pub fn resolve(
        &mut self,
        threads: usize,
        records: &Buckets<'_, HashRecord>,
        repetitions: &Buckets<'_, Repetition>,
        groups: Groups,
        pieces: Pieces<'_>,
    ) -> Result<(), LoadError> {
        let numbering = &*self;
        workers::for_each(threads, records.len(), |partition| {
            let mut buffers = Buffers::default();
            let runs = Spill::new(pieces.scratch, format!("scratch-hash-runs-{partition}"));
            let same = |record| record;
            let sorted =
                sorted::sort(records, partition, same, pieces.records, runs, &mut buffers)?;
            records.release(partition);
            let mut spreader = Spreader::new(repetitions);
            let mut first: Option<(HashRecord, u64)> = None;
            sorted.each_distinct(|record| {
                let place = Occurrence(record[2]);
                let ordinal = numbering.provisional_of(place);
                match first {
                    Some((same, first)) if same[..2] == record[..2] => {
                        let kind = place.kind();
                        numbering.kinds[kind].repeated.set(ordinal);
                        let tagged = (kind as u64) << Occurrence::KIND_SHIFT | ordinal;
                        spreader.push(groups.of(place.chunk()), [tagged, first])
                    }
                    _ => {
                        first = Some((record, ordinal));
                        Ok(())
                    }
                }
            })?;
            spreader.finish()
        })?;
        let marked: u64 = self
            .kinds
            .iter_mut()
            .map(|kind| kind.repeated.count())
            .sum();
        let spread = (0..repetitions.len()).map(|group| repetitions.records(group) as u64);
        assert_eq!(
            marked,
            spread.sum::<u64>(),
            "each repetition is marked and kept once"
        );
        Ok(())
    }

    fn provisional_of(&self, place: Occurrence) -> u64 {
        self.kinds[place.kind()].bases[place.chunk() as usize] + place.number()
    }
}

/// The repetitions of a group, sorted; the bucket is emptied.
pub fn sorted_group(
    repetitions: &Buckets<'_, Repetition>,
    group: usize,
) -> Result<Vec<Repetition>, LoadError> {
    let mut sorted = repetitions.collect(group)?;
    repetitions.release(group);
    radix::sort(&mut sorted, &mut Vec::new());
    Ok(sorted)
}

/// Bits that are set by any thread and then ranked: 64 bits of count for each 512 of them.
struct RankBits {
    words: Vec<AtomicU64>,
    before: Vec<u64>,
}

impl RankBits {
    const WORDS: usize = 8;

    fn new(bits: u64) -> RankBits {
        let words = (bits / 64 + 1) as usize;
        RankBits {
            words: (0..words).map(|_| AtomicU64::new(0)).collect(),
            before: Vec::new(),
        }
    }

    fn set(&self, bit: u64) {
        self.words[(bit / 64) as usize].fetch_or(1 << (bit % 64), Ordering::Relaxed);
    }

    /// Ranks the bits; gives how many are set.
    fn count(&mut self) -> u64 {
        let mut total = 0;
        self.before = self
            .words
            .chunks_mut(Self::WORDS)
            .map(|words| {
                let before = total;
                total += words
                    .iter_mut()
                    .map(|word| u64::from(word.get_mut().count_ones()))
                    .sum::<u64>();
                before
            })
            .collect();
        total
    }

    /// Number of bits set before `bit`, once counted.
    #[inline]
    fn rank(&self, bit: u64) -> u64 {
        let word = (bit / 64) as usize;
        let block = word / Self::WORDS;
        let ones = |word: &AtomicU64| word.load(Ordering::Relaxed);
        let whole: u32 = self.words[block * Self::WORDS..word]
            .iter()
            .map(|word| ones(word).count_ones())
            .sum();
        let part = ones(&self.words[word]) & ((1 << (bit % 64)) - 1);
        self.before[block] + u64::from(whole + part.count_ones())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::load::budget::Budget;
    use crate::load::scratch::tests::MemoryScratch;
    use std::collections::{HashMap, HashSet};
    use testkit::random::Random;

    /// Chunks of distinct terms as numbers; the final ordinals must be those of one table.
    fn check(chunks: &[Vec<u64>], threads: usize, limit_bytes: Option<u64>) {
        let budget = Budget::new(limit_bytes);
        let scratch = MemoryScratch::default();
        let records = Buckets::new(4, Spill::new(&scratch, "r"), &budget);
        for (chunk, terms) in chunks.iter().enumerate() {
            for (number, term) in terms.iter().enumerate() {
                let hash = (term.wrapping_mul(0x9E37_79B9_7F4A_7C15), *term);
                let place = Occurrence::new(TermKind::Literal, chunk as u32, number as u32);
                let record = hash_record(hash, place);
                records.add(partition_of(&record, 4), vec![record]).unwrap();
            }
        }
        let counts: Vec<_> = chunks
            .iter()
            .map(|terms| [0, 0, terms.len() as u32, 0])
            .collect();
        let mut numbering = Numbering::new(&counts, [0, 0, 100, 0]);
        let groups = Groups::new(chunks.len(), 3);
        let repetitions = Buckets::new(
            groups.count(chunks.len()),
            Spill::new(&scratch, "d"),
            &budget,
        );
        let records_max = limit_bytes.map_or(usize::MAX, |_| 100);
        let pieces = Pieces {
            records: records_max,
            scratch: &scratch,
        };
        numbering
            .resolve(threads, &records, &repetitions, groups, pieces)
            .unwrap();

        let sorted: Vec<_> = (0..repetitions.len())
            .map(|group| sorted_group(&repetitions, group).unwrap())
            .collect();
        let mut expected: HashMap<u64, u64> = HashMap::new();
        for (chunk, terms) in chunks.iter().enumerate() {
            let mut given = Vec::new();
            let chunk = chunk as u32;
            numbering.ordinals(
                TermKind::Literal,
                chunk,
                &sorted[groups.of(chunk)],
                |ordinal, new| {
                    given.push((ordinal, new));
                },
            );
            for (term, (ordinal, new)) in terms.iter().zip(given) {
                let next = 100 + expected.len() as u64;
                assert_eq!(new, !expected.contains_key(term));
                assert_eq!(ordinal, *expected.entry(*term).or_insert(next));
            }
        }
        assert_eq!(
            numbering.end(TermKind::Literal),
            100 + expected.len() as u64
        );
    }

    fn chunks(seed: u64, distinct: u64) -> Vec<Vec<u64>> {
        let mut random = Random::new(seed);
        (0..11)
            .map(|_| {
                let mut seen = HashSet::new();
                let terms = random.below(3_000);
                (0..terms)
                    .map(|_| random.bits() % distinct)
                    .filter(|term| seen.insert(*term))
                    .collect()
            })
            .collect()
    }

    #[test]
    fn ordinals_are_by_first_appearance() {
        for (seed, distinct) in [(1, 10), (2, 2_000), (3, 1_000_000)] {
            check(&chunks(seed, distinct), 1, None);
            check(&chunks(seed, distinct), 3, Some(1));
        }
        check(&[], 1, None);
    }
}
