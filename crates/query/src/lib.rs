//! SPARQL: text to algebra to plan. Pure functions over values.
//!
//! Deliberately does not know: data, node ids, threads.

pub mod expression;
pub mod plan;
pub mod statistics;
