//! `cargo xtask check`: what `.ci/run` demands, in the order in which it tells most for its time.
//!
//! ```text
//! format -> tidy -> lints -> licences -> spelling -> instructions -> the README's test command
//! ```
//!
//! Invariant: every step runs, whatever the ones before it found, and the last line is
//! `N passed, N failed`, summed over all test binaries. Steps whose tool is not installed are
//! named and left out: the check itself needs nothing but Rust.

use crate::command::CommandLine;
use crate::error::ChoreError;
use crate::instructions;
use crate::tally::{self, Tally};
use crate::tidy;

/// The command that README.md gives for running the tests; `tidy` holds README.md against it.
pub const TEST_COMMAND: &str = "cargo test --workspace";

/// What became of a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Outcome {
    Held,
    Broke,
    Skipped,
}

impl From<bool> for Outcome {
    fn from(held: bool) -> Self {
        if held { Self::Held } else { Self::Broke }
    }
}

/// Runs every step; true when none broke.
pub fn run() -> Result<bool, ChoreError> {
    let mut outcomes = vec![
        ("format", Outcome::from(formatted()?)),
        ("tidy", Outcome::from(tidy::run()?)),
        ("lints", Outcome::from(CommandLine::new(LINTS).run()?)),
        ("licences", licences()?),
        ("advisories", advisories()?),
        ("spelling", spelling()?),
    ];
    outcomes.push(("instructions", instructions()?));
    let (held, sum) = tests()?;
    outcomes.push(("tests", Outcome::from(held)));
    println!();
    for (step, outcome) in &outcomes {
        println!("{step:<14}{}", word_for(*outcome));
    }
    println!("{sum}");
    Ok(outcomes
        .iter()
        .all(|(_, outcome)| *outcome != Outcome::Broke))
}

/// The variable that asks for counting instructions.
const ASKED_FOR: &str = "SOMERSAULT_INSTRUCTIONS";

const LINTS: &str = "cargo clippy --workspace --all-targets -- -D warnings";

/// The workspace, and what is a workspace of its own: the fuzzing targets, the engine that ours is
/// compared with, and what attacks the server.
fn formatted() -> Result<bool, ChoreError> {
    let mut held = CommandLine::new("cargo fmt --all --check").run()?;
    for own in ["fuzz", "crates/rival", "crates/soak"] {
        let own = format!("cargo fmt --manifest-path {own}/Cargo.toml --check");
        held &= CommandLine::new(&own).run()?;
    }
    Ok(held)
}

/// Licences, banned crates and sources are decided from `Cargo.lock` alone, without a network.
fn licences() -> Result<Outcome, ChoreError> {
    if !has_deny() {
        return Ok(skipped("cargo-deny", "cargo install --locked cargo-deny"));
    }
    Ok(CommandLine::new("cargo deny check bans licenses sources")
        .run()?
        .into())
}

/// Advisories need their database, which is fetched; out of reach is said, and is not a failure
/// of the tree.
fn advisories() -> Result<Outcome, ChoreError> {
    if !has_deny() {
        return Ok(Outcome::Skipped);
    }
    if !CommandLine::new("cargo deny fetch db").succeeds_quietly() {
        println!("advisory database: cannot be fetched from here, skipped");
        return Ok(Outcome::Skipped);
    }
    Ok(CommandLine::new("cargo deny check advisories")
        .run()?
        .into())
}

fn has_deny() -> bool {
    CommandLine::new("cargo deny --version").succeeds_quietly()
}

fn spelling() -> Result<Outcome, ChoreError> {
    if !CommandLine::new("typos --version").succeeds_quietly() {
        return Ok(skipped(
            "typos",
            "cargo install --locked typos-cli, or pip install typos",
        ));
    }
    Ok(CommandLine::new("typos").run()?.into())
}

/// Needs a build of its own, so only where it is asked for: on its way into the trunk.
fn instructions() -> Result<Outcome, ChoreError> {
    if std::env::var_os(ASKED_FOR).is_none() {
        println!(
            "instructions: not asked for, skipped ({ASKED_FOR}=1, or cargo xtask instructions)"
        );
        return Ok(Outcome::Skipped);
    }
    if !instructions::is_possible() {
        return Ok(skipped("valgrind", "the system's package valgrind"));
    }
    Ok(instructions::run(false)?.into())
}

fn skipped(tool: &str, how: &str) -> Outcome {
    println!("{tool}: not installed, skipped ({how})");
    Outcome::Skipped
}

/// Runs the README's test command. One that fails without a failed test (it did not compile, or
/// a test binary died) counts as one failure.
fn tests() -> Result<(bool, Tally), ChoreError> {
    let mut sum = Tally::default();
    let held = CommandLine::new(TEST_COMMAND)
        .run_watched(|line| sum += tally::of_test_binary(line).unwrap_or_default())?;
    if !held && sum.failed == 0 {
        sum.failed = 1;
    }
    Ok((held, sum))
}

fn word_for(outcome: Outcome) -> &'static str {
    match outcome {
        Outcome::Held => "ok",
        Outcome::Broke => "FAILED",
        Outcome::Skipped => "skipped",
    }
}
