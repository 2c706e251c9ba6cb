//! A flood of source names: 50,000 of them that are heard once leave some thousand behind, in memory, in the log's replay and
//! in a checkpoint; every item is in a window once; and who counts its items is known after all of it.

use oxrdf::{GraphName, NamedNode, Quad};
use somersault::{Database, HubStream, Live, Options, Positions, StreamInfo, TimedQuads};
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};
use store::disk::{SimDisk, SimFaults};

const HOME: &str = "/disk/store";
const STREAM: &str = "urn:flood";
/// Sources that are heard once (count).
const NAMES: u64 = 50_000;
/// Sources that count their items (count).
const COUNTING: u64 = 40;
/// What may be left of those that are heard once (count).
const LEFT_MAX: u64 = 1024 + 256;

fn open(disk: &SimDisk) -> (Database, Live) {
    let options = Options {
        // A checkpoint is made where the test says so.
        checkpoint_log_bytes: u64::MAX / 32,
        ..Options::default()
    };
    let opened = Live::open_on(Arc::new(disk.clone()), Path::new(HOME), &options);
    let database = opened.expect("it opens");
    (database.clone(), Live::new(database))
}

fn item(number: u64, time_ms: u64) -> TimedQuads {
    let node = |name: &str| NamedNode::new_unchecked(format!("urn:{name}"));
    let (subject, graph) = (node(&format!("s{number}")), GraphName::DefaultGraph);
    TimedQuads {
        time_ms,
        quads: vec![Quad::new(subject, node("p"), node("o"), graph)],
    }
}

fn counted(live: &Live, source: u64, time_ms: u64) -> usize {
    let positions = Positions {
        first: 0,
        count: 1,
        rejected: &[],
    };
    let (name, item) = (format!("counts {source}"), item(NAMES + source, time_ms));
    let pushed = live.feed(STREAM, &name, &[item], None, Some(positions));
    pushed.expect("it is taken").taken
}

/// The stream when nothing is forgotten any more and all its sources are silent, the last of which has come so far.
fn settled(live: &Live, last_ms: u64) -> StreamInfo {
    let until = Instant::now() + Duration::from_secs(20);
    loop {
        let info = live.stream(STREAM).expect("it is there");
        let is_settled = info.source_count <= LEFT_MAX + COUNTING && info.watermark_ms >= last_ms;
        if is_settled || Instant::now() > until {
            return info;
        }
        std::thread::sleep(Duration::from_millis(20));
    }
}

fn counts(live: &Live) -> Vec<u64> {
    let read = live.reports("all", 0, usize::MAX, Duration::ZERO);
    let entries = read.expect("it is registered").entries;
    let count = |line: &str| -> u64 {
        let report: serde_json::Value = serde_json::from_str(line).expect("JSON");
        let count = &report["results"]["bindings"][0]["n"]["value"];
        count
            .as_str()
            .and_then(|it| it.parse().ok())
            .expect("a count")
    };
    entries.iter().map(|entry| count(&entry.line)).collect()
}

#[test]
fn a_flood_of_names_leaves_little_behind() {
    for has_checkpoint in [false, true] {
        let mut disk = SimDisk::new(1, Path::new("/disk"), SimFaults::default());
        let (mut database, mut live) = open(&disk);
        let stream = HubStream {
            absorb: Some(Vec::new()),
            idle_ms: Some(1),
            // Nothing is sealed before the end: what came after a silence is not late.
            lateness_ms: 10 * NAMES,
            ..HubStream::new(STREAM)
        };
        live.create(&stream, Some(0)).expect("it is made");
        let text = format!(
            "SELECT (COUNT(*) AS ?n) FROM STREAM <{STREAM}> [RANGE 100s STEP 100s] WHERE {{ GRAPH <{STREAM}> {{ ?s ?p ?o }} }}"
        );
        live.register(&text, "all").expect("it is registered");
        for source in 0..COUNTING {
            assert_eq!(counted(&live, source, source), 1);
        }
        let names = if has_checkpoint { NAMES / 10 } else { NAMES };
        let mut most = 0;
        for number in 0..names {
            let name = format!("source {number}");
            let taken = live.push(STREAM, &name, &[item(number, number)]);
            assert_eq!(taken.expect("it is taken").taken, 1);
            if number % 1000 == 0 {
                most = most.max(live.stream(STREAM).expect("it is there").source_count);
            }
        }
        assert!(most <= LEFT_MAX + COUNTING + 200, "{most} at once");
        let before = settled(&live, names - 1);
        assert!(before.source_count <= LEFT_MAX + COUNTING, "{before:?}");
        if has_checkpoint {
            database.compact().expect("a checkpoint");
        } else {
            // With what was noted of those that are forgotten.
            live.watermark(STREAM, "counts 0", 0).expect("it is told");
        }
        drop((database, live));
        disk = disk.restart(SimFaults::default());
        (database, live) = open(&disk);
        let after = settled(&live, names - 1);
        let known = |info: &StreamInfo| (info.source_count, info.watermark_ms, info.late);
        assert_eq!(
            known(&after),
            known(&before),
            "checkpoint: {has_checkpoint}"
        );
        for source in 0..COUNTING {
            assert_eq!(counted(&live, source, source), 0, "it was taken before");
        }
        for source in 0..COUNTING {
            let name = format!("counts {source}");
            live.watermark(STREAM, &name, 100_000 + stream.lateness_ms)
                .expect("it is heard");
        }
        let until = Instant::now() + Duration::from_secs(20);
        while counts(&live).is_empty() && Instant::now() < until {
            std::thread::sleep(Duration::from_millis(20));
        }
        assert_eq!(
            counts(&live),
            [names + COUNTING],
            "checkpoint: {has_checkpoint}"
        );
        drop(database);
    }
}
