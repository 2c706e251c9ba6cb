//! Why a query ended without an answer, in the words that every surface shares.
//!
//! A surface (exit codes, HTTP status) decides by [`Kind`] alone; people read the message, the
//! position and the hint. Rooms below have typed errors of their own; here they meet.

use std::fmt;

/// What sort of failure it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// The text is no SPARQL.
    Syntax,
    /// It is SPARQL that this release does not evaluate.
    Unsupported,
    /// It is longer than allowed.
    TooLong,
    /// Its nesting or number of patterns is beyond a limit.
    Shape,
    /// Its time was over.
    Timeout,
    /// It was cancelled, or its client has gone.
    Cancelled,
    /// It reached its memory budget, or the pool's.
    Memory,
    /// The data it needs is damaged.
    Damaged,
    /// It asks for what the configuration does not allow.
    Policy,
    /// Another endpoint that it asks gave no answer.
    Remote,
    /// It asks for a graph that is not there.
    NotFound,
    /// It asks for a graph to be made that is there, or for what is being done already.
    Conflict,
    /// The store takes no changes any more: its log could not be written.
    ReadOnly,
    /// Its answer cannot be written in a format that was asked for.
    Format,
    /// Whoever takes the answer failed to.
    Output,
    /// A bug of ours.
    Internal,
}

/// A place in a query text, both counted from 1; columns in characters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Position {
    /// Line.
    pub line: u64,
    /// Column.
    pub column: u64,
}

/// What a limit is counted in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// Milliseconds.
    Milliseconds,
    /// Bytes.
    Bytes,
    /// Things, which the message names.
    Count,
}

impl Unit {
    /// As documents for machines have it: `ms`, `bytes`, `count`.
    pub fn as_str(self) -> &'static str {
        match self {
            Unit::Milliseconds => "ms",
            Unit::Bytes => "bytes",
            Unit::Count => "count",
        }
    }
}

/// A query's failure.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct QueryError {
    /// What sort of failure it is.
    pub kind: Kind,
    /// What failed, in lower case, without a full stop.
    pub message: String,
    /// Where in the query text.
    pub position: Option<Position>,
    /// The limit that was reached.
    pub limit: Option<u64>,
    /// How much was used or asked for when it was.
    pub used: Option<u64>,
    /// What `limit` and `used` are counted in.
    pub unit: Option<Unit>,
    /// What to do about it.
    pub hint: Option<&'static str>,
}

impl QueryError {
    /// What an output says whose reader has gone away.
    pub(crate) const BROKEN_PIPE: &'static str = "whoever takes the answer has gone";

    /// Whether it failed only because the reader of the answer has gone away.
    pub fn is_broken_pipe(&self) -> bool {
        self.kind == Kind::Output && self.message == QueryError::BROKEN_PIPE
    }

    /// A failure with nothing but its message.
    pub fn new(kind: Kind, message: impl fmt::Display) -> QueryError {
        QueryError {
            kind,
            message: message.to_string(),
            position: None,
            limit: None,
            used: None,
            unit: None,
            hint: None,
        }
    }

    /// With what to do about it.
    #[must_use]
    pub fn with_hint(mut self, hint: &'static str) -> QueryError {
        self.hint = Some(hint);
        self
    }

    /// With the limit that was reached.
    #[must_use]
    pub fn with_limit(mut self, unit: Unit, limit: u64, used: u64) -> QueryError {
        self.unit = Some(unit);
        self.limit = Some(limit);
        self.used = Some(used);
        self
    }
}

impl fmt::Display for QueryError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(Position { line, column }) = self.position {
            write!(f, "line {line}, column {column}: ")?;
        }
        write!(f, "{}", self.message)?;
        if let Some(hint) = self.hint {
            write!(f, " ({hint})")?;
        }
        Ok(())
    }
}

impl std::error::Error for QueryError {}
