//! Change: an immutable base, immutable layers over it, and versions that name both.
//!
//! ```text
//! version 7 = base (at 3) + layer 4..6 + layer 7       what a reader of number 7 holds
//! version 8 = base (at 3) + layer 4..6 + layer 7..8    published by the next commit
//! ```
//!
//! A [`Layer`] is what one commit, or a run of commits, added and took away: two graphs in the same
//! segments as the base, in memory. Only what had an effect is in it: an edge is added where it was
//! absent and taken away where it was present. So layers are sets with weights +1 and -1, an edge is
//! present where the sum over base and layers is 1, and
//!
//! - the order of layers does not matter to a reader of edges, so layers merge by adding weights (which keys
//!   and graphs there are is the newest layer's to say that names one: [`layer`]);
//! - degrees are sums, and a list without repetition stays one;
//! - the difference that a commit made is its layer, for whoever follows the graph.
//!
//! Nothing changes once it is published: readers hold a [`Version`] and wait for nobody, and nobody
//! waits for them (the papers stamp entries with snapshot
//! numbers instead, SOSP'17 section 4.3, and scalarise them again). Memory that an old reader keeps
//! is the layers that it sees and no more, however many commits follow.
//!
//! Cost: a lookup asks the base and each layer that has the segment; few layers are kept by merging
//! small ones at commit and large ones beside the readers ([`merge`]).
//!
//! - [`layer`]: what a layer is;
//! - [`version`]: base and layers as a [`GraphView`](crate::GraphView), its keys in `key_sets`, which keys a layer may have in `key_filter`;
//! - [`change`]: from quads to what has an effect, and `build` from there to a layer;
//! - `adopt`: a layer that was built for an earlier version;
//! - `overlay`: what layers have made of one segment, for whoever walks images of the base;
//! - [`merge`]: layers into one, and when;
//! - [`graph_version`]: a version with its terms, [`apply`]: records applied to one, [`account`]: the memory that
//!   takes, [`changed_graphs`]: the graphs that change;
//! - [`checkpoint`]: base and layers into the parts of a new base, and [`dictionary`] its terms.

pub mod account;
mod adopt;
pub mod apply;
mod build;
pub mod change;
pub mod changed_graphs;
pub mod checkpoint;
pub mod dictionary;
mod error;
pub mod graph_version;
mod kept_keys;
mod kept_lists;
mod key_filter;
mod key_sets;
pub mod layer;
mod located;
pub mod merge;
mod overlay;
pub(crate) mod rows;
mod sets;
mod sources;
mod stream;
pub mod version;
mod view;

pub use account::{Account, Unlimited};
pub use apply::{ApplyError, Replay, Replayed, ResolveError, change_of};
pub use change::{Change, Effect, STAGING_BYTES};
pub use changed_graphs::ChangedGraphs;
pub use checkpoint::{Checkpoint, write_base};
pub use error::DeltaError;
pub use graph_version::GraphVersion;
pub use layer::{KeyChanges, Layer};
pub use merge::{INLINE_QUADS, merge, plan_merge};
pub use overlay::{Overlay, OverlayEdges, OverlayKeys};
pub use rows::IdQuad;
pub(crate) use sets::sets_of;
pub use version::Version;
