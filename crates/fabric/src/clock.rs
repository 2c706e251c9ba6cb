//! The clock of fabrics whose poll waits in real time.
//!
//! One of the two places of this crate that read a clock (the other is the threads of `tcp`, which take theirs from
//! here): a fabric notices silence, so it needs one, and everything above takes its time from
//! [`Fabric::now`](crate::Fabric::now).

use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// A monotonic clock that begins at zero.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Clock {
    start: Instant,
}

impl Clock {
    /// Starts now.
    pub(crate) fn start() -> Clock {
        Clock {
            start: Instant::now(),
        }
    }

    /// Time since the start.
    pub(crate) fn now(&self) -> Duration {
        self.start.elapsed()
    }
}

/// A number that another start of this node does not have: the time of day (ns since 1970). Two starts of one process
/// differ unless the clock is set back to the very nanosecond.
pub(crate) fn new_life() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    since.map_or(0, |since| since.as_nanos() as u64)
}
