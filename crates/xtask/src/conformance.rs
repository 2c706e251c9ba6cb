//! `cargo xtask conformance`: the suites of the specifications, one line for each.
//!
//! The suites live in the crates that they check, as ordinary integration tests, so that
//! `cargo test` runs them as well; they print `SUITE: N passed, N failed, N skipped`, and this
//! chore collects those lines. Invariant: a program that fails without naming a failed test
//! still counts as one failure, so the last line never claims more than was seen.

use crate::command::CommandLine;
use crate::error::ChoreError;
use crate::tally::{self, Tally};

/// A test program that holds suites of a specification.
struct Program {
    /// The crate whose `tests/` folder holds it, and which it checks.
    package: &'static str,
    /// The file's stem in that folder.
    test: &'static str,
    /// What it checks, for the person who watches.
    about: &'static str,
}

const PROGRAMS: &[Program] = &[
    Program {
        package: "somersault-rdf",
        test: "conformance",
        about: "W3C parser suites: N-Triples, N-Quads, Turtle, TriG, RDF/XML, RDF 1.2",
    },
    Program {
        package: "somersault",
        test: "conformance",
        about: "W3C SPARQL suites 1.0, 1.1 and 1.2 through the library",
    },
    Program {
        package: "somersault-server",
        test: "conformance",
        about: "W3C SPARQL suites over HTTP; protocol, graph store and service description",
    },
];

/// Which build the suites run in; whichever is there already costs nothing to make.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Build {
    /// The one that `cargo test` makes.
    Dev,
    /// The one that the long run makes.
    Release,
}

/// Runs every suite; true when nothing failed.
pub fn run(build: Build) -> Result<bool, ChoreError> {
    let mut suites: Vec<(String, Tally)> = Vec::new();
    let mut all_ended_well = true;
    for program in PROGRAMS {
        println!("{}: {}", program.package, program.about);
        all_ended_well &= run_program(program, build, &mut suites)?;
    }
    println!();
    let mut sum = Tally::default();
    for (name, counts) in &suites {
        println!("{}", suite_line(name, *counts));
        sum += *counts;
    }
    if !all_ended_well && sum.failed == 0 {
        sum.failed = 1;
    }
    println!("{}", counts_line(sum));
    Ok(sum.failed == 0)
}

fn run_program(
    program: &Program,
    build: Build,
    into: &mut Vec<(String, Tally)>,
) -> Result<bool, ChoreError> {
    CommandLine::new(&command(program, build)).run_watched(|line| {
        if let Some((name, counts)) = tally::of_suite(line) {
            into.push((name.to_owned(), counts));
        }
    })
}

fn command(program: &Program, build: Build) -> String {
    let Program { package, test, .. } = program;
    let profile = match build {
        Build::Dev => "",
        Build::Release => " --release",
    };
    format!("cargo test{profile} -p {package} --test {test} -- --nocapture")
}

fn suite_line(name: &str, counts: Tally) -> String {
    format!("{name}: {}", counts_line(counts))
}

/// The counts alone, which is the last line: `N passed, N failed, N skipped`.
fn counts_line(counts: Tally) -> String {
    let Tally {
        passed,
        failed,
        skipped,
    } = counts;
    format!("{passed} passed, {failed} failed, {skipped} skipped")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_in_the_build_that_is_there() {
        let program = Program {
            package: "somersault-rdf",
            test: "conformance",
            about: "",
        };
        let dev = "cargo test -p somersault-rdf --test conformance -- --nocapture";
        assert_eq!(command(&program, Build::Dev), dev);
        assert!(
            command(&program, Build::Release).starts_with("cargo test --release -p somersault-rdf")
        );
    }

    #[test]
    fn the_last_line_is_the_counts_alone() {
        let sum = Tally {
            passed: 12,
            failed: 0,
            skipped: 3,
        };
        assert_eq!(counts_line(sum), "12 passed, 0 failed, 3 skipped");
        assert_eq!(tally::of_suite(&counts_line(sum)), None);
    }

    #[test]
    fn a_suites_line_reads_back() {
        let counts = Tally {
            passed: 3,
            failed: 0,
            skipped: 0,
        };
        assert_eq!(
            tally::of_suite(&suite_line("rdf/turtle", counts)),
            Some(("rdf/turtle", counts))
        );
    }
}
