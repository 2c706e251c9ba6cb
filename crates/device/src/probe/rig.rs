//! What every measurement needs: a stream, memory, a block of arguments, and medians of times.

use super::{Chain, Effort, Figure, Gather, Probe};
use crate::{Device, DeviceError, HostRegion, Kernel, Launch, Region, Slice, Stream};
use bytemuck::{Pod, Zeroable};
use std::sync::atomic::Ordering;
use std::time::Duration;

/// Threads of a block.
pub(super) const BLOCK: u32 = 256;

/// Memory that is left to the driver and to other processes.
const LEFT_BYTES: u64 = 512 << 20;

/// How long a word is waited for, before the device is asked what became of it.
const PATIENCE: Duration = Duration::from_secs(2);

/// The kernels' block of arguments.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, Pod, Zeroable)]
pub(super) struct Given {
    pub(super) from: u64,
    pub(super) to: u64,
    pub(super) count: u64,
    pub(super) places: u64,
    pub(super) seed: u64,
    pub(super) never: u64,
}

/// A device being measured.
pub(super) struct Rig<'a> {
    pub(super) device: &'a dyn Device,
    pub(super) effort: &'a Effort,
    pub(super) stream: Stream,
    /// The largest working set that there is memory for, filled at random.
    pub(super) memory: Region,
    /// Where kernels would store what they store never, and what they count.
    pub(super) sink: Region,
    /// Words that host and device see.
    pub(super) shown: HostRegion,
    arguments: Slice,
    clock: &'a dyn Fn() -> Duration,
    posted: u64,
    found: Probe,
}

impl<'a> Rig<'a> {
    pub(super) fn new(
        device: &'a dyn Device,
        effort: &'a Effort,
        clock: &'a dyn Fn() -> Duration,
    ) -> Result<Rig<'a>, DeviceError> {
        let free = device.free_bytes()?.saturating_sub(LEFT_BYTES);
        let fitting = effort.sets.iter().rev().find(|set| **set <= free);
        let largest = *fitting.ok_or(DeviceError::OutOfMemory {
            asked: effort.sets[0] + LEFT_BYTES,
        })?;
        let mut skipped = Vec::new();
        let all = effort.sets.last().copied().unwrap_or_default();
        if largest < all {
            skipped.push(format!(
                "working sets above {} MiB, up to {} MiB: {} MiB are free",
                largest >> 20,
                all >> 20,
                free >> 20
            ));
        }
        let rig = Rig {
            device,
            effort,
            stream: device.stream()?,
            memory: device.region(largest)?,
            sink: device.region(4096)?,
            shown: device.stage(4096)?,
            arguments: device.region(4096)?.slice(0..size_of::<Given>() as u64),
            clock,
            posted: 0,
            found: Probe {
                facts: device.facts().clone(),
                gathers: Vec::new(),
                chains: Vec::new(),
                figures: Vec::new(),
                skipped,
            },
        };
        device.fill(&rig.stream, &rig.sink.whole(), 0)?;
        rig.refill()?;
        Ok(rig)
    }

    /// Random words in all memory.
    pub(super) fn refill(&self) -> Result<(), DeviceError> {
        let words = self.memory.bytes() / 8;
        self.give(&Given {
            to: self.memory.whole().address(),
            count: words,
            seed: 1,
            ..Given::default()
        })?;
        self.launch(Kernel::Fill, self.effort.blocks)?;
        self.device.wait(&self.device.mark(&self.stream)?)
    }

    /// Sets the arguments of the next launches.
    pub(super) fn give(&self, given: &Given) -> Result<(), DeviceError> {
        let sink = self.sink.slice(2048..4096).address();
        let given = Given {
            to: if given.to == 0 { sink } else { given.to },
            never: 0x5eed_0bad,
            ..*given
        };
        let bytes = bytemuck::bytes_of(&given);
        self.device.upload(&self.stream, &self.arguments, bytes)
    }

    pub(super) fn launch_of(&self, kernel: Kernel, grid: u32) -> Launch {
        Launch {
            kernel,
            grid,
            block: BLOCK,
            arguments: self.arguments.clone(),
        }
    }

    pub(super) fn launch(&self, kernel: Kernel, grid: u32) -> Result<(), DeviceError> {
        let launch = self.launch_of(kernel, grid);
        self.device.launch(&self.stream, &launch)
    }

    /// Milliseconds of the device that `work` takes: the median of several. `prepare` comes before each, with its number.
    pub(super) fn timed_ms(
        &self,
        prepare: &dyn Fn(u64) -> Result<(), DeviceError>,
        work: &dyn Fn() -> Result<(), DeviceError>,
    ) -> Result<f64, DeviceError> {
        let mut times = Vec::new();
        for number in 0..=self.effort.repetitions.0 as u64 {
            prepare(number)?;
            let begin = self.device.mark(&self.stream)?;
            work()?;
            let end = self.device.mark(&self.stream)?;
            self.device.wait(&end)?;
            let ms = self.device.elapsed_ms(&begin, &end)?;
            if number > 0 {
                times.push(f64::from(ms));
            }
        }
        Ok(median(&mut times))
    }

    /// Microseconds of the host that `work` takes: the median of `repetitions`.
    pub(super) fn clocked_us(
        &mut self,
        repetitions: usize,
        work: &mut dyn FnMut(&mut Self) -> Result<(), DeviceError>,
    ) -> Result<f64, DeviceError> {
        let mut times = Vec::new();
        for number in 0..=repetitions {
            let began = (self.clock)();
            work(self)?;
            let took = (self.clock)().saturating_sub(began);
            if number > 0 {
                times.push(took.as_secs_f64() * 1e6);
            }
        }
        Ok(median(&mut times))
    }

    /// Waits until the host sees the count of one more run of `post`, by looking at it all the time.
    pub(super) fn await_post(&mut self) -> Result<(), DeviceError> {
        self.posted += 1;
        let began = (self.clock)();
        let word = &self.shown.words()[0];
        loop {
            for _ in 0..1024 {
                if word.load(Ordering::Acquire) >= self.posted {
                    return Ok(());
                }
                std::hint::spin_loop();
            }
            if (self.clock)().saturating_sub(began) > PATIENCE {
                self.device.wait(&self.device.mark(&self.stream)?)?;
                if word.load(Ordering::Acquire) >= self.posted {
                    return Ok(());
                }
                let reason = "the host does not see what the device wrote".to_owned();
                return Err(DeviceError::Lost { reason });
            }
        }
    }

    pub(super) fn record_figure(&mut self, what: &'static str, value: f64, unit: &'static str) {
        self.found.figures.push(Figure { what, value, unit });
    }

    pub(super) fn record_gather(&mut self, gather: Gather) {
        self.found.gathers.push(gather);
    }

    pub(super) fn record_chain(&mut self, chain: Chain) {
        self.found.chains.push(chain);
    }

    pub(super) fn skip(&mut self, what: String) {
        self.found.skipped.push(what);
    }

    pub(super) fn done(self) -> Probe {
        self.found
    }
}

/// Gigabytes a second, of bytes in milliseconds.
pub(super) fn rate(bytes: u64, ms: f64) -> f64 {
    bytes as f64 / ms / 1e6
}

/// The middle one. There is one at least.
pub(super) fn median(values: &mut [f64]) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}
