//! S1 to S6 of LSBench through HTTP, each at the snapshots whose vectors cover the golden file's moments; and while streams
//! flow, all six at one snapshot that a client chose by its vector.

use super::client::encoded;
use super::driven::{empty, make, push, put};
use super::served::*;
use super::streams;
use oxrdf::GraphName;
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};
use testkit::standing::PlainStream;
use testkit::standing::goldens::{self, OneShotCut, OneShotGolden, told};
use testkit::{Answer, seeds};

const RESULTS: &str = "Accept: application/sparql-results+json";

fn last_cut_ms() -> u64 {
    if seeds::is_long() { 6_000 } else { 1_000 }
}

/// A server with what is stored before the first item, and the streams.
fn opened(golden: &OneShotGolden) -> Served {
    let served = empty();
    put(
        &served,
        &GraphName::DefaultGraph,
        golden.stored.iter().cloned(),
    );
    for stream in &golden.streams {
        make(&served, stream);
    }
    served
}

/// How far streams may be beyond a cut that was not seen yet (milliseconds): of some 256 commits that are kept each 100 ms
/// make five.
const BEYOND_MS: u64 = 3_000;

/// How far injection and whoever looks at its cuts have come (milliseconds).
#[derive(Default)]
struct Progress {
    pushed: AtomicU64,
    /// All cuts up to this were found.
    seen: AtomicU64,
}

/// Pushes everything; waits where a cut is far behind that was not seen.
fn inject(golden: &OneShotGolden, served: &Served, progress: &Progress) {
    let grain_ms = golden.streams[0].grain_ms;
    let mut end_ms = grain_ms;
    while end_ms <= last_cut_ms() {
        let is_far = |cut: &&OneShotCut| cut.until_ms + BEYOND_MS < end_ms;
        let far = golden.cuts.iter().filter(is_far).map(|cut| cut.until_ms);
        let far_ms = far.max().unwrap_or(0);
        // Not for ever: who looks may have failed.
        let begun = Instant::now();
        while progress.seen.load(Ordering::SeqCst) < far_ms
            && begun.elapsed() < Duration::from_mins(5)
        {
            std::thread::sleep(Duration::from_millis(5));
        }
        let first = golden
            .items
            .partition_point(|it| it.time_ms < end_ms - grain_ms);
        for (place, stream) in golden.streams.iter().enumerate() {
            let items = golden.items[first..].iter();
            let items = items.take_while(|it| it.time_ms < end_ms);
            push(
                served,
                stream,
                items.filter(|it| it.stream == place),
                end_ms,
            );
        }
        progress.pushed.store(end_ms, Ordering::SeqCst);
        end_ms += grain_ms;
    }
}

/// The moment up to which a snapshot holds all streams, if that is one. A stream that it does not name has not begun.
fn cut_of(golden: &OneShotGolden, snapshot: &Value) -> Option<u64> {
    let vector = snapshot["vector"].as_array().unwrap();
    let until = |stream: &PlainStream| {
        let point = vector.iter().find(|it| it["stream"] == stream.iri.as_str());
        point.map_or(0, |point| point["until"].as_u64().unwrap())
    };
    let mut moments = golden.streams.iter().map(until);
    let first = moments.next()?;
    moments.all(|it| it == first).then_some(first)
}

/// Asks all queries at one snapshot, and compares; the number of answers.
fn compared(golden: &OneShotGolden, served: &Served, snapshot: &Value, cut_ms: u64) -> usize {
    let cut = golden.cuts.iter().find(|cut| cut.until_ms == cut_ms);
    let Some(cut) = cut else {
        return 0;
    };
    let number = &snapshot["snapshot"];
    assert_eq!(snapshot["quads"], cut.triples, "snapshot {number}");
    for ((name, text), wanted) in golden.queries.iter().zip(&cut.rows) {
        let line = format!("GET /sparql?snapshot={number}&query={}", encoded(text));
        let answer = served.send(&line, &[RESULTS], "");
        assert_eq!(answer.status, 200, "{name}: {answer:?}");
        assert_eq!(answer.field("somersault-snapshot"), number.to_string());
        let mut document = answer.json();
        document["close"] = json!(cut_ms);
        let Answer::Rows { rows, .. } = told(&document).unwrap().answer else {
            panic!("{name}: no rows");
        };
        let checked = wanted.check(&rows);
        checked.unwrap_or_else(|why| panic!("{name} at {cut_ms} ms: {why}"));
    }
    cut.rows.len()
}

/// The newest snapshot of a moment.
fn snapshot_of(golden: &OneShotGolden, served: &Served, cut_ms: u64) -> Option<Value> {
    let all = served.get("/api/v1/snapshots");
    let all = all["snapshots"].as_array().unwrap();
    let is_of = |it: &&Value| cut_of(golden, it) == Some(cut_ms);
    all.iter().rfind(is_of).cloned()
}

#[test]
fn one_shot_queries_answer_as_the_golden_file_at_each_cut() {
    let Some(folder) = streams("S1 to S6") else {
        return;
    };
    let golden = goldens::oneshot(&folder, last_cut_ms()).unwrap();
    let served = opened(&golden);
    let is_over = AtomicBool::new(false);
    let progress = Progress::default();
    let mut answers = 0;
    let mut found = BTreeSet::new();
    // Nothing was pushed yet.
    let first = snapshot_of(&golden, &served, 0).expect("it is the newest");
    assert!(golden.cuts.iter().any(|cut| cut.until_ms == 0));
    answers += compared(&golden, &served, &first, 0);
    found.insert(0);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            inject(&golden, &served, &progress);
            is_over.store(true, Ordering::SeqCst);
        });
        // Any cut of the file that has come by, again and again, while injection goes on.
        loop {
            let is_last = is_over.load(Ordering::SeqCst);
            // One that was found may go while it is asked, if it is old.
            let pushed_ms = progress.pushed.load(Ordering::SeqCst);
            for cut in &golden.cuts {
                if found.contains(&cut.until_ms) && cut.until_ms + BEYOND_MS < pushed_ms {
                    continue;
                }
                if let Some(snapshot) = snapshot_of(&golden, &served, cut.until_ms) {
                    answers += compared(&golden, &served, &snapshot, cut.until_ms);
                    found.insert(cut.until_ms);
                }
            }
            let unseen = golden
                .cuts
                .iter()
                .find(|cut| !found.contains(&cut.until_ms));
            let until_ms = unseen.map_or(u64::MAX, |cut| cut.until_ms.saturating_sub(1));
            progress.seen.store(until_ms, Ordering::SeqCst);
            if is_last {
                break;
            }
        }
    });
    for cut in &golden.cuts {
        let until_ms = cut.until_ms;
        assert!(found.contains(&until_ms), "no snapshot is of {until_ms} ms");
    }
    eprintln!("S1 to S6 over HTTP: {answers} answers");
    assert!(answers >= golden.cuts.len() * golden.queries.len());
}
