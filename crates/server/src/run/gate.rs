//! Admission of changes: a bounded number at once, a bounded number waits, the rest is told to come back.
//!
//! Changes have gates of their own, so that none waits behind queries and no query behind them. Waiting is
//! first come, first served, costs no thread, and ends with the client.
//!
//! A change whose document still arrives holds a thread at the pace of its client. Where all places are
//! taken, the one whose client has sent nothing for longest is ended, if that is longer than
//! [`IDLE_MIN`]: so clients that stall hold up others by a second at most. Where more wait than there are
//! places, the time is shorter by as many times, because those in front may stall as well.
//!
//! | who | touches | when |
//! |---|---|---|
//! | requests | `waiting` up and down; `places` (reads all) | around their wait |
//! | the semaphore | permits | given back when a change ends |
//! | engine threads | `ChangePermit::idle_since_ns` | when they begin and end to wait for their client |

use std::pin::pin;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::task::{Context, Poll, Wake, Waker};
use std::thread::Thread;
use std::time::{Duration, Instant};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

pub(crate) use super::admission::Turned;

/// A client that sent nothing for so long may lose its change to others.
pub(crate) const IDLE_MIN: Duration = Duration::from_secs(1);
/// The same where very many wait: more than a packet that was lost costs on most ways.
const IDLE_LEAST: Duration = Duration::from_millis(250);
const _: () = assert!(
    IDLE_LEAST.as_nanos() <= IDLE_MIN.as_nanos(),
    "many wait less long"
);

/// How often one that waits looks for a place whose client stalls.
const LOOK: Duration = Duration::from_millis(100);
/// [`ChangePermit::idle_since_ns`] of a change that does not wait for its client.
const BUSY: u64 = u64::MAX;

/// The gate in front of some kind of change.
#[derive(Debug)]
pub(crate) struct Gate {
    permits: Arc<Semaphore>,
    places: Mutex<Vec<Weak<ChangePermit>>>,
    base: Instant,
    waiting: AtomicUsize,
    waiting_max: usize,
    running_max: usize,
}

/// A change's right to run, given back when its last owner drops it.
#[derive(Debug)]
pub(crate) struct ChangePermit {
    base: Instant,
    /// Since when its client has sent nothing, in nanoseconds since `base`.
    idle_since_ns: AtomicU64,
    /// Another change has taken its place.
    is_over: AtomicBool,
    _permit: OwnedSemaphorePermit,
}

impl Gate {
    /// A gate for so many at once, and so many that wait.
    pub fn new(running_max: usize, waiting_max: usize) -> Gate {
        Gate {
            permits: Arc::new(Semaphore::new(running_max)),
            places: Mutex::default(),
            base: Instant::now(),
            waiting: AtomicUsize::new(0),
            waiting_max,
            running_max,
        }
    }

    /// Waits for a place, at most so long.
    pub async fn enter(&self, patience: Duration) -> Result<Arc<ChangePermit>, Turned> {
        if let Ok(permit) = Arc::clone(&self.permits).try_acquire_owned() {
            return Ok(self.admit(permit));
        }
        let _waiting = self.queue().ok_or(Turned::Away)?;
        let begun = Instant::now();
        let permit = Arc::clone(&self.permits).acquire_owned();
        let mut permit = pin!(permit);
        loop {
            self.end_idlest();
            let left = patience.saturating_sub(begun.elapsed());
            match tokio::time::timeout(left.min(LOOK), permit.as_mut()).await {
                Ok(permit) => return Ok(self.admit(permit.expect("the gate is never closed"))),
                Err(_) if left <= LOOK => return Err(Turned::TooLate),
                Err(_) => {}
            }
        }
    }

    /// How many wait now.
    pub fn waiting(&self) -> usize {
        self.waiting.load(Ordering::Relaxed)
    }

    fn admit(&self, permit: OwnedSemaphorePermit) -> Arc<ChangePermit> {
        let place = Arc::new(ChangePermit {
            base: self.base,
            idle_since_ns: AtomicU64::new(BUSY),
            is_over: AtomicBool::new(false),
            _permit: permit,
        });
        let mut places = self.places();
        places.retain(|place| place.strong_count() > 0);
        places.push(Arc::downgrade(&place));
        assert!(
            places.len() <= self.running_max,
            "no more changes run than may"
        );
        place
    }

    /// Ends the change whose client has sent nothing for longest, if that is long enough.
    fn end_idlest(&self) {
        let places: Vec<Arc<ChangePermit>> =
            self.places().iter().filter_map(Weak::upgrade).collect();
        let still = places.iter().filter(|place| !place.is_over());
        let idlest = still.min_by_key(|place| place.idle_since_ns.load(Ordering::Relaxed));
        let Some(place) = idlest else {
            return;
        };
        let since = Duration::from_nanos(place.idle_since_ns.load(Ordering::Relaxed));
        if self
            .base
            .elapsed()
            .checked_sub(since)
            .is_some_and(|idle| idle >= idle_min(self.waiting(), self.running_max))
        {
            place.is_over.store(true, Ordering::Relaxed);
        }
    }

    fn queue(&self) -> Option<Queued<'_>> {
        let queued = Queued(&self.waiting);
        // Counted before it is compared: the guard gives the count back either way.
        let before = self.waiting.fetch_add(1, Ordering::Relaxed);
        (before < self.waiting_max).then_some(queued)
    }

    /// Whole at every moment, so a poisoned lock holds no harm.
    fn places(&self) -> MutexGuard<'_, Vec<Weak<ChangePermit>>> {
        self.places.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// How long a client may send nothing while so many wait for so many places.
fn idle_min(waiting: usize, places: usize) -> Duration {
    let rounds = u32::try_from(waiting.div_ceil(places.max(1))).unwrap_or(u32::MAX);
    (IDLE_MIN / rounds.max(1)).max(IDLE_LEAST)
}

impl ChangePermit {
    /// Waits for the change's client.
    pub fn waiting<T>(&self, wait: impl FnOnce() -> T) -> T {
        let since = self.base.elapsed().as_nanos() as u64;
        self.idle_since_ns.store(since, Ordering::Relaxed);
        let result = wait();
        self.idle_since_ns.store(BUSY, Ordering::Relaxed);
        result
    }

    /// Whether the change lost its place to another one.
    pub fn is_over(&self) -> bool {
        self.is_over.load(Ordering::Relaxed)
    }
}

/// A place in the queue, left by dropping it.
struct Queued<'a>(&'a AtomicUsize);

impl Drop for Queued<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Waits for a future on a thread that may block, and asks about every `look` whether to give up.
/// The future is polled by hand, because a timer of the runtime could be gone when the server ends
/// and this thread still waits.
pub(crate) fn block_on<F: Future>(
    future: F,
    look: Duration,
    give_up: impl Fn() -> bool,
) -> Option<F::Output> {
    let waker = Waker::from(Arc::new(Unpark(std::thread::current())));
    let mut context = Context::from_waker(&waker);
    let mut future = pin!(future);
    while !give_up() {
        match future.as_mut().poll(&mut context) {
            Poll::Ready(output) => return Some(output),
            Poll::Pending => std::thread::park_timeout(look),
        }
    }
    None
}

struct Unpark(Thread);

impl Wake for Unpark {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn those_who_stall_have_less_time_where_many_wait() {
        assert_eq!([idle_min(1, 16), idle_min(16, 16)], [IDLE_MIN; 2]);
        assert_eq!(idle_min(17, 16), IDLE_MIN / 2);
        assert_eq!([idle_min(1000, 16), idle_min(1000, 0)], [IDLE_LEAST; 2]);
    }

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

    #[tokio::test]
    async fn a_client_that_sends_nothing_loses_its_place_and_no_other_does() {
        let gate = Gate::new(2, 1);
        let busy = gate.enter(LOOK).await.unwrap();
        let idle = gate.enter(LOOK).await.unwrap();
        let stalled = Arc::clone(&idle);
        let thread = std::thread::spawn(move || {
            stalled.waiting(|| {
                while !stalled.is_over() {
                    std::thread::sleep(Duration::from_millis(5));
                }
            });
        });
        drop(idle);
        let begun = Instant::now();
        let newcomer = gate.enter(Duration::from_secs(20)).await.unwrap();
        assert!(begun.elapsed() + Duration::from_millis(50) >= IDLE_MIN);
        assert!(!busy.is_over() && !newcomer.is_over());
        thread.join().unwrap();
        // Nobody else is idle, so nobody else goes.
        let refused = gate.enter(2 * LOOK).await;
        assert_eq!(refused.unwrap_err(), Turned::TooLate);
    }
}
