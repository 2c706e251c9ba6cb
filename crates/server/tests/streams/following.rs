//! Consumers by WebSocket: of reports, and of live queries.

use super::client::encoded;
use super::served::*;
use super::socket::Socket;
use serde_json::{Value, json};
use server::ServerOptions;
use somersault::SubscriptionLimits;
use std::time::{Duration, Instant};

const REPORTS: &str = "/api/v1/continuous/q/reports";
const ALL: &str = "SELECT ?o { ?s <http://e/p> ?o }";

fn subscribe(query: &str, parameters: &str) -> String {
    format!("/api/v1/subscribe?query={}{parameters}", encoded(query))
}

fn numbers(socket: &mut Socket, count: usize) -> Vec<u64> {
    let number = |_| socket.json()["number"].as_u64().unwrap();
    (0..count).map(number).collect()
}

#[test]
fn reports_come_as_they_happen_and_go_on_where_one_was() {
    let served = Served::asked();
    served.like_in(0..2);
    let mut socket = served.socket(REPORTS, &[]);
    let first = socket.json();
    assert_eq!(
        (
            &first["number"],
            &first["report"]["results"]["bindings"][0]["who"]["value"]
        ),
        (&json!(1), &json!("http://e/p0"))
    );
    served.like_in(2..4);
    assert_eq!(numbers(&mut socket, 3), [2, 3, 4]);
    let mut resumed = served.socket(&format!("{REPORTS}?after=3"), &[]);
    assert_eq!(numbers(&mut resumed, 1), [4]);
    served.until_metric("web_sockets", 2);
    // The query goes, and its consumers are told.
    assert_eq!(
        served.send("DELETE /api/v1/continuous/q", &[], "").status,
        204
    );
    for socket in [&mut socket, &mut resumed] {
        assert!(socket.json()["gone"]["detail"].is_string());
        assert_eq!(socket.closed().0, 1000);
    }
    served.until_metric("web_sockets", 0);
    served.until_consumers(0);
    for (path, status) in [
        (REPORTS.to_owned(), 404),
        (format!("{REPORTS}?wait=5s"), 400),
        (format!("{REPORTS}?after=x"), 400),
    ] {
        let answer = served.handshake(&path, &[]);
        answer.err().unwrap().problem(status);
    }
}

#[test]
fn a_consumer_that_reads_nothing_is_told_what_it_missed() {
    let served = Served::asked_with(ServerOptions {
        stall_timeout: Duration::from_mins(10),
        ..ServerOptions::default()
    });
    let mut socket = served.socket(REPORTS, &[]);
    served.until_consumers(1);
    // Forty reports of a megabyte, of which the journal keeps sixteen, and the connection some.
    let text = "x".repeat(1 << 20);
    for second in 0..40 {
        let line = format!(
            "{}\t<http://e/p> <http://e/likes> \"{text}\" .\n",
            second * 1000 + 500
        );
        served.pushed("", TS, &line);
    }
    served.until(40_000);
    let (mut seen, mut missed) = (0, 0);
    while seen < 40 {
        let message = socket.json();
        if let Some(count) = message["missed"].as_u64() {
            missed += count;
            seen += count;
            continue;
        }
        seen += 1;
        assert_eq!(message["number"], seen);
        let value = &message["report"]["results"]["bindings"][0]["what"]["value"];
        assert_eq!(value.as_str().map(str::len), Some(text.len()));
    }
    assert!(missed > 0, "the journal kept forty megabytes");
}

#[test]
fn a_live_query_is_followed() {
    let served = Served::new();
    let update = |text: &str| {
        let field = ["Content-Type: application/sparql-update"];
        assert_eq!(served.send("POST /update", &field, text).status, 204);
    };
    let rows = |value: &Value| value["bindings"].as_array().unwrap().len();
    let mut socket = served.socket(&subscribe(ALL, ""), &[]);
    let answer = socket.json();
    assert_eq!(
        (&answer["type"], rows(&answer["results"])),
        (&json!("answer"), 1)
    );
    update("INSERT DATA { <http://e/s> <http://e/p> 1 }");
    let change = socket.json();
    assert_eq!(
        (
            &change["type"],
            rows(&change["added"]),
            rows(&change["removed"])
        ),
        (&json!("difference"), 1, 0)
    );
    drop(socket);
    served.until_metric("live_query_consumers", 0);
    update("DELETE WHERE { ?s <http://e/p> 1 }");
    let after = format!("&after={}", answer["id"].as_str().unwrap());
    let mut resumed = served.socket(&subscribe(ALL, &after), &[]);
    // What came and went has cancelled; the next change is told.
    update("INSERT DATA { <http://e/s> <http://e/p> 2 }");
    let change = resumed.json();
    assert_eq!(
        (
            &change["type"],
            rows(&change["added"]),
            rows(&change["removed"])
        ),
        (&json!("difference"), 1, 0)
    );
    assert!(change["since"].as_u64() < Some(3), "{change}");
    // A long answer comes in frames, as one message.
    let many: Vec<String> = (0..20_000).map(|number| number.to_string()).collect();
    update(&format!(
        "INSERT DATA {{ <http://e/s> <http://e/p> {} }}",
        many.join(", ")
    ));
    let mut long = served.socket(&subscribe(ALL, ""), &[]);
    assert_eq!(rows(&long.json()["results"]), 20_001);
    for (query, status) in [("DESCRIBE <http://e/s>", 422), ("SELECT ?x { ?x ?p }", 400)] {
        let answer = served.handshake(&subscribe(query, ""), &[]);
        answer.err().unwrap().problem(status);
    }
}

#[test]
fn a_live_query_that_ends_says_why() {
    let served = Served::asked_with(ServerOptions {
        subscriptions: SubscriptionLimits {
            answer_bytes_max: 2000,
            ..SubscriptionLimits::default()
        },
        ..ServerOptions::default()
    });
    let mut socket = served.socket(&subscribe(ALL, ""), &[]);
    assert_eq!(socket.json()["type"], "answer");
    let many: Vec<String> = (0..40).map(|number| number.to_string()).collect();
    let text = format!(
        "INSERT DATA {{ <http://e/s> <http://e/p> {} }}",
        many.join(", ")
    );
    let field = ["Content-Type: application/sparql-update"];
    assert_eq!(served.send("POST /update", &field, &text).status, 204);
    let ended = socket.json();
    assert_eq!(
        (&ended["type"], &ended["limit"]),
        (&json!("ended"), &json!(2000))
    );
    assert_eq!(socket.closed().0, 1000);
}

#[test]
fn two_hundred_sockets_are_served_and_those_beyond_are_told_to_come_back() {
    const SOCKETS: usize = 200;
    let served = Served::asked_with(ServerOptions {
        web_sockets_max: SOCKETS,
        ..ServerOptions::default()
    });
    let mut all: Vec<Socket> = (0..SOCKETS).map(|_| served.socket(REPORTS, &[])).collect();
    served.until_metric("web_sockets", SOCKETS as u64);
    let beyond = served.handshake(REPORTS, &[]).err().unwrap();
    beyond.problem(503);
    assert!(beyond.has("retry-after"));
    served.like_in(0..3);
    for socket in &mut all {
        assert_eq!(numbers(socket, 3), [1, 2, 3]);
    }
    all.truncate(SOCKETS / 2);
    served.until_metric("web_sockets", SOCKETS as u64 / 2);
    assert_eq!(numbers(&mut served.socket(REPORTS, &[]), 3), [1, 2, 3]);
}

/// Consumers by events stay as long as those by sockets: together they leave room for sources, which have connections of their own.
#[test]
fn event_streams_beyond_the_number_of_sockets_are_told_to_come_back() {
    const PLACES: usize = 20;
    let served = Served::asked_with(ServerOptions {
        web_sockets_max: PLACES,
        connections_max: 32,
        ..ServerOptions::default()
    });
    let events = format!("GET {REPORTS}");
    let live = format!("GET {}", subscribe(ALL, ""));
    let mut sockets: Vec<Socket> = (0..4).map(|_| served.socket(REPORTS, &[])).collect();
    let mut followers: Vec<_> = (0..8).map(|_| served.events_of(&events, &[])).collect();
    followers.extend((0..8).map(|_| served.events_of(&live, &[])));
    served.until_metric("web_sockets", 4);
    served.until_metric("event_streams", 16);
    for line in [&events, &live] {
        let beyond = served.send(line, &[EVENTS], "");
        beyond.problem(503);
        assert!(beyond.has("retry-after"));
    }
    assert_eq!(served.handshake(REPORTS, &[]).err().unwrap().status, 503);
    // A source of the same address still has a connection.
    served.like_in(0..3);
    assert_eq!(numbers(&mut sockets[0], 3), [1, 2, 3]);
    followers.truncate(8);
    served.like_in(3..4);
    served.until_metric("event_streams", 8);
    followers.push(served.events_of(&live, &[]));
    served.until_metric("event_streams", 9);
    drop((sockets, followers));
    served.until_metric("event_streams", 0);
}

#[test]
fn sockets_are_let_go_when_the_server_ends() {
    let served = Served::asked();
    served.like_in(0..1);
    let mut reports = served.socket(REPORTS, &[]);
    let mut live = served.socket(&subscribe(ALL, ""), &[]);
    let mut source = served.socket(&items(LIKES), &[]);
    assert_eq!(numbers(&mut reports, 1), [1]);
    assert_eq!(live.json()["type"], "answer");
    assert_eq!(
        source.asked("5000\t<http://e/a> <http://e/likes> <http://e/b> .")["taken"],
        1
    );
    // One that does nothing at all, not even read.
    let silent = served.socket(REPORTS, &[]);
    let begun = Instant::now();
    let ending = std::thread::spawn(move || drop(served));
    for socket in [&mut reports, &mut live, &mut source] {
        assert_eq!(socket.closed().0, 1001);
    }
    drop((reports, live, source));
    ending.join().unwrap();
    assert!(
        begun.elapsed() < Duration::from_secs(10),
        "{:?}",
        begun.elapsed()
    );
    drop(silent);
}
