//! The cache among the sections that have it: one at a time, and nobody waits while a segment is brought.
//!
//! Bringing one takes up to a second, with the cache in hand. A query that would begin meanwhile is told that the device is busy, so that
//! it waits no longer than is worth it and goes on elsewhere; one that ends leaves word of what it had, and whoever has the cache next puts
//! that down before anything else.
//!
//! | who | touches | when |
//! |---|---|---|
//! | a section that begins, whoever counts | the cache | under its lock; a section looks for it [`LOOKS`] times at most |
//! | a section that ends, a query that waits no more | `ended` | under its lock, for one addition; then the cache, if nobody has it |
//! | whoever had the cache | `used` | when it gives it back |

use super::Cache;
use crate::error::GpuError;
use std::ops::{Deref, DerefMut};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, TryLockError};

/// Looks of a section for the cache, with others let go on between two: many times what those take who bring nothing.
const LOOKS: u32 = 500;

/// See the head of this file.
pub(crate) struct SharedCache {
    cache: Mutex<Cache>,
    ended: Mutex<Vec<Ended>>,
    /// Bytes of images that were on the device when the cache was given back.
    used: AtomicU64,
}

/// What has ended.
pub(super) enum Ended {
    /// A section that had pinned these segments.
    Section(Vec<u32>),
    /// The waiting of a query.
    Waiting(u64),
}

/// The cache, which sections that outlive the [`Gpu`](crate::Gpu) have, too.
pub(crate) type Shared = Arc<SharedCache>;

/// The cache in hand.
pub(crate) struct Held<'c> {
    cache: MutexGuard<'c, Cache>,
    used: &'c AtomicU64,
}

impl Deref for Held<'_> {
    type Target = Cache;

    fn deref(&self) -> &Cache {
        &self.cache
    }
}

impl DerefMut for Held<'_> {
    fn deref_mut(&mut self) -> &mut Cache {
        &mut self.cache
    }
}

impl Drop for Held<'_> {
    fn drop(&mut self) {
        self.used.store(self.cache.used(), Ordering::Relaxed);
    }
}

impl SharedCache {
    /// A cache that nobody has.
    pub(crate) fn new(cache: Cache) -> SharedCache {
        SharedCache {
            cache: Mutex::new(cache),
            ended: Mutex::default(),
            used: AtomicU64::new(0),
        }
    }

    /// Takes it, whoever has it.
    pub(crate) fn held(&self) -> Held<'_> {
        // A segment is said to be somewhere once it is whole there; one that a panic left out is brought again.
        self.in_hand(self.cache.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Takes it unless somebody has it for long: [`GpuError::Busy`].
    pub(crate) fn held_soon(&self) -> Result<Held<'_>, GpuError> {
        for _ in 0..LOOKS {
            if let Some(held) = self.held_now() {
                return Ok(held);
            }
            std::thread::yield_now();
        }
        Err(GpuError::Busy)
    }

    /// Bytes of images that are on the device.
    pub(crate) fn used(&self) -> u64 {
        self.used.load(Ordering::Relaxed)
    }

    /// Something has ended.
    pub(super) fn has_ended(&self, what: Ended) {
        self.ended().push(what);
        drop(self.held_now());
    }

    fn held_now(&self) -> Option<Held<'_>> {
        let cache = match self.cache.try_lock() {
            Ok(cache) => cache,
            Err(TryLockError::Poisoned(poisoned)) => poisoned.into_inner(),
            Err(TryLockError::WouldBlock) => return None,
        };
        Some(self.in_hand(cache))
    }

    fn in_hand<'c>(&'c self, mut cache: MutexGuard<'c, Cache>) -> Held<'c> {
        let all = std::mem::take(&mut *self.ended());
        for ended in all {
            match ended {
                Ended::Section(numbers) => cache.unpin(&numbers),
                Ended::Waiting(query) => cache.not_expected(query),
            }
        }
        Held {
            cache,
            used: &self.used,
        }
    }

    fn ended(&self) -> MutexGuard<'_, Vec<Ended>> {
        self.ended.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
