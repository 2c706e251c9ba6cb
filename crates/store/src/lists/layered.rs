//! The common neighbours of two lists that layers changed.
//!
//! A list is then a sum of columns: those that add, and those that take away. What two lists share lies in
//! a pair of adding columns, so each pair is [met](super::meet) as if it were alone. Where something was
//! taken away from a list, what was found is asked for there again; it is little, because it is common.
//!
//! On LUBM-40 in 1,000 batches a department's members lie in one layer, the alumni of its university in
//! all: of the pairs one shares ids, and the others end with a look at their ends. Merging all columns
//! first, as a reader of neighbours must, took five times as long (2026-11-22).

use super::coded::CodedRows;
use super::meet::{ROWS_MAX, codes, meet_runs};
use super::{Filter, Lists, Meeting};
use crate::segment::planes::OnePlane;
use crate::segment::reader::ColumnKind;
use crate::source::Fault;
use rdf::VertexId;
use smallvec::SmallVec;

/// A list as it stands in all columns.
#[derive(Default)]
struct Runs<'v> {
    adding: SmallVec<[CodedRows<'v>; 12]>,
    /// Whether a column takes rows away.
    has_minus: bool,
}

impl<'v> Runs<'v> {
    /// False where a column has several planes or is filtered, or the list is long. Fills in place,
    /// because a few hundred bytes a row are worth not being moved.
    fn fill(&mut self, lists: &Lists<'v>, list: usize) -> Result<bool, Fault> {
        let mut left = ROWS_MAX;
        for (columns, filter, is_minus, rows) in lists.parts(list) {
            let ColumnKind::One(OnePlane(base)) = columns.neighbours.kind else {
                return Ok(false);
            };
            let length = rows.end - rows.start;
            if *filter != Filter::Every || length > left {
                return Ok(false);
            }
            left -= length;
            if is_minus {
                self.has_minus = true;
                continue;
            }
            let start = rows.start;
            let codes = codes(&columns.neighbours, (start, rows.end))?;
            self.adding.push(CodedRows { codes, base, start });
        }
        Ok(true)
    }
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
        let (mut left, mut right) = (Runs::default(), Runs::default());
        if !left.fill(self, list)? || !right.fill(other, list)? {
            return Ok(false);
        }
        let begin = common.len();
        let mut pairs = 0;
        for here in &left.adding {
            for there in &right.adding {
                let before = common.len();
                meet_runs(here, there, meeting, common);
                pairs += usize::from(common.len() > before);
            }
        }
        if pairs > 1 {
            common[begin..].sort_unstable();
        }
        if pairs > 0 && (pairs > 1 || left.has_minus || right.has_minus) {
            let sides = [(self, left.has_minus), (other, right.has_minus)];
            keep_present(sides, list, begin, common)?;
        }
        Ok(true)
    }
}

/// Of what was found, ascending, from `begin` on, keeps each vertex once, if it is still in those lists
/// from which something was taken away.
fn keep_present(
    sides: [(&Lists<'_>, bool); 2],
    list: usize,
    begin: usize,
    common: &mut Vec<VertexId>,
) -> Result<(), Fault> {
    let mut kept = begin;
    for place in begin..common.len() {
        let vertex = common[place];
        if kept > begin && common[kept - 1] == vertex {
            continue;
        }
        let mut is_present = true;
        for (lists, has_minus) in sides {
            is_present &= !has_minus || lists.has_patched(list, vertex)?;
        }
        if is_present {
            common[kept] = vertex;
            kept += 1;
        }
    }
    common.truncate(kept);
    Ok(())
}
