//! A server whose graph is in parts: what it says of its nodes, and of a query that is followed across them.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

#[allow(dead_code, reason = "shared with the unit tests, which use more of it")]
#[path = "../src/tests/client.rs"]
mod client;

use client::{Answer, encoded};
use serde_json::{Value, json};
use server::otlp::SpanExporter;
use server::{Server, ServerOptions};
use somersault::load::{self, Source, Syntax, Unwatched};
use somersault::nodes::{Deal, NodeOptions, Placement};
use somersault::{Database, Options};
use std::collections::{BTreeMap, BTreeSet};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::JoinHandle;
use std::time::Duration;
use tokio::sync::oneshot;

const NODES: u16 = 3;

/// How long a test waits for what has to come.
const PATIENCE: Duration = Duration::from_mins(1);

const TRACE: &str = "4bf92f3577b34da6a3ce929d0e0e4736";
const PARENT: &str = "00f067aa0ba902b7";

/// Of everything a few, so that all nodes have some.
const TEXT: &str = "SELECT * { ?x a <http://e/C> . ?x <http://e/p> ?y . ?y <http://e/p> ?z }";

fn graph() -> Vec<u8> {
    let line = |at: u64| {
        let (kind, next) = (
            "http://www.w3.org/1999/02/22-rdf-syntax-ns#type",
            (at * 7 + 1) % 60,
        );
        format!(
            "<http://e/{at}> <{kind}> <http://e/C> .\n<http://e/{at}> <http://e/p> <http://e/{next}> .\n"
        )
    };
    (0..60).map(line).collect::<String>().into_bytes()
}

struct Served {
    address: SocketAddr,
    end: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Served {
    fn over_nodes(options: &Options) -> Served {
        let source = Source::chunks("graph", Syntax::NTriples, std::iter::once(graph()));
        let request = load::Request {
            threads: 1,
            ..load::Request::default()
        };
        let loaded = load::load_in_memory(vec![source], &request, options, &Unwatched);
        let placement = Placement::in_turn(NODES, 2, 64).unwrap();
        let nodes = NodeOptions::default();
        let database: Database = loaded
            .unwrap()
            .0
            .in_nodes(&Deal::By(placement), &nodes, options)
            .unwrap();
        let bind = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
        let server = Server::bind(ServerOptions {
            bind,
            ..ServerOptions::default()
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

    fn get(&self, target: &str, fields: &[&str]) -> Answer {
        let answer = client::send(self.address, &format!("GET {target}"), fields, b"");
        assert_eq!(answer.status, 200, "{answer:?}");
        answer
    }

    fn query(&self, more: &str, fields: &[&str]) -> Answer {
        self.get(&format!("/sparql?query={}{more}", encoded(TEXT)), fields)
    }

    /// The values of a family by node.
    fn values(&self, family: &str) -> Vec<u64> {
        let page = self.get("/metrics", &[]);
        let start = format!("somersault_{family}{{node=\"");
        let lines = page.text().lines().filter(|line| line.starts_with(&start));
        let value = |line: &str| line.rsplit(' ').next().and_then(|value| value.parse().ok());
        lines.map(|line| value(line).unwrap()).collect()
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

/// A collector of a few lines; it gives what is posted.
fn collector() -> (SocketAddr, Receiver<Value>) {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let address = listener.local_addr().unwrap();
    let (sender, posted) = channel();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let sender = sender.clone();
            std::thread::spawn(move || collect(stream.unwrap(), &sender));
        }
    });
    (address, posted)
}

/// Takes what is posted on a connection, until it ends.
fn collect(stream: TcpStream, sender: &Sender<Value>) {
    let mut answers = stream.try_clone().unwrap();
    let mut stream = BufReader::new(stream);
    loop {
        let (mut line, mut len) = (String::new(), 0);
        if stream.read_line(&mut line).unwrap_or(0) == 0 {
            return;
        }
        assert_eq!(line, "POST /v1/traces HTTP/1.1\r\n");
        while line != "\r\n" {
            line.clear();
            stream.read_line(&mut line).unwrap();
            let field = line.to_ascii_lowercase();
            if let Some(value) = field.strip_prefix("content-length:") {
                len = value.trim().parse().unwrap();
            }
        }
        let mut body = vec![0; len];
        stream.read_exact(&mut body).unwrap();
        let _ = sender.send(serde_json::from_slice(&body).unwrap());
        let answer = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}";
        answers.write_all(answer).unwrap();
    }
}

fn of_document(document: &Value) -> Vec<Value> {
    let spans = document["resourceSpans"][0]["scopeSpans"][0]["spans"].as_array();
    spans.unwrap().clone()
}

fn text<'s>(span: &'s Value, member: &str) -> &'s str {
    span[member].as_str().unwrap()
}

fn attribute(span: &Value, key: &str) -> Option<u64> {
    let attributes = span["attributes"].as_array().unwrap();
    let found = attributes
        .iter()
        .find(|attribute| attribute["key"] == key)?;
    found["value"]["intValue"].as_str()?.parse().ok()
}

#[test]
fn a_query_that_is_followed_is_told_node_by_node() {
    let (address, posted) = collector();
    let exporter = SpanExporter::start(&format!("http://{address}/")).unwrap();
    let served = Served::over_nodes(&Options {
        spans: Some(Arc::new(exporter)),
        ..Options::default()
    });
    let unsampled = format!("traceparent: 00-{TRACE}-{PARENT}-00");
    for fields in [&[][..], &[&*unsampled], &["traceparent: nonsense"]] {
        served.query("", fields);
    }
    let traceparent = format!("traceparent: 00-{TRACE}-{PARENT}-01");
    let accept = "Accept: application/sparql-results+json";
    let answer = served.query("", &[&traceparent, accept]);
    let rows = answer.json()["results"]["bindings"]
        .as_array()
        .unwrap()
        .len() as u64;
    assert_eq!(rows, 60);
    let mut spans: Vec<Value> = Vec::new();
    let is_of_node = |span: &&Value| attribute(span, "somersault.section").is_none();
    while spans.iter().filter(is_of_node).count() < usize::from(NODES) {
        spans.extend(of_document(&posted.recv_timeout(PATIENCE).unwrap()));
    }
    let ids: BTreeSet<&str> = spans.iter().map(|span| text(span, "spanId")).collect();
    assert_eq!(ids.len(), spans.len(), "each has a name of its own");
    assert!(
        spans.iter().all(|span| text(span, "traceId") == TRACE),
        "others are not told"
    );
    let (nodes, sections): (Vec<&Value>, Vec<&Value>) = spans.iter().partition(is_of_node);
    let asked: Vec<&&Value> = nodes
        .iter()
        .filter(|span| text(span, "parentSpanId") == PARENT)
        .collect();
    assert_eq!(asked.len(), 1, "one node was asked: {nodes:#?}");
    let of_node = nodes.iter().map(|span| {
        let node = attribute(span, "somersault.node").unwrap();
        (text(span, "spanId"), node)
    });
    let of_node: BTreeMap<&str, u64> = of_node.collect();
    assert_eq!(
        of_node.values().copied().collect::<BTreeSet<_>>(),
        (0..3).collect()
    );
    for span in nodes.iter().filter(|span| ***span != **asked[0]) {
        assert_eq!(
            text(span, "parentSpanId"),
            text(asked[0], "spanId"),
            "{span:#?}"
        );
    }
    let mut given = 0;
    let last = sections
        .iter()
        .filter_map(|span| attribute(span, "somersault.section"))
        .max();
    for span in &sections {
        let node = attribute(span, "somersault.node");
        assert_eq!(
            of_node.get(text(span, "parentSpanId")).copied(),
            node,
            "{span:#?}"
        );
        let nanoseconds = |member| text(span, member).parse::<u64>().unwrap();
        assert!(nanoseconds("startTimeUnixNano") <= nanoseconds("endTimeUnixNano"));
        if attribute(span, "somersault.section") == last {
            given += attribute(span, "somersault.rows_out").unwrap();
        }
    }
    assert_eq!(given, rows, "the last section gives the answer");
}

#[test]
fn a_collector_that_is_not_there_costs_no_query_anything() {
    let nobody = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let address = nobody.local_addr().unwrap();
    drop(nobody);
    let exporter = Arc::new(SpanExporter::start(&format!("http://{address}")).unwrap());
    let spans = Arc::clone(&exporter);
    let served = Served::over_nodes(&Options {
        spans: Some(spans),
        ..Options::default()
    });
    let traceparent = format!("traceparent: 00-{TRACE}-{PARENT}-01");
    for _ in 0..20 {
        served.query("", &[&traceparent]);
    }
    assert_eq!(
        exporter.dropped(),
        0,
        "they were taken, and nobody was there"
    );
    for bad in ["", "collector:4318", "ftp://collector", "http://"] {
        assert!(SpanExporter::start(bad).is_err(), "{bad}");
    }
}

#[test]
fn metrics_and_plans_tell_of_nodes() {
    let served = Served::over_nodes(&Options::default());
    assert_eq!(served.values("node_peers_up"), [2, 2, 2]);
    for _ in 0..6 {
        served.query("", &[]);
    }
    assert_eq!(
        served
            .values("node_queries_asked_total")
            .iter()
            .sum::<u64>(),
        6
    );
    while served.values("node_queries_running").iter().sum::<u64>() > 0 {
        std::thread::yield_now();
    }
    assert_eq!(
        served
            .values("node_queries_helped_total")
            .iter()
            .sum::<u64>(),
        12
    );
    assert!(
        served
            .values("node_shipped_bytes_total")
            .iter()
            .all(|bytes| *bytes > 0)
    );
    let traceparent = format!("traceparent: 00-{TRACE}-{PARENT}-01");
    let plan = served.query("&explain=profile", &[&traceparent]).json();
    assert_eq!(plan["parts"]["nodes"], json!(3));
    assert_eq!(plan["trace"], json!(traceparent["traceparent: ".len()..]));
    let sections = plan["parts"]["sections"].as_array().unwrap();
    assert!(
        sections.iter().all(|section| section["nodes"].is_array()),
        "{plan:#}"
    );
    // A graph is given out whole.
    let accept = "Accept: application/n-triples";
    let document = served.get("/store?default", &[accept]);
    assert_eq!(document.text().lines().count(), 120);
}
