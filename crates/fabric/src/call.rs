//! How a read or write is told of its end: by a name, and at the latest at a deadline.

use std::time::Duration;

/// The caller's name for a read or write. Names need not differ.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Token(pub u64);

/// How a read or write is told of its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Call {
    /// Comes back with the completion.
    pub token: Token,
    /// When it ends at the latest, by [`Fabric::now`](crate::Fabric::now).
    pub deadline: Duration,
}
