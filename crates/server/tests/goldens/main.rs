//! Golden answers of others through HTTP: stored data, streams, queries, items and reports go through a real socket.
//!
//! | file | about |
//! |---|---|
//! | `main` | LSBench L1 to L6, CityBench, CSRBench, the boundary vectors, in every dialect |
//! | `driven` | a golden run, driven through a server |
//! | `oneshot` | S1 to S6 at their snapshots, also while streams flow |
//! | `example` | the example of the paper (SOSP'17, section 2) |
//!
//! Golden files lie in the folder of the streams beside the checkout; where it is not there, that is said and nothing of
//! them is checked.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

#[allow(dead_code, reason = "shared with the unit tests, which use more of it")]
#[path = "../../src/tests/client.rs"]
mod client;
mod driven;
mod example;
mod oneshot;
#[allow(dead_code, reason = "shared with the tests of streams, which use more")]
#[path = "../streams/served.rs"]
mod served;

use driven::Reading;
use testkit::seeds;
use testkit::standing::goldens::{self, GoldenError, GoldenRun};

/// Checks golden runs, all texts of each at once; gives the number of reports compared.
fn check_golden(
    name: &str,
    runs: impl Iterator<Item = Result<GoldenRun, GoldenError>>,
    reading: Reading,
) -> usize {
    let mut compared = 0;
    for run in runs {
        let run = run.unwrap();
        let texts = run.all_texts();
        assert!(!texts.is_empty(), "{} can be said", run.name);
        let all = driven::reports(&run, &texts, reading);
        for ((dialect, text), reports) in texts.iter().zip(all) {
            let run = std::iter::once(Ok(run.clone()));
            let checked = goldens::check(run, &mut |_| reports.clone());
            compared += checked.unwrap_or_else(|why| panic!("{dialect:?}: {why}\n{text}"));
        }
    }
    eprintln!("{name}: {compared} reports");
    compared
}

/// The folder of the streams; where it is absent, says so.
fn streams(test: &str) -> Option<std::path::PathBuf> {
    let folder = goldens::folder();
    if folder.is_none() {
        eprintln!("SKIPPED {test}: no folder shared/streams beside the checkout");
    }
    folder
}

#[test]
fn boundary_vectors_are_reported() {
    let Some(folder) = streams("the boundary vectors") else {
        return;
    };
    let runs = goldens::boundary_vectors(&folder).unwrap();
    let runs = runs.into_iter().map(Ok);
    assert!(check_golden("boundary vectors", runs, Reading::Events) > 100);
}

#[test]
fn csrbench_is_reported() {
    let Some(folder) = streams("CSRBench") else {
        return;
    };
    let runs = goldens::csrbench(&folder);
    assert!(check_golden("CSRBench", runs, Reading::Events) > 100);
}

#[test]
fn citybench_is_reported() {
    let Some(folder) = streams("CityBench") else {
        return;
    };
    let until_ms = if seeds::is_long() { 60_000 } else { 5_000 };
    let runs = goldens::citybench(&folder, until_ms);
    assert!(check_golden("CityBench", runs, Reading::Polls) > 50);
}

#[test]
fn lsbench_is_reported() {
    let Some(folder) = streams("LSBench") else {
        return;
    };
    let until_ms = if seeds::is_long() { 6_000 } else { 1_200 };
    let runs = goldens::lsbench(&folder, until_ms);
    assert!(check_golden("LSBench", runs, Reading::Polls) > 30);
}
