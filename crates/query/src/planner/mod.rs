//! The planner: a query and statistics in, a plan out. A pure function over values.
//!
//! ```text
//!  query ----------+                       +--> degree questions (asked before, in one batch)
//!  ids of constants+--> problem --> order --> assemble --> plan
//!  degrees --------+       ^
//!  statistics --> index ---+  (once per snapshot)
//! ```
//!
//! * [`problem`] sizes patterns and estimates the rows of any choice of them; [`star`] does so at
//!   one variable, from characteristic sets.
//! * [`access`] knows the ways to walk one pattern and what each costs; [`costs`] are the figures.
//! * [`order`] chooses the order of exploration.
//! * [`assemble`] writes the steps: moves, filters where their variables are bound, modifiers, and
//!   which columns live on.
//!
//! A wrong estimate costs time, never an answer: what statistics prove empty is walked all the same
//! (from the empty end, so in no time), because statistics may be older than the snapshot.

mod access;
mod assemble;
mod costs;
mod dynamic;
mod greedy;
mod index;
mod order;
mod problem;
mod star;

use crate::plan::Plan;
use crate::query::Query;
use crate::statistics::{DegreeQuestion, Statistics};
use index::Index;
use problem::{Problem, Questions};
use rdf::VertexId;

/// How to plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PlanOptions {
    /// Walk the patterns in the order of the text: a forced plan, for experiments and tests.
    pub keep_order: bool,
}

impl PlanOptions {
    /// By cost.
    pub const DEFAULT: PlanOptions = PlanOptions { keep_order: false };
}

impl Default for PlanOptions {
    fn default() -> PlanOptions {
        PlanOptions::DEFAULT
    }
}

/// Plans queries against the statistics of one snapshot. Made once per snapshot; shared by threads.
#[derive(Clone, Debug)]
pub struct Planner {
    index: Index,
}

impl Planner {
    /// Indexes the statistics. O(size of the statistics).
    pub fn new(statistics: Statistics) -> Planner {
        Planner {
            index: Index::new(statistics),
        }
    }

    /// The statistics.
    pub fn statistics(&self) -> &Statistics {
        &self.index.statistics
    }

    /// Plans a query. `ids` are those of [`Query::constants`], in order, `None` for a term that is
    /// stored nowhere; `degrees` the answers to [`Query::degree_questions`], in order (a missing one
    /// is taken as unknown). Up to 12 connected patterns are ordered exhaustively; 1,000 take
    /// milliseconds.
    pub fn plan(
        &self,
        query: &Query,
        ids: &[Option<VertexId>],
        degrees: &[u64],
        options: PlanOptions,
    ) -> Plan {
        let problem = Problem::new(query, ids, degrees, &self.index);
        let order = if options.keep_order {
            order::as_written(&problem)
        } else {
            order::order(&problem)
        };
        assemble::assemble(query, &problem, &order)
    }
}

/// Plans a query against statistics that are not indexed yet; see [`Planner::plan`].
pub fn plan(
    query: &Query,
    ids: &[Option<VertexId>],
    statistics: &Statistics,
    degrees: &[u64],
    options: PlanOptions,
) -> Plan {
    Planner::new(statistics.clone()).plan(query, ids, degrees, options)
}

impl Query {
    /// What the planner wants to know of the constants before it plans, each question once. `ids` as
    /// for [`Planner::plan`].
    pub fn degree_questions(&self, ids: &[Option<VertexId>]) -> Vec<DegreeQuestion> {
        Questions::new(self, ids).questions
    }
}
