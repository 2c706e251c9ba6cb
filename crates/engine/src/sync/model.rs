//! The condition of `shuttle` under the name of the standard library's, with a fault that a test can plant.
//!
//! `shuttle` runs a model many times, each time in another order that a seed gives. A wait with a limit of time never
//! ends by that limit there: whoever relies on being woken and is not, hangs, which fails the model. All threads of a
//! model run on one thread of the system, so a fault is planted for the test that plants it and for no other.

use shuttle::sync::{MutexGuard, WaitTimeoutResult};
use std::cell::Cell;
use std::sync::LockResult;
use std::time::Duration;

/// What a test plants, to show that its model would find it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fault {
    /// Nobody who waits is woken.
    NobodyWoken,
}

thread_local! {
    static PLANTED: Cell<Option<Fault>> = const { Cell::new(None) };
}

/// Runs `check` with a fault planted, if there is one.
#[cfg(test)]
pub(crate) fn with_fault(fault: Option<Fault>, check: impl FnOnce()) {
    PLANTED.set(fault);
    check();
    PLANTED.set(None);
}

/// `shuttle`'s condition.
#[derive(Debug, Default)]
pub(crate) struct Condvar(shuttle::sync::Condvar);

impl Condvar {
    pub(crate) fn new() -> Condvar {
        Condvar::default()
    }

    pub(crate) fn wait_timeout<'a, T>(
        &self,
        guard: MutexGuard<'a, T>,
        most: Duration,
    ) -> LockResult<(MutexGuard<'a, T>, WaitTimeoutResult)> {
        self.0.wait_timeout(guard, most)
    }

    pub(crate) fn wait_timeout_while<'a, T>(
        &self,
        guard: MutexGuard<'a, T>,
        most: Duration,
        condition: impl FnMut(&mut T) -> bool,
    ) -> LockResult<(MutexGuard<'a, T>, WaitTimeoutResult)> {
        self.0.wait_timeout_while(guard, most, condition)
    }

    pub(crate) fn notify_one(&self) {
        if PLANTED.get() != Some(Fault::NobodyWoken) {
            self.0.notify_one();
        }
    }

    pub(crate) fn notify_all(&self) {
        if PLANTED.get() != Some(Fault::NobodyWoken) {
            self.0.notify_all();
        }
    }
}
