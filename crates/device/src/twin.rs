//! The host twin: a device whose kernels are the same source, compiled as C++ and run on the thread that asks.
//!
//! A launch runs to its end before the call returns, so every mark has passed unless it is a slow twin's; threads of a block are fibers that are
//! let go on in an order drawn from a seed (`kernels/twin.h`). Fresh memory holds garbage, as a card's does, so that who
//! reads what nobody wrote is found. A call that is to fail can be named by its number, and recorded work can be put off, for tests of
//! what becomes of a walk then.
//!
//! Where there was no C++ compiler [`Twin::new`] says so, and tests that need it are skipped.

use crate::region::Words;
use crate::{
    Device, DeviceError, Facts, Graph, HostRegion, Kernel, Launch, Mark, Node, Region, Slice,
    Stream,
};
use std::any::Any;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

/// Blocks that run at once: so many that tiles are taken in turn, so few that tests are fast.
const BLOCKS: u32 = 3;

/// Memory of which every byte is this until it is written.
const GARBAGE: u64 = 0xa5a5_a5a5_a5a5_a5a5;

/// A device that is the processor.
pub struct Twin {
    facts: Facts,
    seed: AtomicU64,
    used: Arc<AtomicU64>,
    calls: AtomicU64,
    downloads: AtomicU64,
    failing: Option<(u64, DeviceError)>,
    /// Questions after which recorded work is done; 0: at once.
    slowness: u64,
    put_off: Mutex<PutOff>,
}

/// Recorded work that is not done yet, and the questions that were asked since the first of it.
#[derive(Default)]
struct PutOff {
    graphs: Vec<Graph>,
    questions: u64,
}

impl Twin {
    /// One with so much memory, whose fibers run in an order drawn from `seed`.
    pub fn new(memory: u64, seed: u64) -> Result<Twin, DeviceError> {
        if !cfg!(has_twin) {
            return Err(DeviceError::Absent(
                "it was built without a C++ compiler".into(),
            ));
        }
        Ok(Twin {
            facts: Facts {
                name: "host twin".into(),
                capability: (7, 0),
                driver: (12, 2),
                memory,
                multiprocessors: 1,
                shared_cache: 0,
                copy_engines: 0,
                is_card: false,
            },
            seed: AtomicU64::new(seed),
            used: Arc::default(),
            calls: AtomicU64::new(0),
            downloads: AtomicU64::new(0),
            failing: None,
            slowness: 0,
            put_off: Mutex::default(),
        })
    }

    /// Lets the call with this number, from 0, fail, and all after it where it is lost then.
    #[must_use]
    pub fn failing(mut self, call: u64, error: DeviceError) -> Twin {
        self.failing = Some((call, error));
        self
    }

    /// Lets recorded work be done only when somebody has asked so often whether a mark has passed, or waits for one; at
    /// `u64::MAX` it hangs, and whoever waits for it is told that the device is lost.
    #[must_use]
    pub fn slow(mut self, questions: u64) -> Twin {
        self.slowness = questions;
        self
    }

    /// Calls so far that could have failed.
    pub fn calls(&self) -> u64 {
        self.calls.load(Ordering::Relaxed)
    }

    /// Times that something was copied to the host by a call of its own.
    pub fn downloads(&self) -> u64 {
        self.downloads.load(Ordering::Relaxed)
    }

    /// Bytes of regions that are in use.
    pub fn used(&self) -> u64 {
        self.used.load(Ordering::Relaxed)
    }

    fn call(&self) -> Result<(), DeviceError> {
        let number = self.calls.fetch_add(1, Ordering::Relaxed);
        match &self.failing {
            Some((at, error)) if *at == number => Err(error.clone()),
            Some((at, lost @ DeviceError::Lost { .. })) if *at < number => Err(lost.clone()),
            _ => Ok(()),
        }
    }

    fn put_off(&self) -> std::sync::MutexGuard<'_, PutOff> {
        self.put_off.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Does what was put off.
    fn catch_up(&self, put_off: &mut PutOff) -> Result<(), DeviceError> {
        put_off.questions = 0;
        let mut graphs = put_off.graphs.drain(..);
        graphs.try_for_each(|graph| self.work(&graph))
    }

    /// Does recorded work.
    fn work(&self, graph: &Graph) -> Result<(), DeviceError> {
        let program: &Program = graph.0.downcast_ref().expect("a graph of this device");
        for step in &program.steps {
            match step {
                Step::Launch(launch) => self.run(launch)?,
                Step::Copy { from, to, bytes } => foreign::copy(*from, *to, *bytes),
            }
        }
        Ok(())
    }

    fn run(&self, launch: &Launch) -> Result<(), DeviceError> {
        let seed = self.seed.fetch_add(1, Ordering::Relaxed);
        match foreign::run(launch, seed) {
            None => Ok(()),
            Some(reason) => Err(DeviceError::Lost { reason }),
        }
    }
}

/// Memory of the twin: words, so that what lies at multiples of 8 of a part's file does so here.
struct Memory {
    words: Vec<AtomicU64>,
    used: Arc<AtomicU64>,
}

impl Drop for Memory {
    fn drop(&mut self) {
        self.used
            .fetch_sub(8 * self.words.len() as u64, Ordering::Relaxed);
    }
}

/// Staged memory.
struct Staged(Vec<AtomicU64>);

impl Words for Staged {
    fn words(&self) -> &[AtomicU64] {
        &self.0
    }

    fn any(&self) -> &dyn std::any::Any {
        self
    }
}

/// A recorded program: what is done again.
enum Step {
    Launch(Launch),
    Copy { from: u64, to: u64, bytes: u64 },
}

struct Program {
    steps: Vec<Step>,
    /// What it copies, which lives as long.
    _copied: Vec<(HostRegion, Slice)>,
}

impl Device for Twin {
    fn facts(&self) -> &Facts {
        &self.facts
    }

    fn sees(&self, other: &dyn Device) -> Result<bool, DeviceError> {
        self.call()?;
        Ok(other.any().is::<Twin>())
    }

    fn any(&self) -> &dyn Any {
        self
    }

    fn free_bytes(&self) -> Result<u64, DeviceError> {
        Ok(self.facts.memory.saturating_sub(self.used()))
    }

    fn blocks(&self, _: Kernel, _: u32) -> Result<u32, DeviceError> {
        Ok(BLOCKS)
    }

    fn region(&self, bytes: u64) -> Result<Region, DeviceError> {
        self.call()?;
        let words = bytes.div_ceil(8);
        if 8 * words > self.free_bytes()? {
            return Err(DeviceError::OutOfMemory { asked: bytes });
        }
        self.used.fetch_add(8 * words, Ordering::Relaxed);
        let words = (0..words).map(|_| AtomicU64::new(GARBAGE)).collect();
        let memory = Memory {
            words,
            used: Arc::clone(&self.used),
        };
        let address = memory.words.as_ptr() as u64;
        Ok(Region::new(address, bytes, Arc::new(memory)))
    }

    fn stage(&self, bytes: u64) -> Result<HostRegion, DeviceError> {
        self.call()?;
        let words: Vec<AtomicU64> = (0..bytes.div_ceil(8)).map(|_| AtomicU64::new(0)).collect();
        let address = words.as_ptr() as u64;
        Ok(HostRegion::new(Arc::new(Staged(words)), address))
    }

    fn stream(&self) -> Result<Stream, DeviceError> {
        self.call()?;
        Ok(Stream(Arc::new(())))
    }

    fn upload(&self, _: &Stream, to: &Slice, from: &[u8]) -> Result<(), DeviceError> {
        assert_eq!(to.bytes(), from.len() as u64, "as many bytes as there");
        self.call()?;
        foreign::write(to, from);
        Ok(())
    }

    fn upload_staged_from(
        &self,
        _: &Stream,
        to: &Slice,
        from: &HostRegion,
        at: u64,
    ) -> Result<(), DeviceError> {
        let has_bytes = at
            .checked_add(to.bytes())
            .is_some_and(|end| end <= from.bytes());
        assert!(has_bytes, "as many bytes as there");
        self.call()?;
        foreign::copy(from.address() + at, to.address(), to.bytes());
        Ok(())
    }

    fn download(&self, _: &Stream, from: &Slice, to: &mut [u8]) -> Result<(), DeviceError> {
        assert_eq!(from.bytes(), to.len() as u64, "as many bytes as there");
        self.call()?;
        self.downloads.fetch_add(1, Ordering::Relaxed);
        foreign::read(from, to);
        Ok(())
    }

    fn download_staged(
        &self,
        _: &Stream,
        from: &Slice,
        to: &HostRegion,
        at: u64,
    ) -> Result<(), DeviceError> {
        let end = at.checked_add(from.bytes());
        assert!(
            end.is_some_and(|end| end <= to.bytes()),
            "as many bytes as there"
        );
        self.call()?;
        self.downloads.fetch_add(1, Ordering::Relaxed);
        foreign::copy(from.address(), to.address() + at, from.bytes());
        Ok(())
    }

    fn copy(&self, _: &Stream, from: &Slice, to: &Slice) -> Result<(), DeviceError> {
        assert_eq!(from.bytes(), to.bytes(), "as many bytes as there");
        self.call()?;
        foreign::copy(from.address(), to.address(), from.bytes());
        Ok(())
    }

    fn fill(&self, _: &Stream, to: &Slice, byte: u8) -> Result<(), DeviceError> {
        self.call()?;
        foreign::write(to, &vec![byte; to.bytes() as usize]);
        Ok(())
    }

    fn launch(&self, _: &Stream, launch: &Launch) -> Result<(), DeviceError> {
        self.call()?;
        self.run(launch)
    }

    fn record(&self, _: &Stream, program: &[Node<'_>]) -> Result<Graph, DeviceError> {
        self.call()?;
        let (mut steps, mut copied) = (Vec::with_capacity(program.len()), Vec::new());
        for node in program {
            let (device, host, is_upload) = match node {
                Node::Launch(launch) => {
                    steps.push(Step::Launch(launch.clone()));
                    continue;
                }
                Node::Upload { to, from } => (to, *from, true),
                Node::Download { from, to } => (from, *to, false),
            };
            assert!(device.bytes() <= host.bytes(), "as many bytes as there");
            let (mut from, mut to) = (device.address(), host.address());
            if is_upload {
                std::mem::swap(&mut from, &mut to);
            }
            let bytes = device.bytes();
            steps.push(Step::Copy { from, to, bytes });
            copied.push((host.clone(), device.clone()));
        }
        Ok(Graph(Arc::new(Program {
            steps,
            _copied: copied,
        })))
    }

    fn replay(&self, graph: &Graph) -> Result<(), DeviceError> {
        self.call()?;
        if self.slowness == 0 {
            return self.work(graph);
        }
        self.put_off().graphs.push(graph.clone());
        Ok(())
    }

    fn mark(&self, _: &Stream) -> Result<Mark, DeviceError> {
        self.call()?;
        Ok(Mark(Arc::new(())))
    }

    fn has_passed(&self, _: &Mark) -> Result<bool, DeviceError> {
        self.call()?;
        let put_off = &mut *self.put_off();
        if !put_off.graphs.is_empty() && put_off.questions < self.slowness {
            put_off.questions += 1;
            return Ok(false);
        }
        self.catch_up(put_off).map(|()| true)
    }

    fn wait(&self, _: &Mark) -> Result<(), DeviceError> {
        self.call()?;
        let put_off = &mut *self.put_off();
        if !put_off.graphs.is_empty() && self.slowness == u64::MAX {
            let reason = "it hangs".to_owned();
            return Err(DeviceError::Lost { reason });
        }
        self.catch_up(put_off)
    }

    fn follow(&self, _: &Stream, _: &Mark) -> Result<(), DeviceError> {
        self.call()
    }

    fn elapsed_ms(&self, _: &Mark, _: &Mark) -> Result<f32, DeviceError> {
        Ok(0.0)
    }
}

/// Bytes of the structs of arguments as the kernels have them: seed, step, finish, meet, part, spread, collapse.
pub fn argument_bytes() -> [u64; 8] {
    foreign::sizes()
}

/// What is called in C++.
#[cfg(has_twin)]
#[allow(
    unsafe_code,
    reason = "the twin's kernels are C++, and its memory is theirs; see the head of the crate"
)]
mod foreign {
    use crate::{Launch, Slice};
    use std::ffi::{CStr, CString, c_char};

    // SAFETY: these are the functions of `kernels/twin.cc`, with the types that they have there.
    unsafe extern "C" {
        fn somersault_twin_run(
            name: *const c_char,
            arguments: u64,
            grid: u32,
            block: u32,
            seed: u64,
        ) -> *const c_char;
        fn somersault_twin_size(which: u32) -> u64;
    }

    pub(super) fn run(launch: &Launch, seed: u64) -> Option<String> {
        let name = CString::new(launch.kernel.name()).expect("a name has no zero");
        let address = launch.arguments.address();
        // SAFETY: the arguments are a slice that is alive; what addresses stand in them is its filler's business, as on
        // a card. The message is a literal.
        unsafe {
            let message =
                somersault_twin_run(name.as_ptr(), address, launch.grid, launch.block, seed);
            (!message.is_null()).then(|| CStr::from_ptr(message).to_string_lossy().into_owned())
        }
    }

    pub(super) fn sizes() -> [u64; 8] {
        // SAFETY: the function reads nothing but its argument.
        [0, 1, 2, 3, 4, 5, 6, 7].map(|which| unsafe { somersault_twin_size(which) })
    }

    pub(super) fn write(to: &Slice, from: &[u8]) {
        // SAFETY: the caller has compared the lengths, and the slice keeps its region alive.
        unsafe { std::ptr::copy_nonoverlapping(from.as_ptr(), to.address() as *mut u8, from.len()) }
    }

    pub(super) fn read(from: &Slice, to: &mut [u8]) {
        // SAFETY: as in `write`.
        unsafe {
            std::ptr::copy_nonoverlapping(from.address() as *const u8, to.as_mut_ptr(), to.len());
        }
    }

    pub(super) fn copy(from: u64, to: u64, bytes: u64) {
        // SAFETY: both ends are slices or staged memory of so many bytes, which the caller or its program keeps alive.
        unsafe { std::ptr::copy(from as *const u8, to as *mut u8, bytes as usize) }
    }
}

#[cfg(not(has_twin))]
mod foreign {
    //! Nobody calls these: there is no twin.
    use crate::{Launch, Slice};

    pub(super) fn run(_: &Launch, _: u64) -> Option<String> {
        Some("there is no twin".into())
    }

    pub(super) fn sizes() -> [u64; 8] {
        [0; 8]
    }

    pub(super) fn write(_: &Slice, _: &[u8]) {}

    pub(super) fn read(_: &Slice, _: &mut [u8]) {}

    pub(super) fn copy(_: u64, _: u64, _: u64) {}
}
