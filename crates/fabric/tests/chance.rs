//! Which seeds a test runs, and the numbers of a seed.
//!
//! The variables are those of all tests of the workspace (`testkit::seeds`). They are read here once more, and the numbers are
//! drawn here, so that this crate, which knows no graphs, is tested without building what knows them.

use std::env;
use std::ops::Range;

use rand_xoshiro::SplitMix64;
use rand_xoshiro::rand_core::{Rng, SeedableRng};

/// The seeds from zero to the ordinary or, with `SOMERSAULT_LONG=1`, the long number; or those that `SOMERSAULT_SEED` replays,
/// as `N` or `N..M`.
pub fn seeds(ordinary: u64, long: u64) -> Range<u64> {
    if let Ok(text) = env::var("SOMERSAULT_SEED") {
        let (from, until) = match text.split_once("..") {
            Some((from, until)) => (from.parse(), until.parse()),
            None => (text.parse(), text.parse().map(|seed: u64| seed + 1)),
        };
        let (Ok(from), Ok(until)) = (from, until) else {
            panic!("SOMERSAULT_SEED is a number, or two with `..` between");
        };
        assert!(from < until, "no seed is replayed");
        return from..until;
    }
    let is_long = env::var("SOMERSAULT_LONG").is_ok_and(|value| value == "1");
    0..if is_long { long } else { ordinary }
}

/// Numbers of a seed.
pub struct Random(SplitMix64);

impl Random {
    pub fn new(seed: u64) -> Random {
        Random(SplitMix64::seed_from_u64(seed))
    }

    /// A number below `bound`, which is not zero.
    pub fn below(&mut self, bound: usize) -> usize {
        (self.0.next_u64() % bound as u64) as usize
    }

    /// True in `percent` of a hundred cases.
    pub fn chance(&mut self, percent: usize) -> bool {
        self.below(100) < percent
    }
}
