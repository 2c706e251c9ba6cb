//! What a node learns when it polls.

use std::fmt;
use std::time::Duration;

use crate::call::Token;
use crate::error::FabricError;
use crate::node::{Incarnation, NodeId};
use crate::region::Buffer;

/// Something that happened.
pub enum Event {
    /// The peer is there. From here on it can be sent to.
    Up {
        /// Who.
        node: NodeId,
        /// Which of its appearances.
        incarnation: Incarnation,
    },
    /// The peer is away. What was under way to it is lost or was delivered, nobody here knows; nothing that it sent before
    /// arrives any more, and no read or write of it is under way.
    Down {
        /// Who.
        node: NodeId,
        /// Which of its appearances ended.
        incarnation: Incarnation,
        /// Why.
        cause: Absence,
    },
    /// A message.
    Message {
        /// Who sent it.
        from: NodeId,
        /// What was sent, byte for byte.
        bytes: Vec<u8>,
    },
    /// A read has ended.
    Read {
        /// The caller's name for it.
        token: Token,
        /// Who was asked.
        from: NodeId,
        /// The pieces one after another; of no meaning where the read failed.
        into: Buffer,
        /// Whether all pieces are there.
        result: Result<(), FabricError>,
    },
    /// A write has ended.
    Written {
        /// The caller's name for it.
        token: Token,
        /// Who was written to.
        to: NodeId,
        /// What was written.
        buffer: Buffer,
        /// Whether all pieces are written. Where not, some may be.
        result: Result<(), FabricError>,
    },
    /// A peer that something was refused for as [`Busy`](FabricError::Busy) takes more again.
    Room {
        /// Who.
        to: NodeId,
    },
    /// Somebody who does not belong to this cluster, or not any more, was refused, or refused this node. To be logged: nothing
    /// else follows from it. The same is not told again and again.
    Refused {
        /// Who: an address, and the node that it is or says to be.
        who: String,
        /// Why, and what to do.
        reason: String,
    },
}

/// Of messages their length alone: they may be megabytes.
impl fmt::Debug for Event {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Event::Up { node, incarnation } => write!(f, "Up({node}, {incarnation:?})"),
            Event::Down {
                node,
                incarnation,
                cause,
            } => write!(f, "Down({node}, {incarnation:?}, {cause})"),
            Event::Message { from, bytes } => {
                write!(f, "Message({} bytes from {from})", bytes.len())
            }
            Event::Read {
                token,
                from,
                result,
                ..
            } => write!(f, "Read({token:?} from {from}, {result:?})"),
            Event::Written {
                token, to, result, ..
            } => write!(f, "Written({token:?} to {to}, {result:?})"),
            Event::Room { to } => write!(f, "Room(to {to})"),
            Event::Refused { who, reason } => write!(f, "Refused({who}: {reason})"),
        }
    }
}

/// Why a peer is away.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Absence {
    /// It was not there yet since this node started.
    #[error("it has not been reached yet")]
    NotYet,
    /// Nothing was heard of it: it is frozen, or cut off.
    #[error("nothing was heard of it for {} ms", .heard_before.as_millis())]
    Silent {
        /// How long ago it was last heard.
        heard_before: Duration,
    },
    /// The link broke.
    #[error("the link to it broke: {reason}")]
    Broken {
        /// What the system or the protocol says.
        reason: String,
    },
    /// It left in good order.
    #[error("it has left")]
    Left,
    /// The two nodes do not belong together, by what one of them says.
    #[error("the two do not belong together: {reason}")]
    Refused {
        /// What differs, and what to do.
        reason: String,
    },
}

/// Whether a peer is there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Presence {
    /// It can be sent to.
    Up(Incarnation),
    /// It cannot.
    Down(Absence),
}
