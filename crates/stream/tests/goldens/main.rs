//! The boundary vectors of the C-SPARQL engine's own tests, under exact bounds of both kinds.
//!
//! They lie beside the repository (`../shared/streams/csrbench`); without them this is skipped, which is reported.

#![allow(clippy::unwrap_used, reason = "a test that fails says where")]

#[allow(dead_code, reason = "each test program uses its own part of this file")]
#[path = "../common.rs"]
mod common;

use std::fs;
use std::path::Path;

use query::standing::{Bounds, Extent, Origin};
use serde_json::Value;
use stream::{QueryId, ScheduledWindow, SourceId, Streams, Time};

use common::{NONEMPTY, at, drain, grained, schedule};

fn numbers(vector: &Value, name: &str) -> Vec<u64> {
    let numbers = vector[name].as_array().unwrap().iter();
    numbers.map(|number| number.as_u64().unwrap()).collect()
}

/// The sizes of all windows that are reported, in order.
fn counts(vector: &Value, bounds: Bounds, grain_ms: u64) -> Vec<u64> {
    let events = numbers(vector, "events_ms");
    let seconds = |name: &str| vector[name].as_u64().unwrap() * 1000;
    let mut streams = Streams::new();
    let stream = streams.create(grained("s", grain_ms), Time(0)).unwrap();
    let window = ScheduledWindow {
        stream,
        extent: Extent::Time {
            range_ms: seconds("width_s"),
            step_ms: seconds("slide_s"),
            origin: Origin::FirstItem,
        },
        bounds,
        partial_first: true,
    };
    streams
        .register(QueryId(0), schedule(&[window], NONEMPTY), Time(0))
        .unwrap();
    let mut counts = Vec::new();
    let last = *events.last().unwrap();
    for event in events {
        streams.push(stream, SourceId(0), &at(&[event])).unwrap();
        counts.extend(drain(&mut streams));
    }
    // An item of the last moment says no more than that; the batch that it is in need not be full.
    streams
        .watermark(stream, SourceId(0), Time(last + grain_ms))
        .unwrap();
    counts.extend(drain(&mut streams));
    counts.retain(|evaluation| evaluation.close.0 < last);
    counts
        .iter()
        .map(|evaluation| evaluation.windows[0].items)
        .collect()
}

#[test]
fn boundary_vectors_hold_for_both_bounds() {
    let path = "../../../shared/streams/csrbench/window-boundary-vectors.json";
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(path);
    let Ok(text) = fs::read_to_string(&path) else {
        println!(
            "SKIPPED: the boundary vectors are not there: {}",
            path.display()
        );
        return;
    };
    let vectors: Value = serde_json::from_str(&text).unwrap();
    let vectors = vectors["vectors"].as_array().unwrap();
    assert_eq!(vectors.len(), 11);
    for (place, vector) in vectors.iter().enumerate() {
        for grain_ms in [1, 100, 300, 1000] {
            let check = |bounds, name| {
                let expected = numbers(vector, name);
                let found = counts(vector, bounds, grain_ms);
                assert_eq!(found, expected, "vector {place}, {name}, grain {grain_ms}");
            };
            check(Bounds::LeftClosed, "left_closed_right_open");
            check(Bounds::RightClosed, "left_open_right_closed");
        }
    }
}
