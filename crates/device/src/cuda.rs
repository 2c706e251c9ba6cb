//! CUDA by its driver alone, found at run time: nothing of it is needed to build or to start.
//!
//! [`Cuda`] is a card with the kernels of `kernels/`, which are in the binary as PTX, text that the driver compiles for
//! the card that it has. `cargo xtask kernels` makes the text of the sources. What is made on a device, streams, marks,
//! graphs and memory, lives in a context of its own and holds it.
//!
//! Invariant: nothing here panics for want of a driver. Its library is looked for first, then its version: a driver
//! that is older than [`DRIVER_MIN`] has not all functions that are called here, and refuses the kernels.
//!
//! All calls of the driver are in the files of `cuda/`, with the arguments why they are sound; `trouble` says what its
//! codes mean. Nothing else here is unsafe.

mod driver;
mod held;
mod module;
mod queue;
mod recording;
mod trouble;

use crate::{
    Device, DeviceError, Facts, Graph, HostRegion, Kernel, Launch, Mark, Node, Region, Slice,
    Stream,
};
use cudarc::driver::sys::CUdevice_attribute as Attribute;
use driver::{Card, Context};
use flate2::read::ZlibDecoder;
use held::{Memory, Pinned};
use module::{Function, Module};
use queue::{Event, Queue, Shape};
use recording::{Program, Recording};
use std::any::Any;
use std::io::Read;
use std::sync::{Arc, OnceLock};

macro_rules! modules {
    ($($name:literal)*) => {
        /// The modules of kernels: a name, as in [`Kernel::module`], and packed PTX ([`text_of`]).
        const MODULES: &[(&str, &[u8])] = &[
            $(($name, include_bytes!(concat!(env!("OUT_DIR"), "/", $name, ".ptx"))),)*
        ];
    };
}

modules! { "probe" "meet" "spread" "collapse" "walk" "left" "paged" }

/// A module's PTX.
fn text_of(packed: &[u8]) -> String {
    let mut text = String::new();
    let read = ZlibDecoder::new(packed).read_to_string(&mut text);
    read.expect("it was packed when this was built");
    text
}

/// The modules that most walks need, compiled when a card is opened; the others when a kernel of theirs is asked for first.
const FIRST: &[&str] = &["walk", "meet", "spread"];

/// The oldest version of CUDA whose driver takes the kernels.
pub const DRIVER_MIN: (u32, u32) = (12, 2);

/// The oldest capability that the kernels are made for: threads of a warp advance independently.
pub const CAPABILITY_MIN: (u32, u32) = (7, 0);

/// A card.
pub struct Cuda {
    facts: Facts,
    context: Arc<Context>,
    /// By [`MODULES`]' order.
    modules: Vec<OnceLock<Arc<Module>>>,
    /// By [`Kernel::ALL`]'s order.
    functions: Vec<OnceLock<Function>>,
}

impl Cuda {
    /// How many cards there are; 0 where there is no driver, or one that does not start.
    pub fn count() -> usize {
        counted().unwrap_or(0)
    }

    /// Whether the driver's library is there, without starting it: microseconds.
    pub fn has_driver() -> bool {
        driver::is_present()
    }

    /// Why there is no card; nothing where there is one.
    pub fn absence() -> Option<String> {
        match counted() {
            Ok(0) => Some("the NVIDIA driver knows of none".to_owned()),
            Ok(_) => None,
            Err(reason) => Some(reason),
        }
    }

    /// What a card is, and how many bytes of its memory are free, without compiling anything for it. A card that lets
    /// nobody in now (one that belongs to a process alone, or has no memory left) does not say how many.
    pub fn look(ordinal: usize) -> Result<(Facts, Option<u64>), DeviceError> {
        let card = card(ordinal)?;
        let free = Context::new(card).and_then(|context| context.free_bytes());
        Ok((facts(card)?, free.ok()))
    }

    /// A card, by its number below [`Cuda::count`], with the kernels that most walks need. Takes as long as the driver takes to compile them,
    /// which it keeps for the next time.
    pub fn open(ordinal: usize) -> Result<Cuda, DeviceError> {
        let card = card(ordinal)?;
        let facts = facts(card)?;
        fitness(&facts)?;
        let context = Context::new(card)?;
        let cuda = Cuda {
            facts,
            context,
            modules: MODULES.iter().map(|_| OnceLock::new()).collect(),
            functions: Kernel::ALL.iter().map(|_| OnceLock::new()).collect(),
        };
        for kernel in Kernel::ALL {
            if FIRST.contains(&kernel.module()) {
                cuda.function(*kernel)?;
            }
        }
        Ok(cuda)
    }

    /// Compiles all kernels once more, and forgets them. `salt` makes their text another one, so that the driver does
    /// not find what it has kept. For measuring.
    pub fn compile_anew(&self, salt: u64) -> Result<(), DeviceError> {
        for (_, packed) in MODULES {
            let text = text_of(packed);
            Module::of_ptx(&self.context, &format!("{text}\n// {salt}\n"))?;
        }
        Ok(())
    }

    /// A kernel, compiled with its module where nobody has asked for one of it before.
    fn function(&self, kernel: Kernel) -> Result<&Function, DeviceError> {
        let lacks = || DeviceError::Refused {
            call: "launch a kernel",
            reason: format!("`{}` is in no module of this build", kernel.name()),
        };
        let at = Kernel::ALL.iter().position(|other| *other == kernel);
        let place = &self.functions[at.ok_or_else(lacks)?];
        if let Some(function) = place.get() {
            return Ok(function);
        }
        let module = MODULES
            .iter()
            .position(|(name, _)| *name == kernel.module());
        let module = self.module(module.ok_or_else(lacks)?)?;
        let function = Function::of(&module, kernel.name())?;
        // Another thread may have been first: its function is the same.
        Ok(place.get_or_init(|| function))
    }

    fn module(&self, at: usize) -> Result<Arc<Module>, DeviceError> {
        let place = &self.modules[at];
        if let Some(module) = place.get() {
            return Ok(Arc::clone(module));
        }
        let text = text_of(MODULES[at].1);
        let module = Arc::new(Module::of_ptx(&self.context, &text)?);
        Ok(Arc::clone(place.get_or_init(|| module)))
    }

    fn queue<'a>(&self, stream: &'a Stream) -> &'a Queue {
        let queue = stream.0.downcast_ref::<Queue>();
        let queue = queue.expect("a stream of another kind of device");
        self.assert_own(queue.context());
        queue
    }

    fn event<'a>(&self, mark: &'a Mark) -> &'a Event {
        let event = any_event(mark);
        self.assert_own(event.context());
        event
    }

    fn assert_own(&self, context: &Arc<Context>) {
        assert!(Arc::ptr_eq(&self.context, context), "of another device");
    }
}

/// A mark of this card or another one.
fn any_event(mark: &Mark) -> &Event {
    let event = mark.0.downcast_ref::<Event>();
    event.expect("a mark of another kind of device")
}

/// A recorded program, where it runs, and what it touches.
struct Recorded {
    program: Program,
    queue: Stream,
    _slices: Vec<Slice>,
    _staged: Vec<HostRegion>,
}

/// How many cards there are, or why that is not known.
fn counted() -> Result<usize, String> {
    if !driver::is_present() {
        return Err("no NVIDIA driver found".to_owned());
    }
    let counted = driver::begin().and_then(|()| driver::count());
    counted.map_err(|error| match error {
        DeviceError::Refused { reason, .. } | DeviceError::Lost { reason } => {
            format!("the NVIDIA driver does not start: {reason}")
        }
        error => error.to_string(),
    })
}

/// A card that is there.
fn card(ordinal: usize) -> Result<Card, DeviceError> {
    let absent = |reason| DeviceError::Absent(format!("number {ordinal} was asked for, {reason}"));
    let count = counted().map_err(absent)?;
    if ordinal >= count {
        return Err(absent(format!("of {count} that are numbered from 0")));
    }
    Card::of(ordinal)
}

/// Whether driver and card can run the kernels.
fn fitness(facts: &Facts) -> Result<(), DeviceError> {
    let unfit = |what: &str, has: (u32, u32), needs: (u32, u32)| {
        Err(DeviceError::Absent(format!(
            "{} has {what} {}.{}, and the kernels need {}.{} or newer",
            facts.name, has.0, has.1, needs.0, needs.1
        )))
    };
    if facts.driver < DRIVER_MIN {
        return unfit("a driver of CUDA", facts.driver, DRIVER_MIN);
    }
    if facts.capability < CAPABILITY_MIN {
        return unfit("capability", facts.capability, CAPABILITY_MIN);
    }
    Ok(())
}

fn facts(card: Card) -> Result<Facts, DeviceError> {
    Ok(Facts {
        name: card.name()?,
        capability: (
            card.attribute(Attribute::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR)?,
            card.attribute(Attribute::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR)?,
        ),
        driver: driver::version()?,
        memory: card.memory()?,
        multiprocessors: card.attribute(Attribute::CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT)?,
        shared_cache: u64::from(card.attribute(Attribute::CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE)?),
        copy_engines: card.attribute(Attribute::CU_DEVICE_ATTRIBUTE_ASYNC_ENGINE_COUNT)?,
        is_card: true,
    })
}

fn shape(launch: &Launch) -> Shape {
    let block = launch.block;
    let fits = block > 0 && block <= 1024 && block.is_multiple_of(32);
    assert!(fits && launch.grid > 0, "{} blocks of {block}", launch.grid);
    Shape {
        grid: launch.grid,
        block,
        arguments: launch.arguments.address(),
    }
}

/// Asserts that a copy is as long as where it goes.
fn assert_length(from: u64, to: u64) {
    assert!(from == to, "{from} bytes are copied to {to}");
}

fn pinned(staged: &HostRegion) -> &Pinned {
    let pinned = staged.owner().downcast_ref::<Pinned>();
    pinned.expect("memory that another kind of device staged")
}

impl Device for Cuda {
    fn facts(&self) -> &Facts {
        &self.facts
    }

    fn sees(&self, other: &dyn Device) -> Result<bool, DeviceError> {
        match other.any().downcast_ref::<Cuda>() {
            Some(other) => self.context.sees(&other.context),
            None => Ok(false),
        }
    }

    fn any(&self) -> &dyn Any {
        self
    }

    fn free_bytes(&self) -> Result<u64, DeviceError> {
        self.context.free_bytes()
    }

    fn blocks(&self, kernel: Kernel, block: u32) -> Result<u32, DeviceError> {
        let of_one = self.function(kernel)?.resident_blocks(block)?;
        Ok(of_one * self.facts.multiprocessors)
    }

    fn region(&self, bytes: u64) -> Result<Region, DeviceError> {
        let memory = Memory::new(&self.context, bytes)?;
        Ok(Region::new(memory.address(), bytes, Arc::new(memory)))
    }

    fn stage(&self, bytes: u64) -> Result<HostRegion, DeviceError> {
        let pinned = Pinned::new(&self.context, bytes.div_ceil(8) as usize)?;
        let address = pinned.address();
        Ok(HostRegion::new(Arc::new(pinned), address))
    }

    fn stream(&self) -> Result<Stream, DeviceError> {
        Ok(Stream(boxed(Queue::new(&self.context)?)))
    }

    fn upload(&self, on: &Stream, to: &Slice, from: &[u8]) -> Result<(), DeviceError> {
        assert_length(from.len() as u64, to.bytes());
        self.queue(on).upload(to.address(), from)
    }

    fn upload_staged_from(
        &self,
        on: &Stream,
        to: &Slice,
        from: &HostRegion,
        at: u64,
    ) -> Result<(), DeviceError> {
        let queue = self.queue(on);
        queue.upload_staged(to.address(), pinned(from), at, to.bytes())
    }

    fn download(&self, on: &Stream, from: &Slice, to: &mut [u8]) -> Result<(), DeviceError> {
        assert_length(from.bytes(), to.len() as u64);
        self.queue(on).download(from.address(), to)
    }

    fn download_staged(
        &self,
        on: &Stream,
        from: &Slice,
        to: &HostRegion,
        at: u64,
    ) -> Result<(), DeviceError> {
        let queue = self.queue(on);
        queue.download_staged(from.address(), (pinned(to), at), from.bytes())
    }

    fn copy(&self, on: &Stream, from: &Slice, to: &Slice) -> Result<(), DeviceError> {
        assert_length(from.bytes(), to.bytes());
        let queue = self.queue(on);
        queue.copy(from.address(), to.address(), from.bytes())
    }

    fn fill(&self, on: &Stream, to: &Slice, byte: u8) -> Result<(), DeviceError> {
        self.queue(on).fill(to.address(), to.bytes(), byte)
    }

    fn launch(&self, on: &Stream, launch: &Launch) -> Result<(), DeviceError> {
        let function = self.function(launch.kernel)?;
        self.queue(on).launch(function, shape(launch))
    }

    fn record(&self, on: &Stream, program: &[Node<'_>]) -> Result<Graph, DeviceError> {
        let mut recording = Recording::new(self.queue(on).context())?;
        let (mut slices, mut staged) = (Vec::new(), Vec::new());
        for node in program {
            let (slice, host) = match node {
                Node::Launch(launch) => {
                    recording.launch(self.function(launch.kernel)?, shape(launch))?;
                    (&launch.arguments, None)
                }
                Node::Upload { to, from } => {
                    recording.copy(pinned(from), to.address(), to.bytes(), true)?;
                    (to, Some(*from))
                }
                Node::Download { from, to } => {
                    recording.copy(pinned(to), from.address(), from.bytes(), false)?;
                    (from, Some(*to))
                }
            };
            slices.push(slice.clone());
            staged.extend(host.cloned());
        }
        Ok(Graph(boxed(Recorded {
            program: recording.ready()?,
            queue: on.clone(),
            _slices: slices,
            _staged: staged,
        })))
    }

    fn replay(&self, graph: &Graph) -> Result<(), DeviceError> {
        let recorded = graph.0.downcast_ref::<Recorded>();
        let recorded = recorded.expect("a graph of another kind of device");
        recorded.program.launch(self.queue(&recorded.queue))
    }

    fn mark(&self, on: &Stream) -> Result<Mark, DeviceError> {
        Ok(Mark(boxed(Event::of(self.queue(on))?)))
    }

    fn has_passed(&self, mark: &Mark) -> Result<bool, DeviceError> {
        self.event(mark).has_passed()
    }

    fn wait(&self, mark: &Mark) -> Result<(), DeviceError> {
        self.event(mark).wait()
    }

    fn follow(&self, on: &Stream, mark: &Mark) -> Result<(), DeviceError> {
        self.queue(on).follow(any_event(mark))
    }

    fn elapsed_ms(&self, from: &Mark, to: &Mark) -> Result<f32, DeviceError> {
        self.event(from).elapsed_ms(self.event(to))
    }
}

fn boxed<T: Any + Send + Sync>(what: T) -> Arc<dyn Any + Send + Sync> {
    Arc::new(what)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kernel_is_in_the_text_of_its_module() {
        for kernel in Kernel::ALL {
            let (_, packed) = MODULES
                .iter()
                .find(|(name, _)| *name == kernel.module())
                .expect("its module is there");
            let text = text_of(packed);
            let entry = format!(".visible .entry {}(", kernel.name());
            assert!(text.contains(&entry), "{kernel:?}");
        }
    }

    #[test]
    fn what_is_too_old_is_refused_by_name() {
        let facts = |capability, driver| Facts {
            name: "Card".into(),
            capability,
            driver,
            memory: 0,
            multiprocessors: 1,
            shared_cache: 0,
            copy_engines: 0,
            is_card: true,
        };
        assert_eq!(fitness(&facts((7, 0), (12, 2))), Ok(()));
        assert_eq!(fitness(&facts((10, 0), (13, 1))), Ok(()));
        let old = fitness(&facts((6, 1), (12, 9))).map_err(|error| error.to_string());
        let said = "no device: Card has capability 6.1, and the kernels need 7.0 or newer";
        assert_eq!(old, Err(said.to_owned()));
        let old = fitness(&facts((9, 0), (11, 8))).map_err(|error| error.to_string());
        let said = "no device: Card has a driver of CUDA 11.8, and the kernels need 12.2 or newer";
        assert_eq!(old, Err(said.to_owned()));
    }
}
