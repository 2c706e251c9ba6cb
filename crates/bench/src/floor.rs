//! The time below which no engine on this machine can answer: a query's floor.
//!
//! A heavy query cannot be faster than reading the bytes that it must touch, a light one not
//! faster than the cache misses that each wait for the one before. The floor is the sum,
//! `bytes / bandwidth + misses * 80 ns`; a time is quoted with its multiple of it, which says
//! what is left to gain better than a comparison with last month does.

use std::time::Duration;

use crate::machine::{MISS, Machine};

/// What a query must at least do.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Floor {
    /// Bytes of the store that its answer depends on, each read once.
    pub touched_bytes: u64,
    /// Misses of which each needs the result of the one before.
    pub dependent_misses: u64,
}

impl Floor {
    /// The least time on this machine.
    pub fn time(&self, machine: &Machine) -> Duration {
        let streaming = self.touched_bytes as f64 / machine.read_bytes_per_second;
        let waiting = self.dependent_misses as f64 * MISS.as_secs_f64();
        // Not representable is beyond 500 billion years: as good as never.
        Duration::try_from_secs_f64(streaming + waiting).unwrap_or(Duration::MAX)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_floor_is_bytes_and_misses() {
        let machine = Machine {
            threads: 1,
            read_bytes_per_second: 10e9,
        };
        let floor = |touched_bytes, dependent_misses| {
            let floor = Floor {
                touched_bytes,
                dependent_misses,
            };
            floor.time(&machine)
        };
        assert_eq!(floor(0, 0), Duration::ZERO);
        assert_eq!(floor(10_000_000, 0), Duration::from_millis(1));
        assert_eq!(floor(0, 3), Duration::from_nanos(240));
        assert_eq!(floor(10_000_000, 1000), Duration::from_micros(1080));
    }

    #[test]
    fn no_bandwidth_is_no_panic() {
        let machine = Machine {
            threads: 1,
            read_bytes_per_second: 0.0,
        };
        let floor = Floor {
            touched_bytes: 1,
            dependent_misses: 0,
        };
        assert_eq!(floor.time(&machine), Duration::MAX);
    }
}
