//! A flag that ends what runs now.
//!
//! | who | touches | when |
//! |---|---|---|
//! | a signal's thread | raises it, and cancels the engine's token if there is one | on Ctrl-C |
//! | whoever works | lowers it and names its token before it begins; looks at it meanwhile | once a statement |

use somersault::stop::StopToken;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// Shared by whoever works and whoever may stop it.
#[derive(Clone, Debug, Default)]
pub struct Stop {
    inner: Arc<Inner>,
    /// For so long it is not looked at after it was raised.
    grace: Duration,
}

#[derive(Debug, Default)]
struct Inner {
    is_raised: AtomicBool,
    /// When it was raised first since work began.
    raised_at: Mutex<Option<Instant>>,
    is_working: AtomicBool,
    token: Mutex<Option<StopToken>>,
}

impl Stop {
    /// Work begins: what was said before does not count.
    pub fn begin(&self) {
        self.inner.is_raised.store(false, Ordering::SeqCst);
        *self.raised_at() = None;
        let was_working = self.inner.is_working.swap(true, Ordering::SeqCst);
        assert!(!was_working, "one thing is worked on at a time");
    }

    /// Work has ended.
    pub fn end(&self) {
        let was_working = self.inner.is_working.swap(false, Ordering::SeqCst);
        assert!(was_working, "work ends after it began");
        self.set_token(None);
    }

    /// The same flag, for whoever may go on for so long after it was raised: what is asked of a server is half done, and its answer
    /// says what would be left behind.
    #[must_use]
    pub fn with_grace(&self, grace: Duration) -> Stop {
        Stop {
            inner: Arc::clone(&self.inner),
            grace,
        }
    }

    /// The engine's query that is the work now; cancelled at once if it is too late already.
    pub fn watch(&self, token: &StopToken) {
        self.set_token(Some(token.clone()));
        if self.is_raised() {
            token.cancel();
        }
    }

    /// Stops what runs.
    pub fn raise(&self) {
        self.raised_at().get_or_insert_with(Instant::now);
        self.inner.is_raised.store(true, Ordering::SeqCst);
        let token = self.inner.token.lock();
        if let Some(token) = &*token.unwrap_or_else(PoisonError::into_inner) {
            token.cancel();
        }
    }

    /// Whether to stop.
    pub fn is_raised(&self) -> bool {
        let is_raised = self.inner.is_raised.load(Ordering::SeqCst);
        is_raised && (self.grace.is_zero() || self.is_over())
    }

    fn is_over(&self) -> bool {
        self.raised_at().is_none_or(|at| at.elapsed() >= self.grace)
    }

    fn raised_at(&self) -> MutexGuard<'_, Option<Instant>> {
        let raised_at = self.inner.raised_at.lock();
        raised_at.unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether something runs.
    pub fn is_working(&self) -> bool {
        self.inner.is_working.load(Ordering::SeqCst)
    }

    fn set_token(&self, token: Option<StopToken>) {
        *self
            .inner
            .token
            .lock()
            .unwrap_or_else(PoisonError::into_inner) = token;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whoever_has_a_grace_goes_on_for_so_long() {
        let stop = Stop::default();
        let (short, long) = (
            stop.with_grace(Duration::from_millis(1)),
            stop.with_grace(Duration::from_hours(1)),
        );
        assert!(!short.is_raised());
        stop.raise();
        assert!(stop.is_raised() && !long.is_raised());
        std::thread::sleep(Duration::from_millis(2));
        assert!(short.is_raised() && !long.is_raised());
        stop.begin();
        assert!(!short.is_raised());
    }

    #[test]
    fn a_token_is_cancelled_whenever_it_comes() {
        let stop = Stop::default();
        stop.begin();
        let token = StopToken::starting_now(None);
        stop.watch(&token);
        assert!(token.reason().is_none() && stop.is_working());
        stop.raise();
        assert!(token.reason().is_some() && stop.is_raised());
        let late = StopToken::starting_now(None);
        stop.watch(&late);
        assert!(late.reason().is_some());
        stop.end();
        stop.begin();
        assert!(!stop.is_raised());
    }
}
