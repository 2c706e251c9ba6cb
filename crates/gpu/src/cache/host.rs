//! Pages in the host's memory: where kernels read a page that is not on the device, and where copies of it begin.
//!
//! The memory is pinned: it stays where it is, and the device reaches it. Pinning costs about a millisecond for 4 MiB, so it is
//! taken in slabs, and none before a segment has no room on the device.

use device::{Device, DeviceError, HostRegion};
use std::sync::atomic::AtomicU64;

/// Bytes of a slab at most.
const SLAB_BYTES: u64 = 64 << 20;

/// A page.
#[derive(Clone, Copy, Debug)]
pub(crate) struct HostPage {
    slab: u32,
    place: u32,
}

/// See the head of this file.
pub(crate) struct HostPages {
    bits: u32,
    /// Pages that may still be pinned.
    unpinned: u64,
    slabs: Vec<HostRegion>,
    free: Vec<HostPage>,
}

impl HostPages {
    /// Pages of so many bits, in so many bytes at most.
    pub(crate) fn new(bits: u32, bytes: u64) -> HostPages {
        HostPages {
            bits,
            unpinned: bytes >> bits,
            slabs: Vec::new(),
            free: Vec::new(),
        }
    }

    /// Pages that can be had.
    pub(crate) fn available(&self) -> u64 {
        self.unpinned + self.free.len() as u64
    }

    /// Takes so many pages, which must be available.
    pub(crate) fn take(
        &mut self,
        device: &dyn Device,
        count: usize,
    ) -> Result<Vec<HostPage>, DeviceError> {
        while self.free.len() < count {
            self.pin(device)?;
        }
        Ok(self.free.split_off(self.free.len() - count))
    }

    fn pin(&mut self, device: &dyn Device) -> Result<(), DeviceError> {
        let most = (SLAB_BYTES >> self.bits).max(1);
        let pages = self.unpinned.min(most);
        assert!(pages > 0, "the caller has asked what is available");
        let region = device.stage(pages << self.bits)?;
        self.unpinned -= pages;
        let slab = self.slabs.len() as u32;
        self.slabs.push(region);
        let places = (0..pages as u32).rev();
        self.free
            .extend(places.map(|place| HostPage { slab, place }));
        Ok(())
    }

    /// Takes pages back.
    pub(crate) fn release(&mut self, pages: Vec<HostPage>) {
        self.free.extend(pages);
    }

    /// Where a page begins: its slab, and the byte in it.
    pub(crate) fn place(&self, page: HostPage) -> (&HostRegion, u64) {
        let slab = &self.slabs[page.slab as usize];
        (slab, u64::from(page.place) << self.bits)
    }

    /// Where kernels see it.
    pub(crate) fn address(&self, page: HostPage) -> u64 {
        let (slab, at) = self.place(page);
        slab.address() + at
    }

    /// Its words.
    pub(crate) fn words(&self, page: HostPage) -> &[AtomicU64] {
        let (slab, at) = self.place(page);
        let from = (at / 8) as usize;
        &slab.words()[from..from + (1 << self.bits) / 8]
    }
}
