//! Streams and the marks in them. See `driver` for what the arguments of `unsafe` lean on.
//!
//! A copy of memory that is not staged is waited for: the driver may, or may not, have read it when its own call
//! returns. One of staged memory is not, and that memory's drop waits.

#![allow(unsafe_code)]

use super::driver::{Context, Handle};
use super::held::Pinned;
use super::module::Function;
use super::trouble::check;
use crate::DeviceError;
use crate::region::Words;
use cudarc::driver::sys;
use std::ffi::c_void;
use std::ptr::null_mut;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

/// A kernel's launch: blocks, threads of a block, and its one parameter.
#[derive(Clone, Copy)]
pub(super) struct Shape {
    pub(super) grid: u32,
    pub(super) block: u32,
    pub(super) arguments: u64,
}

/// A queue of work.
pub(super) struct Queue {
    pub(super) raw: Handle<sys::CUstream_st>,
    context: Arc<Context>,
}

impl Queue {
    pub(super) fn new(context: &Arc<Context>) -> Result<Queue, DeviceError> {
        context.bind()?;
        let mut raw = null_mut();
        let flags = sys::CUstream_flags::CU_STREAM_NON_BLOCKING as u32;
        // SAFETY: it writes one pointer, for which there is room.
        check("make a stream", unsafe {
            sys::cuStreamCreate(&raw mut raw, flags)
        })?;
        Ok(Queue {
            raw: Handle(raw),
            context: Arc::clone(context),
        })
    }

    pub(super) fn context(&self) -> &Arc<Context> {
        &self.context
    }

    /// Copies bytes to the device, and returns when they are there.
    pub(super) fn upload(&self, to: u64, from: &[u8]) -> Result<(), DeviceError> {
        if from.is_empty() {
            return Ok(());
        }
        self.context.bind()?;
        // SAFETY: `from` is borrowed until the copy is done, which is waited for even where starting it failed.
        let code =
            unsafe { sys::cuMemcpyHtoDAsync_v2(to, from.as_ptr().cast(), from.len(), self.raw.0) };
        check("copy to the device", code).and(self.finish("copy to the device"))
    }

    /// Copies bytes from the device, and returns when they are here.
    pub(super) fn download(&self, from: u64, to: &mut [u8]) -> Result<(), DeviceError> {
        if to.is_empty() {
            return Ok(());
        }
        self.context.bind()?;
        // SAFETY: `to` is borrowed until the copy is done, which is waited for even where starting it failed.
        let code = unsafe {
            sys::cuMemcpyDtoHAsync_v2(to.as_mut_ptr().cast(), from, to.len(), self.raw.0)
        };
        check("copy from the device", code).and(self.finish("copy from the device"))
    }

    /// Copies from a byte of staged words on.
    pub(super) fn upload_staged(
        &self,
        to: u64,
        from: &Pinned,
        at: u64,
        bytes: u64,
    ) -> Result<(), DeviceError> {
        let end = at.checked_add(bytes).expect("an end of 64 bits");
        let from = self.within(from, end).as_ptr().cast::<u8>();
        if bytes == 0 {
            return Ok(());
        }
        self.context.bind()?;
        // SAFETY: so many bytes are there from `at` on, and their drop waits for this context, so for the copy.
        check("copy staged bytes to the device", unsafe {
            let from = from.add(at as usize);
            sys::cuMemcpyHtoDAsync_v2(to, from.cast(), bytes as usize, self.raw.0)
        })
    }

    /// Copies to staged words, from the byte `at` of them on.
    pub(super) fn download_staged(
        &self,
        from: u64,
        (to, at): (&Pinned, u64),
        bytes: u64,
    ) -> Result<(), DeviceError> {
        let to = self.within(to, at.saturating_add(bytes));
        if bytes == 0 {
            return Ok(());
        }
        self.context.bind()?;
        let room = to
            .as_ptr()
            .cast_mut()
            .cast::<u8>()
            .wrapping_add(at as usize);
        // SAFETY: so many bytes have room in words that may change at any time, and their drop waits for this context, so
        // for the copy.
        check("copy from the device to staged bytes", unsafe {
            sys::cuMemcpyDtoHAsync_v2(room.cast(), from, bytes as usize, self.raw.0)
        })
    }

    /// The words of staged memory that has so many bytes and is of this context.
    fn within<'a>(&self, staged: &'a Pinned, bytes: u64) -> &'a [AtomicU64] {
        assert!(Arc::ptr_eq(&self.context, staged.context()), "of another");
        let words = staged.words();
        let room = size_of_val(words) as u64;
        assert!(bytes <= room, "{bytes} bytes of {room} that are staged");
        words
    }

    pub(super) fn copy(&self, from: u64, to: u64, bytes: u64) -> Result<(), DeviceError> {
        if bytes == 0 {
            return Ok(());
        }
        self.context.bind()?;
        // SAFETY: both are addresses of the device, whose memory waits for the copy when it is dropped.
        check("copy within the device", unsafe {
            sys::cuMemcpyDtoDAsync_v2(to, from, bytes as usize, self.raw.0)
        })
    }

    pub(super) fn fill(&self, to: u64, bytes: u64, byte: u8) -> Result<(), DeviceError> {
        if bytes == 0 {
            return Ok(());
        }
        self.context.bind()?;
        // SAFETY: as for a copy.
        check("fill memory", unsafe {
            sys::cuMemsetD8Async(to, byte, bytes as usize, self.raw.0)
        })
    }

    pub(super) fn launch(&self, function: &Function, shape: Shape) -> Result<(), DeviceError> {
        self.context.bind()?;
        let mut arguments = shape.arguments;
        let mut parameters = [(&raw mut arguments).cast::<c_void>()];
        // SAFETY: the kernel has one parameter of 8 bytes, which is copied before the call returns. What it does with
        // the device's memory is what `Device` trusts its callers with.
        check("launch a kernel", unsafe {
            sys::cuLaunchKernel(
                function.raw.0,
                shape.grid,
                1,
                1,
                shape.block,
                1,
                1,
                0,
                self.raw.0,
                parameters.as_mut_ptr(),
                null_mut(),
            )
        })
    }

    pub(super) fn follow(&self, event: &Event) -> Result<(), DeviceError> {
        self.context.bind()?;
        // SAFETY: both live; the event may be another context's.
        check("wait for another stream", unsafe {
            sys::cuStreamWaitEvent(self.raw.0, event.raw.0, 0)
        })
    }

    fn finish(&self, call: &'static str) -> Result<(), DeviceError> {
        // SAFETY: the stream lives, and its context is bound by the caller.
        check(call, unsafe { sys::cuStreamSynchronize(self.raw.0) })
    }
}

impl Drop for Queue {
    fn drop(&mut self) {
        let _ = self.context.bind();
        // SAFETY: nobody has it any more; what is in it is still done.
        let _ = unsafe { sys::cuStreamDestroy_v2(self.raw.0) };
    }
}

/// A place in a queue, with its time.
pub(super) struct Event {
    raw: Handle<sys::CUevent_st>,
    context: Arc<Context>,
}

impl Event {
    /// The end of what is in the queue.
    pub(super) fn of(queue: &Queue) -> Result<Event, DeviceError> {
        queue.context.bind()?;
        let mut raw = null_mut();
        // SAFETY: it writes one pointer, for which there is room. No flags: it waits by polling, and has a time.
        check("make a mark", unsafe {
            sys::cuEventCreate(&raw mut raw, 0)
        })?;
        let event = Event {
            raw: Handle(raw),
            context: Arc::clone(&queue.context),
        };
        // SAFETY: both live and are of one context.
        check("mark a stream", unsafe {
            sys::cuEventRecord(raw, queue.raw.0)
        })?;
        Ok(event)
    }

    pub(super) fn context(&self) -> &Arc<Context> {
        &self.context
    }

    pub(super) fn has_passed(&self) -> Result<bool, DeviceError> {
        self.context.bind()?;
        // SAFETY: the event lives.
        match unsafe { sys::cuEventQuery(self.raw.0) } {
            sys::CUresult::CUDA_ERROR_NOT_READY => Ok(false),
            code => check("look at a mark", code).map(|()| true),
        }
    }

    pub(super) fn wait(&self) -> Result<(), DeviceError> {
        self.context.bind()?;
        // SAFETY: the event lives.
        check("wait for a mark", unsafe {
            sys::cuEventSynchronize(self.raw.0)
        })
    }

    pub(super) fn elapsed_ms(&self, until: &Event) -> Result<f32, DeviceError> {
        self.context.bind()?;
        let mut ms = 0.0;
        // SAFETY: both live; it writes one number, for which there is room.
        check("tell the time between marks", unsafe {
            sys::cuEventElapsedTime(&raw mut ms, self.raw.0, until.raw.0)
        })?;
        Ok(ms)
    }
}

impl Drop for Event {
    fn drop(&mut self) {
        let _ = self.context.bind();
        // SAFETY: nobody has it any more; the driver keeps what streams still wait for.
        let _ = unsafe { sys::cuEventDestroy_v2(self.raw.0) };
    }
}
