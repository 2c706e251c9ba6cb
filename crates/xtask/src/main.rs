//! Chores, by one entry point: `cargo xtask check`, `tidy`, `conformance`, `long`,
//! `instructions`, `kernels`, `mutants`, `fuzz`, `plot`, `model`, `miri`, `simulate`, `scale`.
//!
//! Invariant: whatever `.ci/run` demands, `cargo xtask check` demands too, on any machine that
//! has Rust and a C compiler; a tool that is not installed is named and left out, never silently, and
//! so are the instruction counts, which need a build of their own and `SOMERSAULT_INSTRUCTIONS=1`.
//! The house rules are functions from a tree of files to findings (module `tidy`), so they run
//! both here and as ordinary tests under `cargo test --workspace`.
//!
//! Cost: building this crate takes seconds; it depends on none of ours, so it also runs while
//! the rest does not compile.

mod check;
mod command;
mod conformance;
mod curves;
mod error;
mod fuzz;
mod instructions;
mod kernels;
mod long;
mod miri;
mod model;
mod mutants;
mod plot;
mod scale;
mod simulate;
mod tally;
mod tidy;

use std::path::Path;
use std::process::ExitCode;

use error::ChoreError;

const USAGE: &str = "\
usage: cargo xtask CHORE

  check        all that .ci/run demands: format, tidy, lints, licences, spelling, tests, a model
  tidy         the house rules alone, within a second
  conformance  the W3C suites, a line for each with its counts
  long         every test in release with the long numbers of cases, then mutants and conformance
  model        protocols between threads, in every order of their steps or very many
  mutants      errors planted in the kernels, each of which their tests must notice
  miri         memory and rdf interpreted by Miri, where the toolchain has it
  instructions [--record]
               instructions of the light queries, held against those that are kept, or kept
  kernels --check | --write
               the PTX of a card's kernels, held against their source, or made of it
  fuzz [TARGET...] [--seconds N] [--keep]
               the fuzzing targets for N seconds each (600; 0 replays what is kept); --keep keeps
               what was found, as small as it can be
  simulate --seeds N [--seed S]
               queries on a cluster whose simulated nodes and links fail: N seeds, from S on; S alone is
               told step by step
  scale [--universities N,N] [--runs N] [--costs tcp,tcp-25g,rdma] [--nodes N,N] [--block-bits N]
        [--svg OUT.svg [--project N] [--printed FILE,FILE]]
               LUBM on 1 to 64 nodes in virtual time, behind networks that cost so much
  plot CDF.csv OUT.svg
               the distributions that `somersault bench mix --cdf CDF.csv` wrote, as a picture
";

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let done = match words[..] {
        ["check"] => check::run(),
        ["tidy"] => tidy::run(),
        ["conformance"] => conformance::run(conformance::Build::Dev),
        ["long"] => long::run(),
        ["model"] => model::run(model::Extent::All).map(|(held, sum)| {
            println!("{sum}");
            held
        }),
        ["miri"] => miri::run(),
        ["mutants"] => mutants::run(),
        ["instructions"] => instructions::run(false),
        ["instructions", "--record"] => instructions::run(true),
        ["kernels", "--check"] => kernels::run(kernels::Use::Check).map(|held| held != Some(false)),
        ["kernels", "--write"] => kernels::run(kernels::Use::Write).map(|held| held == Some(true)),
        ["fuzz", ref rest @ ..] => match fuzz::Wanted::of_words(rest) {
            Some(wanted) => fuzz::run(&wanted),
            None => return misused(),
        },
        ["simulate", ref rest @ ..] => match simulate::Seeds::of_words(rest) {
            Some(wanted) => simulate::run(&wanted),
            None => return misused(),
        },
        ["scale", ref rest @ ..] => match scale::Scaling::of_words(rest) {
            Some(wanted) => scale::run(&wanted),
            None => return misused(),
        },
        ["plot", from, to] => plot::run(Path::new(from), Path::new(to)),
        _ => return misused(),
    };
    report(done)
}

fn misused() -> ExitCode {
    eprint!("{USAGE}");
    ExitCode::from(2)
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
