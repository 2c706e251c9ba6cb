//! Raw images against the views of the same graph and a naive model: all forms of keys, offsets and neighbours. What is
//! damaged or forged is an error, or an image that a reader without a check of bounds walks to its end.

#![allow(clippy::unwrap_used)] // a test's helpers may fail as a test does

mod forged;
mod graphs;
mod location;
mod overlay;
mod reader;

use crate::common;

use common::{Model, Numbers, Shape, TYPE, quads_of, vertex};
use graphs::{edge, keys_of_all_kinds, of_all_kinds, written};
use proptest::prelude::*;
use rdf::{Direction, PredicateId, Tag, VertexId};
use reader::{DIRECTIONS, keys_of, rows, segments_of, walk};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;
use store::delta::{KeyChanges, Layer};
use store::directory::{begin, open};
use store::disk::{SimDisk, SimFaults};
use store::format::{ChunkKind, PartKind};
use store::parts::PartSource;
use store::raw::{RawNeighbours, RawNumbers, RawSegment};
use store::testing::{snapshot_of, version_of, write_parts};
use store::{Edge, GraphScope, GraphView, ListCursor, Lists, SegmentKey, Snapshot, ViewError};

/// The distinct neighbours of each key, as the view gives them.
fn lists_of(snapshot: &Snapshot, segment: SegmentKey, keys: &[VertexId]) -> Vec<Vec<u64>> {
    let mut lists = Lists::new();
    let scope = GraphScope::Union;
    let _ = snapshot.lists(segment, keys, scope, &mut lists).unwrap();
    let (mut numbers, mut neighbours) = (Vec::new(), Vec::new());
    let mut cursor = ListCursor::default();
    let all = lists.expand(&mut cursor, usize::MAX, &mut numbers, &mut neighbours, None);
    assert!(all.unwrap());
    let mut found = vec![Vec::new(); keys.len()];
    for (&number, neighbour) in numbers.iter().zip(&neighbours) {
        found[number as usize].push(neighbour.bits());
    }
    found
}

/// The image of one segment against the view.
fn check_segment(snapshot: &Snapshot, segment: SegmentKey, numbers: &mut Numbers) {
    let image = snapshot.raw_segment(segment).unwrap().unwrap();
    let mut keys = Vec::new();
    let set = snapshot.keys(segment).unwrap();
    set.decode(0, u64::MAX, &mut keys).unwrap();
    let bits: Vec<u64> = keys.iter().map(|key| key.bits()).collect();
    assert_eq!(keys_of(&image.index), bits);
    let mut asked = keys.clone();
    asked.extend(keys.iter().flat_map(|key| {
        let around = [key.bits().wrapping_sub(1), key.bits() + 1];
        around.map(VertexId::from_bits)
    }));
    asked.extend((0..200).map(|_| vertex(numbers, 2)));
    asked.extend([0, u64::MAX].map(VertexId::from_bits));
    let wanted = lists_of(snapshot, segment, &asked);
    let mut longest = 0;
    for (key, wanted) in asked.iter().zip(&wanted) {
        let found = rows(&image, key.bits());
        longest = longest.max(found.len() as u64);
        let mut found: Vec<u64> = found.into_iter().map(|row| row.0).collect();
        found.dedup();
        assert_eq!(&found, wanted);
    }
    assert_eq!(image.key_rows_max, longest);
    for list in &image.dense {
        assert_eq!(keys_of(&list.members), wanted[list.ordinal as usize]);
    }
}

/// The rows of one segment, with their graphs, against the model.
fn check_graphs(snapshot: &Snapshot, segment: SegmentKey, model: &Model) {
    let image = snapshot.raw_segment(segment).unwrap().unwrap();
    let graphs = snapshot.named_graphs().unwrap();
    let predicate = snapshot.predicate_vertex(segment.predicate);
    let lists = &model.segments[&(predicate, segment.direction)];
    let mut count = 0;
    for (key, list) in lists {
        let found = rows(&image, key.bits());
        count += found.len() as u64;
        let found = found.into_iter().map(|(neighbour, code)| {
            let graph = graphs.get(code as usize).copied();
            (neighbour, graph.unwrap_or(GraphScope::DEFAULT_GRAPH))
        });
        let wanted = list
            .iter()
            .flat_map(|(neighbour, graphs)| graphs.iter().map(|&graph| (neighbour.bits(), graph)));
        assert!(found.eq(wanted), "the rows of {key:?}");
    }
    assert_eq!(image.rows, count);
}

/// Vertices of a direction; those of one set have the same predicates.
fn check_signatures(snapshot: &Snapshot, direction: Direction) {
    let mut vertices = Vec::new();
    let set = snapshot.vertices(direction).unwrap();
    set.decode(0, u64::MAX, &mut vertices).unwrap();
    let Some(image) = snapshot.raw_signatures(direction).unwrap() else {
        assert!(vertices.is_empty());
        return;
    };
    let bits: Vec<u64> = vertices.iter().map(|vertex| vertex.bits()).collect();
    assert_eq!(keys_of(&image.index), bits);
    let (mut predicates, mut ends) = (Vec::new(), Vec::new());
    let all = snapshot.predicates_of(direction, &vertices, &mut predicates, &mut ends);
    let _ = all.unwrap();
    let mut by_set: BTreeMap<u64, &[PredicateId]> = BTreeMap::new();
    let mut start = 0;
    for (ordinal, &end) in (0..).zip(&ends) {
        let own = &predicates[start..end as usize];
        let set = image.sets.get(ordinal).unwrap();
        assert_eq!(*by_set.entry(set).or_insert(own), own);
        start = end as usize;
    }
    assert_eq!(image.sets.get(vertices.len() as u64), None);
    assert_eq!(by_set.len() as u64, image.sets_count);
    assert_eq!(
        image.sets.bytes().len(),
        vertices.len() * image.sets.width_bytes()
    );
}

fn check(shape: &Shape) {
    let quads = quads_of(shape);
    // Every other graph lies on a disk, so that its blocks are verified as they are touched.
    let snapshot = match shape.seed % 2 {
        0 => snapshot_of(&quads, Some(TYPE)),
        _ => Snapshot::open(&open(&stored(shape), Path::new("/s")).unwrap()).unwrap(),
    };
    let model = Model::of(&quads);
    let mut numbers = Numbers::new(shape.seed);
    for segment in segments_of(&snapshot).into_iter().take(24) {
        check_segment(&snapshot, segment, &mut numbers);
        check_graphs(&snapshot, segment, &model);
    }
    for direction in DIRECTIONS {
        check_signatures(&snapshot, direction);
        for predicate in [PredicateId::SIGNATURE, PredicateId(1 << 20)] {
            let nothing = SegmentKey {
                predicate,
                direction,
            };
            assert!(snapshot.raw_segment(nothing).unwrap().is_none());
        }
    }
}

fn stored(shape: &Shape) -> SimDisk {
    let disk = SimDisk::new(1, Path::new("/"), SimFaults::default());
    let generation = begin(&disk, Path::new("/s")).unwrap();
    write_parts(&generation, &quads_of(shape), Some(TYPE)).unwrap();
    generation.commit(BTreeMap::new()).unwrap();
    disk
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]

    #[test]
    fn an_image_reads_as_the_view_does(
        seed: u64, quads in 0..2500u64, predicates in prop_oneof![1..6u64, 30..400u64],
        graphs in 0..4u64, vertices in 0..3u64,
        hub in prop_oneof![2 => Just(0u64), 1 => 1000..6000u64],
    ) {
        check(&Shape { seed, quads, predicates, graphs, vertices, hub });
    }
}

/// Which forms the image of a segment takes.
fn note_forms(image: &RawSegment<'_>, forms: &mut BTreeSet<String>) {
    let mut note = |form: &str| forms.insert(form.to_owned());
    let indexes = image.dense.iter().map(|list| &list.members);
    for index in indexes.chain([&image.index]) {
        for chunk in &index.chunks {
            note(&format!("{:?}", chunk.kind()));
        }
        if !index.jump.is_empty() {
            note("jump table");
        }
    }
    note(match image.offsets {
        None => "functional",
        Some(RawNumbers::U8(_)) => "offsets 1",
        Some(RawNumbers::U16(_)) => "offsets 2",
        Some(RawNumbers::U32(_)) => "offsets 4",
        Some(RawNumbers::U64(_)) => "offsets 8",
    });
    note(match image.neighbours {
        RawNeighbours::Ids(_) => "ids",
        RawNeighbours::Codes { plane_bits: 0, .. } => "one plane",
        RawNeighbours::Codes { .. } => "planes",
    });
    if image.graphs.is_some() {
        note("graphs");
    }
    if !image.dense.is_empty() {
        note("dense list");
    }
}

#[test]
fn images_take_every_form() {
    let all = keys_of_all_kinds();
    let doubles = VertexId::new(Tag::Double, 0).bits();
    let mut graphs = vec![of_all_kinds()];
    for rows_max in [255, 256, 1 << 16, 1 << 32] {
        let edges: Vec<Edge> = (0..200).map(|row| edge(row / 2 + 5, row + 10)).collect();
        graphs.push(written(&edges, rows_max));
    }
    let functional: Vec<Edge> = all.iter().map(|&key| edge(key, key % 100)).collect();
    graphs.push(written(&functional, 1 << 20));
    let wide: Vec<Edge> = all
        .iter()
        .map(|&key| edge(key, doubles + (key << 40 >> 4)))
        .collect();
    graphs.push(written(&wide, 1 << 20));
    let thin: Vec<Edge> = (0..4000).map(|id| edge(id * 1013, id % 3)).collect();
    graphs.push(written(&thin, 1 << 20));
    let mut forms = BTreeSet::new();
    let mut numbers = Numbers::new(5);
    for parts in &graphs {
        let snapshot = Snapshot::open(parts).unwrap();
        for segment in segments_of(&snapshot) {
            check_segment(&snapshot, segment, &mut numbers);
            note_forms(&snapshot.raw_segment(segment).unwrap().unwrap(), &mut forms);
        }
        for direction in DIRECTIONS {
            check_signatures(&snapshot, direction);
        }
    }
    let wanted = "Dense Far Near Sparse|dense list|functional|graphs|ids|jump table|offsets 1|\
                  offsets 2|offsets 4|offsets 8|one plane|planes";
    let found: Vec<String> = forms.into_iter().collect();
    assert_eq!(found.join("|").replacen('|', " ", 3), wanted);
}

/// Rank blocks keep their place within a line.
#[test]
fn data_begin_at_lines() {
    let parts = of_all_kinds();
    let snapshot = Snapshot::open(&parts).unwrap();
    for segment in segments_of(&snapshot) {
        let image = snapshot.raw_segment(segment).unwrap().unwrap();
        let lists = image.dense.iter().map(|list| &list.members);
        for index in lists.chain([&image.index]) {
            assert!(index.data.as_ptr().addr().is_multiple_of(64));
            assert!(index.data.len().is_multiple_of(8) && index.chunks[0].at() < 64);
            let dense = |chunk: &&store::raw::RawIndexChunk| chunk.kind() == ChunkKind::Dense;
            let mut dense = index.chunks.iter().filter(dense);
            assert!(dense.all(|chunk| chunk.at().is_multiple_of(64)));
        }
    }
}

/// Nothing of a damaged block is in an image, and the error names the block as the other readers' do.
#[test]
fn a_damaged_block_is_named() {
    let shape = Shape {
        seed: 3,
        quads: 60_000,
        predicates: 4,
        graphs: 2,
        vertices: 1,
        hub: 2000,
    };
    let disk = stored(&shape);
    let reopened = || Snapshot::open(&open(&disk, Path::new("/s")).unwrap());
    let whole = walk(&reopened().unwrap());
    assert!(whole.iter().all(Result::is_ok));
    let opened = open(&disk, Path::new("/s")).unwrap();
    let kinds = [
        PartKind::Segments,
        PartKind::Keys,
        PartKind::Offsets,
        PartKind::Neighbours,
        PartKind::EdgeGraphs,
        PartKind::Lists,
        PartKind::Sets,
    ];
    let mut numbers = Numbers::new(6);
    for (kind, direction) in kinds
        .iter()
        .flat_map(|kind| DIRECTIONS.map(|side| (kind, side)))
    {
        let name = kind.file_name(Some(direction));
        let length = opened.part(name).unwrap().len();
        for block in 0..length.div_ceil(65_536) {
            let first = block * 65_536;
            let place = first + numbers.below((length - first).min(65_536));
            let path = opened.directory().join(name);
            assert!(disk.damage(&path, place as usize, 0x10));
            let named = ViewError::Damaged {
                file: name.to_owned(),
                block,
            };
            match reopened() {
                Err(error) => assert_eq!(error.to_string(), named.to_string()),
                Ok(snapshot) => {
                    let found = walk(&snapshot);
                    assert!(
                        found.contains(&Err(named.clone())),
                        "{named} of {length} bytes"
                    );
                    for (found, whole) in found.iter().zip(&whole) {
                        assert!(found == whole || *found == Err(named.clone()));
                    }
                }
            }
            assert!(disk.damage(&path, place as usize, 0x10));
        }
    }
}

/// A version's image is its base's where no layer has the segment.
#[test]
fn layers_are_told_of() {
    let iri = |ordinal| VertexId::new(Tag::Iri, ordinal);
    let quad = |subject, predicate, object| {
        (
            iri(subject),
            iri(predicate),
            iri(object),
            GraphScope::DEFAULT_GRAPH,
        )
    };
    let base = Arc::new(snapshot_of(
        &[
            quad(50, 30, 60),
            quad(51, 31, 60),
            quad(52, 32, 60),
            quad(53, 32, 60),
        ],
        Some(TYPE),
    ));
    let segment = |version: &store::delta::Version, predicate, direction| SegmentKey {
        predicate: version.predicate_id(iri(predicate)).unwrap(),
        direction,
    };
    let alone = version_of(&base, &[], Some(TYPE));
    let (adds, dels) = ([quad(50, 30, 61), quad(50, 33, 61)], [quad(52, 32, 60)]);
    let layer = Layer::of(&adds, &dels, KeyChanges::default(), Some(TYPE), 1..=1);
    let layered = version_of(&base, &[Arc::new(layer)], Some(TYPE));
    for direction in DIRECTIONS {
        for (predicate, is_base_alone) in [(30, false), (31, true), (32, false)] {
            let named = segment(&layered, predicate, direction);
            assert_eq!(named, segment(&alone, predicate, direction));
            assert!(alone.is_base_alone(named));
            assert_eq!(layered.is_base_alone(named), is_base_alone);
            assert!(layered.base().raw_segment(named).unwrap().is_some());
        }
        let brought = segment(&layered, 33, direction);
        assert!(!layered.is_base_alone(brought));
        assert!(layered.base().raw_segment(brought).unwrap().is_none());
        let signatures = SegmentKey {
            predicate: PredicateId::SIGNATURE,
            direction,
        };
        assert!(alone.is_base_alone(signatures) && !layered.is_base_alone(signatures));
    }
}
