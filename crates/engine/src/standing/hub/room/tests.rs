//! Streams are on the account of their database: what they hold is said, who floods waits, and others go on.

use crate::error::Kind;
use crate::standing::hub::Hub;
use crate::standing::journal::Journals;
use crate::standing::{HubStream, TimedQuads, read_standing, recorded};
use crate::{Database, Options, testing};
use std::fmt::Write;
use std::ops::ControlFlow;
use std::sync::Arc;

const FLOOD: &str = "urn:flood";
const CALM: &str = "urn:calm";

/// A database with a small pool, and two streams that store nothing.
fn bench(pool_bytes: u64) -> (Database, Hub) {
    let options = Options {
        memory_pool_bytes: pool_bytes,
        memory_is_writable: true,
        ..Options::default()
    };
    let database = testing::empty(&options);
    let mut hub = Hub::new(database.clone());
    for name in [FLOOD, CALM] {
        let stream = HubStream {
            absorb: Some(Vec::new()),
            ..HubStream::new(name)
        };
        hub.create(&stream, 0).unwrap();
    }
    (database, hub)
}

fn ask(database: &Database, hub: &mut Hub, name: &str, stream: &str, at_ms: u64) {
    let text = format!(
        "#@ report=close partial_first=yes\nSELECT (COUNT(*) AS ?n) FROM NAMED WINDOW <urn:w> ON <{stream}> \
         [RANGE PT600S STEP PT1S] WHERE {{ WINDOW <urn:w> {{ <urn:nobody> <urn:at> ?o }} }}"
    );
    let query = read_standing(database, &text).unwrap();
    hub.register(query, name, at_ms).unwrap();
}

/// Items of one second, each of a triple that was not there before.
fn items(second: u64, count: u64) -> Vec<TimedQuads> {
    let mut lines = String::new();
    for item in 0..count {
        let time = second * 1000 + item % 1000;
        writeln!(
            lines,
            "{time}\t<urn:p{second}-{item}> <urn:at> <urn:q{item}> ."
        )
        .unwrap();
    }
    let items = recorded(Some("test"), lines.as_bytes());
    items.map(Result::unwrap).collect()
}

/// All streams have come so far; the least moment before which some report says that something is missing.
fn until(hub: &mut Hub, second: u64) -> Option<u64> {
    for stream in [FLOOD, CALM] {
        hub.watermark(stream, "", second * 1000).unwrap();
    }
    let mut missing = None;
    let taken = hub.advance(&mut |reported| {
        assert_eq!(reported.report.failure, None);
        missing = missing.or(reported.report.incomplete_before_ms);
        Ok(ControlFlow::Continue(()))
    });
    assert!(taken.unwrap().is_continue());
    missing
}

fn held(hub: &Hub) -> u64 {
    hub.streams().iter().map(|stream| stream.held_bytes).sum()
}

#[test]
fn a_stream_that_floods_waits_and_others_go_on() {
    const POOL: u64 = 8 << 20;
    let (database, mut hub) = bench(POOL);
    ask(&database, &mut hub, "long", FLOOD, 0);
    let mut second = 0;
    let refused = loop {
        match hub.push(FLOOD, "", None, &items(second, 1000), None) {
            Ok(accepted) => assert_eq!(accepted.taken, 1000),
            Err(refused) => break refused,
        }
        second += 1;
        assert_eq!(until(&mut hub, second), None, "nothing is lost");
        assert_eq!(database.pool().stream_bytes(), held(&hub));
        assert!(second < 1000, "it is never full");
    };
    assert_eq!(refused.kind, Kind::Memory, "{refused}");
    assert!(refused.limit.is_some_and(|limit| limit < POOL) && refused.hint.is_some());
    assert!(held(&hub) > POOL / 2 && held(&hub) < POOL);
    // Nothing of what was refused is there, and the other stream has its room.
    let before = hub.stream_info(FLOOD).unwrap().items;
    assert_eq!(before, second * 1000);
    let accepted = hub.push(CALM, "", None, &items(second, 100), None).unwrap();
    assert_eq!(accepted.taken, 100);
    until(&mut hub, second + 1);
    // What no window reaches makes room.
    hub.unregister("long").unwrap();
    hub.push(FLOOD, "", None, &items(second + 1, 1000), None)
        .unwrap();
    until(&mut hub, second + 2);
    assert!(held(&hub) < POOL / 4, "{} bytes are held", held(&hub));
    // A window that is registered now says that it is not whole.
    ask(&database, &mut hub, "again", FLOOD, (second + 2) * 1000);
    assert!(until(&mut hub, second + 3).is_some());
}

#[test]
fn reports_that_are_kept_are_on_the_account_and_all_is_given_back() {
    let (database, mut hub) = bench(64 << 20);
    ask(&database, &mut hub, "long", FLOOD, 0);
    hub.push(FLOOD, "", None, &items(0, 1000), None).unwrap();
    until(&mut hub, 1);
    let streams = held(&hub);
    assert!(streams > 0);
    let journals = Arc::new(Journals::new(64 << 20));
    journals.open("long");
    hub.keep_in(Arc::clone(&journals));
    journals.add("long", "x".repeat(5000).into(), None);
    hub.say_held();
    assert!(journals.bytes() >= 5000);
    assert_eq!(database.pool().stream_bytes(), streams + journals.bytes());
    drop(hub);
    assert_eq!(database.pool().stream_bytes(), 0);
}

/// C-10: a retained triple takes at most 14 bytes with its share of indexes, and the counters say so.
#[test]
fn a_retained_triple_is_small() {
    let (database, mut hub) = bench(1 << 30);
    ask(&database, &mut hub, "long", FLOOD, 0);
    for second in 0..60 {
        // People again and again, each at another place.
        let mut lines = String::new();
        for item in 0..2000 {
            let (time, place) = (second * 1000 + item / 2, item * 60 + second);
            writeln!(
                lines,
                "{time}\t<urn:p{}> <urn:at> <urn:q{place}> .",
                item * 7 % 2000
            )
            .unwrap();
        }
        let read: Vec<_> = recorded(Some("test"), lines.as_bytes())
            .map(Result::unwrap)
            .collect();
        hub.push(FLOOD, "", None, &read, None).unwrap();
        until(&mut hub, second + 1);
    }
    let info = hub.stream_info(FLOOD).unwrap();
    assert_eq!((info.items, info.quads), (120_000, 120_000));
    let bytes = info.item_bytes + info.slice_bytes;
    assert!(
        bytes <= 14 * info.quads,
        "{:.2} bytes a triple",
        bytes as f64 / 120_000.0
    );
    let beside = info.open_bytes + info.term_bytes + info.source_bytes;
    assert_eq!(beside + bytes, info.held_bytes);
}

/// Whatever is long in an item is asked for before it is taken: its subject, predicate, object, or graph.
#[test]
fn an_item_is_asked_for_with_all_its_terms() {
    let long = "x".repeat(9 << 20);
    for line in [
        format!("0\t<urn:{long}> <urn:p> <urn:o> <urn:g> ."),
        format!("0\t<urn:s> <urn:{long}> <urn:o> <urn:g> ."),
        format!("0\t<urn:s> <urn:p> <urn:{long}> <urn:g> ."),
        format!("0\t<urn:s> <urn:p> \"1\"^^<urn:{long}> <urn:g> ."),
        format!("0\t<urn:s> <urn:p> <urn:o> <urn:{long}> ."),
    ] {
        let (_, mut hub) = bench(8 << 20);
        let item = recorded(Some("test"), line.as_bytes())
            .next()
            .unwrap()
            .unwrap();
        let refused = hub.push(FLOOD, "", None, &[item], None).unwrap_err();
        assert_eq!(refused.kind, Kind::Memory, "{}", &line[..40]);
    }
}

/// What a query writes and finds no room, and what it cannot make, is told to whoever reads the stream: windows that hold the
/// moment say that something is missing, and the query says why. The others go on.
#[test]
fn what_a_query_cannot_write_is_a_gap_of_its_stream() {
    let (database, mut hub) = bench(64 << 20);
    let made = HubStream {
        absorb: Some(Vec::new()),
        budget_bytes: 16 << 10,
        ..HubStream::new("urn:made")
    };
    hub.create(&made, 0).unwrap();
    let window = "[RANGE PT1S STEP PT1S]";
    let makes = format!(
        "REGISTER STREAM <urn:made> AS CONSTRUCT {{ ?s <urn:is> ?o }} FROM STREAM <{FLOOD}> {window} \
         WHERE {{ GRAPH <{FLOOD}> {{ ?s <urn:at> ?o }} }}"
    );
    let query = read_standing(&database, &makes).unwrap();
    hub.register(query, "makes", 0).unwrap();
    let reads = "SELECT ?s FROM NAMED WINDOW <urn:w> ON <urn:made> [RANGE PT2S STEP PT1S] \
                 WHERE { WINDOW <urn:w> { ?s <urn:is> ?o } }";
    let query = read_standing(&database, reads).unwrap();
    hub.register(query, "reads", 0).unwrap();
    let mut told = Vec::new();
    for second in 0..6 {
        let count = if second == 1 { 1000 } else { 1 };
        hub.push(FLOOD, "", None, &items(second, count), None)
            .unwrap();
        hub.watermark(FLOOD, "", second * 1000 + 1000).unwrap();
        let taken = hub.advance(&mut |reported| {
            let report = reported.report;
            if report.query == "reads" {
                told.push((
                    report.close_ms,
                    report.rows.len(),
                    report.incomplete_before_ms,
                ));
            }
            Ok(ControlFlow::Continue(()))
        });
        assert!(taken.unwrap().is_continue());
        let queries = hub.queries();
        let info = queries.iter().find(|query| query.name == "urn:made");
        let info = info.expect("it is called by its stream");
        let has_failed = second == 1;
        assert_eq!(
            info.failure.is_some(),
            has_failed,
            "{second}: {:?}",
            info.failure
        );
        assert_eq!(info.failures, u64::from(second >= 1));
    }
    // What was made at 2000 is missing in the two windows that would hold it.
    let missing = Some(2001);
    let expected = [
        (2000, 1, None),
        (3000, 1, missing),
        (4000, 1, missing),
        (5000, 2, None),
        (6000, 2, None),
    ];
    assert_eq!(told, expected);
}

/// No push waits because of reports that are kept for those who come late: the oldest of them go.
#[test]
fn reports_that_are_kept_make_room_for_what_comes() {
    const POOL: u64 = 8 << 20;
    let (database, mut hub) = bench(POOL);
    // Far more than they would ever hold.
    let journals = Arc::new(Journals::new(u64::MAX));
    for query in 0..135 {
        journals.open(&query.to_string());
        for _ in 0..16 {
            journals.add(&query.to_string(), "x".repeat(4 << 10).into(), None);
        }
    }
    hub.keep_in(Arc::clone(&journals));
    let before = journals.bytes();
    assert!(before > POOL && database.pool().stream_bytes() >= before);
    hub.push(FLOOD, "", None, &items(0, 1000), None).unwrap();
    let after = journals.bytes();
    assert!(after < POOL && after > POOL / 2, "{after} bytes are left");
    let read = |query: &str| journals.lock()[query].after(0, None, 100);
    assert_eq!(read("0").missed + read("0").entries.len() as u64, 16);
    assert!(read("0").missed > 0 && read("134").missed == 0);
}
