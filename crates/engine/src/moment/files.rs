//! A graph at one moment as the files of a generation: what checkpoints, backups and new stores are
//! made of.

use super::Graph;
use crate::error::{Kind, QueryError};
use store::delta::checkpoint::write_base;
use store::delta::dictionary::{DictionaryError, Spilling, write_dictionary};
use store::parts::PartFiles;

/// Writes all files of the graph and its dictionary. `is_halted` is asked now and then.
pub fn write_graph(
    graph: &Graph,
    files: &dyn PartFiles,
    spilling: Spilling<'_>,
    is_halted: &(dyn Fn() -> bool + Sync),
) -> Result<(), QueryError> {
    write_base(&graph.snapshot, &graph.prefixes(), files, is_halted)?;
    let written = write_dictionary(&graph.dictionary, files, spilling, is_halted);
    written.map_err(|error| match error {
        DictionaryError::Halted => QueryError::new(Kind::Cancelled, "it was stopped"),
        error => QueryError::of_cause(&error, Kind::Output, &error),
    })
}
