//! Consumers of reports get each of them once, wherever they begin, and hold up nobody.

use super::served::*;
use serde_json::{Value, json};
use std::time::{Duration, Instant};

#[test]
fn reports_are_read_from_where_one_was() {
    let served = Served::asked();
    let path = "/api/v1/continuous/q/reports";
    assert_eq!(
        served.get(path),
        json!({ "last": 0, "missed": 0, "reports": [] })
    );
    served.like_in(0..5);
    assert_eq!(numbers(&served.get(path)), [1, 2, 3, 4, 5]);
    let read = served.get(&format!("{path}?after=2&limit=2"));
    assert_eq!((numbers(&read), &read["last"]), (vec![3, 4], &json!(4)));
    let read = served.send(
        &format!("GET {path}?after=3"),
        &["Accept: application/x-ndjson"],
        "",
    );
    assert_eq!(read.field("content-type"), "application/x-ndjson");
    let lines: Vec<Value> = read
        .text()
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    assert_eq!(
        (&lines[0]["number"], &lines[1]["report"]["close"]),
        (&json!(4), &json!(5000))
    );
    // A number from before the server was started again: all are behind it.
    assert_eq!(
        numbers(&served.get(&format!("{path}?after=77"))),
        [1, 2, 3, 4, 5]
    );
    let begun = Instant::now();
    assert_eq!(
        numbers(&served.get(&format!("{path}?after=5&wait=300ms"))),
        [0; 0]
    );
    assert!(begun.elapsed() >= Duration::from_millis(300));
    for wrong in [
        "after=x",
        "wait=5",
        "wait=5y",
        "limit=-1",
        "afte=1",
        "after=1&after=2",
    ] {
        served
            .send(&format!("GET {path}?{wrong}"), &[], "")
            .problem(400);
    }
    served
        .send(&format!("GET {path}"), &[EVENTS, "Last-Event-ID: x"], "")
        .problem(400);
    let head = served.send(&format!("HEAD {path}?after=5&wait=20s"), &[], "");
    assert_eq!((head.status, head.body.len()), (200, 0));
}

#[test]
fn a_long_poll_waits_for_a_report_and_no_longer_than_its_query() {
    let served = Served::asked();
    std::thread::scope(|scope| {
        let poll = || served.send("GET /api/v1/continuous/q/reports?wait=20s", &[], "");
        let waiting = scope.spawn(poll);
        served.until_consumers(1);
        served.like_in(0..1);
        assert_eq!(numbers(&waiting.join().unwrap().json()), [1]);
        let poll = || served.send("GET /api/v1/continuous/q/reports?after=1&wait=20s", &[], "");
        let waiting = scope.spawn(poll);
        served.until_consumers(1);
        let gone = served.send("DELETE /api/v1/continuous/q", &[], "");
        assert_eq!(gone.status, 204);
        waiting.join().unwrap().problem(404);
    });
    served.until_consumers(0);
}

#[test]
fn events_come_as_they_happen_and_go_on_where_one_was() {
    let served = Served::asked();
    served.like_in(0..2);
    let mut events = served.events("", &[]);
    assert_eq!(events.line().unwrap(), "id: 1");
    let data = events.line().unwrap();
    let report: Value = serde_json::from_str(data.strip_prefix("data: ").unwrap()).unwrap();
    assert_eq!(
        report["results"]["bindings"][0]["who"]["value"],
        "http://e/p0"
    );
    assert_eq!(events.numbers(1), [2]);
    served.like_in(2..4);
    assert_eq!(events.numbers(2), [3, 4]);
    let mut resumed = served.events("?after=1", &["Last-Event-ID: 3"]);
    assert_eq!(resumed.numbers(1), [4]);
    assert_eq!(served.events("?after=2", &[]).numbers(2), [3, 4]);
    // The query goes, and its consumers are told.
    assert_eq!(
        served.send("DELETE /api/v1/continuous/q", &[], "").status,
        204
    );
    for events in [&mut events, &mut resumed] {
        assert_eq!(events.line().as_deref(), Some("event: gone"));
        assert!(events.line().unwrap().starts_with("data: "));
        assert_eq!(events.line(), None);
    }
    served.until_consumers(0);
}

#[test]
fn many_consumers_of_events_hold_up_nobody() {
    const CONSUMERS: u64 = 60;
    let served = Served::asked();
    let mut all: Vec<Events> = (0..CONSUMERS).map(|_| served.events("", &[])).collect();
    served.until_consumers(CONSUMERS);
    served.like_in(0..20);
    let expected: Vec<u64> = (1..=20).collect();
    for events in &mut all {
        assert_eq!(events.numbers(20), expected);
    }
    // Those that have gone are forgotten.
    drop(all);
    served.like_in(20..22);
    served.until_consumers(0);
}

#[test]
fn a_consumer_that_is_too_far_behind_is_told_what_it_missed() {
    let served = Served::asked();
    // Reports of a megabyte, of which the journal keeps sixteen.
    let text = "x".repeat(1 << 20);
    for second in 0..20 {
        let ms = second * 1000 + 500;
        served.pushed(
            "",
            TS,
            &format!("{ms}\t<http://e/p> <http://e/likes> \"{text}\" .\n"),
        );
    }
    served.until(20_000);
    let read = served.get("/api/v1/continuous/q/reports?limit=1");
    let missed = read["missed"].as_u64().unwrap();
    assert!(missed >= 4, "{missed}");
    assert_eq!(numbers(&read), [missed + 1]);
    let mut events = served.events("", &[]);
    assert_eq!(events.line().unwrap(), "event: missed");
    assert_eq!(
        events.line().unwrap(),
        format!("data: {{\"missed\":{missed}}}")
    );
    assert_eq!(events.line().unwrap(), format!("id: {}", missed + 1));
}

#[test]
fn consumers_of_events_do_not_keep_a_server_from_ending() {
    let served = Served::asked();
    let mut events = served.events("", &[]);
    served.like_in(0..1);
    assert_eq!(events.numbers(1), [1]);
    let begun = Instant::now();
    drop(served);
    assert_eq!(events.line(), None);
    assert!(
        begun.elapsed() < Duration::from_secs(10),
        "it waited for them"
    );
}
