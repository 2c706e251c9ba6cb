//! Why something was refused or failed. Nothing of what is refused has been done.

use std::fmt;

use crate::node::NodeId;
use crate::region::{MemoryKind, RegionKey};

/// Why a fabric does not do what it was asked for, or could not.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FabricError {
    /// There is no such node in the list of members.
    #[error("{node} is no member: the list has {nodes}")]
    NoSuchNode {
        /// Who was named.
        node: NodeId,
        /// How many members there are.
        nodes: u16,
    },
    /// The node is known to be away, or went away meanwhile. Whether what was under way had an effect there is open.
    #[error("{node} is down")]
    Down {
        /// Who.
        node: NodeId,
    },
    /// As much as allowed is under way to this node. An [`Event::Room`](crate::Event::Room) follows.
    #[error("{node} is not taking more at the moment: {queued_bytes} bytes are under way to it")]
    Busy {
        /// Who.
        node: NodeId,
        /// What is under way (bytes).
        queued_bytes: usize,
    },
    /// A message, or the pieces of one read or write together, are longer than this fabric carries.
    #[error("{bytes} bytes are too long: this fabric carries {bytes_max} in one piece")]
    TooLong {
        /// How long (bytes).
        bytes: u64,
        /// What is carried (bytes).
        bytes_max: u64,
    },
    /// A read or write has more pieces than this fabric carries.
    #[error("{pieces} pieces are too many: this fabric carries {pieces_max} in one batch")]
    TooManyPieces {
        /// How many.
        pieces: usize,
        /// What is carried.
        pieces_max: usize,
    },
    /// The buffer is shorter than the pieces together.
    #[error("a buffer of {buffer_bytes} bytes is too short for pieces of {bytes}")]
    BufferTooShort {
        /// The buffer (bytes).
        buffer_bytes: usize,
        /// The pieces together (bytes).
        bytes: u64,
    },
    /// A piece names a region of another node than the one that is asked.
    #[error("a piece lies on {of}, but {asked} is asked")]
    OtherNode {
        /// Whose region it is.
        of: NodeId,
        /// Who was asked.
        asked: NodeId,
    },
    /// The region was withdrawn, or its node has started anew since, or it never was.
    #[error("region {} of {} is not offered", .region.key, .region.node)]
    NotOffered {
        /// Which.
        region: RegionKey,
    },
    /// The region is offered for reading only.
    #[error("region {} of {} may only be read", .region.key, .region.node)]
    ReadOnly {
        /// Which.
        region: RegionKey,
    },
    /// A piece does not lie within its region.
    #[error("{length} bytes from {offset} do not lie in region {} of {}, which has {region_bytes}", .region.key, .region.node)]
    Outside {
        /// Which region.
        region: RegionKey,
        /// Where the piece begins (bytes).
        offset: u64,
        /// How long it is (bytes).
        length: u64,
        /// How long the region is (bytes).
        region_bytes: u64,
    },
    /// A part of the file behind the region is gone, so its bytes are not what they were.
    #[error("region {} of {} lies in a file that is damaged", .region.key, .region.node)]
    Damaged {
        /// Which.
        region: RegionKey,
    },
    /// The deadline of a read or write has passed. Whether a write had an effect is open.
    #[error("{node} did not answer in time")]
    Late {
        /// Who was asked.
        node: NodeId,
    },
    /// This fabric has no memory of that kind.
    #[error("this fabric has no {kind}")]
    NoSuchMemory {
        /// Which.
        kind: MemoryKind,
    },
    /// The system gives no memory.
    #[error("no memory for {bytes} bytes")]
    NoMemory {
        /// How much was asked for (bytes).
        bytes: usize,
    },
    /// The node has left its fabric.
    #[error("this node has left")]
    Left,
}

/// What was not taken, given back with the reason.
#[derive(thiserror::Error)]
#[error("{cause}")]
pub struct Refused<T> {
    /// The message or buffer, as it was given.
    pub given: T,
    /// Why it was not taken.
    pub cause: FabricError,
}

/// The reason alone: what was given may be megabytes.
impl<T> fmt::Debug for Refused<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Refused").field(&self.cause).finish()
    }
}

impl<T> From<Refused<T>> for FabricError {
    fn from(refused: Refused<T>) -> FabricError {
        refused.cause
    }
}
