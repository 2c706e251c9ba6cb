//! Reads a key index: is this id a key, which ordinal has it, which ids are these ordinals?
//!
//! A lookup finds the chunk (one chunk: nothing to find; a jump table: one read; else a binary
//! search in the directory, which stays in the caches), then the key in it. In rank blocks that is
//! one cache line. A batch asks for the lines of [`GROUP`] keys before it reads the first, so that
//! their misses overlap: on LUBM-160 a lookup in a batch costs what about a fifth of a miss costs.
//!
//! The directory is verified when the index is opened; chunk data as it is touched. A directory may
//! still say what is not so, behind a right checksum: positions out of it wrap around, and whatever
//! comes of that is checked against the part's length before it is read.

use super::planes::Spans;
use super::{BEFORE_BITS, BLOCK_IDS, GROUP_BITS, RANGE_BITS};
use crate::format::{ChunkEntry, ChunkKind};
use crate::source::{ByteSource, Fault, Plain, inconsistent, with_source};
use memory::CheckedRegion;
use rdf::VertexId;

/// Ordinal of an id that is not a key.
pub(crate) const ABSENT: u64 = u64::MAX;
/// Keys whose cache lines are asked for together.
pub(crate) const GROUP: usize = 32;

/// Ids of a few rank blocks.
const NEAR_IDS: u64 = 8 * BLOCK_IDS;

/// Keys that are read together by a verification.
const VERIFY_KEYS: u64 = 4096;

/// An index as it stands in a part.
#[derive(Clone, Copy)]
pub(crate) struct Index<'v> {
    region: &'v CheckedRegion,
    chunks: &'v [ChunkEntry],
    jump: &'v [u32],
    keys: u64,
}

/// Where an index stands.
#[derive(Clone, Copy, Debug)]
pub(crate) struct IndexPlace {
    pub directory_at: u64,
    pub keys: u64,
    pub chunks: u32,
    pub jump: bool,
}

/// A key as far as it is known without its chunk's data.
#[derive(Clone, Copy)]
struct Target {
    chunk: u32,
    /// Which bit of its rank block; [`NO_BIT`] where the chunk has none.
    bit: u32,
    /// Position of the line to ask for.
    line: u64,
}

const NOWHERE: Target = Target {
    chunk: u32::MAX,
    bit: NO_BIT,
    line: 0,
};

const NO_BIT: u32 = u32::MAX;

impl<'v> Index<'v> {
    /// Opens the index at this place.
    pub(crate) fn open(region: &'v CheckedRegion, place: IndexPlace) -> Result<Index<'v>, Fault> {
        with_source!(region, |source| Index::open_in(region, source, place))
    }

    fn open_in<S: ByteSource<'v>>(
        region: &'v CheckedRegion,
        source: S,
        place: IndexPlace,
    ) -> Result<Index<'v>, Fault> {
        // No way of holding keys takes less than a bit for each.
        if place.keys > region.len().saturating_mul(8) {
            return Err(inconsistent(region, "more keys than it has bits"));
        }
        let count = u64::from(place.chunks);
        let chunks: &[ChunkEntry] = source.items(place.directory_at, count)?;
        let mut jump: &[u32] = &[];
        if let (true, Some(first), Some(last)) = (place.jump, chunks.first(), chunks.last()) {
            let ranges = (last.last >> RANGE_BITS).wrapping_sub(first.first >> RANGE_BITS);
            let directory_bytes = count * size_of::<ChunkEntry>() as u64;
            jump = source.items(
                place.directory_at.wrapping_add(directory_bytes),
                ranges.wrapping_add(1),
            )?;
        }
        Ok(Index {
            region,
            chunks,
            jump,
            keys: place.keys,
        })
    }

    /// Number of keys.
    #[inline]
    pub(crate) fn keys(&self) -> u64 {
        self.keys
    }

    /// The part in which it stands.
    pub(crate) fn region(&self) -> &'v CheckedRegion {
        self.region
    }

    /// Its chunks and its jump table as they stand in the part.
    pub(crate) fn directory(&self) -> (&'v [ChunkEntry], &'v [u32]) {
        (self.chunks, self.jump)
    }

    /// Whether a key may lie between these two, both included: there is a chunk that reaches into them.
    /// O(log chunks), no key is read.
    pub(crate) fn may_hold(&self, first: VertexId, last: VertexId) -> bool {
        let place = self
            .chunks
            .partition_point(|chunk| chunk.last < first.bits());
        self.chunks
            .get(place)
            .is_some_and(|chunk| chunk.first <= last.bits())
    }

    /// Whether most keys are in rank blocks.
    pub(crate) fn is_dense(&self) -> bool {
        let in_blocks: u64 = (0..self.chunks.len())
            .filter(|&chunk| self.chunks[chunk].kind() == Some(ChunkKind::Dense))
            .map(|chunk| self.chunk_keys(chunk))
            .sum();
        self.keys > 0 && in_blocks * 2 >= self.keys
    }

    /// Number of keys of a chunk.
    #[inline]
    fn chunk_keys(&self, chunk: usize) -> u64 {
        let end = self
            .chunks
            .get(chunk + 1)
            .map_or(self.keys, |next| next.ordinal.min(self.keys));
        end.saturating_sub(self.chunks[chunk].ordinal)
    }

    /// Widens `spans` to hold every key. O(chunks), and the keys of a chunk that holds several
    /// kinds of ids.
    pub(crate) fn observe(&self, spans: &mut Spans) -> Result<(), Fault> {
        let mut keys = Vec::new();
        for (chunk, entry) in self.chunks.iter().enumerate() {
            let ends = [entry.first, entry.last].map(VertexId::from_bits);
            for id in ends {
                spans.observe(id);
            }
            if ends[0].tag_number() != ends[1].tag_number() {
                keys.clear();
                let end = entry.ordinal.wrapping_add(self.chunk_keys(chunk));
                self.decode(entry.ordinal, end, &mut keys)?;
                for &id in &keys {
                    spans.observe(id);
                }
            }
        }
        Ok(())
    }

    /// Fills `ordinals` with the ordinal of each key, or [`ABSENT`].
    pub(crate) fn ordinals(&self, keys: &[VertexId], ordinals: &mut Vec<u64>) -> Result<(), Fault> {
        ordinals.clear();
        ordinals.reserve(keys.len());
        with_source!(self.region, |source| {
            for group in keys.chunks(GROUP) {
                self.group(source, group, |ordinal| ordinals.push(ordinal))?;
            }
            Ok(())
        })
    }

    /// The ordinal of one key, or [`ABSENT`].
    pub(crate) fn ordinal(&self, key: VertexId) -> Result<u64, Fault> {
        with_source!(self.region, |source| {
            let target = self.locate(key.bits());
            self.probe(source, target, key.bits())
        })
    }

    /// Looks up to [`GROUP`] keys up, their misses overlapping, and gives each one's ordinal or
    /// [`ABSENT`] in order.
    #[inline]
    pub(crate) fn group<S: ByteSource<'v>>(
        &self,
        source: S,
        keys: &[VertexId],
        mut give: impl FnMut(u64),
    ) -> Result<(), Fault> {
        let mut last = Word::NONE;
        if are_near(keys) {
            for key in keys {
                let id = key.bits();
                let ordinal = match last.ordinal_of(id) {
                    Some(ordinal) => ordinal,
                    None => self.probe_word(source, self.locate(id), id, &mut last)?,
                };
                give(ordinal);
            }
            return Ok(());
        }
        let mut targets = [NOWHERE; GROUP];
        for (target, key) in targets.iter_mut().zip(keys) {
            *target = self.locate(key.bits());
            source.prefetch(target.line);
        }
        for (target, key) in targets.iter().zip(keys) {
            let id = key.bits();
            let ordinal = match last.ordinal_of(id) {
                Some(ordinal) => ordinal,
                None => self.probe_word(source, *target, id, &mut last)?,
            };
            give(ordinal);
        }
        Ok(())
    }

    /// As [`Index::probe`], and remembers the word that was counted: keys that follow each other often
    /// fall into it too.
    #[inline]
    fn probe_word<S: ByteSource<'v>>(
        &self,
        source: S,
        target: Target,
        id: u64,
        last: &mut Word,
    ) -> Result<u64, Fault> {
        if target.bit == NO_BIT {
            return self.probe(source, target, id);
        }
        let block: &[u64] = source.items(target.line, 8)?;
        let bit = u64::from(target.bit % 64);
        *last = Word::of(block, target.bit / 64);
        last.from = id - bit;
        // The next chunk may begin within this word.
        let of_chunk = self.chunks[target.chunk as usize].last - last.from;
        last.width = of_chunk.saturating_add(1).min(64);
        Ok(last.ordinal(bit))
    }

    /// The chunk that would hold the id.
    #[inline]
    fn locate(&self, id: u64) -> Target {
        let chunk = if self.chunks.len() == 1 {
            0
        } else if self.jump.is_empty() {
            self.chunks
                .partition_point(|chunk| chunk.first <= id)
                .wrapping_sub(1)
        } else {
            let range = (id >> RANGE_BITS).wrapping_sub(self.chunks[0].first >> RANGE_BITS);
            self.jump
                .get(range as usize)
                .map_or(usize::MAX, |&chunk| chunk as usize)
        };
        let Some(entry) = self.chunks.get(chunk) else {
            return NOWHERE;
        };
        if id < entry.first || id > entry.last {
            return NOWHERE;
        }
        let chunk = chunk as u32;
        if entry.kind() != Some(ChunkKind::Dense) {
            return Target {
                chunk,
                bit: NO_BIT,
                line: entry.at(),
            };
        }
        let distance = id - entry.first;
        Target {
            chunk,
            bit: (distance % BLOCK_IDS) as u32,
            line: entry.at().wrapping_add(distance / BLOCK_IDS * 64),
        }
    }

    /// The id's ordinal by its chunk's data.
    #[inline]
    fn probe<S: ByteSource<'v>>(&self, source: S, target: Target, id: u64) -> Result<u64, Fault> {
        if target.bit != NO_BIT {
            let block: &[u64] = source.items(target.line, 8)?;
            return Ok(rank(block, target.bit.into()));
        }
        if target.chunk == NOWHERE.chunk {
            return Ok(ABSENT);
        }
        self.probe_list(source, target.chunk as usize, id)
    }

    #[inline(never)]
    fn probe_list<S: ByteSource<'v>>(
        &self,
        source: S,
        chunk: usize,
        id: u64,
    ) -> Result<u64, Fault> {
        let (entry, count) = (&self.chunks[chunk], self.chunk_keys(chunk));
        let found = match entry.kind() {
            Some(ChunkKind::Sparse) => source
                .items::<u16>(entry.at(), count)?
                .binary_search(&(id as u16)),
            Some(ChunkKind::Near) => source
                .items::<u32>(entry.at(), count)?
                .binary_search(&((id - entry.first) as u32)),
            Some(ChunkKind::Far) => source.items::<u64>(entry.at(), count)?.binary_search(&id),
            _ => return Err(inconsistent(self.region, "a chunk of unknown kind")),
        };
        Ok(found.map_or(ABSENT, |index| entry.ordinal.wrapping_add(index as u64)))
    }

    /// The number of keys below the id.
    pub(crate) fn keys_below(&self, id: VertexId) -> Result<u64, Fault> {
        let id = id.bits();
        let begun = self.chunks.partition_point(|chunk| chunk.first <= id);
        let Some(chunk) = begun.checked_sub(1) else {
            return Ok(0);
        };
        let (entry, count) = (&self.chunks[chunk], self.chunk_keys(chunk));
        if id > entry.last {
            return Ok(entry.ordinal.wrapping_add(count));
        }
        with_source!(self.region, |source| {
            let below = match entry.kind() {
                Some(ChunkKind::Dense) => {
                    let at = entry.at().wrapping_add((id - entry.first) / BLOCK_IDS * 64);
                    return Ok(rank_below(
                        source.items(at, 8)?,
                        (id - entry.first) % BLOCK_IDS,
                    ));
                }
                Some(ChunkKind::Sparse) => source
                    .items::<u16>(entry.at(), count)?
                    .partition_point(|&low| low < id as u16),
                Some(ChunkKind::Near) => source
                    .items::<u32>(entry.at(), count)?
                    .partition_point(|&near| u64::from(near) < id - entry.first),
                Some(ChunkKind::Far) => source
                    .items::<u64>(entry.at(), count)?
                    .partition_point(|&key| key < id),
                None => return Err(inconsistent(self.region, "a chunk of unknown kind")),
            };
            Ok(entry.ordinal.wrapping_add(below as u64))
        })
    }

    /// Appends the keys with ordinals `from..to`, ascending. Ordinals at or above the number of
    /// keys give nothing.
    pub(crate) fn decode(&self, from: u64, to: u64, out: &mut Vec<VertexId>) -> Result<(), Fault> {
        let to = to.min(self.keys);
        if from >= to {
            return Ok(());
        }
        out.reserve((to - from) as usize);
        let first = self
            .chunks
            .partition_point(|chunk| chunk.ordinal <= from)
            .saturating_sub(1);
        with_source!(self.region, |source| {
            for chunk in first..self.chunks.len() {
                let entry = &self.chunks[chunk];
                if entry.ordinal >= to {
                    break;
                }
                let begin = from.saturating_sub(entry.ordinal);
                let end = (to - entry.ordinal).min(self.chunk_keys(chunk));
                self.decode_chunk(source, chunk, begin..end, out)?;
            }
            Ok(())
        })
    }

    /// Appends keys of one chunk, by their number within it.
    fn decode_chunk<S: ByteSource<'v>>(
        &self,
        source: S,
        chunk: usize,
        numbers: std::ops::Range<u64>,
        out: &mut Vec<VertexId>,
    ) -> Result<(), Fault> {
        if numbers.is_empty() {
            return Ok(());
        }
        let entry = &self.chunks[chunk];
        let count = numbers.end - numbers.start;
        let base = entry.first;
        match entry.kind() {
            Some(ChunkKind::Dense) => return self.decode_dense(source, entry, numbers, out),
            Some(ChunkKind::Sparse) => {
                let base = base >> RANGE_BITS << RANGE_BITS;
                let lows: &[u16] =
                    source.items(entry.at().wrapping_add(2 * numbers.start), count)?;
                out.extend(
                    lows.iter()
                        .map(|&low| VertexId::from_bits(base | u64::from(low))),
                );
            }
            Some(ChunkKind::Near) => {
                let nears: &[u32] =
                    source.items(entry.at().wrapping_add(4 * numbers.start), count)?;
                let ids = nears.iter().map(|&near| base.wrapping_add(u64::from(near)));
                out.extend(ids.map(VertexId::from_bits));
            }
            Some(ChunkKind::Far) => {
                let ids: &[u64] =
                    source.items(entry.at().wrapping_add(8 * numbers.start), count)?;
                out.extend(ids.iter().map(|&id| VertexId::from_bits(id)));
            }
            None => return Err(inconsistent(self.region, "a chunk of unknown kind")),
        }
        Ok(())
    }

    fn decode_dense<S: ByteSource<'v>>(
        &self,
        source: S,
        entry: &ChunkEntry,
        numbers: std::ops::Range<u64>,
        out: &mut Vec<VertexId>,
    ) -> Result<(), Fault> {
        let blocks = entry.last.wrapping_sub(entry.first) / BLOCK_IDS + 1;
        let wanted = entry.ordinal + numbers.start;
        let mut block = Self::block_of_ordinal(source, entry, blocks, wanted)?;
        let mut left = numbers.end - numbers.start;
        let head: &[u64] = source.items(entry.at().wrapping_add(block * 64), 8)?;
        let mut skip = wanted.saturating_sub(before(head));
        while left > 0 && block < blocks {
            let words: &[u64] = source.items(entry.at().wrapping_add(block * 64), 8)?;
            let base = entry.first.wrapping_add(block * BLOCK_IDS);
            for (index, &word) in words[1..].iter().enumerate() {
                let count = u64::from(word.count_ones());
                if skip >= count {
                    skip -= count;
                    continue;
                }
                let word = without_lowest(word, skip);
                skip = 0;
                left -= push_members(word, base.wrapping_add(64 * index as u64), left, out);
            }
            block += 1;
        }
        if left > 0 {
            return Err(inconsistent(
                self.region,
                "fewer keys than the directory says",
            ));
        }
        Ok(())
    }

    /// The block that holds the member with this ordinal: the last whose count before it is not
    /// above.
    fn block_of_ordinal<S: ByteSource<'v>>(
        source: S,
        entry: &ChunkEntry,
        blocks: u64,
        ordinal: u64,
    ) -> Result<u64, Fault> {
        let (mut low, mut high) = (0, blocks);
        while high - low > 1 {
            let middle = low + (high - low) / 2;
            let words: &[u64] = source.items(entry.at().wrapping_add(middle * 64), 8)?;
            if before(words) <= ordinal {
                low = middle;
            } else {
                high = middle;
            }
        }
        Ok(low)
    }

    /// Appends the positions `i` for which `ids[i]` is a key.
    pub(crate) fn select(&self, ids: &[VertexId], positions: &mut Vec<u32>) -> Result<(), Fault> {
        if let ([entry], Some(source)) = (self.chunks, Plain::new(self.region))
            && entry.kind() == Some(ChunkKind::Dense)
        {
            return Self::select_dense(source, entry, ids, positions);
        }
        positions.reserve(ids.len());
        with_source!(self.region, |source| {
            let mut position = 0;
            for group in ids.chunks(GROUP) {
                self.group(source, group, |ordinal| {
                    if ordinal != ABSENT {
                        positions.push(position);
                    }
                    position += 1;
                })?;
            }
            Ok(())
        })
    }

    /// [`Index::select`] where one run of rank blocks holds every key: membership without rank and
    /// without a branch on its outcome, so that misses overlap by themselves. LUBM-160 q1 asks
    /// 1.7 M vertices whether they are graduate students: 22.8 ms with rank, 9.3 ms so (minima,
    /// one thread of a 2-core EPYC VM, 2026-11-21).
    fn select_dense(
        source: Plain<'v>,
        entry: &ChunkEntry,
        ids: &[VertexId],
        positions: &mut Vec<u32>,
    ) -> Result<(), Fault> {
        let span = entry.last.wrapping_sub(entry.first);
        let words: &[u64] = source.items(entry.at(), (span / BLOCK_IDS + 1).saturating_mul(8))?;
        let start = positions.len();
        positions.resize(start + ids.len(), 0);
        let found = &mut positions[start..];
        let mut count = 0;
        for (position, id) in (0..).zip(ids) {
            let offset = id.bits().wrapping_sub(entry.first);
            let is_within = offset <= span;
            // Each block of eight words begins with its head, the other seven are members.
            let word = if is_within { offset / 64 } else { 0 };
            let bits = words[(word + word / 7 + 1) as usize];
            let is_member = is_within && bits >> (offset % 64) & 1 != 0;
            found[count] = position;
            count += usize::from(is_member);
        }
        positions.truncate(start + count);
        Ok(())
    }

    /// Whether the index is what it says, for `check`: keys ascend and are as many as recorded,
    /// and every key's ordinal is its place.
    pub(crate) fn verify(&self, mut each: impl FnMut(VertexId)) -> Result<(), Fault> {
        let mut last = None;
        let mut keys = Vec::new();
        let mut ordinals = Vec::new();
        let mut from = 0;
        while from < self.keys {
            keys.clear();
            self.decode(from, from + VERIFY_KEYS, &mut keys)?;
            self.ordinals(&keys, &mut ordinals)?;
            for (place, (&key, &ordinal)) in (from..).zip(keys.iter().zip(&ordinals)) {
                if last.is_some_and(|last| last >= key) {
                    return Err(inconsistent(self.region, "keys do not ascend"));
                }
                if ordinal != place {
                    return Err(inconsistent(
                        self.region,
                        "a key's ordinal is not its place",
                    ));
                }
                last = Some(key);
                each(key);
            }
            if keys.is_empty() {
                return Err(inconsistent(self.region, "fewer keys than recorded"));
            }
            from += keys.len() as u64;
        }
        Ok(())
    }
}

/// Whether a group's keys lie in a few rank blocks one after the other, as far as its ends say: then
/// there are no misses that are worth asking for beforehand.
#[inline]
fn are_near(keys: &[VertexId]) -> bool {
    match keys {
        [first, .., last] => last.bits().wrapping_sub(first.bits()) < NEAR_IDS,
        _ => true,
    }
}

/// Members before a block.
#[inline]
fn before(block: &[u64]) -> u64 {
    block[0] & ((1 << BEFORE_BITS) - 1)
}

/// The ordinal of the id with this bit of a block, or [`ABSENT`].
#[inline]
pub(crate) fn rank(block: &[u64], bit: u64) -> u64 {
    Word::of(block, (bit / 64) as u32).ordinal(bit % 64)
}

/// A word of a rank block with the ordinal of its first member.
#[derive(Clone, Copy)]
struct Word {
    /// The id of its first bit, and how many from there its chunk has a say in; none, where the word is
    /// not remembered for others.
    from: u64,
    width: u64,
    members: u64,
    first: u64,
}

impl Word {
    const NONE: Word = Word {
        from: 0,
        width: 0,
        members: 0,
        first: 0,
    };

    #[inline]
    fn of(block: &[u64], word: u32) -> Word {
        let block: &[u64; 8] = block.try_into().expect("a block has eight words");
        let head = block[0];
        let group_mask = (1 << GROUP_BITS) - 1;
        let (counted, start) = match word {
            0..=2 => (0, 0),
            3 | 4 => (head >> BEFORE_BITS & group_mask, 3),
            _ => (head >> (BEFORE_BITS + GROUP_BITS) & group_mask, 5),
        };
        let full = &block[1 + start..=word as usize];
        let full: u32 = full.iter().map(|word| word.count_ones()).sum();
        Word {
            from: 0,
            width: 0,
            members: block[1 + word as usize],
            first: before(block) + counted + u64::from(full),
        }
    }

    /// The ordinal of the id, or [`ABSENT`], where this word decides.
    #[inline]
    fn ordinal_of(self, id: u64) -> Option<u64> {
        let bit = id.wrapping_sub(self.from);
        (bit < self.width).then(|| self.ordinal(bit))
    }

    /// The ordinal of the member at this bit, or [`ABSENT`].
    #[inline]
    fn ordinal(self, bit: u64) -> u64 {
        let below = (1u64 << bit) - 1;
        if self.members & (below + 1) == 0 {
            return ABSENT;
        }
        self.first + u64::from((self.members & below).count_ones())
    }
}

/// Members below this bit of a block, and before the block.
fn rank_below(block: &[u64], bit: u64) -> u64 {
    let word = (bit / 64) as usize;
    let within = block[1 + word] & ((1 << (bit % 64)) - 1);
    let full: u32 = block[1..=word].iter().map(|word| word.count_ones()).sum();
    before(block) + u64::from(full + within.count_ones())
}

/// The word without its `count` lowest members.
#[inline]
fn without_lowest(mut word: u64, count: u64) -> u64 {
    for _ in 0..count {
        word &= word - 1;
    }
    word
}

/// Appends at most `most` members of a word; gives how many.
#[inline]
fn push_members(mut word: u64, base: u64, most: u64, out: &mut Vec<VertexId>) -> u64 {
    let mut given = 0;
    while word != 0 && given < most {
        out.push(VertexId::from_bits(
            base.wrapping_add(u64::from(word.trailing_zeros())),
        ));
        word &= word - 1;
        given += 1;
    }
    given
}

#[cfg(test)]
mod tests;
