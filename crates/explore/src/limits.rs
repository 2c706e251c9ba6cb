//! What a query may use: memory from a budget, time until somebody says stop.
//!
//! This crate reads no clock and owns no global pool. Both arrive as [`Limits`]: a
//! [`MemoryBudget`] that grants bytes, and a [`Stop`] that is asked at every chunk and within every
//! long loop, so that a cancelled query frees everything within 100 ms. Asking costs what the
//! caller's implementation costs (an atomic load, or a clock of about 25 ns), once per chunk of
//! about a thousand rows.
//!
//! Invariant: what was reserved is released, because a [`Reservation`] does it when dropped.

use crate::error::{MemoryExceeded, StopReason, WalkError};

/// No computed string may be longer, in bytes: 16 MiB.
pub const STRING_BYTES_MAX: usize = 16 << 20;

/// Units of work (about a nanosecond each) between two looks at [`Stop`] within one chunk.
const EFFORT_PER_LOOK: u64 = 1 << 20;

/// Where blocking steps get their memory from. Shared by the workers of one query.
pub trait MemoryBudget: Sync {
    /// Grants `bytes` more, or refuses and grants nothing.
    fn try_reserve(&self, bytes: u64) -> Result<(), MemoryExceeded>;
    /// Gives `bytes` back that were granted.
    fn release(&self, bytes: u64);
}

/// Asked often whether a query has to end.
pub trait Stop: Sync {
    /// `Some` from the moment on at which the query has to end.
    fn reason(&self) -> Option<StopReason>;

    /// Whether it has to end, for a thread that waits: where [`Stop::reason`] gives the thread's turn on the processors to others, this does not.
    fn is_stopped(&self) -> bool {
        self.reason().is_some()
    }

    /// Calls `wait` once, in which the thread waits for somebody else and computes nothing: whoever shares the processors
    /// among queries lets others have them meanwhile.
    fn waiting(&self, wait: &mut dyn FnMut()) {
        wait();
    }
}

/// The limits of one query; copied to each of its walks.
#[derive(Clone, Copy)]
pub struct Limits<'a> {
    /// Where memory comes from.
    pub memory: &'a dyn MemoryBudget,
    /// Who says stop.
    pub stop: &'a dyn Stop,
}

impl Limits<'static> {
    /// Limits that never refuse: for tests and measurements.
    pub fn none() -> Limits<'static> {
        Limits {
            memory: &Unlimited,
            stop: &Unlimited,
        }
    }
}

impl Limits<'_> {
    /// An error once the query has to end.
    pub fn check(&self) -> Result<(), WalkError> {
        self.stop
            .reason()
            .map_or(Ok(()), |reason| Err(WalkError::Stopped(reason)))
    }
}

/// Grants everything and never stops.
#[derive(Clone, Copy, Debug, Default)]
pub struct Unlimited;

impl MemoryBudget for Unlimited {
    fn try_reserve(&self, _bytes: u64) -> Result<(), MemoryExceeded> {
        Ok(())
    }

    fn release(&self, _bytes: u64) {}
}

impl Stop for Unlimited {
    fn reason(&self) -> Option<StopReason> {
        None
    }
}

/// Bytes granted by a budget, given back when dropped.
pub(crate) struct Reservation<'a> {
    memory: &'a dyn MemoryBudget,
    bytes: u64,
}

impl<'a> Reservation<'a> {
    /// Nothing reserved yet.
    pub(crate) fn new(limits: Limits<'a>) -> Reservation<'a> {
        Reservation::of(limits.memory)
    }

    /// The same of a budget.
    pub(crate) fn of(memory: &'a dyn MemoryBudget) -> Reservation<'a> {
        Reservation { memory, bytes: 0 }
    }

    /// Makes the reservation at least `bytes` large.
    pub(crate) fn cover(&mut self, bytes: u64) -> Result<(), WalkError> {
        if bytes <= self.bytes {
            return Ok(());
        }
        self.memory.try_reserve(bytes - self.bytes)?;
        self.bytes = bytes;
        Ok(())
    }

    /// Leaves what was granted to somebody who gives it back.
    pub(crate) fn into_bytes(mut self) -> u64 {
        std::mem::take(&mut self.bytes)
    }

    /// Gives everything back.
    pub(crate) fn clear(&mut self) {
        if self.bytes > 0 {
            self.memory.release(self.bytes);
            self.bytes = 0;
        }
    }
}

impl Drop for Reservation<'_> {
    fn drop(&mut self) {
        self.clear();
    }
}

/// Bytes of a hash table of `hashbrown` that was asked for room for so many items: buckets are a power
/// of two of which seven eighths may be used, with a byte of control each.
pub(crate) fn table_bytes<T>(items: usize) -> u64 {
    if items == 0 {
        return 0;
    }
    let buckets = match items {
        few @ ..8 => few + 1,
        many => many * 8 / 7,
    };
    (buckets.next_power_of_two().max(4) * (size_of::<T>() + 1) + 16) as u64
}

/// Counts work within a chunk and looks at the clock now and then.
#[derive(Default)]
pub(crate) struct Effort {
    units: u64,
}

impl Effort {
    /// Adds work of about `units` nanoseconds.
    pub(crate) fn spend(&mut self, units: u64, limits: &Limits<'_>) -> Result<(), WalkError> {
        self.units += units;
        if self.units < EFFORT_PER_LOOK {
            return Ok(());
        }
        self.units = 0;
        limits.check()
    }
}
