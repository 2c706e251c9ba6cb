//! Devices that have images together: a section runs where most of what it looks at lies.

use crate::graphs::{iri, plan};
use crate::walk::Devices;
use explore::{Environment, Limits, prepare};
use gpu::{CacheOptions, Gives, Gpu, GpuError, Memory, Over, Section};
use std::sync::Arc;
use store::testing::snapshot_of;
use store::{GraphScope, Snapshot};

/// Predicates, each of as many edges.
const PREDICATES: [u64; 2] = [10_001, 10_002];

/// Vertices with such an edge.
const KEYS: u64 = 4000;

/// Bytes for images of each device: for one predicate's segment with its directory, and not for two.
const IMAGES: u64 = 24 << 10;

fn snapshot() -> Arc<Snapshot> {
    let edges = PREDICATES.iter().flat_map(|predicate| {
        let edge = move |key| {
            let (subject, object) = (iri(20_000 + key), iri(30_000 + key % 7));
            (subject, iri(*predicate), object, GraphScope::DEFAULT_GRAPH)
        };
        (0..KEYS).map(edge)
    });
    let edges: Vec<_> = edges.collect();
    Arc::new(snapshot_of(&edges, None))
}

/// The beginning of a query over a predicate.
fn begun(gpu: &Gpu, predicate: u64) -> Result<Section, GpuError> {
    let text =
        format!("SELECT * {{ ?s <http://e/{predicate}> ?o . ?s <http://e/{predicate}> ?p }}");
    let (plan, ids) = plan(&text);
    let environment = Environment::fixed();
    let prepared = prepare(&plan, &ids, &**gpu.snapshot(), Limits::none(), &environment);
    let prepared = prepared.expect("nothing fails");
    gpu.section_over(&prepared, Gives::Rows, &Over::ALL)
}

#[test]
fn a_section_runs_where_its_segments_lie() {
    let Some(devices) = Devices::found() else {
        return;
    };
    let devices = [devices.one(1), devices.one(2)];
    let memory = Memory {
        images: IMAGES,
        host: 0,
        tables: 1 << 20,
        sections: 2,
    };
    let options = CacheOptions {
        page_bits: Some(8),
        ..CacheOptions::default()
    };
    let gpu = Gpu::of_several(&devices, snapshot(), memory, options).expect("there is memory");
    let on = |predicate: u64| begun(&gpu, predicate).map(|section| section.device());
    for predicate in PREDICATES {
        on(predicate).expect("each has room on one of them");
    }
    let homes = PREDICATES.map(|predicate| on(predicate).expect("it is there"));
    assert_eq!(homes, [0, 1]);
    // Whose rooms are taken is no reason to wait.
    let there = [begun(&gpu, PREDICATES[1]), begun(&gpu, PREDICATES[1])];
    assert_eq!(on(PREDICATES[1]).expect("another has room"), 0);
    drop(there);
    assert_eq!(on(PREDICATES[1]).expect("it is there"), 1);
}
