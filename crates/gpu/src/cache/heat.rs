//! How often a segment was looked into of late: lookups of all queries, each of which counts half as much after 32 others.
//!
//! A page that a query reads in place costs it what it reads of it, each time; one that is on the device has cost its length,
//! once. So what is worth a place follows from what all queries read of a page together, and what was read long ago says nothing of
//! what will be. (Counted for ever, three queries in turns whose data had half of the room moved 566 MiB a turn, on an H100: each
//! turn made everybody's pages worth more, and whoever was to run next took them from the one before.)

/// Queries after which a lookup counts half.
const HALF_LIFE: f64 = 32.0;

/// See the head of this file.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Heat {
    /// Lookups, as they counted at `at`.
    lookups: f64,
    /// The number of the query that looked last.
    at: u64,
    /// Lookups of a query that comes now.
    expected: f64,
}

impl Heat {
    /// A query is about to look into it so often.
    pub(crate) fn expect(&mut self, lookups: f64) {
        self.expected = lookups;
    }

    /// The query with this number looks into it as often as was said last.
    pub(crate) fn again(&mut self, now: u64) {
        self.lookups = self.lookups(now) + self.expected;
        self.at = now;
    }

    /// Lookups, as they count for the query with this number.
    pub(crate) fn lookups(&self, now: u64) -> f64 {
        let since = now.saturating_sub(self.at) as f64;
        self.lookups * (-since / HALF_LIFE).exp2()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lookup_counts_half_after_so_many_queries_and_is_never_forgotten_by_its_own() {
        let mut heat = Heat::default();
        heat.expect(100.0);
        heat.again(1);
        assert!((heat.lookups(1) - 100.0).abs() < 1e-9);
        assert!((heat.lookups(33) - 50.0).abs() < 1e-9);
        heat.again(33);
        assert!((heat.lookups(33) - 150.0).abs() < 1e-9);
        // Who asks with an older number is not told more than there was.
        assert!((heat.lookups(20) - 150.0).abs() < 1e-9);
    }
}
