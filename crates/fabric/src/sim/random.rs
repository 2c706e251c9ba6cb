//! The one source of chance of a simulation.
//!
//! SplitMix64, by its name, because a seed that a failing test prints must replay in every release.

use std::time::Duration;

use rand_xoshiro::SplitMix64;
use rand_xoshiro::rand_core::{Rng, SeedableRng};

/// Numbers of a seed.
#[derive(Clone, Debug)]
pub(crate) struct Random {
    numbers: SplitMix64,
}

impl Random {
    pub(crate) fn new(seed: u64) -> Random {
        let numbers = SplitMix64::seed_from_u64(seed);
        Random { numbers }
    }

    /// The next 64 bits.
    pub(crate) fn bits(&mut self) -> u64 {
        self.numbers.next_u64()
    }

    /// A number below `bound`, which is not zero.
    pub(crate) fn below(&mut self, bound: u64) -> u64 {
        assert!(bound > 0, "no number is below zero");
        self.bits() % bound
    }

    /// True in so many of a thousand cases.
    pub(crate) fn chance(&mut self, per_mille: u16) -> bool {
        self.below(1000) < u64::from(per_mille)
    }

    /// A time from `least` to `greatest`.
    pub(crate) fn time(&mut self, least: Duration, greatest: Duration) -> Duration {
        let range = greatest.saturating_sub(least).as_nanos() as u64;
        least + Duration::from_nanos(self.below(range + 1))
    }
}
