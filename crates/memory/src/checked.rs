//! Checked regions: a block is verified at its first touch, never at open.
//!
//! Invariant: no byte of a block is handed out before the block matched its checksum (regions
//! built in this process are trusted from the start). So a store opens in constant time, a query
//! pays for the blocks it touches once, and damage ends that query with the file and block by
//! name while everything else goes on.
//!
//! Who may touch what:
//!
//! | field | writers | readers | order |
//! |---|---|---|---|
//! | `region`, `sums`, `name` | nobody after creation | all | immutable |
//! | `verified`, bit *b* | any thread that found block *b* good, 0 to 1, once | all | relaxed: the bit guards no other memory, the bytes were there before the region was shared and never change |
//! | `unverified` | the thread whose `fetch_or` turned a bit from 0 to 1, by one | all | relaxed, for the same reason; 0 means trusted and is final |
//!
//! Two threads may verify one block at the same time: both find the same, one counts it.
//!
//! Cost: a touch of verified bytes is a bounds check, one load of `unverified` and, while that is
//! not 0, one bit test per block. The first touch of a block of a mapped file reads it through its
//! descriptor (about 15 microseconds when cached), so that an I/O error or a file cut short is an
//! error of this call instead of a signal that ends the process. A page that the kernel drops
//! afterwards and then cannot read again still raises that signal, and so does a file that is cut then.
//! Where the signal is handled ([`survive_bus_errors`](crate::survive_bus_errors)) zeros are read, of
//! verified blocks too, so whoever ends a query asks [`CheckedRegion::damage`] before it believes its
//! answer.

use crate::region::Region;
use crate::sums::{BLOCK_BYTES, block_count, block_sum};
use std::io;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// What is wrong with a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Damage {
    /// Its bytes do not match its checksum.
    Checksum,
    /// The device or file did not give its bytes.
    Unreadable(io::ErrorKind),
    /// Bytes were asked for beyond the end of the file: what refers to them does not fit it.
    Beyond,
    /// The file's length does not fit its table of checksums.
    Length,
    /// Bytes of the file were gone when they were to be read again.
    Gone,
}

impl std::fmt::Display for Damage {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Damage::Checksum => f.write_str("its checksum does not match"),
            Damage::Unreadable(kind) => write!(f, "it cannot be read: {kind}"),
            Damage::Beyond => f.write_str("it is beyond the end of the file"),
            Damage::Length => f.write_str("the file's length does not fit its checksums"),
            Damage::Gone => {
                f.write_str("bytes that were there are gone: the file was cut, or its device fails")
            }
        }
    }
}

/// A block that must not be served.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{file}: block {block} at byte {offset} is damaged: {damage}")]
pub struct DamagedBlock {
    /// The region's name: a file's name within its store.
    pub file: Arc<str>,
    /// Number of the block, from 0, in units of [`BLOCK_BYTES`].
    pub block: u64,
    /// The block's first byte within the file; for [`Damage::Beyond`] the first byte asked for.
    pub offset: u64,
    /// What is wrong.
    pub damage: Damage,
}

/// A region whose blocks are verified at first touch. Share it by `Arc`.
pub struct CheckedRegion {
    name: Arc<str>,
    region: Region,
    sums: Vec<u64>,
    verified: Vec<AtomicU64>,
    unverified: AtomicU64,
}

impl CheckedRegion {
    /// The region under this name with its table of checksums, one per block, as
    /// [`BlockSums`](crate::BlockSums) made it. Touches no byte of the region. A table of another
    /// length is [`Damage::Length`].
    pub fn new(
        name: impl Into<Arc<str>>,
        region: Region,
        sums: Vec<u64>,
    ) -> Result<CheckedRegion, DamagedBlock> {
        let name = name.into();
        let blocks = block_count(region.len() as u64);
        if sums.len() as u64 != blocks {
            let block = blocks.min(sums.len() as u64);
            let offset = block * BLOCK_BYTES as u64;
            return Err(DamagedBlock {
                file: name,
                block,
                offset,
                damage: Damage::Length,
            });
        }
        let verified = (0..sums.len().div_ceil(64))
            .map(|_| AtomicU64::new(0))
            .collect();
        Ok(CheckedRegion {
            name,
            region,
            sums,
            verified,
            unverified: AtomicU64::new(blocks),
        })
    }

    /// A region built in this process: trusted from the start.
    pub fn unchecked(name: impl Into<Arc<str>>, region: Region) -> CheckedRegion {
        CheckedRegion {
            name: name.into(),
            region,
            sums: Vec::new(),
            verified: Vec::new(),
            unverified: AtomicU64::new(0),
        }
    }

    /// The name under which damage is reported.
    pub fn name(&self) -> &Arc<str> {
        &self.name
    }

    /// Length in bytes.
    #[inline]
    pub fn len(&self) -> u64 {
        self.region.len() as u64
    }

    /// Whether there are no bytes.
    pub fn is_empty(&self) -> bool {
        self.region.is_empty()
    }

    /// The bytes of `range`, after their blocks have been verified. A range beyond the end is
    /// [`Damage::Beyond`]. O(1) once verified.
    #[inline]
    pub fn bytes(&self, range: Range<u64>) -> Result<&[u8], DamagedBlock> {
        match self.region.get(range.start as usize..range.end as usize) {
            Some(bytes) if self.is_trusted() || self.are_verified(&range) => Ok(bytes),
            Some(bytes) => self.verify(bytes, &range),
            None => self.beyond(range.start),
        }
    }

    /// The bytes of `range` if their blocks have been verified already, for hints: what is not there,
    /// or not verified yet, is `None`. O(1).
    #[inline]
    pub fn verified(&self, range: Range<u64>) -> Option<&[u8]> {
        let bytes = self.region.get(range.start as usize..range.end as usize)?;
        (self.is_trusted() || self.are_verified(&range)).then_some(bytes)
    }

    /// All bytes, once every block has been verified: the fast path of a batch, which then indexes
    /// a plain slice.
    #[inline]
    pub fn trusted(&self) -> Option<&[u8]> {
        self.is_trusted().then(|| self.region.bytes())
    }

    /// All bytes, after verifying every block that was not verified yet: for whoever reads all of
    /// them anyway.
    pub fn all(&self) -> Result<&[u8], DamagedBlock> {
        self.bytes(0..self.len())
    }

    /// The region itself, without verification, for hints to the kernel ([`Region::advise_random`]).
    pub fn region(&self) -> &Region {
        &self.region
    }

    /// The damage that came after blocks had been verified, where there is any: bytes that were read may
    /// have been zeros in place of the file's. Which block it is nobody knows; the first is named. It
    /// stays so. O(1), see [`Region::is_damaged`].
    pub fn damage(&self) -> Option<DamagedBlock> {
        self.region.is_damaged().then(|| DamagedBlock {
            file: Arc::clone(&self.name),
            block: 0,
            offset: 0,
            damage: Damage::Gone,
        })
    }

    /// Verifies every block that was not verified yet and stops at the first damaged one. The
    /// scrubber's call; O(length).
    pub fn verify_all(&self) -> Result<(), DamagedBlock> {
        self.all().map(|_| ())
    }

    /// Verifies blocks of a range that were not, until so many bytes are; whether all of the range are. What is left is counted down.
    pub fn verify_some(&self, range: Range<u64>, left: &mut u64) -> Result<bool, DamagedBlock> {
        if self.is_trusted() {
            return Ok(true);
        }
        let block_bytes = BLOCK_BYTES as u64;
        let mut at = range.start;
        while at < range.end {
            let end = ((at / block_bytes + 1) * block_bytes).min(range.end);
            if self.verified(at..end).is_none() {
                if *left == 0 {
                    return Ok(false);
                }
                self.bytes(at..end)?;
                *left = left.saturating_sub(block_bytes);
            }
            at = end;
        }
        Ok(true)
    }

    /// Reads every block again, verified before or not, and gives the damaged ones in order. For
    /// `check`; O(length).
    pub fn damaged_blocks(&self) -> impl Iterator<Item = DamagedBlock> {
        let mut scratch = Vec::new();
        (0..self.sums.len()).filter_map(move |block| self.verify_block(block, &mut scratch).err())
    }

    #[inline]
    fn is_trusted(&self) -> bool {
        self.unverified.load(Ordering::Relaxed) == 0
    }

    #[inline]
    fn is_verified(&self, block: usize) -> bool {
        self.verified[block / 64].load(Ordering::Relaxed) >> (block % 64) & 1 == 1
    }

    #[inline]
    fn are_verified(&self, range: &Range<u64>) -> bool {
        blocks(range).all(|block| self.is_verified(block))
    }

    /// The bytes, which are those of the range, once its blocks have been verified.
    #[cold]
    fn verify<'b>(&self, bytes: &'b [u8], range: &Range<u64>) -> Result<&'b [u8], DamagedBlock> {
        let mut scratch = Vec::new();
        for block in blocks(range) {
            if self.is_verified(block) {
                continue;
            }
            self.verify_block(block, &mut scratch)?;
            let bit = 1 << (block % 64);
            let before = self.verified[block / 64].fetch_or(bit, Ordering::Relaxed);
            if before & bit == 0 {
                let unverified = self.unverified.fetch_sub(1, Ordering::Relaxed);
                assert!(unverified > 0, "each block is counted once");
            }
        }
        Ok(bytes)
    }

    /// Reads a block and compares it with its checksum.
    fn verify_block(&self, block: usize, scratch: &mut Vec<u8>) -> Result<(), DamagedBlock> {
        let start = block * BLOCK_BYTES;
        let end = (start + BLOCK_BYTES).min(self.region.len());
        let damage = match self.region.read(start..end, scratch) {
            Ok(bytes) if block_sum(bytes) == self.sums[block] => return Ok(()),
            Ok(_) => Damage::Checksum,
            Err(error) => Damage::Unreadable(error.kind()),
        };
        let file = Arc::clone(&self.name);
        Err(DamagedBlock {
            file,
            block: block as u64,
            offset: start as u64,
            damage,
        })
    }

    #[cold]
    fn beyond(&self, offset: u64) -> Result<&[u8], DamagedBlock> {
        Err(DamagedBlock {
            file: Arc::clone(&self.name),
            block: offset / BLOCK_BYTES as u64,
            offset,
            damage: Damage::Beyond,
        })
    }
}

/// The blocks that a range of bytes touches.
#[inline]
fn blocks(range: &Range<u64>) -> Range<usize> {
    range.start as usize / BLOCK_BYTES..(range.end as usize).div_ceil(BLOCK_BYTES)
}

impl std::fmt::Debug for CheckedRegion {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "CheckedRegion({}, {:?})", self.name, self.region)
    }
}

#[cfg(test)]
mod tests;
