//! How a walk is run, and what a call of it found.
//!
//! A [walk](crate::walk) and the [chains](crate::chain) within it, down to those of nested blocks, are run alike; so
//! the options, and what a call says, stand below both.

use crate::chunk::ROWS;
use store::view::Ticket;

/// What a call of [`Walk::next`](crate::Walk::next) found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub enum Status {
    /// The chunk holds rows; there may be more.
    Rows,
    /// No more rows; the chunk is empty.
    Done,
    /// No rows yet: the time slice is over, call again.
    Yield,
    /// No rows yet: call again when the ticket completes.
    Pending(Ticket),
    /// No rows until more are [pushed](crate::Walk::push) or the [input ends](crate::Walk::end_input).
    Starved,
}

/// How a walk is run.
#[derive(Clone, Copy)]
pub struct Options<'a> {
    /// Rows of a full chunk, at least one.
    pub chunk_rows: usize,
    /// Calls of steps (about 20 us each for full chunks) after which [`Walk::next`](crate::Walk::next) yields.
    pub runs_per_call: u32,
    /// A clock in nanoseconds, for the profile.
    pub clock: Option<&'a (dyn Fn() -> u64 + Sync)>,
}

impl Default for Options<'_> {
    fn default() -> Self {
        Options {
            chunk_rows: ROWS,
            runs_per_call: u32::MAX,
            clock: None,
        }
    }
}
