//! What did not happen costs nothing, and what is due is not stepped over.

use std::time::Instant;

use query::standing::{Bounds, Extent, Report, When};
use stream::{QueryId, ScheduledWindow, SealPoint, SourceId, Streams, Time};

use crate::common::{CLOSE, HERE, NONEMPTY, at, closes, drain, grained, range, schedule};

const SOURCE: SourceId = SourceId(0);
/// Three years (milliseconds).
const LONG: u64 = 100_000_000_000;

/// A jump over a billion batches is two seals, and with `nonempty` nothing is evaluated on the way.
#[test]
fn a_silent_span_is_stepped_over() {
    let mut streams = Streams::new();
    let stream = streams.create(grained("s", 100), Time(0)).unwrap();
    for (query, bounds) in [(0, Bounds::LeftClosed), (1, Bounds::RightClosed)] {
        let window = range(stream, 1000, 100, bounds);
        streams
            .register(QueryId(query), schedule(&[window], NONEMPTY), Time(0))
            .unwrap();
    }
    let start = Instant::now();
    streams.push(stream, SOURCE, &at(&[50, LONG + 50])).unwrap();
    streams.watermark(stream, SOURCE, Time(2 * LONG)).unwrap();
    let mut seals = Vec::new();
    let mut ready = Vec::new();
    loop {
        ready.extend(std::iter::from_fn(|| streams.next_ready()));
        let Some(seal) = streams.next_seal() else {
            break;
        };
        streams.sealed(HERE, stream, seal.until).unwrap();
        seals.push((seal.from.batches, seal.until.batches, seal.items.len()));
    }
    let far = LONG / 100;
    let expected = [
        (0, 1, 1),
        (1, far, 0),
        (far, far + 1, 1),
        (far + 1, 2 * far, 0),
    ];
    assert_eq!(seals, expected);
    let of = |query| {
        let of_query = ready.iter().filter(|ready| ready.query == QueryId(query));
        of_query.map(|ready| ready.close.0).collect::<Vec<_>>()
    };
    let later = (1..=10).map(|batch| LONG + batch * 100);
    let expected: Vec<u64> = [1000].into_iter().chain(later).collect();
    assert_eq!((of(0), of(1)), (expected.clone(), expected));
    assert!(
        start.elapsed().as_secs() < 5,
        "it went over them one by one"
    );
}

/// Without `nonempty` each close is reported, one by one as it is asked for.
#[test]
fn closes_that_are_due_are_not_stepped_over() {
    let mut streams = Streams::new();
    let stream = streams.create(grained("s", 100), Time(0)).unwrap();
    let window = range(stream, 1000, 100, Bounds::LeftClosed);
    streams
        .register(QueryId(0), schedule(&[window], CLOSE), Time(250))
        .unwrap();
    streams.watermark(stream, SOURCE, Time(100_000)).unwrap();
    let expected: Vec<u64> = (10..=1000).map(|batch| batch * 100).collect();
    assert_eq!(closes(&drain(&mut streams)), expected);
}

/// A long window over few items asks for few slices, and one over many for some of each size.
#[test]
fn a_long_window_is_a_few_slices() {
    let mut streams = Streams::new();
    let stream = streams.create(grained("s", 10), Time(0)).unwrap();
    let window = range(stream, 60_000, 10, Bounds::RightClosed);
    streams
        .register(QueryId(0), schedule(&[window], CLOSE), Time(60_000))
        .unwrap();
    let mut most = 0;
    for batch in 0..7000 {
        streams
            .push(stream, SOURCE, &at(&[batch * 10, batch * 10 + 5]))
            .unwrap();
        for evaluation in drain(&mut streams) {
            assert_eq!(evaluation.windows[0].items, 12_000);
            most = most.max(evaluation.windows[0].slices.len());
        }
    }
    assert!(
        (8..=2 * 13).contains(&most),
        "{most} slices of 6,000 batches"
    );
}

#[test]
fn a_change_is_reported_at_the_end_of_its_batch_and_only_then() {
    let mut streams = Streams::new();
    let stream = streams.create(grained("s", 10), Time(0)).unwrap();
    let report = Report {
        when: When::Change,
        ..CLOSE
    };
    let window = range(stream, 30, 20, Bounds::LeftClosed);
    streams
        .register(QueryId(0), schedule(&[window], report), Time(0))
        .unwrap();
    streams
        .push(stream, SOURCE, &at(&[3, 4, 27, 1000]))
        .unwrap();
    let ready = drain(&mut streams);
    let found: Vec<_> = ready
        .iter()
        .map(|one| (one.close.0, one.windows[0].items))
        .collect();
    assert_eq!(
        found,
        [(10, 2), (30, 1)],
        "[0, 20) and [10, 40) are the oldest open windows"
    );
}

/// Items of one millisecond that fill a count window several times over are one report.
#[test]
fn count_windows_close_with_their_items() {
    let mut streams = Streams::new();
    let stream = streams.create(grained("s", 10), Time(0)).unwrap();
    let window = ScheduledWindow {
        extent: Extent::Count { items: 3, step: 2 },
        ..range(stream, 1, 1, Bounds::RightClosed)
    };
    streams
        .register(QueryId(0), schedule(&[window], CLOSE), Time(0))
        .unwrap();
    streams
        .push(stream, SOURCE, &at(&[1, 2, 5, 12, 12, 12, 12, 12, 40]))
        .unwrap();
    streams.watermark(stream, SOURCE, Time(50)).unwrap();
    let found: Vec<_> = drain(&mut streams)
        .iter()
        .map(|one| (one.close.0, one.windows[0].items))
        .collect();
    assert_eq!(found, [(12, 3)]);
    let mut late = Streams::new();
    let stream = late.create(grained("s", 10), Time(0)).unwrap();
    late.obey(stream, SealPoint::whole(2)).unwrap();
    let accepted = late.push(stream, SOURCE, &at(&[19, 20])).unwrap();
    assert_eq!((accepted.taken, accepted.late), (1, at(&[19])));
}
