//! The keys of one kind of term in the order of their ordinals, in two files.
//!
//! ```text
//! keys:     header | block 0 | block 1 | ... | zeros up to a multiple of 8
//! block:    length of key 0 (count) | key 0 | entry 1 | ... | entry 15     (see `entry`)
//! offsets:  header | 5 bytes a block: its offset in keys | 5 bytes: length of keys
//!                  | zeros up to a multiple of 8 | number of keys (8 bytes)
//! ```
//!
//! Ordinals are places here: in a whole dictionary a key's place is its ordinal, in a node's part the
//! number of keys before it that are there too ([`super::part`]).
//!
//! Invariant: block *b* holds the keys with ordinals 16 *b* to 16 *b* + 15 (the last block may hold
//! fewer) and decodes without any other. So a key is found by two reads: two neighbouring offsets,
//! then one block. Offsets lie in a file of their own so that both are written front to back with
//! memory for one block, whatever the number of keys.
//!
//! Blocks of 16: see the decision record of 2026-11-21 on the dictionary's layout for sizes and
//! times of 8, 16, 32 and 64. The number is in the header, and a reader takes any.

use super::KEY_BYTES_MAX;
use super::entry::{EntryKey, push_entry};
use super::error::{FormatProblem, MergeError, OpenError, WriteError, damaged, nonsense};
use super::format::{
    FileKind, FileScope, HEADER_BYTES, Header, OFFSET_BYTES, OFFSET_MAX, padding_after,
    read_offset, read_u64, take_bytes,
};
use super::merge::copy;
use super::table::{KeyCursor, Keys};
use crate::id::{Tag, VertexId};
use crate::lexicon::LexiconError;
use crate::varint;
use memory::{CheckedRegion, DamagedBlock, prefetch};
use std::io::Write;
use std::sync::Arc;

/// log2 of the number of keys of a block.
const BLOCK_LOG2: u8 = 4;
/// The largest log2 that a reader takes.
pub(super) const BLOCK_LOG2_MAX: u8 = 8;
const _: () = assert!(BLOCK_LOG2 <= BLOCK_LOG2_MAX, "readers take what is written");
/// Bytes of the number of keys, at the end of the offsets.
const COUNT_BYTES: u64 = 8;

/// What a [`StreamWriter`] wrote.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StreamStats {
    /// Number of keys.
    pub keys: u64,
    /// Their bytes before coding.
    pub raw_bytes: u64,
    /// Length of the file of keys.
    pub keys_file_bytes: u64,
    /// Length of the file of offsets.
    pub offsets_file_bytes: u64,
}

/// Writes the two files of a kind, front to back, with memory for one block.
pub struct StreamWriter<W: Write> {
    keys: W,
    offsets: W,
    block_log2: u8,
    block: Vec<u8>,
    before: Vec<u8>,
    scratch: Vec<u8>,
    stats: StreamStats,
}

impl<W: Write> StreamWriter<W> {
    /// A writer of the keys of this kind, `Tag::Iri` or `Tag::Literal`. The outputs should be
    /// buffered: it writes once a block.
    pub fn new(kind: Tag, keys: W, offsets: W) -> Result<StreamWriter<W>, WriteError> {
        StreamWriter::with_block_log2(kind, keys, offsets, BLOCK_LOG2)
    }

    /// The same with blocks of 2^`block_log2` keys, at most 256, for measurements: readers take any.
    pub fn with_block_log2(
        kind: Tag,
        keys: W,
        offsets: W,
        block_log2: u8,
    ) -> Result<StreamWriter<W>, WriteError> {
        StreamWriter::create(kind, FileScope::Whole, keys, offsets, block_log2)
    }

    /// A writer of those keys that have this scope, in the order of their ordinals.
    pub(super) fn of_scope(
        kind: Tag,
        scope: FileScope,
        keys: W,
        offsets: W,
    ) -> Result<StreamWriter<W>, WriteError> {
        StreamWriter::create(kind, scope, keys, offsets, BLOCK_LOG2)
    }

    fn create(
        kind: Tag,
        scope: FileScope,
        mut keys: W,
        mut offsets: W,
        block_log2: u8,
    ) -> Result<StreamWriter<W>, WriteError> {
        assert!(
            matches!(kind, Tag::Iri | Tag::Literal),
            "only these kinds have text"
        );
        assert!(block_log2 <= BLOCK_LOG2_MAX, "readers refuse larger blocks");
        let header = |part| {
            Header {
                part,
                kind,
                scope,
                parameter: block_log2,
                count: 0,
            }
            .to_bytes()
        };
        keys.write_all(&header(FileKind::Keys))?;
        offsets.write_all(&header(FileKind::Offsets))?;
        Ok(StreamWriter {
            keys,
            offsets,
            block_log2,
            block: Vec::new(),
            before: Vec::new(),
            scratch: Vec::new(),
            stats: StreamStats {
                keys_file_bytes: HEADER_BYTES as u64,
                offsets_file_bytes: HEADER_BYTES as u64,
                ..StreamStats::default()
            },
        })
    }

    /// A writer that has written the keys of this stream, in blocks of its size. Whole blocks and
    /// their offsets are copied as they are, the last ones decoded and written anew. The raw bytes
    /// of what is copied are not counted.
    pub(super) fn resume(
        kind: Tag,
        stream: &KeyStream,
        keys: W,
        offsets: W,
    ) -> Result<StreamWriter<W>, MergeError> {
        let block_log2 = stream.block_log2;
        let mut writer = StreamWriter::with_block_log2(kind, keys, offsets, block_log2)?;
        let blocks = stream.count >> block_log2;
        if blocks > 0 {
            let [end] = stream
                .offsets_from(blocks)
                .map_err(|block| damaged(&block))?;
            if end < HEADER_BYTES as u64 || end > stream.keys.len() {
                return Err(nonsense(&stream.offsets, offset_at(blocks)).into());
            }
            let body = HEADER_BYTES as u64;
            let offsets_end = offset_at(blocks);
            copy(&stream.keys, body..end, &mut writer.keys)?;
            copy(&stream.offsets, body..offsets_end, &mut writer.offsets)?;
            writer.stats.keys = blocks << block_log2;
            writer.stats.keys_file_bytes = end;
            writer.stats.offsets_file_bytes = offsets_end;
        }
        let mut cursor = stream.cursor();
        for ordinal in writer.stats.keys..stream.count {
            writer.push(cursor.key(ordinal)?)?;
        }
        assert_eq!(
            writer.stats.keys, stream.count,
            "each key of the stream is written"
        );
        Ok(writer)
    }

    /// Appends the key with the next ordinal and returns that ordinal. O(length of this key and
    /// the one before it).
    pub fn push(&mut self, key: &[u8]) -> Result<u64, WriteError> {
        if key.len() > KEY_BYTES_MAX {
            return Err(WriteError::KeyTooLong { bytes: key.len() });
        }
        let ordinal = self.stats.keys;
        assert!(ordinal < VertexId::PAYLOAD_MAX, "ordinals have 60 bits");
        if ordinal.is_multiple_of(1 << self.block_log2) {
            self.end_block()?;
            varint::write(&mut self.block, key.len() as u64);
            self.block.extend_from_slice(key);
        } else {
            push_entry(&mut self.block, &self.before, key, &mut self.scratch);
        }
        self.before.clear();
        self.before.extend_from_slice(key);
        self.stats.keys += 1;
        self.stats.raw_bytes += key.len() as u64;
        Ok(ordinal)
    }

    /// Ends both files and gives them back, unsynced and unflushed.
    pub fn finish(mut self) -> Result<(W, W, StreamStats), WriteError> {
        self.end_block()?;
        if self.stats.keys > 0 {
            self.write_offset()?;
        }
        let blocks = self.stats.keys.div_ceil(1 << self.block_log2);
        assert_eq!(
            self.stats.offsets_file_bytes,
            offset_at(blocks + u64::from(blocks > 0)),
            "an offset for each block, and one behind the last"
        );
        let padding = padding_after(self.stats.keys_file_bytes);
        self.keys.write_all(&[0; 8][..padding as usize])?;
        self.stats.keys_file_bytes += padding;
        let padding = padding_after(self.stats.offsets_file_bytes);
        self.offsets.write_all(&[0; 8][..padding as usize])?;
        self.offsets.write_all(&self.stats.keys.to_le_bytes())?;
        self.stats.offsets_file_bytes += padding + COUNT_BYTES;
        Ok((self.keys, self.offsets, self.stats))
    }

    /// Writes the block that is full, if there is one, and the offset where it begins.
    fn end_block(&mut self) -> Result<(), WriteError> {
        if self.block.is_empty() {
            return Ok(());
        }
        self.write_offset()?;
        self.keys.write_all(&self.block)?;
        self.stats.keys_file_bytes += self.block.len() as u64;
        self.block.clear();
        Ok(())
    }

    fn write_offset(&mut self) -> Result<(), WriteError> {
        let offset = self.stats.keys_file_bytes;
        if offset > OFFSET_MAX {
            return Err(WriteError::StreamTooLong);
        }
        self.offsets
            .write_all(&offset.to_le_bytes()[..OFFSET_BYTES])?;
        self.stats.offsets_file_bytes += OFFSET_BYTES as u64;
        Ok(())
    }
}

/// Where in its file the offset of a block stands.
#[inline]
pub(super) fn offset_at(block: u64) -> u64 {
    HEADER_BYTES as u64 + block * OFFSET_BYTES as u64
}

/// Reads the two files of a kind.
#[derive(Debug)]
pub(super) struct KeyStream {
    keys: Arc<CheckedRegion>,
    offsets: Arc<CheckedRegion>,
    block_log2: u8,
    count: u64,
}

impl KeyStream {
    /// Opens the files; reads the headers and the ends of both, nothing between.
    pub(super) fn open(
        kind: Tag,
        scope: FileScope,
        keys: Arc<CheckedRegion>,
        offsets: Arc<CheckedRegion>,
    ) -> Result<KeyStream, OpenError> {
        let block_log2 = Header::read(&keys, FileKind::Keys, kind, scope)?.parameter;
        let header = Header::read(&offsets, FileKind::Offsets, kind, scope)?;
        if header.parameter != block_log2 || block_log2 > BLOCK_LOG2_MAX {
            return Err(OpenError::format(&offsets, FormatProblem::Mismatch));
        }
        let wrong_length = || OpenError::format(&offsets, FormatProblem::Length);
        let count_at = offsets
            .len()
            .checked_sub(COUNT_BYTES)
            .ok_or_else(wrong_length)?;
        let count = read_u64(offsets.bytes(count_at..offsets.len())?);
        if count > VertexId::PAYLOAD_MAX {
            return Err(wrong_length());
        }
        let blocks = count.div_ceil(1 << block_log2);
        let offset_count = if blocks == 0 { 0 } else { blocks + 1 };
        let table_end = HEADER_BYTES as u64 + offset_count * OFFSET_BYTES as u64;
        if table_end + padding_after(table_end) != count_at {
            return Err(wrong_length());
        }
        let stream = KeyStream {
            keys,
            offsets,
            block_log2,
            count,
        };
        let end = stream.end()?;
        if end.checked_add(padding_after(end)) != Some(stream.keys.len()) {
            return Err(OpenError::format(&stream.keys, FormatProblem::Mismatch));
        }
        Ok(stream)
    }

    /// log2 of the keys of a block.
    pub(super) fn block_log2(&self) -> u8 {
        self.block_log2
    }

    /// The files of keys and of offsets.
    pub(super) fn both_files(&self) -> (&Arc<CheckedRegion>, &Arc<CheckedRegion>) {
        (&self.keys, &self.offsets)
    }

    /// The block of a key that exists is not what a writer writes.
    #[cold]
    pub(super) fn nonsense(&self, ordinal: u64) -> LexiconError {
        match self.block(ordinal >> self.block_log2) {
            Ok((_, start)) => nonsense(&self.keys, start),
            Err(error) => error,
        }
    }

    /// Where the last block ends.
    fn end(&self) -> Result<u64, OpenError> {
        if self.count == 0 {
            return Ok(HEADER_BYTES as u64);
        }
        let [end] = self.offsets_from(self.count.div_ceil(1 << self.block_log2))?;
        Ok(end)
    }

    /// The offsets of `N` blocks, or the end of the last one.
    #[inline]
    fn offsets_from<const N: usize>(&self, block: u64) -> Result<[u64; N], DamagedBlock> {
        let at = offset_at(block);
        let bytes = self.offsets.bytes(at..at + (N * OFFSET_BYTES) as u64)?;
        let (offsets, _) = bytes.as_chunks();
        Ok(std::array::from_fn(|number| read_offset(offsets[number])))
    }

    /// The bytes of a block that exists, and where they begin.
    #[inline]
    fn block(&self, block: u64) -> Result<(&[u8], u64), LexiconError> {
        let [start, end] = self.offsets_from(block).map_err(|block| damaged(&block))?;
        if start >= end || end > self.keys.len() {
            return Err(nonsense(&self.offsets, offset_at(block)));
        }
        let bytes = self.keys.bytes(start..end);
        Ok((bytes.map_err(|block| damaged(&block))?, start))
    }
}

impl Keys for KeyStream {
    type Cursor<'a> = StreamCursor<'a>;

    fn count(&self) -> u64 {
        self.count
    }

    fn cursor(&self) -> StreamCursor<'_> {
        StreamCursor {
            stream: self,
            rest: &[],
            current: None,
            key: EntryKey::default(),
        }
    }

    /// Asks for a key's offsets.
    #[inline]
    fn prefetch_place(&self, ordinal: u64) {
        let at = offset_at(ordinal >> self.block_log2) as usize;
        prefetch(self.offsets.region().bytes(), at);
    }

    /// Asks for the first two cache lines of a key's block, if its offset was verified already.
    #[inline]
    fn prefetch_key(&self, ordinal: u64) {
        let at = offset_at(ordinal >> self.block_log2);
        let offset = self.offsets.verified(at..at + OFFSET_BYTES as u64);
        if let Some(offset) = offset.and_then(|bytes| bytes.first_chunk()) {
            let offset = read_offset(*offset) as usize;
            let keys = self.keys.region().bytes();
            prefetch(keys, offset);
            prefetch(keys, offset + 64);
        }
    }

    fn files(&self) -> Vec<&Arc<CheckedRegion>> {
        vec![&self.keys, &self.offsets]
    }
}

/// Reads keys of a stream: at random, or forwards at the cost of one entry each.
pub(super) struct StreamCursor<'a> {
    stream: &'a KeyStream,
    /// The entries of the current block after the current key.
    rest: &'a [u8],
    current: Option<u64>,
    key: EntryKey,
}

impl KeyCursor for StreamCursor<'_> {
    /// The key with this ordinal, which must be below the stream's count (asserted). O(1) for the
    /// key asked for last and the one after it, else up to a block's entries.
    #[inline]
    fn key(&mut self, ordinal: u64) -> Result<&[u8], LexiconError> {
        assert!(
            ordinal < self.stream.count,
            "the caller checked the ordinal"
        );
        let block_log2 = self.stream.block_log2;
        match self.current {
            Some(current) if current == ordinal => {}
            Some(current)
                if current < ordinal && current >> block_log2 == ordinal >> block_log2 =>
            {
                self.advance(ordinal, ordinal - current)?;
            }
            _ => self.load(ordinal)?,
        }
        Ok(self.key.bytes())
    }
}

impl StreamCursor<'_> {
    /// Applies the next `entries` entries, the last of which is that of `ordinal`.
    #[inline]
    fn advance(&mut self, ordinal: u64, entries: u64) -> Result<(), LexiconError> {
        self.current = None;
        if self.key.apply(&mut self.rest, entries).is_none() {
            return Err(self.stream.nonsense(ordinal));
        }
        self.current = Some(ordinal);
        Ok(())
    }

    /// Goes to the block of `ordinal` and decodes up to it.
    fn load(&mut self, ordinal: u64) -> Result<(), LexiconError> {
        self.current = None;
        let block_log2 = self.stream.block_log2;
        let (mut block, start) = self.stream.block(ordinal >> block_log2)?;
        let first =
            varint::read_length(&mut block).and_then(|length| take_bytes(&mut block, length));
        let Some(first) = first else {
            return Err(nonsense(&self.stream.keys, start));
        };
        self.key.set(first);
        self.rest = block;
        self.advance(ordinal, ordinal & ((1 << block_log2) - 1))
    }
}
