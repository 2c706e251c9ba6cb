//! `check`: every checksum and invariant of a store.
//!
//! Findings go to standard output, one a line, and make the exit code 9; what is no store at all is a
//! failure like any other (1). Reads the whole store once.

use crate::arguments::Located;
use crate::exit::{Code, Failure, Outcome};
use crate::settings;
use somersault::upkeep;
use std::io::Write;
use std::path::Path;

/// Runs the verb.
pub fn run(flags: &Located, file: Option<&Path>) -> Outcome {
    settings::check(&settings::layers(file)?)?;
    let findings =
        upkeep::check(&flags.location).map_err(|error| Failure::new(Code::Failed, error))?;
    let mut output = std::io::stdout().lock();
    for finding in &findings {
        writeln!(output, "{finding}")?;
    }
    if findings.is_empty() {
        writeln!(output, "{}: sound", flags.location.display())?;
        return Ok(());
    }
    let found = match findings.len() {
        1 => "1 finding".to_owned(),
        count => format!("{count} findings"),
    };
    Err(Failure::new(Code::Integrity, found))
}
