//! The lists of many rows met in one loop.
//!
//! [`Lists::meet`] finds out for each pair of lists how their columns are reached and decoded, whether layers changed
//! them, and asks for lines ahead; its caller counts work and makes rows one by one. Of the 82 ns of a pair of a skewed graph's
//! triangles that was more than a third. All of it is alike for the lists of a batch, so it is found out once here,
//! and what is common comes as columns: the neighbours, and the list of each.

use super::coded::CodedRows;
use super::meet::{ROWS_MAX, codes_in};
use super::{Columns, Filter, Lists, Meeting};
use crate::error::ViewError;
use crate::segment::planes::OnePlane;
use crate::segment::reader::{Column, ColumnKind};
use crate::source::Plain;
use rdf::VertexId;

/// Lists whose last lines are asked for before it is their turn.
const AHEAD: usize = 8;

/// Members of shorter lists after which a call ends, so that its caller can look at its limits: some milliseconds.
const WORK_MAX: u64 = 1 << 20;

/// How far [`Lists::meet_rows`] came.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MetRows {
    /// The first list that was not met.
    pub next: usize,
    /// Members of the shorter lists, and a few for each pair: about nanoseconds.
    pub work: u64,
}

/// A batch of lists whose columns stand as they were written.
struct PlainBatch<'l, 'v> {
    column: &'l Column<'v>,
    base: u64,
    source: Plain<'v>,
    rows: &'l [(u64, u64)],
}

impl<'l, 'v> PlainBatch<'l, 'v> {
    fn of(lists: &'l Lists<'v>) -> Option<PlainBatch<'l, 'v>> {
        let Columns { neighbours, .. } = lists.columns.as_ref()?;
        let ColumnKind::One(OnePlane(base)) = neighbours.kind else {
            return None;
        };
        let is_plain = lists.filter == Filter::Every && lists.further.is_empty();
        is_plain.then_some(PlainBatch {
            column: neighbours,
            base,
            source: Plain::new(neighbours.region)?,
            rows: &lists.rows,
        })
    }

    #[inline]
    fn coded(&self, (start, end): (u64, u64)) -> Result<CodedRows<'v>, ViewError> {
        let codes = codes_in(self.column, self.source, (start, end));
        Ok(CodedRows {
            codes: codes.map_err(|fault| *fault)?,
            base: self.base,
            start,
        })
    }

    #[inline]
    fn ask_ahead(&self, list: usize) {
        if let Some(&(start, end)) = self.rows.get(list + AHEAD)
            && start < end
        {
            self.column.prefetch(end - 1);
        }
    }
}

impl<'v> Lists<'v> {
    /// Meets the lists from number `from` on with those of the same numbers in `other`, as [`Lists::meet`] does, and
    /// appends each common neighbour to `common` and the number of its list to `lists`. Ends behind the list that has
    /// brought `common` to `room` or more, and before one that cannot be met so or whose shorter side has more than
    /// `shorter_max` rows. Where columns are not plain it meets none.
    pub fn meet_rows(
        &self,
        other: &Lists<'v>,
        from: usize,
        (room, shorter_max): (usize, u64),
        meeting: &mut Meeting,
        (lists, common): (&mut Vec<u32>, &mut Vec<VertexId>),
    ) -> Result<MetRows, ViewError> {
        let mut met = MetRows {
            next: from,
            work: 0,
        };
        let (Some(here), Some(there)) = (PlainBatch::of(self), PlainBatch::of(other)) else {
            return Ok(met);
        };
        let pairs = here.rows.iter().zip(there.rows).skip(from);
        for (&mine, &theirs) in pairs {
            if common.len() >= room || met.work > WORK_MAX {
                break;
            }
            let lengths = [mine.1 - mine.0, theirs.1 - theirs.0];
            let shorter = lengths[0].min(lengths[1]);
            if shorter > shorter_max || lengths[0].max(lengths[1]) > ROWS_MAX {
                break;
            }
            let list = met.next;
            here.ask_ahead(list);
            there.ask_ahead(list);
            met.next += 1;
            met.work += 4 * shorter + 8;
            if shorter == 0 {
                continue;
            }
            let before = common.len();
            let (mine, theirs) = (here.coded(mine)?, there.coded(theirs)?);
            self.meet_coded(list, other, (&mine, &theirs), meeting, common);
            lists.extend(std::iter::repeat_n(list as u32, common.len() - before));
        }
        Ok(met)
    }
}
