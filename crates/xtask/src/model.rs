//! `cargo xtask model`: protocols between threads, each run in every order of its steps, or in very many.
//!
//! The models stand beside what they are of, as tests of the crate that are there with its feature `model` only: that
//! feature puts the types of `loom` or `shuttle` into the place of the standard library's (`sync.rs` of each crate).
//! `cargo test --workspace` knows nothing of them.
//!
//! | crate | models of | in the check |
//! |---|---|---|
//! | `rdf` | the live dictionary | yes |
//! | `engine` | writers, readers and maintenance | compiled |
//! | `server` | admission, the pipe | compiled |
//!
//! Cost on 2 cores: the models run for half a minute together. Of a crate that is built alone, what it depends on may be
//! built again with fewer features: half a minute for `rdf`, minutes for the others, so the check runs only that one's and asks
//! the compiler whether the others still fit what they are of.
//! `SOMERSAULT_LONG=1` tries more orders.

use crate::command::{CommandLine, LONG_VARIABLE};
use crate::error::ChoreError;
use crate::tally::{self, Tally};

/// What is built soon enough for the check.
const CHECKED: &[&str] = &["somersault-rdf"];
/// One after another: the checker of one must not be in the types of another.
const ALL: &[&str] = &["somersault-rdf", "somersault-engine", "somersault-server"];

/// Whether those that the check does not run still compile.
const FIT: &str = "cargo check -p somersault-engine -p somersault-server --lib --profile test \
                   --features somersault-engine/model,somersault-server/model";

/// Which models, and in how many orders.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Extent {
    /// Those of the check.
    Check,
    /// All.
    All,
    /// All, in the number of orders for a long run.
    Long,
}

/// Runs models; says whether they held, and how many.
pub fn run(extent: Extent) -> Result<(bool, Tally), ChoreError> {
    let crates = match extent {
        Extent::Check => CHECKED,
        Extent::All | Extent::Long => ALL,
    };
    let mut sum = Tally::default();
    let mut held = extent != Extent::Check || CommandLine::new(FIT).run()?;
    for name in crates {
        let line = format!("cargo test -p {name} --features model --lib model::");
        let mut line = CommandLine::new(&line);
        if extent == Extent::Long {
            line = line.with_variable(LONG_VARIABLE, "1");
        }
        let mut own = Tally::default();
        let succeeded =
            line.run_watched(|line| own += tally::of_test_binary(line).unwrap_or_default())?;
        // A filter that finds no model would hold for ever.
        if own.failed == 0 && (!succeeded || own.passed == 0) {
            own.failed = 1;
        }
        held &= own.failed == 0;
        sum += own;
    }
    Ok((held, sum))
}
