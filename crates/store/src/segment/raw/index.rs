//! The image of a key index: its directory with positions within its data, its jump table, its data.
//!
//! The data of an index lie side by side in their part, before its directory. The image's data begin at the multiple of
//! 64 at or below the first chunk's, so that rank blocks keep their place within a line wherever the image is copied to
//! a line's beginning. The bytes before the first chunk, 63 at most, are padding or belong to another index.
//!
//! Every key is looked at once. For rank blocks that is a count of members, about 1 ns a line of 64 bytes; a decoding of
//! all keys, as [`check`](crate::check) does it, would cost some ten times that and would not see members behind the
//! last key.

use super::pieces;
use crate::format::{ChunkEntry, ChunkKind};
use crate::segment::index::Index;
use crate::segment::{BEFORE_BITS, BLOCK_IDS, BLOCK_WORDS, GROUP_BITS, RANGE_BITS};
use crate::source::{ByteSource, Fault, inconsistent, with_source};
use std::ops::Range;

/// Bytes of a rank block, and what the data of an image are aligned to.
const BLOCK_BYTES: u64 = 8 * BLOCK_WORDS as u64;

/// Which ids are keys, and which ordinal has each: the *i*-th key, ascending, has ordinal *i*.
#[derive(Clone, Debug)]
pub struct RawIndex<'v> {
    /// Number of keys; not 0.
    pub keys: u64,
    /// Ascending; not empty.
    pub chunks: Vec<RawIndexChunk>,
    /// The chunk that holds the keys of each range of 2^16 ids, or the last one before, from the range of the first key
    /// (id >> 16) to that of the last one. Empty where there is no such table.
    pub jump: &'v [u32],
    /// The data of all chunks: a multiple of 8 bytes, from a multiple of 64 in the file on.
    pub data: &'v [u8],
}

/// One chunk of a key index: 32 bytes that can be copied as they are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, bytemuck::Pod, bytemuck::Zeroable)]
#[repr(C)]
pub struct RawIndexChunk {
    /// Its first key.
    pub first: u64,
    /// Its last key.
    pub last: u64,
    /// Where its data begin within [`RawIndex::data`] in bytes, a multiple of 8, with the [`ChunkKind`] in the low three
    /// bits.
    pub at_and_kind: u64,
    /// Ordinal of its first key. Its keys end where the next chunk's begin, those of the last one with the index's.
    pub ordinal: u64,
}

impl RawIndexChunk {
    /// Where its data begin within [`RawIndex::data`], in bytes.
    pub const fn at(self) -> u64 {
        self.at_and_kind & !7
    }

    /// How it holds its keys, for a chunk of an image.
    pub const fn kind(self) -> ChunkKind {
        match self.at_and_kind & 7 {
            0 => ChunkKind::Dense,
            1 => ChunkKind::Sparse,
            2 => ChunkKind::Near,
            _ => ChunkKind::Far,
        }
    }
}

/// What is wrong with an index.
type Wrong = &'static str;

/// Reads and verifies an index.
pub(super) fn image_of<'v>(index: &Index<'v>, threads: usize) -> Result<RawIndex<'v>, Fault> {
    let image = known_image_of(index)?;
    let directory = Directory::of(index);
    for (place, chunk) in image.chunks.iter().enumerate() {
        let checked = check_keys(*chunk, directory.keys_of(place), image.data, threads);
        checked.map_err(|what| inconsistent(index.region(), what))?;
    }
    Ok(image)
}

/// The same index, of which the directory is looked at and no key.
pub(super) fn known_image_of<'v>(index: &Index<'v>) -> Result<RawIndex<'v>, Fault> {
    let region = index.region();
    let fault = |what: Wrong| inconsistent(region, what);
    let directory = Directory::of(index);
    let (entries, jump) = index.directory();
    directory.check().map_err(fault)?;
    directory.check_jump(jump).map_err(fault)?;
    let extent = directory.extent(region.len()).map_err(fault)?;
    let data: &[u8] = with_source!(region, |source| {
        source.items(extent.start, extent.end - extent.start)
    })?;
    let chunk = |entry: &ChunkEntry| RawIndexChunk {
        first: entry.first,
        last: entry.last,
        at_and_kind: entry.at_and_kind - extent.start,
        ordinal: entry.ordinal,
    };
    Ok(RawIndex {
        keys: directory.keys,
        chunks: entries.iter().map(chunk).collect(),
        jump,
        data,
    })
}

/// The bytes of its part that hold the data of an index, from a multiple of 64 on; its directory is looked at and no key.
pub(crate) fn extent_of(index: &Index<'_>) -> Result<Range<u64>, Fault> {
    let region = index.region();
    let extent = check_directory(index.directory().0, index.keys(), region.len());
    extent.map_err(|what| inconsistent(region, what))
}

/// The bytes, of so many, that hold the data of all chunks of a directory, if these ascend and lie there.
pub(crate) fn check_directory(
    entries: &[ChunkEntry],
    keys: u64,
    bytes: u64,
) -> Result<Range<u64>, Wrong> {
    let directory = Directory { entries, keys };
    directory.check()?;
    directory.extent(bytes)
}

/// The chunks of an index as they stand in their part.
struct Directory<'v> {
    entries: &'v [ChunkEntry],
    keys: u64,
}

impl<'v> Directory<'v> {
    fn of(index: &Index<'v>) -> Directory<'v> {
        Directory {
            entries: index.directory().0,
            keys: index.keys(),
        }
    }

    /// Whether chunks ascend, in ids and in ordinals, and none is empty.
    fn check(&self) -> Result<(), Wrong> {
        match (self.entries.first(), self.entries.last()) {
            (Some(first), Some(last)) if first.ordinal == 0 && last.ordinal < self.keys => {}
            _ => return Err("the ordinals of chunks do not fit the keys"),
        }
        if self.entries.iter().any(|chunk| chunk.first > chunk.last) {
            return Err("a chunk ends before it begins");
        }
        let range = |id: u64| id >> RANGE_BITS;
        for pair in self.entries.windows(2) {
            if pair[0].ordinal >= pair[1].ordinal || range(pair[0].last) >= range(pair[1].first) {
                return Err("chunks do not ascend");
            }
        }
        Ok(())
    }

    /// Whether the jump table, where there is one, names for each range the chunk that holds its keys, or the last one
    /// before.
    fn check_jump(&self, jump: &[u32]) -> Result<(), Wrong> {
        let first = self.entries.first().map_or(0, |chunk| chunk.first);
        let mut chunk = 0;
        for (range, &named) in (first >> RANGE_BITS..).zip(jump) {
            let next = self.entries.get(chunk + 1);
            if next.is_some_and(|next| next.first >> RANGE_BITS <= range) {
                chunk += 1;
            }
            if named as usize != chunk {
                return Err("a jump table names another chunk than that of the range");
            }
        }
        Ok(())
    }

    /// Number of keys of a chunk.
    fn keys_of(&self, place: usize) -> u64 {
        let next = self.entries.get(place + 1);
        next.map_or(self.keys, |next| next.ordinal) - self.entries[place].ordinal
    }

    /// The bytes of the part that hold the data of all chunks.
    fn extent(&self, part_bytes: u64) -> Result<Range<u64>, Wrong> {
        let (mut start, mut end) = (u64::MAX, 0);
        for (place, entry) in self.entries.iter().enumerate() {
            let bytes = data_bytes(entry, self.keys_of(place))?;
            start = start.min(entry.at());
            end = end.max(entry.at().saturating_add(bytes));
        }
        if end > part_bytes {
            return Err("a reference beyond the end");
        }
        Ok(start - start % BLOCK_BYTES..end.next_multiple_of(8))
    }
}

/// Bytes of a chunk's data.
fn data_bytes(entry: &ChunkEntry, keys: u64) -> Result<u64, Wrong> {
    match entry.kind() {
        Some(ChunkKind::Dense) if !entry.at().is_multiple_of(BLOCK_BYTES) => {
            Err("rank blocks begin within a line")
        }
        Some(ChunkKind::Dense) => Ok(((entry.last - entry.first) / BLOCK_IDS + 1) * BLOCK_BYTES),
        Some(ChunkKind::Sparse) => Ok(keys.saturating_mul(2)),
        Some(ChunkKind::Near) => Ok(keys.saturating_mul(4)),
        Some(ChunkKind::Far) => Ok(keys.saturating_mul(8)),
        None => Err("a chunk of unknown kind"),
    }
}

/// Whether the data hold the keys that their chunk says.
fn check_keys(chunk: RawIndexChunk, keys: u64, data: &[u8], threads: usize) -> Result<(), Wrong> {
    let data = &data[chunk.at() as usize..];
    let span = chunk.last - chunk.first;
    let are_right = match chunk.kind() {
        ChunkKind::Dense => {
            let blocks = items(data, (span / BLOCK_IDS + 1) * BLOCK_WORDS as u64)?;
            return check_blocks(blocks, span, chunk.ordinal..chunk.ordinal + keys, threads);
        }
        ChunkKind::Sparse => {
            let lows: &[u16] = items(data, keys)?;
            chunk.first >> RANGE_BITS == chunk.last >> RANGE_BITS
                && ascend(lows, chunk.first as u16, chunk.last as u16)
        }
        ChunkKind::Near => {
            let nears: &[u32] = items(data, keys)?;
            u32::try_from(span).is_ok_and(|span| ascend(nears, 0, span))
        }
        ChunkKind::Far => ascend(items(data, keys)?, chunk.first, chunk.last),
    };
    if !are_right {
        return Err("keys do not ascend, or are not those that their chunk names");
    }
    Ok(())
}

/// The first items of a chunk's data.
fn items<T: bytemuck::Pod>(data: &[u8], count: u64) -> Result<&[T], Wrong> {
    let bytes = data.get(..count as usize * size_of::<T>());
    bytes.and_then(memory::cast).ok_or("a misaligned reference")
}

fn ascend<T: Copy + Ord>(keys: &[T], first: T, last: T) -> bool {
    let ends = (keys.first().copied(), keys.last().copied());
    ends == (Some(first), Some(last)) && keys.is_sorted_by(|a, b| a < b)
}

/// Whether the heads of blocks count their members, the first and the last member are those of the chunk, and there are
/// as many as it has ordinals.
fn check_blocks(
    words: &[u64],
    span: u64,
    ordinals: Range<u64>,
    threads: usize,
) -> Result<(), Wrong> {
    let mut before = ordinals.start;
    for counted in pieces::of(words, (BLOCK_WORDS, 0), threads, counted) {
        // A piece has believed the first of its heads.
        match counted {
            Some(piece) if piece.start == before => before = piece.end,
            _ => return Err("a rank block counts other members than it has"),
        }
    }
    if before != ordinals.end {
        return Err("a chunk has another number of keys than its ordinals");
    }
    let last_block = &words[words.len() - BLOCK_WORDS..];
    let top = (1..BLOCK_WORDS).rev().find(|&word| last_block[word] != 0);
    let last = top.map(|word| (word as u64 - 1) * 64 + u64::from(last_block[word].ilog2()));
    if words[1] & 1 == 0 || last != Some(span % BLOCK_IDS) {
        return Err("the first or last key of a chunk is no member of its rank blocks");
    }
    Ok(())
}

/// The ordinals of the members of rank blocks, from what the first head says on; `None` where a head counts others.
fn counted(blocks: &[u64]) -> Option<Range<u64>> {
    let count =
        |words: &[u64]| -> u64 { words.iter().map(|word| u64::from(word.count_ones())).sum() };
    let start = blocks.first()? & ((1 << BEFORE_BITS) - 1);
    let mut before = start;
    for block in blocks.chunks_exact(BLOCK_WORDS) {
        let (three, five) = (count(&block[1..4]), count(&block[4..6]));
        let five = three + five;
        let head = before | three << BEFORE_BITS | five << (BEFORE_BITS + GROUP_BITS);
        if block[0] != head {
            return None;
        }
        before += five + count(&block[6..]);
    }
    Some(start..before)
}
