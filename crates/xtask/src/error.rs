//! What keeps a chore from being done at all, as opposed to a chore that finds something.
//!
//! Invariant: every variant carries the command or path it is about, so that the line printed is
//! enough to act on.

use std::path::PathBuf;

/// A chore could not be carried out.
#[derive(Debug, thiserror::Error)]
pub enum ChoreError {
    /// A program could not be started, or its output could not be read.
    #[error("cannot run `{command}`: {source}")]
    Run {
        /// The command line as a person would type it.
        command: String,
        /// What the operating system said.
        source: std::io::Error,
    },
    /// A file of the workspace could not be read.
    #[error("cannot read {}: {source}", path.display())]
    Read {
        /// The file, relative to the workspace where possible.
        path: PathBuf,
        /// What the operating system said.
        source: std::io::Error,
    },
    /// A file could not be written.
    #[error("cannot write {}: {source}", path.display())]
    Write {
        /// The file.
        path: PathBuf,
        /// What the operating system said.
        source: std::io::Error,
    },
    /// `cargo metadata` answered with something that is not its documented JSON.
    #[error("cannot understand what `cargo metadata` printed: {0}")]
    Metadata(#[from] serde_json::Error),
    /// A program that this chore depends on failed.
    #[error("`{command}` failed: {message}")]
    Failed {
        /// The command line as a person would type it.
        command: String,
        /// Its standard error.
        message: String,
    },
}
