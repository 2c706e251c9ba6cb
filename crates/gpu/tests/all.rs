//! Sections on the host twin: the same answers as the walk on the processor.

#[path = "all/faults.rs"]
mod faults;
#[path = "all/graphs.rs"]
mod graphs;
#[path = "all/loaded.rs"]
mod loaded;
#[path = "all/together.rs"]
mod together;
#[path = "all/walk.rs"]
mod walk;
