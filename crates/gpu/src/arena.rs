//! Memory of the device for images, taken once and handed out in frames of one length.
//!
//! A frame holds a page of a segment, or a piece of a run that holds a segment whole. Runs are taken from the beginning and
//! single frames from the end, so that runs find room as long as there is some.

use crate::error::GpuError;
use device::{Device, Region, Slice};
use std::ops::Range;

/// Where parts begin: lines of the device's memory, and the rank blocks of key indexes. Pages are at least so long.
pub(crate) const ALIGNMENT: u64 = 256;

/// The least and the most binary logarithm of a frame's bytes: lines, and what a copy takes some 20 us for.
pub(crate) const BITS: (u32, u32) = (ALIGNMENT.trailing_zeros(), 20);

/// What a frame holds something of: a segment's number.
pub(crate) type Holder = u32;

/// See the head of this file.
pub(crate) struct Arena {
    region: Region,
    bits: u32,
    held: Vec<Option<Holder>>,
    free: usize,
    /// Frames from here on are held.
    top: usize,
}

impl Arena {
    /// Takes so many bytes, in frames of so many bits, or of as many as an arena of that length is well cut into.
    pub(crate) fn new(
        device: &dyn Device,
        bytes: u64,
        bits: Option<u32>,
    ) -> Result<Arena, GpuError> {
        let bits = bits.unwrap_or_else(|| usual_bits(bytes)).max(BITS.0);
        let count = (bytes >> bits) as usize;
        if count == 0 {
            let page = 1 << bits;
            return Err(GpuError::NoPage { bytes, page });
        }
        Ok(Arena {
            region: device.region(bytes)?,
            bits,
            held: vec![None; count],
            free: count,
            top: count,
        })
    }

    /// The binary logarithm of a frame's bytes.
    pub(crate) fn bits(&self) -> u32 {
        self.bits
    }

    /// Frames.
    pub(crate) fn frames(&self) -> usize {
        self.held.len()
    }

    /// Frames that so many bytes take.
    pub(crate) fn frames_of(&self, bytes: u64) -> usize {
        bytes.div_ceil(1 << self.bits) as usize
    }

    /// Bytes handed out.
    pub(crate) fn used(&self) -> u64 {
        ((self.held.len() - self.free) as u64) << self.bits
    }

    /// Bytes left.
    pub(crate) fn free(&self) -> u64 {
        (self.free as u64) << self.bits
    }

    /// The first frame of a run of so many in which each is free or held by one whom `may_go` gives up.
    pub(crate) fn run(&self, count: usize, may_go: &dyn Fn(Holder) -> bool) -> Option<usize> {
        let mut length = 0;
        for (frame, held) in self.held.iter().enumerate() {
            length = if held.is_none_or(may_go) {
                length + 1
            } else {
                0
            };
            if length == count {
                return Some(frame + 1 - count);
            }
        }
        (count == 0).then_some(0)
    }

    /// Who holds frames of a run, each once at least.
    pub(crate) fn holders(&self, run: Range<usize>) -> Vec<Holder> {
        let mut holders: Vec<Holder> = self.held[run].iter().flatten().copied().collect();
        holders.dedup();
        holders
    }

    /// Hands a run out, all of which is free.
    pub(crate) fn take_run(&mut self, run: Range<usize>, holder: Holder) {
        self.free -= run.len();
        for held in &mut self.held[run] {
            assert!(held.is_none(), "a frame is handed out once");
            *held = Some(holder);
        }
    }

    /// Hands one frame out.
    pub(crate) fn take(&mut self, holder: Holder) -> Option<usize> {
        let frame = self.held[..self.top].iter().rposition(Option::is_none);
        self.top = frame.unwrap_or(0);
        let frame = frame?;
        self.take_run(frame..frame + 1, holder);
        Some(frame)
    }

    /// Takes frames back.
    pub(crate) fn release(&mut self, run: Range<usize>) {
        self.free += run.len();
        self.top = self.top.max(run.end);
        for held in &mut self.held[run] {
            assert!(held.is_some(), "a frame is given back once");
            *held = None;
        }
    }

    /// Where a frame begins, for kernels.
    pub(crate) fn address(&self, frame: usize) -> u64 {
        self.region.whole().address() + ((frame as u64) << self.bits)
    }

    /// So many bytes from a frame's beginning on.
    pub(crate) fn slice(&self, frame: usize, bytes: u64) -> Slice {
        let at = (frame as u64) << self.bits;
        self.region.slice(at..at + bytes)
    }
}

/// A thousandth of the arena, 1 MiB at most: longer pages are copied no faster and hold more that nobody reads.
fn usual_bits(bytes: u64) -> u32 {
    (bytes >> 10).max(1).ilog2().clamp(BITS.0, BITS.1)
}
