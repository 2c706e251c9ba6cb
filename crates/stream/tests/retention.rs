//! What is kept, for how long, and what happens when there is no room for more.

use query::standing::Bounds;
use rdf::{Tag, VertexId};
use store::GraphScope;
use stream::{Definition, Items, QueryId, SourceId, StreamError, Streams, Time};

use crate::common::{CLOSE, at, drain, grained, range, schedule};

const SOURCE: SourceId = SourceId(0);

fn held_bytes(streams: &Streams) -> u64 {
    let stream = streams.find("s").unwrap();
    streams.status(stream).unwrap().held_bytes
}

/// Without a window nothing is kept; with one, as much as it reaches, for ever the same.
#[test]
fn what_no_window_reaches_is_forgotten() {
    let mut streams = Streams::new();
    let stream = streams.create(grained("s", 10), Time(0)).unwrap();
    let push = |streams: &mut Streams, batches: std::ops::Range<u64>| {
        for batch in batches {
            let times = [batch * 10, batch * 10 + 3];
            streams.push(stream, SOURCE, &at(&times)).unwrap();
            drain(streams);
        }
        held_bytes(streams)
    };
    let open = push(&mut streams, 0..100);
    assert!(open <= 2 * 48, "only the open batch is held: {open} bytes");
    let window = range(stream, 500, 20, Bounds::RightClosed);
    streams
        .register(QueryId(1), schedule(&[window], CLOSE), Time(1000))
        .unwrap();
    let early = push(&mut streams, 100..400);
    let late = push(&mut streams, 400..2000);
    assert!(
        early > 50 * 2 * 48 && late <= early * 5 / 4,
        "{early} and {late} bytes"
    );
    let kept = streams.items(stream, Time(0)..Time::MAX).unwrap();
    let first = kept.times()[0].0;
    assert!((19_480..19_520).contains(&first), "kept from {first} ms");
    streams.unregister(QueryId(1)).unwrap();
    let left = held_bytes(&streams);
    // The edge of the open batch was sealed for the window.
    assert!(left <= open + 256, "{left} and {open} bytes");
}

/// A window that is registered later sees what is retained, and says that it is not all.
#[test]
fn a_window_says_that_it_is_incomplete() {
    let mut streams = Streams::new();
    let kept = Definition {
        retain_ms: 200,
        ..grained("s", 10)
    };
    let stream = streams.create(kept, Time(0)).unwrap();
    let times: Vec<u64> = (0..100).map(|item| item * 10 + 5).collect();
    streams.push(stream, SOURCE, &at(&times)).unwrap();
    streams.watermark(stream, SOURCE, Time(1000)).unwrap();
    drain(&mut streams);
    for (query, range_ms) in [(1, 100), (2, 200), (3, 500)] {
        let window = range(stream, range_ms, 1000, Bounds::LeftClosed);
        streams
            .register(QueryId(query), schedule(&[window], CLOSE), Time(0))
            .unwrap();
    }
    let found: Vec<_> = drain(&mut streams)
        .iter()
        .map(|one| (one.windows[0].items, one.windows[0].incomplete_before))
        .collect();
    assert_eq!(found, [(10, None), (20, None), (20, Some(Time(800)))]);
}

/// C-8: what is kept for nobody goes first; then sources are told to wait, and nothing is lost. The source that all
/// wait for may go on.
#[test]
fn a_full_stream_refuses_and_loses_nothing() {
    let mut streams = Streams::new();
    let small = Definition {
        budget_bytes: 10_000,
        retain_ms: 1_000_000,
        ..grained("s", 10)
    };
    let stream = streams.create(small, Time(0)).unwrap();
    let (fast, slow) = (SourceId(1), SourceId(2));
    for batch in 0..1000 {
        streams.push(stream, fast, &at(&[batch * 10])).unwrap();
        drain(&mut streams);
    }
    assert!(held_bytes(&streams) <= 10_000);
    let window = range(stream, 100, 10, Bounds::LeftClosed);
    streams
        .register(QueryId(1), schedule(&[window], CLOSE), Time(9_990))
        .unwrap();
    streams.join(stream, slow).unwrap();
    let mut taken = 0;
    let refused = loop {
        match streams.push(stream, fast, &at(&[10_000 + taken * 10])) {
            Ok(_) => taken += 1,
            Err(refused) => break refused,
        }
        drain(&mut streams);
    };
    assert!(
        matches!(
            refused,
            StreamError::Full {
                budget_bytes: 10_000,
                ..
            }
        ),
        "{refused}"
    );
    streams
        .push(stream, slow, &at(&[10_000 + taken * 10]))
        .unwrap();
    let ready = drain(&mut streams);
    let last = ready.last().unwrap();
    let promised = 10_000 + (taken - 1) * 10;
    assert_eq!((last.close.0, last.windows[0].items), (promised, 10));
    streams
        .push(stream, fast, &at(&[10_000 + taken * 10]))
        .unwrap();
}

/// C-10: a retained quad takes at most 14 bytes with its share of indexes, whether windows reach a second or a minute, and
/// what is held does not grow.
#[test]
fn a_retained_quad_is_small() {
    let mut streams = Streams::new();
    let stream = streams.create(grained("s", 100), Time(0)).unwrap();
    for (query, range_ms) in [(1, 1000), (2, 60_000)] {
        let window = range(stream, range_ms, 100, Bounds::LeftClosed);
        streams
            .register(QueryId(query), schedule(&[window], CLOSE), Time(0))
            .unwrap();
    }
    let mut random = testkit::random::Random::new(3);
    let mut least = u64::MAX;
    for batch in 0..760_u64 {
        let mut items = Items::new();
        for item in 0..600 {
            let mut id = |count: usize| VertexId::new(Tag::Iri, random.below(count) as u64);
            let quad = (id(2000), id(2), id(50_000), GraphScope::DEFAULT_GRAPH);
            items.add(Time(batch * 100 + item / 6), &[quad]);
        }
        streams.push(stream, SOURCE, &items).unwrap();
        streams
            .watermark(stream, SOURCE, Time(batch * 100 + 100))
            .unwrap();
        drain(&mut streams);
        if batch >= 700 {
            let held = streams.holdings(stream).unwrap();
            let bytes = held.item_bytes + held.slice_bytes;
            assert_eq!(held.items, held.quads);
            assert!((598 * 600..=602 * 600).contains(&held.quads), "{held:?}");
            assert!(bytes <= 14 * held.quads, "{held:?}");
            least = least.min(bytes);
            assert!(bytes <= least * 5 / 4, "{bytes} after {least} bytes");
        }
    }
}
