//! Chores, by one entry point: `cargo xtask check`, `tidy`, `conformance`, `long`.
//!
//! Invariant: whatever `.ci/run` demands, `cargo xtask check` demands too, on any machine that
//! has Rust and a C compiler; a tool that is not installed is named and left out, never silently.
//! The house rules are functions from a tree of files to findings (module `tidy`), so they run
//! both here and as ordinary tests under `cargo test --workspace`.
//!
//! Cost: building this crate takes seconds; it depends on none of ours, so it also runs while
//! the rest does not compile.

mod check;
mod command;
mod conformance;
mod error;
mod long;
mod tally;
mod tidy;

use std::process::ExitCode;

use error::ChoreError;

const USAGE: &str = "\
usage: cargo xtask CHORE

  check        all that .ci/run demands: format, tidy, lints, licences, spelling, tests
  tidy         the house rules alone, within a second
  conformance  the W3C suites, a line for each with its counts
  long         every test in release with the long numbers of cases, then conformance
";

fn main() -> ExitCode {
    let mut arguments = std::env::args().skip(1);
    let chore = arguments.next();
    let done = match (chore.as_deref(), arguments.next()) {
        (Some("check"), None) => check::run(),
        (Some("tidy"), None) => tidy::run(),
        (Some("conformance"), None) => conformance::run(conformance::Build::Dev),
        (Some("long"), None) => long::run(),
        _ => {
            eprint!("{USAGE}");
            return ExitCode::from(2);
        }
    };
    report(done)
}

/// A chore answers whether everything held; an error means that it could not find out.
fn report(done: Result<bool, ChoreError>) -> ExitCode {
    match done {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("xtask: {error}");
            ExitCode::FAILURE
        }
    }
}
