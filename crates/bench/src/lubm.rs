//! The LUBM queries, measured.
//!
//! Invariant: a time is only reported for a right answer. Every run, warm-up included, must
//! give the rows that `workload::queries` knows for the size of the data, and every run of a
//! query the checksum of its first; the first difference ends the measurement with an error.
//!
//! A query is run some times to warm up, then until it has been run and has taken time enough.
//! The clock is read around the closure and nothing else happens in between, so what is timed
//! is what the closure does: give it the text and let it fold the rows into a checksum, and the
//! time is that from text to last row.

use std::time::{Duration, Instant};

use workload::queries::Query;

use crate::figure::{Figure, Session};
use crate::stats::Latencies;

/// What a run of a query gave.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RunOutcome {
    /// How many rows.
    pub rows: u64,
    /// A checksum of the rows that does not depend on their order.
    pub checksum: u64,
}

/// How long to measure a query.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Effort {
    /// Runs before the first that counts; the outcome of the first is what the others must
    /// give. 0 counts as 1.
    pub warm_up_runs: u64,
    /// Runs that count, at least; 0 counts as 1.
    pub runs_min: u64,
    /// Time spent on runs that count, at least.
    pub time_min: Duration,
    /// Runs that count, at most, whatever time they took.
    pub runs_max: u64,
}

impl Default for Effort {
    fn default() -> Self {
        Self {
            warm_up_runs: 3,
            runs_min: 11,
            time_min: Duration::from_secs(1),
            runs_max: 1_000_000,
        }
    }
}

/// Why a query has no figure.
#[derive(Debug, thiserror::Error)]
pub enum Error<E: std::error::Error + 'static> {
    /// It failed.
    #[error("{name}: {source}")]
    Query {
        /// Which query.
        name: &'static str,
        /// How it failed.
        source: E,
    },
    /// It gave another number of rows than the data must give.
    #[error("{name} gives {found} rows on {universities} universities, {expected} are right")]
    Rows {
        /// Which query.
        name: &'static str,
        /// The size of the data.
        universities: u32,
        /// What is right.
        expected: u64,
        /// What it gave.
        found: u64,
    },
    /// Two runs did not give the same.
    #[error("{name} gives {first:?} in one run and {later:?} in another")]
    Unstable {
        /// Which query.
        name: &'static str,
        /// The first run's outcome.
        first: RunOutcome,
        /// The one that differs.
        later: RunOutcome,
    },
}

/// A measured query.
#[derive(Clone, Debug)]
pub struct Measured {
    /// What each run gave.
    pub outcome: RunOutcome,
    /// The times of the runs that count.
    pub latencies: Latencies,
    /// The rows were compared with what is right (they are known for some sizes only).
    pub verified: bool,
}

impl Measured {
    /// The figure to record.
    pub fn figure(&self, session: &Session, query: &Query) -> Figure {
        Figure::latency(session, query.name, self.outcome.rows, &self.latencies)
    }
}

/// Measures one query on the data of `universities` universities (seed 0, from university 0;
/// none where the data are others, whose rows nobody has counted). `ask` takes the text.
///
/// # Errors
/// [`Error`], at the first run that failed or gave a wrong answer.
pub fn measure<E: std::error::Error + 'static>(
    query: &Query,
    universities: Option<u32>,
    effort: &Effort,
    mut ask: impl FnMut(&str) -> Result<RunOutcome, E>,
) -> Result<Measured, Error<E>> {
    let failed = |source| Error::Query {
        name: query.name,
        source,
    };
    let outcome = ask(query.text).map_err(failed)?;
    let verified = verify(query, universities, outcome)?;
    let mut latencies = Latencies::new();
    for _ in 1..effort.warm_up_runs {
        same(query, outcome, ask(query.text).map_err(failed)?)?;
    }
    let begin = Instant::now();
    while !enough(effort, latencies.runs(), begin.elapsed()) {
        let run = Instant::now();
        let answer = ask(query.text);
        latencies.record(run.elapsed());
        same(query, outcome, answer.map_err(failed)?)?;
    }
    Ok(Measured {
        outcome,
        latencies,
        verified,
    })
}

fn enough(effort: &Effort, runs: u64, time: Duration) -> bool {
    let least = runs >= effort.runs_min.max(1) && time >= effort.time_min;
    least || runs >= effort.runs_max.max(1)
}

/// Whether the rows are known, and if so right.
fn verify<E: std::error::Error>(
    query: &Query,
    universities: Option<u32>,
    outcome: RunOutcome,
) -> Result<bool, Error<E>> {
    let Some(universities) = universities else {
        return Ok(false);
    };
    match query.rows(universities) {
        None => Ok(false),
        Some(expected) if expected == outcome.rows => Ok(true),
        Some(expected) => Err(Error::Rows {
            name: query.name,
            universities,
            expected,
            found: outcome.rows,
        }),
    }
}

fn same<E: std::error::Error>(
    query: &Query,
    first: RunOutcome,
    later: RunOutcome,
) -> Result<(), Error<E>> {
    if first == later {
        return Ok(());
    }
    Err(Error::Unstable {
        name: query.name,
        first,
        later,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io;
    use workload::queries::by_name;

    const QUICK: Effort = Effort {
        warm_up_runs: 2,
        runs_min: 5,
        time_min: Duration::ZERO,
        runs_max: 100,
    };

    fn outcome(rows: u64) -> RunOutcome {
        RunOutcome { rows, checksum: 7 }
    }

    fn run(
        universities: Option<u32>,
        answer: impl Fn(u64) -> Result<RunOutcome, io::Error>,
    ) -> (u64, Result<Measured, Error<io::Error>>) {
        let query = by_name("q7").unwrap();
        let mut runs = 0;
        let measured = measure(query, universities, &QUICK, |text| {
            assert_eq!(text, query.text);
            runs += 1;
            answer(runs)
        });
        (runs, measured)
    }

    #[test]
    fn warm_up_runs_do_not_count() {
        let (runs, measured) = run(Some(160), |_| Ok(outcome(7125)));
        let measured = measured.unwrap();
        assert_eq!(
            (runs, measured.latencies.runs(), measured.verified),
            (7, 5, true)
        );
        let session = Session {
            bench: "lubm".to_owned(),
            data: "lubm-160".to_owned(),
            threads: 1,
        };
        let figure = measured.figure(&session, by_name("q7").unwrap());
        assert_eq!(
            (figure.name.as_str(), figure.rows, figure.runs),
            ("q7", Some(7125), 5)
        );
    }

    #[test]
    fn unknown_rows_are_not_verified() {
        for universities in [None, Some(2)] {
            let (_, measured) = run(universities, |_| Ok(outcome(1)));
            assert!(!measured.unwrap().verified);
        }
    }

    #[test]
    fn wrong_rows_have_no_figure() {
        let (runs, measured) = run(Some(160), |_| Ok(outcome(7124)));
        assert_eq!(runs, 1);
        assert_eq!(
            measured.unwrap_err().to_string(),
            "q7 gives 7124 rows on 160 universities, 7125 are right"
        );
    }

    #[test]
    fn runs_that_differ_have_no_figure() {
        for differing in [2, 4] {
            let (runs, measured) = run(Some(160), |run| {
                let checksum = u64::from(run == differing);
                Ok(RunOutcome {
                    rows: 7125,
                    checksum,
                })
            });
            assert_eq!(runs, differing);
            assert!(matches!(measured, Err(Error::Unstable { name: "q7", .. })));
        }
    }

    #[test]
    fn a_failure_ends_the_measurement() {
        for failing in [1, 2, 3] {
            let (runs, measured) = run(None, |run| {
                if run == failing {
                    Err(io::Error::other("lost"))
                } else {
                    Ok(outcome(0))
                }
            });
            assert_eq!(runs, failing);
            assert_eq!(measured.unwrap_err().to_string(), "q7: lost");
        }
    }

    #[test]
    fn runs_go_on_for_the_time_asked_up_to_the_most() {
        let effort = |time_min, runs_max| Effort {
            warm_up_runs: 0,
            runs_min: 0,
            time_min,
            runs_max,
        };
        let runs = |effort| {
            let query = by_name("q4").unwrap();
            let measured = measure(query, None, &effort, |_| Ok::<_, io::Error>(outcome(1)));
            measured.unwrap().latencies.runs()
        };
        assert_eq!(runs(effort(Duration::ZERO, 9)), 1);
        assert_eq!(runs(effort(Duration::from_hours(1), 9)), 9);
        assert!(runs(effort(Duration::from_millis(2), u64::MAX)) > 1);
    }
}
