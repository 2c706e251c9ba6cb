//! Changes through a real socket: the protocol's update operation, the graph store's writes, rights,
//! bodies that flow, and clients that go away.

use super::{Served, client};
use crate::Access;
use crate::run::job::Engine;
use somersault::config::{Right, Token};
use std::io::{BufReader, Write};
use std::net::TcpStream;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

const FORM: &str = "Content-Type: application/x-www-form-urlencoded";
const UPDATE: &str = "Content-Type: application/sparql-update";
const QUERY: &str = "Content-Type: application/sparql-query";
const TURTLE: &str = "Content-Type: text/turtle";
const JSON: &str = "Accept: application/json";
const SOON: Duration = Duration::from_secs(10);

/// A request, its fields and body, and its status by the token of its sender.
type Tried = (
    &'static str,
    &'static [&'static str],
    &'static [u8],
    [u16; 4],
);

fn open() -> Access {
    Access {
        anonymous: Some(Right::Write),
        tokens: Vec::new(),
    }
}

fn writable() -> Served {
    Served::with(|options| {
        options.access = open();
        options.api_open = true;
    })
}

fn problem_type(answer: &client::Answer, status: u16) -> String {
    let problem = answer.problem(status);
    let name = problem["type"].as_str().unwrap_or_default();
    name.rsplit(':').next().unwrap_or_default().to_owned()
}

#[test]
fn updates_by_form_and_by_text() {
    let served = writable();
    for path in ["/sparql", "/update"] {
        for (field, body) in [(FORM, &b"update=rows+5"[..]), (UPDATE, b"rows 5")] {
            let before = served.engine.snapshot();
            let answer = served.send(&format!("POST {path}"), &[field], body);
            assert_eq!((answer.status, answer.text()), (204, ""), "{path} {field}");
            let snapshot = (before + 1).to_string();
            assert_eq!(answer.field("somersault-snapshot"), snapshot);
            assert!(answer.field("query-id").starts_with('q'));
            assert!(answer.field("server-timing").contains("exec;dur="));
            let answer = served.send(&format!("POST {path}"), &[field, JSON], body);
            let expected = serde_json::json!({
                "snapshot": before + 2, "inserted": 5, "deleted": 2,
            });
            assert_eq!((answer.status, answer.json()), (200, expected));
        }
    }
    let metrics = served.get("/metrics");
    for line in [
        "somersault_changes_total{outcome=\"answered\"} 8",
        "somersault_inserted_quads_total 40",
        "somersault_deleted_quads_total 16",
        "somersault_layers 3",
        "somersault_writable 1",
    ] {
        assert!(metrics.text().contains(line), "{line}");
    }
}

#[test]
fn requests_that_are_no_update() {
    let served = writable();
    let bad: [(&str, &[&str], &[u8], u16); 14] = [
        ("GET /sparql?update=x", &[], b"", 400),
        ("GET /update?update=x", &[], b"", 405),
        ("POST /sparql", &[FORM], b"update=a&update=b", 400),
        ("POST /sparql", &[FORM], b"update=a&query=b", 400),
        ("POST /sparql?update=a", &[UPDATE], b"a", 400),
        ("POST /update", &[FORM], b"query=ask", 400),
        ("POST /update", &[FORM], b"", 400),
        ("POST /update", &[QUERY], b"ask", 415),
        ("POST /query", &[UPDATE], b"a", 415),
        ("POST /query", &[FORM], b"update=a", 400),
        ("QUERY /sparql", &[UPDATE], b"a", 400),
        (
            "POST /sparql?default-graph-uri=http://e/",
            &[UPDATE],
            b"a",
            400,
        ),
        (
            "POST /sparql?using-graph-uri=relative",
            &[UPDATE],
            b"a",
            400,
        ),
        (
            "POST /sparql",
            &["Content-Type: application/sparql-update; charset=UTF-16"],
            b"a",
            415,
        ),
    ];
    for (line, fields, body, status) in bad {
        served.send(line, fields, body).problem(status);
    }
    assert_eq!(served.engine.commits.load(Ordering::SeqCst), 0);
}

#[test]
fn failures_of_changes() {
    let served = writable();
    let table = [
        ("!syntax", 400, "syntax"),
        ("!shape", 422, "shape"),
        ("fail timeout", 504, "timeout"),
        ("fail memory", 507, "memory"),
        ("fail conflict", 409, "conflict"),
        ("panic", 500, "internal"),
        ("fail read_only", 503, "read-only"),
    ];
    for (script, status, name) in table {
        let answer = served.send("POST /update", &[UPDATE], script.as_bytes());
        assert_eq!(problem_type(&answer, status), name, "{script}");
        assert!(name != "read-only" || !answer.has("retry-after"));
    }
    let answer = served.send("POST /update", &[UPDATE], b"!syntax");
    assert_eq!(answer.problem(400)["position"]["line"], 2);
    let ready = served.get("/health/ready");
    let detail = ready.problem(503)["detail"].as_str().unwrap().to_owned();
    assert!(
        detail.contains("changes are refused: failed on purpose"),
        "{detail}"
    );
    assert!(
        served
            .get("/metrics")
            .text()
            .contains("somersault_writable 0")
    );
    served.until_running(0, SOON);
}

#[test]
fn rights() {
    let token = |right, secret: &str| Token {
        right,
        secret: secret.to_owned(),
    };
    let served = Served::with(|options| {
        options.access = Access {
            anonymous: None,
            tokens: vec![
                token(Right::Read, "reader-reader-reader"),
                token(Right::Write, "writer-writer-writer"),
                token(Right::Admin, "admin-admin-admin"),
            ],
        }
    });
    let requests: [Tried; 9] = [
        ("GET /sparql?query=ask", &[], b"", [401, 200, 200, 200]),
        ("GET /sparql", &[], b"", [401, 200, 200, 200]),
        ("GET /store?default", &[], b"", [401, 200, 200, 200]),
        ("GET /metrics", &[], b"", [401, 200, 200, 200]),
        ("POST /sparql", &[FORM], b"update=x", [401, 403, 204, 204]),
        ("POST /update", &[UPDATE], b"x", [401, 403, 204, 204]),
        ("DELETE /store?default", &[], b"", [401, 403, 204, 204]),
        ("GET /api/v1/queries", &[], b"", [401, 403, 403, 200]),
        ("POST /api/v1/compact", &[], b"", [401, 403, 403, 204]),
    ];
    let bearers = [
        None,
        Some("Authorization: Bearer reader-reader-reader"),
        Some("Authorization: bearer writer-writer-writer"),
        Some("Authorization: Bearer admin-admin-admin"),
    ];
    for (line, fields, body, statuses) in requests {
        for (bearer, status) in bearers.iter().zip(statuses) {
            let fields: Vec<&str> = fields.iter().copied().chain(*bearer).collect();
            let answer = served.send(line, &fields, body);
            assert_eq!(answer.status, status, "{line} {bearer:?}: {answer:?}");
            let challenged = answer.field("www-authenticate").starts_with("Bearer");
            assert_eq!(challenged, matches!(status, 401 | 403), "{line} {bearer:?}");
        }
        let wrong = "Authorization: Bearer reader-reader-readex";
        let fields: Vec<&str> = fields.iter().copied().chain([wrong]).collect();
        assert_eq!(served.send(line, &fields, body).status, 401, "{line}");
    }
    for line in ["GET /health/live", "GET /health/ready", "GET /"] {
        assert_eq!(served.send(line, &[], b"").status, 200);
    }
}

#[test]
fn a_closed_database_takes_no_changes_whoever_asks() {
    let served = writable();
    served.engine.is_closed.store(true, Ordering::SeqCst);
    let requests: [(&str, &[&str], &[u8]); 3] = [
        ("POST /update", &[UPDATE], b"x"),
        ("PUT /store?default", &[TURTLE], b"x"),
        ("DELETE /store?default", &[], b""),
    ];
    for (line, fields, body) in requests {
        let problem = served.send(line, fields, body).problem(403);
        assert!(problem["hint"].as_str().unwrap().contains("--allow-update"));
    }
    assert!(served.get("/health/ready").text().contains("read-only"));
}

#[test]
fn pages_of_other_origins_change_nothing() {
    let served = writable();
    let send = |origin: &str| {
        served
            .send("POST /update", &[FORM, origin], b"update=x")
            .status
    };
    assert_eq!(send("Origin: http://evil.example"), 403);
    assert_eq!(send("Origin: null"), 403);
    assert_eq!(send("Origin: http://localhost"), 204);
    let compact = |origin: &str| served.send("POST /api/v1/compact", &[origin], b"").status;
    assert_eq!(compact("Origin: http://evil.example"), 403);
    assert_eq!(compact("Origin: http://localhost"), 204);
    assert_eq!(served.get("/api/v1/compact").status, 405);
}

#[test]
fn graphs_are_written() {
    let served = writable();
    for (line, status) in [
        ("PUT /store?default", 201),
        ("POST /store?graph=http://e/g", 201),
        ("PUT /store/people", 201),
    ] {
        let answer = served.send(line, &[TURTLE], b"12345");
        assert_eq!(answer.status, status, "{line}: {answer:?}");
        assert!(!answer.has("location"));
    }
    let answer = served.send("PUT /data?default", &[TURTLE, JSON], b"12345");
    assert_eq!(
        (answer.status, &answer.json()["inserted"]),
        (201, &5.into())
    );
    let answer = served.send("POST /store", &[TURTLE], b"12345");
    assert_eq!(answer.status, 201);
    assert!(
        answer
            .field("location")
            .starts_with("http://localhost/store/")
    );
    let quads = ["Content-Type: application/n-quads"];
    let answer = served.send("POST /store", &quads, b"12345");
    assert!(!answer.has("location"));
    assert_eq!(
        served
            .send("DELETE /store?graph=http://e/g", &[], b"")
            .status,
        204
    );
    served
        .send("DELETE /store?graph=http://e/none", &[], b"")
        .problem(404);
    let answer = served.send("PUT /store?default", &["Content-Type: image/png"], b"x");
    let problem = answer.problem(415);
    assert_eq!(problem["offered"].as_array().unwrap().len(), 7);
    let answer = served.send(
        "PUT /store?default",
        &[TURTLE, "Content-Encoding: deflate"],
        b"x",
    );
    answer.problem(415);
    served
        .send("PUT /store?graph=relative", &[TURTLE], b"x")
        .problem(400);
    let answer = served.send("PATCH /store?default", &[TURTLE], b"x");
    let problem = answer.problem(415);
    assert_eq!(
        problem["offered"],
        serde_json::json!(["application/rdf-patch"])
    );
    assert_eq!(answer.field("accept-patch"), "application/rdf-patch");
}

#[test]
fn bodies_may_be_compressed() {
    let served = writable();
    let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    gzip.write_all(&[b'x'; 10_000]).unwrap();
    let gzip = gzip.finish().unwrap();
    let zstd = zstd::encode_all(&[b'x'; 10_000][..], 1).unwrap();
    for (coding, body) in [("gzip", &gzip), ("zstd", &zstd)] {
        let coding = format!("Content-Encoding: {coding}");
        let answer = served.send("PUT /store?default", &[TURTLE, JSON, &coding], body);
        assert_eq!(answer.json()["inserted"], 10_000, "{coding}");
        let broken = &body[..body.len() - 5];
        let answer = served.send("PUT /store?default", &[TURTLE, &coding], broken);
        answer.problem(400);
    }
}

#[test]
fn documents_have_a_limit_and_flow() {
    let served = Served::with(|options| {
        options.access = open();
        options.body_bytes_max = Some(1 << 20);
    });
    let body = vec![b'x'; 2 << 20];
    let answer = served.send("PUT /store?default", &[TURTLE], &body);
    assert_eq!(answer.problem(413)["limit"], 1 << 20);
    let zstd = zstd::encode_all(&body[..], 1).unwrap();
    let fields = [TURTLE, "Content-Encoding: zstd"];
    served
        .send("PUT /store?default", &fields, &zstd)
        .problem(413);
    let answer = served.send("PUT /store?default", &[TURTLE], &body[..1 << 20]);
    assert_eq!(answer.status, 201);
    assert_eq!(served.engine.commits.load(Ordering::SeqCst), 1);
}

#[test]
fn a_document_that_breaks_off_changes_nothing() {
    let served = writable();
    for fields in [
        &[TURTLE, "Content-Length: 100"][..],
        &[
            TURTLE,
            "Transfer-Encoding: chunked",
            "Content-Length-Not: 0",
        ],
    ] {
        let mut stream = client::connect(served.address);
        let chunked = fields.len() > 2;
        let body: &[u8] = if chunked { b"5\r\n12345\r\n" } else { b"12345" };
        client::request(&mut stream, "PUT /store?default", fields, body);
        served.until_running(1, SOON);
        drop(stream);
        served.until_running(0, SOON);
    }
    assert_eq!(served.engine.commits.load(Ordering::SeqCst), 0);
}

#[test]
fn a_document_that_stalls_is_given_up() {
    let served = Served::with(|options| {
        options.access = open();
        options.body_timeout = Duration::from_millis(200);
    });
    let mut stream = client::connect(served.address);
    let fields = [TURTLE, "Content-Length: 100"];
    client::request(&mut stream, "PUT /store?default", &fields, b"12345");
    let answer = client::read(&mut BufReader::new(stream), false);
    answer.problem(408);
    served.until_running(0, SOON);
    assert_eq!(served.engine.commits.load(Ordering::SeqCst), 0);
}

#[test]
fn a_client_that_goes_takes_its_change_along() {
    let served = writable();
    let mut stream = client::connect(served.address);
    client::request(&mut stream, "POST /update", &[UPDATE], b"spin");
    served.until_running(1, SOON);
    drop(stream);
    served.until_running(0, SOON);
    served.until_metric("changes_total{outcome=\"disconnected\"}", 1);
}

#[test]
fn nobody_waits_for_a_change_beyond_its_time_unless_it_is_being_committed() {
    let served = writable();
    let begun = Instant::now();
    let late = served.send("POST /update?timeout=0.2", &[UPDATE], b"stall 4000");
    assert_eq!(problem_type(&late, 504), "timeout");
    assert!(begun.elapsed() < Duration::from_millis(3900));
    let committed = served.send("POST /update?timeout=1", &[UPDATE], b"commit 2000");
    assert_eq!(committed.status, 204, "{committed:?}");
    served.until_running(0, SOON);
    assert_eq!(served.engine.commits.load(Ordering::SeqCst), 1);
    served.until_metric("changes_total{outcome=\"timeout\"}", 1);
}

#[test]
fn changes_are_cancelled_by_their_name() {
    let served = writable();
    let scripts: [(&str, &[&str], &[u8]); 2] = [
        ("POST /update", &[UPDATE], b"spin"),
        (
            "PUT /store?default",
            &[TURTLE, "Content-Length: 100"],
            b"12345",
        ),
    ];
    for (line, fields, body) in scripts {
        let mut stream = client::connect(served.address);
        client::request(&mut stream, line, fields, body);
        served.until_running(1, SOON);
        let id = served.engine.running().list()[0].id;
        let answer = served.send(&format!("DELETE /api/v1/queries/{id}"), &[], b"");
        assert_eq!(answer.status, 204);
        served.until_running(0, SOON);
        let answer = client::read(&mut BufReader::new(stream), false);
        assert_eq!(answer.status, 503, "{answer:?}");
    }
}

#[test]
fn a_change_that_is_being_committed_is_not_said_to_be_cancelled() {
    let served = writable();
    let mut stream = client::connect(served.address);
    client::request(&mut stream, "POST /update", &[UPDATE], b"commit 2000");
    while !served.engine.is_committing.load(Ordering::SeqCst) {
        std::thread::sleep(Duration::from_millis(1));
    }
    let id = served.engine.running().list()[0].id;
    let answer = served.send(&format!("DELETE /api/v1/queries/{id}"), &[], b"");
    assert_eq!(problem_type(&answer, 409), "conflict");
    let answer = client::read(&mut BufReader::new(stream), false);
    assert_eq!(answer.status, 204);
}

#[test]
fn changes_do_not_hold_up_queries() {
    let served = Served::with(|options| {
        options.access = open();
        options.started_max = 1;
        options.changes_max = 2;
        options.waiting_max = 1;
    });
    let mut spinning = Vec::new();
    for running in 1..=2 {
        let mut stream = client::connect(served.address);
        client::request(&mut stream, "POST /update", &[UPDATE], b"spin");
        served.until_running(running, SOON);
        spinning.push(stream);
    }
    let mut waiting = client::connect(served.address);
    client::request(&mut waiting, "POST /update", &[UPDATE], b"rows 1");
    served.until_metric("changes_waiting", 1);
    assert_eq!(served.query("rows 1").status, 200);
    let away = served.send("POST /update", &[UPDATE], b"rows 1");
    assert_eq!(problem_type(&away, 503), "overloaded");
    drop(spinning);
    assert_eq!(
        client::read(&mut BufReader::new(waiting), false).status,
        204
    );
}

#[test]
fn long_updates_have_a_limit_of_their_own() {
    let served = Served::with(|options| {
        options.access = open();
        options.text_bytes_max = 1000;
        options.update_text_bytes_max = 10_000;
    });
    let text = |length| "x".repeat(length);
    let form = |name: &str, length| format!("{name}={}", text(length));
    let table = [
        (UPDATE, text(5000), 204),
        (UPDATE, text(20_000), 413),
        (FORM, form("update", 5000), 204),
        (FORM, form("update", 20_000), 413),
        (QUERY, text(5000), 413),
        (FORM, form("query", 5000), 413),
    ];
    for (field, body, status) in table {
        let answer = served.send("POST /sparql", &[field], body.as_bytes());
        assert_eq!(answer.status, status, "{field} {}", body.len());
    }
}

#[test]
fn reading_what_was_written() {
    let served = writable();
    let query = |number: &str| {
        let field = format!("Somersault-Snapshot: {number}");
        served.send("GET /sparql?query=ask&timeout=0.5", &[&field], b"")
    };
    assert_eq!(query("7").status, 200);
    query("seven").problem(400);
    query("-1").problem(400);
    assert_eq!(problem_type(&query("8"), 504), "snapshot");
    let begun = Instant::now();
    std::thread::scope(|scope| {
        scope.spawn(|| served.send("POST /update", &[UPDATE], b"sleep 100"));
        let answer = query("8");
        assert_eq!(answer.status, 200, "{answer:?}");
    });
    assert!(begun.elapsed() >= Duration::from_millis(100));
    let field = ["Somersault-Snapshot: 9"];
    served
        .send("GET /store?default&timeout=0.1", &field, b"")
        .problem(504);
    served.engine.is_closed.store(true, Ordering::SeqCst);
    assert_eq!(problem_type(&query("9"), 412), "snapshot");
}

#[test]
fn the_description_says_whether_updates_are_taken() {
    let says = |served: &Served| {
        let answer = served.send("GET /sparql", &["Accept: application/n-triples"], b"");
        answer.text().contains("SPARQL11Update")
    };
    assert!(says(&writable()));
    assert!(!says(&Served::new()));
}

#[test]
fn uploads_that_stall_do_not_hold_up_others() {
    let served = Served::with(|options| {
        options.access = open();
        options.uploads_max = 4;
    });
    let fields = ["Content-Type: text/turtle", "Content-Length: 1000"];
    let stalled: Vec<_> = (0..16)
        .map(|_| {
            let mut stream = client::connect(served.address);
            client::request(&mut stream, "PUT /store?default", &fields, b"<http://e/a>");
            stream
        })
        .collect();
    served.until_running(4, SOON);
    let begun = Instant::now();
    let document = b"<http://e/s> <http://e/p> <http://e/o> .";
    let fields = ["Content-Type: text/turtle"];
    let written = served.send("POST /store?default", &fields, document);
    assert_eq!(written.status, 201, "{written:?}");
    // Some 1.3 s, for twelve that wait in front of it and four places, each of which is its next one's as soon as
    // its client has lost it: what is left of a body is waited for without the place.
    assert!(
        begun.elapsed() < Duration::from_secs(6),
        "{:?}",
        begun.elapsed()
    );
    // Which of them came first is the scheduler's business; the last four keep their places, as nobody waits for these.
    let has_answer = |stream: &TcpStream| {
        stream.set_nonblocking(true).unwrap();
        let seen = stream.peek(&mut [0]);
        stream.set_nonblocking(false).unwrap();
        seen.is_ok()
    };
    let mut answered = None;
    while answered.is_none() && begun.elapsed() < Duration::from_secs(20) {
        answered = stalled.iter().find(|stream| has_answer(stream));
        std::thread::sleep(Duration::from_millis(10));
    }
    let mut answered = BufReader::new(answered.expect("one that has lost its place"));
    client::read(&mut answered, false).problem(408);
}
