//! `check`: every checksum and invariant of a store.

use crate::arguments::Located;
use crate::exit::{Code, Failure, Outcome};
use somersault::upkeep;
use std::io::Write;

/// Runs the verb.
pub fn run(flags: &Located) -> Outcome {
    if !flags.location.is_dir() {
        let message = format!("{}: there is no store here", flags.location.display());
        return Err(Failure::new(Code::Failed, message));
    }
    let findings = upkeep::check(&flags.location);
    let mut output = std::io::stdout().lock();
    for finding in &findings {
        writeln!(output, "{finding}")?;
    }
    if findings.is_empty() {
        writeln!(output, "{}: sound", flags.location.display())?;
        return Ok(());
    }
    Err(Failure::new(
        Code::Integrity,
        format!("{} findings", findings.len()),
    ))
}
