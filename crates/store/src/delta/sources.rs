//! The graphs under a version with their weights, asked for sums.
//!
//! Base and added edges count +1, deleted ones -1. What a writer has to know of a version are such
//! sums: whether an edge is there (1) or not (0), and how many rows a key has left. They are asked
//! for in batches of one predicate, per graph that has the predicate at all, by ascending keys, so
//! that the misses of a batch overlap and neighbouring keys share lines.
//!
//! Cost: about two cache misses a quad in the base, overlapped; graphs that do not know a predicate
//! cost one hash lookup a batch.

use super::layer::Layer;
use super::rows::Row;
use crate::format::DEFAULT_GRAPH_CODE;
use crate::lists::NamedGraphs;
use crate::segment::planes::Decode;
use crate::segment::reader::{Column, ColumnRun, GraphColumn, Segment};
use crate::snapshot::Snapshot;
use crate::source::{ByteSource, Fault};
use crate::view::{GraphScope, GraphView, SegmentKey};
use rdf::{Direction, VertexId};
use std::ops::Range;
use std::sync::Arc;

/// Keys looked up together.
const BATCH_KEYS: usize = 1024;
/// Lists whose middles are asked for ahead of the search.
const AHEAD: usize = 16;

/// A graph and what each of its edges counts.
#[derive(Clone, Copy)]
pub(crate) struct Weighted<'v> {
    pub graph: &'v Snapshot,
    pub weight: i64,
}

impl<'v> Weighted<'v> {
    /// The segment of a predicate, where the graph has one.
    pub(crate) fn segment(
        &self,
        predicate: VertexId,
        direction: Direction,
    ) -> Result<Option<Segment<'v>>, Fault> {
        match self.graph.predicate_id(predicate) {
            Some(predicate) => self.graph.segment(SegmentKey {
                predicate,
                direction,
            }),
            None => Ok(None),
        }
    }
}

/// The graphs of a version, the base first; or of layers alone.
pub(crate) fn sources<'v>(
    base: Option<&'v Snapshot>,
    layers: &'v [Arc<Layer>],
) -> Vec<Weighted<'v>> {
    let one = |graph: &'v Snapshot, weight| Weighted { graph, weight };
    let mut sources: Vec<Weighted<'v>> = base.map(|graph| one(graph, 1)).into_iter().collect();
    for layer in layers {
        sources.extend(layer.adds().map(|graph| one(graph, 1)));
        sources.extend(layer.dels().map(|graph| one(graph, -1)));
    }
    sources
}

/// The graphs of one layer: that of added edges, that of deleted ones.
pub(crate) fn own_sources(layer: &Layer) -> [Vec<Weighted<'_>>; 2] {
    let one = |graph, weight| Weighted { graph, weight };
    [
        layer
            .adds()
            .map(|graph| one(graph, 1))
            .into_iter()
            .collect(),
        layer
            .dels()
            .map(|graph| one(graph, -1))
            .into_iter()
            .collect(),
    ]
}

/// Reused memory of the lookups.
#[derive(Default)]
struct Scratch {
    keys: Vec<VertexId>,
    ranges: Vec<Range<u64>>,
}

/// Appends per row its sum over all graphs. Rows are along `direction`, ascending.
pub(crate) fn presence(
    sources: &[Weighted<'_>],
    direction: Direction,
    rows: &[Row],
    sums: &mut Vec<i64>,
) -> Result<(), Fault> {
    let mut scratch = Scratch::default();
    for run in rows.chunk_by(|a, b| a[0] == b[0]) {
        let start = sums.len();
        sums.resize(start + run.len(), 0);
        let sums = &mut sums[start..];
        let predicate = VertexId::from_bits(run[0][0]);
        for source in sources {
            let Some(segment) = source.segment(predicate, direction)? else {
                continue;
            };
            let place = QuadSource {
                segment,
                column: segment.column()?,
                graphs: segment.graph_column(),
                named: source.graph.graphs()?,
            };
            for (rows, sums) in run.chunks(BATCH_KEYS).zip(sums.chunks_mut(BATCH_KEYS)) {
                place.add(rows, source.weight, sums, &mut scratch)?;
            }
        }
    }
    Ok(())
}

/// Where quads of one predicate are looked for in one graph.
struct QuadSource<'v> {
    segment: Segment<'v>,
    column: Column<'v>,
    graphs: Option<GraphColumn<'v>>,
    named: NamedGraphs<'v>,
}

impl QuadSource<'_> {
    fn add(
        &self,
        rows: &[Row],
        weight: i64,
        sums: &mut [i64],
        scratch: &mut Scratch,
    ) -> Result<(), Fault> {
        let Scratch { keys, ranges } = scratch;
        keys.clear();
        keys.extend(rows.iter().map(|row| VertexId::from_bits(row[1])));
        ranges.clear();
        self.segment.ranges_of(keys, &self.column, ranges)?;
        assert_eq!(ranges.len(), rows.len(), "a range for each key");
        self.column.run(AddPresence {
            place: self,
            rows,
            ranges,
            weight,
            sums,
        })
    }
}

struct AddPresence<'a, 'v> {
    place: &'a QuadSource<'v>,
    rows: &'a [Row],
    ranges: &'a [Range<u64>],
    weight: i64,
    sums: &'a mut [i64],
}

impl<'v> ColumnRun<'v> for AddPresence<'_, 'v> {
    type Output = Result<(), Fault>;

    fn run<S: ByteSource<'v>, D: Decode>(self, source: S, decode: D) -> Self::Output {
        let column = &self.place.column;
        let mut last_graph = (GraphScope::DEFAULT_GRAPH.bits(), Some(DEFAULT_GRAPH_CODE));
        for (at, (row, range)) in self.rows.iter().zip(self.ranges).enumerate() {
            if let Some(ahead) = self.ranges.get(at + AHEAD) {
                column.prefetch(ahead.start + (ahead.end - ahead.start) / 2);
            }
            let wanted = decode.code(VertexId::from_bits(row[2]));
            let Some(wanted) = wanted.filter(|_| range.start < range.end) else {
                continue;
            };
            let codes = column.codes(source, decode, range.clone())?;
            let place = codes.partition_point(|code| *code < wanted);
            if codes.get(place) != Some(&wanted) {
                continue;
            }
            if row[3] != last_graph.0 {
                last_graph = (row[3], self.place.named.code(VertexId::from_bits(row[3])));
                if row[3] == GraphScope::DEFAULT_GRAPH.bits() {
                    last_graph.1 = Some(DEFAULT_GRAPH_CODE);
                }
            }
            let is_in_graph = match (&self.place.graphs, last_graph.1) {
                (None, code) => code == Some(DEFAULT_GRAPH_CODE),
                (Some(_), None) => false,
                (Some(graphs), Some(code)) => {
                    let same = codes[place..].partition_point(|other| *other == wanted);
                    let first = range.start + place as u64;
                    let graphs = graphs.codes(first..first + same as u64)?;
                    graphs.binary_search(&code).is_ok()
                }
            };
            if is_in_graph {
                self.sums[at] += self.weight;
            }
        }
        Ok(())
    }
}

/// Keys of which [`row_counts`] holds the rows at once.
const KEYS_AT_ONCE: usize = 1 << 10;

/// Fills `counts` with the number of rows that each key has of the predicate, over all graphs.
pub(crate) fn row_counts(
    sources: &[Weighted<'_>],
    predicate: VertexId,
    direction: Direction,
    keys: &[VertexId],
    counts: &mut Vec<i64>,
) -> Result<(), Fault> {
    counts.clear();
    counts.resize(keys.len(), 0);
    let mut ranges = Vec::new();
    for source in sources {
        let Some(segment) = source.segment(predicate, direction)? else {
            continue;
        };
        let column = segment.column()?;
        let some = keys.chunks(KEYS_AT_ONCE);
        for (keys, counts) in some.zip(counts.chunks_mut(KEYS_AT_ONCE)) {
            ranges.clear();
            segment.ranges_of(keys, &column, &mut ranges)?;
            assert_eq!(ranges.len(), counts.len(), "a range for each key");
            for (range, count) in ranges.iter().zip(counts) {
                *count += source.weight * (range.end - range.start) as i64;
            }
        }
    }
    Ok(())
}
