//! `check` finds nothing in whole stores, and names what is wrong with others.

#![allow(clippy::unwrap_used)] // a test's helpers may fail as a test does

use crate::common;

use common::{Model, Numbers, Shape, TYPE, quads_of};
use proptest::prelude::*;
use rdf::{Direction, PredicateId, Tag, VertexId};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;
use store::check::{Finding, IdLimits, check, check_graph};
use store::directory::{begin, open};
use store::disk::{Disk, SimDisk, SimFaults};
use store::parts::MemoryParts;
use store::testing::{IdQuad, snapshot_of, write_parts};
use store::{
    Edge, GraphIndexWriter, GraphKey, GraphScope, GraphView, GraphWriter, SegmentShape, Snapshot,
    Spans, write_tables,
};

fn stored(quads: &[IdQuad]) -> SimDisk {
    let disk = SimDisk::new(1, Path::new("/"), SimFaults::default());
    let generation = begin(&disk, Path::new("/s")).unwrap();
    write_parts(&generation, quads, Some(TYPE)).unwrap();
    generation.commit(BTreeMap::new()).unwrap();
    disk
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]

    #[test]
    fn a_whole_store_has_no_findings(
        seed: u64, quads in 0..2500u64, predicates in 1..60u64, graphs in 0..4u64,
        vertices in 0..3u64, hub in prop_oneof![Just(0u64), 1000..5000u64],
    ) {
        let quads = quads_of(&Shape { seed, quads, predicates, graphs, vertices, hub });
        let disk = stored(&quads);
        let opened = open(&disk, Path::new("/s")).unwrap();
        prop_assert_eq!(check(&opened, &IdLimits::NONE), []);
        check_statistics(&snapshot_of(&quads, Some(TYPE)), &Model::of(&quads));
    }
}

/// The statistics against the naive graph.
fn check_statistics(snapshot: &Snapshot, model: &Model) {
    let statistics = snapshot.statistics(usize::MAX).unwrap();
    let mut quads = 0;
    for sizes in &statistics.predicates {
        let out = &model.segments[&(sizes.vertex, Direction::Out)];
        let edges: usize = out
            .values()
            .flat_map(|list| list.values())
            .map(BTreeSet::len)
            .sum();
        assert_eq!(sizes.edges, edges as u64);
        assert_eq!(sizes.subjects, out.len() as u64);
        assert_eq!(
            sizes.objects,
            model.segments[&(sizes.vertex, Direction::In)].len() as u64
        );
        quads += edges as u64;
    }
    assert_eq!(statistics.quads, quads);
    assert_eq!(statistics.named_graphs, model.graphs.len() as u64);
    let classes: Vec<(VertexId, u64)> = model
        .segments
        .get(&(TYPE, Direction::In))
        .map(|lists| {
            lists
                .iter()
                .map(|(&class, members)| (class, members.len() as u64))
                .collect()
        })
        .unwrap_or_default();
    assert_eq!(statistics.classes, classes);
    assert_eq!(statistics.type_vertex.is_some(), !classes.is_empty());
    assert!(statistics.out_sets.is_complete && statistics.out_sets.has_types);
    assert!(statistics.in_sets.is_complete && statistics.in_sets.has_types);
    for (sets, direction) in [
        (&statistics.out_sets, Direction::Out),
        (&statistics.in_sets, Direction::In),
    ] {
        let vertices = snapshot.vertices(direction).unwrap().len();
        assert_eq!(
            sets.sets.iter().map(|set| set.vertices).sum::<u64>(),
            vertices
        );
        assert!(sets.sets.iter().all(|set| {
            set.predicates
                .iter()
                .all(|&(_, edges)| edges >= set.vertices)
        }));
    }
    let few = snapshot.statistics(2).unwrap().out_sets;
    assert!(few.sets.len() <= 2 && few.is_complete == (statistics.out_sets.sets.len() <= 2));
}

#[test]
fn edges_of_a_set_are_exact_where_its_vertices_are_alike() {
    let iri = |ordinal| VertexId::new(Tag::Iri, ordinal);
    let mut quads = Vec::new();
    for vertex in 0..10 {
        quads.push((
            iri(100 + vertex),
            TYPE,
            iri(20 + vertex / 5),
            GraphScope::DEFAULT_GRAPH,
        ));
        for object in 0..=2 * (vertex / 5) {
            quads.push((
                iri(100 + vertex),
                iri(30),
                iri(200 + object),
                GraphScope::DEFAULT_GRAPH,
            ));
        }
    }
    let statistics = snapshot_of(&quads, Some(TYPE)).statistics(10).unwrap();
    let sets: Vec<_> = statistics
        .out_sets
        .sets
        .iter()
        .map(|set| (set.types[0], &set.predicates[..]))
        .collect();
    assert_eq!(
        sets,
        [
            (iri(20), &[(TYPE, 5), (iri(30), 5)][..]),
            (iri(21), &[(TYPE, 5), (iri(30), 15)][..]),
        ]
    );
}

#[test]
fn in_sets_name_the_types_of_objects() {
    let iri = |ordinal| VertexId::new(Tag::Iri, ordinal);
    let (knows, person, thing) = (iri(30), iri(20), iri(21));
    let edge = |from, predicate, to| (iri(from), predicate, to, GraphScope::DEFAULT_GRAPH);
    let quads = [
        edge(100, TYPE, person),
        edge(101, TYPE, person),
        edge(101, TYPE, thing),
        edge(102, TYPE, thing),
        edge(20, TYPE, thing),
        edge(100, knows, iri(101)),
        edge(102, knows, iri(101)),
        edge(101, knows, iri(100)),
        edge(101, knows, iri(103)),
    ];
    let statistics = snapshot_of(&quads, Some(TYPE)).statistics(10).unwrap();
    let mut sets: Vec<_> = statistics
        .in_sets
        .sets
        .iter()
        .map(|set| (&set.types[..], &set.predicates[..], set.vertices))
        .collect();
    sets.sort();
    // Nobody knows 102, so its types are in no set; the class 20 is itself a thing.
    let mut expected = [
        (&[][..], &[(knows, 1)][..], 1),
        (&[person][..], &[(knows, 1)][..], 1),
        (&[person, thing][..], &[(knows, 2)][..], 1),
        (&[thing][..], &[(TYPE, 2)][..], 1),
        (&[][..], &[(TYPE, 3)][..], 1),
    ];
    expected.sort();
    assert_eq!(sets, expected);
}

#[test]
fn every_damaged_block_is_named() {
    let quads = quads_of(&Shape {
        seed: 3,
        quads: 9000,
        predicates: 9,
        graphs: 2,
        vertices: 1,
        hub: 2000,
    });
    let disk = stored(&quads);
    let opened = open(&disk, Path::new("/s")).unwrap();
    let files = opened.manifest().files.clone();
    let directory = opened.directory().to_owned();
    let mut numbers = Numbers::new(4);
    for file in files {
        let place = numbers.below(file.length_bytes) as usize;
        let path = directory.join(file.name.as_ref());
        assert!(disk.damage(&path, place, 0x10));
        let findings = check(&open(&disk, Path::new("/s")).unwrap(), &IdLimits::NONE);
        let block = format!("block {}", place / 65536);
        assert!(
            findings
                .iter()
                .any(|finding| finding.file == file.name && finding.place == block),
            "{} byte {place}: {findings:?}",
            file.name
        );
        assert!(disk.damage(&path, place, 0x10));
    }
    assert!(disk.list(&directory).unwrap().len() > 10);
}

type Harm<'a> = &'a dyn Fn(Direction, &mut Vec<Edge>, &mut Vec<GraphKey>);

/// A graph of one predicate whose two directions are written after `harm` changed what is written.
fn harmed(harm: Harm<'_>) -> Vec<Finding> {
    let iri = |ordinal| VertexId::new(Tag::Iri, ordinal);
    let graph = iri(900);
    let files = MemoryParts::new();
    let graphs: Arc<[VertexId]> = vec![graph].into();
    let predicates = [VertexId::UNBOUND, VertexId::UNBOUND, iri(700)];
    write_tables(&files, &predicates, &graphs).unwrap();
    for direction in [Direction::Out, Direction::In] {
        let mut edges: Vec<Edge> = (0..100)
            .map(|number| {
                let (subject, object) = (iri(number % 10), iri(100 + number / 10));
                let (key, neighbour) = match direction {
                    Direction::Out => (subject, object),
                    Direction::In => (object, subject),
                };
                let graph = if number % 3 == 0 {
                    graph
                } else {
                    GraphScope::DEFAULT_GRAPH
                };
                Edge {
                    key,
                    neighbour,
                    graph,
                }
            })
            .collect();
        edges.sort_unstable();
        let predicate = PredicateId(2);
        let named = edges.iter().filter(|edge| edge.graph == graph);
        let mut keys: Vec<GraphKey> = named
            .map(|edge| GraphKey {
                graph,
                predicate,
                key: edge.key,
            })
            .collect();
        harm(direction, &mut edges, &mut keys);
        let mut neighbours = Spans::default();
        for edge in &edges {
            neighbours.observe(edge.neighbour);
        }
        let mut writer = GraphWriter::create(&files, direction, graphs.clone()).unwrap();
        writer
            .begin(
                predicate,
                &SegmentShape {
                    rows_max: 1000,
                    neighbours,
                },
            )
            .unwrap();
        writer.push(&edges).unwrap();
        writer.finish(&files).unwrap();
        keys.sort_unstable();
        let mut writer = GraphIndexWriter::create(&files, direction, graphs.clone()).unwrap();
        writer.push(&keys).unwrap();
        writer.finish(&files).unwrap();
    }
    let limits = IdLimits {
        iris: 1000,
        ..IdLimits::NONE
    };
    check_graph(&Snapshot::open(&files.freeze().unwrap()).unwrap(), &limits)
}

#[test]
fn parts_that_do_not_agree_are_named() {
    let whats = |harm: Harm<'_>| -> Vec<String> {
        harmed(harm)
            .into_iter()
            .map(|finding| finding.what)
            .collect()
    };
    assert_eq!(whats(&|_, _, _| ()), [""; 0]);
    let found = whats(&|direction, edges, _| {
        if direction == Direction::In {
            edges.remove(7);
        }
    });
    assert!(
        found.contains(&"the two directions hold different quads".to_owned()),
        "{found:?}"
    );
    let found = whats(&|direction, _, keys| {
        if direction == Direction::Out {
            keys.pop();
            keys.retain(|entry| entry.key.payload() != 3);
        }
    });
    assert_eq!(
        found,
        ["the graph index does not name the keys that graphs have"]
    );
    let found = whats(&|_, edges, _| {
        if let Some(last) = edges.last_mut() {
            last.key = VertexId::new(Tag::Iri, 5000);
        }
    });
    assert!(
        found.contains(&"a key is not in the dictionary".to_owned()),
        "{found:?}"
    );
    let found = whats(&|_, edges, _| {
        if let Some(last) = edges.last_mut() {
            last.neighbour = VertexId::new(Tag::Blank, u64::from(u32::MAX));
        }
    });
    assert!(!found.is_empty());
}
