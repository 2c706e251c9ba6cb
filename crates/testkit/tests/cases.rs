//! The case files hold what the oracles say: a case that is wrong would judge the engine wrongly.
//!
//! Cases that expect an error are about the engine and are left to it. So are those of
//! [`BEYOND_NAIVE`], whose rows are written by hand from the specification.

use oxrdf::Dataset;
use std::path::Path;
use testkit::cases::{self, Outcome};
use testkit::naive::{self, Expected};
use testkit::{Answer, graph};

/// Why the naive evaluator gives a choice.
const ORDER_IS_OPEN: &str = "it leaves open in which order the rows of a sub-query come";

/// Cases that the naive evaluator cannot judge, with the reason. One that it agrees with fails, so
/// that none stays here for nothing.
const BEYOND_NAIVE: [(&str, &str); 11] = [
    (
        "HAVING sees what SELECT computes of what it has computed before",
        "its grammar has no variable of the clause within the clause",
    ),
    (
        "GROUP_CONCAT follows the ORDER BY of a sub-query",
        ORDER_IS_OPEN,
    ),
    (
        "GROUP_CONCAT of each group follows the ORDER BY of a sub-query, by what it does not project",
        ORDER_IS_OPEN,
    ),
    (
        "GROUP_CONCAT(DISTINCT) follows the ORDER BY of a sub-query beside other patterns, and of what is computed",
        ORDER_IS_OPEN,
    ),
    (
        "GROUP_CONCAT follows the ORDER BY of a sub-query that is cut, and of one within it",
        ORDER_IS_OPEN,
    ),
    (
        "GROUP_CONCAT follows the ORDER BY of a sub-query that groups",
        ORDER_IS_OPEN,
    ),
    (
        "GROUP_CONCAT follows the ORDER BY of a sub-query in OPTIONAL and in LATERAL",
        ORDER_IS_OPEN,
    ),
    (
        "SAMPLE takes the first by the ORDER BY of a sub-query",
        ORDER_IS_OPEN,
    ),
    (
        "classes of a pattern: subtraction, and characters that are operators elsewhere",
        "its patterns are those of the regex crate, not of XPath",
    ),
    (
        "REPLACE with a class less another",
        "its patterns are those of the regex crate, not of XPath",
    ),
    (
        "name characters",
        "its patterns are those of the regex crate, not of XPath",
    ),
];

/// An answer that is as expected, in one of the ways it may be.
fn given(expected: &Expected) -> Answer {
    if let Some(value) = expected.boolean {
        return Answer::Boolean(value);
    }
    let mut order: Vec<usize> = (0..expected.rows.len()).collect();
    if let Some(ordering) = &expected.ordering {
        order.sort_by(|&one, &other| {
            let columns = ordering.keys[one].iter().zip(&ordering.keys[other]);
            let compared = columns
                .zip(&ordering.descending)
                .map(|((one, other), descending)| {
                    let rank = naive::order::rank(one).cmp(&naive::order::rank(other));
                    let order = rank.then_with(|| naive::order::within_class(one, other));
                    if *descending { order.reverse() } else { order }
                });
            compared.fold(std::cmp::Ordering::Equal, std::cmp::Ordering::then)
        });
    }
    let rows = order.into_iter().map(|index| expected.rows[index].clone());
    let rows = rows
        .skip(expected.offset)
        .take(expected.limit.unwrap_or(usize::MAX))
        .collect();
    Answer::Rows {
        variables: expected.variables.clone(),
        rows,
    }
}

#[test]
fn the_naive_evaluator_agrees_with_every_case() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata/cases");
    let cases = cases::read_folder(&folder).unwrap();
    let mut complaints = Vec::new();
    let mut answered = 0;
    let mut beyond = 0;
    for case in cases
        .iter()
        .filter(|case| matches!(case.outcome, Outcome::Answer(_)))
    {
        let dataset: Result<Dataset, _> = graph::parse(&case.graph);
        let dataset = dataset.unwrap_or_else(|error| panic!("{}: {error}", case.place));
        let expected = naive::answer(&dataset, &case.query);
        let given = expected
            .map(|expected| given(&expected))
            .map_err(|error| error.to_string());
        let complaint = case.check(given).err();
        match BEYOND_NAIVE.iter().find(|(name, _)| *name == case.name) {
            None => complaints.extend(complaint),
            Some((name, reason)) if complaint.is_none() => {
                complaints.push(format!("{name}: judged after all, though {reason}"));
            }
            Some(_) => beyond += 1,
        }
        answered += 1;
    }
    assert_eq!(beyond, BEYOND_NAIVE.len(), "every exception is a case");
    assert!(complaints.is_empty(), "{}", complaints.join("\n\n"));
    assert!(answered > 100, "only {answered} cases with an answer");
}
