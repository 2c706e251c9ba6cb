//! A database that was opened for reading shows what another one commits to the same store: all of it, whole
//! commits, nothing that is not durable, and soon.

#![allow(clippy::unwrap_used)]

use crate::sticky_disk::StickyDisk;

use oxrdf::QuadRef;
use somersault::load::{Request as Load, Source, Syntax, Unwatched, load};
use somersault::output::{Rows, Sink};
use somersault::{
    Database, FollowHealth, GraphTarget, Kind, Notice, Options, QueryError, Request, UpdateRequest,
};
use std::fmt::Write;
use std::fs;
use std::io::{self, Cursor};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};
use store::disk::{Disk, SimDisk, SimFaults};

/// What a busy machine may take; how long it takes is said by [`Waits`].
const PATIENCE: Duration = Duration::from_secs(20);
const PROMISED: Duration = Duration::from_secs(1);

fn update(database: &Database, text: &str) -> Result<u64, QueryError> {
    let request = UpdateRequest {
        text,
        ..UpdateRequest::default()
    };
    let committed = database.update(&request)?;
    Ok(committed.snapshot)
}

fn insert(database: &Database, name: &str) -> u64 {
    let text = format!("INSERT DATA {{ <http://e/{name}> <http://e/p> \"{name}\" }}");
    update(database, &text).unwrap()
}

fn writable(store: &Path) -> Database {
    Database::open_writable(store, &Options::default()).expect("the store opens")
}

fn following(store: &Path) -> Database {
    Database::open_following(store, &Options::default(), Box::new(|_| {})).expect("it opens")
}

/// All quads as text, in order. Blank nodes have the numbers that the log gives them.
fn content(database: &Database) -> Vec<String> {
    let mut quads = Vec::new();
    let mut take = |quad: QuadRef<'_>| {
        quads.push(quad.to_string());
        Ok(())
    };
    somersault::dump::all(&database.graph(), &mut take).expect("it can be read");
    quads.sort();
    quads
}

fn seen(what: &str, is_so: impl Fn() -> bool) {
    let begun = Instant::now();
    while !is_so() {
        assert!(begun.elapsed() < PATIENCE, "{what}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// How long commits were waited for.
#[derive(Default)]
struct Waits(Vec<Duration>);

impl Waits {
    /// The follower has this commit, and holds what the writer holds.
    #[track_caller]
    fn same(&mut self, reader: &Database, writer: &Database) {
        let begun = Instant::now();
        let number = writer.snapshot_number();
        assert!(reader.wait_for_snapshot(number, PATIENCE), "{number}");
        self.0.push(begun.elapsed());
        assert_eq!(reader.snapshot_number(), number);
        assert_eq!(content(reader), content(writer));
        assert_eq!(reader.summary().quads, writer.summary().quads);
    }
}

impl Drop for Waits {
    fn drop(&mut self) {
        self.0.sort();
        println!("{:?}", self.0);
        if !std::thread::panicking() {
            assert!(self.0[self.0.len() / 2] < PROMISED, "{:?}", self.0);
        }
    }
}

/// The first column of an answer.
#[derive(Default)]
struct Values(Vec<String>);

impl Sink for Values {
    fn head(&mut self, _: &[String]) -> io::Result<()> {
        Ok(())
    }

    fn graph_head(&mut self, _: &[(String, String)]) -> io::Result<()> {
        Ok(())
    }

    fn rows(&mut self, rows: &Rows) -> io::Result<()> {
        let value = |row| rows.columns[0].get(row).map(|term| term.to_string());
        self.0.extend((0..rows.len).filter_map(value));
        Ok(())
    }

    fn finish(&mut self) -> io::Result<()> {
        Ok(())
    }

    fn boolean(&mut self, _: bool) -> io::Result<()> {
        Ok(())
    }
}

/// An answer by the light path where that takes the text, and whether it did.
fn answer(database: &Database, text: &str) -> (Vec<String>, bool) {
    let request = Request::new(text);
    let light = database.start_light(&request);
    let is_light = light.is_some();
    let mut query = light.unwrap_or_else(|| database.start(&request).unwrap());
    let mut values = Values::default();
    query.run(&mut values).unwrap();
    values.0.sort();
    (values.0, is_light)
}

fn many(first: u32, count: u32) -> String {
    let mut text = "INSERT DATA {".to_owned();
    for number in first..first + count {
        let _ = write!(
            text,
            " <http://e/s{number}> <http://e/q{}> <http://e/s{}> .",
            number % 7,
            number / 2
        );
    }
    text + " }"
}

#[test]
fn commits_checkpoints_and_loads_of_another_are_shown() {
    let folder = tempfile::tempdir().unwrap();
    let store = folder.path().join("store");
    let writer = writable(&store);
    insert(&writer, "before");
    let reader = following(&store);
    let mut waits = Waits::default();
    waits.same(&reader, &writer);
    assert!(!reader.is_writable() && reader.is_following());
    assert_eq!(update(&reader, "CLEAR ALL").unwrap_err().kind, Kind::Policy);
    let texts = [
        "INSERT DATA { <http://e/a> <http://e/p> 1 , 2 ; a <http://e/C> . [] <http://e/p> _:x }",
        "DELETE DATA { <http://e/a> <http://e/p> 1 }",
        "INSERT DATA { GRAPH <http://e/g> { <http://e/a> <http://e/p> <<( <http://e/a> <http://e/p> 3 )>> } }",
        "COPY <http://e/g> TO <http://e/h>",
        "DROP GRAPH <http://e/g>",
        &many(0, 20_000),
        "DELETE { ?s <http://e/q3> ?o } INSERT { ?o <http://e/r> ?s } WHERE { ?s <http://e/q3> ?o }",
    ];
    for text in texts {
        update(&writer, text).unwrap();
        waits.same(&reader, &writer);
    }
    // Checkpoints, with and without commits around them.
    let shown = reader.graph();
    let before = content(&reader);
    for round in 0..3 {
        insert(&writer, &format!("round{round}"));
        writer.compact().unwrap();
        insert(&writer, &format!("behind{round}"));
        waits.same(&reader, &writer);
    }
    writer.compact().unwrap();
    seen("the last checkpoint", || {
        reader.graph().snapshot.layers().is_empty()
    });
    waits.same(&reader, &writer);
    let figures = reader.follow_figures().unwrap();
    assert!(figures.reopened >= 2 && figures.behind == 0, "{figures:?}");
    assert_eq!(figures.commits, writer.snapshot_number() - 1);
    // Who reads an old graph, reads on.
    let mut old = Vec::new();
    let mut take = |quad: QuadRef<'_>| {
        old.push(quad.to_string());
        Ok(())
    };
    somersault::dump::all(&shown, &mut take).unwrap();
    old.sort();
    assert_eq!(old, before);
    drop(shown);
    // Another writer, and a load between the two, which is in no log.
    drop(writer);
    let text = "<http://e/loaded> <http://e/p> \"x\" .\n";
    let source = Source::reader("data", Cursor::new(text)).with_syntax(Syntax::NTriples);
    load(&store, vec![source], &Load::default(), &Unwatched).unwrap();
    let writer = writable(&store);
    waits.same(&reader, &writer);
    insert(&writer, "after");
    waits.same(&reader, &writer);
    assert_eq!(reader.health().following, FollowHealth::Shown);
    reader.wait_until_verified().unwrap();
}

/// The cache of plans holds ids of constants, which are others once the store was opened anew: the reader gave
/// its own to what came by the log, and the writer's generation has terms that no record names.
#[test]
fn what_was_asked_before_is_answered_anew() {
    let folder = tempfile::tempdir().unwrap();
    let store = folder.path().join("store");
    let writer = writable(&store);
    insert(&writer, "first");
    let reader = following(&store);
    let mut lights = 0;
    for round in 0..4_u64 {
        let text = |name: u32| {
            format!(
                "SELECT ?o {{ <http://e/n{name}> <http://e/of{round}> ?o . ?o a <http://e/C{round}> }}"
            )
        };
        let mut ask = |values: &[&str]| {
            for name in (0..6).chain(0..6) {
                let (found, is_light) = answer(&reader, &text(name));
                let expected = values
                    .iter()
                    .map(|value| format!("<http://e/{value}{name}>"));
                assert_eq!(
                    found,
                    expected.collect::<Vec<_>>(),
                    "round {round}, n{name}"
                );
                lights += u32::from(is_light);
            }
        };
        let commit = |value: &str| {
            // Terms of requests that come to nothing are given ids by the writer alone.
            let ghosts = format!(
                "INSERT DATA {{ <http://e/ghost{value}{round}> <http://e/by{value}{round}> 1 }} ; \
                 COPY <http://e/none> TO <http://e/x>"
            );
            update(&writer, &ghosts).unwrap_err();
            let mut text = "INSERT DATA {".to_owned();
            for name in 0..6 {
                let _ = write!(
                    text,
                    " <http://e/n{name}> <http://e/of{round}> <http://e/{value}{name}> . \
                     <http://e/{value}{name}> a <http://e/C{round}> ."
                );
            }
            let number = update(&writer, &(text + " }")).unwrap();
            assert!(reader.wait_for_snapshot(number, PATIENCE));
        };
        // Constants that were stored nowhere when a text was asked first, and others.
        if round % 2 == 1 {
            ask(&[]);
        }
        commit("v");
        commit("w");
        ask(&["v", "w"]);
        writer.compact().unwrap();
        seen("the checkpoint", || {
            reader.follow_figures().unwrap().reopened > round
        });
        ask(&["v", "w"]);
        commit("x");
        ask(&["v", "w", "x"]);
    }
    assert!(lights > 100, "{lights} of 168 by the light path");
}

/// Ends those who ask, also where the test fails.
struct Over<'o>(&'o AtomicBool);

impl Drop for Over<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::SeqCst);
    }
}

const ACCOUNTS: usize = 8;

#[test]
fn no_answer_is_of_a_part_of_a_commit() {
    let folder = tempfile::tempdir().unwrap();
    let store = folder.path().join("store");
    let writer = writable(&store);
    let mut text = "INSERT DATA {".to_owned();
    for account in 0..ACCOUNTS {
        let _ = write!(text, " <http://e/a{account}> <http://e/has> 100 .");
    }
    update(&writer, &(text + " }")).unwrap();
    let reader = following(&store);
    let is_over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let over = Over(&is_over);
        let asking = || {
            let (mut asked, mut newest) = (0, 0);
            while !is_over.load(Ordering::SeqCst) || asked < 20 {
                let (sums, _) =
                    answer(&reader, "SELECT (SUM(?n) AS ?sum) { ?a <http://e/has> ?n }");
                assert!(sums[0].starts_with("\"800\""), "{sums:?}");
                let number = reader.snapshot_number();
                assert!(number >= newest, "numbers do not go back");
                newest = number;
                asked += 1;
            }
        };
        let readers = [scope.spawn(asking), scope.spawn(asking)];
        let mut writer = writer;
        for number in 0..400_usize {
            let (from, to) = (number % ACCOUNTS, (number * 5 + 3) % ACCOUNTS);
            if from != to {
                let text = format!(
                    "DELETE {{ <http://e/a{from}> <http://e/has> ?f . <http://e/a{to}> <http://e/has> ?t }} \
                     INSERT {{ <http://e/a{from}> <http://e/has> ?g . <http://e/a{to}> <http://e/has> ?u }} \
                     WHERE {{ <http://e/a{from}> <http://e/has> ?f . <http://e/a{to}> <http://e/has> ?t \
                     BIND(?f - 1 AS ?g) BIND(?t + 1 AS ?u) }}"
                );
                update(&writer, &text).unwrap();
            }
            match number % 100 {
                40 => writer.compact().unwrap(),
                70 => {
                    drop(writer);
                    writer = writable(&store);
                }
                _ => std::thread::sleep(Duration::from_millis(3)),
            }
        }
        let number = writer.snapshot_number();
        assert!(reader.wait_for_snapshot(number, PATIENCE));
        assert_eq!(content(&reader), content(&writer));
        drop(over);
        for reader in readers {
            reader.join().unwrap();
        }
    });
}

const HOME: &str = "/disk/store";

fn simulated() -> (SimDisk, Database) {
    let disk = SimDisk::new(7, Path::new("/disk"), SimFaults::default());
    let writer =
        Database::open_writable_on(Arc::new(disk.clone()), Path::new(HOME), &Options::default());
    (disk, writer.expect("it opens"))
}

/// A reader with all that it was told.
fn told() -> (Notice, Arc<Mutex<Vec<String>>>) {
    let lines: Arc<Mutex<Vec<String>>> = Arc::default();
    let kept = Arc::clone(&lines);
    let told = Box::new(move |line: &str| kept.lock().unwrap().push(line.to_owned()));
    (told, lines)
}

fn beside(disk: &SimDisk, told: Notice) -> Database {
    let disk = Arc::new(disk.clone());
    let options = Options::default();
    Database::open_following_on(disk, Path::new(HOME), &options, told).expect("it opens")
}

#[test]
fn commits_that_were_given_up_are_never_shown() {
    let (disk, writer) = simulated();
    insert(&writer, "a");
    let reader = beside(&disk, Box::new(|_| {}));
    let is_over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let over = Over(&is_over);
        let asking = scope.spawn(|| {
            while !is_over.load(Ordering::SeqCst) {
                let all = content(&reader).concat();
                assert!(!all.contains("lost"), "{all}");
            }
        });
        for round in 0..10 {
            disk.set_faults(SimFaults {
                capacity_bytes: Some(disk.used_bytes() + 3000),
                ..SimFaults::default()
            });
            for bytes in [5_000, 2 << 20] {
                let text = format!(
                    "INSERT DATA {{ <http://e/lost> <http://e/p> \"{}\" }}",
                    "x".repeat(bytes)
                );
                assert_eq!(update(&writer, &text).unwrap_err().kind, Kind::DiskFull);
                std::thread::sleep(Duration::from_millis(60));
            }
            disk.set_faults(SimFaults::default());
            let number = insert(&writer, &format!("kept{round}"));
            assert!(reader.wait_for_snapshot(number, PATIENCE));
            assert_eq!(content(&reader), content(&writer));
        }
        drop(over);
        asking.join().unwrap();
    });
}

#[test]
fn what_cannot_be_read_now_is_said_once_and_shown_later() {
    let (disk, writer) = simulated();
    insert(&writer, "a");
    let (told, lines) = told();
    let reader = beside(&disk, told);
    disk.set_faults(SimFaults {
        descriptors: Some(0),
        ..SimFaults::default()
    });
    let number = insert(&writer, "b");
    seen("the failure", || {
        matches!(reader.health().following, FollowHealth::Failing(_))
    });
    assert!(reader.health().is_sound(), "it answers what it can");
    assert_eq!(content(&reader).len(), 1);
    std::thread::sleep(Duration::from_millis(500));
    assert_eq!(lines.lock().unwrap().len(), 1, "{lines:?}");
    disk.set_faults(SimFaults::default());
    assert!(reader.wait_for_snapshot(number, PATIENCE));
    seen("that it goes on", || {
        reader.health().following == FollowHealth::Shown
    });
    assert_eq!(content(&reader), content(&writer));
    let lines = lines.lock().unwrap();
    assert!(lines.len() == 2 && lines[1].contains("again"), "{lines:?}");
}

fn log(store: &Path) -> std::path::PathBuf {
    store.join("log/00000000000000000001.log")
}

/// A record that is in the log and not in its count may yet be given up, so it waits for the next writer. Whoever
/// opens the store once sees it, as after a crash.
#[test]
fn records_that_are_not_counted_wait_for_a_writer() {
    let folder = tempfile::tempdir().unwrap();
    let store = folder.path().join("store");
    let writer = writable(&store);
    insert(&writer, "a");
    let count = fs::read(store.join("DURABLE")).unwrap();
    insert(&writer, "b");
    drop(writer);
    // As a writer leaves it who is killed between a sync and its count.
    fs::write(store.join("DURABLE"), count).unwrap();
    let reader = following(&store);
    assert_eq!(reader.snapshot_number(), 1);
    std::thread::sleep(Duration::from_millis(300));
    assert_eq!(reader.snapshot_number(), 1);
    let once = Database::open(&store, &Options::default()).unwrap();
    assert_eq!(once.snapshot_number(), 2);
    let writer = writable(&store);
    Waits::default().same(&reader, &writer);
    insert(&writer, "c");
    Waits::default().same(&reader, &writer);
}

#[test]
fn damage_ends_following_and_not_the_answers() {
    let folder = tempfile::tempdir().unwrap();
    let store = folder.path().join("store");
    let writer = writable(&store);
    insert(&writer, "a");
    let before = fs::read(store.join("DURABLE")).unwrap();
    insert(&writer, "b");
    drop(writer);
    let after = fs::read(store.join("DURABLE")).unwrap();
    fs::write(store.join("DURABLE"), before).unwrap();
    let (told, lines) = told();
    let reader = Database::open_following(&store, &Options::default(), told).expect("it opens");
    let whole = fs::read(log(&store)).unwrap();
    let mut damaged = whole.clone();
    let place = damaged.len() - 60;
    damaged[place] ^= 1;
    fs::write(log(&store), &damaged).unwrap();
    fs::write(store.join("DURABLE"), after).unwrap();
    seen("the damage", || {
        matches!(reader.health().following, FollowHealth::Lost(_))
    });
    assert!(!reader.health().is_sound());
    assert_eq!(content(&reader).len(), 1);
    assert_eq!(reader.follow_figures().unwrap().behind, 1);
    let line = lines.lock().unwrap().concat();
    assert!(line.contains("damaged") && line.contains(".log"), "{line}");
    fs::write(log(&store), &whole).unwrap();
    assert!(reader.wait_for_snapshot(2, PATIENCE), "it was mended");
}

fn copied(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let path = entry.unwrap().path();
        let place = to.join(path.file_name().unwrap());
        if path.is_dir() {
            copied(&path, &place);
        } else {
            fs::copy(&path, &place).unwrap();
        }
    }
}

fn emptied(folder: &Path) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            fs::remove_dir_all(path).unwrap();
        } else {
            fs::remove_file(path).unwrap();
        }
    }
}

#[test]
fn another_history_is_not_followed() {
    let folder = tempfile::tempdir().unwrap();
    let (store, older) = (folder.path().join("store"), folder.path().join("older"));
    let writer = writable(&store);
    insert(&writer, "a");
    drop(writer);
    copied(&store, &older);
    let writer = writable(&store);
    insert(&writer, "b");
    writer.compact().unwrap();
    let reader = following(&store);
    drop(writer);
    let lost = |reader: &Database, why: &str| {
        seen(
            why,
            || matches!(reader.health().following, FollowHealth::Lost(what) if what.contains(why)),
        );
        assert_eq!((reader.snapshot_number(), content(reader).len()), (2, 2));
    };
    // An older state in the same directory.
    emptied(&store);
    copied(&older, &store);
    lost(&reader, "gone back");
    // Another directory, whatever it holds.
    fs::rename(&store, folder.path().join("aside")).unwrap();
    lost(&reader, "removed or replaced");
    let other = writable(&store);
    for number in 0..5 {
        insert(&other, &format!("other{number}"));
    }
    std::thread::sleep(Duration::from_millis(300));
    lost(&reader, "removed or replaced");
}

#[test]
fn without_memory_the_next_checkpoint_is_waited_for() {
    let folder = tempfile::tempdir().unwrap();
    let store = folder.path().join("store");
    let writer = writable(&store);
    insert(&writer, "a");
    let options = Options {
        memory_pool_bytes: 4 << 20,
        ..Options::default()
    };
    let reader = Database::open_following(&store, &options, Box::new(|_| {})).expect("it opens");
    let number = update(&writer, &many(0, 40_000)).unwrap();
    seen(
        "that memory is missing",
        || matches!(reader.health().following, FollowHealth::Failing(what) if what.contains("memory")),
    );
    assert_eq!(reader.pool().used_bytes(), 0, "all of it was given back");
    assert_eq!(content(&reader).len(), 1);
    writer.compact().unwrap();
    assert!(reader.wait_for_snapshot(number, PATIENCE));
    assert_eq!(content(&reader), content(&writer));
}

/// The number of a graph's last change goes into entity tags: it changes where the graph does.
#[test]
fn the_last_change_of_a_graph_is_known() {
    let folder = tempfile::tempdir().unwrap();
    let store = folder.path().join("store");
    let writer = writable(&store);
    let into = |graph: &str, value: u32| {
        let text = format!(
            "INSERT DATA {{ GRAPH <http://e/{graph}> {{ <http://e/s> <http://e/p> {value} }} }}"
        );
        update(&writer, &text).unwrap()
    };
    into("g", 0);
    into("h", 0);
    let reader = following(&store);
    let last = |graph: &str| {
        let target = GraphTarget::Named(format!("http://e/{graph}"));
        reader.last_change(&target).unwrap().unwrap()
    };
    let (g, number) = (last("g"), into("h", 1));
    assert!(reader.wait_for_snapshot(number, PATIENCE));
    assert_eq!((last("g"), last("h")), (g, number));
    writer.compact().unwrap();
    let number = into("g", 1);
    assert!(reader.wait_for_snapshot(number, PATIENCE));
    seen("the checkpoint", || {
        reader.follow_figures().unwrap().reopened == 1
    });
    assert_eq!(last("g"), number);
    assert!(last("h") <= number);
}

/// Terms have other ids in a generation that is opened anew, where the writer has given some to terms that no
/// record names: what was noted of an id from before says nothing of the same id afterwards.
#[test]
fn last_changes_are_not_taken_for_those_of_other_graphs() {
    let folder = tempfile::tempdir().unwrap();
    let store = folder.path().join("store");
    let writer = writable(&store);
    let reader = following(&store);
    let quad = "<http://e/s> <http://e/p> 1";
    let lost = format!(
        "INSERT DATA {{ GRAPH <http://e/lost> {{ {quad} }} }} ; COPY <http://e/none> TO <http://e/o>"
    );
    update(&writer, &lost).unwrap_err();
    let graphs = ["g", "h", "i"];
    let numbers = graphs.map(|graph| {
        let text = format!("INSERT DATA {{ GRAPH <http://e/{graph}> {{ {quad} }} }}");
        let number = update(&writer, &text).unwrap();
        // Each by itself: of commits that are applied together the last one counts.
        assert!(reader.wait_for_snapshot(number, PATIENCE));
        number
    });
    let last = |graph: &str| {
        let target = GraphTarget::Named(format!("http://e/{graph}"));
        reader.last_change(&target).unwrap().unwrap()
    };
    assert!(
        last("g") < numbers[2],
        "it is known which commit changed it"
    );
    writer.compact().unwrap();
    seen("the checkpoint", || {
        reader.follow_figures().unwrap().reopened == 1
    });
    for (graph, number) in graphs.into_iter().zip(numbers) {
        assert!(last(graph) >= number, "{graph}: {} < {number}", last(graph));
    }
}

/// Opening a generation may take long, on a slow disk or with many records behind it. Whoever closes the database
/// does not wait for that.
#[test]
fn closing_does_not_wait_for_a_generation_that_is_being_opened() {
    let folder = tempfile::tempdir().unwrap();
    let store = folder.path().join("store");
    let writer = writable(&store);
    insert(&writer, "a");
    let disk = Arc::new(StickyDisk::default());
    let shared: Arc<dyn Disk> = Arc::clone(&disk) as Arc<dyn Disk>;
    let options = Options::default();
    let reader = Database::open_following_on(shared, &store, &options, Box::new(|_| {})).unwrap();
    disk.set(true);
    insert(&writer, "b");
    writer.compact().unwrap();
    seen("opening", || disk.is_waited_for());
    let begun = Instant::now();
    drop(reader);
    assert!(begun.elapsed() < PATIENCE, "{:?}", begun.elapsed());
    disk.set(false);
}
