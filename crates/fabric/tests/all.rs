//! All tests of the crate's outside, in one program.

mod chance;
mod contract;
mod simulation;
mod world;
