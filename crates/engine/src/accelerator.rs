//! A device beside the processors: which queries begin on it, and with which images.
//!
//! One [`Gpu`] has the images of one base. A version over another base takes its place; until then, and wherever layers have
//! touched a segment that the query looks at, the processors walk. So does whatever the device does not cover, has no room for or
//! fails at: a query is never refused because of it. A device that is lost is not asked again.

use explore::Prepared;
pub use gpu::Memory;
use gpu::device::{Device, DeviceError};
use gpu::{Gpu, GpuError, Section};
use query::plan::{Plan, Slot};
use std::fmt;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use store::delta::Version;

/// Expected nanoseconds on one thread from which a query is worth a launch, by the plan's estimates: some thirty times what
/// launching and reading costs.
const WORTH_NS: f64 = 2e6;

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
    /// Whether it does not answer any more.
    pub is_lost: bool,
}

/// See the head of this file.
pub struct Accelerator {
    device: Arc<dyn Device>,
    memory: Memory,
    offload: Offload,
    held: Mutex<Option<Arc<Gpu>>>,
    lost: AtomicBool,
    queries: AtomicU64,
    failures: AtomicU64,
}

impl fmt::Debug for Accelerator {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("Accelerator")
            .field("device", &self.device.facts().name)
            .field("offload", &self.offload)
            .finish_non_exhaustive()
    }
}

impl Accelerator {
    /// A device, how its memory is divided, and what it is for. Nothing is put on it before a query needs it.
    pub fn new(device: Arc<dyn Device>, memory: Memory, offload: Offload) -> Accelerator {
        Accelerator {
            device,
            memory,
            offload,
            held: Mutex::new(None),
            lost: AtomicBool::new(false),
            queries: AtomicU64::new(0),
            failures: AtomicU64::new(0),
        }
    }

    /// What it has done so far.
    pub fn figures(&self) -> DeviceFigures {
        DeviceFigures {
            queries: self.queries.load(Ordering::Relaxed),
            failures: self.failures.load(Ordering::Relaxed),
            is_lost: self.lost.load(Ordering::Relaxed),
        }
    }

    /// The beginning of a query for the device, where it is to begin there.
    pub(crate) fn begin(&self, version: &Version, prepared: &Prepared<'_>) -> Option<Section> {
        let wants = match self.offload {
            Offload::Never => false,
            Offload::Auto => !prepared.chooses_rows() && is_worth(prepared.plan()),
            Offload::Always => true,
        };
        if !wants || self.lost.load(Ordering::Relaxed) {
            return None;
        }
        match self.section(version, prepared, &[]) {
            Ok(section) => {
                self.queries.fetch_add(1, Ordering::Relaxed);
                Some(section)
            }
            Err(error) => {
                self.note(&error);
                None
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
        let section = self.gpu(version)?.section_with_sum(prepared, sums)?;
        let is_layered = |&segment| !version.is_base_alone(segment);
        if section.segments().iter().any(is_layered) {
            return Err(GpuError::Layered);
        }
        Ok(section)
    }

    /// Takes note of a failure; what is only not covered is none.
    pub(crate) fn note(&self, error: &GpuError) {
        let GpuError::Device(error) = error else {
            return;
        };
        self.failures.fetch_add(1, Ordering::Relaxed);
        if let DeviceError::Lost { .. } = error {
            self.lost.store(true, Ordering::Relaxed);
        }
    }

    /// The images of the version's base.
    fn gpu(&self, version: &Version) -> Result<Arc<Gpu>, GpuError> {
        let mut held = self.held.lock().unwrap_or_else(PoisonError::into_inner);
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
    costs.sum::<f64>() >= WORTH_NS
}
