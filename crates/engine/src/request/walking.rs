//! The budget and the token of a request, as a walk asks for them, and a walk's failure as an error of the request.
//!
//! Planning by samples, queries, answers and changes all walk within the same limits. `explore` knows
//! neither tokens nor pools, so what a token and a budget mean to it is said here, once for all of them.

use crate::budget::Budget;
use crate::error::{Kind, QueryError, Unit};
use crate::stop::{StopReason, StopToken, outdated};
use explore::{MemoryBudget, MemoryExceeded, Stop, WalkError};
use rdf::LexiconError;

/// Adds the limit to a failure that only knows that it was told to stop.
pub(crate) fn explained(token: &StopToken, error: QueryError) -> QueryError {
    match (error.kind, token.timeout()) {
        (Kind::Timeout, _) if token.reason() == Some(StopReason::Outdated) => outdated(),
        (Kind::Timeout, Some(timeout)) => QueryError::out_of_time(timeout, token.elapsed()),
        _ => error,
    }
}

impl Stop for StopToken {
    fn reason(&self) -> Option<explore::StopReason> {
        self.look().map(stop_reason)
    }
}

/// Why a request is to end, in the words of a walk.
pub(crate) fn stop_reason(reason: StopReason) -> explore::StopReason {
    match reason {
        StopReason::Deadline | StopReason::Outdated => explore::StopReason::Deadline,
        StopReason::Cancelled => explore::StopReason::Cancelled,
    }
}

impl MemoryBudget for Budget {
    fn try_reserve(&self, bytes: u64) -> Result<(), MemoryExceeded> {
        self.take(bytes).map_err(|exhausted| MemoryExceeded {
            limit_bytes: exhausted.limit,
            used_bytes: exhausted.used,
            of_all: exhausted.of_all,
        })
    }

    fn release(&self, bytes: u64) {
        self.give_back(bytes);
    }
}

impl From<WalkError> for QueryError {
    fn from(error: WalkError) -> QueryError {
        match error {
            WalkError::View(error) => error.into(),
            WalkError::Lexicon(error) => error.into(),
            WalkError::OutOfMemory {
                limit_bytes,
                used_bytes,
                of_all,
            } => QueryError::new(Kind::Memory, error)
                .with_limit(Unit::Bytes, limit_bytes, used_bytes)
                .with_hint(if of_all {
                    "ask again when others have ended, or give queries more memory: `query.memory_pool`"
                } else {
                    "ask for less, or for a higher memory limit"
                }),
            WalkError::Stopped(explore::StopReason::Deadline) => {
                QueryError::new(Kind::Timeout, error)
            }
            WalkError::Stopped(explore::StopReason::Cancelled) => {
                QueryError::new(Kind::Cancelled, "the query was cancelled")
            }
            WalkError::StringTooLong { limit_bytes } => QueryError::new(Kind::Memory, error)
                .with_limit(Unit::Bytes, limit_bytes, limit_bytes),
            WalkError::Pending(_) => QueryError::new(Kind::Internal, error),
            WalkError::TooManyRows => QueryError::new(Kind::Memory, error),
            WalkError::RefusedPattern { .. } => QueryError::new(Kind::Unsupported, error),
            WalkError::ServiceRefused { .. } => QueryError::new(Kind::Policy, error)
                .with_hint("allow it in the configuration, key service.allow (--allow-service), or ask it yourself"),
            WalkError::ServiceFailed { .. } | WalkError::ServiceUnnamed { .. } => {
                QueryError::new(Kind::Remote, error)
            }
        }
    }
}

impl From<store::view::ViewError> for QueryError {
    fn from(error: store::view::ViewError) -> QueryError {
        QueryError::new(Kind::Damaged, error)
    }
}

impl From<LexiconError> for QueryError {
    fn from(error: LexiconError) -> QueryError {
        QueryError::new(Kind::Damaged, error)
    }
}
