//! Measures changes: `change [ENTITIES]` (default 625,000, of eight quads each, in memory).
//!
//! Prints, for changes of several sizes: nanoseconds a quad to find what has an effect and to build
//! the layer, and bytes a quad of the layer; then the rates of merges and of a checkpoint. Each
//! figure is the least of some runs on one thread.

use rdf::{Tag, VertexId};
use std::hint::black_box;
use std::sync::Arc;
use std::time::{Duration, Instant};
use store::delta::{Change, IdQuad, Layer, Version, merge, write_base};
use store::parts::MemoryParts;
use store::testing::{snapshot_of, version_of};
use store::{GraphScope, Snapshot};

/// Quads of an entity.
const QUADS: u64 = 8;
const TYPE: VertexId = VertexId::from_bits(5);

/// A graph like the ones that LUBM makes.
fn entity(number: u64) -> [IdQuad; QUADS as usize] {
    let iri = |ordinal| VertexId::new(Tag::Iri, ordinal);
    let literal = |ordinal| VertexId::new(Tag::Literal, ordinal);
    let subject = iri(1000 + number * 2);
    let some = |salt: u64| (number / 100 * 100 + (number * 31 + salt) % 100) * 2 + 1001;
    let to = |predicate, object| (subject, iri(predicate), object, GraphScope::DEFAULT_GRAPH);
    [
        to(5, iri(20 + number % 7)),
        to(6, literal(number % 5000)),
        to(7, iri(500 + number / 1000)),
        to(8, iri(some(1))),
        to(8, iri(some(2))),
        to(9, iri(some(3) - 1)),
        to(10, literal(5000 + number)),
        to(11, literal(100_000_000 + number)),
    ]
}

fn new_quads(from: u64, count: u64) -> Vec<IdQuad> {
    (from..).flat_map(entity).take(count as usize).collect()
}

/// Quads between entities that are there, scattered.
fn scattered(entities: u64, salt: u64, count: u64) -> Vec<IdQuad> {
    let at = |number: u64| {
        let hash = (number + salt)
            .wrapping_mul(0x9e37_79b9_7f4a_7c15)
            .rotate_left(23);
        VertexId::new(Tag::Iri, 1000 + hash % entities * 2)
    };
    let predicate = |number| VertexId::new(Tag::Iri, 8 + number % 2);
    (0..count)
        .map(|n| {
            (
                at(2 * n),
                predicate(n),
                at(2 * n + 1),
                GraphScope::DEFAULT_GRAPH,
            )
        })
        .collect()
}

/// Quads that are there, scattered.
fn present(entities: u64, count: u64) -> Vec<IdQuad> {
    let hash = |number: u64| number.wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(29);
    (0..count)
        .map(|number| entity(hash(number) % entities)[(number % QUADS) as usize])
        .collect()
}

fn least<T>(runs: u32, mut run: impl FnMut() -> T) -> (Duration, T) {
    (0..runs)
        .map(|_| {
            let start = Instant::now();
            let made = black_box(run());
            (start.elapsed(), made)
        })
        .min_by_key(|run| run.0)
        .expect("at least one run")
}

fn per(time: Duration, count: u64) -> f64 {
    time.as_nanos() as f64 / count.max(1) as f64
}

fn build(version: &Version, change: &Change, number: u64) -> Layer {
    let effect = change.effect(version).expect("an undamaged base");
    Layer::build(version, &effect, Some(TYPE), number..=number).expect("memory")
}

fn measure(what: &str, version: &Version, change: &Change) {
    let count = (change.inserts.len() + change.deletes.len()) as u64;
    let runs = (2_000_000 / count).clamp(3, 2000) as u32;
    let (looked, effect) = least(runs, || change.effect(version).expect("an undamaged base"));
    let (built, layer) = least(runs, || {
        Layer::build(version, &effect, Some(TYPE), 1..=1).expect("memory")
    });
    println!(
        "{what:>10} {count:>8}: effect {:>7.0} ns, layer {:>7.0} ns a quad; {:>9.1} us together; {:>7.1} bytes a quad",
        per(looked, count),
        per(built, count),
        (looked + built).as_nanos() as f64 / 1000.0,
        layer.bytes() as f64 / layer.quads().max(1) as f64,
    );
}

fn merges(base: &Arc<Snapshot>, entities: u64, layers: u64, quads: u64) {
    let count = layers;
    let mut layers: Vec<Arc<Layer>> = Vec::new();
    for number in 0..count {
        let mut inserts = new_quads(entities + number * quads, quads / 2);
        inserts.extend(scattered(entities, number * quads, quads - quads / 2));
        let change = Change {
            inserts,
            ..Change::default()
        };
        let version = version_of(base, &layers, Some(TYPE));
        layers.push(Arc::new(build(&version, &change, number)));
    }
    let total: u64 = layers.iter().map(|layer| layer.quads()).sum();
    let runs = (2_000_000 / total).clamp(3, 2000) as u32;
    let (time, _) = least(runs, || merge(&layers, &|| false).expect("memory"));
    println!(
        "merge {:>2} x {quads:>7}: {:>6.0} ns a quad, both directions; {:>9.1} us",
        layers.len(),
        per(time, total),
        time.as_nanos() as f64 / 1000.0
    );
}

fn main() {
    let entities: u64 = std::env::args()
        .nth(1)
        .map_or(625_000, |count| count.parse().expect("a number"));
    let quads = new_quads(0, entities * QUADS);
    let start = Instant::now();
    let base = Arc::new(snapshot_of(&quads, Some(TYPE)));
    drop(quads);
    println!(
        "base of {} quads in {:?}",
        entities * QUADS,
        start.elapsed()
    );
    let version = version_of(&base, &[], Some(TYPE));
    for count in [1, 10, 1000, 10_000, 1_000_000] {
        let inserts = new_quads(entities, count);
        measure(
            "new",
            &version,
            &Change {
                inserts,
                ..Change::default()
            },
        );
        let inserts = scattered(entities, 0, count);
        measure(
            "scattered",
            &version,
            &Change {
                inserts,
                ..Change::default()
            },
        );
        let deletes = present(entities, count);
        measure(
            "deletes",
            &version,
            &Change {
                deletes,
                ..Change::default()
            },
        );
    }
    for (layers, quads) in [
        (5, 1),
        (5, 10),
        (4, 1000),
        (4, 10_000),
        (16, 10_000),
        (4, 250_000),
    ] {
        merges(&base, entities, layers, quads);
    }
    let change = Change {
        deletes: present(entities, 100_000),
        inserts: scattered(entities, 7, 400_000),
    };
    let layer = Arc::new(build(&version, &change, 1));
    for layers in [vec![], vec![layer]] {
        let version = version_of(&base, &layers, Some(TYPE));
        let (time, rows) = least(2, || {
            let files = MemoryParts::new();
            let written = write_base(&version, base.prefixes(), &files, &|| false);
            written.expect("memory").rows
        });
        println!(
            "checkpoint with {} layers: {rows} quads, {:.0} ns a quad, both directions",
            layers.len(),
            per(time, rows)
        );
    }
}
