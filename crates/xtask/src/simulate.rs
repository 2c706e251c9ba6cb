//! `cargo xtask simulate --seeds N [--seed S]`: queries on a cluster while nodes and links of a simulated network fail.
//!
//! A seed is a graph, queries and faults in virtual time; the test program of `somersault-cluster` runs them, asserts what must
//! hold, and prints what share of the queries was answered for each kind of fault. With `--seed S` alone that seed is run and
//! told step by step; with both, N seeds from S on.
//!
//! Invariant: the last line is `N passed, N failed`, of seeds; what fails besides (too few queries answered, a program that
//! does not build) counts as one more that failed.
//!
//! Cost: some 60 ms a seed and core.

use crate::command::CommandLine;
use crate::error::ChoreError;
use crate::tally::{self, Tally};

/// What runs the seeds.
const PROGRAM: &str = "cargo test -p somersault-cluster --test all -- --exact --nocapture \
                       simulated::queries_are_right_or_say_why_they_are_not_answered";

/// The variable that chooses seeds.
const SEED_VARIABLE: &str = "SOMERSAULT_SEED";

/// Which seeds are to be run.
#[derive(Debug, PartialEq, Eq)]
pub struct Seeds {
    first: u64,
    end: u64,
}

impl Seeds {
    /// Reads the words after `simulate`; `None` where they make no sense.
    pub fn of_words(words: &[&str]) -> Option<Self> {
        let (mut seeds, mut first) = (None, None);
        for pair in words.chunks(2) {
            let [name, number] = pair else { return None };
            let number: u64 = number.parse().ok()?;
            match *name {
                "--seeds" => seeds = Some(number),
                "--seed" => first = Some(number),
                _ => return None,
            }
        }
        let seeds = match (seeds, first) {
            (None, None) => return None,
            (None, Some(_)) => 1,
            (Some(seeds), _) => seeds,
        };
        let first = first.unwrap_or(0);
        let end = first.checked_add(seeds)?;
        (seeds > 0).then_some(Self { first, end })
    }
}

/// Runs the seeds; true when none failed.
pub fn run(wanted: &Seeds) -> Result<bool, ChoreError> {
    let seeds = format!("{}..{}", wanted.first, wanted.end);
    let line = CommandLine::new(PROGRAM).with_variable(SEED_VARIABLE, &seeds);
    let mut sum = Tally::default();
    let succeeded = line.run_watched(|line| {
        if let Some(("simulation", counts)) = tally::of_suite(line) {
            sum += counts;
        }
    })?;
    if !succeeded && sum.failed == 0 {
        sum.failed = 1;
    }
    println!("{sum}");
    Ok(sum.failed == 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_which_seeds() {
        let seeds = |first, end| Some(Seeds { first, end });
        assert_eq!(Seeds::of_words(&["--seeds", "500"]), seeds(0, 500));
        assert_eq!(Seeds::of_words(&["--seed", "7"]), seeds(7, 8));
        assert_eq!(
            Seeds::of_words(&["--seed", "7", "--seeds", "3"]),
            seeds(7, 10)
        );
        for words in [
            &[][..],
            &["--seeds"],
            &["--seeds", "0"],
            &["--seeds", "-1"],
            &["--sees", "1"],
            &["500"],
        ] {
            assert_eq!(Seeds::of_words(words), None, "{words:?}");
        }
    }
}
