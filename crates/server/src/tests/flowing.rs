//! Answers that flow: when the status is sent, how memory stays flat, who notices whose end.

use super::Served;
use super::client::{self, Answer, encoded};
use crate::run::pipe::LINGER;
use crate::run::sizes::CHUNK_BYTES;
use std::io::{BufRead, BufReader, Read};
use std::net::TcpStream;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

/// What takes milliseconds, with room for a busy machine; what it must not take is 30 s.
const SOON: Duration = Duration::from_secs(5);

/// Sends a script and reads the head of its response.
fn begin(served: &Served, accept: &str, script: &str) -> (BufReader<TcpStream>, Answer) {
    let mut stream = client::connect(served.address);
    let line = format!("GET /sparql?query={}", encoded(script));
    client::request(&mut stream, &line, &[&format!("Accept: {accept}")], b"");
    let mut stream = BufReader::new(stream);
    let head = client::read_head(&mut stream);
    (stream, head)
}

#[test]
fn the_status_is_sent_after_50_ms_of_output() {
    let served = Served::new();
    let begun = Instant::now();
    let (_stream, head) = begin(&served, "text/csv", "rows 1; spin");
    assert_eq!(
        (head.status, head.field("transfer-encoding")),
        (200, "chunked")
    );
    // It comes while the query still runs, which without a limit it would do for 30 s.
    let taken = begun.elapsed();
    assert!(taken >= LINGER && taken < SOON, "{taken:?}");
}

#[test]
fn the_status_is_sent_after_64_kib_of_output() {
    let served = Served::new();
    let begun = Instant::now();
    let (_stream, head) = begin(&served, "text/csv", "kilobytes 70; spin");
    assert_eq!(head.status, 200);
    assert!(begun.elapsed() < SOON, "{:?}", begun.elapsed());
}

#[test]
fn trickling_rows_are_not_held_back() {
    let served = Served::new();
    let script = "rows 1; sleep 300; rows 2; spin";
    let (mut stream, _) = begin(&served, "text/tab-separated-values", script);
    let begun = Instant::now();
    let mut lines = String::new();
    while !lines.ends_with("\"x\"\n\"x\"\n") {
        stream.read_line(&mut lines).unwrap();
    }
    assert!(begun.elapsed() < SOON, "{:?}", begun.elapsed());
}

#[test]
fn a_long_answer_arrives_whole() {
    let served = Served::new();
    let answer = served.query_as("text/csv", "kilobytes 3000");
    assert!(answer.whole);
    assert_eq!(answer.body.len(), 3 + 3000 * 1002);
    assert!(
        served
            .get("/metrics")
            .text()
            .contains("somersault_result_bytes_total 3006003")
    );
}

#[test]
fn trailers_for_those_who_take_them() {
    let served = Served::new();
    let path = "GET /sparql?query=kilobytes+900";
    let answer = served.send(path, &["TE: trailers", "Connection: TE"], b"");
    assert_eq!(answer.field("trailer"), "server-timing");
    assert!(
        answer.trailers["server-timing"].starts_with("exec;dur="),
        "{:?}",
        answer.trailers
    );
    let answer = served.send(path, &[], b"");
    assert!(answer.whole && answer.trailers.is_empty() && !answer.has("trailer"));
}

#[test]
fn a_failure_after_the_first_byte_breaks_the_body_off() {
    let served = Served::new();
    // More than the pipe holds, so some of it is sent before the failure.
    let script = "kilobytes 900; fail memory";
    let table = [
        (
            "application/sparql-results+json",
            "\"}}]},\"error\":\"out of memory\"",
        ),
        (
            "application/sparql-results+xml",
            "<!-- error: out of memory -->",
        ),
        // A line would be read as a row.
        ("text/csv", "xx\r\n"),
        ("text/tab-separated-values", "xx\"\n"),
    ];
    for (accept, end) in table {
        let answer = served.query_as(accept, script);
        assert_eq!(answer.status, 200);
        assert!(!answer.whole, "{accept}: a broken body was ended");
        assert!(
            answer.text().ends_with(end),
            "{accept}: {:?}",
            tail(&answer)
        );
    }
    let answer = served.query_as("application/xml", "kilobytes 900; fail unsupported");
    assert!(
        answer.text().ends_with("on purpose - - unsupported -->"),
        "{:?}",
        tail(&answer)
    );
    let answer = served.query_as("application/xml", "kilobytes 900; panic");
    assert!(!answer.whole && answer.text().contains("<!-- error: the query met a bug"));
}

fn tail(answer: &Answer) -> &str {
    &answer.text()[answer.body.len().saturating_sub(80)..]
}

#[test]
fn a_slow_client_slows_the_query_down_and_memory_stays_flat() {
    let served = Served::new();
    let (mut stream, _) = begin(&served, "text/csv", "flood");
    // Nobody reads: the query soon stands still, with what fits into the buffers on the way.
    let rows = || served.engine.rows.load(Ordering::Relaxed);
    let mut before = 0;
    let begun = Instant::now();
    while rows() != before {
        assert!(
            begun.elapsed() < Duration::from_secs(10),
            "the query never stands still"
        );
        before = rows();
        std::thread::sleep(Duration::from_millis(150));
    }
    let sockets = 8 << 20;
    assert!(
        before * 1000 < sockets + 10 * CHUNK_BYTES as u64,
        "{before} KB ahead of the client"
    );
    // It goes on when somebody does.
    let mut bytes = vec![0; 12 << 20];
    stream.read_exact(&mut bytes).unwrap();
    assert!(rows() > before);
    served.until_running(1, SOON);
}

#[test]
fn a_client_that_goes_while_rows_flow_takes_its_query_along() {
    let served = Served::new();
    let (stream, _) = begin(&served, "text/csv", "flood");
    served.until_running(1, SOON);
    drop(stream);
    served.until_running(0, SOON);
    assert!(
        served
            .get("/metrics")
            .text()
            .contains("{outcome=\"disconnected\"} 1")
    );
}

#[test]
fn a_client_that_goes_while_rows_wait_takes_its_query_along() {
    let served = Served::new();
    let (stream, _) = begin(&served, "text/csv", "rows 1; spin");
    served.until_running(1, SOON);
    drop(stream);
    served.until_running(0, SOON);
}

#[test]
fn a_client_that_goes_before_any_row_takes_its_query_along() {
    let served = Served::new();
    let mut stream = client::connect(served.address);
    client::request(&mut stream, "GET /sparql?query=spin", &[], b"");
    served.until_running(1, SOON);
    drop(stream);
    served.until_running(0, SOON);
}

#[test]
fn a_client_that_goes_while_it_waits_never_runs() {
    let served = Served::with(|options| options.started_max = 1);
    let mut first = client::connect(served.address);
    client::request(&mut first, "GET /sparql?query=spin", &[], b"");
    served.until_running(1, SOON);
    let mut second = client::connect(served.address);
    client::request(&mut second, "GET /sparql?query=spin", &[], b"");
    served.until_metric("queries_waiting", 1);
    drop(second);
    served.until_metric("queries_waiting", 0);
    drop(first);
    served.until_running(0, SOON);
}

#[test]
fn a_deadline_frees_a_query_that_waits_for_its_client() {
    let served = Served::with(|options| options.stall_timeout = Duration::from_millis(500));
    let mut stream = client::connect(served.address);
    client::request(&mut stream, "GET /sparql?query=flood&timeout=0.4", &[], b"");
    served.until_running(1, SOON);
    served.until_running(0, SOON);
    assert!(
        served
            .get("/metrics")
            .text()
            .contains("{outcome=\"timeout\"} 1")
    );
    // And its connection does not stay for ever either: two, with the one that asks.
    served.until_metric("http_connections", 1);
    drop(stream);
}

/// Clients that ask for much and read nothing.
fn stalled(served: &Served, count: usize) -> Vec<TcpStream> {
    let ask = |_| {
        let mut stream = client::connect(served.address);
        client::request(&mut stream, "GET /sparql?query=flood", &[], b"");
        stream
    };
    (0..count).map(ask).collect()
}

#[test]
fn clients_that_do_not_read_stop_nobody() {
    let served = Served::with(|options| options.shares = 1);
    let clients = stalled(&served, 8);
    served.until_running(8, Duration::from_secs(10));
    served.until_metric("queries_stalled", 8);
    let begun = Instant::now();
    assert_eq!(served.query("ask").status, 200);
    // A few ms alone; their own time is 30 s.
    assert!(
        begun.elapsed() < Duration::from_secs(10),
        "{:?}",
        begun.elapsed()
    );
    // One that reads on gets on.
    let before = served.engine.rows.load(Ordering::Relaxed);
    let mut first = &clients[0];
    first.read_exact(&mut vec![0; 12 << 20]).unwrap();
    assert!(served.engine.rows.load(Ordering::Relaxed) > before);
    drop(clients);
    served.until_running(0, SOON);
    served.until_metric("queries_stalled", 0);
}

#[test]
fn too_many_clients_that_do_not_read_lose_the_oldest() {
    let served = Served::with(|options| {
        options.shares = 1;
        options.stalled_max = 1;
    });
    let clients = stalled(&served, 2);
    served.until_metric("queries_total{outcome=\"cancelled\"}", 1);
    assert_eq!(served.query("ask").status, 200);
    served.until_running(1, SOON);
    drop(clients);
    served.until_running(0, SOON);
}
