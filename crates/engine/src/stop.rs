//! Stopping a query: its deadline, and cancels from outside.
//!
//! Time enters the engine here: crates below it have no clock, they ask a token. Looking at
//! the clock costs some 25 ns, so operators ask once per chunk or about every millisecond of work,
//! as `explore` decides.
//!
//! A look is also where a query lets others compute: whoever shares the processors among queries gives
//! the token a [`Pace`], which may make the looking thread wait (worker-obliger, OSDI'16 section 5.4).
//!
//! | who | touches | when |
//! |---|---|---|
//! | any thread (a disconnect, an operator, shutdown) | `fate`, to cancelled | at any time, once |
//! | the threads of the query | read `fate` and the clock | between pieces of work |
//! | the thread of a change | `fate`, to committing | once, before it may be durable |

use crate::error::{Kind, QueryError};
use crate::sync::AtomicU8;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

/// Why a query was stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StopReason {
    /// Its time was over.
    Deadline,
    /// The snapshot that it reads is older than readers may be.
    Outdated,
    /// Somebody cancelled it.
    Cancelled,
}

/// The error of a reader whose snapshot is older than readers may be.
pub(crate) fn outdated() -> QueryError {
    let message = "what it reads is older than `store.max_snapshot_age`";
    let hint = "ask again, in smaller parts, or allow readers more: what they see is kept for them";
    QueryError::new(Kind::Timeout, message).with_hint(hint)
}

/// For whom a thread of a query waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wait {
    /// For another thread of the same query, which computes or is about to. Also said by a thread that ends.
    Own,
    /// For somebody else: an endpoint, a client.
    Other,
}

/// Shares the processors among queries. One value belongs to one query; all of its threads call it.
///
/// `left` says for how long the query may still run, which is nothing once it is stopped: whoever blocks
/// asks it before, wakes when that time is over, and asks again now and then.
pub trait Pace: Send + Sync + fmt::Debug {
    /// Called between pieces of work. Blocks while the query has no share; returns at once where it has
    /// one, and soon after nothing is left.
    fn look(&self, left: &dyn Fn() -> Duration);
    /// The calling thread stops computing, to wait or for good. A query none of whose threads compute because
    /// some of them wait for others holds no share. While they only hand chunks to each other somebody is
    /// always about to wake, and a share that was given up for that moment would have to be waited for.
    fn suspend(&self, wait: Wait);
    /// The calling thread computes, from now on (as after [`Wait::Own`]) or again. Blocks as [`Pace::look`] does.
    fn resume(&self, wait: Wait, left: &dyn Fn() -> Duration);
    /// The query is about to walk, on so many threads, by a plan that is expected to be heavy.
    fn expect_heavy(&self, threads: usize, left: &dyn Fn() -> Duration);
}

/// Neither cancelled nor committing.
const OPEN: u8 = 0;
const CANCELLED: u8 = 1;
const COMMITTING: u8 = 2;
const _: () = assert!(OPEN != CANCELLED && OPEN != COMMITTING && CANCELLED != COMMITTING);

/// Shared by a query or a change and whoever may stop it.
#[derive(Clone, Debug)]
pub struct StopToken {
    /// [`OPEN`], [`CANCELLED`] or [`COMMITTING`]; the latter two for good.
    fate: Arc<AtomicU8>,
    started: Instant,
    timeout: Option<Duration>,
    age_max: Option<Duration>,
    pace: Option<Arc<dyn Pace>>,
    other: Option<Other>,
}

/// Somebody else who says stop.
#[derive(Clone)]
struct Other(Arc<dyn explore::Stop + Send>);

impl fmt::Debug for Other {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Other({:?})", self.0.reason())
    }
}

impl StopToken {
    /// A token whose time begins now.
    pub fn starting_now(timeout: Option<Duration>) -> StopToken {
        StopToken {
            fate: Arc::new(AtomicU8::new(OPEN)),
            started: Instant::now(),
            timeout,
            age_max: None,
            pace: None,
            other: None,
        }
    }

    /// A token for a part of the work that this one stops. It has a time of its own, which begins now; who cancels one of
    /// them cancels all.
    #[must_use]
    pub(crate) fn part(&self, timeout: Option<Duration>) -> StopToken {
        StopToken {
            fate: Arc::clone(&self.fate),
            ..StopToken::starting_now(timeout)
        }
    }

    /// The same for work that is cancelled when somebody else says stop, too.
    #[must_use]
    pub(crate) fn with_other(self, stop: Arc<dyn explore::Stop + Send>) -> StopToken {
        let other = Some(Other(stop));
        StopToken { other, ..self }
    }

    /// The same for a query that computes at this pace.
    #[must_use]
    pub fn with_pace(self, pace: Option<Arc<dyn Pace>>) -> StopToken {
        StopToken { pace, ..self }
    }

    /// The same for a reader of a graph that may change: it is stopped at this age also where it has
    /// more time, because what it sees cannot be let go of.
    #[must_use]
    pub fn with_snapshot_age(self, age_max: Duration) -> StopToken {
        StopToken {
            age_max: Some(age_max),
            ..self
        }
    }

    /// Stops the query at its next look. False says that it is a change which is being committed, and will
    /// be: that cannot be stopped any more. True says that it will change nothing.
    pub fn cancel(&self) -> bool {
        self.decide(CANCELLED)
    }

    /// From now on a change cannot be stopped; false where it was before.
    pub fn begin_commit(&self) -> bool {
        self.decide(COMMITTING)
    }

    fn decide(&self, fate: u8) -> bool {
        let before = self
            .fate
            .compare_exchange(OPEN, fate, Ordering::Relaxed, Ordering::Relaxed);
        before.is_ok() || before == Err(fate)
    }

    fn is_cancelled(&self) -> bool {
        let others = || {
            let other = self.other.as_ref();
            other.is_some_and(|other| other.0.reason().is_some())
        };
        self.fate.load(Ordering::Relaxed) == CANCELLED || others()
    }

    /// Whether to stop, and why.
    pub fn reason(&self) -> Option<StopReason> {
        if self.is_cancelled() {
            return Some(StopReason::Cancelled);
        }
        let elapsed = self.started.elapsed();
        let is_over = |limit: Option<Duration>| limit.is_some_and(|limit| elapsed >= limit);
        if is_over(self.timeout) {
            return Some(StopReason::Deadline);
        }
        is_over(self.age_max).then_some(StopReason::Outdated)
    }

    /// For how long the query may still run: nothing once it is to stop, [`Duration::MAX`] without a limit.
    pub fn left(&self) -> Duration {
        if self.is_cancelled() {
            return Duration::ZERO;
        }
        let limits = [self.timeout, self.age_max].into_iter().flatten();
        let least = limits.min().unwrap_or(Duration::MAX);
        least.saturating_sub(self.started.elapsed())
    }

    /// As [`StopToken::reason`], for the threads that compute: lets other queries have their turn first.
    pub fn look(&self) -> Option<StopReason> {
        let reason = self.reason();
        let (None, Some(pace)) = (reason, &self.pace) else {
            return reason;
        };
        pace.look(&|| self.left());
        self.reason()
    }

    /// Waits for somebody else, without a share of the processors meanwhile.
    pub fn waiting<T>(&self, wait: impl FnOnce() -> T) -> T {
        self.suspended(Wait::Other, wait)
    }

    /// Waits for another thread of the same query.
    pub fn waiting_for_own<T>(&self, wait: impl FnOnce() -> T) -> T {
        self.suspended(Wait::Own, wait)
    }

    fn suspended<T>(&self, whom: Wait, wait: impl FnOnce() -> T) -> T {
        let Some(pace) = &self.pace else {
            return wait();
        };
        pace.suspend(whom);
        // Also when `wait` panics: the thread's end suspends it for good.
        let _resumed = Resumed(self, whom);
        wait()
    }

    /// Counts the calling thread among those that compute, until the guard is dropped.
    pub fn computing(&self) -> Computing<'_> {
        self.resume(Wait::Own);
        Computing(self)
    }

    /// Says that a heavy walk on so many threads is about to begin, which may have to wait for its turn.
    pub fn expect_heavy(&self, threads: usize) {
        if let Some(pace) = &self.pace {
            pace.expect_heavy(threads, &|| self.left());
        }
    }

    fn resume(&self, wait: Wait) {
        if let Some(pace) = &self.pace {
            pace.resume(wait, &|| self.left());
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

struct Resumed<'t>(&'t StopToken, Wait);

impl Drop for Resumed<'_> {
    fn drop(&mut self) {
        self.0.resume(self.1);
    }
}

/// A thread that computes for its query.
#[must_use]
pub struct Computing<'t>(&'t StopToken);

impl Drop for Computing<'_> {
    fn drop(&mut self) {
        if let Some(pace) = &self.0.pace {
            pace.suspend(Wait::Own);
        }
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
        assert_eq!(token.left(), Duration::ZERO);
        let endless = StopToken::starting_now(None);
        assert_eq!(endless.reason(), None);
        assert!(endless.left() > Duration::from_hours(1 << 20));
        endless.cancel();
        assert_eq!(endless.left(), Duration::ZERO);
    }

    #[test]
    fn a_change_is_cancelled_or_committed_and_never_both() {
        let token = StopToken::starting_now(None);
        assert!(token.begin_commit() && token.begin_commit());
        assert!(!token.cancel());
        assert_eq!(token.reason(), None);
        let token = StopToken::starting_now(None);
        assert!(token.cancel() && token.cancel());
        assert!(!token.begin_commit());
        assert_eq!(token.reason(), Some(StopReason::Cancelled));
    }

    #[test]
    fn a_snapshot_grows_old() {
        let long = Some(Duration::from_hours(1));
        let token = StopToken::starting_now(long).with_snapshot_age(Duration::ZERO);
        assert_eq!(token.reason(), Some(StopReason::Outdated));
        let token = StopToken::starting_now(long).with_snapshot_age(Duration::from_mins(1));
        assert_eq!(token.reason(), None);
        let left = token.left();
        assert!(left > Duration::from_secs(30) && left <= Duration::from_mins(1));
        let token = StopToken::starting_now(Some(Duration::ZERO)).with_snapshot_age(Duration::ZERO);
        assert_eq!(
            token.reason(),
            Some(StopReason::Deadline),
            "whichever is asked first"
        );
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
