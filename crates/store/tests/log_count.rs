//! A log that ends too early is told from a short one, and no power cut makes one look like it.

#![allow(clippy::unwrap_used)]

use crate::common;

use common::Numbers;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;
use store::disk::{Disk, SimDisk, SimFaults};
use store::log::{FileLog, Log, LogError, OpenOptions, Recovery, examine, read_tail};
use testkit::seeds;

const STORE: &str = "/data";

fn store() -> &'static Path {
    Path::new(STORE)
}

fn fresh(seed: u64) -> SimDisk {
    SimDisk::new(seed, store(), SimFaults::default())
}

fn opened(disk: &SimDisk, accept_damage: bool) -> Result<(FileLog, Recovery), LogError> {
    let options = OpenOptions {
        file_bytes: 3000,
        gather: Duration::ZERO,
        accept_damage,
    };
    FileLog::open_with(Arc::new(disk.clone()), store(), 1, options)
}

fn open(disk: &SimDisk) -> Result<(FileLog, Recovery), LogError> {
    opened(disk, false)
}

/// Appends records and syncs each; several files.
fn write(log: &FileLog, records: u64) {
    for _ in 0..records {
        let position = log.append(&[&[b'x'; 700]]).unwrap();
        log.sync(position).unwrap();
    }
}

fn files(disk: &SimDisk) -> Vec<PathBuf> {
    let folder = store().join("log");
    let names = disk.list(&folder).unwrap();
    names.iter().map(|name| folder.join(name)).collect()
}

fn length(disk: &SimDisk, file: &Path) -> usize {
    disk.map(file).unwrap().len()
}

/// What is said of a log that has lost something, by whoever opens it, and that nothing was changed.
fn refusal(disk: &SimDisk) -> LogError {
    let error = open(disk).map(|_| ()).unwrap_err();
    assert!(error.is_damage(), "{error}");
    let text = error.to_string();
    assert!(text.contains("restore a backup") && text.contains("--accept-log-damage"));
    assert_eq!(examine(disk, store(), 1).unwrap_err().to_string(), text);
    let read = read_tail(disk, store(), 1, &mut |_, _| ControlFlow::Continue(()));
    assert_eq!(read.unwrap_err().to_string(), text);
    error
}

#[test]
fn records_that_vanish_from_the_end_are_missed() {
    // After a kill, after a clean close, and after a clean close and a power cut.
    for end in 0..3 {
        let disk = fresh(1);
        let (log, _) = open(&disk).unwrap();
        write(&log, 10);
        if end > 0 {
            log.close().unwrap();
        }
        drop(log);
        let disk = if end == 2 {
            disk.restart(SimFaults::default())
        } else {
            disk
        };
        let last = files(&disk).pop().unwrap();
        let whole = length(&disk, &last);
        // A record of 700 bytes, its head and padding.
        for cut in [1, 752, 753] {
            assert!(disk.truncate(&last, whole - cut));
            let LogError::Missing { durable, found, .. } = refusal(&disk) else {
                panic!("another error")
            };
            assert_eq!((durable, found), (10, if cut > 752 { 8 } else { 9 }));
        }
        disk.remove_file(&last).unwrap();
        let text = refusal(&disk).to_string();
        assert!(text.contains("2 changes are missing"), "{text}");
        for file in files(&disk) {
            disk.remove_file(&file).unwrap();
        }
        assert!(
            refusal(&disk)
                .to_string()
                .contains("10 changes are missing")
        );
        disk.remove_dir(&store().join("log")).unwrap();
        assert!(
            refusal(&disk)
                .to_string()
                .contains("10 changes are missing")
        );
    }
}

#[test]
fn a_file_that_was_begun_is_missed_although_its_records_were_not_counted() {
    let mut unknown = 0;
    for seed in 0..20 {
        let disk = fresh(seed);
        let (log, _) = open(&disk).unwrap();
        write(&log, 5);
        let last = files(&disk).pop().unwrap();
        let disk = disk.restart(SimFaults::default());
        // Who opens it for writing counts what there is, so it is only looked at.
        let found = examine(&disk, store(), 1).unwrap().records;
        assert_eq!(found, 5, "a power cut takes nothing");
        disk.remove_file(&last).unwrap();
        match refusal(&disk) {
            LogError::MissingFile { file, found } => {
                assert_eq!((file, found), (last, 4));
                unknown += 1;
            }
            LogError::Missing { durable, found, .. } => assert_eq!((durable, found), (5, 4)),
            error => panic!("{error}"),
        }
    }
    assert!(unknown > 0);
}

#[test]
fn a_loss_that_is_accepted_is_not_told_again() {
    let disk = fresh(1);
    let (log, _) = open(&disk).unwrap();
    write(&log, 10);
    drop(log);
    disk.remove_file(&files(&disk).pop().unwrap()).unwrap();
    let text = refusal(&disk).to_string();
    let (log, recovery) = opened(&disk, true).unwrap();
    assert_eq!((recovery.records, log.next()), (8, 9));
    assert_eq!(recovery.torn.unwrap().damage, Some(text));
    drop(log);
    let disk = disk.restart(SimFaults::default());
    let (log, recovery) = open(&disk).unwrap();
    assert_eq!((recovery.records, recovery.torn), (8, None));
    write(&log, 1);
    log.close().unwrap();
    assert_eq!(open(&disk).unwrap().1.records, 9);
    disk.remove_file(&files(&disk).pop().unwrap()).unwrap();
    let text = refusal(&disk).to_string();
    assert!(text.contains("1 change is missing"), "{text}");
}

#[test]
fn a_count_that_is_damaged_or_of_another_version_is_refused_and_one_entry_is_enough() {
    let disk = fresh(1);
    let file = store().join("DURABLE");
    let (log, _) = open(&disk).unwrap();
    assert!(!disk.exists(&file), "opening changes nothing");
    write(&log, 4);
    log.close().unwrap();
    drop(log);
    let bytes = disk.read(&file).unwrap();
    let newer = usize::from(bytes[32] < bytes[512 + 32]);
    assert!(disk.damage(&file, newer * 512 + 20, 1));
    assert_eq!(open(&disk).unwrap().1.records, 4);
    assert!(disk.damage(&file, (1 - newer) * 512 + 63, 1));
    let error = refusal(&disk);
    assert!(matches!(&error, LogError::Damaged { file: found, .. } if *found == file));
    let (log, _) = opened(&disk, true).unwrap();
    assert_eq!(log.next(), 5);
    drop(log);
    assert_eq!(open(&disk).unwrap().1.records, 4);
    // Without it nothing is known, and nothing refused.
    disk.remove_file(&file).unwrap();
    let (log, _) = open(&disk).unwrap();
    write(&log, 1);
    assert!(disk.exists(&file));
}

/// Syncs and calls of the disk by groups of commits: the count costs a write, and no sync.
#[test]
fn a_group_of_commits_is_one_sync() {
    let disk = fresh(1);
    let (log, _) = open(&disk).unwrap();
    write(&log, 1);
    let (calls, syncs) = (disk.calls(), disk.syncs());
    for _ in 0..20 {
        let position = log.append(&[b"x"]).unwrap();
        log.sync(position).unwrap();
    }
    assert_eq!(disk.syncs() - syncs, 20);
    // Append, sync, the look at the name, the count.
    assert_eq!(disk.calls() - calls, 80);
    let syncs = disk.syncs();
    log.rest().unwrap();
    log.rest().unwrap();
    assert_eq!(
        disk.syncs() - syncs,
        1,
        "where nothing was appended since, nothing is synced"
    );
}

/// Sessions of a writer that rests, rotates, closes and trims, with the power cut at every call: whatever
/// of the count reached the medium, it never says more than the log holds.
#[test]
fn no_power_cut_makes_records_look_missed() {
    let mut opens = 0;
    for seed in seeds::chosen(60, 5_000) {
        let mut call = 0;
        loop {
            call += 1;
            let faults = SimFaults {
                power_cut_at_call: Some(call),
                ..SimFaults::default()
            };
            let mut disk = SimDisk::new(seed ^ (call << 32), store(), faults);
            let mut numbers = Numbers::new(seed);
            let (mut acknowledged, mut checkpoint) = (0, 0);
            let mut is_cut = false;
            for _ in 0..4 {
                let session = session(&disk, &mut numbers, &mut acknowledged, &mut checkpoint);
                is_cut |= session.is_err();
                disk = disk.restart(SimFaults::default());
                let found = examine(&disk, store(), checkpoint + 1);
                let found = found.unwrap_or_else(|error| {
                    panic!("SOMERSAULT_SEED={seed}, cut at call {call}: {error}")
                });
                assert!(checkpoint + found.records >= acknowledged);
                acknowledged = checkpoint + found.records;
                opens += 1;
            }
            if !is_cut {
                break;
            }
        }
    }
    assert!(opens > 1000, "{opens}");
}

fn session(
    disk: &SimDisk,
    numbers: &mut Numbers,
    acknowledged: &mut u64,
    checkpoint: &mut u64,
) -> Result<(), LogError> {
    let options = OpenOptions {
        file_bytes: 3000,
        gather: Duration::ZERO,
        ..OpenOptions::default()
    };
    let disk: Arc<dyn Disk> = Arc::new(disk.clone());
    let (log, _) = FileLog::open_with(disk, store(), *checkpoint + 1, options)?;
    for _ in 0..2 + numbers.below(8) {
        match numbers.below(10) {
            0..=5 => {
                for _ in 0..=numbers.below(2) {
                    log.append(&[&vec![b'x'; numbers.below(1500) as usize]])?;
                }
                let last = log.next() - 1;
                log.sync(last)?;
                *acknowledged = last;
            }
            6 => log.rest()?,
            7 => log.rotate()?,
            8 => log.close()?,
            _ => {
                *checkpoint = log.durable();
                log.trim(*checkpoint + 1)?;
            }
        }
    }
    Ok(())
}
