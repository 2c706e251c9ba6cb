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
use std::sync::Arc;
use store::delta::{Account, ApplyError, ChangedGraphs, Replay, ResolveError};
use store::log::LogError;
use store::record::RecordReader;

/// A replay that keeps its first error.
pub(super) struct Applying<A: Account> {
    /// What the records are applied to.
    before: Graph,
    replay: Replay<A>,
    failed: Option<QueryError>,
}

/// Gives the records of a log from a number on, in order, until `each` breaks; see [`Log::read`](store::log::Log::read).
pub(crate) type LogRecords<'l> =
    dyn Fn(u64, &mut dyn FnMut(u64, &[u8]) -> ControlFlow<()>) -> Result<(), LogError> + 'l;

/// Is told what others than the graph keep in a log, in order, while it is replayed.
pub(crate) trait Listener {
    /// What the generation keeps beside the graph, and the log whose records behind it are told next.
    fn begin(&mut self, kept: &[u8], graph: &Graph, log: &LogRecords<'_>)
    -> Result<(), QueryError>;

    /// A record, which has been applied, with its messages, of which there may be none. Their new blank nodes are those of the record.
    fn hear(
        &mut self,
        record: &RecordReader<'_>,
        moment: &mut dyn ReplayMoment,
    ) -> Result<(), QueryError>;
}

/// Knows only whether there were messages.
#[derive(Default)]
pub(crate) struct Deaf {
    pub(crate) has_messages: bool,
}

impl Listener for Deaf {
    fn begin(&mut self, _: &[u8], _: &Graph, _: &LogRecords<'_>) -> Result<(), QueryError> {
        Ok(())
    }

    fn hear(
        &mut self,
        record: &RecordReader<'_>,
        _: &mut dyn ReplayMoment,
    ) -> Result<(), QueryError> {
        self.has_messages |= !record.messages().is_empty();
        Ok(())
    }
}

/// The graph as a record left it.
pub(crate) trait ReplayMoment {
    /// The record's number.
    fn number(&self) -> u64;

    /// The graph. It costs a layer, so it is asked for where somebody looks at it.
    fn graph(&mut self) -> Result<Arc<Graph>, QueryError>;
}

struct Moment<'m, A: Account> {
    number: u64,
    before: &'m Graph,
    replay: &'m mut Replay<A>,
}

impl<A: Account<Refusal: Into<QueryError>>> ReplayMoment for Moment<'_, A> {
    fn number(&self) -> u64 {
        self.number
    }

    fn graph(&mut self) -> Result<Arc<Graph>, QueryError> {
        let version = self.replay.settled()?.clone();
        Ok(Arc::new(self.before.with_version(version)))
    }
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

    /// The same, and tells its messages.
    pub(super) fn apply_told(
        &mut self,
        number: u64,
        record: &[u8],
        listener: &mut dyn Listener,
    ) -> ControlFlow<()> {
        self.apply(number, record)?;
        let told = RecordReader::new(record).map_err(|error| {
            QueryError::new(
                Kind::Damaged,
                format!("record {number} of the log: {error}"),
            )
        });
        let told = told.and_then(|reader| {
            let mut moment = Moment {
                number,
                before: &self.before,
                replay: &mut self.replay,
            };
            listener.hear(&reader, &mut moment)
        });
        match told {
            Ok(()) => ControlFlow::Continue(()),
            Err(error) => {
                self.failed = Some(error);
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
