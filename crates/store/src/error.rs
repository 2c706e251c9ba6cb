//! Why a graph could not be read: the error of everything that answers a [`GraphView`](crate::view::GraphView).
//!
//! Segments, lists and vertex sets return this error, and the seam above them returns it unchanged. So the
//! error has a file below all of them. A variant carries the name of the file in the store's directory,
//! or the number of the node that was asked.

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
    /// The node of a cluster that has it did not answer.
    #[error("node {node}, which has part {node} of the graph, does not answer: {what}")]
    Elsewhere {
        /// Its number.
        node: u16,
        /// What happened.
        what: String,
    },
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
