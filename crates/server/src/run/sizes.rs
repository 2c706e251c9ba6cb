//! How much of an answer is held and passed on at once.
//!
//! An answer that flows through the pipe and an answer that is kept until it is complete hold equally much in memory,
//! so the two sizes stand below both.

use crate::run::sync::sized;

/// Bytes that are worth sending at once.
pub(crate) const CHUNK_BYTES: usize = sized(64 << 10, 4);
/// Bytes that wait for the client at most, before the engine thread waits too.
pub(crate) const HELD_BYTES_MAX: usize = sized(512 << 10, 16);
const _: () = assert!(
    CHUNK_BYTES <= HELD_BYTES_MAX,
    "a chunk may wait for its client"
);
