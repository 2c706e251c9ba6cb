//! The W3C's query suites, each evaluation asked of whatever is under test.
//!
//! Without `../shared/w3c` beside the checkout they are skipped, which is reported.

use super::SuiteCase;
use super::report::Report;
use oxrdf::Dataset;
use std::io::Write as _;

/// Stack of the thread that runs them.
const STACK_BYTES: usize = 16 << 20;

/// Asks one test, given its text and the endpoints that it may call, and compares; whether it has asked.
pub type Check = fn(&SuiteCase, &str, Vec<(String, Dataset)>) -> Result<bool, String>;

/// Runs it on a thread whose stack has room for what is nested deep.
pub fn on_a_thread(work: impl FnOnce() + Send + 'static) {
    let thread = std::thread::Builder::new().stack_size(STACK_BYTES);
    let thread = thread.spawn(work).expect("a thread");
    if let Err(panic) = thread.join() {
        std::panic::resume_unwind(panic);
    }
}

/// Every evaluation of the suites but those about CSV, which is no question of a walk. `check` says whether it has asked.
pub fn hold(check: Check) {
    let Some(root) = super::root() else {
        let _ = writeln!(
            std::io::stderr(),
            "SKIPPED: the W3C tests are not there: ../shared/w3c"
        );
        return;
    };
    on_a_thread(move || {
        for version in ["sparql10", "sparql11", "sparql12"] {
            let suites = super::manifest::of_version(&root, version);
            let suites = suites.unwrap_or_else(|error| panic!("{error}"));
            let mut asked = 0;
            let mut failed = Vec::new();
            for suite in &suites {
                let chosen = |case: &SuiteCase| case.kind.is_evaluation();
                let report = Report::of(suite, &[], chosen, |case| {
                    checked(case, check).map(|is_asked| asked += u32::from(is_asked))
                });
                if let Some(report) = report.filter(|report| !report.failed.is_empty()) {
                    failed.push(report.text());
                }
            }
            assert!(failed.is_empty(), "{version}:\n{}", failed.join("\n"));
            assert!(asked > 50, "only {asked} tests of {version} were asked");
        }
    });
}

fn checked(case: &SuiteCase, check: Check) -> Result<bool, String> {
    let text = case.text()?;
    let is_of_csv = case
        .result
        .as_ref()
        .is_some_and(|result| result.extension() == "csv");
    if is_of_csv {
        return Ok(false);
    }
    let endpoints = case.services.iter().map(|(name, document)| {
        let quads = super::data::quads(document)?;
        Ok((name.clone(), quads.into_iter().collect()))
    });
    check(case, &text, endpoints.collect::<Result<_, String>>()?)
}
