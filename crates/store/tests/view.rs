//! Every method of the local view against a naive model, on random graphs: dense and scattered
//! ids, all kinds, many predicates, named graphs, lists long enough to be kept as indexes.

#![allow(clippy::unwrap_used)] // a test's helpers may fail as a test does

use crate::common;

use common::{Model, Numbers, Shape, TYPE, key_of, quads_of, vertex};
use proptest::prelude::*;
use rdf::{Direction, VertexId};
use std::collections::BTreeSet;
use std::path::Path;
use store::directory::{begin, open};
use store::disk::{SimDisk, SimFaults};
use store::testing::{IdQuad, snapshot_of, write_parts};
use store::{GraphScope, GraphView, ListCursor, Lists, SegmentKey, Snapshot, VertexSet};

const DIRECTIONS: [Direction; 2] = [Direction::Out, Direction::In];

fn shapes() -> impl Strategy<Value = Shape> {
    (
        any::<u64>(),
        0..2500u64,
        prop_oneof![1..6u64, 30..400u64],
        0..4u64,
        0..3u64,
        hubs(),
    )
        .prop_map(|(seed, quads, predicates, graphs, vertices, hub)| Shape {
            seed,
            quads,
            predicates,
            graphs,
            vertices,
            hub,
        })
}

fn hubs() -> impl Strategy<Value = u64> {
    prop_oneof![3 => Just(0u64), 1 => 1000..6000u64]
}

fn check_set(set: &VertexSet<'_>, wanted: &[VertexId], numbers: &mut Numbers) {
    assert_eq!(set.len(), wanted.len() as u64);
    let mut all = Vec::new();
    set.decode(0, u64::MAX, &mut all).unwrap();
    assert_eq!(all, wanted);
    for _ in 0..4 {
        let from = numbers.below(wanted.len() as u64 + 1) as usize;
        let to = from + numbers.below((wanted.len() - from) as u64 + 1) as usize;
        let mut some = Vec::new();
        set.decode(from as u64, to as u64, &mut some).unwrap();
        assert_eq!(some, &wanted[from..to]);
    }
    let mut asked: Vec<VertexId> = (0..50).map(|_| vertex(numbers, 2)).collect();
    asked.extend((0..50).filter_map(|_| {
        let place = numbers.below(wanted.len().max(1) as u64) as usize;
        wanted.get(place).copied()
    }));
    asked.extend(
        wanted
            .first()
            .map(|first| VertexId::from_bits(first.bits().wrapping_sub(1))),
    );
    asked.extend(
        wanted
            .last()
            .map(|last| VertexId::from_bits(last.bits() + 1)),
    );
    if numbers.below(2) == 0 {
        asked.sort_unstable();
    }
    let mut positions = Vec::new();
    set.select(&asked, &mut positions).unwrap();
    let wanted: Vec<u32> = (0..asked.len() as u32)
        .filter(|&position| wanted.binary_search(&asked[position as usize]).is_ok())
        .collect();
    assert_eq!(positions, wanted);
    for (position, &vertex) in asked.iter().enumerate().take(10) {
        assert_eq!(
            set.contains(vertex).unwrap(),
            wanted.contains(&(position as u32))
        );
    }
}

fn expand(lists: &Lists<'_>, chunk: usize, binds: bool) -> Vec<Vec<(VertexId, VertexId)>> {
    let mut found = vec![Vec::new(); lists.len()];
    let mut cursor = ListCursor::default();
    loop {
        let (mut rows, mut neighbours, mut graphs) = (Vec::new(), Vec::new(), Vec::new());
        let wanted = binds.then_some(&mut graphs);
        let done = lists
            .expand(&mut cursor, chunk, &mut rows, &mut neighbours, wanted)
            .unwrap();
        assert!(rows.len() <= chunk && rows.len() == neighbours.len());
        assert_eq!(graphs.len(), if binds { rows.len() } else { 0 });
        for (place, (&row, &neighbour)) in rows.iter().zip(&neighbours).enumerate() {
            let graph = graphs.get(place).copied().unwrap_or(VertexId::UNBOUND);
            found[row as usize].push((neighbour, graph));
        }
        if done {
            return found;
        }
        assert_eq!(
            rows.len(),
            chunk,
            "an expansion stops early only when it is full"
        );
    }
}

fn check_lists(
    snapshot: &Snapshot,
    model: &Model,
    predicate: VertexId,
    direction: Direction,
    keys: &[VertexId],
    scope: GraphScope<'_>,
    numbers: &mut Numbers,
) {
    let segment = key_of(snapshot, predicate, direction);
    let mut lists = Lists::new();
    let _ = snapshot.lists(segment, keys, scope, &mut lists).unwrap();
    assert_eq!(lists.len(), keys.len());
    let wanted: Vec<_> = keys
        .iter()
        .map(|&key| model.rows(predicate, direction, key, scope))
        .collect();
    let bound = [5, 5000][numbers.below(2) as usize];
    let chunk = 1 + numbers.below(bound) as usize;
    assert_eq!(expand(&lists, chunk, scope.binds_graph()), wanted);
    let mut degrees = Vec::new();
    lists.degrees(&mut degrees).unwrap();
    let lengths: Vec<u64> = wanted.iter().map(|rows| rows.len() as u64).collect();
    assert_eq!(degrees, lengths);
    for (list, &length) in lengths.iter().enumerate() {
        assert!(lists.edges(list) >= length);
        assert!(!lists.is_exact() || lists.edges(list) == length);
    }
    let targets: Vec<VertexId> = wanted
        .iter()
        .map(
            |rows| match rows.get(numbers.below(rows.len().max(1) as u64) as usize) {
                Some(row) if numbers.below(3) > 0 => row.0,
                _ => vertex(numbers, 2),
            },
        )
        .collect();
    let mut positions = Vec::new();
    lists.select(&targets, &mut positions).unwrap();
    let hit = |place: usize| wanted[place].iter().any(|row| row.0 == targets[place]);
    let hits: Vec<u32> = (0..keys.len())
        .filter(|&place| hit(place))
        .map(|place| place as u32)
        .collect();
    assert_eq!(positions, hits);
}

fn check_segment(
    snapshot: &Snapshot,
    model: &Model,
    predicate: VertexId,
    direction: Direction,
    numbers: &mut Numbers,
) {
    let segment = key_of(snapshot, predicate, direction);
    let keys: Vec<VertexId> = model.segments[&(predicate, direction)]
        .keys()
        .copied()
        .collect();
    check_set(&snapshot.keys(segment).unwrap(), &keys, numbers);
    let mut batch: Vec<VertexId> = (0..60)
        .map(|_| keys[numbers.below(keys.len() as u64) as usize])
        .collect();
    batch.extend((0..20).map(|_| vertex(numbers, 2)));
    let graphs: Vec<VertexId> = model.graphs.iter().copied().collect();
    let mut merge: Vec<VertexId> = graphs
        .iter()
        .copied()
        .filter(|_| numbers.below(2) == 0)
        .collect();
    let some = merge.clone();
    if numbers.below(2) == 0 {
        merge.push(GraphScope::DEFAULT_GRAPH);
    }
    let absent = VertexId::from_bits(3);
    let mut scopes = vec![
        GraphScope::Default,
        GraphScope::Merge(&merge),
        GraphScope::Union,
        GraphScope::EachNamed,
        GraphScope::EachOf(&some),
        GraphScope::Named(absent),
    ];
    scopes.extend(graphs.first().map(|&graph| GraphScope::Named(graph)));
    for scope in scopes {
        check_lists(
            snapshot, model, predicate, direction, &batch, scope, numbers,
        );
        if !scope.binds_graph() {
            for &key in batch
                .iter()
                .take(5)
                .chain(&batch[60..63])
                .chain(&[VertexId::from_bits(20)])
            {
                let rows = model.rows(predicate, direction, key, scope);
                let wanted: Vec<VertexId> = rows.into_iter().map(|row| row.0).collect();
                check_set(
                    &snapshot.neighbours(segment, key, scope).unwrap(),
                    &wanted,
                    numbers,
                );
            }
        }
    }
    for &graph in graphs.iter().chain(&[absent]) {
        let mut found = Vec::new();
        snapshot.keys_of_graph(segment, graph, &mut found).unwrap();
        let lists = &model.segments[&(predicate, direction)];
        let within = |key: &&VertexId| lists[*key].values().any(|graphs| graphs.contains(&graph));
        let wanted: Vec<VertexId> = keys.iter().filter(within).copied().collect();
        assert_eq!(found, wanted);
    }
}

fn check_signatures(
    snapshot: &Snapshot,
    model: &Model,
    direction: Direction,
    numbers: &mut Numbers,
) {
    let keys = model
        .segments
        .iter()
        .filter(|(segment, _)| segment.1 == direction);
    let all: BTreeSet<VertexId> = keys.flat_map(|(_, lists)| lists.keys().copied()).collect();
    let all: Vec<VertexId> = all.into_iter().collect();
    check_set(&snapshot.vertices(direction).unwrap(), &all, numbers);
    let mut asked = all.clone();
    asked.extend((0..20).map(|_| vertex(numbers, 2)));
    let (mut predicates, mut ends) = (vec![], vec![]);
    let _ = snapshot
        .predicates_of(direction, &asked, &mut predicates, &mut ends)
        .unwrap();
    assert_eq!(ends.len(), asked.len());
    let mut start = 0;
    for (&vertex, &end) in asked.iter().zip(&ends) {
        let found: BTreeSet<VertexId> = predicates[start..end as usize]
            .iter()
            .map(|&predicate| snapshot.predicate_vertex(predicate))
            .collect();
        let has = |predicate: &VertexId| {
            model
                .segments
                .get(&(*predicate, direction))
                .is_some_and(|lists| lists.contains_key(&vertex))
        };
        let wanted: BTreeSet<VertexId> = model
            .segments
            .keys()
            .map(|segment| segment.0)
            .filter(has)
            .collect();
        assert_eq!(found, wanted);
        assert!(predicates[start..end as usize].is_sorted_by(|a, b| a < b));
        start = end as usize;
    }
}

fn stored(quads: &[IdQuad]) -> Snapshot {
    let disk = SimDisk::new(1, Path::new("/"), SimFaults::default());
    let generation = begin(&disk, Path::new("/s")).unwrap();
    write_parts(&generation, quads, Some(TYPE)).unwrap();
    generation
        .commit(std::collections::BTreeMap::new())
        .unwrap();
    Snapshot::open(&open(&disk, Path::new("/s")).unwrap()).unwrap()
}

fn check(shape: &Shape) {
    let quads = quads_of(shape);
    // Every other graph lies on a disk, so that its blocks are verified as they are touched.
    let snapshot = match shape.seed % 2 {
        0 => snapshot_of(&quads, Some(TYPE)),
        _ => stored(&quads),
    };
    let model = Model::of(&quads);
    let mut numbers = Numbers::new(shape.seed);
    let known: BTreeSet<VertexId> = model.segments.keys().map(|segment| segment.0).collect();
    let listed: BTreeSet<VertexId> = snapshot
        .predicates()
        .iter()
        .map(|&predicate| snapshot.predicate_vertex(predicate))
        .collect();
    assert_eq!(listed, known);
    assert_eq!(snapshot.predicate_id(VertexId::from_bits(2)), None);
    assert_eq!(
        snapshot.named_graphs().unwrap(),
        model.graphs.iter().copied().collect::<Vec<_>>()
    );
    for direction in DIRECTIONS {
        for &predicate in known.iter().take(12) {
            check_segment(&snapshot, &model, predicate, direction, &mut numbers);
        }
        check_signatures(&snapshot, &model, direction, &mut numbers);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 96, ..ProptestConfig::default() })]

    #[test]
    fn the_view_answers_as_a_naive_graph_does(shape in shapes()) {
        check(&shape);
    }
}

#[test]
fn an_empty_graph_has_nothing() {
    let snapshot = snapshot_of(&[], None);
    assert!(snapshot.predicates().is_empty() && snapshot.named_graphs().unwrap().is_empty());
    let segment = SegmentKey {
        predicate: rdf::PredicateId::TYPE,
        direction: Direction::Out,
    };
    assert!(snapshot.keys(segment).unwrap().is_empty());
    assert!(snapshot.vertices(Direction::In).unwrap().is_empty());
    let mut lists = Lists::new();
    let _ = snapshot
        .lists(segment, &[TYPE], GraphScope::Default, &mut lists)
        .unwrap();
    assert_eq!((lists.len(), lists.total_edges()), (1, 0));
    let unknown = SegmentKey {
        predicate: rdf::PredicateId(77),
        direction: Direction::Out,
    };
    assert!(
        snapshot
            .neighbours(unknown, TYPE, GraphScope::Default)
            .unwrap()
            .is_empty()
    );
}

#[test]
fn a_large_dense_graph_has_one_chunk_and_long_lists_are_dense() {
    let shape = Shape {
        seed: 1,
        quads: 40_000,
        predicates: 3,
        graphs: 0,
        vertices: 0,
        hub: 90_000,
    };
    check(&shape);
    let snapshot = snapshot_of(&quads_of(&shape), Some(TYPE));
    let members = SegmentKey {
        predicate: rdf::PredicateId::TYPE,
        direction: Direction::In,
    };
    let class = VertexId::from_bits(20);
    assert!(
        snapshot
            .neighbours(members, class, GraphScope::Default)
            .unwrap()
            .is_dense()
    );
    assert!(snapshot.vertices(Direction::Out).unwrap().is_dense());
}
