//! `check`: every checksum and invariant of a store.
//!
//! Findings go to standard output, one a line, and make the exit code 9; what is no store at all is a
//! failure like any other (1). A log that ends in a cut record is what a crash leaves: that is said,
//! and is no finding. Reads the whole store once.

use crate::arguments::Located;
use crate::exit::{Code, Failure, Outcome};
use crate::say::say;
use crate::settings;
use somersault::upkeep::{self, Checked};
use std::io::Write;
use std::path::Path;

/// Runs the verb.
pub fn run(flags: &Located, file: Option<&Path>) -> Outcome {
    settings::check(&settings::layers(file)?)?;
    let Checked {
        findings,
        tail,
        is_part,
    } = upkeep::check(&flags.location).map_err(|error| Failure::new(Code::Failed, error))?;
    if let Some(torn) = &tail.torn {
        say!(
            "{}: {} bytes from byte {} on are of a commit that a crash cut off; nobody was told of \
             it, and it does not count",
            torn.file.display(),
            torn.bytes,
            torn.offset
        );
    }
    let mut output = std::io::stdout().lock();
    for finding in &findings {
        writeln!(output, "{finding}")?;
    }
    if findings.is_empty() {
        writeln!(output, "{}: sound", flags.location.display())?;
        if is_part {
            say!(
                "it is one part of a graph; `somersault check -l DIR` of the directory of all parts says whether they make one graph"
            );
        }
        return Ok(());
    }
    let found = match findings.len() {
        1 => "1 finding".to_owned(),
        count => format!("{count} findings"),
    };
    Err(Failure::new(Code::Integrity, found))
}
