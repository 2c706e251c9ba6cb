//! The types of `loom` under the names of the standard library's, with faults that a test can plant.
//!
//! `loom` runs a model once for each order in which its threads can take their steps, and for each value that a load may
//! give under the memory order that it asks for. All threads of a model run on one thread of the system, so a fault is
//! planted for the test that plants it and for no other.
//!
//! [`GrowingList`] stands for `boxcar::Vec`, which `loom` cannot look into and which has models of its own: an item and
//! then a count with release, as that library promises.

use std::cell::Cell;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{LockResult, OnceLock};

pub(crate) use loom::sync::{MutexGuard, RwLock, atomic::AtomicUsize};

/// Items that a list of a model holds at most.
const ITEMS_MAX: usize = 16;

/// What a test plants, to show that its model would find it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fault {
    /// No store of a number publishes what was written before it.
    NothingReleased,
    /// A lock lets two threads in.
    LockForTwo,
}

thread_local! {
    static PLANTED: Cell<Option<Fault>> = const { Cell::new(None) };
}

/// Runs `check` with a fault planted.
pub(crate) fn with_fault(fault: Fault, check: impl FnOnce()) {
    PLANTED.set(Some(fault));
    check();
    PLANTED.set(None);
}

fn is_planted(fault: Fault) -> bool {
    PLANTED.get() == Some(fault)
}

/// `loom`'s number of 64 bits.
#[derive(Debug)]
pub(crate) struct AtomicU64(loom::sync::atomic::AtomicU64);

impl AtomicU64 {
    pub(crate) fn new(value: u64) -> AtomicU64 {
        AtomicU64(loom::sync::atomic::AtomicU64::new(value))
    }

    pub(crate) fn load(&self, order: Ordering) -> u64 {
        self.0.load(order)
    }

    pub(crate) fn store(&self, value: u64, order: Ordering) {
        let order = if is_planted(Fault::NothingReleased) {
            Ordering::Relaxed
        } else {
            order
        };
        self.0.store(value, order);
    }

    pub(crate) fn fetch_max(&self, value: u64, order: Ordering) -> u64 {
        self.0.fetch_max(value, order)
    }

    pub(crate) fn fetch_update(
        &self,
        set: Ordering,
        fetch: Ordering,
        update: impl FnMut(u64) -> Option<u64>,
    ) -> Result<u64, u64> {
        self.0.fetch_update(set, fetch, update)
    }
}

impl Default for AtomicU64 {
    fn default() -> AtomicU64 {
        AtomicU64::new(0)
    }
}

/// `loom`'s lock, and a second one for the fault.
#[derive(Debug)]
pub(crate) struct Mutex<T> {
    locks: [loom::sync::Mutex<T>; 2],
    is_second: AtomicBool,
}

impl<T: Clone> Mutex<T> {
    pub(crate) fn new(value: T) -> Mutex<T> {
        Mutex {
            locks: [value.clone(), value].map(loom::sync::Mutex::new),
            is_second: AtomicBool::new(false),
        }
    }

    pub(crate) fn lock(&self) -> LockResult<MutexGuard<'_, T>> {
        let is_second =
            is_planted(Fault::LockForTwo) && self.is_second.fetch_xor(true, Ordering::Relaxed);
        self.locks[usize::from(is_second)].lock()
    }
}

/// See the head of this file.
#[derive(Debug)]
pub(crate) struct GrowingList<T> {
    items: Vec<OnceLock<T>>,
    count: AtomicUsize,
}

impl<T> GrowingList<T> {
    pub(crate) fn count(&self) -> usize {
        self.count.load(Ordering::Acquire)
    }

    pub(crate) fn get(&self, index: usize) -> Option<&T> {
        if index < self.count() {
            self.items[index].get()
        } else {
            None
        }
    }

    pub(crate) fn push(&self, item: T) {
        let index = self.count();
        assert!(
            self.items[index].set(item).is_ok(),
            "one thread pushes at a time"
        );
        self.count.store(index + 1, Ordering::Release);
    }
}

impl<T> Default for GrowingList<T> {
    fn default() -> GrowingList<T> {
        GrowingList {
            items: (0..ITEMS_MAX).map(|_| OnceLock::new()).collect(),
            count: AtomicUsize::new(0),
        }
    }
}
