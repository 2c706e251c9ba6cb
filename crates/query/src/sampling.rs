//! What the planner asks to have walked while it plans: samples of partial walks.
//!
//! Statistics multiply what they know of single predicates and of the predicates of one vertex. Joins
//! whose ends depend on each other are misestimated by them, by orders of magnitude where several meet.
//! So for a heavy query the planner has some rows of a partial walk taken one pattern further, and uses
//! what was found (Leis, Radke, Gubichev, Kemper and Neumann, "Cardinality estimation done right:
//! index-based join sampling", CIDR'17).
//!
//! ```text
//!  rows of P (at most rows_max) --pattern--> partners, all counted --> rows of P and the pattern
//!        rows_in                                 found                    (at most rows_max)
//! ```
//!
//! This crate knows no data: whoever has a graph answers. Answers depend on the question and the graph
//! alone, never on chance or time, so that the same query is planned alike twice.

use crate::algebra::Pattern;

/// Names a sample that a [`Sampler`] keeps.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct SampleId(pub u32);

/// A partial walk is to be taken one pattern further.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SampleQuestion {
    /// The rows that it is taken from; `None`: this is the first pattern.
    pub from: Option<SampleId>,
    /// The pattern. Its predicate is a constant and its graph no variable.
    pub pattern: Pattern,
    /// Rows of the new sample, at most.
    pub rows_max: u32,
    /// Decides which rows are taken; equal seeds take equal rows.
    pub seed: u64,
}

/// What was found.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sampled {
    /// The new sample.
    pub id: SampleId,
    /// Rows that were taken further; 1 for a first pattern.
    pub rows_in: u64,
    /// Partners that these have: all of them, of which the new sample has some. For a first pattern the
    /// number of its matches, exact or scaled up.
    pub found: f64,
    /// Rows of the new sample.
    pub rows: u64,
    /// Keys that were looked up and rows that were read: what the answer cost.
    pub touched: u64,
}

/// Somebody who has the graph ended the planning: the query's time is over, or the graph is damaged. Who
/// answers keeps the reason.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("planning was interrupted")]
pub struct Interrupted;

/// Takes partial walks further over one graph, a batch of questions at a time.
pub trait Sampler {
    /// The answers, in the order of the questions. `None`: it would cost more than a sample may, or it
    /// cannot be answered for such a pattern; the planner then has nothing but its statistics.
    fn sample(&mut self, questions: &[SampleQuestion])
    -> Result<Vec<Option<Sampled>>, Interrupted>;
}
