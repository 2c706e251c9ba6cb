//! Memory of a load: what is held, what may be held, what the most was.
//!
//! A load's memory is of three kinds. *Retained* data (parsed chunks, records waiting to be sorted)
//! grow with the input; every structure that retains something asks a [`Share`] for it and, once
//! the share is refused, writes what it was about to retain to a temporary file instead. *Working*
//! memory (a chunk being parsed, a piece being sorted) is bounded by design: its sizes are derived
//! from [`Budget::working_bytes`]. Each may take three eighths of the limit; the last quarter is
//! left to segment writers, which keep a few bytes a vertex, and to what the allocator loses.
//!
//! A share that was refused once stays refused: were the memory that one structure gives back by
//! spilling taken by another, blocks of different sizes would leave holes, which cost 60 % of the
//! limit when it was tried (LUBM-160 at 256 MiB, glibc, 2026-11-21).
//!
//! Invariant: the limit decides where bytes lie, never what they are, so a store is the same for
//! every limit. Structures may overshoot by one block each; the peak is reported.
//!
//! Who may touch what: all counters by any thread, relaxed, for they guard no other memory.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

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
        let part = limit_bytes.map(|limit| limit.max(LIMIT_BYTES_MIN) / 8 * 3);
        Budget {
            retained_max: part.unwrap_or(u64::MAX),
            working_bytes: part.unwrap_or(u64::MAX),
            held: AtomicU64::new(0),
            peak: AtomicU64::new(0),
        }
    }

    /// What all threads together may use for work in progress.
    pub fn working_bytes(&self) -> u64 {
        self.working_bytes
    }

    /// A share for one structure, which holds nothing yet.
    pub fn share(&self) -> Share<'_> {
        Share {
            budget: self,
            is_refused: AtomicBool::new(false),
        }
    }

    /// What is retained now, in bytes.
    #[cfg(test)]
    pub fn held_bytes(&self) -> u64 {
        self.held.load(Ordering::Relaxed)
    }

    /// The most that was retained at any time, in bytes.
    pub fn peak_bytes(&self) -> u64 {
        self.peak.load(Ordering::Relaxed)
    }
}

/// What one structure retains; see the module's documentation.
pub struct Share<'l> {
    budget: &'l Budget,
    is_refused: AtomicBool,
}

impl Share<'_> {
    /// Notes that these bytes are retained; false where they should go to a file, by now or soon.
    pub fn charge(&self, bytes: usize) -> bool {
        let budget = self.budget;
        let held = budget.held.fetch_add(bytes as u64, Ordering::Relaxed) + bytes as u64;
        budget.peak.fetch_max(held, Ordering::Relaxed);
        if held > budget.retained_max {
            self.is_refused.store(true, Ordering::Relaxed);
        }
        !self.is_refused()
    }

    /// Whether nothing more is to be retained.
    pub fn is_refused(&self) -> bool {
        self.is_refused.load(Ordering::Relaxed)
    }

    /// Notes that these bytes, charged before, are retained no longer.
    pub fn release(&self, bytes: usize) {
        let before = self.budget.held.fetch_sub(bytes as u64, Ordering::Relaxed);
        assert!(before >= bytes as u64, "what is released was charged");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refused_share_stays_refused() {
        let budget = Budget::new(Some(32 << 20));
        let (first, second) = (budget.share(), budget.share());
        assert!(first.charge(12 << 20));
        assert!(!second.charge(1));
        second.release(1);
        assert!(first.charge(0) && !first.is_refused());
        first.release(12 << 20);
        assert!(second.is_refused() && !second.charge(1));
        assert_eq!(budget.peak_bytes(), (12 << 20) + 1);
    }

    #[test]
    fn without_a_limit_nothing_is_ever_refused() {
        let budget = Budget::new(None);
        assert!(budget.share().charge(usize::MAX / 2));
        assert!(budget.share().charge(usize::MAX / 2));
    }
}
