//! The database as its users see it.
//!
//! One program, because each links the engine and makes its own copies of what is generic: as programs of their
//! own these files took as long to build as the engine.

mod budget;
mod cases;
mod copy_crash;
mod datatypes;
mod dates;
mod follow;
mod functions_and_operators;
mod fuzz_corpus;
mod language_tags;
mod live_queries;
mod looks;
mod many;
mod numbers;
mod on_device;
mod oracle;
mod parallel;
mod parts;
mod plan_cache;
mod prefixes;
mod sampling;
mod service;
mod shapes;
mod standing;
mod standing_crash;
mod statistics;
mod sticky_disk;
mod store_loss;
mod summary;
mod support;
mod update;
mod update_checkpoint;
mod update_crash;
mod update_oracle;
mod update_writers;
mod upkeep;
