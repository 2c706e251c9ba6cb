//! What a load reads: formats, compression, malformed statements and their places.

#![allow(clippy::unwrap_used)]

use crate::common;
use crate::texts;

use std::io::{self, Read, Write};
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;
use store::disk::{Disk, SimDisk};
use store::load::{
    Advance, LoadError, LoadOptions, LoadProgress, LoadReport, LoadWatch, OnError, Source, Syntax,
    load_into,
};
use texts::{
    Expected, Richness, STORE, bytes, nquads, open, options, random_files, sim_disk, unwatched,
};

fn try_load(
    disk: &SimDisk,
    sources: Vec<Source<'_>>,
    options: &LoadOptions,
) -> Result<LoadReport, LoadError> {
    load_into(disk, Path::new(STORE), sources, options, unwatched())
}

fn some_text() -> String {
    let richness = Richness {
        graphs: true,
        wide: false,
        predicates: 4,
    };
    random_files(1, 1, 300, richness).remove(0)
}

fn message(result: Result<LoadReport, LoadError>) -> String {
    result.unwrap_err().to_string()
}

/// Good lines with a malformed one as line `bad` (from 1).
fn with_bad_line(lines: usize, bad: &[usize]) -> String {
    let line = |number| {
        let literal = if bad.contains(&number) {
            "\"é\"x"
        } else {
            "\"good\""
        };
        format!("<a:s{number}> <a:p> {literal} .\n")
    };
    (1..=lines).map(line).collect()
}

type Pack = fn(&[u8]) -> Vec<u8>;

fn packers() -> [(&'static str, Pack); 4] {
    fn gzip(bytes: &[u8]) -> Vec<u8> {
        let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        encoder.write_all(bytes).unwrap();
        encoder.finish().unwrap()
    }
    fn bzip2(bytes: &[u8]) -> Vec<u8> {
        let mut encoder = bzip2::write::BzEncoder::new(Vec::new(), bzip2::Compression::fast());
        encoder.write_all(bytes).unwrap();
        encoder.finish().unwrap()
    }
    fn zstd(bytes: &[u8]) -> Vec<u8> {
        zstd::encode_all(bytes, 1).unwrap()
    }
    fn xz(bytes: &[u8]) -> Vec<u8> {
        let mut encoder = liblzma::write::XzEncoder::new(Vec::new(), 1);
        encoder.write_all(bytes).unwrap();
        encoder.finish().unwrap()
    }
    [("gz", gzip), ("bz2", bzip2), ("zst", zstd), ("xz", xz)]
}

#[test]
fn compressed_sources_are_the_same_store() {
    let text = some_text();
    let plain = sim_disk();
    try_load(&plain, nquads(std::slice::from_ref(&text)), &options(2)).unwrap();
    let plain = bytes(&plain);
    let (first, second) = text.split_at(text.len() / 2);
    for (extension, pack) in packers() {
        // Two members, one after the other, are one stream in each of these formats.
        let packed = [pack(first.as_bytes()), pack(second.as_bytes())].concat();
        for name in [format!("a.nq.{extension}"), "-".to_owned()] {
            let disk = sim_disk();
            let source = Source::reader(&name, &packed[..]).with_syntax(Syntax::NQuads);
            let report = try_load(&disk, vec![source], &options(2)).unwrap();
            assert_eq!(report.read_bytes, packed.len() as u64, "{name}");
            assert!(bytes(&disk) == plain, "{name}");
        }
    }
}

#[test]
fn compressed_sources_cut_short_are_an_error_that_names_them() {
    let text = some_text();
    for (extension, pack) in packers() {
        let packed = pack(text.as_bytes());
        for kept in [packed.len() - 1, packed.len() / 2, 0] {
            let disk = sim_disk();
            let name = format!("dir/a.nq.{extension}");
            let source = Source::reader(&name, &packed[..kept]);
            let message = message(try_load(&disk, vec![source], &options(2)));
            assert!(message.starts_with(&name), "{message}");
            assert!(store::directory::open(&disk, Path::new(STORE)).is_err());
        }
    }
}

#[test]
fn malformed_statements_are_told_with_their_place() {
    let good = with_bad_line(50, &[]);
    let bad = with_bad_line(1000, &[700, 702, 999]);
    for threads in [1, 2, 5] {
        let disk = sim_disk();
        let sources = vec![
            Source::reader("good.nt", good.as_bytes()),
            Source::reader("bad.nt", bad.as_bytes()),
        ];
        let message = message(try_load(&disk, sources, &options(threads)));
        assert!(message.starts_with("bad.nt:700:19: expected"), "{message}");
        assert!(store::directory::open(&disk, Path::new(STORE)).is_err());
    }
}

#[test]
fn malformed_statements_are_skipped_counted_and_listed() {
    let bad_lines: Vec<usize> = (1..=3000).filter(|line| line % 20 == 7).collect();
    let bad = with_bad_line(3000, &bad_lines);
    let (wrong, expected): (Vec<&str>, Vec<&str>) = bad
        .split_inclusive('\n')
        .partition(|line| line.contains("\"x"));
    let (wrong, expected) = (wrong.concat(), expected.concat());
    let directory = tempfile::tempdir().unwrap();
    let quarantine = directory.path().join("rejected.nt");
    for on_error in [OnError::Skip, OnError::Quarantine(quarantine.clone())] {
        let disk = sim_disk();
        let mut options = options(3);
        options.on_error = on_error;
        let sources = vec![Source::reader("bad.nt", bad.as_bytes())];
        let report = try_load(&disk, sources, &options).unwrap();
        assert_eq!(report.rejected, bad_lines.len() as u64);
        let listed: Vec<_> = report
            .rejections
            .iter()
            .map(|each| each.line.unwrap())
            .collect();
        let first: Vec<_> = bad_lines
            .iter()
            .take(100)
            .map(|&line| line as u64)
            .collect();
        assert_eq!(listed, first);
        let (snapshot, dictionary) = open(&disk);
        Expected::of(std::slice::from_ref(&expected)).check(&snapshot, &dictionary);
    }
    assert_eq!(std::fs::read_to_string(quarantine).unwrap(), wrong);
}

#[test]
fn lines_may_end_in_any_way_and_hold_invalid_text() {
    let text = b"<a:a> <a:a> <a:a> .\r<a:a> <a:a> <a:b> .\r\n<a:a> <a:a> \"\xFF\" .\n";
    let source = || vec![Source::reader("a.nt", &text[..])];
    let message = message(try_load(&sim_disk(), source(), &options(1)));
    assert_eq!(message, "a.nt:3:14: invalid UTF-8");
    let mut options = options(1);
    options.on_error = OnError::Skip;
    let report = try_load(&sim_disk(), source(), &options).unwrap();
    assert_eq!((report.quads, report.rejected), (2, 1));
}

#[test]
fn triple_terms_too_deep_are_refused_like_malformed_lines() {
    let nested = |depth| {
        let (open, close) = ("<<( <a:a> <a:a> ".repeat(depth), " )>>".repeat(depth));
        format!("<a:a> <a:a> <a:a> .\n<a:a> <a:a> {open}<a:a>{close} .\n")
    };
    for (depth, is_good) in [(64, true), (65, false), (90, false)] {
        let text = nested(depth);
        let source = Source::reader("a.nt", text.as_bytes());
        let result = try_load(&sim_disk(), vec![source], &options(1));
        match result {
            Ok(_) => assert!(is_good),
            Err(error) => {
                assert!(!is_good);
                let message = error.to_string();
                assert!(message.starts_with("a.nt:2:"), "{message}");
                assert!(message.contains("triple terms nest"), "{message}");
            }
        }
    }
}

#[test]
fn sources_that_cannot_be_read_are_named() {
    struct Broken;
    impl Read for Broken {
        fn read(&mut self, _into: &mut [u8]) -> io::Result<usize> {
            Err(io::Error::other("the cable is out"))
        }
    }
    let load = |source| message(try_load(&sim_disk(), vec![source], &options(2)));
    let missing = load(Source::path("/nowhere/a.nt"));
    assert!(
        missing.starts_with("/nowhere/a.nt: cannot be opened: "),
        "{missing}"
    );
    let unknown = load(Source::path("/nowhere/a.doc"));
    assert!(
        unknown.starts_with("/nowhere/a.doc: unknown format; name one"),
        "{unknown}"
    );
    assert!(load(Source::path("/").with_syntax(Syntax::NTriples)).contains("cannot be opened"));
    assert_eq!(
        load(Source::reader("x.nt", Broken)),
        "x.nt: cannot be read: the cable is out"
    );
    let mut options = options(1);
    options.graph = Some("no iri".to_owned());
    let graph = message(try_load(&sim_disk(), Vec::new(), &options));
    assert!(
        graph.starts_with("graph <no iri> is not an absolute IRI"),
        "{graph}"
    );
}

#[test]
fn documents_are_the_same_store_as_their_lines() {
    let lines = "<http://e.example/s> <http://e.example/p> \"v\"@en .\n\
                 <http://e.example/s> <http://e.example/p> <http://e.example/o> .\n";
    let turtle = "@prefix e: <http://e.example/> . e:s e:p \"v\"@en , e:o .\n";
    let based = "<s> <p> \"v\"@en , <o> .\n";
    let trig = "@prefix e: <http://e.example/> . { e:s e:p \"v\"@en , e:o }\n";
    let xml = "<rdf:RDF xmlns:rdf=\"http://www.w3.org/1999/02/22-rdf-syntax-ns#\" \
               xmlns:e=\"http://e.example/\"><rdf:Description rdf:about=\"http://e.example/s\">\
               <e:p xml:lang=\"en\">v</e:p><e:p rdf:resource=\"http://e.example/o\"/>\
               </rdf:Description></rdf:RDF>";
    let json = "{\"@id\": \"http://e.example/s\", \"http://e.example/p\": \
                [{\"@value\": \"v\", \"@language\": \"en\"}, {\"@id\": \"http://e.example/o\"}]}";
    let expected = Expected::of(&[lines.to_owned()]);
    let directory = tempfile::tempdir().unwrap();
    let documents = [
        ("a.nt", lines),
        ("a.ttl", turtle),
        ("b.ttl", based),
        ("a.trig", trig),
        ("a.rdf", xml),
        ("a.jsonld", json),
    ];
    let mut options = options(2);
    options.base = Some("http://e.example/".to_owned());
    for (name, text) in documents {
        let path = directory.path().join(name);
        std::fs::write(&path, text).unwrap();
        for source in [Source::path(&path), Source::reader(name, text.as_bytes())] {
            let disk = sim_disk();
            let report = try_load(&disk, vec![source], &options).unwrap();
            assert_eq!(report.read_bytes, text.len() as u64, "{name}");
            let (snapshot, dictionary) = open(&disk);
            expected.check(&snapshot, &dictionary);
        }
    }
}

#[test]
fn blank_nodes_are_scoped_to_their_file() {
    let turtle = "_:a <a:p> [] . [] <a:p> _:a .\n";
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("a.ttl");
    std::fs::write(&path, turtle).unwrap();
    let disk = sim_disk();
    let sources = vec![
        Source::path(&path),
        Source::reader("b.ttl", turtle.as_bytes()),
    ];
    try_load(&disk, sources, &options(2)).unwrap();
    let (snapshot, dictionary) = open(&disk);
    assert_eq!(dictionary.counts().blank_nodes, 6);
    assert_eq!(
        common::dump(&snapshot, rdf::Direction::Out).unwrap().len(),
        4
    );
}

#[test]
fn malformed_documents_end_the_load_at_their_place() {
    let good = "<a:a> <a:a> <a:a> .\n".repeat(200);
    let text = format!("{good}<a:a> <a:a> .\n{good}");
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("a.ttl");
    std::fs::write(&path, &text).unwrap();
    for on_error in [OnError::Stop, OnError::Skip] {
        let mut options = options(2);
        options.on_error = on_error;
        for source in [
            Source::path(&path),
            Source::reader("a.ttl", text.as_bytes()),
        ] {
            let disk = sim_disk();
            let message = message(try_load(&disk, vec![source], &options));
            assert!(message.contains("a.ttl:201:"), "{message}");
            assert!(store::directory::open(&disk, Path::new(STORE)).is_err());
        }
    }
}

/// Cancels after some chunks.
struct Canceller(AtomicU64, u64);

impl LoadProgress for Canceller {
    fn advanced(&self, advance: Advance) {
        assert!(
            advance
                .total_bytes
                .is_none_or(|total| advance.read_bytes <= total)
        );
        self.0.fetch_add(1, Ordering::Relaxed);
    }

    fn is_cancelled(&self) -> bool {
        self.0.load(Ordering::Relaxed) >= self.1
    }
}

#[test]
fn a_load_can_be_cancelled_at_any_chunk() {
    let text = some_text();
    let load = |after| {
        let disk = sim_disk();
        let canceller = Canceller(AtomicU64::new(0), after);
        let watch = LoadWatch {
            progress: &canceller,
            clock: &|| Duration::ZERO,
        };
        let sources = nquads(std::slice::from_ref(&text));
        let result = load_into(&disk, Path::new(STORE), sources, &options(2), watch);
        (disk, result, canceller.0.into_inner())
    };
    let (_, result, steps) = load(u64::MAX);
    result.unwrap();
    for after in [0, 1, steps / 2, steps - 1] {
        let (disk, result, _) = load(after);
        assert!(matches!(result, Err(LoadError::Cancelled)));
        assert!(
            disk.list(Path::new(STORE)).is_err(),
            "nothing is left behind"
        );
    }
}
