//! Memory of a load: what is held, what may be held, what the most was.
//!
//! A load's memory is of two kinds. *Retained* data (parsed chunks, records waiting to be sorted)
//! grow with the input; every structure that retains something charges it here and, once the
//! retained half of the limit is used up, writes what it was about to retain to a temporary file
//! instead. *Working* memory (a chunk being parsed, a piece being sorted) is bounded by design: its
//! sizes are derived from the other half, [`Budget::working_bytes`].
//!
//! Invariant: the limit decides where bytes lie, never what they are, so a store is the same for
//! every limit. Structures may overshoot by one block each; the peak is reported.
//!
//! Who may touch what: `held` and `peak` are added to by any thread, relaxed, for they guard no
//! other memory.

use std::sync::atomic::{AtomicU64, Ordering};

/// The smallest limit that is honoured: below it the fixed working memory of one thread rules.
pub const LIMIT_BYTES_MIN: u64 = 64 << 10;

/// Counts the bytes that a load retains; see the module's documentation.
pub struct Budget {
    retained_max: u64,
    working_bytes: u64,
    held: AtomicU64,
    peak: AtomicU64,
}

impl Budget {
    /// The accounts of a load under this limit, in bytes; `None` is no limit.
    pub fn new(limit_bytes: Option<u64>) -> Budget {
        let half = limit_bytes.map(|limit| limit.max(LIMIT_BYTES_MIN) / 2);
        Budget {
            retained_max: half.unwrap_or(u64::MAX),
            working_bytes: half.unwrap_or(u64::MAX),
            held: AtomicU64::new(0),
            peak: AtomicU64::new(0),
        }
    }

    /// What all threads together may use for work in progress.
    pub fn working_bytes(&self) -> u64 {
        self.working_bytes
    }

    /// Whether this many more bytes should go to a file instead of staying in memory.
    pub fn is_spent(&self, more_bytes: usize) -> bool {
        self.held
            .load(Ordering::Relaxed)
            .saturating_add(more_bytes as u64)
            > self.retained_max
    }

    /// Notes that these bytes are retained.
    pub fn charge(&self, bytes: usize) {
        let held = self.held.fetch_add(bytes as u64, Ordering::Relaxed) + bytes as u64;
        self.peak.fetch_max(held, Ordering::Relaxed);
    }

    /// Notes that these bytes, charged before, are retained no longer.
    pub fn release(&self, bytes: usize) {
        let before = self.held.fetch_sub(bytes as u64, Ordering::Relaxed);
        assert!(before >= bytes as u64, "what is released was charged");
    }

    /// The most that was retained at any time, in bytes.
    pub fn peak_bytes(&self) -> u64 {
        self.peak.load(Ordering::Relaxed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn half_of_the_limit_may_be_retained() {
        let budget = Budget::new(Some(32 << 20));
        assert!(!budget.is_spent(16 << 20));
        assert!(budget.is_spent((16 << 20) + 1));
        budget.charge(16 << 20);
        assert!(budget.is_spent(1));
        budget.release(1 << 20);
        assert!(!budget.is_spent(1 << 20));
        assert_eq!(budget.peak_bytes(), 16 << 20);
    }

    #[test]
    fn without_a_limit_nothing_is_ever_spent() {
        let budget = Budget::new(None);
        budget.charge(usize::MAX / 2);
        assert!(!budget.is_spent(usize::MAX / 2));
    }
}
