//! A question as text, in each dialect that can say it.
//!
//! Invariant: all texts of a question mean the same. Every dialect has the defaults of its engine, so a pragma line
//! (`#@ bounds=lcro report=close`) states what differs from them, and nothing else: defaults are thereby tested too.
//!
//! | dialect | cannot say |
//! |---|---|
//! | RSP-QL | `NOW`, `ALL`, windows that slide without steps, one merged default graph |
//! | C-SPARQL with `GRAPH <stream>` | two windows of a stream, spans of the past, counts that are not tumbling, a graph of `FROM` that `GRAPH` finds nothing in, as RSP-QL |
//! | C-SPARQL | windows apart from one another |
//! | CQELS | windows that no group asks about, spans of the past, steps of counts above one |
//!
//! Sources: Barbieri et al., "C-SPARQL" (IJSC 2010); the RSP-QL reports of the W3C's community group; Le-Phuoc et al.,
//! "A native and adaptive approach for unified processing of linked streams and linked data" (ISWC 2011).

use super::{
    PlainExtent, PlainOrigin, PlainStream, Question, ReportPace, WINDOW_PREFIX, window_iri,
};
use crate::random_query::dataset_clause;
use query::standing::{Bounds, Dialect, Difference, Relation};
use std::fmt::Write as _;

/// What holds where a text says nothing.
struct Defaults {
    bounds: Bounds,
    pace: ReportPace,
    nonempty: bool,
    relation: Relation,
    partial_first: bool,
    origin: PlainOrigin,
}

fn defaults(dialect: Dialect) -> Defaults {
    let plain = Defaults {
        bounds: Bounds::LeftClosed,
        pace: ReportPace::Close,
        nonempty: false,
        relation: Relation::Rows,
        partial_first: false,
        origin: PlainOrigin::Epoch(0),
    };
    match dialect {
        Dialect::CSparqlGraph => plain,
        Dialect::RspQl => Defaults {
            nonempty: true,
            ..plain
        },
        Dialect::CSparql => Defaults {
            bounds: Bounds::RightClosed,
            nonempty: true,
            partial_first: true,
            origin: PlainOrigin::FirstItem,
            ..plain
        },
        Dialect::Cqels => Defaults {
            bounds: Bounds::RightClosed,
            pace: ReportPace::Change,
            relation: Relation::Insertions,
            ..plain
        },
    }
}

impl Question {
    /// The texts of the question, in all dialects that can say it. `streams` are those of its case.
    pub fn texts(&self, streams: &[PlainStream]) -> Vec<(Dialect, String)> {
        let dialects = [
            Dialect::RspQl,
            Dialect::CSparqlGraph,
            Dialect::CSparql,
            Dialect::Cqels,
        ];
        let text = |dialect| Some((dialect, self.text(dialect, streams)?));
        dialects.into_iter().filter_map(text).collect()
    }

    /// The question in one dialect, if that can say it.
    pub fn text(&self, dialect: Dialect, streams: &[PlainStream]) -> Option<String> {
        if self.is_merged != (dialect == Dialect::CSparql) {
            return None;
        }
        let says = match dialect {
            Dialect::RspQl => self.rsp_ql(streams)?,
            Dialect::CSparqlGraph => self.c_sparql_graph(streams)?,
            Dialect::CSparql => self.c_sparql(streams, &self.body)?,
            Dialect::Cqels => self.cqels(streams)?,
        };
        Some(format!("{}{}{says}", self.pragma(dialect), self.prologue))
    }

    /// Whether a group asks about a window.
    pub(super) fn uses(&self, window: usize) -> bool {
        self.body.contains(&window_iri(window).to_string())
            || self.head.contains(&window_iri(window).to_string())
    }

    fn rsp_ql(&self, streams: &[PlainStream]) -> Option<String> {
        let relation = match self.relation {
            Relation::Rows => "RSTREAM",
            Relation::Insertions => "ISTREAM",
            Relation::Deletions => "DSTREAM",
        };
        let mut text = format!("REGISTER {relation} <urn:question> AS\n{}", self.head);
        for (place, window) in self.windows.iter().enumerate() {
            let extent = match window.extent {
                PlainExtent::Time { range_ms, step_ms } => {
                    format!("RANGE {} STEP {}", iso(range_ms), iso(step_ms))
                }
                PlainExtent::Past {
                    from_ms,
                    to_ms,
                    step_ms,
                } => {
                    let [from, to, step] = [from_ms, to_ms, step_ms].map(iso);
                    format!("FROM NOW-{from} TO NOW-{to} STEP {step}")
                }
                PlainExtent::Count { items, step } => format!("ELEMENTS {items} STEP {step}"),
                PlainExtent::Sliding { .. } | PlainExtent::Now | PlainExtent::All => return None,
            };
            let (name, stream) = (window_iri(place), &streams[window.stream].iri);
            let _ = write!(text, "\nFROM NAMED WINDOW {name} ON {stream} [{extent}]");
        }
        let clause = dataset_clause(&self.from, &self.from_named);
        let windows = format!("GRAPH <{WINDOW_PREFIX}");
        let body = self
            .body
            .replace(&windows, &format!("WINDOW <{WINDOW_PREFIX}"));
        let head = text.replace(&windows, &format!("WINDOW <{WINDOW_PREFIX}"));
        Some(format!("{head}\n{clause} WHERE {body}"))
    }

    fn c_sparql_graph(&self, streams: &[PlainStream]) -> Option<String> {
        let mut seen: Vec<usize> = self.windows.iter().map(|window| window.stream).collect();
        seen.sort_unstable();
        let are_apart = seen.windows(2).all(|pair| pair[0] != pair[1]);
        let is_used = (0..self.windows.len()).any(|window| self.uses(window));
        let (mut head, mut body) = (self.head.clone(), self.body.clone());
        // There, one that `FROM` names and `GRAPH` asks is a named graph, too.
        let mut merged = self
            .from
            .iter()
            .filter(|graph| !self.from_named.contains(graph));
        let becomes_named = merged.any(|graph| {
            let asks = format!("GRAPH {graph}");
            head.contains(&asks) || body.contains(&asks)
        });
        if !are_apart || !is_used || becomes_named {
            return None;
        }
        for (place, window) in self.windows.iter().enumerate() {
            let (name, stream) = (window_iri(place), &streams[window.stream].iri);
            for text in [&mut head, &mut body] {
                *text = text.replace(&format!("GRAPH {name}"), &format!("GRAPH {stream}"));
            }
        }
        Question {
            head,
            ..self.clone()
        }
        .c_sparql(streams, &body)
    }

    fn c_sparql(&self, streams: &[PlainStream], body: &str) -> Option<String> {
        let mut text = format!("REGISTER QUERY question AS\n{}", self.head);
        for window in &self.windows {
            let extent = match window.extent {
                PlainExtent::Time { range_ms, step_ms } if range_ms == step_ms => {
                    format!("{} TUMBLING", short(range_ms))
                }
                PlainExtent::Time { range_ms, step_ms } => {
                    format!("{} STEP {}", short(range_ms), short(step_ms))
                }
                PlainExtent::Count { items, step } if items == step => format!("TRIPLES {items}"),
                _ => return None,
            };
            let stream = &streams[window.stream].iri;
            let _ = write!(text, "\nFROM STREAM {stream} [RANGE {extent}]");
        }
        let clause = dataset_clause(&self.from, &self.from_named);
        Some(format!("{text}\n{clause} WHERE {body}"))
    }

    fn cqels(&self, streams: &[PlainStream]) -> Option<String> {
        let (mut head, mut body) = (self.head.clone(), self.body.clone());
        for (place, window) in self.windows.iter().enumerate() {
            let extent = match window.extent {
                PlainExtent::Time { range_ms, step_ms } if range_ms == step_ms => {
                    format!("RANGE {} TUMBLING", short(range_ms))
                }
                PlainExtent::Time { range_ms, step_ms } => {
                    format!("RANGE {} SLIDE {}", short(range_ms), short(step_ms))
                }
                PlainExtent::Sliding { range_ms } => format!("RANGE {}", short(range_ms)),
                PlainExtent::Count { items, step: 1 } => format!("TRIPLES {items}"),
                PlainExtent::Now => "NOW".to_owned(),
                PlainExtent::All => "ALL".to_owned(),
                PlainExtent::Past { .. } | PlainExtent::Count { .. } => return None,
            };
            if !self.uses(place) {
                return None;
            }
            let (name, stream) = (window_iri(place), &streams[window.stream].iri);
            for text in [&mut head, &mut body] {
                *text = text.replace(
                    &format!("GRAPH {name}"),
                    &format!("STREAM {stream} [{extent}]"),
                );
            }
        }
        let clause = dataset_clause(&self.from, &self.from_named);
        Some(format!("{head}{clause} WHERE {body}"))
    }

    /// What differs from a dialect's defaults.
    fn pragma(&self, dialect: Dialect) -> String {
        let usual = defaults(dialect);
        let mut said: Vec<String> = Vec::new();
        if self.bounds != usual.bounds {
            let word = match self.bounds {
                Bounds::LeftClosed => "lcro",
                Bounds::RightClosed => "lorc",
            };
            said.push(format!("bounds={word}"));
        }
        if (self.pace, self.nonempty, self.rows) != (usual.pace, usual.nonempty, false) {
            said.push(format!("report={}", self.report_words()));
        }
        if self.relation != usual.relation && dialect != Dialect::RspQl {
            let word = match self.relation {
                Relation::Rows => "rstream",
                Relation::Insertions => "istream",
                Relation::Deletions => "dstream",
            };
            said.push(format!("r2s={word}"));
        }
        if self.partial_first != usual.partial_first {
            said.push(format!(
                "partial_first={}",
                if self.partial_first { "yes" } else { "no" }
            ));
        }
        if self.origin != usual.origin {
            said.push(match self.origin {
                PlainOrigin::Epoch(0) => "t0=epoch".to_owned(),
                PlainOrigin::Epoch(offset_ms) => format!("t0={offset_ms}"),
                PlainOrigin::FirstItem => "t0=first".to_owned(),
            });
        }
        if self.difference == Difference::Set {
            said.push("difference=set".to_owned());
        }
        for (is_said, word) in [
            (self.is_multiset, "multiset=on"),
            (self.is_compat, "compat=on"),
        ] {
            said.extend(is_said.then(|| word.to_owned()));
        }
        if said.is_empty() {
            return String::new();
        }
        format!("#@ {}\n", said.join(" "))
    }

    fn report_words(&self) -> String {
        let mut words = match self.pace {
            ReportPace::Close => "close".to_owned(),
            ReportPace::Change => "change".to_owned(),
            ReportPace::Periodic(period_ms) => format!("periodic={}", short(period_ms)),
        };
        for (is_said, word) in [(self.nonempty, ",nonempty"), (self.rows, ",rows")] {
            words.push_str(if is_said { word } else { "" });
        }
        words
    }
}

/// A span of time as C-SPARQL and CQELS write it.
fn short(span_ms: u64) -> String {
    if span_ms.is_multiple_of(1_000) {
        format!("{}s", span_ms / 1_000)
    } else {
        format!("{span_ms}ms")
    }
}

/// A span of time as XML Schema writes it.
fn iso(span_ms: u64) -> String {
    let (seconds, rest) = (span_ms / 1_000, span_ms % 1_000);
    if rest == 0 {
        return format!("PT{seconds}S");
    }
    let text = format!("PT{seconds}.{rest:03}");
    format!("{}S", text.trim_end_matches('0'))
}
