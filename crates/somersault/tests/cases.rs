//! The case files of `testdata/cases`, through the façade, with one thread and with two.

use crate::support;

use std::path::Path;
use testkit::graph::{self, Format};
use testkit::{Answer, cases};

fn engine(trig: &str, query: &str, threads: usize) -> Result<Answer, String> {
    let dataset = graph::parse(trig).map_err(|error| format!("the fixture: {error}"))?;
    let text = graph::write(&dataset, Format::NQuads);
    let database = support::loaded(&text, Format::NQuads, threads)?;
    support::answer(&database, query, threads).map_err(support::NoAnswer::message)
}

#[test]
fn every_case_holds() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata/cases");
    let cases = cases::read_folder(&folder).unwrap();
    let mut complaints = Vec::new();
    for threads in [1, 2] {
        for case in &cases {
            let given = engine(&case.graph, &case.query, threads);
            complaints.extend(case.check(given).err());
        }
    }
    eprintln!(
        "cases: {} on one and two threads, {} failed",
        cases.len(),
        complaints.len()
    );
    assert!(complaints.is_empty(), "{}", complaints.join("\n\n"));
}
