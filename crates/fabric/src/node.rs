//! Who is who: a node's number, and which of its lives and links is meant.

use std::fmt;

/// A node: its position in the static list of members, from zero.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct NodeId(pub u16);

impl NodeId {
    /// The position in the list, as an index.
    pub fn index(self) -> usize {
        usize::from(self.0)
    }
}

impl fmt::Display for NodeId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "node {}", self.0)
    }
}

/// Which of a peer's appearances is meant. No two `Up`s that one node sees of a peer have the same.
///
/// `life` tells a restart from a link that was cut: what a node has learned about a peer's regions stays true as long
/// as the peer's life is the same, and a [`RegionKey`](crate::RegionKey) carries it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Incarnation {
    /// Which start of the peer: two starts of a node differ.
    pub life: u64,
    /// Which link to it, counted up by the node that reports it. The two ends of a link need not agree.
    pub link: u64,
}
