//! Whether rows come in an order that `ORDER BY` promises.
//!
//! The expected rows are sorted as far as the keys are weakly ordered, which leaves groups of ties
//! in a fixed order; the given rows must run through these groups, from the offset on. That is
//! exact, also for keys that are not projected. Where a key's column mixes cells without a promised
//! order (numbers and strings), only the ranks of that key are used for the groups; inside, the
//! cells of each class must still ascend, where a given row tells its key.

use super::{counts, shown_row};
use crate::Row;
use crate::naive::order::{Cell, Class, class, rank, within_class};
use crate::naive::{Expected, Ordering};
use std::cmp;
use std::collections::HashMap;

type Keys = [Cell];

/// Checks the order of rows that are known to be the right bag.
pub(super) fn check(expected: &Expected, ordering: &Ordering, rows: &[Row]) -> Result<(), String> {
    let exact = exact_columns(ordering);
    let compare = |one: &Keys, other: &Keys| compare(one, other, &ordering.descending, exact);
    let mut sorted: Vec<usize> = (0..expected.rows.len()).collect();
    sorted.sort_by(|&one, &other| compare(&ordering.keys[one], &ordering.keys[other]));
    let ties =
        sorted.chunk_by(|&one, &other| compare(&ordering.keys[one], &ordering.keys[other]).is_eq());
    let mut start = 0;
    for group in ties {
        let end = start + group.len();
        let here = given_between(expected, rows, start, end);
        let allowed: Vec<Row> = group
            .iter()
            .map(|&index| expected.rows[index].clone())
            .collect();
        check_group(&allowed, here, start)?;
        if exact < ordering.descending.len() {
            check_classes(expected, ordering, group, here, exact)?;
        }
        start = end;
    }
    Ok(())
}

/// Number of leading keys whose cells are weakly ordered: one class in each rank.
fn exact_columns(ordering: &Ordering) -> usize {
    let is_exact = |&column: &usize| {
        let mut classes: HashMap<u8, Class> = HashMap::new();
        ordering.keys.iter().all(|keys| {
            let class = class(&keys[column]);
            *classes
                .entry(rank(&keys[column]))
                .or_insert_with(|| class.clone())
                == class
        })
    };
    (0..ordering.descending.len()).take_while(is_exact).count()
}

fn compare(one: &Keys, other: &Keys, descending: &[bool], exact: usize) -> cmp::Ordering {
    for (column, &is_descending) in descending.iter().enumerate().take(exact + 1) {
        let (one, other) = (&one[column], &other[column]);
        let mut order = rank(one).cmp(&rank(other));
        if order.is_eq() && column < exact {
            order = within_class(one, other);
        }
        if order.is_ne() {
            return if is_descending {
                order.reverse()
            } else {
                order
            };
        }
    }
    cmp::Ordering::Equal
}

/// The given rows that stand at these positions of the whole sequence.
fn given_between<'a>(expected: &Expected, rows: &'a [Row], start: usize, end: usize) -> &'a [Row] {
    let position = |whole: usize| whole.saturating_sub(expected.offset).min(rows.len());
    &rows[position(start)..position(end)]
}

fn check_group(allowed: &[Row], here: &[Row], start: usize) -> Result<(), String> {
    let allowed = counts(allowed);
    for (row, count) in counts(here) {
        if count > allowed.get(row).copied().unwrap_or(0) {
            let place = format!("after {start} rows of the whole order");
            return Err(format!(
                "out of order: {} should not come {place}",
                shown_row(row)
            ));
        }
    }
    Ok(())
}

/// Inside a group: the rows of each class ascend in the first key that is not exact.
fn check_classes(
    expected: &Expected,
    ordering: &Ordering,
    group: &[usize],
    here: &[Row],
    column: usize,
) -> Result<(), String> {
    let mut known: HashMap<&Row, Option<&Cell>> = HashMap::new();
    for &index in group {
        let cell = &ordering.keys[index][column];
        known
            .entry(&expected.rows[index])
            .and_modify(|first| *first = first.filter(|first| *first == cell))
            .or_insert(Some(cell));
    }
    let mut last: HashMap<Class, &Cell> = HashMap::new();
    for row in here {
        let Some(Some(cell)) = known.get(row) else {
            continue;
        };
        let before = last.insert(class(cell), cell);
        let order = before.map_or(cmp::Ordering::Equal, |before| within_class(before, cell));
        let wrong = if ordering.descending[column] {
            order.is_lt()
        } else {
            order.is_gt()
        };
        if wrong {
            return Err(format!("out of order: {} in key {column}", shown_row(row)));
        }
    }
    Ok(())
}
