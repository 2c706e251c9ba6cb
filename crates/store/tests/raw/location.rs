//! Lists read out of a segment's memory by a lookup, against the view of the same graph: in all forms of keys, offsets and
//! neighbours, in all scopes, in few reads. What is damaged, cut or forged is an error or other lists, and never a panic.

use super::graphs::{NAMED, OUT, edge, keys_of_all_kinds, of_all_kinds, written};
use super::reader::{DIRECTIONS, segments_of};
use super::stored;
use crate::common::{Numbers, Shape, TYPE, quads_of, vertex};
use proptest::prelude::*;
use rdf::{Direction, PredicateId, VertexId};
use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;
use store::delta::{KeyChanges, Layer};
use store::directory::open;
use store::format::PartKind;
use store::location::{
    COLUMNS, Copies, FoundLists, ListColumn, Located, LocatedSegment, Location, Lookup, Misplaced,
};
use store::testing::{IdQuad, snapshot_of, version_of};
use store::{GraphScope, GraphView, ListCursor, Lists, SegmentKey, Snapshot, ViewError};

const EVERYTHING: u64 = u64::MAX;

fn located(view: &impl GraphView, segment: SegmentKey) -> Box<LocatedSegment> {
    match view.located(segment, EVERYTHING).unwrap() {
        Located::Here(here) => here,
        _ => panic!("{segment:?} is nowhere"),
    }
}

/// The same lists as a view gives them.
fn listed(
    view: &impl GraphView,
    segment: SegmentKey,
    keys: &[VertexId],
    scope: GraphScope<'_>,
) -> FoundLists {
    let mut lists = Lists::new();
    let _ = view.lists(segment, keys, scope, &mut lists).unwrap();
    let (mut numbers, mut found) = (Vec::new(), FoundLists::default());
    let graphs = scope.binds_graph().then_some(&mut found.graphs);
    let mut cursor = ListCursor::default();
    let neighbours = &mut found.neighbours;
    let all = lists.expand(&mut cursor, usize::MAX, &mut numbers, neighbours, graphs);
    assert!(all.unwrap());
    let end_of = |list: usize| numbers.partition_point(|number| *number as usize <= list);
    found.ends = (0..keys.len()).map(end_of).collect();
    found
}

/// What a lookup read.
#[derive(Debug, Default, PartialEq, Eq)]
struct Read {
    /// Times that something had to be read before it could go on.
    journeys: usize,
    bytes: u64,
}

/// Drives a lookup over the columns, so many bytes and pieces at a time.
fn driven(
    columns: &[Option<Vec<u8>>; COLUMNS],
    mut lookup: Lookup,
    most: (u64, usize),
) -> Result<(FoundLists, Read), Misplaced> {
    let mut read = Read::default();
    while !lookup.is_done() {
        let wanted = lookup.wanted(most.0, most.1);
        assert!(!wanted.is_empty() && wanted.len() <= most.1);
        let mut bytes = Vec::new();
        for piece in wanted {
            let column = columns[piece.column as usize].as_ref();
            let range = piece.offset as usize..(piece.offset + piece.length) as usize;
            let piece = column.and_then(|column| column.get(range));
            // What a fabric says of a piece that does not lie in its region.
            bytes.extend_from_slice(piece.ok_or(Misplaced { what: "outside" })?);
        }
        assert!(bytes.len() as u64 <= most.0);
        read.journeys += 1;
        read.bytes += bytes.len() as u64;
        lookup.take(&bytes)?;
    }
    lookup.found().map(|found| (found, read))
}

fn columns_of(here: &LocatedSegment) -> [Option<Vec<u8>>; COLUMNS] {
    here.columns
        .each_ref()
        .map(|region| region.as_ref().map(|region| region.bytes().to_vec()))
}

/// Copies of the first so many columns.
fn copies_of(columns: &[Option<Vec<u8>>; COLUMNS], count: usize) -> Copies {
    let mut copies = Copies::default();
    for (copy, column) in copies.iter_mut().zip(columns).take(count) {
        *copy = column.as_deref().map(Arc::from);
    }
    copies
}

/// The lists of one segment, found in every way, against the view. Gives the most reads of a batch for no copy, one, two.
fn check_segment(
    view: &impl GraphView,
    segment: SegmentKey,
    keys: &[VertexId],
    graphs: &[VertexId],
) -> [usize; 3] {
    let here = located(view, segment);
    let location = Location::decode(&here.location.encode()).unwrap();
    assert_eq!(location, here.location);
    let (location, columns) = (Arc::new(location), columns_of(&here));
    for column in ListColumn::ALL {
        let bytes = columns[column as usize].as_ref().map_or(0, Vec::len);
        assert_eq!(location.column_bytes(column), bytes as u64);
    }
    let scopes = [
        GraphScope::Default,
        GraphScope::Union,
        GraphScope::EachNamed,
        GraphScope::Named(graphs.first().copied().unwrap_or(TYPE)),
        GraphScope::Merge(graphs),
        GraphScope::EachOf(graphs),
    ];
    let mut journeys = [0; 3];
    for scope in scopes {
        let expected = listed(view, segment, keys, scope);
        for (copied, most) in journeys.iter_mut().enumerate() {
            let lookup = |keys: &[VertexId]| {
                let copies = copies_of(&columns, copied);
                Lookup::new(Arc::clone(&location), copies, keys, scope).unwrap()
            };
            let (found, read) = driven(&columns, lookup(keys), (u64::MAX, usize::MAX)).unwrap();
            assert_eq!(found, expected, "{segment:?} {scope:?}");
            *most = read.journeys.max(*most);
            let (found, _) = driven(&columns, lookup(keys), (77, 3)).unwrap();
            assert_eq!(found, expected, "{segment:?} {scope:?} bit by bit");
        }
    }
    journeys
}

/// Keys of a segment and what lies beside them.
fn asked(view: &impl GraphView, segment: SegmentKey, numbers: &mut Numbers) -> Vec<VertexId> {
    let mut keys = Vec::new();
    let set = view.keys(segment).unwrap();
    set.decode(0, u64::MAX, &mut keys).unwrap();
    let around = keys.iter().flat_map(|key| {
        let around = [key.bits().wrapping_sub(1), key.bits().wrapping_add(1)];
        around.map(VertexId::from_bits)
    });
    let around: Vec<VertexId> = around.collect();
    keys.extend(around);
    keys.extend((0..50).map(|_| vertex(numbers, 2)));
    keys.extend([0, u64::MAX].map(VertexId::from_bits));
    if numbers.below(2) == 0 {
        keys.sort_unstable();
    }
    keys
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 32, ..ProptestConfig::default() })]

    #[test]
    fn a_lookup_finds_what_the_view_lists(
        seed: u64, quads in 0..1500u64, predicates in 1..6u64,
        graphs in 0..4u64, vertices in 0..3u64,
        hub in prop_oneof![2 => Just(0u64), 1 => 1000..3000u64],
    ) {
        let shape = Shape { seed, quads, predicates, graphs, vertices, hub };
        let snapshot = match seed % 2 {
            0 => snapshot_of(&quads_of(&shape), Some(TYPE)),
            _ => Snapshot::open(&open(&stored(&shape), Path::new("/s")).unwrap()).unwrap(),
        };
        let graphs = snapshot.named_graphs().unwrap();
        let mut numbers = Numbers::new(seed);
        for segment in segments_of(&snapshot).into_iter().take(6) {
            let keys = asked(&snapshot, segment, &mut numbers);
            let journeys = check_segment(&snapshot, segment, &keys, &graphs);
            assert!(journeys.iter().zip([3, 2, 1]).all(|(most, bound)| *most <= bound), "{journeys:?}");
        }
    }
}

/// How many reads follow one another is the layout's: index, offsets, rows, less what was copied and what there is not.
#[test]
fn reads_follow_one_another_as_the_layout_says() {
    let parts = of_all_kinds();
    let snapshot = Snapshot::open(&parts).unwrap();
    let keys: Vec<VertexId> = keys_of_all_kinds()
        .into_iter()
        .map(VertexId::from_bits)
        .collect();
    assert_eq!(check_segment(&snapshot, OUT, &keys, &[NAMED]), [3, 2, 1]);
    let functional: Vec<_> = (0..5000).map(|key| edge(7 + 3 * key, key % 19)).collect();
    let snapshot = Snapshot::open(&written(&functional, 5000)).unwrap();
    let keys: Vec<VertexId> = functional.iter().map(|edge| edge.key).collect();
    assert_eq!(check_segment(&snapshot, OUT, &keys, &[NAMED]), [2, 1, 1]);
    let here = located(&snapshot, OUT);
    let columns = columns_of(&here);
    let one = |copied: usize| {
        let copies = copies_of(&columns, copied);
        let location = Arc::new(here.location.clone());
        let lookup = Lookup::new(location, copies, &keys[9..10], GraphScope::Default).unwrap();
        driven(&columns, lookup, (u64::MAX, usize::MAX)).unwrap().1
    };
    let read = |journeys, bytes| Read { journeys, bytes };
    assert_eq!(one(0), read(2, 64 + 4), "a rank block and a row");
    assert_eq!(one(1), read(1, 4), "a row");
}

#[test]
fn a_predicate_without_edges_is_read_nowhere() {
    let snapshot = Snapshot::open(&of_all_kinds()).unwrap();
    let segment = SegmentKey {
        predicate: PredicateId(99),
        ..OUT
    };
    let here = located(&snapshot, segment);
    let keys = [VertexId::from_bits(7), VertexId::from_bits(8)];
    let location = Arc::new(Location::decode(&here.location.encode()).unwrap());
    let lookup = Lookup::new(location, Copies::default(), &keys, GraphScope::Union).unwrap();
    let (found, read) = driven(&columns_of(&here), lookup, (1, 1)).unwrap();
    assert_eq!((found.ends, read), (vec![0, 0], Read::default()));
    let signatures = SegmentKey {
        predicate: PredicateId::SIGNATURE,
        ..OUT
    };
    assert!(matches!(
        snapshot.located(signatures, EVERYTHING),
        Ok(Located::Nowhere)
    ));
}

/// Keys that layers may hold are named, and the lists of all others are those of the base.
#[test]
fn layers_name_the_keys_that_they_may_hold() {
    for seed in 0..12 {
        let shape = Shape {
            seed,
            quads: 900,
            predicates: 3,
            graphs: 2,
            vertices: 0,
            hub: 0,
        };
        let all = quads_of(&shape);
        let (first, later) = all.split_at(600);
        let base = Arc::new(snapshot_of(first, Some(TYPE)));
        let known: BTreeSet<_> = first.iter().collect();
        let few = |quads: &[IdQuad]| -> Vec<IdQuad> {
            let few = quads.iter().filter(|quad| quad.0.payload() < 60);
            let few: BTreeSet<_> = few.copied().collect();
            few.into_iter().collect()
        };
        let adds: Vec<_> = few(later)
            .into_iter()
            .filter(|quad| !known.contains(quad))
            .collect();
        let dels = few(&first[..300]);
        let layer = Layer::of(&adds, &dels, KeyChanges::default(), Some(TYPE), 1..=1);
        let version = version_of(&base, &[Arc::new(layer)], Some(TYPE));
        let mut numbers = Numbers::new(seed);
        let (mut changed, mut kept) = (0, 0);
        let graphs = base.named_graphs().unwrap();
        for segment in segments_of(&base) {
            let here = located(&version, segment);
            let location = Location::decode(&here.location.encode()).unwrap();
            assert_eq!(location, here.location);
            let mut keys = asked(&*base, segment, &mut numbers);
            let before = keys.len();
            for quad in adds.iter().chain(&dels) {
                let number = version.predicate_id(quad.1);
                let key = match segment.direction {
                    Direction::Out => quad.0,
                    Direction::In => quad.2,
                };
                assert!(number != Some(segment.predicate) || location.may_be_changed(key));
            }
            keys.retain(|key| !location.may_be_changed(*key));
            changed += before - keys.len();
            kept += keys.len();
            check_segment(&version, segment, &keys, &graphs);
        }
        assert!(changed > 0 && kept > 0, "{changed} {kept}");
    }
}

/// Blocks are verified before their memory is given: some at a time, and one that is damaged is named.
#[test]
fn memory_is_given_once_it_was_verified() {
    let shape = Shape {
        seed: 3,
        quads: 60_000,
        predicates: 1,
        graphs: 0,
        vertices: 1,
        hub: 60_000,
    };
    let disk = stored(&shape);
    let opened = open(&disk, Path::new("/s")).unwrap();
    let snapshot = Snapshot::open(&opened).unwrap();
    let segment = SegmentKey {
        predicate: PredicateId::TYPE,
        direction: DIRECTIONS[0],
    };
    let mut steps = 0;
    let here = loop {
        match snapshot.located(segment, 1).unwrap() {
            Located::Here(here) => break here,
            Located::Later => steps += 1,
            Located::Nowhere => panic!("it is somewhere"),
        }
    };
    assert!(steps > 2, "{steps}");
    assert!(
        here.columns
            .iter()
            .flatten()
            .all(|region| !region.is_empty())
    );
    let name = PartKind::Neighbours.file_name(Some(segment.direction));
    let path = opened.directory().join(name);
    assert!(disk.damage(&path, 70_000, 0x10));
    let snapshot = Snapshot::open(&open(&disk, Path::new("/s")).unwrap()).unwrap();
    let file = name.to_owned();
    let named = ViewError::Damaged { file, block: 1 };
    let given = snapshot.located(segment, EVERYTHING);
    assert_eq!(given.err(), Some(named));
}

/// Whatever stands in a location or in a column, a lookup ends, in bounds, with lists or an error.
#[test]
fn forged_bytes_are_an_error_or_other_lists() {
    let parts = of_all_kinds();
    let snapshot = Snapshot::open(&parts).unwrap();
    let here = located(&snapshot, OUT);
    let (location, columns) = (here.location.encode(), columns_of(&here));
    let keys: Vec<VertexId> = keys_of_all_kinds()
        .into_iter()
        .step_by(97)
        .map(VertexId::from_bits)
        .collect();
    for length in 0..location.len() {
        assert!(
            Location::decode(&location[..length]).is_err(),
            "{length} bytes of it"
        );
    }
    let mut numbers = Numbers::new(11);
    let (mut refused, mut failed, mut found) = (0, 0, 0);
    for _ in 0..4000 {
        let (mut location, mut columns) = (location.clone(), columns.clone());
        let forge = |bytes: &mut Vec<u8>, numbers: &mut Numbers| {
            let at = numbers.below(bytes.len() as u64) as usize;
            let by =
                [1 << numbers.below(8), 0xff, numbers.below(256) as u8][numbers.below(3) as usize];
            bytes[at] ^= by;
        };
        match numbers.below(6) {
            0..=2 => forge(&mut location, &mut numbers),
            3 => forge(columns[0].as_mut().unwrap(), &mut numbers),
            4 => forge(columns[1].as_mut().unwrap(), &mut numbers),
            _ => {
                let column = columns[numbers.below(4) as usize].as_mut().unwrap();
                column.truncate(numbers.below(column.len() as u64) as usize);
            }
        }
        let Ok(location) = Location::decode(&location) else {
            refused += 1;
            continue;
        };
        let scope = [GraphScope::Union, GraphScope::EachNamed][numbers.below(2) as usize];
        let copies = copies_of(&columns, numbers.below(3) as usize);
        let lookup = Lookup::new(Arc::new(location), copies, &keys, scope);
        match lookup.and_then(|lookup| driven(&columns, lookup, (1 << 20, 1 << 16))) {
            Ok((lists, _)) => {
                assert!(lists.ends.is_sorted() && lists.ends.len() == keys.len());
                assert_eq!(lists.ends.last(), Some(&lists.neighbours.len()));
                found += 1;
            }
            Err(_) => failed += 1,
        }
    }
    assert!(
        refused > 100 && failed > 100 && found > 100,
        "{refused} {failed} {found}"
    );
}
