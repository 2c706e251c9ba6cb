//! Why a walk ended before its last row.
//!
//! Every variant ends the query that caused it and nothing else: the walk is dropped, and with it
//! every reservation of its memory budget. An error *value* of an expression (SPARQL 1.1 Query
//! section 17.2) is no [`WalkError`]; it is data.
//!
//! What a [limit](crate::limits) says when it is reached stands here too, because the error of the walk has it.

use query::xpath_pattern::Refusal;
use rdf::{LexiconError, Ticket};
use store::view::ViewError;

/// Why a walk could not go on.
#[derive(Debug, thiserror::Error)]
pub enum WalkError {
    /// The graph could not be read.
    #[error(transparent)]
    View(ViewError),
    /// A term could not be read.
    #[error(transparent)]
    Lexicon(LexiconError),
    /// Sorting, `DISTINCT`, a graph's key list or computed strings need more than the query may use.
    #[error("{}", out_of_memory(*limit_bytes, *used_bytes, *of_all))]
    OutOfMemory {
        /// The budget.
        limit_bytes: u64,
        /// What was in use when the reservation was refused.
        used_bytes: u64,
        /// The budget is that of all queries together, and others hold most of it.
        of_all: bool,
    },
    /// The deadline passed, or the query was cancelled.
    #[error("the query was stopped: {0}")]
    Stopped(StopReason),
    /// A computed string exceeds [`crate::limits::STRING_BYTES_MAX`].
    #[error("an expression computes a string of more than {limit_bytes} bytes")]
    StringTooLong {
        /// The cap.
        limit_bytes: u64,
    },
    /// A constant regular expression that is none, or cannot be evaluated here: back-references, rare
    /// character blocks, or one beyond its limits.
    #[error("the regular expression {pattern:?} cannot be used: {refusal}")]
    RefusedPattern {
        /// Its beginning.
        pattern: String,
        /// Why.
        refusal: Refusal,
    },
    /// `SERVICE` is not allowed to call the endpoint.
    #[error("SERVICE <{endpoint}> is refused: {reason}")]
    ServiceRefused {
        /// The endpoint's IRI.
        endpoint: String,
        /// Why.
        reason: String,
    },
    /// An endpoint of `SERVICE` gave no answer.
    #[error("SERVICE <{endpoint}> failed: {reason}")]
    ServiceFailed {
        /// The endpoint's IRI.
        endpoint: String,
        /// What happened.
        reason: String,
    },
    /// `SERVICE` has a variable that is not bound to an IRI.
    #[error("SERVICE needs the IRI of an endpoint, but here it has {found}")]
    ServiceUnnamed {
        /// What the variable is bound to, if it is.
        found: String,
    },
    /// Something that is asked at once has to be waited for. Not a failure: [`crate::prepare`] gives it, to be called again
    /// when the ticket completes; a walk turns it into [`crate::Status::Pending`].
    #[error("an answer has to be waited for ({0:?})")]
    Pending(Ticket),
    /// A table has more rows than can be counted: a product of large patterns.
    #[error("the query has more than 2^59 rows in one table")]
    TooManyRows,
}

/// A reservation was refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MemoryExceeded {
    /// The budget, in bytes.
    pub limit_bytes: u64,
    /// Bytes in use when it was refused.
    pub used_bytes: u64,
    /// The budget is that of all queries together.
    pub of_all: bool,
}

/// Why a query has to end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum StopReason {
    /// Its deadline passed.
    #[error("its deadline passed")]
    Deadline,
    /// Whoever asked does not want the answer any more.
    #[error("it was cancelled")]
    Cancelled,
}

fn out_of_memory(limit_bytes: u64, used_bytes: u64, of_all: bool) -> String {
    let whose = if of_all {
        "than all queries together may have,"
    } else {
        "than its budget of"
    };
    format!(
        "the query needs more memory {whose} {limit_bytes} bytes ({used_bytes} bytes are in use)"
    )
}

impl From<MemoryExceeded> for WalkError {
    fn from(refused: MemoryExceeded) -> WalkError {
        WalkError::OutOfMemory {
            limit_bytes: refused.limit_bytes,
            used_bytes: refused.used_bytes,
            of_all: refused.of_all,
        }
    }
}

impl From<ViewError> for WalkError {
    fn from(error: ViewError) -> WalkError {
        match error {
            ViewError::OutOfMemory {
                limit_bytes,
                used_bytes,
                of_all,
            } => WalkError::OutOfMemory {
                limit_bytes,
                used_bytes,
                of_all,
            },
            error => WalkError::View(error),
        }
    }
}

impl From<LexiconError> for WalkError {
    fn from(error: LexiconError) -> WalkError {
        match error {
            LexiconError::OutOfMemory {
                limit_bytes,
                used_bytes,
                of_all,
            } => WalkError::OutOfMemory {
                limit_bytes,
                used_bytes,
                of_all,
            },
            error => WalkError::Lexicon(error),
        }
    }
}
