//! What a question sees at an instant: its windows' triples, and what is stored.
//!
//! Invariant: a content is a set of triples and says nothing of how often or when one arrived. Each is found by looking
//! at all items.

use super::instants::{WindowSpan, before, seen_until, span};
use super::{PlainExtent, PlainWindow, ReportPace, StandingCase};
use oxrdf::{GraphName, Quad, Triple};
use std::collections::HashSet;

/// What a question sees at one instant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StandingMoment {
    /// The instant (milliseconds).
    pub close_ms: u64,
    /// The triples of each window, each once.
    pub windows: Vec<Vec<Triple>>,
    /// What the streams added to the stored data by then.
    pub absorbed: Vec<Quad>,
}

/// What is seen at an instant.
pub fn moment(case: &StandingCase, close_ms: u64) -> StandingMoment {
    let content = |window: &PlainWindow| content(case, window, close_ms);
    StandingMoment {
        close_ms,
        windows: case.question.windows.iter().map(content).collect(),
        absorbed: absorbed(case, close_ms),
    }
}

/// The triples of a window.
fn content(case: &StandingCase, window: &PlainWindow, instant: u64) -> Vec<Triple> {
    let bounds = case.question.bounds;
    let seen = seen_until(&case.question, instant);
    let until_now = || before(case, window.stream, WindowSpan::until(seen), bounds);
    let items = match window.extent {
        PlainExtent::All => until_now(),
        PlainExtent::Now => {
            let mut items = until_now();
            let latest = items.last().map(|item| item.time_ms);
            items.retain(|item| Some(item.time_ms) == latest);
            items
        }
        PlainExtent::Count { items: count, step } => {
            let mut items = until_now();
            if case.question.pace != ReportPace::Change {
                items.truncate(items.len() / step * step);
            }
            items.split_off(items.len().saturating_sub(count))
        }
        PlainExtent::Time { .. } | PlainExtent::Past { .. } | PlainExtent::Sliding { .. } => {
            let span = span(case, window, instant);
            span.map_or_else(Vec::new, |span| before(case, window.stream, span, bounds))
        }
    };
    let quads = items.iter().flat_map(|item| &item.quads);
    let triples = quads.map(|quad| Triple::from(quad.clone()));
    let mut seen = HashSet::new();
    triples
        .filter(|triple| seen.insert(triple.clone()))
        .collect()
}

/// What was absorbed by an instant: of each stream the batches that end by then.
fn absorbed(case: &StandingCase, instant: u64) -> Vec<Quad> {
    let quads = case.items.iter().flat_map(|item| {
        let stream = &case.streams[item.stream];
        let is_covered = stream.batch_end_ms(item.time_ms) <= instant;
        let covered = is_covered.then_some(&item.quads).into_iter().flatten();
        covered.filter_map(|quad| stream.absorbs(quad))
    });
    quads.collect()
}

impl StandingMoment {
    /// Whether no window holds anything.
    pub fn is_empty(&self) -> bool {
        self.windows.iter().all(Vec::is_empty)
    }

    /// What is stored, and where the question asks so, its merged default graph; see
    /// [`super::Question::is_merged`].
    pub fn dataset(&self, case: &StandingCase) -> oxrdf::Dataset {
        let mut dataset = case.stored.clone();
        for quad in &self.absorbed {
            dataset.insert(quad);
        }
        if !case.question.is_merged {
            return dataset;
        }
        let question = &case.question;
        let mut merged = oxrdf::Dataset::new();
        for quad in &dataset {
            let GraphName::NamedNode(graph) = quad.graph_name.into_owned() else {
                continue;
            };
            if question.from_named.contains(&graph) {
                merged.insert(quad);
            }
            if question.from.contains(&graph) {
                merged.insert(&Triple::from(quad.into_owned()).in_graph(GraphName::DefaultGraph));
            }
        }
        for triple in self.windows.iter().flatten() {
            merged.insert(&triple.clone().in_graph(GraphName::DefaultGraph));
        }
        merged
    }
}
