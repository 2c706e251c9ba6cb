//! The files of `testdata/shapes`, which have the shapes of public projects' data: each is loaded and asked
//! the questions of the case file of its name, or refused with the words that this says.
//!
//! A file is loaded as people load it, by its path, so its name gives the format and its place the base
//! IRI. What a store has is written out and loaded again, and asked the same.

use crate::support;

use somersault::load::{self, Source, Unwatched};
use somersault::{Database, Options, dump};
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use testkit::cases::{self, Case};

/// Files that there must be, so that none is lost silently.
const FILES_MIN: usize = 15;

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata/shapes")
}

/// The data files by the name before their extension.
fn files() -> BTreeMap<String, Vec<PathBuf>> {
    let mut files: BTreeMap<String, Vec<PathBuf>> = BTreeMap::new();
    for entry in std::fs::read_dir(folder()).expect("the folder is there") {
        let path = entry.expect("it can be listed").path();
        let extension = path.extension().and_then(|extension| extension.to_str());
        let stem = path.file_stem().and_then(|stem| stem.to_str());
        if !matches!(extension, Some("case" | "md")) {
            let stem = stem.expect("names are ASCII").to_owned();
            files.entry(stem).or_default().push(path);
        }
    }
    files
}

fn loaded(sources: Vec<Source<'_>>) -> Result<Database, String> {
    let (request, options) = (load::Request::default(), Options::default());
    load::load_in_memory(sources, &request, &options, &Unwatched)
        .map(|(database, _)| database)
        .map_err(|error| error.to_string())
}

fn file_name(case: &Case) -> &str {
    case.place
        .split_once(".case:")
        .expect("a file and a line")
        .0
}

#[test]
fn every_shape_is_answered_or_refused_as_its_case_says() {
    let files = files();
    assert!(files.values().flatten().count() >= FILES_MIN);
    let cases = cases::read_folder(&folder()).expect("cases can be understood");
    for stem in files.keys() {
        let has_case = cases.iter().any(|case| file_name(case) == stem);
        assert!(has_case, "nothing is asked of {stem}");
    }
    let mut complaints = Vec::new();
    for (stem, paths) in &files {
        let database = loaded(paths.iter().map(Source::path).collect());
        let again = database.as_ref().map(loaded_again).map_err(Clone::clone);
        for case in cases.iter().filter(|case| file_name(case) == stem) {
            for database in [&database, &again] {
                let given = database
                    .as_ref()
                    .map_err(Clone::clone)
                    .and_then(|database| {
                        support::answer(database, &case.query, 1)
                            .map_err(support::NoAnswer::message)
                    });
                complaints.extend(case.check(given).err());
            }
        }
    }
    assert!(complaints.is_empty(), "{}", complaints.join("\n\n"));
}

/// What is in a database, written as N-Quads and loaded.
fn loaded_again(database: &Database) -> Database {
    let mut written = String::new();
    dump::all(&database.graph(), &mut |quad| {
        writeln!(written, "{quad} .").expect("a string takes everything");
        Ok(())
    })
    .expect("a graph in memory can be read");
    let source = Source::reader("again.nq", written.as_bytes());
    loaded(vec![source]).expect("what is written is RDF")
}
