//! Fuzzing targets: what a target's binary does around its body.
//!
//! A body ([`bodies`]) is a function from bytes to nothing that panics when something is wrong. It
//! runs on a thread with the stack that the engine asks of its callers, so that recursion which
//! overflows that stack is found, not only recursion that overflows libFuzzer's.
//!
//! A stack overflow kills the process before libFuzzer can write the input down. So where
//! `SOMERSAULT_FUZZ_LAST` names a file, every input is written there before it is tried: three
//! system calls, some microseconds. `cargo xtask fuzz` sets it and keeps the file of a run that
//! died without a word.
//!
//! To add a target: a body with its line in [`bodies::TARGETS`], a file of three lines in
//! `fuzz_targets/`, its `[[bin]]` in the manifest, and some inputs in `corpus/NAME/`.

pub mod bodies;

pub use libfuzzer_sys;

use std::fs::File;
use std::io::{Seek, Write};
use std::sync::{Mutex, OnceLock};

/// The fuzzing target of this name.
#[macro_export]
macro_rules! target {
    ($name:literal) => {
        $crate::libfuzzer_sys::fuzz_target!(|data: &[u8]| {
            static BODY: std::sync::OnceLock<$crate::bodies::Body> = std::sync::OnceLock::new();
            $crate::attempt(*BODY.get_or_init(|| $crate::bodies::named($name)), data);
        });
    };
}

/// Tries an input.
pub fn attempt(body: bodies::Body, data: &[u8]) {
    write_down(data);
    bodies::on_small_stack(body, data);
}

/// Keeps the input in the file that the environment names.
fn write_down(data: &[u8]) {
    static LAST: OnceLock<Option<Mutex<File>>> = OnceLock::new();
    let last = LAST.get_or_init(|| {
        let name = std::env::var_os("SOMERSAULT_FUZZ_LAST")?;
        Some(Mutex::new(File::create(name).expect(
            "the file that SOMERSAULT_FUZZ_LAST names can be made",
        )))
    });
    let Some(last) = last else { return };
    let mut file = last.lock().expect("a panic ends the process");
    let written = file
        .rewind()
        .and_then(|()| file.write_all(data))
        .and_then(|()| file.set_len(data.len() as u64));
    written.expect("the file that SOMERSAULT_FUZZ_LAST names can be written");
}
