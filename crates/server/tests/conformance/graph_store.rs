//! The reading side of the Graph Store Protocol: every GET and HEAD of the W3C's suite.
//!
//! The suite's tests write and read in turn. Writing is not there yet, so what a test writes is done
//! to a dataset here, which a server then has when a read is due; the reads, and what they answer,
//! are the suite's. `post_get_new_graph` is left out and not counted: it is about the name that a
//! server gives to a new graph. Counted under the name of the suite with `(reading)`.

use crate::client::Answer;
use crate::served::Served;
use crate::{engine, protocol};
use somersault::oxrdf::{Dataset, GraphName, NamedNode, QuadRef, Triple};
use testkit::suite::requests::{Exchange, Reply};
use testkit::suite::{Case, Expected, Kind, Results, Verdict, compare, data};

/// The authority that requests are sent to, and thus of the graphs that a path names.
const AUTHORITY: &str = "http://localhost";

#[test]
fn reads_of_the_graph_store_protocol() {
    let chosen = |case: &Case| case.kind == Kind::GraphStore && case.name != "post_get_new_graph";
    crate::run_suite(
        "sparql11-graph-store-protocol",
        "reading",
        12,
        chosen,
        check,
    );
}

fn check(case: &Case) -> Verdict {
    let mut dataset = Dataset::new();
    let mut reads = 0;
    for (number, exchange) in case.exchanges.iter().enumerate() {
        if let "GET" | "HEAD" = exchange.method.as_str() {
            reads += 1;
            let input = data::input_of_dataset(&dataset);
            let served = Served::new(engine::loaded(&input, &engine::options(None))?)?;
            let answer = protocol::send(&served, exchange, "/gsp", "/store");
            judge(&exchange.expected, &answer, exchange.method == "HEAD")
        } else {
            write(&mut dataset, exchange)
        }
        .map_err(|error| format!("request {}: {error}", number + 1))?;
    }
    if reads == 0 {
        return Err("the test reads nothing".to_owned());
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
    compare::check(&Expected::exactly(graph(body)?), &graph(&answer.body)?)
}

/// Does what a request that writes asks for.
fn write(dataset: &mut Dataset, exchange: &Exchange) -> Verdict {
    let name = graph_name(&exchange.path)?;
    if exchange.method != "POST" {
        let old = dataset.quads_for_graph_name(name.as_ref());
        let old: Vec<_> = old.map(QuadRef::into_owned).collect();
        for quad in &old {
            dataset.remove(quad);
        }
    }
    let Some(body) = &exchange.body else {
        return Ok(());
    };
    let text = std::str::from_utf8(body).map_err(|error| error.to_string())?;
    let fields = &exchange.fields;
    let kind = fields.iter().find(|(name, _)| name == "content-type");
    for text in parts(text, kind.map_or("", |(_, value)| value))? {
        for quad in data::parsed(text.as_bytes(), "ttl", AUTHORITY)? {
            dataset.insert(&Triple::from(quad).in_graph(name.clone()));
        }
    }
    Ok(())
}

/// The Turtle texts of a body: itself, or the parts of a form.
fn parts(text: &str, media_type: &str) -> Result<Vec<String>, String> {
    let Some((_, boundary)) = media_type.split_once("boundary=") else {
        return Ok(vec![text.to_owned()]);
    };
    let text = text.replace("\r\n", "\n");
    let boundary = format!("--{boundary}");
    let between = text.split(&boundary).skip(1);
    let between = between.take_while(|part| !part.starts_with("--"));
    let body = |part: &str| {
        let (_, body) = part.split_once("\n\n").ok_or("a part without a body")?;
        Ok(body.to_owned())
    };
    between.map(body).collect()
}

/// The graph that a request is about.
fn graph_name(path: &str) -> Result<GraphName, String> {
    let path = path.replacen("/gsp", "/store", 1);
    let iri = match path.split_once('?') {
        Some((_, "default")) => return Ok(GraphName::DefaultGraph),
        Some((_, query)) => {
            let encoded = query.strip_prefix("graph=").ok_or("no graph is named")?;
            let decoded = percent_encoding::percent_decode_str(encoded).decode_utf8();
            decoded.map_err(|error| error.to_string())?.into_owned()
        }
        None => format!("{AUTHORITY}{path}"),
    };
    let name = NamedNode::new(iri).map_err(|error| error.to_string())?;
    Ok(name.into())
}
