//! Equal rows that become one before they cross the link: where the step behind a section wants each row once, or counts them
//! ([`Prepared::collapse`]).
//!
//! A query that groups many rows by few keys then sends keys: of 150 million rows in a thousand groups 12 kB cross instead of 600 MB,
//! and whoever groups them has a thousand rows to look at. It costs three launches and one write to a slot a row, so it is for tables that are expected
//! to be long. How many rows are left is known where the next step's groups are by all columns that the rows have; else as many may be left as there
//! were, and slots are as many as there is room for when there were too few.

use explore::{Collapse, Prepared};
use query::plan::Action;

/// Bytes of tables from which there is room for slots beside rows.
pub(crate) const TABLES_MIN: u64 = 64 << 10;

/// When equal rows are made one.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Policy {
    /// Expected rows from which they are worth looking for.
    pub(crate) rows_min: f64,
    /// Slots at first.
    pub(crate) slots_min: u64,
}

/// Launching three kernels takes what a processor takes for so many rows; emptying so many slots takes no time.
pub(crate) const POLICY: Policy = Policy {
    rows_min: 4096.0,
    slots_min: 1 << 16,
};

/// Equal rows of a program's last table become one.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct ProgramCollapse {
    /// Whether somebody asks how many there were.
    pub(crate) counted: bool,
    /// Rows that the planner expects to be left, where it says so.
    pub(crate) rows: f64,
    slots_min: u64,
}

impl ProgramCollapse {
    /// What the step behind the first so many asks for, if enough rows are expected to come to it.
    pub(crate) fn of(prepared: &Prepared<'_>, covered: usize, policy: Policy) -> Option<Self> {
        let steps = &prepared.plan().steps;
        let expected = steps[covered.checked_sub(1)?].estimate.rows;
        steps.get(covered)?;
        if expected < policy.rows_min || prepared.columns_before(covered).is_empty() {
            return None;
        }
        let collapse = prepared.collapse(covered)?;
        Some(ProgramCollapse {
            counted: collapse == Collapse::Counted,
            rows: rows_left(prepared, covered).map_or(expected, |rows| rows.min(expected)),
            slots_min: policy.slots_min,
        })
    }

    /// How many slots there are at first, of so many at most: powers of two.
    pub(crate) fn slots(&self, most: u64) -> u64 {
        let wanted = (4.0 * self.rows).clamp(1.0, (1u64 << 40) as f64) as u64;
        wanted.max(self.slots_min).next_power_of_two().min(most)
    }
}

/// Rows that the step behind the first so many is expected to tell apart by all columns of its rows; `None`: its estimate is of something else.
fn rows_left(prepared: &Prepared<'_>, covered: usize) -> Option<f64> {
    let next = &prepared.plan().steps[covered];
    let told_apart = match &next.action {
        Action::Distinct { columns } => columns,
        Action::Aggregate { keys, .. } => keys,
        _ => return None,
    };
    let mut columns = prepared.columns_before(covered).iter();
    let are_all = columns.all(|column| told_apart.contains(column));
    are_all.then_some(next.estimate.rows)
}

/// The slots of a section that runs.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Slots {
    /// Where their mask stands in the arguments.
    pub(crate) mask_at: usize,
    /// How many there are, and may be.
    pub(crate) count: u64,
    pub(crate) most: u64,
    /// The number by which the outcome names the step that had too few.
    pub(crate) number: usize,
}

impl Slots {
    /// Makes them as many as there may be after a step of this number had no room, for a strip that has to be walked again is dearer than
    /// slots that are emptied for nothing; `false`: it was not for them, or they are as many already.
    pub(crate) fn grow(&mut self, step: usize) -> bool {
        let grows = step == self.number && self.count < self.most;
        if grows {
            self.count = self.most;
        }
        grows
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slots_grow_once_and_for_their_own_step() {
        let mut slots = Slots {
            mask_at: 0,
            count: 64,
            most: 4096,
            number: 3,
        };
        assert!(!slots.grow(2), "another step had no room");
        assert!(slots.grow(3));
        assert_eq!(slots.count, 4096);
        assert!(!slots.grow(3), "there are no more");
    }

    #[test]
    fn slots_are_four_times_the_rows_within_bounds() {
        let slots = |rows: f64, most: u64| {
            let collapse = ProgramCollapse {
                counted: true,
                rows,
                slots_min: 64,
            };
            collapse.slots(most)
        };
        assert_eq!(slots(1.0, 1 << 20), 64);
        assert_eq!(slots(1000.0, 1 << 20), 4096);
        assert_eq!(slots(1e30, 1 << 20), 1 << 20);
        assert_eq!(slots(f64::NAN, 1 << 20), 64);
        assert_eq!(slots(1000.0, 32), 32);
    }
}
