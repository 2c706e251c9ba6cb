//! The bytes that all files of a dictionary share: header and packed offsets.
//!
//! Everything is little-endian and position-independent. Every file begins with 64 bytes:
//!
//! ```text
//!  0  magic "somsdict"
//!  8  version              u16
//! 10  part                 u8   1 keys, 2 offsets, 3 index, 4 records, 5 head, 6 ordinals
//! 11  kind                 u8   the tag of the ids: 0 IRI, 2 literal, 3 triple term; head: 0
//! 12  bytes of an id       u8   8
//! 13  parameter            u8   keys, offsets: log2 of entries a block; index, ordinals: bytes an ordinal
//! 14  scope                u16  0: all terms; 1 + 2 n: those whose ids node n owns; 2 + 2 n: whose hashes
//! 16  features             u64  bits that a reader must know; none yet
//! 24  count                u64  index: number of terms; else 0
//! 32  zero, up to 64
//! ```
//!
//! Invariant: a reader accepts a header only if it knows every bit of it, so a later layout is
//! refused by name and never misread. Nothing here trusts a length: all reads are checked slices.

use super::error::{FormatProblem, OpenError};
use crate::id::{Tag, VertexId};
use crate::placement::NODES_MAX;
use memory::CheckedRegion;

/// Bytes of a header; what follows is aligned to a cache line.
pub(super) const HEADER_BYTES: usize = 64;
const MAGIC: [u8; 8] = *b"somsdict";
/// The layout that this release writes and reads.
const VERSION: u16 = 1;
const ID_BYTES: u8 = size_of::<VertexId>() as u8;

/// Bytes of an offset into a file of keys: 40 bits, so such a file holds up to 1 TiB.
pub(super) const OFFSET_BYTES: usize = 5;
/// The largest offset.
pub(super) const OFFSET_MAX: u64 = (1 << (8 * OFFSET_BYTES)) - 1;
const _: () = assert!(
    (super::KEY_BYTES_MAX as u64) < OFFSET_MAX,
    "the longest key fits a file of keys"
);

/// Which of a kind's files a file is; the last two are those of a node's part only.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(super) enum FileKind {
    Keys = 1,
    Offsets = 2,
    Index = 3,
    Records = 4,
    Head = 5,
    Ordinals = 6,
}

/// Which terms of its kind a file has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum FileScope {
    /// All: the file is a whole dictionary's.
    Whole,
    /// Those whose ids this node owns.
    ById(u16),
    /// Those whose keys' hashes this node owns.
    ByHash(u16),
}

const _: () = assert!(
    2 + 2 * (NODES_MAX as u32) <= u16::MAX as u32,
    "the scope of every node's file has a number"
);

impl FileScope {
    fn number(self) -> u16 {
        match self {
            FileScope::Whole => 0,
            FileScope::ById(node) => 1 + 2 * node,
            FileScope::ByHash(node) => 2 + 2 * node,
        }
    }
}

/// What a header says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Header {
    pub(super) part: FileKind,
    pub(super) kind: Tag,
    pub(super) scope: FileScope,
    pub(super) parameter: u8,
    pub(super) count: u64,
}

impl Header {
    pub(super) fn to_bytes(self) -> [u8; HEADER_BYTES] {
        let mut bytes = [0; HEADER_BYTES];
        bytes[..8].copy_from_slice(&MAGIC);
        bytes[8..10].copy_from_slice(&VERSION.to_le_bytes());
        bytes[10] = self.part as u8;
        bytes[11] = self.kind as u8;
        bytes[12] = ID_BYTES;
        bytes[13] = self.parameter;
        bytes[14..16].copy_from_slice(&self.scope.number().to_le_bytes());
        bytes[24..32].copy_from_slice(&self.count.to_le_bytes());
        bytes
    }

    /// The header of a file that must be this part of this kind and have these terms.
    pub(super) fn read(
        file: &CheckedRegion,
        part: FileKind,
        kind: Tag,
        scope: FileScope,
    ) -> Result<Header, OpenError> {
        let problem = |problem| OpenError::format(file, problem);
        if file.len() < HEADER_BYTES as u64 {
            return Err(problem(FormatProblem::Foreign));
        }
        let bytes = file.bytes(0..HEADER_BYTES as u64)?;
        if bytes[..8] != MAGIC {
            return Err(problem(FormatProblem::Foreign));
        }
        let version = u16::from_le_bytes([bytes[8], bytes[9]]);
        if version != VERSION {
            return Err(problem(FormatProblem::Version(version)));
        }
        let header = Header {
            part,
            kind,
            scope,
            parameter: bytes[13],
            count: read_u64(&bytes[24..32]),
        };
        if header.to_bytes() != bytes {
            return Err(problem(FormatProblem::Header));
        }
        Ok(header)
    }
}

/// The bytes that the ordinals of so many terms need, at least one.
pub(super) fn ordinal_bytes(count: u64) -> usize {
    let largest = count.saturating_sub(1);
    (64 - largest.leading_zeros()).div_ceil(8).max(1) as usize
}

/// Zeros that make a length a multiple of 8, as every file of a store is.
pub(super) fn padding_after(length_bytes: u64) -> u64 {
    length_bytes.wrapping_neg() % 8
}

/// The first 8 bytes as a number; the slice must have them.
#[inline]
pub(super) fn read_u64(bytes: &[u8]) -> u64 {
    let mut word = [0; 8];
    word.copy_from_slice(&bytes[..8]);
    u64::from_le_bytes(word)
}

/// An offset of [`OFFSET_BYTES`].
#[inline]
pub(super) fn read_offset(bytes: [u8; OFFSET_BYTES]) -> u64 {
    let mut word = [0; 8];
    word[..OFFSET_BYTES].copy_from_slice(&bytes);
    u64::from_le_bytes(word)
}

/// Takes `count` bytes off the front; `None` where there are fewer.
#[inline]
pub(super) fn take_bytes<'a>(bytes: &mut &'a [u8], count: usize) -> Option<&'a [u8]> {
    let (taken, rest) = bytes.split_at_checked(count)?;
    *bytes = rest;
    Some(taken)
}

#[cfg(test)]
mod tests {
    use super::*;
    use memory::Region;

    #[test]
    fn headers_come_back_and_foreign_ones_are_refused() {
        let header = Header {
            part: FileKind::Index,
            kind: Tag::Literal,
            scope: FileScope::ByHash(3),
            parameter: 3,
            count: 77,
        };
        let open = |bytes: &[u8]| {
            let file = CheckedRegion::unchecked("f", Region::heap(bytes).unwrap());
            Header::read(&file, FileKind::Index, Tag::Literal, FileScope::ByHash(3))
        };
        let bytes = header.to_bytes();
        assert_eq!(open(&bytes).unwrap(), header);
        assert!(open(&bytes[..63]).is_err());
        for at in (0..13).chain(14..24).chain(32..64) {
            let mut changed = bytes;
            changed[at] ^= 1;
            assert!(open(&changed).is_err(), "byte {at}");
        }
    }
}
