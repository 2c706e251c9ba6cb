//! The W3C's SPARQL suites over HTTP: each query is sent to the real server in this process.
//!
//! Queries go as GET, POST of a form and POST of the text in turn; answers are asked for in the
//! format that a test's result is in, or in each of those of its kind in turn, and read back by
//! other people's parsers. The protocol has no parameter for a base, so the query's own IRI is
//! declared in front of its text. [`protocol`], [`graph_store`] and [`description`] are the suites
//! about HTTP itself. Without `../shared/w3c` beside the checkout all is skipped, which is reported.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

#[allow(dead_code, reason = "shared with the unit tests, which use more of it")]
#[path = "../../src/tests/client.rs"]
mod client;
mod description;
#[allow(
    dead_code,
    reason = "shared with the library's tests, which use more of it"
)]
#[path = "../../../somersault/tests/conformance/engine.rs"]
mod engine;
mod graph_store;
mod protocol;
mod served;

use client::{Answer, encoded};
use served::Served;
use somersault::Options;
use std::io::Write as _;
use std::path::PathBuf;
use testkit::suite::data::{self, Input};
use testkit::suite::report::Skip;
use testkit::suite::{
    self, CaseKind, ExpectedResults, Report, Results, Suite, SuiteCase, Verdict, compare, results,
};

/// Tests that are in dispute: suite, test, reason.
const SKIPPED: &[Skip] = &[];

const ROWS: [&str; 2] = [
    "application/sparql-results+json",
    "application/sparql-results+xml",
];
const GRAPHS: [&str; 3] = [
    "text/turtle",
    "application/n-triples",
    "application/rdf+xml",
];

#[test]
fn sparql_1_0() {
    run("sparql10");
}

#[test]
fn sparql_1_1() {
    run("sparql11");
}

#[test]
fn sparql_1_2() {
    run("sparql12");
}

/// The suites of a version, or nothing, which is reported.
fn suites(version: &str) -> Option<Vec<Suite>> {
    let Some(root) = suite::root() else {
        let _ = writeln!(
            std::io::stderr(),
            "SKIPPED: the W3C tests are not there: ../shared/w3c"
        );
        return None;
    };
    let suites = suite::manifest::of_version(&root, version);
    Some(suites.unwrap_or_else(|error| panic!("{error}")))
}

fn run(version: &str) {
    let mut sender = Sender::default();
    let chosen = |case: &SuiteCase| case.kind.is_evaluation() || case.kind.is_syntax();
    let mut failed = 0;
    for suite in suites(version).unwrap_or_default() {
        let Some(report) = Report::of(&suite, SKIPPED, chosen, |case| sender.check(case)) else {
            continue;
        };
        failed += say(report, "HTTP");
    }
    assert_eq!(failed, 0, "tests of {version} failed over HTTP, see above");
}

/// Runs the chosen tests of one suite of SPARQL 1.1, of which there are so many.
fn run_suite(
    name: &str,
    what: &str,
    tests: usize,
    chosen: impl Fn(&SuiteCase) -> bool,
    check: impl FnMut(&SuiteCase) -> Verdict,
) {
    let Some(suites) = suites("sparql11") else {
        return;
    };
    let suite = suites.iter().find(|suite| suite.name == name);
    let suite = suite.unwrap_or_else(|| panic!("there is no suite {name}"));
    let report = Report::of(suite, &[], chosen, check).unwrap_or_default();
    assert_eq!(
        report.passed + report.failed.len(),
        tests,
        "tests of {name}"
    );
    assert_eq!(say(report, what), 0, "tests of {name} failed, see above");
}

/// Prints how a suite went over HTTP, and gives the number of failures.
fn say(mut report: Report, what: &str) -> usize {
    report.name = format!("{} ({what})", report.name);
    println!("{}", report.text());
    report.failed.len()
}

/// Whether a query was refused for a function that nobody knows.
fn calls_unknown(answer: &Answer) -> bool {
    let problem = answer.json();
    let detail = problem["detail"].as_str().unwrap_or_default();
    detail.contains("the function <") && detail.contains("> is not supported")
}

/// What a server has loaded: the data of tests, and the other endpoints within its reach.
#[derive(PartialEq)]
struct Loaded {
    input: Input,
    services: Vec<PathBuf>,
    is_syntax: bool,
}

/// Sends the queries of tests, to one server as long as tests have the same data.
#[derive(Default)]
struct Sender {
    served: Option<(Loaded, Served)>,
    sent: usize,
}

impl Sender {
    fn check(&mut self, case: &SuiteCase) -> Verdict {
        self.serve(case)?;
        let text = format!("BASE <{}>\n{}", case.base(), case.text()?);
        if case.kind.is_syntax() {
            let answer = self.send(&text, "*/*")?;
            return match (case.kind, answer.status) {
                (CaseKind::PositiveSyntax, 200) | (CaseKind::NegativeSyntax, 400) => Ok(()),
                // It was read, and refused by name: it calls a function that only the test knows.
                (CaseKind::PositiveSyntax, 422) if calls_unknown(&answer) => Ok(()),
                (_, status) => Err(format!("{status}: {}", shown(&answer))),
            };
        }
        let expected = ExpectedResults::of(case)?;
        let accepted = self.accepted(case, &expected);
        let answer = self.send(&text, accepted)?;
        let media_type = answer.field("content-type");
        if answer.status != 200 || !answer.whole || !media_type.starts_with(accepted) {
            let status = answer.status;
            let whole = if answer.whole { "whole" } else { "broken off" };
            let shown = shown(&answer);
            return Err(format!("{status}, {media_type}, {whole}: {shown}"));
        }
        let given = results::of_media_type(&answer.body, media_type, case.base());
        let given = given.map_err(|error| format!("{error}, in {}", shown(&answer)))?;
        compare::check(&expected, &given)
    }

    /// Serves the data of a test, unless that is what is being served.
    fn serve(&mut self, case: &SuiteCase) -> Result<(), String> {
        let services = case.services.iter();
        let wanted = Loaded {
            input: data::input(case)?,
            services: services.map(|(_, file)| file.path.clone()).collect(),
            is_syntax: case.kind.is_syntax(),
        };
        if !matches!(&self.served, Some((loaded, _)) if *loaded == wanted) {
            self.served = None;
            let served = Served::new(engine::database(case, None)?)?;
            self.served = Some((wanted, served));
        }
        Ok(())
    }

    /// The media type to ask for.
    fn accepted(&self, case: &SuiteCase, expected: &ExpectedResults) -> &'static str {
        let extension = case.result.as_ref().map(suite::Document::extension);
        match (extension, &expected.results) {
            (Some("srj"), _) => ROWS[0],
            (Some("srx"), _) => ROWS[1],
            (Some("csv"), _) => "text/csv",
            (Some("tsv"), _) => "text/tab-separated-values",
            (_, Results::Graph(_)) => GRAPHS[self.sent / 3 % GRAPHS.len()],
            _ => ROWS[self.sent / 3 % ROWS.len()],
        }
    }

    /// Sends a query, in each of the protocol's ways in turn.
    fn send(&mut self, text: &str, accepted: &str) -> Result<Answer, String> {
        let (_, served) = self.served.as_ref().ok_or("nothing is served")?;
        let accept = format!("Accept: {accepted}");
        let encoded = format!("query={}", encoded(text));
        let way = self.sent % 3;
        self.sent += 1;
        let (line, kind, body) = match way {
            0 if encoded.len() < 4000 => (format!("GET /sparql?{encoded}"), None, ""),
            1 => (
                "POST /sparql".to_owned(),
                Some("Content-Type: application/sparql-query"),
                text,
            ),
            _ => (
                "POST /sparql".to_owned(),
                Some("Content-Type: application/x-www-form-urlencoded"),
                &*encoded,
            ),
        };
        let mut fields = vec![accept.as_str()];
        fields.extend(kind);
        Ok(client::send(
            served.address,
            &line,
            &fields,
            body.as_bytes(),
        ))
    }
}

/// The limits of a test's queries, for a database that can be changed.
fn writable() -> Options {
    Options {
        memory_is_writable: true,
        ..engine::options(None, None)
    }
}

/// The beginning of a body.
fn shown(answer: &Answer) -> String {
    let text = String::from_utf8_lossy(&answer.body);
    text.chars().take(600).collect()
}
