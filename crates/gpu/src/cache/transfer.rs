//! Copies to the device, by way of a ring of pinned memory, and what is counted of them.
//!
//! The driver copies what is not pinned piece by piece through memory of its own and lets the caller wait. So the thread that
//! wants a segment on the device fills one buffer while those before it are on their way: bytes are copied at the speed at which
//! one thread reads them.

use crate::image::Contents;
use device::{Device, DeviceError, HostRegion, Mark, Slice, Stream};

/// Bytes of a buffer, at most: what a link carries in 80 us.
const PIECE_BYTES: u64 = 4 << 20;

/// Buffers: one is filled, one is copied, and one waits.
const BUFFERS: usize = 3;

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
    buffers: Vec<(HostRegion, Option<Mark>)>,
    next: usize,
}

impl Ring {
    /// Takes buffers for an arena of so many bytes.
    pub(crate) fn new(device: &dyn Device, arena_bytes: u64) -> Result<Ring, DeviceError> {
        let bytes = PIECE_BYTES.min(arena_bytes);
        let buffer = |_| Ok((device.stage(bytes)?, None));
        Ok(Ring {
            buffers: (0..BUFFERS)
                .map(buffer)
                .collect::<Result<_, DeviceError>>()?,
            next: 0,
        })
    }

    /// Copies the beginning of some contents, as long as `to` is.
    pub(crate) fn upload(
        &mut self,
        (device, on): (&dyn Device, &Stream),
        contents: &Contents<'_>,
        to: &Slice,
        traffic: &mut Traffic,
    ) -> Result<(), DeviceError> {
        let mut from = 0;
        while from < to.bytes() {
            let place = self.next % self.buffers.len();
            let (buffer, mark) = &mut self.buffers[place];
            self.next += 1;
            if let Some(mark) = mark.take() {
                device.wait(&mark)?;
            }
            let end = to.bytes().min(from + buffer.bytes() / 8 * 8);
            contents.fill(from..end, buffer.words());
            device.upload_staged(on, &to.slice(from..end), buffer)?;
            *mark = Some(device.mark(on)?);
            traffic.copies += 1;
            traffic.copied_bytes += end - from;
            from = end;
        }
        Ok(())
    }
}
