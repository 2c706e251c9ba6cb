//! CSRBench: Q1 to Q7 over 34 seconds of weather observations, by three policies; and the boundary vectors of the
//! C-SPARQL engine's own tests, by both bounds.

use super::{
    GoldenError, GoldenReport, GoldenRows, GoldenRun, one_each, own, question, read, stream,
};
use crate::standing::{Item, PlainOrigin, ReportPace, StandingCase, window_iri};
use oxrdf::{Dataset, GraphName, NamedNode, Triple};
use query::standing::{Bounds, Difference, Relation};
use serde_json::Value;
use std::path::Path;

/// The endings of the files: each close with either end, and each change.
const POLICIES: [&str; 3] = ["wc", "wc-rightclosed", "cc"];
/// Seconds of the recording.
const SECONDS: u64 = 34;
/// Observations come once a second.
const GRAIN_MS: u64 = 1_000;

/// Q1 to Q7 by each policy: 21 runs.
pub fn csrbench(streams: &Path) -> impl Iterator<Item = Result<GoldenRun, GoldenError>> {
    let folder = streams.join("csrbench");
    let names = (1..=7).flat_map(|number| POLICIES.map(move |policy| (number, policy)));
    names.map(move |(number, policy)| run(&folder, number, policy))
}

fn run(folder: &Path, number: u32, policy: &str) -> Result<GoldenRun, GoldenError> {
    let path = folder.join(format!("expected/q{number}.{policy}.json"));
    let golden = read::json(&path)?;
    let seconds = |name: &str| golden[name].as_u64().map(|seconds| seconds * 1_000);
    let sparql = golden["sparql"].as_str();
    let known = seconds("width_s").zip(seconds("slide_s")).zip(sparql);
    let ((range_ms, step_ms), sparql) =
        known.ok_or_else(|| read::malformed(&path, &"no width, slide or query"))?;
    let mut question = question(sparql, one_each(1, range_ms, step_ms));
    question.body = format!("{{ GRAPH {} {} }}", window_iri(0), question.body);
    question.nonempty = true;
    if policy == "wc-rightclosed" {
        question.bounds = Bounds::RightClosed;
    }
    if policy == "cc" {
        question.pace = ReportPace::Change;
        question.relation = Relation::Insertions;
        question.difference = Difference::Set;
    }
    let wanted = match policy {
        "cc" => changes(&golden),
        _ => closes(&golden),
    };
    let last = wanted.last().and_then(|report| report.close_ms);
    Ok(GoldenRun {
        name: format!("csrbench q{number}.{policy}"),
        texts: Vec::new(),
        own: own::csrbench(&format!("q{number}"), policy),
        until_ms: last.ok_or_else(|| read::malformed(&path, &"no reports"))?,
        wanted,
        case: StandingCase {
            late: Vec::new(),
            stored: Dataset::new(),
            streams: vec![stream("http://csrbench.example/weather", GRAIN_MS)],
            items: observations(folder)?,
            question,
        },
    })
}

/// An item for each second.
fn observations(folder: &Path) -> Result<Vec<Item>, GoldenError> {
    let mut items = Vec::new();
    for second in 0..SECONDS {
        let path = folder.join(format!("data/data_{second:02}.ttl"));
        let triples = read::turtle(&path, "http://csrbench.example/")?;
        items.push(Item {
            stream: 0,
            time_ms: second * 1_000,
            quads: triples
                .into_iter()
                .map(|triple| triple.in_graph(GraphName::DefaultGraph))
                .collect(),
        });
    }
    Ok(items)
}

/// The reports of windows that hold something.
fn closes(golden: &Value) -> Vec<GoldenReport> {
    let windows = golden["windows"].as_array().into_iter().flatten();
    let held = windows.filter(|window| window["nonempty"] == Value::Bool(true));
    held.map(|window| GoldenReport {
        close_ms: window["close"].as_u64().map(|second| second * 1_000),
        rows: read::values(&window["rows"]),
    })
    .collect()
}

/// The reports of all seconds, at the end of each.
fn changes(golden: &Value) -> Vec<GoldenReport> {
    let reports = golden["reports"].as_array().into_iter().flatten();
    let report = |report: &Value| GoldenReport {
        close_ms: report["at"]
            .as_u64()
            .map(|second| second * 1_000 + GRAIN_MS),
        rows: read::values(&report["rows"]),
    };
    reports.map(report).collect()
}

/// `SELECT (COUNT(*) AS ?n)` over events at the boundaries of windows, by `(open, close]` and `[open, close)`: two runs
/// for each vector. Windows close at whole steps after the first event's second; partial ones are reported, empty ones
/// are not, and none closes after the last event.
pub fn boundary_vectors(streams: &Path) -> Result<Vec<GoldenRun>, GoldenError> {
    let path = streams.join("csrbench/window-boundary-vectors.json");
    let file = read::json(&path)?;
    let mut runs = Vec::new();
    for (number, vector) in file["vectors"].as_array().into_iter().flatten().enumerate() {
        for (bounds, counts) in [
            (Bounds::RightClosed, "left_open_right_closed"),
            (Bounds::LeftClosed, "left_closed_right_open"),
        ] {
            let run = vector_run(vector, bounds, counts, number);
            runs.push(run.ok_or_else(|| {
                read::malformed(&path, &format!("vector {number} lacks something"))
            })?);
        }
    }
    Ok(runs)
}

fn vector_run(vector: &Value, bounds: Bounds, counts: &str, number: usize) -> Option<GoldenRun> {
    let numbers = |name: &str| -> Option<Vec<u64>> {
        vector[name].as_array()?.iter().map(Value::as_u64).collect()
    };
    let events = numbers("events_ms")?;
    let (range_ms, step_ms) = (
        vector["width_s"].as_u64()? * 1_000,
        vector["slide_s"].as_u64()? * 1_000,
    );
    let mut question = question(
        "SELECT (COUNT(*) AS ?n) { ?event ?at ?time }",
        one_each(1, range_ms, step_ms),
    );
    question.is_merged = true;
    question.bounds = bounds;
    question.origin = PlainOrigin::FirstItem;
    question.partial_first = true;
    question.nonempty = true;
    let wanted = numbers(counts)?.into_iter().map(|count| GoldenReport {
        close_ms: None,
        rows: GoldenRows::Values(vec![vec![Some(count.to_string())]]),
    });
    Some(GoldenRun {
        name: format!("boundary vector {number}, {counts}"),
        texts: Vec::new(),
        own: Vec::new(),
        until_ms: *events.last()?,
        wanted: wanted.collect(),
        case: StandingCase {
            late: Vec::new(),
            stored: Dataset::new(),
            streams: vec![stream("urn:events", 100)],
            items: events.iter().enumerate().map(event).collect(),
            question,
        },
    })
}

/// An event that is like no other, so that a window counts it.
fn event((number, time_ms): (usize, &u64)) -> Item {
    let iri = |name: String| NamedNode::new_unchecked(name);
    let event = iri(format!("urn:event:{number}"));
    let triple = Triple::new(
        event,
        iri("urn:at".to_owned()),
        iri(format!("urn:time:{time_ms}")),
    );
    Item {
        stream: 0,
        time_ms: *time_ms,
        quads: vec![triple.in_graph(GraphName::DefaultGraph)],
    }
}
