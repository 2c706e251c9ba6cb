//! What the machine permits: the bandwidth at which memory is read.
//!
//! Measured at the start of a session, not taken from a data sheet: the same program on a
//! shared or virtual machine gets another share of it every day, and a floor printed beside a
//! time has to be that of the same day. One streaming pass sums a buffer that is several times
//! the last cache; the best of a few passes counts, because whatever disturbs a pass only makes
//! it slower.
//!
//! Cost: [`BUFFER_BYTES`] of memory and [`PASSES`] passes, some 0.2 s.

use std::hint::black_box;
use std::thread;
use std::time::{Duration, Instant};

/// Several times the last-level cache of the machines that we measure on (32 MiB a socket part).
pub const BUFFER_BYTES: usize = 256 << 20;
const PASSES: usize = 6;
/// Independent sums, so that a pass waits for memory and not for the latency of additions.
const LANES: usize = 16;
const WORD_BYTES: usize = size_of::<u64>();

/// One dependent miss of the last cache, as the design prices it.
pub const MISS: Duration = Duration::from_nanos(80);

/// What one session's machine permits.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Machine {
    /// How many threads read.
    pub threads: usize,
    /// Bytes a second that they read together.
    pub read_bytes_per_second: f64,
}

impl Machine {
    /// Measures reading by `threads` threads (0 counts as 1), each with its part of the buffer.
    pub fn measure(threads: usize) -> Self {
        Self::measure_with(threads, BUFFER_BYTES)
    }

    /// As [`Self::measure`] with a buffer of another size (at least one word a thread).
    pub fn measure_with(threads: usize, buffer_bytes: usize) -> Self {
        let threads = threads.max(1);
        let words = (buffer_bytes / WORD_BYTES).max(threads);
        // Not zero: pages of zeros may all be the same page, which would stay in the cache.
        let buffer = vec![1_u64; words];
        let best = (0..PASSES).map(|_| pass(&buffer, threads)).min();
        let best = best
            .expect("there is at least one pass")
            .max(Duration::from_nanos(1));
        let read_bytes_per_second = (words * WORD_BYTES) as f64 / best.as_secs_f64();
        Self {
            threads,
            read_bytes_per_second,
        }
    }
}

/// The time to read the buffer once.
fn pass(buffer: &[u64], threads: usize) -> Duration {
    let begin = Instant::now();
    if threads == 1 {
        black_box(sum(black_box(buffer)));
    } else {
        thread::scope(|scope| {
            for part in buffer.chunks(buffer.len().div_ceil(threads)) {
                scope.spawn(|| black_box(sum(black_box(part))));
            }
        });
    }
    begin.elapsed()
}

fn sum(buffer: &[u64]) -> u64 {
    let (groups, rest) = buffer.as_chunks::<LANES>();
    let mut lanes = [0_u64; LANES];
    for group in groups {
        for (lane, word) in lanes.iter_mut().zip(group) {
            *lane = lane.wrapping_add(*word);
        }
    }
    lanes
        .iter()
        .chain(rest)
        .fold(0, |sum, word| sum.wrapping_add(*word))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_word_is_read() {
        for words in [0, 1, LANES - 1, LANES, 3 * LANES + 5] {
            let buffer: Vec<u64> = (0..words as u64).collect();
            assert_eq!(sum(&buffer), buffer.iter().sum::<u64>());
        }
    }

    #[test]
    fn a_machine_reads_at_some_speed() {
        for threads in [0, 1, 2] {
            let machine = Machine::measure_with(threads, 1 << 20);
            assert_eq!(machine.threads, threads.max(1));
            assert!(machine.read_bytes_per_second > 1e6, "{machine:?}");
            assert!(machine.read_bytes_per_second.is_finite());
        }
        assert!(Machine::measure_with(4, 0).read_bytes_per_second > 0.0);
    }
}
