//! An answer that a difference begins at is made again after a stop. Where that fails, whoever follows is told so before the
//! first report that would have been compared with it, and that report counts from nothing.

use oxrdf::{GraphName, NamedNode, Quad};
use serde_json::Value;
use somersault::{Database, HubStream, Live, Options, TimedQuads};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;
use store::disk::{SimDisk, SimFaults};

const HOME: &str = "/disk/store";
const STREAM: &str = "urn:s";
/// Too little for the first answer, and enough for the others (bytes).
const LITTLE: u64 = 128 << 10;
const MUCH: u64 = 64 << 20;

fn open(disk: &SimDisk, query_memory_bytes: u64) -> (Database, Live) {
    let options = Options {
        query_memory_bytes,
        checkpoint_log_bytes: u64::MAX / 32,
        ..Options::default()
    };
    let opened = Live::open_on(Arc::new(disk.clone()), Path::new(HOME), &options);
    let database = opened.expect("it opens");
    (database.clone(), Live::new(database))
}

/// One item of so many vertices, and the promise that closes its window.
fn push(live: &Live, window: u64, vertices: usize) {
    let node = |name: String| NamedNode::new_unchecked(format!("urn:{name}"));
    let quads = (0..vertices).map(|number| {
        let (subject, graph) = (node(format!("v{number}")), GraphName::DefaultGraph);
        Quad::new(subject, node("p".to_owned()), node("o".to_owned()), graph)
    });
    let item = TimedQuads {
        time_ms: 200 * window - 50,
        quads: quads.collect(),
    };
    live.push(STREAM, "a", &[item]).expect("it is taken");
    live.watermark(STREAM, "a", 200 * window)
        .expect("it is heard");
}

/// For each report: its close, its rows, and why there is none.
fn told(live: &Live) -> Vec<(u64, usize, Option<String>)> {
    let read = live.reports("asked", 0, usize::MAX, Duration::ZERO);
    let entries = read.expect("it is registered").entries.into_iter();
    let report = entries.map(|entry| {
        let report: Value = serde_json::from_str(&entry.line).expect("JSON");
        let rows = report["results"]["bindings"].as_array().map_or(0, Vec::len);
        let error = report["error"].as_str().map(str::to_owned);
        (report["close"].as_u64().expect("a close"), rows, error)
    });
    report.collect()
}

/// Runs a query over three windows with a stop behind the first, after which there is so much memory; with `has_checkpoint` there
/// is another stop before anything comes, behind a checkpoint, after which there is enough again.
fn run(text: &str, memory_bytes: u64, has_checkpoint: bool) -> Vec<(u64, usize, Option<String>)> {
    let mut disk = SimDisk::new(1, Path::new("/disk"), SimFaults::default());
    let (mut database, mut live) = open(&disk, MUCH);
    let stream = HubStream {
        absorb: Some(Vec::new()),
        ..HubStream::new(STREAM)
    };
    live.create(&stream, Some(0)).expect("it is made");
    live.register(text, "asked").expect("it is registered");
    push(&live, 1, 60);
    // What is durable behind the report makes the report durable.
    live.watermark(STREAM, "a", 210).expect("it is heard");
    drop((database, live));
    disk = disk.restart(SimFaults::default());
    (database, live) = open(&disk, memory_bytes);
    if has_checkpoint {
        database.compact().expect("a checkpoint");
        drop((database, live));
        disk = disk.restart(SimFaults::default());
        (database, live) = open(&disk, MUCH);
    }
    push(&live, 2, 3);
    push(&live, 3, 4);
    let told = told(&live);
    drop(database);
    told
}

#[test]
fn a_lost_answer_is_told_before_what_would_be_compared_with_it() {
    let window = format!("FROM STREAM <{STREAM}> [RANGE 200ms STEP 200ms]");
    let pattern = format!("WHERE {{ GRAPH <{STREAM}> {{ ?a ?p ?o . ?b ?p ?o }} }}");
    for (relation, expected, anew) in [
        ("istream", [3600, 0, 7], [3600, 9, 7]),
        ("dstream", [0, 3591, 0], [0, 0, 0]),
    ] {
        let text = format!("#@ r2s={relation}\nSELECT ?a ?b {window} {pattern}");
        let rows = |told: &[(u64, usize, Option<String>)]| -> Vec<(u64, usize)> {
            told.iter().map(|it| (it.0, it.1)).collect()
        };
        let closes = |rows: [usize; 3]| [(200, rows[0]), (400, rows[1]), (600, rows[2])];
        for has_checkpoint in [false, true] {
            let whole = run(&text, MUCH, has_checkpoint);
            assert_eq!(rows(&whole), closes(expected), "{relation}");
            assert!(whole.iter().all(|it| it.2.is_none()), "{whole:?}");
            let lacking = run(&text, LITTLE, has_checkpoint);
            let (told, others): (Vec<_>, Vec<_>) =
                lacking.into_iter().partition(|it| it.2.is_some());
            assert_eq!(rows(&others), closes(anew), "{relation}, {has_checkpoint}");
            let [(400, 0, Some(why))] = &told[..] else {
                panic!("{relation}, checkpoint {has_checkpoint}: {told:?}");
            };
            assert!(
                why.contains("200 ms") && why.contains("after a stop"),
                "{why}"
            );
        }
    }
}
