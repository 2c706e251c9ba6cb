//! The answer of a live query, as its changes leave it: what a terminal shows of it.
//!
//! ```text
//! answer ------------> rows, each as often as it is there
//! difference --------> some of them less often, others more
//! first rows of them --> a document of SPARQL's JSON results, which is read as that of a report
//! ```
//!
//! Rows are kept as the text that they came as, in its order: differences are of bags, whose rows have no order. Where the query
//! has one, the rows of an answer that came whole lend it ([`LiveAnswer::arrange`]); those that it has not come last.

use super::report::{Report, Said};
use serde_json::Value;
use std::collections::{BTreeMap, HashMap};

/// An answer; see the head of this file.
#[derive(Clone, Debug, Default)]
pub struct LiveAnswer {
    /// The snapshot that it is of; `None`: nothing has come yet.
    snapshot: Option<u64>,
    head: Value,
    /// Each row, and how often it is there.
    rows: BTreeMap<String, u64>,
    count: u64,
    /// Of an `ASK`.
    boolean: Option<bool>,
    /// Where rows stand in the answer of a query that orders them.
    places: HashMap<String, usize>,
    /// Rows that came and that went with the last difference (count).
    changed: Option<(u64, u64)>,
}

impl LiveAnswer {
    /// Takes an answer or a difference, a line of JSON. Errors are about the server.
    pub fn take(&mut self, line: &str) -> Result<(), String> {
        let mut said: Value = serde_json::from_str(line).map_err(|error| error.to_string())?;
        let snapshot = said["snapshot"].as_u64().ok_or("it has no `snapshot`")?;
        if said["type"] == "answer" {
            *self = LiveAnswer {
                places: std::mem::take(&mut self.places),
                ..LiveAnswer::default()
            };
            let rows = rows_of(&mut said, "results");
            for row in rows {
                self.add(row);
            }
        } else {
            if said["since"].as_u64() != self.snapshot {
                return Err("a difference to another answer".to_owned());
            }
            let (added, removed) = (rows_of(&mut said, "added"), rows_of(&mut said, "removed"));
            self.changed = Some((added.len() as u64, removed.len() as u64));
            for row in removed {
                self.remove(&row)?;
            }
            for row in added {
                self.add(row);
            }
        }
        self.boolean = said["boolean"].as_bool();
        self.head = said["head"].take();
        self.snapshot = Some(snapshot);
        Ok(())
    }

    /// Rows stand from now on as in this answer, a document of SPARQL's JSON results.
    pub fn arrange(&mut self, mut answer: Value) {
        let rows = rows_of(&mut answer, "results").into_iter();
        self.places.clear();
        for (place, row) in rows.enumerate() {
            self.places.entry(row).or_insert(place);
        }
    }

    /// What stands above it; `None` where nothing has come yet.
    pub fn title(&self) -> Option<String> {
        let snapshot = self.snapshot?;
        let changed = match self.changed.filter(|_| self.boolean.is_none()) {
            Some((added, removed)) => format!("  (+{added} -{removed})"),
            None => String::new(),
        };
        Some(format!("snapshot {snapshot}{changed}"))
    }

    /// What it says, with so many rows. Errors are about the server.
    pub fn said(&self, rows_max: usize) -> Result<Said, String> {
        if let Some(value) = self.boolean {
            return Ok(Said::Boolean(value));
        }
        let mut rows: Vec<(&str, u64)> = Vec::with_capacity(self.rows.len());
        rows.extend(self.rows.iter().map(|(row, count)| (row.as_str(), *count)));
        if !self.places.is_empty() {
            let place = |row: &str| self.places.get(row).copied().unwrap_or(usize::MAX);
            rows.sort_by_cached_key(|(row, _)| place(row));
        }
        let rows = rows.into_iter();
        let rows = rows.flat_map(|(row, count)| (0..count).map(move |_| row));
        let rows: Vec<&str> = rows.take(rows_max).collect();
        let document = format!(
            "{{\"head\":{},\"results\":{{\"bindings\":[{}]}}}}",
            self.head,
            rows.join(",")
        );
        let mut said = Report::read(&document, rows_max)?.said;
        if let Said::Rows { count, .. } = &mut said {
            *count = self.count;
        }
        Ok(said)
    }

    fn add(&mut self, row: String) {
        *self.rows.entry(row).or_default() += 1;
        self.count += 1;
    }

    fn remove(&mut self, row: &str) -> Result<(), String> {
        let count = self
            .rows
            .get_mut(row)
            .ok_or("a row goes that is not there")?;
        *count -= 1;
        self.count -= 1;
        if *count == 0 {
            self.rows.remove(row);
        }
        Ok(())
    }
}

/// The rows of a member, as text.
fn rows_of(said: &mut Value, member: &str) -> Vec<String> {
    let rows = match said.get_mut(member).map(|member| member["bindings"].take()) {
        Some(Value::Array(rows)) => rows,
        _ => Vec::new(),
    };
    rows.iter().map(Value::to_string).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bindings(names: &[&str]) -> String {
        let row = |name: &&str| format!(r#"{{"x":{{"type":"uri","value":"http://e/{name}"}}}}"#);
        let rows: Vec<String> = names.iter().map(row).collect();
        format!(r#"{{"bindings":[{}]}}"#, rows.join(","))
    }

    fn difference(since: u64, added: &[&str], removed: &[&str]) -> String {
        format!(
            r#"{{"type":"difference","since":{since},"snapshot":2,"head":{{"vars":["x"]}},"added":{},"removed":{}}}"#,
            bindings(added),
            bindings(removed)
        )
    }

    fn shown(answer: &LiveAnswer, rows_max: usize) -> (Vec<String>, u64) {
        let Said::Rows { rows, count, .. } = answer.said(rows_max).expect("it can be read") else {
            panic!("rows");
        };
        let row = |row| {
            rows.row(row)
                .flatten()
                .map(|term| term.to_string())
                .collect()
        };
        ((0..rows.len).map(row).collect(), count)
    }

    #[test]
    fn differences_are_of_bags() {
        let mut answer = LiveAnswer::default();
        assert_eq!(answer.title(), None);
        let first = format!(
            r#"{{"id":"1","type":"answer","snapshot":1,"head":{{"vars":["x"]}},"results":{}}}"#,
            bindings(&["b", "a", "b"])
        );
        answer.take(&first).expect("it is one");
        assert_eq!(answer.title().as_deref(), Some("snapshot 1"));
        let names = |names: &[&str]| -> Vec<String> {
            names
                .iter()
                .map(|name| format!("<http://e/{name}>"))
                .collect()
        };
        assert_eq!(shown(&answer, 9), (names(&["a", "b", "b"]), 3));
        answer
            .take(&difference(1, &["c"], &["b", "a"]))
            .expect("it is one");
        assert_eq!(answer.title().as_deref(), Some("snapshot 2  (+1 -2)"));
        assert_eq!(shown(&answer, 9), (names(&["b", "c"]), 2));
        assert_eq!(shown(&answer, 1), (names(&["b"]), 2));
        assert!(answer.take(&difference(2, &[], &["a"])).is_err());
        assert!(
            answer.take(&difference(1, &[], &["b"])).is_err(),
            "of another answer"
        );
        answer.take(&first).expect("a new answer takes its place");
        assert_eq!(shown(&answer, 9).1, 3);
    }

    #[test]
    fn rows_stand_as_in_the_answer_that_lends_its_order() {
        let mut answer = LiveAnswer::default();
        let first = format!(
            r#"{{"type":"answer","snapshot":1,"head":{{"vars":["x"]}},"results":{}}}"#,
            bindings(&["a", "b", "c", "b"])
        );
        answer.take(&first).expect("it is one");
        let whole = format!(r#"{{"results":{}}}"#, bindings(&["c", "b", "b", "z"]));
        answer.arrange(serde_json::from_str(&whole).expect("a document"));
        let names = ["c", "b", "b", "a"].map(|name| format!("<http://e/{name}>"));
        assert_eq!(shown(&answer, 9).0, names);
        assert_eq!(shown(&answer, 2), (names[..2].to_vec(), 4));
        answer
            .take(&difference(1, &["z"], &["b"]))
            .expect("it is one");
        let names = ["c", "b", "z", "a"].map(|name| format!("<http://e/{name}>"));
        assert_eq!(shown(&answer, 9).0, names);
    }

    #[test]
    fn an_ask_is_yes_or_no() {
        let mut answer = LiveAnswer::default();
        for (kind, value) in [("answer", true), ("difference", false)] {
            let line = format!(
                r#"{{"type":"{kind}","since":3,"snapshot":3,"head":{{}},"boolean":{value}}}"#
            );
            answer.take(&line).expect("it is one");
            assert!(matches!(answer.said(5), Ok(Said::Boolean(said)) if said == value));
            assert_eq!(answer.title().as_deref(), Some("snapshot 3"));
        }
        assert!(answer.take("{").is_err() && answer.take("{}").is_err());
    }
}
