//! What comes and goes while a checkpoint is written: afterwards queries see what is there, and nothing else, and so
//! do a follower, and the store when it is opened again.

#![allow(clippy::unwrap_used)]

use crate::sticky_disk::StickyDisk;
use crate::support;
use somersault::{Database, Options, UpdateRequest};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;
use store::disk::Disk;
use testkit::Answer;

/// What a busy machine may take.
const PATIENCE: Duration = Duration::from_secs(20);
/// Queries whose answers are found in lists of graphs and keys, where no quad has to be read.
const NAMES: [&str; 4] = [
    "SELECT ?x { GRAPH ?x {} }",
    "SELECT DISTINCT ?x { { ?x <http://e/p> ?o } UNION { GRAPH ?g { ?x <http://e/p> ?o } } }",
    "SELECT DISTINCT ?x { { ?s <http://e/p> ?x } UNION { GRAPH ?g { ?s <http://e/p> ?x } } }",
    "SELECT DISTINCT ?x { { ?s ?x ?o } UNION { GRAPH ?g { ?s ?x ?o } } }",
];

fn open(disk: &Arc<StickyDisk>, store: &Path) -> Database {
    let disk: Arc<dyn Disk> = Arc::clone(disk) as Arc<dyn Disk>;
    Database::open_writable_on(disk, store, &Options::default()).unwrap()
}

fn update(database: &Database, text: &str) {
    let request = UpdateRequest {
        text,
        ..UpdateRequest::default()
    };
    database.update(&request).unwrap();
}

/// Fills the graph, or empties it. Other quads come along, so that no layer is empty.
fn turn(database: &Database, number: u32, is_there: bool) {
    let quad = "GRAPH <http://e/g> { <http://e/s> <http://e/p> <http://e/o> }";
    let verb = if is_there { "INSERT" } else { "DELETE" };
    let other = format!("<http://e/other> <http://e/q> {number}");
    update(
        database,
        &format!("{verb} DATA {{ {quad} }} ; INSERT DATA {{ {other} }}"),
    );
}

fn check(database: &Database, is_there: bool, case: &str) {
    for (query, name) in NAMES.into_iter().zip(["g", "s", "o", "p"]) {
        let answer = support::answer(database, query, 1).map_err(support::NoAnswer::message);
        let Ok(Answer::Rows { rows, .. }) = answer else {
            panic!("{query}: no rows");
        };
        let name = format!("<http://e/{name}>");
        let mut found = rows.iter().filter_map(|row| row[0].as_ref());
        let found = found.any(|term| term.to_string() == name);
        assert_eq!(found, is_there, "{case}: {query}");
    }
}

/// Lets go of whoever waits, however the test ends.
struct Stuck<'d>(&'d StickyDisk);

impl<'d> Stuck<'d> {
    fn new(disk: &'d StickyDisk) -> Stuck<'d> {
        disk.set(true);
        Stuck(disk)
    }
}

impl Drop for Stuck<'_> {
    fn drop(&mut self) {
        self.0.set(false);
    }
}

/// A database that follows this one, once it has seen what there is.
fn check_follower(follower: &Database, database: &Database, is_there: bool, case: &str) {
    let number = database.snapshot_number();
    assert!(follower.wait_for_snapshot(number, PATIENCE), "{case}");
    check(follower, is_there, &format!("{case}, followed"));
}

/// The graph is filled and emptied so often before a checkpoint, while it is written, and behind it.
fn run(counts: [u32; 3]) {
    let case = format!("{counts:?}");
    let folder = tempfile::tempdir().unwrap();
    let store = folder.path().join("store");
    let disk = Arc::new(StickyDisk::default());
    let database = open(&disk, &store);
    turn(&database, 0, true);
    database.compact().unwrap();
    let (mut number, mut is_there) = (0, true);
    let mut turns = |database: &Database, count: u32| {
        for _ in 0..count {
            number += 1;
            is_there = !is_there;
            turn(database, number, is_there);
            check(database, is_there, &format!("{case}, {number}"));
        }
        is_there
    };
    turns(&database, counts[0]);
    let follower = Database::open_following(&store, &Options::default(), Box::new(|_| {})).unwrap();
    std::thread::scope(|scope| {
        let stuck = Stuck::new(&disk);
        let checkpoint = scope.spawn(|| database.compact());
        while !disk.is_waited_for() {
            assert!(!checkpoint.is_finished(), "{case}: it opens what it wrote");
            std::thread::sleep(Duration::from_millis(1));
        }
        turns(&database, counts[1]);
        drop(stuck);
        checkpoint.join().unwrap().unwrap();
    });
    let is_there = turns(&database, 0);
    check(&database, is_there, &format!("{case}, over the new base"));
    check_follower(&follower, &database, is_there, &case);
    let is_there = turns(&database, counts[2]);
    database.compact().unwrap();
    check(&database, is_there, &format!("{case}, the next base"));
    check_follower(&follower, &database, is_there, &case);
    drop(database);
    check(&open(&disk, &store), is_there, &format!("{case}, opened"));
}

#[test]
fn what_comes_back_while_a_checkpoint_is_written_goes_again() {
    run([1, 1, 1]);
}

#[test]
fn what_comes_back_and_goes_while_a_checkpoint_is_written_is_gone() {
    run([1, 2, 0]);
    // So many commits that some of them are merged.
    run([1, 6, 0]);
    run([1, 7, 3]);
}
