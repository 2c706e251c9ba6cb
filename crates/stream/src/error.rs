//! Why the streams refuse what they are asked to do. Nothing of what is refused has been done.

use crate::definition::DefinitionError;
use crate::schedule::{QueryId, ScheduleError, StreamId};
use crate::time::{SealPoint, Time};
use crate::vector::PartId;

/// Why something was refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum StreamError {
    /// The definition is none.
    #[error(transparent)]
    Definition(#[from] DefinitionError),
    /// There is a stream of this name.
    #[error("there is a stream <{0}>: drop it first, or choose another name")]
    NameTaken(String),
    /// There is no such stream.
    #[error("there is no stream number {}", .0.0)]
    NoStream(StreamId),
    /// Queries name the stream.
    #[error("stream <{name}> is named by {}", named_by(*.queries))]
    InUse {
        /// The stream's name.
        name: String,
        /// How many queries.
        queries: usize,
    },
    /// The stream holds what it may hold. The source should try again when windows have moved on.
    #[error(
        "stream <{name}> holds {held_bytes} bytes, its budget is {budget_bytes}: try again later"
    )]
    Full {
        /// The stream's name.
        name: String,
        /// What it would hold with what was pushed (bytes).
        held_bytes: u64,
        /// What it may hold (bytes).
        budget_bytes: u64,
    },
    /// The query cannot be scheduled.
    #[error(transparent)]
    Schedule(#[from] ScheduleError),
    /// There is a query of this number.
    #[error("query number {} is registered", .0.0)]
    QueryTaken(QueryId),
    /// There is no such query.
    #[error("there is no query number {}", .0.0)]
    NoQuery(QueryId),
    /// There is no such part.
    #[error("there is no part number {}", .0.0)]
    NoPart(PartId),
    /// This part did not hand out a seal that goes so far.
    #[error("stream <{name}> is sealed up to {sealed} here, not up to {claimed}")]
    Unsealed {
        /// The stream's name.
        name: String,
        /// Up to when it is sealed.
        sealed: Time,
        /// Up to when it was said to be.
        claimed: Time,
    },
}

fn named_by(queries: usize) -> String {
    match queries {
        1 => "a registered query: drop it first".to_owned(),
        more => format!("{more} registered queries: drop them first"),
    }
}

/// The error for a claim that goes too far.
pub(crate) fn unsealed(
    name: &str,
    grain_ms: u64,
    sealed: SealPoint,
    claimed: SealPoint,
) -> StreamError {
    StreamError::Unsealed {
        name: name.to_owned(),
        sealed: sealed.covered(grain_ms),
        claimed: claimed.covered(grain_ms),
    }
}
