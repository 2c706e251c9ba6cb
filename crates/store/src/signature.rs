//! Signatures: the characteristic set of each vertex.
//!
//! A vertex's set in a direction is the set of predicates that it has in that direction, and of its
//! types. Each vertex has the number of its set, so a pattern with an unknown
//! predicate is answered by two small reads, and the table of sets is the planner's main statistic
//! (Neumann and Moerkotte, "Characteristic Sets", ICDE 2011).
//!
//! - [`builder`]: sets from segments as they pass by, without sorting by vertex;
//! - [`sets`]: the table as it is written and read.

pub(crate) mod builder;
pub(crate) mod sets;
mod states;
