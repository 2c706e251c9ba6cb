//! Sections of a walk on a device: the first steps of a plan, from its seed on, done by kernels.
//!
//! ```text
//!  Prepared --compile--> program --+--> strip of the seed: one graph of launches --> rows, counted or read
//!  segments of the base --image----+         overflow: the strip is halved
//! ```
//!
//! A [`Gpu`] holds images of a base's segments in the device's memory and room for tables. [`Gpu::section`] takes the longest
//! beginning of a plan that the kernels cover ([`program`]); what stands behind it is walked on the processor, over the rows
//! that [`Section::rows`] gives (`explore::Walk::section`). A [`Section`] walks the seed strip by strip, each by one launch: counts stay
//! on the device from step to step (Wukong+G, ATC'18, section 3, has the host ask for each).
//!
//! Invariant: a strip's rows are all there or the strip says where there was no room; nothing of it has been given out then.
//!
//! Does not know: nodes, windows, query text, clocks, threads.

mod arena;
mod error;
mod image;
mod layout;
mod program;
mod rooms;
mod rows;
mod section;
#[cfg(test)]
mod tests;

pub use error::{GpuError, NotCovered};
pub use rows::{Piece, Rows};
pub use section::{Patience, Ran, Section};

pub use device;

use arena::Arena;
use device::{Device, Stream};
use explore::Prepared;
use image::Images;
use query::plan::Slot;
use rooms::Rooms;
use std::sync::{Arc, Mutex, PoisonError};
use store::Snapshot;

/// How a device's memory is divided.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Memory {
    /// Bytes for images of segments.
    pub images: u64,
    /// Bytes for the tables of one section.
    pub tables: u64,
    /// Sections that there may be at once.
    pub sections: usize,
}

/// A device with the images of one base.
pub struct Gpu {
    device: Arc<dyn Device>,
    stream: Stream,
    snapshot: Arc<Snapshot>,
    images: Mutex<Images>,
    rooms: Rooms,
    long_list: u64,
}

/// Rows of a list above which it is walked by all blocks together: a block takes some microseconds for a thousand.
const LONG_LIST: u64 = 1 << 14;

impl Gpu {
    /// Takes all the memory that it will ever have.
    pub fn new(
        device: Arc<dyn Device>,
        snapshot: Arc<Snapshot>,
        memory: Memory,
    ) -> Result<Gpu, GpuError> {
        let stream = device.stream()?;
        let arena = Arena::new(&*device, memory.images)?;
        let rooms = Rooms::new(&device, memory.sections, memory.tables)?;
        Ok(Gpu {
            device,
            stream,
            snapshot,
            images: Mutex::new(Images::new(arena)),
            rooms,
            long_list: LONG_LIST,
        })
    }

    /// The same, with lists of more rows than these walked by all blocks together: for tests.
    #[must_use]
    pub fn with_long_lists(mut self, rows: u64) -> Gpu {
        self.long_list = rows;
        self
    }

    /// The base that it has images of.
    pub fn snapshot(&self) -> &Arc<Snapshot> {
        &self.snapshot
    }

    /// Bytes of images that are on the device.
    pub fn image_bytes(&self) -> u64 {
        self.locked().used()
    }

    /// The longest beginning of the plan that the device walks, with its segments on the device. The plan is prepared for
    /// the base that this device has images of, or for a version whose layers leave the plan's segments alone.
    pub fn section(&self, prepared: &Prepared<'_>) -> Result<Section, GpuError> {
        self.section_with_sum(prepared, &[])
    }

    /// The same, with a checksum over these columns for each strip; columns that the last table does not have are
    /// left out.
    pub fn section_with_sum(
        &self,
        prepared: &Prepared<'_>,
        columns: &[Slot],
    ) -> Result<Section, GpuError> {
        let program = {
            let mut images = self.locked();
            let mut image =
                |segment| images.segment(&*self.device, &self.stream, &self.snapshot, segment);
            program::compile(prepared, &self.snapshot, &mut image)?
        };
        let room = self.rooms.take().ok_or(GpuError::Busy)?;
        let uploaded = self.device.mark(&self.stream)?;
        self.device.follow(room.stream(), &uploaded)?;
        let device = Arc::clone(&self.device);
        Section::new(device, &program, (room, self.long_list), columns)
    }

    fn locked(&self) -> std::sync::MutexGuard<'_, Images> {
        // An image is in the list when it is whole; one that a panic left out is made again.
        self.images.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
