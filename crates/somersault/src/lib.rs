//! The database: composes store, query and exploration behind one façade.
//!
//! Deliberately does not know: HTTP, argument parsing.

pub mod budget;
pub mod config;
pub mod results;
pub mod running;
pub mod stop;
pub mod units;
