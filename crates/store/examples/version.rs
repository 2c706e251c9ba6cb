//! Measures what layers cost a reader: `version [KEYS]`.
//!
//! The same graph, one edge in two directions and a class of all its vertices, as a bare snapshot,
//! as a version without layers, as one layer over nothing, and as a base with a layer of 1 % and of
//! 10 % of its edges, half of them new keys, with a tenth as many taken away. Per graph:
//! nanoseconds a key to look up and expand random keys in batches of 1,024, microseconds to open
//! the keys (for the first time, then again) and the members of the class, nanoseconds a member to
//! read them and to ask for one. The first two are of the median batch, the others the least of
//! nine runs, on one thread.

use rdf::{Direction, Tag, VertexId};
use std::hint::black_box;
use std::sync::Arc;
use std::time::Instant;
use store::delta::{Change, Layer, Version};
use store::testing::{IdQuad, snapshot_of};
use store::{GraphScope, GraphView, ListCursor, Lists, SegmentKey};

const TYPE: VertexId = VertexId::new(Tag::Iri, 1);
const EDGE: VertexId = VertexId::new(Tag::Iri, 2);
const CLASS: VertexId = VertexId::new(Tag::Iri, 3);
const BATCH: usize = 1024;

struct Random(u64);

impl Random {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % bound
    }
}

fn vertex(number: u64) -> VertexId {
    VertexId::new(Tag::Iri, 100 + number)
}

/// Two edges and a type of each of these vertices.
fn quads_of(random: &mut Random, subjects: impl Iterator<Item = u64>, count: u64) -> Vec<IdQuad> {
    let graph = GraphScope::DEFAULT_GRAPH;
    let mut quads = Vec::new();
    for subject in subjects {
        let subject = vertex(subject);
        quads.push((subject, TYPE, CLASS, graph));
        for _ in 0..2 {
            quads.push((subject, EDGE, vertex(random.below(count)), graph));
        }
    }
    quads
}

fn least(mut run: impl FnMut()) -> f64 {
    let runs = (0..9).map(|_| {
        let start = Instant::now();
        run();
        start.elapsed().as_nanos() as f64
    });
    runs.fold(f64::INFINITY, f64::min)
}

/// Nanoseconds a key of the median batch: other work on the machine hits few of them.
fn median(keys: &[VertexId], mut run: impl FnMut(&[VertexId])) -> f64 {
    let mut times: Vec<u128> = Vec::new();
    for batch in keys.chunks(BATCH).cycle().take(2 * keys.len() / BATCH) {
        let start = Instant::now();
        run(batch);
        times.push(start.elapsed().as_nanos());
    }
    times.sort_unstable();
    times[times.len() / 2] as f64 / BATCH as f64
}

fn segment(view: &impl GraphView, predicate: VertexId, direction: Direction) -> SegmentKey {
    SegmentKey {
        predicate: view.predicate_id(predicate).expect("it has edges"),
        direction,
    }
}

fn measure(name: &str, view: &impl GraphView, keys: &[VertexId]) {
    let edges = segment(view, EDGE, Direction::Out);
    let mut lists = Lists::new();
    let (mut rows, mut neighbours) = (Vec::new(), Vec::new());
    let lookup = median(keys, |batch| {
        let _ = view
            .lists(edges, batch, GraphScope::Default, &mut lists)
            .expect("lists");
        black_box(lists.total_edges());
    });
    let mut lists = Lists::new();
    let expand = median(keys, |batch| {
        let _ = view
            .lists(edges, batch, GraphScope::Default, &mut lists)
            .expect("lists");
        rows.clear();
        neighbours.clear();
        let mut cursor = ListCursor::default();
        let _ = lists
            .expand(&mut cursor, usize::MAX, &mut rows, &mut neighbours, None)
            .expect("rows");
        black_box(&neighbours);
    });
    let mut lists = Lists::new();
    let alone = &keys[..1 << 12];
    let one = least(|| {
        for key in alone.chunks(1) {
            let _ = view
                .lists(edges, key, GraphScope::Default, &mut lists)
                .expect("lists");
            black_box(lists.total_edges());
        }
    });
    let start = Instant::now();
    black_box(view.keys(edges).expect("keys").len());
    let first = start.elapsed().as_nanos() as f64;
    let again = least(|| {
        black_box(view.keys(edges).expect("keys").len());
    });
    let members = segment(view, TYPE, Direction::In);
    let open = || view.neighbours(members, CLASS, GraphScope::Default);
    let class = least(|| {
        black_box(open().expect("a class").len());
    });
    let set = open().expect("a class");
    let mut all = Vec::new();
    let read = least(|| {
        all.clear();
        set.decode(0, u64::MAX, &mut all).expect("members");
    });
    let mut positions = Vec::new();
    let ask = least(|| {
        positions.clear();
        set.select(keys, &mut positions).expect("members");
    });
    let per_key = keys.len() as f64;
    println!(
        "{name:>22} | {:>6.1} {:>6.1} {:>6.1} | {:>9.1} {:>6.2} {:>9.1} | {:>6.2} {:>6.2}",
        lookup,
        expand,
        one / alone.len() as f64,
        first / 1e3,
        again / 1e3,
        class / 1e3,
        read / all.len() as f64,
        ask / per_key,
    );
}

fn main() {
    let count = std::env::args().nth(1);
    let count: u64 = count.map_or(1_000_000, |count| count.parse().expect("a number of keys"));
    let mut random = Random(7);
    let quads = quads_of(&mut random, 0..count, count);
    let keys: Vec<VertexId> = (0..1 << 18).map(|_| vertex(random.below(count))).collect();
    let base = Arc::new(snapshot_of(&quads, Some(TYPE)));
    println!(
        "{:>22} | {:>6} {:>6} {:>6} | {:>9} {:>6} {:>9} | {:>6} {:>6}",
        "", "lookup", "expand", "alone", "keys us", "again", "class us", "read", "ask"
    );
    measure("snapshot", &*base, &keys);
    let version = Version::new(Arc::clone(&base), 0, Some(TYPE));
    measure("base", &version, &keys);
    let empty = Version::new(Arc::new(snapshot_of(&[], Some(TYPE))), 0, Some(TYPE));
    let whole = Change {
        deletes: Vec::new(),
        inserts: quads.clone(),
    };
    measure("one layer over nothing", &after(&empty, &whole), &keys);
    for share in [100, 10] {
        let changed = count / share;
        let old: Vec<u64> = (0..changed / 2).map(|_| random.below(count)).collect();
        let new = count..count + changed / 2;
        let inserts = quads_of(&mut random, old.into_iter().chain(new), count);
        let deletes = (0..changed / 10)
            .map(|_| quads[random.below(quads.len() as u64) as usize])
            .collect();
        let layered = after(&version, &Change { deletes, inserts });
        measure(&format!("with {} % over it", 100 / share), &layered, &keys);
    }
}

fn after(version: &Version, change: &Change) -> Version {
    let effect = change.effect(version).expect("an effect");
    let layer = Layer::build(version, &effect, Some(TYPE), 1..=1).expect("a layer");
    version.with_layer(Arc::new(layer), 1)
}
