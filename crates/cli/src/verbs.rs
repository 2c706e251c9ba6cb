//! The verbs of the command line, one file each, and what they share (`open`, `input`).

pub mod backup;
pub mod bench;
pub mod bench_load;
pub mod bench_mix;
pub mod bench_output;
pub mod bench_path;
pub mod bench_update;
pub mod check;
pub mod compact;
pub mod config;
pub mod dump;
pub mod generate;
pub mod input;
pub mod load;
pub mod open;
pub mod query;
pub mod send;
pub mod serve;
pub mod shell;
pub mod stats;
pub mod update;
pub mod whole_file;
