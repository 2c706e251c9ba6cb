//! Measures the local view on a store directory: `walk_speed STORE`.
//!
//! Prints the time to open, to verify and to check, then per segment of some size: nanoseconds to
//! look a key up in batches of random and of ascending keys, to expand a row, to decode a key of
//! the index, to test a neighbour, and to look one key up alone and expand up to 16 rows of it. Each figure is the least of five runs on one thread.

use rdf::{Direction, VertexId};
use std::hint::black_box;
use std::path::Path;
use std::time::{Duration, Instant};
use store::check::{IdLimits, check};
use store::disk::RealDisk;
use store::{GraphScope, GraphView, ListCursor, Lists, SegmentKey, Snapshot};

const BATCH: usize = 1024;
const ROWS: usize = 4096;

fn least(mut run: impl FnMut()) -> Duration {
    (0..5)
        .map(|_| {
            let start = Instant::now();
            run();
            start.elapsed()
        })
        .min()
        .expect("five runs")
}

fn per(time: Duration, count: u64) -> f64 {
    time.as_nanos() as f64 / count.max(1) as f64
}

fn main() {
    let path = std::env::args().nth(1).expect("usage: walk_speed STORE");
    let path = Path::new(&path);
    let start = Instant::now();
    let opened = store::directory::open(&RealDisk, path).expect("a store");
    let snapshot = Snapshot::open(&opened).expect("a graph");
    println!("open    {:?}", start.elapsed());
    let start = Instant::now();
    let unverified = measure(&snapshot, first(&snapshot));
    println!(
        "first segment, unverified, {:?}: {unverified}",
        start.elapsed()
    );
    let start = Instant::now();
    snapshot.verify_all().expect("an undamaged store");
    println!("verify  {:?}", start.elapsed());
    println!(
        "{:>9} {:>3} {:>9} {:>10} | {:>7} {:>7} {:>7} {:>7} {:>7} {:>7} ns",
        "predicate", "", "keys", "rows", "lookup", "ascend", "expand", "decode", "select", "alone"
    );
    for predicate in snapshot.predicates() {
        for direction in [Direction::Out, Direction::In] {
            let line = measure(
                &snapshot,
                SegmentKey {
                    predicate,
                    direction,
                },
            );
            println!("{:>9} {line}", predicate.0);
        }
    }
    let start = Instant::now();
    let findings = check(&opened, &IdLimits::NONE);
    println!("check   {:?}, {} findings", start.elapsed(), findings.len());
}

fn first(snapshot: &Snapshot) -> SegmentKey {
    let predicate = snapshot.predicates()[0];
    SegmentKey {
        predicate,
        direction: Direction::Out,
    }
}

fn measure(snapshot: &Snapshot, segment: SegmentKey) -> String {
    let set = snapshot.keys(segment).expect("keys");
    let mut keys = Vec::new();
    let decode = least(|| {
        keys.clear();
        set.decode(0, u64::MAX, &mut keys).expect("keys");
    });
    let decode = per(decode, set.len());
    keys.truncate(1 << 20);
    let count = keys.len() as u64;
    let ascend = least(|| look_up(snapshot, segment, &keys));
    let alone = least(|| one_by_one(snapshot, segment, &keys[..keys.len().min(1 << 14)]));
    let alone = per(alone, count.min(1 << 14));
    let sorted = keys.clone();
    let mut state = 1u64;
    for place in (1..keys.len()).rev() {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        keys.swap(place, (state >> 33) as usize % (place + 1));
    }
    let lookup = least(|| look_up(snapshot, segment, &keys));
    let mut rows = 0;
    let expand = least(|| rows = expand(snapshot, segment, &sorted));
    let select = least(|| select(snapshot, segment, &keys));
    format!(
        "{:>3} {:>9} {:>10} | {:>7.1} {:>7.1} {:>7.1} {decode:>7.2} {:>7.1} {alone:>7.1}",
        format!("{:?}", segment.direction).to_lowercase(),
        set.len(),
        rows,
        per(lookup, count),
        per(ascend, count),
        per(expand.saturating_sub(ascend), rows),
        per(select.saturating_sub(lookup), count),
    )
}

fn look_up(snapshot: &Snapshot, segment: SegmentKey, keys: &[VertexId]) {
    let mut lists = Lists::new();
    for batch in keys.chunks(BATCH) {
        let _ = snapshot
            .lists(segment, batch, GraphScope::Default, &mut lists)
            .expect("lists");
        black_box(lists.total_edges());
    }
}

/// A batch for each key: what a light query pays.
fn one_by_one(snapshot: &Snapshot, segment: SegmentKey, keys: &[VertexId]) {
    let mut lists = Lists::new();
    let (mut rows, mut neighbours) = (Vec::new(), Vec::new());
    for key in keys.chunks(1) {
        let _ = snapshot
            .lists(segment, key, GraphScope::Default, &mut lists)
            .expect("lists");
        rows.clear();
        neighbours.clear();
        let mut cursor = ListCursor::default();
        let _ = lists
            .expand(&mut cursor, 16, &mut rows, &mut neighbours, None)
            .expect("rows");
        black_box(&neighbours);
    }
}

fn expand(snapshot: &Snapshot, segment: SegmentKey, keys: &[VertexId]) -> u64 {
    let mut lists = Lists::new();
    let (mut rows, mut neighbours) = (Vec::new(), Vec::new());
    let mut total = 0;
    for batch in keys.chunks(BATCH) {
        let _ = snapshot
            .lists(segment, batch, GraphScope::Default, &mut lists)
            .expect("lists");
        let mut cursor = ListCursor::default();
        loop {
            rows.clear();
            neighbours.clear();
            let done = lists.expand(&mut cursor, ROWS, &mut rows, &mut neighbours, None);
            total += black_box(&neighbours).len() as u64;
            if done.expect("rows") {
                break;
            }
        }
    }
    total
}

fn select(snapshot: &Snapshot, segment: SegmentKey, keys: &[VertexId]) {
    let mut lists = Lists::new();
    let mut positions = Vec::new();
    for batch in keys.chunks(BATCH) {
        let _ = snapshot
            .lists(segment, batch, GraphScope::Default, &mut lists)
            .expect("lists");
        positions.clear();
        lists.select(batch, &mut positions).expect("rows");
        black_box(&positions);
    }
}
