//! Admission: a bounded number of queries runs, a bounded number waits, the rest is told to come
//! back.
//!
//! Waiting is first come, first served, costs no thread, and ends with the client: who goes away
//! while it waits gives up its place. The time spent waiting is part of the query's time.
//!
//! | who | touches | when |
//! |---|---|---|
//! | requests | `waiting`, up and down | around their wait |
//! | the semaphore | permits | given back when an engine thread has ended its query |

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// The gate in front of the engine.
#[derive(Debug)]
pub(crate) struct Gate {
    permits: Arc<Semaphore>,
    waiting: AtomicUsize,
    waiting_max: usize,
}

/// The right to run one query, given back when it is dropped.
pub(crate) type Permit = OwnedSemaphorePermit;

/// Why a query was not let in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Turned {
    /// Too many wait already.
    Away,
    /// Its time was over before its turn came.
    TooLate,
}

impl Gate {
    /// A gate that lets so many run and so many wait.
    pub fn new(running_max: usize, waiting_max: usize) -> Gate {
        let permits = Arc::new(Semaphore::new(running_max));
        Gate {
            permits,
            waiting: AtomicUsize::new(0),
            waiting_max,
        }
    }

    /// Waits for a turn, at most so long.
    pub async fn enter(&self, patience: Duration) -> Result<Permit, Turned> {
        if let Ok(permit) = Arc::clone(&self.permits).try_acquire_owned() {
            return Ok(permit);
        }
        let _place = self.place().ok_or(Turned::Away)?;
        match tokio::time::timeout(patience, Arc::clone(&self.permits).acquire_owned()).await {
            Ok(permit) => Ok(permit.expect("the gate is never closed")),
            Err(_) => Err(Turned::TooLate),
        }
    }

    /// How many wait now.
    pub fn waiting(&self) -> usize {
        self.waiting.load(Ordering::Relaxed)
    }

    fn place(&self) -> Option<Place<'_>> {
        let place = Place(&self.waiting);
        // Counted before it is compared: the place gives its count back either way.
        let before = self.waiting.fetch_add(1, Ordering::Relaxed);
        (before < self.waiting_max).then_some(place)
    }
}

/// A place in the queue, left by dropping it.
struct Place<'a>(&'a AtomicUsize);

impl Drop for Place<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn some_run_some_wait_the_rest_is_turned_away() {
        let gate = Gate::new(1, 1);
        let patience = Duration::from_millis(20);
        let running = gate.enter(patience).await.unwrap();
        let (second, third) = tokio::join!(gate.enter(patience), gate.enter(patience));
        assert_eq!(second.unwrap_err(), Turned::TooLate);
        assert_eq!(third.unwrap_err(), Turned::Away);
        assert_eq!(gate.waiting(), 0);
        drop(running);
        assert!(gate.enter(patience).await.is_ok());
    }
}
