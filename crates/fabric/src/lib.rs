//! Bytes between nodes: messages, registered regions, one-sided reads and writes, and who is there.
//!
//! [`Fabric`] is the seam. A node sends messages, offers regions of its memory, reads from those of others, and polls
//! for what happened; nothing of that blocks but [`poll`](Fabric::poll).
//!
//! | implementation | between | a read is |
//! |---|---|---|
//! | [`Local`] | nodes of one process | a copy by the reader's own thread |
//! | [`sim`] | nodes of one test, under virtual time and faults of a seed | an answer by the owner's fabric |
//! | [`tcp`] | processes and machines | an answer by a thread of the owner's fabric |
//!
//! What each of them promises, and tests hold over all alike:
//!
//! - A message arrives at most once, and messages of a pair arrive in the order in which they were sent, or the pair is
//!   reported [`Down`](Event::Down): there is no silent loss.
//! - Between two `Down`s of a peer lies one [`Up`](Event::Up), with an [`Incarnation`] that no earlier `Up` of this node
//!   had. Nothing that was sent before a `Down` arrives after it.
//! - A node that died, froze or was cut off is `Down` within [`DOWN_WITHIN`](liveness::DOWN_WITHIN).
//! - Each read and write that was accepted completes exactly once, at the latest at its deadline or at `Down`, and only
//!   then gives its buffer back.
//! - What is queued for a peer is bounded; a sender is refused ([`FabricError::Busy`]) and told when there is
//!   [`Room`](Event::Room) again. Nothing is allocated on a peer's word.
//!
//! Deliberately does not know: graphs, plans, who is asked for what.

mod access;
mod call;
mod clock;
mod connection;
mod counts;
mod error;
mod event;
mod frame;
mod hello;
mod inbox;
mod limits;
mod link;
pub mod liveness;
mod local;
mod measure;
mod node;
mod offers;
mod peer;
mod region;
mod seam;
pub mod sim;
mod station;
pub mod tcp;

pub use call::{Call, Token};
pub use counts::Counts;
pub use error::{FabricError, Refused};
pub use event::{Absence, Event, Presence};
pub use limits::{Facts, Limits, LimitsError};
pub use local::Local;
pub use node::{Incarnation, NodeId};
pub use region::{Buffer, MemoryKind, Offered, Piece, RegionKey};
pub use seam::Fabric;
