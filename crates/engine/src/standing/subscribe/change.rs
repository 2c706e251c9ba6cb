//! What a consumer of a live query gets: the whole answer first, then how it changes; and both as JSON.
//!
//! | member | answer | difference |
//! |---|---|---|
//! | `type` | `answer` | `difference` |
//! | `snapshot` | the snapshot in which the answer was found first | the same of the new answer |
//! | `since` | | the snapshot of the answer that it leads from |
//! | `reset` | `true`: what the consumer has is of no use any more | |
//! | `head` | `{"vars": [...]}` | the same |
//! | rows | `results` | `added` and `removed` |
//! | of an `ASK` | `boolean` | `boolean`, the new one |
//!
//! An answer is a document of SPARQL's JSON results with members besides. Rows of a graph are its triples, in `subject`,
//! `predicate` and `object`. A row that is there three times is written three times.
//!
//! The text is made in pieces of some [`BATCH`] rows, so that a long answer is nowhere in one piece.

use super::bag::Row;
use crate::error::QueryError;
use crate::output::{AnswerFormat, ResultFormat, ResultWriter, Sink};
use crate::standing::report::document::{begin, in_batches, written as document};
use crate::standing::report::{ReportKind, batch};
use std::fmt::Write;
use std::io;
use std::sync::Arc;

/// Rows of a piece of text (count).
const BATCH: usize = 256;

/// A row, with how often it is there.
#[derive(Clone, Debug, PartialEq)]
pub struct WeightedRow {
    /// The row.
    pub row: Row,
    /// How often; above 0.
    pub count: u64,
}

/// What a consumer gets.
#[derive(Clone, Debug, PartialEq)]
pub struct LiveChange {
    /// The snapshot in which the answer that this leads to was found first.
    pub snapshot: u64,
    /// The snapshot of the answer that it leads from; `None`: `added` is the whole answer.
    pub since: Option<u64>,
    /// Whether the consumer was behind an answer that is not known any more, and has the whole one instead.
    pub is_reset: bool,
    /// What the rows are.
    pub kind: ReportKind,
    /// The projected variables, without question mark; of a graph `subject`, `predicate`, `object`.
    pub variables: Arc<[String]>,
    /// Rows that came.
    pub added: Vec<WeightedRow>,
    /// Rows that went.
    pub removed: Vec<WeightedRow>,
}

impl LiveChange {
    /// What an `ASK` answers now; `None` for other forms.
    pub fn boolean(&self) -> Option<bool> {
        let is = self.kind == ReportKind::Boolean;
        is.then_some(!self.added.is_empty())
    }

    /// It as JSON in pieces, without a line break. `members`: what stands before all else, members that are followed by
    /// commas.
    pub fn pieces(&self, members: &str) -> ChangePieces<'_> {
        ChangePieces {
            change: self,
            members: members.to_owned(),
            next: Next::Head,
        }
    }

    /// It as JSON.
    pub fn json(&self) -> io::Result<String> {
        self.pieces("").collect()
    }

    /// The rows that came as a document in this format, a row that is there three times written three times; the new answer
    /// of an `ASK`. An error where the format is of the other kind of answers, or cannot carry a term.
    pub fn added_in(&self, format: AnswerFormat) -> Result<String, QueryError> {
        self.rows_in(&self.added, format)
    }

    /// The rows that went; `None` where there could be none: in an answer, and of an `ASK`.
    pub fn removed_in(&self, format: AnswerFormat) -> Option<Result<String, QueryError>> {
        let could_be = self.since.is_some() && self.kind != ReportKind::Boolean;
        could_be.then(|| self.rows_in(&self.removed, format))
    }

    fn rows_in(&self, rows: &[WeightedRow], format: AnswerFormat) -> Result<String, QueryError> {
        document(format, &mut |sink| {
            if let Some(value) = self.boolean() {
                return sink.boolean(value);
            }
            begin(sink, self.kind == ReportKind::Graph, &self.variables)?;
            let each = rows.iter().flat_map(|weighted| {
                let count = usize::try_from(weighted.count).unwrap_or(usize::MAX);
                std::iter::repeat_n(&*weighted.row, count)
            });
            for batch in in_batches(self.variables.len(), each) {
                sink.rows(&batch)?;
            }
            sink.finish()
        })
    }

    fn head(&self, members: &str) -> io::Result<String> {
        let mut text = format!("{{{members}\"type\":");
        match self.since {
            None => text.push_str("\"answer\""),
            Some(since) => {
                let _ = write!(text, "\"difference\",\"since\":{since}");
            }
        }
        let _ = write!(text, ",\"snapshot\":{}", self.snapshot);
        if self.is_reset {
            text.push_str(",\"reset\":true");
        }
        if let Some(value) = self.boolean() {
            let _ = write!(text, ",\"head\":{{}},\"boolean\":{value}}}");
            return Ok(text);
        }
        let written = written(&self.variables, &[])?;
        let head = written
            .strip_prefix('{')
            .and_then(|it| it.split_once(RESULTS));
        let (head, _) = head.ok_or_else(|| io::Error::other("JSON results begin with a head"))?;
        let _ = write!(text, ",{head},");
        let first = if self.since.is_some() {
            "added"
        } else {
            "results"
        };
        let _ = write!(text, "\"{first}\":{{\"bindings\":[");
        Ok(text)
    }
}

/// What stands between the head and the rows of JSON results.
const RESULTS: &str = ",\"results\":{\"bindings\":[";

/// Rows as JSON results.
fn written(variables: &[String], rows: &[&WeightedRow]) -> io::Result<String> {
    let batch = batch(variables.len(), rows.iter().map(|row| &*row.row));
    let mut writer = ResultWriter::new(ResultFormat::Json, Vec::new());
    writer.head(variables)?;
    writer.rows(&batch)?;
    writer.finish()?;
    let bytes = writer.into_output().unwrap_or_default();
    String::from_utf8(bytes).map_err(io::Error::other)
}

/// The pieces of a change as JSON.
pub struct ChangePieces<'c> {
    change: &'c LiveChange,
    members: String,
    next: Next,
}

/// Where the text goes on.
#[derive(Clone, Copy)]
enum Next {
    Head,
    /// A row of those that came, and which of its copies.
    Added(usize, u64),
    Removed(usize, u64),
    End,
}

impl Iterator for ChangePieces<'_> {
    type Item = io::Result<String>;

    fn next(&mut self) -> Option<io::Result<String>> {
        let change = self.change;
        match self.next {
            Next::End => None,
            Next::Head => {
                self.next = match change.kind {
                    ReportKind::Boolean => Next::End,
                    ReportKind::Solutions | ReportKind::Graph => Next::Added(0, 0),
                };
                Some(change.head(&self.members))
            }
            Next::Added(row, copy) => {
                let (text, next) = rows_from(change, &change.added, row, copy);
                self.next = match (next, change.since) {
                    (Some((row, copy)), _) => Next::Added(row, copy),
                    (None, Some(_)) => Next::Removed(0, 0),
                    (None, None) => Next::End,
                };
                let end = match (next, change.since) {
                    (Some(_), _) => "",
                    (None, Some(_)) => "]},\"removed\":{\"bindings\":[",
                    (None, None) => "]}}",
                };
                Some(text.map(|text| text + end))
            }
            Next::Removed(row, copy) => {
                let (text, next) = rows_from(change, &change.removed, row, copy);
                self.next = next.map_or(Next::End, |(row, copy)| Next::Removed(row, copy));
                let end = if next.is_some() { "" } else { "]}}" };
                Some(text.map(|text| text + end))
            }
        }
    }
}

/// The text of some rows from a copy of one on, and where it goes on.
fn rows_from(
    change: &LiveChange,
    rows: &[WeightedRow],
    mut row: usize,
    mut copy: u64,
) -> (io::Result<String>, Option<(usize, u64)>) {
    let is_first = row == 0 && copy == 0;
    let mut taken: Vec<&WeightedRow> = Vec::new();
    while let Some(weighted) = rows.get(row)
        && taken.len() < BATCH
    {
        taken.push(weighted);
        copy += 1;
        if copy >= weighted.count {
            (row, copy) = (row + 1, 0);
        }
    }
    let next = (row < rows.len()).then_some((row, copy));
    if taken.is_empty() {
        return (Ok(String::new()), next);
    }
    let text = written(&change.variables, &taken).and_then(|text| {
        let rows = text.split_once(RESULTS).map(|(_, rows)| rows.trim_end());
        let rows = rows.and_then(|rows| rows.strip_suffix("]}}"));
        let rows = rows.ok_or_else(|| io::Error::other("JSON results end with their rows"))?;
        let comma = if is_first { "" } else { "," };
        Ok(format!("{comma}{}", rows.trim_end()))
    });
    (text, next)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::standing::report::ReportRow;
    use oxrdf::{Literal, NamedNode};
    use serde_json::{Value, json};

    fn row(number: u64, count: u64) -> WeightedRow {
        let cells = vec![
            Some(NamedNode::new_unchecked("http://e/\"\\").into()),
            None,
            Some(Literal::from(format!("line\nbreak {number}")).into()),
        ];
        WeightedRow {
            row: Arc::new(ReportRow(cells)),
            count,
        }
    }

    fn change(
        since: Option<u64>,
        added: Vec<WeightedRow>,
        removed: Vec<WeightedRow>,
    ) -> LiveChange {
        LiveChange {
            snapshot: 7,
            since,
            is_reset: false,
            kind: ReportKind::Solutions,
            variables: ["a", "b", "c"].map(str::to_owned).into(),
            added,
            removed,
        }
    }

    fn read(change: &LiveChange) -> Value {
        let text = change.json().unwrap();
        assert!(!text.contains('\n'), "{text}");
        serde_json::from_str(&text).unwrap_or_else(|error| panic!("{error}: {text}"))
    }

    #[test]
    fn an_answer_is_a_document_of_results() {
        let answer = read(&change(None, vec![row(1, 2)], Vec::new()));
        assert_eq!(answer["head"], json!({ "vars": ["a", "b", "c"] }));
        assert_eq!(
            (&answer["type"], &answer["snapshot"]),
            (&json!("answer"), &json!(7))
        );
        let rows = answer["results"]["bindings"].as_array().unwrap();
        assert_eq!((rows.len(), &rows[0]), (2, &rows[1]));
        assert_eq!(
            rows[0]["c"],
            json!({ "type": "literal", "value": "line\nbreak 1" })
        );
        assert!(rows[0].get("b").is_none() && answer.get("reset").is_none());
        let empty = read(&change(None, Vec::new(), Vec::new()));
        assert_eq!(empty["results"], json!({ "bindings": [] }));
    }

    #[test]
    fn rows_of_many_pieces_are_all_there() {
        for (added, removed) in [(0, 1), (1, 0), (BATCH, BATCH), (3 * BATCH + 1, BATCH - 1)] {
            let rows = |count: usize| (0..count as u64).map(|at| row(at, 1 + at % 3)).collect();
            let change = change(Some(5), rows(added), rows(removed));
            let read = read(&change);
            assert_eq!(read["since"], 5);
            for (member, count) in [("added", added), ("removed", removed)] {
                let written = read[member]["bindings"].as_array().unwrap();
                let expected: u64 = (0..count as u64).map(|at| 1 + at % 3).sum();
                assert_eq!(written.len() as u64, expected, "{member}");
            }
            assert!(
                change
                    .pieces("")
                    .all(|piece| piece.unwrap().len() < 64 << 10)
            );
        }
    }

    #[test]
    fn a_change_has_a_document_for_what_came_and_one_for_what_went() {
        let csv = AnswerFormat::Rows(ResultFormat::Csv);
        let lines = |text: String| text.matches("\r\n").count();
        let answer = change(None, vec![row(1, 2), row(2, 1)], Vec::new());
        assert_eq!(lines(answer.added_in(csv).unwrap()), 4);
        assert!(answer.removed_in(csv).is_none());
        let many = BATCH as u64 * 2 + 1;
        let change = change(Some(5), vec![row(1, many)], vec![row(2, 1)]);
        assert_eq!(lines(change.added_in(csv).unwrap()) as u64, many + 1);
        let removed = change.removed_in(csv).unwrap().unwrap();
        assert!(removed.starts_with("a,b,c\r\n") && removed.contains("break 2"));
        let turtle = AnswerFormat::Graph(crate::output::GraphFormat::Turtle);
        assert!(change.added_in(turtle).is_err());
    }

    #[test]
    fn a_boolean_has_no_rows() {
        let mut change = change(Some(5), Vec::new(), Vec::new());
        change.kind = ReportKind::Boolean;
        change.is_reset = true;
        let text: io::Result<String> = change.pieces("\"id\":\"x\",").collect();
        let expected = "{\"id\":\"x\",\"type\":\"difference\",\"since\":5,\"snapshot\":7,\"reset\":true,\
                        \"head\":{},\"boolean\":false}";
        assert_eq!(text.unwrap(), expected);
    }
}
