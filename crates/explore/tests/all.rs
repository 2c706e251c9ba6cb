//! The walk as its users see it.
//!
//! One program, because each links the engine and makes its own copies of what is generic: as programs of their
//! own these files took as long to build as the engine.

mod aggregate;
mod blocks;
mod equal_rows;
mod execution;
mod expression;
mod functions;
mod hub;
mod limits;
mod making;
mod offload;
mod on_ids;
mod path;
mod sample;
mod specification;
mod support;
mod walk;
mod wire;
