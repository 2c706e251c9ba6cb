//! What a device can do: the rates and latencies that bound a walk on it, each measured by a kernel that does one thing.
//!
//! Work on the device is timed by its own marks, what the host sees by a clock that the caller hands in. A figure is the
//! median of several repetitions, of which a first one is not counted; places are drawn anew for each. A gigabyte is
//! 10^9 bytes. What is read and written counts both, and a read of less than a sector of 32 bytes counts as one.
//!
//! Sizes come from the memory that is free: what does not fit is left out, and said to be. The whole takes some
//! seconds; most of them go into filling memory and into the compiler.

mod host;
mod memory;
mod rig;

use crate::cuda::Cuda;
use crate::{Device, DeviceError, Facts};
use rig::Rig;
use std::time::Duration;

/// Bytes of the smallest piece of memory that a device reads.
const SECTOR: u32 = 32;

/// What was measured.
#[derive(Clone, Debug)]
pub struct Probe {
    /// The device.
    pub facts: Facts,
    /// Random reads, by working set and width.
    pub gathers: Vec<Gather>,
    /// Reads that wait for one another, by working set.
    pub chains: Vec<Chain>,
    /// All other figures.
    pub figures: Vec<Figure>,
    /// What was left out, and why.
    pub skipped: Vec<String>,
}

/// Independent reads at random places.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Gather {
    /// Bytes that are read from.
    pub working_set: u64,
    /// Bytes of one read.
    pub width: u32,
    /// Reads in a nanosecond.
    pub accesses_per_ns: f64,
}

impl Gather {
    /// Gigabytes a second, of whole sectors.
    pub fn rate(&self) -> f64 {
        self.accesses_per_ns * f64::from(self.width.max(SECTOR))
    }
}

/// A thread that reads where to read next.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Chain {
    /// Bytes that are read from.
    pub working_set: u64,
    /// Nanoseconds from one read to the next.
    pub ns: f64,
}

/// One figure.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Figure {
    /// Of what.
    pub what: &'static str,
    /// How much.
    pub value: f64,
    /// Of which unit.
    pub unit: &'static str,
}

/// How much is done for a figure.
struct Effort {
    /// Working sets, ascending.
    sets: &'static [u64],
    /// Working sets of chains, powers of two.
    chains: &'static [u64],
    /// Random reads of a launch, a multiple of four times the threads of [`Effort::blocks`].
    accesses: u64,
    /// Blocks of 256 threads that read.
    blocks: u32,
    /// Bytes that are copied within the device.
    copied: u64,
    /// Bytes that are copied between host and device.
    linked: u64,
    /// Reads of a chain.
    steps: u64,
    /// Repetitions of what takes long, and of what takes microseconds.
    repetitions: (usize, usize),
}

const MB: u64 = 1 << 20;
const GB: u64 = 1 << 30;

const WHOLE: Effort = Effort {
    sets: &[
        MB,
        4 * MB,
        8 * MB,
        16 * MB,
        24 * MB,
        32 * MB,
        48 * MB,
        64 * MB,
        128 * MB,
        256 * MB,
        GB,
        4 * GB,
        8 * GB,
    ],
    chains: &[64 << 10, 4 * MB, 16 * MB, 32 * MB, 256 * MB, 4 * GB],
    accesses: 1 << 26,
    blocks: 1 << 12,
    copied: GB,
    linked: 256 * MB,
    steps: 1 << 15,
    repetitions: (7, 300),
};

/// Measures a card. `clock` tells the time since any moment; it is called from this thread alone.
pub fn probe(device: &Cuda, clock: &dyn Fn() -> Duration) -> Result<Probe, DeviceError> {
    let mut found = measure(device, &WHOLE, clock)?;
    let mut compiled = Vec::new();
    for _ in 0..3 {
        let began = clock();
        // The moment is another one each time, so the driver has not kept what it compiles.
        device.compile_anew(began.as_nanos() as u64)?;
        compiled.push(clock().saturating_sub(began).as_secs_f64() * 1e3);
    }
    found.figures.push(Figure {
        what: "compiling all kernels, not kept",
        value: rig::median(&mut compiled),
        unit: "ms",
    });
    Ok(found)
}

/// Measures a device.
fn measure(
    device: &dyn Device,
    effort: &Effort,
    clock: &dyn Fn() -> Duration,
) -> Result<Probe, DeviceError> {
    let mut rig = Rig::new(device, effort, clock)?;
    memory::measure(&mut rig)?;
    host::measure(&mut rig)?;
    Ok(rig.done())
}
