//! Graphs for tests: a snapshot in memory from id quads.
//!
//! It goes through the same writers and readers as a loaded store, so that tests of the walk test
//! the real segments.

use crate::graph_index::{GraphIndexWriter, GraphKey};
use crate::parts::{FrozenParts, MemoryParts};
use crate::segment::planes::Spans;
use crate::segment::writer::{Edge, GraphWriter, SegmentShape, write_tables};
use crate::snapshot::Snapshot;
use crate::view::GraphScope;
use rdf::{Direction, PredicateId, VertexId};
use std::collections::BTreeMap;
use std::sync::Arc;

/// Subject, predicate, object, and named graph or [`GraphScope::DEFAULT_GRAPH`].
pub type IdQuad = (VertexId, VertexId, VertexId, VertexId);

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
    let (predicates, numbers) = number_predicates(quads, type_vertex);
    let mut graphs: Vec<VertexId> = quads.iter().map(|quad| quad.3).collect();
    graphs.retain(|&graph| graph != GraphScope::DEFAULT_GRAPH);
    graphs.sort_unstable();
    graphs.dedup();
    let graphs: Arc<[VertexId]> = graphs.into();
    write_tables(files, &predicates, &graphs)?;
    for direction in [Direction::Out, Direction::In] {
        write_direction(files, quads, &numbers, direction, &graphs)?;
    }
    Ok(())
}

fn number_predicates(
    quads: &[IdQuad],
    type_vertex: Option<VertexId>,
) -> (Vec<VertexId>, BTreeMap<VertexId, PredicateId>) {
    let mut predicates = vec![VertexId::UNBOUND, type_vertex.unwrap_or(VertexId::UNBOUND)];
    let mut numbers: BTreeMap<_, _> = type_vertex
        .map(|vertex| (vertex, PredicateId::TYPE))
        .into_iter()
        .collect();
    for &(_, predicate, _, _) in quads {
        numbers.entry(predicate).or_insert_with(|| {
            predicates.push(predicate);
            PredicateId(predicates.len() as u32 - 1)
        });
    }
    (predicates, numbers)
}

fn write_direction(
    files: &dyn crate::parts::PartFiles,
    quads: &[IdQuad],
    numbers: &BTreeMap<VertexId, PredicateId>,
    direction: Direction,
    graphs: &Arc<[VertexId]>,
) -> Result<(), crate::parts::PartError> {
    let mut segments: BTreeMap<PredicateId, Vec<Edge>> = BTreeMap::new();
    let mut index = Vec::new();
    for &(subject, predicate, object, graph) in quads {
        let (key, neighbour) = match direction {
            Direction::Out => (subject, object),
            Direction::In => (object, subject),
        };
        let predicate = numbers[&predicate];
        segments.entry(predicate).or_default().push(Edge {
            key,
            neighbour,
            graph,
        });
        if graph != GraphScope::DEFAULT_GRAPH {
            index.push(GraphKey {
                graph,
                predicate,
                key,
            });
        }
    }
    let mut writer = GraphWriter::create(files, direction, graphs.clone())?;
    for (predicate, edges) in &mut segments {
        edges.sort_unstable();
        let mut neighbours = Spans::default();
        for edge in &*edges {
            neighbours.observe(edge.neighbour);
        }
        writer.begin(
            *predicate,
            &SegmentShape {
                rows_max: edges.len() as u64,
                neighbours,
            },
        )?;
        writer.push(edges)?;
    }
    writer.finish(files)?;
    index.sort_unstable();
    let mut writer = GraphIndexWriter::create(files, direction, graphs.clone())?;
    writer.push(&index)?;
    writer.finish(files)?;
    Ok(())
}
