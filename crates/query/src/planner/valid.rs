//! What every plan is, whatever was asked: a column is written once before it is read, blocks read what the table
//! has and give what they say, estimates are numbers.
//!
//! Asserted once for each plan that is made, in time of its steps and their columns, where debug assertions are: in
//! all tests, so over every suite and oracle. A release does not look: a plan that breaks one of these rules may
//! still walk, and no query is to end for the sake of the rule.

use crate::plan::{Action, Mode, Plan, Slot, Step};
use crate::slots::Slots;

/// Panics where a plan is none.
pub(super) fn assert_valid(plan: &Plan) {
    let width = plan.variables.len();
    block(&plan.steps, Slots::default(), None, width);
}

/// Looks at a block that begins with these columns; gives those it ends with. `row`: the column with the numbers of
/// the rows that it is walked for.
fn block(steps: &[Step], begins: Slots, row: Option<Slot>, width: usize) -> Slots {
    let mut there = begins;
    for step in steps {
        there = self::step(step, there, row, width);
        let has_row = row.is_none_or(|row| there.contains(row));
        assert!(has_row, "what is found in a block belongs to a row");
    }
    there
}

fn step(step: &Step, mut there: Slots, row: Option<Slot>, width: usize) -> Slots {
    let action = &step.action;
    let mut read = Slots::default();
    action.for_each_read(&mut |slot| {
        read.insert(slot);
    });
    let may_be_absent = matches!(action, Action::Unify { .. });
    assert!(
        may_be_absent || read.is_within(&there),
        "a column is written before it is read: {action:?}"
    );
    let mut written = Slots::default();
    let (mut is_once, mut has_variable) = (true, true);
    action.for_each_write(&mut |slot| {
        is_once &= written.insert(slot);
        has_variable &= usize::from(slot.0) < width;
    });
    assert!(is_once, "a step writes a column once: {action:?}");
    assert!(has_variable, "a column has a variable: {action:?}");
    let again = written.without(&changed(action));
    assert!(
        !again.intersects(&there),
        "a column is written once: {action:?}"
    );
    match action {
        Action::Nested { .. } => nested(action, &there, width),
        Action::Probe { .. } => probe(action, width),
        Action::Values { columns, rows } => {
            let is_whole = rows.iter().all(|row| row.len() == columns.len());
            assert!(is_whole, "a row of values has all columns");
        }
        Action::Aggregate { keys, .. } => {
            let mut kept: Slots = keys.iter().copied().collect();
            kept.extend(row);
            there.intersect(&kept);
        }
        Action::Count { .. } => there = Slots::default(),
        _ => {}
    }
    there.add(&written);
    let estimate = step.estimate;
    let is_number = |number: f64| number.is_finite() && number >= 0.0;
    assert!(
        is_number(estimate.rows) && is_number(estimate.cost_ns),
        "an estimate is a number: {estimate:?} of {action:?}"
    );
    let keep: Slots = step.keep.iter().copied().collect();
    assert!(step.keep.is_sorted(), "columns are kept in order");
    assert!(
        keep.is_within(&there),
        "a column is kept that is there: {action:?}"
    );
    keep
}

/// Columns that a step may write although they are there.
fn changed(action: &Action) -> Slots {
    match action {
        Action::Unify { into, .. } | Action::Count { into, .. } => [*into].into_iter().collect(),
        Action::Nested { imports, .. } => imports.iter().copied().collect(),
        // All columns but the keys end here, so their names are free.
        Action::Aggregate { keys, aggregates } => {
            let made = aggregates.iter().map(|(_, into)| *into);
            made.filter(|into| !keys.contains(into)).collect()
        }
        _ => Slots::default(),
    }
}

fn nested(action: &Action, there: &Slots, width: usize) {
    let Action::Nested {
        mode,
        branches,
        imports,
        row,
        exports,
        row_by_row,
    } = action
    else {
        unreachable!("the caller has looked");
    };
    let mut begins: Slots = imports.iter().copied().collect();
    let is_new = !there.contains(*row) && begins.insert(*row);
    assert!(is_new, "rows are numbered in a column of their own");
    let gives_rows = matches!(mode, Mode::Inner | Mode::Left);
    assert!(
        gives_rows || exports.is_empty(),
        "a block that is only asked gives nothing: {exports:?}"
    );
    let mut given: Slots = exports.iter().copied().collect();
    let kept = given.and(there);
    given.insert(*row);
    for branch in branches {
        let ends = block(branch, begins.clone(), Some(*row), width);
        assert!(
            ends.is_within(&given),
            "what a block ends with is for somebody"
        );
        assert!(kept.is_within(&ends), "what a block changes is not lost");
        assert!(
            *row_by_row || !branch.iter().any(looks_at_all),
            "rows of one row are looked at together"
        );
    }
}

fn looks_at_all(step: &Step) -> bool {
    matches!(
        step.action,
        Action::Distinct { .. }
            | Action::Order { .. }
            | Action::Slice { .. }
            | Action::Aggregate { .. }
            | Action::Count { .. }
    )
}

fn probe(action: &Action, width: usize) {
    let Action::Probe {
        table,
        keys,
        exports,
    } = action
    else {
        unreachable!("the caller has looked");
    };
    let ends = block(table, Slots::default(), None, width);
    let mut made = Slots::default();
    let is_once = keys.iter().chain(exports).all(|slot| made.insert(*slot));
    assert!(is_once, "a column of a table is a key, or it is given");
    let is_all = ends.is_within(&made) && made.is_within(&ends);
    assert!(is_all, "a table has its keys and what it gives");
}
