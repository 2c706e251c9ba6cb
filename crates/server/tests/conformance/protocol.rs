//! The SPARQL 1.1 Protocol: the requests of the W3C's suite, sent as it has them.
//!
//! Requests are read from the manifest, with the path of its endpoint replaced by ours. The data is
//! what the manifest names, under the names it gives; each test has a server of its own, which
//! everybody may change.

use crate::client::{self, Answer};
use crate::engine;
use crate::served::Served;
use testkit::suite::requests::{Exchange, Reply};
use testkit::suite::{CaseKind, Results, SuiteCase, Verdict, data, results};

#[test]
fn operations_of_the_protocol() {
    let chosen = |case: &SuiteCase| case.kind == CaseKind::Protocol;
    crate::run_suite("sparql11-protocol", "HTTP", 34, chosen, check);
}

fn check(case: &SuiteCase) -> Verdict {
    let input = data::input_of_dataset(&data::dataset(case)?);
    let served = Served::new(engine::loaded(&input, &crate::writable())?)?;
    if case.exchanges.is_empty() {
        return Err("the test has no requests".to_owned());
    }
    for (number, exchange) in case.exchanges.iter().enumerate() {
        let answer = send(&served, exchange, "/sparql/", "/sparql");
        judge(&exchange.expected, &answer)
            .map_err(|error| format!("request {}: {error}", number + 1))?;
    }
    Ok(())
}

/// Sends a request, with one path in the place of another.
pub fn send(served: &Served, exchange: &Exchange, theirs: &str, ours: &str) -> Answer {
    let path = exchange.path.replacen(theirs, ours, 1);
    let line = format!("{} {path}", exchange.method);
    let fields = exchange.fields.iter();
    let fields: Vec<String> = fields
        .map(|(name, value)| format!("{name}: {value}"))
        .collect();
    let fields: Vec<&str> = fields.iter().map(String::as_str).collect();
    let body = exchange.body.as_deref().unwrap_or_default();
    client::send(served.address, &line, &fields, body)
}

fn judge(expected: &Reply, answer: &Answer) -> Verdict {
    if !expected.allows(answer.status) {
        let (status, statuses) = (answer.status, &expected.statuses);
        return Err(format!(
            "expected {statuses:?}, got {status}: {}",
            crate::shown(answer)
        ));
    }
    let Some(format) = &expected.format else {
        return Ok(());
    };
    let media_type = answer.field("content-type");
    let given = results::of_media_type(&answer.body, media_type, "http://localhost/sparql")?;
    match (format.as_str(), given, expected.boolean) {
        ("boolean", Results::Boolean(given), Some(wanted)) if given != wanted => {
            Err(format!("expected {wanted}, got {given}"))
        }
        ("boolean", Results::Boolean(_), _)
        | ("tabular", Results::Solutions { .. }, _)
        | ("RDF", Results::Graph(_), _) => Ok(()),
        (wanted, _, _) => Err(format!("expected {wanted}, got {media_type}")),
    }
}
