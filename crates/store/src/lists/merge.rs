//! Lists that layers changed: several sorted runs of rows, each with weight +1 or -1, read as one.
//!
//! One run *leads*: the longest of weight +1. What lies before the next neighbour of any other run
//! is taken from it as it stands, found by a binary search; where another run has a neighbour, the
//! weights of that neighbour's rows are added up. So a long list with few changes costs its rows
//! and a search per change.
//!
//! Sums are taken over the rows that the scope admits. A row of base and layers together has weight
//! 0 or 1, so a sum above 0 over the graphs of a merge says that one of them has the edge. Graphs
//! are compared as vertices: each run has codes of its own.
//!
//! An expansion goes on at a neighbour, by its bits, not at rows: each run finds it by a search.
//!
//! **Short lists.** What layers add to is mostly short (a user's posts, a post's likes), and leading, searching and resolving then
//! cost more than the rows. So a list to which layers only added, of [`SHORT_ROWS`] rows at most, is gathered and sorted.

use super::runs::{Degrees, Expand, FilteredRows};
use super::{Columns, Filter, ListCursor, Lists, NamedGraphs};
use crate::segment::planes::Decode;
use crate::segment::reader::{Column, ColumnRun};
use crate::source::{ByteSource, Fault};
use rdf::VertexId;
use std::ops::Range;

/// Rows of a list that is gathered and sorted, over all its runs.
const SHORT_ROWS: u64 = 64;

/// The rows of one list in one segment.
struct SourceRows<'a, 'v> {
    columns: &'a Columns<'v>,
    filter: &'a Filter,
    weight: i32,
    rows: Range<u64>,
    /// The neighbour of the first row; of no use for the leading part.
    head: VertexId,
    /// By codes, where the scope binds graphs.
    named: Option<NamedGraphs<'v>>,
}

impl SourceRows<'_, '_> {
    fn begin(&mut self, from: VertexId) -> Result<(), Fault> {
        if from.bits() > 0 {
            let column = &self.columns.neighbours;
            self.rows.start = column.lower_bound(self.rows.clone(), from)?;
        }
        self.read_head()
    }

    fn read_head(&mut self) -> Result<(), Fault> {
        if !self.rows.is_empty() {
            self.head = self.columns.neighbours.at(self.rows.start)?;
        }
        Ok(())
    }

    /// Gives the graph code of each admitted row of the head's neighbour and passes these rows.
    fn pass_head(&mut self, mut give: impl FnMut(u32) -> Result<(), Fault>) -> Result<(), Fault> {
        let neighbour = self.head;
        while !self.rows.is_empty() && self.head == neighbour {
            let row = self.rows.start;
            match (self.filter, &self.columns.graphs) {
                (Filter::Every, _) => give(crate::format::DEFAULT_GRAPH_CODE)?,
                (filter, Some(graphs)) => {
                    let code = graphs.codes(row..row + 1)?[0];
                    if filter.admits(code) {
                        give(code)?;
                    }
                }
                (_, None) => {}
            }
            self.rows.start = row + 1;
            self.read_head()?;
        }
        Ok(())
    }
}

/// Where rows go, and the row at which there was no more room.
struct Output<'a, 'b> {
    list: u32,
    left: usize,
    rows: &'a mut Vec<u32>,
    neighbours: &'a mut Vec<VertexId>,
    graphs: &'a mut Option<&'b mut Vec<VertexId>>,
    /// The neighbour to go on with, and how many of its rows had been given.
    from: (VertexId, u32),
    /// The neighbour last given, and how many of its rows were.
    last: (VertexId, u32),
}

impl Output<'_, '_> {
    /// False where there is no more room.
    fn give(&mut self, neighbour: VertexId, graph: VertexId) -> bool {
        if self.last.0 != neighbour {
            self.last = (neighbour, 0);
        }
        if neighbour == self.from.0 && self.last.1 < self.from.1 {
            self.last.1 += 1;
            return true;
        }
        if self.left == 0 {
            return false;
        }
        self.left -= 1;
        self.last.1 += 1;
        self.rows.push(self.list);
        self.neighbours.push(neighbour);
        if let Some(graphs) = self.graphs {
            graphs.push(graph);
        }
        true
    }
}

/// Reads one list after the other.
struct Merge<'a, 'v> {
    binds_graph: bool,
    parts: Vec<SourceRows<'a, 'v>>,
    /// Graphs and weights of one neighbour's rows.
    weights: Vec<(VertexId, i32)>,
}

impl<'a, 'v> Merge<'a, 'v> {
    fn new(lists: &Lists<'v>) -> Self {
        Merge {
            binds_graph: lists.filter.binds_graph(),
            parts: Vec::new(),
            weights: Vec::new(),
        }
    }

    /// Gathers the parts of a list, the leading one last.
    fn open(&mut self, lists: &'a Lists<'v>, list: usize, from: VertexId) -> Result<(), Fault> {
        self.parts.clear();
        let mut leader = None;
        for (columns, filter, is_minus, rows) in lists.parts(list) {
            let named = if self.binds_graph {
                Some(NamedGraphs::open(columns.named)?)
            } else {
                None
            };
            let mut part = SourceRows {
                columns,
                filter,
                weight: if is_minus { -1 } else { 1 },
                rows,
                head: VertexId::UNBOUND,
                named,
            };
            part.begin(from)?;
            if part.rows.is_empty() {
                continue;
            }
            let length = part.rows.end - part.rows.start;
            if !is_minus && leader.is_none_or(|(_, longest)| length > longest) {
                leader = Some((self.parts.len(), length));
            }
            self.parts.push(part);
        }
        if let Some((place, _)) = leader {
            let last = self.parts.len() - 1;
            self.parts.swap(place, last);
        } else {
            self.parts.clear();
        }
        Ok(())
    }

    /// Gives the rows of the open list. False where there was no more room: the output knows where.
    fn run(&mut self, output: &mut Output<'_, '_>) -> Result<bool, Fault> {
        loop {
            let Some((leader, others)) = self.parts.split_last_mut() else {
                return Ok(true);
            };
            let column = leader.columns.neighbours;
            let heads = others.iter().filter(|part| !part.rows.is_empty());
            let next = heads.map(|part| part.head).min();
            let until = match next {
                Some(next) => column.lower_bound(leader.rows.clone(), next)?,
                None => leader.rows.end,
            };
            if leader.rows.start < until {
                let given = column.run(Lead {
                    part: leader,
                    until,
                    output,
                })?;
                if !given {
                    return Ok(false);
                }
                leader.read_head()?;
            }
            let Some(next) = next else {
                return Ok(true);
            };
            if !self.resolve(next, output)? {
                return Ok(false);
            }
        }
    }

    /// Adds up the weights of a neighbour's rows and gives those of which something is left.
    fn resolve(&mut self, neighbour: VertexId, output: &mut Output<'_, '_>) -> Result<bool, Fault> {
        self.weights.clear();
        let weights = &mut self.weights;
        for part in &mut self.parts {
            if part.rows.is_empty() || part.head != neighbour {
                continue;
            }
            let (weight, named) = (part.weight, part.named);
            part.pass_head(|code| {
                let graph = match named {
                    Some(named) => named.vertex(code)?,
                    None => VertexId::UNBOUND,
                };
                weights.push((graph, weight));
                Ok(())
            })?;
        }
        weights.sort_unstable_by_key(|(graph, _)| *graph);
        for rows in weights.chunk_by(|left, right| left.0 == right.0) {
            let sum: i32 = rows.iter().map(|(_, weight)| weight).sum();
            if sum > 0 && !output.give(neighbour, rows[0].0) {
                return Ok(false);
            }
        }
        Ok(true)
    }
}

/// Rows of the leading part that no other part has a say in.
struct Lead<'p, 'a, 'v, 'o, 'b, 'c> {
    part: &'p mut SourceRows<'a, 'v>,
    until: u64,
    output: &'o mut Output<'b, 'c>,
}

impl<'v> ColumnRun<'v> for Lead<'_, '_, 'v, '_, '_, '_> {
    type Output = Result<bool, Fault>;

    fn run<S: ByteSource<'v>, D: Decode>(self, source: S, decode: D) -> Self::Output {
        let Lead {
            part,
            until,
            output,
        } = self;
        let column = &part.columns.neighbours;
        if *part.filter == Filter::Every {
            let codes = column.codes(source, decode, part.rows.start..until)?;
            let take = codes.len().min(output.left);
            output.left -= take;
            output.rows.resize(output.rows.len() + take, output.list);
            let ids = codes[..take].iter().map(|&code| decode.id(code));
            output.neighbours.extend(ids);
            part.rows.start += take as u64;
            if let Some(&code) = codes.get(take) {
                output.last = (decode.id(code), 0);
                return Ok(false);
            }
            return Ok(true);
        }
        let rows = part.rows.start..until;
        let run = FilteredRows::new(part.filter, part.columns, source, decode, rows)?;
        let mut next = 0;
        while let Some((row, after)) = run.next(next) {
            let graph = match part.named {
                Some(named) => named.vertex(run.graphs[row])?,
                None => VertexId::UNBOUND,
            };
            if !output.give(decode.id(run.codes[row]), graph) {
                return Ok(false);
            }
            next = after;
        }
        part.rows.start = until;
        Ok(true)
    }
}

/// Rows of a run as they stand, those that the scope admits.
struct Gather<'a, 'v> {
    columns: &'a Columns<'v>,
    filter: &'a Filter,
    rows: Range<u64>,
    neighbours: &'a mut Vec<VertexId>,
}

impl<'v> ColumnRun<'v> for Gather<'_, 'v> {
    type Output = Result<(), Fault>;

    fn run<S: ByteSource<'v>, D: Decode>(self, source: S, decode: D) -> Self::Output {
        if *self.filter == Filter::Every {
            let codes = self.columns.neighbours.codes(source, decode, self.rows)?;
            for &code in codes {
                self.neighbours.push(decode.id(code));
            }
            return Ok(());
        }
        let run = FilteredRows::new(self.filter, self.columns, source, decode, self.rows)?;
        let mut next = 0;
        while let Some((row, after)) = run.next(next) {
            self.neighbours.push(decode.id(run.codes[row]));
            next = after;
        }
        Ok(())
    }
}

impl<'v> Lists<'v> {
    /// The parts of a list that have rows.
    pub(super) fn parts<'a>(
        &'a self,
        list: usize,
    ) -> impl Iterator<Item = (&'a Columns<'v>, &'a Filter, bool, Range<u64>)> {
        let first = self.columns.as_ref().map(|columns| {
            let (start, end) = self.rows[list];
            (columns, &self.filter, false, start..end)
        });
        let further = self.further.iter().map(move |further| {
            let (start, end) = further.rows[list];
            (
                &further.columns,
                &further.filter,
                further.is_minus,
                start..end,
            )
        });
        let parts = first.into_iter().chain(further);
        parts.filter(|(_, _, _, rows)| !rows.is_empty())
    }

    /// [`Lists::expand`] where layers changed some of the lists.
    #[inline(never)] // so that lists without changes pay nothing for it
    pub(super) fn expand_patched(
        &self,
        expand: &mut Expand<'_, 'v>,
        graphs: &mut Option<&mut Vec<VertexId>>,
    ) -> Result<bool, Fault> {
        let mut left = expand.rows_max;
        let mut merge = Merge::new(self);
        let mut next = self
            .patched
            .partition_point(|&list| list < expand.cursor.list);
        loop {
            let stop = self.patched.get(next).copied();
            let end = stop.map_or(self.len(), |list| list as usize);
            if (expand.cursor.list as usize) < end {
                let before = expand.rows.len();
                let run = Expand {
                    lists: &self.rows[..end],
                    edges: 0,
                    columns: expand.columns,
                    cursor: expand.cursor,
                    rows_max: left,
                    rows: expand.rows,
                    neighbours: expand.neighbours,
                };
                if !self.expand_run(run, graphs.as_deref_mut())? {
                    return Ok(false);
                }
                left -= expand.rows.len() - before;
            }
            let Some(list) = stop else {
                return Ok(true);
            };
            if graphs.is_none()
                && let Some(given) = self.expand_short(expand, list, left)?
            {
                left -= given;
                *expand.cursor = ListCursor::at(list + 1);
                next += 1;
                continue;
            }
            let from = (
                VertexId::from_bits(expand.cursor.offset),
                expand.cursor.graphs,
            );
            let mut output = Output {
                list,
                left,
                rows: expand.rows,
                neighbours: expand.neighbours,
                graphs,
                from,
                last: from_nothing(),
            };
            merge.open(self, list as usize, from.0)?;
            if !merge.run(&mut output)? {
                *expand.cursor = ListCursor {
                    list,
                    graphs: output.last.1,
                    offset: output.last.0.bits(),
                };
                return Ok(false);
            }
            left = output.left;
            *expand.cursor = ListCursor::at(list + 1);
            next += 1;
        }
    }

    /// Gives all of a short list to which layers only added, from its beginning, if there is room for it; how many rows that
    /// are.
    #[inline(never)]
    fn expand_short(
        &self,
        expand: &mut Expand<'_, 'v>,
        list: u32,
        left: usize,
    ) -> Result<Option<usize>, Fault> {
        let place = list as usize;
        let (mut total, mut only_adds) = (0, true);
        for (_, _, is_minus, rows) in self.parts(place) {
            total += rows.end - rows.start;
            only_adds &= !is_minus;
        }
        let is_short = total <= SHORT_ROWS.min(left as u64);
        if !is_short || !only_adds || *expand.cursor != ListCursor::at(list) {
            return Ok(None);
        }
        let begin = expand.neighbours.len();
        for (columns, filter, _, rows) in self.parts(place) {
            let neighbours = &mut *expand.neighbours;
            columns.neighbours.run(Gather {
                columns,
                filter,
                rows,
                neighbours,
            })?;
        }
        let given = &mut expand.neighbours[begin..];
        given.sort_unstable();
        // Two graphs may have the same neighbour.
        let mut kept = begin;
        for at in begin..expand.neighbours.len() {
            if kept == begin || expand.neighbours[kept - 1] != expand.neighbours[at] {
                expand.neighbours[kept] = expand.neighbours[at];
                kept += 1;
            }
        }
        expand.neighbours.truncate(kept);
        expand.rows.extend(std::iter::repeat_n(list, kept - begin));
        Ok(Some(kept - begin))
    }

    /// Whether a list that layers changed has the target within the scope.
    pub(super) fn has_patched(&self, list: usize, target: VertexId) -> Result<bool, Fault> {
        let mut sum = 0;
        for (columns, filter, is_minus, rows) in self.parts(list) {
            let column = &columns.neighbours;
            let start = column.lower_bound(rows.clone(), target)?;
            let mut part = SourceRows {
                columns,
                filter,
                weight: if is_minus { -1 } else { 1 },
                rows: start..rows.end,
                head: VertexId::UNBOUND,
                named: None,
            };
            part.read_head()?;
            if part.rows.is_empty() || part.head != target {
                continue;
            }
            let weight = part.weight;
            part.pass_head(|_| {
                sum += weight;
                Ok(())
            })?;
        }
        Ok(sum > 0)
    }

    /// The degree of a list that layers changed, `first` of it in the first columns. Weights add
    /// up, except where neighbours of several graphs are one.
    pub(super) fn patched_degree(&self, list: usize, first: u64) -> Result<u64, Fault> {
        if self.is_merge && !self.is_exact() {
            return self.counted_degree(list);
        }
        let (mut plus, mut minus) = (first, 0);
        let mut counts = Vec::new();
        for further in &self.further {
            let rows = further.rows[list];
            if rows.0 == rows.1 {
                continue;
            }
            let count = if further.filter == Filter::Every {
                rows.1 - rows.0
            } else {
                counts.clear();
                further.columns.neighbours.run(Degrees {
                    lists: &[rows],
                    filter: &further.filter,
                    columns: &further.columns,
                    out: &mut counts,
                })?;
                counts[0]
            };
            if further.is_minus {
                minus += count;
            } else {
                plus += count;
            }
        }
        Ok(plus.saturating_sub(minus))
    }

    fn counted_degree(&self, list: usize) -> Result<u64, Fault> {
        let (mut rows, mut neighbours) = (Vec::new(), Vec::new());
        let mut merge = Merge::new(self);
        merge.open(self, list, VertexId::from_bits(0))?;
        merge.run(&mut Output {
            list: list as u32,
            left: usize::MAX,
            rows: &mut rows,
            neighbours: &mut neighbours,
            graphs: &mut None,
            from: from_nothing(),
            last: from_nothing(),
        })?;
        Ok(neighbours.len() as u64)
    }
}

/// Appends the neighbour of each of these rows that passes, with this weight, once for each graph.
pub(crate) fn weigh(
    columns: &Columns<'_>,
    filter: &Filter,
    rows: Range<u64>,
    weight: i32,
    out: &mut Vec<(VertexId, i32)>,
) -> Result<(), Fault> {
    columns.neighbours.run(Weigh {
        columns,
        filter,
        rows,
        weight,
        out,
    })
}

struct Weigh<'a, 'v> {
    columns: &'a Columns<'v>,
    filter: &'a Filter,
    rows: Range<u64>,
    weight: i32,
    out: &'a mut Vec<(VertexId, i32)>,
}

impl<'v> ColumnRun<'v> for Weigh<'_, 'v> {
    type Output = Result<(), Fault>;

    fn run<S: ByteSource<'v>, D: Decode>(self, source: S, decode: D) -> Self::Output {
        let column = &self.columns.neighbours;
        let codes = column.codes(source, decode, self.rows.clone())?;
        let graphs = match &self.columns.graphs {
            Some(graphs) if *self.filter != Filter::Every => graphs.codes(self.rows)?,
            _ => &[],
        };
        for (place, &code) in codes.iter().enumerate() {
            let graph = graphs.get(place);
            if graph.is_none_or(|&graph| self.filter.admits(graph)) {
                self.out.push((decode.id(code), self.weight));
            }
        }
        Ok(())
    }
}

/// Before the first row of any neighbour.
fn from_nothing() -> (VertexId, u32) {
    (VertexId::UNBOUND, 0)
}

impl Column<'_> {
    /// The first of these rows, ascending, whose neighbour is not below `id`.
    pub(crate) fn lower_bound(&self, rows: Range<u64>, id: VertexId) -> Result<u64, Fault> {
        self.run(LowerBound {
            column: self,
            rows,
            id,
        })
    }

    /// The neighbour of one row.
    pub(crate) fn at(&self, row: u64) -> Result<VertexId, Fault> {
        self.run(At { column: self, row })
    }
}

struct LowerBound<'a, 'v> {
    column: &'a Column<'v>,
    rows: Range<u64>,
    id: VertexId,
}

impl<'v> ColumnRun<'v> for LowerBound<'_, 'v> {
    type Output = Result<u64, Fault>;

    fn run<S: ByteSource<'v>, D: Decode>(self, source: S, decode: D) -> Self::Output {
        let codes = self.column.codes(source, decode, self.rows.clone())?;
        let below = codes.partition_point(|&code| decode.id(code) < self.id);
        Ok(self.rows.start + below as u64)
    }
}

struct At<'a, 'v> {
    column: &'a Column<'v>,
    row: u64,
}

impl<'v> ColumnRun<'v> for At<'_, 'v> {
    type Output = Result<VertexId, Fault>;

    fn run<S: ByteSource<'v>, D: Decode>(self, source: S, decode: D) -> Self::Output {
        let codes = self.column.codes(source, decode, self.row..self.row + 1)?;
        Ok(decode.id(codes[0]))
    }
}
