//! The vector of a snapshot: for each stream, up to where its batches are in the graph.
//!
//! ```text
//! commit      41            42 (a batch of two streams)      43 (an update)
//! vector      tweets 7      tweets 8, likes 8                tweets 8, likes 8
//! ```
//!
//! The commit that absorbs batches sets the vector of the version that it makes, and every later version inherits it
//! (SOSP'17 section 4.3: a snapshot number stands for a vector timestamp). So whoever reads a version reads a prefix of
//! each stream, and knows which. Invariant: along the numbers of one database no point goes back, and a stream that is
//! missing has nothing absorbed that its vector speaks of.
//!
//! Cost: a list of the streams for each commit of streams; a reference count for every other one.

use std::sync::Arc;

/// How far a snapshot holds one stream.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StreamPoint {
    /// The stream's IRI.
    pub stream: Arc<str>,
    /// How many batches are in the snapshot (count): all with a number below this. Batch `b` of a stream of grain `g` ends
    /// at `(b + 1) * g`.
    pub batches: u64,
    /// All items before this moment are decided (milliseconds); those of them that the stream stores are in the snapshot.
    /// It is the end of the last batch, or one millisecond later where a query needed the items of that millisecond.
    pub covered_ms: u64,
}

/// The vector: one point for each stream, by name.
pub type SnapshotVector = Arc<[StreamPoint]>;
