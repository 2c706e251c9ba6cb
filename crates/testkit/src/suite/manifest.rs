//! Manifests: which tests there are, and which files they are about.
//!
//! A manifest is Turtle; its relative IRIs resolve against its own IRI, and `mf:include` leads on to
//! others. The tests of one folder are one suite, named after it (`sparql11-aggregates`). A manifest
//! that does not read is an error with its file: a suite must not shrink unnoticed.

use super::requests::{self, Exchange};
use super::{ROOT, data, items, node, object, objects, text};
use oxrdf::vocab::{rdf, rdfs};
use oxrdf::{Graph, NamedNodeRef, NamedOrBlankNodeRef, TermRef};
use std::collections::HashSet;
use std::path::{Path, PathBuf};

/// The vocabulary of manifests.
pub(super) const MANIFEST: &str = "http://www.w3.org/2001/sw/DataAccess/tests/test-manifest#";
const QUERY: &str = "http://www.w3.org/2001/sw/DataAccess/tests/test-query#";
const UPDATE: &str = "http://www.w3.org/2009/sparql/tests/test-update#";
const SERVICE: &str = "http://www.w3.org/ns/sparql-service-description#";

/// What a test asks of an engine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A query's answer.
    QueryEvaluation,
    /// A query's answer as CSV.
    CsvResult,
    /// A query that is to be accepted.
    PositiveSyntax,
    /// A query that is to be refused.
    NegativeSyntax,
    /// What an update makes of a dataset.
    UpdateEvaluation,
    /// An update that is to be accepted.
    PositiveUpdateSyntax,
    /// An update that is to be refused.
    NegativeUpdateSyntax,
    /// Requests of the SPARQL Protocol.
    Protocol,
    /// Requests of the Graph Store Protocol.
    GraphStore,
    /// What a service says about itself.
    ServiceDescription,
}

impl Kind {
    fn of(class: &str) -> Option<Kind> {
        Some(match class.strip_prefix(MANIFEST)? {
            "QueryEvaluationTest" => Kind::QueryEvaluation,
            "CSVResultFormatTest" => Kind::CsvResult,
            "PositiveSyntaxTest" | "PositiveSyntaxTest11" => Kind::PositiveSyntax,
            "NegativeSyntaxTest" | "NegativeSyntaxTest11" => Kind::NegativeSyntax,
            "UpdateEvaluationTest" => Kind::UpdateEvaluation,
            "PositiveUpdateSyntaxTest" | "PositiveUpdateSyntaxTest11" => Kind::PositiveUpdateSyntax,
            "NegativeUpdateSyntaxTest" | "NegativeUpdateSyntaxTest11" => Kind::NegativeUpdateSyntax,
            "ProtocolTest" => Kind::Protocol,
            "GraphStoreProtocolTest" => Kind::GraphStore,
            "ServiceDescriptionTest" => Kind::ServiceDescription,
            _ => return None,
        })
    }

    /// Whether a query has an answer to compare.
    pub fn is_evaluation(self) -> bool {
        matches!(self, Kind::QueryEvaluation | Kind::CsvResult)
    }

    /// Whether it is about a query's text alone.
    pub fn is_syntax(self) -> bool {
        matches!(self, Kind::PositiveSyntax | Kind::NegativeSyntax)
    }

    /// Whether it is about an update's text alone.
    pub fn is_update_syntax(self) -> bool {
        self.is_update() && self != Kind::UpdateEvaluation
    }

    /// Whether it is about an update.
    pub fn is_update(self) -> bool {
        matches!(
            self,
            Kind::UpdateEvaluation | Kind::PositiveUpdateSyntax | Kind::NegativeUpdateSyntax
        )
    }
}

/// A file of a suite.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Document {
    /// Its IRI, which is also its base.
    pub iri: String,
    /// Where it is.
    pub path: PathBuf,
}

impl Document {
    /// The file that an IRI below [`ROOT`] stands for.
    pub fn of(root: &Path, iri: &str) -> Option<Document> {
        Some(Document {
            path: root.join(iri.strip_prefix(ROOT)?),
            iri: iri.to_owned(),
        })
    }

    /// Its bytes.
    pub fn read(&self) -> Result<Vec<u8>, String> {
        std::fs::read(&self.path).map_err(|error| format!("{}: {error}", self.path.display()))
    }

    /// Its name's extension, without the dot.
    pub fn extension(&self) -> &str {
        self.iri.rsplit_once('.').map_or("", |(_, end)| end)
    }
}

/// A test.
#[derive(Clone, Debug)]
pub struct Case {
    /// The folder of the suites.
    pub root: PathBuf,
    /// The suite's name.
    pub suite: String,
    /// The last part of the test's IRI, which is its name within the suite.
    pub name: String,
    /// What it asks.
    pub kind: Kind,
    /// The query or update.
    pub query: Option<Document>,
    /// Files of the default graph.
    pub data: Vec<Document>,
    /// Names of graphs, with their files.
    pub named: Vec<(String, Document)>,
    /// Other endpoints, with the files of their default graphs.
    pub services: Vec<(String, Document)>,
    /// The file of what is expected.
    pub result: Option<Document>,
    /// What an update leaves: files of the default graph.
    pub left: Vec<Document>,
    /// What an update leaves: names of graphs, with their files.
    pub left_named: Vec<(String, Document)>,
    /// Duplicates may be missing from the answer.
    pub is_lax: bool,
    /// It is asked under an entailment regime.
    pub has_regime: bool,
    /// Requests of a protocol, with the responses that are expected.
    pub exchanges: Vec<Exchange>,
}

impl Case {
    /// The query's text.
    pub fn text(&self) -> Result<String, String> {
        let document = self.query.as_ref().ok_or("the test names no query")?;
        String::from_utf8(document.read()?).map_err(|error| error.to_string())
    }

    /// What the query's relative IRIs are resolved against.
    pub fn base(&self) -> &str {
        self.query.as_ref().map_or(ROOT, |query| &query.iri)
    }
}

/// The tests of a folder.
#[derive(Clone, Debug)]
pub struct Suite {
    /// The path from the root with hyphens: `sparql11-aggregates`.
    pub name: String,
    /// Its tests, in the order of the manifests.
    pub cases: Vec<Case>,
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
) -> Result<Case, String> {
    let name = entry.to_string();
    let name = name.trim_matches(['<', '>']).rsplit(['#', '/']).next();
    let name = name.unwrap_or_default().to_owned();
    let classes = objects(graph, entry, rdf::TYPE.as_str());
    let mut kinds = classes.into_iter().filter_map(text);
    let kind = kinds.find_map(|class| Kind::of(&class));
    let kind = kind.ok_or_else(|| format!("{name} is of no known kind"))?;
    let action = object(graph, entry, &format!("{MANIFEST}action"));
    let reader = Reader { root, graph };
    let mut case = Case {
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
            Kind::PositiveSyntax => Kind::PositiveUpdateSyntax,
            Kind::NegativeSyntax => Kind::NegativeUpdateSyntax,
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
    fn action(&self, action: NamedOrBlankNodeRef<'_>, case: &mut Case) -> Result<(), String> {
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
