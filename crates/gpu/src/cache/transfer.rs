//! Copies to the device, by way of pinned memory, and what is counted of them.
//!
//! The driver copies what is not pinned piece by piece through memory of its own and lets the caller wait. So bytes are written to
//! buffers that are, some of which are filled while others are on their way. One thread fills them at 8 GB/s, of the link's 55: several
//! do, each a piece of its own, and tell the copies' stream when it is full. They come in any order; nobody looks before all have.

use crate::image::Contents;
use device::{Device, DeviceError, HostRegion, Mark, Slice, Stream};
use std::collections::VecDeque;
use std::ops::Range;
use std::sync::{Mutex, MutexGuard, PoisonError};
use store::load::workers;

/// Bytes of a buffer, at most: what a link carries in 20 us.
const PIECE_BYTES: u64 = 1 << 20;

/// Buffers of a thread: one is filled while one is copied.
const BUFFERS: usize = 2;

/// What was copied for images.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Traffic {
    /// Copies from the host's memory to the device's.
    pub copies: u64,
    /// Bytes of them.
    pub copied_bytes: u64,
    /// Bytes that were written to pages of the host's memory, where kernels read them in place.
    pub hosted_bytes: u64,
    /// Segments, and pages of segments, that gave their place on the device up.
    pub evictions: u64,
}

/// See the head of this file.
pub(crate) struct Ring {
    threads: usize,
    /// Bytes of a buffer, a multiple of 8.
    piece_bytes: u64,
    /// Those that nobody fills, the one that was told first first.
    buffers: Mutex<VecDeque<Buffer>>,
}

struct Buffer {
    bytes: HostRegion,
    copied: Copied,
}

/// Whether a buffer may be filled again.
enum Copied {
    Nothing,
    /// Once this mark has passed.
    Before(Mark),
    /// Once all that the stream was told is done: it was not said when its copy ends.
    Unknown,
}

impl Ring {
    /// Takes buffers for so many threads that fill them, and for an arena of so many bytes.
    pub(crate) fn new(
        device: &dyn Device,
        threads: usize,
        arena_bytes: u64,
    ) -> Result<Ring, DeviceError> {
        let threads = threads.max(1);
        let piece_bytes = PIECE_BYTES.min(arena_bytes) / 8 * 8;
        let buffer = |_| {
            Ok(Buffer {
                bytes: device.stage(piece_bytes)?,
                copied: Copied::Nothing,
            })
        };
        let buffers: Result<_, DeviceError> = (0..BUFFERS * threads).map(buffer).collect();
        Ok(Ring {
            threads,
            piece_bytes,
            buffers: Mutex::new(buffers?),
        })
    }

    /// Threads that fill buffers.
    pub(crate) fn threads(&self) -> usize {
        self.threads
    }

    /// Copies the beginning of some contents, as long as `to` is.
    pub(crate) fn upload(
        &self,
        on: (&dyn Device, &Stream),
        contents: &Contents<'_>,
        to: &Slice,
        traffic: &mut Traffic,
    ) -> Result<(), DeviceError> {
        let pieces = to.bytes().div_ceil(self.piece_bytes);
        workers::for_each(self.threads, pieces as usize, |piece| {
            let from = piece as u64 * self.piece_bytes;
            let range = from..to.bytes().min(from + self.piece_bytes);
            let first = self.buffers().pop_front();
            let mut buffer = first.expect("there are more than threads that fill them");
            let copied = buffer.copy(on, contents, range, to);
            self.buffers().push_back(buffer);
            copied
        })?;
        traffic.copies += pieces;
        traffic.copied_bytes += to.bytes();
        Ok(())
    }

    fn buffers(&self) -> MutexGuard<'_, VecDeque<Buffer>> {
        self.buffers.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Buffer {
    /// Copies a range of the contents to the same range of `to`.
    fn copy(
        &mut self,
        (device, on): (&dyn Device, &Stream),
        contents: &Contents<'_>,
        range: Range<u64>,
        to: &Slice,
    ) -> Result<(), DeviceError> {
        match std::mem::replace(&mut self.copied, Copied::Unknown) {
            Copied::Nothing => {}
            Copied::Before(mark) => device.wait(&mark)?,
            Copied::Unknown => device.wait(&device.mark(on)?)?,
        }
        contents.fill(range.clone(), self.bytes.words());
        device.upload_staged(on, &to.slice(range), &self.bytes)?;
        self.copied = Copied::Before(device.mark(on)?);
        Ok(())
    }
}
