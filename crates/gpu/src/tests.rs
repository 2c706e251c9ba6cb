//! Each kernel alone, on the host twin, against what a few lines of Rust say that it does.
//!
//! Images of indexes and segments are built here by hand (`forms`), not by the store, so that each form comes as often as the
//! others, ordinals and rows go beyond 32 bits, and lists are as long as a test wants. What a kernel writes lies between
//! canaries, what it only reads is compared afterwards (`rig`). Every test runs over many seeds, each of which is another
//! order of the fibers, too. `cargo xtask mutants` says that they notice what goes wrong. One is of whoever brings data (`left`).

mod collapse;
mod finish;
mod forms;
mod left;
mod lookup;
mod meet;
mod rig;
mod seed;
mod spread;
mod steps;
