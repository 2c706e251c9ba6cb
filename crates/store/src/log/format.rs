//! The bytes of the log: the head of a file, the frame of a record.
//!
//! Two properties of a frame make a torn tail recognisable, at no cost to speed:
//!
//! - **No sector of a frame is all zeros.** A sector (512 bytes, the unit that a medium writes
//!   whole) that an unsynced write did not reach reads as zeros where the file is already longer.
//!   So each frame's part of each sector has at least two bytes that are not zero: where the
//!   payload would break that it is stored under a mask of 8 bytes. Then a part that is zero was
//!   never written, and damage of any one byte does not look like it.
//! - **A head lies in one sector**, so it is there whole or not at all.
//!
//! And each frame says how many records before it were not yet known to be durable when it was
//! appended ([`FrameHead::pending`]). So a whole frame behind a broken one proves, or does not,
//! that the broken one had been durable.

use xxhash_rust::xxh3::{Xxh3, xxh3_64};

/// Bytes that a medium writes together.
pub(super) const SECTOR_BYTES: u64 = 512;
/// Bytes of a file's head.
pub(super) const FILE_HEAD_BYTES: usize = 64;
/// Bytes of a frame's head.
pub(super) const FRAME_HEAD_BYTES: usize = 48;
const _: () = assert!(
    FRAME_HEAD_BYTES.is_multiple_of(8) && SECTOR_BYTES.is_multiple_of(8),
    "frames begin at multiples of 8"
);
const _: () = assert!(
    (FILE_HEAD_BYTES + FRAME_HEAD_BYTES) as u64 <= SECTOR_BYTES,
    "the first frame's head lies in the sector of the file's"
);
const _: () = assert!(
    SECTOR_BYTES == crate::disk::SECTOR_BYTES as u64,
    "the disk writes the log's sectors"
);
/// Version of the log's format.
pub(super) const VERSION: u16 = 1;
/// What stands behind a payload up to the next frame.
const PADDING: u8 = 0xa5;
const FILE_MAGIC: [u8; 8] = *b"SOMERLOG";
const FRAME_MAGIC: [u8; 4] = *b"rec\xb5";
/// Bytes that are not zero in a frame's part of a sector.
const MARKS: u64 = 2;
const _: () = assert!(
    PADDING != 0,
    "padding does not look as if it was never written"
);

/// The head of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, bytemuck::Pod, bytemuck::Zeroable)]
#[repr(C)]
pub(super) struct LogFileHead {
    pub magic: [u8; 8],
    pub version: u16,
    pub reserved: [u8; 6],
    /// Bits that a reader must know; none exist.
    pub features: u64,
    /// Position of the first record.
    pub first: u64,
    /// Where the last record of the file before ends: what lies behind was torn and does not count.
    pub previous_end: u64,
    pub reserved_words: [u64; 2],
    /// Checksum of the 56 bytes before.
    pub sum: u64,
}

const _: () = assert!(size_of::<LogFileHead>() == FILE_HEAD_BYTES);

/// Why a file's head was not accepted.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum HeadFault {
    Version(u16),
    Other(&'static str),
}

impl LogFileHead {
    pub fn new(first: u64, previous_end: u64) -> LogFileHead {
        let mut head = LogFileHead {
            magic: FILE_MAGIC,
            version: VERSION,
            reserved: [0; 6],
            features: 0,
            first,
            previous_end,
            reserved_words: [0; 2],
            sum: 0,
        };
        head.sum = xxh3_64(&bytemuck::bytes_of(&head)[..56]);
        head
    }

    /// Reads the head of a file. The version is looked at before the checksum is.
    pub fn read(bytes: &[u8]) -> Result<LogFileHead, HeadFault> {
        let Some(bytes) = bytes.get(..FILE_HEAD_BYTES) else {
            return Err(HeadFault::Other("its head is cut"));
        };
        let head: LogFileHead = bytemuck::pod_read_unaligned(bytes);
        if head.magic != FILE_MAGIC {
            return Err(HeadFault::Other("it does not begin as a file of the log"));
        }
        if head.version != VERSION && head.sum == xxh3_64(&bytes[..56]) {
            return Err(HeadFault::Version(head.version));
        }
        if head != LogFileHead::new(head.first, head.previous_end) {
            return Err(HeadFault::Other("its head does not match its checksum"));
        }
        Ok(head)
    }
}

/// The head of a frame. The payload follows, then padding.
#[derive(Clone, Copy, Debug, PartialEq, Eq, bytemuck::Pod, bytemuck::Zeroable)]
#[repr(C)]
pub(super) struct FrameHead {
    pub magic: [u8; 4],
    /// How many records before this one were not known to be durable.
    pub pending: u32,
    pub position: u64,
    /// Length of the payload in bytes.
    pub length: u64,
    /// What the payload's bytes are combined with (exclusive or), repeated.
    pub mask: u64,
    /// Checksum of the payload as it is stored.
    pub payload_sum: u64,
    /// Checksum of the 40 bytes before, the file's first position and the frame's offset.
    pub head_sum: u64,
}

const _: () = assert!(size_of::<FrameHead>() == FRAME_HEAD_BYTES);

impl FrameHead {
    fn sum(&self, first: u64, offset: u64) -> u64 {
        let mut bytes = [0; 56];
        bytes[..40].copy_from_slice(&bytemuck::bytes_of(self)[..40]);
        bytes[40..48].copy_from_slice(&first.to_le_bytes());
        bytes[48..].copy_from_slice(&offset.to_le_bytes());
        xxh3_64(&bytes)
    }

    /// The head at `offset` of a file, if one that belongs there lies there whole.
    pub fn read(bytes: &[u8], offset: u64, first: u64) -> Option<FrameHead> {
        let start = usize::try_from(offset).ok()?;
        let bytes = bytes.get(start..)?.get(..FRAME_HEAD_BYTES)?;
        if !bytes.starts_with(&FRAME_MAGIC) {
            return None;
        }
        let head: FrameHead = bytemuck::pod_read_unaligned(bytes);
        (head.head_sum == head.sum(first, offset)).then_some(head)
    }
}

/// Where the frame of a payload of this length ends: at a multiple of 8 that leaves room for a head
/// in its sector. `None` beyond all numbers.
pub(super) fn frame_end(offset: u64, length: u64) -> Option<u64> {
    let end = offset
        .checked_add(FRAME_HEAD_BYTES as u64)?
        .checked_add(length)?
        .checked_next_multiple_of(8)?;
    if SECTOR_BYTES - end % SECTOR_BYTES < FRAME_HEAD_BYTES as u64 {
        return end.checked_next_multiple_of(SECTOR_BYTES);
    }
    Some(end)
}

/// Whether padding is what it should be.
pub(super) fn is_padding(bytes: &[u8]) -> bool {
    bytes.iter().all(|&byte| byte == PADDING)
}

/// Combines bytes with the mask that begins at `place` of the payload.
pub(super) fn combine(bytes: &mut [u8], place: u64, mask: u64) {
    let mask = mask.to_le_bytes();
    for (byte, at) in bytes.iter_mut().zip(place..) {
        *byte ^= mask[at as usize % 8];
    }
}

/// A record that is about to be written at a certain place: its head, and what follows.
pub(super) struct Frame<'p> {
    pub head: FrameHead,
    payload: &'p [&'p [u8]],
    padding: usize,
    pub end: u64,
}

impl<'p> Frame<'p> {
    /// The frame at `offset` of the file that begins with record `first`. `durable`: the last
    /// position known to be durable. `None` where the payload is longer than any file.
    pub fn new(
        payload: &'p [&'p [u8]],
        position: u64,
        durable: u64,
        first: u64,
        offset: u64,
    ) -> Option<Frame<'p>> {
        assert!(
            durable < position && first <= position,
            "a record follows those that are durable and its file's first"
        );
        let length: u64 = payload.iter().map(|piece| piece.len() as u64).sum();
        let end = frame_end(offset, length)?;
        let start = offset + FRAME_HEAD_BYTES as u64;
        let mask = mask_for(payload, start, end);
        let pending = position - 1 - durable;
        let mut head = FrameHead {
            magic: FRAME_MAGIC,
            pending: u32::try_from(pending).ok()?,
            position,
            length,
            mask,
            payload_sum: payload_sum(payload, mask),
            head_sum: 0,
        };
        head.head_sum = head.sum(first, offset);
        let padding = usize::try_from(end - start - length).ok()?;
        assert!(
            end.is_multiple_of(8) && padding < FRAME_HEAD_BYTES + 8,
            "padding leaves room for a head in its sector, and no more"
        );
        Some(Frame {
            head,
            payload,
            padding,
            end,
        })
    }

    /// Gives the bytes in order, in pieces of at most `piece_bytes`, appended to a buffer that
    /// `between` may empty after each.
    pub fn write<E>(
        &self,
        buffer: &mut Vec<u8>,
        piece_bytes: usize,
        mut between: impl FnMut(&mut Vec<u8>) -> Result<(), E>,
    ) -> Result<(), E> {
        buffer.extend_from_slice(bytemuck::bytes_of(&self.head));
        let mut place = 0;
        for piece in self.payload.iter().flat_map(|all| all.chunks(piece_bytes)) {
            between(buffer)?;
            let start = buffer.len();
            buffer.extend_from_slice(piece);
            if self.head.mask != 0 {
                combine(&mut buffer[start..], place, self.head.mask);
            }
            place += piece.len() as u64;
        }
        buffer.resize(buffer.len() + self.padding, PADDING);
        Ok(())
    }
}

fn payload_sum(payload: &[&[u8]], mask: u64) -> u64 {
    if let ([piece], 0) = (payload, mask) {
        return xxh3_64(piece);
    }
    let mut state = Xxh3::new();
    let mut place = 0;
    let mut masked = Vec::new();
    for piece in payload.iter().flat_map(|all| all.chunks(1 << 16)) {
        if mask == 0 {
            state.update(piece);
        } else {
            masked.clear();
            masked.extend_from_slice(piece);
            combine(&mut masked, place, mask);
            state.update(&masked);
        }
        place += piece.len() as u64;
    }
    state.digest()
}

/// The first mask under which no part of a sector is nearly zero: almost always none at all. A part
/// rules out few masks and there are 2^64 to try, in an order that nothing but the number decides.
fn mask_for(payload: &[&[u8]], start: u64, end: u64) -> u64 {
    let mut mask = 0;
    let mut tried = 0u64;
    while !is_marked(payload, start, end, mask) {
        tried += 1;
        mask = xxh3_64(&tried.to_le_bytes());
    }
    mask
}

/// Whether each sector's part of the payload, with the padding, has enough bytes that are not zero.
/// What precedes the payload in its first sector is the head.
fn is_marked(payload: &[&[u8]], start: u64, end: u64, mask: u64) -> bool {
    let mask = mask.to_le_bytes();
    let mut missing = 0;
    let mut place = start;
    for &piece in payload {
        let mut rest = piece;
        while !rest.is_empty() {
            if place.is_multiple_of(SECTOR_BYTES) {
                if missing > 0 {
                    return false;
                }
                missing = MARKS;
            }
            let room = SECTOR_BYTES - place % SECTOR_BYTES;
            let (part, behind) = rest.split_at(rest.len().min(room as usize));
            for (at, &byte) in (place - start..).zip(part) {
                if missing == 0 {
                    break;
                }
                missing -= u64::from(byte != mask[at as usize % 8]);
            }
            place += part.len() as u64;
            rest = behind;
        }
    }
    // Padding is in the sector of the payload's last byte.
    missing <= end - place
}

/// Whether some sector's part of the frame is all zeros.
pub(super) fn has_hole(frame: &[u8], offset: u64) -> bool {
    let mut rest = frame;
    let mut place = offset;
    while !rest.is_empty() {
        let room = SECTOR_BYTES - place % SECTOR_BYTES;
        let (part, behind) = rest.split_at(rest.len().min(room as usize));
        if part.iter().all(|&byte| byte == 0) {
            return true;
        }
        place += part.len() as u64;
        rest = behind;
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bytes_of(frame: &Frame<'_>) -> Vec<u8> {
        let mut bytes = Vec::new();
        let Ok(()) = frame.write::<()>(&mut bytes, 100, |_| Ok(())) else {
            unreachable!()
        };
        bytes
    }

    #[test]
    fn no_byte_of_any_frame_can_vanish_into_a_hole() {
        let zeros = vec![0u8; 3000];
        let mut one = vec![0u8; 3000];
        one[700] = 1;
        for offset in (64..64 + 1024).step_by(8) {
            if SECTOR_BYTES - offset % SECTOR_BYTES < FRAME_HEAD_BYTES as u64 {
                continue;
            }
            for length in [0, 1, 7, 8, 9, 400, 416, 464, 465, 480, 1000, 2000, 2999] {
                for payload in [&zeros[..length], &one[..length], &[0xa5; 3000][..length]] {
                    let pieces = [&payload[..length / 3], &payload[length / 3..]];
                    let frame = Frame::new(&pieces, 9, 8, 1, offset).unwrap();
                    let bytes = bytes_of(&frame);
                    assert_eq!(bytes.len() as u64, frame.end - offset);
                    assert!(frame.end.is_multiple_of(8));
                    assert!(SECTOR_BYTES - frame.end % SECTOR_BYTES >= 48);
                    let mut place = offset;
                    while place < frame.end {
                        let next = (place + 1).next_multiple_of(SECTOR_BYTES).min(frame.end);
                        let part = &bytes[(place - offset) as usize..(next - offset) as usize];
                        let marks = part.iter().filter(|&&byte| byte != 0).count();
                        assert!(marks >= 2, "offset {offset}, length {length}, at {place}");
                        place = next;
                    }
                }
            }
        }
    }

    #[test]
    fn a_head_belongs_to_its_place() {
        let payload = [&b"text"[..]];
        let frame = Frame::new(&payload, 5, 3, 4, 64).unwrap();
        let bytes = [vec![0; 64], bytes_of(&frame)].concat();
        assert_eq!(FrameHead::read(&bytes, 64, 4), Some(frame.head));
        assert_eq!(FrameHead::read(&bytes, 64, 3), None);
        assert_eq!(FrameHead::read(&bytes[8..], 56, 4), None);
        assert_eq!(frame.head.pending, 1);
    }

    #[test]
    fn a_file_head_says_its_version_before_all_else() {
        let head = LogFileHead::new(3, 99);
        let bytes = bytemuck::bytes_of(&head);
        assert_eq!(LogFileHead::read(bytes), Ok(head));
        let mut other = LogFileHead { version: 2, ..head };
        other.sum = xxh3_64(&bytemuck::bytes_of(&other)[..56]);
        let read = LogFileHead::read(bytemuck::bytes_of(&other));
        assert_eq!(read, Err(HeadFault::Version(2)));
        for place in 0..bytes.len() {
            let mut changed = bytes.to_vec();
            changed[place] ^= 1;
            assert!(LogFileHead::read(&changed).is_err(), "byte {place}");
            assert!(LogFileHead::read(&bytes[..place]).is_err());
        }
    }
}
