//! The GPU, where there is one: what it is, what it can do, and how a database comes to use it.
//!
//! Without a driver, or without a card, there is nothing here and nothing fails: a binary is the same everywhere.
//!
//! [`configured`] makes what [`Options::accelerator`](crate::Options::accelerator) takes. It stands apart from the other limits, for a
//! device may be missing, and whoever opens a database says where it is told.

pub use ::device::cuda::Cuda;
pub use ::device::probe::{Chain, Figure, Gather, Probe, probe};
pub use ::device::{Device, DeviceError, Facts};
pub use ::engine::accelerator::{
    Accelerator, DeviceFigures, Memory, Offload, Opened, Opener, Teller,
};
pub use ::engine::run::device_runs::{CacheOptions, DeviceApart, DeviceRuns, DeviceWalk, Traffic};

use crate::config::Config;
use std::sync::Arc;

/// Queries that may be on a device at once. Four clients walk together 2.2 times as often as one (docs/figures.md, "On a card"), and
/// whoever waits is in nobody's way.
const SECTIONS: usize = 4;

/// How a device's memory is divided of which so much is free: three fifths for images, a fifth for tables, unless the
/// configuration says otherwise; and what it may take of this machine's. The rest is the driver's, and of whoever else uses the card.
pub fn memory(config: &Config, free_bytes: u64) -> Memory {
    let gpu = &config.gpu;
    let host = gpu.host_bytes.unwrap_or(config.memory_pool_bytes / 3);
    let tables = gpu.tables_bytes.unwrap_or(free_bytes / 5);
    Memory {
        images: gpu.images_bytes.unwrap_or(free_bytes / 5 * 3),
        host: host / gpu.devices.len().max(1) as u64,
        tables: tables / SECTIONS as u64,
        sections: SECTIONS,
    }
}

/// The devices that a configuration asks for. `always` opens them now, and an error says why there is none. `auto` opens them when a
/// query is worth it, and `teller` is told if that fails. `None`: none is to be used, or there is no driver.
pub fn configured(
    config: &Config,
    teller: Teller,
) -> Result<Option<Arc<Accelerator>>, DeviceError> {
    let offload = config.gpu.offload;
    match offload {
        Offload::Never => return Ok(None),
        // Starting a driver takes a while; whether there is one does not.
        Offload::Auto if !Cuda::has_driver() => return Ok(None),
        Offload::Auto | Offload::Always => {}
    }
    let opener = |at: usize| -> Opener {
        let asked = config.clone();
        Box::new(move || {
            let mut opened: Vec<(usize, Arc<dyn Device>)> = Vec::new();
            let mut free = u64::MAX;
            for &number in &asked.gpu.devices[at] {
                // One that stands there twice is one context: others of the same card do not reach its memory.
                let known = opened.iter().find(|(other, _)| *other == number);
                let device = match known {
                    Some((_, device)) => Arc::clone(device),
                    None => Arc::new(Cuda::open(number)?),
                };
                // Each of those that are one card takes its part when a query begins there first.
                let sharers = asked.gpu.devices.iter().flatten();
                let sharers = sharers.filter(|other| **other == number).count() as u64;
                free = free.min(device.free_bytes()? / sharers);
                opened.push((number, device));
            }
            let devices: Vec<_> = opened
                .iter()
                .map(|(_, device)| Arc::clone(device))
                .collect();
            for ((number, one), (other, of)) in pairs(&opened) {
                if !one.sees(&**of)? {
                    return Err(DeviceError::Absent(format!(
                        "cards {number} and {other} do not reach each other's memory, so gpu.device cannot have {number}+{other}: separate \
                         them by a comma"
                    )));
                }
            }
            let memory = memory(&asked, free);
            Ok(Opened { devices, memory })
        })
    };
    let openers = (0..config.gpu.devices.len()).map(opener).collect();
    let accelerator = Accelerator::lazy(openers, teller, offload);
    if offload == Offload::Always {
        accelerator.open()?;
    }
    Ok(Some(Arc::new(accelerator)))
}

/// All pairs of two, in either order.
fn pairs<T>(all: &[T]) -> impl Iterator<Item = (&T, &T)> {
    let others = |at: usize| (0..all.len()).filter(move |other| *other != at);
    (0..all.len()).flat_map(move |at| others(at).map(move |other| (&all[at], &all[other])))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{Layers, Machine};

    fn config(text: &str) -> Config {
        let mut layers = Layers::new();
        layers.add_file("f", text).unwrap();
        let machine = Machine {
            cores: 1,
            free_memory_bytes: 1 << 30,
        };
        layers.check(machine).unwrap()
    }

    #[test]
    fn memory_is_divided_by_what_is_free_or_by_what_was_said() {
        let free = 10 << 30;
        let automatic = memory(&config(""), free);
        assert_eq!(automatic.images, 6 << 30);
        assert_eq!(automatic.tables * automatic.sections as u64, 2 << 30);
        assert_eq!(automatic.host, (1u64 << 30) / 10 * 6 / 3);
        let said = memory(&config("[gpu]\nimages = \"1GiB\"\ntables = \"4GiB\""), free);
        assert_eq!((said.images, said.tables), (1 << 30, 1 << 30));
    }

    #[test]
    fn a_device_that_is_not_wanted_is_not_looked_for() {
        let told: Teller = Box::new(|what| panic!("nobody has to know: {what}"));
        let never = configured(&config("[gpu]\nuse = \"never\""), told);
        assert!(never.unwrap().is_none());
    }

    #[test]
    fn one_that_must_be_there_and_is_not_is_an_error() {
        let told: Teller = Box::new(|_| {});
        // No machine has so many.
        let always = configured(&config("[gpu]\nuse = \"always\"\ndevice = 1000"), told);
        let error = always.unwrap_err();
        assert!(matches!(error, DeviceError::Absent(_)), "{error}");
    }
}
