//! What wakes maintenance: every commit does, and closing the database ends its thread.
//!
//! The writer wakes it, and it works on the writer, so this stands below both. It also keeps maintenance's
//! figures and the reason of its last failure, because whoever asks the writer for them has no maintenance.
//!
//! | field | written by | read by |
//! |---|---|---|
//! | `WakeupState::work` | set by any thread, taken back by maintenance, under the lock | maintenance |
//! | `WakeupState::failure` | maintenance, under the lock | any thread, under the lock |
//! | `woken` | told after either of `work` and `closing` was set | maintenance, and its helper beside a checkpoint, wait there |
//! | `closing` | whoever closes the database, once, before it wakes | maintenance |
//! | `merges`, `checkpoints` | maintenance | any thread, for figures |

use crate::sync::{AtomicBool, Condvar, Mutex, MutexGuard, pause};
use std::sync::PoisonError;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// Wakes maintenance, and ends it.
#[derive(Default)]
pub(crate) struct Wakeup {
    state: Mutex<WakeupState>,
    woken: Condvar,
    closing: AtomicBool,
    /// Layers that were merged beside the writers.
    pub(crate) merges: AtomicU64,
    /// Checkpoints made.
    pub(crate) checkpoints: AtomicU64,
}

#[derive(Default)]
struct WakeupState {
    work: bool,
    /// Why the last merge, checkpoint or reading of statistics failed.
    failure: Option<String>,
}

impl Wakeup {
    /// There may be something to do.
    pub(crate) fn wake(&self) {
        self.lock().work = true;
        self.woken.notify_all();
    }

    /// The database is being closed.
    pub(crate) fn close(&self) {
        self.closing.store(true, Ordering::SeqCst);
        self.wake();
    }

    /// Whether whatever runs should end.
    pub(crate) fn is_closing(&self) -> bool {
        self.closing.load(Ordering::SeqCst)
    }

    /// Why the last merge, checkpoint or reading of statistics failed, if it did.
    pub(crate) fn failure(&self) -> Option<String> {
        self.lock().failure.clone()
    }

    /// Lets time pass, unless the database is being closed.
    pub(super) fn sleep(&self, time: Duration) {
        let state = self.lock();
        let waited = self
            .woken
            .wait_timeout_while(state, time, |_| !self.is_closing());
        drop(waited);
    }

    /// Waits until somebody wakes it; false where nobody did.
    pub(super) fn wait(&self, most: Duration) -> bool {
        let mut state = self.lock();
        if !state.work && !self.is_closing() {
            let waited = self.woken.wait_timeout(state, most);
            state = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
        std::mem::take(&mut state.work)
    }

    /// Lets time pass, `quiet` after `quiet`, until there was nothing more to do in one, `most` times at most; or until
    /// `is_enough`, or the database is being closed, which are seen after `quiet`. Nobody wakes it meanwhile, so that whoever
    /// commits is not interrupted.
    pub(super) fn settle(&self, quiet: Duration, most: u32, is_enough: &dyn Fn() -> bool) {
        for _ in 0..most {
            if self.is_closing() || is_enough() {
                break;
            }
            pause(quiet);
            let has_more = std::mem::take(&mut self.lock().work);
            if !has_more {
                break;
            }
        }
    }

    /// Notes whether the last merge, checkpoint or reading of statistics failed, and why.
    pub(super) fn note_failure(&self, failure: Option<String>) {
        self.lock().failure = failure;
    }

    fn lock(&self) -> MutexGuard<'_, WakeupState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
