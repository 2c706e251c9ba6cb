//! Admission: a bounded number of queries runs, a bounded number waits, the rest is told to come
//! back.
//!
//! Waiting is first come, first served, costs no thread, and ends with the client: who goes away
//! while it waits gives up its place. The time spent waiting is part of the query's time.
//!
//! A query whose client does not take what it has printed computes nothing, so it steps aside: its
//! permit goes to the next in the queue, and it queues again once there is room for its output.
//! Without that, as many clients that do not read as there are permits would stop everybody. Those
//! that stand aside keep a thread and their memory, so their number is bounded too: beyond it, one
//! that queues already to come back changes places with the newcomer, whose permit it gets, past the
//! queue; where none queues, the one that has stood longest is ended, if that is longer than
//! [`STANDING_MIN`]; if none has, the newcomer keeps its permit and tries again. Without the change
//! of places, those that hold permits and those that queue for them would wait for each other.
//!
//! | who | touches | when |
//! |---|---|---|
//! | requests | `waiting`, up and down | around their wait |
//! | the semaphore | permits | given back when a query ends or steps aside |
//! | engine threads | `aside` | when they step aside, when they come back |

use std::collections::VecDeque;
use std::pin::pin;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Wake, Waker};
use std::thread::Thread;
use std::time::{Duration, Instant};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// A client that took nothing for so long may lose its query to others that stand aside.
pub(crate) const STANDING_MIN: Duration = Duration::from_secs(1);

/// How many queries may do what, at most.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Bounds {
    /// Compute.
    pub running: usize,
    /// Wait for their turn.
    pub waiting: usize,
    /// Stand aside until their client goes on.
    pub aside: usize,
}

/// The gate in front of the engine.
#[derive(Debug)]
pub(crate) struct Gate {
    shared: Arc<Shared>,
    waiting: AtomicUsize,
    waiting_max: usize,
}

#[derive(Debug)]
struct Shared {
    permits: Arc<Semaphore>,
    /// Longest first.
    aside: Mutex<VecDeque<Arc<Standing>>>,
    aside_max: usize,
}

/// Why a query was not let in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Turned {
    /// Too many wait already.
    Away,
    /// Its time was over before its turn came.
    TooLate,
}

impl Gate {
    /// A gate within these bounds.
    pub fn new(bounds: Bounds) -> Gate {
        let shared = Shared {
            permits: Arc::new(Semaphore::new(bounds.running)),
            aside: Mutex::default(),
            aside_max: bounds.aside,
        };
        Gate {
            shared: Arc::new(shared),
            waiting: AtomicUsize::new(0),
            waiting_max: bounds.waiting,
        }
    }

    /// Waits for a turn, at most so long.
    pub async fn enter(&self, patience: Duration) -> Result<Turn, Turned> {
        if let Some(turn) = self.enter_now() {
            return Ok(turn);
        }
        let _place = self.place().ok_or(Turned::Away)?;
        let permit = Arc::clone(&self.shared.permits).acquire_owned();
        match tokio::time::timeout(patience, permit).await {
            Ok(permit) => Ok(self.turn(permit.expect(NEVER_CLOSED))),
            Err(_) => Err(Turned::TooLate),
        }
    }

    /// A turn, where one is free.
    pub fn enter_now(&self) -> Option<Turn> {
        let permit = Arc::clone(&self.shared.permits).try_acquire_owned();
        permit.ok().map(|permit| self.turn(permit))
    }

    /// How many wait now.
    pub fn waiting(&self) -> usize {
        self.waiting.load(Ordering::Relaxed)
    }

    /// How many stand aside now.
    pub fn aside(&self) -> usize {
        self.shared.aside().len()
    }

    fn turn(&self, permit: OwnedSemaphorePermit) -> Turn {
        Turn {
            shared: Arc::clone(&self.shared),
            state: Mutex::new(State::Running(permit)),
        }
    }

    fn place(&self) -> Option<Place<'_>> {
        let place = Place(&self.waiting);
        // Counted before it is compared: the place gives its count back either way.
        let before = self.waiting.fetch_add(1, Ordering::Relaxed);
        (before < self.waiting_max).then_some(place)
    }
}

const NEVER_CLOSED: &str = "the gate is never closed";

impl Shared {
    /// Whole at every moment, so a poisoned lock holds no harm.
    fn aside(&self) -> MutexGuard<'_, VecDeque<Arc<Standing>>> {
        self.aside.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A place among those that stand aside for this permit, which comes back where there is none.
    fn stand(&self, permit: OwnedSemaphorePermit) -> Result<Arc<Standing>, OwnedSemaphorePermit> {
        let mut aside = self.aside();
        if aside.len() >= self.aside_max {
            if let Some(place) = aside.iter().position(|other| other.is_returning()) {
                if let Some(returning) = aside.remove(place) {
                    *returning.handed() = Some(permit);
                }
            } else if let Some(oldest) = aside.iter().position(|other| other.may_be_ended()) {
                if let Some(ended) = aside.remove(oldest) {
                    ended.is_over.store(true, Ordering::Relaxed);
                }
            } else {
                return Err(permit);
            }
        }
        let standing = Arc::new(Standing {
            since: Instant::now(),
            is_over: AtomicBool::new(false),
            is_returning: AtomicBool::new(false),
            handed: Mutex::default(),
        });
        aside.push_back(Arc::clone(&standing));
        Ok(standing)
    }

    fn leave(&self, standing: &Arc<Standing>) {
        self.aside().retain(|other| !Arc::ptr_eq(other, standing));
    }
}

/// A place in the queue, left by dropping it.
struct Place<'a>(&'a AtomicUsize);

impl Drop for Place<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

/// A query that stands aside.
#[derive(Debug)]
struct Standing {
    since: Instant,
    /// Another one has taken its place.
    is_over: AtomicBool,
    /// Its client goes on, and it queues for a permit. It keeps its place meanwhile, so that the
    /// places bound the threads.
    is_returning: AtomicBool,
    /// The permit of one that took its place while it queued.
    handed: Mutex<Option<OwnedSemaphorePermit>>,
}

impl Standing {
    fn may_be_ended(&self) -> bool {
        self.since.elapsed() >= STANDING_MIN
    }

    fn is_returning(&self) -> bool {
        self.is_returning.load(Ordering::Relaxed)
    }

    fn handed(&self) -> MutexGuard<'_, Option<OwnedSemaphorePermit>> {
        self.handed.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// One query's right to run, given back when it is dropped. Used by the query's thread alone.
#[derive(Debug)]
pub(crate) struct Turn {
    shared: Arc<Shared>,
    state: Mutex<State>,
}

#[derive(Debug)]
enum State {
    Running(OwnedSemaphorePermit),
    Aside(Arc<Standing>),
    Over,
}

impl Turn {
    /// Gives the permit to the next in the queue while the client is behind. Does nothing where too
    /// many stand aside, or where this one does already.
    pub fn step_aside(&self) {
        let mut state = self.state();
        *state = match std::mem::replace(&mut *state, State::Over) {
            State::Running(permit) => match self.shared.stand(permit) {
                Ok(standing) => State::Aside(standing),
                Err(permit) => State::Running(permit),
            },
            other => other,
        };
    }

    /// Whether this query lost its place to another one.
    pub fn is_over(&self) -> bool {
        match &*self.state() {
            State::Aside(standing) => standing.is_over.load(Ordering::Relaxed),
            State::Running(_) | State::Over => false,
        }
    }

    /// Takes the turn up again; queues for it, and asks about every `look` whether to give up,
    /// which it tells by `false`.
    pub fn come_back(&self, look: Duration, give_up: impl Fn() -> bool) -> bool {
        let standing = match &*self.state() {
            State::Aside(standing) => Arc::clone(standing),
            State::Running(_) | State::Over => return true,
        };
        standing.is_returning.store(true, Ordering::Relaxed);
        let permit = wait_for_permit(&self.shared.permits, look, || {
            give_up() || standing.is_over.load(Ordering::Relaxed) || standing.handed().is_some()
        });
        // Not in the match itself, which would hold the lock while the places aside are locked: who steps
        // aside takes the two the other way round.
        let handed = standing.handed().take();
        // Two permits, where both came at once: the other one goes on to the next in the queue.
        match handed.or(permit) {
            Some(permit) => {
                self.shared.leave(&standing);
                *self.state() = State::Running(permit);
                true
            }
            None => false,
        }
    }

    /// Gives the right back for good.
    pub fn end(&self) {
        let state = std::mem::replace(&mut *self.state(), State::Over);
        if let State::Aside(standing) = state {
            self.shared.leave(&standing);
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        self.end();
    }
}

/// Queues for a permit on a thread that may block.
fn wait_for_permit(
    permits: &Arc<Semaphore>,
    look: Duration,
    give_up: impl Fn() -> bool,
) -> Option<OwnedSemaphorePermit> {
    let permit = block_on(Arc::clone(permits).acquire_owned(), look, give_up)?;
    Some(permit.expect(NEVER_CLOSED))
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

    const LOOK: Duration = Duration::from_millis(1);

    fn gate(running: usize, waiting: usize, aside: usize) -> Gate {
        Gate::new(Bounds {
            running,
            waiting,
            aside,
        })
    }

    #[tokio::test]
    async fn some_run_some_wait_the_rest_is_turned_away() {
        let gate = gate(1, 1, 0);
        let patience = Duration::from_millis(20);
        let running = gate.enter(patience).await.unwrap();
        let (second, third) = tokio::join!(gate.enter(patience), gate.enter(patience));
        assert_eq!(second.unwrap_err(), Turned::TooLate);
        assert_eq!(third.unwrap_err(), Turned::Away);
        assert_eq!(gate.waiting(), 0);
        drop(running);
        assert!(gate.enter(patience).await.is_ok());
    }

    #[test]
    fn who_steps_aside_lets_another_in_and_queues_to_come_back() {
        let gate = gate(1, 0, 1);
        let first = gate.enter_now().unwrap();
        assert!(gate.enter_now().is_none());
        first.step_aside();
        let second = gate.enter_now().unwrap();
        assert_eq!(gate.aside(), 1);
        std::thread::scope(|scope| {
            let back = scope.spawn(|| first.come_back(LOOK, || false));
            std::thread::sleep(Duration::from_millis(20));
            assert!(!back.is_finished());
            drop(second);
            assert!(back.join().unwrap());
        });
        assert_eq!(gate.aside(), 0);
        assert!(gate.enter_now().is_none());
        drop(first);
        assert!(gate.enter_now().is_some());
    }

    #[test]
    fn whoever_gives_up_waiting_gives_everything_back() {
        let gate = gate(1, 0, 1);
        let first = gate.enter_now().unwrap();
        first.step_aside();
        let second = gate.enter_now().unwrap();
        assert!(!first.come_back(LOOK, || true));
        drop((first, second));
        assert!(gate.enter_now().is_some());
    }

    #[test]
    fn the_longest_aside_is_ended_for_another_but_not_before_its_time() {
        let gate = gate(1, 0, 1);
        let first = gate.enter_now().unwrap();
        first.step_aside();
        let second = gate.enter_now().unwrap();
        second.step_aside();
        assert!(gate.enter_now().is_none(), "the place aside is taken");
        assert!(!first.is_over());
        std::thread::sleep(STANDING_MIN);
        second.step_aside();
        assert!(first.is_over() && !second.is_over());
        assert_eq!(gate.aside(), 1);
        assert!(gate.enter_now().is_some());
        assert!(!first.come_back(LOOK, || false));
    }

    #[test]
    fn many_that_step_aside_and_come_back_all_get_on() {
        let gate = gate(2, 0, 1);
        let first = gate.enter_now().unwrap();
        let second = gate.enter_now().unwrap();
        first.step_aside();
        let third = gate.enter_now().unwrap();
        let looked = std::sync::atomic::AtomicUsize::new(0);
        let turns = [first, second, third];
        std::thread::scope(|scope| {
            for turn in &turns {
                scope.spawn(|| {
                    for _ in 0..300 {
                        turn.step_aside();
                        let look = || {
                            looked.fetch_add(1, Ordering::Relaxed);
                            false
                        };
                        if !turn.come_back(LOOK, look) {
                            // Ended for standing too long: there is nothing to come back to.
                            turn.end();
                            return;
                        }
                    }
                    turn.end();
                });
            }
        });
        assert!(looked.into_inner() > 0);
        assert_eq!(gate.aside(), 0);
    }

    #[test]
    fn whose_client_goes_on_changes_places_with_one_whose_client_stops() {
        let gate = gate(1, 0, 1);
        let first = gate.enter_now().unwrap();
        first.step_aside();
        let second = gate.enter_now().unwrap();
        std::thread::scope(|scope| {
            let back = scope.spawn(|| first.come_back(LOOK, || false));
            std::thread::sleep(STANDING_MIN + Duration::from_millis(50));
            second.step_aside();
            assert!(!first.is_over(), "it is not ended, long as it stood");
            assert_eq!(gate.aside(), 1, "its place is the other's now");
            assert!(back.join().unwrap());
        });
        assert!(
            gate.enter_now().is_none(),
            "one permit, and the first has it"
        );
        drop(first);
        assert!(second.come_back(LOOK, || false));
        assert_eq!(gate.aside(), 0);
    }
}
