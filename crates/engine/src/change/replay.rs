//! The log's tail when a store is opened, and what another process commits, in the engine's words.
//!
//! Records are applied by [`store::delta::apply`]. What is added here is what the store does not know: the planner's
//! statistics, which go along with the graph, and which sort of failure its errors are. Whoever opens a store takes
//! the memory that it needs; whoever [follows](super::follow) one asks a [`Charge`] first.

use super::charge::Charge;
use super::draft::refused;
use crate::error::{Kind, QueryError};
use crate::moment::Graph;
use crate::open_error::OpenError;
use std::convert::Infallible;
use std::ops::ControlFlow;
use store::delta::{Account, ApplyError, ChangedGraphs, Replay, ResolveError};

/// A replay that keeps its first error.
pub(super) struct Applying<A: Account> {
    /// What the records are applied to.
    before: Graph,
    replay: Replay<A>,
    failed: Option<QueryError>,
}

/// A graph with the records that were applied.
pub(super) struct Advanced<A> {
    /// Its statistics are those from before.
    pub(super) graph: Graph,
    /// The graphs that the records have changed.
    pub(super) changed: ChangedGraphs,
    /// The memory of the new layers and terms.
    pub(super) account: A,
}

impl<A: Account<Refusal: Into<QueryError>>> Applying<A> {
    /// Over a graph; memory is taken from `account`.
    pub(super) fn new(before: Graph, account: A) -> Applying<A> {
        Applying {
            replay: Replay::new(before.version.clone(), account),
            before,
            failed: None,
        }
    }

    pub(super) fn apply(&mut self, number: u64, record: &[u8]) -> ControlFlow<()> {
        match self.replay.apply(number, record) {
            Ok(()) => ControlFlow::Continue(()),
            Err(error) => {
                self.failed = Some(error.into());
                ControlFlow::Break(())
            }
        }
    }

    /// The graph after the last record, and what was done for it.
    pub(super) fn advanced(self) -> Result<Advanced<A>, QueryError> {
        if let Some(error) = self.failed {
            return Err(error);
        }
        let replayed = self.replay.finish()?;
        Ok(Advanced {
            graph: self.before.with_version(replayed.graph),
            changed: replayed.changed,
            account: replayed.account,
        })
    }

    /// The graph after the last record, with statistics of its own.
    pub(super) fn finish(self) -> Result<Graph, OpenError> {
        let planned = self.advanced().and_then(|Advanced { graph, .. }| {
            if graph.planned.number < graph.snapshot.number() {
                return graph.planned_anew();
            }
            Ok(graph)
        });
        planned.map_err(OpenError::Replay)
    }
}

impl Account for Charge {
    type Refusal = QueryError;

    fn grow(&mut self, bytes: u64) -> Result<(), QueryError> {
        Charge::grow(self, bytes)
    }

    fn shrink(&mut self, bytes: u64) {
        Charge::shrink(self, bytes);
    }
}

impl From<ResolveError> for QueryError {
    fn from(error: ResolveError) -> QueryError {
        match error {
            ResolveError::Dictionary(error) => refused(error),
            ResolveError::NotRdf => QueryError::new(Kind::Damaged, error),
        }
    }
}

impl<R: Into<QueryError>> From<ApplyError<R>> for QueryError {
    fn from(error: ApplyError<R>) -> QueryError {
        match error {
            ApplyError::Unreadable { number, error } => {
                let error = ApplyError::<Infallible>::Unreadable { number, error };
                QueryError::new(Kind::Damaged, error)
            }
            ApplyError::Quads(error) => error.into(),
            ApplyError::Lexicon(error) => error.into(),
            ApplyError::Layer(error) => error.into(),
            ApplyError::Refused(refusal) => refusal.into(),
        }
    }
}

impl From<Infallible> for QueryError {
    fn from(never: Infallible) -> QueryError {
        match never {}
    }
}
