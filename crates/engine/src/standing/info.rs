//! Streams and queries as people see them: what a stream is made of, and how both stand.
//!
//! Counters of items and the figures of the last report begin anew with the process: they say what flows, and no answer
//! rests on them. So no log has them.

use query::plan::Form;
use query::standing::{Dialect, Extent, Relation, WindowClause};
use std::time::Duration;

/// What a stream is, in terms; see [`Definition`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HubStream {
    /// Its IRI.
    pub name: String,
    /// How long a batch is (milliseconds).
    pub grain_ms: u64,
    /// How much later than its source's watermark an item may come (milliseconds).
    pub lateness_ms: u64,
    /// A source that was silent for so long (milliseconds) holds nobody up; `None`: it always does.
    pub idle_ms: Option<u64>,
    /// The predicates whose triples are stored; `None`: all.
    pub absorb: Option<Vec<String>>,
    /// The graph that they are stored in; `None`: the default graph.
    pub into: Option<String>,
    /// Whether an item's time is that of its arrival.
    pub arrival_time: bool,
    /// What its items and their slices may hold (bytes); beyond that pushes are refused for now.
    pub budget_bytes: u64,
}

impl HubStream {
    /// A stream of this name with the usual settings: batches of 100 ms, no lateness, everything stored in the default
    /// graph.
    pub fn new(name: &str) -> HubStream {
        HubStream {
            name: name.to_owned(),
            grain_ms: stream::definition::GRAIN_MS,
            lateness_ms: 0,
            idle_ms: None,
            absorb: None,
            into: None,
            arrival_time: false,
            budget_bytes: stream::definition::BUDGET_BYTES,
        }
    }
}

/// A stream and how it stands, for people.
#[derive(Clone, Debug, PartialEq)]
pub struct StreamInfo {
    /// What it is.
    pub settings: HubStream,
    /// What is before this has been promised to be complete (milliseconds).
    pub watermark_ms: u64,
    /// What is before this is decided and seen (milliseconds).
    pub covered_ms: u64,
    /// Whether none of its sources is active.
    pub is_idle: bool,
    /// What its items, their slices, their terms and its sources hold (bytes).
    pub held_bytes: u64,
    /// What of that open batches hold (bytes).
    pub open_bytes: u64,
    /// What of that sealed items hold beside their slices (bytes).
    pub item_bytes: u64,
    /// What of that slices hold (bytes).
    pub slice_bytes: u64,
    /// Sealed items that windows may still reach (count).
    pub items: u64,
    /// Their quads, as often as they came (count).
    pub quads: u64,
    /// Items that came late (count).
    pub late: u64,
    /// What of that its terms hold that are not stored (bytes): a term counts where it was named first.
    pub term_bytes: u64,
    /// What of that its sources hold: their names, promises and positions (bytes).
    pub source_bytes: u64,
    /// What came since the process began.
    pub arrivals: Arrivals,
    /// Its sources, the slowest first; at most [`SOURCES_SHOWN`].
    pub sources: Vec<SourceInfo>,
    /// How many sources it has (count).
    pub source_count: u64,
    /// How many of them are not waited for, because they were silent for too long (count).
    pub idle_source_count: u64,
    /// The names of the queries that read it.
    pub queries: Vec<String>,
}

/// What a stream holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StreamFigures {
    /// Its IRI.
    pub name: String,
    /// Its items, their slices, their terms and its sources (bytes).
    pub held_bytes: u64,
    /// What of that open batches hold (bytes).
    pub open_bytes: u64,
    /// What of that sealed items hold beside their slices (bytes).
    pub item_bytes: u64,
    /// What of that slices hold (bytes).
    pub slice_bytes: u64,
    /// What of that its terms hold that are not stored (bytes).
    pub term_bytes: u64,
    /// What of that its sources hold (bytes).
    pub source_bytes: u64,
    /// Sealed items that windows may still reach (count).
    pub items: u64,
    /// Their quads, as often as they came (count).
    pub quads: u64,
}

/// Sources that are shown of a stream (count): its watermark is that of the slowest, so these say who holds it back.
pub const SOURCES_SHOWN: usize = 16;

/// What came into a stream since the process began.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Arrivals {
    /// Items, late ones included (count).
    pub items: u64,
    /// When the last of them came, by the edge's clock (milliseconds); 0: none came.
    pub last_ms: u64,
    /// What was refused because it could not be read (count).
    pub rejected: u64,
}

/// A source of a stream, for people.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SourceInfo {
    /// Its name; of a query that writes the stream, that of the query.
    pub name: String,
    /// What is before this it has promised to have sent (milliseconds).
    pub watermark_ms: u64,
    /// Whether nobody waits for it, because it was silent for too long.
    pub is_idle: bool,
}

/// A window of a query, for people.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WindowInfo {
    /// The IRI that the text names it by, where it does.
    pub name: Option<String>,
    /// The stream's IRI.
    pub stream: String,
    /// What it holds: `time`, `count`, `sliding`, `now`, `all` or `past`.
    pub kind: &'static str,
    /// Its length (milliseconds; of `count` items); `None`: it has none.
    pub range: Option<u64>,
    /// From one close to the next, in the same unit; `None`: it never closes.
    pub step: Option<u64>,
}

impl WindowInfo {
    /// Of a clause.
    pub(super) fn of(clause: &WindowClause) -> WindowInfo {
        let (kind, range, step) = match clause.extent {
            Extent::Time {
                range_ms, step_ms, ..
            } => ("time", Some(range_ms), Some(step_ms)),
            Extent::Count { items, step } => ("count", Some(items), Some(step)),
            Extent::Sliding { range_ms } => ("sliding", Some(range_ms), None),
            Extent::Now => ("now", None, None),
            Extent::All => ("all", None, None),
            Extent::Past {
                from_ms,
                to_ms,
                step_ms,
                ..
            } => ("past", Some(from_ms - to_ms), Some(step_ms)),
        };
        WindowInfo {
            name: clause.name.clone(),
            stream: clause.stream.clone(),
            kind,
            range,
            step,
        }
    }
}

/// The last report of a query, for people.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LastReport {
    /// The moment that it is of (milliseconds).
    pub close_ms: u64,
    /// Its rows (count); of an `ASK` that is so, 1.
    pub rows: u64,
    /// Items that its windows held (count).
    pub items: u64,
    /// How long its evaluation took.
    pub exec: Duration,
    /// When it was told, by the edge's clock (milliseconds).
    pub told_ms: u64,
}

/// The word for a query's form.
pub(super) fn form_word(form: &Form) -> &'static str {
    match form {
        Form::Ask => "ASK",
        Form::Construct(_) => "CONSTRUCT",
        Form::Describe(_) => "DESCRIBE",
        Form::Select(_) => "SELECT",
    }
}

/// The name of a dialect.
pub(super) fn dialect_word(dialect: Dialect) -> &'static str {
    match dialect {
        Dialect::CSparql => "C-SPARQL",
        Dialect::CSparqlGraph => "C-SPARQL with GRAPH",
        Dialect::RspQl => "RSP-QL",
        Dialect::Cqels => "CQELS-QL",
    }
}

/// The word for which part of an answer a query reports.
pub(super) fn relation_word(relation: Relation) -> &'static str {
    match relation {
        Relation::Rows => "RSTREAM",
        Relation::Insertions => "ISTREAM",
        Relation::Deletions => "DSTREAM",
    }
}

/// The instances of a template, for people.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TemplateInfo {
    /// The parameters, without question mark.
    pub parameters: Vec<String>,
    /// Instances (count).
    pub instances: u64,
    /// What they hold (bytes).
    pub bytes: u64,
    /// Why each of them is walked for itself; `None`: one walk answers all.
    pub apart: Option<String>,
}

/// A registered query, for people.
#[derive(Clone, Debug, PartialEq)]
pub struct QueryInfo {
    /// Its name.
    pub name: String,
    /// Its text, where it was registered by one.
    pub text: Option<String>,
    /// The names of the streams that it reads.
    pub streams: Vec<String>,
    /// The dialect that its text is written in.
    pub dialect: &'static str,
    /// What it means where the text leaves that to its dialect, as one line of pragmas.
    pub pragmas: String,
    /// Its windows, in the order of the text.
    pub windows: Vec<WindowInfo>,
    /// `SELECT`, `ASK`, `CONSTRUCT` or `DESCRIBE`.
    pub form: &'static str,
    /// Which part of an answer is reported: `RSTREAM`, `ISTREAM` or `DSTREAM`.
    pub relation: &'static str,
    /// The stream that it writes.
    pub output: Option<String>,
    /// What its instances are, if it is a template.
    pub template: Option<TemplateInfo>,
    /// Whether it is paused.
    pub is_paused: bool,
    /// Evaluations so far (count).
    pub evaluations: u64,
    /// The last close that was evaluated (milliseconds).
    pub close_ms: Option<u64>,
    /// Why the last evaluation failed, if it did, or why its triples are not in the stream that it writes.
    pub failure: Option<String>,
    /// Evaluations since the process began that failed, or whose triples found no room (count).
    pub failures: u64,
    /// The number of its last report; 0: it has none.
    pub reports: u64,
    /// Its last report, where there was one since the process began.
    pub last: Option<LastReport>,
}
