//! Why a query ended without an answer, in the words that every surface shares.
//!
//! A surface (exit codes, HTTP status) decides by [`Kind`] alone; people read the message, the
//! position and the hint. Rooms below have typed errors of their own; here they meet.

use crate::units::format_duration;
use std::fmt;
use std::io::{self, ErrorKind};
use std::sync::Arc;
use std::time::Duration;

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
    /// It asks for what was there and is kept no more.
    Gone,
    /// It asks for a graph to be made that is there, or for what is being done already.
    Conflict,
    /// It is to be carried out where something holds that does not.
    Precondition,
    /// The store takes no changes until it is opened again: what its log holds is not known any more,
    /// or the store was removed under it.
    ReadOnly,
    /// The disk is full, or a quota is reached. The next attempt may succeed.
    DiskFull,
    /// Another node of the cluster, whose part of the graph it needs, is away or could not do its share. The next attempt
    /// may succeed.
    Away,
    /// The system refused a file or a folder for now: descriptors ran out, or a device failed once. The
    /// next attempt may succeed.
    Unavailable,
    /// Its answer cannot be written in a format that was asked for.
    Format,
    /// Whoever takes the answer failed to.
    Output,
    /// A bug of ours.
    Internal,
}

impl Kind {
    /// What a failed call of the system amounts to.
    pub fn of_io(error: &io::Error) -> Kind {
        match error.kind() {
            // A write that takes nothing has found no room.
            ErrorKind::StorageFull | ErrorKind::QuotaExceeded | ErrorKind::WriteZero => {
                Kind::DiskFull
            }
            ErrorKind::OutOfMemory => Kind::Memory,
            ErrorKind::FileTooLarge => Kind::TooLong,
            _ => Kind::Unavailable,
        }
    }

    /// The same of the call in an error's chain of causes; `None` where no call failed.
    pub(crate) fn of_cause(error: &(dyn std::error::Error + 'static)) -> Option<Kind> {
        let mut cause = Some(error);
        while let Some(error) = cause {
            let shared = error.downcast_ref::<Arc<io::Error>>().map(|error| &**error);
            if let Some(error) = error.downcast_ref::<io::Error>().or(shared) {
                return Some(Kind::of_io(error));
            }
            cause = error.source();
        }
        None
    }
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
    /// The node of the cluster that did not do its share; it has the part of this number.
    pub node: Option<u16>,
    further: Option<Box<AllFurther>>,
}

/// Aside, because results that carry an error are mostly without.
#[derive(Clone, Debug, PartialEq, Eq)]
struct AllFurther(Vec<Further>);

/// What is wrong with a text beside its first error.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Further {
    /// What is wrong, in lower case, without a full stop.
    pub message: String,
    /// Where in the text.
    pub position: Position,
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
            node: None,
            further: None,
        }
    }

    /// A query, or a change, that had this much time and took that much without coming to its end.
    pub fn out_of_time(timeout: Duration, elapsed: Duration) -> QueryError {
        let limit = format_duration(timeout);
        let message = format!("the query did not finish within its time of {limit}");
        let (limit, used) = (timeout.as_millis() as u64, elapsed.as_millis() as u64);
        QueryError::new(Kind::Timeout, message)
            .with_limit(Unit::Milliseconds, limit, used)
            .with_hint(
                "ask for less, or for a longer timeout; a server gives `query.timeout` at most, and a change `update.timeout`",
            )
    }

    /// A failed call of the system somewhere below: its kind follows from the call's error, with what to
    /// do about it. `otherwise`: where no call failed.
    pub fn of_cause(
        error: &(dyn std::error::Error + 'static),
        otherwise: Kind,
        message: impl fmt::Display,
    ) -> QueryError {
        let kind = Kind::of_cause(error).unwrap_or(otherwise);
        let failure = QueryError::new(kind, message);
        match kind {
            Kind::DiskFull => failure.with_hint("make room on the disk, or ask for less"),
            Kind::Unavailable => failure.with_hint("nothing was changed; try again"),
            _ => failure,
        }
    }

    /// What else is wrong with the grammar of the text, in its order; seven at most.
    pub fn further(&self) -> &[Further] {
        self.further.as_ref().map_or(&[], |all| &all.0)
    }

    /// With what else is wrong with the text.
    pub(crate) fn with_further(mut self, further: Vec<Further>) -> QueryError {
        self.further = (!further.is_empty()).then(|| Box::new(AllFurther(further)));
        self
    }

    /// With what to do about it.
    #[must_use]
    pub fn with_hint(mut self, hint: &'static str) -> QueryError {
        self.hint = Some(hint);
        self
    }

    /// Without what was said about what to do.
    #[must_use]
    pub fn without_hint(mut self) -> QueryError {
        self.hint = None;
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

#[cfg(test)]
mod tests {
    use super::*;
    use store::parts::PartError;

    #[test]
    fn a_full_disk_is_no_lack_of_memory() {
        let full = [
            ErrorKind::StorageFull,
            ErrorKind::QuotaExceeded,
            ErrorKind::WriteZero,
        ];
        for kind in full {
            assert_eq!(Kind::of_io(&kind.into()), Kind::DiskFull);
        }
        // ENOSPC, EMFILE, EIO, as systems number them.
        let of_number = |number| Kind::of_io(&io::Error::from_raw_os_error(number));
        assert_eq!(of_number(28), Kind::DiskFull);
        assert_eq!(of_number(24), Kind::Unavailable);
        assert_eq!(of_number(5), Kind::Unavailable);
        assert_eq!(Kind::of_io(&ErrorKind::OutOfMemory.into()), Kind::Memory);
    }

    #[test]
    fn the_cause_is_found_below_other_errors() {
        let part = PartError {
            file: "spill".to_owned(),
            source: ErrorKind::StorageFull.into(),
        };
        let delta = store::delta::DeltaError::Part(part);
        assert_eq!(Kind::of_cause(&delta), Some(Kind::DiskFull));
        assert_eq!(QueryError::from(delta).kind, Kind::DiskFull);
        let log = store::log::LogError::Io {
            file: "log".into(),
            source: Arc::new(ErrorKind::QuotaExceeded.into()),
        };
        assert_eq!(Kind::of_cause(&log), Some(Kind::DiskFull));
        let error = QueryError::from(log);
        assert!(error.hint.unwrap().contains("room"), "{error}");
        assert_eq!(Kind::of_cause(&store::delta::DeltaError::Halted), None);
    }
}
