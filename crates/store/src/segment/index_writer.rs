//! Writes a key index: ascending ids become chunks, each held as its density deserves.
//!
//! Keys are taken in ranges of 2^16 ids. A range is held as
//!
//! | kind | when | bytes a key |
//! |---|---|---|
//! | dense: rank blocks | they cost at most 8 bytes a key | 0.14 (all ids) to 8 |
//! | sparse: sorted `u16` | otherwise, from 16 keys on | 2 |
//! | near: sorted `u32` distances | fewer keys | 4 |
//! | far: sorted `u64` | fewer keys, further apart than 2^32 | 8 |
//!
//! Dense ranges that follow one another grow one chunk, whose grid of blocks runs on over the
//! border, so that an index over all vertices of a kind is a single chunk and its lookup is a
//! subtraction. A chunk ends at a border before a wide gap, which would cost more blocks than a chunk
//! of its own costs: the keys of a part of a graph come in blocks with the blocks of other nodes between
//! them, and chunks that grew over these would be the whole graph's index in each part. Near and far chunks span ranges, up to about [`LIST_KEYS_MAX`] keys. No range has
//! keys in two chunks: that is what the jump table rests on.
//!
//! The decision needs one range in memory (128 KiB at most) and the directory (32 bytes a chunk);
//! everything else is streamed. Bytes depend on the keys alone.

use super::{BEFORE_BITS, BLOCK_IDS, BLOCK_WORDS, GROUP_BITS, RANGE_BITS};
use crate::format::{ChunkEntry, ChunkKind};
use crate::parts::{PartError, PartWriter};

/// Rank blocks are chosen while they cost at most this many bytes a key.
const DENSE_KEY_BYTES_MAX: u64 = 8;
/// A chunk of rank blocks does not grow over a gap of more blocks (count): 1 KiB, against the 36 bytes of an entry in the
/// directory and the jump table, and a search instead of a subtraction in all lookups.
const GAP_BLOCKS_MAX: u64 = 16;
/// A range with fewer keys joins a list over several ranges.
const SPARSE_KEYS_MIN: usize = 16;
/// A list chunk is closed at the first border of ranges after this many keys.
const LIST_KEYS_MAX: usize = 1024;
/// A list of at least this many near keys is closed rather than widened to far ones.
const NEAR_KEYS_MIN: usize = 32;
/// From this many chunks on there is a jump table...
const JUMP_CHUNKS_MIN: u64 = 8;
/// ... unless it had more entries than this per chunk.
const JUMP_RANGES_PER_CHUNK_MAX: u64 = 8;
const _: () = assert!(
    NEAR_KEYS_MIN <= LIST_KEYS_MAX && SPARSE_KEYS_MIN <= LIST_KEYS_MAX,
    "a list holds the keys of several ranges"
);

/// What a descriptor records about an index.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct IndexSummary {
    pub directory_at: u64,
    pub keys: u64,
    pub chunks: u32,
    pub jump: bool,
}

/// The open chunk of rank blocks.
struct OpenDense {
    first: u64,
    /// First id of the open block.
    block_first: u64,
    words: [u64; BLOCK_WORDS],
    /// Members before the open block.
    before: u64,
}

/// Streams one index after another; reused between segments.
#[derive(Default)]
pub(crate) struct IndexWriter {
    entries: Vec<ChunkEntry>,
    /// Number of the open range: its keys' high bits.
    range: u64,
    lows: Vec<u16>,
    list: Vec<u64>,
    dense: Option<OpenDense>,
    keys: u64,
}

impl IndexWriter {
    /// Takes the next key. Asserts that keys ascend: they come sorted from the writer.
    #[inline]
    pub(crate) fn push(&mut self, out: &mut PartWriter, key: u64) -> Result<(), PartError> {
        let range = key >> RANGE_BITS;
        let low = key as u16;
        if range != self.range || self.lows.is_empty() {
            assert!(range >= self.range, "keys ascend");
            self.close_range(out)?;
            self.range = range;
        } else {
            assert!(
                self.lows.last().is_none_or(|&last| last < low),
                "keys ascend and are distinct"
            );
        }
        self.lows.push(low);
        Ok(())
    }

    /// Ends the index: directory and jump table are written. The writer is empty again.
    pub(crate) fn finish(&mut self, out: &mut PartWriter) -> Result<IndexSummary, PartError> {
        self.close_range(out)?;
        self.close_list(out)?;
        self.close_dense(out)?;
        out.align(8)?;
        let directory_at = out.position();
        out.append(bytemuck::cast_slice(&self.entries))?;
        let jump = self.write_jump(out)?;
        let summary = IndexSummary {
            directory_at,
            keys: self.keys,
            chunks: u32::try_from(self.entries.len())
                .expect("a chunk holds 16 keys on average, ids end before"),
            jump,
        };
        self.entries.clear();
        self.keys = 0;
        self.range = 0;
        Ok(summary)
    }

    /// Decides how the open range is held, and hands its keys on.
    fn close_range(&mut self, out: &mut PartWriter) -> Result<(), PartError> {
        let (Some(&low_first), Some(&low_last)) = (self.lows.first(), self.lows.last()) else {
            return Ok(());
        };
        let base = self.range << RANGE_BITS;
        let (first, last) = (base + u64::from(low_first), base + u64::from(low_last));
        let budget = self.lows.len() as u64 * DENSE_KEY_BYTES_MAX;
        let grows = self.dense.as_ref().is_some_and(|open| {
            let bytes = (last - open.block_first) / BLOCK_IDS * 64;
            let gap = (first - open.block_first) / BLOCK_IDS;
            bytes <= budget && gap <= GAP_BLOCKS_MAX
        });
        if grows {
            self.push_dense(out)?;
        } else {
            self.close_dense(out)?;
            if ((last - first) / BLOCK_IDS + 1) * 64 <= budget {
                self.close_list(out)?;
                self.open_dense(out, first)?;
                self.push_dense(out)?;
            } else if self.lows.len() >= SPARSE_KEYS_MIN {
                self.close_list(out)?;
                self.write_sparse(out, first, last)?;
            } else {
                self.push_list(out, base)?;
            }
        }
        self.lows.clear();
        Ok(())
    }

    fn enter(&mut self, kind: ChunkKind, at: u64, first: u64, last: u64) {
        assert!(at.is_multiple_of(8), "chunks are aligned");
        assert!(
            self.entries
                .last()
                .is_none_or(|before| before.last < first && before.ordinal < self.keys),
            "chunks ascend, and none is empty"
        );
        self.entries.push(ChunkEntry {
            first,
            last,
            at_and_kind: at | kind as u64,
            ordinal: self.keys,
        });
    }

    fn open_dense(&mut self, out: &mut PartWriter, first: u64) -> Result<(), PartError> {
        out.align(64)?;
        self.enter(ChunkKind::Dense, out.position(), first, first);
        self.dense = Some(OpenDense {
            first,
            block_first: first,
            words: [0; BLOCK_WORDS],
            before: self.keys,
        });
        Ok(())
    }

    fn push_dense(&mut self, out: &mut PartWriter) -> Result<(), PartError> {
        let base = self.range << RANGE_BITS;
        let open = self
            .dense
            .as_mut()
            .expect("callers opened a chunk of blocks");
        for &low in &self.lows {
            let id = base + u64::from(low);
            while id - open.block_first >= BLOCK_IDS {
                open.write_block(out)?;
            }
            let bit = id - open.block_first;
            open.words[1 + (bit / 64) as usize] |= 1 << (bit % 64);
        }
        self.keys += self.lows.len() as u64;
        Ok(())
    }

    fn close_dense(&mut self, out: &mut PartWriter) -> Result<(), PartError> {
        let Some(mut open) = self.dense.take() else {
            return Ok(());
        };
        let top = (1..BLOCK_WORDS).rev().find(|&word| open.words[word] != 0);
        let word = top.expect("a block is opened for a member");
        let bit = (word as u64 - 1) * 64 + u64::from(open.words[word].ilog2());
        let entry = self
            .entries
            .last_mut()
            .expect("an open chunk is the last one");
        assert!(entry.first == open.first, "an open chunk is the last one");
        entry.last = open.block_first + bit;
        open.write_block(out)?;
        assert_eq!(open.before, self.keys, "each key is a member of one block");
        Ok(())
    }

    fn write_sparse(
        &mut self,
        out: &mut PartWriter,
        first: u64,
        last: u64,
    ) -> Result<(), PartError> {
        self.enter(ChunkKind::Sparse, out.position(), first, last);
        out.append(bytemuck::cast_slice(&self.lows))?;
        self.keys += self.lows.len() as u64;
        out.align(8)
    }

    fn push_list(&mut self, out: &mut PartWriter, base: u64) -> Result<(), PartError> {
        if let Some(&first) = self.list.first() {
            let was_near = self.list.last().is_none_or(|last| is_near(last - first));
            let stays_near = is_near(base + 0xffff - first);
            let widens = was_near && !stays_near && self.list.len() >= NEAR_KEYS_MIN;
            if widens || self.list.len() >= LIST_KEYS_MAX {
                self.close_list(out)?;
            }
        }
        self.list
            .extend(self.lows.iter().map(|&low| base + u64::from(low)));
        Ok(())
    }

    fn close_list(&mut self, out: &mut PartWriter) -> Result<(), PartError> {
        let (Some(&first), Some(&last)) = (self.list.first(), self.list.last()) else {
            return Ok(());
        };
        let is_near = is_near(last - first);
        let kind = if is_near {
            ChunkKind::Near
        } else {
            ChunkKind::Far
        };
        self.enter(kind, out.position(), first, last);
        if is_near {
            for id in &self.list {
                out.append(&((id - first) as u32).to_le_bytes())?;
            }
        } else {
            out.append(bytemuck::cast_slice(&self.list))?;
        }
        self.keys += self.list.len() as u64;
        self.list.clear();
        out.align(8)
    }

    /// range number - first range number -> the chunk that holds the range's keys.
    fn write_jump(&mut self, out: &mut PartWriter) -> Result<bool, PartError> {
        let chunks = self.entries.len() as u64;
        let (Some(first), Some(last)) = (self.entries.first(), self.entries.last()) else {
            return Ok(false);
        };
        let range_first = first.first >> RANGE_BITS;
        let ranges = (last.last >> RANGE_BITS) - range_first + 1;
        if chunks < JUMP_CHUNKS_MIN || ranges > chunks * JUMP_RANGES_PER_CHUNK_MAX {
            return Ok(false);
        }
        let mut chunk = 0u32;
        for range in range_first..range_first + ranges {
            let next = self.entries.get(chunk as usize + 1);
            if next.is_some_and(|next| next.first >> RANGE_BITS <= range) {
                chunk += 1;
            }
            out.append(&chunk.to_le_bytes())?;
        }
        assert_eq!(
            u64::from(chunk) + 1,
            chunks,
            "no range has keys in two chunks, so the last range is in the last chunk"
        );
        out.align(8)?;
        Ok(true)
    }
}

/// Whether a distance fits a near list.
fn is_near(distance: u64) -> bool {
    u32::try_from(distance).is_ok()
}

impl OpenDense {
    /// Writes the open block and opens the next.
    fn write_block(&mut self, out: &mut PartWriter) -> Result<(), PartError> {
        let count =
            |words: &[u64]| -> u64 { words.iter().map(|word| u64::from(word.count_ones())).sum() };
        let (three, five) = (count(&self.words[1..4]), count(&self.words[1..6]));
        assert!(self.before < 1 << BEFORE_BITS, "fewer than 2^46 keys");
        self.words[0] = self.before | three << BEFORE_BITS | five << (BEFORE_BITS + GROUP_BITS);
        out.append(bytemuck::cast_slice(&self.words))?;
        self.before += count(&self.words[1..]);
        self.words = [0; BLOCK_WORDS];
        self.block_first += BLOCK_IDS;
        Ok(())
    }
}
