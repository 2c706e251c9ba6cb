//! How answers end, for clients that cannot see a broken one, and for those that have closed their side.

use super::Served;
use super::client;
use crate::request::access::Access;
use somersault::config::Right;
use std::io::{BufReader, Read, Write};
use std::net::Shutdown;
use std::time::{Duration, Instant};

/// What takes milliseconds, with room for a busy machine; what it must not take is 30 s.
const SOON: Duration = Duration::from_secs(5);

fn open() -> Access {
    Access {
        anonymous: Some(Right::Write),
        tokens: Vec::new(),
    }
}

/// A request of HTTP/1.0, and all that comes until the connection ends.
fn send_old(served: &Served, script: &str, accept: &str) -> String {
    let mut stream = client::connect(served.address);
    let path = client::encoded(script);
    let head = format!(
        "GET /sparql?query={path} HTTP/1.0\r\nAccept: {accept}\r\nAccept-Encoding: gzip\r\n\r\n"
    );
    stream.write_all(head.as_bytes()).unwrap();
    let mut all = String::new();
    stream.read_to_string(&mut all).unwrap();
    all
}

#[test]
fn clients_of_http_1_0_get_whole_answers_with_their_length_or_an_error() {
    let served = Served::with(|options| options.spool_bytes_max = 4 << 20);
    for script in ["rows 3", "kilobytes 10", "kilobytes 3000"] {
        let flowing = served.query_as("text/csv", script);
        let old = send_old(&served, script, "text/csv");
        let (head, body) = old.split_once("\r\n\r\n").unwrap();
        assert!(head.starts_with("HTTP/1.0 200 OK"), "{script}: {head}");
        let length = format!("content-length: {}", flowing.body.len());
        assert!(head.contains(&length), "{script}: {head}");
        assert!(body.as_bytes() == flowing.body, "{script}");
    }
    let old = send_old(&served, "kilobytes 900; fail memory", "text/csv");
    assert!(old.starts_with("HTTP/1.0 507"), "{old}");
    let old = send_old(&served, "kilobytes 5000", "text/csv");
    assert!(
        old.starts_with("HTTP/1.0 507") && old.contains("4.0 MiB"),
        "{old}"
    );
    assert!(old.contains("server.spool_limit"), "{old}");
    // Nothing of it is left.
    let old = send_old(&served, "kilobytes 3000", "text/csv");
    assert!(old.starts_with("HTTP/1.0 200"), "{}", &old[..400]);
}

/// An answer that is kept takes disk until its client has it, and no longer than any client may take nothing.
#[test]
fn a_client_that_does_not_read_gives_its_room_back() {
    let served = Served::with(|options| {
        options.spool_bytes_max = 24 << 20;
        options.stall_timeout = Duration::from_millis(700);
    });
    let script = "kilobytes 20000";
    let mut stalled = client::connect(served.address);
    let path = client::encoded(script);
    let head = format!("GET /sparql?query={path} HTTP/1.0\r\nAccept: text/csv\r\n\r\n");
    stalled.write_all(head.as_bytes()).unwrap();
    // Its answer has begun, so all of it is there.
    stalled.read_exact(&mut [0; 15]).unwrap();
    let second = send_old(&served, script, "text/csv");
    assert!(second.starts_with("HTTP/1.0 507"), "{}", &second[..100]);
    let begun = Instant::now();
    while !send_old(&served, script, "text/csv").starts_with("HTTP/1.0 200") {
        assert!(begun.elapsed() < 2 * SOON, "it is never given back");
        std::thread::sleep(Duration::from_millis(50));
    }
    let mut rest = Vec::new();
    let ended = stalled.read_to_end(&mut rest);
    assert!(ended.is_err() || rest.len() < 20_000 << 10, "it was cut");
}

#[test]
fn a_client_of_http_1_0_that_goes_takes_its_query_along() {
    let served = Served::new();
    let mut stream = client::connect(served.address);
    let flood = b"GET /sparql?query=flood HTTP/1.0\r\n\r\n";
    stream.write_all(flood).unwrap();
    served.until_running(1, SOON);
    drop(stream);
    served.until_running(0, SOON);
}

#[test]
fn a_client_that_has_closed_its_own_side_gets_its_answer() {
    let served = Served::new();
    for version in ["1.0", "1.1"] {
        for script in [
            "rows 3",
            "sleep 100; rows 3",
            "rows 3; sleep 300; rows 1",
            "kilobytes 900; sleep 200; kilobytes 900",
            "sleep 100; fail memory",
        ] {
            let mut stream = client::connect(served.address);
            let path = client::encoded(script);
            let head =
                format!("GET /sparql?query={path} HTTP/{version}\r\nHost: localhost\r\n\r\n");
            stream.write_all(head.as_bytes()).unwrap();
            stream.shutdown(Shutdown::Write).unwrap();
            let mut stream = BufReader::new(stream);
            let answer = client::read(&mut stream, false);
            assert!(answer.whole, "{version}, {script}: {answer:?}");
            let status = if script.contains("fail") { 507 } else { 200 };
            assert_eq!(answer.status, status, "{version}, {script}");
            // The connection ends after it.
            let mut rest = Vec::new();
            stream.read_to_end(&mut rest).unwrap();
            assert!(rest.is_empty(), "{version}, {script}: {rest:?}");
        }
    }
}

#[test]
fn a_change_whose_client_has_closed_its_side_is_made_and_answered() {
    let served = Served::with(|options| options.access = open());
    let mut stream = client::connect(served.address);
    let fields = ["Content-Type: application/sparql-update"];
    client::request(&mut stream, "POST /update", &fields, b"sleep 100; rows 2");
    stream.shutdown(Shutdown::Write).unwrap();
    let answer = client::read(&mut BufReader::new(stream), false);
    assert!(answer.status < 300, "{answer:?}");
    // Half a body is none, however long one waits.
    let mut stream = client::connect(served.address);
    let fields = [fields[0], "Content-Length: 100"];
    client::request(&mut stream, "POST /update", &fields, b"rows 2");
    stream.shutdown(Shutdown::Write).unwrap();
    let mut said = Vec::new();
    stream.read_to_end(&mut said).unwrap();
    assert!(!String::from_utf8_lossy(&said).contains(" 200 "));
    served.until_running(0, SOON);
}
