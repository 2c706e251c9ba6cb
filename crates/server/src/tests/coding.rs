//! Answers and requests that are compressed.

use super::Served;
use super::client::{self, Answer, encoded};
use crate::response::coding::{Coding, Encoder};
use std::io::{BufReader, Read};
use std::time::{Duration, Instant};

const QUERY: &str = "Content-Type: application/sparql-query";
const FORM: &str = "Content-Type: application/x-www-form-urlencoded";

fn accepting(served: &Served, encodings: &str, script: &str) -> Answer {
    let line = format!("GET /sparql?query={}", encoded(script));
    let field = format!("Accept-Encoding: {encodings}");
    served.send(&line, &[&field, "Accept: text/csv"], b"")
}

fn read(answer: &Answer, coding: Coding) -> String {
    assert_eq!(
        answer.field("content-encoding"),
        coding.name(),
        "{answer:?}"
    );
    let mut text = String::new();
    let mut decoder = coding.decoder(&*answer.body).unwrap();
    decoder.read_to_string(&mut text).unwrap();
    text
}

fn made(coding: Coding, plain: &[u8]) -> Vec<u8> {
    let mut encoder = Encoder::new(coding).unwrap();
    encoder.write(plain).unwrap();
    let mut bytes = encoder.take();
    bytes.extend(encoder.finish().unwrap());
    bytes
}

#[test]
fn answers_are_compressed_where_the_client_asks_and_they_are_long() {
    let served = Served::new();
    for script in ["rows 1000", "kilobytes 40", "kilobytes 2000"] {
        let plain = accepting(&served, "identity", script);
        assert!(!plain.has("content-encoding"));
        assert_eq!(plain.field("vary"), "accept, accept-encoding");
        for coding in Coding::ALL {
            let answer = accepting(&served, coding.name(), script);
            assert!(answer.whole && answer.status == 200);
            assert_eq!(answer.field("vary"), "accept, accept-encoding");
            assert_eq!(read(&answer, coding), plain.text(), "{script} {coding:?}");
            assert!(answer.body.len() < plain.body.len() / 3);
            let flows = answer.field("transfer-encoding") == "chunked";
            assert_eq!(flows, script == "kilobytes 2000", "{script}");
            let (own, whole) = (answer.field("etag"), plain.field("etag"));
            assert_eq!(
                own,
                whole.replace("csv\"", &format!("csv.{}\"", coding.name()))
            );
        }
    }
    for (encodings, script) in [
        ("gzip", "rows 2"),
        ("deflate", "rows 1000"),
        ("", "rows 1000"),
    ] {
        let answer = accepting(&served, encodings, script);
        assert!(!answer.has("content-encoding") && answer.has("content-length"));
    }
    assert!(accepting(&served, "gzip, identity;q=0", "rows 2").has("content-encoding"));
    accepting(&served, "identity;q=0", "rows 2").problem(406);
    let page = served.send("GET /", &["Accept-Encoding: gzip"], b"");
    assert!(read(&page, Coding::Gzip).contains("<textarea"));
    assert_eq!(page.field("vary"), "accept-encoding");
    assert!(
        !served
            .send("HEAD /", &["Accept-Encoding: gzip"], b"")
            .has("content-encoding")
    );
    assert_eq!(
        served.engine.pool.used_bytes(),
        0,
        "memory was not given back"
    );
}

#[test]
fn rows_arrive_compressed_when_they_would_arrive_plain() {
    let served = Served::new();
    for coding in Coding::ALL {
        let mut stream = client::connect(served.address);
        let line = format!(
            "GET /sparql?query={}",
            encoded("rows 400; sleep 3000; rows 5")
        );
        let field = format!("Accept-Encoding: {}", coding.name());
        let begun = Instant::now();
        client::request(&mut stream, &line, &[&field, "Accept: text/csv"], b"");
        let mut reader = BufReader::new(stream);
        let head = client::read_head(&mut reader);
        assert_eq!(head.field("content-encoding"), coding.name());
        let mut decoder = coding.decoder(Chunks(&mut reader)).unwrap();
        // A line `a`, and 400 of a letter.
        let mut rows = [0; 3 + 400 * 3];
        decoder.read_exact(&mut rows).unwrap();
        assert!(begun.elapsed() < Duration::from_millis(2900), "{coding:?}");
        assert!(rows.ends_with(b"x\r\nx\r\n"));
    }
}

/// The bytes of a chunked body.
struct Chunks<'r, R>(&'r mut R);

impl<R: std::io::BufRead> Read for Chunks<'_, R> {
    fn read(&mut self, into: &mut [u8]) -> std::io::Result<usize> {
        // One byte at a time through the framing would be slow; a chunk fits into what is asked for here.
        let mut line = String::new();
        self.0.read_line(&mut line)?;
        let len = usize::from_str_radix(line.trim(), 16).unwrap();
        assert!(len <= into.len(), "{len}");
        self.0.read_exact(&mut into[..len])?;
        self.0.read_line(&mut line)?;
        Ok(len)
    }
}

#[test]
fn an_answer_that_breaks_off_is_not_ended_by_its_coding() {
    let served = Served::new();
    for coding in Coding::ALL {
        let answer = accepting(&served, coding.name(), "kilobytes 2000; fail damaged");
        assert!(answer.status == 200 && !answer.whole, "{coding:?}");
        let mut text = Vec::new();
        let mut decoder = coding.decoder(&*answer.body).unwrap();
        assert!(decoder.read_to_end(&mut text).is_err(), "{coding:?}");
        let text = String::from_utf8(text).unwrap();
        // All that was sent before, and nothing that would be read as a row.
        assert_eq!(text.len(), 3 + 2000 * 1002, "{coding:?}");
    }
}

#[test]
fn texts_of_requests_may_be_compressed() {
    let served = Served::with(|options| options.text_bytes_max = 100_000);
    let text = format!("rows 2;{}", ";".repeat(50_000));
    let form = format!("query={}", encoded(&text));
    for coding in Coding::ALL {
        let field = format!("Content-Encoding: {}", coding.name());
        let send = |kind: &str, body: &[u8]| served.send("POST /sparql", &[kind, &field], body);
        for (kind, plain) in [(QUERY, &text), (FORM, &form)] {
            let body = made(coding, plain.as_bytes());
            let answer = send(kind, &body);
            assert_eq!(answer.status, 200, "{coding:?}: {}", answer.text());
            let broken = send(kind, &body[..body.len() - 3]).problem(400);
            let detail = broken["detail"].as_str().unwrap();
            assert!(detail.contains(coding.name()), "{detail}");
        }
        // A small body that becomes a huge one.
        let bomb = made(coding, &vec![b' '; 8 << 20]);
        assert!(bomb.len() < 100_000);
        send(QUERY, &bomb).problem(413);
    }
    for named in ["deflate", "gzip, br", ""] {
        let field = format!("Content-Encoding: {named}");
        let answer = served.send("POST /sparql", &[QUERY, &field], b"ask");
        let problem = answer.problem(415);
        assert_eq!(answer.field("accept-encoding"), "gzip, br, zstd");
        assert_eq!(problem["offered"][0], "gzip");
    }
    assert_eq!(
        served.engine.pool.used_bytes(),
        0,
        "memory was not given back"
    );
}
