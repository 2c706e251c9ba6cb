//! Whether an answer is one that the specification allows.
//!
//! Answers are bags of rows: the order counts only as far as `ORDER BY` promises it; a slice without
//! a total order is a sub-bag of the right size; `REDUCED` may drop duplicates; some values are a
//! choice or a floating sum. Labels of blank nodes say nothing, so they are mapped first ([`Blanks`]). Invariant: a complaint is never about
//! something that the specification leaves open, and everything else is complained about.

mod blanks;
mod open;
mod sequence;

pub use blanks::Blanks;

use crate::naive::{Expected, shown};
use crate::{Answer, Row};
use oxrdf::{Literal, Quad, QuadRef, Term, Triple};
use std::collections::HashMap;
use std::fmt::Write as _;

/// Rows shown of each kind in a complaint.
const SHOWN_MAX: usize = 6;

/// Checks an answer; the error is a complaint for people.
pub fn check(expected: &Expected, actual: &Answer, blanks: &Blanks) -> Result<(), String> {
    let (variables, rows) = match (expected.boolean, actual) {
        (Some(wanted), Answer::Boolean(given)) if wanted == *given => return Ok(()),
        (Some(wanted), Answer::Boolean(given)) => {
            return Err(format!("expected {wanted}, got {given}"));
        }
        (Some(_), Answer::Rows { .. }) => return Err("expected a boolean, got rows".to_owned()),
        (None, Answer::Boolean(_)) => return Err("expected rows, got a boolean".to_owned()),
        (None, Answer::Rows { variables, rows }) => (variables, rows),
    };
    if let Some(row) = rows.iter().find(|row| row.len() != variables.len()) {
        return Err(format!(
            "a row of {} cells for {} variables",
            row.len(),
            variables.len()
        ));
    }
    let rows = in_our_columns(expected, variables, rows)?;
    let rows: Vec<Row> = rows.into_iter().map(with_plain_tags).collect();
    blanks.each_renaming(&expected.rows, &rows, |renamed| {
        check_rows(expected, renamed)
    })
}

/// A row with its language tags in lower case, as ours have them: they mean the same.
pub(crate) fn with_plain_tags(row: Row) -> Row {
    row.into_iter().map(|cell| cell.map(plain_tag)).collect()
}

/// A term with its language tag in lower case.
pub fn plain_tag(term: Term) -> Term {
    match term {
        Term::Literal(literal) => {
            let Some(tag) = literal.language().map(str::to_lowercase) else {
                return literal.into();
            };
            match literal.direction() {
                None => Literal::new_language_tagged_literal_unchecked(literal.value(), tag),
                Some(direction) => Literal::new_directional_language_tagged_literal_unchecked(
                    literal.value(),
                    tag,
                    direction,
                ),
            }
            .into()
        }
        Term::Triple(triple) => {
            let object = plain_tag(triple.object);
            Triple::new(triple.subject, triple.predicate, object).into()
        }
        other => other,
    }
}

/// A quad that an engine gives out, with its language tag as the oracle's datasets have it.
pub fn plain_quad(quad: QuadRef<'_>) -> Quad {
    Quad::new(
        quad.subject.into_owned(),
        quad.predicate.into_owned(),
        plain_tag(quad.object.into_owned()),
        quad.graph_name.into_owned(),
    )
}

/// The rows with their columns in the expected order, which `SELECT *` leaves open.
fn in_our_columns(
    expected: &Expected,
    variables: &[String],
    rows: &[Row],
) -> Result<Vec<Row>, String> {
    if *variables == expected.variables {
        return Ok(rows.to_vec());
    }
    let column = |name| variables.iter().position(|other| other == name);
    let columns: Option<Vec<usize>> = expected.variables.iter().map(column).collect();
    match columns {
        Some(columns) if expected.has_free_columns && columns.len() == variables.len() => {
            let row = |row: &Row| columns.iter().map(|&column| row[column].clone()).collect();
            Ok(rows.iter().map(row).collect())
        }
        _ => Err(format!(
            "expected variables {:?}, got {variables:?}",
            expected.variables
        )),
    }
}

/// Checks rows whose blank nodes have our labels.
fn check_rows(expected: &Expected, rows: &[Row]) -> Result<(), String> {
    let rows = &open::rounded(&expected.rows, rows);
    let settled;
    let expected = if expected.choices.is_empty() {
        expected
    } else {
        settled = Expected {
            rows: open::settled(expected, rows),
            ..expected.clone()
        };
        &settled
    };
    let wanted = counts(&expected.rows);
    let given = counts(rows);
    if expected.is_reduced {
        check_reduced(expected, &wanted, &given, rows.len())?;
    } else {
        check_bag(expected, &wanted, &given, rows.len())?;
    }
    match &expected.ordering {
        Some(ordering) if !expected.is_reduced => sequence::check(expected, ordering, rows),
        _ => Ok(()),
    }
}

/// How often each row is in a bag.
pub(crate) fn counts(rows: &[Row]) -> HashMap<&Row, usize> {
    let mut counts = HashMap::new();
    for row in rows {
        *counts.entry(row).or_default() += 1;
    }
    counts
}

fn check_bag(
    expected: &Expected,
    wanted: &HashMap<&Row, usize>,
    given: &HashMap<&Row, usize>,
    rows: usize,
) -> Result<(), String> {
    let is_whole = expected.given() == expected.rows.len();
    let extra = surplus(given, wanted);
    let missing = if is_whole {
        surplus(wanted, given)
    } else {
        Vec::new()
    };
    if rows == expected.given() && extra.is_empty() && missing.is_empty() {
        return Ok(());
    }
    let size = format!("expected {} rows, got {rows}", expected.given());
    Err(format!(
        "{size}{}{}",
        listed("not expected", &extra),
        listed("missing", &missing)
    ))
}

fn check_reduced(
    expected: &Expected,
    wanted: &HashMap<&Row, usize>,
    given: &HashMap<&Row, usize>,
    rows: usize,
) -> Result<(), String> {
    let extra = surplus(given, wanted);
    let least = wanted.len().saturating_sub(expected.offset);
    let least = expected.limit.map_or(least, |limit| least.min(limit));
    if (least..=expected.given()).contains(&rows) && extra.is_empty() {
        return Ok(());
    }
    let size = format!("expected {least} to {} rows, got {rows}", expected.given());
    Err(format!("{size}{}", listed("not expected", &extra)))
}

/// Rows, and how often, that one bag has more than the other.
fn surplus<'a>(of: &HashMap<&'a Row, usize>, over: &HashMap<&Row, usize>) -> Vec<(&'a Row, usize)> {
    let more = |(row, count): (&&'a Row, &usize)| {
        let more = count.saturating_sub(over.get(row).copied().unwrap_or(0));
        (more > 0).then_some((*row, more))
    };
    let mut rows: Vec<_> = of.iter().filter_map(more).collect();
    rows.sort_by_key(|(row, _)| shown_row(row));
    rows
}

fn listed(what: &str, rows: &[(&Row, usize)]) -> String {
    let mut text = String::new();
    for (row, count) in rows.iter().take(SHOWN_MAX) {
        let _ = write!(text, "\n  {what}, {count} times: {}", shown_row(row));
    }
    if rows.len() > SHOWN_MAX {
        let _ = write!(text, "\n  and {} more", rows.len() - SHOWN_MAX);
    }
    text
}

/// A row as text.
pub(crate) fn shown_row(row: &Row) -> String {
    let cells: Vec<String> = row.iter().map(|cell| shown(cell.as_ref())).collect();
    format!("({})", cells.join(" "))
}

#[cfg(test)]
mod tests;
