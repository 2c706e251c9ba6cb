//! Streams that catch up leave room for others between turns.

use super::*;
use crate::testing;

const STREAM: &str = "urn:s";

/// Streams with a query that closes every millisecond.
fn bench() -> Live {
    let options = Options {
        memory_is_writable: true,
        ..Options::default()
    };
    let live = Live::new(testing::empty(&options));
    let stream = HubStream {
        absorb: Some(Vec::new()),
        ..HubStream::new(STREAM)
    };
    live.create(&stream, Some(0)).unwrap();
    let text = format!(
        "#@ report=close\nSELECT ?s FROM NAMED WINDOW <urn:w> ON <{STREAM}> [RANGE PT0.001S STEP PT0.001S] \
         WHERE {{ WINDOW <urn:w> {{ ?s ?p ?o }} }}"
    );
    live.register(&text, "q").unwrap();
    live
}

/// Whoever asks while a stream catches up is answered between two turns, and so is another source.
#[test]
fn others_are_served_while_a_stream_catches_up() {
    const CLOSES: u64 = 100_000;
    let live = bench();
    let other = HubStream {
        absorb: Some(Vec::new()),
        ..HubStream::new("urn:other")
    };
    live.create(&other, Some(0)).unwrap();
    let catching_up = {
        let live = live.clone();
        std::thread::spawn(move || live.watermark(STREAM, "", CLOSES).unwrap())
    };
    let mut seen = Vec::new();
    while !catching_up.is_finished() {
        seen.push(live.queries()[0].evaluations);
        live.watermark("urn:other", "", seen.len() as u64).unwrap();
    }
    catching_up.join().unwrap();
    let all = live.queries()[0].evaluations;
    seen.retain(|evaluations| (1..all).contains(evaluations));
    assert!(all >= CLOSES - 1 && !seen.is_empty(), "{all}: {seen:?}");
    let last = live.queries()[0].reports;
    let read = live.reports("q", last - 1, 10, Duration::ZERO).unwrap();
    assert_eq!((last, read.entries.len()), (all, 1));
}
