//! A panic of the engine as an error.
//!
//! A panic ends the request in which it happens, or the one piece of upkeep, and never the process or the thread that
//! others depend on. The message of the panic becomes that of an internal error.

use crate::error::{Kind, QueryError};
use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// Does a piece of work. A panic is a failure like another: a thread that is gone would let layers
/// and log grow for ever, and nobody would know.
pub(crate) fn guarded<T>(work: impl FnOnce() -> Result<T, QueryError>) -> Result<T, QueryError> {
    let done = catch_unwind(AssertUnwindSafe(work));
    done.unwrap_or_else(|panic| Err(panicked(&panic)))
}

/// What somebody panicked with, as an error.
pub(crate) fn panicked(panic: &Box<dyn Any + Send>) -> QueryError {
    let text = panic
        .downcast_ref::<&str>()
        .map(|text| (*text).to_owned())
        .or_else(|| panic.downcast_ref::<String>().cloned())
        .unwrap_or_else(|| "a panic without a message".to_owned());
    QueryError::new(Kind::Internal, format!("a bug in the engine: {text}"))
        .with_hint("please report it with the query")
}
