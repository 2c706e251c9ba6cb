//! Stopping a query: its deadline, and cancels from outside.
//!
//! Time enters the engine here: rooms below the façade have no clock, they ask a token. Looking at
//! the clock costs some 25 ns, so operators ask once per chunk or about every millisecond of work,
//! as `explore` decides.
//!
//! | who | touches | when |
//! |---|---|---|
//! | any thread (a disconnect, an operator, shutdown) | sets `cancelled` | at any time, once |
//! | the threads of the query | read `cancelled` and the clock | between pieces of work |

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// Why a query was stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StopReason {
    /// Its time was over.
    Deadline,
    /// Somebody cancelled it.
    Cancelled,
}

/// Shared by a query and whoever may stop it.
#[derive(Clone, Debug)]
pub struct StopToken {
    cancelled: Arc<AtomicBool>,
    started: Instant,
    timeout: Option<Duration>,
}

impl StopToken {
    /// A token whose time begins now.
    pub fn starting_now(timeout: Option<Duration>) -> StopToken {
        StopToken {
            cancelled: Arc::default(),
            started: Instant::now(),
            timeout,
        }
    }

    /// Stops the query at its next look.
    pub fn cancel(&self) {
        self.cancelled.store(true, Ordering::Relaxed);
    }

    /// Whether to stop, and why.
    pub fn reason(&self) -> Option<StopReason> {
        if self.cancelled.load(Ordering::Relaxed) {
            return Some(StopReason::Cancelled);
        }
        match self.timeout {
            Some(timeout) if self.started.elapsed() >= timeout => Some(StopReason::Deadline),
            _ => None,
        }
    }

    /// The time the query was given.
    pub fn timeout(&self) -> Option<Duration> {
        self.timeout
    }

    /// Time since the query began.
    pub fn elapsed(&self) -> Duration {
        self.started.elapsed()
    }
}

/// Cancels its query when it is dropped, unless disarmed: held by whoever waits for the answer, so
/// that a disconnected client takes its query along.
#[derive(Debug)]
pub struct CancelOnDrop {
    token: Option<StopToken>,
}

impl CancelOnDrop {
    /// Armed for this query.
    pub fn new(token: StopToken) -> CancelOnDrop {
        CancelOnDrop { token: Some(token) }
    }

    /// The answer is complete.
    pub fn disarm(mut self) {
        self.token = None;
    }
}

impl Drop for CancelOnDrop {
    fn drop(&mut self) {
        if let Some(token) = &self.token {
            token.cancel();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_deadline_passes() {
        let token = StopToken::starting_now(Some(Duration::ZERO));
        assert_eq!(token.reason(), Some(StopReason::Deadline));
        assert_eq!(StopToken::starting_now(None).reason(), None);
    }

    #[test]
    fn a_dropped_guard_cancels_and_a_disarmed_one_does_not() {
        let token = StopToken::starting_now(None);
        CancelOnDrop::new(token.clone()).disarm();
        assert_eq!(token.reason(), None);
        drop(CancelOnDrop::new(token.clone()));
        assert_eq!(token.reason(), Some(StopReason::Cancelled));
    }
}
