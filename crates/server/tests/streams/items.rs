//! What flows in: times that data bring themselves, positions of sources, and what is wrong with single items.

use super::served::*;
use serde_json::{Value, json};
use server::Access;
use somersault::Options;
use somersault::config::Right;
use somersault::load::{self, Unwatched};

const TRIG: &str = "Content-Type: application/trig";
const JSONLD: &str = "Content-Type: application/ld+json";

/// Closes of the reports, with who was found.
fn found(served: &Served) -> Vec<(u64, Vec<String>)> {
    let read = served.get("/api/v1/continuous/q/reports");
    let reports = read["reports"].as_array().unwrap().iter();
    let of = |report: &Value| {
        let report = &report["report"];
        let rows = report["results"]["bindings"].as_array().unwrap();
        let who = |row: &Value| row["who"]["value"].as_str().unwrap().to_owned();
        let mut who: Vec<String> = rows.iter().map(who).collect();
        who.sort();
        (report["close"].as_u64().unwrap(), who)
    };
    reports.map(of).collect()
}

fn names(names: &[&str]) -> Vec<String> {
    names
        .iter()
        .map(|name| format!("http://e/{name}"))
        .collect()
}

/// A query that finds what graphs hold, whichever they are.
const IN_GRAPHS: &str = "#@ report=close,nonempty
PREFIX : <http://e/>
SELECT ?who
FROM NAMED WINDOW :w ON <http://e/likes-stream> [RANGE PT1S STEP PT1S]
WHERE { WINDOW :w { GRAPH ?g { ?who :likes ?what } } }";

#[test]
fn graphs_bring_their_times() {
    let trig = "@prefix : <http://e/> . @prefix prov: <http://www.w3.org/ns/prov#> .
        @prefix xsd: <http://www.w3.org/2001/XMLSchema#> .
        :g2 prov:generatedAtTime \"1970-01-01T00:00:01.500Z\"^^xsd:dateTime ; prov:wasAttributedTo :sensor .
        GRAPH :g2 { :b :likes :x . :c :likes :x }
        GRAPH :g1 { :a :likes :x }
        :g1 prov:generatedAtTime \"1970-01-01T01:00:00.5+01:00\"^^xsd:dateTime .";
    let nquads = "<http://e/a> <http://e/likes> <http://e/x> <http://e/g1> .
<http://e/g1> <http://www.w3.org/ns/prov#generatedAtTime> \"500\"^^<http://www.w3.org/2001/XMLSchema#long> .
<http://e/b> <http://e/likes> <http://e/x> _:g2 .
<http://e/c> <http://e/likes> <http://e/x> _:g2 .
_:g2 <http://www.w3.org/ns/prov#generatedAtTime> \"1970-01-01T00:00:01.5\"^^<http://www.w3.org/2001/XMLSchema#dateTime> .\n";
    let linked = json!({
        "@context": {
            "@vocab": "http://e/", "prov": "http://www.w3.org/ns/prov#",
            "prov:generatedAtTime": { "@type": "http://www.w3.org/2001/XMLSchema#dateTime" },
            "likes": { "@type": "@id" },
        },
        "@graph": [
            { "@id": "http://e/g1", "prov:generatedAtTime": "1970-01-01T00:00:00.5Z",
              "@graph": [{ "@id": "http://e/a", "likes": "http://e/x" }] },
            { "@id": "http://e/g2", "prov:generatedAtTime": "1970-01-01T00:00:01.5Z",
              "@graph": [{ "@id": "http://e/b", "likes": "http://e/x" }, { "@id": "http://e/c", "likes": "http://e/x" }] },
        ],
    });
    for (field, body) in [
        (TRIG, trig),
        (NQUADS, nquads),
        (JSONLD, &linked.to_string()),
    ] {
        let served = Served::new();
        served.stream(LIKES, json!({ "absorb": "none" }));
        served.register("q", IN_GRAPHS);
        let account = served.pushed("?watermark=2000", field, body);
        assert_eq!(
            (&account["taken"], &account["latest"], &account["sealed"]),
            (&json!(2), &json!(1500), &json!(2000)),
            "{field}: {account}"
        );
        let expected = [(1000, names(&["a"])), (2000, names(&["b", "c"]))];
        assert_eq!(found(&served), expected, "{field}");
    }
}

#[test]
fn a_graph_without_a_time_is_rejected_alone() {
    let served = Served::new();
    served.stream(LIKES, json!({}));
    served.register("q", IN_GRAPHS);
    let trig = "@prefix : <http://e/> . @prefix prov: <http://www.w3.org/ns/prov#> .
        :g1 prov:generatedAtTime 500 . GRAPH :g1 { :a :likes :x } GRAPH :g2 { :b :likes :x }
        :g3 prov:generatedAtTime \"soon\" . GRAPH :g3 { :c :likes :x }
        :g4 prov:generatedAtTime 99999999999999 . GRAPH :g4 { :d :likes :x }";
    let account = served.pushed("", TRIG, trig);
    assert_eq!(
        (&account["taken"], &account["rejected"]),
        (&json!(1), &json!(3))
    );
    let said = account["rejections"].to_string();
    for part in ["http://e/g2", "http://e/g3", "a day ahead"] {
        assert!(said.contains(part), "{part}: {said}");
    }
    // The time of the address is that of what brings none.
    let account = served.pushed("?time=600&watermark=1000", TRIG, trig);
    assert_eq!(account["taken"], 2);
    assert_eq!(found(&served), [(1000, names(&["a", "b"]))]);
}

#[test]
fn a_named_predicate_brings_the_time() {
    let served = Served::asked();
    let parameters = "?time-predicate=http%3A%2F%2Fe%2Fat";
    let at = |time: &str, who: &str| {
        format!(
            "<http://e/{who}> <http://e/likes> <http://e/x> . <http://e/{who}> <http://e/at> {time} ."
        )
    };
    let date = "\\\"1970-01-01T00:00:00.100Z\\\"^^<http://www.w3.org/2001/XMLSchema#dateTime>";
    let number = "\\\"200\\\"^^<http://www.w3.org/2001/XMLSchema#integer>";
    let lines = format!(
        "{{\"nquads\": \"{}\"}}\n{{\"nquads\": \"{}\"}}\n{{\"t\": 1100, \"nquads\": \"{}\"}}\n\
         {{\"nquads\": \"<http://e/d> <http://e/likes> <http://e/x> .\"}}\n",
        at(date, "a").replace(" . ", " .\\n"),
        at(number, "b").replace(" . ", " .\\n"),
        at(number, "c").replace(" . ", " .\\n"),
    );
    let account = served.pushed(parameters, NDJSON, &lines);
    assert_eq!(
        (&account["taken"], &account["rejected"]),
        (&json!(3), &json!(1)),
        "{account}"
    );
    assert_eq!(account["rejections"][0]["line"], 4);
    // A document is one item.
    let turtle = "@prefix : <http://e/> . :e :likes :x ; :at 1200 . :f :likes :x .";
    let account = served.pushed(parameters, "Content-Type: text/turtle", turtle);
    assert_eq!(
        (&account["taken"], &account["latest"]),
        (&json!(1), &json!(1200))
    );
    served.until(2000);
    let expected = [(1000, names(&["a", "b"])), (2000, names(&["c", "e", "f"]))];
    assert_eq!(found(&served), expected);
    let untimed = "@prefix : <http://e/> . :g :likes :x .";
    let problem = served
        .push(parameters, "Content-Type: text/turtle", untimed)
        .problem(400);
    assert!(
        problem["hint"].to_string().contains("time-predicate"),
        "{problem}"
    );
    let line = "2100\t<http://e/a> <http://e/likes> <http://e/x> .";
    served.push(parameters, TS, line).problem(400);
    served
        .push("?time-predicate=at", NDJSON, &lines)
        .problem(400);
}

#[test]
fn one_object_may_be_json_and_a_document_says_something() {
    let served = Served::asked();
    let promise = "{\n  \"watermark\": 400\n}";
    assert_eq!(served.pushed("", JSON, promise)["sealed"], 400);
    let item =
        "{\n  \"t\": 500,\n  \"nquads\": \"<http://e/a> <http://e/likes> <http://e/x> .\"\n}";
    assert_eq!(served.pushed("", JSON, item)["taken"], 1);
    served.push("", JSON, "{\"t\": 500}").problem(400);
    // Linked data whose names are no IRIs says nothing.
    let linked = r#"{"who": "http://e/a", "likes": "http://e/x"}"#;
    let problem = served.push("?time=600", JSON, linked).problem(400);
    assert!(
        problem["detail"].to_string().contains("no statement"),
        "{problem}"
    );
    served.push("?time=600", TRIG, "# nothing").problem(400);
    served.until(1000);
    assert_eq!(found(&served), [(1000, names(&["a"]))]);
}

#[test]
fn a_field_of_the_request_brings_the_time() {
    let served = Served::asked();
    let push = |parameters: &str, time: &str, who: &str| {
        let body = format!("<http://e/{who}> <http://e/likes> <http://e/x> .");
        let line = format!("POST {}{parameters}", items(LIKES));
        served.send(&line, &[NQUADS, time], &body)
    };
    assert_eq!(push("", "Somersault-Time: 500", "a").status, 200);
    let date = "Somersault-Time: 1970-01-01T00:00:00.600Z";
    assert_eq!(push("?time=600", date, "b").status, 200);
    assert_eq!(
        push("?time=1970-01-01T00:00:00.700Z", "A: b", "c").status,
        200
    );
    push("?time=800", date, "d").problem(400);
    push("", "Somersault-Time: soon", "d").problem(400);
    served.until(1000);
    assert_eq!(found(&served), [(1000, names(&["a", "b", "c"]))]);
}

#[test]
fn an_item_from_the_far_future_is_rejected_alone() {
    let served = Served::asked();
    let good = "<http://e/a> <http://e/likes> <http://e/x> .";
    let account = served.pushed(
        "",
        TS,
        &format!("# ahead\n\n100\t{good}\n99999999999999\t{good}\n200\t{good}\n"),
    );
    assert_eq!(
        (&account["taken"], &account["rejections"][0]["line"]),
        (&json!(2), &json!(4))
    );
    let objects = format!(
        "{{\"watermark\": 99999999999999}}\n{{\"t\": 99999999999999, \"nquads\": \"{good}\"}}\n{{\"t\": 300, \"nquads\": \"{good}\"}}"
    );
    let account = served.pushed("", NDJSON, &objects);
    assert_eq!(
        (&account["taken"], &account["rejected"]),
        (&json!(1), &json!(2))
    );
    assert!(
        served.get(&at(LIKES))["watermark"].as_u64() < Some(1000),
        "nobody believed it"
    );
    let problem = served
        .push("?time=99999999999999", NQUADS, good)
        .problem(400);
    assert!(
        problem["detail"].to_string().contains("a day ahead"),
        "{problem}"
    );
    served
        .push("?watermark=99999999999999", TS, "")
        .problem(400);
    // What is long over is late, and counted.
    served.until(5000);
    let account = served.pushed("", TS, &format!("0\t{good}\n"));
    assert_eq!(
        (&account["taken"], &account["late"]),
        (&json!(0), &json!(1))
    );
}

#[test]
fn a_source_that_counts_sends_again_what_it_has_no_answer_for() {
    let served = Served::asked();
    let line = |ms: u64| format!("{ms}\t<http://e/p{ms}> <http://e/likes> <http://e/x> .\n");
    let body = line(100) + "oops\n" + &line(200) + &line(300) + "oops\n" + &line(400);
    let account = served.pushed("?source=s&position=0", TS, &body);
    let counts = ["taken", "rejected", "known", "position", "positions"];
    let of = |account: &Value| counts.map(|count| account[count].as_u64().unwrap());
    assert_eq!(of(&account), [4, 2, 0, 6, 6]);
    assert_eq!(
        of(&served.pushed("?source=s&position=0", TS, &body)),
        [0, 2, 4, 6, 6]
    );
    // A part of it is there: two lines more, one of them malformed.
    let more = body + "oops\n" + &line(500);
    assert_eq!(
        of(&served.pushed("?source=s&position=0", TS, &more)),
        [1, 3, 4, 8, 8]
    );
    // Another source counts for itself.
    assert_eq!(
        of(&served.pushed("?source=r&position=0", TS, &line(600))),
        [1, 0, 0, 1, 1]
    );
    // What it leaves out is said, and is left out for good.
    let gap = line(700) + &line(800);
    for (position, taken, missing) in [(10, 2, 2), (10, 0, 0), (9, 0, 0)] {
        let account = served.pushed(&format!("?source=s&position={position}"), TS, &gap);
        let found = ["taken", "missing"].map(|name| account[name].as_u64().unwrap());
        assert_eq!(found, [taken, missing], "{account}");
    }
    let promise = served.pushed("?source=s&position=50&watermark=900", TS, "");
    assert_eq!(promise["missing"], 0, "it brings nothing: {promise}");
    for source in ["s", "r"] {
        served.pushed(&format!("?source={source}&watermark=1000"), TS, "");
    }
    let all = [100, 200, 300, 400, 500, 600, 700, 800].map(|ms| format!("http://e/p{ms}"));
    assert_eq!(found(&served), [(1000, all.to_vec())]);
}

/// A line of a body without end that can never be taken ends it; what came before it stays.
#[test]
fn a_line_larger_than_the_budget_ends_the_body() {
    let served = Served::new();
    served.stream(LIKES, json!({ "budget": "64KiB", "absorb": "none" }));
    let long = format!(
        "5\t<http://e/p> <http://e/says> \"{}\" .\n",
        "x".repeat(200_000)
    );
    let mut flow = served.flow(&format!("POST {}", items(LIKES)), TS);
    flow.send("1\t<http://e/p> <http://e/says> \"a\" .\n");
    flow.send(&long);
    let problem = flow.end().problem(413);
    assert_eq!(problem["limit"], 64 << 10, "{problem}");
    assert_eq!(served.get(&at(LIKES))["items"], 1);
    // In one piece it is the same, and nobody is told to send it again.
    let answer = served.push("", TS, &long);
    answer.problem(413);
    assert!(!answer.has("retry-after"));
}

/// What is sent again where there was no room is counted once: also its lines that are malformed.
#[test]
fn what_is_tried_again_is_counted_once() {
    let served = Served::new();
    served.stream(
        LIKES,
        json!({ "budget": "64KiB", "idle": "never", "absorb": "none" }),
    );
    // A source that holds up the stream.
    served.pushed(
        "?source=other",
        TS,
        "0\t<http://e/p> <http://e/says> \"a\" .\n",
    );
    let line = |ms: u32| {
        let text = "y".repeat(1500);
        format!(
            "{}\t<http://e/p> <http://e/says> \"{ms} {text}\" .\n",
            100 + ms
        )
    };
    let lines: Vec<String> = (0..40).map(line).collect();
    let lines = lines.concat();
    served.pushed("?source=fast", TS, &lines);
    let mut flow = served.flow(&format!("POST {}?source=fast", items(LIKES)), TS);
    flow.send(&format!(
        "no item\n2000000\t<http://e/p> <http://e/says> \"{}\" .\n",
        "z".repeat(20_000)
    ));
    std::thread::sleep(std::time::Duration::from_millis(700));
    assert_eq!(served.get(&at(LIKES))["items"], 41, "it waits");
    for source in ["other", "fast"] {
        served.pushed(&format!("?source={source}&watermark=1000000"), TS, "");
    }
    let account = flow.end().json();
    assert_eq!(
        (&account["taken"], &account["rejected"]),
        (&json!(1), &json!(1))
    );
    assert_eq!(served.get(&at(LIKES))["rejected"], 1);
}

/// Sources that count their items are kept, within a part of the budget: another one is told to wait, and those that are known
/// go on.
#[test]
fn a_flood_of_sources_that_count_is_refused() {
    let served = Served::new();
    served.stream(LIKES, json!({ "budget": "1MiB", "absorb": "none" }));
    let line = "5\t<http://e/p> <http://e/says> \"a\" .\n";
    let push = |source: usize| served.push(&format!("?source=s{source}&position=0"), TS, line);
    let (mut count, mut refused) = (0, None);
    while refused.is_none() && count < 3000 {
        let answer = push(count);
        refused = (answer.status != 200).then_some(answer);
        count += 1;
    }
    let refused = refused.expect("it is never full");
    assert_eq!(refused.field("retry-after"), "1");
    let problem = refused.problem(429);
    assert!(
        problem["detail"].to_string().contains("sources"),
        "{problem}"
    );
    assert_eq!(served.get(&at(LIKES))["items"], count - 1);
    let known = push(7).json();
    assert_eq!(
        (&known["taken"], &known["known"]),
        (&json!(0), &json!(1)),
        "{known}"
    );
    served.push("?watermark=9", TS, "").problem(429);
    served.pushed("?source=s7&watermark=9", TS, "");
}

#[test]
fn a_source_that_floods_disturbs_no_other_stream() {
    let served = Served::asked();
    let flooded = "http://e/flooded";
    served.stream(flooded, json!({ "budget": "8KiB", "absorb": "none" }));
    let like = |number: u64| format!("100\t<http://e/p{number}> <http://e/likes> <http://e/x> .\n");
    let flood: String = (0..500).map(like).collect();
    let line = format!("POST {}", items(flooded));
    for second in 0..20 {
        let answer = served.send(&line, &[TS], &flood);
        answer.problem(429);
        assert_eq!(answer.field("retry-after"), "1");
        served.like_in(second..second + 1);
    }
    let closes = found(&served).into_iter().map(|(close, _)| close);
    assert!(closes.eq((1..=20).map(|second| second * 1000)));
    // What it can hold it takes afterwards.
    let lines: String = flood.split_inclusive('\n').take(5).collect();
    assert_eq!(served.send(&line, &[TS], &lines).json()["taken"], 5);
}

/// All streams together have a share of the memory pool. Where it is full the source that floods it waits, whatever the budget
/// of its stream; a small stream still has room, and what no window reaches any more makes room.
#[test]
fn where_the_memory_pool_is_full_the_source_that_floods_it_waits() {
    let options = Options {
        memory_pool_bytes: 8 << 20,
        memory_is_writable: true,
        ..Options::default()
    };
    let request = load::Request::default();
    let loaded = load::load_in_memory(Vec::new(), &request, &options, &Unwatched);
    let access = Access {
        anonymous: Some(Right::Write),
        tokens: Vec::new(),
    };
    let served = Served::of(loaded.unwrap().0, access);
    let flooded = "http://e/flooded";
    served.stream(flooded, json!({ "budget": "1GiB", "absorb": "none" }));
    served.stream(LIKES, json!({ "absorb": "none" }));
    served.register(
        "long",
        "SELECT * FROM NAMED WINDOW <urn:w> ON <http://e/flooded> [RANGE PT1H STEP PT1H]
         WHERE { WINDOW <urn:w> { <urn:nobody> ?p ?o } }",
    );
    served.register("q", QUESTION);
    let flood = |second: u64| {
        let place = |item: u64| format!("http://e/{second}-{item}");
        let like = |item: u64| {
            let (ms, place) = (second * 1000 + item, place(item));
            format!("{ms}\t<http://e/p{item}> <http://e/at> <{place}> .\n")
        };
        let lines: String = (0..1000).map(like).collect();
        served.send(&format!("POST {}", items(flooded)), &[TS], &lines)
    };
    let mut second = 0;
    let full = loop {
        let answer = flood(second);
        if answer.status != 200 {
            break answer;
        }
        second += 1;
        assert!(second < 1000, "the pool is never full");
    };
    let problem = full.problem(429);
    assert_eq!(full.field("retry-after"), "1");
    let limit = problem["limit"].as_u64().unwrap();
    assert!(limit < 8 << 20 && problem["unit"] == "bytes", "{problem}");
    let why = problem["detail"].as_str().unwrap();
    assert!(why.contains("all streams together"), "{problem}");
    // Nothing of it was taken.
    let description = served.get(&at(flooded));
    let held = description["held_items"].as_u64().unwrap();
    assert!(held <= second * 1000, "{description}");
    assert!(description["held_bytes"].as_u64().unwrap() < 8 << 20);
    // Others go on.
    served.like_in(0..3);
    assert_eq!(found(&served).len(), 3);
    flood(second).problem(429);
    let dropped = served.send("DELETE /api/v1/continuous/long", &[], "");
    assert_eq!(dropped.status, 204);
    assert_eq!(flood(second).json()["taken"], 1000);
}

#[test]
fn a_window_that_reaches_back_too_far_says_so() {
    let served = Served::new();
    served.stream(LIKES, json!({ "absorb": "none" }));
    for second in 0..12 {
        let ms = second * 1000 + 500;
        let line = format!("{ms}\t<http://e/p{second}> <http://e/likes> <http://e/x> .\n");
        served.pushed("", TS, &line);
    }
    served.until(12_000);
    // Nobody has asked for what came so far, so it is gone.
    served.register("q", &QUESTION.replace("RANGE PT1S", "RANGE PT10S"));
    served.pushed(
        "",
        TS,
        "12500\t<http://e/new> <http://e/likes> <http://e/x> .\n",
    );
    served.until(13_000);
    let read = served.get("/api/v1/continuous/q/reports");
    let report = &read["reports"][0]["report"];
    assert_eq!(report["close"], 13_000, "{read}");
    // The end of the last batch that was let go.
    assert_eq!(report["window_incomplete"], 11_600, "{read}");
    served.until(23_000);
    let read = served.get("/api/v1/continuous/q/reports?limit=1000");
    let reports = read["reports"].as_array().unwrap();
    let whole = reports
        .iter()
        .filter(|it| it["report"].get("window_incomplete").is_none());
    assert!(
        whole
            .clone()
            .all(|it| it["report"]["close"].as_u64() >= Some(22_000))
            && whole.count() > 0,
        "{read}"
    );
}

#[test]
fn spans_that_are_no_batches_are_warned_of_and_exact() {
    let served = Served::new();
    served.stream(LIKES, json!({ "absorb": "none" }));
    let text = QUESTION.replace("[RANGE PT1S STEP PT1S]", "[RANGE PT0.25S STEP PT0.15S]");
    let answer = served.send("POST /api/v1/continuous?name=q", &[TEXT], &text);
    assert_eq!(
        (answer.status, answer.field("somersault-warnings")),
        (201, "2")
    );
    let warnings = answer.json()["warnings"].to_string();
    for part in [
        "the range of 250 ms",
        "the step of 150 ms",
        "<http://e/likes-stream>, 100 ms",
    ] {
        assert!(warnings.contains(part), "{warnings}");
    }
    let line = |ms: u64| format!("{ms}\t<http://e/p{ms}> <http://e/likes> <http://e/x> .\n");
    let times = [40, 149, 150, 199, 200, 299, 300, 399];
    served.pushed("?watermark=1000", TS, &times.map(line).concat());
    let expected = |close: u64| {
        let open = close.saturating_sub(250);
        let within = times
            .into_iter()
            .filter(|time| (open..close).contains(time));
        let who: Vec<String> = within.map(|time| format!("http://e/p{time}")).collect();
        (close, who)
    };
    // The window that closes at 150 opens before the stream begins.
    let all: Vec<(u64, Vec<String>)> = [300, 450, 600].map(expected).to_vec();
    let sorted = all.into_iter().map(|(close, mut who)| {
        who.sort();
        (close, who)
    });
    assert_eq!(found(&served), sorted.collect::<Vec<_>>());
    let plain = served.send("POST /api/v1/continuous?name=r", &[TEXT], QUESTION);
    assert_eq!(plain.json(), json!({ "name": "r" }));
}

#[test]
fn a_query_over_no_stream_says_which() {
    let served = Served::new();
    let problem = served
        .send("POST /api/v1/continuous", &[TEXT], QUESTION)
        .problem(404);
    assert!(
        problem["detail"]
            .to_string()
            .contains("<http://e/likes-stream>"),
        "{problem}"
    );
}

#[test]
fn a_consumer_that_stops_reading_holds_up_nobody() {
    let served = Served::asked();
    let mut reading = served.events("", &[]);
    // It takes its head and nothing more, while reports of a megabyte come, many times what sockets hold.
    let stalled = served.events("", &[]);
    let text = "x".repeat(1 << 20);
    for second in 0..30 {
        let ms = second * 1000 + 500;
        let line = format!("{ms}\t<http://e/p> <http://e/likes> \"{text}\" .\n");
        served.pushed(&format!("?watermark={}", (second + 1) * 1000), TS, &line);
        assert_eq!(reading.numbers(1), [second + 1]);
    }
    served.register("r", QUESTION);
    served.like_in(30..31);
    assert_eq!(numbers(&served.get("/api/v1/continuous/r/reports")), [1]);
    drop(stalled);
    drop(reading);
    served.until_consumers(0);
}

#[test]
fn lines_of_a_body_without_end_are_taken_as_they_come() {
    let served = Served::asked();
    let mut flow = served.flow(
        &format!("POST {}?source=s&position=0&watermark=3000", items(LIKES)),
        TS,
    );
    let line = |ms: u64| format!("{ms}\t<http://e/p{ms}> <http://e/likes> <http://e/x> .\n");
    // A line in two pieces, and a malformed one.
    let (first, second) = (line(100), line(1100));
    flow.send(&first[..20]);
    flow.send(&(first[20..].to_owned() + "oops\n"));
    flow.send(&second);
    // The first second is over and reported while the body goes on.
    let read = served.get("/api/v1/continuous/q/reports?wait=20s");
    assert_eq!(read["reports"][0]["report"]["close"], 1000);
    flow.send(&line(2100));
    flow.send("oops");
    let answer = flow.end();
    assert_eq!(answer.status, 200, "{answer:?}");
    let account = answer.json();
    let counts = ["taken", "rejected", "position", "known", "sealed"];
    assert_eq!(
        counts.map(|name| account[name].as_u64().unwrap()),
        [3, 2, 5, 0, 3000]
    );
    let places = account["rejections"].as_array().unwrap().iter();
    assert!(
        places.map(|it| it["line"].as_u64().unwrap()).eq([2, 5]),
        "{account}"
    );
    // What is there already is passed over, and a body may be without lines.
    let mut flow = served.flow(&format!("POST {}?source=s&position=0", items(LIKES)), TS);
    flow.send(&(line(100) + "oops\n" + &line(1100)));
    assert_eq!(flow.end().json()["known"], 2);
    served
        .flow(&format!("POST {}", items(LIKES)), TS)
        .end()
        .problem(400);
    served
        .flow(&format!("POST {}", items("http://e/none")), TS)
        .end()
        .problem(404);
}

#[test]
fn a_body_without_end_that_floods_is_slowed() {
    let served = Served::new();
    served.stream(
        LIKES,
        json!({ "budget": "64KiB", "absorb": "none", "grain": "1s" }),
    );
    served.register("q", &QUESTION.replace("?who ?what", "(COUNT(*) AS ?n)"));
    let mut flow = served.flow(&format!("POST {}?watermark=40000", items(LIKES)), TS);
    let line = |number: u64| {
        let ms = number * 10;
        format!("{ms}\t<http://e/p{number}> <http://e/likes> <http://e/x> .\n")
    };
    flow.send(&(0..4000).map(line).collect::<String>());
    let account = flow.end().json();
    assert_eq!(
        (&account["taken"], &account["late"]),
        (&json!(4000), &json!(0))
    );
    let read = served.get("/api/v1/continuous/q/reports");
    let reports = read["reports"].as_array().unwrap();
    let counts = reports
        .iter()
        .map(|it| &it["report"]["results"]["bindings"][0]["n"]["value"]);
    assert!(
        reports.len() == 40 && counts.clone().all(|count| count == "100"),
        "{:?}",
        counts.collect::<Vec<_>>()
    );
}
