//! Which columns live on after each step: found from the last step to the first, then cut to what is
//! there from the first to the last.
//!
//! A block that is walked from the table keeps its row's number and what the steps after the block
//! read of what it makes; what the block itself reads of the table are its imports. What nobody reads
//! is not exported, and a `BIND` that nobody reads is not computed.

use crate::plan::{Action, Mode, Slot, Step};
use crate::slots::Slots;

/// Fills `keep`, `imports` and `exports` of all steps of a block whose last table has to hold
/// `result`, as far as there are such columns. `begins`: the columns of its first table.
pub(super) fn keep_live(steps: &mut Vec<Step>, result: &Slots, begins: &Slots) -> Slots {
    let needed = backward(steps, result);
    forward(steps, begins, None);
    needed
}

/// What the first table has to hold.
fn backward(steps: &mut Vec<Step>, result: &Slots) -> Slots {
    let mut needed = result.clone();
    let mut at = steps.len();
    while at > 0 {
        at -= 1;
        if is_idle(&steps[at].action, &needed) {
            steps.remove(at);
            continue;
        }
        let step = &mut steps[at];
        step.keep = needed.to_vec();
        if !block(&mut step.action, &mut needed) {
            step.action.for_each_write(&mut |slot| needed.remove(slot));
            step.action.for_each_read(&mut |slot| {
                needed.insert(slot);
            });
        }
    }
    needed
}

/// A column that nobody reads.
fn is_idle(action: &Action, needed: &Slots) -> bool {
    match action {
        Action::Bind { into, .. }
        | Action::Nested {
            mode: Mode::Mark(into),
            ..
        } => !needed.contains(*into),
        _ => false,
    }
}

/// The steps within a step; says whether it has any.
fn block(action: &mut Action, needed: &mut Slots) -> bool {
    match action {
        Action::Nested {
            mode,
            branches,
            imports,
            row,
            exports,
            ..
        } => {
            exports.retain(|slot| needed.contains(*slot));
            let mut result: Slots = exports.iter().copied().collect();
            result.insert(*row);
            let mut read = Slots::default();
            for branch in branches {
                read.add(&backward(branch, &result));
            }
            read.remove(*row);
            if let Mode::Mark(mark) = mode {
                needed.remove(*mark);
            }
            for slot in exports {
                needed.remove(*slot);
            }
            needed.add(&read);
            *imports = read.to_vec();
            true
        }
        Action::Probe {
            table,
            keys,
            exports,
        } => {
            exports.retain(|slot| needed.contains(*slot));
            for slot in exports.iter() {
                needed.remove(*slot);
            }
            let mut result: Slots = keys.iter().copied().collect();
            for slot in &result.to_vec() {
                needed.insert(*slot);
            }
            result.extend(exports.iter().copied());
            let read = backward(table, &result);
            debug_assert!(read.is_empty() || !table.is_empty() || !result.is_empty());
            true
        }
        _ => false,
    }
}

/// Cuts what is kept to what is there. `row`: the number of the row that the block was walked from.
fn forward(steps: &mut [Step], begins: &Slots, row: Option<Slot>) {
    let mut there = begins.clone();
    for step in steps {
        let mut after = there.clone();
        match &mut step.action {
            Action::Nested {
                branches,
                imports,
                row,
                ..
            } => {
                imports.retain(|slot| there.contains(*slot));
                let mut enters: Slots = imports.iter().copied().collect();
                enters.insert(*row);
                for branch in branches {
                    forward(branch, &enters, Some(*row));
                }
            }
            Action::Probe { table, .. } => {
                forward(table, &Slots::default(), None);
            }
            Action::Aggregate { keys, .. } => {
                let keys: Slots = keys.iter().copied().collect();
                after.intersect(&keys);
                after.extend(row);
            }
            Action::Count { .. } => after = Slots::default(),
            _ => {}
        }
        step.action.for_each_write(&mut |slot| {
            after.insert(slot);
        });
        step.keep.retain(|slot| after.contains(*slot));
        there = step.keep.iter().copied().collect();
    }
}
