//! All tests of the crate's outside, in one program.

mod chance;
mod contract;
mod links;
mod processes;
mod relay;
mod simulation;
mod strangers;
mod world;
