//! What can go wrong when a dictionary is written or opened. What can go wrong when it is asked
//! is [`LexiconError`].

use crate::lexicon::LexiconError;
use crate::placement::PlacementError;
use memory::{BLOCK_BYTES, CheckedRegion, DamagedBlock};
use std::sync::Arc;

/// Why a dictionary could not be written.
#[derive(Debug, thiserror::Error)]
pub enum WriteError {
    /// The output refused the bytes.
    #[error("dictionary: {0}")]
    Io(#[from] std::io::Error),
    /// A term is longer than a dictionary holds.
    #[error(
        "a term of {bytes} bytes exceeds the limit of {} bytes",
        super::KEY_BYTES_MAX
    )]
    KeyTooLong {
        /// Bytes of its key.
        bytes: usize,
    },
    /// The keys of one kind exceed 1 TiB after coding.
    #[error("the dictionary of one kind of term exceeds 1 TiB")]
    StreamTooLong,
}

/// Why files are not a dictionary that can be opened.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// A file is not what it should be.
    #[error("dictionary file {file}: {problem}")]
    Format {
        /// The file's name within the store.
        file: Arc<str>,
        /// What is wrong with it.
        problem: FormatProblem,
    },
    /// The head of a part has no placement.
    #[error("dictionary file {file}: {problem}")]
    Placement {
        /// The file's name within the store.
        file: Arc<str>,
        /// What is wrong with it.
        problem: PlacementError,
    },
    /// A block that is needed at once is damaged.
    #[error(transparent)]
    Damaged(#[from] DamagedBlock),
}

/// What is wrong with a dictionary's file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FormatProblem {
    /// It does not begin as a dictionary's file does.
    #[error("not a dictionary file")]
    Foreign,
    /// It was written by a release with another layout.
    #[error("its layout has version {0}, this release reads version 1")]
    Version(u16),
    /// It is another part, of another kind, or says something that this release does not know.
    #[error("its header is not the one of this part")]
    Header,
    /// Its length does not fit its counts.
    #[error("its length does not fit its counts")]
    Length,
    /// It and its sibling files hold different numbers of terms or bytes.
    #[error("it does not fit the other files of this dictionary")]
    Mismatch,
}

impl OpenError {
    pub(super) fn format(file: &CheckedRegion, problem: FormatProblem) -> OpenError {
        OpenError::Format {
            file: Arc::clone(file.name()),
            problem,
        }
    }
}

/// A damaged block, as whoever asks the dictionary hears of it.
#[cold]
pub(super) fn damaged(block: &DamagedBlock) -> LexiconError {
    LexiconError::Damaged {
        file: block.file.to_string(),
        block: block.block,
    }
}

/// Bytes at `offset` of `file` that match their checksum but are not what a writer writes.
#[cold]
pub(super) fn nonsense(file: &CheckedRegion, offset: u64) -> LexiconError {
    LexiconError::Damaged {
        file: file.name().to_string(),
        block: offset / BLOCK_BYTES as u64,
    }
}

/// Why new terms got no ids.
#[derive(Debug, thiserror::Error)]
pub enum GrowError {
    /// What is stored could not be asked.
    #[error(transparent)]
    Lexicon(#[from] LexiconError),
    /// A term is longer than a dictionary holds.
    #[error(
        "a term of {bytes} bytes exceeds the limit of {} bytes",
        super::KEY_BYTES_MAX
    )]
    KeyTooLong {
        /// Bytes of its key.
        bytes: usize,
    },
    /// Triple terms hold one another too deep.
    #[error(
        "a triple term is nested more than {} deep",
        super::TRIPLE_TERM_DEPTH_MAX
    )]
    TooDeep,
    /// A label that is none of the blank nodes that there are.
    #[error(
        "_:{label} is none of the {count} blank nodes of the store, whose labels are b0, b1, ..."
    )]
    UnknownBlank {
        /// The label, without `_:`.
        label: String,
        /// How many there are.
        count: u64,
    },
    /// All numbers of blank nodes are given out.
    #[error("the store has no more numbers for blank nodes")]
    NoMoreBlankNodes,
    /// The terms that are new since the last checkpoint are too many for memory's tables.
    #[error("too many terms of one kind are new; make a checkpoint and try again")]
    Full,
}

/// Why a dictionary could not be written as the beginning of a larger one.
#[derive(Debug, thiserror::Error)]
pub enum MergeError {
    /// It could not be read.
    #[error(transparent)]
    Lexicon(#[from] LexiconError),
    /// The larger one could not be written.
    #[error(transparent)]
    Write(#[from] WriteError),
}
