//! Overlays against sets: what came and what went of each segment, whatever layers have made it of.

#![allow(clippy::unwrap_used)] // a test's helpers may fail as a test does

use crate::common;

use common::{TYPE, key_of};
use rdf::{Direction, Tag, VertexId};
use std::collections::BTreeSet;
use std::sync::Arc;
use store::delta::{KeyChanges, Layer, OverlayEdges, Version, merge};
use store::raw::{RawNeighbours, RawSegment};
use store::testing::{IdQuad, snapshot_of, version_of};
use store::{GraphScope, GraphView, SegmentKey};
use testkit::random::Random;
use testkit::seeds;

/// Edges of a segment.
type Edges = BTreeSet<(VertexId, VertexId)>;

fn iri(number: u64) -> VertexId {
    VertexId::new(Tag::Iri, number)
}

const PREDICATES: [VertexId; 3] = [
    TYPE,
    VertexId::from_bits(1 << 20),
    VertexId::from_bits(2 << 20),
];

fn random_quad(random: &mut Random) -> IdQuad {
    let spread = *random.pick(&[1, 1000, 1 << 34]);
    let mut end = || iri(1 + random.bits() % 12 * spread);
    let (subject, object) = (end(), end());
    let predicate = *random.pick(&PREDICATES);
    (subject, predicate, object, GraphScope::DEFAULT_GRAPH)
}

/// A version, its base's quads and its own.
fn history(random: &mut Random) -> (Version, BTreeSet<IdQuad>, BTreeSet<IdQuad>) {
    let base: BTreeSet<IdQuad> = PREDICATES
        .iter()
        .map(|&predicate| (iri(5), predicate, iri(6), GraphScope::DEFAULT_GRAPH))
        .chain((0..random.between(1, 60)).map(|_| random_quad(random)))
        .collect();
    let mut now = base.clone();
    let mut layers: Vec<Arc<Layer>> = Vec::new();
    for commit in 1..=random.between(1, 6) as u64 {
        let before = now.clone();
        for _ in 0..random.between(1, 20) {
            let quad = random_quad(random);
            if !now.remove(&quad) {
                now.insert(quad);
            }
            if random.chance(40) {
                let quads: Vec<IdQuad> = now.iter().copied().collect();
                quads.first().map(|quad| now.remove(quad));
            }
        }
        let adds: Vec<IdQuad> = now.difference(&before).copied().collect();
        let dels: Vec<IdQuad> = before.difference(&now).copied().collect();
        // Whether a key is there is not asked of the version.
        let layer = Layer::of(
            &adds,
            &dels,
            KeyChanges::default(),
            Some(TYPE),
            commit..=commit,
        );
        layers.push(Arc::new(layer));
        if layers.len() > 1 && random.chance(30) {
            let last = layers.split_off(layers.len() - 2);
            layers.push(Arc::new(merge(&last, &|| false).unwrap()));
        }
    }
    let quads: Vec<IdQuad> = base.iter().copied().collect();
    let snapshot = Arc::new(snapshot_of(&quads, Some(TYPE)));
    (version_of(&snapshot, &layers, Some(TYPE)), base, now)
}

fn edges_of(quads: &BTreeSet<IdQuad>, predicate: VertexId, direction: Direction) -> Edges {
    let quads = quads.iter().filter(|quad| quad.1 == predicate);
    let edge = |quad: &IdQuad| match direction {
        Direction::Out => (quad.0, quad.2),
        Direction::In => (quad.2, quad.0),
    };
    quads.map(edge).collect()
}

/// The edges of an image, as whoever copies it reads them.
fn edges_of_image(raw: &RawSegment<'_>) -> Edges {
    let keys: Vec<u64> = words_of(raw.index.data);
    assert_eq!(keys.len() as u64, raw.index.keys);
    let chunk = raw.index.chunks[0];
    assert_eq!((chunk.first, chunk.last), (keys[0], keys[keys.len() - 1]));
    let RawNeighbours::Ids(ids) = raw.neighbours else {
        panic!("ids of 8 bytes");
    };
    assert_eq!(ids.len() as u64, raw.rows);
    let mut edges = Edges::new();
    let mut longest = 0;
    for (ordinal, key) in (0..).zip(keys) {
        let rows = raw
            .offsets
            .as_ref()
            .map_or(ordinal..ordinal + 1, |offsets| {
                offsets.get(ordinal).unwrap()..offsets.get(ordinal + 1).unwrap()
            });
        longest = longest.max(rows.end - rows.start);
        for row in rows {
            edges.insert((
                VertexId::from_bits(key),
                VertexId::from_bits(ids[row as usize]),
            ));
        }
    }
    assert_eq!((edges.len() as u64, longest), (raw.rows, raw.key_rows_max));
    edges
}

fn words_of(bytes: &[u8]) -> Vec<u64> {
    let words = bytes.as_chunks::<8>().0.iter();
    words.map(|word| u64::from_ne_bytes(*word)).collect()
}

fn check(found: &OverlayEdges, expected: &Edges) {
    let image = found.raw();
    assert_eq!(image.is_none(), expected.is_empty());
    assert_eq!(found.is_empty(), expected.is_empty());
    assert_eq!(
        &image.as_ref().map(edges_of_image).unwrap_or_default(),
        expected
    );
    for &(key, _) in expected {
        let own = expected.iter().filter(|edge| edge.0 == key);
        let own: Vec<VertexId> = own.map(|edge| edge.1).collect();
        let rows = found.rows_of(key);
        let rows = rows.start as usize..rows.end as usize;
        let found: Vec<VertexId> = found.neighbours().collect();
        assert_eq!(found[rows], own);
    }
    assert!(found.rows_of(iri(99)).is_empty());
}

fn keys(edges: &Edges) -> BTreeSet<VertexId> {
    edges.iter().map(|edge| edge.0).collect()
}

fn to_itself(keys: &BTreeSet<VertexId>, but: &BTreeSet<VertexId>) -> Edges {
    keys.difference(but).map(|key| (*key, *key)).collect()
}

#[test]
fn overlays_are_what_came_and_what_went() {
    let mut changed = 0;
    for seed in seeds::chosen(300, 20_000) {
        let mut random = Random::new(seed);
        let (version, base, now) = history(&mut random);
        for predicate in PREDICATES {
            for direction in [Direction::Out, Direction::In] {
                let segment: SegmentKey = key_of(&**version.base(), predicate, direction);
                let [before, after] = [&base, &now].map(|it| edges_of(it, predicate, direction));
                let overlay = version.overlay(segment).unwrap();
                let came: Edges = after.difference(&before).copied().collect();
                let went: Edges = before.difference(&after).copied().collect();
                check(overlay.came(), &came);
                check(overlay.went(), &went);
                let rows = overlay.came().rows() + overlay.went().rows();
                assert!(rows <= version.overlay_rows_max(segment).unwrap());
                let found = version.overlay_keys(&overlay).unwrap();
                check(&found.came, &to_itself(&keys(&after), &keys(&before)));
                check(&found.went, &to_itself(&keys(&before), &keys(&after)));
                assert!(!overlay.has_graphs() && overlay.is_of(&version));
                let is_changed = !version.is_base_alone(segment);
                changed += usize::from(is_changed);
                let alone = Version::new(Arc::clone(version.base()), 0, Some(TYPE));
                assert_eq!(overlay.is_of(&alone), !is_changed, "other layers have it");
            }
        }
    }
    assert!(changed > 0, "layers change segments");
}

#[test]
fn an_overlay_tells_of_named_graphs() {
    let quad = |graph| (iri(1), PREDICATES[1], iri(2), graph);
    let base = Arc::new(snapshot_of(&[quad(GraphScope::DEFAULT_GRAPH)], Some(TYPE)));
    let layer = Layer::of(
        &[quad(iri(7))],
        &[],
        KeyChanges::default(),
        Some(TYPE),
        1..=1,
    );
    let version = version_of(&base, &[Arc::new(layer)], Some(TYPE));
    let segment = key_of(&version, PREDICATES[1], Direction::Out);
    assert!(version.overlay(segment).unwrap().has_graphs());
    assert!(version.predicate_id(PREDICATES[1]).is_some());
}
