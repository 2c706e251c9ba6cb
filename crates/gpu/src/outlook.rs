//! What a section would do, before anything is brought to the device for it.

use crate::need::Need;
use crate::part::OwnPart;
use std::ops::Range;
use store::delta::Version;

/// What a section is over, and whether it is wanted.
#[derive(Clone)]
pub struct Over<'o> {
    /// Of which steps of the plan: the first of them is walked over the plan's seed, any other over rows that are
    /// [loaded](crate::Section::load). What ends behind the plan's last step ends there.
    pub steps: Range<usize>,
    /// What the base has of the graph, where that is not all of it.
    pub part: Option<OwnPart<'o>>,
    /// What is walked, over the base of the device's images: what its layers have changed is brought, too, as long as it is little. `None`:
    /// the base.
    pub version: Option<&'o Version>,
    /// Whether the query has begun a section over this before: another table of rows, of which nothing is counted that is counted once a query.
    pub goes_on: bool,
    /// Who is told what segments are not on the device; it is [`GpuError::Away`](crate::GpuError::Away) then. Of a section that begins, too, where they lie
    /// otherwise than is best. `None`: they are brought and moved at once, which may take a second. Changes are, whoever is told: they are few.
    pub misses: Option<&'o dyn Fn(Need)>,
    /// On which of several devices; `None`: on the one where most lies of what is looked at and lies whole, if it has room, else on one that has.
    pub device: Option<usize>,
    /// Whether what the device would do is worth it ([`GpuError::Unworthy`](crate::GpuError::Unworthy)): asked before segments are brought.
    pub is_worth: &'o dyn Fn(&Outlook) -> bool,
}

impl Over<'_> {
    /// The base, whatever is gained.
    pub const ALL: Over<'static> = Over {
        steps: 0..usize::MAX,
        part: None,
        goes_on: false,
        misses: None,
        device: None,
        version: None,
        is_worth: &|_| true,
    };
}

/// See the head of this file.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Outlook {
    /// The first step.
    pub first: usize,
    /// Steps of the plan, up to the one behind the last.
    pub covered: usize,
    /// Columns of the rows that are read.
    pub columns: usize,
    /// Rows that are expected to be left, where equal ones become one.
    pub(crate) rows_left: Option<f64>,
}

impl Outlook {
    /// Of these steps, whose last one gives so many columns.
    pub fn of(steps: Range<usize>, columns: usize) -> Outlook {
        Outlook {
            first: steps.start,
            covered: steps.end,
            columns,
            rows_left: None,
        }
    }

    /// How many rows are expected to be read where its last step is expected to give so many.
    pub fn expected_rows(&self, rows: f64) -> f64 {
        self.rows_left.map_or(rows, |left| rows.min(left))
    }
}
