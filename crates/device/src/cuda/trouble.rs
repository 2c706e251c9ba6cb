//! What the driver's codes mean for whoever called: memory that is not there, a call that was refused, or a device that
//! answers nothing any more.
//!
//! The last is decided here alone. After an illegal address and its kind every later call in the context fails with the
//! same code, which the driver calls sticky; errors of the memory's own checks and of links end a context likewise.

#![allow(unsafe_code)]

use crate::DeviceError;
use cudarc::driver::sys::{self, CUresult};
use std::ffi::{CStr, c_char};
use std::ptr::null;

/// Codes after which nothing in the context works any more.
const STICKY: &[CUresult] = &[
    CUresult::CUDA_ERROR_DEINITIALIZED,
    CUresult::CUDA_ERROR_DEVICE_UNAVAILABLE,
    CUresult::CUDA_ERROR_ECC_UNCORRECTABLE,
    CUresult::CUDA_ERROR_NVLINK_UNCORRECTABLE,
    CUresult::CUDA_ERROR_ILLEGAL_ADDRESS,
    CUresult::CUDA_ERROR_LAUNCH_TIMEOUT,
    CUresult::CUDA_ERROR_CONTEXT_IS_DESTROYED,
    CUresult::CUDA_ERROR_ASSERT,
    CUresult::CUDA_ERROR_HARDWARE_STACK_ERROR,
    CUresult::CUDA_ERROR_ILLEGAL_INSTRUCTION,
    CUresult::CUDA_ERROR_MISALIGNED_ADDRESS,
    CUresult::CUDA_ERROR_INVALID_ADDRESS_SPACE,
    CUresult::CUDA_ERROR_INVALID_PC,
    CUresult::CUDA_ERROR_LAUNCH_FAILED,
    CUresult::CUDA_ERROR_UNKNOWN,
];

/// An error where the code is one. `call`: what was asked, as it goes on after "refused to".
pub(super) fn check(call: &'static str, code: CUresult) -> Result<(), DeviceError> {
    if code == CUresult::CUDA_SUCCESS {
        return Ok(());
    }
    Err(of_code(call, code, &words(code)))
}

/// Whether there was no memory for what was asked.
pub(super) fn is_out_of_memory(code: CUresult) -> bool {
    code == CUresult::CUDA_ERROR_OUT_OF_MEMORY
}

fn of_code(call: &'static str, code: CUresult, words: &str) -> DeviceError {
    let reason = format!("{words} (CUDA error {})", code as u32);
    if STICKY.contains(&code) {
        let reason = format!("asked to {call}, it answered {reason}");
        DeviceError::Lost { reason }
    } else {
        DeviceError::Refused { call, reason }
    }
}

/// What the driver says of a code.
fn words(code: CUresult) -> String {
    let mut text: *const c_char = null();
    // SAFETY: it writes one pointer, for which there is room: to text that lives as long as the library, or to none.
    let known = unsafe { sys::cuGetErrorString(code, &raw mut text) };
    if known != CUresult::CUDA_SUCCESS || text.is_null() {
        return "an error without a name".to_owned();
    }
    // SAFETY: the driver ends its texts with 0.
    let text = unsafe { CStr::from_ptr(text) };
    text.to_string_lossy().into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_ends_a_context_is_told_from_what_was_refused() {
        let of = |code| of_code("launch a kernel", code, "words");
        let lost = of(CUresult::CUDA_ERROR_ILLEGAL_ADDRESS);
        let said =
            "the device is lost: asked to launch a kernel, it answered words (CUDA error 700)";
        assert_eq!(lost.to_string(), said);
        let refused = of(CUresult::CUDA_ERROR_INVALID_VALUE);
        let said = "the device's driver refused to launch a kernel: words (CUDA error 1)";
        assert_eq!(refused.to_string(), said);
        assert!(is_out_of_memory(CUresult::CUDA_ERROR_OUT_OF_MEMORY));
        assert_eq!(check("launch", CUresult::CUDA_SUCCESS), Ok(()));
    }
}
