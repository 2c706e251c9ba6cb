//! Nodes in one thread, over parts of plain graphs: nothing of a store answers here.

#[path = "all/conformance.rs"]
mod conformance;
#[path = "all/modes.rs"]
mod modes;
#[path = "all/world.rs"]
mod world;
