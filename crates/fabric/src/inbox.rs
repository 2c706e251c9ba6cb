//! Where a node's events wait until they are polled, whoever they come from.
//!
//! Any thread appends, one takes. Order of appending is order of taking, across peers too, so whoever appends `Down` under
//! the lock and lets nothing of that link in after it has kept the promise of [`Event::Down`].
//!
//! Cost: one lock an event, one a poll; a poll takes all events at once.

use std::collections::VecDeque;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use crate::event::Event;

/// The waiting events of one node.
#[derive(Default)]
pub(crate) struct Inbox {
    state: Mutex<Waiting>,
    arrived: Condvar,
}

/// What waits.
#[derive(Default)]
struct Waiting {
    events: VecDeque<Event>,
    is_woken: bool,
}

impl Inbox {
    /// Appends an event.
    pub(crate) fn push(&self, event: Event) {
        self.push_if(event, || true);
    }

    /// Appends an event if, under the lock, it is still to be appended; says whether.
    pub(crate) fn push_if(&self, event: Event, is_wanted: impl FnOnce() -> bool) -> bool {
        let mut waiting = self.lock();
        if !is_wanted() {
            return false;
        }
        waiting.events.push_back(event);
        drop(waiting);
        self.arrived.notify_one();
        true
    }

    /// Whether nothing waits.
    pub(crate) fn is_empty(&self) -> bool {
        self.lock().events.is_empty()
    }

    /// Ends the wait that is under way, or the next.
    pub(crate) fn wake(&self) {
        self.lock().is_woken = true;
        self.arrived.notify_one();
    }

    /// Appends all events that wait to `events`, after waiting for the first as long as `patience`. Says how many.
    pub(crate) fn take(&self, events: &mut Vec<Event>, patience: Duration) -> usize {
        let mut waiting = self.lock();
        if waiting.events.is_empty() && !waiting.is_woken && !patience.is_zero() {
            let nothing = |waiting: &mut Waiting| waiting.events.is_empty() && !waiting.is_woken;
            let waited = self.arrived.wait_timeout_while(waiting, patience, nothing);
            waiting = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
        waiting.is_woken = false;
        let count = waiting.events.len();
        events.extend(waiting.events.drain(..));
        count
    }

    /// No thread leaves what waits in a state that another could not go on with: each change is one step.
    fn lock(&self) -> MutexGuard<'_, Waiting> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
