//! A golden run, driven through a server: its stored data are put, its streams made, all its texts registered, its items
//! pushed, and its reports read, all by HTTP.

use super::client::encoded;
use super::served::*;
use oxrdf::{GraphName, Triple};
use serde_json::{Value, json};
use server::{Access, ServerOptions};
use somersault::config::Right;
use somersault::load::{self, Unwatched};
use somersault::{Database, Options};
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::time::Duration;
use testkit::standing::goldens::{GoldenRun, told};
use testkit::standing::{Absorbed, Item, PlainStream, Reported};

const TRIPLES: &str = "Content-Type: application/n-triples";
const LINES: &str = "Accept: application/x-ndjson";
/// Pushes of each stream, at least.
const PUSHES: u64 = 12;
/// Time of the items of a push, at most (milliseconds). Reports are read after each: a query keeps 16 MiB of them, and those of
/// CityBench have megabytes.
const PUSH_MS: u64 = 1_000;

/// How reports are read.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Reading {
    /// By long polls, while items are pushed.
    Polls,
    /// By Server-Sent Events.
    Events,
}

/// A server without data whose older snapshots are kept for as long as a test takes.
pub fn empty() -> Served {
    let options = Options {
        memory_is_writable: true,
        keep_snapshots: Duration::from_hours(1),
        timeout: Duration::from_mins(10),
        ..Options::default()
    };
    let request = load::Request::default();
    let loaded = load::load_in_memory(Vec::new(), &request, &options, &Unwatched);
    let database: Database = loaded.unwrap().0;
    let access = Access {
        anonymous: Some(Right::Write),
        tokens: Vec::new(),
    };
    let options = ServerOptions {
        access,
        update_timeout: Duration::from_mins(10),
        ..ServerOptions::default()
    };
    Served::with(database, options)
}

/// Puts triples into a graph.
pub fn put(served: &Served, graph: &GraphName, triples: impl Iterator<Item = Triple>) {
    let mut document = String::new();
    for triple in triples {
        writeln!(document, "{triple} .").unwrap();
    }
    let address = match graph {
        GraphName::NamedNode(name) => format!("graph={}", encoded(name.as_str())),
        _ => "default".to_owned(),
    };
    let answer = served.send(&format!("PUT /store?{address}"), &[TRIPLES], &document);
    assert!(matches!(answer.status, 201 | 204), "{answer:?}");
}

/// Makes a stream.
pub fn make(served: &Served, stream: &PlainStream) {
    let absorb = match &stream.absorbed {
        Absorbed::All => json!("all"),
        Absorbed::Nothing => json!("none"),
        Absorbed::Only(predicates) => predicates.iter().map(oxrdf::NamedNode::as_str).collect(),
    };
    let mut definition = json!({
        "grain": format!("{}ms", stream.grain_ms), "lateness": format!("{}ms", stream.lateness_ms),
        "idle": "never", "absorb": absorb, "begin": stream.begin_ms,
    });
    if let GraphName::NamedNode(graph) = &stream.into {
        definition["into"] = graph.as_str().into();
    }
    served.stream(stream.iri.as_str(), definition);
}

/// Pushes triples of a stream, and the promise that there are no others before a moment. Those of one moment are one item: a
/// recording has them as lines, whose labels of blank nodes mean the same node, and an item has its own.
pub fn push<'i>(
    served: &Served,
    stream: &PlainStream,
    items: impl Iterator<Item = &'i Item>,
    watermark_ms: u64,
) {
    let mut moments: BTreeMap<u64, String> = BTreeMap::new();
    for item in items {
        let quads = moments.entry(item.time_ms).or_default();
        for quad in &item.quads {
            writeln!(quads, "{quad} .").unwrap();
        }
    }
    let count = moments.len();
    let mut body = String::new();
    for (time_ms, quads) in moments {
        let line = json!({ "t": time_ms, "nquads": quads });
        writeln!(body, "{line}").unwrap();
    }
    let line = format!(
        "POST {}?watermark={watermark_ms}",
        super::served::items(stream.iri.as_str())
    );
    let answer = served.send(&line, &[NDJSON], &body);
    assert_eq!(answer.status, 200, "{answer:?}");
    let account = answer.json();
    assert_eq!(
        (&account["taken"], &account["late"], &account["rejected"]),
        (&json!(count), &json!(0), &json!(0)),
        "{account}"
    );
}

/// A text whose query has a name that no other has: texts of one question are registered side by side.
fn named_apart(text: &str, number: usize) -> String {
    let Some(place) = text.find("REGISTER ") else {
        return text.to_owned();
    };
    let (before, registered) = text.split_at(place);
    let mut words = registered.splitn(4, [' ', '\n']);
    let kind = words.nth(1).unwrap();
    let name = words.next().unwrap();
    let rest = words.next().unwrap();
    let name = if name.contains(':') {
        format!("<urn:q{number}>")
    } else {
        format!("q{number}")
    };
    format!("{before}REGISTER {kind} {name} {rest}")
}

/// What each of these texts reports over the streams of a run, up to its end.
pub fn reports<D>(
    run: &GoldenRun,
    texts: &[(D, String)],
    reading: Reading,
) -> Vec<Result<Vec<Reported>, String>> {
    let served = empty();
    let mut graphs: BTreeMap<String, (GraphName, Vec<Triple>)> = BTreeMap::new();
    for quad in &run.case.stored {
        let graph = quad.graph_name.into_owned();
        let (_, triples) = graphs
            .entry(graph.to_string())
            .or_insert_with(|| (graph, Vec::new()));
        triples.push(Triple::from(quad.into_owned()));
    }
    for (graph, triples) in graphs.into_values() {
        put(&served, &graph, triples.into_iter());
    }
    for stream in &run.case.streams {
        make(&served, stream);
    }
    let mut readers: Vec<Reader> = Vec::new();
    for (number, (_, text)) in texts.iter().enumerate() {
        let line = format!("POST /api/v1/continuous?name=q{number}");
        let text = named_apart(text, number);
        let answer = served.send(&line, &[TEXT], &text);
        assert_eq!(answer.status, 201, "{}: {answer:?}\n{text}", run.name);
        readers.push(Reader::new(answer.json()["name"].as_str().unwrap()));
    }
    feed(&served, run, &mut |served| {
        if reading == Reading::Polls {
            for reader in &mut readers {
                reader.poll(served);
            }
        }
    });
    let ended = readers.into_iter().map(|mut reader| {
        reader.poll(&served);
        if reading == Reading::Events {
            assert_eq!(reader.reports, reader.events(&served), "{}", run.name);
        }
        reader.up_to(run.until_ms)
    });
    ended.collect()
}

/// Pushes all items, stream by stream a part of the time each; `between` is called after each part.
fn feed(served: &Served, run: &GoldenRun, between: &mut dyn FnMut(&Served)) {
    let grains = run.case.streams.iter().map(|stream| stream.grain_ms);
    let grain_ms = grains.max().unwrap_or(1);
    let part_ms = (run.until_ms / PUSHES).min(PUSH_MS - 1);
    let part_ms = (part_ms / grain_ms + 1) * grain_ms;
    let last_ms = run.until_ms + 2 * grain_ms;
    let mut begin_ms = 0;
    // A window that closes at the end is complete when that moment is over.
    while begin_ms <= last_ms {
        // Time without an item is gone over at once, however long it is.
        let times = run.case.items.iter().map(|it| it.time_ms);
        let next_ms = times.filter(|time_ms| *time_ms >= begin_ms).min();
        let next_ms = next_ms.unwrap_or(last_ms).min(last_ms);
        let end_ms = next_ms / grain_ms * grain_ms + part_ms;
        for (place, stream) in run.case.streams.iter().enumerate() {
            let is_in = |it: &&Item| (begin_ms..end_ms).contains(&it.time_ms);
            let items = run.case.items.iter();
            let items = items.filter(|it| it.stream == place).filter(is_in);
            push(served, stream, items, end_ms);
        }
        between(served);
        begin_ms = end_ms;
    }
}

/// The reports of a query that were read so far.
struct Reader {
    query: String,
    last: u64,
    reports: Vec<Value>,
}

impl Reader {
    fn new(query: &str) -> Reader {
        Reader {
            query: query.to_owned(),
            last: 0,
            reports: Vec::new(),
        }
    }

    fn address(&self) -> String {
        format!("GET /api/v1/continuous/{}/reports", encoded(&self.query))
    }

    /// Reads what there is.
    fn poll(&mut self, served: &Served) {
        loop {
            let line = format!("{}?after={}&limit=1000", self.address(), self.last);
            let answer = served.send(&line, &[LINES], "");
            assert_eq!(answer.status, 200, "{answer:?}");
            let mut is_over = true;
            for line in answer.text().lines() {
                let numbered: Value = serde_json::from_str(line).unwrap();
                assert_eq!(numbered["missed"], Value::Null, "reports were let go");
                let number = numbered["number"].as_u64().unwrap();
                assert_eq!(number, self.last + 1, "none is missing");
                self.last = number;
                self.reports.push(numbered["report"].clone());
                is_over = false;
            }
            if is_over {
                return;
            }
        }
    }

    /// The reports of closes up to a moment.
    fn up_to(&self, until_ms: u64) -> Result<Vec<Reported>, String> {
        let reports = self.reports.iter().map(told);
        let mut reports: Vec<Reported> = reports.collect::<Result<_, String>>()?;
        reports.retain(|report| report.close_ms <= until_ms);
        Ok(reports)
    }

    /// The same reports, by events from the first on.
    fn events(&self, served: &Served) -> Vec<Value> {
        let mut events = served.events_of(&self.address(), &[]);
        let mut read = Vec::new();
        while read.len() < self.reports.len() {
            let line = events.line().unwrap();
            if let Some(data) = line.strip_prefix("data: ") {
                read.push(serde_json::from_str(data).unwrap());
            }
        }
        read
    }
}
