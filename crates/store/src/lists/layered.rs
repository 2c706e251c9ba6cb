//! The common neighbours of two lists that layers changed.
//!
//! A list is then a sum of columns: those that add, and those that take away. What two lists share lies in
//! a pair of adding columns, so each pair is [met](super::meet) as if it were alone. Where something was
//! taken away from a list, what was found is asked for there again; it is little, because it is common.
//!
//! On LUBM-40 in 1,000 batches a department's members lie in one layer, the alumni of its university in
//! all: of the pairs one shares ids, and the others end with a look at their ends. Merging all columns
//! first, as a reader of neighbours must, took five times as long (2026-11-22).

use super::meet::{ROWS_MAX, codes, meet_codes};
use super::{Columns, Filter, Lists, Meeting};
use crate::segment::planes::OnePlane;
use crate::segment::reader::ColumnKind;
use crate::source::Fault;
use rdf::VertexId;
use std::ops::Range;

/// The rows of a list in one column, with the column's base.
struct Run<'a, 'v> {
    columns: &'a Columns<'v>,
    base: u64,
    rows: Range<u64>,
    is_minus: bool,
}

impl<'v> Lists<'v> {
    /// [`Lists::meet`] of lists of several columns.
    pub(super) fn meet_layered(
        &self,
        list: usize,
        other: &Lists<'v>,
        meeting: &mut Meeting,
        common: &mut Vec<VertexId>,
    ) -> Result<bool, Fault> {
        let mut rows_max = 0;
        let mut are_minus = [false; 2];
        for (lists, is_minus) in [self, other].into_iter().zip(&mut are_minus) {
            let mut rows = 0;
            for run in lists.runs(list) {
                let Some(run) = run else { return Ok(false) };
                *is_minus |= run.is_minus;
                rows += run.rows.end - run.rows.start;
            }
            rows_max = rows.max(rows_max);
        }
        if rows_max > ROWS_MAX {
            return Ok(false);
        }
        let begin = common.len();
        let pairs = self.meet_pairs(list, other, meeting, common)?;
        if pairs > 1 {
            common[begin..].sort_unstable();
        }
        if pairs > 1 || are_minus.contains(&true) {
            let (mut kept, mut last) = (begin, None);
            for place in begin..common.len() {
                let vertex = common[place];
                if last == Some(vertex) {
                    continue;
                }
                last = Some(vertex);
                if (!are_minus[0] || self.has_patched(list, vertex)?)
                    && (!are_minus[1] || other.has_patched(list, vertex)?)
                {
                    common[kept] = vertex;
                    kept += 1;
                }
            }
            common.truncate(kept);
        }
        Ok(true)
    }

    /// Appends what each two adding columns share; how many pairs shared anything.
    fn meet_pairs(
        &self,
        list: usize,
        other: &Lists<'v>,
        meeting: &mut Meeting,
        common: &mut Vec<VertexId>,
    ) -> Result<usize, Fault> {
        let mut pairs = 0;
        let adding = |run: &Run<'_, 'v>| !run.is_minus;
        for left in self.runs(list).flatten().filter(adding) {
            let column = &left.columns.neighbours;
            let left_codes = codes(column, (left.rows.start, left.rows.end))?;
            for right in other.runs(list).flatten().filter(adding) {
                let column = &right.columns.neighbours;
                let right_codes = codes(column, (right.rows.start, right.rows.end))?;
                let before = common.len();
                let starts = [left.rows.start, right.rows.start];
                let bases = [left.base, right.base];
                meet_codes([left_codes, right_codes], bases, starts, meeting, common);
                pairs += usize::from(common.len() > before);
            }
        }
        Ok(pairs)
    }

    /// The columns of a list; `None` for one whose rows are filtered or not of one plane.
    fn runs<'a>(&'a self, list: usize) -> impl Iterator<Item = Option<Run<'a, 'v>>> {
        self.parts(list).map(|(columns, filter, is_minus, rows)| {
            let ColumnKind::One(OnePlane(base)) = columns.neighbours.kind else {
                return None;
            };
            (*filter == Filter::Every).then_some(Run {
                columns,
                base,
                rows,
                is_minus,
            })
        })
    }
}
