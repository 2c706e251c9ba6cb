//! Why a query over the parts could not go on.

use explore::MemoryExceeded;
use rdf::LexiconError;
use store::view::ViewError;

/// Why a session has failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Failure {
    /// A node did not answer, or not with an answer.
    Elsewhere { node: u16, what: String },
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

impl From<Failure> for ViewError {
    fn from(failure: Failure) -> ViewError {
        match failure {
            Failure::Elsewhere { node, what } => ViewError::Elsewhere { node, what },
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
            Failure::Elsewhere { node, what } => LexiconError::Elsewhere { node, what },
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
