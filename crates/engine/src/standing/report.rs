//! What a standing query reports: its rows at one close.

pub(super) mod document;

use crate::error::QueryError;
use crate::output::{ResultFormat, ResultWriter, Rows, Sink};
use oxrdf::{Term, TermRef};
use rdf::TermBuffer;
use std::cmp::Ordering;
use std::fmt::Write;
use std::io;
use std::sync::Arc;
use std::time::Duration;

/// A row of a report: a term for each variable, or three for a triple.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ReportRow(pub Vec<Option<Term>>);

impl ReportRow {
    /// A row of a batch that was decoded.
    pub(super) fn of(batch: &Rows, row: usize) -> ReportRow {
        let cells = batch.row(row).map(|term| term.map(TermRef::into_owned));
        ReportRow(cells.collect())
    }

    /// What it holds, about (bytes).
    pub(super) fn bytes(&self) -> u64 {
        let text = |term: &Term| match term {
            Term::NamedNode(node) => node.as_str().len(),
            Term::BlankNode(node) => node.as_str().len(),
            Term::Literal(literal) => literal.value().len() + literal.datatype().as_str().len(),
            Term::Triple(triple) => triple.to_string().len(),
        };
        let cell = |term: &Option<Term>| size_of::<Option<Term>>() + term.as_ref().map_or(0, text);
        self.0.iter().map(cell).sum::<usize>() as u64
    }

    fn texts(&self) -> impl Iterator<Item = Option<String>> {
        self.0
            .iter()
            .map(|term| term.as_ref().map(ToString::to_string))
    }
}

impl Ord for ReportRow {
    /// By the terms as N-Triples writes them: equal terms alone are equal.
    fn cmp(&self, other: &ReportRow) -> Ordering {
        self.texts().cmp(other.texts())
    }
}

impl PartialOrd for ReportRow {
    fn partial_cmp(&self, other: &ReportRow) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// What the rows of a report are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReportKind {
    /// Solutions of a `SELECT`.
    Solutions,
    /// Whether an `ASK` is so: one row without columns, or none.
    Boolean,
    /// The triples of a `CONSTRUCT`.
    Graph,
}

/// One report of a standing query.
#[derive(Clone, Debug, PartialEq)]
pub struct StandingReport {
    /// The query's name.
    pub query: String,
    /// Which of a template's instances it is of; `None`: the query is none, or it is of all of them.
    pub instance: Option<Arc<str>>,
    /// The moment that it is of (milliseconds since the epoch).
    pub close_ms: u64,
    /// The number of the snapshot that its stored side was.
    pub snapshot: u64,
    /// What the rows are.
    pub kind: ReportKind,
    /// The projected variables, without question mark; of a graph `subject`, `predicate`, `object`.
    pub variables: Vec<String>,
    /// How often what was told of this close has changed; 0 for the report itself (`late=revise`).
    pub revision: u64,
    /// The rows; of a revision those that are told besides.
    pub rows: Vec<ReportRow>,
    /// Of a revision, the rows that are taken back.
    pub removed: Vec<ReportRow>,
    /// How many items its windows held, repeated ones included.
    pub items: u64,
    /// Some window lacks what came before this moment (milliseconds): it was not kept (`window_incomplete`).
    pub incomplete_before_ms: Option<u64>,
    /// How long the evaluation took, from the windows' slices to rows of terms.
    pub exec: Duration,
    /// How much of that was making terms of ids.
    pub decoding: Duration,
    /// Why there is no answer, where the evaluation failed; there are no rows then.
    pub failure: Option<QueryError>,
}

impl StandingReport {
    /// SPARQL JSON results in one line, with `close` and `query` beside `head` and `results`, and `instance` of a template's; a
    /// graph's triples are rows of `subject`, `predicate` and `object`. A failed evaluation has `error` in their place. A
    /// revision has its number as `revision`, the rows that it adds as `results`, and those that it takes back as `removed`,
    /// bindings as in `results`.
    pub fn json(&self) -> io::Result<String> {
        let name = serde_json::Value::from(self.query.as_str());
        let mut line = format!("{{\"close\":{},\"query\":{name}", self.close_ms);
        if let Some(instance) = &self.instance {
            let instance = serde_json::Value::from(&**instance);
            let _ = write!(line, ",\"instance\":{instance}");
        }
        if self.revision > 0 {
            let _ = write!(line, ",\"revision\":{}", self.revision);
        }
        if let Some(before) = self.incomplete_before_ms {
            let _ = write!(line, ",\"window_incomplete\":{before}");
        }
        if let Some(failure) = &self.failure {
            let message = serde_json::Value::from(failure.message.as_str());
            let _ = write!(line, ",\"error\":{message}}}");
            return Ok(line);
        }
        if self.revision > 0 && self.kind != ReportKind::Boolean {
            let removed: serde_json::Value = serde_json::from_str(&self.results(&self.removed)?)?;
            let _ = write!(line, ",\"removed\":{}", removed["results"]["bindings"]);
        }
        line.push(',');
        let text = self.results(&self.rows)?;
        line.push_str(text.trim_end().strip_prefix('{').unwrap_or(&text));
        Ok(line)
    }

    /// Whether it is an answer of rows that has none. What an `ASK` answers is no row, and neither is a failure.
    pub(super) fn has_no_rows(&self) -> bool {
        let has_none = self.rows.is_empty() && self.removed.is_empty();
        has_none && self.failure.is_none() && self.kind != ReportKind::Boolean
    }

    fn results(&self, rows: &[ReportRow]) -> io::Result<String> {
        let mut writer = ResultWriter::new(ResultFormat::Json, Vec::new());
        if self.kind == ReportKind::Boolean {
            writer.boolean(!rows.is_empty())?;
        } else {
            writer.head(&self.variables)?;
            writer.rows(&batch(self.variables.len(), rows.iter()))?;
            writer.finish()?;
        }
        let bytes = writer.into_output().unwrap_or_default();
        String::from_utf8(bytes).map_err(io::Error::other)
    }
}

/// Rows as columns.
pub(super) fn batch<'r>(columns: usize, told: impl Iterator<Item = &'r ReportRow>) -> Rows {
    let mut rows = Rows::default();
    rows.columns.resize_with(columns, TermBuffer::for_output);
    for row in told {
        rows.len += 1;
        for (column, term) in rows.columns.iter_mut().zip(&row.0) {
            match term {
                Some(term) => column.push(term.as_ref()),
                None => column.push_unbound(),
            }
        }
    }
    rows
}
