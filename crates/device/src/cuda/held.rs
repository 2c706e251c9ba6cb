//! Memory of the device and of the host. See `driver` for what the arguments of `unsafe` lean on.
//!
//! Memory is given back when nothing that was put into a stream may touch it any more, so its drop waits for the whole
//! context. That costs what is still running, and regions are dropped when a device is given up.

#![allow(unsafe_code)]

use super::driver::{Context, Handle};
use super::trouble::{check, is_out_of_memory};
use crate::DeviceError;
use crate::region::Words;
use cudarc::driver::sys;
use std::any::Any;
use std::ptr::null_mut;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

/// Memory of the device.
pub(super) struct Memory {
    address: sys::CUdeviceptr,
    context: Arc<Context>,
}

impl Memory {
    pub(super) fn new(context: &Arc<Context>, bytes: u64) -> Result<Memory, DeviceError> {
        context.bind()?;
        let mut address = 0;
        // SAFETY: it writes one address, for which there is room. None has 0 bytes.
        let code = unsafe { sys::cuMemAlloc_v2(&raw mut address, bytes.max(1) as usize) };
        if is_out_of_memory(code) {
            return Err(DeviceError::OutOfMemory { asked: bytes });
        }
        check("give memory", code)?;
        Ok(Memory {
            address,
            context: Arc::clone(context),
        })
    }

    pub(super) fn address(&self) -> u64 {
        self.address
    }
}

impl Drop for Memory {
    fn drop(&mut self) {
        let _ = self.context.finish();
        // SAFETY: it came from `cuMemAlloc`, no slice of it is left, and nothing runs that may touch it.
        let _ = unsafe { sys::cuMemFree_v2(self.address) };
    }
}

/// Zeroed host memory that the device reaches and that stays where it is.
pub(super) struct Pinned {
    words: Handle<AtomicU64>,
    count: usize,
    address: u64,
    context: Arc<Context>,
}

impl Pinned {
    /// Words of 8 bytes. Cached as other memory is: the host reads it too.
    pub(super) fn new(context: &Arc<Context>, count: usize) -> Result<Pinned, DeviceError> {
        context.bind()?;
        let count = count.max(1);
        let bytes = count * size_of::<u64>();
        let mut raw = null_mut();
        let flags = sys::CU_MEMHOSTALLOC_DEVICEMAP | sys::CU_MEMHOSTALLOC_PORTABLE;
        // SAFETY: it writes one pointer, for which there is room.
        let code = unsafe { sys::cuMemHostAlloc(&raw mut raw, bytes, flags) };
        if is_out_of_memory(code) {
            let asked = bytes as u64;
            return Err(DeviceError::OutOfMemory { asked });
        }
        check("give host memory", code)?;
        // SAFETY: there are so many bytes, which nobody else knows yet. The driver aligns to pages.
        unsafe { raw.cast::<u8>().write_bytes(0, bytes) };
        let mut pinned = Pinned {
            words: Handle(raw.cast()),
            count,
            address: 0,
            context: Arc::clone(context),
        };
        // SAFETY: the memory was made for that; it writes one address, for which there is room.
        check("show host memory to the device", unsafe {
            sys::cuMemHostGetDevicePointer_v2(&raw mut pinned.address, raw, 0)
        })?;
        Ok(pinned)
    }

    /// Where the device sees it.
    pub(super) fn address(&self) -> u64 {
        self.address
    }

    pub(super) fn context(&self) -> &Arc<Context> {
        &self.context
    }
}

impl Words for Pinned {
    fn words(&self) -> &[AtomicU64] {
        // SAFETY: so many words lie there, aligned and zeroed at first, until `self` is dropped. The device may write
        // them, whole words or parts, at any time, which is what atomic words are for.
        unsafe { std::slice::from_raw_parts(self.words.0, self.count) }
    }

    fn any(&self) -> &dyn Any {
        self
    }
}

impl Drop for Pinned {
    fn drop(&mut self) {
        let _ = self.context.finish();
        // SAFETY: it came from `cuMemHostAlloc`, no clone is left, and nothing runs that may touch it.
        let _ = unsafe { sys::cuMemFreeHost(self.words.0.cast()) };
    }
}
