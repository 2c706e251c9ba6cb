//! Scoped threads that share one job and stop together; also for whoever reads a store for a device.
//!
//! Invariant: no thread outlives the call; an error of any thread is the call's answer, the
//! others stop at their next look at the [`Halt`]; a panic of a worker is raised again in the
//! caller. The number of threads is an argument: it comes from the edge, and decides nothing but
//! speed.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

/// Tells workers that another one failed.
#[derive(Default)]
pub struct Halt(AtomicBool);

impl Halt {
    /// Whether to stop taking work.
    pub fn is_set(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }

    /// Asks all workers to stop taking work.
    pub fn set(&self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// Runs `work` on `threads` threads (the caller's is one of them) until each returns.
pub fn run<E, F>(threads: usize, halt: &Halt, work: F) -> Result<(), E>
where
    E: Send,
    F: Fn() -> Result<(), E> + Sync,
{
    let guarded = || {
        let result = work();
        if result.is_err() {
            halt.set();
        }
        result
    };
    std::thread::scope(|scope| {
        let others: Vec<_> = (1..threads).map(|_| scope.spawn(guarded)).collect();
        let mut first = guarded();
        for other in others {
            match other.join() {
                Ok(result) => first = first.and(result),
                Err(panic) => std::panic::resume_unwind(panic),
            }
        }
        first
    })
}

/// Runs `work` once for each number below `tasks`, in ascending order of their beginnings.
pub fn for_each<E, F>(threads: usize, tasks: usize, work: F) -> Result<(), E>
where
    E: Send,
    F: Fn(usize) -> Result<(), E> + Sync,
{
    let halt = Halt::default();
    let next = AtomicUsize::new(0);
    run(threads.min(tasks).max(1), &halt, || {
        while !halt.is_set() {
            let task = next.fetch_add(1, Ordering::Relaxed);
            if task >= tasks {
                break;
            }
            work(task)?;
        }
        Ok(())
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::AtomicU64;

    #[test]
    fn each_task_runs_once() {
        for threads in [1, 2, 5] {
            let sum = AtomicU64::new(0);
            for_each(threads, 100, |task| {
                sum.fetch_add(1 << (task % 32), Ordering::Relaxed);
                Ok::<(), ()>(())
            })
            .unwrap();
            let expected: u64 = (0..100).map(|task| 1_u64 << (task % 32)).sum();
            assert_eq!(sum.into_inner(), expected);
        }
    }

    #[test]
    fn an_error_stops_the_others() {
        let done = AtomicU64::new(0);
        let result = for_each(2, 1_000_000, |task| {
            done.fetch_add(1, Ordering::Relaxed);
            if task == 3 { Err("no") } else { Ok(()) }
        });
        assert_eq!(result, Err("no"));
        assert!(done.into_inner() < 1_000_000);
    }
}
