//! Graphs for tests: a snapshot in memory from id quads.
//!
//! It goes through the same writers and readers as a loaded store, so that tests of the walk test
//! the real segments.

pub use crate::delta::IdQuad;
use crate::delta::layer::{EdgeCounts, LayerGraph};
use crate::delta::rows::{Tables, graphs_of, row_of, turn};
use crate::delta::{KeyChanges, Layer, Version};
use crate::load::radix;
use crate::parts::{FrozenParts, MemoryParts};
use crate::snapshot::Snapshot;
use crate::view::GraphScope;
use rdf::{Direction, VertexId};
use std::collections::{BTreeMap, HashSet};
use std::ops::RangeInclusive;
use std::sync::Arc;

/// Builds a snapshot in memory. Predicates are numbered in order of first appearance;
/// `type_vertex`, where given, is `rdf:type`. Quads may come in any order and repeatedly.
pub fn snapshot_of(quads: &[IdQuad], type_vertex: Option<VertexId>) -> Snapshot {
    Snapshot::open(&parts_of(quads, type_vertex)).expect("parts just written fit together")
}

/// The parts of such a snapshot.
pub fn parts_of(quads: &[IdQuad], type_vertex: Option<VertexId>) -> FrozenParts {
    let files = MemoryParts::new();
    write_parts(&files, quads, type_vertex).expect("memory can be written");
    files.freeze().expect("memory can be had")
}

/// Writes the parts of such a snapshot into `files`.
pub fn write_parts(
    files: &dyn crate::parts::PartFiles,
    quads: &[IdQuad],
    type_vertex: Option<VertexId>,
) -> Result<(), crate::parts::PartError> {
    let mut predicates = vec![VertexId::UNBOUND, type_vertex.unwrap_or(VertexId::UNBOUND)];
    let mut known: HashSet<VertexId> = type_vertex.into_iter().collect();
    for &(_, predicate, _, _) in quads {
        if known.insert(predicate) {
            predicates.push(predicate);
        }
    }
    let (mut rows, mut scratch) = (quads.iter().map(row_of).collect(), Vec::new());
    radix::sort(&mut rows, &mut scratch);
    let tables = Tables::new(predicates, graphs_of(&rows));
    tables.write(files)?;
    let out = tables.write_direction(files, Direction::Out, &rows)?;
    turn(&mut rows, &mut scratch);
    let into = tables.write_direction(files, Direction::In, &rows)?;
    assert_eq!(out.rows, into.rows, "both directions hold every quad");
    Ok(())
}

/// A version over this base with these layers.
pub fn version_of(
    base: &Arc<Snapshot>,
    layers: &[Arc<Layer>],
    type_vertex: Option<VertexId>,
) -> Version {
    let number = layers.last().map_or(0, |layer| *layer.commits().end());
    let version = Version::new(Arc::clone(base), number, type_vertex);
    version.rebased(Arc::clone(base), layers.to_vec())
}

impl Layer {
    /// The layer that adds and takes away these quads, distinct and in any order, with these
    /// changes of keys, without asking whether it has an effect.
    pub fn of(
        adds: &[IdQuad],
        dels: &[IdQuad],
        keys: KeyChanges,
        type_vertex: Option<VertexId>,
        commits: RangeInclusive<u64>,
    ) -> Layer {
        let mut graph_sizes = BTreeMap::<VertexId, i64>::new();
        for (quads, weight) in [(adds, 1), (dels, -1)] {
            for quad in quads {
                *graph_sizes.entry(quad.3).or_default() += weight;
            }
        }
        graph_sizes.retain(|graph, sum| *graph != GraphScope::DEFAULT_GRAPH && *sum != 0);
        let graph_of = |quads: &[IdQuad]| match quads {
            [] => None,
            quads => {
                let graph = LayerGraph::new(snapshot_of(quads, type_vertex));
                Some(graph.expect("a graph in memory is whole"))
            }
        };
        Layer {
            adds: graph_of(adds),
            dels: graph_of(dels),
            keys,
            graph_sizes: graph_sizes.into_iter().collect(),
            edges: EdgeCounts {
                out: (adds.len() as u64, dels.len() as u64),
                into: None,
            },
            bytes: 0,
            commits,
        }
    }
}
