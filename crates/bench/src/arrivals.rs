//! When queries arrive that do not wait for each other: a Poisson process at a given rate.
//!
//! A client that waits for its answer asks less often while the engine stalls, and so measures a
//! stall once where many would have met it (coordinated omission). Here the moments are drawn
//! beforehand and independently of what the engine does; whoever asks late counts from them.
//!
//! Gaps are exponential, by inversion: `-ln(u) / rate`. The same seed gives the same moments.

use rand_xoshiro::SplitMix64;
use rand_xoshiro::rand_core::{Rng, SeedableRng};
use std::time::Duration;

/// An endless sequence of moments, counted from the beginning of the run.
#[derive(Clone, Debug)]
pub struct Arrivals {
    per_second: f64,
    seconds: f64,
    numbers: SplitMix64,
}

impl Arrivals {
    /// On average so many a second, which is above 0.
    pub fn new(per_second: f64, seed: u64) -> Self {
        assert!(per_second > 0.0, "a rate is above 0");
        Self {
            per_second,
            seconds: 0.0,
            numbers: SplitMix64::seed_from_u64(seed),
        }
    }

    /// A number above 0 and at most 1 (the upper 53 bits of a random one).
    fn uniform(&mut self) -> f64 {
        let bits = self.numbers.next_u64() >> 11;
        (bits + 1) as f64 / (1_u64 << 53) as f64
    }
}

impl Iterator for Arrivals {
    type Item = Duration;

    fn next(&mut self) -> Option<Duration> {
        self.seconds -= self.uniform().ln() / self.per_second;
        Duration::try_from_secs_f64(self.seconds).ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arrivals_have_their_rate_and_seed() {
        let moments = |seed| -> Vec<_> { Arrivals::new(1000.0, seed).take(10_000).collect() };
        let found = moments(3);
        assert!(found.is_sorted());
        assert_eq!(found, moments(3));
        assert_ne!(found, moments(4));
        let last = found[9999].as_secs_f64();
        // Ten seconds are expected; five standard deviations are half a second.
        assert!((last - 10.0).abs() < 0.5, "{last}");
        let short = found
            .windows(2)
            .filter(|pair| pair[1] < pair[0] + Duration::from_millis(1))
            .count();
        // A share of 1 - 1/e of the gaps is shorter than their mean.
        assert!((short as f64 / 10_000.0 - 0.632).abs() < 0.03, "{short}");
    }
}
