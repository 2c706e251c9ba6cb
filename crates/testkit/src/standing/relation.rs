//! Relation to stream: which rows of an answer are reported, given the answer before.
//!
//! Invariant: rows are compared as terms. Where the specification leaves an answer open there is no difference to
//! expect, and the question is given back ([`Unrelated`]).
//!
//! Source: Arasu, Babu and Widom, "The CQL continuous query language" (VLDB Journal 2006, section 5).

use crate::Row;
use crate::naive::Expected;
use query::standing::{Difference, Relation};
use std::collections::HashMap;

/// Why no difference can be expected of an answer.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(super) enum Unrelated {
    /// `ASK` has no rows.
    #[error("an answer of ASK has no rows to compare")]
    Boolean,
    /// A slice, `REDUCED`, or a value of which several would do.
    #[error("the specification leaves the rows of the answer open")]
    Open,
}

/// The rows of an answer, where they are determined.
pub(super) fn determined(answer: &Expected) -> Result<Vec<Row>, Unrelated> {
    if answer.boolean.is_some() {
        return Err(Unrelated::Boolean);
    }
    let is_whole = answer.given() == answer.rows.len();
    if !is_whole || answer.is_reduced || !answer.choices.is_empty() {
        return Err(Unrelated::Open);
    }
    Ok(answer.rows.clone())
}

/// The rows that are reported. Their order says nothing where it is a difference.
pub(super) fn related(
    relation: Relation,
    difference: Difference,
    before: &[Row],
    now: &[Row],
) -> Vec<Row> {
    match relation {
        Relation::Rows => now.to_vec(),
        Relation::Insertions => minus(now, before, difference),
        Relation::Deletions => minus(before, now, difference),
    }
}

/// The rows of one bag that another one has not.
fn minus(of: &[Row], without: &[Row], difference: Difference) -> Vec<Row> {
    let mut taken: HashMap<&Row, usize> = HashMap::new();
    for row in without {
        *taken.entry(row).or_default() += 1;
    }
    let mut given: HashMap<&Row, usize> = HashMap::new();
    let mut left = Vec::new();
    for row in of {
        let count = given.entry(row).or_default();
        *count += 1;
        let taken = taken.get(row).copied().unwrap_or(0);
        let is_left = match difference {
            Difference::Multiset => *count > taken,
            Difference::Set => *count == 1 && taken == 0,
        };
        if is_left {
            left.push(row.clone());
        }
    }
    left
}

#[cfg(test)]
mod tests {
    use super::*;
    use oxrdf::Literal;

    fn rows(values: &str) -> Vec<Row> {
        let row = |value: char| vec![Some(Literal::new_simple_literal(value.to_string()).into())];
        values.chars().map(row).collect()
    }

    #[test]
    fn bags_and_sets_are_subtracted() {
        let (before, now) = (rows("aab"), rows("aaacd"));
        let part = |relation, difference| related(relation, difference, &before, &now);
        assert_eq!(part(Relation::Rows, Difference::Set), now);
        assert_eq!(
            part(Relation::Insertions, Difference::Multiset),
            rows("acd")
        );
        assert_eq!(part(Relation::Insertions, Difference::Set), rows("cd"));
        assert_eq!(part(Relation::Deletions, Difference::Multiset), rows("b"));
        let part = |difference| related(Relation::Deletions, difference, &now, &rows("a"));
        assert_eq!(part(Difference::Multiset), rows("aacd"));
        assert_eq!(part(Difference::Set), rows("cd"));
    }
}
