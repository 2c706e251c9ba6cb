//! What a device does of a plan, measured: for benchmarks.

use super::Folded;
use crate::accelerator::Memory;
use crate::error::{Kind, QueryError};
use crate::prepared::Query;
use explore::{Environment, Limits, Prepared, prepare};
use gpu::device::Device;
pub use gpu::{CacheOptions, Traffic};
use gpu::{Gives, Gpu, GpuError, Section};
use query::plan::{Form, Slot};
use std::fmt;
use std::sync::Arc;
use std::time::{Duration, Instant};
use store::delta::Version;

/// What a device did of a plan, measured.
#[derive(Clone, Debug)]
pub struct DeviceRuns {
    /// The rows of the covered steps.
    pub folded: Folded,
    /// Steps of the plan.
    pub steps: usize,
    /// Those that the device does, from the first on.
    pub covered: usize,
    /// Why not more.
    pub why: String,
    /// Making the program ready: what is not on the device yet is copied.
    pub compiled: Duration,
    /// Launches of all runs.
    pub launches: u64,
    /// Each run.
    pub times: Vec<Duration>,
}

fn unused(why: &str) -> QueryError {
    QueryError::new(Kind::Unsupported, format!("not on a device: {why}"))
}

/// A plan's beginning on a device, to be walked again and again.
pub struct DeviceWalk {
    section: Section,
    steps: usize,
    compiled: Duration,
}

impl fmt::Debug for DeviceWalk {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("DeviceWalk")
            .field("covered", &self.covered())
            .finish_non_exhaustive()
    }
}

impl DeviceWalk {
    /// Steps of the plan.
    pub fn steps(&self) -> usize {
        self.steps
    }

    /// Those that the device does, from the first on.
    pub fn covered(&self) -> usize {
        self.section.covered()
    }

    /// Walks it once, and gives count and checksum of its rows.
    pub fn run(&mut self) -> Result<Folded, QueryError> {
        let mut folded = Folded {
            rows: 0,
            checksum: 0,
        };
        let all = self.section.run_all(|_, ran| {
            folded.rows += ran.rows;
            folded.checksum = folded.checksum.wrapping_add(ran.checksum);
            Ok(())
        });
        all.map_err(|error| unused(&error.to_string()))?;
        Ok(folded)
    }
}

/// A device apart from the database's own, with as much memory as is to be tried. It has images of the base that a query saw.
pub struct DeviceApart {
    gpu: Gpu,
}

impl fmt::Debug for DeviceApart {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("DeviceApart")
            .field("image_bytes", &self.image_bytes())
            .finish_non_exhaustive()
    }
}

impl DeviceApart {
    /// Bytes of images that are on it.
    pub fn image_bytes(&self) -> u64 {
        self.gpu.image_bytes()
    }

    /// What was copied to it so far.
    pub fn traffic(&self) -> Traffic {
        self.gpu.traffic()
    }
}

impl Query {
    /// Takes memory of a device for the base that this query sees. An error says why it has not so much.
    pub fn device_apart(
        &self,
        device: Arc<dyn Device>,
        memory: Memory,
        options: CacheOptions,
    ) -> Result<DeviceApart, QueryError> {
        let base = Arc::clone(self.graph.snapshot.base());
        let gpu = Gpu::with_options(device, base, memory, options);
        gpu.map(|gpu| DeviceApart { gpu })
            .map_err(|error| unused(&error.to_string()))
    }

    /// As [`Query::device_walk`], on a device apart: its data are brought there for this walk.
    pub fn device_walk_on(&self, apart: &DeviceApart) -> Result<DeviceWalk, QueryError> {
        self.made_ready(|_, prepared, slots| apart.gpu.section_giving(prepared, Gives::Sum(slots)))
    }

    /// What the device of this database covers of the plan, made ready to be walked. An error says why it does not. It has one of the
    /// device's rooms until it is dropped.
    pub fn device_walk(&self) -> Result<DeviceWalk, QueryError> {
        let options = &self.context.shared.options;
        let Some(device) = options.accelerator.as_deref() else {
            return Err(unused("there is no device"));
        };
        self.made_ready(|version, prepared, slots| device.section(version, prepared, slots))
    }

    fn made_ready(
        &self,
        section: impl FnOnce(&Version, &Prepared<'_>, &[Slot]) -> Result<Section, GpuError>,
    ) -> Result<DeviceWalk, QueryError> {
        let slots = match &self.plan.form {
            Form::Select(slots) => slots.clone(),
            Form::Ask | Form::Construct(_) | Form::Describe(_) => Vec::new(),
        };
        let snapshot = &self.graph.snapshot;
        let environment = Environment::new(&crate::clock::now, self.chance(), None);
        let prepared = prepare(
            &self.plan,
            &self.constants,
            snapshot,
            Limits::none(),
            &environment,
        )?;
        let begun = Instant::now();
        let section = section(snapshot, &prepared, &slots);
        Ok(DeviceWalk {
            section: section.map_err(|error| unused(&error.to_string()))?,
            steps: self.plan.steps.len(),
            compiled: begun.elapsed(),
        })
    }

    /// Walks what the device of this database covers of the plan, `times` times, and measures each from the prepared plan to the
    /// count and the checksum of [`Query::run_folded`] on the host; nothing is read or decoded here. An error says why the
    /// device does not.
    pub fn run_on_device(&self, times: usize) -> Result<DeviceRuns, QueryError> {
        let mut walk = self.device_walk()?;
        let mut runs = DeviceRuns {
            folded: Folded {
                rows: 0,
                checksum: 0,
            },
            steps: walk.steps(),
            covered: walk.covered(),
            why: walk.section.why().to_string(),
            compiled: walk.compiled,
            launches: 0,
            times: Vec::with_capacity(times),
        };
        for _ in 0..times {
            let begun = Instant::now();
            runs.folded = walk.run()?;
            runs.times.push(begun.elapsed());
        }
        runs.launches = walk.section.launches();
        Ok(runs)
    }
}
