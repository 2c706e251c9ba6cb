//! What a section has of the cache while it is there: its segments stay where they are.

use super::Cache;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// How kernels find what lies in pages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Pages {
    /// Where the table is.
    pub(crate) table: u64,
    /// The binary logarithm of a page's bytes.
    pub(crate) bits: u32,
}

/// The cache, which sections that outlive the [`Gpu`](crate::Gpu) have, too.
pub(crate) type Shared = Arc<Mutex<Cache>>;

/// Locks the cache.
pub(crate) fn locked(cache: &Shared) -> MutexGuard<'_, Cache> {
    // A segment is said to be somewhere once it is whole there; one that a panic left out is brought again.
    cache.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Pins segments until it is dropped, which must not happen while the cache is locked.
pub(crate) struct Lease {
    cache: Shared,
    numbers: Vec<u32>,
    pages: Option<Pages>,
}

impl Lease {
    /// Of segments that were pinned.
    pub(crate) fn new(cache: &Shared, numbers: Vec<u32>, pages: Option<Pages>) -> Lease {
        Lease {
            cache: Arc::clone(cache),
            numbers,
            pages,
        }
    }

    /// Where pages are found, if a segment is paged.
    pub(crate) fn pages(&self) -> Option<Pages> {
        self.pages
    }
}

impl Drop for Lease {
    fn drop(&mut self) {
        locked(&self.cache).unpin(&self.numbers);
    }
}

/// A query that waits for the device: what it will need is kept there before what was used last. It is one until it is dropped.
pub struct Expected {
    cache: Shared,
    query: u64,
}

impl Expected {
    pub(crate) fn new(cache: &Shared, query: u64) -> Expected {
        Expected {
            cache: Arc::clone(cache),
            query,
        }
    }
}

impl Drop for Expected {
    fn drop(&mut self) {
        locked(&self.cache).not_expected(self.query);
    }
}
