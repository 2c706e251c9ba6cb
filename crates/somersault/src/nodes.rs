//! A graph in parts: nodes of this process, and this process as one of many.

pub use engine::parts::{Fetched, Figures, Mode, NodeOptions, PartNodes, Shipped};
pub use rdf::{Placement, PlacementError};
pub use store::cut::Deal;
