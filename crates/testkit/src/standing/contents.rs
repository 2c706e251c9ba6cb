//! What a question sees at an instant: its windows' triples, and what is stored.
//!
//! Invariant: a content is a set of triples, or a bag where the question says so; when one arrived is said beside. Each is
//! found by looking at all items.

use super::instants::{WindowSpan, before, seen_until, span};
use super::{Item, PlainExtent, PlainWindow, ReportPace, StandingCase};
use oxrdf::{GraphName, Quad, Triple};
use std::collections::{HashMap, HashSet};

/// What a question sees at one instant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StandingMoment {
    /// The instant (milliseconds).
    pub close_ms: u64,
    /// The triples of each window, each once, or as often as it came where windows are bags.
    pub windows: Vec<Vec<Triple>>,
    /// When each triple of any window came last (milliseconds).
    pub times: HashMap<Triple, u64>,
    /// What the streams added to the stored data by then.
    pub absorbed: Vec<Quad>,
}

/// What is seen at an instant, with what is stored of all batches that end by it.
pub fn moment(case: &StandingCase, close_ms: u64) -> StandingMoment {
    moment_over(case, close_ms, &ends(case, close_ms))
}

/// The ends of the last batches of each stream that end by an instant (milliseconds).
pub(super) fn ends(case: &StandingCase, instant: u64) -> Vec<u64> {
    let streams = case.streams.iter();
    streams
        .map(|stream| instant / stream.grain_ms * stream.grain_ms)
        .collect()
}

/// What is seen at an instant, with what is stored of each stream before these moments (milliseconds).
pub(super) fn moment_over(case: &StandingCase, close_ms: u64, stored_ms: &[u64]) -> StandingMoment {
    let mut times: HashMap<Triple, u64> = HashMap::new();
    let mut windows = Vec::new();
    for window in &case.question.windows {
        let mut triples = Vec::new();
        for item in items(case, window, close_ms) {
            for quad in &item.quads {
                let triple = Triple::from(quad.clone());
                let time = times.entry(triple.clone()).or_default();
                *time = (*time).max(item.time_ms);
                triples.push(triple);
            }
        }
        if !case.question.is_multiset {
            let mut seen = HashSet::new();
            triples.retain(|triple| seen.insert(triple.clone()));
        }
        windows.push(triples);
    }
    StandingMoment {
        close_ms,
        windows,
        times,
        absorbed: absorbed(case, close_ms, stored_ms),
    }
}

/// The items of a window.
fn items<'c>(case: &'c StandingCase, window: &PlainWindow, instant: u64) -> Vec<&'c Item> {
    let bounds = case.question.bounds;
    let seen = seen_until(&case.question, instant);
    let until_now = || before(case, window.stream, WindowSpan::until(seen), bounds);
    match window.extent {
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
    }
}

/// What was absorbed by an instant: of each stream what came before these moments, and what came late.
fn absorbed(case: &StandingCase, instant: u64, stored_ms: &[u64]) -> Vec<Quad> {
    let quads = case.items.iter().flat_map(|item| {
        let stream = &case.streams[item.stream];
        let is_covered = item.time_ms < stored_ms[item.stream];
        let covered = is_covered.then_some(&item.quads).into_iter().flatten();
        covered.filter_map(|quad| stream.absorbs(quad))
    });
    let late = case.late.iter().filter(|late| late.from_ms <= instant);
    quads.chain(late.map(|late| late.quad.clone())).collect()
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
        if question.is_multiset {
            return merged;
        }
        for triple in self.windows.iter().flatten() {
            merged.insert(&triple.clone().in_graph(GraphName::DefaultGraph));
        }
        merged
    }

    /// The default graph of a question whose windows are bags and one graph with what is stored: a stored triple is one
    /// more occurrence. A window that is written twice is one, as a graph is that stands in two `FROM` clauses: SPARQL's
    /// datasets are sets of graphs (SPARQL 1.1 Query, section 13.2). What two other windows share came in each.
    pub(super) fn merged_bag(&self, case: &StandingCase) -> Option<Vec<Triple>> {
        let question = &case.question;
        if !question.is_merged || !question.is_multiset {
            return None;
        }
        let dataset = self.dataset(case);
        let stored = dataset.quads_for_graph_name(oxrdf::GraphNameRef::DefaultGraph);
        let stored = stored.map(|quad| Triple::from(quad.into_owned()));
        let windows = question.windows.iter().enumerate();
        let distinct = windows.filter(|(at, window)| !question.windows[..*at].contains(window));
        let came = distinct.flat_map(|(at, _)| self.windows[at].iter().cloned());
        Some(stored.chain(came).collect())
    }
}
