//! A standing question: a query over windows of streams and over the stored graph, in the one form that all dialects of
//! C-SPARQL, RSP-QL and CQELS-QL come to.
//!
//! A text says three things: what is asked (a [`Query`], whose patterns name their [`Source`]), what the sources are
//! ([`SourceContent`]: windows, the store, or a union of them), and when and how answers are reported ([`Report`],
//! [`Relation`]). The query is planned and walked like any other; the rest is for whoever keeps the streams.
//!
//! **Time** is application time in whole milliseconds since the epoch. A window of range `r` and step `s` closes at all
//! times `k * s + offset`; it holds what arrived in `[close - r, close)` or `(close - r, close]` ([`Bounds`]).
//!
//! Engines of the dialects disagree on bounds, first windows and empty ones. Each dialect has the defaults of its
//! engine, and a pragma (`#@ bounds=lcro report=close,nonempty`) replaces them one by one.
//!
//! | module | holds |
//! |---|---|
//! | `read` | text to [`StandingQuery`], with the defaults of its dialect |
//! | `pragma` | comment lines that replace them |
//! | `bag` | windows as bags |
//! | `template` | many queries that differ in constants, as one over a table of them |
//!
//! Sources: Barbieri et al., "C-SPARQL: a continuous query language for RDF data streams" (IJSC 2010); Dell'Aglio et
//! al., "RSP-QL semantics" (IJSWIS 2014); Le-Phuoc et al., "A native and adaptive approach for unified processing of
//! linked streams and linked data" (ISWC 2011); Zhang et al., "Sub-millisecond stateful stream querying over
//! fast-evolving linked data" (SOSP 2017).

mod bag;
mod pragma;
mod read;
mod template;

pub use read::{further_errors, parse, parse_given};
pub use template::{Apart, Sharing, StandingTemplate, parse_template};

use crate::algebra::Query;
use crate::plan::{ConstantId, Source};

/// A registered query; see the module's documentation.
#[derive(Clone, Debug, PartialEq)]
pub struct StandingQuery {
    /// The name that the text registers it by, an IRI or a word; `None` where it registers nothing.
    pub name: Option<String>,
    /// The dialect that the text is written in.
    pub dialect: Dialect,
    /// Where answers go.
    pub output: Output,
    /// Which part of an answer is reported.
    pub relation: Relation,
    /// How answers are compared for [`Relation::Insertions`] and [`Relation::Deletions`].
    pub difference: Difference,
    /// `COMPUTED EVERY` (milliseconds): evaluation instants beside those of the windows' closes, which it replaces.
    pub every_ms: Option<u64>,
    /// When it is reported.
    pub report: Report,
    /// Whether a triple that arrived several times in a window is there so often (`multiset=on`); else a window is a set.
    pub multiset: bool,
    /// Whether it asks when triples came (`timestamp()`).
    pub asks_times: bool,
    /// Whether some pattern of it is of the stored graph, be it beside windows in one source.
    pub sees_stored: bool,
    /// How often a report reaches its consumers.
    pub emit: Emit,
    /// What of the stored graph an answer sees.
    pub freshness: Freshness,
    /// What happens when an item arrives late.
    pub late: Late,
    /// `lateness=200ms` (milliseconds): how much later than the streams' own lateness allows an item may come.
    pub lateness_ms: Option<u64>,
    /// The windows, in the order of the text.
    pub windows: Vec<WindowClause>,
    /// What each source of the query is, the store left out: `sources[i]` is `Source(i + 1)`.
    pub sources: Vec<SourceContent>,
    /// What is asked. Its dataset clause is of the store alone.
    pub query: Query,
    /// What it means where its text leaves that to its dialect, with what its pragmas say, as one line of pragmas
    /// (`bounds=lcro report=close,nonempty ...`): behind `#@` in place of the text's own it changes nothing.
    pub pragmas: String,
}

impl StandingQuery {
    /// What a source is; `None` for the store.
    pub fn content(&self, source: Source) -> Option<&SourceContent> {
        let place = usize::from(source.0).checked_sub(1)?;
        self.sources.get(place)
    }

    /// The streams that it names, each once, in the order of the text.
    pub fn streams(&self) -> Vec<&str> {
        let mut streams: Vec<&str> = Vec::new();
        for window in &self.windows {
            if !streams.contains(&window.stream.as_str()) {
                streams.push(&window.stream);
            }
        }
        streams
    }
}

/// The dialects, told apart by their syntax.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dialect {
    /// C-SPARQL as its engine has it: all windows and `FROM` graphs are one default graph.
    CSparql,
    /// C-SPARQL with `GRAPH <stream> { ... }`, as Wukong+S extends it.
    CSparqlGraph,
    /// RSP-QL: named windows.
    RspQl,
    /// CQELS-QL: windows stand within `WHERE`.
    Cqels,
}

/// Where answers go.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Output {
    /// To whoever subscribes.
    Table,
    /// The triples of a `CONSTRUCT`, into the stream of this name, at the report's close.
    Stream(String),
}

/// Relation to stream: which part of an answer is reported (Arasu, Babu and Widom, "The CQL continuous query
/// language", VLDB Journal 2006, section 5).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Relation {
    /// `RSTREAM`: all rows.
    Rows,
    /// `ISTREAM`: the rows that the report before had not.
    Insertions,
    /// `DSTREAM`: the rows of the report before that are gone.
    Deletions,
}

/// How answers are compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Difference {
    /// As bags: a row counts as often as it is there.
    Multiset,
    /// As sets (`difference=set`).
    Set,
}

/// When a query is evaluated, and whether that is reported.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Report {
    /// What an evaluation waits for.
    pub when: When,
    /// Nothing is reported while all windows are empty (`nonempty`).
    pub nonempty: bool,
    /// An answer without rows is not reported (`rows`).
    pub rows: bool,
}

/// What an evaluation waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum When {
    /// The close of a window (`close`).
    Close,
    /// A sealed batch that brought an item (`change`); the content is that of the oldest open window up to its end.
    Change,
    /// So many milliseconds of application time (`periodic=1s`).
    Periodic {
        /// Milliseconds; above 0.
        period_ms: u64,
    },
}

/// How often a report reaches its consumers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Emit {
    /// `emit=at-most-once`
    AtMostOnce,
    /// `emit=at-least-once`
    AtLeastOnce,
    /// `emit=exactly-once`
    ExactlyOnce,
}

/// What of the stored graph an answer sees.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Freshness {
    /// The first commit that covers all batches that end by the close: repeatable.
    Aligned,
    /// The newest commit (`freshness=latest`): not repeatable.
    Latest,
}

/// What happens when an item arrives after its batch was sealed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Late {
    /// It goes to the stream `NAME/late` and a counter (`late=side`).
    Side,
    /// It is counted only (`late=drop`).
    Drop,
    /// The reports that it touches are made again as differences (`late=revise`).
    Revise,
}

/// One window of a query.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WindowClause {
    /// The IRI that the text names it by, where it does.
    pub name: Option<String>,
    /// The stream's IRI.
    pub stream: String,
    /// What it holds.
    pub extent: Extent,
    /// Which end belongs to it.
    pub bounds: Bounds,
    /// Whether windows are reported that open before the stream begins (`partial_first=yes`).
    pub partial_first: bool,
}

/// What a window holds, in items of its stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Extent {
    /// What arrived within a span of time.
    Time {
        /// Its length (milliseconds); above 0.
        range_ms: u64,
        /// From one close to the next (milliseconds); above 0.
        step_ms: u64,
        /// Where closes are.
        origin: Origin,
    },
    /// The last items.
    Count {
        /// How many; above 0.
        items: u64,
        /// A report after so many; above 0.
        step: u64,
    },
    /// What arrived within a span of time that ends now (`RANGE 10s` of CQELS-QL without `SLIDE`): it never closes, and
    /// its content changes with each item. It holds `(now - range, now]`, or by its bounds `[now - range, now)`; now is
    /// the end of the batch that brought the item.
    Sliding {
        /// Its length (milliseconds); above 0.
        range_ms: u64,
    },
    /// What arrived at the latest moment at which something did (`NOW`).
    Now,
    /// All that arrived since the stream began (`ALL`).
    All,
    /// What arrived within a span that ended a while ago (`FROM NOW-PT10S TO NOW-PT5S STEP PT1S`).
    Past {
        /// From so long before the close (milliseconds).
        from_ms: u64,
        /// Until so long before it (milliseconds), less than `from_ms`.
        to_ms: u64,
        /// From one close to the next (milliseconds); above 0.
        step_ms: u64,
        /// Where closes are.
        origin: Origin,
    },
}

/// Where the closes of a window are, in application time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Origin {
    /// At `k * step + offset` for whole k, the offset in milliseconds, below the step (`t0=epoch`, `t0=MS`).
    Epoch {
        /// Milliseconds.
        offset_ms: u64,
    },
    /// At whole steps after the first item's time cut to seconds (`t0=first`), as the C-SPARQL engine has them.
    FirstItem,
}

/// Which end of its span belongs to a window.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Bounds {
    /// `[open, close)` (`bounds=lcro`).
    LeftClosed,
    /// `(open, close]` (`bounds=lorc`).
    RightClosed,
}

/// What a source of a query is: the union of windows, and of graphs of the store where it says so. A triple of several
/// is there once.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SourceContent {
    /// The windows, as places in [`StandingQuery::windows`].
    pub windows: Vec<usize>,
    /// The store's share.
    pub stored: Stored,
}

/// The store's share of a union.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Stored {
    /// None.
    #[default]
    Nothing,
    /// Its default graph.
    DefaultGraph,
    /// The merge of these graphs.
    Graphs(Vec<ConstantId>),
}
