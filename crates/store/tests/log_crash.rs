//! What the log keeps, wherever the power is cut, a call fails or the disk is full: every record
//! that was synced, whole and in order, and of the others a prefix.

#![allow(clippy::unwrap_used)]

use crate::common;

use common::Numbers;
use std::io;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use store::disk::{Disk, SimDisk, SimFaults};
use store::log::{FileLog, Log, LogError, OpenOptions, Recovery, examine};
use testkit::seeds;

const STORE: &str = "/data";

fn options() -> OpenOptions {
    OpenOptions {
        file_bytes: 3000,
        gather: Duration::ZERO,
        ..OpenOptions::default()
    }
}

fn open(disk: &SimDisk, first: u64) -> Result<(FileLog, Recovery), LogError> {
    FileLog::open_with(Arc::new(disk.clone()), Path::new(STORE), first, options())
}

fn fresh(seed: u64, faults: SimFaults) -> SimDisk {
    SimDisk::new(seed, Path::new(STORE), faults)
}

fn cut_at(call: u64) -> SimFaults {
    SimFaults {
        power_cut_at_call: Some(call),
        ..SimFaults::default()
    }
}

/// What a store would know beside its log.
#[derive(Clone, Default)]
struct Model {
    /// Payloads by position, from position 1 on, as appended last.
    written: Vec<Vec<u8>>,
    /// The last position that a caller was told to be durable.
    acknowledged: u64,
    /// The first record that no checkpoint holds, less one.
    checkpoint: u64,
}

/// Text, zeros, the padding's byte, in sizes around those of sectors, files and heads.
fn payload(numbers: &mut Numbers) -> Vec<u8> {
    let length = match numbers.below(12) {
        0 => 0,
        1..=6 => numbers.below(200),
        7 | 8 => 380 + numbers.below(200),
        9 | 10 => numbers.below(1800),
        _ => 2500 + numbers.below(4000),
    };
    let kind = numbers.below(4);
    (0..length)
        .map(|_| match kind {
            0 => 0,
            1 => 0xa5,
            2 => numbers.below(2) as u8,
            _ => numbers.below(256) as u8,
        })
        .collect()
}

fn append(log: &FileLog, numbers: &mut Numbers, model: &mut Model) -> Result<(), LogError> {
    let bytes = payload(numbers);
    let cut = numbers.below(bytes.len() as u64 + 1) as usize;
    // Known before the call: an append that fails may have reached the medium.
    model.written.push(bytes.clone());
    let position = log.append(&[&bytes[..cut], &bytes[cut..]])?;
    assert_eq!(position, model.written.len() as u64);
    Ok(())
}

/// Appends, syncs, rotates, reads and trims at random until it is done or a call fails.
fn session(log: &FileLog, numbers: &mut Numbers, model: &mut Model) -> Result<(), LogError> {
    for _ in 0..3 + numbers.below(14) {
        match numbers.below(12) {
            0..=6 => append(log, numbers, model)?,
            7..=9 => {
                let last = model.written.len() as u64;
                let position =
                    model.acknowledged + numbers.below(last.saturating_sub(model.acknowledged) + 1);
                log.sync(position)?;
                model.acknowledged = model.acknowledged.max(position);
                assert!(log.durable() >= position);
            }
            10 => {
                log.rotate()?;
                model.acknowledged = model.written.len() as u64;
            }
            _ => {
                let from = model.checkpoint + 1;
                let read = read(log, from)?;
                assert_eq!(read, model.written[model.checkpoint as usize..]);
                let checkpoint = model.checkpoint + numbers.below(read.len() as u64 + 1);
                log.sync(checkpoint)?;
                model.acknowledged = model.acknowledged.max(checkpoint);
                model.checkpoint = checkpoint;
                log.trim(checkpoint + 1)?;
            }
        }
    }
    Ok(())
}

fn read(log: &FileLog, from: u64) -> Result<Vec<Vec<u8>>, LogError> {
    let mut found = Vec::new();
    log.read(from, &mut |position, payload| {
        assert_eq!(position, from + found.len() as u64);
        found.push(payload.to_vec());
        ControlFlow::Continue(())
    })?;
    Ok(found)
}

/// Opens the log and compares it with the model, which then knows what was lost.
fn check(disk: &SimDisk, model: &mut Model, case: &dyn Fn() -> String) -> FileLog {
    let from = model.checkpoint + 1;
    let (log, recovery) = open(disk, from).unwrap_or_else(|error| panic!("{}: {error}", case()));
    let found = read(&log, from).unwrap_or_else(|error| panic!("{}: {error}", case()));
    let durable = model.checkpoint + found.len() as u64;
    assert!(
        durable >= model.acknowledged,
        "{}: {durable} of {} acknowledged records are there",
        case(),
        model.acknowledged
    );
    assert!(durable <= model.written.len() as u64, "{}", case());
    model.written.truncate(durable as usize);
    assert!(
        found == model.written[model.checkpoint as usize..],
        "{}: other records than were written",
        case()
    );
    assert_eq!(recovery.records, found.len() as u64, "{}", case());
    let bytes: usize = found.iter().map(Vec::len).sum();
    assert_eq!(recovery.bytes, bytes as u64, "{}", case());
    assert_eq!((log.next(), log.durable()), (durable + 1, durable));
    let again = examine(disk, Path::new(STORE), from).unwrap();
    assert_eq!(
        again,
        recovery,
        "{}: another answer when asked twice",
        case()
    );
    model.acknowledged = durable;
    log
}

/// One session without faults, to count its calls.
fn calls(seed: u64) -> u64 {
    let disk = fresh(seed, SimFaults::default());
    let (log, _) = open(&disk, 1).unwrap();
    session(&log, &mut Numbers::new(seed), &mut Model::default()).unwrap();
    disk.calls()
}

#[test]
fn a_power_cut_anywhere_loses_nothing_that_was_synced() {
    let mut torn = 0;
    let seeds = seeds::chosen(150, 10_000);
    for seed in seeds.clone() {
        for call in 1..=calls(seed) {
            let case = || format!("SOMERSAULT_SEED={seed}, cut at call {call}");
            let mut model = Model::default();
            let mut numbers = Numbers::new(seed);
            let mut disk = fresh(seed ^ (call << 32), cut_at(call));
            if let Ok((log, _)) = open(&disk, 1) {
                let _ = session(&log, &mut numbers, &mut model);
            }
            // Twice more, so that what a cut left is behind another one.
            for _ in 0..2 {
                disk = disk.restart(SimFaults::default());
                let from = model.checkpoint + 1;
                let found = examine(&disk, Path::new(STORE), from);
                torn += usize::from(found.is_ok_and(|found| found.torn.is_some()));
                check(&disk, &mut model, &case);
                disk = disk.restart(cut_at(1 + numbers.below(60)));
                if let Ok((log, _)) = open(&disk, from) {
                    let _ = session(&log, &mut numbers, &mut model);
                }
            }
            disk = disk.restart(SimFaults::default());
            let log = check(&disk, &mut model, &case);
            session(&log, &mut numbers, &mut model)
                .unwrap_or_else(|error| panic!("{}: {error}", case()));
            drop(log);
            // A process that was killed: nothing is lost but what was never written.
            check(&disk, &mut model, &case);
        }
    }
    assert!(torn >= seeds.count(), "only {torn} torn tails were seen");
}

/// What a caller does about a call that failed: gives up what is not durable and goes on, or finds that
/// the log takes no more.
fn go_on(log: &FileLog, model: &mut Model, error: &LogError) -> bool {
    if let Some(cause) = log.refusal() {
        let again = log.append(&[b"more"]).unwrap_err();
        assert!(matches!(again, LogError::ReadOnly { .. }), "{again}");
        assert!(again.to_string().contains(&*cause), "{again}");
        assert!(log.rotate().is_err() && log.resume().is_err());
        return false;
    }
    if log.given_up().is_some() {
        // Nothing is taken before whoever appended knows what was given up.
        let again = log.append(&[b"more"]).unwrap_err();
        assert_eq!(again.to_string(), error.to_string());
    }
    assert_eq!(log.resume().unwrap(), log.next());
    assert!(log.given_up().is_none());
    assert!(log.durable() >= model.acknowledged);
    model.written.truncate(log.next() as usize - 1);
    true
}

/// Every call of a session fails once. Only of a sync nobody knows what it has lost; everything else is
/// tried again by the next record.
#[test]
fn a_call_that_fails_once_loses_nothing_and_only_a_sync_is_final() {
    let (mut refused, mut went_on) = (0, 0);
    let seeds = seeds::chosen(100, 10_000);
    for seed in seeds.clone() {
        for call in 1..=calls(seed) {
            let case = || format!("SOMERSAULT_SEED={seed}, call {call} fails");
            let faults = SimFaults {
                error_at_call: Some((call, io::ErrorKind::PermissionDenied)),
                ..SimFaults::default()
            };
            let disk = fresh(seed ^ (call << 32), faults);
            let mut model = Model::default();
            let mut numbers = Numbers::new(seed);
            if let Ok((log, _)) = open(&disk, 1) {
                // A cut that fails, or the syncs of a look, do no harm.
                if let Err(error) = session(&log, &mut numbers, &mut model) {
                    assert!(matches!(error, LogError::Io { .. }), "{}: {error}", case());
                    if go_on(&log, &mut model, &error) {
                        session(&log, &mut numbers, &mut model)
                            .unwrap_or_else(|error| panic!("{}: afterwards: {error}", case()));
                        went_on += 1;
                    } else {
                        refused += 1;
                    }
                    // What is known to be durable can still be read.
                    let from = model.checkpoint + 1;
                    let found = read(&log, from).unwrap();
                    assert_eq!(model.checkpoint + found.len() as u64, log.durable());
                    assert!(log.durable() >= model.acknowledged);
                }
            }
            // Opened again by another process: what that one replays must not vanish later.
            check(&disk, &mut model, &case);
            let disk = disk.restart(SimFaults::default());
            let log = check(&disk, &mut model, &case);
            session(&log, &mut numbers, &mut model).unwrap();
        }
    }
    assert!(refused >= seeds.clone().count(), "{refused}");
    assert!(went_on >= seeds.count() * 2, "{went_on}");
}

/// Records that do not fit are given up, and smaller ones taken as soon as there is room for them.
#[test]
fn a_full_disk_is_told_and_smaller_records_fit() {
    let mut fitted = 0;
    for seed in seeds::chosen(300, 10_000) {
        let case = || format!("SOMERSAULT_SEED={seed}");
        let mut numbers = Numbers::new(seed);
        let faults = SimFaults {
            capacity_bytes: Some(numbers.below(12_000)),
            ..SimFaults::default()
        };
        let disk = fresh(seed, faults);
        let mut model = Model::default();
        let (log, _) = open(&disk, 1).unwrap();
        let mut failures = 0;
        while failures < 4 {
            let tried = append(&log, &mut numbers, &mut model).and_then(|()| {
                let last = model.written.len() as u64;
                log.sync(last)?;
                model.acknowledged = last;
                Ok(())
            });
            let Err(error) = tried else {
                fitted += usize::from(failures > 0);
                continue;
            };
            let LogError::Io { source, .. } = &error else {
                panic!("{}: {error}", case())
            };
            assert_eq!(source.kind(), io::ErrorKind::StorageFull, "{}", case());
            assert!(go_on(&log, &mut model, &error), "{}", case());
            failures += 1;
        }
        // Somebody makes room.
        disk.set_faults(SimFaults::default());
        session(&log, &mut numbers, &mut model)
            .unwrap_or_else(|error| panic!("{}: {error}", case()));
        drop(log);
        check(&disk, &mut model, &case);
        let disk = disk.restart(SimFaults::default());
        let log = check(&disk, &mut model, &case);
        session(&log, &mut numbers, &mut model).unwrap();
    }
    assert!(fitted > 100, "{fitted}");
}

/// Whoever waits for a record that is given up is told so, although its position is given again.
#[test]
fn a_record_that_was_given_up_is_not_taken_for_its_successor() {
    let disk = fresh(1, SimFaults::default());
    let (log, _) = open(&disk, 1).unwrap();
    log.append(&[b"one"]).unwrap();
    log.sync(1).unwrap();
    let used = disk.map(
        Path::new(STORE)
            .join("log/00000000000000000001.log")
            .as_path(),
    );
    let used = used.unwrap().len() as u64;
    disk.set_faults(SimFaults {
        capacity_bytes: Some(used + 10),
        ..SimFaults::default()
    });
    log.append(&[&[b'x'; 300]]).unwrap();
    assert!(matches!(log.sync(2), Err(LogError::Io { .. })));
    // Late, and before anybody has gone on.
    assert!(matches!(log.sync(2), Err(LogError::Io { .. })));
    disk.set_faults(SimFaults::default());
    assert_eq!(log.resume().unwrap(), 2);
    assert_eq!(log.append(&[b"two"]).unwrap(), 2);
    log.sync(2).unwrap();
    assert_eq!(read(&log, 1).unwrap(), [b"one".to_vec(), b"two".to_vec()]);
    let (log, _) = open(&disk.restart(SimFaults::default()), 1).unwrap();
    assert_eq!(read(&log, 1).unwrap(), [b"one".to_vec(), b"two".to_vec()]);
}

/// A process that has run out of descriptors: the reserve begins one file, and when that is used up, too,
/// a record is refused until there are descriptors again.
#[test]
fn a_file_is_begun_from_the_reserve_when_descriptors_run_out() {
    let disk = fresh(1, SimFaults::default());
    let (log, _) = open(&disk, 1).unwrap();
    let mut written = 0;
    let mut write = |log: &FileLog| {
        log.append(&[b"record"])?;
        written += 1;
        log.sync(written)
    };
    write(&log).unwrap();
    let limited = |descriptors| {
        disk.set_faults(SimFaults {
            descriptors: Some(descriptors),
            ..SimFaults::default()
        });
    };
    // The file and the reserve of eight are open, and somebody else has all that is left.
    limited(10);
    log.rotate().unwrap();
    limited(9);
    write(&log).unwrap();
    // Now the reserve is gone, too.
    limited(1);
    log.rotate().unwrap();
    limited(0);
    let error = write(&log).unwrap_err();
    assert!(error.to_string().contains("open files"), "{error}");
    assert!(log.refusal().is_none() && log.given_up().is_none());
    disk.set_faults(SimFaults::default());
    write(&log).unwrap();
    assert_eq!(read(&log, 1).unwrap().len() as u64, written);
}

/// What was synced into a file that nobody will find is not acknowledged.
#[test]
fn a_log_that_was_removed_or_replaced_is_noticed() {
    let first = Path::new(STORE).join("log/00000000000000000001.log");
    for (is_sealed, is_looked_for) in [(false, false), (false, true), (true, true)] {
        let disk = fresh(1, SimFaults::default());
        let (log, _) = open(&disk, 1).unwrap();
        log.look().unwrap();
        log.append(&[b"one"]).unwrap();
        log.sync(1).unwrap();
        if is_sealed {
            log.rotate().unwrap();
            log.append(&[b"two"]).unwrap();
            log.sync(2).unwrap();
        }
        log.look().unwrap();
        disk.remove_file(&first).unwrap();
        // Another file of the same name is another file.
        drop((!is_sealed).then(|| disk.create(&first).unwrap()));
        let error = if is_looked_for {
            log.look().unwrap_err()
        } else {
            log.append(&[b"lost"]).unwrap();
            log.sync(2).unwrap_err()
        };
        assert!(
            matches!(&error, LogError::Gone { file } if *file == first),
            "{error}"
        );
        assert!(error.to_string().contains("removed or replaced"), "{error}");
        let refusal = log.refusal().unwrap();
        assert!(refusal.contains("00000000000000000001.log"), "{refusal}");
        assert!(matches!(
            log.append(&[b"x"]),
            Err(LogError::ReadOnly { .. })
        ));
    }
}

#[test]
fn many_writers_and_a_power_cut() {
    for seed in seeds::chosen(150, 10_000) {
        let mut numbers = Numbers::new(seed);
        let disk = fresh(seed, cut_at(8 + numbers.below(80)));
        let (log, _) = open(&disk, 1).unwrap();
        // Writers order themselves: a payload says which position it wants.
        let order = Mutex::new(());
        let acknowledged = Mutex::new(0);
        std::thread::scope(|scope| {
            for thread in 0..4 {
                let (log, order, acknowledged) = (&log, &order, &acknowledged);
                scope.spawn(move || {
                    let mut numbers = Numbers::new(seed * 4 + thread);
                    loop {
                        let guard = order.lock().unwrap();
                        let next = log.next();
                        let text = vec![b'x'; numbers.below(900) as usize];
                        let appended = log.append(&[&next.to_le_bytes(), &text]);
                        drop(guard);
                        let Ok(position) = appended else { break };
                        assert_eq!(position, next);
                        if log.sync(position).is_err() {
                            break;
                        }
                        let mut last = acknowledged.lock().unwrap();
                        *last = position.max(*last);
                    }
                });
            }
        });
        assert!(disk.is_off());
        let disk = disk.restart(SimFaults::default());
        let (log, _) = open(&disk, 1).unwrap();
        let found = read(&log, 1).unwrap();
        let acknowledged = *acknowledged.lock().unwrap();
        assert!(found.len() as u64 >= acknowledged, "SOMERSAULT_SEED={seed}");
        for (place, bytes) in found.iter().enumerate() {
            assert_eq!(bytes[..8], (place as u64 + 1).to_le_bytes());
            assert!(bytes[8..].iter().all(|&byte| byte == b'x'));
        }
    }
}

/// A log in one file, all synced, with where each record begins and the whole file ends.
struct Written {
    disk: SimDisk,
    file: PathBuf,
    begins: Vec<u64>,
    payloads: Vec<Vec<u8>>,
}

impl Written {
    /// `each_synced`: or all at once.
    fn new(seed: u64, records: u64, each_synced: bool) -> Written {
        let disk = fresh(seed, SimFaults::default());
        let roomy = OpenOptions {
            gather: Duration::ZERO,
            ..OpenOptions::default()
        };
        let opened = FileLog::open_with(Arc::new(disk.clone()), Path::new(STORE), 1, roomy);
        let (log, _) = opened.unwrap();
        let mut numbers = Numbers::new(seed);
        let mut model = Model::default();
        let mut begins = vec![64];
        for record in 1..=records {
            if record + 2 == records {
                // Nothing but zeros, in which a hole must not be mistaken for what was written.
                model.written.push(vec![0; 1500]);
                log.append(&[&[0; 1500]]).unwrap();
            } else {
                append(&log, &mut numbers, &mut model).unwrap();
            }
            begins.push(log.figures().kept_bytes);
            if each_synced {
                log.sync(log.next() - 1).unwrap();
            }
        }
        log.sync(log.next() - 1).unwrap();
        Written {
            disk,
            file: Path::new(STORE).join("log/00000000000000000001.log"),
            begins,
            payloads: model.written,
        }
    }

    fn length(&self) -> usize {
        self.disk.map(&self.file).unwrap().len()
    }
}

#[test]
fn a_log_cut_at_any_byte_opens_with_the_whole_records_before() {
    for seed in seeds::chosen(6, 200) {
        let records = 8;
        let mut written = Written::new(seed, records, seed % 2 == 0);
        // With the count beside it the cut would be found.
        let count = Path::new(STORE).join("DURABLE");
        written.disk.remove_file(&count).unwrap();
        let length = written.length();
        assert_eq!(length as u64, written.begins[records as usize]);
        let from = written.begins[records as usize - 3] as usize;
        for cut in (from..length).rev() {
            assert!(written.disk.truncate(&written.file, cut));
            let kept = written.begins[1..]
                .iter()
                .take_while(|&&end| end <= cut as u64)
                .count();
            let (log, recovery) = open(&written.disk, 1).unwrap();
            assert_eq!(read(&log, 1).unwrap(), written.payloads[..kept]);
            let is_whole = written.begins[kept] == cut as u64;
            assert_eq!(recovery.torn.is_none(), is_whole, "seed {seed}, cut {cut}");
            if let Some(torn) = recovery.torn {
                assert_eq!(torn.offset, written.begins[kept]);
                assert_eq!(torn.offset + torn.bytes, cut as u64);
            }
        }
        // And goes on from there.
        written.payloads.truncate(records as usize - 3);
        let (log, _) = open(&written.disk, 1).unwrap();
        log.append(&[b"after"]).unwrap();
        log.sync(log.next() - 1).unwrap();
        written.payloads.push(b"after".to_vec());
        let (log, _) = open(&written.disk.restart(SimFaults::default()), 1).unwrap();
        assert_eq!(read(&log, 1).unwrap(), written.payloads);
    }
}

#[test]
fn any_flipped_bit_of_the_last_records_is_damage_with_its_place() {
    for seed in seeds::chosen(6, 200) {
        let records = 8;
        let written = Written::new(seed, records, seed % 2 == 0);
        let length = written.length();
        let from = written.begins[records as usize - 3] as usize;
        for place in from..length {
            for bit in 0..8 {
                assert!(written.disk.damage(&written.file, place, 1 << bit));
                let error = match open(&written.disk, 1) {
                    Err(error) => error,
                    Ok((_, recovery)) => panic!("seed {seed}: byte {place}: {recovery:?}"),
                };
                let LogError::Damaged { file, offset, .. } = &error else {
                    panic!("{error}")
                };
                assert_eq!(*file, written.file);
                let record = written.begins.partition_point(|&at| at <= place as u64) - 1;
                assert_eq!(*offset, written.begins[record], "seed {seed}, byte {place}");
                assert!(error.to_string().contains("restore a backup"), "{error}");
                assert!(written.disk.damage(&written.file, place, 1 << bit));
            }
        }
        let (log, _) = open(&written.disk, 1).unwrap();
        assert_eq!(read(&log, 1).unwrap(), written.payloads);
    }
}
