//! Leaps that are refused, and those that are none.

use crate::error::{Kind, QueryError};
use crate::standing::hub::Hub;
use crate::standing::{HubStream, TimedQuads, read_standing, recorded};
use crate::{Database, Options, testing};
use std::ops::ControlFlow;

/// 2026-11-26, in milliseconds.
const TODAY_MS: u64 = 1_795_651_200_000;

fn hub() -> (Database, Hub) {
    let options = Options {
        memory_is_writable: true,
        ..Options::default()
    };
    let database = testing::empty(&options);
    let mut hub = Hub::new(database.clone());
    for name in ["urn:a", "urn:b"] {
        let stream = HubStream {
            idle_ms: Some(1000),
            ..HubStream::new(name)
        };
        hub.create(&stream, 0).unwrap();
    }
    (database, hub)
}

fn ask(database: &Database, hub: &mut Hub, pragmas: &str, streams: &[&str]) {
    let windows = streams.iter().map(|stream| {
        let name = stream.replace("urn:", "urn:w-");
        format!("FROM NAMED WINDOW <{name}> ON <{stream}> [RANGE PT1S STEP PT0.1S] ")
    });
    let windows: String = windows.collect();
    let text = format!(
        "#@ {pragmas}\nSELECT * {windows} WHERE {{ WINDOW <urn:w-{}> {{ ?s ?p ?o }} }}",
        &streams[0]["urn:".len()..]
    );
    let query = read_standing(database, &text).unwrap();
    let name = format!("q{}", hub.queries().len());
    hub.register(query, &name, 0).unwrap();
}

fn at(time_ms: u64) -> Vec<TimedQuads> {
    let line = format!("{time_ms}\t<urn:s> <urn:p> <urn:o> .");
    recorded(Some("test"), line.as_bytes())
        .map(Result::unwrap)
        .collect()
}

/// How many reports there are after a push.
fn pushed(hub: &mut Hub, stream: &str, time_ms: u64) -> Result<usize, QueryError> {
    hub.push(stream, "", None, &at(time_ms), None)?;
    let mut reports = 0;
    let advanced = hub.advance(&mut |_| {
        reports += 1;
        Ok(ControlFlow::Continue(()))
    });
    assert!(advanced.unwrap().is_continue());
    Ok(reports)
}

#[test]
fn what_would_close_the_windows_of_decades_is_refused() {
    let (database, mut hub) = hub();
    ask(&database, &mut hub, "report=close", &["urn:a"]);
    for refused in [
        pushed(&mut hub, "urn:a", TODAY_MS).unwrap_err(),
        hub.watermark("urn:a", "", TODAY_MS).unwrap_err(),
    ] {
        assert_eq!(refused.kind, Kind::Syntax);
        for part in ["<urn:a> has come to 0 ms", "`q0`", "17956512000 windows"] {
            assert!(refused.message.contains(part), "{refused}");
        }
        assert!(refused.hint.unwrap().contains("report=close,nonempty"));
    }
    // Nothing of it was taken: the stream goes on where it was, and others go where they want.
    assert_eq!(pushed(&mut hub, "urn:a", 2050), Ok(11));
    assert_eq!(pushed(&mut hub, "urn:b", TODAY_MS), Ok(0));
    hub.unregister("q0").unwrap();
    assert_eq!(pushed(&mut hub, "urn:a", TODAY_MS), Ok(0));
}

#[test]
fn windows_that_are_empty_cost_nothing_where_they_are_not_reported() {
    let (database, mut hub) = hub();
    ask(&database, &mut hub, "report=close,nonempty", &["urn:a"]);
    assert_eq!(pushed(&mut hub, "urn:a", 2050), Ok(0));
    // The windows that hold the item of before.
    assert_eq!(pushed(&mut hub, "urn:a", TODAY_MS), Ok(10));
}

#[test]
fn an_idle_stream_that_would_be_taken_along_counts() {
    let (database, mut hub) = hub();
    ask(&database, &mut hub, "report=close", &["urn:a"]);
    ask(
        &database,
        &mut hub,
        "report=close,nonempty",
        &["urn:b", "urn:a"],
    );
    hub.tick(1);
    hub.tick(10_000);
    let refused = pushed(&mut hub, "urn:b", TODAY_MS).unwrap_err();
    assert!(refused.message.contains("<urn:a>"), "{refused}");
    hub.unregister("q0").unwrap();
    assert_eq!(pushed(&mut hub, "urn:b", TODAY_MS), Ok(0));
}

/// Silence of days is made up for.
#[test]
fn a_long_silence_is_reported_window_by_window() {
    let (database, mut hub) = hub();
    ask(&database, &mut hub, "report=close", &["urn:a"]);
    let hours = 1;
    let closes = pushed(&mut hub, "urn:a", hours * 3_600_000).unwrap();
    assert_eq!(closes as u64, hours * 36_000 - 9);
}
