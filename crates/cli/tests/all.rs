//! The binary as its users see it.
//!
//! One program, because each links the engine and makes its own copies of what is generic: as programs of their
//! own these files took as long to build as the engine.

mod bad_input;
mod bench;
mod changes;
mod cluster;
mod common;
mod device;
mod endpoint;
mod follow;
mod hosts;
mod kill;
mod lenient;
mod live;
mod live_reports;
mod live_store;
mod live_terminal;
mod live_waiting;
mod lsbench;
mod lubm;
mod nodes;
mod prefixes;
mod shell;
mod signals;
