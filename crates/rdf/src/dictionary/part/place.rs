//! The ids of keys, looked up in the files of a part by whoever does not have it: piece by piece, out of its owner's memory.
//!
//! ```text
//! hash --> line of the index (64 bytes) --> place --> two offsets (10 bytes) --> a block of keys --> the same key? --> its ordinal
//! ```
//!
//! Four reads in a row, which is what the owner itself does ([`super::lookup`]); a fingerprint that lies costs two more. A
//! [`HashedPlace`] is all that has to be known before: some 60 bytes a kind of term, whatever the number of terms.
//!
//! Nothing that is read is believed: a position beyond its file, a block of nonsense and an ordinal that there is not are
//! [`Misplaced`], and lines that are full for ever are, too. What cannot be seen is another term's ordinal in the place of the
//! right one; its owner compares all blocks with their checksums before it lets others read them.

use super::PartDictionary;
use super::ordinals::ordinal_at;
use crate::dictionary::entry::EntryKey;
use crate::dictionary::error::damaged;
use crate::dictionary::format::{OFFSET_BYTES, ordinal_bytes, read_offset, read_u64, take_bytes};
use crate::dictionary::index::{LINE_BYTES, LineOfSlots, home_of, key_hash, line_at};
use crate::dictionary::stream::{BLOCK_LOG2_MAX, offset_at};
use crate::id::Tag;
use crate::lexicon::LexiconError;
use crate::varint;
use memory::{CheckedRegion, Region};
use std::ops::Range;
use std::sync::Arc;

/// Files that a lookup reads, in the order of [`HashedFile`].
pub const HASHED_FILES: usize = 4;

/// Lines of the index that a lookup reads, at most: at 7/8 full, one in 10^12 needs more.
const LINES_MAX: u64 = 64;

/// Bytes of a block that is read, at most: 16 keys of IRIs and names have some hundreds.
const BLOCK_BYTES_MAX: u64 = 64 << 10;

/// A file of the half by hash.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HashedFile {
    /// From hashes to places.
    Index,
    /// From blocks of keys to where they begin.
    Offsets,
    /// The keys by place.
    Keys,
    /// The ordinals by place.
    Ordinals,
}

/// What is read does not fit what was said of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a dictionary's part is not as it was said to be")]
pub struct Misplaced;

/// What a lookup of one kind of term begins with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HashedPlace {
    /// Keys of the half.
    keys: u64,
    /// Terms of the kind in the whole cluster.
    terms: u64,
    block_log2: u8,
    /// Bytes of each file.
    lengths: [u64; HASHED_FILES],
}

impl PartDictionary {
    /// Where the half by hash of a kind lies, with its files in the order of [`HashedFile`]; `None` of kinds without text.
    pub fn hashed(&self, kind: Tag) -> Option<(HashedPlace, [&Arc<CheckedRegion>; HASHED_FILES])> {
        let half = match kind {
            Tag::Iri => &self.iris,
            Tag::Literal => &self.literals,
            _ => return None,
        };
        let (keys, offsets) = half.by_hash.keys.both_files();
        let files = [
            half.by_hash.index.file(),
            offsets,
            keys,
            half.ordinals.file(),
        ];
        let place = HashedPlace {
            keys: half.ordinals.count(),
            terms: self.head.counts.of(kind),
            block_log2: half.by_hash.keys.block_log2(),
            lengths: files.map(|file| file.len()),
        };
        Some((place, files))
    }

    /// The memory of the half by hash of a kind, once all of it was compared with its checksums: so many bytes more are by this call.
    pub fn locate(&self, kind: Tag, verify_bytes: u64) -> Result<LocatedTerms, LexiconError> {
        let Some((place, files)) = self.hashed(kind) else {
            return Ok(LocatedTerms::Nowhere);
        };
        let mut left = verify_bytes;
        for file in files {
            if file.damage().is_some() {
                return Ok(LocatedTerms::Nowhere);
            }
            let verified = file.verify_some(0..file.len(), &mut left);
            if !verified.map_err(|block| damaged(&block))? {
                return Ok(LocatedTerms::Later);
            }
        }
        let memory = files.map(|file| file.region().clone());
        Ok(LocatedTerms::Here(place, memory))
    }
}

/// Whether others may look keys up in a part's memory.
#[derive(Clone, Debug)]
pub enum LocatedTerms {
    /// They ask its owner.
    Nowhere,
    /// Once more of it is verified.
    Later,
    /// Here: what a lookup begins with, and the memory of each file.
    Here(HashedPlace, [Region; HASHED_FILES]),
}

impl HashedPlace {
    /// The ordinal of a key whose hash the part owns; `None` where there is no such term. `read` puts a range of a file in the place
    /// of what is in the buffer; it is never asked for bytes beyond the file's end.
    pub fn find<E: From<Misplaced>>(
        &self,
        key: &[u8],
        read: &mut impl FnMut(HashedFile, Range<u64>, &mut Vec<u8>) -> Result<(), E>,
    ) -> Result<Option<u64>, E> {
        if self.keys == 0 {
            return Ok(None);
        }
        let hash = key_hash(key);
        let home = home_of(hash, self.keys);
        let mut bytes = Vec::new();
        for line in home..home + LINES_MAX {
            let at = line_at(line);
            if at + LINE_BYTES as u64 > self.lengths[HashedFile::Index as usize] {
                return Ok(None);
            }
            self.take(
                HashedFile::Index,
                at..at + LINE_BYTES as u64,
                read,
                &mut bytes,
            )?;
            let slots = bytes.first_chunk().ok_or(Misplaced)?;
            let mut slots = LineOfSlots::new(*slots, hash, self.keys);
            while let Some(place) = slots.next() {
                if place < self.keys && self.key_is(place, key, read, &mut bytes)? {
                    return self.ordinal(place, read, &mut bytes).map(Some);
                }
            }
            if !slots.is_full() {
                return Ok(None);
            }
        }
        Err(Misplaced.into())
    }

    fn take<E: From<Misplaced>>(
        &self,
        file: HashedFile,
        range: Range<u64>,
        read: &mut impl FnMut(HashedFile, Range<u64>, &mut Vec<u8>) -> Result<(), E>,
        into: &mut Vec<u8>,
    ) -> Result<(), E> {
        if range.start > range.end || range.end > self.lengths[file as usize] {
            return Err(Misplaced.into());
        }
        let length = range.end - range.start;
        read(file, range, into)?;
        if into.len() as u64 != length {
            return Err(Misplaced.into());
        }
        Ok(())
    }

    /// Whether the key at a place is this one.
    fn key_is<E: From<Misplaced>>(
        &self,
        place: u64,
        key: &[u8],
        read: &mut impl FnMut(HashedFile, Range<u64>, &mut Vec<u8>) -> Result<(), E>,
        bytes: &mut Vec<u8>,
    ) -> Result<bool, E> {
        let at = offset_at(place >> self.block_log2);
        let both = at..at + 2 * OFFSET_BYTES as u64;
        self.take(HashedFile::Offsets, both, read, bytes)?;
        let (offsets, _) = bytes.as_chunks();
        let [start, end] = [offsets[0], offsets[1]].map(read_offset);
        if end.saturating_sub(start) > BLOCK_BYTES_MAX {
            return Err(Misplaced.into());
        }
        self.take(HashedFile::Keys, start..end, read, bytes)?;
        let mut block = &bytes[..];
        let first =
            varint::read_length(&mut block).and_then(|length| take_bytes(&mut block, length));
        let mut found = EntryKey::default();
        found.set(first.ok_or(Misplaced)?);
        let entries = place & ((1 << self.block_log2) - 1);
        found.apply(&mut block, entries).ok_or(Misplaced)?;
        Ok(found.bytes() == key)
    }

    fn ordinal<E: From<Misplaced>>(
        &self,
        place: u64,
        read: &mut impl FnMut(HashedFile, Range<u64>, &mut Vec<u8>) -> Result<(), E>,
        bytes: &mut Vec<u8>,
    ) -> Result<u64, E> {
        let width = ordinal_bytes(self.terms);
        let at = ordinal_at(place, width);
        let range = at..at + width as u64;
        self.take(HashedFile::Ordinals, range, read, bytes)?;
        let mut word = [0; 8];
        word[..width].copy_from_slice(bytes);
        let ordinal = u64::from_le_bytes(word);
        if ordinal >= self.terms {
            return Err(Misplaced.into());
        }
        Ok(ordinal)
    }

    /// Its bytes, for another node.
    pub fn encode(&self) -> Vec<u8> {
        let numbers = [self.keys, self.terms].into_iter().chain(self.lengths);
        let mut bytes: Vec<u8> = numbers.flat_map(u64::to_le_bytes).collect();
        bytes.push(self.block_log2);
        bytes
    }

    /// What [`HashedPlace::encode`] has made.
    pub fn decode(bytes: &[u8]) -> Result<HashedPlace, Misplaced> {
        let (numbers, rest) = bytes.as_chunks::<8>();
        let &[block_log2] = rest else {
            return Err(Misplaced);
        };
        let &[keys, terms, ref lengths @ ..] = numbers else {
            return Err(Misplaced);
        };
        let [keys, terms] = [keys, terms].map(|number| read_u64(&number));
        let lengths = <[[u8; 8]; HASHED_FILES]>::try_from(lengths).map_err(|_| Misplaced)?;
        let place = HashedPlace {
            keys,
            terms,
            block_log2,
            lengths: lengths.map(|length| read_u64(&length)),
        };
        let are_counts = keys <= terms && terms <= crate::VertexId::PAYLOAD_MAX;
        if !are_counts || block_log2 > BLOCK_LOG2_MAX {
            return Err(Misplaced);
        }
        Ok(place)
    }
}
