//! What a node has done, counted.

use crate::reading::locations::KeptLocations;
use crate::run::Shipped;
use crate::session::Fetched;

/// What a node did, of queries for those that have ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Figures {
    /// Those that were asked here.
    pub asked: u64,
    /// Those that other nodes were asked.
    pub helped: u64,
    /// Rows that it sent.
    pub shipped: Shipped,
    /// What it asked other nodes.
    pub fetched: Fetched,
    /// What it knows of where their lists lie.
    pub locations: KeptLocations,
    /// What it keeps of terms that others told it (bytes).
    pub term_bytes: u64,
    /// Times that another node went away from it, or their link was reset.
    pub losses: u64,
}
