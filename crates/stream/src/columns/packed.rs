//! Small numbers, as many bits each as the greatest needs.
//!
//! A column of a sealed batch has some thousand numbers below a few thousand; a machine word for each would be most of what
//! the batch holds. Invariant: a number never lies in more than two words, since none has more than 32 bits.
//!
//! Cost: two reads and two shifts a number; a copy costs nothing.

use std::sync::Arc;

/// Numbers in an order; see the module's documentation.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Packed {
    /// Bits of each; 0 where all are 0.
    bits: u8,
    count: u32,
    /// Shared by copies, as an image of a stream is one.
    words: Arc<[u64]>,
}

impl Packed {
    /// These numbers.
    pub(super) fn of(numbers: &[u32]) -> Packed {
        let most = numbers.iter().max().copied().unwrap_or(0);
        let bits = u32::BITS - most.leading_zeros();
        let words = (numbers.len() * bits as usize).div_ceil(u64::BITS as usize);
        let mut packed = vec![0_u64; words];
        let mut at = 0;
        for &number in numbers {
            let (word, shift) = (at / 64, at % 64);
            if bits > 0 {
                packed[word] |= u64::from(number) << shift;
                if shift + bits as usize > 64 {
                    packed[word + 1] |= u64::from(number) >> (64 - shift);
                }
            }
            at += bits as usize;
        }
        Packed {
            bits: bits as u8,
            count: u32::try_from(numbers.len()).expect("a column has fewer than 2^32 numbers"),
            words: packed.into(),
        }
    }

    /// How many.
    pub(super) fn len(&self) -> usize {
        self.count as usize
    }

    /// The number at a place. Asserts that there is one.
    #[inline]
    pub(super) fn get(&self, place: usize) -> u32 {
        assert!(place < self.len(), "a column ends where its items do");
        if self.bits == 0 {
            return 0;
        }
        let bits = usize::from(self.bits);
        let (word, shift) = (place * bits / 64, place * bits % 64);
        let mut number = self.words[word] >> shift;
        if shift + bits > 64 {
            number |= self.words[word + 1] << (64 - shift);
        }
        (number & ((1 << bits) - 1)) as u32
    }

    /// The numbers of some places.
    pub(super) fn range(&self, places: std::ops::Range<usize>) -> impl Iterator<Item = u32> {
        places.map(|place| self.get(place))
    }

    /// All of them.
    pub(super) fn iter(&self) -> impl Iterator<Item = u32> {
        self.range(0..self.len())
    }

    /// How many are before the first that is not below `number`. They must ascend.
    pub(super) fn below(&self, number: u32) -> usize {
        let (mut low, mut high) = (0, self.len());
        while low < high {
            let middle = low + (high - low) / 2;
            if self.get(middle) < number {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        low
    }

    /// Memory behind it (bytes).
    pub(super) fn bytes(&self) -> u64 {
        size_of_val(&self.words[..]) as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use testkit::random::Random;

    #[test]
    fn numbers_of_all_widths_come_back() {
        let mut random = Random::new(7);
        for bits in 0..=32_u32 {
            let below = 1_u64 << bits;
            let numbers: Vec<u32> = (0..random.below(200))
                .map(|_| (random.bits() % below) as u32)
                .collect();
            let packed = Packed::of(&numbers);
            assert_eq!(packed.iter().collect::<Vec<_>>(), numbers);
            let words = (numbers.len() * bits as usize).div_ceil(64);
            assert!(packed.bytes() <= 8 * words as u64, "{bits} bits");
        }
    }

    #[test]
    fn a_place_is_found_among_ascending_numbers() {
        let packed = Packed::of(&[1, 4, 4, 9]);
        let found = [0, 1, 2, 4, 5, 9, 10].map(|number| packed.below(number));
        assert_eq!(found, [0, 0, 1, 1, 3, 3, 4]);
    }
}
