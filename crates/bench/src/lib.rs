//! Measured runs and their records.
//!
//! A figure is worth something when one can tell what was measured, whether the answer was
//! right, and how far the time is from what the machine permits. So [`lubm`] checks the rows of
//! every run against the counts that the benchmark must give, [`floor`] prices the memory that
//! a query has to touch with the bandwidth of this machine in this session ([`machine`]), and
//! [`figure`] writes all of it into one record: a row of a table, or a line of JSON.
//!
//! Nothing here knows the database: what is measured comes in as a closure, so the same runner
//! measures the engine in memory, a store on disk, an HTTP endpoint, or another engine.

pub mod figure;
pub mod floor;
pub mod lubm;
pub mod machine;
pub mod stats;
