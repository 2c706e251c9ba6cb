//! What is said of a query and a device: why it stays on the processors, or what of it ran there.
//!
//! Words are made for a run that is profiled, and for a plan that is explained: others pay nothing for them.

use gpu::{GpuError, NotCovered, Section};
use std::fmt;

/// Expected nanoseconds on one thread from which a query is worth a launch, by the plan's estimates: some thirty times what
/// launching and reading costs.
pub(super) const WORTH_NS: f64 = 2e6;

/// Why a query stays on the processors.
#[derive(Debug)]
pub(crate) enum Stays {
    /// Nothing is for the device.
    Never,
    /// It is not expected to gain.
    Light,
    /// It draws some rows at random, or wants the first ones only.
    ChoosesRows,
    /// The device is being opened.
    Opening,
    /// The device was lost or did not open.
    Lost,
    /// The device does not begin it, or failed.
    Gpu(GpuError),
    /// Device and processors see other seeds.
    Seed,
}

impl fmt::Display for Stays {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Stays::Never => formatter.write_str("it is for no query"),
            Stays::Light => write!(
                formatter,
                "the plan is expected to take less than {} ms",
                WORTH_NS / 1e6
            ),
            Stays::ChoosesRows => formatter.write_str("the query chooses among its rows"),
            Stays::Opening => formatter.write_str("it is being opened"),
            Stays::Lost => formatter.write_str("it is lost, or did not open"),
            Stays::Gpu(error) => error.fmt(formatter),
            Stays::Seed => formatter.write_str("its seed is another one"),
        }
    }
}

/// What became of a run's beginning.
#[derive(Clone, Debug, Default)]
pub(crate) struct DeviceReport {
    /// Steps that were the device's, from the first on.
    pub(crate) covered: usize,
    /// For people; `None`: the run was not profiled.
    pub(crate) words: Option<String>,
}

impl DeviceReport {
    /// Of a query that stayed on the processors.
    pub(crate) fn stayed(stays: &Stays, is_profiled: bool) -> DeviceReport {
        let is_worded = is_profiled && !matches!(stays, Stays::Never);
        DeviceReport {
            covered: 0,
            words: is_worded.then(|| format!("not asked: {stays}")),
        }
    }

    /// Of one that began on the device, which gave so many rows.
    pub(crate) fn ran(
        section: &Section,
        rows: u64,
        failed: Option<&GpuError>,
        is_profiled: bool,
    ) -> DeviceReport {
        let covered = section.covered();
        let words = || {
            let launches = section.launches();
            let plural = if launches == 1 { "" } else { "es" };
            let what = format!("steps 1 to {covered}, {rows} rows, {launches} launch{plural}");
            if let Some(error) = failed {
                return format!("{what}; it failed, and the processors went on: {error}");
            }
            match section.why() {
                NotCovered::End => what,
                why => format!("{what}; step {} on the processors: {why}", covered + 1),
            }
        };
        DeviceReport {
            covered,
            words: is_profiled.then(words),
        }
    }
}
