//! Sorting fixed-size records by all their words: least significant digit first, skipping bits
//! that are the same in every record.
//!
//! One pass finds the bits that vary, one counts every digit, and one per digit moves the records.
//! Ids are dense, so of a record's 64 to 256 bits about 20 to 25 vary per column: LUBM's largest
//! predicate needs five passes of 11 bits. At 11 bits the 2,048 write positions of a pass still sit
//! in the second-level cache.
//!
//! Cost: O(passes x records); needs a second buffer of the same length. Short inputs are left to the
//! standard library.

use bytemuck::Pod;

/// Bits sorted by one pass.
const DIGIT_BITS: u32 = 11;
const DIGIT_VALUES: usize = 1 << DIGIT_BITS;
/// Below this, counting digits costs more than comparing.
const COMPARED_BELOW: usize = 1 << 12;
/// Records in which more digits than this vary (hashes) are compared as well.
const DIGITS_MAX: usize = 9;

/// A record of some 64-bit words, ordered by them from the first to the last.
pub trait SortRecord: Pod + Ord + Send + Sync {
    /// How many words.
    const WORDS: usize;
    /// The word at `index`.
    fn word(&self, index: usize) -> u64;
}

impl<const N: usize> SortRecord for [u64; N]
where
    [u64; N]: Pod,
{
    const WORDS: usize = N;

    #[inline]
    fn word(&self, index: usize) -> u64 {
        self[index]
    }
}

/// Some consecutive bits of one word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Digit {
    word: usize,
    shift: u32,
}

impl Digit {
    #[inline]
    fn of<R: SortRecord>(self, record: &R) -> usize {
        (record.word(self.word) >> self.shift) as usize & (DIGIT_VALUES - 1)
    }
}

/// Sorts `records` ascending; `scratch` is overwritten and only its capacity matters.
pub fn sort<R: SortRecord>(records: &mut Vec<R>, scratch: &mut Vec<R>) {
    if records.len() < COMPARED_BELOW {
        records.sort_unstable();
        return;
    }
    let digits = varying_digits(records);
    if digits.len() > DIGITS_MAX {
        records.sort_unstable();
        return;
    }
    let mut counts = count(records, &digits);
    scratch.clear();
    scratch.resize(records.len(), R::zeroed());
    for (digit, counts) in digits.iter().zip(counts.chunks_exact_mut(DIGIT_VALUES)) {
        if counts.contains(&records.len()) {
            continue;
        }
        move_by(*digit, records, scratch, counts);
        std::mem::swap(records, scratch);
    }
    assert!(
        ascends_at_borders(records),
        "records are sorted by all bits that vary"
    );
}

/// Whether records ascend across the border of every [`COMPARED_BELOW`] of them: a look at one in so many.
fn ascends_at_borders<R: SortRecord>(records: &[R]) -> bool {
    let mut borders = (COMPARED_BELOW..records.len()).step_by(COMPARED_BELOW);
    borders.all(|border| records[border - 1] <= records[border])
}

/// The digits that cover all bits in which any two records differ, least significant first.
fn varying_digits<R: SortRecord>(records: &[R]) -> Vec<Digit> {
    let mut digits = Vec::new();
    for word in (0..R::WORDS).rev() {
        let (all, any) = records.iter().fold((u64::MAX, 0), |(all, any), record| {
            (all & record.word(word), any | record.word(word))
        });
        let mut varying = all ^ any;
        while varying != 0 {
            let shift = varying.trailing_zeros();
            digits.push(Digit { word, shift });
            let covered = (DIGIT_VALUES as u64 - 1) << shift;
            varying &= !covered;
        }
    }
    digits
}

/// How often each value of each digit occurs, digit after digit.
fn count<R: SortRecord>(records: &[R], digits: &[Digit]) -> Vec<usize> {
    let mut counts = vec![0; digits.len() * DIGIT_VALUES];
    for record in records {
        for (digit, counts) in digits.iter().zip(counts.chunks_exact_mut(DIGIT_VALUES)) {
            counts[digit.of(record)] += 1;
        }
    }
    counts
}

/// Moves the records to `target` in stable order of one digit; `counts` becomes positions.
fn move_by<R: SortRecord>(digit: Digit, records: &[R], target: &mut [R], counts: &mut [usize]) {
    let mut position = 0;
    for count in counts.iter_mut() {
        position += std::mem::replace(count, position);
    }
    assert_eq!(position, records.len(), "each record was counted once");
    for record in records {
        let place = &mut counts[digit.of(record)];
        target[*place] = *record;
        *place += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn check<R: SortRecord + std::fmt::Debug>(mut records: Vec<R>) {
        let mut expected = records.clone();
        expected.sort_unstable();
        sort(&mut records, &mut Vec::new());
        assert_eq!(records, expected);
    }

    /// Many records from a seed, with few or many varying bits.
    fn numbers(seed: u64, len: usize, mask: u64) -> impl Iterator<Item = u64> {
        (0..len as u64).map(move |i| {
            (i ^ seed)
                .wrapping_mul(0x9E37_79B9_7F4A_7C15)
                .rotate_left(29)
                & mask
        })
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(24))]
        #[test]
        fn sorts_as_the_standard_library(seed: u64, mask: u64, high: u64, len in 0..20_000_usize) {
            check(numbers(seed, len, mask).map(|word| [word]).collect());
            check(numbers(seed, len, mask).map(|word| [high, word & 0xF00, word]).collect());
        }
    }

    #[test]
    fn all_equal_and_already_sorted() {
        check(vec![[7_u64, 7]; 10_000]);
        check((0..10_000_u64).map(|i| [i, u64::MAX - i]).collect());
    }
}
