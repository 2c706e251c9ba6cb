//! Sections of a walk on a device: the first steps of a plan, from its seed on, done by kernels.
//!
//! ```text
//!  Prepared --compile--> program --+--> strip of the seed: one graph of launches --> rows, counted or read
//!  segments of the base --image----+         overflow: the strip is halved
//! ```
//!
//! A [`Gpu`] holds images of a base's segments in the device's memory and room for tables. [`Gpu::section`] takes the longest
//! beginning of a plan that the kernels cover ([`program`]); what stands behind it is walked on the processor, over the rows
//! that [`Section::rows`] gives (`explore::Walk::section`). A [`Section`] walks the seed strip by strip, each by one launch: counts stay
//! on the device from step to step (Wukong+G, ATC'18, section 3, has the host ask for each).
//!
//! Invariant: a strip's rows are all there or the strip says where there was no room; nothing of it has been given out then.
//!
//! Does not know: nodes, windows, query text, clocks. Threads but its caller's live as long as a segment is brought.

mod access;
mod account;
mod arena;
mod cache;
mod changes;
mod collapse;
mod condition;
mod error;
mod graphs;
mod image;
mod layout;
mod meet;
mod need;
mod outlook;
mod part;
mod patience;
mod program;
mod rooms;
mod rows;
mod section;
mod spread;
#[cfg(test)]
mod tests;
mod versioned;

pub use cache::{CacheOptions, Expected, Traffic};
pub use error::{GpuError, NotCovered};
pub use need::Need;
pub use outlook::{Outlook, Over};
pub use part::OwnPart;
pub use patience::Patience;
pub use program::{Arranged, stretches};
pub use rows::{Piece, Rows};
pub use section::{Ran, Section};

pub use device;

use access::Access;
use cache::{Cache, Held, Lease, Placed, Placing, Shared, SharedCache, What};
use collapse::ProgramCollapse;
use device::{Device, Mark};
use explore::{MemoryBudget, Prepared};
use need::{Missed, Needed, Refused};
use program::Program;
use query::plan::Slot;
use rooms::{Room, Rooms};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use store::{SegmentKey, Snapshot};

/// How a device's memory is divided.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Memory {
    /// Bytes for images of segments, of each device.
    pub images: u64,
    /// Bytes of the host's memory, at most, for pages of segments that have no room there. None is taken before one has none.
    pub host: u64,
    /// Bytes for the tables of one section.
    pub tables: u64,
    /// Sections that there may be at once, on each device.
    pub sections: usize,
}

/// A device with the images of one base; or several that see each other, with one image of each segment: sections run on either, and read what
/// lies on another by its address.
pub struct Gpu {
    devices: usize,
    snapshot: Arc<Snapshot>,
    cache: Shared,
    rooms: Rooms,
    long_list: u64,
    collapses: collapse::Policy,
    refused: Refused,
}

/// What a section gives.
#[derive(Clone, Copy, Debug)]
pub enum Gives<'g> {
    /// All rows of its last step.
    Rows,
    /// The same, with a checksum over these columns for each strip; columns that the last table does not have are left out.
    Sum(&'g [Slot]),
    /// What the step behind it needs of them: equal rows as one, where it takes that ([`Prepared::collapse`]).
    Needed,
}

/// Rows of a list above which it is walked by all blocks together: a block takes some microseconds for a thousand.
const LONG_LIST: u64 = 1 << 14;

/// Looks of who brings data whether nobody else looks at them any more: a section ends in some milliseconds.
const LOOKS_ALONE: u32 = 100;

impl Gpu {
    /// Takes all the memory of the device that it will ever have, but for a table of pages (16 bytes a page) where a query's
    /// segments have no room.
    pub fn new(
        device: Arc<dyn Device>,
        snapshot: Arc<Snapshot>,
        memory: Memory,
    ) -> Result<Gpu, GpuError> {
        Gpu::with_options(device, snapshot, memory, CacheOptions::default())
    }

    /// The same, with techniques of the cache switched off.
    pub fn with_options(
        device: Arc<dyn Device>,
        snapshot: Arc<Snapshot>,
        memory: Memory,
        options: CacheOptions,
    ) -> Result<Gpu, GpuError> {
        Gpu::of_several(&[device], snapshot, memory, options)
    }

    /// The same on several devices together; at least one. Refused where one of them does not reach the memory of another.
    pub fn of_several(
        devices: &[Arc<dyn Device>],
        snapshot: Arc<Snapshot>,
        memory: Memory,
        options: CacheOptions,
    ) -> Result<Gpu, GpuError> {
        for (number, device) in devices.iter().enumerate() {
            for (other, of) in devices.iter().enumerate() {
                if number != other && !device.sees(&**of)? {
                    return Err(GpuError::Apart { number, other });
                }
            }
        }
        let sizes = (memory.images, memory.host);
        let cache = Cache::new(devices, Arc::clone(&snapshot), sizes, options)?;
        let rooms = Rooms::new(devices, memory.sections, memory.tables)?;
        Ok(Gpu {
            devices: devices.len(),
            snapshot,
            cache: Arc::new(SharedCache::new(cache)),
            rooms,
            long_list: LONG_LIST,
            collapses: collapse::POLICY,
            refused: Refused::default(),
        })
    }

    /// The same, with the host's memory for pages drawn on this account: a segment that it has no room for stays on the processors.
    #[must_use]
    pub fn drawing_on(self, account: Arc<dyn MemoryBudget + Send>) -> Gpu {
        self.cache.held().draw_on(account);
        self
    }

    /// The same, with lists of more rows than these walked by all blocks together: for tests.
    #[must_use]
    pub fn with_long_lists(mut self, rows: u64) -> Gpu {
        self.long_list = rows;
        self
    }

    /// The same, where equal rows become one however few are expected, with so many slots for them at first: for tests.
    #[must_use]
    pub fn with_collapses(mut self, slots_min: u64) -> Gpu {
        self.collapses = collapse::Policy {
            rows_min: 0.0,
            slots_min,
        };
        self
    }

    /// How many devices it is on.
    pub fn devices(&self) -> usize {
        self.devices
    }

    /// The base that it has images of.
    pub fn snapshot(&self) -> &Arc<Snapshot> {
        &self.snapshot
    }

    /// Bytes of images that are on the device.
    pub fn image_bytes(&self) -> u64 {
        self.cache.used()
    }

    /// What was copied for images so far.
    pub fn traffic(&self) -> Traffic {
        self.cache.held().traffic()
    }

    /// Tells that a query waits for the device, so that what it needs is kept there, until the answer is dropped.
    pub fn expect(&self, prepared: &Prepared<'_>, over: &Over<'_>) -> Result<Expected, GpuError> {
        let mut cache = self.cache.held_soon()?;
        let (program, _) = self.looked_at(&mut cache, prepared, (over, false))?;
        Ok(Expected::new(&self.cache, cache.expect(&program.segments)))
    }

    /// Brings what a section missed, for those that come: as long as that takes, and whoever has the cache, or until `stop` is set. It `pause`s, a
    /// millisecond or two, where a section that still runs is waited for. Why it could not is told to those that miss the same.
    pub fn bring(&self, need: Need, stop: &AtomicBool, pause: &dyn Fn()) {
        match need.what {
            Needed::Looks(keys) => self.look_through(&keys, stop),
            Needed::Places {
                numbers,
                accesses,
                lease,
                has_begun,
            } => {
                let mut cache = self.alone(&numbers, has_begun, pause);
                // What is its own alone may move.
                cache.unpin(&lease.into_numbers());
                let there = numbers.into_iter().filter(|it| !cache.is_gone(*it));
                let numbers: Vec<u32> = there.collect();
                let how = Placing {
                    is_new: !has_begun,
                    may_move: true,
                    stop: Some(stop),
                };
                let missed = Missed::Numbers(cache.of_base(&numbers));
                match cache.place((&numbers, &accesses), how) {
                    Ok(placed) => cache.unpin(&placed.numbers),
                    Err(GpuError::GivenUp) => {}
                    Err(why) => self.refused.put(missed, why),
                }
            }
        }
    }

    /// The cache; if a section has begun, once it has ended and nobody else looks at these, or it was waited for long enough.
    fn alone(&self, numbers: &[u32], has_begun: bool, pause: &dyn Fn()) -> Held<'_> {
        for _ in 0..if has_begun { LOOKS_ALONE } else { 0 } {
            let cache = self.cache.held();
            if cache.are_pinned_once(numbers) {
                return cache;
            }
            drop(cache);
            pause();
        }
        self.cache.held()
    }

    fn look_through(&self, keys: &[SegmentKey], stop: &AtomicBool) {
        let (mut missed, mut why) = (Vec::new(), None);
        for key in keys {
            if stop.load(Ordering::Relaxed) {
                return;
            }
            if let Err(error) = self.cache.held().number(*key) {
                missed.push(*key);
                why = Some(error);
            }
        }
        if let Some(why) = why {
            self.refused.put(Missed::Keys(missed), why);
        }
    }

    /// What a section would do, and why not more; nothing is brought for it.
    pub fn outlook(
        &self,
        prepared: &Prepared<'_>,
        over: &Over<'_>,
    ) -> Result<(Outlook, NotCovered), GpuError> {
        let mut cache = self.cache.held_soon()?;
        let (program, _) = self.looked_at(&mut cache, prepared, (over, true))?;
        Ok((program.outlook(None), program.why))
    }

    /// The longest beginning of the plan that the device walks, with its segments on the device. The plan is prepared for
    /// the base that this device has images of.
    pub fn section(&self, prepared: &Prepared<'_>) -> Result<Section, GpuError> {
        self.section_giving(prepared, Gives::Rows)
    }

    /// The same, giving this.
    pub fn section_giving(
        &self,
        prepared: &Prepared<'_>,
        gives: Gives<'_>,
    ) -> Result<Section, GpuError> {
        self.section_over(prepared, gives, &Over::ALL)
    }

    /// The same over this.
    pub fn section_over(
        &self,
        prepared: &Prepared<'_>,
        gives: Gives<'_>,
        over: &Over<'_>,
    ) -> Result<Section, GpuError> {
        let room = self.room_for(prepared, over);
        let tables = self.rooms.tables();
        let collapse = |program: &Program| match gives {
            Gives::Rows | Gives::Sum(_) => None,
            Gives::Needed if tables < collapse::TABLES_MIN => None,
            // Who asks for one row of equal ones is the step behind it, if that is walked by the same.
            Gives::Needed if program.covered >= over.steps.end => None,
            Gives::Needed => ProgramCollapse::of(prepared, program.covered, self.collapses),
        };
        let is_worth =
            |program: &Program| (over.is_worth)(&program.outlook(collapse(program).as_ref()));
        let Some(mut room) = room else {
            // Nothing is brought for a query that cannot begin; but one that never can, or gains nothing, is not to wait.
            let (program, _) =
                self.looked_at(&mut *self.cache.held_soon()?, prepared, (over, false))?;
            let why = if is_worth(&program) {
                GpuError::Busy
            } else {
                GpuError::Unworthy
            };
            return Err(why);
        };
        let (mut program, lease, ready) = self.placed(prepared, over, &is_worth)?;
        program.collapse = collapse(&program);
        room.keep(lease);
        if let Some(ready) = ready {
            room.device().follow(room.stream(), &ready)?;
        }
        let sums = match gives {
            Gives::Rows | Gives::Needed => &[],
            Gives::Sum(columns) => columns,
        };
        Section::new(&mut program, (room, self.long_list), sums)
    }

    /// A room: of several devices that have images together, on the one that has most of what is looked at, for another reads it over the link
    /// between them.
    fn room_for(&self, prepared: &Prepared<'_>, over: &Over<'_>) -> Option<Room> {
        if over.device.is_some() || self.devices == 1 {
            return self.rooms.take(over.device);
        }
        let home = || {
            let over = Over {
                misses: Some(&drop),
                ..over.clone()
            };
            let mut cache = self.cache.held_soon().ok()?;
            let (program, _) = self.looked_at(&mut cache, prepared, (&over, false)).ok()?;
            cache.device_of(&program.segments)
        };
        let at_home = home().and_then(|device| self.rooms.take(Some(device)));
        at_home.or_else(|| self.rooms.take(None))
    }

    /// A program over segments that stay where they are, and the mark behind which they are there.
    fn placed(
        &self,
        prepared: &Prepared<'_>,
        over: &Over<'_>,
        is_worth: &dyn Fn(&Program) -> bool,
    ) -> Result<(Program, Lease, Option<Mark>), GpuError> {
        let mut cache = self.cache.held_soon()?;
        let (program, are_whole) = self.looked_at(&mut cache, prepared, (over, true))?;
        if !is_worth(&program) {
            return Err(GpuError::Unworthy);
        }
        let could_cover = program.covered;
        let is_away = |number: &u32| cache.is_away(*number);
        if let Some(tell) = over.misses
            && program.segments.iter().any(is_away)
        {
            return Err(self.missed(&mut cache, &program, tell));
        }
        if are_whole {
            let numbers = cache.pin(&program.segments, !over.goes_on);
            let ready = cache.ready();
            drop(cache);
            return Ok((program, Lease::new(&self.cache, numbers, None), ready));
        }
        let looked_at = (&program.segments[..], &program.accesses[..]);
        let how = Placing {
            is_new: !over.goes_on,
            may_move: over.misses.is_none(),
            stop: None,
        };
        let Placed {
            numbers,
            pages,
            is_left,
        } = cache.place(looked_at, how)?;
        let images = &mut |name| {
            let numbers = cache.numbers_in(name, over.version, false)?;
            // What is not read has no place.
            Ok(numbers.map(|numbers| {
                numbers.images(|number| {
                    let placed = cache.placed(number, pages.is_some());
                    placed.unwrap_or_else(|| cache.looked(number).0)
                })
            }))
        };
        let of = (&*self.snapshot, over);
        let compiled = program::compile(prepared, of, images, pages.is_none());
        let ready = cache.ready();
        if let Some(tell) = over.misses.filter(|_| is_left && cache.may_say_left()) {
            tell(self.need(&mut cache, looked_at, true));
        }
        drop(cache);
        // Dropped, if there is no program, when nobody has the cache.
        let is_placed = |number: &u32| numbers.contains(number);
        let are_placed = |program: &Program| program.segments.iter().all(is_placed);
        let are_placed = compiled.as_ref().is_ok_and(are_placed);
        let lease = Lease::new(&self.cache, numbers, pages);
        let program = compiled?;
        assert!(are_placed, "a program over pages looks at nothing else");
        // What lies in pages is not looked at by all kernels.
        if program.covered < could_cover && !is_worth(&program) {
            return Err(GpuError::Unworthy);
        }
        Ok((program, lease, ready))
    }

    /// Segments that were never looked through are missed, or why they could not be.
    fn unknown(&self, keys: Vec<SegmentKey>, tell: &dyn Fn(Need)) -> GpuError {
        let why = self.refused.take(&Missed::Keys(keys.clone()));
        why.unwrap_or_else(|| {
            let what = Needed::Looks(keys);
            tell(Need { what });
            GpuError::Away
        })
    }

    /// What a program looks at is missed, or why it was not brought.
    fn missed(&self, cache: &mut Cache, program: &Program, tell: &dyn Fn(Need)) -> GpuError {
        let why = self
            .refused
            .take(&Missed::Numbers(cache.of_base(&program.segments)));
        why.unwrap_or_else(|| {
            tell(self.need(cache, (&program.segments, &program.accesses), false));
            GpuError::Away
        })
    }

    /// These segments, that are looked at so.
    fn need(
        &self,
        cache: &mut Cache,
        (numbers, accesses): (&[u32], &[Access]),
        has_begun: bool,
    ) -> Need {
        let pinned = cache.pin(numbers, false);
        let what = Needed::Places {
            numbers: numbers.to_vec(),
            accesses: accesses.to_vec(),
            lease: Lease::new(&self.cache, pinned, None),
            has_begun,
        };
        Need { what }
    }

    /// A program over segments as they are, and whether all of them lie on the device whole, so that it may run.
    fn looked_at(
        &self,
        cache: &mut Cache,
        prepared: &Prepared<'_>,
        (over, may_make): (&Over<'_>, bool),
    ) -> Result<(Program, bool), GpuError> {
        // Who only waits brings nothing, and is told no reason.
        let unknown = |keys, tell| {
            if may_make {
                self.unknown(keys, tell)
            } else {
                GpuError::Away
            }
        };
        if let Some(tell) = over.misses {
            let mut keys = program::keys(
                prepared,
                &self.snapshot,
                (over.steps.clone(), program::may_spread(over.version)),
            );
            keys.retain(|key| !cache.is_known(*key));
            if !keys.is_empty() {
                return Err(unknown(keys, tell));
            }
        }
        let images = &mut |name: (SegmentKey, What)| {
            if let Some(tell) = over.misses
                && !cache.is_known(name.0)
            {
                return Err(unknown(vec![name.0], tell));
            }
            let numbers = cache.numbers_in(name, over.version, may_make)?;
            Ok(numbers.map(|numbers| numbers.images(|number| cache.looked(number).0)))
        };
        let of = (&*self.snapshot, over);
        let program = program::compile(prepared, of, images, true)?;
        let mut numbers = program.segments.iter();
        let are_whole = numbers.all(|number| cache.looked(*number).1);
        Ok((program, are_whole))
    }
}
