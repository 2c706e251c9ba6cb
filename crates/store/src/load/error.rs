//! Why a load failed. Whatever the reason, the store is as it was before.

use super::report::Rejection;
use crate::directory::{self, BeginError};
use crate::error::ViewError;
use crate::log::LogError;
use crate::parts::PartError;
use crate::snapshot::SnapshotError;
use std::io;
use std::path::PathBuf;

/// Why a load failed; the store is as it was before.
#[derive(Debug, thiserror::Error)]
pub enum LoadError {
    /// A source cannot be opened.
    #[error("{name}: cannot be opened: {error}")]
    Open {
        /// The source's name: its path, or what the caller called it.
        name: String,
        /// What the system said.
        error: io::Error,
    },
    /// A source's bytes cannot be read, or its compressed form is damaged or cut short.
    #[error("{name}: cannot be read: {error}")]
    Read {
        /// The source's name.
        name: String,
        /// What the system or the decompressor said.
        error: io::Error,
    },
    /// Neither the name's extension nor an option says which format this is.
    #[error("{name}: unknown format; name one, or use one of the extensions {known}")]
    UnknownFormat {
        /// The source's name.
        name: String,
        /// The extensions that are known.
        known: String,
    },
    /// The store's log was not accepted.
    #[error(transparent)]
    Log(#[from] LogError),
    /// The store's log holds changes that its files do not.
    #[error("{}: its log holds changes that are not in its files yet; compact it first", path.display())]
    Pending {
        /// The store.
        path: PathBuf,
    },
    /// The store is a part of a graph.
    #[error("{}: it is part {node} of {nodes} of a graph, and a load does not know the other parts; load the whole graph and cut it again", path.display())]
    IsPart {
        /// The store.
        path: PathBuf,
        /// Whose part it is.
        node: u16,
        /// How many parts there are.
        nodes: u16,
    },
    /// A statement is malformed, and the load was to stop at the first such one.
    #[error("{0}")]
    Malformed(Rejection),
    /// The IRI that was to name the graph is none.
    #[error("graph <{iri}> is not an absolute IRI: {message}")]
    Graph {
        /// What was given.
        iri: String,
        /// What is wrong with it.
        message: String,
    },
    /// The file for rejected statements cannot be written.
    #[error("{}: rejected statements cannot be written: {error}", path.display())]
    Quarantine {
        /// The file.
        path: PathBuf,
        /// What the system said.
        error: io::Error,
    },
    /// The file for rejected statements is one that is to be loaded: writing it would destroy it.
    #[error("{}: the file for rejected statements is also an input, {name}", path.display())]
    QuarantineIsInput {
        /// The file, as it was named for rejected statements.
        path: PathBuf,
        /// The input's name.
        name: String,
    },
    /// A temporary file of the load cannot be written or read.
    #[error("temporary file {name}: {error}")]
    Scratch {
        /// The file's name within the store's directory.
        name: String,
        /// What the system said.
        #[source]
        error: io::Error,
    },
    /// The number of distinct predicates exceeds what a store can number.
    #[error("more than {0} distinct predicates")]
    TooManyPredicates(u32),
    /// A part of the store cannot be written.
    #[error("{0}")]
    Part(#[source] PartError),
    /// A part of the dictionary cannot be written.
    #[error("{0}")]
    Dictionary(#[source] rdf::dictionary::WriteError),
    /// No new generation of the store can be begun or made current.
    #[error(transparent)]
    Begin(#[from] BeginError),
    /// The existing store cannot be opened.
    #[error(transparent)]
    OpenStore(#[from] directory::OpenError),
    /// A graph cannot be opened.
    #[error(transparent)]
    Snapshot(#[from] SnapshotError),
    /// A dictionary cannot be opened.
    #[error(transparent)]
    OpenDictionary(#[from] rdf::dictionary::OpenError),
    /// Memory for the finished graph cannot be had.
    #[error("memory for the loaded graph: {0}")]
    Memory(#[source] io::Error),
    /// The existing graph cannot be read.
    #[error("the existing store: {0}")]
    View(#[from] ViewError),
    /// The existing dictionary cannot be read.
    #[error("the existing store: {0}")]
    Lexicon(#[from] rdf::LexiconError),
    /// The caller asked to stop.
    #[error("the load was cancelled")]
    Cancelled,
}

impl LoadError {
    /// Whether it is the input that cannot be read on: then all of it before that is parsed.
    pub(super) fn is_of_input(&self) -> bool {
        matches!(
            self,
            LoadError::Open { .. } | LoadError::Read { .. } | LoadError::Malformed(_)
        )
    }
}
