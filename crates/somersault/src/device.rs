//! The GPU, where there is one: what it is, and what it can do.
//!
//! Without a driver, or without a card, there is nothing here and nothing fails: a binary is the same everywhere.

pub use ::device::cuda::Cuda;
pub use ::device::probe::{Chain, Figure, Gather, Probe, probe};
pub use ::device::{Device, DeviceError, Facts};
pub use ::engine::accelerator::{Accelerator, DeviceFigures, Memory, Offload};
pub use ::engine::run::device_runs::DeviceRuns;
