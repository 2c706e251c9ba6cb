//! Medians and tails of times.

use std::fmt;
use std::time::Duration;

#[derive(Default)]
pub struct Times(Vec<u32>);

impl Times {
    pub fn add(&mut self, time: Duration) {
        self.0
            .push(u32::try_from(time.as_micros()).unwrap_or(u32::MAX));
    }

    pub fn extend(&mut self, other: Self) {
        self.0.extend(other.0);
    }

    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// In milliseconds; 0 of none.
    pub fn quantile(&mut self, of: f64) -> f64 {
        self.0.sort_unstable();
        let at = ((self.0.len() as f64 * of).ceil() as usize).clamp(1, self.0.len().max(1)) - 1;
        self.0
            .get(at)
            .map_or(0.0, |micros| f64::from(*micros) / 1e3)
    }

    pub fn summary(&mut self) -> Summary {
        Summary {
            median: self.quantile(0.5),
            p99: self.quantile(0.99),
            most: self.quantile(1.0),
            count: self.len(),
        }
    }
}

/// Milliseconds.
pub struct Summary {
    pub median: f64,
    pub p99: f64,
    pub most: f64,
    pub count: usize,
}

impl fmt::Display for Summary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "median {:8.2} p99 {:8.2} most {:9.2} ms of {}",
            self.median, self.p99, self.most, self.count
        )
    }
}
