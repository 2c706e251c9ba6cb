//! `cargo xtask miri`: the crate with `unsafe` in it, and the one that shares memory without a lock, interpreted by Miri.
//!
//! Miri is a component of nightly toolchains only. Where it is not, the chore says so, how to get it, and fails: whoever
//! asks for it by name must not take silence for a result. It is no part of the check.

use crate::command::CommandLine;
use crate::error::ChoreError;

/// Tests that read and map files need the system's files.
const FLAGS: &str = "-Zmiri-disable-isolation";

const MISSING: &str = "\
miri: NOT RUN, because this toolchain has no `cargo miri`. To run it:
  rustup toolchain install nightly --component miri
  cargo +nightly xtask miri";

/// True when every test held.
pub fn run() -> Result<bool, ChoreError> {
    if !CommandLine::new("cargo miri --version").succeeds_quietly() {
        println!("{MISSING}");
        return Ok(false);
    }
    let mut held = true;
    for name in ["somersault-memory", "somersault-rdf"] {
        let line = format!("cargo miri test -p {name} --lib");
        held &= CommandLine::new(&line)
            .with_variable("MIRIFLAGS", FLAGS)
            .run()?;
    }
    Ok(held)
}
