//! A flag that ends what runs now.
//!
//! | who | touches | when |
//! |---|---|---|
//! | a signal's thread | raises it, and cancels the engine's token if there is one | on Ctrl-C |
//! | whoever works | lowers it and names its token before it begins; looks at it meanwhile | once a statement |

use somersault::stop::StopToken;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

/// Shared by whoever works and whoever may stop it.
#[derive(Clone, Debug, Default)]
pub struct Stop {
    inner: Arc<Inner>,
}

#[derive(Debug, Default)]
struct Inner {
    is_raised: AtomicBool,
    is_working: AtomicBool,
    token: Mutex<Option<StopToken>>,
}

impl Stop {
    /// Work begins: what was said before does not count.
    pub fn begin(&self) {
        self.inner.is_raised.store(false, Ordering::SeqCst);
        let was_working = self.inner.is_working.swap(true, Ordering::SeqCst);
        assert!(!was_working, "one thing is worked on at a time");
    }

    /// Work has ended.
    pub fn end(&self) {
        let was_working = self.inner.is_working.swap(false, Ordering::SeqCst);
        assert!(was_working, "work ends after it began");
        self.set_token(None);
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
        self.inner.is_raised.store(true, Ordering::SeqCst);
        let token = self.inner.token.lock();
        if let Some(token) = &*token.unwrap_or_else(PoisonError::into_inner) {
            token.cancel();
        }
    }

    /// Whether to stop.
    pub fn is_raised(&self) -> bool {
        self.inner.is_raised.load(Ordering::SeqCst)
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
