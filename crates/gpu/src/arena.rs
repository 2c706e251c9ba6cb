//! Memory of the device for images, taken once and handed out in frames of one length. Of several devices that see each other it is a
//! region of each, one behind the other.
//!
//! A frame holds a page of a segment, or a piece of a run that holds a segment whole. Runs are taken from the beginning and
//! single frames from the end, so that runs find room as long as there is some. A run lies in one region.

use crate::error::GpuError;
use device::{Device, Region, Slice};
use std::ops::Range;
use std::sync::Arc;

/// Where parts begin: lines of the device's memory, and the rank blocks of key indexes. Pages are at least so long.
pub(crate) const ALIGNMENT: u64 = 256;

/// The least and the most binary logarithm of a frame's bytes: lines, and what a copy takes some 20 us for.
pub(crate) const BITS: (u32, u32) = (ALIGNMENT.trailing_zeros(), 20);

/// What a frame holds something of: a segment's number.
pub(crate) type Holder = u32;

/// See the head of this file.
pub(crate) struct Arena {
    regions: Vec<Region>,
    /// Frames of each.
    each: usize,
    bits: u32,
    held: Vec<Option<Holder>>,
    free: usize,
    /// Frames from here on are held.
    top: usize,
}

impl Arena {
    /// Takes so many bytes of each device, in frames of so many bits, or of as many as an arena of that length is well cut into.
    pub(crate) fn new(
        devices: &[Arc<dyn Device>],
        bytes: u64,
        bits: Option<u32>,
    ) -> Result<Arena, GpuError> {
        let bits = bits.unwrap_or_else(|| usual_bits(bytes)).max(BITS.0);
        let each = (bytes >> bits) as usize;
        if each == 0 {
            let page = 1 << bits;
            return Err(GpuError::NoPage { bytes, page });
        }
        let regions = devices.iter().map(|device| device.region(bytes));
        let regions = regions.collect::<Result<Vec<_>, _>>()?;
        let count = each * regions.len();
        Ok(Arena {
            regions,
            each,
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

    /// Frames of a run, at most.
    pub(crate) fn run_max(&self) -> usize {
        self.each
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

    /// How many frames are free or held by one whom `may_go` gives up.
    pub(crate) fn count(&self, may_go: &dyn Fn(Holder) -> bool) -> usize {
        let held = self.held.iter().flatten();
        self.free + held.filter(|holder| may_go(**holder)).count()
    }

    /// The first frame of a run of so many in which each is free or held by one whom `may_go` gives up.
    pub(crate) fn run(&self, count: usize, may_go: &dyn Fn(Holder) -> bool) -> Option<usize> {
        let mut length = 0;
        for (frame, held) in self.held.iter().enumerate() {
            if frame.is_multiple_of(self.each) {
                length = 0;
            }
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

    /// On which of the devices a frame lies.
    pub(crate) fn device(&self, frame: usize) -> usize {
        frame / self.each
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
        let (region, at) = self.place(frame);
        region.whole().address() + at
    }

    /// So many bytes from a frame's beginning on.
    pub(crate) fn slice(&self, frame: usize, bytes: u64) -> Slice {
        let (region, at) = self.place(frame);
        region.slice(at..at + bytes)
    }

    /// The region of a frame, and the byte of it at which that begins.
    fn place(&self, frame: usize) -> (&Region, u64) {
        let region = &self.regions[frame / self.each];
        (region, ((frame % self.each) as u64) << self.bits)
    }
}

/// A thousandth of the arena, 1 MiB at most: longer pages are copied no faster and hold more that nobody reads.
fn usual_bits(bytes: u64) -> u32 {
    (bytes >> 10).max(1).ilog2().clamp(BITS.0, BITS.1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use device::twin::Twin;

    #[test]
    fn a_run_lies_in_the_memory_of_one_device() {
        let twin = |seed| Twin::new(1 << 20, seed).map(|twin| Arc::new(twin) as Arc<dyn Device>);
        let devices: Result<Vec<_>, _> = (0..2).map(twin).collect();
        let Ok(devices) = devices else {
            eprintln!("SKIPPED: there is no host twin");
            return;
        };
        let mut arena = Arena::new(&devices, 4 << 8, Some(8)).expect("there is memory");
        assert_eq!((arena.frames(), arena.run_max()), (8, 4));
        let none = |_| false;
        assert_eq!(arena.run(5, &none), None, "no device has so many");
        arena.take_run(0..1, 7);
        assert_eq!(arena.run(3, &none), Some(1));
        assert_eq!(arena.run(4, &none), Some(4), "three and one are no four");
        assert_eq!(arena.run(4, &|holder| holder == 7), Some(0));
        let behind = |frame: usize| arena.address(frame) - arena.address(frame - 1);
        assert!([1, 2, 3, 5, 6, 7].map(behind).iter().all(|it| *it == 256));
        assert_eq!(arena.slice(5, 256).address(), arena.address(5));
        assert_eq!(arena.take(9), Some(7), "single frames come from the end");
        arena.release(7..8);
        assert_eq!(arena.free(), 7 << 8);
    }
}
