//! Sources that push by WebSocket: what they are told, in each form, with positions, and where there is no room.

use super::client::encoded;
use super::served::*;
use serde_json::{Value, json};
use std::fmt::Write as _;
use std::time::Duration;

fn at(parameters: &str) -> String {
    format!("{}{parameters}", items(LIKES))
}

fn line(ms: u64, who: &str) -> String {
    format!("{ms}\t<http://e/{who}> <http://e/likes> <http://e/x> .\n")
}

#[test]
fn each_message_is_answered_when_it_is_durable() {
    let served = Served::asked();
    let mut reports = served.socket("/api/v1/continuous/q/reports", &[]);
    let mut source = served.socket(&at(""), &[]);
    let taken = source.asked(&(line(100, "a") + &line(150, "b")));
    assert_eq!(
        taken,
        json!({
            "type": "taken", "message": 1, "taken": 2, "late": 0, "rejected": 0, "settled": 100,
            "durable": 2, "sealed": 100, "latest": 150,
        })
    );
    // A malformed line is rejected alone, with its place in its message.
    let taken = source.asked(&format!("{}nonsense\n{}", line(1200, "c"), line(1250, "d")));
    assert_eq!(
        (&taken["taken"], &taken["rejected"], &taken["durable"]),
        (&json!(2), &json!(1), &json!(4))
    );
    assert_eq!(taken["rejections"][0]["line"], 2);
    // So is a message of nothing else, after which the socket goes on.
    let taken = source.asked("nonsense");
    assert_eq!(
        (&taken["type"], &taken["taken"], &taken["rejected"]),
        (&json!("taken"), &json!(0), &json!(1))
    );
    let promise = source.asked(r#"{"watermark": 2000}"#);
    assert_eq!(
        (&promise["message"], &promise["sealed"]),
        (&json!(4), &json!(2000))
    );
    assert_eq!(reports.json()["number"], 1);
    assert_eq!(reports.json()["report"]["close"], 2000);
    let late = source.asked(&line(100, "a"));
    assert_eq!((&late["late"], &late["durable"]), (&json!(1), &json!(5)));
    // Three at once are answered in their order.
    for second in 3..6 {
        source.say(&line(second * 1000, "e"));
    }
    for message in 6..9 {
        assert_eq!(source.json()["message"], message);
    }
    source.close();
}

#[test]
fn messages_have_the_form_that_the_address_names() {
    let served = Served::asked();
    served.stream("http://e/other", json!({ "arrival_time": true }));
    let mut objects = served.socket(&at("?format=ndjson&source=o&time=300"), &[]);
    let both = "{\"t\": 200, \"nquads\": \"<http://e/a> <http://e/likes> <http://e/x> .\"}\n\
                {\"nquads\": \"<http://e/b> <http://e/likes> <http://e/x> .\"}\n{\"watermark\": 400}";
    let taken = objects.asked(both);
    assert_eq!(
        (&taken["taken"], &taken["sealed"]),
        (&json!(2), &json!(400))
    );
    for (format, text) in [
        ("turtle", "<http://e/a> <http://e/likes> <http://e/y> ."),
        (
            "application/n-quads",
            "<http://e/a> <http://e/likes> <http://e/y> .",
        ),
        (
            "application/ld+json",
            r#"{"@id": "http://e/a", "http://e/likes": "y"}"#,
        ),
    ] {
        let path = items("http://e/other") + "?format=" + &encoded(format);
        let mut documents = served.socket(&path, &[]);
        assert_eq!(documents.asked(text)["taken"], 1, "{format}");
        let taken = documents.asked("<http://e/a> nonsense");
        assert_eq!(
            (&taken["taken"], &taken["rejected"]),
            (&json!(0), &json!(1)),
            "{format}"
        );
        assert!(taken["rejections"][0]["line"].is_u64(), "{taken}");
    }
    for (path, status, said) in [
        (at("?format=nonsense"), 400, "nt.ts"),
        (at("?time=5"), 400, "each line"),
        (at("?watermark=5"), 400, "watermark"),
        (at("?position=x"), 400, "position"),
        (items("http://e/none"), 404, "http://e/none"),
    ] {
        let answer = served.handshake(&path, &[]).err().unwrap();
        let detail = answer.problem(status)["detail"].to_string();
        assert!(detail.contains(said), "{path}: {detail}");
    }
    // Without the request to switch nothing is there to be got.
    served
        .send(&format!("GET {}", at("")), &[], "")
        .problem(426);
}

#[test]
fn positions_are_counted_over_messages() {
    let served = Served::asked();
    let mut source = served.socket(&at("?source=s&position=0"), &[]);
    let taken = source.asked(&(line(100, "a") + &line(200, "b")));
    assert_eq!((&taken["taken"], &taken["durable"]), (&json!(2), &json!(2)));
    let taken = source.asked(&format!("nonsense\n{}", line(300, "c")));
    assert_eq!((&taken["taken"], &taken["durable"]), (&json!(1), &json!(4)));
    assert_eq!(source.asked("nonsense")["durable"], 5);
    assert_eq!(source.asked(&line(400, "d"))["durable"], 6);
    // The source comes back, and sends again what it has no answer for.
    drop(source);
    let mut source = served.socket(&at("?source=s&position=5"), &[]);
    let taken = source.asked(&(line(400, "d") + &line(500, "e")));
    assert_eq!(
        (&taken["taken"], &taken["durable"], &taken["position"]),
        (&json!(1), &json!(7), &json!(7))
    );
}

/// Lines of about a kilobyte each, so many milliseconds apart.
fn long_lines(count: u64, first_ms: u64, step_ms: u64) -> String {
    let mut lines = String::new();
    for number in 0..count {
        let (ms, text) = (first_ms + number * step_ms, "x".repeat(1000));
        let _ = writeln!(
            lines,
            "{ms}\t<http://e/p> <http://e/says> \"{ms} {text}\" ."
        );
    }
    lines
}

#[test]
fn where_the_budget_is_full_a_source_waits_and_loses_nothing() {
    let served = Served::new();
    served.stream(
        LIKES,
        json!({ "budget": "256KiB", "idle": "never", "absorb": "none" }),
    );
    // A source that holds up the stream.
    let mut other = served.socket(&at("?source=other"), &[]);
    assert_eq!(other.asked(&line(0, "a"))["taken"], 1);
    let mut source = served.socket(&at("?source=fast"), &[]);
    let mut waiting = Value::Null;
    let mut sent = 0;
    while waiting["type"] != "waiting" {
        assert!(sent < 40, "the budget is never full");
        source.say(&long_lines(20, sent * 20, 1));
        sent += 1;
        waiting = source.json();
    }
    assert_eq!(waiting["message"], sent);
    assert_eq!(waiting["problem"]["status"], 429);
    // The next message is not read meanwhile.
    source.say(&long_lines(1, 10_000, 1));
    std::thread::sleep(Duration::from_millis(300));
    // The other goes on, and so do both messages.
    other.say(r#"{"watermark": 1000000}"#);
    let mut last = source.json();
    while last["type"] == "waiting" {
        last = source.json();
    }
    assert_eq!(
        (&last["type"], &last["message"], &last["taken"]),
        (&json!("taken"), &json!(sent), &json!(20))
    );
    let mut next = source.json();
    while next["type"] == "waiting" {
        next = source.json();
    }
    assert_eq!(
        (&next["taken"], &next["durable"]),
        (&json!(1), &json!(sent * 20 + 1))
    );
    assert_eq!(served.get(&super::served::at(LIKES))["late"], 0);
}

#[test]
fn an_item_larger_than_the_budget_is_refused() {
    let served = Served::new();
    served.stream(LIKES, json!({ "budget": "64KiB", "absorb": "none" }));
    let mut source = served.socket(&at(""), &[]);
    let text = "x".repeat(200_000);
    let refused = source.asked(&format!("5\t<http://e/p> <http://e/says> \"{text}\" ."));
    assert_eq!(refused["type"], "refused", "{refused}");
    assert_eq!(refused["problem"]["status"], 413);
    assert_eq!(refused["problem"]["limit"], 64 << 10);
    assert_eq!(source.closed().0, 1009);
    // What fits in halves is taken.
    let mut source = served.socket(&at(""), &[]);
    let mut taken = source.asked(&long_lines(100, 1000, 200));
    while taken["type"] == "waiting" {
        taken = source.json();
    }
    assert_eq!(
        (&taken["type"], &taken["taken"]),
        (&json!("taken"), &json!(100))
    );
}

#[test]
fn a_stream_that_is_dropped_ends_its_sources() {
    let served = Served::new();
    served.stream(LIKES, json!({}));
    let mut source = served.socket(&at(""), &[]);
    source.asked(&line(1, "a"));
    let one = super::served::at(LIKES);
    assert_eq!(served.send(&format!("DELETE {one}"), &[], "").status, 204);
    let refused = source.asked(&line(2, "a"));
    assert_eq!(refused["problem"]["status"], 404);
    assert_eq!(source.closed().0, 1008);
}
