//! The records of one file, in order, up to where they end.
//!
//! What a crash can leave of records that were appended and not synced, and only that, is a *torn
//! tail*: the file ends inside a frame, or some sector's part of a frame was never written and is
//! zeros. Nobody was told that such a record is durable, so it is cut off, with whatever lies
//! behind: records appended together may reach the medium in any order. Everything else is
//! *damage*: bytes that were written and are others now, a record in a wrong place, and a torn
//! record of which a later one knows that it had been durable. A damaged record may be one that
//! somebody was told of, so it is never cut off by itself.
//!
//! | at the place of record *n* | behind it | so |
//! |---|---|---|
//! | the file ends | | the log ends |
//! | a frame or its head, and the file ends within | | torn |
//! | zeros for a head; or a frame whose checksum fails, with a part of a sector that is zeros | no head, or heads that do not know *n* to be durable | torn |
//! | the same | a head that knows *n* to be durable | damaged |
//! | anything else that is not record *n* | | damaged |
//!
//! What remains undecidable: a medium that turns sectors of the very last group into zeros, or a
//! file system that shortens a synced file, looks like a torn tail. It is reported as such.

use super::format::{
    FRAME_HEAD_BYTES, FrameHead, LogFileHead, combine, frame_end, has_hole, is_padding,
};
use std::borrow::Cow;
use xxhash_rust::xxh3::xxh3_64;

/// Why a file's records end before the file does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum TailFault {
    /// A crash left it so.
    Torn,
    /// No crash left it so.
    Damaged(String),
}

/// One record as it lies in a file.
pub(super) struct Record<'b> {
    pub position: u64,
    stored: &'b [u8],
    mask: u64,
    end: u64,
}

impl<'b> Record<'b> {
    /// The payload, in place unless it is masked.
    pub fn payload(&self) -> Cow<'b, [u8]> {
        if self.mask == 0 {
            return Cow::Borrowed(self.stored);
        }
        let mut bytes = self.stored.to_vec();
        combine(&mut bytes, 0, self.mask);
        Cow::Owned(bytes)
    }

    /// Bytes of the payload.
    pub fn payload_bytes(&self) -> u64 {
        self.stored.len() as u64
    }
}

/// Walks over the records of a file.
pub(super) struct Records<'b> {
    /// The file up to where its records may reach.
    bytes: &'b [u8],
    first: u64,
    /// Position of the next record.
    pub next: u64,
    /// Where it begins.
    pub offset: u64,
    /// Records below this position are stepped over: their payloads are not looked at.
    needed: u64,
}

impl<'b> Records<'b> {
    /// The records of the file with this head. Those below `needed` are passed over.
    pub fn new(bytes: &'b [u8], head: &LogFileHead, needed: u64) -> Records<'b> {
        Records {
            bytes,
            first: head.first,
            next: head.first,
            offset: super::format::FILE_HEAD_BYTES as u64,
            needed,
        }
    }

    /// The next record that is needed; `None` where the file ends behind a whole record.
    pub fn step(&mut self) -> Result<Option<Record<'b>>, TailFault> {
        loop {
            if self.offset == self.bytes.len() as u64 {
                return Ok(None);
            }
            let record = self.record()?;
            assert!(record.end > self.offset, "a record has a head");
            self.offset = record.end;
            self.next += 1;
            if record.position >= self.needed {
                return Ok(Some(record));
            }
        }
    }

    fn record(&self) -> Result<Record<'b>, TailFault> {
        let start = usize::try_from(self.offset).unwrap_or(usize::MAX);
        let rest = self.bytes.get(start..).unwrap_or_default();
        let Some(head_bytes) = rest.get(..FRAME_HEAD_BYTES) else {
            return Err(TailFault::Torn);
        };
        let Some(head) = FrameHead::read(self.bytes, self.offset, self.first) else {
            return Err(if head_bytes.iter().all(|&byte| byte == 0) {
                self.unless_known_behind(self.offset + 8)
            } else {
                self.damaged("its head does not match its checksum")
            });
        };
        if head.position != self.next {
            let what = format!("record {} stands here", head.position);
            return Err(self.damaged(&what));
        }
        let end = frame_end(self.offset, head.length);
        let frame = end
            .and_then(|end| usize::try_from(end - self.offset).ok())
            .and_then(|length| rest.get(..length));
        let (Some(end), Some(frame)) = (end, frame) else {
            return Err(TailFault::Torn);
        };
        let (stored, padding) = frame[FRAME_HEAD_BYTES..].split_at(head.length as usize);
        let is_passed = head.position < self.needed;
        if !is_passed && (xxh3_64(stored) != head.payload_sum || !is_padding(padding)) {
            return Err(if has_hole(frame, self.offset) {
                self.unless_known_behind(end)
            } else {
                self.damaged("it does not match its checksum")
            });
        }
        Ok(Record {
            position: head.position,
            stored,
            mask: head.mask,
            end,
        })
    }

    fn damaged(&self, what: &str) -> TailFault {
        TailFault::Damaged(format!("of record {}: {what}", self.next))
    }

    /// A record that was never written whole is torn, unless a later record knows better.
    fn unless_known_behind(&self, from: u64) -> TailFault {
        let mut offset = from;
        while offset < self.bytes.len() as u64 {
            let Some(head) = FrameHead::read(self.bytes, offset, self.first) else {
                offset += 8;
                continue;
            };
            let durable = head.position.saturating_sub(1 + u64::from(head.pending));
            if durable >= self.next {
                let what = format!(
                    "a part of it is missing, and record {} behind it was written when it was \
                     there",
                    head.position
                );
                return self.damaged(&what);
            }
            offset = frame_end(offset, head.length).unwrap_or(u64::MAX);
        }
        TailFault::Torn
    }
}
