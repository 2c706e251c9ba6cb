//! Sources that are no plain files, that are named twice, too large or not there; and what a load
//! that they end leaves behind.

#![allow(clippy::unwrap_used)]

mod common;
mod texts;

use std::fs;
use std::io::{self, Read};
use std::path::Path;
use store::disk::{Disk, RealDisk};
use store::load::{LoadError, LoadOptions, LoadReport, OnError, Source, load_into};
use texts::{Expected, STORE, open, options, sim_disk, unwatched};

const GOOD: &str = "<a:s> <a:p> <a:o> .\n";
const BAD: &str = "<a:s> <a:p> nonsense .\n";

fn try_load(
    disk: &dyn Disk,
    sources: Vec<Source<'_>>,
    options: &LoadOptions,
) -> Result<LoadReport, LoadError> {
    load_into(disk, Path::new(STORE), sources, options, unwatched())
}

fn with_quarantine(path: &Path) -> LoadOptions {
    let mut options = options(2);
    options.on_error = OnError::Quarantine(path.to_owned());
    options
}

#[cfg(unix)]
#[test]
fn pipes_are_read_whatever_they_hold() {
    let directory = tempfile::tempdir().unwrap();
    for name in ["a.ttl", "a.nt", "a.trig", "a.ttl.gz"] {
        let pipe = directory.path().join(name);
        let made = std::process::Command::new("mkfifo").arg(&pipe).status();
        assert!(made.unwrap().success());
        let mut text = GOOD.repeat(5000).into_bytes();
        if name == "a.ttl.gz" {
            let mut packed = Vec::new();
            let fast = flate2::Compression::fast();
            flate2::read::GzEncoder::new(&text[..], fast)
                .read_to_end(&mut packed)
                .unwrap();
            text = packed;
        }
        let report = std::thread::scope(|scope| {
            scope.spawn(|| fs::write(&pipe, &text).unwrap());
            try_load(&sim_disk(), vec![Source::path(&pipe)], &options(2)).unwrap()
        });
        assert_eq!((report.statements, report.quads), (5000, 1), "{name}");
    }
}

/// A reader that fails.
struct Broken;

impl Read for Broken {
    fn read(&mut self, _into: &mut [u8]) -> io::Result<usize> {
        Err(io::Error::other("the cable is out"))
    }
}

#[test]
fn tokens_that_are_too_long_are_told_with_their_place() {
    let text = format!("{GOOD}<a:s> <a:p> \"{}\" .\n", "x".repeat(17 << 20));
    for name in ["a.ttl", "a.trig"] {
        let source = Source::reader(name, text.as_bytes());
        let error = try_load(&sim_disk(), vec![source], &options(2)).unwrap_err();
        let place = format!("{name}:2: ");
        assert!(matches!(error, LoadError::Malformed(_)), "{error}");
        assert!(error.to_string().starts_with(&place), "{error}");
        assert!(error.to_string().contains("16 MiB"), "{error}");
    }
}
