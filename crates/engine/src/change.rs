//! Changes: one writer at a time, a log that keeps what was acknowledged, readers that never wait.
//!
//! ```text
//! request --> turn --> draft --------------> record --> log    (buffered)
//!             one at   a version of its own,            |
//!             a time   layer by layer                   +--> turn is free, staged is the new version
//!                                                       |
//!             answer <-- published <-- sync, shared by all who wait (group commit)
//! ```
//!
//! A request is evaluated on the newest *staged* version, which may not be durable yet; what it
//! changes becomes a layer over it. Readers see the newest *published* version, whose log records
//! are durable. So a reader never sees what a crash could take back, and the disk is waited for by
//! many at once, outside of the turn.
//!
//! A request is one record and one commit: all of it or nothing. What it evaluates sees what its own
//! operations before it did (SPARQL 1.1 Update section 2.2), in a draft that nobody else sees.
//!
//! - [`write_lock`]: whose turn it is, with a deadline;
//! - [`commit`]: evaluating under the turn, or before it where that takes long; [`ahead`] is what is
//!   noted then, [`prepared`] what is made of that in the turn, [`read_set`] what a request reads,
//!   [`write_set`] what others have changed meanwhile;
//! - [`draft`]: the versions within one request, and its record;
//! - [`charge`]: the memory that a change holds;
//! - [`operations`]: from operations to quads;
//! - [`patch`]: RDF Patch as an update;
//! - [`spool`]: documents parsed before the turn, so that a slow body holds up nobody;
//! - [`last`]: which commit changed a graph last, for preconditions;
//! - [`committed`]: what has come of a change;
//! - [`writer`]: staging, group commit, publishing, and what each commit touches;
//! - [`open`]: opening and making stores;
//! - [`replay`]: the log's tail, then;
//! - [`writer::beside`]: who keeps something in the log beside the graph;
//! - [`follow`]: commits that another process makes;
//! - [`maintenance`]: merging and checkpoints beside readers and writers, woken by a [`wakeup`];
//! - [`store_write`]: the Graph Store Protocol's writes.

mod absorb;
mod ahead;
mod charge;
mod commit;
mod committed;
mod draft;
pub(crate) mod follow;
mod held;
mod last;
pub(crate) mod maintenance;
#[cfg(all(test, feature = "model"))]
mod model;
pub mod open;
mod operations;
mod patch;
mod prepared;
mod read_set;
mod replay;
pub(crate) mod spool;
pub(crate) mod store_write;
mod update;
mod wakeup;
mod write_lock;
mod write_set;
pub(crate) mod writer;

pub(crate) use absorb::{Absorption, CommitFate, Spoken, absorb, reach, with_dictionary};
pub use committed::Committed;
pub use patch::RDF_PATCH;
pub(crate) use replay::{Deaf, Listener, LogRecords, ReplayMoment};
pub use store_write::{
    Documents, GraphState, GraphTarget, GraphWrite, GraphWritten, Precondition, RunningGraphChange,
    WriteMode,
};
pub use update::{RunningUpdate, UpdateRequest, check_update};
pub(crate) use writer::Writer;
pub(crate) use writer::beside::{Beside, Image, Keeper, TakePiece};
pub(crate) use writer::kept::KeptVersions;
