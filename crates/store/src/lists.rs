//! The neighbour lists of a batch of keys.
//!
//! [`Lists`] holds, per key, the range of its rows in one segment's columns, and the scope in
//! which the batch was asked. It copies no neighbours: [`Lists::expand`] decodes as many as the
//! caller has room for and can go on later, inside a list if need be.
//!
//! Where layers changed the segment there are further columns, whose rows add to the first ones' or
//! take from them. They touch few lists of a batch; only these are merged ([`merge`]), the runs
//! between them are read as if nothing else were there ([`runs`]).
//!
//! A view that is no store fills [columns of its own](owned) instead.
//!
//! Policies are chosen once per call and compiled into the loops: how the column is reached and
//! decoded (six ways), and what a row must satisfy:
//!
//! | scope | on a segment without named graphs | on a segment with a graph column |
//! |---|---|---|
//! | default, or a merge with it | every row | rows of those graphs, neighbours distinct |
//! | union of all graphs | every row | every row, neighbours distinct |
//! | one named graph, other merges | none | rows of those graphs, neighbours distinct |
//! | each (of some) named graph | none | rows of those graphs with the graph |

mod coded;
mod filter;
mod hubs;
mod layered;
mod marks;
mod meet;
mod meet_rows;
mod merge;
mod named;
mod owned;
mod runs;

use crate::error::ViewError;
use crate::segment::reader::{Column, GraphColumn};
use crate::source::Fault;
pub(crate) use filter::Filter;
pub use meet::Meeting;
pub use meet_rows::MetRows;
use memory::CheckedRegion;
pub(crate) use merge::weigh;
pub(crate) use named::NamedGraphs;
pub use owned::OwnedLists;
use rdf::VertexId;
use runs::{Degrees, Expand, ExpandFiltered, Narrow, Select};
use std::ops::Range;

/// Where the rows of a batch stand.
#[derive(Clone, Copy)]
pub(crate) struct Columns<'v> {
    pub neighbours: Column<'v>,
    pub graphs: Option<GraphColumn<'v>>,
    /// The part that lists the named graphs.
    pub named: &'v CheckedRegion,
}

/// Columns beside the first ones.
struct Further<'v> {
    columns: Columns<'v>,
    filter: Filter,
    /// Whether its rows are taken away.
    is_minus: bool,
    rows: Vec<(u64, u64)>,
}

/// One neighbour list per key of a batch, refilled by
/// [`GraphView::lists`](crate::view::GraphView::lists). Holds its scope. Reuse it: it keeps its
/// memory.
pub struct Lists<'v> {
    /// `None`: the lists are owned, or empty.
    columns: Option<Columns<'v>>,
    filter: Filter,
    /// Per list its first row and the row after its last.
    rows: Vec<(u64, u64)>,
    total_edges: u64,
    further: Vec<Further<'v>>,
    /// The lists that have rows in further columns, ascending.
    patched: Vec<u32>,
    /// Whether rows of different graphs are one where their neighbour is the same.
    is_merge: bool,
    /// Whether no column of the segment is filtered.
    is_exact: bool,
    /// Memory for the rows of further columns.
    spare: Vec<Vec<(u64, u64)>>,
    /// Columns of its own, or memory for them.
    owned: Option<Box<OwnedLists>>,
}

/// Where an expansion goes on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ListCursor {
    /// The list.
    pub list: u32,
    /// Within a list that layers changed, rows done of the neighbour that comes next.
    pub graphs: u32,
    /// Rows of it that are done; within a list that layers changed the bits of the neighbour that
    /// comes next.
    pub offset: u64,
}

impl ListCursor {
    /// The beginning of a list.
    pub fn at(list: u32) -> ListCursor {
        ListCursor {
            list,
            ..ListCursor::default()
        }
    }
}

impl Default for Lists<'_> {
    fn default() -> Self {
        Lists::new()
    }
}

impl<'v> Lists<'v> {
    /// No lists.
    pub fn new() -> Self {
        Lists {
            columns: None,
            filter: Filter::Nothing,
            rows: Vec::new(),
            total_edges: 0,
            further: Vec::new(),
            patched: Vec::new(),
            is_merge: false,
            is_exact: true,
            spare: Vec::new(),
            owned: None,
        }
    }

    /// Forgets the lists; `count` empty ones follow where there is no segment, or nothing for these keys
    /// in a segment that is filtered or not.
    pub(crate) fn refill_empty(&mut self, count: usize, is_exact: bool) {
        self.forget(None, Filter::Nothing);
        self.note_exactness(is_exact);
        self.rows.resize(count, (0, 0));
    }

    /// Forgets the lists, and lets those of one segment be appended: first row and the row after the
    /// last, and the sum of their lengths.
    #[inline]
    pub(crate) fn refill(
        &mut self,
        columns: Columns<'v>,
        filter: Filter,
        count: usize,
        append: impl FnOnce(&mut Vec<(u64, u64)>, &mut u64) -> Result<(), Fault>,
    ) -> Result<(), Fault> {
        self.forget(Some(columns), filter);
        self.rows.reserve(count);
        // Not counted in the lists themselves: a sum in memory is what a loop over keys would wait for.
        let mut total = 0;
        let appended = append(&mut self.rows, &mut total);
        assert!(
            appended.is_err() || self.rows.len() == count,
            "a range of rows per key"
        );
        self.total_edges = total;
        appended
    }

    /// Says whether the segment is filtered in any column, those without a row of these lists included.
    pub(crate) fn note_exactness(&mut self, is_exact: bool) {
        self.is_exact = is_exact;
    }

    fn forget(&mut self, columns: Option<Columns<'v>>, filter: Filter) {
        self.columns = columns;
        self.is_exact = matches!(filter, Filter::Every | Filter::Nothing);
        self.filter = filter;
        self.total_edges = 0;
        self.rows.clear();
        if !self.further.is_empty() {
            self.patched.clear();
            let rows = self.further.drain(..).map(|further| further.rows);
            self.spare.extend(rows);
        }
    }

    /// Adds further columns, in which no list has rows until [`Lists::set_further`] gives it some.
    pub(crate) fn begin_further(&mut self, columns: Columns<'v>, filter: Filter, is_minus: bool) {
        let mut rows = self.spare.pop().unwrap_or_default();
        rows.clear();
        rows.resize(self.rows.len(), (0, 0));
        self.further.push(Further {
            columns,
            filter,
            is_minus,
            rows,
        });
    }

    /// Gives a list rows in the columns that were added last; lists ascend.
    #[inline]
    pub(crate) fn set_further(&mut self, list: usize, rows: Range<u64>) {
        if rows.start < rows.end {
            let further = self.further.last_mut().expect("further columns were begun");
            further.rows[list] = (rows.start, rows.end);
            self.patched.push(list as u32);
        }
    }

    /// Ends the refill: all columns have a row range per list. `is_merge`: the scope merges graphs.
    pub(crate) fn end_further(&mut self, is_merge: bool) {
        self.is_merge = is_merge;
        for further in &self.further {
            assert!(
                further.rows.len() == self.rows.len(),
                "a range of rows per list"
            );
        }
        if self.further.len() > 1 {
            self.patched.sort_unstable();
            self.patched.dedup();
        }
        self.add_further_edges();
    }

    /// From the sum over the first columns to the sum over all.
    fn add_further_edges(&mut self) {
        for place in 0..self.patched.len() {
            let list = self.patched[place] as usize;
            let (start, end) = self.rows[list];
            self.total_edges -= end - start;
            self.total_edges += self.edges(list);
        }
    }

    /// Number of lists: the number of keys asked.
    pub fn len(&self) -> usize {
        self.rows.len()
    }

    /// Whether no key was asked.
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// Length of a list before the scope's filter: an upper bound of its rows, exact when
    /// [`Lists::is_exact`]. Asserts that the list exists.
    pub fn edges(&self, list: usize) -> u64 {
        let (start, end) = self.rows[list];
        if self.further.is_empty() {
            return end - start;
        }
        let is_exact = self.is_exact();
        let (mut plus, mut minus) = (end - start, 0);
        for further in &self.further {
            let (start, end) = further.rows[list];
            match further.is_minus {
                false => plus += end - start,
                true if is_exact => minus += end - start,
                true => {}
            }
        }
        plus.saturating_sub(minus)
    }

    /// The sum of [`Lists::edges`].
    pub fn total_edges(&self) -> u64 {
        self.total_edges
    }

    /// Whether no row of the segment is filtered by its graph in this scope, so that rows are edges. The
    /// same whatever keys were asked, none included.
    pub fn is_exact(&self) -> bool {
        self.is_exact
    }

    /// Goes on from `cursor`, appending at most `rows_max` rows: number of the list, neighbour, and
    /// graph where `graphs` is given. True when everything has been given.
    ///
    /// Under a scope that does not bind the graph neighbours are distinct per list; else there is a
    /// row per (neighbour, graph), and `graphs` must be given exactly then (asserted). O(rows), and
    /// rows that the scope leaves out or layers took away.
    pub fn expand(
        &self,
        cursor: &mut ListCursor,
        rows_max: usize,
        rows: &mut Vec<u32>,
        neighbours: &mut Vec<VertexId>,
        mut graphs: Option<&mut Vec<VertexId>>,
    ) -> Result<bool, ViewError> {
        let Some(columns) = &self.columns else {
            return Ok(self.expand_owned(cursor, rows_max, rows, neighbours, graphs));
        };
        assert!(
            !self.filter.binds_graph() || graphs.is_some(),
            "graphs are given exactly when the scope binds them"
        );
        let mut expand = Expand {
            lists: &self.rows,
            edges: self.total_edges,
            columns,
            cursor,
            rows_max,
            rows,
            neighbours,
        };
        let done = if self.patched.is_empty() {
            self.expand_run(expand, graphs)
        } else {
            self.expand_patched(&mut expand, &mut graphs)
        };
        done.map_err(|fault| *fault)
    }

    /// Lists with rows in the first columns only.
    #[inline]
    fn expand_run(
        &self,
        expand: Expand<'_, 'v>,
        graphs: Option<&mut Vec<VertexId>>,
    ) -> Result<bool, Fault> {
        let column = expand.columns.neighbours;
        match (&self.filter, graphs) {
            (Filter::Nothing, _) => Ok(true),
            (Filter::Every, _) => column.run(expand),
            (filter, graphs) => column.run(ExpandFiltered {
                expand,
                filter,
                graphs,
            }),
        }
    }

    /// The neighbours of all lists, under a scope that does not bind the graph.
    pub(crate) fn all_neighbours(&self) -> Result<Vec<VertexId>, Fault> {
        let (mut numbers, mut neighbours) = (Vec::new(), Vec::new());
        let mut cursor = ListCursor::default();
        self.expand(&mut cursor, usize::MAX, &mut numbers, &mut neighbours, None)?;
        Ok(neighbours)
    }

    /// Appends the positions `i` where list `i` has `targets[i]` within the scope. One target per
    /// list (asserted). A binary search each; the first misses of the batch overlap.
    pub fn select(&self, targets: &[VertexId], positions: &mut Vec<u32>) -> Result<(), ViewError> {
        assert!(targets.len() == self.len(), "one target per list");
        self.select_all(targets, positions).map_err(|fault| *fault)
    }

    fn select_all(&self, targets: &[VertexId], positions: &mut Vec<u32>) -> Result<(), Fault> {
        let mut from = 0;
        for &list in &self.patched {
            let list = list as usize;
            self.select_run(from..list, targets, positions)?;
            if self.has_patched(list, targets[list])? {
                positions.push(list as u32);
            }
            from = list + 1;
        }
        self.select_run(from..self.len(), targets, positions)
    }

    fn select_run(
        &self,
        range: Range<usize>,
        targets: &[VertexId],
        positions: &mut Vec<u32>,
    ) -> Result<(), Fault> {
        let Some(columns) = &self.columns else {
            self.select_owned(targets, positions);
            return Ok(());
        };
        if self.filter == Filter::Nothing || range.is_empty() {
            return Ok(());
        }
        columns.neighbours.run(Select {
            lists: &self.rows,
            range,
            filter: &self.filter,
            columns,
            targets,
            positions,
        })
    }

    /// Leaves in list `i` only the rows of `targets[i]`, whatever their graphs, so that
    /// [`Lists::expand`] reads no other. One target per list (asserted). A binary search each.
    pub fn narrow(&mut self, targets: &[VertexId]) -> Result<(), ViewError> {
        assert!(targets.len() == self.len(), "one target per list");
        let Some(columns) = self.columns else {
            self.narrow_owned(targets);
            return Ok(());
        };
        let rows = &mut self.rows;
        let narrowed = columns.neighbours.run(Narrow {
            columns,
            targets,
            rows,
        });
        self.total_edges = narrowed.map_err(|fault| *fault)?;
        for further in &mut self.further {
            let columns = further.columns;
            let narrowed = columns.neighbours.run(Narrow {
                columns,
                targets,
                rows: &mut further.rows,
            });
            narrowed.map_err(|fault| *fault)?;
        }
        self.add_further_edges();
        Ok(())
    }

    /// Appends per list the number of rows that [`Lists::expand`] would give. O(lists) when
    /// [`Lists::is_exact`], else O(edges).
    pub fn degrees(&self, out: &mut Vec<u64>) -> Result<(), ViewError> {
        let start = out.len();
        match (&self.filter, &self.columns) {
            (Filter::Nothing, _) => out.resize(out.len() + self.len(), 0),
            (Filter::Every, _) | (_, None) => {
                out.extend(self.rows.iter().map(|(start, end)| end - start));
            }
            (filter, Some(columns)) => {
                let degrees = Degrees {
                    lists: &self.rows,
                    filter,
                    columns,
                    out,
                };
                columns.neighbours.run(degrees).map_err(|fault| *fault)?;
            }
        }
        for &list in &self.patched {
            let first = out[start + list as usize];
            out[start + list as usize] = self
                .patched_degree(list as usize, first)
                .map_err(|fault| *fault)?;
        }
        Ok(())
    }
}
