//! The addresses of paged images, and the table that leads from their pages to memory.
//!
//! Each segment that a paged program looks at has a range of pages, from page 1 on. An entry of the table is the address of the
//! page's bytes, on the device or on the host, or 0 for a page that nobody has.
//!
//! | who | touches | when |
//! |---|---|---|
//! | the cache | the mirrors | after the last write of the table is done ([`Space::settle`]) |
//! | the stream of copies | the table | where it was told to, from a mirror |
//! | kernels | the table | any time; entries of segments that running sections look at change from one right address to another |
//!
//! There are two mirrors, because two writes can be under way at once: the addresses of pages as they are when a section begins,
//! and, behind the copies, those of pages that were brought to the device. A write is of changed entries alone, so the first
//! never carries an address of the second.

use device::{Device, DeviceError, HostRegion, Mark, Region, Stream};
use std::ops::Range;
use std::sync::atomic::Ordering;

/// Which write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Write {
    /// Where pages are.
    Now = 0,
    /// Where they are behind the copies.
    Arrived = 1,
}

/// See the head of this file.
pub(crate) struct Space {
    table: Region,
    mirrors: [HostRegion; 2],
    changed: [Vec<u64>; 2],
    free: Vec<Range<u64>>,
    mark: Option<Mark>,
}

impl Space {
    /// Room for so many pages.
    pub(crate) fn new(device: &dyn Device, pages: u64) -> Result<Space, DeviceError> {
        let bytes = 8 * (pages + 1);
        Ok(Space {
            table: device.region(bytes)?,
            mirrors: [device.stage(bytes)?, device.stage(bytes)?],
            changed: [Vec::new(), Vec::new()],
            free: std::iter::once(1..pages + 1).collect(),
            mark: None,
        })
    }

    /// Where the table is.
    pub(crate) fn table(&self) -> u64 {
        self.table.whole().address()
    }

    /// Waits until the last write is done.
    pub(crate) fn settle(&mut self, device: &dyn Device) -> Result<(), DeviceError> {
        if let Some(mark) = &self.mark {
            device.wait(mark)?;
        }
        self.mark = None;
        Ok(())
    }

    /// The first of so many pages side by side, where there are as many.
    pub(crate) fn take(&mut self, count: u64) -> Option<u64> {
        let fits = |range: &Range<u64>| range.end - range.start >= count;
        let place = self.free.iter().position(fits)?;
        let range = &mut self.free[place];
        let first = range.start;
        range.start += count;
        if range.is_empty() {
            self.free.remove(place);
        }
        Some(first)
    }

    /// Takes pages back.
    pub(crate) fn release(&mut self, range: Range<u64>) {
        for page in range.clone() {
            self.set(Write::Now, page, 0);
        }
        let place = self.free.partition_point(|free| free.start < range.start);
        self.free.insert(place, range);
        self.free.dedup_by(|next, before| {
            let touch = before.end == next.start;
            if touch {
                before.end = next.end;
            }
            touch
        });
    }

    /// Lets the entry of a page be this address with the next such write.
    pub(crate) fn set(&mut self, write: Write, page: u64, address: u64) {
        let word = &self.mirrors[write as usize].words()[page as usize];
        word.store(address, Ordering::Relaxed);
        self.changed[write as usize].push(page);
    }

    /// Writes what has changed. After an error it has changed still.
    pub(crate) fn write(
        &mut self,
        device: &dyn Device,
        on: &Stream,
        write: Write,
    ) -> Result<(), DeviceError> {
        let changed = &mut self.changed[write as usize];
        if changed.is_empty() {
            return Ok(());
        }
        changed.sort_unstable();
        changed.dedup();
        for run in changed.chunk_by(|page, next| page + 1 == *next) {
            let at = 8 * run[0];
            let slice = self.table.slice(at..at + 8 * run.len() as u64);
            device.upload_staged_from(on, &slice, &self.mirrors[write as usize], at)?;
        }
        changed.clear();
        self.mark = Some(device.mark(on)?);
        Ok(())
    }

    /// Takes a write of arrivals back that did not begin or broke off: what it named is to be written by the next one.
    pub(crate) fn put_off(&mut self) {
        for page in std::mem::take(&mut self.changed[Write::Arrived as usize]) {
            let word = &self.mirrors[Write::Arrived as usize].words()[page as usize];
            let address = word.load(Ordering::Relaxed);
            self.set(Write::Now, page, address);
        }
    }

    /// The address that a page has once all is written.
    #[cfg(test)]
    pub(crate) fn address(&self, device: &dyn Device, on: &Stream, page: u64) -> u64 {
        let mut bytes = [0; 8];
        let slice = self.table.slice(8 * page..8 * page + 8);
        device
            .download(on, &slice, &mut bytes)
            .expect("the twin does not fail");
        u64::from_ne_bytes(bytes)
    }
}
