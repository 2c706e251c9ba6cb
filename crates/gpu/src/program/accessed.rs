//! What of segments a program accesses, as its steps are compiled.

use super::Compiler;
use crate::access::{Access, Accessed};
use crate::versioned::Layered;
use query::plan::{Estimate, Step};
use std::ops::Range;

/// Rows of an estimate that are believed.
const ROWS_MAX: f64 = 1e30;

impl Compiler<'_, '_, '_> {
    /// The step of the plan with this number is compiled from now on.
    pub(super) fn comes_to(&mut self, at: usize, plan: &[Step]) {
        // Whoever sends a plan may say anything.
        let rows = |at: usize| plan[at].estimate.rows.min(ROWS_MAX);
        let before = at.checked_sub(1).map_or(1.0, rows);
        self.rows = before.max(1.0)..rows(at).max(0.0);
    }

    /// What is compiled from now on is expected to give as many rows as this says.
    pub(super) fn leave(&mut self, estimate: &Estimate) {
        self.rows.end = estimate.rows.clamp(0.0, ROWS_MAX);
    }

    /// Each row accesses this of the base's segment.
    pub(super) fn accesses(&mut self, images: &Layered, what: Accessed) {
        self.accessed(images.numbers.base, what, self.rows.start);
    }

    /// Each row accesses the same of what layers have made of it.
    pub(super) fn accesses_changes(&mut self, images: &Layered, what: &Accessed) {
        let [came, went] = [images.numbers.came, images.numbers.went];
        for number in came.into_iter().chain(went) {
            self.accessed(number, what.clone(), self.rows.start);
        }
    }

    /// Each row looks for an edge.
    pub(super) fn accesses_edge(&mut self, images: &Layered) {
        self.accesses(images, Accessed::Edge);
        self.accesses_changes(images, &Accessed::Edge);
    }

    /// Each row accesses the list of a key, of all of which as many rows come as leave the step.
    pub(super) fn accesses_lists(&mut self, images: &Layered) {
        let rows = self.rows.end / self.rows.start;
        self.accesses(images, Accessed::List { rows });
        self.accesses_changes(images, &Accessed::List { rows: 0.0 });
    }

    /// The seed accesses these rows, or the keys.
    pub(super) fn begins_with(&mut self, images: &Layered, rows: Option<Range<u64>>) {
        let what = rows.map_or(Accessed::Keys, Accessed::Rows);
        self.accessed(images.numbers.base, what, 1.0);
        let [came, went] = [images.numbers.came, images.numbers.went];
        if let Some(number) = came {
            self.accessed(number, Accessed::All, 1.0);
        }
        if let Some(number) = went {
            self.accessed(number, Accessed::Edge, self.rows.end);
        }
    }

    fn accessed(&mut self, number: u32, what: Accessed, times: f64) {
        self.accesses.push(Access {
            number,
            what,
            times,
        });
    }
}
