//! What a section of a plan did on each node in a run that was profiled, as lines for people and as a document.
//!
//! ```json
//! { "node": 0, "in_place": false, "rows_in": 12, "rows_out": 30, "kept": 0,
//!   "shipped": { "tables": 2, "rows": 30, "answer": 0, "bytes": 512 },
//!   "fetched": { "questions": 0, "lists": 0, "prepared": 0, "bytes": 0 },
//!   "messages": 4, "nanoseconds": 81000, "strips": 0 }
//! ```
//!
//! `in_place`: rows of anybody, what they need is fetched; else those that are at home on the node. `kept` are rows that stayed
//! on the node to be walked so by the next section. `lists` are keys whose lists were fetched for rows, `prepared` those that were
//! before the first row. `messages` were sent for the section, answers to its questions not counted. `strips` is how often the node's device
//! was set to work for it; in lines such a section is walked `on device`.

use cluster::{Fetched, SectionOfNode, Shipped};
use query::explain::time;
use serde_json::{Value, json};
use std::fmt::Write;

/// See the module's documentation.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Found {
    node: u64,
    in_place: bool,
    rows_in: u64,
    rows_out: u64,
    shipped: Shipped,
    fetched: Fetched,
    messages: u64,
    nanoseconds: u64,
    strips: u64,
}

impl From<&SectionOfNode> for Found {
    fn from(done: &SectionOfNode) -> Found {
        let figures = &done.figures;
        Found {
            node: done.node.into(),
            in_place: done.in_place,
            rows_in: figures.rows_in,
            rows_out: figures.rows_out,
            shipped: figures.shipped,
            fetched: figures.fetched,
            messages: figures.messages(),
            nanoseconds: figures.nanoseconds,
            strips: figures.strips,
        }
    }
}

/// The columns of lines, behind that of the section.
const HEAD: &str = "node  walked         rows in   rows out       kept   tables  bytes sent  messages  questions    \
                    lists  bytes fetched        time";

impl Found {
    /// As a document.
    pub(super) fn document(&self) -> Value {
        let (shipped, fetched) = (self.shipped, self.fetched);
        json!({
            "node": self.node,
            "in_place": self.in_place,
            "rows_in": self.rows_in,
            "rows_out": self.rows_out,
            "kept": shipped.kept,
            "shipped": { "tables": shipped.tables, "rows": shipped.rows,
                "answer": shipped.answer, "bytes": shipped.bytes },
            "fetched": {
                "questions": fetched.questions,
                "lists": fetched.lists,
                "prepared": fetched.prepared,
                "bytes": fetched.bytes,
                "lists_read": fetched.lists_read,
                "reads": fetched.reads,
                "read_bytes": fetched.read_bytes,
            },
            "messages": self.messages,
            "nanoseconds": self.nanoseconds,
            "strips": self.strips,
        })
    }

    /// Reads a document; what it does not say is 0.
    pub(super) fn read(document: &Value) -> Found {
        let number = |value: &Value| value.as_u64().unwrap_or_default();
        let (shipped, fetched) = (&document["shipped"], &document["fetched"]);
        Found {
            node: number(&document["node"]),
            in_place: document["in_place"].as_bool().unwrap_or_default(),
            rows_in: number(&document["rows_in"]),
            rows_out: number(&document["rows_out"]),
            shipped: Shipped {
                tables: number(&shipped["tables"]),
                rows: number(&shipped["rows"]),
                answer: number(&shipped["answer"]),
                bytes: number(&shipped["bytes"]),
                kept: number(&document["kept"]),
            },
            fetched: Fetched {
                questions: number(&fetched["questions"]),
                lists: number(&fetched["lists"]),
                prepared: number(&fetched["prepared"]),
                bytes: number(&fetched["bytes"]),
                lists_read: number(&fetched["lists_read"]),
                reads: number(&fetched["reads"]),
                read_bytes: number(&fetched["read_bytes"]),
            },
            messages: number(&document["messages"]),
            nanoseconds: number(&document["nanoseconds"]),
            strips: number(&document["strips"]),
        }
    }

    /// Appends the head of lines.
    pub(super) fn head(text: &mut String) {
        let _ = writeln!(text, "  section  {HEAD}");
    }

    /// Appends it as a line.
    pub(super) fn write(&self, section: usize, text: &mut String) {
        let (shipped, fetched) = (self.shipped, self.fetched);
        let walked = match (self.in_place, self.strips) {
            (true, _) => "in place",
            (false, 0) => "at home",
            (false, _) => "on device",
        };
        let _ = writeln!(
            text,
            "  {section:>7}  {:>4}  {walked:<9}  {:>11} {:>10} {:>10} {:>8}  {:>10}  {:>8}  {:>9} {:>8}  {:>13}  {:>10}",
            self.node,
            self.rows_in,
            self.rows_out,
            shipped.kept,
            shipped.tables,
            shipped.bytes,
            self.messages,
            fetched.questions,
            fetched.lists + fetched.prepared,
            fetched.bytes,
            time(self.nanoseconds as f64),
        );
    }
}
