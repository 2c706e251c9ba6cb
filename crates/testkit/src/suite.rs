//! The W3C's SPARQL suites: manifests, data, expected results and their comparison.
//!
//! ```text
//! manifest.ttl ── manifest ──> Suite, Case ──┬── data ──> dataset, input   ──> engine ──> Results
//!                    │                       └── results ──> Expected ───────> compare <──┘
//!                requests (ht: vocabulary of the protocols)        report: one line a suite
//! ```
//!
//! Whoever runs a suite gives a function from a [`SuiteCase`] to a verdict, and a table of tests that it
//! leaves out, each with its reason; for updates there is [`update::check`], which asks an [`Updates`]. What a suite says about lexical forms: terms are compared as
//! terms; only a number in a variable that the query computes (`AS ?x`) may be written in another
//! form of the same value and datatype (`2.0` and `2` as decimals), because most of the suites were
//! written before XSD 1.1 changed the canonical form of decimals. What stands in the data has to
//! come back as it stands there.
//!
//! The tests are W3C data, and are not part of this repository: [`root`] says where they are sought.

pub mod case;
pub mod compare;
pub mod data;
pub mod hold;
pub mod manifest;
pub mod report;
pub mod requests;
pub mod results;
pub mod update;

pub use case::{CaseKind, Document, SuiteCase};
pub use manifest::Suite;
pub use report::{Report, Verdict};
pub use results::{ExpectedResults, Results};
pub use update::Updates;

use oxrdf::{Graph, NamedNodeRef, NamedOrBlankNodeRef, TermRef};
use std::path::PathBuf;

/// Stands for the folder of the suites in all IRIs.
pub const ROOT: &str = "http://w3c.test/";
/// The vocabulary of manifests.
const MANIFEST: &str = "http://www.w3.org/2001/sw/DataAccess/tests/test-manifest#";

/// The folder of the suites: `shared/w3c` beside the checkout. Nothing if it is not there.
pub fn root() -> Option<PathBuf> {
    let root = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../../shared/w3c");
    root.is_dir().then_some(root)
}

/// The first object of a subject and a predicate.
fn object<'g>(
    graph: &'g Graph,
    subject: NamedOrBlankNodeRef<'_>,
    predicate: &str,
) -> Option<TermRef<'g>> {
    graph.object_for_subject_predicate(subject, NamedNodeRef::new_unchecked(predicate))
}

/// All objects of a subject and a predicate, in an order that is the same in each run.
fn objects<'g>(
    graph: &'g Graph,
    subject: NamedOrBlankNodeRef<'_>,
    predicate: &str,
) -> Vec<TermRef<'g>> {
    let predicate = NamedNodeRef::new_unchecked(predicate);
    let objects = graph.objects_for_subject_predicate(subject, predicate);
    let mut objects: Vec<TermRef<'g>> = objects.collect();
    objects.sort_by_key(ToString::to_string);
    objects
}

/// The items of an RDF list; a list that comes back to itself ends there.
fn items<'g>(graph: &'g Graph, list: TermRef<'g>) -> Vec<TermRef<'g>> {
    let (mut items, mut rest) = (Vec::new(), node(list));
    while let Some(here) = rest {
        let Some(first) = object(graph, here, oxrdf::vocab::rdf::FIRST.as_str()) else {
            break;
        };
        if items.len() > graph.len() {
            break;
        }
        items.push(first);
        rest = object(graph, here, oxrdf::vocab::rdf::REST.as_str()).and_then(node);
    }
    items
}

/// A term that can have properties.
fn node(term: TermRef<'_>) -> Option<NamedOrBlankNodeRef<'_>> {
    match term {
        TermRef::NamedNode(iri) => Some(iri.into()),
        TermRef::BlankNode(blank) => Some(blank.into()),
        TermRef::Literal(_) | TermRef::Triple(_) => None,
    }
}

/// An IRI or a literal's lexical form.
fn text(term: TermRef<'_>) -> Option<String> {
    match term {
        TermRef::NamedNode(iri) => Some(iri.as_str().to_owned()),
        TermRef::Literal(literal) => Some(literal.value().to_owned()),
        TermRef::BlankNode(_) | TermRef::Triple(_) => None,
    }
}
