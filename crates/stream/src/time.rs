//! Application time, and how far a stream is sealed in it.
//!
//! A stream of grain `g` is cut into batches; batch `b` holds the items of `[b*g, (b+1)*g)`. Its *edge*, the items at
//! exactly `b*g`, can be sealed before the rest. So a stream is sealed up to one of two kinds of places, which a
//! [`SealPoint`] tells apart and orders as time does:
//!
//! ```text
//!  batches: 0           1           2           batches: 2, edge      batches: 3
//!  |  batch 0  |  batch 1  |E|     batch 2     |
//!                          ^ ^ covered: 2g + 1
//!                          covered: 2g
//! ```
//!
//! Invariant: all items before [`SealPoint::covered`] are decided, and none at or after it are. So whether a window is
//! covered is one comparison of times, for both kinds of bounds.

use std::fmt;

/// A moment of application time: whole milliseconds since the epoch.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Time(pub u64);

impl Time {
    /// The latest moment.
    pub const MAX: Time = Time(u64::MAX);

    /// So many milliseconds later; never past [`Time::MAX`].
    #[must_use]
    pub const fn later(self, by_ms: u64) -> Time {
        Time(self.0.saturating_add(by_ms))
    }

    /// So many milliseconds earlier; never before the epoch.
    #[must_use]
    pub const fn earlier(self, by_ms: u64) -> Time {
        Time(self.0.saturating_sub(by_ms))
    }
}

impl fmt::Display for Time {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ms", self.0)
    }
}

/// How far a stream is sealed; see the head of this file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SealPoint {
    /// How many batches are sealed: all with a number below this.
    pub batches: u64,
    /// Whether the edge of the next batch is sealed, too.
    pub edge: bool,
}

impl SealPoint {
    /// The end of so many whole batches.
    pub const fn whole(batches: u64) -> SealPoint {
        SealPoint {
            batches,
            edge: false,
        }
    }

    /// The last place that a stream of this grain can be sealed up to when all items before `settled` are decided.
    /// With `edges` that may be within a batch.
    pub(crate) const fn before(settled: Time, grain_ms: u64, edges: bool) -> SealPoint {
        SealPoint {
            batches: settled.0 / grain_ms,
            edge: edges && !settled.0.is_multiple_of(grain_ms),
        }
    }

    /// All items before this moment are decided.
    pub const fn covered(self, grain_ms: u64) -> Time {
        Time(self.batches.saturating_mul(grain_ms)).later(self.edge as u64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn points_are_ordered_as_the_times_that_they_cover() {
        let mut points = Vec::new();
        for batches in 0..4 {
            for edge in [false, true] {
                points.push(SealPoint { batches, edge });
            }
        }
        assert!(points.is_sorted());
        assert!(points.is_sorted_by_key(|point| point.covered(100)));
        assert_eq!(points[5].covered(100), Time(201));
    }

    #[test]
    fn an_edge_is_sealed_one_millisecond_into_its_batch() {
        let point = |settled, edges| SealPoint::before(Time(settled), 100, edges);
        assert_eq!(point(200, true), SealPoint::whole(2));
        assert_eq!(point(201, true).covered(100), Time(201));
        assert_eq!(point(299, true).covered(100), Time(201));
        assert_eq!(point(299, false), SealPoint::whole(2));
        assert_eq!(point(300, true), SealPoint::whole(3));
        assert_eq!(SealPoint::before(Time(7), 1, true), SealPoint::whole(7));
    }
}
