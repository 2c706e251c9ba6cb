//! A load is all or nothing, wherever the power is cut, a call fails or the disk is full.

#![allow(clippy::unwrap_used)]

use crate::common;
use crate::texts;

use std::io;
use std::path::Path;
use store::disk::{Disk, SimDisk, SimFaults};
use store::load::{LoadError, LoadOptions, OnError, load_into};
use texts::{Expected, Richness, STORE, nquads, open, options, random_files, unwatched};

const RICH: Richness = Richness {
    graphs: true,
    wide: false,
    predicates: 3,
};

/// What is loaded first, and what then.
fn files() -> Vec<String> {
    random_files(5, 2, 60, RICH)
}

/// Many statements, so that a load with the smallest limit spills.
fn large_files() -> Vec<String> {
    let small = random_files(5, 1, 60, RICH);
    [small, random_files(6, 1, 9_000, RICH)].concat()
}

/// One thread, so that calls are counted alike in each run.
fn one_thread() -> LoadOptions {
    let mut options = options(1);
    options.chunk_bytes = Some(50_000);
    options
}

fn with_store(seed: u64, first: &[String], faults: SimFaults) -> SimDisk {
    let disk = SimDisk::new(seed, Path::new("/data"), SimFaults::default());
    load_into(
        &disk,
        Path::new(STORE),
        nquads(first),
        &one_thread(),
        unwatched(),
    )
    .unwrap();
    disk.restart(faults)
}

fn load_second(disk: &SimDisk, second: &[String], options: &LoadOptions) -> Result<(), LoadError> {
    load_into(disk, Path::new(STORE), nquads(second), options, unwatched()).map(|_| ())
}

/// The store is the old one or the new one; which.
fn is_new(disk: &SimDisk, before: &Expected, after: &Expected) -> bool {
    let (snapshot, dictionary) = open(disk);
    let quads = common::dump(&snapshot, rdf::Direction::Out).unwrap();
    let is_new = quads == after.quads;
    (if is_new { after } else { before }).check(&snapshot, &dictionary);
    is_new
}

#[test]
fn power_cut_at_every_sync_and_call_leaves_the_old_or_the_new_store() {
    let files = files();
    let (first, second) = files.split_at(1);
    let (before, after) = (Expected::of(first), Expected::of(&files));
    let whole = with_store(0, first, SimFaults::default());
    load_second(&whole, second, &one_thread()).unwrap();
    let (calls, syncs) = (whole.calls(), whole.syncs());
    assert!(is_new(&whole, &before, &after) && syncs > 20);
    let cut_at_sync = |at| SimFaults {
        power_cut_at_sync: Some(at),
        ..SimFaults::default()
    };
    let cut_at_call = |at| SimFaults {
        power_cut_at_call: Some(at),
        ..SimFaults::default()
    };
    let faults = (1..=syncs)
        .map(cut_at_sync)
        .chain((1..=calls).map(cut_at_call));
    let mut found = [0; 2];
    for (seed, faults) in (0..).zip(faults) {
        let disk = with_store(seed, first, faults.clone());
        let is_committed = load_second(&disk, second, &one_thread()).is_ok();
        let disk = disk.restart(SimFaults::default());
        let is_new = is_new(&disk, &before, &after);
        assert!(
            is_new || !is_committed,
            "{faults:?}: what was committed is lost"
        );
        found[usize::from(is_new)] += 1;
    }
    assert!(found[0] > 0 && found[1] > 0, "{found:?}");
}

#[test]
fn an_error_at_every_call_leaves_a_store_and_no_files() {
    let files = large_files();
    let (first, second) = files.split_at(1);
    let (before, after) = (Expected::of(first), Expected::of(&files));
    let mut options = one_thread();
    options.memory_limit_bytes = Some(1);
    let whole = with_store(0, first, SimFaults::default());
    load_second(&whole, second, &options).unwrap();
    let calls = whole.calls();
    let unlimited = with_store(0, first, SimFaults::default());
    load_second(&unlimited, second, &one_thread()).unwrap();
    assert!(
        calls > unlimited.calls() + 20,
        "the limit must make the load spill"
    );
    let mut failed = 0;
    for call in 1..=calls {
        let faults = SimFaults {
            error_at_call: Some((call, io::ErrorKind::StorageFull)),
            ..SimFaults::default()
        };
        let disk = with_store(call, first, faults);
        match load_second(&disk, second, &options) {
            Ok(()) => assert!(is_new(&disk, &before, &after)),
            Err(error) => {
                let message = error.to_string();
                failed += 1;
                let is_new = disk.restart(SimFaults::default());
                // The full check is dear; counting quads tells the two stores apart.
                let opened = store::directory::open(&is_new, Path::new(STORE)).unwrap();
                let quads = opened.manifest().counts["quads"];
                let stores = [before.quads.len() as u64, after.quads.len() as u64];
                assert!(stores.contains(&quads), "call {call}: {message}");
            }
        }
    }
    assert!(failed * 10 > calls * 8, "{failed} of {calls}");
}

#[test]
fn a_full_disk_leaves_the_store_as_it_was_and_nothing_else() {
    let files = large_files();
    let (first, second) = files.split_at(1);
    let before = Expected::of(first);
    for limit in [None, Some(1)] {
        let mut options = one_thread();
        options.memory_limit_bytes = limit;
        let size = with_store(0, first, SimFaults::default());
        let used = size_of(&size);
        load_second(&size, second, &options).unwrap();
        for part in 0..10 {
            let capacity_bytes = Some(used + (size_of(&size) - used) * part / 10);
            let faults = SimFaults {
                capacity_bytes,
                ..SimFaults::default()
            };
            let disk = with_store(part, first, faults);
            let error = load_second(&disk, second, &options).unwrap_err();
            assert!(error.to_string().contains("no storage space"), "{error}");
            let names = disk.list(Path::new(STORE)).unwrap();
            assert_eq!(names, ["CURRENT", "LOCK", "g-0000000000000001"]);
            let (snapshot, dictionary) = open(&disk);
            before.check(&snapshot, &dictionary);
        }
    }
}

/// Statements with malformed lines among them, and so many terms that a chunk fills blocks of hashes
/// before it is whole.
fn with_bad_lines() -> String {
    let line = |number| {
        let bad = if number % 2_500 == 4 {
            "nonsense\n"
        } else {
            ""
        };
        format!("{bad}<a:s{number}> <a:p> <a:o{number}> .\n")
    };
    (1..=10_000).map(line).collect()
}

#[test]
fn faults_of_the_disk_and_of_the_text_together_are_an_error_and_no_panic() {
    let first = &random_files(5, 1, 60, RICH);
    let second = [with_bad_lines()];
    for (on_error, threads) in [
        (OnError::Skip, 1),
        (OnError::Skip, 3),
        (OnError::Stop, 1),
        (OnError::Stop, 3),
    ] {
        let mut options = options(threads);
        options.chunk_bytes = Some(200_000);
        options.memory_limit_bytes = Some(1);
        options.on_error = on_error.clone();
        let whole = with_store(0, first, SimFaults::default());
        let used = size_of(&whole);
        let is_loaded = load_second(&whole, &second, &options).is_ok();
        assert_eq!(is_loaded, on_error == OnError::Skip);
        // Every call of the parse phase and some of the many after it.
        let step = |call: &u64| *call < 150 || call.is_multiple_of(7);
        let errors = (1..=whole.calls()).filter(step).map(|call| SimFaults {
            error_at_call: Some((call, io::ErrorKind::StorageFull)),
            ..SimFaults::default()
        });
        let fills = (0..20).map(|part| SimFaults {
            capacity_bytes: Some(used + part * 60_000),
            ..SimFaults::default()
        });
        for (seed, faults) in (0..).zip(errors.chain(fills)) {
            let disk = with_store(seed, first, faults.clone());
            match load_second(&disk, &second, &options) {
                // What fails may be a removal, which a load survives.
                Ok(()) => assert!(is_loaded, "{faults:?}"),
                Err(LoadError::Malformed(first)) => {
                    assert!(!is_loaded, "{faults:?}");
                    assert_eq!((first.line, first.file.as_str()), (Some(4), "text"));
                }
                Err(error) => {
                    let message = error.to_string();
                    assert!(message.contains("no storage space"), "{faults:?}: {error}");
                }
            }
        }
    }
}

/// Bytes of all files of the current generation.
fn size_of(disk: &SimDisk) -> u64 {
    let opened = store::directory::open(disk, Path::new(STORE)).unwrap();
    opened.sizes().iter().map(|(_, bytes)| bytes).sum()
}
