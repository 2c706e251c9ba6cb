//! Slices and windows, measured: what a batch costs to make and to keep, and what a list costs in windows of many slices.
//!
//! ```sh
//! cargo run --release -p somersault-store --example slice
//! ```
//!
//! Batches have the shapes of LSBench's at 100 ms: posts of thirteen triples, likes that come ten times each, photo likes.

use rdf::{Direction, Tag, VertexId};
use std::hint::black_box;
use std::sync::Arc;
use std::time::Instant;
use store::delta::IdQuad;
use store::view::{GraphScope, GraphView, SegmentKey};
use store::{Lists, Slice, Window};

/// Users that are stored (count).
const USERS: u64 = 100_000;
/// Rounds of each measurement, of which the median is printed.
const ROUNDS: usize = 41;

fn iri(number: u64) -> VertexId {
    VertexId::new(Tag::Iri, number)
}

/// Numbers that look random, the same in each run.
fn mixed(number: u64) -> u64 {
    let mixed = number.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    (mixed ^ (mixed >> 29)).wrapping_mul(0xbf58_476d_1ce4_e5b9) >> 20
}

/// Posts of a batch: new subjects, mostly new objects.
fn posts(batch: u64, triples: u64) -> Vec<IdQuad> {
    let quads = (0..triples).map(|at| {
        let post = USERS + 1_000_000 + batch * 100 + at / 13;
        let object = match at % 13 {
            0 | 1 => iri(50 + at % 2),
            2 => iri(1000 + mixed(post) % USERS),
            _ => VertexId::new(Tag::Literal, batch * triples + at),
        };
        (iri(post), iri(at % 13), object, GraphScope::DEFAULT_GRAPH)
    });
    quads.collect()
}

/// Likes of a batch, each so often.
fn likes(batch: u64, triples: u64, times: u64) -> Vec<IdQuad> {
    let quads = (0..triples).map(|at| {
        let like = batch * triples + at % (triples / times);
        let user = iri(1000 + mixed(like) % USERS);
        let post = iri(USERS + 1_000_000 + mixed(like + 7) % 20_000);
        (user, iri(20), post, GraphScope::DEFAULT_GRAPH)
    });
    quads.collect()
}

/// The median time of a call (nanoseconds).
fn median(mut call: impl FnMut()) -> f64 {
    let mut times: Vec<u128> = (0..ROUNDS)
        .map(|_| {
            let begun = Instant::now();
            call();
            begun.elapsed().as_nanos()
        })
        .collect();
    times.sort_unstable();
    times[ROUNDS / 2] as f64
}

fn main() {
    println!(
        "batch                 triples  distinct   us a batch  ns a triple  bytes a triple kept"
    );
    for (name, quads) in [
        ("posts (PO)", posts(1, 1000)),
        ("post likes (PO-L)", likes(1, 8600, 10)),
        ("photo likes (PH-L)", likes(2, 750, 4)),
    ] {
        let slice = Slice::of(&quads);
        let distinct = slice.edges(Direction::Out);
        let nanoseconds = median(|| {
            black_box(Slice::of(black_box(&quads)));
        });
        println!(
            "{name:20} {:8} {distinct:9} {:12.0} {:12.0} {:20.1}",
            quads.len(),
            nanoseconds / 1e3,
            nanoseconds / quads.len() as f64,
            slice.bytes() as f64 / distinct as f64,
        );
    }
    println!("slices of likes  window made (us)  list of one key (ns)  of 1,024 keys (ns a key)");
    for count in [1, 10, 100, 1000] {
        let slices = (0..count).map(|batch| Arc::new(Slice::of(&likes(batch, 860, 1))));
        let slices: Vec<Arc<Slice>> = slices.collect();
        let made = median(|| {
            black_box(Window::new(black_box(slices.clone())));
        });
        let window = Window::new(slices);
        let predicate = window.predicate_id(iri(20)).expect("it has likes");
        let direction = Direction::Out;
        let segment = SegmentKey {
            predicate,
            direction,
        };
        let mut lists = Lists::new();
        let mut asked = |keys: &[VertexId]| {
            let scope = GraphScope::Default;
            let _ = window
                .lists(segment, keys, scope, &mut lists)
                .expect("nothing fails");
        };
        let one = median(|| (0..100).for_each(|at| asked(&[iri(1000 + mixed(at) % USERS)])));
        let keys: Vec<VertexId> = (0..1024).map(|at| iri(1000 + mixed(at) % USERS)).collect();
        let many = median(|| asked(&keys));
        println!(
            "{count:15} {:17.1} {:21.0} {:25.0}",
            made / 1e3,
            one / 100.0,
            many / 1024.0
        );
    }
}
