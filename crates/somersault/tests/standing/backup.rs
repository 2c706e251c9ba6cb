//! A backup that is taken while streams flow: what it holds goes on as the store itself did, with the same reports under the same
//! numbers, when its sources push again what they have no answer for.

use engine::{Kind, OpenError, whole_store};
use oxrdf::{GraphName, NamedNode, Quad};
use serde_json::Value;
use somersault::backup::{backup_on, restore_on};
use somersault::{Database, HubStream, Live, Options, Positions, TimedQuads, UpdateRequest};
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;
use store::disk::{SimDisk, SimFaults};

const STORE: &str = "/disk/store";
const BACKUP: &str = "/disk/backup";
const AGAIN: &str = "/disk/again";
const KEPT: &str = "urn:kept";
const PASSING: &str = "urn:passing";
const ITEMS: u64 = 600;

/// Those that are pushed after the copy.
const AFTER: u64 = 100;

fn open(disk: &SimDisk, location: &str) -> (Database, Live) {
    let options = Options {
        checkpoint_log_bytes: u64::MAX / 32,
        ..Options::default()
    };
    let opened = Live::open_on(Arc::new(disk.clone()), Path::new(location), &options);
    let database = opened.expect("it opens");
    (database.clone(), Live::new(database))
}

fn node(name: &str) -> NamedNode {
    NamedNode::new_unchecked(format!("urn:{name}"))
}

/// Pushes one item into each stream, at 10 ms times its number; what is there already is passed over.
fn push(live: &Live, number: u64) -> usize {
    let mut taken = 0;
    for (stream, subject) in [(KEPT, number % 17), (PASSING, number % 5)] {
        let (subject, graph) = (node(&format!("s{subject}")), GraphName::DefaultGraph);
        let item = TimedQuads {
            time_ms: 10 * number,
            quads: vec![Quad::new(
                subject,
                node("p"),
                node(&format!("o{}", number % 3)),
                graph,
            )],
        };
        let positions = Positions {
            first: number,
            count: 1,
            rejected: &[],
        };
        let pushed = live.feed(stream, "source", &[item], None, Some(positions));
        taken += pushed.expect("it is answered").taken;
    }
    taken
}

fn begin(database: &Database, live: &Live) {
    let request = UpdateRequest {
        text: "INSERT DATA { <urn:s1> <urn:q> 1 . <urn:s3> <urn:q> 3 }",
        ..UpdateRequest::default()
    };
    database.update(&request).expect("it is stored");
    live.create(&HubStream::new(KEPT), Some(0))
        .expect("it is made");
    let passing = HubStream {
        absorb: Some(Vec::new()),
        ..HubStream::new(PASSING)
    };
    live.create(&passing, Some(0)).expect("it is made");
    let window = "[RANGE 400ms STEP 200ms]";
    let texts = [
        (
            "rows",
            format!(
                "SELECT ?s ?v FROM STREAM <{PASSING}> {window} WHERE {{ GRAPH <{PASSING}> {{ ?s <urn:p> ?o }} ?s <urn:q> ?v }}"
            ),
        ),
        (
            "inserted",
            format!(
                "#@ r2s=istream\nSELECT ?s (COUNT(?o) AS ?n) FROM STREAM <{KEPT}> {window} WHERE {{ GRAPH <{KEPT}> {{ ?s <urn:p> ?o }} }} GROUP BY ?s"
            ),
        ),
        (
            "stored",
            format!(
                "SELECT (COUNT(*) AS ?n) FROM STREAM <{KEPT}> {window} WHERE {{ GRAPH <{KEPT}> {{ ?a ?b ?c }} ?s <urn:p> ?o }}"
            ),
        ),
        (
            "makes",
            format!(
                "REGISTER STREAM <urn:made> AS CONSTRUCT {{ ?s <urn:r> ?o }} FROM STREAM <{KEPT}> {window} WHERE {{ GRAPH <{KEPT}> {{ ?s <urn:p> ?o }} }}"
            ),
        ),
        (
            "made",
            format!(
                "SELECT (COUNT(*) AS ?n) FROM STREAM <urn:made> {window} WHERE {{ GRAPH <urn:made> {{ ?s <urn:r> ?o }} }}"
            ),
        ),
    ];
    for (name, text) in texts {
        live.register(&text, name).expect("it is registered");
    }
}

/// The reports of each query: their numbers, closes, and rows in one order.
fn reports(live: &Live) -> BTreeMap<String, Vec<(u64, u64, Vec<String>)>> {
    let of = |name: &str| {
        let read = live.reports(name, 0, usize::MAX, Duration::ZERO);
        let entries = read.expect("it is registered").entries.into_iter();
        let entries = entries.map(|entry| {
            let report: Value = serde_json::from_str(&entry.line).expect("JSON");
            assert!(report.get("error").is_none(), "{report}");
            let rows = report["results"]["bindings"].as_array();
            let mut rows: Vec<String> = rows.into_iter().flatten().map(Value::to_string).collect();
            rows.sort();
            (
                entry.number,
                report["close"].as_u64().expect("a close"),
                rows,
            )
        });
        entries.collect()
    };
    let queries = live.queries().into_iter();
    queries
        .map(|query| (query.name.clone(), of(&query.name)))
        .collect()
}

fn count(database: &Database) -> u64 {
    database.graph().quads
}

/// Of a store whose reports are all made, so that its log is what takes time.
#[test]
fn a_copy_is_stopped_while_the_log_is_read() {
    let disk = SimDisk::new(1, Path::new("/disk"), SimFaults::default());
    let (database, live) = open(&disk, STORE);
    begin(&database, &live);
    for number in 0..150 {
        push(&live, number);
    }
    drop((database, live));
    let asked = AtomicU64::new(0);
    let is_stopped = || asked.fetch_add(1, Ordering::Relaxed) >= 20;
    let options = Options::default();
    let stopped = whole_store(&disk, Path::new(STORE), &options, &is_stopped);
    let Err(OpenError::Replay(error)) = stopped else {
        panic!("it went on to the end");
    };
    assert_eq!(error.kind, Kind::Cancelled);
    assert_eq!(
        asked.load(Ordering::Relaxed),
        21,
        "nobody is asked after that"
    );
    // The same through a backup, which leaves nothing.
    asked.store(0, Ordering::Relaxed);
    let copied = backup_on(
        &disk,
        Path::new(STORE),
        Path::new(BACKUP),
        &options,
        &is_stopped,
    );
    assert!(copied.unwrap_err().is_cancelled());
    assert_eq!(asked.load(Ordering::Relaxed), 21, "nothing is written");
}

#[test]
fn a_backup_beside_flowing_streams_goes_on_as_its_store() {
    for has_checkpoint in [false, true] {
        let disk = SimDisk::new(1, Path::new("/disk"), SimFaults::default());
        let (database, live) = open(&disk, STORE);
        begin(&database, &live);
        for number in 0..150 {
            push(&live, number);
        }
        if has_checkpoint {
            database.compact().expect("a checkpoint");
        }
        // However slow the copy is, some come after it.
        let is_copied = AtomicBool::new(false);
        std::thread::scope(|threads| {
            let flow = threads.spawn(|| {
                for number in 150..ITEMS {
                    while number + AFTER >= ITEMS && !is_copied.load(Ordering::Acquire) {
                        std::thread::yield_now();
                    }
                    assert_eq!(push(&live, number), 2);
                }
            });
            while live.stream(KEPT).expect("it is there").arrivals.items < 250 {
                std::thread::yield_now();
            }
            let copied = backup_on(
                &disk,
                Path::new(STORE),
                Path::new(BACKUP),
                &Options::default(),
                &|| false,
            );
            is_copied.store(true, Ordering::Release);
            copied.expect("a backup");
            flow.join().expect("all is pushed");
        });
        let whole = reports(&live);
        restore_on(
            &disk,
            Path::new(BACKUP),
            Path::new(AGAIN),
            &Options::default(),
            &|| false,
        )
        .expect("restored");
        let (copy, again) = open(&disk, AGAIN);
        let before = reports(&again);
        let kept = |name: &str| again.stream(name).expect("it is there");
        assert_eq!(
            (kept(KEPT).queries.len(), kept("urn:made").queries.len()),
            (3, 1)
        );
        for (name, told) in &before {
            assert!(
                told.len() > 3,
                "{name} has kept its reports: {}",
                told.len()
            );
            assert_eq!(told[..], whole[name][..told.len()], "{name}");
            assert!(
                told.len() < whole[name].len(),
                "the backup came too late to show anything"
            );
        }
        // The source begins anew, and is told what is there.
        let taken: usize = (0..ITEMS).map(|number| push(&again, number)).sum();
        assert!(
            taken > 0 && taken < 2 * (ITEMS as usize - 200),
            "{taken} were taken"
        );
        assert_eq!(reports(&again), whole, "checkpoint: {has_checkpoint}");
        assert_eq!(count(&copy), count(&database));
    }
}
