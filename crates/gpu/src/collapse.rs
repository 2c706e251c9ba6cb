//! Equal rows that become one before they cross the link: where the step behind a section wants each row once, or counts them
//! ([`Prepared::collapse`]).
//!
//! A query that groups many rows by few keys then sends keys: of 150 million rows in a thousand groups 12 kB cross instead of 600 MB,
//! and whoever groups them has a thousand rows to look at. It costs three launches and one write to a slot a row, so it is for tables that are expected
//! to be long. How many groups there are is not known before: slots become more when there were too few.

use explore::{Collapse, Prepared};

/// Bytes of tables from which there is room for slots beside rows.
pub(crate) const TABLES_MIN: u64 = 64 << 10;

/// How many times as many slots there are when they were too few.
const GROWTH: u64 = 16;

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
        let next = steps.get(covered)?;
        if expected < policy.rows_min || prepared.columns_before(covered).is_empty() {
            return None;
        }
        let collapse = prepared.collapse(covered)?;
        Some(ProgramCollapse {
            counted: collapse == Collapse::Counted,
            rows: next.estimate.rows.min(expected),
            slots_min: policy.slots_min,
        })
    }

    /// How many slots there are at first, of so many at most: powers of two.
    pub(crate) fn slots(&self, most: u64) -> u64 {
        let wanted = (4.0 * self.rows).clamp(1.0, (1u64 << 40) as f64) as u64;
        wanted.max(self.slots_min).next_power_of_two().min(most)
    }
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
    /// Makes them more after a step of this number had no room; `false`: it was not for them, or there is no room for more.
    pub(crate) fn grow(&mut self, step: usize) -> bool {
        let grows = step == self.number && self.count < self.most;
        if grows {
            self.count = (self.count * GROWTH).min(self.most);
        }
        grows
    }
}
