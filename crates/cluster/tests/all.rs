//! Nodes in one thread, over parts of plain graphs, where nothing of a store answers, and over parts of stored ones, whose
//! lists others read out of their memory. In calm, and in a simulated network
//! in which nodes and links fail. The same queries in all modes also go through a simulated network and through sockets.

#[path = "all/at_data.rs"]
mod at_data;
#[path = "all/benchmarks.rs"]
mod benchmarks;
#[path = "all/conformance.rs"]
mod conformance;
#[path = "all/drive.rs"]
mod drive;
#[path = "all/light.rs"]
mod light;
#[path = "all/modes.rs"]
mod modes;
#[path = "all/part.rs"]
mod part;
#[path = "all/reads.rs"]
mod reads;
#[path = "all/simulated.rs"]
mod simulated;
#[path = "all/strangers.rs"]
mod strangers;
#[path = "all/world.rs"]
mod world;
