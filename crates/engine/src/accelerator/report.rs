//! What is said of a query and a device: why it stays on the processors, or what of it ran there.
//!
//! Words are made for a run that is profiled, and for a plan that is explained: others pay nothing for them.

use super::Begun;
use gpu::{GpuError, NotCovered, Section};
use std::fmt::{self, Write};
use std::ops::Range;

/// Expected nanoseconds on one thread from which a query is worth a launch, by the plan's estimates: some thirty times what
/// launching and reading costs.
pub(super) const WORTH_NS: f64 = 2e6;

/// Expected nanoseconds of steps on a device, which take so many on one thread, and of reading so many cells from it: to be compared
/// with what threads take, not to be told. By docs/figures.md, "On a card": 50 us are the launch and one dependent read after another, the
/// rest is 60 to 300 times as fast as one thread, and a cell takes a nanosecond to be read and made an id.
pub(super) fn device_ns(cost_ns: f64, cells: f64, tables: f64) -> f64 {
    LAUNCH_NS * tables.max(1.0) + cost_ns / 60.0 + cells
}

/// Nanoseconds of a launch and of what it waits for.
const LAUNCH_NS: f64 = 5e4;

/// Tables in which rows come, for each row: from other nodes, where those between sections have some thousand, and from first steps that were
/// walked here, of which a room takes 131,072 cells at once.
pub(super) const TABLES_A_ROW: f64 = 1.0 / 4096.0;
pub(super) const OWN_TABLES_A_ROW: f64 = 1.0 / 65_536.0;

/// Why a query stays on the processors.
#[derive(Debug)]
pub(crate) enum Stays {
    /// Nothing is for the device.
    Never,
    /// It is not expected to gain.
    Light,
    /// The steps that a device has kernels for are not expected to gain.
    Unworthy,
    /// It draws some rows at random, or wants the first ones only.
    ChoosesRows,
    /// The device is being opened.
    Opening,
    /// What it looks at is not on the device, to which it is brought now or when that has time.
    Bringing,
    /// The device was lost or did not open.
    Lost,
    /// The device does not begin it, or failed.
    Gpu(GpuError),
    /// Device and processors see other seeds.
    Seed,
}

impl Stays {
    /// Whether it is because of the plan's first steps: later ones may be a device's.
    pub(crate) fn is_of_first_steps(&self) -> bool {
        matches!(self, Stays::Unworthy | Stays::Gpu(GpuError::Nothing { .. }))
    }
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
            Stays::Unworthy => {
                formatter.write_str("its steps for the device are expected to be done sooner here")
            }
            Stays::ChoosesRows => formatter.write_str("the query chooses among its rows"),
            Stays::Opening => formatter.write_str("it is being opened"),
            Stays::Bringing => formatter.write_str("the query's data are brought to it first"),
            Stays::Lost => formatter.write_str("it is lost, or did not open"),
            Stays::Gpu(error) => error.fmt(formatter),
            Stays::Seed => formatter.write_str("its seed is another one"),
        }
    }
}

/// What became of a run and devices.
#[derive(Clone, Debug, Default)]
pub(crate) struct DeviceReport {
    /// Steps that were the device's.
    pub(crate) steps: Range<usize>,
    /// For people; `None`: the run was not profiled.
    pub(crate) words: Option<String>,
}

impl DeviceReport {
    /// Of a query that stayed on the processors.
    pub(crate) fn stayed(stays: &Stays, is_profiled: bool) -> DeviceReport {
        let is_worded = is_profiled && !matches!(stays, Stays::Never);
        DeviceReport {
            steps: 0..0,
            words: is_worded.then(|| format!("not asked: {stays}")),
        }
    }

    /// Of one that would begin on a device, or come to it.
    pub(crate) fn would(steps: Range<usize>, why: NotCovered) -> DeviceReport {
        let what = format!("would be asked for {}", named(&steps));
        DeviceReport {
            words: Some(with_why(what, steps.end, why)),
            steps,
        }
    }

    /// Of one whose first steps were walked before.
    pub(crate) fn came_late(lately: &Lately<'_>, is_profiled: bool) -> DeviceReport {
        let words = || {
            let Lately {
                steps,
                rows,
                launches,
                has_failed,
                stays,
                why,
            } = lately;
            let plural = if *launches == 1 { "" } else { "es" };
            let what = format!("{}, {rows} rows, {launches} launch{plural}", named(steps));
            let what = if *has_failed {
                format!("{what}; it failed, and the processors went on")
            } else {
                with_why(what, steps.end, *why)
            };
            format!("{what}; those before on the processors: {stays}")
        };
        DeviceReport {
            words: is_profiled.then(words),
            steps: lately.steps.clone(),
        }
    }

    /// Of one that began on devices; each of them does what this section does.
    pub(crate) fn ran(section: &Section, took: &Took<'_>, is_profiled: bool) -> DeviceReport {
        let covered = section.covered();
        let words = || {
            let Took { rows, launches, .. } = took;
            let plural = if *launches == 1 { "" } else { "es" };
            let mut what = format!("{}, {rows} rows", named(&(0..covered)));
            if section.makes_equal_rows_one() {
                let _ = write!(what, " ({} without equal ones)", took.read);
            }
            let _ = write!(what, ", {launches} launch{plural}");
            if took.devices > 1 {
                let _ = write!(what, " of {} devices", took.devices);
            }
            if let Some(error) = took.failed {
                return format!("{what}; it failed, and the processors went on: {error}");
            }
            if took.here > 0 {
                let (here, all) = (took.here, section.seeds());
                let _ = write!(what, "; {here} of {all} beginnings on the processors");
            }
            with_why(what, covered, section.why())
        };
        DeviceReport {
            words: is_profiled.then(words),
            steps: 0..covered,
        }
    }
}

/// Steps as people count them.
fn named(steps: &Range<usize>) -> String {
    match (steps.start, steps.end) {
        (first, end) if first + 1 == end && first > 0 => format!("step {end}"),
        (first, end) => format!("steps {} to {end}", first + 1),
    }
}

/// What a device does, and why not more.
fn with_why(what: String, covered: usize, why: NotCovered) -> String {
    match why {
        NotCovered::End => what,
        why => format!("{what}; step {} on the processors: {why}", covered + 1),
    }
}

/// What a device did of a query that came to it late.
pub(crate) struct Lately<'l> {
    pub(crate) steps: Range<usize>,
    /// Of its last step.
    pub(crate) rows: u64,
    pub(crate) launches: u64,
    /// Why not more.
    pub(crate) why: NotCovered,
    /// Whether it has not done all of them.
    pub(crate) has_failed: bool,
    /// Why the query did not begin there.
    pub(crate) stays: &'l Stays,
}

/// What of a run was devices'.
pub(crate) struct Took<'t> {
    /// Rows of their last step.
    pub(crate) rows: u64,
    /// Those that were read: fewer, where equal ones became one.
    pub(crate) read: u64,
    /// Launches of all.
    pub(crate) launches: u64,
    pub(crate) devices: usize,
    /// Elements of the seed that the processors walked beside them.
    pub(crate) here: u64,
    /// The first failure.
    pub(crate) failed: Option<&'t GpuError>,
}

impl<'t> Took<'t> {
    /// These, without their rows yet.
    pub(crate) fn of(begun: &[Begun], here: u64) -> Took<'t> {
        Took {
            rows: 0,
            read: 0,
            launches: begun.iter().map(|it| it.section.launches()).sum(),
            devices: begun.len(),
            here,
            failed: None,
        }
    }
}
