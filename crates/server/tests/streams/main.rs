//! Streams and registered queries over the real engine and a real socket: what is pushed is found by those who ask, and
//! whoever may not change anything cannot.
//!
//! | file | about |
//! |---|---|
//! | `main` | streams, items, queries, rights |
//! | `figures` | what is said of streams and queries that stand |
//! | `items` | times that data bring, positions, what is wrong with items and spans |
//! | `reports` | consumers of reports |
//! | `live` | live queries |
//! | `snapshots` | older snapshots, by number |
//! | `formats` | reports and answers in the formats of one-shot queries |
//! | `pushing`, `following`, `attacks` | WebSockets: sources, consumers, strangers |
//! | `served`, `socket` | the server, a client of events, a client of WebSockets |

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod attacks;
#[allow(dead_code, reason = "shared with the unit tests, which use more of it")]
#[path = "../../src/tests/client.rs"]
mod client;
mod figures;
mod following;
mod formats;
mod items;
mod live;
mod pushing;
mod reports;
mod served;
mod snapshots;
mod socket;

use client::encoded;
use serde_json::{Value, json};
use served::*;
use server::Access;
use somersault::config::{Right, Token};
use std::fmt::Write as _;

#[test]
fn a_stream_is_made_seen_and_forgotten() {
    let served = Served::new();
    assert_eq!(served.get("/api/v1/streams")["streams"], json!([]));
    let made = served.stream(
        LIKES,
        json!({
            "grain": "250ms", "lateness": "1s", "idle": "never", "absorb": ["http://e/likes"],
            "into": "http://e/graph", "arrival_time": false, "budget": "1MiB", "begin": 5000,
        }),
    );
    assert_eq!(
        made.field("location"),
        "/api/v1/streams/http%3A%2F%2Fe%2Flikes-stream"
    );
    let seen = served.get(made.field("location"));
    for (member, expected) in [
        ("name", json!(LIKES)),
        ("grain", json!("250ms")),
        ("lateness", json!("1000ms")),
        ("idle", json!("never")),
        ("absorb", json!(["http://e/likes"])),
        ("into", json!("http://e/graph")),
        ("arrival_time", json!(false)),
        ("budget_bytes", json!(1 << 20)),
        ("queries", json!([])),
        ("settled", json!(5000)),
    ] {
        assert_eq!(seen[member], expected, "{member}");
    }
    served.stream("http://e/other", json!({ "absorb": "none" }));
    let names = served.get("/api/v1/streams");
    assert_eq!(names["streams"][0]["name"], LIKES);
    assert_eq!(names["streams"][1]["absorb"], "none");
    assert_eq!(names["streams"][1]["idle"], "5000ms");
    let twice = json!({ "name": LIKES, "begin": 0 }).to_string();
    served
        .send("POST /api/v1/streams", &[JSON], &twice)
        .problem(409);
    let one = at(LIKES);
    assert_eq!(served.send(&format!("DELETE {one}"), &[], "").status, 204);
    served.send(&format!("DELETE {one}"), &[], "").problem(404);
    served.send(&format!("GET {one}"), &[], "").problem(404);
    served.send(&format!("PUT {one}"), &[], "").problem(405);
}

#[test]
fn what_defines_no_stream_is_refused() {
    let served = Served::new();
    for (definition, status, said) in [
        ("", 400, "EOF"),
        ("{", 400, "EOF"),
        ("[1]", 400, "string"),
        (r#"{"name": "likes"}"#, 400, "name"),
        (r#"{"grain": "1s"}"#, 400, "missing field `name`"),
        (r#"{"name": "http://e/s", "grains": "1s"}"#, 400, "grains"),
        (r#"{"name": "http://e/s", "grain": "100"}"#, 400, "grain"),
        (
            r#"{"name": "http://e/s", "grain": "1us"}"#,
            400,
            "whole milliseconds",
        ),
        (r#"{"name": "http://e/s", "grain": "0ms"}"#, 422, "grain"),
        (
            r#"{"name": "http://e/s", "grain": "9999999h"}"#,
            422,
            "grain",
        ),
        (r#"{"name": "http://e/s", "absorb": "some"}"#, 400, "absorb"),
        (r#"{"name": "http://e/s", "absorb": ["some"]}"#, 400, "IRI"),
        (r#"{"name": "http://e/s", "into": "here"}"#, 400, "into"),
    ] {
        let answer = served.send("POST /api/v1/streams", &[JSON], definition);
        let detail = answer.problem(status)["detail"].to_string();
        assert!(detail.contains(said), "{definition}: {detail}");
    }
    let named = r#"{"name": "http://e/s"}"#;
    served
        .send("POST /api/v1/streams", &[TEXT], named)
        .problem(415);
    served
        .send("POST /api/v1/streams?nam=x", &[JSON], named)
        .problem(400);
    assert_eq!(served.get("/api/v1/streams")["streams"], json!([]));
}

#[test]
fn items_come_in_each_form() {
    let served = Served::asked();
    let line =
        |ms: u64, who: &str| format!("{ms}\t<http://e/{who}> <http://e/likes> <http://e/x> .\n");
    let account = served.pushed("?source=a", TS, &(line(100, "a") + &line(150, "b")));
    assert_eq!(
        account,
        json!({
            "taken": 2, "late": 0, "rejected": 0, "settled": 100, "sealed": 100, "latest": 150, "durable": null,
        })
    );
    let quad = "<http://e/c> <http://e/likes> <http://e/x> .";
    served.pushed("?source=a&time=200", NQUADS, quad);
    let turtle = "@prefix : <http://e/> . :d :likes :x , :y .";
    let account = served.pushed("?source=a&time=300", "Content-Type: text/turtle", turtle);
    assert_eq!(
        (&account["taken"], &account["settled"]),
        (&json!(1), &json!(300))
    );
    let linked = r#"{"@id": "http://e/e", "http://e/likes": {"@id": "http://e/x"}}"#;
    served.pushed(
        "?source=a&time=400",
        "Content-Type: application/ld+json",
        linked,
    );
    let objects = "{\"t\": 500, \"nquads\": \"<http://e/f> <http://e/likes> <http://e/x> .\"}\n\n\
                   {\"nquads\": \"<http://e/g> <http://e/likes> <http://e/x> .\"}\n{\"watermark\": 1000}\n";
    let account = served.pushed("?source=a&time=600", NDJSON, objects);
    assert_eq!(
        (&account["taken"], &account["settled"]),
        (&json!(2), &json!(1000))
    );
    let read = served.get("/api/v1/continuous/q/reports");
    assert_eq!(read["reports"][0]["report"]["close"], 1000);
    let rows = read["reports"][0]["report"]["results"]["bindings"]
        .as_array()
        .unwrap();
    // One for each of a to g, and two for d.
    assert_eq!(rows.len(), 8, "{rows:?}");
    // What is absorbed is in the graph.
    let query = encoded("SELECT (COUNT(*) AS ?n) { ?s <http://e/likes> ?o }");
    let line = format!("GET /sparql?query={query}");
    let answer = served.send(&line, &["Accept: application/sparql-results+json"], "");
    assert_eq!(answer.json()["results"]["bindings"][0]["n"]["value"], "8");
}

#[test]
fn a_malformed_line_is_rejected_alone() {
    let served = Served::asked();
    let good = "<http://e/a> <http://e/likes> <http://e/x> .";
    let lines = format!("100\t{good}\n100 {good}\n100\t<http://e/a> .\n\u{1}\n200\t{good}\n");
    let account = served.pushed("", TS, &lines);
    assert_eq!(
        (&account["taken"], &account["rejected"]),
        (&json!(2), &json!(3))
    );
    let places = account["rejections"].as_array().unwrap();
    let places: Vec<&Value> = places.iter().map(|rejection| &rejection["line"]).collect();
    assert_eq!(places, [2, 3, 4]);
    let objects = format!(
        "{{\"t\": 300, \"nquads\": \"{good}\"}}\n{{\"t\": -1}}\nnull\n{{\"t\": 1, \"watermark\": 2}}\n\
         {{\"nquads\": \"{good}\"}}\n{{\"t\": 300, \"nquads\": \"nonsense\"}}\n{{\"t\": 300, \"nquads\": \"\"}}"
    );
    let account = served.pushed("", NDJSON, &objects);
    assert_eq!(
        (&account["taken"], &account["rejected"]),
        (&json!(1), &json!(6))
    );
    let message = account["rejections"][3]["message"].as_str().unwrap();
    assert!(message.contains("needs a time"), "{message}");
    let account = served.pushed("?time=400", NQUADS, &format!("{good}\nnonsense\n"));
    assert_eq!(
        (&account["taken"], &account["rejections"][0]["line"]),
        (&json!(1), &json!(2))
    );
    // Many of them are counted, and some are listed.
    let many = "nonsense\n".repeat(5000) + &format!("500\t{good}\n");
    let account = served.pushed("", TS, &many);
    assert_eq!(account["rejected"], 5000);
    assert_eq!(account["rejections"].as_array().unwrap().len(), 100);
}

#[test]
fn a_body_of_which_nothing_is_well_formed_is_refused() {
    let served = Served::asked();
    let good = "<http://e/a> <http://e/likes> <http://e/x> .";
    let problem = served.push("", TS, "\u{0}\u{1}garbage").problem(400);
    assert_eq!(problem["position"]["line"], 1);
    served.push("", NDJSON, "[[[[[[\n}").problem(400);
    served.push("?time=1", NQUADS, "garbage").problem(400);
    let problem = served
        .push(
            "?time=1",
            "Content-Type: text/turtle",
            "<http://e/a> <http://e/b>\n c .",
        )
        .problem(400);
    assert_eq!(problem["position"]["line"], 2);
    let nested = "[".repeat(20_000);
    for media_type in [
        "application/ld+json",
        "application/trig",
        "application/x-ndjson",
    ] {
        let field = format!("Content-Type: {media_type}");
        served.push("?time=1", &field, &nested).problem(400);
    }
    let problem = served.push("", NQUADS, good).problem(400);
    assert!(problem["hint"].to_string().contains("time="), "{problem}");
    let object = format!("{{\"nquads\": \"{good}\"}}");
    let problem = served.push("", NDJSON, &object).problem(400);
    assert!(problem["hint"].to_string().contains("time="), "{problem}");
    served
        .push("?time=1", TS, &format!("1\t{good}"))
        .problem(400);
    served.push("?time=soon", NQUADS, good).problem(400);
    served.push("?tim=1", NQUADS, good).problem(400);
    served.push("", TS, "").problem(400);
    let problem = served
        .push("", "Content-Type: image/png", good)
        .problem(415);
    assert!(
        problem["offered"]
            .to_string()
            .contains("application/x-nt-ts")
    );
    let elsewhere = format!("POST {}", items("http://e/none"));
    served
        .send(&elsewhere, &[TS], &format!("1\t{good}"))
        .problem(404);
    served
        .send(&format!("GET {}", items(LIKES)), &[], "")
        .problem(426);
    assert_eq!(served.pushed("", TS, &format!("1\t{good}"))["taken"], 1);
}

#[test]
fn an_item_that_is_late_is_counted() {
    let served = Served::asked();
    served.until(5000);
    let account = served.pushed("", TS, "4000\t<http://e/a> <http://e/likes> <http://e/x> .");
    assert_eq!(
        (&account["taken"], &account["late"]),
        (&json!(0), &json!(1))
    );
}

#[test]
fn a_stream_of_arrival_time_needs_no_time() {
    let served = Served::new();
    served.stream(LIKES, json!({ "arrival_time": true, "absorb": "none" }));
    served.register("q", QUESTION);
    // Nothing came before it was made, so a window of an hour is whole.
    served.register("hour", &QUESTION.replacen("RANGE PT1S", "RANGE PT1H", 1));
    let account = served.pushed("", NQUADS, "<http://e/a> <http://e/likes> <http://e/x> .");
    assert_eq!(account["taken"], 1);
    let read = served.get("/api/v1/continuous/hour/reports?wait=20s");
    assert_eq!(
        read["reports"][0]["report"]["results"]["bindings"][0]["who"]["value"],
        "http://e/a"
    );
    assert_eq!(
        served.get("/api/v1/continuous/hour")["windows"][0]["range"],
        3_600_000
    );
    let read = served.get("/api/v1/continuous/q/reports?wait=20s");
    assert_eq!(numbers(&read), [1]);
    let rows = &read["reports"][0]["report"]["results"]["bindings"];
    assert_eq!(rows[0]["who"]["value"], "http://e/a");
}

#[test]
fn a_full_stream_asks_to_come_back() {
    let served = Served::new();
    served.stream(LIKES, json!({ "budget": "4KiB" }));
    let mut lines = String::new();
    for number in 0..1000 {
        writeln!(
            lines,
            "100\t<http://e/p{number}> <http://e/likes> <http://e/x> ."
        )
        .unwrap();
    }
    let answer = served.push("", TS, &lines);
    let problem = answer.problem(429);
    assert_eq!(answer.field("retry-after"), "1");
    assert_eq!(
        (&problem["limit"], &problem["unit"]),
        (&json!(4096), &json!("bytes"))
    );
    // Nothing of it was taken.
    assert_eq!(served.get(&at(LIKES))["held_bytes"], 0);
}

#[test]
fn a_query_is_registered_paused_and_forgotten() {
    let served = Served::asked();
    let answer = served.send("POST /api/v1/continuous?name=q", &[TEXT], QUESTION);
    answer.problem(409);
    let answer = served.send("POST /api/v1/continuous", &[TEXT], QUESTION);
    assert_eq!(
        (answer.status, answer.field("location")),
        (201, "/api/v1/continuous/query-1")
    );
    served.register("a query/with ü", QUESTION);
    let one = format!("/api/v1/continuous/{}", encoded("a query/with ü"));
    served.like_in(0..2);
    let seen = served.get(&one);
    assert_eq!(seen["text"], QUESTION);
    assert_eq!(seen["streams"], json!([LIKES]));
    assert_eq!(
        (&seen["close"], &seen["paused"]),
        (&json!(2000), &json!(false))
    );
    assert!(seen["plan"].as_str().unwrap().contains("likes"), "{seen}");
    served
        .send(&format!("DELETE {}", at(LIKES)), &[], "")
        .problem(409);
    assert_eq!(
        served.send(&format!("POST {one}/pause"), &[], "").status,
        204
    );
    served.like_in(2..4);
    let seen = served.get(&one);
    assert_eq!(
        (&seen["close"], &seen["paused"]),
        (&json!(2000), &json!(true))
    );
    assert_eq!(
        served.send(&format!("POST {one}/resume"), &[], "").status,
        204
    );
    served.like_in(4..5);
    assert_eq!(served.get(&one)["close"], 5000);
    assert_eq!(numbers(&served.get(&format!("{one}/reports"))), [1, 2, 3]);
    assert_eq!(
        served.get("/api/v1/continuous")["queries"]
            .as_array()
            .unwrap()
            .len(),
        3
    );
    assert_eq!(served.send(&format!("DELETE {one}"), &[], "").status, 204);
    for line in [
        format!("GET {one}"),
        format!("DELETE {one}"),
        format!("POST {one}/pause"),
        format!("GET {one}/reports"),
    ] {
        served.send(&line, &[], "").problem(404);
    }
    for (text, status) in [
        ("SELECT", 400),
        ("", 400),
        ("SELECT * { ?s ?p ?o }", 400),
        (&QUESTION.replace(LIKES, "http://e/none"), 404),
    ] {
        let answer = served.send("POST /api/v1/continuous", &[TEXT], text);
        assert_eq!(answer.status, status, "{text}: {answer:?}");
    }
    let nested = format!("SELECT * {{ FILTER({}1", "(".repeat(100_000));
    let answer = served.send("POST /api/v1/continuous", &[TEXT], &nested);
    assert!((400..500).contains(&answer.status), "{answer:?}");
}

#[test]
fn rights_are_asked_for() {
    let token = |right, secret: &str| Token {
        right,
        secret: secret.to_owned(),
    };
    let access = Access {
        anonymous: None,
        tokens: vec![
            token(Right::Read, "reader-reader-reader"),
            token(Right::Write, "writer-writer-writer"),
        ],
    };
    let served = Served::of(in_memory(true), access);
    let definition = json!({ "name": LIKES, "begin": 0 }).to_string();
    let (one, pushing) = (at(LIKES), format!("POST {}", items(LIKES)));
    let changes = [
        ("POST /api/v1/streams", JSON, definition.as_str()),
        (
            &pushing,
            TS,
            "1\t<http://e/a> <http://e/likes> <http://e/x> .",
        ),
        ("POST /api/v1/continuous?name=q", TEXT, QUESTION),
        ("POST /api/v1/continuous/q/pause", TEXT, ""),
        ("POST /api/v1/continuous/q/resume", TEXT, ""),
        ("DELETE /api/v1/continuous/q", TEXT, ""),
        (&format!("DELETE {one}"), TEXT, ""),
    ];
    let reads = [
        "GET /api/v1/streams".to_owned(),
        "GET /api/v1/continuous".to_owned(),
        "GET /api/v1/continuous/q".to_owned(),
        "GET /api/v1/continuous/q/reports".to_owned(),
        format!("GET {one}"),
    ];
    for (line, field, body) in &changes {
        served.send(line, &[field], body).problem(401);
        served.send(line, &[field, READER], body).problem(403);
    }
    for line in &reads {
        served.send(line, &[], "").problem(401);
    }
    for (place, (line, field, body)) in changes.iter().enumerate() {
        let answer = served.send(line, &[field, WRITER], body);
        assert!((200..300).contains(&answer.status), "{line}: {answer:?}");
        if place == 2 {
            for line in &reads {
                assert_eq!(served.send(line, &[READER], "").status, 200, "{line}");
            }
        }
    }
}

#[test]
fn a_server_that_only_reads_has_no_streams() {
    let access = Access {
        anonymous: Some(Right::Write),
        tokens: Vec::new(),
    };
    let served = Served::of(in_memory(false), access);
    let definition = json!({ "name": LIKES, "begin": 0 }).to_string();
    let problem = served
        .send("POST /api/v1/streams", &[JSON], &definition)
        .problem(403);
    assert!(
        problem["hint"].to_string().contains("--allow-update"),
        "{problem}"
    );
    served
        .send("POST /api/v1/continuous", &[TEXT], QUESTION)
        .problem(403);
    assert_eq!(served.get("/api/v1/streams")["streams"], json!([]));
    let none = json!({ "is_writable": false, "queries": [] });
    assert_eq!(served.get("/api/v1/continuous"), none);
    let problem = served
        .send("GET /api/v1/continuous/q/reports", &[EVENTS], "")
        .problem(404);
    assert!(
        problem["hint"].to_string().contains("--allow-update"),
        "{problem}"
    );
}
