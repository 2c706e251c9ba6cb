//! How fast bytes may pass, in all.
//!
//! What takes bodies in is the same threads that answer everybody. A client on the same machine, or on a fast
//! network, sends 60 MB in 10 ms of them, and forty such would have them to themselves for half a second. So
//! bodies arrive at a pace that leaves these threads idle for the most part; a slow network does not notice,
//! and whoever sends megabytes has them parsed, which takes longer.
//!
//! Cost: an atomic exchange each time something arrives; a timer where it came too early.
//!
//! | field | written by | read by |
//! |---|---|---|
//! | `passed_ns` | whoever brings bytes, by compare-exchange | the same |

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// Bytes of bodies in a second for each share of the processors; to take in a MiB takes a processor 0.3 to
/// 0.6 ms, most of it for new pages.
const BODY_BYTES_PER_SECOND: u64 = 64 << 20;
/// For so long nothing need have passed to be made up for.
const BURST: Duration = Duration::from_millis(4);
/// Waits below this are not worth a timer.
const WAIT_MIN: Duration = Duration::from_millis(1);

/// A pace that all who pass keep together; whoever comes first passes first.
#[derive(Debug)]
pub(crate) struct Throttle {
    bytes_per_second: u64,
    base: Instant,
    /// When all that came has passed, in nanoseconds since `base`.
    passed_ns: AtomicU64,
}

impl Throttle {
    /// For the bodies of requests.
    pub fn of_bodies(shares: usize) -> Throttle {
        Throttle::new(BODY_BYTES_PER_SECOND * shares.max(1) as u64)
    }

    fn new(bytes_per_second: u64) -> Throttle {
        assert!(bytes_per_second > 0, "somebody passes at last");
        Throttle {
            bytes_per_second,
            base: Instant::now(),
            passed_ns: AtomicU64::new(0),
        }
    }

    /// Waits until so many bytes have passed. Dropping the future does not take them back.
    pub async fn pass(&self, bytes: u64) {
        let now = self.base.elapsed();
        let earliest = now.saturating_sub(BURST).as_nanos() as u64;
        let cost_ns =
            (u128::from(bytes) * 1_000_000_000 / u128::from(self.bytes_per_second)) as u64;
        let add = |passed_ns: u64| passed_ns.max(earliest).saturating_add(cost_ns);
        let (Ok(before) | Err(before)) =
            self.passed_ns
                .fetch_update(Ordering::Relaxed, Ordering::Relaxed, |passed_ns| {
                    Some(add(passed_ns))
                });
        let passed_ns = add(before);
        let wait = Duration::from_nanos(passed_ns).saturating_sub(now);
        if wait >= WAIT_MIN {
            tokio::time::sleep(wait).await;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn many_together_pass_at_the_pace_of_one() {
        let throttle = Throttle::new(10 << 20);
        let begun = Instant::now();
        let one = || async {
            for _ in 0..8 {
                throttle.pass(64 << 10).await;
            }
        };
        tokio::join!(one(), one(), one(), one());
        // 2 MiB, but for the burst.
        assert!(begun.elapsed() + BURST >= Duration::from_millis(200));
    }

    #[tokio::test]
    async fn what_comes_seldom_does_not_wait() {
        let throttle = Throttle::new(1 << 30);
        tokio::time::sleep(2 * BURST).await;
        throttle.pass(1 << 20).await;
        let passed = Duration::from_nanos(throttle.passed_ns.load(Ordering::Relaxed));
        assert!(passed < throttle.base.elapsed());
    }
}
