//! A store that goes away, fills its disk or runs out of descriptors under a database: what is said,
//! what goes on, and that nothing is acknowledged that the next start would not find.

#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used)]

use oxrdf::{Dataset, QuadRef};
use somersault::load::{Request as Load, Source, Syntax, Unwatched, load};
use somersault::output::{Rows, Sink};
use somersault::{
    ChangeHealth, Database, GraphState, GraphTarget, Kind, Options, Precondition, QueryError,
    Request, UpdateRequest,
};
use std::fmt::Write;
use std::fs;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io::{self, Cursor};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use store::disk::{SimDisk, SimFaults};

const HOME: &str = "/disk/store";

fn update(database: &Database, text: &str) -> Result<u64, QueryError> {
    let request = UpdateRequest {
        text,
        ..UpdateRequest::default()
    };
    database
        .update(&request)
        .map(|committed| committed.snapshot)
}

fn insert(database: &Database, name: &str) -> Result<u64, QueryError> {
    update(
        database,
        &format!("INSERT DATA {{ <http://e/{name}> <http://e/p> \"{name}\" }}"),
    )
}

fn quads(database: &Database) -> u64 {
    let mut dataset = Dataset::new();
    let mut take = |quad: QuadRef<'_>| {
        dataset.insert(quad);
        Ok(())
    };
    somersault::dump::all(&database.graph(), &mut take).expect("it can be read")
}

fn writable(store: &Path) -> Database {
    Database::open_writable(store, &Options::default()).expect("the store opens")
}

/// Changes are refused with the path, nothing of what was refused is seen, and readers go on.
fn assert_refused(database: &Database, path: &Path, quads_before: u64) {
    let error = insert(database, "lost").unwrap_err();
    assert_eq!(error.kind, Kind::ReadOnly, "{error}");
    let text = error.to_string();
    assert!(text.contains(&path.display().to_string()), "{text}");
    assert!(text.contains("removed or replaced"), "{text}");
    let again = insert(database, "lost").unwrap_err();
    assert_eq!(again.kind, Kind::ReadOnly, "{again}");
    let health = database.health();
    assert!(!health.is_sound(), "{health:?}");
    assert!(matches!(health.changes, ChangeHealth::Refused(_)));
    assert_eq!(quads(database), quads_before);
    assert_eq!(database.compact().unwrap_err().kind, Kind::ReadOnly);
}

#[test]
fn a_store_that_is_removed_takes_no_change() {
    let folder = tempfile::tempdir().unwrap();
    let store = folder.path().join("store");
    let database = writable(&store);
    assert_eq!(insert(&database, "a").unwrap(), 1);
    assert_eq!(database.health().changes, ChangeHealth::Taken);
    fs::remove_dir_all(&store).unwrap();
    assert_refused(&database, &store, 1);
    assert!(!store.exists(), "nothing was made anew");
}

#[test]
fn a_log_that_is_removed_takes_no_change() {
    let folder = tempfile::tempdir().unwrap();
    let store = folder.path().join("store");
    let database = writable(&store);
    insert(&database, "a").unwrap();
    let log = store.join("log/00000000000000000001.log");
    fs::remove_file(&log).unwrap();
    let error = insert(&database, "lost").unwrap_err();
    assert_eq!(error.kind, Kind::ReadOnly, "{error}");
    assert!(
        error.message.contains(&log.display().to_string()),
        "{error}"
    );
    assert!(!database.health().is_sound());
}

#[test]
fn another_store_in_its_place_is_not_written_into() {
    let folder = tempfile::tempdir().unwrap();
    let (store, aside) = (folder.path().join("store"), folder.path().join("aside"));
    let database = writable(&store);
    insert(&database, "a").unwrap();
    fs::rename(&store, &aside).unwrap();
    drop(writable(&store));
    let before = fs::read(store.join("CURRENT")).unwrap();
    assert_refused(&database, &store, 1);
    assert_eq!(fs::read(store.join("CURRENT")).unwrap(), before);
    drop(database);
    assert_eq!(quads(&writable(&store)), 0);
    assert_eq!(
        quads(&writable(&aside)),
        1,
        "what was acknowledged is there"
    );
}

fn simulated(faults: SimFaults) -> (SimDisk, Database) {
    let disk = SimDisk::new(7, Path::new("/disk"), faults);
    let database = opened(&disk);
    (disk, database)
}

fn opened(disk: &SimDisk) -> Database {
    let options = Options::default();
    Database::open_writable_on(Arc::new(disk.clone()), Path::new(HOME), &options).expect("it opens")
}

#[test]
fn a_change_that_filled_the_disk_is_got_rid_of() {
    let (disk, database) = simulated(SimFaults::default());
    insert(&database, "a").unwrap();
    let log = Path::new(HOME).join("log/00000000000000000001.log");
    let room = |bytes| SimFaults {
        capacity_bytes: Some(disk.used_bytes() + bytes),
        ..SimFaults::default()
    };
    disk.set_faults(room(3000));
    let before = disk.used_bytes();
    for bytes in [5_000, 3 << 20] {
        let error = insert(&database, &"x".repeat(bytes)).unwrap_err();
        assert_eq!(error.kind, Kind::DiskFull, "{error}");
        assert!(!error.to_string().contains("memory"), "{error}");
        assert!(
            error.hint.is_some_and(|hint| hint.contains("room")),
            "{error}"
        );
        assert!(matches!(
            database.health().changes,
            ChangeHealth::Failing(_)
        ));
        assert!(database.health().is_sound());
        assert!(disk.used_bytes() <= before + 64, "its bytes are given back");
    }
    assert_eq!(quads(&database), 1);
    // A smaller one fits, although nobody made room.
    assert_eq!(insert(&database, "b").unwrap(), 2);
    assert_eq!(database.health().changes, ChangeHealth::Taken);
    assert_eq!(database.compact().unwrap_err().kind, Kind::DiskFull);
    assert_eq!(
        update(&database, "DELETE WHERE { ?s ?p \"a\" }").unwrap(),
        3
    );
    disk.set_faults(SimFaults::default());
    database.compact().unwrap();
    assert_eq!(insert(&database, "c").unwrap(), 4);
    assert_eq!(quads(&database), 2);
    drop(database);
    assert!(!disk.exists(&log));
    let database = opened(&disk.restart(SimFaults::default()));
    assert_eq!((quads(&database), database.snapshot_number()), (2, 4));
}

/// A commit that was given up has changed no graph: who reads the graph afterwards and names what was read may
/// change it.
#[test]
fn what_was_given_up_is_no_last_change() {
    let (disk, database) = simulated(SimFaults::default());
    let into = |value: &str| {
        let quad = format!("<http://e/s> <http://e/p> \"{value}\"");
        update(
            &database,
            &format!("INSERT DATA {{ GRAPH <http://e/g> {{ {quad} }} }}"),
        )
    };
    assert_eq!(into("a").unwrap(), 1);
    disk.set_faults(SimFaults {
        capacity_bytes: Some(disk.used_bytes() + 3000),
        ..SimFaults::default()
    });
    assert_eq!(into(&"x".repeat(5000)).unwrap_err().kind, Kind::DiskFull);
    disk.set_faults(SimFaults::default());
    let target = GraphTarget::Named("http://e/g".to_owned());
    // What a reader is told that it has read.
    let read = database.last_change(&target).unwrap().unwrap();
    let read = read.min(database.snapshot_number());
    let removal = database.start_graph_change(&target, None).unwrap();
    let removal = removal.only_if(Precondition {
        is: Some(GraphState::AsIn(vec![read])),
        is_not: None,
    });
    assert_eq!(removal.delete().unwrap().unwrap().deleted, 1);
}

/// Many who change at once, on a disk that is full now and then: everybody is told what became of his own
/// change, and what was acknowledged is what is there.
#[test]
fn of_many_changes_at_once_each_is_told_its_own_fate() {
    let (disk, database) = simulated(SimFaults::default());
    insert(&database, "a").unwrap();
    let kept = std::sync::Mutex::new(1);
    std::thread::scope(|scope| {
        for thread in 0..4 {
            let (database, kept) = (&database, &kept);
            scope.spawn(move || {
                for number in 0..150 {
                    let name = format!("t{thread}n{number}{}", "x".repeat(number % 7 * 40));
                    match insert(database, &name) {
                        Ok(_) => *kept.lock().unwrap() += 1,
                        Err(error) => assert_eq!(error.kind, Kind::DiskFull, "{error}"),
                    }
                }
            });
        }
        for _ in 0..60 {
            let room = disk.used_bytes() + 700;
            disk.set_faults(SimFaults {
                capacity_bytes: Some(room),
                ..SimFaults::default()
            });
            std::thread::sleep(std::time::Duration::from_millis(2));
            disk.set_faults(SimFaults::default());
            std::thread::sleep(std::time::Duration::from_millis(1));
        }
    });
    let kept = kept.into_inner().unwrap();
    assert_eq!(quads(&database), kept);
    assert_eq!(database.snapshot_number(), kept);
    drop(database);
    let database = opened(&disk.restart(SimFaults::default()));
    assert_eq!((quads(&database), database.snapshot_number()), (kept, kept));
}

#[test]
fn without_descriptors_changes_wait_for_better_times() {
    let (disk, database) = simulated(SimFaults::default());
    insert(&database, "a").unwrap();
    disk.set_faults(SimFaults {
        descriptors: Some(0),
        ..SimFaults::default()
    });
    let error = database.compact().unwrap_err();
    assert_eq!(error.kind, Kind::Unavailable, "{error}");
    assert_eq!(insert(&database, "b").unwrap(), 2, "its file is open");
    assert!(database.health().is_sound());
    disk.set_faults(SimFaults::default());
    database.compact().unwrap();
    assert_eq!(insert(&database, "c").unwrap(), 3);
}

const ROWS: usize = 4000;

/// A store of some pages a file.
fn stored(folder: &Path, name: &str) -> PathBuf {
    let store = folder.join(name);
    let mut text = String::new();
    for row in 0..ROWS {
        writeln!(
            text,
            "<http://e/s{row}> <http://e/p> \"literal number {row}\" ."
        )
        .unwrap();
        writeln!(
            text,
            "<http://e/s{row}> <http://e/q> <http://e/s{}> .",
            row * 7 % ROWS
        )
        .unwrap();
    }
    let source = Source::reader("data", Cursor::new(text)).with_syntax(Syntax::NTriples);
    load(&store, vec![source], &Load::default(), &Unwatched).unwrap();
    store
}

fn parts(store: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(store.join("g-0000000000000001")).unwrap();
    let mut parts: Vec<PathBuf> = entries
        .map(|entry| entry.unwrap().path())
        .filter(|path| !path.ends_with("MANIFEST"))
        .collect();
    parts.sort();
    parts
}

fn cut(file: &Path, length: u64) {
    let file = fs::OpenOptions::new().write(true).open(file).unwrap();
    file.set_len(length).unwrap();
}

const ALL: &str = "SELECT * { ?s <http://e/q> ?o . ?o <http://e/p> ?name }";

/// A sum over the texts of rows that does not depend on their order.
#[derive(Default)]
struct Sum(u64);

impl Sink for Sum {
    fn head(&mut self, _: &[String]) -> io::Result<()> {
        Ok(())
    }

    fn graph_head(&mut self, _: &[(String, String)]) -> io::Result<()> {
        Ok(())
    }

    fn rows(&mut self, rows: &Rows) -> io::Result<()> {
        for row in 0..rows.len {
            let mut hash = DefaultHasher::new();
            for column in &rows.columns {
                column.get(row).map(|term| term.to_string()).hash(&mut hash);
            }
            self.0 = self.0.wrapping_add(hash.finish());
        }
        Ok(())
    }

    fn finish(&mut self) -> io::Result<()> {
        Ok(())
    }

    fn boolean(&mut self, _: bool) -> io::Result<()> {
        Ok(())
    }
}

/// Reads everything, terms too.
fn read_all(database: &Database) -> Result<u64, QueryError> {
    let mut sum = Sum::default();
    database.start(&Request::new(ALL))?.run(&mut sum)?;
    Ok(sum.0)
}

/// Whatever file is cut under a server, to whatever length: an answer is the right one or an error that
/// names the file, and the process lives.
#[test]
fn a_file_that_is_cut_under_a_database_is_damage_and_no_wrong_answer() {
    somersault::survive_bus_errors().unwrap();
    let folder = tempfile::tempdir().unwrap();
    let original = stored(folder.path(), "original");
    let sound = Database::open(&original, &Options::default()).unwrap();
    let expected = read_all(&sound).unwrap();
    let mut refused = 0;
    for (number, part) in parts(&original).iter().enumerate() {
        let store = folder.path().join(format!("copy{number}"));
        fs::create_dir_all(store.join("g-0000000000000001")).unwrap();
        fs::copy(original.join("CURRENT"), store.join("CURRENT")).unwrap();
        let manifest = "g-0000000000000001/MANIFEST";
        fs::copy(original.join(manifest), store.join(manifest)).unwrap();
        for part in parts(&original) {
            let name = part.file_name().unwrap();
            fs::copy(&part, store.join("g-0000000000000001").join(name)).unwrap();
        }
        let database = Database::open(&store, &Options::default()).unwrap();
        database.wait_until_verified().unwrap();
        assert_eq!(read_all(&database).unwrap(), expected);
        let name = part.file_name().unwrap().to_str().unwrap();
        cut(&store.join("g-0000000000000001").join(name), 0);
        for _ in 0..2 {
            match read_all(&database) {
                Ok(answer) => assert_eq!(answer, expected, "{name}"),
                Err(error) => {
                    assert_eq!(error.kind, Kind::Damaged, "{name}: {error}");
                    assert!(error.to_string().contains(name), "{name}: {error}");
                    refused += 1;
                }
            }
        }
        // Asked after its health the database looks at the lengths; then nothing of it is believed.
        let health = database.health();
        assert!(
            health
                .damage
                .as_ref()
                .is_some_and(|what| what.contains(name)),
            "{name}: {health:?}"
        );
        assert!(!health.is_sound());
        assert_eq!(read_all(&database).unwrap_err().kind, Kind::Damaged);
    }
    assert!(refused >= 10, "{refused}");
    // Another database of the same process is none the worse.
    assert_eq!(read_all(&sound).unwrap(), expected);
    assert_eq!(sound.health().damage, None);
}

/// Ten bytes less, within the last page: no signal tells of it.
#[test]
fn a_file_that_lacks_some_bytes_is_found_by_its_length_and_never_written_on() {
    somersault::survive_bus_errors().unwrap();
    let folder = tempfile::tempdir().unwrap();
    let store = stored(folder.path(), "store");
    let database = writable(&store);
    database.wait_until_verified().unwrap();
    let file = &parts(&store)[0];
    cut(file, fs::metadata(file).unwrap().len() - 10);
    // What maintenance does now and then.
    database.graph().look();
    let name = file.file_name().unwrap().to_str().unwrap();
    for error in [
        read_all(&database).unwrap_err(),
        insert(&database, "x").unwrap_err(),
        {
            // Something to be written out.
            database.compact().expect("there is nothing to be written");
            insert(&database, "y").unwrap_err()
        },
    ] {
        assert_eq!(error.kind, Kind::Damaged, "{error}");
        assert!(error.to_string().contains(name), "{error}");
    }
    let health = database.health();
    assert!(health.damage.is_some_and(|what| what.contains(name)));
    let failed = somersault::dump::all(&database.graph(), &mut |_| Ok(()));
    assert!(failed.unwrap_err().to_string().contains(name));
}
