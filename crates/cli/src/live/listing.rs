//! Streams and registered queries as a server describes them: tables on a terminal, elsewhere one object of JSON a line.
//!
//! Lines have whatever the server says; a table has what fits beside each other, and `show` has all of it.

use super::time::{ahead, moment};
use crate::table::{Style, Table};
use serde_json::Value;
use std::io::{self, Write};

/// Members that are moments (milliseconds).
const MOMENTS: [&str; 4] = ["watermark", "settled", "close", "last_arrival"];
/// Members that are texts of several lines, and stand below the others.
const TEXTS: [&str; 3] = ["text", "pragmas", "plan"];

/// What is listed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Listed {
    /// Streams.
    Streams,
    /// Registered queries.
    Queries,
}

impl Listed {
    fn columns(self) -> &'static [&'static str] {
        match self {
            Listed::Streams => &["name", "grain", "settled", "held_bytes", "queries"],
            Listed::Queries => &["name", "streams", "evaluations", "close", "state"],
        }
    }

    fn cell(self, object: &Value, column: &str) -> String {
        let member = &object[column];
        match (self, column) {
            (Listed::Queries, "state") => state(object).to_owned(),
            (Listed::Streams, "queries") => member.as_array().map_or(0, Vec::len).to_string(),
            _ => word(column, member),
        }
    }
}

/// Prints all of them. `width`: that of the terminal, where it is one.
pub fn print_all(
    listed: Listed,
    objects: &[Value],
    width: Option<usize>,
    output: &mut dyn Write,
) -> io::Result<()> {
    let Some(width) = width else {
        for object in objects {
            writeln!(output, "{object}")?;
        }
        return output.flush();
    };
    let columns = listed.columns();
    let row = |object: &Value| -> Vec<String> {
        let cells = columns.iter().map(|column| listed.cell(object, column));
        cells.collect()
    };
    let rows: Vec<Vec<String>> = objects.iter().map(row).collect();
    Table::words(output, Style::boxed(width, Vec::new()), columns, &rows)
}

/// Prints one of them, with all that is known of it.
pub fn print_one(object: &Value, width: Option<usize>, output: &mut dyn Write) -> io::Result<()> {
    let Some(width) = width else {
        writeln!(output, "{object}")?;
        return output.flush();
    };
    let members = object.as_object().into_iter().flatten();
    let members = members.filter(|(name, _)| !TEXTS.contains(&name.as_str()));
    let rows: Vec<Vec<String>> = members
        .map(|(name, value)| vec![name.clone(), word(name, value)])
        .collect();
    let style = Style::boxed(width, Vec::new());
    Table::words(&mut *output, style, &["", ""], &rows)?;
    for name in TEXTS {
        if let Some(text) = object.get(name).and_then(Value::as_str) {
            writeln!(output, "\n{name}:\n{}", text.trim_end())?;
        }
    }
    output.flush()
}

/// Whether a query is evaluated, and how that went.
fn state(query: &Value) -> &'static str {
    if query["paused"] == true {
        "paused"
    } else if query["failure"].is_null() {
        "running"
    } else {
        "failing"
    }
}

fn word(name: &str, value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::String(text) => text.clone(),
        Value::Array(values) => {
            let words: Vec<String> = values.iter().map(|value| word("", value)).collect();
            let between = if values.iter().any(Value::is_object) {
                "; "
            } else {
                " "
            };
            words.join(between)
        }
        Value::Object(members) => {
            let named = members.iter().filter(|(_, value)| !value.is_null());
            let words: Vec<String> = named
                .map(|(name, value)| format!("{name} {}", word(name, value)))
                .collect();
            words.join(", ")
        }
        Value::Number(number) if MOMENTS.contains(&name) => number
            .as_u64()
            .map_or_else(|| number.to_string(), place_in_time),
        other => other.to_string(),
    }
}

/// A moment, and how far it is ahead of the clock: a stream that is takes nothing of now.
fn place_in_time(ms: u64) -> String {
    let ahead = ahead(ms).map(|ahead| format!(" (+{ahead})"));
    moment(ms) + &ahead.unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn printed(print: impl Fn(&mut dyn Write) -> io::Result<()>) -> String {
        let mut text = Vec::new();
        print(&mut text).unwrap();
        String::from_utf8(text).unwrap()
    }

    #[test]
    fn streams_and_queries_are_tables_or_lines() {
        let streams = [
            json!({ "name": "urn:a", "grain": "100ms", "settled": 2000, "held_bytes": 7, "queries": ["q", "r"] }),
        ];
        let table = printed(|output| print_all(Listed::Streams, &streams, Some(80), output));
        assert_eq!(
            table,
            "\
┌───────┬───────┬─────────┬────────────┬─────────┐
│ name  │ grain │ settled │ held_bytes │ queries │
├───────┼───────┼─────────┼────────────┼─────────┤
│ urn:a │ 100ms │ 2000 ms │          7 │       2 │
└───────┴───────┴─────────┴────────────┴─────────┘
"
        );
        let lines = printed(|output| print_all(Listed::Streams, &streams, None, output));
        assert_eq!(serde_json::from_str::<Value>(&lines).unwrap(), streams[0]);
        let queries = [
            json!({ "name": "q", "streams": ["urn:a"], "evaluations": 3, "close": null, "paused": false, "failure": null }),
            json!({ "name": "r", "paused": true }),
            json!({ "name": "s", "paused": false, "failure": "no" }),
        ];
        let table = printed(|output| print_all(Listed::Queries, &queries, Some(80), output));
        for state in ["running", "paused", "failing"] {
            assert!(table.contains(state), "{table}");
        }
    }

    #[test]
    fn members_of_members_are_words_too() {
        let sources = json!([
            { "name": "a", "watermark": 2000, "is_idle": false },
            { "name": "b", "watermark": null },
        ]);
        let stream = json!({ "sources": sources, "queries": ["q", "r"] });
        let shown = printed(|output| print_one(&stream, Some(100), output));
        let expected = "is_idle false, name a, watermark 2000 ms; name b";
        assert!(shown.contains(expected) && shown.contains("q r"), "{shown}");
    }

    #[test]
    fn one_is_shown_with_its_texts() {
        let query =
            json!({ "name": "q", "close": 5, "text": "SELECT *\nWHERE {}\n", "plan": "a plan" });
        let shown = printed(|output| print_one(&query, Some(80), output));
        assert!(shown.contains("│ close │ 5 ms │"), "{shown}");
        assert!(
            shown.ends_with("\ntext:\nSELECT *\nWHERE {}\n\nplan:\na plan\n"),
            "{shown}"
        );
        let line = printed(|output| print_one(&query, None, output));
        assert_eq!(line.lines().count(), 1);
    }
}
