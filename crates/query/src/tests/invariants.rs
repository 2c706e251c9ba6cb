//! What every plan has to be: a column is written once before it is read, blocks read what the table
//! has and give what they say, estimates are numbers.
//!
//! `planner::valid` asserts nearly the same of the plans of every other test. This reads plans with sets of its own
//! instead of the planner's, and is stricter: what is aggregated has a name of its own in all plans of these tests.

use crate::plan::{Action, Mode, Plan, Scope, Slot, Step};
use std::collections::BTreeSet;

type Columns = BTreeSet<Slot>;

/// Checks a plan.
pub(super) fn check_plan(plan: &Plan) {
    let checked = block(&plan.steps, Columns::new(), None);
    if let Err(error) = checked {
        panic!("{error}\n{}", plan.explain());
    }
}

/// Checks a block that begins with these columns; gives those it ends with.
fn block(steps: &[Step], begins: Columns, row: Option<Slot>) -> Result<Columns, String> {
    let mut there = begins;
    for step in steps {
        there = self::step(step, there, row)?;
        if let Some(row) = row
            && !there.contains(&row)
        {
            return Err(format!("the row {row:?} died"));
        }
    }
    Ok(there)
}

fn step(step: &Step, mut there: Columns, row: Option<Slot>) -> Result<Columns, String> {
    let action = &step.action;
    let may_be_absent = matches!(action, Action::Unify { .. });
    let mut trouble = None;
    action.for_each_read(&mut |slot| {
        if !may_be_absent && !there.contains(&slot) {
            trouble = Some(format!("{slot:?} is read but not there"));
        }
    });
    let changes = changed(action);
    let mut written = Columns::new();
    action.for_each_write(&mut |slot| {
        if there.contains(&slot) && !changes.contains(&slot) {
            trouble = Some(format!("{slot:?} is written again"));
        }
        if !written.insert(slot) {
            trouble = Some(format!("{slot:?} is written twice"));
        }
    });
    if let Some(trouble) = trouble {
        return Err(format!("{trouble} by {action:?}"));
    }
    if let Action::ExpandKeys {
        scope: Scope::Bind(graph),
        into,
        ..
    } = action
        && graph == into
    {
        return Err("keys are their own graph".to_owned());
    }
    blocks(action, &there)?;
    match action {
        Action::Aggregate { keys, .. } => {
            there.retain(|slot| keys.contains(slot) || Some(*slot) == row);
        }
        Action::Count { .. } => there.clear(),
        _ => {}
    }
    there.extend(written);
    let estimate = step.estimate;
    if !(estimate.rows >= 0.0 && estimate.cost_ns >= 0.0) {
        return Err(format!("{estimate:?}"));
    }
    if !step.keep.is_sorted() || !step.keep.iter().all(|slot| there.contains(slot)) {
        return Err(format!(
            "{:?} kept of {there:?} after {action:?}",
            step.keep
        ));
    }
    Ok(step.keep.iter().copied().collect())
}

/// Columns that a step may write although they are there.
fn changed(action: &Action) -> Columns {
    match action {
        Action::Unify { into, .. } => [*into].into(),
        Action::Nested { imports, .. } => imports.iter().copied().collect(),
        _ => Columns::new(),
    }
}

fn blocks(action: &Action, there: &Columns) -> Result<(), String> {
    match action {
        Action::Nested {
            mode,
            branches,
            imports,
            row,
            exports,
            row_by_row,
        } => {
            let mut begins: Columns = imports.iter().copied().collect();
            if there.contains(row) || !begins.insert(*row) || !imports.is_sorted() {
                return Err(format!("row {row:?}, imports {imports:?}"));
            }
            let walks = matches!(mode, Mode::Inner | Mode::Left);
            if !exports.is_sorted() || !walks && !exports.is_empty() {
                return Err(format!("{mode:?} exports {exports:?}"));
            }
            for branch in branches {
                let ends = block(branch, begins.clone(), Some(*row))?;
                if let Some(slot) = ends
                    .iter()
                    .find(|slot| !exports.contains(slot) && *slot != row)
                {
                    return Err(format!("{slot:?} lives to the end for nobody"));
                }
                for slot in exports.iter().filter(|slot| there.contains(slot)) {
                    if !ends.contains(slot) {
                        return Err(format!("{slot:?} was there and is lost"));
                    }
                }
                let of_all = |step: &Step| {
                    matches!(
                        step.action,
                        Action::Distinct { .. }
                            | Action::Order { .. }
                            | Action::Slice { .. }
                            | Action::Aggregate { .. }
                            | Action::Count { .. }
                    )
                };
                if !row_by_row && branch.iter().any(of_all) {
                    return Err("rows of several rows are looked at together".to_owned());
                }
            }
        }
        Action::Probe {
            table,
            keys,
            exports,
        } => {
            let ends = block(table, Columns::new(), None)?;
            let made: Columns = keys.iter().chain(exports).copied().collect();
            if made.len() != keys.len() + exports.len() || ends != made {
                return Err(format!("a table of {ends:?} for {made:?}"));
            }
        }
        _ => {}
    }
    Ok(())
}
