//! Rows of reports and of live queries as documents: in every format that the answer of a query has.
//!
//! A journal keeps a report once, as its line of JSON ([`super::StandingReport::json`]). Whoever wants another format pays
//! for it: the line is parsed and its rows are written again. So the usual consumer costs nothing more, and a journal
//! is as long as one format.
//!
//! Cost: time in proportion to the line; memory for the document, and for [`BATCH`] rows as terms.

use super::{ReportRow, batch};
use crate::error::{Kind, QueryError};
use crate::output::graph::GraphWriter;
use crate::output::{AnswerFormat, ResultWriter, Rows, Sink};
use serde::Deserialize;
use serde_json::{Value, json};
use sparesults::{QueryResultsFormat, QueryResultsParser, ReaderQueryResultsParserOutput};
use std::fmt::Display;
use std::io;

/// Rows that are terms at once (count).
const BATCH: usize = 256;

/// A report in one of the formats of answers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReportDocument {
    /// The moment that it is of (milliseconds since the epoch).
    pub close_ms: u64,
    /// The query's name.
    pub query: String,
    /// The instance of a template that it is of.
    pub instance: Option<String>,
    /// How often what was told of this close has changed; 0 for the report itself.
    pub revision: u64,
    /// Some window lacks what came before this moment (milliseconds).
    pub incomplete_before_ms: Option<u64>,
    /// Its rows; or why the evaluation failed.
    pub answer: Result<ReportRows, String>,
}

/// The rows of a report, each time as a whole document.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReportRows {
    /// The rows; of a revision those that are told besides.
    pub told: String,
    /// Of a revision, the rows that are taken back.
    pub removed: Option<String>,
}

/// What of a line is not rows. What it is not said of here is passed over.
#[derive(Deserialize)]
struct Line {
    close: u64,
    query: String,
    instance: Option<String>,
    #[serde(default)]
    revision: u64,
    window_incomplete: Option<u64>,
    error: Option<String>,
}

/// The rows of a revision that are taken back.
#[derive(Deserialize)]
struct Removal {
    head: Value,
    removed: Option<Value>,
}

impl ReportDocument {
    /// The report of a journal's line in this format; `is_graph`: its query is a `CONSTRUCT`, whose rows are triples. An error
    /// where the format is of the other kind of answers ([`Kind::Format`]), or cannot carry a term.
    pub fn of(
        line: &str,
        is_graph: bool,
        format: AnswerFormat,
    ) -> Result<ReportDocument, QueryError> {
        let said: Line = serde_json::from_str(line).map_err(unread)?;
        let answer = match said.error {
            Some(error) => Err(error),
            None => Ok(ReportRows {
                told: rewritten(line, is_graph, format)?,
                removed: (said.revision > 0)
                    .then(|| removal(line, is_graph, format))
                    .transpose()?
                    .flatten(),
            }),
        };
        Ok(ReportDocument {
            close_ms: said.close,
            query: said.query,
            instance: said.instance,
            revision: said.revision,
            incomplete_before_ms: said.window_incomplete,
            answer,
        })
    }
}

/// The rows that a revision takes back; none of an `ASK`.
fn removal(line: &str, is_graph: bool, format: AnswerFormat) -> Result<Option<String>, QueryError> {
    let read: Removal = serde_json::from_str(line).map_err(unread)?;
    let Some(removed) = read.removed else {
        return Ok(None);
    };
    let results = json!({ "head": read.head, "results": { "bindings": removed } });
    rewritten(&results.to_string(), is_graph, format).map(Some)
}

/// SPARQL's JSON results in another format. Members that are none of theirs are passed over.
fn rewritten(results: &str, is_graph: bool, format: AnswerFormat) -> Result<String, QueryError> {
    let parser = QueryResultsParser::from_format(QueryResultsFormat::Json);
    let parsed = parser.for_reader(results.as_bytes()).map_err(unread)?;
    let mut solutions = match parsed {
        ReaderQueryResultsParserOutput::Boolean(value) => {
            return written(format, &mut |sink| sink.boolean(value));
        }
        ReaderQueryResultsParserOutput::Solutions(solutions) => solutions,
    };
    let variables = solutions.variables().iter();
    let variables: Vec<String> = variables.map(|name| name.as_str().to_owned()).collect();
    written(format, &mut |sink| {
        begin(sink, is_graph, &variables)?;
        loop {
            let mut rows = Vec::new();
            for solution in solutions.by_ref().take(BATCH) {
                let solution = solution.map_err(io::Error::other)?;
                rows.push(ReportRow(solution.values().to_vec()));
            }
            if rows.is_empty() {
                return sink.finish();
            }
            sink.rows(&batch(variables.len(), rows.iter()))?;
        }
    })
}

/// The head of rows.
pub(in crate::standing) fn begin(
    sink: &mut dyn Sink,
    is_graph: bool,
    variables: &[String],
) -> io::Result<()> {
    if is_graph {
        sink.graph_head(&[])
    } else {
        sink.head(variables)
    }
}

/// A document in this format, of what `write` gives.
pub(in crate::standing) fn written(
    format: AnswerFormat,
    write: &mut dyn FnMut(&mut dyn Sink) -> io::Result<()>,
) -> Result<String, QueryError> {
    let failed = |error: io::Error| QueryError::new(Kind::Format, error);
    let bytes = match format {
        AnswerFormat::Rows(format) => {
            let mut writer = ResultWriter::new(format, Vec::new());
            write(&mut writer).map_err(failed)?;
            writer.into_output()
        }
        AnswerFormat::Graph(format) => {
            let mut writer = GraphWriter::new(format, Vec::new());
            write(&mut writer).map_err(failed)?;
            writer.into_output()
        }
    };
    let unfinished = || QueryError::new(Kind::Internal, "a document was not written to its end");
    String::from_utf8(bytes.ok_or_else(unfinished)?).map_err(unread)
}

/// It was written here.
#[allow(clippy::needless_pass_by_value, reason = "for `map_err`")]
fn unread(error: impl Display) -> QueryError {
    QueryError::new(
        Kind::Internal,
        format!("a report that was kept cannot be read: {error}"),
    )
}

/// Rows, a batch at a time.
pub(in crate::standing) fn in_batches<'r>(
    columns: usize,
    rows: impl Iterator<Item = &'r ReportRow>,
) -> impl Iterator<Item = Rows> {
    let mut rows = rows.peekable();
    std::iter::from_fn(move || {
        rows.peek()?;
        Some(batch(columns, rows.by_ref().take(BATCH)))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::output::{GraphFormat, ResultFormat};
    use crate::standing::report::{ReportKind, StandingReport};
    use oxrdf::{Literal, NamedNode};
    use std::sync::Arc;
    use std::time::Duration;

    fn report(kind: ReportKind, variables: &[&str], rows: usize) -> StandingReport {
        let node = |text: &str| Some(NamedNode::new_unchecked(text).into());
        let row = |at: usize| {
            let text = format!("a,\"b\"\n{at}");
            let literal = Literal::new_language_tagged_literal_unchecked(text, "en");
            let mut cells = vec![node("http://e/s"), node("http://e/p"), Some(literal.into())];
            if kind == ReportKind::Solutions && at % 2 == 1 {
                cells[1] = None;
            }
            if kind == ReportKind::Boolean {
                cells.clear();
            }
            ReportRow(cells)
        };
        StandingReport {
            query: "q \"1\"".to_owned(),
            instance: Some(Arc::from("i")),
            close_ms: 7000,
            snapshot: 3,
            kind,
            variables: variables.iter().map(|name| (*name).to_owned()).collect(),
            revision: 0,
            rows: (0..rows).map(row).collect(),
            removed: Vec::new(),
            items: 1,
            incomplete_before_ms: Some(5),
            exec: Duration::ZERO,
            decoding: Duration::ZERO,
            failure: None,
        }
    }

    /// The rows of a report as they would be written at once.
    fn directly(report: &StandingReport, rows: &[ReportRow], format: AnswerFormat) -> String {
        written(format, &mut |sink| {
            if report.kind == ReportKind::Boolean {
                return sink.boolean(!rows.is_empty());
            }
            begin(sink, report.kind == ReportKind::Graph, &report.variables)?;
            sink.rows(&batch(report.variables.len(), rows.iter()))?;
            sink.finish()
        })
        .unwrap()
    }

    #[test]
    fn a_report_is_the_same_in_each_format() {
        let rows = ResultFormat::ALL.map(AnswerFormat::Rows);
        let graphs = GraphFormat::ALL.map(AnswerFormat::Graph);
        let names = ["subject", "predicate", "object"];
        for (kind, formats) in [
            (ReportKind::Solutions, &rows[..]),
            (ReportKind::Boolean, &rows[..]),
            (ReportKind::Graph, &graphs[..]),
        ] {
            let is_graph = kind == ReportKind::Graph;
            let variables: &[&str] = if kind == ReportKind::Boolean {
                &[]
            } else {
                &names
            };
            for (count, format) in [0, 1, BATCH, BATCH + 3]
                .into_iter()
                .flat_map(|count| formats.iter().map(move |format| (count, *format)))
            {
                let report = report(kind, variables, count);
                let line = report.json().unwrap();
                let read = ReportDocument::of(&line, is_graph, format).unwrap();
                assert_eq!((read.close_ms, read.revision), (7000, 0));
                assert_eq!(
                    (&*read.query, read.instance.as_deref()),
                    ("q \"1\"", Some("i"))
                );
                assert_eq!(read.incomplete_before_ms, Some(5));
                let told = read.answer.unwrap();
                assert_eq!(
                    told.told,
                    directly(&report, &report.rows, format),
                    "{format:?}"
                );
                assert_eq!(told.removed, None);
            }
        }
    }

    #[test]
    fn a_revision_has_two_documents_and_a_failure_none() {
        let csv = AnswerFormat::Rows(ResultFormat::Csv);
        let mut revised = report(ReportKind::Solutions, &["a", "b", "c"], 1);
        revised.revision = 2;
        revised.removed = report(ReportKind::Solutions, &["a", "b", "c"], 4).rows;
        let read = ReportDocument::of(&revised.json().unwrap(), false, csv).unwrap();
        let rows = read.answer.unwrap();
        assert_eq!(read.revision, 2);
        assert_eq!(rows.told, directly(&revised, &revised.rows, csv));
        let removed = directly(&revised, &revised.removed, csv);
        assert_eq!(rows.removed, Some(removed));
        revised.failure = Some(QueryError::new(Kind::Timeout, "out of time"));
        let read = ReportDocument::of(&revised.json().unwrap(), false, csv).unwrap();
        assert_eq!(read.answer, Err("out of time".to_owned()));
    }

    #[test]
    fn what_a_format_cannot_say_is_refused() {
        let turtle = AnswerFormat::Graph(GraphFormat::Turtle);
        let line = report(ReportKind::Solutions, &["a", "b", "c"], 1).json();
        let error = ReportDocument::of(&line.unwrap(), false, turtle).unwrap_err();
        assert_eq!(error.kind, Kind::Format);
        assert!(ReportDocument::of("{\"close\":1", false, turtle).is_err());
    }
}
