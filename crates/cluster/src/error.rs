//! Why a query over the parts could not go on.

use explore::{MemoryExceeded, WalkError};
use rdf::{LexiconError, NodeCause, NodeError};
use store::view::ViewError;

/// Why a session has failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Failure {
    /// A node did not do its share.
    Elsewhere(Box<NodeError>),
    /// What came exceeds the query's memory.
    Memory(MemoryExceeded),
    /// The part here could not be read.
    View(ViewError),
    /// The dictionary here could not be read.
    Lexicon(String),
}

impl From<MemoryExceeded> for Failure {
    fn from(refused: MemoryExceeded) -> Failure {
        Failure::Memory(refused)
    }
}

impl From<NodeError> for Failure {
    fn from(error: NodeError) -> Failure {
        Failure::Elsewhere(Box::new(error))
    }
}

impl Failure {
    /// The same as other nodes are told it by this one.
    pub(crate) fn told_by(self, here: u16) -> NodeError {
        let error = ViewError::from(self);
        if let ViewError::Elsewhere(error) = error {
            return *error;
        }
        NodeError {
            node: here,
            cause: cause_of_view(&error),
            what: error.to_string(),
        }
    }
}

/// What a walk says when it cannot go on, as other nodes are told it by this one.
pub(crate) fn told_of_walk(error: &WalkError, here: u16) -> NodeError {
    let cause = match error {
        WalkError::View(ViewError::Elsewhere(error))
        | WalkError::Lexicon(LexiconError::Elsewhere(error)) => return (**error).clone(),
        WalkError::View(error) => cause_of_view(error),
        WalkError::Lexicon(error) => cause_of_terms(error),
        WalkError::OutOfMemory {
            limit_bytes,
            used_bytes,
            of_all,
        } => NodeCause::Memory {
            limit_bytes: *limit_bytes,
            used_bytes: *used_bytes,
            of_all: *of_all,
        },
        WalkError::StringTooLong { .. } | WalkError::TooManyRows => NodeCause::TooMuch,
        WalkError::RefusedPattern { .. } => NodeCause::Unsupported,
        WalkError::ServiceRefused { .. } => NodeCause::Policy,
        WalkError::ServiceFailed { .. } | WalkError::ServiceUnnamed { .. } => NodeCause::Remote,
        // Whoever asked has the same limits, and looks at them before it believes that.
        WalkError::Stopped(_) => NodeCause::Away,
        WalkError::Pending(_) => NodeCause::Fault,
    };
    NodeError {
        node: here,
        cause,
        what: error.to_string(),
    }
}

fn cause_of_view(error: &ViewError) -> NodeCause {
    match error {
        ViewError::Elsewhere(error) => error.cause,
        ViewError::OutOfMemory {
            limit_bytes,
            used_bytes,
            of_all,
        } => NodeCause::Memory {
            limit_bytes: *limit_bytes,
            used_bytes: *used_bytes,
            of_all: *of_all,
        },
        ViewError::Damaged { .. } | ViewError::Inconsistent { .. } => NodeCause::Damaged,
    }
}

fn cause_of_terms(error: &LexiconError) -> NodeCause {
    match error {
        LexiconError::Elsewhere(error) => error.cause,
        LexiconError::OutOfMemory {
            limit_bytes,
            used_bytes,
            of_all,
        } => NodeCause::Memory {
            limit_bytes: *limit_bytes,
            used_bytes: *used_bytes,
            of_all: *of_all,
        },
        LexiconError::Damaged { .. } | LexiconError::UnknownId(_) | LexiconError::Io(_) => {
            NodeCause::Damaged
        }
    }
}

impl From<Failure> for ViewError {
    fn from(failure: Failure) -> ViewError {
        match failure {
            Failure::Elsewhere(error) => ViewError::Elsewhere(error),
            Failure::Memory(MemoryExceeded {
                limit_bytes,
                used_bytes,
                of_all,
            }) => ViewError::OutOfMemory {
                limit_bytes,
                used_bytes,
                of_all,
            },
            Failure::View(error) => error,
            Failure::Lexicon(what) => ViewError::Inconsistent {
                file: "dictionary".to_owned(),
                what,
            },
        }
    }
}

impl From<Failure> for LexiconError {
    fn from(failure: Failure) -> LexiconError {
        match failure {
            Failure::Elsewhere(error) => LexiconError::Elsewhere(error),
            Failure::Memory(MemoryExceeded {
                limit_bytes,
                used_bytes,
                of_all,
            }) => LexiconError::OutOfMemory {
                limit_bytes,
                used_bytes,
                of_all,
            },
            Failure::View(error) => LexiconError::Io(std::io::Error::other(error.to_string())),
            Failure::Lexicon(what) => LexiconError::Io(std::io::Error::other(what)),
        }
    }
}
