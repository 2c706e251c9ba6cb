//! Flights against a server of a few lines that answers well, badly, or not at all.

use super::*;
use crate::mix::Pace;
use crate::mix::tests::{listed, rows_of, run};
use std::io::{BufRead, BufReader};
use std::net::TcpListener;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use workload::mix::Kind;

/// Answers the query of this number with this text: head and body as they are sent.
type Answer = dyn Fn(u64, &str) -> String + Send + Sync;

/// A server on a port of its own, with a thread a connection; they end with their connections.
fn server(answer: Arc<Answer>) -> Address {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/", listener.local_addr().unwrap());
    let number = Arc::new(AtomicU64::new(0));
    thread::spawn(move || {
        for stream in listener.incoming() {
            let (mut stream, answer, number) = (stream.unwrap(), answer.clone(), number.clone());
            thread::spawn(move || {
                let mut reader = BufReader::new(stream.try_clone().unwrap());
                while let Some(query) = request(&mut reader) {
                    let text = answer(number.fetch_add(1, Ordering::Relaxed), &query);
                    if stream.write_all(text.as_bytes()).is_err() || text.contains(": close") {
                        break;
                    }
                }
            });
        }
    });
    Address::new(&url).unwrap()
}

fn request(reader: &mut impl BufRead) -> Option<String> {
    let mut length = 0;
    loop {
        let mut line = String::new();
        if reader.read_line(&mut line).ok()? == 0 {
            return None;
        }
        if let Some(value) = line.strip_prefix("Content-Length: ") {
            length = value.trim().parse().ok()?;
        }
        if line == "\r\n" {
            break;
        }
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body).ok()?;
    String::from_utf8(body).ok()
}

fn tsv(rows: u64, more: &str) -> String {
    let body = format!("?x\n{}", "<a>\n".repeat(rows as usize));
    format!(
        "HTTP/1.1 200 OK\r\n{more}Content-Length: {}\r\n\r\n{body}",
        body.len()
    )
}

fn flown(pace: Pace, answer: Arc<Answer>) -> Result<Tally, Error<HttpError>> {
    let listed = listed();
    let first = FirstRows::new(Kind::Light, &listed);
    let address = server(answer);
    fly(&run(pace), (0, 1), 3, &address, (&listed, &first))
}

#[test]
fn rows_are_counted_over_every_connection() {
    let tally = flown(
        Pace::Closed,
        Arc::new(|_, text: &str| tsv(rows_of(text), "")),
    );
    let tally = tally.unwrap();
    assert!(tally.answers() > 30, "{}", tally.answers());
    assert!(tally.classes.iter().map(|class| class.rows).sum::<u64>() > 30);
    assert!(tally.elapsed >= Duration::from_millis(100));
}

#[test]
fn a_server_may_close_after_each_answer() {
    let closing = |_: u64, text: &str| tsv(rows_of(text), "Connection: close\r\n");
    let tally = flown(Pace::Closed, Arc::new(closing)).unwrap();
    assert!(tally.answers() > 10, "{}", tally.answers());
}

#[test]
fn arrivals_do_not_wait_for_answers() {
    let pace = Pace::Open { per_second: 500.0 };
    let slow = |number: u64, text: &str| {
        if number == 20 {
            thread::sleep(Duration::from_millis(30));
        }
        tsv(rows_of(text), "")
    };
    let tally = flown(pace, Arc::new(slow)).unwrap();
    let asked = tally.answers();
    assert!((20..100).contains(&asked), "{asked}");
}

#[test]
fn a_wrong_status_an_end_and_other_rows_end_the_run() {
    let failed = |number: u64, text: &str| match number {
        9 => "HTTP/1.1 500 No\r\nContent-Length: 4\r\n\r\noops".to_owned(),
        _ => tsv(rows_of(text), ""),
    };
    let error = flown(Pace::Closed, Arc::new(failed)).unwrap_err();
    assert!(
        error.to_string().contains("the server answered 500: oops"),
        "{error}"
    );
    let ended = |number: u64, text: &str| match number {
        9 => "HTTP/1.1 200 OK\r\nX: close\r\nContent-Length: 4\r\n\r\noo".to_owned(),
        _ => tsv(rows_of(text), ""),
    };
    let error = flown(Pace::Closed, Arc::new(ended)).unwrap_err();
    assert!(
        matches!(
            error,
            Error::Query {
                source: HttpError::Closed,
                ..
            }
        ),
        "{error}"
    );
    // A busy machine gives few answers in the time of a run.
    let other = |number: u64, _: &str| tsv(u64::from(number > 12), "");
    let error = flown(Pace::Closed, Arc::new(other)).unwrap_err();
    assert!(
        matches!(
            error,
            Error::Rows {
                first: 0,
                later: 1,
                ..
            }
        ),
        "{error}"
    );
}
