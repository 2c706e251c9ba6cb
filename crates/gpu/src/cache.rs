//! Which segments are on the device, and where the others are read.
//!
//! ```text
//!  the store's files  --filled-->  host pages (pinned)  --copied-->  frames of the arena
//!         |                             ^ read in place                 ^ read
//!         +------------ring-------------------------------------> run of frames: whole
//! ```
//!
//! A segment that has room in the arena lies there whole, and the kernels that read it look nothing up. Where it has none it is
//! *paged*: all its pages are in the host's pinned memory, the most useful of them on the device besides, and a table leads kernels to either.
//! So a query needs no page on the device to be answered, nothing waits for room, and any arena does.
//!
//! A section begins by pinning all segments that it looks at. What it pins is not moved until it ends, except that pages
//! that are read in place may be brought to the device while it runs: both copies hold the same. A page is worth another's place where queries of
//! late, by the planner's estimate, have read half as many bytes of it in place ([`heat`]); others give their place up that were worth
//! less, or, where queries wait that need them, as [`replacement`] says. Free frames are filled with what is read less, too.
//!
//! What takes long is done for a section only if it is to wait for that ([`Placing`]): looking a segment through, filling its pages, copying it
//! whole, or writing the pages of one that lay whole. Else it is left, and whoever brings data does it ([`Gpu::bring`](crate::Gpu::bring)).
//!
//! Invariant: an entry of the table that a running section reads never names a frame that holds something else. A frame is
//! given to another page only if no section pins the page that it had, and the next section that does writes the table before it runs.
//!
//! | who | touches | when |
//! |---|---|---|
//! | a section that begins or ends | all here, under one lock ([`shared`]) | once |
//! | the stream of copies | frames, the table | in the order in which it was told |
//! | the stream of sections | frames and host pages, reading | behind a mark of the stream of copies |

mod heat;
mod host;
mod lease;
mod overlaid;
mod paging;
mod replacement;
mod shared;
mod space;
#[cfg(test)]
mod tests;
mod transfer;

pub use lease::Expected;
pub(crate) use lease::{Lease, Pages};
pub(crate) use overlaid::What;
pub(crate) use shared::{Held, Shared, SharedCache};
pub use transfer::Traffic;

use crate::access::Access;
use crate::account::Account;
use crate::arena::Arena;
use crate::error::GpuError;
use crate::graphs::Graphs;
use crate::image::{Contents, Image, Outline};
use device::{Device, HostRegion, Mark, Stream};
use heat::Heat;
use host::{HostPage, HostPages};
use overlaid::{Overlaid, Source};
use replacement::{Coming, Replacement};
use space::Space;
use std::cmp::Reverse;
use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use store::{GraphView, SegmentKey, Snapshot};
use transfer::Ring;

/// How images are kept, for measuring what each technique is worth.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(
    clippy::struct_excessive_bools,
    reason = "each is a technique of its own that is switched on or off"
)]
pub struct CacheOptions {
    /// The binary logarithm of a page's bytes, 8 at least; `None`: a thousandth of the arena, up to 1 MiB.
    pub page_bits: Option<u32>,
    /// Whether what queries that wait will need is kept rather than what was used last.
    pub lookahead: bool,
    /// Whether a section runs while pages are still brought to the device.
    pub pipeline: bool,
    /// Whether pages are read in the host's memory. Without, a query whose segments have no room on the device stays away.
    pub inplace: bool,
    /// Whether keys and neighbours of a range are brought together, rather than the part that is read most.
    pub pairwise: bool,
    /// Whether frames that are given up are overwritten, so that who reads one is found: for tests.
    pub poison: bool,
    /// Threads that bring a segment, the one that asked for it among them: half of the machine's processors, 8 at most, for queries that
    /// walk on processors go on meanwhile.
    pub threads: usize,
}

impl Default for CacheOptions {
    fn default() -> CacheOptions {
        let processors = std::thread::available_parallelism().map_or(1, usize::from);
        CacheOptions {
            page_bits: None,
            lookahead: true,
            pipeline: true,
            inplace: true,
            pairwise: false,
            poison: false,
            threads: (processors / 2).clamp(1, THREADS_MAX),
        }
    }
}

/// Queries after which a segment that none of them used makes room for one that would lie whole.
const IDLE: u64 = 64;

/// Queries after which one says again that something was left for whoever brings data: while others look at it, it stays as it is.
const LEFT: u64 = 16;

/// Threads that read the store for a device at most: 8 of them read faster than the link carries.
const THREADS_MAX: usize = 8;

/// Pages of the table that are there even if there are few others.
const PAGES_MORE: u64 = 64;

/// What frames are filled with that nobody has.
const POISON: u8 = 0xdb;

/// How segments are given places.
#[derive(Clone, Copy)]
pub(crate) struct Placing<'p> {
    /// Whether it is for a query that is new: what it reads is counted.
    pub(crate) is_new: bool,
    /// Whether what takes long is done; else segments stay as they are, whole or in pages.
    pub(crate) may_move: bool,
    /// Whether somebody wants it to end.
    pub(crate) stop: Option<&'p AtomicBool>,
}

impl Placing<'_> {
    /// An error where somebody wants it to end.
    fn goes_on(&self) -> Result<(), GpuError> {
        let is_stopped = self.stop.is_some_and(|stop| stop.load(Ordering::Relaxed));
        if is_stopped {
            Err(GpuError::GivenUp)
        } else {
            Ok(())
        }
    }
}

/// What was given places.
#[derive(Debug)]
pub(crate) struct Placed {
    /// The numbers, each once, all of which are pinned.
    pub(crate) numbers: Vec<u32>,
    /// Where their pages are found, if one of them is paged.
    pub(crate) pages: Option<Pages>,
    /// Whether something was left that takes long and that is worth it.
    pub(crate) is_left: bool,
}

/// Bytes that a query reads of each page of its segments, in expectation.
type Reads = HashMap<u32, Vec<f64>>;

/// The same numbers, each once, in the order in which they come first.
fn each_once(numbers: &[u32]) -> Vec<u32> {
    let mut once: Vec<u32> = Vec::with_capacity(numbers.len());
    for number in numbers {
        if !once.contains(number) {
            once.push(*number);
        }
    }
    once
}

/// See the head of this file.
pub(crate) struct Cache {
    device: Arc<dyn Device>,
    /// The stream of copies.
    copies: Stream,
    /// Behind it, what sections that begin now may look at is there.
    ready: Option<Mark>,
    snapshot: Arc<Snapshot>,
    options: CacheOptions,
    arena: Arena,
    host: HostPages,
    ring: Ring,
    space: Option<Space>,
    numbers: HashMap<SegmentKey, Option<u32>>,
    entries: Vec<Entry>,
    /// What layers have made of segments, in the versions that were looked at last; the newest look last.
    overlaid: HashMap<(SegmentKey, What), Vec<Overlaid>>,
    /// Numbers of what no version has any more that is looked at from now on.
    retired: Vec<u32>,
    replacement: Replacement,
    coming: Coming,
    traffic: Traffic,
    /// Pages of the table.
    pages: u64,
    /// Whether sections do not wait yet for what the stream of copies was told.
    is_ahead: bool,
    /// The number of the query that said last that something was left.
    said_left: Option<u64>,
    /// Whether what is given places now is left where it could have a better one.
    is_left: bool,
}

/// A segment, or edges of it that layers brought or took away, by its number.
struct Entry {
    key: SegmentKey,
    source: Source,
    outline: Arc<Outline>,
    /// What it is without a place, for whoever asks what it is like.
    described: Arc<Image>,
    place: Place,
    /// Where paged programs find it.
    view: Option<View>,
    /// Sections that look at it.
    pins: u32,
    /// What was read of its pages of late.
    heat: Heat,
}

/// Where a segment is.
enum Place {
    /// In the store's files alone.
    Nowhere,
    /// In a run of frames.
    Whole(Range<usize>, Arc<Image>),
    /// In pages.
    Paged(Paged),
}

struct Paged {
    directory: Directory,
    host: Vec<HostPage>,
    /// The frame of each page that is on the device.
    frames: Vec<Option<usize>>,
}

/// Where a paged segment's directory is.
enum Directory {
    Frames(Range<usize>),
    Host(HostRegion),
}

/// A segment's pages in the table, and its image there.
struct View {
    pages: Range<u64>,
    image: Arc<Image>,
}

impl Cache {
    /// Takes the arena, of devices that see each other: the first of them copies, and its is the table of pages. Host memory is taken when it is needed, up to `host` bytes.
    pub(crate) fn new(
        devices: &[Arc<dyn Device>],
        snapshot: Arc<Snapshot>,
        (images, host): (u64, u64),
        options: CacheOptions,
    ) -> Result<Cache, GpuError> {
        let device = Arc::clone(&devices[0]);
        let arena = Arena::new(devices, images, options.page_bits)?;
        let ring = Ring::new(&*device, options.threads, images)?;
        let host = HostPages::new(arena.bits(), host);
        Ok(Cache {
            // Twice as many as there can be at once, so that ranges find room among each other.
            pages: 2 * (arena.frames() as u64 + host.available() + PAGES_MORE),
            is_ahead: false,
            is_left: false,
            said_left: None,
            host,
            copies: device.stream()?,
            ready: None,
            device,
            snapshot,
            options,
            arena,
            ring,
            space: None,
            numbers: HashMap::new(),
            entries: Vec::new(),
            overlaid: HashMap::new(),
            retired: Vec::new(),
            replacement: Replacement::default(),
            coming: Coming::default(),
            traffic: Traffic::default(),
        })
    }

    /// Draws the host's memory on this account. Asserts that none was needed yet.
    pub(crate) fn draw_on(&mut self, account: Account) {
        self.host.draw_on(account);
    }

    /// Bytes of images that are on the device.
    pub(crate) fn used(&self) -> u64 {
        self.arena.used()
    }

    /// What was copied so far.
    pub(crate) fn traffic(&self) -> Traffic {
        self.traffic
    }

    /// What a segment lies as, where it is on the device whole, or else what it is like; and whether it lies there.
    pub(crate) fn looked(&self, number: u32) -> (Arc<Image>, bool) {
        let entry = &self.entries[number as usize];
        match &entry.place {
            Place::Whole(_, image) => (Arc::clone(image), !self.is_ahead),
            _ => (Arc::clone(&entry.described), false),
        }
    }

    /// The device on which most bytes of these segments lie, of those that lie whole; `None`: none does.
    pub(crate) fn device_of(&self, numbers: &[u32]) -> Option<usize> {
        let mut frames: HashMap<usize, usize> = HashMap::new();
        for number in each_once(numbers) {
            if let Place::Whole(run, _) = &self.entries[number as usize].place {
                *frames.entry(self.arena.device(run.start)).or_default() += run.len();
            }
        }
        let most = frames
            .into_iter()
            .max_by_key(|(device, frames)| (*frames, Reverse(*device)));
        most.map(|(device, _)| device)
    }

    /// A segment that was placed, as a program looks at it that is paged, or is not.
    pub(crate) fn placed(&self, number: u32, is_paged: bool) -> Option<Arc<Image>> {
        let entry = &self.entries[number as usize];
        if is_paged {
            return entry.view.as_ref().map(|view| Arc::clone(&view.image));
        }
        match &entry.place {
            Place::Whole(_, image) => Some(Arc::clone(image)),
            _ => None,
        }
    }

    /// Whether a segment of the base was looked through.
    pub(crate) fn is_known(&self, key: SegmentKey) -> bool {
        self.numbers.contains_key(&key)
    }

    /// Whether a segment is one of the base's that is in the store's files alone.
    pub(crate) fn is_away(&self, number: u32) -> bool {
        let entry = &self.entries[number as usize];
        matches!(
            (&entry.source, &entry.place),
            (Source::Base, Place::Nowhere)
        )
    }

    /// Whether no version has a segment any more that is looked at from now on.
    pub(crate) fn is_gone(&self, number: u32) -> bool {
        matches!(self.entries[number as usize].source, Source::Nowhere)
    }

    /// Whether each of these is pinned once.
    pub(crate) fn are_pinned_once(&self, numbers: &[u32]) -> bool {
        let mut numbers = numbers.iter();
        numbers.all(|number| self.entries[*number as usize].pins == 1)
    }

    /// Those of the base among these.
    pub(crate) fn of_base(&self, numbers: &[u32]) -> Vec<u32> {
        let is_of_base =
            |number: &u32| matches!(self.entries[*number as usize].source, Source::Base);
        numbers.iter().copied().filter(is_of_base).collect()
    }

    /// Whether it is time to say again that something was left.
    pub(crate) fn may_say_left(&mut self) -> bool {
        let now = self.replacement.now();
        let is_time = self.said_left.is_none_or(|said| now >= said + LEFT);
        if is_time {
            self.said_left = Some(now);
        }
        is_time
    }

    /// The number of a segment of the base, which is looked through when it is asked for first; `None` where no edge of the base has
    /// the predicate.
    pub(crate) fn number(&mut self, key: SegmentKey) -> Result<Option<u32>, GpuError> {
        if let Some(number) = self.numbers.get(&key) {
            return Ok(*number);
        }
        let threads = self.ring.threads();
        let raw = self.snapshot.raw_segment_by(key, threads)?;
        let page_bytes = 1 << self.arena.bits();
        let outline = match &raw {
            None => None,
            Some(raw) => {
                let named = || self.snapshot.named_graphs();
                let graphs = Graphs::of(raw, named, threads)?;
                Some(Outline::of(raw, page_bytes, graphs))
            }
        };
        let number = outline.map(|outline| self.entered(key, Source::Base, outline));
        self.numbers.insert(key, number);
        Ok(number)
    }

    /// Gives a segment a number: one that nobody has any more, or the next.
    fn entered(&mut self, key: SegmentKey, source: Source, outline: Outline) -> u32 {
        let entry = Entry {
            key,
            source,
            described: Arc::new(outline.image(0, 0)),
            outline: Arc::new(outline),
            place: Place::Nowhere,
            view: None,
            pins: 0,
            heat: Heat::default(),
        };
        let is_free = |number: &u32| {
            let entry = &self.entries[*number as usize];
            entry.pins == 0 && matches!(entry.source, Source::Nowhere)
        };
        if let Some(place) = self.retired.iter().position(is_free) {
            // It was forgotten when it was left.
            let number = self.retired.swap_remove(place);
            self.entries[number as usize] = entry;
            return number;
        }
        self.entries.push(entry);
        self.entries.len() as u32 - 1
    }

    /// Pins segments, each of them once; gives their numbers. A query that is new is taken to read of them what
    /// the last one did; of one that goes on nothing is counted again.
    pub(crate) fn pin(&mut self, numbers: &[u32], is_new: bool) -> Vec<u32> {
        let numbers = each_once(numbers);
        if is_new {
            self.replacement.touch(numbers.iter().copied());
        }
        let now = self.replacement.now();
        for &number in &numbers {
            let entry = &mut self.entries[number as usize];
            entry.pins += 1;
            if is_new {
                entry.heat.again(now);
            }
        }
        numbers
    }

    /// Lets segments go that a section has pinned.
    pub(crate) fn unpin(&mut self, numbers: &[u32]) {
        for &number in numbers {
            let pins = &mut self.entries[number as usize].pins;
            *pins -= 1;
            if *pins == 0 && !self.retired.is_empty() {
                self.leave(number);
            }
        }
    }

    /// A query waits that needs these, in the order of their use; gives its number.
    pub(crate) fn expect(&mut self, numbers: &[u32]) -> u64 {
        self.coming.add(each_once(numbers))
    }

    /// It does not wait any more.
    pub(crate) fn not_expected(&mut self, query: u64) {
        self.coming.remove(query);
    }

    /// What a section waits for that has pinned its segments.
    pub(crate) fn ready(&self) -> Option<Mark> {
        self.ready.clone()
    }

    /// Gives each segment a place and pins it. Where not all may move, none of the base's is [away](Cache::is_away).
    pub(crate) fn place(
        &mut self,
        (numbers, accesses): (&[u32], &[Access]),
        how: Placing<'_>,
    ) -> Result<Placed, GpuError> {
        let page_bytes = 1 << self.arena.bits();
        let mut reads = Reads::new();
        for number in each_once(numbers) {
            let entry = &mut self.entries[number as usize];
            let own = accesses.iter().filter(|access| access.number == number);
            let outline = &entry.outline;
            let of_query = outline.page_reads(page_bytes, own, self.options.pairwise);
            if how.is_new {
                entry.heat.expect(of_query.clone());
            }
            reads.insert(number, of_query);
        }
        let numbers = self.pin(numbers, how.is_new);
        self.is_left = false;
        match self.place_all(&numbers, &reads, how) {
            Ok(pages) => Ok(Placed {
                numbers,
                pages,
                is_left: self.is_left,
            }),
            Err(error) => {
                self.unpin(&numbers);
                Err(error)
            }
        }
    }

    fn place_all(
        &mut self,
        numbers: &[u32],
        reads: &Reads,
        how: Placing<'_>,
    ) -> Result<Option<Pages>, GpuError> {
        if let Some(space) = &mut self.space {
            space.settle(&*self.device)?;
        }
        let may_be_whole = self.may_be_whole(numbers);
        for &number in numbers {
            how.goes_on()?;
            self.settle(number, may_be_whole, how.may_move)?;
        }
        let is_paged =
            |number: &u32| matches!(self.entries[*number as usize].place, Place::Paged(_));
        if numbers.iter().any(is_paged) {
            return self.page(numbers, reads, how).map(Some);
        }
        self.sections_follow()?;
        Ok(None)
    }

    /// Lets sections that begin from now on wait for what the stream of copies was told.
    fn sections_follow(&mut self) -> Result<(), GpuError> {
        self.ready = Some(self.device.mark(&self.copies)?);
        self.is_ahead = false;
        Ok(())
    }

    /// Whether all of these have room whole, so many frames as are free or as nobody has used for long. Where one has none, all are read
    /// by pages; then pages that are read much have a better right to a frame than whole segments that came first.
    fn may_be_whole(&self, numbers: &[u32]) -> bool {
        let is_elsewhere =
            |number: &&u32| !matches!(self.entries[**number as usize].place, Place::Whole(..));
        let missing: Vec<u32> = numbers.iter().filter(is_elsewhere).copied().collect();
        let frames = |number: &u32| {
            let bytes = self.entries[*number as usize].outline.bytes();
            self.arena.frames_of(bytes)
        };
        let needed: usize = missing.iter().map(frames).sum();
        let distances = self.distances();
        let may_go = |holder| missing.contains(&holder) || self.is_idle(holder, &distances);
        needed <= self.arena.frames() && needed <= self.arena.count(&may_go)
    }

    /// Gives a segment a place, whole where it may be and there is room.
    fn settle(&mut self, number: u32, may_be_whole: bool, may_move: bool) -> Result<(), GpuError> {
        let entry = &self.entries[number as usize];
        let (is_paged, is_free) = match entry.place {
            Place::Whole(..) => return Ok(()),
            Place::Nowhere => (false, true),
            Place::Paged(_) => (true, entry.pins == 1),
        };
        let bytes = entry.outline.bytes();
        let count = self.arena.frames_of(bytes);
        if is_free
            && may_be_whole
            && count <= self.arena.run_max()
            && let Some(first) = self.room(number, count)
        {
            if is_paged && !may_move {
                self.is_left = true;
                return Ok(());
            }
            return self.make_whole(number, first..first + count);
        }
        if is_paged {
            return Ok(());
        }
        self.make_paged(number)
    }

    /// The first frame of a run that is free, or whose holders nobody has used for long and nobody is known to need. The segment
    /// that it is for may give its own up.
    fn room(&self, number: u32, count: usize) -> Option<usize> {
        let own = |holder: u32| holder == number;
        let free = self.arena.run(count, &own);
        free.or_else(|| {
            let distances = self.distances();
            let may_go = |holder: u32| own(holder) || self.is_idle(holder, &distances);
            self.arena.run(count, &may_go)
        })
    }

    /// Whether nobody has used a segment for long, and nobody waits for it.
    fn is_idle(&self, number: u32, distances: &HashMap<u32, usize>) -> bool {
        let is_unpinned = self.entries[number as usize].pins == 0;
        let is_unused = self.replacement.idle(number) > IDLE;
        is_unpinned && is_unused && !distances.contains_key(&number)
    }

    fn distances(&self) -> HashMap<u32, usize> {
        if self.options.lookahead {
            self.coming.distances()
        } else {
            HashMap::new()
        }
    }

    fn make_whole(&mut self, number: u32, run: Range<usize>) -> Result<(), GpuError> {
        for holder in self.arena.holders(run.clone()) {
            self.forget(holder)?;
        }
        self.forget(number)?;
        self.arena.take_run(run.clone(), number);
        let copied = self.copy(number, run.start);
        if copied.is_err() {
            self.arena.release(run);
            return copied;
        }
        let entry = &mut self.entries[number as usize];
        let address = self.arena.address(run.start);
        let data = address + entry.outline.directory_bytes();
        let image = Arc::new(entry.outline.image(address, data));
        entry.place = Place::Whole(run, image);
        Ok(())
    }

    /// Copies a segment to a run of frames.
    fn copy(&mut self, number: u32, frame: usize) -> Result<(), GpuError> {
        let entry = &self.entries[number as usize];
        let (raw, outline) = (entry.raw(&self.snapshot)?, &entry.outline);
        let contents = Contents::of(&raw, outline);
        let to = self.arena.slice(frame, outline.bytes());
        let on = (&*self.device, &self.copies);
        self.is_ahead = true;
        self.ring.upload(on, &contents, &to, &mut self.traffic)?;
        self.undamaged()
    }

    /// Whether what was read of the store is what stands there.
    fn undamaged(&self) -> Result<(), GpuError> {
        self.snapshot
            .damage()
            .map_or(Ok(()), |damage| Err(damage.into()))
    }

    /// Takes all that a segment has; no section looks at it.
    fn forget(&mut self, number: u32) -> Result<(), GpuError> {
        let entry = &mut self.entries[number as usize];
        if let (Some(view), Some(space)) = (entry.view.take(), &mut self.space) {
            space.release(view.pages);
        }
        let runs = match std::mem::replace(&mut entry.place, Place::Nowhere) {
            Place::Nowhere => return Ok(()),
            Place::Whole(run, _) => vec![run],
            Place::Paged(paged) => {
                self.host.release(paged.host);
                let frames = paged.frames.into_iter().flatten();
                let mut runs: Vec<Range<usize>> = frames.map(|frame| frame..frame + 1).collect();
                if let Directory::Frames(run) = paged.directory {
                    runs.push(run);
                }
                runs
            }
        };
        self.traffic.evictions += 1;
        let released: Vec<_> = runs.into_iter().map(|run| self.release(run)).collect();
        released.into_iter().collect()
    }

    /// Takes frames back.
    fn release(&mut self, run: Range<usize>) -> Result<(), GpuError> {
        self.arena.release(run.clone());
        if self.options.poison && !run.is_empty() {
            let bytes = (run.len() as u64) << self.arena.bits();
            let slice = self.arena.slice(run.start, bytes);
            self.device.fill(&self.copies, &slice, POISON)?;
        }
        Ok(())
    }
}
