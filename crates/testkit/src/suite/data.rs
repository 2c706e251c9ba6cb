//! The data of a test: files of graphs, as a dataset or as the one text that an engine loads.
//!
//! A graph is named as the manifest says; a query that names files in its dataset clause, and a
//! manifest that names none, means those files. Blank nodes of two files are never the same node.

use super::case::{Document, SuiteCase};
use crate::graph::{self, Format};
use oxrdf::{BlankNode, Dataset, GraphName, NamedNode, NamedOrBlankNode, Quad, Term, Triple};
use oxrdfxml::RdfXmlParser;
use oxttl::{NQuadsParser, TriGParser};
use spargebra::SparqlParser;

/// A text that an engine loads.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Input {
    /// A name whose extension says the format.
    pub name: String,
    /// The text.
    pub bytes: Vec<u8>,
    /// What its relative IRIs are resolved against.
    pub base: String,
}

/// The whole dataset of a test.
pub fn dataset(case: &SuiteCase) -> Result<Dataset, String> {
    merged(&case.data, &named(case))
}

/// The dataset that an update is to leave.
pub fn left(case: &SuiteCase) -> Result<Dataset, String> {
    merged(&case.left, &case.left_named)
}

fn merged(data: &[Document], named: &[(String, Document)]) -> Result<Dataset, String> {
    let mut dataset = Dataset::new();
    let mut files = 0;
    for document in data {
        files += 1;
        dataset.extend(quads(document)?.into_iter().map(|quad| apart(quad, files)));
    }
    for (name, document) in named {
        files += 1;
        let name = NamedNode::new(name).map_err(|error| format!("{name}: {error}"))?;
        for triple in triples(document)? {
            dataset.insert(&apart(triple.in_graph(name.clone()), files));
        }
    }
    Ok(dataset)
}

/// What an engine loads for a test: the one file as it is, or all of them as N-Quads.
pub fn input(case: &SuiteCase) -> Result<Input, String> {
    if let ([document], true) = (&case.data[..], named(case).is_empty()) {
        return input_of(document);
    }
    Ok(input_of_dataset(&dataset(case)?))
}

/// A file as it is.
pub fn input_of(document: &Document) -> Result<Input, String> {
    let name = document.iri.rsplit('/').next().unwrap_or_default();
    Ok(Input {
        name: name.to_owned(),
        bytes: document.read()?,
        base: document.iri.clone(),
    })
}

/// A dataset as N-Quads.
pub fn input_of_dataset(dataset: &Dataset) -> Input {
    Input {
        name: "dataset.nq".to_owned(),
        bytes: graph::write(dataset, Format::NQuads).into_bytes(),
        base: super::ROOT.to_owned(),
    }
}

/// The named graphs: those of the manifest, and files that the query's dataset clause names.
fn named(case: &SuiteCase) -> Vec<(String, Document)> {
    let mut named = case.named.clone();
    let Ok(text) = case.text() else { return named };
    let Ok(parser) = SparqlParser::new().with_base_iri(case.base()) else {
        return named;
    };
    let Ok(query) = parser.parse_query(&text) else {
        return named;
    };
    let clause = query.dataset();
    let default = clause.iter().flat_map(|clause| &clause.default);
    let others = clause
        .iter()
        .flat_map(|clause| clause.named.iter().flatten());
    for graph in default.chain(others) {
        if named.iter().any(|(name, _)| name == graph.as_str()) {
            continue;
        }
        let file = Document::of(&case.root, graph.as_str()).filter(|file| file.path.is_file());
        named.extend(file.map(|file| (graph.as_str().to_owned(), file)));
    }
    named
}

/// The triples of a file, in its default graph.
pub fn triples(document: &Document) -> Result<Vec<Triple>, String> {
    let quads = quads(document)?.into_iter();
    Ok(quads.map(Triple::from).collect())
}

/// The quads of a file, in the format that its extension says.
pub fn quads(document: &Document) -> Result<Vec<Quad>, String> {
    let failed = |error: String| format!("{}: {error}", document.iri);
    parsed(&document.read()?, document.extension(), &document.iri).map_err(failed)
}

/// The quads of a text; formats are named by extension.
pub fn parsed(bytes: &[u8], extension: &str, base: &str) -> Result<Vec<Quad>, String> {
    match extension {
        "nq" => collected(NQuadsParser::new().for_slice(bytes)),
        "rdf" | "xml" => {
            let parser = RdfXmlParser::new().with_base_iri(base);
            let triples = parser.map_err(|error| error.to_string())?.for_slice(bytes);
            collected(
                triples.map(|triple| triple.map(|triple| triple.in_graph(GraphName::DefaultGraph))),
            )
        }
        "ttl" | "nt" | "trig" => {
            let parser = TriGParser::new().with_base_iri(base);
            collected(parser.map_err(|error| error.to_string())?.for_slice(bytes))
        }
        other => Err(format!("no graph format has the extension {other:?}")),
    }
}

fn collected<E: ToString>(
    quads: impl Iterator<Item = Result<Quad, E>>,
) -> Result<Vec<Quad>, String> {
    quads
        .map(|quad| quad.map_err(|error| error.to_string()))
        .collect()
}

/// The quad with blank nodes that only this file has.
fn apart(quad: Quad, file: usize) -> Quad {
    let blank = |blank: BlankNode| BlankNode::new_unchecked(format!("f{file}{}", blank.as_str()));
    let graph_name = match quad.graph_name {
        GraphName::BlankNode(name) => blank(name).into(),
        other => other,
    };
    let triple = apart_triple(
        Triple::new(quad.subject, quad.predicate, quad.object),
        &blank,
    );
    triple.in_graph(graph_name)
}

/// Recursion is as deep as the triple terms of a test are nested.
fn apart_triple(triple: Triple, blank: &impl Fn(BlankNode) -> BlankNode) -> Triple {
    let subject = match triple.subject {
        NamedOrBlankNode::BlankNode(subject) => blank(subject).into(),
        other @ NamedOrBlankNode::NamedNode(_) => other,
    };
    let object = match triple.object {
        Term::BlankNode(object) => blank(object).into(),
        Term::Triple(inner) => apart_triple(*inner, blank).into(),
        other => other,
    };
    Triple::new(subject, triple.predicate, object)
}
