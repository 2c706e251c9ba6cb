//! All tests of the streams, in one program.

#![allow(clippy::unwrap_used, reason = "a test that fails says where")]

mod cohorts;
mod common;
mod example;
mod naive;
mod retention;
mod revision;
mod simulation;
mod skipping;
mod stalls;
mod terms;
