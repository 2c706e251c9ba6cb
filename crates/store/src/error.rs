//! Why a graph could not be read: the error of everything that answers a [`GraphView`](crate::view::GraphView).
//!
//! Segments, lists and vertex sets return this error, and the seam above them returns it unchanged. So the
//! error has a file below all of them. A variant carries the name of the file in the store's directory,
//! or the number of the node that was asked.

use rdf::NodeError;

/// Why a view could not answer.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ViewError {
    /// A block does not match its checksum.
    #[error("file {file}: block {block} is damaged; run `somersault check`")]
    Damaged {
        /// The file's name within the store directory.
        file: String,
        /// The number of the block.
        block: u64,
    },
    /// Parts of the store contradict each other.
    #[error("file {file}: {what}; run `somersault check`")]
    Inconsistent {
        /// The file's name within the store directory.
        file: String,
        /// What was found.
        what: String,
    },
    /// The node of a cluster that has it did not do its share.
    #[error(transparent)]
    Elsewhere(Box<NodeError>),
    /// What others sent is more than the query, or the node, may have in memory.
    #[error(
        "what nodes send each other needs more than {limit_bytes} bytes of memory ({used_bytes} are in use)"
    )]
    OutOfMemory {
        /// The budget, in bytes.
        limit_bytes: u64,
        /// Bytes in use when it was refused.
        used_bytes: u64,
        /// The budget is that of all queries together.
        of_all: bool,
    },
}
