//! Parts of a dictionary: together they answer what the whole does, each says what it does not have, and no bytes make one
//! panic or answer wrongly.

#![allow(clippy::unwrap_used)] // a test's helpers may fail as a test does

mod damage;
mod model;
mod support;
mod together;
