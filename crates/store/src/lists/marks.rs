//! The members of one list as bits, for lists that row after row is met with others.
//!
//! ```text
//!  ?a knows ?b, ?c: b1 b2 b3 ...    rows of one ?a follow each other, so its list is marked once,
//!  bits of a's list  0110010...     and each ?b's list is read past the bits: 0.7 ns a member
//! ```
//!
//! A merge of two lists waits for each comparison before it can make the next, and a search for each
//! member of the shorter list costs a few mispredicted branches; a look at a bit waits for nothing. So
//! reading all of a list that is some times longer is still cheaper than either.
//!
//! [`WORDS`] words, 32 KiB: half of them fit the first cache beside what is read. A list that spans no
//! more ids than there are bits is answered by them alone; of a wider one they are a filter (ids are
//! folded), and what passes is searched for in the list.

use super::coded::CodedRows;
use rdf::VertexId;

const WORDS: usize = 1 << 12;
const BITS: u64 = WORDS as u64 * 64;
const _: () = assert!(
    WORDS.is_power_of_two() && WORDS <= 1 << u16::BITS,
    "the numbers of words that are not 0 are `u16`"
);

/// A list as bits; begin with the default, which is no list's.
#[derive(Clone, Debug, Default)]
pub(super) struct Marks {
    /// Empty until the first list is marked.
    words: Vec<u64>,
    /// The words that are not 0.
    touched: Vec<u16>,
    /// The first member.
    first: u64,
    /// The distance of the last from it.
    span: u64,
}

impl Marks {
    /// Bytes held.
    pub(super) fn bytes(&self) -> usize {
        self.words.capacity() * size_of::<u64>() + self.touched.capacity() * size_of::<u16>()
    }

    /// Marks the members of a list, which ascend, instead of those of the last one. Not of an empty one.
    pub(super) fn mark(&mut self, list: &CodedRows<'_>) {
        let CodedRows { codes, base, .. } = *list;
        self.words.resize(WORDS, 0);
        for word in self.touched.drain(..) {
            self.words[usize::from(word)] = 0;
        }
        self.first = base.wrapping_add(u64::from(codes[0]));
        self.span = u64::from(codes[codes.len() - 1] - codes[0]);
        for code in codes {
            let distance = u64::from(code - codes[0]);
            let word = distance / 64 % WORDS as u64;
            self.words[word as usize] |= 1 << (distance % 64);
            if self.touched.last() != Some(&(word as u16)) {
                self.touched.push(word as u16);
            }
        }
    }

    /// Appends the ids of another list that the marked one has too, ascending. `marked` is that list, as
    /// it was marked.
    pub(super) fn common(
        &self,
        marked: &CodedRows<'_>,
        read: &CodedRows<'_>,
        common: &mut Vec<VertexId>,
    ) {
        let words: &[u64; WORDS] = self.words.as_slice().try_into().expect("a list was marked");
        let shift = read.base.wrapping_sub(self.first);
        let is_exact = self.span < BITS;
        for part in read.codes.chunks(64) {
            let mut hits = 0_u64;
            for (place, &code) in part.iter().enumerate() {
                let distance = shift.wrapping_add(u64::from(code));
                let word = words[distance as usize / 64 % WORDS];
                let is_there = word >> (distance % 64) & u64::from(distance <= self.span);
                hits |= (is_there & 1) << place;
            }
            while hits != 0 {
                let id = read.id(part[hits.trailing_zeros() as usize]);
                hits &= hits - 1;
                let code = (id.bits().wrapping_sub(marked.base)) as u32;
                if is_exact || marked.codes.binary_search(&code).is_ok() {
                    common.push(id);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use testkit::random::Random;

    #[test]
    fn common_ids_are_found_within_the_bits_and_beyond_them() {
        let mut numbers = Random::new(11);
        let mut random = move |bound: u64| numbers.bits() % bound;
        let mut marks = Marks::default();
        for round in 0..600 {
            // From within the bits to many times as wide, and up to the last code that there is.
            let step = [3, 40, 4_000, 4_000_000][round % 4];
            let mut list = |length: usize| {
                let mut codes = vec![random(100) as u32];
                while codes.len() < length {
                    let next = u64::from(codes[codes.len() - 1]) + 1 + random(step);
                    codes.push(u32::try_from(next).unwrap_or(u32::MAX));
                }
                if round % 7 == 0 {
                    codes.push(u32::MAX);
                }
                codes.dedup();
                codes
            };
            let (marked, codes) = (list(1 + round % 90), list(1 + round % 200));
            let bases = [1 << 33, (1 << 33) + random(400) - 200];
            let run = |codes, base| CodedRows {
                codes,
                base,
                start: 0,
            };
            let (list, other) = (run(&marked[..], bases[0]), run(&codes[..], bases[1]));
            marks.mark(&list);
            let mut found = Vec::new();
            marks.common(&list, &other, &mut found);
            let members: Vec<u64> = marked
                .iter()
                .map(|&code| bases[0] + u64::from(code))
                .collect();
            let mut expected: Vec<u64> = codes
                .iter()
                .map(|&code| bases[1] + u64::from(code))
                .collect();
            expected.retain(|id| members.contains(id));
            let found: Vec<u64> = found.iter().map(|id| id.bits()).collect();
            assert_eq!(found, expected, "round {round}");
        }
    }
}
