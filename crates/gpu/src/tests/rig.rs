//! Memory of the twin with canaries around it, and launches.
//!
//! Every other rig has the parts of segments in pages, some of the device and some of the host, in any order: its launches are
//! those of the kernels that read by pages.

use bytemuck::Pod;
use device::twin::Twin;
use device::{Device, HostRegion, Kernel, Launch, Region, Stream};
use std::cell::{Cell, RefCell};
use std::sync::atomic::Ordering;

use crate::layout::BLOCK;

/// Bytes of each canary.
const CANARY: u64 = 512;
const CANARY_BYTE: u8 = 0xc7;

/// Seeds, each an order of fibers and a case.
pub(super) const SEEDS: u64 = 32;
pub(super) const LONG: u64 = 4000;

/// Pages of a rig, of all parts together.
const PAGES: u64 = 1 << 17;

/// A table of pages.
struct Pages {
    bits: u32,
    table: Region,
    next: Cell<u64>,
    staged: RefCell<Vec<HostRegion>>,
}

/// A twin with what was put into its memory.
pub(super) struct Rig {
    twin: Twin,
    stream: Stream,
    /// What no kernel may write.
    inputs: RefCell<Vec<(Region, Vec<u8>)>>,
    /// What a kernel writes, between canaries.
    rooms: RefCell<Vec<Region>>,
    pages: Option<Pages>,
}

impl Rig {
    /// `None`, said loudly, where there is no twin.
    pub(super) fn new(seed: u64) -> Option<Rig> {
        let twin = match Twin::new(1 << 30, seed) {
            Ok(twin) => twin,
            Err(error) => {
                eprintln!("SKIPPED: {error}");
                return None;
            }
        };
        let stream = twin.stream().expect("nothing fails");
        let pages = [None, Some(8), None, Some(11)][seed as usize % 4].map(|bits| Pages {
            bits,
            table: twin.region(8 * PAGES).expect("there is memory"),
            next: Cell::new(1),
            staged: RefCell::default(),
        });
        Some(Rig {
            twin,
            stream,
            inputs: RefCell::default(),
            rooms: RefCell::default(),
            pages,
        })
    }

    /// One in which the parts of segments lie in one run, for kernels that read no pages.
    pub(super) fn whole(seed: u64) -> Option<Rig> {
        let rig = Rig::new(seed)?;
        Some(Rig { pages: None, ..rig })
    }

    /// Where the table of pages is and the binary logarithm of their bytes; nothing, where parts lie in one run.
    pub(super) fn pages(&self) -> (u64, u32) {
        let pages = self.pages.as_ref();
        pages.map_or((0, 0), |pages| (pages.table.whole().address(), pages.bits))
    }

    /// The address of a part of a segment, which kernels find by its pages if this rig has some.
    pub(super) fn put_part<T: Pod>(&self, items: &[T]) -> u64 {
        let bytes: &[u8] = bytemuck::cast_slice(items);
        let Some(pages) = self.pages.as_ref().filter(|_| !bytes.is_empty()) else {
            return self.put(items);
        };
        let first = pages.next.get();
        let parts: Vec<&[u8]> = bytes.chunks(1 << pages.bits).collect();
        pages.next.set(first + parts.len() as u64);
        assert!(pages.next.get() <= PAGES, "a case with too many pages");
        // From the last to the first, so that none lies behind the one before it.
        for (place, part) in parts.iter().enumerate().rev() {
            let address = if (first as usize + place).is_multiple_of(3) {
                self.stage(pages, part)
            } else {
                self.put(part)
            };
            let at = 8 * (first + place as u64);
            self.upload(&pages.table, at, &address.to_le_bytes());
        }
        first << pages.bits
    }

    fn stage(&self, pages: &Pages, part: &[u8]) -> u64 {
        let staged = self.twin.stage(part.len() as u64).expect("there is memory");
        for (word, bytes) in staged.words().iter().zip(part.chunks(8)) {
            let mut whole = [0xee; 8];
            whole[..bytes.len()].copy_from_slice(bytes);
            word.store(u64::from_ne_bytes(whole), Ordering::Relaxed);
        }
        let address = staged.address();
        pages.staged.borrow_mut().push(staged);
        address
    }

    /// The address of a copy that is only read. It ends where the items end, so that a sanitizer sees what is read behind.
    pub(super) fn put<T: Pod>(&self, items: &[T]) -> u64 {
        let bytes: &[u8] = bytemuck::cast_slice(items);
        if bytes.is_empty() {
            return 0;
        }
        let region = self.region(bytes.len() as u64);
        self.upload(&region, 0, bytes);
        let address = region.whole().address();
        self.inputs.borrow_mut().push((region, bytes.to_vec()));
        address
    }

    /// The address of so many bytes to write, with anything in them.
    pub(super) fn room(&self, bytes: u64) -> u64 {
        let region = self.region(bytes + 2 * CANARY);
        let canary = [CANARY_BYTE; CANARY as usize];
        self.upload(&region, 0, &canary);
        self.upload(&region, CANARY + bytes, &canary);
        let address = region.whole().address() + CANARY;
        self.rooms.borrow_mut().push(region);
        address
    }

    /// The address of a copy that may be written.
    pub(super) fn room_with<T: Pod>(&self, item: &T) -> u64 {
        let bytes = bytemuck::bytes_of(item);
        let address = self.room(bytes.len() as u64);
        let rooms = self.rooms.borrow();
        self.upload(rooms.last().expect("the room"), CANARY, bytes);
        address
    }

    /// What stands in a room.
    pub(super) fn read<T: Pod>(&self, address: u64, count: usize) -> Vec<T> {
        let rooms = self.rooms.borrow();
        let begins = |region: &&Region| region.whole().address() + CANARY == address;
        let region = rooms.iter().find(begins).expect("a room");
        let mut items = vec![T::zeroed(); count];
        let bytes: &mut [u8] = bytemuck::cast_slice_mut(&mut items);
        assert!(
            bytes.len() as u64 <= region.bytes() - 2 * CANARY,
            "a room is left"
        );
        let slice = region.slice(CANARY..CANARY + bytes.len() as u64);
        if !bytes.is_empty() {
            self.twin
                .download(&self.stream, &slice, bytes)
                .expect("nothing fails");
        }
        items
    }

    /// Runs a kernel to its end. Panics where threads wait for different things, or something else than a room was written.
    pub(super) fn run<T: Pod>(&self, kernel: Kernel, grid: u32, arguments: &T) {
        let bytes = bytemuck::bytes_of(arguments);
        let region = self.region(bytes.len() as u64);
        self.upload(&region, 0, bytes);
        let is_paged = self.pages.is_some();
        let launch = Launch {
            kernel: if is_paged { kernel.paged() } else { kernel },
            grid,
            block: BLOCK,
            arguments: region.whole(),
        };
        self.inputs.borrow_mut().push((region, bytes.to_vec()));
        let launched = self.twin.launch(&self.stream, &launch);
        launched.expect("all threads come to every barrier");
        self.look();
    }

    /// Whether canaries are alive and inputs are what they were.
    fn look(&self) {
        for (region, bytes) in self.inputs.borrow().iter() {
            let now = self.bytes(region, 0, bytes.len() as u64);
            assert!(now == *bytes, "an input was written");
        }
        for region in self.rooms.borrow().iter() {
            for from in [0, region.bytes() - CANARY] {
                let canary = self.bytes(region, from, CANARY);
                let is_alive = canary.iter().all(|&byte| byte == CANARY_BYTE);
                assert!(is_alive, "written beside a room");
            }
        }
    }

    fn region(&self, bytes: u64) -> Region {
        self.twin.region(bytes).expect("there is memory")
    }

    fn upload(&self, region: &Region, from: u64, bytes: &[u8]) {
        let slice = region.slice(from..from + bytes.len() as u64);
        self.twin
            .upload(&self.stream, &slice, bytes)
            .expect("nothing fails");
    }

    fn bytes(&self, region: &Region, from: u64, count: u64) -> Vec<u8> {
        let mut bytes = vec![0; count as usize];
        let slice = region.slice(from..from + count);
        self.twin
            .download(&self.stream, &slice, &mut bytes)
            .expect("nothing fails");
        bytes
    }
}
