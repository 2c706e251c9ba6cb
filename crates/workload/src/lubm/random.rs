//! The random numbers of the generator: a 48-bit linear congruential generator.
//!
//! It is the one of `java.util.Random`, of which the original generator uses the bounded
//! integers and nothing else; so this file has those and nothing else. Whatever consumes a
//! draw in the original has to consume one here, also where only one outcome is possible
//! (`below(1)`), because one university is one stream of draws from its first to its last
//! department.
//!
//! Cost: one 64-bit multiplication, and for a bound that is no power of two a 32-bit division.
//! With bound `n` a draw is repeated with a probability below `n / 2^31`.

use super::parameters::UniversityIndex;

const MULTIPLIER: u64 = 0x5_DEEC_E66D;
const INCREMENT: u64 = 0xB;
const STATE_BITS: u32 = 48;
const STATE_MASK: u64 = (1 << STATE_BITS) - 1;
/// Only the upper 31 bits of the state are ever handed out.
const OUTPUT_BITS: u32 = 31;

/// A stream of random numbers below a bound.
#[derive(Clone, Debug)]
pub struct Random {
    state: u64,
}

impl Random {
    /// The stream of a 64-bit seed.
    pub fn new(seed: i64) -> Self {
        Self {
            state: (seed.cast_unsigned() ^ MULTIPLIER) & STATE_MASK,
        }
    }

    /// The stream of one university. The factor is *minus* 2^31, an overflow in the original
    /// that its data depend on. It follows that only the lower 17 bits of `seed` matter.
    pub(super) fn of_university(seed: i32, university: UniversityIndex) -> Self {
        Self::new(i64::from(seed) * -(1 << OUTPUT_BITS) + i64::from(university.0))
    }

    /// A number below `bound`, uniformly. Consumes at least one draw, also for `bound` 1.
    ///
    /// `bound` is from 1 to 2^31 - 1 (asserted: it never comes from outside).
    #[inline]
    pub fn below(&mut self, bound: u32) -> u32 {
        assert!(
            (1..1 << OUTPUT_BITS).contains(&bound),
            "bound {bound} has no draw"
        );
        if bound.is_power_of_two() {
            return ((u64::from(bound) * u64::from(self.draw())) >> OUTPUT_BITS) as u32;
        }
        loop {
            let drawn = self.draw();
            let remainder = drawn % bound;
            // The last, incomplete run of `bound` numbers is thrown away: it would favour the
            // small remainders. No overflow: both sides are below 2^31.
            if drawn - remainder + (bound - 1) < 1 << OUTPUT_BITS {
                return remainder;
            }
        }
    }

    /// A number from `range`, both ends included.
    #[inline]
    pub(super) fn within(&mut self, range: Range) -> u32 {
        range.least + self.below(range.most - range.least + 1)
    }

    #[inline]
    fn draw(&mut self) -> u32 {
        self.state = self.state.wrapping_mul(MULTIPLIER).wrapping_add(INCREMENT) & STATE_MASK;
        (self.state >> (STATE_BITS - OUTPUT_BITS)) as u32
    }
}

/// A range of numbers with both ends included, as the benchmark states its sizes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Range {
    pub(super) least: u32,
    pub(super) most: u32,
}

/// Draws `count` of the numbers `0..total` without replacement, in the order drawn.
///
/// The original removes the drawn position from a list and closes the gap. The list starts in
/// ascending order and so stays: position `p` of what is left is the `p`-th smallest number
/// not drawn yet. Hence no list is kept, only the numbers drawn, sorted: a position moves up
/// by one for each of them at or below it. `count` squared steps; `count` is 2 to 5 for a
/// student, up to some 90 once a department.
pub(super) fn sample(random: &mut Random, count: u32, total: u32, drawn: &mut Sample) {
    drawn.ordered.clear();
    drawn.sorted.clear();
    for taken in 0..count {
        let mut number = random.below(total - taken);
        let mut rank = 0;
        while rank < drawn.sorted.len() && drawn.sorted[rank] <= number {
            number += 1;
            rank += 1;
        }
        drawn.sorted.insert(rank, number);
        drawn.ordered.push(number);
    }
}

/// Room for [`sample`]; what was drawn is in `ordered`.
#[derive(Debug, Default)]
pub(super) struct Sample {
    pub(super) ordered: Vec<u32>,
    sorted: Vec<u32>,
}

#[cfg(test)]
mod tests {
    use super::*;

    const BOUNDS: [u32; 14] = [
        11,
        4,
        5,
        4,
        3,
        1000,
        64,
        1,
        30,
        1000,
        1_073_741_825,
        1_073_741_825,
        1_073_741_825,
        1_073_741_824,
    ];

    fn check(seed: i64, expected: [u32; 14]) {
        let mut random = Random::new(seed);
        assert_eq!(
            BOUNDS.map(|bound| random.below(bound)),
            expected,
            "seed {seed}"
        );
    }

    #[test]
    fn draws_are_those_of_a_java_virtual_machine() {
        let [a, b, c] = [715_581_077, 542_832_677, 827_187_473];
        check(0, [0, 3, 4, 2, 2, 53, 35, 0, 9, 854, a, b, c, 658_242_131]);
        let [a, b, c] = [13_136_569, 327_998_473, 342_691_263];
        check(
            1,
            [4, 0, 2, 1, 2, 904, 21, 0, 28, 748, a, b, c, 1_009_172_781],
        );
        let [a, b, c] = [402_052_162, 995_873_861, 239_718_613];
        check(
            -15_032_385_533,
            [0, 0, 0, 0, 0, 610, 56, 0, 9, 273, a, b, c, 323_746_803],
        );
        let [a, b, c] = [321_097_294, 492_439_418, 1_025_540_726];
        check(
            10_737_418_242,
            [3, 1, 3, 2, 0, 30, 21, 0, 11, 924, a, b, c, 155_667_465],
        );
    }

    #[test]
    fn a_university_seed_overflows_as_the_original_does() {
        for (seed, university, expected) in [(7, 3, -15_032_385_533), (-5, 2, 10_737_418_242)] {
            let university = UniversityIndex(university);
            assert_eq!(
                Random::of_university(seed, university).state,
                Random::new(expected).state
            );
        }
        let low_bits_only =
            [7, 131_079].map(|seed| Random::of_university(seed, UniversityIndex(3)).state);
        assert_eq!(low_bits_only[0], low_bits_only[1]);
    }

    #[test]
    fn sampling_equals_removal_from_a_list() {
        for seed in 0..200 {
            let (mut ours, mut theirs) = (Random::new(seed), Random::new(seed));
            let total = 1 + theirs.below(80);
            let count = theirs.below(total + 1);
            ours.clone_from(&theirs);
            let mut list: Vec<u32> = (0..total).collect();
            let expected: Vec<u32> = (0..count)
                .map(|_| list.remove(theirs.below(list.len() as u32) as usize))
                .collect();
            let mut drawn = Sample::default();
            sample(&mut ours, count, total, &mut drawn);
            assert_eq!(drawn.ordered, expected, "seed {seed}");
            assert_eq!(ours.state, theirs.state, "seed {seed}");
        }
    }
}
