//! What a section has of the cache while it is there: its segments stay where they are.

use super::shared::{Ended, Shared};
use std::sync::Arc;

/// How kernels find what lies in pages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Pages {
    /// Where the table is.
    pub(crate) table: u64,
    /// The binary logarithm of a page's bytes.
    pub(crate) bits: u32,
}

/// Pins segments until it is dropped.
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

    /// What it has pinned, for whoever puts that down instead.
    pub(crate) fn into_numbers(mut self) -> Vec<u32> {
        std::mem::take(&mut self.numbers)
    }

    /// Where pages are found, if a segment is paged.
    pub(crate) fn pages(&self) -> Option<Pages> {
        self.pages
    }
}

impl Drop for Lease {
    fn drop(&mut self) {
        let numbers = std::mem::take(&mut self.numbers);
        if numbers.is_empty() {
            return;
        }
        self.cache.has_ended(Ended::Section(numbers));
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
        self.cache.has_ended(Ended::Waiting(self.query));
    }
}
