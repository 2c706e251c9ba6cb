//! The driver's functions as safe ones, on things that are given back when they are dropped: here what there is before
//! anything is made, and the context that all is made in.
//!
//! What every argument beside an `unsafe` in this folder leans on: a pointer of the driver's comes from the driver, is held by
//! one value that no other has, and is given back by its drop alone; whatever is made in a context holds the context;
//! and a context is bound to the calling thread before anything is done in it, so that no thread has to be told which
//! it may call from. Addresses in a device's memory are numbers here: what a copy reads and writes lies within regions,
//! which `super` sees to, and what a kernel does with its block of arguments is the kernel's business.

#![allow(unsafe_code)]

use super::trouble::check;
use crate::DeviceError;
use cudarc::driver::sys;
use std::ffi::{CStr, c_char, c_int};
use std::ptr::null_mut;
use std::sync::{Arc, OnceLock};

/// A pointer of the driver's.
pub(super) struct Handle<T>(pub(super) *mut T);

// SAFETY: the driver's functions may be called from any thread for one and the same thing; those that may not, for a
// graph, are called under a lock. Nobody reads what the pointer points to.
unsafe impl<T> Send for Handle<T> {}
// SAFETY: as above.
unsafe impl<T> Sync for Handle<T> {}

/// Whether a library of the driver is there. Looked for once: what is loaded stays loaded.
pub(super) fn is_present() -> bool {
    static PRESENT: OnceLock<bool> = OnceLock::new();
    *PRESENT.get_or_init(|| {
        // SAFETY: loading a library runs its initialisers; this one is the system's own driver, by its own name.
        unsafe { sys::is_culib_present() }
    })
}

/// Prepares the driver. Asserts that it is there.
pub(super) fn begin() -> Result<(), DeviceError> {
    assert!(is_present(), "the driver's library is asked for first");
    // SAFETY: no flags exist; it may be called again and from any thread.
    check("begin", unsafe { sys::cuInit(0) })
}

/// The newest version of CUDA that it speaks.
pub(super) fn version() -> Result<(u32, u32), DeviceError> {
    let mut version: c_int = 0;
    // SAFETY: it writes one number, for which there is room.
    check("tell its version", unsafe {
        sys::cuDriverGetVersion(&raw mut version)
    })?;
    let version = version as u32;
    Ok((version / 1000, version % 1000 / 10))
}

/// How many devices there are.
pub(super) fn count() -> Result<usize, DeviceError> {
    let mut count: c_int = 0;
    // SAFETY: it writes one number, for which there is room.
    check("count its devices", unsafe {
        sys::cuDeviceGetCount(&raw mut count)
    })?;
    Ok(count.max(0) as usize)
}

/// A device, before anything is made in it.
#[derive(Clone, Copy)]
pub(super) struct Card(sys::CUdevice);

impl Card {
    /// One of [`count`].
    pub(super) fn of(ordinal: usize) -> Result<Card, DeviceError> {
        let mut card = 0;
        // SAFETY: it writes one number, for which there is room; a wrong ordinal is an error.
        check("find the device", unsafe {
            sys::cuDeviceGet(&raw mut card, ordinal as c_int)
        })?;
        Ok(Card(card))
    }

    pub(super) fn name(self) -> Result<String, DeviceError> {
        let mut name = [0 as c_char; 256];
        // SAFETY: it writes as many characters as there is room for, the last of them 0.
        let code = unsafe { sys::cuDeviceGetName(name.as_mut_ptr(), name.len() as c_int, self.0) };
        check("tell the device's name", code)?;
        name[255] = 0;
        // SAFETY: the array ends with 0.
        let name = unsafe { CStr::from_ptr(name.as_ptr()) };
        Ok(name.to_string_lossy().into_owned())
    }

    pub(super) fn memory(self) -> Result<u64, DeviceError> {
        let mut bytes = 0;
        // SAFETY: it writes one number, for which there is room.
        check("tell the device's memory", unsafe {
            sys::cuDeviceTotalMem_v2(&raw mut bytes, self.0)
        })?;
        Ok(bytes as u64)
    }

    pub(super) fn attribute(self, which: sys::CUdevice_attribute) -> Result<u32, DeviceError> {
        let mut value: c_int = 0;
        // SAFETY: it writes one number, for which there is room.
        check("tell what the device is", unsafe {
            sys::cuDeviceGetAttribute(&raw mut value, which, self.0)
        })?;
        Ok(value.max(0) as u32)
    }
}

/// What everything on a device is made in. One of our own, so that its loss is nobody else's.
pub(super) struct Context {
    pub(super) raw: Handle<sys::CUctx_st>,
    card: Card,
}

impl Context {
    pub(super) fn new(card: Card) -> Result<Arc<Context>, DeviceError> {
        let mut raw = null_mut();
        let flags = sys::CUctx_flags::CU_CTX_MAP_HOST as u32;
        // SAFETY: the card is one that the driver gave; it writes one pointer, for which there is room.
        check("make a context", unsafe {
            sys::cuCtxCreate_v2(&raw mut raw, flags, card.0)
        })?;
        let raw = Handle(raw);
        Ok(Arc::new(Context { raw, card }))
    }

    pub(super) fn bind(&self) -> Result<(), DeviceError> {
        // SAFETY: the context lives as long as `self`.
        check("bind the context", unsafe {
            sys::cuCtxSetCurrent(self.raw.0)
        })
    }

    /// Lets this one reach what is made in another, of a card that its own is linked to; `false`: it cannot. Contexts of one card cannot, only a
    /// context itself.
    pub(super) fn sees(&self, other: &Context) -> Result<bool, DeviceError> {
        if self.raw.0 == other.raw.0 {
            return Ok(true);
        }
        let mut can: c_int = 0;
        // SAFETY: it writes one number, for which there is room.
        check("tell whether a card reaches another", unsafe {
            sys::cuDeviceCanAccessPeer(&raw mut can, self.card.0, other.card.0)
        })?;
        if can == 0 {
            return Ok(false);
        }
        self.bind()?;
        // SAFETY: both contexts live, and one of them is bound.
        match unsafe { sys::cuCtxEnablePeerAccess(other.raw.0, 0) } {
            sys::CUresult::CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED => Ok(true),
            code => check("let a card reach another", code).map(|()| true),
        }
    }

    pub(super) fn free_bytes(&self) -> Result<u64, DeviceError> {
        self.bind()?;
        let (mut free, mut all) = (0, 0);
        // SAFETY: it writes two numbers, for which there is room.
        check("tell its free memory", unsafe {
            sys::cuMemGetInfo_v2(&raw mut free, &raw mut all)
        })?;
        Ok(free as u64)
    }

    /// Waits for all that was put into streams.
    pub(super) fn finish(&self) -> Result<(), DeviceError> {
        self.bind()?;
        // SAFETY: a context is bound.
        check("finish", unsafe { sys::cuCtxSynchronize() })
    }
}

impl Drop for Context {
    fn drop(&mut self) {
        // SAFETY: nothing made in it is left, all of it holds it. A lost one cannot be given back, which changes nothing.
        let _ = unsafe { sys::cuCtxDestroy_v2(self.raw.0) };
    }
}
