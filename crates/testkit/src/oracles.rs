//! Both oracles asked at once, and held to agree.
//!
//! Invariant: an expected answer that leaves here is the naive evaluator's, and `spareval` was of
//! the same opinion wherever it follows the specification. A disagreement is an error of ours, not
//! of the engine under test.

use crate::compare::{self, Blanks};
use crate::naive::{self, Expected, NaiveError};
use crate::spareval_oracle;
use oxrdf::Dataset;

/// What both say about a query, or `None` where it is too large to ask. The error is a
/// disagreement, or a query outside the subset.
pub fn expected(dataset: &Dataset, query: &str) -> Result<Option<Expected>, String> {
    let expected = match naive::answer(dataset, query) {
        Ok(expected) => expected,
        Err(NaiveError::TooLarge) => return Ok(None),
        Err(error) => return Err(error.to_string()),
    };
    if !expected.spareval_differs {
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
