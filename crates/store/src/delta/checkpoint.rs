//! A checkpoint: base and layers written as the parts of a new base.
//!
//! Everything is streamed: segments by [`merge_rows`](super::stream), whose pieces are mostly whole
//! batches of the base, and the graph index run by run. Readers keep their versions meanwhile, and
//! commits go on; what was committed since is in layers over the version that is written.
//!
//! A key of the graph index is gone where a named graph lost its last row of it. That can only be
//! where an edge was cancelled, so those (key, graph) pairs are kept while the segment is written,
//! and their rows are counted afterwards: memory and time of what was deleted, not of the base.
//!
//! Predicates keep their numbers; those that only layers have follow. One that lost all its edges
//! keeps its number without a segment. A part of a graph stays one: its mark is written again.
//!
//! Cost: about that of writing the segments, per direction; the two may run on two threads.

use super::error::{DeltaError, contradiction};
use super::merge::{HALT_ROWS, type_of};
use super::sources::{Weighted, sources};
use super::stream::{RowStream, merge_rows, spans_of};
use super::version::Version;
use crate::format::DEFAULT_GRAPH_CODE;
use crate::parts::PartFiles;
use crate::prefixes::Prefixes;
use crate::segment::graph_index::{GraphIndex, GraphIndexWriter, GraphKey, PredicateKeys};
use crate::segment::writer::{DirectionSummary, Edge, GraphWriter, SegmentShape, write_tables};
use crate::source::Fault;
use crate::view::{GraphScope, GraphView};
use memory::CheckedRegion;
use rdf::{Direction, PredicateId, VertexId};
use std::collections::HashMap;
use std::sync::Arc;

/// Entries handed to the graph index at a time.
const BATCH_KEYS: usize = 1 << 12;

/// Writes all parts of the graph of `version`, both directions one after the other. See
/// [`Checkpoint`].
pub fn write_base(
    version: &Version,
    prefixes: &Prefixes,
    files: &dyn PartFiles,
    is_halted: &(dyn Fn() -> bool + Sync),
) -> Result<DirectionSummary, DeltaError> {
    let checkpoint = Checkpoint::begin(version, prefixes, files, is_halted)?;
    let out = checkpoint.direction(Direction::Out)?;
    let into = checkpoint.direction(Direction::In)?;
    if out.rows != into.rows && version.base().part_of().is_none() {
        return Err(contradiction("directions of different lengths"));
    }
    Ok(out)
}

/// A new base that is being written. Its tables are written at the beginning; then both directions,
/// from any thread.
pub struct Checkpoint<'v> {
    sources: Vec<Weighted<'v>>,
    /// By number.
    predicates: Vec<VertexId>,
    numbers: HashMap<VertexId, PredicateId>,
    graphs: Arc<[VertexId]>,
    is_part: bool,
    files: &'v dyn PartFiles,
    is_halted: &'v (dyn Fn() -> bool + Sync),
}

/// (number of the predicate, graph, key) that lost its last row.
type Lost = (PredicateId, VertexId, VertexId);

impl<'v> Checkpoint<'v> {
    /// Begins with the tables of predicates and graphs, and with these prefixes in the place of the base's. `is_halted`
    /// is asked now and then, and ends what runs.
    pub fn begin(
        version: &'v Version,
        prefixes: &Prefixes,
        files: &'v dyn PartFiles,
        is_halted: &'v (dyn Fn() -> bool + Sync),
    ) -> Result<Checkpoint<'v>, DeltaError> {
        let predicates = predicates_of(version);
        let numbers = (0..)
            .zip(&predicates)
            .filter(|(_, vertex)| !vertex.is_unbound())
            .map(|(number, &vertex)| (vertex, PredicateId(number)))
            .collect();
        let graphs: Arc<[VertexId]> = version.graphs_with_edges()?.into();
        write_tables(files, &predicates, &graphs)?;
        prefixes.write(files)?;
        if let Some(part) = version.base().part_of() {
            part.write(files)?;
        }
        Ok(Checkpoint {
            sources: sources(Some(version.base()), version.layers()),
            predicates,
            numbers,
            graphs,
            is_part: version.base().part_of().is_some(),
            files,
            is_halted,
        })
    }

    /// Writes all parts of a direction.
    pub fn direction(&self, direction: Direction) -> Result<DirectionSummary, DeltaError> {
        let graphs = Arc::clone(&self.graphs);
        let mut writer = GraphWriter::create(self.files, direction, graphs)?;
        let mut lost = Vec::new();
        let mut looks = Looks(0);
        for (number, &vertex) in (0..).zip(&self.predicates) {
            if !vertex.is_unbound() {
                let segment = Merged {
                    checkpoint: self,
                    predicate: PredicateId(number),
                    vertex,
                    direction,
                };
                segment.write(&mut writer, &mut lost, &mut looks)?;
            }
        }
        let summary = writer.finish(self.files)?;
        lost.sort_unstable();
        self.graph_index(direction, &lost, &mut looks)?;
        Ok(summary)
    }

    /// Merges the graph indexes of base and added edges, without `lost`, which ascends.
    fn graph_index(
        &self,
        direction: Direction,
        lost: &[Lost],
        looks: &mut Looks,
    ) -> Result<(), DeltaError> {
        let graphs = Arc::clone(&self.graphs);
        let mut writer = GraphIndexWriter::create(self.files, direction, graphs)?;
        let added = self.sources.iter().filter(|source| source.weight > 0);
        for &graph in &*self.graphs {
            let mut runs: Vec<(PredicateId, &CheckedRegion, PredicateKeys<'_>)> = Vec::new();
            for source in added.clone() {
                let Some(code) = source.graph.graphs()?.code(graph) else {
                    continue;
                };
                let region = &source.graph.side(direction).graph_index;
                GraphIndex::open(region)?.runs(code, |run| {
                    let vertex = source.graph.predicate_table().get(run.predicate.0 as usize);
                    if let Some(number) = vertex.and_then(|vertex| self.numbers.get(vertex)) {
                        runs.push((*number, region, run));
                    }
                })?;
            }
            // The sort is stable, so the base's run, which may be long, stays the first.
            runs.sort_by_key(|run| run.0);
            for runs in runs.chunk_by(|a, b| a.0 == b.0) {
                let keys = GraphKey {
                    graph,
                    predicate: runs[0].0,
                    key: VertexId::UNBOUND,
                };
                let from = lost.partition_point(|lost| (lost.0, lost.1) < (keys.predicate, graph));
                let lost = lost[from..].iter();
                let lost = lost.take_while(|lost| (lost.0, lost.1) == (keys.predicate, graph));
                let mut lost = lost.map(|lost| lost.2).peekable();
                let mut batch = Vec::new();
                merge_keys(runs, |key| {
                    looks.after(1, self.is_halted)?;
                    while lost.next_if(|&lost| lost < key).is_some() {}
                    if lost.peek() != Some(&key) {
                        batch.push(GraphKey { key, ..keys });
                    }
                    if batch.len() == BATCH_KEYS {
                        writer.push(&batch)?;
                        batch.clear();
                    }
                    Ok(())
                })?;
                writer.push(&batch)?;
            }
        }
        writer.finish(self.files)?;
        Ok(())
    }
}

/// Gives the keys of some runs ascending, each once. The first may be long and is streamed.
fn merge_keys(
    runs: &[(PredicateId, &CheckedRegion, PredicateKeys<'_>)],
    mut give: impl FnMut(VertexId) -> Result<(), DeltaError>,
) -> Result<(), DeltaError> {
    let mut others = Vec::new();
    for (_, region, run) in &runs[1..] {
        run.decode(region, &mut others)?;
    }
    others.sort_unstable();
    others.dedup();
    let mut others = others.into_iter().peekable();
    let (_, region, first) = &runs[0];
    for key in first.stream(region) {
        let key = key?;
        while let Some(other) = others.next_if(|&other| other < key) {
            give(other)?;
        }
        let _ = others.next_if_eq(&key);
        give(key)?;
    }
    others.try_for_each(give)
}

/// Asks now and then whether to stop.
struct Looks(u64);

impl Looks {
    #[inline]
    fn after(&mut self, rows: u64, is_halted: &dyn Fn() -> bool) -> Result<(), DeltaError> {
        self.0 += rows;
        if self.0 >= HALT_ROWS {
            self.0 = 0;
            if is_halted() {
                return Err(DeltaError::Halted);
            }
        }
        Ok(())
    }
}

/// One segment of the new base.
struct Merged<'a, 'v> {
    checkpoint: &'a Checkpoint<'v>,
    predicate: PredicateId,
    vertex: VertexId,
    direction: Direction,
}

impl Merged<'_, '_> {
    fn write(
        &self,
        writer: &mut GraphWriter,
        lost: &mut Vec<Lost>,
        looks: &mut Looks,
    ) -> Result<(), DeltaError> {
        let sources = &self.checkpoint.sources;
        let mut streams = Vec::new();
        for source in sources {
            streams.extend(RowStream::open(source, self.vertex, self.direction)?);
        }
        if streams.is_empty() {
            return Ok(());
        }
        let added = streams.iter().filter(|stream| stream.weight() > 0);
        let shape = SegmentShape {
            rows_max: added.map(RowStream::rows).sum(),
            neighbours: spans_of(
                sources,
                self.vertex,
                self.direction,
                self.checkpoint.is_part,
            )?,
        };
        writer.begin(self.predicate, &shape)?;
        let mut touched: Vec<(VertexId, VertexId)> = Vec::new();
        merge_rows(streams, |edges: &[Edge], weight| {
            looks.after(edges.len() as u64, self.checkpoint.is_halted)?;
            match weight {
                1 => writer.push(edges)?,
                0 => touched.extend(
                    edges
                        .iter()
                        .filter(|edge| edge.graph != GraphScope::DEFAULT_GRAPH)
                        .map(|edge| (edge.key, edge.graph)),
                ),
                _ => {
                    return Err(contradiction(
                        "an edge that is there twice, or less than never",
                    ));
                }
            }
            Ok(())
        })?;
        touched.sort_unstable();
        touched.dedup();
        for touched in touched.chunk_by(|a, b| a.0 == b.0) {
            self.lost_of(touched, lost)?;
        }
        Ok(())
    }

    /// Of one key and some named graphs, ascending, those in which it has no row any more.
    fn lost_of(&self, touched: &[(VertexId, VertexId)], lost: &mut Vec<Lost>) -> Result<(), Fault> {
        let key = touched[0].0;
        let mut rows = vec![0i64; touched.len()];
        for source in &self.checkpoint.sources {
            let segment = source.segment(self.vertex, self.direction)?;
            let Some((segment, column)) =
                segment.and_then(|segment| Some((segment, segment.graph_column()?)))
            else {
                continue;
            };
            let mut ranges = Vec::new();
            segment.ranges_of(&[key], &segment.column()?, &mut ranges)?;
            let named = source.graph.graphs()?;
            for range in ranges {
                for &code in column.codes(range)? {
                    if code != DEFAULT_GRAPH_CODE {
                        let graph = named.vertex(code)?;
                        if let Ok(place) = touched.binary_search_by_key(&graph, |pair| pair.1) {
                            rows[place] += source.weight;
                        }
                    }
                }
            }
        }
        let empty = touched.iter().zip(rows).filter(|(_, rows)| *rows == 0);
        lost.extend(empty.map(|(&(key, graph), _)| (self.predicate, graph, key)));
        Ok(())
    }
}

/// The predicates by number: those of the base, then those that the version numbered, then those
/// of layers in order of appearance.
fn predicates_of(version: &Version) -> Vec<VertexId> {
    let mut predicates = version.base().predicate_table().to_vec();
    let reserved = PredicateId::FIRST_FREE.0 as usize;
    predicates.resize(predicates.len().max(reserved), VertexId::UNBOUND);
    let added = || version.layers().iter().filter_map(|layer| layer.adds());
    let kind = &mut predicates[PredicateId::TYPE.0 as usize];
    if kind.is_unbound() {
        let kinds = added().find_map(type_of);
        *kind = version.type_vertex.or(kinds).unwrap_or(VertexId::UNBOUND);
    }
    let kind = *kind;
    let others = &predicates[reserved..];
    assert!(
        kind.is_unbound() || !others.contains(&kind),
        "rdf:type has its own number in every base"
    );
    let mut known: std::collections::HashSet<VertexId> = predicates.iter().copied().collect();
    let in_layers = added().flat_map(|graph| {
        let numbers = graph.predicates().into_iter();
        numbers.map(|number| graph.predicate_vertex(number))
    });
    for vertex in version.names.added.iter().copied().chain(in_layers) {
        if known.insert(vertex) {
            predicates.push(vertex);
        }
    }
    predicates
}
