//! The Graph Store Protocol: every request of the W3C's suite, to one server a test.
//!
//! Paths have our store in the place of theirs. A `Location` that a request answers with is what
//! later requests of its test name.

use crate::client::Answer;
use crate::served::Served;
use crate::{engine, protocol};
use oxrdf::{Dataset, Triple};
use testkit::suite::requests::Reply;
use testkit::suite::{CaseKind, ExpectedResults, Results, SuiteCase, Verdict, compare, data};

/// The authority that requests are sent to, and thus of the graphs that a path names.
const AUTHORITY: &str = "http://localhost";

#[test]
fn requests_of_the_graph_store_protocol() {
    let chosen = |case: &SuiteCase| case.kind == CaseKind::GraphStore;
    crate::run_suite("sparql11-graph-store-protocol", "HTTP", 13, chosen, check);
}

fn check(case: &SuiteCase) -> Verdict {
    let input = data::input_of_dataset(&Dataset::new());
    let served = Served::new(engine::loaded(&input, &crate::writable())?)?;
    let mut locations: Vec<(String, String)> = Vec::new();
    if case.exchanges.is_empty() {
        return Err("the test has no requests".to_owned());
    }
    for (number, exchange) in case.exchanges.iter().enumerate() {
        let mut exchange = exchange.clone();
        for (name, location) in &locations {
            exchange.path = exchange.path.replace(name, location);
        }
        let answer = protocol::send(&served, &exchange, "/gsp", "/store");
        judge(&exchange.expected, &answer, exchange.method == "HEAD")
            .map_err(|error| format!("request {}: {error}", number + 1))?;
        if let Some(name) = &exchange.expected.location {
            let location = answer.field("location");
            if !location.starts_with(AUTHORITY) {
                return Err(format!("`{location}` is no location of ours"));
            }
            locations.push((name.clone(), location.to_owned()));
        }
    }
    Ok(())
}

fn judge(expected: &Reply, answer: &Answer, is_head: bool) -> Verdict {
    if !expected.allows(answer.status) {
        let (status, statuses) = (answer.status, &expected.statuses);
        return Err(format!(
            "expected {statuses:?}, got {status}: {}",
            crate::shown(answer)
        ));
    }
    for (name, wanted) in &expected.fields {
        let given = answer.field(name);
        if !given.eq_ignore_ascii_case(wanted) {
            return Err(format!("expected {name}: {wanted}, got {given}"));
        }
    }
    if is_head && !answer.body.is_empty() {
        return Err("an answer to HEAD has a body".to_owned());
    }
    let Some(body) = expected.body.as_ref().filter(|_| !is_head) else {
        return Ok(());
    };
    let graph = |bytes: &[u8]| -> Result<Results, String> {
        let quads = data::parsed(bytes, "ttl", AUTHORITY)?.into_iter();
        Ok(Results::Graph(quads.map(Triple::from).collect()))
    };
    compare::check(
        &ExpectedResults::exactly(graph(body)?),
        &graph(&answer.body)?,
    )
}
