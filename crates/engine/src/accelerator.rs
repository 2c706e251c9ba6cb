//! A device beside the processors: which queries begin on it, and with which images.
//!
//! One [`Gpu`] has the images of one base. A version over another base takes its place; until then, and wherever layers have
//! touched a segment that the query looks at, the processors walk. So does whatever the device does not cover, has no room for or
//! fails at: a query is never refused because of it. A device is opened when a query is worth it, beside that query,
//! and tried again a while after it was lost (`door`).

mod door;
mod report;

pub use door::{Opened, Opener, Teller};
pub(crate) use report::{DeviceReport, Stays};

use door::{Closed, Door, OpenDevice};
use explore::Prepared;
pub use gpu::Memory;
use gpu::device::{Device, DeviceError};
use gpu::{Gpu, GpuError, Section};
use query::plan::{Plan, Slot};
use std::fmt;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, PoisonError};
use store::delta::Version;

/// Which queries begin on the device.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Offload {
    /// None.
    Never,
    /// Those that are expected to gain.
    #[default]
    Auto,
    /// All that it can begin.
    Always,
}

/// What a device has done for queries.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DeviceFigures {
    /// Queries that began on it.
    pub queries: u64,
    /// Failures of it, each of which the processors made good.
    pub failures: u64,
    /// Whether it does not answer any more, or could not be opened.
    pub is_lost: bool,
    /// Bytes of images that were on it when a query last began there.
    pub image_bytes: u64,
}

/// A query's beginning on the device.
pub(crate) struct Begun {
    pub(crate) section: Section,
    held: Arc<OpenDevice>,
}

/// See the head of this file.
pub struct Accelerator {
    door: Door,
    offload: Offload,
    queries: AtomicU64,
    failures: AtomicU64,
    image_bytes: AtomicU64,
    has_told: AtomicBool,
}

impl fmt::Debug for Accelerator {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let held = self.door.look().ok();
        formatter
            .debug_struct("Accelerator")
            .field("device", &held.map(|it| it.device.facts().name.clone()))
            .field("offload", &self.offload)
            .finish_non_exhaustive()
    }
}

impl Accelerator {
    /// A device, how its memory is divided, and what it is for. Nothing is put on it before a query needs it. Once lost, it is
    /// not asked again.
    pub fn new(device: Arc<dyn Device>, memory: Memory, offload: Offload) -> Accelerator {
        Accelerator::behind(Door::open(Opened { device, memory }), offload)
    }

    /// A device that `opener` opens when a query is worth it, on a thread of its own; that query and those that come
    /// meanwhile stay on the processors. One that is lost is opened again after 1, 10, then every 60 seconds. `teller` is told
    /// of failures.
    pub fn lazy(opener: Opener, teller: Teller, offload: Offload) -> Accelerator {
        Accelerator::behind(Door::closed(opener, teller), offload)
    }

    fn behind(door: Door, offload: Offload) -> Accelerator {
        Accelerator {
            door,
            offload,
            queries: AtomicU64::new(0),
            failures: AtomicU64::new(0),
            image_bytes: AtomicU64::new(0),
            has_told: AtomicBool::new(false),
        }
    }

    /// Opens the device now, on the calling thread: half a second. An error says why there is none.
    pub fn open(&self) -> Result<(), DeviceError> {
        self.door.open_now()
    }

    /// What it has done so far.
    pub fn figures(&self) -> DeviceFigures {
        DeviceFigures {
            queries: self.queries.load(Ordering::Relaxed),
            failures: self.failures.load(Ordering::Relaxed),
            is_lost: matches!(self.door.look(), Err(Closed::Shut)),
            image_bytes: self.image_bytes.load(Ordering::Relaxed),
        }
    }

    /// What would become of a plan, in words; `None`: there is nothing to say, for no query is for the device.
    pub(crate) fn outlook(&self, plan: &Plan) -> Option<String> {
        if let Err(stays) = self.wants(plan) {
            let is_off = matches!(stays, Stays::Never);
            return (!is_off).then(|| format!("not asked: {stays}"));
        }
        Some(match self.door.look() {
            Ok(_) => "would be asked".to_owned(),
            Err(Closed::Unasked) => "would be opened, for the queries after this one".to_owned(),
            Err(Closed::Opening) => format!("not asked: {}", Stays::Opening),
            Err(Closed::Shut) => format!("not asked: {}", Stays::Lost),
        })
    }

    fn wants(&self, plan: &Plan) -> Result<(), Stays> {
        match self.offload {
            Offload::Never => Err(Stays::Never),
            Offload::Auto if !is_worth(plan) => Err(Stays::Light),
            Offload::Auto | Offload::Always => Ok(()),
        }
    }

    /// The beginning of a query for the device, or why it is to begin on the processors.
    pub(crate) fn begin(&self, version: &Version, prepared: &Prepared<'_>) -> Result<Begun, Stays> {
        self.wants(prepared.plan())?;
        if self.offload == Offload::Auto && prepared.chooses_rows() {
            return Err(Stays::ChoosesRows);
        }
        let held = self.door.ask().map_err(|closed| match closed {
            Closed::Unasked | Closed::Opening => Stays::Opening,
            Closed::Shut => Stays::Lost,
        })?;
        match self.section_of(&held, version, prepared, &[]) {
            Ok(section) => Ok(Begun { section, held }),
            Err(error) => {
                self.note_of(&held, &error);
                Err(Stays::Gpu(error))
            }
        }
    }

    /// The same, whether it is worth it or not, with a sum over these columns.
    pub(crate) fn section(
        &self,
        version: &Version,
        prepared: &Prepared<'_>,
        sums: &[Slot],
    ) -> Result<Section, GpuError> {
        let lost = |_| DeviceError::Lost {
            reason: Stays::Lost.to_string(),
        };
        let held = self.door.look().map_err(lost)?;
        self.section_of(&held, version, prepared, sums)
    }

    fn section_of(
        &self,
        held: &OpenDevice,
        version: &Version,
        prepared: &Prepared<'_>,
        sums: &[Slot],
    ) -> Result<Section, GpuError> {
        let gpu = held.gpu(version)?;
        let section = gpu.section_with_sum(prepared, sums);
        self.image_bytes.store(gpu.image_bytes(), Ordering::Relaxed);
        let section = section?;
        let is_layered = |&segment| !version.is_base_alone(segment);
        if section.segments().iter().any(is_layered) {
            return Err(GpuError::Layered);
        }
        Ok(section)
    }

    /// A query begins on the device.
    pub(crate) fn count(&self) {
        self.queries.fetch_add(1, Ordering::Relaxed);
    }

    /// Takes note of a failure; what is only not covered is none.
    pub(crate) fn note(&self, begun: &Begun, error: &GpuError) {
        self.note_of(&begun.held, error);
    }

    fn note_of(&self, held: &Arc<OpenDevice>, error: &GpuError) {
        let GpuError::Device(error) = error else {
            return;
        };
        self.failures.fetch_add(1, Ordering::Relaxed);
        if let DeviceError::Lost { .. } = error {
            self.image_bytes.store(0, Ordering::Relaxed);
            self.door.lose(held, error);
        } else if !self.has_told.swap(true, Ordering::Relaxed) {
            // Each of them would say the same.
            self.door
                .tell(&format!("{error}; the processors go on with such queries"));
        }
    }
}

impl OpenDevice {
    /// The images of the version's base.
    fn gpu(&self, version: &Version) -> Result<Arc<Gpu>, GpuError> {
        let mut held = self.gpu.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(gpu) = &*held
            && Arc::ptr_eq(gpu.snapshot(), version.base())
        {
            return Ok(Arc::clone(gpu));
        }
        // Its memory is wanted back first; sections that run have it until they end.
        *held = None;
        let gpu = Gpu::new(
            Arc::clone(&self.device),
            Arc::clone(version.base()),
            self.memory,
        )?;
        let gpu = Arc::new(gpu);
        *held = Some(Arc::clone(&gpu));
        Ok(gpu)
    }
}

fn is_worth(plan: &Plan) -> bool {
    let costs = plan.steps.iter().map(|step| step.estimate.cost_ns);
    costs.sum::<f64>() >= report::WORTH_NS
}
