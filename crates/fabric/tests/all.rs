//! All tests of the crate's outside, in one program.

mod contract;
mod world;
