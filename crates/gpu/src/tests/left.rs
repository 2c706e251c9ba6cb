//! Who brings nothing moves nothing, either: what lies whole and is in the way is left, and whoever brings data moves it once nobody looks at it.

use crate::access::{Access, Accessed};
use crate::cache::{CacheOptions, Lease, Placing};
use crate::{Gpu, Memory};
use device::twin::Twin;
use rdf::{Direction, Tag, VertexId};
use std::cell::RefCell;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use store::testing::snapshot_of;
use store::{GraphScope, GraphView, SegmentKey, Snapshot};

const KEYS: u64 = 4000;

/// Bytes for images: for one predicate's segment, and a part of the other's.
const IMAGES: u64 = 24 << 10;

fn iri(number: u64) -> VertexId {
    VertexId::new(Tag::Iri, number)
}

/// Two predicates of as many edges, and their segments.
fn snapshot() -> (Arc<Snapshot>, [SegmentKey; 2]) {
    let edges = [1, 2].into_iter().flat_map(|predicate| {
        let edge = move |key| {
            let (subject, object) = (iri(20_000 + key), iri(30_000 + key % 7));
            (subject, iri(predicate), object, GraphScope::DEFAULT_GRAPH)
        };
        (0..KEYS).map(edge)
    });
    let edges: Vec<_> = edges.collect();
    let snapshot = Arc::new(snapshot_of(&edges, None));
    let keys = [1, 2].map(|predicate| SegmentKey {
        predicate: snapshot.predicate_id(iri(predicate)).expect("it has edges"),
        direction: Direction::Out,
    });
    (snapshot, keys)
}

#[test]
fn what_is_in_the_way_is_moved_by_who_brings_once_nobody_looks() {
    let Ok(device) = Twin::new(1 << 28, 3) else {
        eprintln!("SKIPPED: there is no host twin");
        return;
    };
    let memory = Memory {
        images: IMAGES,
        host: 1 << 20,
        tables: 64 << 10,
        sections: 1,
    };
    let options = CacheOptions {
        page_bits: Some(8),
        poison: true,
        ..CacheOptions::default()
    };
    let (snapshot, keys) = snapshot();
    let gpu = Gpu::with_options(Arc::new(device), snapshot, memory, options);
    let gpu = gpu.expect("there is memory");
    let how = |may_move: bool| Placing {
        is_new: true,
        may_move,
        stop: None,
    };
    let mut cache = gpu.cache.held();
    let number = |key: SegmentKey, cache: &mut crate::cache::Cache| {
        let number = cache.number(key).expect("the store is sound");
        number.expect("it has edges")
    };
    let both = keys.map(|key| number(key, &mut cache));
    let lookups = [Access {
        number: both[1],
        what: Accessed::List { rows: 1.0 },
        times: 1e6,
    }];
    let one = cache.place((&both[..1], &[]), how(true));
    cache.unpin(&one.expect("it has room").numbers);
    assert_eq!(cache.pages_here(both[0]), None, "it lies whole");
    let placed = cache.place((&both, &lookups), how(false));
    let placed = placed.expect("any arena does");
    assert!(placed.is_left && cache.pages_here(both[0]).is_none());
    let before = cache.pages_here(both[1]).expect("it is paged");
    let need = gpu.need(&mut cache, (&both, &lookups), true);
    drop(cache);
    // The section that said so still looks at them.
    let section = RefCell::new(Some(Lease::new(&gpu.cache, placed.numbers, placed.pages)));
    let pauses = RefCell::new(0);
    gpu.bring(need, &AtomicBool::new(false), &|| {
        *pauses.borrow_mut() += 1;
        drop(section.take());
    });
    assert_eq!(*pauses.borrow(), 1, "it was waited for");
    let mut cache = gpu.cache.held();
    assert!(cache.pages_here(both[0]).is_some(), "it made way");
    assert!(cache.pages_here(both[1]) > Some(before));
    let placed = cache.place((&both, &lookups), how(false));
    let placed = placed.expect("any arena does");
    assert!(!placed.is_left, "there is nothing better");
    cache.unpin(&placed.numbers);
}
