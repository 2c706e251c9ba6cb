//! The distribution of a run's times.
//!
//! Invariant: a percentile is a time that a run took, to 3 significant digits (a relative
//! error of at most 0.1 %). Kept as a high dynamic range histogram, so that recording costs a
//! few nanoseconds and memory stays at some 280 KB however many runs there are; the times of a
//! mix of a hundred million queries are as cheap to keep as those of ten runs of one query.
//!
//! The median is the figure to quote: the mean of times on a shared machine is a statement
//! about its other users.

use std::time::Duration;

use hdrhistogram::Histogram;

/// One hour; a longer time counts as that.
const TIME_NS_MAX: u64 = 3_600_000_000_000;
const SIGNIFICANT_DIGITS: u8 = 3;
const _: () = assert!(
    TIME_NS_MAX >= 2 && SIGNIFICANT_DIGITS <= 5,
    "the library permits the bounds"
);

/// Times of runs of the same thing.
#[derive(Clone, Debug)]
pub struct Latencies {
    histogram: Histogram<u64>,
}

impl Latencies {
    /// No time yet.
    pub fn new() -> Self {
        let histogram = Histogram::new_with_bounds(1, TIME_NS_MAX, SIGNIFICANT_DIGITS);
        Self {
            histogram: histogram.expect("the bounds are constants that the library permits"),
        }
    }

    /// Adds the time of a run; what is beyond an hour counts as an hour.
    pub fn record(&mut self, time: Duration) {
        let nanoseconds = u64::try_from(time.as_nanos()).unwrap_or(u64::MAX);
        self.histogram
            .saturating_record(nanoseconds.clamp(1, TIME_NS_MAX));
    }

    /// Adds the times of another thread's runs.
    pub fn merge(&mut self, other: &Self) {
        let runs = self.runs() + other.runs();
        self.histogram
            .add(&other.histogram)
            .expect("both histograms have the same bounds");
        assert_eq!(
            self.runs(),
            runs,
            "no run is lost where histograms are merged"
        );
    }

    /// How many runs there were.
    pub fn runs(&self) -> u64 {
        self.histogram.len()
    }

    /// The least time that at least half of the runs took no longer than; none without a run.
    pub fn median(&self) -> Option<Duration> {
        self.quantile(0.5)
    }

    /// The least time that at least `quantile` (0 to 1) of the runs took no longer than; none
    /// without a run.
    pub fn quantile(&self, quantile: f64) -> Option<Duration> {
        (self.runs() > 0).then(|| Duration::from_nanos(self.histogram.value_at_quantile(quantile)))
    }

    /// The distribution: each recorded time, ascending, with the share of runs that took no longer.
    pub fn distribution(&self) -> impl Iterator<Item = (f64, Duration)> + '_ {
        let total = self.runs();
        let recorded = self.histogram.iter_recorded();
        recorded.scan(0, move |runs, step| {
            *runs += step.count_since_last_iteration();
            let time = Duration::from_nanos(step.value_iterated_to());
            assert!(*runs <= total, "a share is at most the whole");
            Some((*runs as f64 / total as f64, time))
        })
    }

    /// The shortest time; none without a run.
    pub fn least(&self) -> Option<Duration> {
        (self.runs() > 0).then(|| Duration::from_nanos(self.histogram.min()))
    }

    /// The longest time; none without a run.
    pub fn most(&self) -> Option<Duration> {
        (self.runs() > 0).then(|| Duration::from_nanos(self.histogram.max()))
    }
}

impl Default for Latencies {
    fn default() -> Self {
        Self::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn near(found: Option<Duration>, expected: Duration) {
        let ratio = found.unwrap().as_secs_f64() / expected.as_secs_f64();
        assert!(
            (ratio - 1.0).abs() < 0.002,
            "{found:?} is not near {expected:?}"
        );
    }

    #[test]
    fn without_runs_there_is_no_time() {
        let none = Latencies::new();
        assert_eq!(
            (none.runs(), none.median(), none.least(), none.most()),
            (0, None, None, None)
        );
    }

    #[test]
    fn quantiles_are_those_of_the_sorted_times() {
        let mut latencies = Latencies::new();
        for microseconds in (1..=1000).rev() {
            latencies.record(Duration::from_micros(microseconds));
        }
        assert_eq!(latencies.runs(), 1000);
        near(latencies.median(), Duration::from_micros(500));
        near(latencies.quantile(0.99), Duration::from_micros(990));
        near(latencies.least(), Duration::from_micros(1));
        near(latencies.most(), Duration::from_millis(1));
    }

    #[test]
    fn the_distribution_ends_with_all_runs() {
        let mut latencies = Latencies::new();
        assert_eq!(latencies.distribution().count(), 0);
        for microseconds in [1, 1, 5, 900] {
            latencies.record(Duration::from_micros(microseconds));
        }
        let found: Vec<_> = latencies.distribution().collect();
        let shares: Vec<f64> = found.iter().map(|(share, _)| *share).collect();
        assert_eq!(shares, [0.5, 0.75, 1.0]);
        near(Some(found[2].1), Duration::from_micros(900));
    }

    #[test]
    fn extremes_are_kept_within_bounds() {
        let mut latencies = Latencies::new();
        latencies.record(Duration::ZERO);
        latencies.record(Duration::MAX);
        near(latencies.least(), Duration::from_nanos(1));
        near(latencies.most(), Duration::from_hours(1));
    }

    #[test]
    fn merging_is_recording_both() {
        let [mut one, mut two] = [Latencies::new(), Latencies::new()];
        one.record(Duration::from_millis(1));
        two.record(Duration::from_millis(2));
        two.record(Duration::from_millis(3));
        one.merge(&two);
        assert_eq!(one.runs(), 3);
        near(one.median(), Duration::from_millis(2));
    }
}
