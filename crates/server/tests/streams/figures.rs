//! How streams and registered queries stand, as the page shows it: what came, who is waited for, what was reported last.

use super::served::*;
use serde_json::{Value, json};
use server::Access;
use somersault::config::{Right, Token};

#[test]
fn a_stream_counts_what_came_and_names_who_holds_it_back() {
    let served = Served::asked();
    let line = |ms: u64| format!("{ms}\t<http://e/a> <http://e/likes> <http://e/x{ms}> .\n");
    let seen = served.get(&at(LIKES));
    assert_eq!(
        (&seen["items"], &seen["source_count"]),
        (&json!(0), &json!(0))
    );
    assert_eq!(seen["last_arrival"], Value::Null);
    served.pushed("?source=slow", TS, &line(300));
    let wrong = format!("{}no line\n{}", line(900), line(1000));
    let account = served.pushed("?source=fast", TS, &wrong);
    assert_eq!(account["rejected"], 1);
    // Behind what is settled.
    served.pushed("?source=slow", TS, &line(100));
    let seen = served.get(&at(LIKES));
    let counted = [
        "items",
        "rejected",
        "late",
        "source_count",
        "idle_source_count",
    ];
    assert_eq!(
        counted.map(|member| seen[member].as_u64()),
        [4, 1, 1, 2, 0].map(Some)
    );
    assert_eq!(
        seen["sources"],
        json!([
            { "name": "slow", "watermark": 300, "is_idle": false },
            { "name": "fast", "watermark": 1000, "is_idle": false },
        ])
    );
    let all = served.get("/api/v1/streams");
    let (now, last) = (all["now"].as_u64(), seen["last_arrival"].as_u64());
    assert!(last.is_some() && now >= last, "{all}");
    served.send(&format!("DELETE {}", "/api/v1/continuous/q"), &[], "");
    served.send(&format!("DELETE {}", at(LIKES)), &[], "");
    served.stream(LIKES, json!({}));
    assert_eq!(
        served.get(&at(LIKES))["items"],
        0,
        "another stream of that name"
    );
}

#[test]
fn a_query_that_writes_a_stream_is_its_source_by_name() {
    let served = Served::new();
    served.stream(LIKES, json!({}));
    let writes = "REGISTER STREAM <http://e/again> AS PREFIX : <http://e/>
        CONSTRUCT { ?what :likedBy ?who }
        FROM NAMED WINDOW :w ON <http://e/likes-stream> [RANGE PT1S STEP PT1S]
        WHERE { WINDOW :w { ?who :likes ?what } }";
    let answer = served.send("POST /api/v1/continuous?name=again", &[TEXT], writes);
    assert_eq!(answer.status, 201, "{answer:?}");
    let name = answer.json()["name"].clone();
    served.like_in(0..2);
    let seen = served.get(&at("http://e/again"));
    assert_eq!(seen["sources"][0]["name"], name, "{seen}");
    assert_eq!(seen["items"], 2);
}

#[test]
fn a_query_says_what_it_reads_and_what_it_reported_last() {
    let served = Served::asked();
    let query = served.get("/api/v1/continuous/q");
    assert_eq!(
        (&query["form"], &query["relation"]),
        (&json!("SELECT"), &json!("RSTREAM"))
    );
    assert_eq!(
        query["windows"],
        json!([{ "name": "http://e/w", "stream": LIKES, "kind": "time", "range": 1000, "step": 1000 }])
    );
    assert_eq!(
        (&query["reports"], &query["last"]),
        (&json!(0), &Value::Null)
    );
    served.like_in(0..3);
    let query = &served.get("/api/v1/continuous")["queries"][0];
    assert_eq!(query["reports"], 3);
    let last = &query["last"];
    let told = ["close", "rows", "items"].map(|member| last[member].as_u64());
    assert_eq!(told, [3000, 1, 1].map(Some), "{last}");
    assert!(last["told"].as_u64() > Some(1_700_000_000_000), "{last}");
    assert!(last["exec_us"].as_u64() < Some(60_000_000), "{last}");
    served.send("DELETE /api/v1/continuous/q", &[], "");
    served.register("q", QUESTION);
    let query = served.get("/api/v1/continuous/q");
    assert_eq!(
        (&query["reports"], &query["last"]),
        (&json!(0), &Value::Null),
        "another one"
    );
}

#[test]
fn windows_of_all_kinds_are_told_apart() {
    let served = Served::asked();
    let named = |clause: &str| {
        format!(
            "SELECT ?who FROM NAMED WINDOW <http://e/w> ON <{LIKES}> {clause} WHERE {{ WINDOW <http://e/w> {{ ?who ?p ?o }} }}"
        )
    };
    let inline = |clause: &str| {
        format!("SELECT ?who WHERE {{ STREAM <{LIKES}> {clause} {{ ?who ?p ?o }} }}")
    };
    for (text, kind, range, step) in [
        (
            named("[RANGE PT10S STEP PT1S]"),
            "time",
            Some(10_000),
            Some(1000),
        ),
        (named("[ELEMENTS 5 STEP 2]"), "count", Some(5), Some(2)),
        (
            named("[FROM NOW-PT10S TO NOW-PT4S STEP PT1S]"),
            "past",
            Some(6000),
            Some(1000),
        ),
        (inline("[RANGE 10s]"), "sliding", Some(10_000), None),
        (inline("[NOW]"), "now", None, None),
        (inline("[ALL]"), "all", None, None),
    ] {
        served.register("w", &text);
        let window = &served.get("/api/v1/continuous/w")["windows"][0];
        let expected = (&json!(kind), &json!(range), &json!(step));
        assert_eq!(
            (&window["kind"], &window["range"], &window["step"]),
            expected,
            "{text}"
        );
        served.send("DELETE /api/v1/continuous/w", &[], "");
    }
}

#[test]
fn whoever_asks_is_told_what_they_may() {
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
    let may = |served: &Served, field: &str| {
        let listed = served.send("GET /api/v1/streams", &[field], "").json();
        (listed["is_writable"] == true, listed["may_change"] == true)
    };
    let served = Served::of(in_memory(true), access.clone());
    assert_eq!(may(&served, READER), (true, false));
    assert_eq!(may(&served, WRITER), (true, true));
    let served = Served::of(in_memory(false), access);
    assert_eq!(may(&served, WRITER), (false, false));
}
