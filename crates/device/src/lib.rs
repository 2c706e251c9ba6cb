//! A GPU, as little of it as a walk needs: memory, streams, launches, graphs of launches, marks.
//!
//! [`Device`] has two answers. `cuda::Cuda` finds the driver when it is asked, never at build or start, so a
//! binary without a driver starts as ever. `Twin` compiles the kernels' one source as C++ and runs every thread of a
//! block as a fiber, with real barriers and shuffles, so that tests need no card (`feature = "twin"`).
//!
//! Every kernel takes one argument: the address of its block of arguments in the device's memory. So a graph that was
//! captured once is replayed with other arguments by writing that block, and the twin calls what a card calls.
//!
//! The second crate with `unsafe` in it, for the driver's functions and the twin's; `docs/decisions` says why. What it
//! checks: that slices lie within their regions, and that what is copied is as long as where it goes. What it cannot
//! check: addresses within a block of arguments. Whoever fills one (`gpu`, and the probe) is trusted as far as the kernels are.
//!
//! Nothing here reads a clock: [`Device::elapsed_ms`] is the card's own. Does not know: graphs of edges, queries.

pub mod cuda;
mod kernel;
pub mod probe;
mod region;
#[cfg(feature = "twin")]
pub mod twin;

pub use kernel::Kernel;
pub use region::{HostRegion, Region, Slice};

use std::any::Any;
use std::sync::Arc;

/// What a device says about itself.
#[derive(Clone, Debug, PartialEq)]
pub struct Facts {
    /// Its name, as the driver gives it.
    pub name: String,
    /// Major and minor number of what its instructions can do.
    pub capability: (u32, u32),
    /// The newest version of CUDA that the driver speaks, major and minor.
    pub driver: (u32, u32),
    /// Bytes of memory.
    pub memory: u64,
    /// Multiprocessors.
    pub multiprocessors: u32,
    /// Bytes of the cache that all of them share.
    pub shared_cache: u64,
    /// Engines that copy beside kernels.
    pub copy_engines: u32,
    /// Whether it is another one than the processor's twin.
    pub is_card: bool,
}

/// What a device could not do.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DeviceError {
    /// No driver, or no such card: nothing was started.
    #[error("no device: {0}")]
    Absent(String),
    /// It has not so much memory left.
    #[error("the device has no {asked} bytes of memory left")]
    OutOfMemory {
        /// Bytes.
        asked: u64,
    },
    /// The driver refused a call; the device works on.
    #[error("the device's driver refused to {call}: {reason}")]
    Refused {
        /// What was asked.
        call: &'static str,
        /// In the driver's words.
        reason: String,
    },
    /// The device does not answer any more; all that was on it is gone.
    #[error("the device is lost: {reason}")]
    Lost {
        /// In the driver's words.
        reason: String,
    },
}

/// A queue of work on a device, done in order.
#[derive(Clone)]
pub struct Stream(pub(crate) Arc<dyn Any + Send + Sync>);

/// A place in a stream's work.
#[derive(Clone)]
pub struct Mark(pub(crate) Arc<dyn Any + Send + Sync>);

/// Work that was recorded, to be done again by one call.
#[derive(Clone)]
pub struct Graph(pub(crate) Arc<dyn Any + Send + Sync>);

/// A kernel to run.
#[derive(Clone, Debug)]
pub struct Launch {
    /// Which.
    pub kernel: Kernel,
    /// Blocks.
    pub grid: u32,
    /// Threads of a block, a multiple of 32, 1,024 at most.
    pub block: u32,
    /// Where its block of arguments lies in the device's memory.
    pub arguments: Slice,
}

/// One thing that a graph does.
#[derive(Clone, Debug)]
pub enum Node<'a> {
    /// Runs a kernel.
    Launch(Launch),
    /// Copies bytes of staged host memory, as they are when the graph is replayed.
    Upload {
        /// Where to.
        to: Slice,
        /// From its beginning.
        from: &'a HostRegion,
    },
    /// Copies to the beginning of staged host memory.
    Download {
        /// Where from.
        from: Slice,
        /// Where to.
        to: &'a HostRegion,
    },
}

/// A device. All methods may be called from any thread. What is put into one stream is done in that order; a call
/// returns before it is done, unless it says otherwise.
pub trait Device: Send + Sync {
    /// What it is.
    fn facts(&self) -> &Facts;

    /// Lets kernels and copies here reach memory of another device by its addresses, from now on; `false`: they cannot. Whoever uses that keeps
    /// the other's regions until nothing runs here that may touch them: their drop waits for their own device alone.
    fn sees(&self, other: &dyn Device) -> Result<bool, DeviceError>;

    /// It, for one of its kind.
    fn any(&self) -> &dyn Any;

    /// Bytes of memory that are free now.
    fn free_bytes(&self) -> Result<u64, DeviceError>;

    /// How many blocks of so many threads it runs at once, on all multiprocessors together.
    fn blocks(&self, kernel: Kernel, block: u32) -> Result<u32, DeviceError>;

    /// Takes memory, with anything in it. It is given back when the last clone of the region goes.
    fn region(&self, bytes: u64) -> Result<Region, DeviceError>;

    /// Takes zeroed host memory that the device reads and writes in place and copies without a detour.
    fn stage(&self, bytes: u64) -> Result<HostRegion, DeviceError>;

    /// Makes a stream.
    fn stream(&self) -> Result<Stream, DeviceError>;

    /// Copies bytes to the device; when it returns, `from` has been read. Asserts that they are as long as `to`.
    fn upload(&self, on: &Stream, to: &Slice, from: &[u8]) -> Result<(), DeviceError>;

    /// Copies staged bytes, from the beginning of `from`, to the device. Asserts that there are as many as `to` is long.
    fn upload_staged(&self, on: &Stream, to: &Slice, from: &HostRegion) -> Result<(), DeviceError> {
        self.upload_staged_from(on, to, from, 0)
    }

    /// Copies staged bytes, from the byte `at` of `from` on, to the device. Asserts that there are as many as `to` is long.
    fn upload_staged_from(
        &self,
        on: &Stream,
        to: &Slice,
        from: &HostRegion,
        at: u64,
    ) -> Result<(), DeviceError>;

    /// Copies bytes from the device and waits for them. Asserts that they are as long as `to`.
    fn download(&self, on: &Stream, from: &Slice, to: &mut [u8]) -> Result<(), DeviceError>;

    /// Copies bytes to staged memory, from its byte `at` on. Asserts that they have room there.
    fn download_staged(
        &self,
        on: &Stream,
        from: &Slice,
        to: &HostRegion,
        at: u64,
    ) -> Result<(), DeviceError>;

    /// Copies within the device. Asserts that both are of one length.
    fn copy(&self, on: &Stream, from: &Slice, to: &Slice) -> Result<(), DeviceError>;

    /// Sets every byte.
    fn fill(&self, on: &Stream, to: &Slice, byte: u8) -> Result<(), DeviceError>;

    /// Runs a kernel.
    fn launch(&self, on: &Stream, launch: &Launch) -> Result<(), DeviceError>;

    /// Records work that is then done by [`Device::replay`], in order.
    fn record(&self, on: &Stream, program: &[Node<'_>]) -> Result<Graph, DeviceError>;

    /// Does recorded work again, in the stream that it was recorded on.
    fn replay(&self, graph: &Graph) -> Result<(), DeviceError>;

    /// Marks the end of what was put into the stream so far.
    fn mark(&self, on: &Stream) -> Result<Mark, DeviceError>;

    /// Whether all before the mark is done.
    fn has_passed(&self, mark: &Mark) -> Result<bool, DeviceError>;

    /// Waits until it is.
    fn wait(&self, mark: &Mark) -> Result<(), DeviceError>;

    /// Lets what is put into `on` from now on wait for the mark of another stream, which may be another device's of its kind.
    fn follow(&self, on: &Stream, mark: &Mark) -> Result<(), DeviceError>;

    /// Milliseconds of the device between two marks that have passed; the twin's are 0.
    fn elapsed_ms(&self, from: &Mark, to: &Mark) -> Result<f32, DeviceError>;
}
