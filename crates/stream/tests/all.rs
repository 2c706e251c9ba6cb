//! All tests of the streams, in one program.

mod boundaries;
mod common;
mod example;
mod naive;
mod retention;
mod simulation;
mod skipping;
mod stalls;
