//! The seam: what a node can ask of a fabric.
//!
//! Who may call what:
//!
//! | method | thread | blocks |
//! |---|---|---|
//! | `poll` | one per node; two would each get some of the events | as long as its patience |
//! | all others | any, at any time | for no longer than a lock is held to move a pointer or copy what is asked; `load` copies without one |
//!
//! Who owns a buffer: its caller, until `read` or `write` accepted it; the fabric, until the event of its completion is
//! polled; whoever polled it, from then on. Rust's moves say the same. A device that reads or writes on its own (RDMA)
//! keeps to it by ending the link before it gives a buffer back early.

use std::time::Duration;

use memory::Region;

use crate::call::Call;
use crate::counts::Counts;
use crate::error::{FabricError, Refused};
use crate::event::{Event, Presence};
use crate::limits::Facts;
use crate::node::NodeId;
use crate::region::{Buffer, MemoryKind, Offered, Piece, RegionKey};

/// One node's side of a fabric. See the head of this file for threads and owners, the crate's for what is promised.
pub trait Fabric: Send + Sync {
    /// Which node this is.
    fn here(&self) -> NodeId;

    /// How many members the static list has, this one included.
    fn nodes(&self) -> u16;

    /// Which life of this node this is: what others see as its [`life`](crate::Incarnation::life).
    fn life(&self) -> u64;

    /// What this fabric is like.
    fn facts(&self) -> Facts;

    /// What this node has sent and read so far.
    fn counts(&self) -> Counts;

    /// Whether a peer is there, as far as poll has said. This node itself is always there.
    fn presence(&self, node: NodeId) -> Presence;

    /// Time since this fabric started; virtual in a simulation. Deadlines are in it. Never goes back.
    fn now(&self) -> Duration;

    /// Queues a message for a node; this one is allowed too. It goes to the appearance of the peer that poll reported last,
    /// so nothing that was meant for an old one reaches a new one.
    ///
    /// Refused with [`NoSuchNode`](FabricError::NoSuchNode), [`Down`](FabricError::Down),
    /// [`TooLong`](FabricError::TooLong), [`Busy`](FabricError::Busy) or [`Left`](FabricError::Left), each time with the
    /// message. An accepted message may still not arrive; then the node is reported `Down`.
    fn send(&self, to: NodeId, message: Vec<u8>) -> Result<(), Refused<Vec<u8>>>;

    /// Zeroed memory that this fabric can read into and write from without a copy of its own.
    ///
    /// Fails with [`NoSuchMemory`](FabricError::NoSuchMemory) or [`NoMemory`](FabricError::NoMemory).
    fn allocate(&self, bytes: usize, kind: MemoryKind) -> Result<Buffer, FabricError>;

    /// Lets others read a region. Its owner has verified it. It costs nothing where it lies: the handle is shared.
    fn offer(&self, region: Region) -> RegionKey;

    /// Lets others read and write a buffer. A piece is read and written whole, with no order between pieces. Its owner reads
    /// it as others do, or withdraws it first.
    fn offer_for_writing(&self, buffer: Buffer) -> RegionKey;

    /// Takes an offer back: later reads and writes of it fail. `None` where it is no offer of this life.
    fn withdraw(&self, region: RegionKey) -> Option<Offered>;

    /// Reads pieces of regions that `from` offers, this node included, into the beginning of `into`, one after another.
    /// Completes as [`Event::Read`].
    ///
    /// Refused, with the buffer, as a message is, and with [`TooManyPieces`](FabricError::TooManyPieces),
    /// [`BufferTooShort`](FabricError::BufferTooShort) or [`OtherNode`](FabricError::OtherNode). Whether the regions are
    /// offered and long enough, the owner knows: that is told by the completion.
    fn read(
        &self,
        from: NodeId,
        pieces: &[Piece],
        into: Buffer,
        call: Call,
    ) -> Result<(), Refused<Buffer>>;

    /// Reads pieces as [`read`](Fabric::read) does, into the beginning of `into`, and has done so when it comes back: where a
    /// read is a load of the calling thread, so that there is nothing to wait for, no buffer to hand over and no event.
    /// `None`: this fabric has no such reads. Fails as `read` refuses and completes; of a failed one `into` has no meaning.
    fn load(
        &self,
        from: NodeId,
        pieces: &[Piece],
        into: &mut [u8],
    ) -> Option<Result<(), FabricError>> {
        let _ = (from, pieces, into);
        None
    }

    /// Writes the beginning of `buffer` to pieces of regions that `to` offers for writing, one after another. Completes as
    /// [`Event::Written`]; its owner is not told. Refused as [`read`](Fabric::read) is.
    fn write(
        &self,
        to: NodeId,
        pieces: &[Piece],
        buffer: Buffer,
        call: Call,
    ) -> Result<(), Refused<Buffer>>;

    /// Appends what has happened, in order, and says how much. Waits for the first event, at most as long as `patience`,
    /// which may be zero. May come back early and empty handed. One thread per node calls it.
    fn poll(&self, events: &mut Vec<Event>, patience: Duration) -> usize;

    /// Ends the poll that is under way, or the next one if none is. Polls in between are not counted: many calls may end one.
    fn wake(&self);

    /// Leaves in good order: the others see `Down` with [`Left`](crate::Absence::Left), what is under way ends as `Down`, and
    /// all that is asked for later is refused. What has happened before can still be polled.
    fn leave(&self);
}
