//! The store as its users see it.
//!
//! One program, because each links the engine and makes its own copies of what is generic: as programs of their
//! own these files took as long to build as the engine.

mod apply;
mod change;
mod check;
mod common;
mod cut;
mod delta_dictionary;
mod directory;
mod faults;
mod half_quads;
mod load;
mod load_crash;
mod load_input;
mod load_sources;
mod log;
mod log_count;
mod log_crash;
mod log_follow;
mod raw;
mod rebase;
mod texts;
mod version;
mod view;
mod window;
