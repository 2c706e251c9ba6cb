//! A request for a query: what is asked, and within which limits; and what becomes of it before it is walked.
//!
//! ```text
//! request --reading--> algebra --degrees, samples--> plan --walking--> rows
//!    |                                                ^
//!    +-- a known shape: plan_cache -------------------+
//! ```
//!
//! All parts but `start` know graphs, budgets and tokens, and neither the planned query nor the database. So changes are
//! read, planned and limited as queries are.
//!
//! | module | about |
//! |---|---|
//! | `start` | from a request to its planned query |
//! | `shared` | what all requests to one database share |
//! | `context` | what the parts of one request share |
//! | `reading` | from text to algebra, and what is said of a text that cannot be read |
//! | `learnt` | what one reader of a text leaves to the next |
//! | `degrees`, `sampling` | what the planner asks of a graph |
//! | `plan_cache` | plans of shapes that come again |
//! | `warnings` | what a query probably did not mean |
//! | `walking` | the budget and the token of a request, as a walk asks for them |

pub(crate) mod context;
pub(crate) mod degrees;
pub(crate) mod learnt;
pub(crate) mod plan_cache;
pub(crate) mod reading;
pub(crate) mod sampling;
pub(crate) mod shared;
pub(crate) mod start;
pub(crate) mod walking;
pub(crate) mod warnings;

use crate::moment::Graph;
use crate::moment::statistics::ForeignStatistics;
use crate::options::Options;
use crate::parts::{AskedAt, Mode, Trace};
use crate::stop::Pace;
use learnt::Learnt;
use query::parse::ParseOptions;
use reading::parse_options;
use std::sync::Arc;
use std::time::Duration;

/// What is asked, and within which limits. Anything not said is the database's default.
#[derive(Clone, Debug, Default)]
pub struct Request<'a> {
    /// The query's text.
    pub text: &'a str,
    /// The graph that is read, as [`crate::Database::graph`] or [`crate::Database::graph_at`] gave it; `None`: the newest.
    /// Requests that have the same one see the same.
    pub graph: Option<Arc<Graph>>,
    /// What one who was asked before learnt of the text.
    pub learnt: Option<&'a Learnt>,
    /// What relative IRIs of the text are resolved against.
    pub base: Option<&'a str>,
    /// The protocol's `default-graph-uri`; with `named_graphs` it replaces the text's dataset
    /// clause unless both are empty.
    pub default_graphs: Vec<String>,
    /// The protocol's `named-graph-uri`.
    pub named_graphs: Vec<String>,
    /// Whether the default graph is the union of all graphs, unless a dataset is named; `None`: as the
    /// database has it ([`crate::Options::union_default_graph`]).
    pub union_default_graph: Option<bool>,
    /// Terms for variables of the text: names without question mark, terms as `VALUES` has them. Each is
    /// as if `VALUES ?name { TERM }` were the first element of `WHERE` and of each group in it that has ?name.
    pub bindings: Vec<(String, String)>,
    /// Rows of a `SELECT` that are skipped (count).
    pub offset: u64,
    /// Rows of a `SELECT` after these at most (count); `None`: all.
    pub limit: Option<u64>,
    /// Time it may take; never more than the database's own limit allows.
    pub timeout: Option<Duration>,
    /// Memory it may take.
    pub memory_bytes: Option<u64>,
    /// Threads it may use if it is heavy.
    pub threads: Option<usize>,
    /// Walk the patterns in the order of the text: a forced plan, for experiments and tests.
    pub keep_order: bool,
    /// Plan by these statistics instead of the graph's own, and by no samples, for experiments.
    pub statistics: Option<&'a ForeignStatistics>,
    /// The expected time of a walk from which its plan is made by samples, too, instead of the database's
    /// ([`crate::Options::sample_from`]); [`Duration::MAX`]: none is.
    pub sample_from: Option<Duration>,
    /// Expand, then check, where an intersection would do both: to measure what it gains.
    pub keep_checks: bool,
    /// Walk what the signatures prove empty: to measure what the proof saves.
    pub keep_empty: bool,
    /// How rows come to what they need, where the graph is in parts; `None`: as the database has it.
    pub execution: Option<Mode>,
    /// Which node of this process is asked, where the graph is in parts; `None`: as the database has it.
    pub asked: Option<AskedAt>,
    /// What it is part of, where it is followed; each node of a graph in parts then says what it did
    /// ([`crate::Options::spans`]).
    pub trace: Option<Trace>,
    /// Who shares the processors between this query and others; `None`: it never waits for others.
    pub pace: Option<Arc<dyn Pace>>,
}

impl<'a> Request<'a> {
    /// A request with the database's limits.
    pub fn new(text: &'a str) -> Request<'a> {
        Request {
            text,
            ..Request::default()
        }
    }

    /// How its text is read in a database with these options.
    pub(crate) fn parse_options(&self, options: &Options) -> ParseOptions {
        let union = self
            .union_default_graph
            .unwrap_or(options.union_default_graph);
        parse_options(self.base, options.text_max_bytes, union)
    }

    /// Whether the text alone decides the plan.
    pub(crate) fn is_plain(&self) -> bool {
        let has_dataset = !(self.default_graphs.is_empty() && self.named_graphs.is_empty());
        let is_forced = self.keep_order
            || self.keep_checks
            || self.keep_empty
            || self.statistics.is_some()
            || self.sample_from.is_some()
            || self.graph.is_some();
        let is_whole = self.offset == 0 && self.limit.is_none();
        !is_forced && !has_dataset && self.bindings.is_empty() && is_whole
    }
}
