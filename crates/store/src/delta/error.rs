//! Why a change could not be made into a layer, or layers into something else.

use crate::error::ViewError;
use crate::parts::PartError;
use crate::snapshot::SnapshotError;
use crate::source::Fault;

/// Why a layer, a merge of layers or a new base could not be written.
#[derive(Debug, thiserror::Error)]
pub enum DeltaError {
    /// Memory or disk refused what was written.
    #[error(transparent)]
    Part(#[from] PartError),
    /// A graph that was read is damaged, or graphs contradict each other.
    #[error(transparent)]
    View(#[from] ViewError),
    /// The caller asked for a stop.
    #[error("stopped before it was done")]
    Halted,
}

impl From<Fault> for DeltaError {
    fn from(fault: Fault) -> DeltaError {
        DeltaError::View(*fault)
    }
}

impl From<SnapshotError> for DeltaError {
    fn from(error: SnapshotError) -> DeltaError {
        match error {
            SnapshotError::Part(error) => DeltaError::Part(error),
            SnapshotError::View(error) => DeltaError::View(error),
        }
    }
}

/// Layers that do not add up: an edge added twice, or taken away where it was not.
#[cold]
pub(crate) fn contradiction(what: &str) -> DeltaError {
    DeltaError::View(ViewError::Inconsistent {
        file: "layers".to_owned(),
        what: what.to_owned(),
    })
}
