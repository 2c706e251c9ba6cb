//! What has come of changes: of one, and of how all of them were evaluated.
//!
//! The writer gives both, and requests of every kind pass the first on, so they stand below all of these.
//!
//! | field | written by | read by |
//! |---|---|---|
//! | `Tally::beside`, `Tally::again` | requests, relaxed | any thread, for figures |

use std::sync::atomic::AtomicU64;
use std::time::Duration;

/// What a change has done. It is durable.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Committed {
    /// The number of the snapshot that contains it.
    pub snapshot: u64,
    /// Quads that were not there before.
    pub inserted: u64,
    /// Quads that are not there any more.
    pub deleted: u64,
    /// Time from text to operations.
    pub parse: Duration,
    /// Time from there to the durable commit.
    pub exec: Duration,
    /// Of that, what the commit waited for the disk.
    pub synced: Duration,
}

/// How requests were evaluated.
#[derive(Debug, Default)]
pub(crate) struct Tally {
    /// Before their turn.
    pub(crate) beside: AtomicU64,
    /// Again, because of what came in between.
    pub(crate) again: AtomicU64,
}
