//! Graphs whose segments take a wanted form.

use rdf::{Direction, PredicateId, Tag, VertexId};
use std::sync::Arc;
use store::parts::{FrozenParts, MemoryParts};
use store::{
    Edge, GraphIndexWriter, GraphScope, GraphWriter, SegmentKey, SegmentShape, Spans, write_tables,
};

pub const PREDICATE: PredicateId = PredicateId(2);
pub const OUT: SegmentKey = SegmentKey {
    predicate: PREDICATE,
    direction: Direction::Out,
};
pub const NAMED: VertexId = VertexId::new(Tag::Iri, 900);

/// The parts of a graph of one predicate, whose writer was told of so many rows.
pub fn written(edges: &[Edge], rows_max: u64) -> FrozenParts {
    let files = MemoryParts::new();
    let graphs: Arc<[VertexId]> = vec![NAMED].into();
    let predicates = [
        VertexId::UNBOUND,
        VertexId::UNBOUND,
        VertexId::new(Tag::Iri, 700),
    ];
    write_tables(&files, &predicates, &graphs).unwrap();
    for direction in [Direction::Out, Direction::In] {
        let mut edges = edges.to_vec();
        if direction == Direction::In {
            for edge in &mut edges {
                (edge.key, edge.neighbour) = (edge.neighbour, edge.key);
            }
        }
        edges.sort_unstable();
        let mut neighbours = Spans::default();
        for edge in &edges {
            neighbours.observe(edge.neighbour);
        }
        let mut writer = GraphWriter::create(&files, direction, graphs.clone()).unwrap();
        let shape = SegmentShape {
            rows_max,
            neighbours,
        };
        writer.begin(PREDICATE, &shape).unwrap();
        writer.push(&edges).unwrap();
        writer.finish(&files).unwrap();
        let writer = GraphIndexWriter::create(&files, direction, graphs.clone()).unwrap();
        writer.finish(&files).unwrap();
    }
    files.freeze().unwrap()
}

pub fn edge(key: u64, neighbour: u64) -> Edge {
    Edge {
        key: VertexId::from_bits(key),
        neighbour: VertexId::from_bits(neighbour),
        graph: GraphScope::DEFAULT_GRAPH,
    }
}

/// Keys that need every kind of chunk: ids in a row, ids far from each other within a range, few, and doubles.
pub fn keys_of_all_kinds() -> Vec<u64> {
    let doubles = VertexId::new(Tag::Double, 0).bits();
    (7..5000)
        .chain((0..400).map(|id| (1 << 20) + id * 1013))
        .chain((0..50).map(|id| (1 << 30) + id * 40_009))
        .chain((0..50).map(|id| doubles + (id << 52)))
        .collect()
}

/// A graph with all kinds of chunks, several planes, a named graph and a dense list.
pub fn of_all_kinds() -> FrozenParts {
    let literals = VertexId::new(Tag::Literal, 0).bits();
    let integers = VertexId::new(Tag::Integer, 0).bits();
    let mut edges = Vec::new();
    for (place, key) in (0..).zip(keys_of_all_kinds()) {
        edges.extend([edge(key, 9), edge(key, literals + place % 5)]);
        if place % 7 == 0 {
            edges.push(Edge {
                graph: NAMED,
                ..edge(key, integers + place)
            });
        }
    }
    edges.extend((0..1500).map(|member| edge(8, 100 + 2 * member)));
    written(&edges, 100_000)
}
