//! Loading: the same bytes for any threads, chunks and limits; the same answers as a naive model;
//! in two steps as at once.

#![allow(clippy::unwrap_used)]

use crate::texts;

use std::path::Path;
use store::load::{LoadOptions, Source, Syntax, load_in_memory, load_into};
use texts::{
    Expected, Richness, STORE, bytes, load, nquads, open, options, random_files, sim_disk,
    unwatched,
};

const RICH: [Richness; 4] = [
    Richness {
        graphs: false,
        wide: false,
        predicates: 5,
    },
    Richness {
        graphs: true,
        wide: false,
        predicates: 5,
    },
    Richness {
        graphs: true,
        wide: true,
        predicates: 300,
    },
    Richness {
        graphs: false,
        wide: true,
        predicates: 1,
    },
];

#[test]
fn answers_and_ids_are_those_of_a_naive_model() {
    for (seed, richness) in (1..).zip(RICH) {
        let files = random_files(seed, 3, 400, richness);
        let expected = Expected::of(&files);
        let (snapshot, dictionary, report) =
            load_in_memory(nquads(&files), &options(2), unwatched()).unwrap();
        expected.check(&snapshot, &dictionary);
        assert_eq!(report.statements, expected.statements);
        assert_eq!(report.quads, expected.quads.len() as u64);
        assert_eq!((report.rejected, report.quads_before), (0, 0));
    }
}

#[test]
fn threads_chunks_and_limits_do_not_change_a_byte() {
    for (seed, richness) in (10..).zip(RICH) {
        let files = random_files(seed, 3, 12_000, richness);
        let bytes_of = |change: &dyn Fn(&mut LoadOptions)| {
            let mut options = options(1);
            change(&mut options);
            let disk = sim_disk();
            let report = load(&disk, &files, &options);
            (bytes(&disk), report.peak_retained_bytes)
        };
        let (first, unlimited_peak) = bytes_of(&|_| {});
        let changes: [&dyn Fn(&mut LoadOptions); 6] = [
            &|options| options.threads = 2,
            &|options| options.threads = 5,
            &|options| options.chunk_bytes = Some(20_000),
            &|options| options.chunk_bytes = None,
            &|options| options.hash_key = *b"another hash key",
            &|options| (options.threads, options.memory_limit_bytes) = (2, Some(1)),
        ];
        for change in changes {
            let (bytes, _) = bytes_of(change);
            assert_eq!(
                bytes.keys().collect::<Vec<_>>(),
                first.keys().collect::<Vec<_>>()
            );
            for (name, bytes) in bytes {
                assert!(bytes == first[&name], "{name} differs");
            }
        }
        let (limited, limited_peak) = bytes_of(&|options| options.memory_limit_bytes = Some(1));
        assert!(limited == first);
        assert!(
            limited_peak * 3 < unlimited_peak,
            "{limited_peak} of {unlimited_peak}"
        );
    }
}

#[test]
fn loading_in_two_steps_is_loading_at_once() {
    for (seed, richness) in (20..).zip(RICH) {
        for limit in [None, Some(1)] {
            let files = random_files(seed, 4, 500, richness);
            let mut options = options(2);
            options.memory_limit_bytes = limit;
            let disk = sim_disk();
            load(&disk, &files[..2], &options);
            let before = Expected::of(&files[..2]);
            let (snapshot, dictionary) = open(&disk);
            before.check(&snapshot, &dictionary);
            let report = load(&disk, &files[2..], &options);
            let expected = Expected::of(&files);
            let (snapshot, dictionary) = open(&disk);
            expected.check(&snapshot, &dictionary);
            assert_eq!(report.quads_before, before.quads.len() as u64);
            assert_eq!(report.quads, expected.quads.len() as u64);
        }
    }
}

#[test]
fn a_file_without_blank_nodes_may_be_loaded_twice() {
    let text = "<a:s> <a:p> \"1\" .\n<a:s> <a:p> <a:o> <a:g> .\n".to_owned();
    let files = [text.clone(), text];
    let disk = sim_disk();
    load(&disk, &files[..1], &options(1));
    let once = bytes(&disk);
    load(&disk, &files[1..], &options(1));
    assert!(bytes(&disk) == once);
}

#[test]
fn nothing_at_all_is_a_store_too() {
    let disk = sim_disk();
    let report = load(
        &disk,
        &["# nothing\n".to_owned(), String::new()],
        &options(2),
    );
    assert_eq!((report.statements, report.quads, report.terms), (0, 0, 0));
    Expected::default().check(&open(&disk).0, &open(&disk).1);
    let report = load(&disk, &["<a:s> <a:p> <a:o> .".to_owned()], &options(2));
    assert_eq!((report.quads_before, report.quads, report.terms), (0, 1, 3));
}

#[test]
fn a_graph_takes_the_place_of_the_default_graph() {
    let files = ["<a:s> <a:p> <a:o> .\n<a:s> <a:p> <a:o> <a:h> .\n".to_owned()];
    let named = ["<a:s> <a:p> <a:o> <a:g> .\n<a:s> <a:p> <a:o> <a:h> .\n".to_owned()];
    let mut options = options(1);
    options.graph = Some("a:g".to_owned());
    let disk = sim_disk();
    load(&disk, &files, &options);
    Expected::of(&named).check(&open(&disk).0, &open(&disk).1);
}

#[test]
fn lubm_is_the_same_store_from_every_form() {
    use workload::lubm::{Lubm, Parameters, Syntax as LubmSyntax};
    let lubm = |syntax| Lubm::new(Parameters::standard(1), syntax).unwrap();
    let text = |syntax| -> Vec<u8> {
        lubm(syntax)
            .chunks(1)
            .unwrap()
            .flat_map(|chunk| chunk.bytes)
            .collect()
    };
    let options = LoadOptions::new(2, [7; 16]);
    let store_of = |source: Source<'_>| {
        let disk = sim_disk();
        let watch = unwatched();
        let report = load_into(&disk, Path::new(STORE), vec![source], &options, watch).unwrap();
        assert_eq!((report.statements, report.quads), (103_074, 100_543));
        bytes(&disk)
    };
    let chunks = lubm(LubmSyntax::NTriples)
        .chunks(1)
        .unwrap()
        .map(|chunk| chunk.bytes);
    let first = store_of(Source::chunks("lubm", Syntax::NTriples, chunks));
    let lines = text(LubmSyntax::NTriples);
    assert!(store_of(Source::reader("a.nt", &lines[..])) == first);
    let turtle = text(LubmSyntax::Turtle);
    let of_turtle = store_of(Source::reader("a.ttl", &turtle[..]));
    let mut but_prefixes = of_turtle.clone();
    let prefixes = but_prefixes.remove("prefixes").expect("Turtle has some");
    assert!(prefixes.starts_with(b"ub\thttp://"));
    assert!(but_prefixes == first);
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("a.ttl");
    std::fs::write(&path, &turtle).unwrap();
    assert!(store_of(Source::path(&path)) == of_turtle);
}
