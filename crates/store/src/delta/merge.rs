//! Layers into one: weights are added, what cancels is gone.
//!
//! Segment by segment both directions are merged by [`merge_rows`](super::stream); an edge that
//! one layer adds and a later one deletes leaves no trace, nor does a key that goes and comes back.
//! The result answers as the layers did, so readers of either may go on side by side.
//!
//! **When**: sizes fall into tiers. A tier takes some layers, then it and everything newer are
//! merged, and the result moves up ("size-tiered compaction"; Bigtable, OSDI'06, section 5.3).
//!
//! | tier | quads of a layer | layers before a merge | whose work |
//! |---|---|---|---|
//! | 0 | below 64 | 4 | the committing thread |
//! | 1 | below 512 | 1 | the committing thread |
//! | 2 | below 4,096 | 1 | a thread beside the readers, or the committing one where that does not keep up |
//! | 3.. | four times more each | 2 | a thread beside the readers |
//!
//! So a version has at most 6 small layers and 2 for each factor of four above. A quad is written
//! again about 8 times in tier 0, where a merge costs mostly the making of eighteen parts and
//! happens at every fourth commit; 4 times in tiers 1 and 2 each; and once for each factor of four
//! above. At about half a microsecond a quad that is less than 15 us for a commit of one quad, and
//! about 2 us a quad for large ones on the way from ten thousand to a million.

use super::build::{open, sum_by_key};
use super::error::{DeltaError, contradiction};
use super::layer::{EdgeCounts, KeyChanges, KeySet, Layer};
use super::rows::{GraphEntries, Tables};
use super::sources::{Weighted, sources};
use super::stream::{RowStream, merge_rows, spans_of};
use super::version::are_in_order;
use crate::parts::MemoryParts;
use crate::segment::writer::{Edge, GraphWriter, SegmentShape};
use crate::snapshot::Snapshot;
use crate::source::Fault;
use crate::view::GraphView;
use rdf::{Direction, PredicateId, VertexId};
use std::collections::BTreeSet;
use std::ops::Range;
use std::sync::Arc;

/// Layers whose sum is below this are small: the thread that commits may merge them.
pub const INLINE_QUADS: u64 = 4096;
/// Upper bounds of the tiers of small layers, and the layers that each takes.
const SMALL_TIERS: [(u64, usize); 3] = [(64, 4), (512, 1), (INLINE_QUADS, 1)];
const _: () = assert!(
    SMALL_TIERS[0].0 < SMALL_TIERS[1].0 && SMALL_TIERS[1].0 < SMALL_TIERS[2].0,
    "a layer's tier is the first whose bound is above it"
);
/// From a tier of large layers to the next.
const LARGE_RATIO: u64 = 4;
const _: () = assert!(LARGE_RATIO > 1, "tiers grow");
/// Layers that a tier of large layers takes.
const LARGE_LAYERS: usize = 2;
/// Rows between two looks at whether to stop.
pub(super) const HALT_ROWS: u64 = 1 << 16;

/// Which layers to merge next, by their quads, oldest first: a run of at least two, or none. Ask
/// again after each merge. Where some older layers are being merged elsewhere, give the sizes of
/// those behind them only.
pub fn plan_merge(sizes: &[u64]) -> Option<Range<usize>> {
    let mut newer = sizes.len();
    for tier in 0.. {
        // Layers are not sorted by size: a small one between larger ones goes with them.
        let start = (0..newer).rev().find(|&place| tier_of(sizes[place]) > tier);
        let start = start.map_or(0, |place| place + 1);
        let is_full = newer - start > layers_of(tier);
        if is_full {
            return Some(grown(sizes, start)..sizes.len()).filter(|range| range.len() > 1);
        }
        newer = start;
        if start == 0 {
            return None;
        }
    }
    None
}

/// Where a merge from `start` begins if it takes along the older layers that its result would have
/// to be merged with at once.
fn grown(sizes: &[u64], mut start: usize) -> usize {
    loop {
        let tier = tier_of(sizes[start..].iter().sum());
        let same = sizes[..start]
            .iter()
            .rev()
            .take_while(|&&size| tier_of(size) <= tier);
        let same = same.count();
        if same < layers_of(tier) || same == 0 {
            return start;
        }
        start -= same;
    }
}

fn tier_of(quads: u64) -> usize {
    let small = SMALL_TIERS.iter().position(|&(bound, _)| quads < bound);
    small.unwrap_or_else(|| SMALL_TIERS.len() + (quads / INLINE_QUADS).ilog(LARGE_RATIO) as usize)
}

fn layers_of(tier: usize) -> usize {
    SMALL_TIERS
        .get(tier)
        .map_or(LARGE_LAYERS, |&(_, layers)| layers)
}

/// The sum of layers, oldest first, whose commits follow one another (asserted; at least one).
/// `is_halted` is asked now and then and ends it.
pub fn merge(layers: &[Arc<Layer>], is_halted: &dyn Fn() -> bool) -> Result<Layer, DeltaError> {
    let (Some(first), Some(last)) = (layers.first(), layers.last()) else {
        panic!("a merge is of at least one layer");
    };
    assert!(are_in_order(layers), "commits follow one another");
    let commits = *first.commits.start()..=*last.commits.end();
    let merging = Merging::new(layers, is_halted);
    let is_of_part = merging.is_of_part;
    assert!(
        layers.iter().all(|layer| layer.is_of_part() == is_of_part),
        "layers over one graph are alike"
    );
    let files = [MemoryParts::new(), MemoryParts::new()];
    let tables = merging.tables()?;
    for (tables, files) in tables.iter().zip(&files) {
        tables.write(files)?;
    }
    let out = merging.direction(Direction::Out, &tables, &files)?;
    let into = merging.direction(Direction::In, &tables, &files)?;
    if out != into && !is_of_part {
        return Err(contradiction("directions of different lengths"));
    }
    let net = |(added, deleted): (u64, u64)| added.wrapping_sub(deleted);
    let nets = |of: fn(&EdgeCounts) -> (u64, u64)| {
        let nets = layers.iter().map(|layer| net(of(&layer.edges)));
        nets.fold(0, u64::wrapping_add)
    };
    let edges = EdgeCounts {
        out: out.into(),
        into: is_of_part.then(|| into.into()),
    };
    assert!(
        net(edges.out) == nets(|edges| edges.out)
            && edges
                .into
                .is_none_or(|into| net(into) == nets(EdgeCounts::incoming)),
        "a merge leaves the number of edges as it is"
    );
    let mut graphs = files
        .into_iter()
        .zip(out.iter().zip(into))
        .map(|(files, (out, into))| (out + into > 0).then_some(files));
    let mut next = || open(graphs.next().flatten());
    let graphs = [next()?, next()?];
    let mut sizes: Vec<(VertexId, i64)> = Vec::new();
    for layer in layers {
        sizes.extend_from_slice(&layer.graph_sizes);
    }
    sum_by_key(&mut sizes);
    Layer::new(graphs, edges, merge_keys(layers)?, sizes, commits)
}

/// What a merge reads.
struct Merging<'v> {
    sources: Vec<Weighted<'v>>,
    /// By number; the same for the result's two graphs.
    predicates: Vec<VertexId>,
    /// Edges added and taken away, those that cancel as well: by direction.
    edges: [[u64; 2]; 2],
    /// Whether the layers are over a part of a graph.
    is_of_part: bool,
    is_halted: &'v dyn Fn() -> bool,
}

impl<'v> Merging<'v> {
    fn new(layers: &'v [Arc<Layer>], is_halted: &'v dyn Fn() -> bool) -> Merging<'v> {
        let sources = sources(None, layers);
        let kind = sources.iter().find_map(|source| type_of(source.graph));
        let mut others: Vec<VertexId> = sources
            .iter()
            .flat_map(|source| {
                let numbers = source.graph.predicates().into_iter();
                numbers.map(|number| source.graph.predicate_vertex(number))
            })
            .filter(|&predicate| Some(predicate) != kind)
            .collect();
        others.sort_unstable();
        others.dedup();
        let mut predicates = vec![VertexId::UNBOUND, kind.unwrap_or(VertexId::UNBOUND)];
        predicates.append(&mut others);
        Merging {
            sources,
            predicates,
            edges: [|edges: &EdgeCounts| edges.out, EdgeCounts::incoming].map(|of| {
                let counts = || layers.iter().map(|layer| of(&layer.edges));
                [
                    counts().map(|edges| edges.0).sum(),
                    counts().map(|edges| edges.1).sum(),
                ]
            }),
            is_of_part: layers.iter().any(|layer| layer.is_of_part()),
            is_halted,
        }
    }

    /// The tables of added and of deleted edges. They name every graph that some layer names; one
    /// all of whose edges cancel is gone by the key changes, or was there before these layers.
    fn tables(&self) -> Result<[Tables; 2], DeltaError> {
        let [adds, dels] = [1, -1].map(|weight| {
            let mut graphs = Vec::new();
            for source in self.sources.iter().filter(|source| source.weight == weight) {
                graphs.extend(source.graph.named_graphs()?);
            }
            graphs.sort_unstable();
            graphs.dedup();
            Ok::<_, DeltaError>(Tables::new(self.predicates.clone(), graphs))
        });
        Ok([adds?, dels?])
    }

    /// Writes one direction of both graphs; the number of rows of each.
    fn direction(
        &self,
        direction: Direction,
        tables: &[Tables; 2],
        files: &[MemoryParts; 2],
    ) -> Result<[u64; 2], DeltaError> {
        let sink = |place: usize| -> Result<Sink, DeltaError> {
            let graphs = tables[place].graphs();
            let writer = GraphWriter::create_sparse(
                &files[place],
                direction,
                Arc::clone(graphs),
                self.edges[direction as usize][place],
            )?;
            Ok(Sink {
                writer,
                entries: (!graphs.is_empty()).then(GraphEntries::default),
                begun: None,
                shape: SegmentShape {
                    rows_max: 0,
                    neighbours: crate::segment::planes::Spans::default(),
                },
                rows: 0,
            })
        };
        let mut sinks = [sink(0)?, sink(1)?];
        let mut until_look = 0;
        for (number, &vertex) in (0..).zip(&self.predicates) {
            if !vertex.is_unbound() {
                let predicate = PredicateId(number);
                self.segment(predicate, vertex, direction, &mut sinks, &mut until_look)?;
            }
        }
        let mut rows = [0; 2];
        for (place, sink) in sinks.into_iter().enumerate() {
            rows[place] = sink.rows;
            let written = sink.writer.finish(&files[place])?;
            assert_eq!(written.rows, sink.rows, "a merge gives each edge once");
            let entries = sink.entries.unwrap_or_default();
            entries.write(&files[place], direction, tables[place].graphs())?;
        }
        Ok(rows)
    }

    fn segment(
        &self,
        predicate: PredicateId,
        vertex: VertexId,
        direction: Direction,
        sinks: &mut [Sink; 2],
        until_look: &mut u64,
    ) -> Result<(), DeltaError> {
        let mut streams = Vec::new();
        for source in &self.sources {
            streams.extend(RowStream::open(source, vertex, direction)?);
        }
        let neighbours = spans_of(&self.sources, vertex, direction, self.is_of_part)?;
        for (sink, weight) in sinks.iter_mut().zip([1, -1]) {
            let same = streams.iter().filter(|stream| stream.weight() == weight);
            sink.shape = SegmentShape {
                rows_max: same.map(RowStream::rows).sum(),
                neighbours,
            };
        }
        merge_rows(streams, |edges, weight| {
            *until_look = until_look.saturating_sub(edges.len() as u64);
            if *until_look == 0 {
                *until_look = HALT_ROWS;
                if (self.is_halted)() {
                    return Err(DeltaError::Halted);
                }
            }
            match weight {
                0 => Ok(()),
                1 => sinks[0].push(predicate, edges),
                -1 => sinks[1].push(predicate, edges),
                _ => Err(contradiction("an edge that is added or deleted twice")),
            }
        })
    }
}

/// One direction of a graph that is being written.
struct Sink {
    writer: GraphWriter,
    /// Where there are named graphs.
    entries: Option<GraphEntries>,
    begun: Option<PredicateId>,
    /// Of the segment that comes.
    shape: SegmentShape,
    rows: u64,
}

impl Sink {
    fn push(&mut self, predicate: PredicateId, edges: &[Edge]) -> Result<(), DeltaError> {
        if self.begun != Some(predicate) {
            self.writer.begin(predicate, &self.shape)?;
            self.begun = Some(predicate);
        }
        if let Some(entries) = &mut self.entries {
            entries.push(predicate, edges);
        }
        self.rows += edges.len() as u64;
        self.writer.push(edges)?;
        Ok(())
    }
}

/// `rdf:type`, where the graph knows it.
pub(super) fn type_of(graph: &Snapshot) -> Option<VertexId> {
    let vertex = graph.predicate_table().get(PredicateId::TYPE.0 as usize);
    vertex.copied().filter(|vertex| !vertex.is_unbound())
}

/// The keys and graphs that are gone after these layers: what one says is gone, and no later one adds again.
fn merge_keys(layers: &[Arc<Layer>]) -> Result<KeyChanges, Fault> {
    let sets: BTreeSet<KeySet> = layers
        .iter()
        .flat_map(|layer| layer.keys.gone.keys().copied())
        .collect();
    let mut merged = KeyChanges::default();
    let mut positions = Vec::new();
    for set in sets {
        let mut gone: Vec<VertexId> = Vec::new();
        for layer in layers {
            if !gone.is_empty()
                && let Some(index) = layer.added_keys(set)?
            {
                positions.clear();
                index.select(&gone, &mut positions)?;
                let mut back = positions.iter().copied().peekable();
                let mut places = 0u32..;
                gone.retain(|_| {
                    let place = places.next();
                    back.next_if(|&back| Some(back) == place).is_none()
                });
            }
            add_all(&mut gone, layer.keys.gone.get(&set));
        }
        if !gone.is_empty() {
            merged.gone.insert(set, gone);
        }
    }
    for layer in layers {
        if let Some(adds) = layer.adds().filter(|_| !merged.graphs_gone.is_empty()) {
            let named = adds.graphs()?;
            merged
                .graphs_gone
                .retain(|graph| named.code(*graph).is_none());
        }
        // Behind those that the table of added edges names, perhaps without an edge of theirs.
        add_all(&mut merged.graphs_gone, Some(&layer.keys.graphs_gone));
    }
    Ok(merged)
}

/// Puts ascending keys into a list, which ascends again, each once.
fn add_all(list: &mut Vec<VertexId>, keys: Option<&Vec<VertexId>>) {
    if let Some(keys) = keys.filter(|keys| !keys.is_empty()) {
        list.extend_from_slice(keys);
        // The stable sort finds both runs and merges them.
        list.sort();
        list.dedup();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use testkit::random::Random;

    /// Commits of `quads` each: (most layers, times a quad is written again, merges a commit).
    fn run(commits: u64, quads: u64) -> (usize, f64, f64) {
        let mut sizes: Vec<u64> = Vec::new();
        let (mut most, mut written, mut merges) = (0, 0, 0);
        for _ in 0..commits {
            sizes.push(quads);
            while let Some(range) = plan_merge(&sizes) {
                assert!(range.len() > 1 && range.end <= sizes.len());
                let sum: u64 = sizes[range.clone()].iter().sum();
                sizes.splice(range, [sum]);
                written += sum;
                merges += 1;
            }
            most = most.max(sizes.len());
        }
        let total = (commits * quads) as f64;
        (
            most,
            written as f64 / total,
            f64::from(merges) / commits as f64,
        )
    }

    #[test]
    fn layers_stay_few_and_quads_are_seldom_written_again() {
        for (commits, quads, layers, times) in [
            (4_000, 1, 6, 15.0),
            (100_000, 1, 10, 18.0),
            (100_000, 10, 14, 12.0),
            (1_000, 1_000, 9, 6.0),
            (1_000, 10_000, 10, 5.0),
            (20, 1_000_000, 5, 2.0),
        ] {
            let (most, written, merges) = run(commits, quads);
            assert!(
                most <= layers && written <= times && merges <= 0.8,
                "{commits} commits of {quads}: {most} layers, written {written} times, {merges} merges"
            );
        }
    }

    #[test]
    fn mixed_sizes_are_merged_too() {
        let mut random = Random::new(1);
        let mut sizes: Vec<u64> = Vec::new();
        for _ in 0..20_000 {
            sizes.push(1 << random.below(16));
            while let Some(range) = plan_merge(&sizes) {
                let sum = sizes[range.clone()].iter().sum();
                sizes.splice(range, [sum]);
            }
            assert!(sizes.len() <= 20, "{sizes:?}");
        }
        assert_eq!(plan_merge(&[]), None);
        assert_eq!(plan_merge(&[0]), None);
        assert_eq!(plan_merge(&[0, 0, 0, 0, 0]), Some(0..5));
    }
}
