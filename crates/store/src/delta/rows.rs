//! A graph from rows that lie in memory: what a commit's layer, and a graph for tests, is written
//! from.
//!
//! A row is four words, (predicate, key, neighbour, graph), so one radix sort orders either
//! direction, and turning round is a swap of two words; no edge is ever a node of a tree. The
//! writers are those of a bulk load, so a layer is read by the same code as the base under it.
//!
//! Cost: a sort and one pass per direction, plus one pass for the spans of the neighbours.

use crate::load::radix;
use crate::parts::{PartError, PartFiles};
use crate::segment::graph_index::{GraphIndexWriter, GraphKey};
use crate::segment::planes::Spans;
use crate::segment::writer::{DirectionSummary, Edge, GraphWriter, SegmentShape, write_tables};
use crate::view::GraphScope;
use rdf::{Direction, PredicateId, VertexId};
use std::ops::Range;
use std::sync::Arc;

/// Subject, predicate, object, and named graph or [`GraphScope::DEFAULT_GRAPH`].
pub type IdQuad = (VertexId, VertexId, VertexId, VertexId);

/// Edges handed to the segment writer at a time.
pub(crate) const BATCH_EDGES: usize = 1 << 12;

/// The bits of (predicate as a vertex, key, neighbour, graph).
pub(crate) type Row = [u64; 4];

/// The row of a quad along out edges.
#[inline]
pub(crate) fn row_of(&(subject, predicate, object, graph): &IdQuad) -> Row {
    [
        predicate.bits(),
        subject.bits(),
        object.bits(),
        graph.bits(),
    ]
}

/// The quad of a row along out edges.
#[inline]
pub(crate) fn quad_of(row: &Row) -> IdQuad {
    let [predicate, subject, object, graph] = row.map(VertexId::from_bits);
    (subject, predicate, object, graph)
}

/// Turns rows to the other direction and sorts them.
pub(crate) fn turn(rows: &mut Vec<Row>, scratch: &mut Vec<Row>) {
    for row in rows.iter_mut() {
        row.swap(1, 2);
    }
    radix::sort(rows, scratch);
}

/// The runs of rows of one predicate each, as ranges of `rows`, which ascend.
pub(crate) fn runs_of(rows: &[Row]) -> impl Iterator<Item = (VertexId, Range<usize>)> {
    let mut from = 0;
    rows.chunk_by(|a, b| a[0] == b[0]).map(move |run| {
        let start = from;
        from += run.len();
        (VertexId::from_bits(run[0][0]), start..from)
    })
}

/// The named graphs of rows, ascending.
pub(crate) fn graphs_of<'r>(rows: impl IntoIterator<Item = &'r Row>) -> Vec<VertexId> {
    let default = GraphScope::DEFAULT_GRAPH.bits();
    let mut graphs: Vec<VertexId> = Vec::new();
    let mut last = default;
    for row in rows.into_iter().filter(|row| row[3] != default) {
        if row[3] != last {
            last = row[3];
            graphs.push(VertexId::from_bits(last));
        }
    }
    graphs.sort_unstable();
    graphs.dedup();
    graphs
}

/// The tables that both directions share.
pub(crate) struct Tables {
    predicates: Vec<VertexId>,
    graphs: Arc<[VertexId]>,
    /// Number by vertex, ascending.
    numbers: Vec<(VertexId, PredicateId)>,
}

impl Tables {
    /// `predicates`: by number, as [`write_tables`] takes them; `graphs`: ascending.
    pub(crate) fn new(predicates: Vec<VertexId>, graphs: Vec<VertexId>) -> Tables {
        let mut numbers: Vec<(VertexId, PredicateId)> = (0..)
            .zip(&predicates)
            .filter(|(_, vertex)| !vertex.is_unbound())
            .map(|(number, &vertex)| (vertex, PredicateId(number)))
            .collect();
        numbers.sort_unstable();
        assert!(
            numbers.is_sorted_by(|one, next| one.0 < next.0),
            "a predicate has one number"
        );
        Tables {
            predicates,
            graphs: graphs.into(),
            numbers,
        }
    }

    /// The tables of rows of one or both directions, which ascend: predicates are numbered in the order of their ids, but
    /// for `type_vertex`, which is `rdf:type`.
    pub(crate) fn of_rows(rows: [&[Row]; 2], type_vertex: Option<VertexId>) -> Tables {
        let mut predicates = vec![VertexId::UNBOUND, type_vertex.unwrap_or(VertexId::UNBOUND)];
        let others = rows.into_iter().flat_map(runs_of);
        let others = others.map(|(predicate, _)| predicate);
        let mut others: Vec<VertexId> = others
            .filter(|&predicate| Some(predicate) != type_vertex)
            .collect();
        if !rows[1].is_empty() {
            others.sort_unstable();
            others.dedup();
        }
        predicates.append(&mut others);
        Tables::new(predicates, graphs_of(rows.into_iter().flatten()))
    }

    /// The named graphs, ascending.
    pub(crate) fn graphs(&self) -> &Arc<[VertexId]> {
        &self.graphs
    }

    /// Writes them.
    pub(crate) fn write(&self, files: &dyn PartFiles) -> Result<(), PartError> {
        write_tables(files, &self.predicates, &self.graphs)
    }

    fn number(&self, predicate: VertexId) -> PredicateId {
        let found = self
            .numbers
            .binary_search_by_key(&predicate, |&(vertex, _)| vertex);
        self.numbers[found.expect("every predicate is in the table")].1
    }

    /// Writes the parts of a direction from its rows, which ascend; repeated ones count once.
    pub(crate) fn write_direction(
        &self,
        files: &dyn PartFiles,
        direction: Direction,
        rows: &[Row],
    ) -> Result<DirectionSummary, PartError> {
        let mut runs: Vec<(PredicateId, Range<usize>)> = runs_of(rows)
            .map(|(predicate, range)| (self.number(predicate), range))
            .collect();
        runs.sort_unstable_by_key(|run| run.0);
        let mut writer = GraphWriter::create_sparse(
            files,
            direction,
            Arc::clone(&self.graphs),
            rows.len() as u64,
        )?;
        let mut entries = GraphEntries::default();
        let mut batch = Vec::with_capacity(rows.len().min(BATCH_EDGES));
        for (predicate, range) in runs {
            let rows = &rows[range];
            let mut neighbours = Spans::default();
            for row in rows {
                neighbours.observe(VertexId::from_bits(row[2]));
            }
            let shape = SegmentShape {
                rows_max: rows.len() as u64,
                neighbours,
            };
            writer.begin(predicate, &shape)?;
            for rows in rows.chunks(BATCH_EDGES) {
                batch.clear();
                batch.extend(rows.iter().map(edge_of));
                if !self.graphs.is_empty() {
                    entries.push(predicate, &batch);
                }
                writer.push(&batch)?;
            }
        }
        let written = writer.finish(files)?;
        entries.write(files, direction, &self.graphs)?;
        Ok(written)
    }
}

fn edge_of(row: &Row) -> Edge {
    let [_, key, neighbour, graph] = row.map(VertexId::from_bits);
    Edge {
        key,
        neighbour,
        graph,
    }
}

/// The graph index of one direction, collected in memory while segments are written.
#[derive(Default)]
pub(crate) struct GraphEntries {
    /// Bits of (graph, number of the predicate, key).
    entries: Vec<[u64; 3]>,
}

impl GraphEntries {
    /// Takes edges of a predicate, in the order of its segment.
    pub(crate) fn push(&mut self, predicate: PredicateId, edges: &[Edge]) {
        for edge in edges {
            if edge.graph != GraphScope::DEFAULT_GRAPH {
                let entry = [edge.graph.bits(), predicate.0.into(), edge.key.bits()];
                if self.entries.last() != Some(&entry) {
                    self.entries.push(entry);
                }
            }
        }
    }

    /// Sorts and writes the index.
    pub(crate) fn write(
        mut self,
        files: &dyn PartFiles,
        direction: Direction,
        graphs: &Arc<[VertexId]>,
    ) -> Result<(), PartError> {
        radix::sort(&mut self.entries, &mut Vec::new());
        let mut writer = GraphIndexWriter::create(files, direction, Arc::clone(graphs))?;
        let mut batch = Vec::new();
        for entries in self.entries.chunks(BATCH_EDGES) {
            batch.clear();
            batch.extend(entries.iter().map(|&[graph, predicate, key]| GraphKey {
                graph: VertexId::from_bits(graph),
                predicate: PredicateId(predicate as u32),
                key: VertexId::from_bits(key),
            }));
            writer.push(&batch)?;
        }
        writer.finish(files)?;
        Ok(())
    }
}
