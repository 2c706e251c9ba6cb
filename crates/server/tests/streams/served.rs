//! A server with streams in this process, and a consumer of its events.

use super::client::{self, Answer, encoded};
use serde_json::{Value, json};
use server::{Access, Server, ServerOptions};
use somersault::config::Right;
use somersault::load::{self, Source, Syntax, Unwatched};
use somersault::{Database, Options};
use std::io::{BufRead, BufReader, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpStream};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};
use tokio::sync::oneshot;

pub const LIKES: &str = "http://e/likes-stream";
pub const JSON: &str = "Content-Type: application/json";
pub const TS: &str = "Content-Type: application/x-nt-ts";
pub const NDJSON: &str = "Content-Type: application/x-ndjson";
pub const NQUADS: &str = "Content-Type: application/n-quads";
pub const TEXT: &str = "Content-Type: application/sparql-query";
pub const EVENTS: &str = "Accept: text/event-stream";
pub const READER: &str = "Authorization: Bearer reader-reader-reader";
pub const WRITER: &str = "Authorization: Bearer writer-writer-writer";

/// Who likes what within a second of [`LIKES`].
pub const QUESTION: &str = "#@ report=close,nonempty
PREFIX : <http://e/>
SELECT ?who ?what
FROM NAMED WINDOW :w ON <http://e/likes-stream> [RANGE PT1S STEP PT1S]
WHERE { WINDOW :w { ?who :likes ?what } }";

pub struct Served {
    address: SocketAddr,
    end: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

pub fn in_memory(memory_is_writable: bool) -> Database {
    let options = Options {
        memory_is_writable,
        ..Options::default()
    };
    let data = b"<http://e/s> <http://e/p> <http://e/o> .\n".to_vec();
    let source = Source::chunks("data", Syntax::NQuads, std::iter::once(data));
    let loaded = load::load_in_memory(
        vec![source],
        &load::Request::default(),
        &options,
        &Unwatched,
    );
    loaded.unwrap().0
}

impl Served {
    pub fn new() -> Served {
        let access = Access {
            anonymous: Some(Right::Write),
            tokens: Vec::new(),
        };
        Served::of(in_memory(true), access)
    }

    pub fn of(database: Database, access: Access) -> Served {
        Served::with(
            database,
            ServerOptions {
                access,
                ..ServerOptions::default()
            },
        )
    }

    pub fn with(database: Database, options: ServerOptions) -> Served {
        let server = Server::bind(ServerOptions {
            bind: SocketAddr::from((Ipv4Addr::LOCALHOST, 0)),
            grace: Duration::from_secs(20),
            ..options
        });
        let server = server.unwrap();
        let address = server.address();
        let (end, ended) = oneshot::channel::<()>();
        let thread = std::thread::spawn(move || {
            server.serve(database, async { drop(ended.await) }).unwrap();
        });
        Served {
            address,
            end: Some(end),
            thread: Some(thread),
        }
    }

    pub fn address(&self) -> SocketAddr {
        self.address
    }

    pub fn send(&self, line: &str, fields: &[&str], body: &str) -> Answer {
        client::send(self.address, line, fields, body.as_bytes())
    }

    #[track_caller]
    pub fn get(&self, path: &str) -> Value {
        let answer = self.send(&format!("GET {path}"), &[], "");
        assert_eq!(answer.status, 200, "{answer:?}");
        answer.json()
    }

    /// Makes a stream; the members are those of its definition besides the name.
    #[track_caller]
    pub fn stream(&self, name: &str, mut definition: Value) -> Answer {
        definition["name"] = name.into();
        if definition.get("begin").is_none() {
            definition["begin"] = 0.into();
        }
        let answer = self.send("POST /api/v1/streams", &[JSON], &definition.to_string());
        assert_eq!(answer.status, 201, "{answer:?}");
        answer
    }

    pub fn push(&self, parameters: &str, field: &str, body: &str) -> Answer {
        self.send(
            &format!("POST {}{parameters}", items(LIKES)),
            &[field],
            body,
        )
    }

    /// A request whose body comes in chunks.
    pub fn flow(&self, line: &str, field: &str) -> Flow {
        let mut stream = client::connect(self.address);
        let fields = [field, "Transfer-Encoding: chunked"];
        client::request(&mut stream, line, &fields, b"");
        Flow(stream)
    }

    /// Pushes what must be taken, and gives the account.
    #[track_caller]
    pub fn pushed(&self, parameters: &str, field: &str, body: &str) -> Value {
        let answer = self.push(parameters, field, body);
        assert_eq!(answer.status, 200, "{answer:?}");
        answer.json()
    }

    /// A heartbeat.
    #[track_caller]
    pub fn until(&self, watermark_ms: u64) {
        let answer = self.push(&format!("?watermark={watermark_ms}"), TS, "");
        assert_eq!(answer.status, 200, "{answer:?}");
    }

    #[track_caller]
    pub fn register(&self, name: &str, text: &str) {
        let line = format!("POST /api/v1/continuous?name={}", encoded(name));
        let answer = self.send(&line, &[TEXT], text);
        assert_eq!(answer.status, 201, "{answer:?}");
        assert_eq!(answer.json()["name"], name);
    }

    /// A served question over a stream of likes.
    pub fn asked() -> Served {
        let served = Served::new();
        served.stream(LIKES, json!({}));
        served.register("q", QUESTION);
        served
    }

    /// The same, served by other options.
    pub fn asked_with(options: ServerOptions) -> Served {
        let access = Access {
            anonymous: Some(Right::Write),
            tokens: Vec::new(),
        };
        let served = Served::with(in_memory(true), ServerOptions { access, ..options });
        served.stream(LIKES, json!({}));
        served.register("q", QUESTION);
        served
    }

    /// One like in each of these seconds, which are over then.
    #[track_caller]
    pub fn like_in(&self, seconds: std::ops::Range<u64>) {
        for second in seconds.clone() {
            let ms = second * 1000 + 500;
            let line = format!("{ms}\t<http://e/p{second}> <http://e/likes> <http://e/x> .\n");
            self.pushed("", TS, &line);
        }
        self.until(seconds.end * 1000);
    }

    pub fn events(&self, parameters: &str, fields: &[&str]) -> Events {
        let line = format!("GET /api/v1/continuous/q/reports{parameters}");
        self.events_of(&line, fields)
    }

    /// Events of an address that has some.
    pub fn events_of(&self, line: &str, fields: &[&str]) -> Events {
        let mut stream = client::connect(self.address);
        client::request(&mut stream, line, &[&[EVENTS], fields].concat(), b"");
        let mut stream = BufReader::new(stream);
        let head = client::read_head(&mut stream);
        assert_eq!(
            (head.status, head.field("content-type")),
            (200, "text/event-stream")
        );
        Events(stream)
    }

    pub fn until_consumers(&self, count: u64) {
        self.until_metric("report_consumers", count);
    }

    pub fn until_metric(&self, name: &str, value: u64) {
        let line = format!("somersault_{name} {value}\n");
        let begun = Instant::now();
        while !self.send("GET /metrics", &[], "").text().contains(&line) {
            assert!(begun.elapsed() < Duration::from_mins(1), "never {line}");
            std::thread::sleep(Duration::from_millis(10));
        }
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        drop(self.end.take());
        if let Some(thread) = self.thread.take() {
            thread.join().unwrap();
        }
    }
}

/// A body that is sent in chunks.
pub struct Flow(TcpStream);

impl Flow {
    pub fn send(&mut self, text: &str) {
        let chunk = format!("{:x}\r\n{text}\r\n", text.len());
        self.0.write_all(chunk.as_bytes()).unwrap();
    }

    /// The end of the body, and the answer to all of it.
    pub fn end(mut self) -> Answer {
        self.0.write_all(b"0\r\n\r\n").unwrap();
        client::read(&mut BufReader::new(self.0), false)
    }
}

/// Events of a response, as they come.
pub struct Events(BufReader<TcpStream>);

impl Events {
    /// The next line that is no comment, no blank and no frame of a chunk; `None` at the end.
    pub fn line(&mut self) -> Option<String> {
        loop {
            let mut line = String::new();
            if self.0.read_line(&mut line).unwrap() == 0 || line == "0\r\n" {
                return None;
            }
            let begins = ["id:", "data:", "event:"];
            if begins.iter().any(|begin| line.starts_with(begin)) {
                return Some(line.trim_end().to_owned());
            }
        }
    }

    /// The lines of the next event, in their order.
    pub fn block(&mut self) -> Vec<String> {
        let mut lines = Vec::new();
        loop {
            let mut line = String::new();
            assert!(self.0.read_line(&mut line).unwrap() > 0, "no event comes");
            // Frames of chunks end with both.
            match line.strip_suffix('\n') {
                Some("") if !lines.is_empty() => return lines,
                Some("" | ":") | None => {}
                Some(frame) if frame.ends_with('\r') => {}
                Some(line) => lines.push(line.to_owned()),
            }
        }
    }

    /// The numbers of the next reports.
    pub fn numbers(&mut self, count: usize) -> Vec<u64> {
        let mut numbers = Vec::new();
        while numbers.len() < count {
            let line = self.line().unwrap();
            numbers.extend(
                line.strip_prefix("id: ")
                    .map(|id| id.parse::<u64>().unwrap()),
            );
        }
        // The report of the last one.
        assert!(self.line().unwrap().starts_with("data: {\"close\":"));
        numbers
    }
}

pub fn at(stream: &str) -> String {
    format!("/api/v1/streams/{}", encoded(stream))
}

pub fn items(stream: &str) -> String {
    format!("{}/items", at(stream))
}

pub fn numbers(answer: &Value) -> Vec<u64> {
    let reports = answer["reports"].as_array().unwrap().iter();
    reports
        .map(|report| report["number"].as_u64().unwrap())
        .collect()
}
