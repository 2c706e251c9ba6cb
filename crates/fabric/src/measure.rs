//! How long a message takes, measured when a link has come up.
//!
//! Some small probes one after another, then some of [`LARGE_BYTES`]; each is echoed small. The median of the small ones is the
//! round trip, what the median of the large ones takes more is by length. What else is under way then makes the figures
//! larger, as it does later. Cost: 20 frames and 256 KiB a link.

use std::time::Duration;

const SMALL_PROBES: usize = 16;
const LARGE_PROBES: usize = 4;
const LARGE_BYTES: usize = 64 << 10;

/// What was measured of one link so far.
#[derive(Debug)]
pub(crate) struct Measure {
    large_bytes: usize,
    small_ns: Vec<u64>,
    large_ns: Vec<u64>,
}

impl Measure {
    /// Nothing yet, by probes that such a limit lets through.
    pub(crate) fn new(message_bytes_max: usize) -> Measure {
        Measure {
            large_bytes: LARGE_BYTES.min(message_bytes_max),
            small_ns: Vec::new(),
            large_ns: Vec::new(),
        }
    }

    /// How many bytes the next probe has; `None` where all are back.
    pub(crate) fn next_bytes(&self) -> Option<usize> {
        if self.small_ns.len() < SMALL_PROBES {
            Some(0)
        } else if self.large_ns.len() < LARGE_PROBES {
            Some(self.large_bytes)
        } else {
            None
        }
    }

    /// A probe was echoed after so long.
    pub(crate) fn echoed(&mut self, after: Duration) {
        let into = if self.small_ns.len() < SMALL_PROBES {
            &mut self.small_ns
        } else {
            &mut self.large_ns
        };
        into.push(after.as_nanos() as u64);
    }

    /// Round trip (ns) and time by length (ns a KiB), once all is measured.
    pub(crate) fn figures(&self) -> Option<(u64, u64)> {
        if self.next_bytes().is_some() {
            return None;
        }
        let round_trip_ns = median(&self.small_ns)?;
        let more_ns = median(&self.large_ns)?.saturating_sub(round_trip_ns);
        Some((
            round_trip_ns,
            more_ns * 1024 / (self.large_bytes as u64).max(1),
        ))
    }
}

/// The number in the middle.
pub(crate) fn median(numbers: &[u64]) -> Option<u64> {
    let mut sorted = numbers.to_vec();
    sorted.sort_unstable();
    sorted.get(sorted.len() / 2).copied()
}
