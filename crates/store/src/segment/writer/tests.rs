//! What a writer does at its limits: signatures without room, types without number, repetitions,
//! late graphs, wide neighbours.

use super::*;
use crate::parts::MemoryParts;
use crate::snapshot::Snapshot;
use crate::view::{GraphView, SegmentKey};
use crate::{GraphIndexWriter, Lists};
use rdf::Tag;

fn iri(ordinal: u64) -> VertexId {
    VertexId::new(Tag::Iri, ordinal)
}

fn edge(key: u64, neighbour: VertexId) -> Edge {
    Edge {
        key: iri(key),
        neighbour,
        graph: GraphScope::DEFAULT_GRAPH,
    }
}

/// Writes segments along `Out` only, after `prepare`, and opens the graph.
fn written(
    segments: &[(PredicateId, Vec<Edge>)],
    graphs: &[VertexId],
    prepare: impl Fn(&mut GraphWriter),
) -> Snapshot {
    let files = MemoryParts::new();
    let mut predicates = vec![VertexId::UNBOUND];
    let last = segments.last().map_or(2, |segment| segment.0.0.max(2));
    predicates.extend((0..u64::from(last)).map(|number| iri(10_000 + number)));
    write_tables(&files, &predicates, graphs).unwrap();
    for direction in [Direction::Out, Direction::In] {
        let mut writer = GraphWriter::create(&files, direction, graphs.into()).unwrap();
        prepare(&mut writer);
        for (predicate, edges) in segments.iter().filter(|_| direction == Direction::Out) {
            let mut neighbours = Spans::default();
            for edge in edges {
                neighbours.observe(edge.neighbour);
            }
            let shape = SegmentShape {
                rows_max: edges.len() as u64,
                neighbours,
            };
            writer.begin(*predicate, &shape).unwrap();
            writer.push(edges).unwrap();
        }
        writer.finish(&files).unwrap();
        let index = GraphIndexWriter::create(&files, direction, graphs.into()).unwrap();
        index.finish(&files).unwrap();
    }
    Snapshot::open(&files.freeze().unwrap()).unwrap()
}

fn predicates_of(snapshot: &Snapshot, vertex: u64) -> Vec<u32> {
    let (mut predicates, mut ends) = (Vec::new(), Vec::new());
    let answer = snapshot.predicates_of(Direction::Out, &[iri(vertex)], &mut predicates, &mut ends);
    let _ = answer.unwrap();
    predicates.iter().map(|predicate| predicate.0).collect()
}

fn neighbours(snapshot: &Snapshot, predicate: u32, key: u64) -> Vec<VertexId> {
    let segment = SegmentKey {
        predicate: PredicateId(predicate),
        direction: Direction::Out,
    };
    let set = snapshot
        .neighbours(segment, iri(key), GraphScope::Default)
        .unwrap();
    let mut all = Vec::new();
    set.decode(0, u64::MAX, &mut all).unwrap();
    all
}

#[test]
fn vertices_without_room_for_their_set_are_probed() {
    let segments: Vec<(PredicateId, Vec<Edge>)> = (2..8)
        .map(|number| {
            let keys = (0..40).filter(|key| key % u64::from(number) < 2);
            (
                PredicateId(number),
                keys.map(|key| edge(key, iri(99))).collect(),
            )
        })
        .collect();
    let snapshot = written(&segments, &[], |writer| writer.signatures.nodes_max = 5);
    for key in 0..40u64 {
        let wanted: Vec<u32> = (2..8)
            .filter(|&number| key % u64::from(number) < 2)
            .collect();
        assert_eq!(predicates_of(&snapshot, key), wanted, "vertex {key}");
    }
    let sets = snapshot.statistics(100).unwrap().out_sets;
    assert!(!sets.is_complete && !sets.sets.is_empty());
    assert_eq!(
        crate::check::check_graph(&snapshot, &crate::check::IdLimits::NONE).len(),
        6
    );
}

#[test]
fn a_vertex_of_too_many_types_turns_types_off() {
    let mut types: Vec<Edge> = (0..20).map(|key| edge(key, iri(500 + key % 3))).collect();
    types.extend((0..300).map(|class| edge(20, iri(500 + class))));
    types.extend((21..30).map(|key| edge(key, iri(501))));
    let other = vec![edge(3, iri(9)), edge(20, iri(9)), edge(77, iri(9))];
    let segments = [(PredicateId::TYPE, types), (PredicateId(4), other)];
    let snapshot = written(&segments, &[], |_| ());
    assert_eq!(predicates_of(&snapshot, 20), [1, 4]);
    assert_eq!(predicates_of(&snapshot, 25), [1]);
    assert_eq!(predicates_of(&snapshot, 77), [4]);
    let sets = snapshot.statistics(100).unwrap().out_sets;
    assert!(sets.is_complete && !sets.has_types);
    let vertices: Vec<u64> = sets.sets.iter().map(|set| set.vertices).collect();
    assert_eq!(vertices, [28, 2, 1]);
}

#[test]
fn repetitions_count_once_and_offsets_begin_late() {
    let mut edges: Vec<Edge> = (0..300).map(|key| edge(key, iri(key + 1))).collect();
    edges.push(edge(299, iri(300)));
    edges.extend([
        edge(300, iri(1)),
        edge(300, iri(1)),
        edge(300, iri(2)),
        edge(301, iri(7)),
    ]);
    let snapshot = written(&[(PredicateId(2), edges)], &[], |_| ());
    assert_eq!(neighbours(&snapshot, 2, 0), [iri(1)]);
    assert_eq!(neighbours(&snapshot, 2, 299), [iri(300)]);
    assert_eq!(neighbours(&snapshot, 2, 300), [iri(1), iri(2)]);
    assert_eq!(neighbours(&snapshot, 2, 301), [iri(7)]);
    let segment = SegmentKey {
        predicate: PredicateId(2),
        direction: Direction::Out,
    };
    let keys: Vec<VertexId> = (0..303).map(iri).collect();
    let mut lists = Lists::new();
    let _ = snapshot
        .lists(segment, &keys, GraphScope::Default, &mut lists)
        .unwrap();
    assert_eq!(lists.total_edges(), 303);
}

#[test]
fn neighbours_too_far_apart_are_kept_as_ids() {
    let far = [
        VertexId::new(Tag::Double, 0),
        VertexId::new(Tag::Double, 1 << 59),
    ];
    let edges = vec![edge(0, far[0]), edge(0, far[1]), edge(5, far[1])];
    let snapshot = written(&[(PredicateId(2), edges)], &[], |_| ());
    assert_eq!(neighbours(&snapshot, 2, 0), far);
    assert_eq!(neighbours(&snapshot, 2, 5), far[1..]);
}

#[test]
fn a_late_named_graph_fills_the_column_before_it() {
    let graph = iri(800);
    let mut edges: Vec<Edge> = (0..500).map(|key| edge(key, iri(1))).collect();
    edges.push(Edge {
        graph,
        ..edge(500, iri(1))
    });
    let snapshot = written(&[(PredicateId(2), edges)], &[graph], |_| ());
    assert_eq!(neighbours(&snapshot, 2, 499), [iri(1)]);
    assert_eq!(neighbours(&snapshot, 2, 500), []);
}

#[test]
#[should_panic(expected = "edges ascend")]
fn edges_out_of_order_are_refused() {
    written(
        &[(PredicateId(2), vec![edge(2, iri(1)), edge(1, iri(1))])],
        &[],
        |_| (),
    );
}
