//! Lists that stand in one segment's columns: what most lists are, and all of a graph without
//! layers.
//!
//! Each loop is compiled for the six ways in which a column is reached and decoded.

use super::{Columns, Filter, ListCursor, NamedGraphs};
use crate::segment::planes::Decode;
use crate::segment::reader::ColumnRun;
use crate::source::{ByteSource, Fault, inconsistent};
use rdf::VertexId;
use std::ops::Range;

/// Every row, neighbours as they stand, of the lists from the cursor's on.
pub(super) struct Expand<'a, 'v> {
    pub lists: &'a [(u64, u64)],
    /// At least the rows that follow, for memory.
    pub edges: u64,
    pub columns: &'a Columns<'v>,
    pub cursor: &'a mut ListCursor,
    pub rows_max: usize,
    pub rows: &'a mut Vec<u32>,
    pub neighbours: &'a mut Vec<VertexId>,
}

impl<'v> ColumnRun<'v> for Expand<'_, 'v> {
    type Output = Result<bool, Fault>;

    fn run<S: ByteSource<'v>, D: Decode>(self, source: S, decode: D) -> Self::Output {
        let lists = self.lists;
        let room = self.edges.min(self.rows_max as u64) as usize;
        self.rows.reserve(room);
        self.neighbours.reserve(room);
        let mut left = self.rows_max as u64;
        let ListCursor {
            mut list,
            mut offset,
            ..
        } = *self.cursor;
        while let Some(&(start, end)) = lists.get(list as usize) {
            let begin = start + offset;
            let take = (end - begin).min(left);
            if take > 0 {
                let codes = self
                    .columns
                    .neighbours
                    .codes(source, decode, begin..begin + take)?;
                if let [code] = codes {
                    self.rows.push(list);
                    self.neighbours.push(decode.id(*code));
                } else {
                    self.rows.resize(self.rows.len() + codes.len(), list);
                    self.neighbours
                        .extend(codes.iter().map(|&code| decode.id(code)));
                }
                left -= take;
            }
            if begin + take < end {
                *self.cursor = ListCursor {
                    list,
                    offset: offset + take,
                    graphs: 0,
                };
                return Ok(false);
            }
            list += 1;
            offset = 0;
        }
        *self.cursor = ListCursor::at(list);
        Ok(true)
    }
}

/// Rows that pass the scope's filter.
pub(super) struct ExpandFiltered<'a, 'v> {
    pub expand: Expand<'a, 'v>,
    pub filter: &'a Filter,
    pub graphs: Option<&'a mut Vec<VertexId>>,
}

impl<'v> ColumnRun<'v> for ExpandFiltered<'_, 'v> {
    type Output = Result<bool, Fault>;

    fn run<S: ByteSource<'v>, D: Decode>(mut self, source: S, decode: D) -> Self::Output {
        let Expand {
            lists,
            columns,
            cursor,
            rows_max,
            rows,
            neighbours,
            ..
        } = self.expand;
        let filter = self.filter;
        let named = NamedGraphs::open(columns.named)?;
        let each = filter.binds_graph();
        let mut left = rows_max;
        let ListCursor {
            mut list,
            mut offset,
            ..
        } = *cursor;
        while let Some(&(start, end)) = lists.get(list as usize) {
            let run = FilteredRows::new(filter, columns, source, decode, start + offset..end)?;
            let mut next = 0;
            while let Some((row, after)) = run.next(next) {
                if left == 0 {
                    *cursor = ListCursor {
                        list,
                        offset: offset + row as u64,
                        graphs: 0,
                    };
                    return Ok(false);
                }
                left -= 1;
                rows.push(list);
                neighbours.push(decode.id(run.codes[row]));
                if let (true, Some(graphs)) = (each, &mut self.graphs) {
                    graphs.push(named.vertex(run.graphs[row])?);
                }
                next = after;
            }
            list += 1;
            offset = 0;
        }
        *cursor = ListCursor::at(list);
        Ok(true)
    }
}

/// The rows of one list that pass its filter.
pub(super) struct FilteredRows<'a, 'v, D: Decode> {
    filter: &'a Filter,
    each: bool,
    pub codes: &'v [D::Code],
    pub graphs: &'v [u32],
}

impl<'a, 'v, D: Decode> FilteredRows<'a, 'v, D> {
    pub fn new<S: ByteSource<'v>>(
        filter: &'a Filter,
        columns: &Columns<'v>,
        source: S,
        decode: D,
        rows: std::ops::Range<u64>,
    ) -> Result<Self, Fault> {
        let graphs = match &columns.graphs {
            Some(column) => column.codes(rows.clone())?,
            None => return Err(inconsistent(columns.named, "a graph filter without graphs")),
        };
        Ok(FilteredRows {
            filter,
            each: filter.binds_graph(),
            codes: columns.neighbours.codes(source, decode, rows)?,
            graphs,
        })
    }

    /// The first row from `from` on that passes, and where to look for the next one: behind the
    /// other rows of the same neighbour, where it must come only once.
    #[inline]
    pub fn next(&self, from: usize) -> Option<(usize, usize)> {
        let found = self
            .graphs
            .get(from..)?
            .iter()
            .position(|&graph| self.filter.admits(graph))?;
        let row = from + found;
        let mut after = row + 1;
        if !self.each {
            while after < self.codes.len() && self.codes[after] == self.codes[row] {
                after += 1;
            }
        }
        Some((row, after))
    }
}

/// The number of rows that pass, of each list.
pub(super) struct Degrees<'a, 'v> {
    pub lists: &'a [(u64, u64)],
    pub filter: &'a Filter,
    pub columns: &'a Columns<'v>,
    pub out: &'a mut Vec<u64>,
}

impl<'v> ColumnRun<'v> for Degrees<'_, 'v> {
    type Output = Result<(), Fault>;

    fn run<S: ByteSource<'v>, D: Decode>(self, source: S, decode: D) -> Self::Output {
        for &(start, end) in self.lists {
            let run = FilteredRows::new(self.filter, self.columns, source, decode, start..end)?;
            let (mut next, mut count) = (0, 0);
            while let Some((_, after)) = run.next(next) {
                next = after;
                count += 1;
            }
            self.out.push(count);
        }
        Ok(())
    }
}

/// The lists within `range` that hold their targets.
pub(super) struct Select<'a, 'v> {
    pub lists: &'a [(u64, u64)],
    pub range: Range<usize>,
    pub filter: &'a Filter,
    pub columns: &'a Columns<'v>,
    pub targets: &'a [VertexId],
    pub positions: &'a mut Vec<u32>,
}

impl<'v> ColumnRun<'v> for Select<'_, 'v> {
    type Output = Result<(), Fault>;

    fn run<S: ByteSource<'v>, D: Decode>(self, source: S, decode: D) -> Self::Output {
        const AHEAD: usize = 16;
        let column = &self.columns.neighbours;
        let rows = self.lists;
        let within = rows[self.range.clone()]
            .iter()
            .zip(&self.targets[self.range.clone()]);
        for (position, (&(start, end), &target)) in self.range.clone().zip(within) {
            if let Some(&(start, end)) = rows.get(position + AHEAD) {
                column.prefetch(start + (end - start) / 2);
            }
            let Some(wanted) = decode.code(target).filter(|_| start < end) else {
                continue;
            };
            let codes = column.codes(source, decode, start..end)?;
            let place = codes.partition_point(|code| *code < wanted);
            if codes.get(place) != Some(&wanted) {
                continue;
            }
            if *self.filter == Filter::Every || self.admits(start, place, codes, &wanted)? {
                self.positions.push(position as u32);
            }
        }
        Ok(())
    }
}

/// Cuts lists down to a neighbour each; gives the number of rows left.
pub(super) struct Narrow<'a, 'v> {
    pub columns: Columns<'v>,
    pub targets: &'a [VertexId],
    pub rows: &'a mut [(u64, u64)],
}

impl<'v> ColumnRun<'v> for Narrow<'_, 'v> {
    type Output = Result<u64, Fault>;

    fn run<S: ByteSource<'v>, D: Decode>(self, source: S, decode: D) -> Self::Output {
        let mut total = 0;
        for ((start, end), &target) in self.rows.iter_mut().zip(self.targets) {
            let Some(wanted) = decode.code(target).filter(|_| *start < *end) else {
                *end = *start;
                continue;
            };
            let codes = self
                .columns
                .neighbours
                .codes(source, decode, *start..*end)?;
            let place = codes.partition_point(|code| *code < wanted);
            let same = codes[place..].partition_point(|code| *code == wanted);
            *start += place as u64;
            *end = *start + same as u64;
            total += same as u64;
        }
        Ok(total)
    }
}

impl Select<'_, '_> {
    /// Whether one of the rows of this neighbour, the first of which is at `place`, passes.
    fn admits<C: Ord>(
        &self,
        start: u64,
        place: usize,
        codes: &[C],
        wanted: &C,
    ) -> Result<bool, Fault> {
        let same = codes[place..]
            .iter()
            .take_while(|&code| code == wanted)
            .count() as u64;
        let first = start + place as u64;
        let Some(column) = &self.columns.graphs else {
            return Ok(false);
        };
        let graphs = column.codes(first..first + same)?;
        Ok(graphs.iter().any(|&graph| self.filter.admits(graph)))
    }
}
