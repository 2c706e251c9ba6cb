//! The types of `shuttle` under the names of the standard library's and `tokio`'s, a clock that a model moves, and a
//! fault that a test can plant.
//!
//! `shuttle` runs a model many times, each time in another order that a seed gives. [`World`] says what else may happen:
//! time may pass, so that every wait with a limit may end by it and every look at the clock may find it late; or it does
//! not, and whoever relies on being woken and is not, hangs, which fails the model. All threads of a model run on one
//! thread of the system, so a world is that of one test.

use shuttle::rand::{Rng, thread_rng};
use std::cell::Cell;
use std::future::poll_fn;
use std::ops::{Deref, DerefMut};
use std::pin::pin;
use std::sync::{LockResult, PoisonError, TryLockError, TryLockResult};
use std::task::Poll;
use std::time::{Duration, Instant};

/// A wait with a limit ends by it once in so many times, where time passes.
const LIMITS: u32 = 4;
/// Steps of the clock between two looks at it, where time passes (ms): most are looks within a slice.
const STEPS_MS: [u64; 6] = [0, 0, 1, 3, 12, 45];

/// What may happen to a model besides the order of its steps.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct World {
    /// The clock goes on, and limits of time are reached.
    pub(crate) time_passes: bool,
    pub(crate) fault: Option<Fault>,
}

/// What a test plants, to show that its model would find it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fault {
    /// No thread that waits is woken.
    NoThreadWoken,
    /// No task that waits is woken.
    NoTaskWoken,
}

thread_local! {
    static WORLD: Cell<World> = const { Cell::new(World { time_passes: false, fault: None }) };
    static BASE: Instant = Instant::now();
    static PASSED: Cell<Duration> = const { Cell::new(Duration::ZERO) };
}

/// Runs `check` in this world.
pub(crate) fn within(world: World, check: impl FnOnce()) {
    WORLD.set(world);
    check();
    WORLD.set(World::default());
}

fn is_planted(fault: Fault) -> bool {
    WORLD.get().fault == Some(fault)
}

fn is_limit_reached() -> bool {
    WORLD.get().time_passes && thread_rng().gen_ratio(1, LIMITS)
}

fn pass(time: Duration) {
    PASSED.set(PASSED.get() + time);
}

/// The time of the model. Outside of one it stands still.
pub(crate) fn now() -> Instant {
    if WORLD.get().time_passes {
        let step = STEPS_MS[thread_rng().gen_range(0..STEPS_MS.len())];
        pass(Duration::from_millis(step));
    }
    BASE.with(|base| *base) + PASSED.get()
}

/// A limit of time was reached.
#[derive(Debug)]
pub(crate) struct Elapsed;

pub(crate) async fn timeout<F: Future>(most: Duration, future: F) -> Result<F::Output, Elapsed> {
    if !is_limit_reached() {
        return Ok(future.await);
    }
    shuttle::future::yield_now().await;
    let mut future = pin!(future);
    let polled = poll_fn(|context| Poll::Ready(future.as_mut().poll(context))).await;
    match polled {
        Poll::Ready(output) => Ok(output),
        Poll::Pending => {
            pass(most.min(Duration::from_secs(1)));
            Err(Elapsed)
        }
    }
}

pub(crate) async fn sleep(time: Duration) {
    shuttle::future::yield_now().await;
    if WORLD.get().time_passes {
        pass(time);
    }
}

pub(crate) async fn sleep_until(due: Instant) {
    if !WORLD.get().time_passes {
        std::future::pending::<()>().await;
    }
    shuttle::future::yield_now().await;
    pass(due.saturating_duration_since(now()));
}

/// `shuttle`'s lock.
#[derive(Debug, Default)]
pub(crate) struct Mutex<T>(shuttle::sync::Mutex<T>);

/// Its guard, which knows the lock: a wait whose limit is reached gives it back for a moment.
#[derive(Debug)]
pub(crate) struct MutexGuard<'a, T> {
    mutex: &'a Mutex<T>,
    guard: Option<shuttle::sync::MutexGuard<'a, T>>,
}

impl<T> Mutex<T> {
    pub(crate) fn new(value: T) -> Mutex<T> {
        Mutex(shuttle::sync::Mutex::new(value))
    }

    pub(crate) fn lock(&self) -> LockResult<MutexGuard<'_, T>> {
        match self.0.lock() {
            Ok(guard) => Ok(self.guarded(guard)),
            Err(poisoned) => Err(PoisonError::new(self.guarded(poisoned.into_inner()))),
        }
    }

    pub(crate) fn try_lock(&self) -> TryLockResult<MutexGuard<'_, T>> {
        match self.0.try_lock() {
            Ok(guard) => Ok(self.guarded(guard)),
            Err(TryLockError::WouldBlock) => Err(TryLockError::WouldBlock),
            Err(TryLockError::Poisoned(poisoned)) => {
                let guard = self.guarded(poisoned.into_inner());
                Err(TryLockError::Poisoned(PoisonError::new(guard)))
            }
        }
    }

    fn guarded<'a>(&'a self, guard: shuttle::sync::MutexGuard<'a, T>) -> MutexGuard<'a, T> {
        MutexGuard {
            mutex: self,
            guard: Some(guard),
        }
    }
}

impl<T> Deref for MutexGuard<'_, T> {
    type Target = T;

    fn deref(&self) -> &T {
        self.guard.as_ref().expect("held until it is dropped")
    }
}

impl<T> DerefMut for MutexGuard<'_, T> {
    fn deref_mut(&mut self) -> &mut T {
        self.guard.as_mut().expect("held until it is dropped")
    }
}

/// `shuttle`'s condition.
#[derive(Debug, Default)]
pub(crate) struct Condvar(shuttle::sync::Condvar);

/// Whether a wait ended by its limit.
#[derive(Clone, Copy, Debug)]
pub(crate) struct WaitTimeoutResult(bool);

impl WaitTimeoutResult {
    pub(crate) fn timed_out(self) -> bool {
        self.0
    }
}

impl Condvar {
    pub(crate) fn new() -> Condvar {
        Condvar::default()
    }

    pub(crate) fn wait_timeout<'a, T>(
        &self,
        mut guard: MutexGuard<'a, T>,
        most: Duration,
    ) -> LockResult<(MutexGuard<'a, T>, WaitTimeoutResult)> {
        let mutex = guard.mutex;
        let held = guard.guard.take().expect("held until it is dropped");
        let is_over = is_limit_reached();
        let woken = if is_over {
            drop(held);
            shuttle::thread::yield_now();
            pass(most.min(Duration::from_secs(1)));
            mutex.0.lock()
        } else {
            self.0.wait(held)
        };
        let whole = |guard| (mutex.guarded(guard), WaitTimeoutResult(is_over));
        match woken {
            Ok(guard) => Ok(whole(guard)),
            Err(poisoned) => Err(PoisonError::new(whole(poisoned.into_inner()))),
        }
    }

    pub(crate) fn notify_one(&self) {
        if !is_planted(Fault::NoThreadWoken) {
            self.0.notify_one();
        }
    }

    pub(crate) fn notify_all(&self) {
        if !is_planted(Fault::NoThreadWoken) {
            self.0.notify_all();
        }
    }
}

/// `tokio`'s, which works with any executor.
#[derive(Debug, Default)]
pub(crate) struct Notify(tokio::sync::Notify);

impl Notify {
    pub(crate) fn notify_one(&self) {
        if !is_planted(Fault::NoTaskWoken) {
            self.0.notify_one();
        }
    }

    pub(crate) fn notified(&self) -> tokio::sync::futures::Notified<'_> {
        self.0.notified()
    }
}

/// Runs a model in many orders: of all kinds, and of those with few interruptions.
pub(crate) fn check(name: &str, world: World, model: fn()) {
    /// Orders that are tried (count), by each of two ways to choose them.
    const ORDERS: usize = 1000;
    const ORDERS_LONG: usize = 50 * ORDERS;
    /// The first order; the others follow from it.
    const SEED: u64 = 20_261_125;
    const INTERRUPTIONS: usize = 3;
    let is_long = std::env::var_os("SOMERSAULT_LONG").is_some();
    let orders = if is_long { ORDERS_LONG } else { ORDERS };
    within(world, || {
        let random = shuttle::scheduler::RandomScheduler::new_from_seed(SEED, orders);
        let random = run(random, model);
        let few = shuttle::scheduler::PctScheduler::new_from_seed(SEED, INTERRUPTIONS, orders);
        let orders = random + run(few, model);
        println!("model {name}: {orders} orders");
    });
}

fn run(scheduler: impl shuttle::scheduler::Scheduler + 'static, model: fn()) -> usize {
    /// Bytes of a thread's stack.
    const STACK_BYTES: usize = 256 << 10;
    let mut config = shuttle::Config::new();
    config.stack_size = STACK_BYTES;
    config.silence_warnings = true;
    config
        .ungraceful_shutdown_config
        .immediately_return_on_panic = true;
    shuttle::Runner::new(scheduler, config).run(model)
}

/// A model in this world must fail.
pub(crate) fn finds(name: &str, world: World, model: fn()) {
    let checking = || check(name, world, model);
    let checked = std::panic::catch_unwind(std::panic::AssertUnwindSafe(checking));
    WORLD.set(World::default());
    assert!(checked.is_err(), "{name} finds nothing");
    println!("model {name}: found");
}
