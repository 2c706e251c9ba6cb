//! Manifests: which tests there are, and which files they are about.
//!
//! A manifest is Turtle; its relative IRIs resolve against its own IRI, and `mf:include` leads on to
//! others. The tests of one folder are one suite, named after it (`sparql11-aggregates`). A manifest
//! that does not read is an error with its file: a suite must not shrink unnoticed.

use super::case::{CaseKind, Document, SuiteCase};
use super::requests;
use super::{MANIFEST, ROOT, data, items, node, object, objects, text};
use oxrdf::vocab::{rdf, rdfs};
use oxrdf::{Graph, NamedNodeRef, NamedOrBlankNodeRef, TermRef};
use std::collections::HashSet;
use std::path::Path;

const QUERY: &str = "http://www.w3.org/2001/sw/DataAccess/tests/test-query#";
const UPDATE: &str = "http://www.w3.org/2009/sparql/tests/test-update#";
const SERVICE: &str = "http://www.w3.org/ns/sparql-service-description#";

/// The tests of a folder.
#[derive(Clone, Debug)]
pub struct Suite {
    /// The path from the root with hyphens: `sparql11-aggregates`.
    pub name: String,
    /// Its tests, in the order of the manifests.
    pub cases: Vec<SuiteCase>,
}

/// All suites of a version (`sparql10`, `sparql11`, `sparql12`). Its `manifest.ttl` need not lead to
/// all of them; where there is a `manifest-all.ttl`, that does.
pub fn of_version(root: &Path, version: &str) -> Result<Vec<Suite>, String> {
    let starts = ["manifest-all.ttl", "manifest.ttl"].map(|file| format!("{version}/{file}"));
    let start = starts
        .iter()
        .find(|start| root.join(start.as_str()).is_file());
    let start = start.ok_or_else(|| format!("{version} has no manifest"))?;
    read(root, start)
}

/// All suites that a manifest leads to, in its order; `start` is a path below the root.
fn read(root: &Path, start: &str) -> Result<Vec<Suite>, String> {
    let mut suites: Vec<Suite> = Vec::new();
    let mut seen = HashSet::new();
    let mut waiting = vec![format!("{ROOT}{start}")];
    while let Some(iri) = waiting.pop() {
        if !seen.insert(iri.clone()) {
            continue;
        }
        let document = Document::of(root, &iri).ok_or_else(|| format!("{iri} is not a suite's"))?;
        let graph: Graph = data::triples(&document)?.into_iter().collect();
        let includes = linked(&graph, "include");
        waiting.extend(includes.into_iter().rev().filter_map(text));
        let folder = iri[ROOT.len()..].rsplit_once('/').map_or("", |(to, _)| to);
        let name = folder.replace('/', "-");
        for entry in linked(&graph, "entries") {
            let entry = node(entry).ok_or_else(|| format!("{iri}: {entry} is no test"))?;
            let case = case(root, &name, &graph, entry).map_err(|why| format!("{iri}: {why}"))?;
            match suites.iter_mut().find(|suite| suite.name == name) {
                Some(suite) => suite.cases.push(case),
                None => suites.push(Suite {
                    name: name.clone(),
                    cases: vec![case],
                }),
            }
        }
    }
    Ok(suites)
}

/// The items of the lists that a manifest's property has.
fn linked<'g>(graph: &'g Graph, property: &str) -> Vec<TermRef<'g>> {
    let predicate = format!("{MANIFEST}{property}");
    let lists = graph.triples_for_predicate(NamedNodeRef::new_unchecked(&predicate));
    lists
        .flat_map(|triple| items(graph, triple.object))
        .collect()
}

fn case(
    root: &Path,
    suite: &str,
    graph: &Graph,
    entry: NamedOrBlankNodeRef<'_>,
) -> Result<SuiteCase, String> {
    let name = entry.to_string();
    let name = name.trim_matches(['<', '>']).rsplit(['#', '/']).next();
    let name = name.unwrap_or_default().to_owned();
    let classes = objects(graph, entry, rdf::TYPE.as_str());
    let mut kinds = classes.into_iter().filter_map(text);
    let kind = kinds.find_map(|class| CaseKind::of(&class));
    let kind = kind.ok_or_else(|| format!("{name} is of no known kind"))?;
    let action = object(graph, entry, &format!("{MANIFEST}action"));
    let reader = Reader { root, graph };
    let mut case = SuiteCase {
        root: root.to_owned(),
        suite: suite.to_owned(),
        kind,
        query: None,
        data: Vec::new(),
        named: reader.graphs(entry, UPDATE)?,
        services: Vec::new(),
        result: None,
        left: Vec::new(),
        left_named: Vec::new(),
        is_lax: object(graph, entry, &format!("{MANIFEST}resultCardinality")).is_some(),
        has_regime: false,
        exchanges: Vec::new(),
        name,
    };
    let result = object(graph, entry, &format!("{MANIFEST}result"));
    if kind.is_update() {
        if let Some(left) = result.and_then(node) {
            case.left = reader.documents(left, &format!("{UPDATE}data"))?;
            case.left_named = reader.graphs(left, UPDATE)?;
        }
    } else {
        case.result = result.map(|iri| reader.document(iri)).transpose()?;
    }
    match action {
        Some(TermRef::NamedNode(iri)) => case.query = Some(reader.document(iri.into())?),
        Some(TermRef::BlankNode(action)) => reader.action(action.into(), &mut case)?,
        Some(other) => return Err(format!("{}: {other} is no action", case.name)),
        None => {}
    }
    // Some manifests give updates the classes of queries.
    if case
        .query
        .as_ref()
        .is_some_and(|query| query.extension() == "ru")
    {
        case.kind = match case.kind {
            CaseKind::PositiveSyntax => CaseKind::PositiveUpdateSyntax,
            CaseKind::NegativeSyntax => CaseKind::NegativeUpdateSyntax,
            other => other,
        };
    }
    Ok(case)
}

struct Reader<'g> {
    root: &'g Path,
    graph: &'g Graph,
}

impl<'g> Reader<'g> {
    fn action(&self, action: NamedOrBlankNodeRef<'_>, case: &mut SuiteCase) -> Result<(), String> {
        for property in [format!("{QUERY}query"), format!("{UPDATE}request")] {
            if let Some(query) = object(self.graph, action, &property) {
                case.query = Some(self.document(query)?);
            }
        }
        for property in [format!("{QUERY}data"), format!("{UPDATE}data")] {
            case.data.extend(self.documents(action, &property)?);
        }
        for vocabulary in [QUERY, UPDATE] {
            case.named.extend(self.graphs(action, vocabulary)?);
        }
        for service in objects(self.graph, action, &format!("{QUERY}serviceData")) {
            let service = node(service).ok_or("service data without properties")?;
            let endpoint = object(self.graph, service, &format!("{QUERY}endpoint"));
            let endpoint = endpoint.and_then(text).ok_or("service data of nobody")?;
            for document in self.documents(service, &format!("{QUERY}data"))? {
                case.services.push((endpoint.clone(), document));
            }
        }
        let regime = format!("{SERVICE}entailmentRegime");
        case.has_regime = object(self.graph, action, &regime).is_some();
        case.exchanges = requests::read(self.graph, action)?;
        Ok(())
    }

    /// Named graphs: a file under its own IRI, or a node with a file and a label that names it.
    fn graphs(
        &self,
        subject: NamedOrBlankNodeRef<'_>,
        vocabulary: &str,
    ) -> Result<Vec<(String, Document)>, String> {
        let mut graphs = Vec::new();
        for given in objects(self.graph, subject, &format!("{vocabulary}graphData")) {
            let TermRef::BlankNode(described) = given else {
                let document = self.document(given)?;
                graphs.push((document.iri.clone(), document));
                continue;
            };
            let file = [QUERY, UPDATE].into_iter().find_map(|vocabulary| {
                object(self.graph, described.into(), &format!("{vocabulary}graph"))
            });
            let document = self.document(file.ok_or("a graph without a file")?)?;
            let label = object(self.graph, described.into(), rdfs::LABEL.as_str());
            let name = label.and_then(text).unwrap_or_else(|| document.iri.clone());
            graphs.push((name, document));
        }
        Ok(graphs)
    }

    fn documents(
        &self,
        subject: NamedOrBlankNodeRef<'_>,
        predicate: &str,
    ) -> Result<Vec<Document>, String> {
        let files = objects(self.graph, subject, predicate).into_iter();
        files.map(|file| self.document(file)).collect()
    }

    fn document(&self, iri: TermRef<'g>) -> Result<Document, String> {
        let file = text(iri).and_then(|iri| Document::of(self.root, &iri));
        file.ok_or_else(|| format!("{iri} is not a file of the suites"))
    }
}
