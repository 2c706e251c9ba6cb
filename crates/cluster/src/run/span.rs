//! What a node gives of a query that is followed: when it worked for it, and what came of that.

use crate::message::QueryId;
use crate::run::figures::SectionFigures;
use crate::trace::Trace;
use std::time::Duration;

/// A stretch of work of a query on a node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Span {
    /// Its trace, and the span that it is part of.
    pub of: Trace,
    /// Names it within the trace; not 0.
    pub id: u64,
    /// The query.
    pub query: QueryId,
    /// Where.
    pub node: u16,
    /// Which section, and whether it was walked in place; `None`: all of the node's.
    pub section: Option<(usize, bool)>,
    /// When it began and ended, by the fabric's clock.
    pub time: (Duration, Duration),
    /// What it did; of all of a node's, sums, without steps.
    pub figures: SectionFigures,
}
