//! Frames: how what two nodes say to each other is cut into pieces of a stream of bytes.
//!
//! ```text
//!  0        4     5     8          16         24
//!  +--------+-----+-----+----------+----------+----------------+
//!  | length | kind| sum | sequence | checksum | body (length)  |
//!  +--------+-----+-----+----------+----------+----------------+
//! ```
//!
//! Little-endian. The sequence counts the frames of one direction of a connection from zero, the checksum is xxh3 of the
//! first 16 bytes and of the body. A stream that is authenticated cannot be changed by others; sequence and checksum are
//! there for faults of our own and of memory, and for simulations of them.
//!
//! The sum is three bytes of xxh3 of length, kind and sequence, compared before the body is waited for. Without it a damaged
//! length held the stream up until that many bytes had come: heartbeats fill it slowly, so the link did not look silent, and
//! its messages came seconds late or never (found by the cluster's simulation, seed 92).
//!
//! Invariant: nothing is allocated on a peer's word. A length is compared with its bound when the head has arrived, and a body
//! grows with what has arrived of it.

use std::ops::Range;

use xxhash_rust::xxh3::Xxh3;

use crate::limits::{FRAME_PIECE_BYTES, Limits};

/// Bytes before a body.
pub(crate) const HEAD_BYTES: usize = 24;

/// Where the sum of a head lies in it.
const SUM: Range<usize> = 5..8;

/// Bytes of a piece in a body: key, generation, offset, length.
pub(crate) const PIECE_BYTES: usize = FRAME_PIECE_BYTES;

/// What a body has before its pieces and bytes, at most: the number of a call, a count, an error.
const PREFIX_BYTES: usize = 64;

/// The longest body before two nodes have agreed that they belong together: a greeting, or a reason.
pub(crate) const GREETING_BYTES_MAX: usize = 1024;

/// Up to here a body is copied behind its head, so that both are encrypted and sent as one. A record of TLS has 16 KiB.
const JOINED_BYTES: usize = 8 << 10;

/// What is reserved for a body before any of it has arrived.
const FIRST_RESERVE_BYTES: usize = 4096;

/// What a frame is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Hello,
    Ready,
    Refuse,
    Heartbeat,
    Message,
    Consumed,
    Read,
    Answer,
    Write,
    Done,
    Probe,
    Echo,
    Leave,
}

/// All kinds, each at its number.
const KINDS: [Kind; 13] = [
    Kind::Hello,
    Kind::Ready,
    Kind::Refuse,
    Kind::Heartbeat,
    Kind::Message,
    Kind::Consumed,
    Kind::Read,
    Kind::Answer,
    Kind::Write,
    Kind::Done,
    Kind::Probe,
    Kind::Echo,
    Kind::Leave,
];

/// A frame that arrived whole and undamaged.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Frame {
    pub(crate) kind: Kind,
    pub(crate) body: Vec<u8>,
}

/// A frame that is to be sent: a short beginning of the body, and the rest, which is not copied.
#[derive(Debug)]
pub(crate) struct Draft {
    pub(crate) kind: Kind,
    pub(crate) prefix: Vec<u8>,
    pub(crate) rest: Vec<u8>,
}

/// A frame as bytes, in two parts.
pub(crate) struct Sealed {
    /// Head and prefix, and a rest that is short.
    pub(crate) head: Vec<u8>,
    /// The rest of the body, if it is long.
    pub(crate) rest: Vec<u8>,
}

/// Why bytes are no frame.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum FrameError {
    #[error("a frame of {bytes} bytes was announced, at most {bytes_max} are taken")]
    TooLong { bytes: usize, bytes_max: usize },
    #[error("there is no frame of kind {0}")]
    NoSuchKind(u8),
    #[error("frame {expected} was to come, and {found} came")]
    OutOfSequence { expected: u64, found: u64 },
    #[error("the checksum of frame {0} is wrong")]
    Damaged(u64),
    #[error("the head of frame {0} is damaged")]
    DamagedHead(u64),
    #[error("a frame of kind {kind:?} has {bytes} bytes, which is no such frame")]
    Malformed { kind: Kind, bytes: usize },
    #[error("a frame of kind {0:?} came at a wrong time")]
    Unexpected(Kind),
}

impl Kind {
    fn number(self) -> u8 {
        KINDS
            .iter()
            .position(|&kind| kind == self)
            .map_or(u8::MAX, |at| at as u8)
    }
}

impl Draft {
    /// A frame with a short body.
    pub(crate) fn short(kind: Kind, prefix: Vec<u8>) -> Draft {
        let rest = Vec::new();
        Draft { kind, prefix, rest }
    }

    /// Gives the frame its place in the stream.
    pub(crate) fn seal(self, sequence: u64) -> Sealed {
        let length = self.prefix.len() + self.rest.len();
        let mut head = Vec::with_capacity(HEAD_BYTES + self.prefix.len());
        head.extend_from_slice(&(length as u32).to_le_bytes());
        head.extend_from_slice(&[self.kind.number(), 0, 0, 0]);
        head.extend_from_slice(&sequence.to_le_bytes());
        let sum = head_sum(&head);
        head[SUM].copy_from_slice(&sum);
        let sum = checksum(&head, &self.prefix, &self.rest);
        head.extend_from_slice(&sum.to_le_bytes());
        head.extend_from_slice(&self.prefix);
        let mut rest = self.rest;
        if rest.len() <= JOINED_BYTES {
            head.append(&mut rest);
        }
        Sealed { head, rest }
    }
}

/// The longest body between two nodes that belong together.
pub(crate) fn body_bytes_max(limits: &Limits) -> usize {
    PREFIX_BYTES + limits.pieces_max * PIECE_BYTES + limits.message_bytes_max
}

/// Of a head whose length, kind and sequence are there.
fn head_sum(head: &[u8]) -> [u8; 3] {
    let mut sum = Xxh3::new();
    sum.update(&head[..SUM.start]);
    sum.update(&head[SUM.end..16]);
    let sum = sum.digest().to_le_bytes();
    [sum[0], sum[1], sum[2]]
}

fn checksum(head: &[u8], prefix: &[u8], rest: &[u8]) -> u64 {
    let mut sum = Xxh3::new();
    sum.update(head);
    sum.update(prefix);
    sum.update(rest);
    sum.digest()
}

/// Puts frames together from the pieces in which a stream arrives.
pub(crate) struct Decoder {
    body_bytes_max: usize,
    sequence: u64,
    head: Vec<u8>,
    body: Vec<u8>,
}

impl Decoder {
    /// Before anything has arrived. Greetings only, until [`trust`](Decoder::trust).
    pub(crate) fn new() -> Decoder {
        Decoder {
            body_bytes_max: GREETING_BYTES_MAX,
            sequence: 0,
            head: Vec::with_capacity(HEAD_BYTES),
            body: Vec::new(),
        }
    }

    /// Takes long frames from here on.
    pub(crate) fn trust(&mut self, limits: &Limits) {
        self.body_bytes_max = body_bytes_max(limits);
    }

    /// Whether the stream may end here: between two frames.
    pub(crate) fn is_between_frames(&self) -> bool {
        self.head.is_empty()
    }

    /// Takes bytes from the front of `bytes` until a frame is whole or none are left.
    pub(crate) fn next(&mut self, bytes: &mut &[u8]) -> Result<Option<Frame>, FrameError> {
        if self.head.len() < HEAD_BYTES {
            take(&mut self.head, HEAD_BYTES, bytes);
            if self.head.len() < HEAD_BYTES {
                return Ok(None);
            }
            self.check_head()?;
        }
        let length = self.length();
        if self.body.capacity() == 0 {
            self.body.reserve(length.min(FIRST_RESERVE_BYTES));
        }
        take(&mut self.body, length, bytes);
        if self.body.len() < length {
            return Ok(None);
        }
        self.finish().map(Some)
    }

    fn length(&self) -> usize {
        let bytes: [u8; 4] = self.head[..4].try_into().expect("four bytes were taken");
        u32::from_le_bytes(bytes) as usize
    }

    fn word(&self, at: usize) -> u64 {
        let bytes: [u8; 8] = self.head[at..at + 8]
            .try_into()
            .expect("eight bytes were taken");
        u64::from_le_bytes(bytes)
    }

    /// Looks at a head before anything is done by its word.
    fn check_head(&self) -> Result<(), FrameError> {
        let (bytes, bytes_max) = (self.length(), self.body_bytes_max);
        if bytes > bytes_max {
            return Err(FrameError::TooLong { bytes, bytes_max });
        }
        let number = self.head[4];
        if usize::from(number) >= KINDS.len() {
            return Err(FrameError::NoSuchKind(number));
        }
        let (expected, found) = (self.sequence, self.word(8));
        if expected != found {
            return Err(FrameError::OutOfSequence { expected, found });
        }
        if head_sum(&self.head) != self.head[SUM] {
            return Err(FrameError::DamagedHead(expected));
        }
        Ok(())
    }

    fn finish(&mut self) -> Result<Frame, FrameError> {
        let body = std::mem::take(&mut self.body);
        if checksum(&self.head[..16], &body, &[]) != self.word(16) {
            return Err(FrameError::Damaged(self.sequence));
        }
        let kind = KINDS[usize::from(self.head[4])];
        self.head.clear();
        self.sequence += 1;
        Ok(Frame { kind, body })
    }
}

/// Moves bytes from the front of `bytes` to the end of `into` until that has `length`.
fn take(into: &mut Vec<u8>, length: usize, bytes: &mut &[u8]) {
    let count = (length - into.len()).min(bytes.len());
    let (taken, left) = bytes.split_at(count);
    into.extend_from_slice(taken);
    *bytes = left;
}

/// Reads numbers from the front of a body.
pub(crate) struct Fields<'a> {
    frame_kind: Kind,
    frame_bytes: usize,
    rest: &'a [u8],
}

impl<'a> Fields<'a> {
    pub(crate) fn of(frame: &'a Frame) -> Fields<'a> {
        Fields {
            frame_kind: frame.kind,
            frame_bytes: frame.body.len(),
            rest: &frame.body,
        }
    }

    /// The next bytes.
    pub(crate) fn bytes<const N: usize>(&mut self) -> Result<[u8; N], FrameError> {
        let (bytes, rest) = self
            .rest
            .split_first_chunk::<N>()
            .ok_or_else(|| self.malformed())?;
        self.rest = rest;
        Ok(*bytes)
    }

    pub(crate) fn u8(&mut self) -> Result<u8, FrameError> {
        self.bytes().map(u8::from_le_bytes)
    }

    pub(crate) fn u16(&mut self) -> Result<u16, FrameError> {
        self.bytes().map(u16::from_le_bytes)
    }

    pub(crate) fn u32(&mut self) -> Result<u32, FrameError> {
        self.bytes().map(u32::from_le_bytes)
    }

    pub(crate) fn u64(&mut self) -> Result<u64, FrameError> {
        self.bytes().map(u64::from_le_bytes)
    }

    /// All that is left.
    pub(crate) fn rest(self) -> &'a [u8] {
        self.rest
    }

    /// How many bytes are left.
    pub(crate) fn left(&self) -> usize {
        self.rest.len()
    }

    /// Nothing is left.
    pub(crate) fn end(self) -> Result<(), FrameError> {
        if self.rest.is_empty() {
            Ok(())
        } else {
            Err(self.malformed())
        }
    }

    pub(crate) fn malformed(&self) -> FrameError {
        FrameError::Malformed {
            kind: self.frame_kind,
            bytes: self.frame_bytes,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIMITS: Limits = Limits {
        message_bytes_max: 1000,
        ..Limits::DEFAULT
    };

    fn bytes_of(kind: Kind, rest: &[u8], sequence: u64) -> Vec<u8> {
        let rest = rest.to_vec();
        let prefix = vec![1, 2, 3];
        let sealed = Draft { kind, prefix, rest }.seal(sequence);
        [sealed.head, sealed.rest].concat()
    }

    /// All frames of some bytes that come in pieces of `piece`.
    fn decode(bytes: &[u8], piece: usize) -> Result<Vec<Frame>, FrameError> {
        let mut decoder = Decoder::new();
        decoder.trust(&LIMITS);
        let mut frames = Vec::new();
        for mut piece in bytes.chunks(piece) {
            while !piece.is_empty() {
                frames.extend(decoder.next(&mut piece)?);
            }
        }
        assert_eq!(decoder.is_between_frames(), frames_end(bytes, &frames));
        Ok(frames)
    }

    fn frames_end(bytes: &[u8], frames: &[Frame]) -> bool {
        let length = |frame: &Frame| HEAD_BYTES + frame.body.len();
        frames.iter().map(length).sum::<usize>() == bytes.len()
    }

    #[test]
    fn frames_come_whole_whatever_the_pieces() {
        let first = bytes_of(Kind::Message, &[7; 900], 0);
        let second = bytes_of(Kind::Leave, &[], 1);
        let bytes = [first, second].concat();
        for piece in [1, 2, 23, 24, 25, 100, 10_000] {
            let frames = decode(&bytes, piece).unwrap();
            let kinds: Vec<Kind> = frames.iter().map(|frame| frame.kind).collect();
            assert_eq!(kinds, [Kind::Message, Kind::Leave]);
            assert_eq!(frames[0].body[..4], [1, 2, 3, 7]);
            assert_eq!(frames[0].body.len(), 903);
        }
        for end in 0..bytes.len() {
            let frames = decode(&bytes[..end], 64).unwrap();
            assert!(frames.len() < 2, "a frame that is cut is none");
        }
    }

    #[test]
    fn every_changed_bit_is_found() {
        let bytes = bytes_of(Kind::Message, b"some bytes", 0);
        for at in 0..bytes.len() {
            for bit in 0..8 {
                let mut changed = bytes.clone();
                changed[at] ^= 1 << bit;
                assert!(decode(&changed, 1000).is_err(), "{at}, {bit}");
            }
        }
    }

    #[test]
    fn a_length_beyond_the_bound_is_refused_before_anything_is_allocated() {
        let mut head = bytes_of(Kind::Message, &[], 0);
        head[..4].copy_from_slice(&(1_u32 << 30).to_le_bytes());
        let mut decoder = Decoder::new();
        let bytes = 1 << 30;
        let too_long = |bytes_max| Err(FrameError::TooLong { bytes, bytes_max });
        assert_eq!(
            decoder.next(&mut &head[..HEAD_BYTES]),
            too_long(GREETING_BYTES_MAX)
        );
        assert_eq!(decoder.body.capacity(), 0);
        let mut decoder = Decoder::new();
        decoder.trust(&LIMITS);
        assert_eq!(
            decoder.next(&mut &head[..HEAD_BYTES]),
            too_long(body_bytes_max(&LIMITS))
        );
        // And of a length within the bound no more is held than has come.
        let long = bytes_of(Kind::Message, &[0; 100], 0);
        let mut decoder = Decoder::new();
        decoder.body_bytes_max = 1 << 30;
        let mut head = long[..HEAD_BYTES].to_vec();
        head[..4].copy_from_slice(&(1_u32 << 29).to_le_bytes());
        let sum = head_sum(&head);
        head[SUM].copy_from_slice(&sum);
        assert_eq!(decoder.next(&mut &head[..]), Ok(None));
        assert!(decoder.body.capacity() <= FIRST_RESERVE_BYTES);
    }

    #[test]
    fn a_frame_that_is_repeated_or_left_out_is_refused() {
        let first = bytes_of(Kind::Leave, &[], 0);
        let again = [&first[..], &first].concat();
        let (expected, found) = (1, 0);
        assert_eq!(
            decode(&again, 7),
            Err(FrameError::OutOfSequence { expected, found })
        );
        let later = bytes_of(Kind::Leave, &[], 1);
        let (expected, found) = (0, 1);
        assert_eq!(
            decode(&later, 7),
            Err(FrameError::OutOfSequence { expected, found })
        );
    }

    #[test]
    fn there_are_as_many_kinds_as_numbers() {
        for (number, kind) in KINDS.into_iter().enumerate() {
            assert_eq!(usize::from(kind.number()), number);
        }
        let mut bytes = bytes_of(Kind::Leave, &[], 0);
        bytes[4] = KINDS.len() as u8;
        assert_eq!(
            decode(&bytes, 7),
            Err(FrameError::NoSuchKind(KINDS.len() as u8))
        );
    }
}
