//! Both oracles asked at once, and held to agree.
//!
//! Invariant: an expected answer that leaves here is the naive evaluator's, and `spareval` was of
//! the same opinion wherever it follows the specification. A disagreement is an error of ours, not
//! of the engine under test.

use crate::Answer;
use crate::compare::{self, Blanks};
use crate::naive::{self, Expected, NaiveError};
use crate::spareval_oracle;
use oxrdf::Dataset;

/// Steps of the naive evaluation of a wide query after which it is too large: some milliseconds.
pub const WIDE_WORK_MAX: u64 = 60_000;

/// What `spareval` says where a variable in a triple term has no place there; by definition such a
/// pattern has no match.
const LITERAL_SUBJECT: &str = "not a valid RDF 1.2 term";

/// What both say about a plain query, or `None` where it is too large to ask or has no determined
/// answer. The error is a disagreement, or a query that is not evaluated here.
pub fn expected(dataset: &Dataset, query: &str) -> Result<Option<Expected>, String> {
    compared(
        dataset,
        query,
        naive::WORK_MAX,
        spareval_oracle::answer_optimized,
    )
}

/// The same of a query over the whole algebra.
pub fn expected_wide(dataset: &Dataset, query: &str) -> Result<Option<Expected>, String> {
    compared(dataset, query, WIDE_WORK_MAX, spareval_oracle::answer)
}

fn compared(
    dataset: &Dataset,
    query: &str,
    work_max: u64,
    other: fn(&Dataset, &str) -> Result<Answer, String>,
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
        let answer = match other(dataset, query) {
            Ok(answer) => answer,
            Err(error) if error.contains(LITERAL_SUBJECT) => {
                let spareval_differs =
                    Some("a triple term with a literal subject is an error there");
                return Ok(Some(Expected {
                    spareval_differs,
                    ..expected
                }));
            }
            Err(error) if error == spareval_oracle::GAVE_UP => {
                let spareval_differs = Some("it gives up there");
                return Ok(Some(Expected {
                    spareval_differs,
                    ..expected
                }));
            }
            Err(error) => return Err(format!("only spareval has an error: {error}")),
        };
        if let Err(complaint) = compare::check(&bag, &answer, &Blanks::Same) {
            if !(query.contains("EXISTS") && query.contains("<<(")) {
                return Err(format!("the oracles disagree: {complaint}"));
            }
            // The same error as above, which within a filter only lets no row pass.
            let spareval_differs =
                Some("a triple term with a literal subject is an error within EXISTS there");
            return Ok(Some(Expected {
                spareval_differs,
                ..expected
            }));
        }
    }
    Ok(Some(expected))
}
