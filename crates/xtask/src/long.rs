//! `cargo xtask long`: every test and every model with the numbers of cases that take hours rather than seconds.
//!
//! A test of random cases looks at `SOMERSAULT_LONG`: without it a seeded sample runs, with it
//! the full number. So the long run is the same tests, not other ones, and a seed that fails
//! here can be replayed by the ordinary command. Release profile: the cases are what costs.

use crate::command::{CommandLine, LONG_VARIABLE};
use crate::conformance::Build;
use crate::error::ChoreError;
use crate::model::{self, Extent};
use crate::tally::{self, Tally};

/// Runs all tests in release with the long numbers, then the models, then errors in the kernels, then conformance; true when all held.
pub fn run() -> Result<bool, ChoreError> {
    println!("every test of the workspace in release, random cases in their full number");
    let line =
        CommandLine::new("cargo test --workspace --release").with_variable(LONG_VARIABLE, "1");
    let mut sum = Tally::default();
    let succeeded =
        line.run_watched(|line| sum += tally::of_test_binary(line).unwrap_or_default())?;
    let (models_hold, models) = model::run(Extent::Long)?;
    let are_noticed = crate::mutants::run()?;
    let conforms = crate::conformance::run(Build::Release)?;
    if !succeeded && sum.failed == 0 {
        sum.failed = 1;
    }
    sum += models;
    println!("{sum}");
    Ok(succeeded && models_hold && are_noticed && conforms)
}
