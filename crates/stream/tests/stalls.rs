//! Streams that stall, sources that fall silent, streams and queries that come and go.

use query::standing::{Bounds, Extent, Origin, Report, When};
use std::collections::BTreeSet;
use stream::{Definition, QueryId, SealPoint, SourceId, StreamError, StreamId, Streams, Time};

use crate::common::{CLOSE, HERE, NONEMPTY, at, closes, drain, grained, range, schedule};

const SOURCE: SourceId = SourceId(0);

fn five(definition: impl Fn(usize) -> Definition) -> (Streams, Vec<StreamId>) {
    let mut streams = Streams::new();
    let create = |number| streams.create(definition(number), Time(0)).unwrap();
    let five = (0..5).map(create).collect();
    (streams, five)
}

fn each(stream: StreamId) -> stream::ScheduledWindow {
    range(stream, 500, 100, Bounds::LeftClosed)
}

/// C-2: queries that name a stalled stream wait, others go on; then the ones that waited catch up, none skipped.
#[test]
fn a_stalled_stream_holds_up_nobody_else() {
    let (mut streams, five) = five(|number| grained(&format!("s{number}"), 100));
    for (query, &stream) in (0..).zip(&five) {
        streams
            .register(QueryId(query), schedule(&[each(stream)], CLOSE), Time(0))
            .unwrap();
    }
    let joint = schedule(&[each(five[0]), each(five[4])], CLOSE);
    streams.register(QueryId(9), joint, Time(0)).unwrap();
    let mut got = Vec::new();
    for second in 0..50 {
        for &stream in &five[..4] {
            streams
                .push(stream, SOURCE, &at(&[second * 100 + 50]))
                .unwrap();
        }
        let ready = drain(&mut streams);
        let queries = ready.iter().map(|one| one.query.0);
        let expected = if second * 100 >= 500 {
            vec![0, 1, 2, 3]
        } else {
            vec![]
        };
        assert_eq!(
            queries.collect::<Vec<_>>(),
            expected,
            "at once, at {second}"
        );
        got.extend(ready);
    }
    streams.push(five[4], SOURCE, &at(&[4901])).unwrap();
    let caught_up = drain(&mut streams);
    assert!(caught_up.is_sorted_by_key(|one| one.close));
    let expected: Vec<u64> = (5..50).map(|batch| batch * 100).collect();
    for query in [4, 9] {
        let of_query = caught_up.iter().filter(|one| one.query.0 == query).cloned();
        assert_eq!(closes(&of_query.collect::<Vec<_>>()), expected);
    }
    let joint = caught_up.iter().filter(|one| one.query.0 == 9);
    assert!(
        joint.clone().all(|one| one.windows[0].items == 5),
        "it was kept for it"
    );
    assert!(joint.clone().all(|one| one.windows[1].items == 0));
}

/// C-25: one silent source of five. Queries on the others are unaffected, joint ones see an empty window.
#[test]
fn an_idle_stream_is_followed() {
    let (mut streams, five) = five(|number| Definition {
        idle_ms: Some(1000),
        ..grained(&format!("s{number}"), 100)
    });
    let joint = schedule(&[each(five[0]), each(five[4])], CLOSE);
    streams.register(QueryId(1), joint, Time(0)).unwrap();
    streams
        .register(QueryId(2), schedule(&[each(five[4])], CLOSE), Time(0))
        .unwrap();
    streams.push(five[4], SOURCE, &at(&[150])).unwrap();
    let mut got = Vec::new();
    for batch in 0..100 {
        streams.tick(Time(batch * 100));
        for &stream in &five[..4] {
            streams
                .push(stream, SOURCE, &at(&[batch * 100 + 50]))
                .unwrap();
        }
        let ready = drain(&mut streams);
        assert!(batch * 100 >= 1000 || ready.is_empty(), "it is waited for");
        got.extend(ready);
    }
    let of = |query: u64, got: &[stream::Evaluation]| {
        let of_query = got.iter().filter(|one| one.query.0 == query);
        of_query
            .map(|one| (one.close.0, one.windows.last().unwrap().items))
            .collect::<Vec<_>>()
    };
    let expected: Vec<_> = (5..100)
        .map(|batch| (batch * 100, u64::from(batch <= 6)))
        .collect();
    assert_eq!(of(1, &got), expected);
    assert_eq!(of(2, &got), expected, "it went along");
    let accepted = streams.push(five[4], SOURCE, &at(&[9899, 9900])).unwrap();
    assert_eq!(
        (accepted.taken, accepted.late.len()),
        (1, 1),
        "what was sealed is sealed"
    );
    assert!(
        drain(&mut streams).is_empty(),
        "it speaks, and is waited for again"
    );
}

/// If nobody speaks at all, time stands still; a stream of arrival times goes by the clock.
#[test]
fn time_passes_where_somebody_says_so() {
    let mut streams = Streams::new();
    let silent = Definition {
        idle_ms: Some(10),
        ..grained("silent", 100)
    };
    let silent = streams.create(silent, Time(0)).unwrap();
    let clocked = Definition {
        arrival_time: true,
        ..grained("clocked", 100)
    };
    let clocked = streams.create(clocked, Time(0)).unwrap();
    streams
        .register(QueryId(1), schedule(&[each(silent)], CLOSE), Time(0))
        .unwrap();
    streams.tick(Time(700));
    assert!(drain(&mut streams).is_empty());
    streams
        .register(
            QueryId(2),
            schedule(&[each(silent), each(clocked)], CLOSE),
            Time(0),
        )
        .unwrap();
    streams.push(clocked, SOURCE, &at(&[3])).unwrap();
    streams.tick(Time(801));
    let ready = drain(&mut streams);
    let found: Vec<_> = ready.iter().map(|one| (one.query.0, one.close.0)).collect();
    let both = [500, 600, 700, 800].map(|close| [(1, close), (2, close)]);
    assert_eq!(found, both.concat());
    let items = |one: &stream::Evaluation| one.windows.last().unwrap().items;
    assert_eq!(items(ready.last().unwrap()), 1, "the item of 700 is there");
}

#[test]
fn a_stream_that_is_named_is_not_dropped() {
    let mut streams = Streams::new();
    let stream = streams.create(grained("s", 100), Time(0)).unwrap();
    let taken = streams.create(grained("s", 10), Time(0));
    assert_eq!(taken, Err(StreamError::NameTaken("s".to_owned())));
    let query = schedule(&[each(stream)], CLOSE);
    streams
        .register(QueryId(1), query.clone(), Time(0))
        .unwrap();
    let again = streams.register(QueryId(1), query.clone(), Time(0));
    assert_eq!(again, Err(StreamError::QueryTaken(QueryId(1))));
    let in_use = StreamError::InUse {
        name: "s".to_owned(),
        queries: 1,
    };
    assert_eq!(streams.drop_stream(stream), Err(in_use));
    streams.push(stream, SOURCE, &at(&[50, 250])).unwrap();
    streams.unregister(QueryId(1)).unwrap();
    streams.drop_stream(stream).unwrap();
    assert!(streams.poll().is_none(), "it has no seal to give");
    let gone = StreamError::NoStream(stream);
    assert_eq!(
        streams.register(QueryId(1), query, Time(0)),
        Err(gone.clone())
    );
    assert_eq!(streams.sealed(HERE, stream, SealPoint::whole(1)), Err(gone));
    let other = streams.create(grained("s", 100), Time(0)).unwrap();
    assert_ne!(other, stream, "numbers are not given twice");
    let early = streams.sealed(HERE, other, SealPoint::whole(1));
    assert!(matches!(early, Err(StreamError::Unsealed { .. })));
}

/// A query that is paused or registered again goes on where it is told to, and doubles nothing.
#[test]
fn a_query_goes_on_where_it_was() {
    let mut streams = Streams::new();
    let kept = Definition {
        retain_ms: 10_000,
        ..grained("s", 100)
    };
    let stream = streams.create(kept, Time(0)).unwrap();
    let query = schedule(&[range(stream, 100, 100, Bounds::LeftClosed)], CLOSE);
    streams
        .register(QueryId(1), query.clone(), Time(0))
        .unwrap();
    streams.push(stream, SOURCE, &at(&[50, 150, 300])).unwrap();
    assert_eq!(closes(&drain(&mut streams)), [100, 200, 300]);
    streams.pause(QueryId(1)).unwrap();
    streams.push(stream, SOURCE, &at(&[350, 600])).unwrap();
    assert!(drain(&mut streams).is_empty());
    let progress = streams.progress(QueryId(1)).unwrap();
    assert_eq!(progress, Time(301));
    streams.resume(QueryId(1), Time(0)).unwrap();
    assert_eq!(closes(&drain(&mut streams)), [400, 500, 600]);
    streams.unregister(QueryId(1)).unwrap();
    streams.register(QueryId(1), query, progress).unwrap();
    assert_eq!(closes(&drain(&mut streams)), [400, 500, 600]);
    assert_eq!(
        streams.resume(QueryId(7), Time(0)),
        Err(StreamError::NoQuery(QueryId(7)))
    );
}

/// Nothing waits for a query that is paused: what it alone would wait for is decided without it.
#[test]
fn a_query_that_is_paused_holds_up_nobody() {
    let (mut streams, five) = five(|number| grained(&format!("s{number}"), 100));
    let patient = stream::Schedule {
        lateness_ms: 60_000,
        ..schedule(&[each(five[0])], CLOSE)
    };
    let mut register = |query, schedule| {
        let registered = streams.register(QueryId(query), schedule, Time(0));
        registered.unwrap();
    };
    register(0, patient);
    register(1, schedule(&[each(five[0])], CLOSE));
    streams.push(five[0], SOURCE, &at(&[50, 1000])).unwrap();
    assert!(drain(&mut streams).is_empty(), "all wait for what is late");
    streams.pause(QueryId(0)).unwrap();
    let ready = drain(&mut streams);
    assert_eq!(closes(&ready), [500, 600, 700, 800, 900, 1000]);
    assert!(ready.iter().all(|one| one.query == QueryId(1)));
    streams.resume(QueryId(0), Time(0)).unwrap();
    assert_eq!(
        closes(&drain(&mut streams)),
        closes(&ready),
        "it has them, too"
    );
    streams.push(five[0], SOURCE, &at(&[2000])).unwrap();
    assert!(drain(&mut streams).is_empty(), "all wait again");
}

/// A window that is over before its instant is ready at once; what sees the stored graph waits until all is stored that the
/// instant covers.
#[test]
fn what_sees_the_stored_graph_waits_for_the_batches_of_its_instant() {
    let (mut streams, five) = five(|number| grained(&format!("s{number}"), 100));
    let periodic = Report {
        when: When::Periodic { period_ms: 150 },
        ..CLOSE
    };
    let alone = schedule(&[range(five[0], 500, 500, Bounds::LeftClosed)], periodic);
    let stored = stream::Schedule {
        sees_stored: true,
        ..alone.clone()
    };
    let earlier = schedule(
        &[stream::ScheduledWindow {
            extent: Extent::Past {
                from_ms: 500,
                to_ms: 300,
                step_ms: 100,
                origin: Origin::Epoch { offset_ms: 50 },
            },
            ..each(five[0])
        }],
        CLOSE,
    );
    let earlier_stored = stream::Schedule {
        sees_stored: true,
        ..earlier.clone()
    };
    for (query, schedule) in (0..).zip([alone, stored, earlier, earlier_stored]) {
        streams.register(QueryId(query), schedule, Time(0)).unwrap();
    }
    let came = |streams: &mut Streams, covered_ms: u64| {
        streams
            .watermark(five[0], SOURCE, Time(covered_ms))
            .unwrap();
        let ready = drain(streams);
        let of_query = |query| {
            let ready = ready.iter().filter(|one| one.query == QueryId(query));
            closes(&ready.cloned().collect::<Vec<_>>())
        };
        [0, 1, 2, 3].map(of_query)
    };
    // The window of 500 ms holds to 1000; 650 is of the batch that ends at 600.
    let first = [vec![600, 750, 900], vec![], vec![550, 650, 750], vec![550]];
    assert_eq!(came(&mut streams, 500), first);
    let second = [vec![], vec![600], vec![850], vec![650]];
    assert_eq!(came(&mut streams, 600), second);
    let third = [vec![], vec![750], vec![950], vec![750]];
    assert_eq!(came(&mut streams, 700), third);
}

/// Which graph is still to be seen: the next close is known where closes are fixed, and what reads nothing that is stored needs none.
#[test]
fn the_next_close_of_what_sees_the_stored_graph_is_told() {
    let (mut streams, five) = five(|number| grained(&format!("s{number}"), 100));
    let minute = |stream| schedule(&[range(stream, 60_000, 1000, Bounds::LeftClosed)], CLOSE);
    let stored = |schedule| stream::Schedule {
        sees_stored: true,
        ..schedule
    };
    let both = [five[0], five[3]].map(|stream| range(stream, 500, 500, Bounds::LeftClosed));
    let asked = [
        minute(five[0]),
        stored(minute(five[1])),
        stored(schedule(
            &[range(five[2], 60_000, 1000, Bounds::LeftClosed)],
            NONEMPTY,
        )),
        stored(schedule(&both, CLOSE)),
    ];
    for (query, schedule) in (0..).zip(asked) {
        streams.register(QueryId(query), schedule, Time(0)).unwrap();
    }
    // What comes late may fill a window that was stepped over.
    let revised = stream::Schedule {
        revise_ms: Some(10_000),
        ..stored(schedule(&[each(five[4])], NONEMPTY))
    };
    streams.register(QueryId(9), revised, Time(0)).unwrap();
    for &stream in &five {
        streams.watermark(stream, SOURCE, Time(700)).unwrap();
    }
    drain(&mut streams);
    let mut next = streams.next_closes();
    let mut next_of = |streams: &[StreamId]| next.remove(&streams.iter().copied().collect());
    assert_eq!(next_of(&[five[0], five[3]]), Some(Time(1000)));
    // Whoever comes begins with the open batch; the window of a minute is whole later.
    for &stream in &five[..4] {
        assert_eq!(next_of(&[stream]), Some(Time(700)));
    }
    assert_eq!(next_of(&[five[4]]), Some(Time(0)));
    assert!(next.is_empty(), "nobody else asks: {next:?}");
    for &stream in &five {
        streams.watermark(stream, SOURCE, Time(59_950)).unwrap();
    }
    drain(&mut streams);
    let next = streams.next_closes();
    let of_two = BTreeSet::from([five[0], five[3]]);
    assert_eq!(next.get(&of_two), Some(&Time(60_000)));
}
