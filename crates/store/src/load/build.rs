//! From spread edges to segments: one task per direction, and one per index of the dictionary.
//!
//! Segments of a direction are written one after the other, predicates ascending, into files that
//! they share, so a direction is the unit of parallelism: on two cores both directions run side by
//! side, then the dictionary's indexes.
//!
//! Per bin: read, turn (for the direction from objects), sort, walk twice: once for the spans of
//! the neighbours, which a segment must know first, once to write. Repetitions fall out on the way.
//!
//! Cost: about 60 ns an edge and direction with 8-byte records.

use super::buckets::{Buckets, Spreader};
use super::budget::Budget;
use super::codes::Codes;
use super::edges::{Bin, BinConstants, EdgeRecord};
use super::encode::{EdgeBins, Width};
use super::error::LoadError;
use super::scratch::{ScratchSpace, Spill};
use super::sorted::{self, Buffers, Sorted};
use crate::parts::PartFiles;
use crate::segment::graph_index::{GraphIndexWriter, GraphKey};
use crate::segment::planes::Spans;
use crate::segment::writer::{DirectionSummary, Edge, GraphWriter, SegmentShape};
use rdf::{Direction, PredicateId, VertexId};
use std::sync::Arc;

/// Edges handed to the segment writer at a time.
const BATCH_EDGES: usize = 1 << 12;
/// Buckets of the graph index's entries.
const GRAPH_BUCKETS: usize = 64;

/// What building a direction reads.
pub struct Builder<'e, 'l> {
    /// The edges.
    pub edges: &'e EdgeBins<'l>,
    /// Codes of ids.
    pub codes: &'e Codes,
    /// Number of statements by predicate, repetitions included.
    pub rows: &'e [u64],
    /// The named graphs that hold an edge, ascending.
    pub graphs: Arc<[VertexId]>,
    /// Where parts go.
    pub files: &'e dyn PartFiles,
    /// Where temporary files go.
    pub scratch: &'l dyn ScratchSpace,
    /// The accounts.
    pub budget: &'l Budget,
    /// Bytes that one direction may use to sort.
    pub piece_bytes: usize,
}

/// (code of the graph and predicate, key).
type GraphEntry = [u64; 2];

/// A direction that is being written.
struct Writing<'b, 'l> {
    writer: GraphWriter,
    batch: Vec<Edge>,
    graphs: Arc<[VertexId]>,
    entries: Option<Spreader<'b, 'l, GraphEntry>>,
    last_entry: Option<(u32, VertexId, VertexId)>,
}

impl<'l> Builder<'_, 'l> {
    /// Writes all parts of a direction; `done` is told the edges of each bin, and decides whether
    /// to go on.
    pub fn direction<F>(&self, direction: Direction, done: F) -> Result<DirectionSummary, LoadError>
    where
        F: Fn(u64) -> Result<(), LoadError>,
    {
        let name = |what: &str| format!("scratch-{what}-{}", direction as u8);
        let entries = Buckets::new(
            if self.graphs.is_empty() {
                0
            } else {
                GRAPH_BUCKETS
            },
            Spill::new(self.scratch, name("graph-keys")),
            self.budget,
        );
        let mut writing = Writing {
            writer: GraphWriter::create(self.files, direction, Arc::clone(&self.graphs))?,
            batch: Vec::with_capacity(BATCH_EDGES),
            graphs: Arc::clone(&self.graphs),
            entries: (entries.len() > 0).then(|| Spreader::new(&entries)),
            last_entry: None,
        };
        let runs = |bin| Spill::new(self.scratch, name(&format!("runs-{bin}")));
        let (mut pairs, mut quads, mut wides) =
            (Buffers::default(), Buffers::default(), Buffers::default());
        for (number, bin) in self.edges.bins.iter().enumerate() {
            let runs = runs(number);
            match self.edges.widths[number] {
                Width::Pair => {
                    self.bin(
                        &self.edges.pairs,
                        number,
                        direction,
                        runs,
                        &mut pairs,
                        &mut writing,
                    )?;
                }
                Width::Quad => {
                    self.bin(
                        &self.edges.quads,
                        number,
                        direction,
                        runs,
                        &mut quads,
                        &mut writing,
                    )?;
                }
                Width::Wide => {
                    self.bin(
                        &self.edges.wides,
                        number,
                        direction,
                        runs,
                        &mut wides,
                        &mut writing,
                    )?;
                }
            }
            done(bin.rows)?;
        }
        drop((pairs, quads, wides));
        let Writing {
            writer,
            entries: spreader,
            ..
        } = writing;
        let summary = writer.finish(self.files)?;
        spreader.map_or(Ok(()), Spreader::finish)?;
        self.graph_index(direction, &entries)?;
        Ok(summary)
    }

    fn bin<R: EdgeRecord>(
        &self,
        buckets: &Buckets<'l, R>,
        number: usize,
        direction: Direction,
        runs: Spill<'l>,
        buffers: &mut Buffers<R>,
        writing: &mut Writing<'_, 'l>,
    ) -> Result<(), LoadError> {
        let piece = (self.piece_bytes / size_of::<R>() / 2).max(1);
        let sorted = match direction {
            Direction::Out => sorted::sort(buckets, number, |record| record, piece, runs, buffers)?,
            Direction::In => sorted::sort(buckets, number, R::reversed, piece, runs, buffers)?,
        };
        let bin = &self.edges.bins[number];
        let constants = BinConstants {
            predicate: bin.predicates.start,
            default_graph: self.codes.default_graph(),
        };
        let spans = self.spans(bin, &sorted, &constants)?;
        let mut open = None;
        sorted.each_distinct(|record| {
            let edge = record.edge(&constants);
            if open != Some(edge.predicate) {
                writing.flush()?;
                let shape = SegmentShape {
                    rows_max: self.rows[edge.predicate as usize],
                    neighbours: spans[(edge.predicate - bin.predicates.start) as usize],
                };
                writing.writer.begin(PredicateId(edge.predicate), &shape)?;
                open = Some(edge.predicate);
            }
            let key = self.codes.id(edge.key);
            let neighbour = self.codes.id(edge.neighbour);
            let graph = self.codes.id(edge.graph);
            writing.push(
                edge.predicate,
                Edge {
                    key,
                    neighbour,
                    graph,
                },
            )
        })?;
        writing.flush()
    }

    /// The spans of each predicate's neighbours.
    fn spans<R: EdgeRecord>(
        &self,
        bin: &Bin,
        sorted: &Sorted<'_, 'l, R>,
        constants: &BinConstants,
    ) -> Result<Vec<Spans>, LoadError> {
        let mut spans = vec![Spans::default(); bin.predicates.len()];
        sorted.each_distinct(|record| {
            let edge = record.edge(constants);
            let spans = &mut spans[(edge.predicate - bin.predicates.start) as usize];
            spans.observe(self.codes.id(edge.neighbour));
            Ok(())
        })?;
        Ok(spans)
    }

    /// Sorts the graph index's entries by graph, predicate and key, and writes it.
    fn graph_index(
        &self,
        direction: Direction,
        entries: &Buckets<'l, GraphEntry>,
    ) -> Result<(), LoadError> {
        let mut writer = GraphIndexWriter::create(self.files, direction, Arc::clone(&self.graphs))?;
        let mut buffers = Buffers::default();
        let piece = (self.piece_bytes / size_of::<GraphEntry>() / 2).max(1);
        for bucket in 0..entries.len() {
            let name = format!("scratch-graph-runs-{}-{bucket}", direction as u8);
            let runs = Spill::new(self.scratch, name);
            let sorted = sorted::sort(entries, bucket, |entry| entry, piece, runs, &mut buffers)?;
            entries.release(bucket);
            let mut batch = Vec::with_capacity(BATCH_EDGES);
            sorted.each_distinct(|[graph_and_predicate, key]| {
                batch.push(GraphKey {
                    graph: self.graphs[(graph_and_predicate >> 32) as usize],
                    predicate: PredicateId(graph_and_predicate as u32),
                    key: VertexId::from_bits(key),
                });
                if batch.len() == BATCH_EDGES {
                    writer.push(&batch)?;
                    batch.clear();
                }
                Ok(())
            })?;
            writer.push(&batch)?;
        }
        writer.finish(self.files)?;
        Ok(())
    }
}

impl Writing<'_, '_> {
    #[inline]
    fn push(&mut self, predicate: u32, edge: Edge) -> Result<(), LoadError> {
        if self.entries.is_some() && !edge.graph.is_unbound() {
            self.push_entry(predicate, edge)?;
        }
        self.batch.push(edge);
        if self.batch.len() == BATCH_EDGES {
            self.flush()
        } else {
            Ok(())
        }
    }

    fn push_entry(&mut self, predicate: u32, edge: Edge) -> Result<(), LoadError> {
        let entry = Some((predicate, edge.key, edge.graph));
        let Some(entries) = self.entries.as_mut().filter(|_| entry != self.last_entry) else {
            return Ok(());
        };
        self.last_entry = entry;
        let code = self
            .graphs
            .binary_search(&edge.graph)
            .expect("every named graph was noted");
        let bucket = code * GRAPH_BUCKETS / self.graphs.len();
        entries.push(
            bucket,
            [(code as u64) << 32 | u64::from(predicate), edge.key.bits()],
        )
    }

    fn flush(&mut self) -> Result<(), LoadError> {
        if !self.batch.is_empty() {
            self.writer.push(&self.batch)?;
            self.batch.clear();
        }
        Ok(())
    }
}
