//! Processor time: of a thread, of the process, and taken for nothing.
//!
//! The kernel's clocks count to the nanosecond while a thread runs, and a look at one is a system call of some 0.2 us. Where there
//! are none, nothing is known and nothing is burnt.

use std::time::Duration;

/// Rounds of doing nothing between two looks at the clock: some microseconds.
const ROUNDS: u32 = 1_000;

/// What this thread has taken of a processor; none where the system does not tell.
pub fn of_thread() -> Option<Duration> {
    clock::thread()
}

/// What all threads of the process have taken of processors; none where the system does not tell.
pub fn of_process() -> Option<Duration> {
    clock::process()
}

/// Keeps this thread on a processor until it has taken so much of one.
pub fn burn(time: Duration) {
    let Some(begun) = of_thread() else {
        return;
    };
    while of_thread().is_some_and(|now| now.saturating_sub(begun) < time) {
        for _ in 0..ROUNDS {
            std::hint::spin_loop();
        }
    }
}

#[cfg(unix)]
mod clock {
    use rustix::time::{ClockId, Timespec, clock_gettime};
    use std::time::Duration;

    pub(super) fn thread() -> Option<Duration> {
        read(ClockId::ThreadCPUTime)
    }

    pub(super) fn process() -> Option<Duration> {
        read(ClockId::ProcessCPUTime)
    }

    fn read(clock: ClockId) -> Option<Duration> {
        let Timespec { tv_sec, tv_nsec } = clock_gettime(clock);
        let seconds = u64::try_from(tv_sec).ok()?;
        Some(Duration::new(seconds, u32::try_from(tv_nsec).ok()?))
    }
}

#[cfg(not(unix))]
mod clock {
    use std::time::Duration;

    pub(super) fn thread() -> Option<Duration> {
        None
    }

    pub(super) fn process() -> Option<Duration> {
        None
    }
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    #[test]
    fn what_is_burnt_is_taken() {
        let time = Duration::from_millis(5);
        let (thread, process) = (of_thread().unwrap(), of_process().unwrap());
        burn(time);
        assert!(of_thread().unwrap() >= thread + time);
        assert!(of_process().unwrap() >= process + time);
    }
}
