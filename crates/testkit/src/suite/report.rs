//! Runs suites and says how they went: one line a suite, with each failed test and its reason above.
//!
//! A test is left out only where a table names it with its reason; one that is named there and
//! holds is a failure too, so that no table outlives its reasons.

use super::case::SuiteCase;
use super::manifest::Suite;
use std::fmt::Write as _;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// How a test went: nothing to say, or a complaint for people.
pub type Verdict = Result<(), String>;

/// A test that is left out: suite, test and reason.
pub type Skip = (&'static str, &'static str, &'static str);

/// Why tests under an entailment regime are left out.
pub const REGIME: &str = "asked under an entailment regime: answers here are by simple entailment";

/// What became of the tests of a suite.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Report {
    /// The suite's name, as it is printed.
    pub name: String,
    /// How many held.
    pub passed: usize,
    /// The names of those that were left out, with their reasons.
    pub skipped: Vec<(String, String)>,
    /// The names of those that did not hold, with their reasons.
    pub failed: Vec<(String, String)>,
}

impl Report {
    /// Runs those tests of a suite that `chosen` takes. Nothing if it takes none.
    pub fn of(
        suite: &Suite,
        skips: &[Skip],
        chosen: impl Fn(&SuiteCase) -> bool,
        mut check: impl FnMut(&SuiteCase) -> Verdict,
    ) -> Option<Report> {
        let mut report = Report {
            name: suite.name.clone(),
            ..Report::default()
        };
        let cases: Vec<&SuiteCase> = suite.cases.iter().filter(|case| chosen(case)).collect();
        for case in &cases {
            if case.has_regime {
                report.skipped.push((case.name.clone(), REGIME.to_owned()));
                continue;
            }
            let skip = skips
                .iter()
                .find(|(suite, test, _)| (*suite, *test) == (&*case.suite, &*case.name));
            let verdict = catch_unwind(AssertUnwindSafe(|| check(case)))
                .unwrap_or_else(|panic| Err(format!("panicked: {}", message(&*panic))));
            report.note(&case.name, verdict, skip.map(|(_, _, reason)| *reason));
        }
        (!cases.is_empty()).then_some(report)
    }

    fn note(&mut self, name: &str, verdict: Verdict, skip: Option<&str>) {
        match (verdict, skip) {
            (Ok(()), None) => self.passed += 1,
            (Ok(()), Some(reason)) => {
                let complaint = format!("holds, but is left out: {reason}");
                self.failed.push((name.to_owned(), complaint));
            }
            (Err(_), Some(reason)) => self.skipped.push((name.to_owned(), reason.to_owned())),
            (Err(complaint), None) => self.failed.push((name.to_owned(), complaint)),
        }
    }

    /// The failed tests, those left out, and the line of counts, as one text.
    pub fn text(&self) -> String {
        let mut text = String::new();
        for (test, complaint) in &self.failed {
            let _ = writeln!(text, "failed: {} {test}: {complaint}", self.name);
        }
        for (test, reason) in &self.skipped {
            let _ = writeln!(text, "skipped: {} {test}: {reason}", self.name);
        }
        let (failed, skipped) = (self.failed.len(), self.skipped.len());
        let passed = self.passed;
        let name = &self.name;
        let _ = write!(
            text,
            "{name}: {passed} passed, {failed} failed, {skipped} skipped"
        );
        text
    }
}

fn message(panic: &(dyn std::any::Any + Send)) -> &str {
    let owned = panic.downcast_ref::<String>().map(String::as_str);
    owned
        .or_else(|| panic.downcast_ref::<&str>().copied())
        .unwrap_or("without a message")
}
