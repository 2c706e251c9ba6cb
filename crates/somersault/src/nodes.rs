//! A graph in parts: nodes of this process, and this process as one of many.

pub use engine::parts::{
    AskedAt, Between, ClusterState, Counts, Fetched, Figures, Identity, KeptLocations, Member,
    MemberError, MemberOptions, MemberState, Mode, NodeFigures, NodeOptions, PartNodes, Prices,
    QueryId, RefusedState, SectionFigures, Seen, Shipped, Span, SpanAt, Spans, Teller, Trace,
    node_at,
};
pub use rdf::{Placement, PlacementError};
pub use store::cut::Deal;
