//! Why a plan, or the rest of it, is walked on the processor.

use device::DeviceError;
use std::fmt;
use store::ViewError;

/// What the device does not do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NotCovered {
    /// The kernels have no such step; its name in plans.
    Step(&'static str),
    /// It looks at graphs by name, at a window, or at a segment with edges in named graphs.
    Graphs,
    /// It has a constant where kernels want a column, or a column where they want a constant.
    Shape,
    /// Layers have changed so much of its segment that it is not brought to the device, or what predicates there are.
    Layered,
    /// The predicate has no edge: nothing to walk.
    NoEdges,
    /// Ids do not decide its condition.
    Condition,
    /// A block of it is more than one pattern, or blocks bind different variables.
    Block,
    /// Rows are looked at together from here on.
    Cut,
    /// The table has too many columns.
    Columns,
    /// It may be by any predicate, and there are more than a launch is told of.
    Predicates,
    /// It may be by any predicate, and their segments have no room as a whole.
    Paged,
    /// It looks at lists of which the graph's part here does not have all.
    Part,
    /// The plan has no further step.
    End,
}

impl fmt::Display for NotCovered {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            NotCovered::Step(name) => write!(formatter, "{name} is not done there"),
            NotCovered::Graphs => formatter.write_str("its graphs are told apart"),
            NotCovered::Shape => formatter.write_str("its ends are not those of a list of rows"),
            NotCovered::Layered => formatter.write_str("it has changes that are not brought to it"),
            NotCovered::NoEdges => formatter.write_str("its predicate has no edge"),
            NotCovered::Condition => formatter.write_str("ids do not decide its condition"),
            NotCovered::Block => formatter.write_str("a block of it is more than one pattern"),
            NotCovered::Cut => formatter.write_str("it looks at rows together"),
            NotCovered::Columns => formatter.write_str("its table has too many columns"),
            NotCovered::Predicates => formatter.write_str("its predicate may be any of too many"),
            NotCovered::Paged => {
                formatter.write_str("its predicate may be any, and not all have room")
            }
            NotCovered::Part => formatter.write_str("it looks at what other parts have, too"),
            NotCovered::End => formatter.write_str("there is none"),
        }
    }
}

/// Why a section was not walked.
#[derive(Debug, thiserror::Error)]
pub enum GpuError {
    /// The device failed.
    #[error(transparent)]
    Device(#[from] DeviceError),
    /// The base's files are damaged.
    #[error(transparent)]
    View(#[from] ViewError),
    /// Not even the plan's beginning is covered.
    #[error("the device does not begin this plan: of step {}, {why}", step + 1)]
    Nothing {
        /// The first step that is not covered, counted from 0.
        step: usize,
        /// Why not.
        why: NotCovered,
    },
    /// The segments of the query have no room.
    #[error("the device has no room for a segment of {asked} bytes: {free} are left")]
    NoRoom {
        /// Bytes of the segment.
        asked: u64,
        /// Bytes that are left for images.
        free: u64,
    },
    /// The device's memory for images has no room for one page.
    #[error("the device's memory for images, {bytes} bytes, has no room for a page of {page}")]
    NoPage {
        /// Bytes for images.
        bytes: u64,
        /// Bytes of a page.
        page: u64,
    },
    /// Devices that are to have images together do not reach each other's memory.
    #[error(
        "device {number} does not reach the memory of device {other}, so they have no images together"
    )]
    Apart {
        /// Which of them.
        number: usize,
        /// Whose memory.
        other: usize,
    },
    /// The program is longer than its arguments may be.
    #[error("the device does not take {steps} steps at once")]
    TooManySteps {
        /// Of the program.
        steps: usize,
    },
    /// Layers have changed more of a segment that it looks at than is brought to the device.
    #[error("a segment has more changes than are brought to the device")]
    Layered,
    /// Whoever waited for a strip does not wait any more; the device may still walk it.
    #[error("the device was not waited for any longer")]
    GivenUp,
    /// As many sections are there as may be at once, or a segment is being brought.
    #[error("the device walks as many queries as it has room for, or data are brought to it")]
    Busy,
    /// Segments that it looks at are not on the device, and are not brought at once.
    #[error("its data are not on the device yet")]
    Away,
    /// Whoever asked does not want what the device would do.
    #[error("its steps for the device are not worth it")]
    Unworthy,
    /// One element of the seed has more rows than the tables have room for.
    #[error("the rows of one element of the seed have no room at step {step}")]
    TooManyRows {
        /// Number of the program's step.
        step: usize,
    },
}
