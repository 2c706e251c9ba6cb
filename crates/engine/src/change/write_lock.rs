//! Whose turn it is to write: one holder at a time, the others wait no longer than they may.
//!
//! The standard library's mutex cannot be waited for with a deadline; this is a flag, a condition
//! and the state that only the holder touches. Waiting costs nobody anything: readers do not come
//! here.
//!
//! | field | written by | read by |
//! |---|---|---|
//! | `WriteLock::state`, the place | whoever takes the turn or gives it back, under its lock | whoever waits, under the same lock |
//! | the state itself | the holder, without the lock: it is in the holder's hands | the holder |
//! | `free` | told by whoever gives the turn back, one that waits | |

use crate::error::{Kind, QueryError};
use crate::stop::{StopReason, StopToken};
use crate::sync::{Condvar, Mutex, MutexGuard};
use std::ops::{Deref, DerefMut};
use std::sync::PoisonError;
use std::time::Duration;

/// How long a waiting thread sleeps before it looks at its token.
const LOOK: Duration = Duration::from_millis(20);

/// A state that one thread at a time may hold.
pub(crate) struct WriteLock<T> {
    /// Absent while somebody holds it.
    state: Mutex<Option<T>>,
    free: Condvar,
}

/// The state in the hands of one thread; given back when dropped.
pub(crate) struct WriteGuard<'t, T> {
    turn: &'t WriteLock<T>,
    state: Option<T>,
}

impl<T> WriteLock<T> {
    /// A state that nobody holds.
    pub(crate) fn new(state: T) -> WriteLock<T> {
        WriteLock {
            state: Mutex::new(Some(state)),
            free: Condvar::new(),
        }
    }

    /// Waits for the state, until the token says stop.
    pub(crate) fn take(&self, token: &StopToken) -> Result<WriteGuard<'_, T>, QueryError> {
        let mut state = self.lock();
        loop {
            if let Some(found) = state.take() {
                return Ok(WriteGuard {
                    turn: self,
                    state: Some(found),
                });
            }
            match token.reason() {
                None => {}
                Some(StopReason::Deadline | StopReason::Outdated) => {
                    return Err(QueryError::new(
                        Kind::Timeout,
                        "other changes took all of the request's time",
                    )
                    .with_hint("send changes in larger requests, or allow more time"));
                }
                Some(StopReason::Cancelled) => {
                    return Err(QueryError::new(Kind::Cancelled, "the change was cancelled"));
                }
            }
            let waited = self.free.wait_timeout(state, LOOK);
            state = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    /// Waits for the state, however long it takes.
    pub(crate) fn wait(&self) -> WriteGuard<'_, T> {
        let token = StopToken::starting_now(None);
        self.take(&token)
            .unwrap_or_else(|_| unreachable!("nobody else has this token"))
    }

    fn lock(&self) -> MutexGuard<'_, Option<T>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<T> Deref for WriteGuard<'_, T> {
    type Target = T;

    fn deref(&self) -> &T {
        self.state.as_ref().expect("held until it is dropped")
    }
}

impl<T> DerefMut for WriteGuard<'_, T> {
    fn deref_mut(&mut self) -> &mut T {
        self.state.as_mut().expect("held until it is dropped")
    }
}

impl<T> Drop for WriteGuard<'_, T> {
    fn drop(&mut self) {
        let mut state = self.turn.lock();
        *state = self.state.take();
        drop(state);
        self.turn.free.notify_one();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_at_a_time_and_nobody_for_ever() {
        let turn = WriteLock::new(0);
        let patient = StopToken::starting_now(None);
        let held = turn.take(&patient).unwrap();
        let hasty = StopToken::starting_now(Some(Duration::from_millis(1)));
        assert_eq!(turn.take(&hasty).err().unwrap().kind, Kind::Timeout);
        hasty.cancel();
        assert_eq!(turn.take(&hasty).err().unwrap().kind, Kind::Cancelled);
        drop(held);
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| (0..1000).for_each(|_| *turn.wait() += 1));
            }
        });
        assert_eq!(*turn.wait(), 4000);
    }
}
