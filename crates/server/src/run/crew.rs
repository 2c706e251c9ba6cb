//! The threads of pushes: as many as there are processors, and whoever has worked last works next.
//!
//! ```text
//!  push --> somebody rests? yes: who began to rest last does it
//!                           no:  one more begins, up to the most; beyond, the push waits, in its order
//!  thread --> a push --> those that wait --> rests for REST_MAX --> ends
//! ```
//!
//! A push is read, which a processor does, and given to the streams, which have one lock: more at once than there are processors
//! gain nothing, and hold what they have read.
//!
//! **Why not the threads of the runtime.** Those take turns, and are as many as there are pushes at once. What each has read is garbage
//! soon, but stays with its thread, and beside it lies what was sealed and is kept for as long as windows reach. Beside five
//! streams eight of them held 64 to 118 MiB that nobody used, and two hold 45 to 89 (`docs/figures.md`).
//!
//! Invariant: what is given is done once, even if nobody waits for it any more; what panics is told of, and its thread goes on.
//! All threads stand back ([`runtime::stand_back`]).

use crate::runtime;
use std::collections::VecDeque;
use std::future::Future;
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{SyncSender, sync_channel};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::sync::oneshot;

/// Who has had nothing to do for so long ends.
const REST_MAX: Duration = Duration::from_secs(10);

type Work = Box<dyn FnOnce() + Send>;

/// See the head of this file.
pub(crate) struct Crew {
    shared: Arc<Shared>,
    threads_max: usize,
    /// Something was given since that was asked last.
    has_worked: AtomicBool,
}

/// Why there is no outcome.
#[derive(Debug, thiserror::Error)]
pub(crate) enum CrewError {
    /// The panic has been told of.
    #[error("it panicked")]
    Panicked,
    #[error("no thread could be started: {0}")]
    NoThread(io::Error),
}

#[derive(Default)]
struct Shared {
    state: Mutex<State>,
    /// Somebody has ended.
    ended: Condvar,
}

#[derive(Default)]
struct State {
    /// Who rests, by the number of the rest; the last has worked last.
    resting: Vec<(u64, SyncSender<Work>)>,
    /// What waits for a thread.
    waiting: VecDeque<Work>,
    /// Threads that are there (count).
    threads: usize,
    /// Rests so far, which numbers them.
    rests: u64,
    is_ending: bool,
}

impl Crew {
    /// Nobody yet, and at most so many threads.
    pub(crate) fn new(threads_max: usize) -> Crew {
        assert!(threads_max > 0, "somebody must do the work");
        Crew {
            shared: Arc::default(),
            threads_max,
            has_worked: AtomicBool::new(false),
        }
    }

    /// Whether something was given since this was asked last.
    pub(crate) fn has_worked(&self) -> bool {
        self.has_worked.swap(false, Ordering::Relaxed)
    }

    /// As many threads as there are processors, and two where there is one: what waits for the disk leaves it.
    pub(crate) fn of_processors() -> Crew {
        let processors = std::thread::available_parallelism().map_or(1, usize::from);
        Crew::new(processors.max(2))
    }

    /// Does something, from now on, whether the outcome is waited for or not.
    pub(crate) fn call<T, F>(
        &self,
        call: F,
    ) -> impl Future<Output = Result<T, CrewError>> + use<T, F>
    where
        T: Send + 'static,
        F: FnOnce() -> T + Send + 'static,
    {
        let (sender, outcome) = oneshot::channel();
        let work = Box::new(move || {
            // Where it panics, the sender goes with it. What it has left is the engine's to judge.
            if let Ok(outcome) = catch_unwind(AssertUnwindSafe(call)) {
                drop(sender.send(outcome));
            }
        });
        let given = self.give(work);
        async move {
            given.map_err(CrewError::NoThread)?;
            outcome.await.map_err(|_| CrewError::Panicked)
        }
    }

    fn give(&self, mut work: Work) -> io::Result<()> {
        self.has_worked.store(true, Ordering::Relaxed);
        let mut state = self.shared.lock();
        while let Some((_, seat)) = state.resting.pop() {
            match seat.send(work) {
                Ok(()) => return Ok(()),
                // It cannot have ended while it was among those that rest.
                Err(unsent) => work = unsent.0,
            }
        }
        state.waiting.push_back(work);
        if state.threads == self.threads_max {
            return Ok(());
        }
        let shared = Arc::clone(&self.shared);
        let thread = std::thread::Builder::new()
            .name("engine".to_owned())
            .stack_size(runtime::STACK_BYTES);
        // With the lock, so whoever begins finds it among what waits.
        match thread.spawn(move || shared.work()) {
            Ok(_) => state.threads += 1,
            // The others do it, if there are any.
            Err(error) if state.threads == 0 => {
                state.waiting.pop_back();
                return Err(error);
            }
            Err(_) => {}
        }
        Ok(())
    }

    /// Waits until all that was given is done, at most so long; nobody rests any more.
    pub(crate) fn end(&self, patience: Duration) {
        let mut state = self.shared.lock();
        state.is_ending = true;
        state.resting.clear();
        let some = |state: &mut State| state.threads > 0;
        let waited = self.shared.ended.wait_timeout_while(state, patience, some);
        drop(waited.unwrap_or_else(PoisonError::into_inner));
    }
}

impl Drop for Crew {
    fn drop(&mut self) {
        self.end(Duration::ZERO);
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Does what waits, and then what comes.
    fn work(&self) {
        runtime::stand_back();
        while let Some(work) = self.next() {
            work();
        }
        self.ended.notify_all();
    }

    /// What is to be done next; none: the thread ends, and is counted no more.
    fn next(&self) -> Option<Work> {
        let mut state = self.lock();
        if let Some(work) = state.waiting.pop_front() {
            return Some(work);
        }
        if state.is_ending {
            state.threads -= 1;
            return None;
        }
        let (seat, given) = sync_channel(1);
        let rest = state.rests;
        state.rests += 1;
        state.resting.push((rest, seat));
        drop(state);
        if let Ok(work) = given.recv_timeout(REST_MAX) {
            return Some(work);
        }
        let mut state = self.lock();
        state.resting.retain(|(number, _)| *number != rest);
        // Whoever took its seat away meanwhile has given it something, or is ending all.
        let given = given.try_recv().ok();
        let work = given.or_else(|| state.waiting.pop_front());
        if work.is_none() {
            state.threads -= 1;
        }
        work
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Barrier;
    use std::thread;

    #[tokio::test]
    async fn who_worked_last_works_next() {
        let crew = Crew::new(8);
        let together = Arc::new(Barrier::new(3));
        let calls: Vec<_> = (0..3)
            .map(|_| {
                let together = Arc::clone(&together);
                crew.call(move || together.wait().is_leader())
            })
            .collect();
        for call in calls {
            call.await.expect("it is done");
        }
        let rested = || crew.shared.lock().resting.len() == 3;
        while !rested() {
            tokio::task::yield_now().await;
        }
        let mut ids = Vec::new();
        for _ in 0..20 {
            ids.push(crew.call(|| thread::current().id()).await.expect("done"));
            while !rested() {
                tokio::task::yield_now().await;
            }
        }
        ids.dedup();
        assert_eq!(ids.len(), 1, "three rest, and one of them works");
    }

    #[tokio::test]
    async fn what_finds_nobody_waits() {
        let crew = Crew::new(2);
        let (open, gate) = oneshot::channel::<()>();
        let first = crew.call(move || gate.blocking_recv().unwrap());
        let others: Vec<_> = (0..50).map(|number| crew.call(move || number)).collect();
        for (number, other) in others.into_iter().enumerate() {
            assert_eq!(other.await.expect("it is done"), number);
        }
        assert!(crew.shared.lock().threads <= 2);
        open.send(()).unwrap();
        first.await.expect("it is done");
    }

    #[tokio::test]
    async fn a_panic_is_told_of_and_the_thread_goes_on() {
        let crew = Crew::new(1);
        let failed = crew.call(|| panic!("as it should")).await;
        assert!(matches!(failed, Err(CrewError::Panicked)));
        assert_eq!(crew.call(|| 7).await.expect("it is done"), 7);
        assert!(crew.has_worked() && !crew.has_worked());
        assert_eq!(crew.shared.lock().threads, 1);
    }

    #[test]
    fn its_end_waits_for_what_was_given() {
        let crew = Crew::new(1);
        let done = Arc::new(Mutex::new(0));
        for _ in 0..5 {
            let done = Arc::clone(&done);
            // Nobody waits for the outcome.
            drop(crew.call(move || {
                thread::sleep(Duration::from_millis(5));
                *done.lock().unwrap() += 1;
            }));
        }
        crew.end(Duration::from_mins(1));
        assert_eq!(*done.lock().unwrap(), 5);
        assert_eq!(crew.shared.lock().threads, 0);
    }
}
