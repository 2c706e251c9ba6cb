//! Counts what test programs say about themselves.
//!
//! Two forms are read and nothing else: the `test result:` line that every test binary ends
//! with, and the line `SUITE: N passed, N failed, N skipped` of the conformance suites.
//! Invariant: a line that does not have exactly that form counts nothing, so ordinary output
//! can neither add to a tally nor end a chore.

use std::fmt;
use std::ops::AddAssign;

/// How many tests went which way.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Tally {
    /// Tests that held.
    pub passed: u64,
    /// Tests that did not.
    pub failed: u64,
    /// Tests that were left out, each with its reason given where it is left out.
    pub skipped: u64,
}

impl AddAssign for Tally {
    fn add_assign(&mut self, other: Self) {
        self.passed += other.passed;
        self.failed += other.failed;
        self.skipped += other.skipped;
    }
}

impl fmt::Display for Tally {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{} passed, {} failed", self.passed, self.failed)?;
        if self.skipped > 0 {
            write!(out, ", {} skipped", self.skipped)?;
        }
        Ok(())
    }
}

/// Reads the closing line of a test binary:
/// `test result: ok. 12 passed; 0 failed; 1 ignored; ...`.
pub fn of_test_binary(line: &str) -> Option<Tally> {
    let (_verdict, counts) = line
        .trim()
        .strip_prefix("test result: ")?
        .split_once(". ")?;
    let mut counts = counts.split("; ");
    Some(Tally {
        passed: number_before(counts.next()?, " passed")?,
        failed: number_before(counts.next()?, " failed")?,
        skipped: number_before(counts.next()?, " ignored")?,
    })
}

/// Reads a suite's line, `SUITE: N passed, N failed, N skipped`, into its name and its counts.
///
/// A test binary that runs on one thread writes `test NAME ... ` before a test's own output;
/// such a beginning is not part of the suite's name.
pub fn of_suite(line: &str) -> Option<(&str, Tally)> {
    let line = line.trim();
    let line = match line
        .strip_prefix("test ")
        .and_then(|rest| rest.split_once(" ... "))
    {
        Some((_test, said)) => said,
        None => line,
    };
    let (name, counts) = line.rsplit_once(": ")?;
    let mut counts = counts.split(", ");
    let tally = Tally {
        passed: number_before(counts.next()?, " passed")?,
        failed: number_before(counts.next()?, " failed")?,
        skipped: number_before(counts.next()?, " skipped")?,
    };
    (counts.next().is_none() && !name.is_empty()).then_some((name, tally))
}

fn number_before(text: &str, unit: &str) -> Option<u64> {
    text.strip_suffix(unit)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_the_closing_line_of_a_test_binary() {
        let line =
            "test result: FAILED. 12 passed; 3 failed; 1 ignored; 0 measured; 0 filtered out";
        assert_eq!(
            of_test_binary(line),
            Some(Tally {
                passed: 12,
                failed: 3,
                skipped: 1
            })
        );
    }

    #[test]
    fn reads_a_suite() {
        let line = "rdf/turtle: 290 passed, 0 failed, 4 skipped";
        let expected = Tally {
            passed: 290,
            failed: 0,
            skipped: 4,
        };
        assert_eq!(of_suite(line), Some(("rdf/turtle", expected)));
        let alone = "test turtle ... rdf/turtle: 290 passed, 0 failed, 4 skipped";
        assert_eq!(of_suite(alone), Some(("rdf/turtle", expected)));
    }

    #[test]
    fn counts_nothing_else() {
        for line in [
            "",
            "test result: ok. many passed; 0 failed; 0 ignored",
            "12 passed, 0 failed, 0 skipped",
            "a: 1 passed, 0 failed",
            "a: 1 passed, 0 failed, 0 skipped, 0 lost",
            "a: -1 passed, 0 failed, 0 skipped",
        ] {
            assert_eq!(of_test_binary(line), None, "{line}");
            assert_eq!(of_suite(line), None, "{line}");
        }
    }

    #[test]
    fn adds_up_and_prints_the_plain_line() {
        let mut sum = Tally {
            passed: 1,
            failed: 0,
            skipped: 0,
        };
        sum += Tally {
            passed: 2,
            failed: 1,
            skipped: 0,
        };
        assert_eq!(sum.to_string(), "3 passed, 1 failed");
        sum += Tally {
            passed: 0,
            failed: 0,
            skipped: 5,
        };
        assert_eq!(sum.to_string(), "3 passed, 1 failed, 5 skipped");
    }
}
