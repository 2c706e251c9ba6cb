//! Kernels: PTX that the driver compiles for its card, and the functions in it. See `driver` for what the arguments of
//! `unsafe` lean on.

#![allow(unsafe_code)]

use super::driver::{Context, Handle};
use super::trouble::check;
use crate::DeviceError;
use cudarc::driver::sys;
use std::ffi::{CString, c_int, c_void};
use std::ptr::null_mut;
use std::sync::Arc;

/// Kernels, compiled for the device.
pub(super) struct Module {
    raw: Handle<sys::CUmod_st>,
    context: Arc<Context>,
}

impl Module {
    /// Compiles PTX. The error holds the compiler's words.
    pub(super) fn of_ptx(context: &Arc<Context>, text: &str) -> Result<Module, DeviceError> {
        const LOG_BYTES: usize = 4096;
        context.bind()?;
        let text = CString::new(text).expect("PTX is text");
        let mut log = vec![0u8; LOG_BYTES];
        let mut options = [
            sys::CUjit_option::CU_JIT_ERROR_LOG_BUFFER,
            sys::CUjit_option::CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES,
        ];
        // The size is handed over as if it were a pointer.
        let mut values = [log.as_mut_ptr().cast::<c_void>(), LOG_BYTES as *mut c_void];
        let mut raw = null_mut();
        // SAFETY: the text ends with 0, there are as many options as values, and the log is as long as the second of
        // them says. All live until the call returns; it writes one pointer, for which there is room.
        let code = unsafe {
            sys::cuModuleLoadDataEx(
                &raw mut raw,
                text.as_ptr().cast(),
                options.len() as u32,
                options.as_mut_ptr(),
                values.as_mut_ptr(),
            )
        };
        check("compile the kernels", code).map_err(|error| with_words(error, &log))?;
        Ok(Module {
            raw: Handle(raw),
            context: Arc::clone(context),
        })
    }
}

/// The error with what the compiler wrote, where it wrote something.
fn with_words(error: DeviceError, log: &[u8]) -> DeviceError {
    let words = log.split(|byte| *byte == 0).next().unwrap_or_default();
    let words = String::from_utf8_lossy(words);
    match error {
        DeviceError::Refused { call, reason } if !words.trim().is_empty() => DeviceError::Refused {
            call,
            reason: format!("{reason}: {}", words.trim()),
        },
        error => error,
    }
}

impl Drop for Module {
    fn drop(&mut self) {
        let _ = self.context.finish();
        // SAFETY: no function of it is left, each holds it, and nothing runs any more.
        let _ = unsafe { sys::cuModuleUnload(self.raw.0) };
    }
}

/// A kernel that can be launched.
pub(super) struct Function {
    pub(super) raw: Handle<sys::CUfunc_st>,
    module: Arc<Module>,
}

impl Function {
    pub(super) fn of(module: &Arc<Module>, name: &str) -> Result<Function, DeviceError> {
        module.context.bind()?;
        let name = CString::new(name).expect("kernels have names without 0");
        let mut raw = null_mut();
        // SAFETY: the module lives, the name ends with 0, and it writes one pointer, for which there is room.
        check("find a kernel", unsafe {
            sys::cuModuleGetFunction(&raw mut raw, module.raw.0, name.as_ptr())
        })?;
        Ok(Function {
            raw: Handle(raw),
            module: Arc::clone(module),
        })
    }

    /// How many blocks of so many threads a multiprocessor holds at once.
    pub(super) fn resident_blocks(&self, block: u32) -> Result<u32, DeviceError> {
        self.module.context.bind()?;
        let mut blocks: c_int = 0;
        // SAFETY: the function lives, and it writes one number, for which there is room.
        check("count resident blocks", unsafe {
            sys::cuOccupancyMaxActiveBlocksPerMultiprocessor(
                &raw mut blocks,
                self.raw.0,
                block as c_int,
                0,
            )
        })?;
        Ok(blocks.max(0) as u32)
    }
}
