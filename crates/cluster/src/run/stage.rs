//! One section of a query on one node: what has come for it, its walk, and what it gives.
//!
//! A stage is worked on by one thread at a time, for some milliseconds ([`super::work`]), and parked between: when its walk
//! waits for what it asked, when nothing has come, or when nobody has room for what it gives. Each of these ends by an event
//! that has it worked on again.
//!
//! A table counts as worked off when the walk asks for more rows and all that it gave is sent: then its sender may send
//! another, and the node that was asked counts ([`super::tally`]).

use super::outbox::Outbox;
use super::table::Arriving;
use crate::held::Held;
use explore::Execution;
use query::wire::Rows;
use std::collections::{BTreeMap, VecDeque};
use std::sync::atomic::{AtomicBool, AtomicU8, Ordering, fence};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, TryLockError};
use std::time::Duration;

pub(super) const IDLE: u8 = 0;
pub(super) const QUEUED: u8 = 1;
pub(super) const WORKING: u8 = 2;
/// Something came while it was worked on.
const WORKING_AGAIN: u8 = 3;

/// See the module's documentation.
#[derive(Default)]
pub(crate) struct Stage {
    pub(super) state: AtomicU8,
    pub(super) inbox: Mutex<Inbox>,
    pub(super) work: Mutex<Work>,
}

/// What has come.
#[derive(Default)]
pub(super) struct Inbox {
    pub(super) tables: VecDeque<Came>,
    pub(super) has_ended: bool,
}

/// A table that has come.
pub(crate) struct Came {
    pub(super) from: u16,
    pub(super) rows: Rows,
    pub(super) held: Held,
}

impl Came {
    /// A table and its memory.
    pub(crate) fn new(from: u16, rows: Rows, held: Held) -> Came {
        Came { from, rows, held }
    }
}

/// What is worked on.
#[derive(Default)]
pub(crate) struct Work {
    pub(super) execution: Option<Execution>,
    /// To be set once it is prepared; none before there is a walk.
    pub(super) is_walked: Option<Arc<AtomicBool>>,
    pub(super) arriving: Option<(u16, Arriving, Held)>,
    pub(super) outbox: Outbox,
    /// Tables that were worked off and whose senders have not been told.
    pub(super) owed: BTreeMap<u16, u32>,
    /// Tables that were worked off, and tables that were sent, since the last time that was said.
    pub(super) taken: u64,
    pub(super) made: u64,
    pub(super) is_over: bool,
    /// Whether it has given its last rows and that has to be said.
    pub(super) is_through: bool,
    /// Since when it is worked on, by the fabric's clock, of a query that is profiled.
    pub(super) since: Option<Duration>,
}

pub(super) fn lock<V>(mutex: &Mutex<V>) -> MutexGuard<'_, V> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Stage {
    /// Keeps rows that have come.
    pub(crate) fn arrive(&self, table: Came) {
        lock(&self.inbox).tables.push_back(table);
    }

    /// Nothing more will come.
    pub(crate) fn end(&self) {
        lock(&self.inbox).has_ended = true;
    }

    /// Whether whoever has something for it has to queue it.
    pub(crate) fn is_to_be_queued(&self) -> bool {
        let next = |state| match state {
            IDLE => Some(QUEUED),
            WORKING => Some(WORKING_AGAIN),
            _ => None,
        };
        let before = self
            .state
            .fetch_update(Ordering::AcqRel, Ordering::Acquire, next);
        before == Ok(IDLE)
    }

    /// Shows the walk, once there is one.
    pub(crate) fn show<V>(&self, show: impl FnOnce(&Execution) -> V) -> Option<V> {
        lock(&self.work).execution.as_ref().map(show)
    }

    /// Frees what it holds, of a query that is over. What is worked on now is freed by who works on it, and nobody waits for that.
    pub(crate) fn clear(&self) {
        *lock(&self.inbox) = Inbox::default();
        // Before it: that the query is over. Who works on it lets it go, and looks for that behind the same fence.
        fence(Ordering::SeqCst);
        match self.work.try_lock() {
            Ok(mut work) => *work = Work::default(),
            Err(TryLockError::Poisoned(work)) => *work.into_inner() = Work::default(),
            Err(TryLockError::WouldBlock) => {}
        }
    }
}
