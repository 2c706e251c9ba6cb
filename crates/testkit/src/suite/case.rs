//! A test of a suite: its kind, its files, and the requests that it sends.
//!
//! Manifests make tests, and readers of data, results and reports take them, so a test stands below all of these.
//! A test names its files and does not hold them: a suite is listed without reading its data.

use super::requests::Exchange;
use super::{MANIFEST, ROOT};
use std::path::{Path, PathBuf};

/// What a test asks of an engine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CaseKind {
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

impl CaseKind {
    /// The kind that a class of the manifests' vocabulary stands for.
    pub(super) fn of(class: &str) -> Option<CaseKind> {
        Some(match class.strip_prefix(MANIFEST)? {
            "QueryEvaluationTest" => CaseKind::QueryEvaluation,
            "CSVResultFormatTest" => CaseKind::CsvResult,
            "PositiveSyntaxTest" | "PositiveSyntaxTest11" => CaseKind::PositiveSyntax,
            "NegativeSyntaxTest" | "NegativeSyntaxTest11" => CaseKind::NegativeSyntax,
            "UpdateEvaluationTest" => CaseKind::UpdateEvaluation,
            "PositiveUpdateSyntaxTest" | "PositiveUpdateSyntaxTest11" => {
                CaseKind::PositiveUpdateSyntax
            }
            "NegativeUpdateSyntaxTest" | "NegativeUpdateSyntaxTest11" => {
                CaseKind::NegativeUpdateSyntax
            }
            "ProtocolTest" => CaseKind::Protocol,
            "GraphStoreProtocolTest" => CaseKind::GraphStore,
            "ServiceDescriptionTest" => CaseKind::ServiceDescription,
            _ => return None,
        })
    }

    /// Whether a query has an answer to compare.
    pub fn is_evaluation(self) -> bool {
        matches!(self, CaseKind::QueryEvaluation | CaseKind::CsvResult)
    }

    /// Whether it is about a query's text alone.
    pub fn is_syntax(self) -> bool {
        matches!(self, CaseKind::PositiveSyntax | CaseKind::NegativeSyntax)
    }

    /// Whether it is about an update's text alone.
    pub fn is_update_syntax(self) -> bool {
        self.is_update() && self != CaseKind::UpdateEvaluation
    }

    /// Whether it is about an update.
    pub fn is_update(self) -> bool {
        matches!(
            self,
            CaseKind::UpdateEvaluation
                | CaseKind::PositiveUpdateSyntax
                | CaseKind::NegativeUpdateSyntax
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
pub struct SuiteCase {
    /// The folder of the suites.
    pub root: PathBuf,
    /// The suite's name.
    pub suite: String,
    /// The last part of the test's IRI, which is its name within the suite.
    pub name: String,
    /// What it asks.
    pub kind: CaseKind,
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

impl SuiteCase {
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
