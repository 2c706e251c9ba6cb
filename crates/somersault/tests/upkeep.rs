//! Loads, checks, backups and compaction of a store whose log holds what its files do not.

use somersault::backup::{CopyError, backup, restore};
use somersault::load::{Request, Source, StoreError, Syntax, Unwatched, load};
use somersault::{Database, OpenError, Options, UpdateRequest, upkeep};
use std::fs;
use std::path::{Path, PathBuf};

const RUN: &(dyn Fn() -> bool + Sync) = &|| false;

fn writable(store: &Path) -> Database {
    Database::open_writable(store, &Options::default()).expect("the store opens")
}

/// Commits each text, and gives the last snapshot.
fn updates(store: &Path, texts: &[&str]) -> u64 {
    let database = writable(store);
    let mut last = 0;
    for text in texts {
        let request = UpdateRequest {
            text,
            ..UpdateRequest::default()
        };
        last = database.update(&request).expect("it commits").snapshot;
    }
    last
}

fn insert(store: &Path, names: &[&str]) -> u64 {
    let texts: Vec<String> = names
        .iter()
        .map(|name| format!("INSERT DATA {{ <http://e/{name}> <http://e/p> \"{name}\" }}"))
        .collect();
    let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
    updates(store, &texts)
}

fn load_line(store: &Path, line: &'static str) -> Result<u64, StoreError> {
    let source = Source::reader("lines", line.as_bytes()).with_syntax(Syntax::NTriples);
    load(store, vec![source], &Request::default(), &Unwatched).map(|report| report.quads)
}

/// Quads and the number of the last commit, as a reader sees them.
fn seen(store: &Path) -> (u64, u64) {
    let database = Database::open(store, &Options::default()).expect("the store opens");
    (database.summary().quads, database.snapshot_number())
}

fn files(folder: &Path) -> Vec<String> {
    let Ok(entries) = fs::read_dir(folder) else {
        return vec!["(none)".to_owned()];
    };
    let names = entries.map(|entry| entry.expect("readable").file_name());
    let mut names: Vec<String> = names
        .map(|name| name.into_string().expect("ASCII"))
        .collect();
    names.sort();
    names
}

fn log_files(store: &Path) -> Vec<PathBuf> {
    let folder = store.join("log");
    let mut files: Vec<PathBuf> = fs::read_dir(folder)
        .expect("there is a log")
        .map(|entry| entry.expect("readable").path())
        .collect();
    files.sort();
    files
}

const LINE: &str = "<http://e/loaded> <http://e/p> \"loaded\" .\n";

#[test]
fn a_load_keeps_what_is_only_in_the_log_and_the_log_goes_on_behind_it() {
    let folder = tempfile::tempdir().unwrap();
    let store = &folder.path().join("store");
    assert_eq!(insert(store, &["a", "b", "c"]), 3);
    assert_eq!(upkeep::tail(store).unwrap().records, 3);
    assert_eq!(load_line(store, LINE).unwrap(), 4);
    assert_eq!(seen(store), (4, 4), "the load is a commit");
    assert_eq!(upkeep::tail(store).unwrap().records, 0);
    assert_eq!(insert(store, &["d"]), 5);
    assert_eq!(seen(store), (5, 5));
    // Once more, now that files of the log with older records lie around.
    assert_eq!(
        load_line(store, "<http://e/2> <http://e/p> 2 .\n").unwrap_or(0),
        0
    );
    assert_eq!(seen(store), (5, 5), "a load that fails changes nothing");
    assert_eq!(
        load_line(store, "<http://e/2> <http://e/p> \"2\" .\n").unwrap(),
        6
    );
    assert_eq!(insert(store, &["e", "a"]), 7, "what is there is no commit");
    assert_eq!(seen(store).0, 7);
    let checked = upkeep::check(store).unwrap();
    assert_eq!(checked.findings, []);
    drop(writable(store));
    assert_eq!(seen(store).0, 7);
}

#[test]
fn a_database_says_how_large_its_files_are_after_each_checkpoint() {
    let folder = tempfile::tempdir().unwrap();
    let store = &folder.path().join("store");
    insert(store, &["a"]);
    let database = writable(store);
    let mut before = database.summary().stored_bytes;
    for names in [0..100, 100..5000] {
        let triples: Vec<String> = names
            .map(|name| format!("<urn:{name}> <urn:p> {name} ."))
            .collect();
        let triples = triples.join(" ");
        let request = UpdateRequest {
            text: &format!("INSERT DATA {{ {triples} }}"),
            ..UpdateRequest::default()
        };
        database.update(&request).expect("it commits");
        database.compact().expect("a checkpoint");
        let reader = Database::open(store, &Options::default()).expect("the store opens");
        let bytes = database.summary().stored_bytes;
        assert_eq!(bytes, reader.summary().stored_bytes);
        assert!(bytes > before, "{bytes} after {before}");
        before = bytes;
    }
}

#[test]
fn a_log_without_effect_is_no_obstacle_to_a_load() {
    let folder = tempfile::tempdir().unwrap();
    let store = &folder.path().join("store");
    let there = "INSERT DATA { <http://e/a> <http://e/p> 1 }";
    let gone = "DELETE DATA { <http://e/a> <http://e/p> 1 }";
    assert_eq!(updates(store, &[there, gone]), 2);
    assert_eq!(load_line(store, LINE).unwrap(), 1);
    assert_eq!(seen(store), (1, 3));
}

#[test]
fn a_load_beside_a_writer_is_told_that_the_store_is_taken() {
    let folder = tempfile::tempdir().unwrap();
    let store = &folder.path().join("store");
    let database = writable(store);
    let error = load_line(store, LINE).unwrap_err();
    assert!(error.is_locked() && !error.is_damage(), "{error}");
    let text = "INSERT DATA { <http://e/a> <http://e/p> 1 }";
    let request = UpdateRequest {
        text,
        ..UpdateRequest::default()
    };
    database.update(&request).unwrap();
    let error = load_line(store, LINE).unwrap_err();
    assert!(error.is_locked(), "with a tail too: {error}");
    drop(database);
    assert_eq!(load_line(store, LINE).unwrap(), 2);
}

#[test]
fn a_backup_is_a_checked_store_at_the_last_commit() {
    let folder = tempfile::tempdir().unwrap();
    let store = &folder.path().join("store");
    load_line(store, LINE).unwrap();
    insert(store, &["a", "b"]);
    let database = writable(store);
    let copy = &folder.path().join("copy");
    let copied = backup(store, copy, &Options::default(), RUN).unwrap();
    assert_eq!((copied.quads, copied.snapshot), (3, 2));
    assert!(copied.bytes > 0);
    drop(database);
    insert(store, &["c"]);
    assert_eq!(seen(copy), (3, 2), "what came later is not in it");
    let back = &folder.path().join("back");
    fs::create_dir(back).unwrap();
    assert_eq!(
        restore(copy, back, &Options::default(), RUN).unwrap().quads,
        3
    );
    assert_eq!(seen(back), (3, 2));
    assert_eq!(insert(back, &["d"]), 3, "commits go on behind it");
}

#[test]
fn a_backup_that_fails_leaves_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let store = &folder.path().join("store");
    insert(store, &["a"]);
    let none = &folder.path().join("none");
    let error = backup(none, &folder.path().join("x"), &Options::default(), RUN).unwrap_err();
    assert!(
        matches!(&error, CopyError::Open(error) if error.is_absent()),
        "{error}"
    );
    for place in [store.clone(), store.join("inside")] {
        let before = files(store);
        assert!(
            backup(store, &place, &Options::default(), RUN)
                .unwrap_err()
                .is_taken()
        );
        assert_eq!(files(store), before);
    }
    let full = folder.path().join("full");
    fs::create_dir(&full).unwrap();
    fs::write(full.join("letter"), "dear").unwrap();
    assert!(
        backup(store, &full, &Options::default(), RUN)
            .unwrap_err()
            .is_taken()
    );
    assert_eq!(files(&full), ["letter"]);
    let stopped = &|| true;
    let (fresh, empty) = (folder.path().join("fresh"), folder.path().join("empty"));
    fs::create_dir(&empty).unwrap();
    assert!(
        backup(store, &fresh, &Options::default(), stopped)
            .unwrap_err()
            .is_cancelled()
    );
    assert!(
        backup(store, &empty, &Options::default(), stopped)
            .unwrap_err()
            .is_cancelled()
    );
    assert_eq!(
        (files(&fresh), files(&empty)),
        (vec!["(none)".to_owned()], vec![])
    );
}

/// Turns one bit of a file.
fn damage(file: &Path, from_end: usize) {
    let mut bytes = fs::read(file).expect("the file can be read");
    let at = bytes.len() - from_end;
    bytes[at] ^= 1;
    fs::write(file, bytes).expect("the file can be written");
}

#[test]
fn damage_is_found_in_files_and_log_and_is_not_copied() {
    let folder = tempfile::tempdir().unwrap();
    let store = &folder.path().join("store");
    load_line(store, LINE).unwrap();
    insert(store, &["a", "b", "c"]);
    let log = log_files(store).pop().unwrap();
    let whole = fs::read(&log).unwrap();
    // A bit of the first record, behind the head of the file.
    let mut bytes = whole.clone();
    bytes[4096.min(whole.len() / 2)] ^= 1;
    fs::write(&log, &bytes).unwrap();
    let findings = upkeep::check(store).unwrap().findings;
    assert_eq!(findings.len(), 1, "{findings:?}");
    let name = log.file_name().unwrap().to_str().unwrap();
    let said = findings[0].to_string();
    assert!(said.contains(name) && said.contains("byte "), "{said}");
    let copy = &folder.path().join("copy");
    assert!(
        backup(store, copy, &Options::default(), RUN)
            .unwrap_err()
            .is_damage()
    );
    assert!(!copy.exists());
    assert!(load_line(store, LINE).unwrap_err().is_damage());
    fs::write(&log, &whole).unwrap();
    backup(store, copy, &Options::default(), RUN).unwrap();
    let generation = copy.join(
        files(copy)
            .into_iter()
            .find(|n| n.starts_with("g-"))
            .unwrap(),
    );
    damage(&generation.join("segments-out.bin"), 9);
    let back = &folder.path().join("back");
    assert!(
        restore(copy, back, &Options::default(), RUN)
            .unwrap_err()
            .is_damage()
    );
    assert!(!back.exists());
}

#[test]
fn a_torn_tail_is_told_and_no_damage() {
    let folder = tempfile::tempdir().unwrap();
    let store = &folder.path().join("store");
    insert(store, &["a", "b"]);
    let log = log_files(store).pop().unwrap();
    let whole = fs::read(&log).unwrap();
    fs::write(&log, [&whole[..], &[7; 20]].concat()).unwrap();
    let checked = upkeep::check(store).unwrap();
    assert_eq!(checked.findings, []);
    let torn = checked.tail.torn.expect("a torn tail");
    assert_eq!((torn.file, checked.tail.records), (log, 2));
    assert_eq!(seen(store), (2, 2));
}

#[test]
fn sizes_count_what_is_in_the_log() {
    let folder = tempfile::tempdir().unwrap();
    let store = &folder.path().join("store");
    load_line(store, LINE).unwrap();
    insert(store, &["a", "b"]);
    let sizes = upkeep::sizes(store).unwrap();
    assert_eq!((sizes.quads, sizes.snapshot, sizes.tail.records), (3, 2, 2));
    upkeep::compact(&writable(store)).unwrap();
    let sizes = upkeep::sizes(store).unwrap();
    assert_eq!((sizes.quads, sizes.snapshot, sizes.tail.records), (3, 2, 0));
}

#[test]
fn a_damaged_log_opens_up_to_the_damage_where_that_is_asked_for() {
    let folder = tempfile::tempdir().unwrap();
    let store = &folder.path().join("store");
    insert(store, &["a"]);
    insert(store, &["b", "c"]);
    let logs = log_files(store);
    assert_eq!(logs.len(), 2);
    let mut bytes = fs::read(&logs[0]).unwrap();
    let at = bytes.len() - 2;
    bytes[at] ^= 1;
    fs::write(&logs[0], bytes).unwrap();
    let refused = Database::open_writable(store, &Options::default());
    assert!(matches!(&refused, Err(error @ OpenError::Log(_)) if error.is_damage()));
    let mut options = Options::default();
    options.log.accept_damage = true;
    let database = Database::open_writable(store, &options).unwrap();
    assert_eq!(database.snapshot_number(), 0);
    drop(database);
    assert_eq!(insert(store, &["d"]), 1);
    assert_eq!(seen(store), (1, 1));
}
