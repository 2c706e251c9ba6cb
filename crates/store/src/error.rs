//! Why a graph could not be read: the error of everything that answers a [`GraphView`](crate::view::GraphView).
//!
//! Segments, lists and vertex sets return this error, and the seam above them returns it unchanged. So the
//! error has a file below all of them. Every variant carries the name of the file in the store's directory.

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
}
