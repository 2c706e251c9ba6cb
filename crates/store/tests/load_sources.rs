//! Sources that are no plain files, that are named twice, too large or not there; and what a load
//! that they end leaves behind.

#![allow(clippy::unwrap_used)]

use crate::texts;

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

#[test]
fn a_quarantine_file_that_is_an_input_is_refused_and_left_alone() {
    let directory = tempfile::tempdir().unwrap();
    let input = directory.path().join("data.nt");
    let text = format!("{GOOD}{BAD}");
    fs::write(&input, &text).unwrap();
    let mut names = vec![input.clone(), directory.path().join("./data.nt")];
    #[cfg(unix)]
    {
        let link = directory.path().join("link");
        std::os::unix::fs::symlink(&input, &link).unwrap();
        let twin = directory.path().join("twin");
        fs::hard_link(&input, &twin).unwrap();
        names.extend([link, twin]);
    }
    for name in names {
        let disk = sim_disk();
        let options = with_quarantine(&name);
        let error = try_load(&disk, vec![Source::path(&input)], &options).unwrap_err();
        assert!(error.to_string().contains("is also an input"), "{error}");
        assert_eq!(fs::read_to_string(&input).unwrap(), text);
        assert!(disk.list(Path::new(STORE)).is_err(), "nothing was begun");
    }
    // The file beside the quarantine, under which it is written, is none either.
    let part = directory.path().join("aside.part");
    fs::write(&part, &text).unwrap();
    let source = Source::path(&part).with_syntax(store::load::Syntax::NTriples);
    let options = with_quarantine(&directory.path().join("aside"));
    try_load(&sim_disk(), vec![source], &options).unwrap_err();
    assert_eq!(fs::read_to_string(&part).unwrap(), text);
}

#[test]
fn a_quarantine_file_is_replaced_by_a_whole_one_or_not_at_all() {
    let directory = tempfile::tempdir().unwrap();
    let aside = directory.path().join("aside.nt");
    fs::write(&aside, "before").unwrap();
    let cut = || {
        let text = format!("{GOOD}{BAD}").repeat(200);
        Source::reader("cut.nt", io::Cursor::new(text).chain(Broken))
    };
    let error = try_load(&sim_disk(), vec![cut()], &with_quarantine(&aside)).unwrap_err();
    assert!(error.to_string().contains("the cable is out"), "{error}");
    assert_eq!(fs::read_to_string(&aside).unwrap(), "before");
    let text = format!("{GOOD}{BAD}");
    let source = Source::reader("a.nt", text.as_bytes());
    let report = try_load(&sim_disk(), vec![source], &with_quarantine(&aside)).unwrap();
    assert_eq!(report.rejected, 1);
    assert_eq!(fs::read_to_string(&aside).unwrap(), BAD);
    let names = fs::read_dir(directory.path()).unwrap();
    assert_eq!(names.count(), 1, "nothing else is left");
}

/// A reader that fails.
struct Broken;

impl Read for Broken {
    fn read(&mut self, _into: &mut [u8]) -> io::Result<usize> {
        Err(io::Error::other("the cable is out"))
    }
}

#[test]
fn a_first_load_that_fails_leaves_no_directory() {
    let directory = tempfile::tempdir().unwrap();
    let store = directory.path().join("store");
    let bad = directory.path().join("bad.nt");
    fs::write(&bad, BAD).unwrap();
    let sources = [
        Source::path("/nowhere/a.nt"),
        Source::path("/nowhere/a.doc"),
        Source::path(directory.path()).with_syntax(store::load::Syntax::NTriples),
        Source::path(&bad),
        Source::reader("x.nt", Broken),
    ];
    for source in sources {
        load_into(&RealDisk, &store, vec![source], &options(1), unwatched()).unwrap_err();
        assert!(!store.exists());
    }
    fs::create_dir(&store).unwrap();
    let source = vec![Source::path(&bad)];
    load_into(&RealDisk, &store, source, &options(1), unwatched()).unwrap_err();
    assert!(store.exists(), "what was there stays");
}

#[test]
fn unusable_sources_are_told_before_anything_is_read() {
    struct Untouched;
    impl Read for Untouched {
        fn read(&mut self, _into: &mut [u8]) -> io::Result<usize> {
            panic!("nothing is to be read");
        }
    }
    for last in ["/nowhere/a.nt", "/nowhere/a.doc"] {
        let disk = sim_disk();
        let sources = vec![Source::reader("a.nt", Untouched), Source::path(last)];
        let error = try_load(&disk, sources, &options(1)).unwrap_err();
        assert!(error.to_string().starts_with(last), "{error}");
        assert_eq!(disk.calls(), 0);
    }
}

#[test]
fn lines_that_are_too_long_are_told_with_their_place() {
    let long = format!("<a:s> <a:p> \"{}\" .\n", "x".repeat(17 << 20));
    let text = format!("{}{long}{GOOD}", GOOD.repeat(100));
    for (limit, chunk_bytes) in [(Some(1), Some(700)), (Some(1), None), (None, None)] {
        let mut options = options(2);
        options.memory_limit_bytes = limit;
        options.chunk_bytes = chunk_bytes;
        let source = Source::reader("a.nt", text.as_bytes());
        let result = try_load(&sim_disk(), vec![source], &options);
        if limit.is_none() {
            assert_eq!(result.unwrap().statements, 102);
            continue;
        }
        let message = result.unwrap_err().to_string();
        assert!(
            message.starts_with("a.nt:101:1: a line is longer than 16 MiB"),
            "{message}"
        );
    }
}

#[test]
fn tokens_that_are_too_long_are_told_with_their_place() {
    let long = "x".repeat(17 << 20);
    let text = format!("{GOOD}<a:s> <a:p> \"{long}\" .\n");
    for name in ["a.ttl", "a.trig"] {
        let source = Source::reader(name, text.as_bytes());
        let report = try_load(&sim_disk(), vec![source], &options(2)).unwrap();
        assert_eq!(report.statements, 2, "{name}");
    }
    let text = format!("{{\n\"@id\": \"a:s\",\n\"a:p\": \"{long}\"}}");
    let source = Source::reader("a.jsonld", text.as_bytes());
    let error = try_load(&sim_disk(), vec![source], &options(2)).unwrap_err();
    assert!(matches!(error, LoadError::Malformed(_)), "{error}");
    assert!(error.to_string().starts_with("a.jsonld"), "{error}");
    assert!(error.to_string().contains("16 MiB"), "{error}");
}

#[test]
fn a_store_of_large_terms_takes_more_within_its_limit() {
    let term = |number: usize| format!("<a:s> <a:p> \"{number}{}\" .\n", "x".repeat(20_000));
    let first: String = (0..200).map(term).collect();
    let files = [first, GOOD.to_owned()];
    let disk = sim_disk();
    let mut options = options(2);
    options.chunk_bytes = Some(100_000);
    options.memory_limit_bytes = Some(1 << 20);
    let (first, second) = files.split_at(1);
    try_load(&disk, texts::nquads(first), &options).unwrap();
    let report = try_load(&disk, texts::nquads(second), &options).unwrap();
    let (snapshot, dictionary) = open(&disk);
    Expected::of(&files).check(&snapshot, &dictionary);
    let peak = report.peak_retained_bytes;
    assert!(peak < 1 << 20, "{peak} bytes of {} of terms", 200 * 20_000);
}
