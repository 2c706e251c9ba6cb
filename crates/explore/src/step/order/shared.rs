//! What walks over parts of one seed tell each other when each chooses the first rows in an order.
//!
//! ```text
//!  part 0: full choice, ends in K ---> shared: K ---> part 1 drops rows behind K, unless equal to it
//! ```
//!
//! Each part gives its first rows to the tail, which chooses among them. A full choice of any part shows that
//! rows strictly behind its last are not among the first of all. Of rows equal to it nothing is shown: those
//! of an earlier part stand before it. What is shared only moves forwards, and a walk that has not looked yet
//! merely gives more rows.
//!
//! Cost: an atomic load a chunk; the keys are copied when a choice has become better, some tens of times a
//! query. They are drawn on the budget, and where it grants nothing, nothing is told.
//!
//! | field | written by | read by |
//! |---|---|---|
//! | `Shared::end` | workers with its lock | workers with its lock, when the version is another one |
//! | `Shared::version` | workers with the lock, with release | workers, with acquire, a chunk at a time |

use super::OrderPolicy;
use crate::expression::SortKey;
use crate::limits::{Limits, Reservation};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Where the best of the full choices ends.
#[derive(Default)]
pub(crate) struct Shared<'a> {
    /// How often it has become better; changes under the lock.
    version: AtomicU64,
    end: Mutex<Option<Arc<LastKeys<'a>>>>,
}

/// The keys of the last row of a full choice.
struct LastKeys<'a> {
    keys: Vec<SortKey>,
    _reservation: Reservation<'a>,
}

/// What one walk has seen of it.
#[derive(Default)]
pub(super) struct Seen<'a> {
    version: u64,
    end: Option<Arc<LastKeys<'a>>>,
}

impl Seen<'_> {
    /// The keys of the row behind which no row is wanted.
    pub(super) fn keys(&self) -> Option<&[SortKey]> {
        self.end.as_ref().map(|end| &end.keys[..])
    }
}

impl<'a> Shared<'a> {
    /// Brings a walk's knowledge up to date.
    pub(super) fn look(&self, seen: &mut Seen<'a>) {
        let version = self.version.load(Ordering::Acquire);
        if version != seen.version {
            // What is read may be newer than the version, and is then read once more.
            seen.version = version;
            seen.end.clone_from(&self.end());
        }
    }

    /// Says where a full choice ends.
    pub(super) fn tighten(&self, policy: &OrderPolicy, last: &[SortKey], limits: Limits<'a>) {
        let mut end = self.end();
        assert_eq!(last.len(), policy.keys.len(), "a row has all keys");
        let is_better = |end: &Arc<LastKeys<'a>>| policy.compare(last, &end.keys).is_lt();
        if !end.as_ref().is_none_or(is_better) {
            return;
        }
        let texts: usize = last.iter().map(SortKey::bytes).sum();
        let mut reservation = Reservation::new(limits);
        let bytes = size_of::<LastKeys<'a>>() + size_of_val(last) + texts;
        if reservation.cover(bytes as u64).is_ok() {
            *end = Some(Arc::new(LastKeys {
                keys: last.to_vec(),
                _reservation: reservation,
            }));
            self.version.fetch_add(1, Ordering::Release);
        }
    }

    fn end(&self) -> MutexGuard<'_, Option<Arc<LastKeys<'a>>>> {
        self.end.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl std::fmt::Debug for Shared<'_> {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter
            .debug_struct("Shared")
            .field("version", &self.version)
            .finish_non_exhaustive()
    }
}
