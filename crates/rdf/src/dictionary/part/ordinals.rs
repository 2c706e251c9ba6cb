//! The ordinals of the keys that a node has by their hash, in the order of their places.
//!
//! ```text
//! header (parameter: bytes of an ordinal, w) | w bytes a key: its ordinal | zeros up to a multiple of 8
//!                                            | number of keys (8 bytes)
//! ```
//!
//! Invariant: ordinals ascend, so neighbours among the keys are neighbours among all, and code well against each other.
//! `w` is as small as the number of terms in the whole cluster allows, 3 bytes up to 16.7 million.

use crate::dictionary::error::{FormatProblem, OpenError, WriteError, damaged, nonsense};
use crate::dictionary::format::{
    FileKind, FileScope, HEADER_BYTES, Header, ordinal_bytes, padding_after, read_u64,
};
use crate::id::Tag;
use crate::lexicon::LexiconError;
use memory::{CheckedRegion, prefetch};
use std::io::Write;
use std::sync::Arc;

/// Bytes of the number of keys, at the end.
const COUNT_BYTES: u64 = 8;

/// Writes the ordinals of a kind, front to back.
pub(super) struct OrdinalWriter<W: Write> {
    out: W,
    width: usize,
    count: u64,
    /// The least that the next ordinal may be.
    next: u64,
    end: u64,
}

impl<W: Write> OrdinalWriter<W> {
    /// A writer of ordinals below `end`, the number of terms in the whole cluster.
    pub(super) fn new(
        kind: Tag,
        node: u16,
        end: u64,
        mut out: W,
    ) -> Result<OrdinalWriter<W>, WriteError> {
        let width = ordinal_bytes(end);
        let header = Header {
            part: FileKind::Ordinals,
            kind,
            scope: FileScope::ByHash(node),
            parameter: width as u8,
            count: 0,
        };
        out.write_all(&header.to_bytes())?;
        Ok(OrdinalWriter {
            out,
            width,
            count: 0,
            next: 0,
            end,
        })
    }

    /// Appends an ordinal, which must be greater than the one before (asserted).
    pub(super) fn push(&mut self, ordinal: u64) -> Result<(), WriteError> {
        assert!(
            ordinal >= self.next && ordinal < self.end,
            "ordinals ascend and are those of terms"
        );
        self.out.write_all(&ordinal.to_le_bytes()[..self.width])?;
        self.next = ordinal + 1;
        self.count += 1;
        Ok(())
    }

    /// Ends the file and gives it back, unsynced and unflushed.
    pub(super) fn finish(mut self) -> Result<W, WriteError> {
        let length = ordinal_at(self.count, self.width);
        let padding = padding_after(length) as usize;
        self.out.write_all(&[0; 8][..padding])?;
        self.out.write_all(&self.count.to_le_bytes())?;
        Ok(self.out)
    }
}

/// Reads the ordinals of a kind.
#[derive(Debug)]
pub(super) struct Ordinals {
    file: Arc<CheckedRegion>,
    width: usize,
    count: u64,
    end: u64,
}

impl Ordinals {
    /// Opens the file; reads its header and its end. `end`: the number of terms in the whole cluster.
    pub(super) fn open(
        kind: Tag,
        node: u16,
        end: u64,
        file: Arc<CheckedRegion>,
    ) -> Result<Ordinals, OpenError> {
        let header = Header::read(&file, FileKind::Ordinals, kind, FileScope::ByHash(node))?;
        let width = ordinal_bytes(end);
        if usize::from(header.parameter) != width {
            return Err(OpenError::format(&file, FormatProblem::Mismatch));
        }
        let wrong_length = || OpenError::format(&file, FormatProblem::Length);
        let count_at = file.len().checked_sub(COUNT_BYTES);
        let count_at = count_at.ok_or_else(wrong_length)?;
        let count = read_u64(file.bytes(count_at..file.len())?);
        if count > end {
            return Err(wrong_length());
        }
        let length = ordinal_at(count, width);
        if length + padding_after(length) != count_at {
            return Err(wrong_length());
        }
        Ok(Ordinals {
            file,
            width,
            count,
            end,
        })
    }

    pub(super) fn count(&self) -> u64 {
        self.count
    }

    pub(super) fn file(&self) -> &Arc<CheckedRegion> {
        &self.file
    }

    /// The ordinal of a place that exists (asserted); below the number of terms.
    #[inline]
    pub(super) fn get(&self, place: u64) -> Result<u64, LexiconError> {
        assert!(place < self.count, "the caller checked the place");
        let at = ordinal_at(place, self.width);
        let bytes = self.file.bytes(at..at + self.width as u64);
        let bytes = bytes.map_err(|block| damaged(&block))?;
        let mut word = [0; 8];
        word[..self.width].copy_from_slice(bytes);
        let ordinal = u64::from_le_bytes(word);
        if ordinal >= self.end {
            return Err(nonsense(&self.file, at));
        }
        Ok(ordinal)
    }

    /// Asks for the ordinal of a place.
    #[inline]
    pub(super) fn prefetch(&self, place: u64) {
        let at = ordinal_at(place, self.width) as usize;
        prefetch(self.file.region().bytes(), at);
    }
}

/// Where the ordinal of a place stands, one of so many bytes.
#[inline]
pub(super) fn ordinal_at(place: u64, width: usize) -> u64 {
    HEADER_BYTES as u64 + place * width as u64
}
