//! The neighbour lists of a batch of keys.
//!
//! [`Lists`] holds, per key, the range of its rows in one segment's columns, and the scope in
//! which the batch was asked. It copies no neighbours: [`Lists::expand`] decodes as many as the
//! caller has room for and can go on later, inside a list if need be.
//!
//! Policies are chosen once per call and compiled into the loops: how the column is reached and
//! decoded (six ways), and what a row must satisfy:
//!
//! | scope | on a segment without named graphs | on a segment with a graph column |
//! |---|---|---|
//! | default, or a merge with it | every row | rows of those graphs, neighbours distinct |
//! | one named graph, other merges | none | rows of those graphs, neighbours distinct |
//! | each (of some) named graph | none | rows of those graphs with the graph |

use crate::segment::planes::Decode;
use crate::segment::reader::{Column, ColumnRun, GraphColumn};
use crate::source::{Fault, Source, inconsistent};
use crate::view::ViewError;
use memory::CheckedRegion;
use rdf::VertexId;

/// Which rows of a segment a scope admits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Filter {
    /// All; neighbours are distinct already.
    Every,
    /// None.
    Nothing,
    /// Those of one graph.
    One(u32),
    /// Those of any of these graphs, ascending; a neighbour comes once.
    Union(Vec<u32>),
    /// Those of every named graph, with the graph.
    EachNamed,
    /// Those of these graphs, ascending, with the graph.
    Each(Vec<u32>),
}

impl Filter {
    /// Whether a row of this graph passes.
    #[inline]
    fn admits(&self, graph: u32) -> bool {
        match self {
            Filter::Every => true,
            Filter::Nothing => false,
            Filter::One(one) => graph == *one,
            Filter::Union(graphs) | Filter::Each(graphs) => graphs.binary_search(&graph).is_ok(),
            Filter::EachNamed => graph != crate::format::DEFAULT_GRAPH_CODE,
        }
    }

    fn binds_graph(&self) -> bool {
        matches!(self, Filter::EachNamed | Filter::Each(_))
    }
}

/// Where the rows of a batch stand.
#[derive(Clone, Copy)]
pub(crate) struct Columns<'v> {
    pub neighbours: Column<'v>,
    pub graphs: Option<GraphColumn<'v>>,
    /// The part that lists the named graphs.
    pub named: &'v CheckedRegion,
}

/// One neighbour list per key of a batch, refilled by
/// [`GraphView::lists`](crate::view::GraphView::lists). Holds its scope. Reuse it: it keeps its
/// memory.
pub struct Lists<'v> {
    columns: Option<Columns<'v>>,
    filter: Filter,
    /// Per list its first row and the row after its last.
    rows: Vec<(u64, u64)>,
    total_edges: u64,
}

/// Where an expansion goes on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ListCursor {
    /// The list.
    pub list: u32,
    /// Rows of it that are done.
    pub offset: u64,
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
        }
    }

    /// Forgets the lists; `count` empty ones follow where there is no segment.
    pub(crate) fn refill_empty(&mut self, count: usize) {
        self.columns = None;
        self.filter = Filter::Nothing;
        self.total_edges = 0;
        self.rows.clear();
        self.rows.resize(count, (0, 0));
    }

    /// Forgets the lists and prepares for those of one segment.
    pub(crate) fn refill(&mut self, columns: Columns<'v>, filter: Filter, count: usize) {
        self.columns = Some(columns);
        self.filter = filter;
        self.total_edges = 0;
        self.rows.clear();
        self.rows.reserve(count);
    }

    /// Appends the list with these rows.
    #[inline]
    pub(crate) fn push(&mut self, rows: std::ops::Range<u64>) {
        self.total_edges += rows.end - rows.start;
        self.rows.push((rows.start, rows.end));
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
        end - start
    }

    /// The sum of [`Lists::edges`].
    pub fn total_edges(&self) -> u64 {
        self.total_edges
    }

    /// Whether no row is filtered by its graph, so that rows are edges.
    pub fn is_exact(&self) -> bool {
        matches!(self.filter, Filter::Every | Filter::Nothing)
    }

    /// Goes on from `cursor`, appending at most `rows_max` rows: number of the list, neighbour, and
    /// graph where `graphs` is given. True when everything has been given.
    ///
    /// Under a scope that does not bind the graph neighbours are distinct per list; else there is a
    /// row per (neighbour, graph), and `graphs` must be given exactly then (asserted). O(rows), and
    /// rows that the scope leaves out.
    pub fn expand(
        &self,
        cursor: &mut ListCursor,
        rows_max: usize,
        rows: &mut Vec<u32>,
        neighbours: &mut Vec<VertexId>,
        graphs: Option<&mut Vec<VertexId>>,
    ) -> Result<bool, ViewError> {
        let Some(columns) = &self.columns else {
            return Ok(true);
        };
        assert!(
            !self.filter.binds_graph() || graphs.is_some(),
            "graphs are given exactly when the scope binds them"
        );
        let expand = Expand {
            lists: self,
            columns,
            cursor,
            rows_max,
            rows,
            neighbours,
        };
        let done = match (&self.filter, graphs) {
            (Filter::Nothing, _) => Ok(true),
            (Filter::Every, _) => columns.neighbours.run(expand),
            (_, graphs) => columns.neighbours.run(ExpandFiltered { expand, graphs }),
        };
        done.map_err(|fault| *fault)
    }

    /// Appends the positions `i` where list `i` has `targets[i]` within the scope. One target per
    /// list (asserted). A binary search each; the first misses of the batch overlap.
    pub fn select(&self, targets: &[VertexId], positions: &mut Vec<u32>) -> Result<(), ViewError> {
        assert!(targets.len() == self.len(), "one target per list");
        let Some(columns) = &self.columns else {
            return Ok(());
        };
        if self.filter == Filter::Nothing {
            return Ok(());
        }
        let select = Select {
            lists: self,
            columns,
            targets,
            positions,
        };
        columns.neighbours.run(select).map_err(|fault| *fault)
    }

    /// Leaves in list `i` only the rows of `targets[i]`, whatever their graphs, so that
    /// [`Lists::expand`] reads no other. One target per list (asserted). A binary search each.
    pub fn narrow(&mut self, targets: &[VertexId]) -> Result<(), ViewError> {
        assert!(targets.len() == self.len(), "one target per list");
        let Some(columns) = self.columns else {
            return Ok(());
        };
        let rows = &mut self.rows;
        let narrowed = columns.neighbours.run(Narrow {
            columns,
            targets,
            rows,
        });
        self.total_edges = narrowed.map_err(|fault| *fault)?;
        Ok(())
    }

    /// Appends per list the number of rows that [`Lists::expand`] would give. O(lists) when
    /// [`Lists::is_exact`], else O(edges).
    pub fn degrees(&self, out: &mut Vec<u64>) -> Result<(), ViewError> {
        match (&self.filter, &self.columns) {
            (Filter::Nothing, _) | (_, None) => out.resize(out.len() + self.len(), 0),
            (Filter::Every, Some(_)) => {
                out.extend(self.rows.iter().map(|(start, end)| end - start));
            }
            (_, Some(columns)) => {
                let degrees = Degrees {
                    lists: self,
                    columns,
                    out,
                };
                columns.neighbours.run(degrees).map_err(|fault| *fault)?;
            }
        }
        Ok(())
    }
}

/// Every row, neighbours as they stand.
struct Expand<'a, 'v> {
    lists: &'a Lists<'v>,
    columns: &'a Columns<'v>,
    cursor: &'a mut ListCursor,
    rows_max: usize,
    rows: &'a mut Vec<u32>,
    neighbours: &'a mut Vec<VertexId>,
}

impl<'v> ColumnRun<'v> for Expand<'_, 'v> {
    type Output = Result<bool, Fault>;

    fn run<S: Source<'v>, D: Decode>(self, source: S, decode: D) -> Self::Output {
        let lists = &self.lists.rows;
        let room = (self.lists.total_edges).min(self.rows_max as u64) as usize;
        self.rows.reserve(room);
        self.neighbours.reserve(room);
        let mut left = self.rows_max as u64;
        let ListCursor {
            mut list,
            mut offset,
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
                };
                return Ok(false);
            }
            list += 1;
            offset = 0;
        }
        *self.cursor = ListCursor { list, offset };
        Ok(true)
    }
}

/// Rows that pass the scope's filter.
struct ExpandFiltered<'a, 'v> {
    expand: Expand<'a, 'v>,
    graphs: Option<&'a mut Vec<VertexId>>,
}

impl<'v> ColumnRun<'v> for ExpandFiltered<'_, 'v> {
    type Output = Result<bool, Fault>;

    fn run<S: Source<'v>, D: Decode>(mut self, source: S, decode: D) -> Self::Output {
        let Expand {
            lists,
            columns,
            cursor,
            rows_max,
            rows,
            neighbours,
        } = self.expand;
        let named = NamedGraphs::open(columns.named)?;
        let each = lists.filter.binds_graph();
        let mut left = rows_max;
        let ListCursor {
            mut list,
            mut offset,
        } = *cursor;
        while let Some(&(start, end)) = lists.rows.get(list as usize) {
            let run = FilteredRows::new(lists, columns, source, decode, start + offset..end)?;
            let mut next = 0;
            while let Some((row, after)) = run.next(next) {
                if left == 0 {
                    *cursor = ListCursor {
                        list,
                        offset: offset + row as u64,
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
        *cursor = ListCursor { list, offset };
        Ok(true)
    }
}

/// The rows of one list that pass its filter.
struct FilteredRows<'a, 'v, D: Decode> {
    filter: &'a Filter,
    each: bool,
    codes: &'v [D::Code],
    graphs: &'v [u32],
}

impl<'a, 'v, D: Decode> FilteredRows<'a, 'v, D> {
    fn new<S: Source<'v>>(
        lists: &'a Lists<'v>,
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
            filter: &lists.filter,
            each: lists.filter.binds_graph(),
            codes: columns.neighbours.codes(source, decode, rows)?,
            graphs,
        })
    }

    /// The first row from `from` on that passes, and where to look for the next one: behind the
    /// other rows of the same neighbour, where it must come only once.
    #[inline]
    fn next(&self, from: usize) -> Option<(usize, usize)> {
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

struct Degrees<'a, 'v> {
    lists: &'a Lists<'v>,
    columns: &'a Columns<'v>,
    out: &'a mut Vec<u64>,
}

impl<'v> ColumnRun<'v> for Degrees<'_, 'v> {
    type Output = Result<(), Fault>;

    fn run<S: Source<'v>, D: Decode>(self, source: S, decode: D) -> Self::Output {
        for &(start, end) in &self.lists.rows {
            let run = FilteredRows::new(self.lists, self.columns, source, decode, start..end)?;
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

struct Select<'a, 'v> {
    lists: &'a Lists<'v>,
    columns: &'a Columns<'v>,
    targets: &'a [VertexId],
    positions: &'a mut Vec<u32>,
}

impl<'v> ColumnRun<'v> for Select<'_, 'v> {
    type Output = Result<(), Fault>;

    fn run<S: Source<'v>, D: Decode>(self, source: S, decode: D) -> Self::Output {
        const AHEAD: usize = 16;
        let column = &self.columns.neighbours;
        let rows = &self.lists.rows;
        for (position, (&(start, end), &target)) in rows.iter().zip(self.targets).enumerate() {
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
            if self.lists.filter == Filter::Every || self.admits(start, place, codes, &wanted)? {
                self.positions.push(position as u32);
            }
        }
        Ok(())
    }
}

/// Cuts lists down to a neighbour each; gives the number of rows left.
struct Narrow<'a, 'v> {
    columns: Columns<'v>,
    targets: &'a [VertexId],
    rows: &'a mut [(u64, u64)],
}

impl<'v> ColumnRun<'v> for Narrow<'_, 'v> {
    type Output = Result<u64, Fault>;

    fn run<S: Source<'v>, D: Decode>(self, source: S, decode: D) -> Self::Output {
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
        Ok(graphs.iter().any(|&graph| self.lists.filter.admits(graph)))
    }
}

/// The named graphs by their codes.
#[derive(Clone, Copy)]
pub(crate) struct NamedGraphs<'v> {
    region: &'v CheckedRegion,
    ids: &'v [u64],
}

impl<'v> NamedGraphs<'v> {
    /// Verifies the part at its first use: 8 bytes a graph.
    pub(crate) fn open(region: &'v CheckedRegion) -> Result<NamedGraphs<'v>, Fault> {
        let bytes = region.all().map_err(crate::source::damaged)?;
        let ids = bytes
            .get(crate::format::HEADER_BYTES as usize..)
            .and_then(memory::cast);
        let ids = ids.ok_or_else(|| inconsistent(region, "a cut table of graphs"))?;
        Ok(NamedGraphs { region, ids })
    }

    /// All of them, ascending.
    pub(crate) fn all(&self) -> impl Iterator<Item = VertexId> + 'v {
        self.ids.iter().map(|&id| VertexId::from_bits(id))
    }

    /// Number of graphs.
    pub(crate) fn count(&self) -> u64 {
        self.ids.len() as u64
    }

    /// The code of a graph that holds an edge.
    pub(crate) fn code(&self, graph: VertexId) -> Option<u32> {
        self.ids
            .binary_search(&graph.bits())
            .ok()
            .map(|code| code as u32)
    }

    /// The graph with this code.
    #[inline]
    pub(crate) fn vertex(&self, code: u32) -> Result<VertexId, Fault> {
        match self.ids.get(code as usize) {
            Some(&id) => Ok(VertexId::from_bits(id)),
            None => Err(inconsistent(
                self.region,
                "a graph column names a graph beyond the table",
            )),
        }
    }
}
