//! Two ways of doing the same, measured in turns: the ratios of interleaved pairs.
//!
//! On a shared machine a time is a statement about its other users, too, and they change from minute to minute. Two
//! times of one pair lie a moment apart, so their ratio is about the two ways. The median of many ratios has an
//! interval of confidence that assumes nothing of how the ratios are distributed: by order statistics.

use std::time::Duration;

/// Half the width of the interval that holds the median in 95 of 100 cases, in shares of the pairs and times the square
/// root of their number: a binomial's standard deviation is 0.5, and 1.96 of them are 95 %.
const HALF: f64 = 0.98;

/// Ratios of pairs: how many times the second time of a pair its first one is.
#[derive(Clone, Debug, Default)]
pub struct Ratios {
    /// Ascending.
    ratios: Vec<f64>,
}

impl Ratios {
    /// None yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a pair. A pair whose second time was too short for the clock says nothing and is passed over.
    pub fn record(&mut self, one: Duration, other: Duration) {
        if other.is_zero() {
            return;
        }
        let ratio = one.as_secs_f64() / other.as_secs_f64();
        let place = self.ratios.partition_point(|known| *known < ratio);
        self.ratios.insert(place, ratio);
    }

    /// How many pairs there are.
    pub fn pairs(&self) -> u64 {
        self.ratios.len() as u64
    }

    /// The median; none without a pair.
    pub fn median(&self) -> Option<f64> {
        self.at(0.5)
    }

    /// Below the first is a quarter of the ratios, above the second another; none without a pair.
    pub fn quartiles(&self) -> Option<[f64; 2]> {
        Some([self.at(0.25)?, self.at(0.75)?])
    }

    /// In 95 of 100 cases the true median lies between these; none without a pair.
    pub fn interval(&self) -> Option<[f64; 2]> {
        let half = HALF / (self.ratios.len() as f64).sqrt();
        Some([self.at(0.5 - half)?, self.at(0.5 + half)?])
    }

    fn at(&self, share: f64) -> Option<f64> {
        let last = self.ratios.len().checked_sub(1)?;
        let place = (last as f64 * share.clamp(0.0, 1.0)).round();
        self.ratios.get(place as usize).copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(ratios: impl Iterator<Item = u64>) -> Ratios {
        let mut all = Ratios::new();
        for ratio in ratios {
            all.record(Duration::from_secs(ratio), Duration::from_secs(100));
        }
        all
    }

    #[test]
    fn without_a_pair_there_is_no_ratio() {
        let mut none = Ratios::new();
        none.record(Duration::from_secs(1), Duration::ZERO);
        assert_eq!(none.pairs(), 0);
        assert_eq!(
            (none.median(), none.quartiles(), none.interval()),
            (None, None, None)
        );
    }

    #[test]
    fn order_statistics_are_those_of_the_sorted_ratios() {
        let all = of((0..=200).rev());
        assert_eq!(all.pairs(), 201);
        assert_eq!(all.median(), Some(1.0));
        assert_eq!(all.quartiles(), Some([0.5, 1.5]));
        // 0.98 / sqrt(201) is 6.9 % of 200 places to each side.
        assert_eq!(all.interval(), Some([0.86, 1.14]));
    }

    #[test]
    fn the_interval_of_few_pairs_is_all_of_them() {
        assert_eq!(of([90, 110].into_iter()).interval(), Some([0.9, 1.1]));
    }
}
