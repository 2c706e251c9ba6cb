//! Benchmark data generators and query mixes.
//!
//! [`lubm`] makes the data of the Lehigh University Benchmark, triple for triple those of the
//! original generator; [`queries`] holds the twelve queries that are measured on them with the
//! row counts they must give; [`mix`] draws the light queries A1 to A6 of the papers' workload.
//! [`lsbench`] makes stored data and five streams like those of the LSBench generator, and its queries.
//!
//! This crate knows neither a store nor a parser: it writes RDF text and hands out query
//! text, so whatever loads or answers it is tested from the outside. Everything here is a
//! function of its parameters alone (no clock, no entropy), which is what makes two runs, two
//! machines and two numbers of threads comparable.

pub mod lsbench;
pub mod lubm;
pub mod mix;
pub mod queries;
