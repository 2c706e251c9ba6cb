//! Memory of the device that is taken once and handed out from its beginning.
//!
//! Images stay as long as their base is walked, so nothing is given back piece by piece.

use crate::error::GpuError;
use device::{Device, DeviceError, Region, Slice};

/// Where parts begin: lines of the device's memory, and the rank blocks of key indexes.
pub(crate) const ALIGNMENT: u64 = 256;

/// See the head of this file.
pub(crate) struct Arena {
    region: Region,
    used: u64,
}

impl Arena {
    /// Takes so many bytes.
    pub(crate) fn new(device: &dyn Device, bytes: u64) -> Result<Arena, DeviceError> {
        Ok(Arena {
            region: device.region(bytes)?,
            used: 0,
        })
    }

    /// All of it.
    pub(crate) fn region(&self) -> &Region {
        &self.region
    }

    /// Bytes handed out.
    pub(crate) fn used(&self) -> u64 {
        self.used
    }

    /// Bytes left.
    pub(crate) fn free(&self) -> u64 {
        self.region.bytes() - self.used
    }

    /// Hands out so many bytes.
    pub(crate) fn take(&mut self, bytes: u64) -> Result<Slice, GpuError> {
        let padded = bytes.next_multiple_of(ALIGNMENT);
        if padded > self.free() {
            return Err(GpuError::NoRoom {
                asked: bytes,
                free: self.free(),
            });
        }
        let slice = self.region.slice(self.used..self.used + bytes);
        self.used += padded;
        Ok(slice)
    }
}
