//! One node's graph: predicate segments, index vertices, bulk load, check.
//!
//! Deliberately does not know: other nodes, query text.
//!
//! - [`view`]: the seam through which a graph is walked, with its handles [`VertexSet`] and
//!   [`Lists`];
//! - [`Snapshot`]: the local view, over the parts of one graph;
//! - [`raw`]: the segments of a base as verified bytes, for whoever walks them elsewhere, as a GPU;
//! - [`location`]: where a base's lists lie, for whoever reads them out of its memory from elsewhere;
//! - [`Slice`], [`Window`]: the graph of a batch of a stream, and a union of them as a view;
//! - [`GraphWriter`], [`GraphIndexWriter`], [`write_tables`]: what a load writes a graph with;
//! - [`parts`]: the files that a graph consists of;
//! - [`cut`]: a graph into parts; [`part_of`]: the mark of a graph that is one node's part of a larger one;
//! - [`format`]: their bytes, drawn in `docs/formats/store-layout.md`;
//! - [`log`]: the changes that no generation holds yet;
//! - [`testing`]: graphs for tests.

pub mod check;
pub mod cut;
pub mod delta;
pub mod directory;
pub mod disk;
mod error;
pub mod format;
mod lists;
pub mod load;
pub mod log;
pub mod parts;
mod prefixes;
pub mod record;
mod segment;
mod signature;
pub mod slice;
mod snapshot;
mod source;
pub mod statistics;
pub mod testing;
mod vertex_set;
pub mod view;
pub mod window;

pub use cut::PartOf;
pub use cut::part_of;
pub use error::ViewError;
pub use lists::{ListCursor, Lists, Meeting, MetRows, OwnedLists};
pub use prefixes::Prefixes;
pub use segment::graph_index::{GraphIndexWriter, GraphKey};
pub use segment::location;
pub use segment::planes::Spans;
pub use segment::raw;
pub use segment::writer::{DirectionSummary, Edge, GraphWriter, SegmentShape, write_tables};
pub use slice::{Arrival, Slice, SliceError};
pub use snapshot::{Snapshot, SnapshotError};
pub use statistics::SnapshotStatistics;
pub use vertex_set::VertexSet;
pub use view::{GraphScope, GraphView, Progress, SegmentKey, Ticket};
pub use window::Window;
