//! A batch of decoded rows, as the engine pushes it into a sink.
//!
//! Every writer takes rows and every reader of an answer makes them, so they stand below all of these.

use oxrdf::TermRef;
use rdf::TermBuffer;

/// A batch of rows: one column of terms per projected variable, all of the same length.
#[derive(Debug, Default)]
pub struct Rows {
    /// The columns, in the order of the projection.
    pub columns: Vec<TermBuffer>,
    /// Number of rows; counts also where there is no column.
    pub len: usize,
}

impl Rows {
    /// The cells of one row, in the order of the projection.
    pub fn row(&self, row: usize) -> impl Iterator<Item = Option<TermRef<'_>>> {
        self.columns.iter().map(move |column| column.get(row))
    }
}
