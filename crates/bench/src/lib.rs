//! Measured runs and their records.
//!
//! A figure is worth something when one can tell what was measured, whether the answer was
//! right, and how far the time is from what the machine permits. So [`lubm`] checks the rows of
//! every run against the counts that the benchmark must give, [`floor`] prices the memory that
//! a query has to touch with the bandwidth of this machine in this session ([`machine`]), and
//! [`figure`] writes all of it into one record: a row of a table, or a line of JSON.
//!
//! Nothing here knows the database: what is measured comes in as a closure, so the same runner
//! measures the engine in memory, a store on disk, or another engine; or it is an HTTP endpoint
//! ([`http`], [`flight`]). A mix of queries asked by several at once is [`mix`]; two ways of one work, measured in turns,
//! are [`pairs`]. [`timed`] is a graph with a time beside every neighbour, which the windows of streams are measured against
//! (`examples/stream_index`).

pub mod arrivals;
pub mod figure;
pub mod flight;
pub mod floor;
pub mod graph;
pub mod http;
pub mod lubm;
pub mod machine;
pub mod memory;
pub mod mix;
pub mod pairs;
pub mod stats;
pub mod timed;
pub mod turns;
