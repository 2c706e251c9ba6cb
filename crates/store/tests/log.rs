//! The log as its users see it: order, rotation, trimming, large records, what is refused and how it
//! is mended, the writers' lock, many writers on the real disk.

#![allow(clippy::unwrap_used)]

use std::io;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::Barrier;
use std::time::Duration;
use store::directory::{BeginError, OpenError, begin, begin_locked, lock_writer};
use store::disk::{Disk, RealDisk, SimDisk, SimFaults};
use store::log::{FileLog, Log, LogError, OpenOptions, Recovery, examine, pending};

const STORE: &str = "/data";
const LOG: &str = "/data/log";

fn store() -> &'static Path {
    Path::new(STORE)
}

fn fresh() -> SimDisk {
    SimDisk::new(1, store(), SimFaults::default())
}

fn options() -> OpenOptions {
    OpenOptions {
        gather: Duration::ZERO,
        ..OpenOptions::default()
    }
}

fn open(disk: &SimDisk, first: u64) -> Result<(FileLog, Recovery), LogError> {
    FileLog::open_with(Arc::new(disk.clone()), store(), first, options())
}

fn open_whatever(disk: &SimDisk, first: u64) -> (FileLog, Recovery) {
    let options = OpenOptions {
        accept_damage: true,
        ..options()
    };
    FileLog::open_with(Arc::new(disk.clone()), store(), first, options).unwrap()
}

fn refused(disk: &SimDisk, first: u64) -> LogError {
    let before = contents(disk);
    let error = open(disk, first).map(|_| ()).unwrap_err();
    assert_eq!(contents(disk), before, "refusing changes nothing");
    error
}

fn contents(disk: &SimDisk) -> Vec<(String, Vec<u8>)> {
    let bytes = |name: &String| {
        let region = disk.map(&Path::new(LOG).join(name)).unwrap();
        region.bytes().to_vec()
    };
    let names = disk.list(Path::new(LOG)).unwrap();
    names
        .iter()
        .map(|name| (name.clone(), bytes(name)))
        .collect()
}

fn path(first: u64) -> PathBuf {
    Path::new(LOG).join(format!("{first:020}.log"))
}

/// Appends records of which each says its position, and syncs.
fn fill(log: &FileLog, records: u64) {
    for _ in 0..records {
        let text = format!("record {}", log.next());
        log.append(&[text.as_bytes()]).unwrap();
    }
    log.sync(log.next() - 1).unwrap();
}

/// Positions from `from` on; each record must say its own.
fn positions(log: &FileLog, from: u64) -> Vec<u64> {
    let mut found = Vec::new();
    log.read(from, &mut |position, payload| {
        assert_eq!(payload, format!("record {position}").as_bytes());
        found.push(position);
        ControlFlow::Continue(())
    })
    .unwrap();
    found
}

/// Files that begin with records 1, 4 and 7; the last one has three records too.
fn three_files() -> SimDisk {
    let disk = fresh();
    let (log, _) = open(&disk, 1).unwrap();
    for _ in 0..3 {
        fill(&log, 3);
        log.rotate().unwrap();
    }
    assert_eq!(disk.list(Path::new(LOG)).unwrap().len(), 3);
    disk
}

#[test]
fn records_come_back_in_order_until_told_to_stop() {
    let disk = three_files();
    let (log, recovery) = open(&disk, 1).unwrap();
    assert_eq!((recovery.records, recovery.torn), (9, None));
    assert_eq!(positions(&log, 1), (1..=9).collect::<Vec<_>>());
    assert_eq!(positions(&log, 5), [5, 6, 7, 8, 9]);
    assert!(positions(&log, 10).is_empty());
    let mut seen = 0;
    log.read(2, &mut |_, _| {
        seen += 1;
        if seen == 2 {
            return ControlFlow::Break(());
        }
        ControlFlow::Continue(())
    })
    .unwrap();
    assert_eq!(seen, 2);
    // What is appended and not synced is read too, and what is read is durable.
    log.append(&[b"record", b" 1", b"0"]).unwrap();
    assert_eq!((log.next(), log.durable()), (11, 9));
    assert_eq!(positions(&log, 9), [9, 10]);
    assert_eq!(log.durable(), 10);
    let error = log.sync(11).unwrap_err();
    assert!(matches!(
        error,
        LogError::Ahead {
            position: 11,
            next: 11
        }
    ));
}

#[test]
fn opening_and_asking_begin_no_files() {
    let disk = fresh();
    assert!(!pending(&disk, store(), 1).unwrap());
    let (log, recovery) = open(&disk, 5).unwrap();
    assert_eq!(recovery, Recovery::default());
    assert_eq!((log.next(), log.durable()), (5, 4));
    assert!(positions(&log, 5).is_empty());
    log.rotate().unwrap();
    assert!(disk.list(store()).unwrap().is_empty());
}

#[test]
fn a_trim_keeps_what_no_checkpoint_holds() {
    let disk = three_files();
    let (log, _) = open(&disk, 1).unwrap();
    log.trim(6).unwrap();
    assert_eq!(disk.list(Path::new(LOG)).unwrap().len(), 2);
    assert_eq!(positions(&log, 6), [6, 7, 8, 9]);
    let error = log
        .read(5, &mut |_, _| ControlFlow::Continue(()))
        .unwrap_err();
    assert!(matches!(error, LogError::Trimmed { from: 5, oldest: 6 }));
    assert!(pending(&disk, store(), 9).unwrap() && !pending(&disk, store(), 10).unwrap());
    log.trim(10).unwrap();
    let figures = log.figures();
    assert_eq!((figures.files, figures.kept_bytes), (1, 64));
    assert!(matches!(log.trim(11), Err(LogError::Ahead { .. })));
    fill(&log, 2);
    assert_eq!(positions(&log, 10), [10, 11]);
    let (log, recovery) = open(&disk.restart(SimFaults::default()), 10).unwrap();
    assert_eq!((recovery.records, log.next()), (2, 12));
}

#[test]
fn a_checkpoint_whose_trim_was_cut_short_is_nothing_special() {
    for kept in [&[1][..], &[1, 4], &[4], &[]] {
        let disk = three_files();
        for gone in [1, 4] {
            if !kept.contains(&gone) {
                disk.remove_file(&path(gone)).unwrap();
            }
        }
        let (log, recovery) = open(&disk, 8).unwrap();
        assert_eq!((recovery.records, log.next()), (2, 10), "kept {kept:?}");
        assert_eq!(positions(&log, 8), [8, 9]);
        log.trim(8).unwrap();
        assert_eq!(disk.list(Path::new(LOG)).unwrap().len(), 1);
    }
    // A checkpoint of more than the log has: the log goes on behind it.
    let disk = three_files();
    let (log, recovery) = open(&disk, 20).unwrap();
    assert_eq!((recovery.records, log.next()), (0, 20));
    fill(&log, 1);
    let (log, recovery) = open(&disk, 20).unwrap();
    assert_eq!((recovery.records, log.next()), (1, 21));
    assert_eq!(positions(&log, 20), [20]);
}

#[test]
fn missing_records_are_named() {
    let disk = three_files();
    disk.remove_file(&path(4)).unwrap();
    let error = refused(&disk, 1);
    let LogError::Damaged {
        file,
        offset: 0,
        what,
    } = &error
    else {
        panic!("{error}")
    };
    assert_eq!(
        (file, &**what),
        (&path(7), "it begins with record 7, and record 4 is missing")
    );
    disk.remove_file(&path(1)).unwrap();
    let error = refused(&disk, 5).to_string();
    assert!(error.contains("record 5 is needed"), "{error}");
    let (log, recovery) = open_whatever(&disk, 5);
    assert_eq!((recovery.records, log.next()), (0, 5));
    let names = disk.list(Path::new(LOG)).unwrap();
    let expected = ["00000000000000000005.log", "00000000000000000007.log.cut"];
    assert_eq!(names, expected);
}

#[test]
fn damage_before_the_end_is_refused_and_can_be_cut_away() {
    for (file, place, records) in [(1, 64, 0), (1, 130, 1), (4, 70, 3), (4, 20, 3), (7, 140, 7)] {
        let disk = three_files();
        assert!(disk.damage(&path(file), place, 4));
        let LogError::Damaged { file: named, .. } = refused(&disk, 1) else {
            panic!("byte {place} of {file}")
        };
        assert_eq!(named, path(file));
        assert!(pending(&disk, store(), 1).is_err());
        let (log, recovery) = open_whatever(&disk, 1);
        let torn = recovery.torn.unwrap();
        assert!(torn.file == path(file) && torn.damage.is_some(), "{torn:?}");
        assert_eq!((recovery.records, log.next()), (records, records + 1));
        drop(log);
        let disk = disk.restart(SimFaults::default());
        let (log, _) = open(&disk, 1).unwrap();
        fill(&log, 2);
        assert_eq!(positions(&log, 1), (1..=records + 2).collect::<Vec<_>>());
        // Nothing that could help somebody to mend more is gone.
        let files = disk.list(Path::new(LOG)).unwrap();
        assert!(files.len() >= 3, "{files:?}");
    }
}

#[test]
fn a_cut_file_in_the_middle_is_damage() {
    let disk = three_files();
    let length = disk.map(&path(4)).unwrap().len();
    assert!(disk.truncate(&path(4), length - 1));
    let error = refused(&disk, 1).to_string();
    assert!(error.contains("0004.log: damaged at byte"), "{error}");
    let (log, recovery) = open_whatever(&disk, 1);
    assert_eq!((recovery.records, log.next()), (3, 4));
}

#[test]
fn zeros_are_torn_unless_a_later_record_knows_better() {
    let zero = |disk: &SimDisk, sector: usize| {
        let region = disk.map(&path(1)).unwrap();
        for place in sector * 512..(sector + 1) * 512 {
            let byte = region.bytes()[place];
            assert!(disk.damage(&path(1), place, byte));
        }
    };
    for each_synced in [false, true] {
        let disk = fresh();
        let (log, _) = open(&disk, 1).unwrap();
        for number in 1..=6 {
            log.append(&[&[number; 700]]).unwrap();
            if each_synced {
                log.sync(u64::from(number)).unwrap();
            }
        }
        log.sync(6).unwrap();
        drop(log);
        // With the count beside it both are found.
        disk.remove_file(&store().join("DURABLE")).unwrap();
        zero(&disk, 4);
        if each_synced {
            let LogError::Damaged { offset, what, .. } = refused(&disk, 1) else {
                panic!("a hole that a later record knows of")
            };
            // In record 3, which begins behind two of 752 bytes; the head of record 4 is gone too.
            assert_eq!(offset, 64 + 2 * 752);
            assert!(what.contains("record 5 behind it"), "{what}");
        } else {
            let (log, recovery) = open(&disk, 1).unwrap();
            assert_eq!((recovery.records, log.next()), (2, 3));
            assert_eq!(recovery.torn.unwrap().offset, 64 + 2 * 752);
        }
    }
}

#[test]
fn other_files_are_told_or_left_alone() {
    let disk = three_files();
    for name in ["notes.txt", "00000000000000000007.log.next", ".nfs01"] {
        disk.create(&Path::new(LOG).join(name)).unwrap();
    }
    let (log, recovery) = open(&disk, 1).unwrap();
    assert_eq!(recovery.records, 9);
    fill(&log, 1);
    for name in [
        "copy.log",
        "1.log",
        "00000000000000000000.log",
        "+0000000000000000012.log",
    ] {
        let stray = Path::new(LOG).join(name);
        disk.create(&stray).unwrap();
        let LogError::Stray { file } = refused(&disk, 1) else {
            panic!("{name}")
        };
        assert_eq!(file, stray);
        disk.remove_file(&stray).unwrap();
    }
    let mut file = disk.create(&path(11)).unwrap();
    let whole = disk.map(&path(1)).unwrap();
    file.append(whole.bytes()).unwrap();
    let error = refused(&disk, 1).to_string();
    assert!(
        error.contains("begins with record 1, its name says 11"),
        "{error}"
    );
}

#[test]
fn another_version_is_named() {
    let disk = three_files();
    let mut head = disk.map(&path(7)).unwrap().bytes()[..64].to_vec();
    head[8] = 2;
    let sum = xxh3(&head[..56]);
    head[56..].copy_from_slice(&sum.to_le_bytes());
    disk.remove_file(&path(7)).unwrap();
    disk.create(&path(7)).unwrap().append(&head).unwrap();
    let error = refused(&disk, 1);
    assert!(
        matches!(
            error,
            LogError::Version {
                found: 2,
                known: 1,
                ..
            }
        ),
        "{error}"
    );
}

/// The checksum of blocks and of the log are the same function.
fn xxh3(bytes: &[u8]) -> u64 {
    memory::block_sum(bytes)
}

#[test]
fn a_large_record_comes_back_whole_from_many_pieces() {
    let directory = tempfile::tempdir().unwrap();
    let pieces: Vec<Vec<u8>> = (0..40u32)
        .map(|piece| match piece % 3 {
            0 => vec![0; 300_000],
            1 => (0..250_000u32).map(|at| (at * 7 + piece) as u8).collect(),
            _ => vec![0xa5; 3],
        })
        .collect();
    let pieces: Vec<&[u8]> = pieces.iter().map(Vec::as_slice).collect();
    let whole = pieces.concat();
    let path = directory.path();
    let options = OpenOptions {
        file_bytes: 5_000_000,
        ..OpenOptions::default()
    };
    let open = || FileLog::open_with(Arc::new(RealDisk), path, 1, options.clone()).unwrap();
    let (log, _) = open();
    for _ in 0..3 {
        log.append(&[b"small"]).unwrap();
        log.append(&pieces).unwrap();
    }
    log.sync(6).unwrap();
    drop(log);
    let (log, recovery) = open();
    assert_eq!(recovery.records, 6);
    assert_eq!(log.figures().files, 3);
    log.read(1, &mut |position, payload| {
        let expected = if position % 2 == 1 {
            b"small"
        } else {
            &whole[..]
        };
        assert!(payload == expected, "record {position}");
        ControlFlow::Continue(())
    })
    .unwrap();
}

#[test]
fn a_failed_sync_is_told_to_everybody_who_waits() {
    let disk = fresh();
    let (log, _) = open(&disk, 1).unwrap();
    fill(&log, 1);
    disk.set_faults(SimFaults {
        // Behind a write.
        error_at_call: Some((disk.calls() + 2, io::ErrorKind::QuotaExceeded)),
        ..SimFaults::default()
    });
    let barrier = Barrier::new(8);
    let failed: Vec<LogError> = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..8)
            .map(|_| {
                scope.spawn(|| {
                    barrier.wait();
                    loop {
                        let appended = log.append(&[b"text"]);
                        if let Err(error) = appended.and_then(|position| log.sync(position)) {
                            break error;
                        }
                    }
                })
            })
            .collect();
        threads
            .into_iter()
            .map(|thread| thread.join().unwrap())
            .collect()
    });
    let causes = failed
        .iter()
        .filter(|error| matches!(error, LogError::Io { .. }));
    assert_eq!(causes.count(), 1);
    for error in &failed {
        assert!(error.to_string().contains("quota exceeded"), "{error}");
    }
}

/// How many of them share a sync is shown where the file can be held (`log/file/tests.rs`).
#[test]
fn sixteen_writers_append_to_a_real_disk() {
    let directory = tempfile::tempdir().unwrap();
    let (log, _) = FileLog::open(Arc::new(RealDisk), directory.path(), 1).unwrap();
    std::thread::scope(|scope| {
        for _ in 0..16 {
            scope.spawn(|| {
                for _ in 0..25 {
                    let position = log.append(&[b"text"]).unwrap();
                    log.sync(position).unwrap();
                    assert!(log.durable() >= position);
                }
            });
        }
    });
    let figures = log.figures();
    assert_eq!((figures.records, figures.payload_bytes), (400, 1600));
    assert!(figures.syncs <= 401, "{figures:?}");
    let found = examine(&RealDisk, directory.path(), 1).unwrap();
    assert_eq!(found.records, 400);
}

#[test]
fn the_writers_lock_outlives_the_generations_begun_under_it() {
    let disk = fresh();
    let path = Path::new("/data/store");
    let missing = lock_writer(&disk, path).err().unwrap();
    assert!(matches!(
        missing,
        BeginError::Store(OpenError::Missing { .. })
    ));
    disk.create_dir(path).unwrap();
    // A store of which there is only a log is one of ours.
    disk.create_dir(&path.join("log")).unwrap();
    let lock = lock_writer(&disk, path).unwrap();
    for _ in 0..2 {
        let begun = begin_locked(&disk, &lock).unwrap();
        assert!(matches!(begin(&disk, path), Err(BeginError::Locked { .. })));
        let counts = [(store::directory::SNAPSHOT_COUNT.to_owned(), 7)];
        assert_eq!(begun.commit(counts.into()).unwrap().snapshot(), 7);
        assert!(matches!(
            lock_writer(&disk, path),
            Err(BeginError::Locked { .. })
        ));
    }
    drop(begin_locked(&disk, &lock).unwrap());
    drop(lock);
    let opened = store::directory::open(&disk, path).unwrap();
    assert_eq!(opened.manifest().snapshot(), 7);
    assert_eq!(begin(&disk, path).unwrap().previous(), Some(2));
    assert_eq!(
        disk.list(path).unwrap(),
        ["CURRENT", "LOCK", "g-0000000000000002", "log"]
    );
}
