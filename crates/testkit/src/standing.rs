//! Standing questions answered by definition: windows are filters over all items, answers are the naive evaluator's.
//!
//! ```text
//! streams, items, stored data ──> contents at each instant ──> naive ──> relation to stream ──> Wanted
//!          │                                                                                     │
//!          └── Question::texts (RSP-QL, C-SPARQL, CQELS) ──> engine ──────────> Reported ──> check
//! ```
//!
//! Shares nothing with the engine's windows: no batch is sealed here, no slice is kept, nothing is remembered from one
//! instant to the next but the answer before. Of `query::standing` it has the words (bounds, relations, dialects) alone.
//!
//! What the definitions are:
//! - *Instants* ([`instants`]): the closes of all windows together; or the ends of the batches that brought something;
//!   or the multiples of a period. None lies before the registration, none before a stream's beginning. Without
//!   `partial_first` none is there at which some window's content would open before its stream began.
//! - *Contents* ([`contents`]): the window at its latest close, as a set of triples, or as a bag where the question says
//!   `multiset`. Graph names of quads are not seen. The time of a triple is the greatest in the contents of all windows.
//! - *Stored side*: the data at the start and what is absorbed of all batches that end by the instant; of several streams,
//!   those of the first commit that covers these ([`expected_of`]).
//! - *Relation*: the difference from the answer before. Where all windows are empty and `nonempty` is said there is no
//!   answer, so the next one is compared with the last that was. `rows` takes reports away and changes none.
//!
//! Cost: items times windows times instants, and a naive evaluation at each.
//!
//! Sources: Botan et al., "SECRET: a model for analysis of the execution semantics of stream processing systems"
//! (VLDB 2010); Dell'Aglio et al., "RSP-QL semantics" (IJSWIS 2014); Arasu, Babu and Widom, "The CQL continuous query
//! language" (VLDB Journal 2006).

mod commits;
mod contents;
mod dialects;
pub mod goldens;
mod instants;
mod late;
mod oracle;
mod quick;
mod random_standing;
mod relation;
mod show;

pub use commits::{CommitEnds, expected_of, has_open_commits};
pub use contents::{StandingMoment, moment};
pub use instants::instants;
pub use late::{LateQuad, delayed, settled, shuffled};
pub use oracle::{Wanted, check, expected};
pub use quick::reports_by_spareval;
pub use random_standing::random_standing;
pub use show::smaller;

use crate::Answer;
use oxrdf::{Dataset, GraphName, NamedNode, Quad};
use query::standing::{Bounds, Difference, Relation};

/// The beginning of the IRIs by which windows stand in [`Question::body`].
pub const WINDOW_PREFIX: &str = "urn:window:";

/// All that an answer depends on.
#[derive(Clone, Debug)]
pub struct StandingCase {
    /// What is stored before the first item.
    pub stored: Dataset,
    /// The streams.
    pub streams: Vec<PlainStream>,
    /// The items of all streams, in the order in which they arrive.
    pub items: Vec<Item>,
    /// What is stored of items that came late, which are not among the items.
    pub late: Vec<LateQuad>,
    /// What is asked.
    pub question: Question,
}

/// A stream, as it is created.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlainStream {
    /// Its name.
    pub iri: NamedNode,
    /// Its beginning (milliseconds); no item is earlier.
    pub begin_ms: u64,
    /// The length of its batches (milliseconds); above 0.
    pub grain_ms: u64,
    /// How much earlier than the latest item before it an item may be (milliseconds).
    pub lateness_ms: u64,
    /// What of it is stored.
    pub absorbed: Absorbed,
    /// The graph that triples are stored in; a quad keeps its own graph.
    pub into: GraphName,
    /// The stream whose late items it has: it is made when it is named.
    pub side_of: Option<usize>,
}

/// Which predicates of a stream are stored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Absorbed {
    /// All.
    All,
    /// None.
    Nothing,
    /// These.
    Only(Vec<NamedNode>),
}

/// What arrives at one time in a stream.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Item {
    /// A place in [`StandingCase::streams`].
    pub stream: usize,
    /// Its application time (milliseconds).
    pub time_ms: u64,
    /// One or several.
    pub quads: Vec<Quad>,
}

/// A standing question, as a value that is printed in the dialects ([`Question::texts`]).
#[derive(Clone, Debug, PartialEq)]
#[expect(clippy::struct_excessive_bools, reason = "each is a pragma of its own")]
pub struct Question {
    /// When it is registered (milliseconds): no report closes before.
    pub registered_ms: u64,
    /// `PREFIX` lines, or nothing.
    pub prologue: String,
    /// What stands before the dataset clause: `SELECT ?x`.
    pub head: String,
    /// The graphs of `FROM`.
    pub from: Vec<NamedNode>,
    /// The graphs of `FROM NAMED`.
    pub from_named: Vec<NamedNode>,
    /// What stands after `WHERE`; a window is written `GRAPH <urn:window:0> { ... }`, by its place in [`Self::windows`].
    pub body: String,
    /// The windows.
    pub windows: Vec<PlainWindow>,
    /// Whether all windows and `FROM` graphs are one default graph, as classic C-SPARQL has it. The body then names none.
    pub is_merged: bool,
    /// Which end belongs to all windows.
    pub bounds: Bounds,
    /// Where closes are.
    pub origin: PlainOrigin,
    /// Whether windows are reported that open before the stream begins.
    pub partial_first: bool,
    /// When it is evaluated.
    pub pace: ReportPace,
    /// Whether nothing is reported while all windows are empty.
    pub nonempty: bool,
    /// Whether reports without rows are left out.
    pub rows: bool,
    /// Which part of an answer is reported.
    pub relation: Relation,
    /// How answers are compared for that.
    pub difference: Difference,
    /// Whether a triple is in a window as often as it came.
    pub is_multiset: bool,
    /// Whether the time of a triple that is in no window is `false`, not an error.
    pub is_compat: bool,
}

/// Where closes are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PlainOrigin {
    /// At whole steps and so many milliseconds.
    Epoch(u64),
    /// At whole steps after the first item of the window's stream, whose time is cut to seconds.
    FirstItem,
}

/// When a question is evaluated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReportPace {
    /// At the closes of its windows.
    Close,
    /// At the end of each batch that brought an item to one of its windows' streams.
    Change,
    /// At the multiples of so many milliseconds.
    Periodic(u64),
}

/// A window over a stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PlainWindow {
    /// A place in [`StandingCase::streams`].
    pub stream: usize,
    /// What it holds.
    pub extent: PlainExtent,
}

/// What a window holds; all times in milliseconds, all numbers above 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PlainExtent {
    /// What arrived within `range`, closing at every `step`.
    Time {
        /// Its length.
        range_ms: u64,
        /// From one close to the next.
        step_ms: u64,
    },
    /// What arrived from `from` before the close until `to` before it.
    Past {
        /// The earlier end.
        from_ms: u64,
        /// The later end, less than `from_ms`.
        to_ms: u64,
        /// From one close to the next.
        step_ms: u64,
    },
    /// The range before the latest moment, wherever that is: CQELS without `SLIDE`.
    Sliding {
        /// Its length.
        range_ms: u64,
    },
    /// The last items, by time and, within a time, by arrival.
    Count {
        /// How many.
        items: usize,
        /// A close after so many, at the end of their batch.
        step: usize,
    },
    /// What arrived at the latest time at which something did.
    Now,
    /// All that arrived.
    All,
}

/// What an engine reported.
#[derive(Clone, Debug, PartialEq)]
pub struct Reported {
    /// The instant (milliseconds).
    pub close_ms: u64,
    /// The part of the answer that the question's relation asks for.
    pub answer: Answer,
}

/// The IRI of a window by its place.
pub fn window_iri(window: usize) -> NamedNode {
    NamedNode::new_unchecked(format!("{WINDOW_PREFIX}{window}"))
}

impl StandingCase {
    /// The items of a stream in the order in which a seal has them: by time and, within a time, by arrival.
    pub fn in_order(&self, stream: usize) -> Vec<&Item> {
        let mut items: Vec<&Item> = self
            .items
            .iter()
            .filter(|item| item.stream == stream)
            .collect();
        items.sort_by_key(|item| item.time_ms);
        items
    }
}

impl PlainStream {
    /// The end of the batch that a time lies in (milliseconds).
    pub fn batch_end_ms(&self, time_ms: u64) -> u64 {
        (time_ms / self.grain_ms + 1) * self.grain_ms
    }

    /// The quad that is stored of one that arrived, if it is.
    pub fn absorbs(&self, quad: &Quad) -> Option<Quad> {
        let is_absorbed = match &self.absorbed {
            Absorbed::All => true,
            Absorbed::Nothing => false,
            Absorbed::Only(predicates) => predicates.contains(&quad.predicate),
        };
        let mut stored = quad.clone();
        if stored.graph_name.is_default_graph() {
            stored.graph_name = self.into.clone();
        }
        is_absorbed.then_some(stored)
    }
}

#[cfg(test)]
mod tests;
