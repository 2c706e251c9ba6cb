//! `cargo xtask check`: what `.ci/run` demands, in the order in which it tells most for its time.
//!
//! ```text
//! format -> tidy -> lints -> licences -> spelling -> kernels -> models -> instructions -> the README's test command
//! ```
//!
//! Where that command runs in a clone with nothing beside it, what it prints is handed over through a file or a pipe
//! (`SOMERSAULT_TESTED=PATH`; nothing, if it failed): its tests are counted, and only those programs run again, and are
//! counted again, that find more here, beside `../shared` and with clients installed. That is three minutes of tests less,
//! and a pipe lets all other steps run beside the command.
//!
//! Invariant: every step runs, whatever the ones before it found, and the last line is
//! `N passed, N failed`, summed over all test binaries. Steps whose tool is not installed are
//! named and left out: the check itself needs nothing but Rust.

use crate::command::CommandLine;
use crate::error::ChoreError;
use crate::instructions;
use crate::kernels;
use crate::model::{self, Extent};
use crate::tally::{self, Tally};
use crate::tidy;

/// The command that README.md gives for running the tests; `tidy` holds README.md against it.
pub const TEST_COMMAND: &str = "cargo test --workspace";

/// The variable that names what the test command printed in a clone with nothing beside it; nothing, where it failed.
const TESTED: &str = "SOMERSAULT_TESTED";

/// Those of the test command's programs that look for `../shared` or for clients. The features are those of the whole
/// workspace, so nothing is built again. A test holds every other program against this list.
const BESIDE: &str =
    "cargo test --workspace --lib --test conformance --test suites --test goldens --test clients";

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
    // Either waits for one crate after the other, so together they take little longer than the longer one. What the
    // build has to say it says when it is run again.
    let building = if is_asked_to_count() && instructions::is_possible() {
        Some(instructions::start_building()?)
    } else {
        None
    };
    let mut outcomes = vec![
        ("format", Outcome::from(formatted()?)),
        ("tidy", Outcome::from(tidy::run()?)),
        ("lints", Outcome::from(CommandLine::new(LINTS).run()?)),
        ("licences", licences()?),
        ("advisories", advisories()?),
        ("spelling", spelling()?),
        ("kernels", kernels()?),
    ];
    let (models_held, models) = model::run(Extent::Check)?;
    outcomes.push(("models", Outcome::from(models_held)));
    if let Some(mut building) = building {
        // Whatever became of it: it is run again, and says so then.
        let _ = building.wait();
    }
    outcomes.push(("instructions", instructions()?));
    let (held, mut sum) = tests()?;
    outcomes.push(("tests", Outcome::from(held)));
    sum += models;
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

/// Compiled again and compared, where there is a compiler.
fn kernels() -> Result<Outcome, ChoreError> {
    let held = kernels::run(kernels::Use::Check)?;
    Ok(held.map_or(Outcome::Skipped, Outcome::from))
}

fn is_asked_to_count() -> bool {
    std::env::var_os(ASKED_FOR).is_some()
}

/// Needs a build of its own, so only where it is asked for: on its way into the trunk.
fn instructions() -> Result<Outcome, ChoreError> {
    if !is_asked_to_count() {
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
    let mut command = TEST_COMMAND;
    if let Some(file) = std::env::var_os(TESTED) {
        let printed = std::fs::read_to_string(&file).map_err(|source| ChoreError::Read {
            path: file.into(),
            source,
        })?;
        let mut binaries = printed.lines().filter_map(tally::of_test_binary).peekable();
        if binaries.peek().is_some() {
            command = BESIDE;
        }
        binaries.for_each(|binary| sum += binary);
    }
    let succeeded = CommandLine::new(command)
        .run_watched(|line| sum += tally::of_test_binary(line).unwrap_or_default())?;
    if !succeeded && sum.failed == 0 {
        sum.failed = 1;
    }
    Ok((sum.failed == 0, sum))
}

fn word_for(outcome: Outcome) -> &'static str {
    match outcome {
        Outcome::Held => "ok",
        Outcome::Broke => "FAILED",
        Outcome::Skipped => "skipped",
    }
}

#[cfg(test)]
mod tests {
    use crate::tidy::tree::Tree;

    #[test]
    fn no_other_test_looks_beside_the_checkout() {
        let tree = Tree::of_workspace().expect("the workspace can be read");
        let marks = [
            "SOMERSAULT_CLIENTS",
            "../shared",
            "suite::root",
            "goldens::folder",
        ];
        let looks = |text: &str| marks.iter().any(|mark| text.contains(mark));
        let mut seen = 0;
        for file in tree
            .rust()
            .filter(|file| file.text.as_deref().is_some_and(looks))
        {
            let path = &*file.path;
            seen += 1;
            let (_, below) = path.split_once("/tests/").unwrap_or(("", ""));
            // Examples are run by hand, and say what they need.
            let is_run_again = path.contains("/src/")
                || path.contains("/examples/")
                || below.starts_with("conformance")
                || below.starts_with("suites")
                || below.starts_with("goldens")
                || below.starts_with("clients");
            assert!(is_run_again, "{path}: `BESIDE` leaves it out");
        }
        assert!(seen > 4, "nothing looks beside the checkout: {seen}");
    }
}
