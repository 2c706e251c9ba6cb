//! Graphs: programs that are recorded once and run by one call. See `driver` for what the arguments of `unsafe` lean on.
//!
//! They are built node by node, not by capturing a stream: what other threads do at that time cannot get into them, and
//! cannot fail for it.

#![allow(unsafe_code)]

use super::driver::{Context, Handle};
use super::held::Pinned;
use super::module::Function;
use super::queue::{Queue, Shape};
use super::trouble::check;
use crate::DeviceError;
use crate::region::Words;
use cudarc::driver::sys;
use std::ffi::c_void;
use std::ptr::{null, null_mut};
use std::sync::atomic::AtomicU64;
use std::sync::{Arc, Mutex, PoisonError};

/// What a recorded program does, one after the other.
pub(super) struct Recording {
    raw: Handle<sys::CUgraph_st>,
    last: Option<Handle<sys::CUgraphNode_st>>,
    context: Arc<Context>,
}

impl Recording {
    pub(super) fn new(context: &Arc<Context>) -> Result<Recording, DeviceError> {
        context.bind()?;
        let mut raw = null_mut();
        // SAFETY: it writes one pointer, for which there is room.
        check("make a graph", unsafe {
            sys::cuGraphCreate(&raw mut raw, 0)
        })?;
        Ok(Recording {
            raw: Handle(raw),
            last: None,
            context: Arc::clone(context),
        })
    }

    /// What the next node waits for: the one before.
    fn before(&self) -> (*const sys::CUgraphNode, usize) {
        match &self.last {
            Some(node) => (&raw const node.0, 1),
            None => (null(), 0),
        }
    }

    pub(super) fn launch(&mut self, function: &Function, shape: Shape) -> Result<(), DeviceError> {
        self.context.bind()?;
        let mut arguments = shape.arguments;
        let mut parameters = [(&raw mut arguments).cast::<c_void>()];
        let given = sys::CUDA_KERNEL_NODE_PARAMS {
            func: function.raw.0,
            gridDimX: shape.grid,
            gridDimY: 1,
            gridDimZ: 1,
            blockDimX: shape.block,
            blockDimY: 1,
            blockDimZ: 1,
            sharedMemBytes: 0,
            kernelParams: parameters.as_mut_ptr(),
            extra: null_mut(),
            kern: null_mut(),
            ctx: null_mut(),
        };
        let (before, count) = self.before();
        let mut node = null_mut();
        // SAFETY: graph, function and the node before live; the parameter, one of 8 bytes, is copied before the call
        // returns; it writes one pointer, for which there is room.
        check("record a launch", unsafe {
            sys::cuGraphAddKernelNode_v2(&raw mut node, self.raw.0, before, count, &raw const given)
        })?;
        self.last = Some(Handle(node));
        Ok(())
    }

    /// Copies between staged words, from their beginning, and the device.
    pub(super) fn copy(
        &mut self,
        staged: &Pinned,
        address: u64,
        bytes: u64,
        to_device: bool,
    ) -> Result<(), DeviceError> {
        assert!(Arc::ptr_eq(&self.context, staged.context()), "of another");
        let staged = staged.words();
        let room = size_of_val(staged) as u64;
        assert!(bytes <= room, "{bytes} bytes of {room} that are staged");
        if bytes == 0 {
            return Ok(());
        }
        self.context.bind()?;
        let given = copy_of(staged, address, bytes as usize, to_device);
        let (before, count) = self.before();
        let mut node = null_mut();
        // SAFETY: graph, context and the node before live; so many bytes are at both ends, and whoever replays the
        // graph keeps both; it writes one pointer, for which there is room.
        check("record a copy", unsafe {
            sys::cuGraphAddMemcpyNode(
                &raw mut node,
                self.raw.0,
                before,
                count,
                &raw const given,
                self.context.raw.0,
            )
        })?;
        self.last = Some(Handle(node));
        Ok(())
    }

    /// Makes it ready to run. Whoever has it keeps what its copies touch.
    pub(super) fn ready(self) -> Result<Program, DeviceError> {
        self.context.bind()?;
        let mut raw = null_mut();
        // SAFETY: the graph lives; it writes one pointer, for which there is room.
        check("prepare a graph", unsafe {
            sys::cuGraphInstantiateWithFlags(&raw mut raw, self.raw.0, 0)
        })?;
        Ok(Program {
            raw: Mutex::new(Handle(raw)),
            context: Arc::clone(&self.context),
        })
    }
}

/// A row of bytes between the host and the device, as the driver describes copies of boxes.
fn copy_of(
    staged: &[AtomicU64],
    address: u64,
    bytes: usize,
    to_device: bool,
) -> sys::CUDA_MEMCPY3D {
    let host = staged.as_ptr().cast_mut().cast::<c_void>();
    let (of_host, of_device) = (
        sys::CUmemorytype::CU_MEMORYTYPE_HOST,
        sys::CUmemorytype::CU_MEMORYTYPE_DEVICE,
    );
    let (from, to) = if to_device {
        (of_host, of_device)
    } else {
        (of_device, of_host)
    };
    sys::CUDA_MEMCPY3D {
        srcXInBytes: 0,
        srcY: 0,
        srcZ: 0,
        srcLOD: 0,
        srcMemoryType: from,
        srcHost: if to_device { host } else { null_mut() },
        srcDevice: if to_device { 0 } else { address },
        srcArray: null_mut(),
        reserved0: null_mut(),
        srcPitch: bytes,
        srcHeight: 1,
        dstXInBytes: 0,
        dstY: 0,
        dstZ: 0,
        dstLOD: 0,
        dstMemoryType: to,
        dstHost: if to_device { null_mut() } else { host },
        dstDevice: if to_device { address } else { 0 },
        dstArray: null_mut(),
        reserved1: null_mut(),
        dstPitch: bytes,
        dstHeight: 1,
        WidthInBytes: bytes,
        Height: 1,
        Depth: 1,
    }
}

impl Drop for Recording {
    fn drop(&mut self) {
        let _ = self.context.bind();
        // SAFETY: nobody has it any more; a program made of it is its own.
        let _ = unsafe { sys::cuGraphDestroy(self.raw.0) };
    }
}

/// A recorded program, ready to run. One thread at a time may start it.
pub(super) struct Program {
    raw: Mutex<Handle<sys::CUgraphExec_st>>,
    context: Arc<Context>,
}

impl Program {
    pub(super) fn launch(&self, queue: &Queue) -> Result<(), DeviceError> {
        self.context.bind()?;
        let raw = self.raw.lock().unwrap_or_else(PoisonError::into_inner);
        // SAFETY: both live, and no other thread starts it now.
        check("replay a graph", unsafe {
            sys::cuGraphLaunch(raw.0, queue.raw.0)
        })
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        let _ = self.context.finish();
        let raw = self.raw.get_mut().unwrap_or_else(PoisonError::into_inner);
        // SAFETY: nobody has it any more, and it does not run.
        let _ = unsafe { sys::cuGraphExecDestroy(raw.0) };
    }
}
