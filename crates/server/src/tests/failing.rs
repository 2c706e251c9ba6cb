//! What fails before the first byte fails with its status, and says why.

use super::Served;
use super::client;
use crate::run::job::Engine;
use std::io::{BufReader, Write};
use std::time::{Duration, Instant};

const QUERY: &str = "Content-Type: application/sparql-query";

#[test]
fn each_failure_has_its_status() {
    let served = Served::new();
    let table = [
        ("!syntax", 400, "syntax"),
        ("!unsupported", 422, "unsupported"),
        ("!too_long", 413, "too-long"),
        ("!shape", 422, "shape"),
        ("!internal", 500, "internal"),
        ("fail timeout", 504, "timeout"),
        ("rows 10; fail timeout", 504, "timeout"),
        ("fail memory", 507, "memory"),
        ("kilobytes 60; fail memory", 507, "memory"),
        ("fail damaged", 503, "damaged"),
        ("fail cancelled", 503, "cancelled"),
        ("fail internal", 500, "internal"),
    ];
    for (script, status, name) in table {
        let problem = served.query(script).problem(status);
        assert_eq!(
            problem["type"],
            format!("urn:somersault:problem:{name}"),
            "{script}"
        );
        assert!(problem["query_id"].is_string());
    }
}

#[test]
fn problems_carry_what_is_known() {
    let served = Served::new();
    let answer = served.query("!syntax");
    assert!(answer.field("server-timing").starts_with("parse;dur="));
    let problem = answer.problem(400);
    assert_eq!(problem["position"]["line"], 2);
    assert_eq!(problem["position"]["column"], 5);
    assert_eq!(problem["detail"], "expected a pattern");
    let answer = served.query("fail memory");
    let problem = answer.problem(507);
    assert_eq!(
        (&problem["limit"], &problem["used"]),
        (&100.into(), &120.into())
    );
    assert_eq!(problem["unit"], "bytes");
    assert!(problem.get("position").is_none());
    assert_eq!(problem["query_id"], answer.field("query-id"));
    assert!(answer.field("query-id").starts_with('q'));
    assert!(answer.field("server-timing").contains("plan;dur="));
    assert_eq!(
        served.query("fail timeout").problem(504)["hint"],
        "ask for less"
    );
    assert!(served.query("fail cancelled").has("retry-after"));
}

#[test]
fn a_panic_is_a_500_with_an_id_and_the_server_goes_on() {
    let served = Served::new();
    for script in ["panic", "rows 5; panic", "!panic"] {
        let answer = served.query(script);
        let problem = answer.problem(500);
        assert_eq!(problem["query_id"], answer.field("query-id"));
        assert!(
            !answer.text().contains("met something"),
            "internals are for the log"
        );
        assert!(problem["hint"].as_str().unwrap().contains("report"));
    }
    assert_eq!(served.query("ask").status, 200);
    served.until_running(0, Duration::from_secs(5));
    let metrics = served.get("/metrics");
    assert!(
        metrics
            .text()
            .contains("somersault_queries_total{outcome=\"internal\"} 3")
    );
}

#[test]
fn a_query_ends_at_its_deadline() {
    let served = Served::with(|options| options.timeout = Duration::from_millis(400));
    for path in ["/sparql?query=spin&timeout=0.2", "/sparql?query=spin"] {
        let begun = Instant::now();
        served.get(path).problem(504);
        let least = if path.ends_with("0.2") { 200 } else { 400 };
        let taken = begun.elapsed().as_millis();
        assert!((least..least + 5000).contains(&taken), "{path}: {taken} ms");
    }
}

#[test]
fn variables_alone_do_not_commit_to_a_status() {
    // The script sends its head at once: 200 ms of computing later it is still free to fail.
    let served = Served::new();
    served.query("sleep 200; fail memory").problem(507);
}

#[test]
fn nothing_acceptable() {
    let served = Served::new();
    let problem = served.query_as("image/png", "ask").problem(406);
    let offered = [
        "application/sparql-results+json",
        "application/sparql-results+xml",
    ];
    assert_eq!(problem["offered"][0], offered[0]);
    assert_eq!(problem["offered"][1], offered[1]);
}

#[test]
fn texts_that_are_too_long_are_refused_while_they_are_read() {
    let served = Served::new();
    let long = vec![b'x'; 2 << 20];
    let answer = served.send("POST /sparql", &[QUERY], &long);
    assert_eq!(answer.problem(413)["limit"], 1 << 20);

    // No length announced, no end in sight.
    let mut stream = client::connect(served.address);
    client::request(
        &mut stream,
        "POST /sparql",
        &[QUERY, "Transfer-Encoding: chunked"],
        b"",
    );
    let chunk = [b"10000\r\n", &vec![b'x'; 0x10000][..], b"\r\n"].concat();
    for _ in 0..20 {
        stream.write_all(&chunk).unwrap();
    }
    stream.write_all(b"0\r\n\r\n").unwrap();
    client::read(&mut BufReader::new(stream), false).problem(413);

    // Asked before it is sent.
    let mut stream = client::connect(served.address);
    let fields = [QUERY, "Expect: 100-continue", "Content-Length: 5000000"];
    client::request(&mut stream, "POST /sparql", &fields, b"");
    let begun = Instant::now();
    client::read(&mut BufReader::new(stream), false).problem(413);
    assert!(
        begun.elapsed() < Duration::from_secs(10),
        "it waited for the body"
    );

    // In a form: what counts is the text, decoded.
    let form = ["query=".as_bytes(), &vec![b'x'; (1 << 20) + 1]].concat();
    let fields = ["Content-Type: application/x-www-form-urlencoded"];
    served.send("POST /sparql", &fields, &form).problem(413);
    assert_eq!(served.query("ask").status, 200);
}

#[test]
fn a_body_that_does_not_come_is_not_waited_for() {
    let served = Served::with(|options| options.body_timeout = Duration::from_millis(100));
    let mut stream = client::connect(served.address);
    client::request(
        &mut stream,
        "POST /sparql",
        &[QUERY, "Content-Length: 100"],
        b"rows",
    );
    client::read(&mut BufReader::new(stream), false).problem(408);
}

#[test]
fn too_many_queries_are_told_to_come_back() {
    let served = Served::with(|options| {
        options.started_max = 1;
        options.waiting_max = 1;
    });
    std::thread::scope(|scope| {
        let first = scope.spawn(|| served.get("/sparql?query=sleep+1500"));
        served.until_running(1, Duration::from_secs(5));
        let second = scope.spawn(|| served.get("/sparql?query=ask"));
        served.until_metric("queries_waiting", 1);
        let third = served.get("/sparql?query=ask");
        third.problem(503);
        assert_eq!(third.field("retry-after"), "1");
        assert_eq!(first.join().unwrap().status, 200);
        let second = second.join().unwrap();
        assert_eq!(second.status, 200);
        assert!(
            second.field("server-timing").starts_with("wait;dur="),
            "{second:?}"
        );
    });
    assert!(
        served
            .get("/metrics")
            .text()
            .contains("{outcome=\"turned_away\"} 1")
    );
}

#[test]
fn nobody_waits_for_a_query_that_does_not_come_to_its_end() {
    let served = Served::new();
    for (script, is_begun) in [("stall 3000", false), ("kilobytes 100; stall 3000", true)] {
        let begun = Instant::now();
        let path = format!("/sparql?query={}&timeout=0.2", script.replace(' ', "%20"));
        let answer = served.get(&path);
        assert!(begun.elapsed() < Duration::from_millis(2900), "{script}");
        if is_begun {
            assert!(answer.status == 200 && !answer.whole, "{answer:?}");
        } else {
            answer.problem(504);
        }
    }
    served.until_metric("queries_total{outcome=\"timeout\"}", 2);
}

#[test]
fn waiting_is_part_of_a_query_s_time() {
    let served = Served::with(|options| options.started_max = 1);
    std::thread::scope(|scope| {
        let first = scope.spawn(|| served.get("/sparql?query=spin&timeout=20"));
        served.until_running(1, Duration::from_secs(5));
        served.get("/sparql?query=ask&timeout=0.1").problem(504);
        assert!(!first.is_finished(), "it had its turn");
        served.engine.running().cancel_all();
    });
}

#[test]
fn heads_that_cannot_be_read() {
    let served = Served::new();
    let answer = served.get(&format!("/sparql?query={}", "x".repeat(70_000)));
    assert!(matches!(answer.status, 413 | 414), "{}", answer.status);
    let mut stream = client::connect(served.address);
    stream.write_all(b"nonsense\r\n\r\n").unwrap();
    assert_eq!(client::read_head(&mut BufReader::new(stream)).status, 400);
}

#[test]
fn a_panic_of_a_light_query_is_told_and_counted() {
    let served = Served::new();
    let answer = served.query("light panic");
    answer.problem(500);
    assert!(
        !answer.text().contains("met something"),
        "{}",
        answer.text()
    );
    let metrics = served.get("/metrics").text().to_owned();
    assert!(metrics.contains("somersault_panics_total 1"), "{metrics}");
    assert!(metrics.contains("queries_total{outcome=\"internal\"} 1"));
    assert_eq!(served.query("ask").status, 200);
}

#[test]
fn bodies_hold_a_quarter_of_the_memory_at_most() {
    use super::script::POOL_BYTES;
    let served = Served::with(|options| options.text_bytes_max = POOL_BYTES);
    let length = POOL_BYTES / 9;
    let fields = [QUERY, &format!("Content-Length: {length}")];
    let mut unfinished: Vec<_> = (0..2)
        .map(|_| {
            let mut stream = client::connect(served.address);
            client::request(&mut stream, "POST /sparql", &fields, b"rows 1");
            stream
        })
        .collect();
    served.until_metric("memory_pool_used_bytes", 2 * length);
    let mut third = client::connect(served.address);
    client::request(&mut third, "POST /sparql", &fields, b"rows 1");
    client::read(&mut BufReader::new(third), false).problem(503);
    // Queries have the rest.
    assert_eq!(served.query("ask").status, 200);
    unfinished.pop();
    served.until_metric("memory_pool_used_bytes", length);
    drop(unfinished);
    served.until_metric("memory_pool_used_bytes", 0);
}
