//! A layer from an effect: two small graphs, and which keys go.
//!
//! A key goes with its last row. How many rows it had is a sum over base and layers, which offsets
//! answer without reading a row ([`row_counts`]); a vertex goes from a direction with its last
//! predicate, which signatures answer; and a named graph with its last quad. How many quads the
//! base has of a graph is not kept anywhere, but the graph index tells that it has at least so many
//! keys, and only where not even they are more than what was deleted are its quads counted. So
//! deleting from a large graph costs what is deleted.
//!
//! Cost: some microseconds for a single quad, most of them for the eighteen parts of a graph; see
//! `examples/change.rs`. Nothing here grows with the base.

use super::change::{EdgeEffect, Effect};
use super::error::DeltaError;
use super::key_filter::KeyFilter;
use super::layer::{EdgeCounts, KeyChanges, KeySet, Layer, LayerGraph};
use super::rows::{Row, Tables, runs_of};
use super::sources::{Weighted, row_counts, sources};
use super::version::Version;
use crate::error::ViewError;
use crate::lists::Lists;
use crate::parts::MemoryParts;
use crate::segment::graph_index::GraphIndex;
use crate::snapshot::Snapshot;
use crate::view::{GraphScope, GraphView, SegmentKey};
use rdf::{Direction, VertexId};
use std::ops::RangeInclusive;

/// Bytes that a graph holds beside its parts: their handles and names.
const GRAPH_BYTES: u64 = 4096;

impl Layer {
    /// The layer of `effect`, which must be an effect on `version`. `type_vertex`: `rdf:type`,
    /// where the dictionary has it. `commits`: whose sum it is.
    pub fn build(
        version: &Version,
        effect: &Effect,
        type_vertex: Option<VertexId>,
        commits: RangeInclusive<u64>,
    ) -> Result<Layer, DeltaError> {
        let mut edges = effect.out.clone();
        let into = effect.into.as_ref();
        let own = |rows: fn(&EdgeEffect) -> &Vec<Row>| into.map_or(&[][..], |into| rows(into));
        let (deleted, inserted) = (own(|into| &into.deletes), own(|into| &into.inserts));
        let mut adds = Writing::begin([&edges.inserts, inserted], type_vertex)?;
        let mut dels = Writing::begin([&edges.deletes, deleted], type_vertex)?;
        let graph_sizes = graph_sizes([&edges.deletes, deleted], [&edges.inserts, inserted]);
        let counts = |edges: &EdgeEffect| (edges.inserts.len() as u64, edges.deletes.len() as u64);
        let counts = EdgeCounts {
            out: counts(&edges),
            into: into.map(counts),
        };
        let mut changes = Changes {
            version,
            sources: sources(Some(version.base()), version.layers()),
            found: KeyChanges::default(),
        };
        changes.graphs(&graph_sizes)?;
        for direction in [Direction::Out, Direction::In] {
            match into {
                _ if direction == Direction::Out => {}
                Some(into) => edges.clone_from(into),
                None => edges.turn(),
            }
            changes.keys(direction, &edges.deletes, &edges.inserts)?;
            for (writing, rows) in [(&mut adds, &edges.inserts), (&mut dels, &edges.deletes)] {
                if let Some((files, tables)) = writing {
                    let written = tables.write_direction(files, direction, rows)?;
                    assert_eq!(
                        written.rows,
                        rows.len() as u64,
                        "a direction holds each edge of the effect, once"
                    );
                }
            }
        }
        Layer::new(
            [
                open(adds.map(|adds| adds.0))?,
                open(dels.map(|dels| dels.0))?,
            ],
            counts,
            changes.found,
            graph_sizes,
            commits,
        )
    }

    /// Puts a layer together: its graphs of added and deleted edges with their numbers, and what
    /// follows from them.
    pub(super) fn new(
        graphs: [Option<Snapshot>; 2],
        edges: EdgeCounts,
        keys: KeyChanges,
        graph_sizes: Vec<(VertexId, i64)>,
        commits: RangeInclusive<u64>,
    ) -> Result<Layer, DeltaError> {
        let [adds, dels] = graphs.map(|graph| graph.map(LayerGraph::new).transpose());
        let (adds, dels) = (adds?, dels?);
        assert!(
            commits.start() <= commits.end(),
            "a layer is of at least one commit"
        );
        let into = edges.into.unwrap_or_default();
        assert_eq!(
            (adds.is_some(), dels.is_some()),
            (edges.out.0 + into.0 > 0, edges.out.1 + into.1 > 0),
            "a side of a layer is there where it has edges"
        );
        assert!(
            graph_sizes.is_sorted_by(|one, next| one.0 < next.0),
            "graphs ascend, each once, because they are searched for"
        );
        let graphs = adds.iter().chain(&dels).map(bytes_of).sum::<u64>();
        let bytes = graphs + keys.bytes() + size_of_val(&graph_sizes[..]) as u64;
        Ok(Layer {
            adds,
            dels,
            keys,
            graph_sizes,
            edges,
            bytes,
            commits,
        })
    }
}

/// A graph that is being written in memory.
struct Writing;

impl Writing {
    /// `rows`: along out-edges, and where these are others than the turned ones, along in-edges.
    fn begin(
        rows: [&[Row]; 2],
        type_vertex: Option<VertexId>,
    ) -> Result<Option<(MemoryParts, Tables)>, DeltaError> {
        if rows.iter().all(|rows| rows.is_empty()) {
            return Ok(None);
        }
        let files = MemoryParts::new();
        let tables = Tables::of_rows(rows, type_vertex);
        tables.write(&files)?;
        Ok(Some((files, tables)))
    }
}

/// Opens a graph that was written in memory.
pub(super) fn open(files: Option<MemoryParts>) -> Result<Option<Snapshot>, DeltaError> {
    let Some(files) = files else {
        return Ok(None);
    };
    let parts = files.freeze().map_err(|source| crate::parts::PartError {
        file: "layer".to_owned(),
        source,
    })?;
    Ok(Some(Snapshot::open(&parts)?))
}

fn bytes_of(layer: &LayerGraph) -> u64 {
    GRAPH_BYTES
        + layer.keys.as_ref().map_or(0, KeyFilter::bytes)
        + layer
            .graph
            .parts()
            .map(|(_, _, region)| region.len())
            .sum::<u64>()
}

/// By how many quads each named graph grows, ascending, without 0; where both directions have rows, by how many edges.
fn graph_sizes(deletes: [&[Row]; 2], inserts: [&[Row]; 2]) -> Vec<(VertexId, i64)> {
    let named = |rows: [&'_ [Row]; 2], weight| {
        rows.into_iter()
            .flatten()
            .map(|row| VertexId::from_bits(row[3]))
            .filter(|&graph| graph != GraphScope::DEFAULT_GRAPH)
            .map(move |graph| (graph, weight))
            .collect::<Vec<(VertexId, i64)>>()
    };
    let mut sizes = named(deletes, -1);
    sizes.extend(named(inserts, 1));
    sum_by_key(&mut sizes);
    sizes
}

/// Sorts, adds the numbers of equal keys, and leaves out what is 0.
pub(super) fn sum_by_key<K: Ord + Copy>(sums: &mut Vec<(K, i64)>) {
    sums.sort_unstable_by_key(|sum| sum.0);
    sums.dedup_by(|next, kept| {
        let same = next.0 == kept.0;
        if same {
            kept.1 += next.1;
        }
        same
    });
    sums.retain(|sum| sum.1 != 0);
}

/// Finds which keys go.
pub(super) struct Changes<'v> {
    pub(super) version: &'v Version,
    pub(super) sources: Vec<Weighted<'v>>,
    pub(super) found: KeyChanges,
}

impl Changes<'_> {
    /// Keys of one direction; rows are along it and ascend.
    fn keys(
        &mut self,
        direction: Direction,
        deletes: &[Row],
        inserts: &[Row],
    ) -> Result<(), DeltaError> {
        let mut lost = Vec::new();
        let (mut keys, mut before) = (Vec::new(), Vec::new());
        for (predicate, range) in runs_of(deletes) {
            let mut sums: Vec<(u64, i64)> = deletes[range].iter().map(|row| (row[1], -1)).collect();
            let wanted = predicate.bits();
            let start = inserts.partition_point(|row| row[0] < wanted);
            let same = inserts[start..].iter().take_while(|row| row[0] == wanted);
            sums.extend(same.map(|row| (row[1], 1)));
            sum_by_key(&mut sums);
            sums.retain(|sum| sum.1 < 0);
            keys.clear();
            keys.extend(sums.iter().map(|sum| VertexId::from_bits(sum.0)));
            row_counts(&self.sources, predicate, direction, &keys, &mut before)?;
            let rest = before.iter().zip(&sums).map(|(before, sum)| before + sum.1);
            let gone: Vec<VertexId> = keys
                .iter()
                .zip(rest)
                .filter_map(|(&key, rest)| (rest == 0).then_some(key))
                .collect();
            lost.extend_from_slice(&gone);
            insert(&mut self.found.gone, (predicate, direction), gone);
        }
        self.vertices(direction, lost, inserts)
    }

    /// Vertices of one direction; `lost`: those that lost their last row of some predicate.
    fn vertices(
        &mut self,
        direction: Direction,
        mut lost: Vec<VertexId>,
        inserts: &[Row],
    ) -> Result<(), DeltaError> {
        lost.sort_unstable();
        lost.dedup();
        if !lost.is_empty() {
            let mut kept: Vec<u64> = inserts.iter().map(|row| row[1]).collect();
            kept.sort_unstable();
            lost.retain(|key| kept.binary_search(&key.bits()).is_err());
            self.retain_lost(direction, &mut lost)?;
        }
        insert(&mut self.found.gone, (VertexId::UNBOUND, direction), lost);
        Ok(())
    }

    /// Leaves those that are a key of no predicate any more.
    pub(super) fn retain_lost(
        &self,
        direction: Direction,
        lost: &mut Vec<VertexId>,
    ) -> Result<(), ViewError> {
        let (mut predicates, mut ends) = (Vec::new(), Vec::new());
        for (graph, place) in self.version.adding() {
            if lost.is_empty() {
                return Ok(());
            }
            predicates.clear();
            ends.clear();
            let _ = graph.predicates_of(direction, lost, &mut predicates, &mut ends)?;
            assert_eq!(ends.len(), lost.len(), "an end for each vertex");
            let (mut at, mut start) = (0, 0);
            lost.retain(|&vertex| {
                let end = ends[at] as usize;
                let has_one = predicates[start..end].iter().any(|&predicate| {
                    let set = (graph.predicate_vertex(predicate), direction);
                    !is_in(&self.found.gone, set, vertex)
                        && !self.version.is_gone_since(place, set, vertex)
                });
                (at, start) = (at + 1, end);
                !has_one
            });
        }
        Ok(())
    }

    /// Named graphs that go.
    fn graphs(&mut self, sizes: &[(VertexId, i64)]) -> Result<(), DeltaError> {
        for &(graph, grown) in sizes.iter().filter(|size| size.1 < 0) {
            if self.is_emptied(graph, grown)? {
                self.found.graphs_gone.push(graph);
            }
        }
        Ok(())
    }

    /// Whether a graph has no quad left after it grew by this (negative) number; of a part of a graph, no edge of either
    /// direction.
    pub(super) fn is_emptied(&self, graph: VertexId, grown: i64) -> Result<bool, DeltaError> {
        assert!(grown < 0, "a graph is emptied by what is taken away");
        let in_layers = |layer: &std::sync::Arc<Layer>| {
            let sizes = &layer.graph_sizes;
            let found = sizes.binary_search_by_key(&graph, |size| size.0);
            found.map_or(0, |place| sizes[place].1)
        };
        let over_base = grown + self.version.layers().iter().map(in_layers).sum::<i64>();
        let base = self.version.base();
        let Some(code) = base.graphs()?.code(graph) else {
            return Ok(over_base == 0);
        };
        let directions = match base.part_of() {
            None => &[Direction::Out][..],
            Some(_) => &[Direction::Out, Direction::In],
        };
        let mut runs = Vec::new();
        for &direction in directions {
            let region = &base.side(direction).graph_index;
            GraphIndex::open(region)?.runs(code, |run| runs.push((direction, run)))?;
        }
        let keys = runs.iter().map(|(_, run)| run.keys as i64);
        if keys.sum::<i64>() + over_base > 0 {
            return Ok(false);
        }
        let (mut edges, mut keys, mut degrees) = (over_base, Vec::new(), Vec::new());
        let mut lists = Lists::new();
        for (direction, run) in runs {
            keys.clear();
            degrees.clear();
            run.decode(&base.side(direction).graph_index, &mut keys)?;
            let segment = SegmentKey {
                predicate: run.predicate,
                direction,
            };
            let _ = base.lists(segment, &keys, GraphScope::Named(graph), &mut lists)?;
            lists.degrees(&mut degrees)?;
            edges += degrees.iter().sum::<u64>() as i64;
            if edges > 0 {
                return Ok(false);
            }
        }
        Ok(true)
    }
}

type KeyLists = std::collections::BTreeMap<KeySet, Vec<VertexId>>;

fn is_in(lists: &KeyLists, set: KeySet, key: VertexId) -> bool {
    let list = lists.get(&set);
    list.is_some_and(|list| list.binary_search(&key).is_ok())
}

fn insert(lists: &mut KeyLists, set: KeySet, list: Vec<VertexId>) {
    if !list.is_empty() {
        lists.insert(set, list);
    }
}
