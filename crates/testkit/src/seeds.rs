//! Which seeds a test of random cases runs: an ordinary sample, the long run, or one replayed.
//!
//! Read once, at the edge of a test. `SOMERSAULT_SEED=N` runs the cases of that seed only, which
//! a failing test prints; `SOMERSAULT_SEED=N..M` those from `N` up to `M`, without `M`, so that a long run can be had
//! in parts; `SOMERSAULT_LONG=1` runs the full number.

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

/// The seeds from zero to the ordinary or the long number, or those that are to be replayed.
/// Panics where the variable is no number and no range: a replay of anything else would be a lie.
pub fn chosen(ordinary: u64, long: u64) -> Range<u64> {
    if let Ok(text) = env::var(SEED_VARIABLE) {
        let range = replayed(&text);
        return range.expect("SOMERSAULT_SEED is a number, or two with `..` between");
    }
    0..if is_long() { long } else { ordinary }
}

/// The seeds that a text names: one, or a range that is not empty.
fn replayed(text: &str) -> Option<Range<u64>> {
    let range = if let Some((from, until)) = text.split_once("..") {
        from.parse().ok()?..until.parse().ok()?
    } else {
        let seed: u64 = text.parse().ok()?;
        seed..seed.checked_add(1)?
    };
    (!range.is_empty()).then_some(range)
}

#[cfg(test)]
mod tests {
    use super::replayed;

    #[test]
    fn a_seed_or_a_range_is_replayed() {
        assert_eq!(replayed("7"), Some(7..8));
        assert_eq!(replayed("1000..2000"), Some(1000..2000));
        for text in ["", "x", "1..", "..2", "3..3", "4..3", "1..2..3", "-1"] {
            assert_eq!(replayed(text), None, "{text}");
        }
    }
}
