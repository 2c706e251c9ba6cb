//! Why a store was not opened, in the words of whoever opens it: a damaged store, one that is not there and
//! one that somebody else changes have exit codes and advice of their own.

use crate::error::{Kind, QueryError};
use std::path::PathBuf;
use store::SnapshotError;
use store::directory::manifest::HeadError;
use store::directory::{self, BeginError};
use store::load::LoadError;
use store::log::LogError;
use store::view::ViewError;

/// Why a store could not be opened.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// Its directory was not accepted.
    #[error(transparent)]
    Directory(#[from] directory::OpenError),
    /// Its graph was not accepted.
    #[error(transparent)]
    Snapshot(#[from] SnapshotError),
    /// Its dictionary was not accepted.
    #[error(transparent)]
    Dictionary(LoadError),
    /// It is a part of a graph, which alone would answer with some of the rows.
    #[error(
        "{path}: it is part {node} of {nodes} of a graph, and alone it would answer with a part of the rows; open the \
         store that it was cut from"
    )]
    Part {
        /// Where.
        path: PathBuf,
        /// Whose part it is.
        node: u16,
        /// How many parts there are.
        nodes: u16,
    },
    /// Its statistics could not be read.
    #[error(transparent)]
    Statistics(#[from] ViewError),
    /// Its log was not accepted.
    #[error(transparent)]
    Log(#[from] LogError),
    /// A record of its log could not be applied.
    #[error("{0}")]
    Replay(QueryError),
    /// It cannot be opened for changing, or not be made.
    #[error(transparent)]
    Write(#[from] BeginError),
    /// The nodes of a graph in parts do not come together.
    #[error("the nodes of the cluster do not come together: {0}")]
    Cluster(String),
    /// An empty store could not be made.
    #[error("{path}: cannot make an empty store: {what}")]
    Create {
        /// Where.
        path: PathBuf,
        /// What failed.
        what: String,
    },
}

impl From<LoadError> for OpenError {
    fn from(error: LoadError) -> OpenError {
        match error {
            LoadError::Snapshot(error) => OpenError::Snapshot(error),
            error => OpenError::Dictionary(error),
        }
    }
}

impl OpenError {
    /// Whether somebody else has the right to change it.
    pub fn is_locked(&self) -> bool {
        matches!(self, OpenError::Write(BeginError::Locked { .. }))
    }

    /// Whether there is no store.
    pub fn is_absent(&self) -> bool {
        use directory::OpenError as E;
        let absent = |error: &E| matches!(error, E::Missing { .. } | E::Empty { .. });
        match self {
            OpenError::Directory(error) | OpenError::Write(BeginError::Store(error)) => {
                absent(error)
            }
            _ => false,
        }
    }

    /// Whether it is a store, and a damaged one.
    pub fn is_damage(&self) -> bool {
        match self {
            OpenError::Directory(error) | OpenError::Write(BeginError::Store(error)) => {
                is_damaged_directory(error)
            }
            OpenError::Snapshot(_) | OpenError::Statistics(_) => true,
            OpenError::Log(error) => error.is_damage(),
            OpenError::Dictionary(error) => is_damaged_load(error),
            OpenError::Replay(error) => error.kind == Kind::Damaged,
            OpenError::Write(_)
            | OpenError::Create { .. }
            | OpenError::Cluster(_)
            | OpenError::Part { .. } => false,
        }
    }
}

fn is_damaged_directory(error: &directory::OpenError) -> bool {
    use directory::OpenError as E;
    match error {
        E::Missing { .. }
        | E::NotAStore { .. }
        | E::Empty { .. }
        | E::Unfinished { .. }
        | E::Doubtful { .. }
        | E::Io { .. } => false,
        E::Head { source, .. } => matches!(source, HeadError::Damaged(_) | HeadError::Foreign),
        E::Length { .. } | E::MissingFile { .. } | E::Sums { .. } => true,
    }
}

/// Whether a load failed because the store that it was to add to is damaged.
pub fn is_damaged_load(error: &LoadError) -> bool {
    match error {
        LoadError::OpenStore(error) => is_damaged_directory(error),
        LoadError::Snapshot(_)
        | LoadError::OpenDictionary(_)
        | LoadError::View(_)
        | LoadError::Lexicon(_) => true,
        LoadError::Log(error) => error.is_damage(),
        _ => false,
    }
}
