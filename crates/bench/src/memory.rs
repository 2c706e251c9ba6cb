//! The most memory that this process had for itself while something ran.
//!
//! Counted is what is not backed by files (`RssAnon`): pages of a mapped store can be dropped at
//! any time, and a machine that has the memory keeps them. Sampled every [`PERIOD`] by a thread of
//! its own, so what comes and goes in between is missed; none where the system does not tell.

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

/// How often it is looked.
pub const PERIOD: Duration = Duration::from_millis(5);

/// Runs something; the most bytes that the process had meanwhile, beside what came of it.
pub fn watch<T>(run: impl FnOnce() -> T) -> (T, Option<u64>) {
    let is_done = AtomicBool::new(false);
    thread::scope(|scope| {
        let watcher = scope.spawn(|| {
            let mut most = anonymous_bytes();
            while !is_done.load(Ordering::Relaxed) {
                thread::sleep(PERIOD);
                most = most.max(anonymous_bytes());
            }
            most.max(anonymous_bytes())
        });
        let done = Ending(&is_done);
        let result = run();
        let now = anonymous_bytes();
        drop(done);
        (result, watcher.join().ok().flatten().max(now))
    })
}

/// Ends the watcher, also where what is watched panics.
struct Ending<'a>(&'a AtomicBool);

impl Drop for Ending<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

fn anonymous_bytes() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status
        .lines()
        .find_map(|line| line.strip_prefix("RssAnon:"))?;
    let kibibytes: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kibibytes << 10)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::hint::black_box;

    #[test]
    fn what_was_had_is_seen() {
        const BYTES: u64 = 64 << 20;
        let (sum, most) = watch(|| {
            let pages = black_box(vec![1_u8; BYTES as usize]);
            thread::sleep(4 * PERIOD);
            pages.iter().map(|&byte| u64::from(byte)).sum::<u64>()
        });
        assert_eq!(sum, BYTES);
        if let Some(most) = most {
            assert!(most >= BYTES, "{most}");
        }
    }
}
