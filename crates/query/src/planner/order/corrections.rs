//! What samples found of some subsets, and what follows from it for the others.
//!
//! Each subset has a factor: its rows are what statistics say, times that. Where a sample was walked the
//! factor makes the rows those that were found. For any other subset S, with R the subset of one pattern
//! p less of which most was walked,
//!
//! ```text
//!   factor(S)  =  factor(R)  *  the factor, farthest from 1, that p has after some r of R
//! ```
//!
//! What p has after r is the factor of the pair where that was walked; else what p had after any walk with r
//! in it, if the two are linked.
//!
//! So what was found of a pair holds wherever the pair stands, once for each pattern: for chains that is
//! what Markov tables assume (Aboulnaga, Alameldeen and Naughton, "Estimating the selectivity of XML path
//! expressions", VLDB'01), and for cycles it does not count one dependence several times.
//!
//! O(subsets * patterns) for all subsets together.

use std::collections::HashMap;

/// No estimate is corrected by more, so that products of factors stay numbers.
const FACTOR_MAX: f64 = 1e12;

/// Factors by subset; see the module's documentation.
#[derive(Clone, Debug, Default)]
pub(super) struct Corrections {
    /// By subset what was found; empty before anything was.
    found: Vec<Option<f64>>,
    /// By pair, for pairs not walked alone: what the one had after a walk with the other.
    after: HashMap<usize, f64>,
    /// By subset.
    factors: Vec<f64>,
}

impl Corrections {
    /// Whether a sample of this subset was walked.
    pub(super) fn is_found(&self, subset: usize) -> bool {
        self.found.get(subset).is_some_and(Option::is_some)
    }

    pub(super) fn factor(&self, subset: usize) -> f64 {
        self.factors.get(subset).copied().unwrap_or(1.0)
    }

    /// Notes that a subset, of so many patterns altogether, has so many times the rows that statistics
    /// say. What follows for others is known after [`Corrections::spread`].
    pub(super) fn note(&mut self, patterns: usize, subset: usize, factor: f64) {
        self.found.resize(1 << patterns, None);
        self.found[subset] = Some(factor.clamp(1.0 / FACTOR_MAX, FACTOR_MAX));
    }

    /// Notes how the factor changed when a pattern was walked after others, to which these are linked.
    pub(super) fn note_after(&mut self, linked: usize, pattern: usize, factor: f64) {
        for bit in bits(linked) {
            let factor = factor.clamp(1.0 / FACTOR_MAX, FACTOR_MAX);
            self.after.insert(bit | pattern, factor);
        }
    }

    /// Forgets everything.
    pub(super) fn clear(&mut self) {
        *self = Corrections::default();
    }

    /// Works the factors of all subsets out.
    pub(super) fn spread(&mut self) {
        if self.found.is_empty() {
            return self.factors.clear();
        }
        let pairs = self.pairs();
        assert!(
            self.found.len().is_power_of_two(),
            "there is one for each set of patterns"
        );
        let mut factors = vec![1.0; self.found.len()];
        // By subset: how many of its patterns were walked together.
        let mut walked = vec![0; self.found.len()];
        for subset in 1..self.found.len() {
            if let Some(found) = self.found[subset] {
                factors[subset] = found;
                walked[subset] = subset.count_ones();
                continue;
            }
            let better = |bit: &usize| {
                let rest = subset & !bit;
                (walked[rest], pairs[place(*bit)].with & rest != 0)
            };
            let Some(last) = bits(subset).max_by_key(better) else {
                continue;
            };
            let rest = subset & !last;
            let more = pairs[place(last)].farthest(rest).or(self.found[last]);
            let factor = factors[rest] * more.unwrap_or(1.0);
            factors[subset] = factor.clamp(1.0 / FACTOR_MAX, FACTOR_MAX);
            walked[subset] = walked[rest];
        }
        self.factors = factors;
    }

    /// By pattern, what it has after each other one.
    fn pairs(&self) -> Vec<Pairs> {
        let patterns = self.found.len().trailing_zeros() as usize;
        let alone = |bit: usize| self.found[bit].unwrap_or(1.0);
        let pairs_of = |pattern: usize| {
            let pattern = 1 << pattern;
            let factor = |other: usize| match self.found[pattern | 1 << other] {
                Some(found) if pattern != 1 << other => Some(found / alone(1 << other)),
                _ => self.after.get(&(pattern | 1 << other)).copied(),
            };
            let factors: Vec<Option<f64>> = (0..patterns).map(factor).collect();
            let known = (0..patterns).filter(|other| factors[*other].is_some());
            Pairs {
                with: known.fold(0, |with, other| with | 1 << other),
                factors,
            }
        };
        (0..patterns).map(pairs_of).collect()
    }
}

/// What one pattern has after others.
struct Pairs {
    /// The others, as bits.
    with: usize,
    factors: Vec<Option<f64>>,
}

impl Pairs {
    /// The factor that is farthest from 1 of those after one of these.
    fn farthest(&self, rest: usize) -> Option<f64> {
        let after = bits(self.with & rest).filter_map(|bit| self.factors[place(bit)]);
        after.max_by(|a, b| a.ln().abs().total_cmp(&b.ln().abs()))
    }
}

/// The number of a pattern.
fn place(bit: usize) -> usize {
    bit.trailing_zeros() as usize
}

/// The subsets of one pattern.
fn bits(subset: usize) -> impl Iterator<Item = usize> {
    (0..usize::BITS)
        .map(|at| 1 << at)
        .take_while(move |bit| *bit <= subset)
        .filter(move |bit| subset & bit != 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn factors<const N: usize>(corrections: &Corrections, subsets: [usize; N]) -> Vec<f64> {
        let subsets = subsets.into_iter();
        subsets.map(|subset| corrections.factor(subset)).collect()
    }

    #[test]
    fn a_pair_holds_wherever_it_stands() {
        let mut corrections = Corrections::default();
        assert_eq!(factors(&corrections, [0b111]), [1.0]);
        corrections.note(4, 0b0011, 10.0);
        corrections.note(4, 0b0110, 0.5);
        corrections.spread();
        let subsets = [0b0001, 0b0011, 0b0111, 0b1111, 0b1100];
        assert_eq!(factors(&corrections, subsets), [1.0, 10.0, 5.0, 5.0, 1.0]);
        assert!(corrections.is_found(0b0011) && !corrections.is_found(0b0111));
    }

    #[test]
    fn what_was_walked_together_counts_more_than_pairs() {
        let mut corrections = Corrections::default();
        for pair in [0b011, 0b110, 0b101] {
            corrections.note(4, pair, 10.0);
        }
        corrections.note(4, 0b111, 20.0);
        corrections.spread();
        assert_eq!(factors(&corrections, [0b111]), [20.0]);
        assert_eq!(factors(&corrections, [0b1111]), [20.0]);
    }

    #[test]
    fn what_followed_one_pattern_is_expected_after_it_elsewhere() {
        let mut corrections = Corrections::default();
        corrections.note(4, 0b0111, 20.0);
        corrections.note_after(0b0010, 0b0100, 20.0);
        corrections.spread();
        assert_eq!(factors(&corrections, [0b1110]), [20.0]);
        assert_eq!(factors(&corrections, [0b1101]), [1.0]);
        corrections.note(4, 0b0110, 2.0);
        corrections.spread();
        assert_eq!(factors(&corrections, [0b1110]), [2.0]);
    }

    #[test]
    fn factors_stay_numbers() {
        let mut corrections = Corrections::default();
        corrections.note(2, 0b11, 0.0);
        corrections.spread();
        assert_eq!(factors(&corrections, [0b11]), [1.0 / FACTOR_MAX]);
    }
}
