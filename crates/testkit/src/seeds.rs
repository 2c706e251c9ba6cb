//! Which seeds a test of random cases runs: an ordinary sample, the long run, or one replayed.
//!
//! Read once, at the edge of a test. `SOMERSAULT_SEED=N` runs the cases of that seed only, which
//! a failing test prints; `SOMERSAULT_LONG=1` runs the full number.

use std::env;
use std::ops::Range;

/// The variable that replays a seed.
pub const SEED_VARIABLE: &str = "SOMERSAULT_SEED";

/// The variable that asks for the long run.
pub const LONG_VARIABLE: &str = "SOMERSAULT_LONG";

/// Whether the long run is asked for.
pub fn is_long() -> bool {
    env::var(LONG_VARIABLE).is_ok_and(|value| value == "1")
}

/// The seeds from zero to the ordinary or the long number, or the one that is to be replayed.
/// Panics where the variable is no number: a replay of anything else would be a lie.
pub fn chosen(ordinary: u64, long: u64) -> Range<u64> {
    if let Ok(text) = env::var(SEED_VARIABLE) {
        let seed: u64 = text.parse().expect("SOMERSAULT_SEED is a number");
        return seed..seed + 1;
    }
    0..if is_long() { long } else { ordinary }
}
