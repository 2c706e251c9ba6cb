//! Snapshots by number: how far each holds the streams, and one-shot queries that read a prefix of every stream.
//!
//! S1 to S6 of LSBench run at snapshots whose vectors cover exactly the golden file's moments. While a source injects, the
//! six must be answered from one cut each time: as a quiet database answers there, and as the golden file says where it has
//! that cut (requirement C-4).

use super::support::answer_to;
use super::{hub_stream, stored, streams};
use oxrdf::GraphName;
use somersault::{
    Database, Graph, HubStream, Kind, Live, Options, Request, SnapshotInfo, TimedQuads,
    UpdateRequest,
};
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use testkit::standing::goldens::{self, GoldenRows, OneShotCut, OneShotGolden};
use testkit::{Answer, Row, seeds};

/// How long snapshots are kept here: longer than any test takes.
const LONG: Duration = Duration::from_hours(1);

/// How far streams go beyond a snapshot before it is read by its number (milliseconds): some hundred and fifty commits, of 256 that
/// are kept.
const BEYOND_MS: u64 = 3_000;

/// How far a snapshot holds the stream of this IRI (milliseconds).
fn until(snapshot: &SnapshotInfo, stream: &str) -> Option<u64> {
    let points = snapshot.vector.as_ref()?;
    let point = points.iter().find(|point| &*point.stream == stream)?;
    Some(point.covered_ms)
}

/// A database with the stored data of the golden file, and its streams.
fn opened(golden: &OneShotGolden) -> (Database, Live) {
    let graph = GraphName::DefaultGraph;
    let quads = golden.stored.iter();
    let dataset = quads
        .map(|triple| triple.clone().in_graph(graph.clone()))
        .collect();
    let database = stored(&dataset);
    let live = Live::new(database.clone());
    for stream in &golden.streams {
        live.create(&hub_stream(stream), Some(0)).unwrap();
    }
    (database, live)
}

/// What is brought at once: the number of a stream, and the start of a batch of it (milliseconds).
type Piece = (usize, u64);

/// The batches of all streams before a moment, in the order in which they are brought.
fn pieces(golden: &OneShotGolden, until_ms: u64) -> impl Iterator<Item = Piece> + '_ {
    let grain_ms = usize::try_from(golden.streams[0].grain_ms).unwrap();
    let batches = (0..until_ms).step_by(grain_ms);
    batches.flat_map(|batch_ms| (0..golden.streams.len()).map(move |place| (place, batch_ms)))
}

/// Brings a batch of a stream, and the promise that it is whole.
fn bring(golden: &OneShotGolden, live: &Live, (place, batch_ms): Piece) {
    let stream = &golden.streams[place];
    let end_ms = batch_ms + stream.grain_ms;
    let first = golden.items.partition_point(|it| it.time_ms < batch_ms);
    let items = golden.items[first..].iter();
    let items = items.take_while(|it| it.time_ms < end_ms);
    let items: Vec<TimedQuads> = items
        .filter(|it| it.stream == place)
        .map(|it| TimedQuads {
            time_ms: it.time_ms,
            quads: it.quads.clone(),
        })
        .collect();
    let fed = live.feed(stream.iri.as_str(), "", &items, Some(end_ms), None);
    assert_eq!(fed.unwrap().late, 0);
}

/// The answers of all queries in one graph, each row's cells in the order of `SELECT`.
fn answers(database: &Database, graph: &Arc<Graph>, golden: &OneShotGolden) -> Vec<Vec<Row>> {
    let answer = |(name, text): &(String, String)| {
        let request = Request {
            graph: Some(Arc::clone(graph)),
            ..Request::new(text)
        };
        match answer_to(database, &request) {
            Ok(Answer::Rows { mut rows, .. }) => {
                rows.sort_by_cached_key(|row| format!("{row:?}"));
                rows
            }
            other => panic!("{name}: {other:?}"),
        }
    };
    golden.queries.iter().map(answer).collect()
}

/// Compares the answers at the cuts of the golden file that a snapshot is of; the number of comparisons.
fn check_cut(golden: &OneShotGolden, until_ms: u64, quads: u64, given: &[Vec<Row>]) -> usize {
    let Some(cut) = golden.cuts.iter().find(|cut| cut.until_ms == until_ms) else {
        return 0;
    };
    assert_eq!(quads, cut.triples, "at {until_ms} ms");
    for ((name, _), (wanted, given)) in golden.queries.iter().zip(cut.rows.iter().zip(given)) {
        let checked = GoldenRows::check(wanted, given);
        checked.unwrap_or_else(|why| panic!("{name} at {until_ms} ms: {why}"));
    }
    given.len()
}

/// Up to where a snapshot holds all streams, if that is the same moment for all of them. A stream that it does not name has
/// not begun.
fn cut_of(golden: &OneShotGolden, snapshot: &SnapshotInfo) -> Option<u64> {
    let streams = golden.streams.iter();
    let mut moments = streams.map(|stream| until(snapshot, stream.iri.as_str()).unwrap_or(0));
    let first = moments.next()?;
    moments.all(|it| it == first).then_some(first)
}

fn last_cut_ms() -> u64 {
    if seeds::is_long() { 6_000 } else { 1_000 }
}

#[test]
fn one_shot_queries_answer_as_the_golden_file_at_each_cut() {
    let Some(folder) = streams("S1 to S6") else {
        return;
    };
    let golden = goldens::oneshot(&folder, last_cut_ms()).unwrap();
    let (database, live) = opened(&golden);
    let mut compared = 0;
    let mut compare = |cut: &OneShotCut| {
        let snapshots = database.snapshots();
        let covers = |it: &&SnapshotInfo| cut_of(&golden, it) == Some(cut.until_ms);
        let found = snapshots.iter().rfind(covers);
        let found = found.unwrap_or_else(|| panic!("no snapshot is of {} ms", cut.until_ms));
        let graph = database.graph_at(found.number).unwrap();
        let given = answers(&database, &graph, &golden);
        compared += check_cut(&golden, cut.until_ms, found.quads, &given);
    };
    // The snapshots are read by number, when the streams are far beyond, as long as they are kept.
    let mut cuts = golden.cuts.iter().peekable();
    for (place, batch_ms) in pieces(&golden, last_cut_ms()) {
        bring(&golden, &live, (place, batch_ms));
        while let Some(cut) = cuts.next_if(|cut| cut.until_ms + BEYOND_MS <= batch_ms) {
            compare(cut);
        }
    }
    cuts.for_each(compare);
    eprintln!("S1 to S6: {compared} answers");
    assert_eq!(compared, golden.cuts.len() * golden.queries.len());
    assert!(compared >= 14);
}

#[test]
fn one_shot_queries_read_one_cut_while_streams_flow() {
    let Some(folder) = streams("S1 to S6 beside injection") else {
        return;
    };
    let golden = goldens::oneshot(&folder, last_cut_ms()).unwrap();
    let (database, live) = opened(&golden);
    let is_over = AtomicBool::new(false);
    let seen = std::thread::scope(|scope| {
        scope.spawn(|| {
            for piece in pieces(&golden, last_cut_ms()) {
                bring(&golden, &live, piece);
            }
            is_over.store(true, Ordering::SeqCst);
        });
        let mut seen: BTreeMap<u64, (SnapshotInfo, Vec<Vec<Row>>)> = BTreeMap::new();
        loop {
            let is_last = is_over.load(Ordering::SeqCst);
            let number = database.snapshot_number();
            let graph = database.graph_at(number).unwrap();
            let given = answers(&database, &graph, &golden);
            let again = answers(&database, &graph, &golden);
            assert!(given == again, "snapshot {number} does not change");
            seen.insert(number, (database.snapshot(number).unwrap(), given));
            if is_last {
                break seen;
            }
        }
    });
    // A quiet database, and what it answers at the same cuts.
    let (quiet, quiet_live) = opened(&golden);
    let mut left = pieces(&golden, last_cut_ms());
    let mut compared = 0;
    for (number, (snapshot, given)) in &seen {
        let graph = loop {
            let newest = quiet.snapshot(quiet.snapshot_number()).unwrap();
            if newest.vector == snapshot.vector {
                break quiet.graph();
            }
            let piece = left.next();
            let piece = piece.unwrap_or_else(|| panic!("{snapshot:?} is of no announced cut"));
            bring(&golden, &quiet_live, piece);
        };
        let expected = answers(&quiet, &graph, &golden);
        let is_same = *given == expected && snapshot.quads == graph.quads;
        assert!(is_same, "snapshot {number}: {snapshot:?}");
        if let Some(until_ms) = cut_of(&golden, snapshot) {
            compared += check_cut(&golden, until_ms, snapshot.quads, given);
        }
    }
    let cuts = seen.len();
    eprintln!("{cuts} cuts while streams flowed, {compared} golden answers");
    assert!(cuts > 2 && compared > 0);
}

fn kept() -> Options {
    Options {
        keep_snapshots: LONG,
        ..Options::default()
    }
}

/// The store again: whoever told time to its streams may hold it for a moment longer.
fn reopened(folder: &Path) -> Database {
    let until = Instant::now() + Duration::from_secs(20);
    loop {
        match Live::open(folder, &kept()) {
            Err(error) if error.is_locked() && Instant::now() < until => {
                std::thread::sleep(Duration::from_millis(10));
            }
            opened => return opened.unwrap(),
        }
    }
}

fn like(time_ms: u64, who: &str) -> TimedQuads {
    let node = |name: &str| oxrdf::NamedNode::new(format!("http://e/{name}")).unwrap();
    TimedQuads {
        time_ms,
        quads: vec![oxrdf::Quad::new(
            node(who),
            node("likes"),
            node("x"),
            GraphName::DefaultGraph,
        )],
    }
}

/// Numbers and vectors on a disk: through changes, checkpoints, and a restart.
#[test]
fn a_snapshot_number_is_a_vector() {
    let folder = tempfile::tempdir().unwrap();
    let names = ["http://e/likes", "http://e/positions"];
    let vector = |snapshot: &SnapshotInfo| names.map(|name| until(snapshot, name));
    let newest = |database: &Database| database.snapshot(database.snapshot_number()).unwrap();
    let database = Live::open(folder.path(), &kept()).unwrap();
    let live = Live::new(database.clone());
    live.create(&HubStream::new(names[0]), Some(0)).unwrap();
    let timing = HubStream {
        absorb: Some(Vec::new()),
        ..HubStream::new(names[1])
    };
    live.create(&timing, Some(300)).unwrap();
    live.feed(names[0], "", &[like(50, "a")], Some(100), None)
        .unwrap();
    let first = newest(&database);
    assert_eq!((vector(&first), first.quads), ([Some(100), Some(300)], 1));
    // What is not stored is sealed by a record of the log, too.
    live.feed(names[1], "", &[like(350, "z")], Some(400), None)
        .unwrap();
    let second = newest(&database);
    assert_eq!(vector(&second), [Some(100), Some(400)]);
    assert!(second.number > first.number && second.quads == 1);
    let text = "INSERT DATA { <http://e/a> <http://e/likes> <http://e/y> }";
    let update = UpdateRequest {
        text,
        ..UpdateRequest::default()
    };
    let third = database.update(&update).unwrap().snapshot;
    database.compact().unwrap();
    for number in [third, newest(&database).number] {
        let snapshot = database.snapshot(number).unwrap();
        assert_eq!((vector(&snapshot), snapshot.quads), (vector(&second), 2));
    }
    live.feed(names[0], "", &[like(250, "b")], Some(300), None)
        .unwrap();
    // A checkpoint takes no older snapshot away.
    for snapshot in [&first, &second] {
        assert_eq!(&database.snapshot(snapshot.number).unwrap(), snapshot);
        let graph = database.graph_at(snapshot.number).unwrap();
        assert_eq!(graph.quads, snapshot.quads);
    }
    let last = newest(&database);
    assert_eq!((vector(&last), last.quads), ([Some(300), Some(400)], 3));
    drop((live, database));
    let database = reopened(folder.path());
    let live = Live::new(database.clone());
    let again = newest(&database);
    assert_eq!((vector(&again), again.quads), (vector(&last), 3));
    let gone = database.snapshot(first.number).unwrap_err();
    assert_eq!(gone.kind, Kind::Gone);
    let ahead = database.snapshot(again.number + 1).unwrap_err();
    assert_eq!(ahead.kind, Kind::NotFound);
    drop(live);
}

/// In memory a seal without an effect is no commit, and the newest snapshot says what it holds all the same.
#[test]
fn a_seal_without_an_effect_moves_the_newest_vector() {
    let database = stored(&oxrdf::Dataset::new());
    let live = Live::new(database.clone());
    live.create(&HubStream::new("http://e/likes"), Some(0))
        .unwrap();
    live.feed("http://e/likes", "", &[like(50, "a")], Some(100), None)
        .unwrap();
    let first = database.snapshot(database.snapshot_number()).unwrap();
    live.feed("http://e/likes", "", &[like(150, "a")], Some(200), None)
        .unwrap();
    let second = database.snapshot(database.snapshot_number()).unwrap();
    assert_eq!(first.number, second.number);
    let moments = [&first, &second].map(|it| until(it, "http://e/likes"));
    assert_eq!(moments, [Some(100), Some(200)]);
}

/// What is kept is bounded by its time and by its number, and is on the account of memory.
#[test]
fn older_snapshots_go() {
    let options = Options {
        memory_is_writable: true,
        keep_snapshots: LONG,
        ..Options::default()
    };
    let add = |database: &Database, number: u64| {
        let text = format!("INSERT DATA {{ <http://e/{number}> <http://e/p> 1 }}");
        let update = UpdateRequest {
            text: &text,
            ..UpdateRequest::default()
        };
        database.update(&update).unwrap().snapshot
    };
    let database = super::with_options(&oxrdf::Dataset::new(), &options);
    let numbers: Vec<u64> = (0..400).map(|number| add(&database, number)).collect();
    let all = database.snapshots();
    assert_eq!(all.len(), 257, "256 older ones and the newest");
    let gone = database.graph_at(numbers[0]).unwrap_err();
    assert_eq!(gone.kind, Kind::Gone);
    for snapshot in &all {
        let graph = database.graph_at(snapshot.number).unwrap();
        assert_eq!(graph.snapshot.number(), snapshot.number);
        assert_eq!(graph.quads, snapshot.number);
    }
    let short = Options {
        keep_snapshots: Duration::from_millis(1),
        ..options
    };
    let database = super::with_options(&oxrdf::Dataset::new(), &short);
    let first = add(&database, 0);
    add(&database, 1);
    let begun = std::time::Instant::now();
    // Nobody writes any more: maintenance lets go of it.
    while database.graph_at(first).is_ok() {
        assert!(begun.elapsed() < Duration::from_mins(2), "it stays");
        std::thread::sleep(Duration::from_millis(20));
    }
    assert_eq!(database.snapshots().len(), 1);
}
