//! The corpora of the fuzzing targets, through the same bodies that libFuzzer drives.
//!
//! A crash that fuzzing found lies among them, so it stays fixed on every machine, without
//! libFuzzer. Each body also runs over beginnings of its inputs: a text that ends in the middle is
//! what a mutation most often makes, and the cheapest to make without one.
//!
//! Cost: a few thousand inputs of some hundred bytes, some seconds in the development profile.

#![allow(clippy::unwrap_used)] // a test's helpers may fail as a test does

// `rustc` looks for the parts of a file that is named by its path beside that file.
#[allow(clippy::mod_module_files)]
#[path = "../../../fuzz/src/bodies/mod.rs"]
mod bodies;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};

/// Every target's corpus, whole and cut; each input that fails is named.
#[test]
fn no_input_fails() {
    let mut failed = Vec::new();
    for (name, body) in bodies::TARGETS {
        let corpus = corpus(name);
        assert!(!corpus.is_empty(), "the corpus of {name} is empty");
        for path in corpus {
            let data = std::fs::read(&path).unwrap();
            for data in [&data[..], &data[..data.len() / 2]] {
                let run = AssertUnwindSafe(|| bodies::on_small_stack(body, data));
                if catch_unwind(run).is_err() {
                    failed.push((name, path.clone(), data.len()));
                }
            }
        }
    }
    assert!(failed.is_empty(), "{failed:#?}");
}

/// A name that is in the table; the binaries look theirs up by it.
#[test]
fn a_body_is_found_by_its_name() {
    for (name, _) in bodies::TARGETS {
        bodies::named(name)(b"");
    }
}

fn corpus(name: &str) -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../fuzz/corpus")
        .join(name);
    let mut paths: Vec<PathBuf> = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    paths.sort();
    paths
}
