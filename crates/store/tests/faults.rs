//! Files that are cut while they are read: a log, and what a load reads. On a real disk, because only maps of
//! real files can lose their bytes.

#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used)]

use std::fs::{self, OpenOptions};
use std::io::Write;
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use store::disk::RealDisk;
use store::load::{
    Advance, LoadError, LoadOptions, LoadProgress, LoadWatch, OnError, Source, load_in_memory,
};
use store::log::{FileLog, Log, LogError, read_tail};

fn cut(file: &Path, length: u64) {
    let file = OpenOptions::new().write(true).open(file).unwrap();
    file.set_len(length).unwrap();
}

/// Records behind the cut are zeros in the map, which look like a tail that nobody was told of.
#[test]
fn a_log_that_is_cut_while_it_is_read_does_not_end_there() {
    memory::survive_bus_errors().unwrap();
    let folder = tempfile::tempdir().unwrap();
    let (log, _) = FileLog::open(Arc::new(RealDisk), folder.path(), 1).unwrap();
    for _ in 0..20 {
        log.append(&[&[7; 3000]]).unwrap();
    }
    log.sync(20).unwrap();
    let file = folder.path().join("log/00000000000000000001.log");
    let length = fs::metadata(&file).unwrap().len();
    for left in [5000, length - 10] {
        let mut read = 0;
        let outcome = read_tail(&RealDisk, folder.path(), 1, &mut |_, record| {
            read += 1;
            assert_eq!(record, [7; 3000]);
            if read == 1 {
                let whole = fs::read(&file).unwrap();
                cut(&file, left);
                fs::write(folder.path().join("whole"), whole).unwrap();
            }
            ControlFlow::Continue(())
        });
        let error = outcome.unwrap_err();
        assert!(matches!(error, LogError::Io { .. }), "{error}");
        assert!(
            error.to_string().contains("cut while it was read"),
            "{error}"
        );
        fs::copy(folder.path().join("whole"), &file).unwrap();
    }
}

/// Cuts the file when the first of it is being parsed.
struct Cutting<'p> {
    path: &'p Path,
    is_cut: AtomicBool,
}

impl LoadProgress for Cutting<'_> {
    fn advanced(&self, _: Advance) {}

    fn is_cancelled(&self) -> bool {
        if !self.is_cut.swap(true, Ordering::SeqCst) {
            cut(self.path, 100_000);
        }
        false
    }
}

/// An input that is cut becomes neither statements nor rejected ones.
#[test]
fn an_input_that_is_cut_while_it_is_read_is_an_error() {
    memory::survive_bus_errors().unwrap();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("data.ttl");
    let mut file = fs::File::create(&path).unwrap();
    for row in 0..200_000 {
        writeln!(file, "<http://e/s{row}> <http://e/p> {row} .").unwrap();
    }
    let progress = Cutting {
        path: &path,
        is_cut: AtomicBool::new(false),
    };
    let options = LoadOptions {
        on_error: OnError::Skip,
        ..LoadOptions::new(2, [7; 16])
    };
    let watch = LoadWatch {
        clock: &|| Duration::ZERO,
        progress: &progress,
    };
    let loaded = load_in_memory(vec![Source::path(&path)], &options, watch);
    let Err(error) = loaded else {
        panic!("a part of a file was loaded as if it were the whole");
    };
    assert!(matches!(error, LoadError::Read { .. }), "{error}");
    assert!(
        error.to_string().contains("cut while it was read"),
        "{error}"
    );
}
