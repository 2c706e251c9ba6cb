//! Both oracles asked at once, and held to agree.
//!
//! Invariant: an expected answer that leaves here is the naive evaluator's, and `spareval` was of
//! the same opinion wherever it follows the specification. A disagreement is an error of ours, not
//! of the engine under test.

use crate::compare::{self, Blanks};
use crate::naive::{self, Expected, NaiveError};
use crate::spareval_oracle;
use oxrdf::Dataset;

/// Steps of the naive evaluation of a wide query after which it is too large: some milliseconds.
pub const WIDE_WORK_MAX: u64 = 60_000;

/// What both say about a query, or `None` where it is too large to ask or has no determined answer.
/// The error is a disagreement, or a query that is not evaluated here.
pub fn expected(dataset: &Dataset, query: &str) -> Result<Option<Expected>, String> {
    expected_within(dataset, query, naive::WORK_MAX)
}

/// The same with another bound on the work of the naive evaluation.
pub fn expected_within(
    dataset: &Dataset,
    query: &str,
    work_max: u64,
) -> Result<Option<Expected>, String> {
    let expected = match naive::answer_within(dataset, query, work_max) {
        Ok(expected) => expected,
        Err(NaiveError::TooLarge | NaiveError::Undetermined(_)) => return Ok(None),
        Err(error) => return Err(error.to_string()),
    };
    if expected.spareval_differs.is_none() {
        let bag = Expected {
            offset: 0,
            limit: None,
            ordering: None,
            ..expected.clone()
        };
        compare::check(
            &bag,
            &spareval_oracle::answer(dataset, query)?,
            &Blanks::Same,
        )
        .map_err(|complaint| format!("the oracles disagree: {complaint}"))?;
    }
    Ok(Some(expected))
}
