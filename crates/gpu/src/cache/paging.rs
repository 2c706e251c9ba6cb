//! Segments in pages: how they come to the host's memory, which pages come to the device, and who makes room for them.

use super::host::HostPage;
use super::space::{Space, Write};
use super::{Cache, Directory, Entry, Paged, Pages, Place, Placing, Reads, View};
use crate::error::GpuError;
use crate::image::Contents;
use std::cmp::Ordering;
use std::collections::{BinaryHeap, HashMap};
use std::convert::Infallible;
use std::sync::Arc;
use store::load::workers;

/// A page takes another's place where so many of its bytes are expected to be read in place: random lines come at half the speed of copies.
const WORTH: f64 = 0.5;

/// A page takes a free frame where so many are: if queries go on as they do, it is worth a copy after some 32 others.
const WORTH_FREE: f64 = WORTH / 32.0;

/// The part of the frames, one in so many, that is left for directories, and for small segments, which then have room whole.
const RESERVE: usize = 32;

/// A page that is read so often by one query is copied even where somebody who waits gives a frame up for it: the query would
/// read twice the page's bytes in place, and the other one is copied again.
const WORTH_TWO: f64 = 1.0;

/// A page that is there gives its place up to one that is worth so much more, and the copy besides. Less than that is the
/// difference between who has just run and who ran a while ago.
const WORTH_MORE: f64 = 1.5;

/// A page that is to come to the device.
struct Wanted {
    number: u32,
    page: usize,
    /// Bytes that this query reads of it, a byte of its length.
    reads: f64,
    /// The same of all queries of late.
    worth: f64,
}

/// A page that is on the device. The greatest is the one that is worth least.
struct Held {
    number: u32,
    page: usize,
    worth: f64,
}

impl Ord for Held {
    fn cmp(&self, other: &Held) -> Ordering {
        let worth = other.worth.total_cmp(&self.worth);
        worth.then_with(|| (self.number, self.page).cmp(&(other.number, other.page)))
    }
}

impl PartialOrd for Held {
    fn partial_cmp(&self, other: &Held) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Held {
    fn eq(&self, other: &Held) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for Held {}

fn has_frames(entry: &Entry) -> bool {
    match &entry.place {
        Place::Nowhere => false,
        Place::Whole(..) => true,
        Place::Paged(paged) => paged.frames.iter().any(Option::is_some),
    }
}

impl Cache {
    /// Brings a segment to the host's memory.
    pub(super) fn make_paged(&mut self, number: u32) -> Result<(), GpuError> {
        let outline = Arc::clone(&self.entries[number as usize].outline);
        let count = self.arena.frames_of(outline.data_bytes());
        let host = self.host_pages(count, outline.bytes())?;
        let directory = match self.directory(number) {
            Ok(directory) => directory,
            Err(error) => {
                self.host.release(host);
                return Err(error);
            }
        };
        self.entries[number as usize].place = Place::Paged(Paged {
            directory,
            frames: vec![None; host.len()],
            host,
        });
        let filled = self.fill(number);
        if filled.is_err() {
            self.forget(number)?;
        }
        filled
    }

    /// So many host pages; paged segments that no section looks at go until these can be had. None goes where all of them have too few.
    fn host_pages(&mut self, count: usize, bytes: u64) -> Result<Vec<HostPage>, GpuError> {
        let distances = self.distances();
        let mut is_tried = false;
        loop {
            if let Some(pages) = self.host.take(&*self.device, count)? {
                return Ok(pages);
            }
            let mut candidates = self.candidates(|entry| matches!(entry.place, Place::Paged(_)));
            if !std::mem::replace(&mut is_tried, true)
                && !self.host.may_have(count, self.pages_of(&candidates))
            {
                candidates.clear();
            }
            let Some(number) = self.replacement.first_to_go(&candidates, &distances) else {
                return Err(GpuError::NoRoom {
                    asked: bytes,
                    free: self
                        .arena
                        .free()
                        .max(self.host.available() << self.arena.bits()),
                });
            };
            self.forget(number)?;
        }
    }

    /// Host pages of these segments.
    fn pages_of(&self, numbers: &[u32]) -> usize {
        let pages = |number: &u32| match &self.entries[*number as usize].place {
            Place::Paged(paged) => paged.host.len(),
            Place::Nowhere | Place::Whole(..) => 0,
        };
        numbers.iter().map(pages).sum()
    }

    /// Segments that no section looks at.
    fn candidates(&self, which: impl Fn(&Entry) -> bool) -> Vec<u32> {
        let numbered = (0..).zip(&self.entries);
        let unpinned = numbered.filter(|(_, entry)| entry.pins == 0 && which(entry));
        unpinned.map(|(number, _)| number).collect()
    }

    /// A place for a segment's directory: on the device where a run of frames is free.
    fn directory(&mut self, number: u32) -> Result<Directory, GpuError> {
        let bytes = self.entries[number as usize].outline.directory_bytes();
        let count = self.arena.frames_of(bytes);
        if let Some(first) = self.arena.run(count, &|_| false) {
            self.arena.take_run(first..first + count, number);
            return Ok(Directory::Frames(first..first + count));
        }
        // A thousandth of the segment: it is not counted among host pages.
        Ok(Directory::Host(self.device.stage(bytes)?))
    }

    /// Fills a segment's directory and host pages.
    fn fill(&mut self, number: u32) -> Result<(), GpuError> {
        let entry = &self.entries[number as usize];
        let Place::Paged(paged) = &entry.place else {
            return Ok(());
        };
        let (raw, outline) = (entry.raw(&self.snapshot)?, &entry.outline);
        let contents = Contents::of(&raw, outline);
        let behind = outline.directory_bytes();
        match &paged.directory {
            Directory::Host(region) => contents.fill(0..behind, region.words()),
            Directory::Frames(run) => {
                let to = self.arena.slice(run.start, behind);
                let on = (&*self.device, &self.copies);
                self.is_ahead = true;
                self.ring.upload(on, &contents, &to, &mut self.traffic)?;
            }
        }
        self.fill_pages(&contents, behind, &paged.host);
        self.traffic.hosted_bytes += outline.data_bytes();
        self.undamaged()
    }

    fn fill_pages(&self, contents: &Contents<'_>, behind: u64, pages: &[HostPage]) {
        let page_bytes = 1 << self.arena.bits();
        let filled: Result<(), Infallible> =
            workers::for_each(self.ring.threads(), pages.len(), |place| {
                let from = behind + place as u64 * page_bytes;
                contents.fill(from..from + page_bytes, self.host.words(pages[place]));
                Ok(())
            });
        let Ok(()) = filled;
    }

    /// Lets a segment that lies whole be paged, with all its pages on the device; false where the host has no room for it.
    fn loosen(&mut self, number: u32) -> Result<bool, GpuError> {
        let entry = &self.entries[number as usize];
        let Place::Whole(run, _) = &entry.place else {
            return Ok(true);
        };
        let (outline, run) = (Arc::clone(&entry.outline), run.clone());
        let count = self.arena.frames_of(outline.data_bytes());
        let raw = entry.raw(&self.snapshot)?;
        let Some(host) = self.host.take(&*self.device, count)? else {
            return Ok(false);
        };
        let contents = Contents::of(&raw, &outline);
        self.fill_pages(&contents, outline.directory_bytes(), &host);
        self.traffic.hosted_bytes += outline.data_bytes();
        let data = run.end - count;
        self.entries[number as usize].place = Place::Paged(Paged {
            directory: Directory::Frames(run.start..data),
            host,
            frames: (data..run.end).map(Some).collect(),
        });
        self.undamaged()?;
        Ok(true)
    }

    /// Lets a program look at segments by pages, one of which is paged: each gets its entries in the table, and pages that are
    /// worth it come to the device.
    pub(super) fn page(
        &mut self,
        numbers: &[u32],
        reads: &Reads,
        how: Placing<'_>,
    ) -> Result<Pages, GpuError> {
        for &number in numbers {
            self.show(number)?;
        }
        let wanted = self.wanted(numbers, reads);
        let coming = self.make_frames((numbers, how), wanted)?;
        if let Err(error) = self.write_places() {
            self.let_go(coming)?;
            return Err(error);
        }
        self.bring(coming)?;
        if !self.options.pipeline {
            self.sections_follow()?;
        }
        if !self.options.inplace {
            self.all_are_here(numbers)?;
        }
        let space = self.space.as_ref().expect("it was made for the first view");
        Ok(Pages {
            table: space.table(),
            bits: self.arena.bits(),
        })
    }

    /// Writes where pages are now; sections wait for that at least.
    fn write_places(&mut self) -> Result<(), GpuError> {
        let space = self.space.as_mut().expect("it was made for the first view");
        space.write(&*self.device, &self.copies, Write::Now)?;
        if self.options.pipeline {
            self.sections_follow()?;
        }
        Ok(())
    }

    /// Gives a segment its pages in the table.
    fn show(&mut self, number: u32) -> Result<(), GpuError> {
        let bits = self.arena.bits();
        let Entry {
            outline,
            place,
            view,
            ..
        } = &mut self.entries[number as usize];
        if view.is_some() {
            return Ok(());
        }
        if self.space.is_none() {
            self.space = Some(Space::new(&*self.device, self.pages)?);
        }
        let space = self.space.as_mut().expect("it is there now");
        let count = self.arena.frames_of(outline.data_bytes()) as u64;
        let first = space.take(count).ok_or(GpuError::NoRoom {
            asked: outline.bytes(),
            free: self.arena.free(),
        })?;
        let directory = match place {
            Place::Whole(run, _) => {
                let address = self.arena.address(run.start);
                let data = address + outline.directory_bytes();
                for page in 0..count {
                    space.set(Write::Now, first + page, data + (page << bits));
                }
                address
            }
            Place::Paged(paged) => {
                for (page, (host, frame)) in (first..).zip(paged.host.iter().zip(&paged.frames)) {
                    let host = self.host.address(*host);
                    let address = frame.map_or(host, |frame| self.arena.address(frame));
                    space.set(Write::Now, page, address);
                }
                match &paged.directory {
                    Directory::Frames(run) => self.arena.address(run.start),
                    Directory::Host(region) => region.address(),
                }
            }
            Place::Nowhere => unreachable!("it was given a place"),
        };
        *view = Some(View {
            pages: first..first + count,
            image: Arc::new(outline.image(directory, first << bits)),
        });
        Ok(())
    }

    /// The pages that are worth a copy, most useful first: to a free frame, if some are left for directories and segments that have room whole;
    /// else to another's.
    fn wanted(&self, numbers: &[u32], reads: &Reads) -> Vec<Wanted> {
        let page_bytes = (1u64 << self.arena.bits()) as f64;
        let has_free = self.arena.free() > self.reserve();
        let least = if has_free { WORTH_FREE } else { WORTH };
        let mut wanted = Vec::new();
        for &number in numbers {
            let entry = &self.entries[number as usize];
            let Place::Paged(paged) = &entry.place else {
                continue;
            };
            let of_all = entry.heat.reads(self.replacement.now());
            for (page, of_query) in reads[&number].iter().enumerate() {
                let worth = of_all(page).max(*of_query) / page_bytes;
                let is_worth = worth >= least || !self.options.inplace;
                if paged.frames[page].is_none() && is_worth {
                    wanted.push(Wanted {
                        number,
                        page,
                        reads: of_query / page_bytes,
                        worth,
                    });
                }
            }
        }
        wanted.sort_by(|a, b| b.worth.total_cmp(&a.worth));
        wanted
    }

    /// Frames for wanted pages of the segments with these numbers, as many as there are or as others give up.
    fn make_frames(
        &mut self,
        (numbers, how): (&[u32], Placing<'_>),
        wanted: Vec<Wanted>,
    ) -> Result<Vec<(Wanted, usize)>, GpuError> {
        let distances = self.distances();
        let mut coldest = None;
        let mut coming = Vec::with_capacity(wanted.len());
        for page in wanted {
            let is_little = page.worth < WORTH && self.options.inplace;
            if is_little && self.arena.free() <= self.reserve() {
                break;
            }
            let frame = loop {
                if let Some(frame) = self.arena.take(page.number) {
                    break Some(frame);
                }
                let coldest =
                    coldest.get_or_insert_with(|| self.coldest(numbers, &distances, &page));
                let given = how
                    .goes_on()
                    .and_then(|()| self.give_up(&page, &distances, (&mut *coldest, how.may_move)));
                match given {
                    Ok(true) => {}
                    Ok(false) => break None,
                    Err(error) => {
                        self.let_go(coming)?;
                        return Err(error);
                    }
                }
            };
            // Of another segment a page may be wanted sooner.
            coming.extend(frame.map(|frame| (page, frame)));
        }
        Ok(coming)
    }

    /// Bytes of the arena that pages which are read little leave free.
    fn reserve(&self) -> u64 {
        ((self.arena.frames() / RESERVE) as u64) << self.arena.bits()
    }

    /// Gives frames back that were for pages.
    fn let_go(&mut self, coming: Vec<(Wanted, usize)>) -> Result<(), GpuError> {
        let frames = coming.into_iter().map(|(_, frame)| frame..frame + 1);
        let released: Vec<_> = frames.map(|run| self.release(run)).collect();
        released.into_iter().collect()
    }

    /// The pages on the device of segments that no section looks at but the one that these are for, and that nobody who waits needs, the least worth first to come. Where
    /// nobody waits and already that one is worth too much for the most useful page that is wanted, it stands for all of them: queries
    /// that came to rest pay one look at each page.
    fn coldest(
        &self,
        numbers: &[u32],
        distances: &HashMap<u32, usize>,
        wanted: &Wanted,
    ) -> BinaryHeap<Held> {
        // The section has begun nothing yet: of what is its own alone it may give up what others of its pages are worth more than.
        let is_own = |number: &&u32| self.entries[**number as usize].pins == 1;
        let own = numbers.iter().filter(is_own);
        let own = own.filter(|number| has_frames(&self.entries[**number as usize]));
        let own: Vec<u32> = own.filter(|_| self.options.inplace).copied().collect();
        let candidates = self.candidates(has_frames).into_iter().chain(own);
        let unneeded: Vec<u32> = candidates
            .filter(|number| !distances.contains_key(number))
            .collect();
        let held = || unneeded.iter().flat_map(|number| self.held_by(*number));
        match held().max() {
            Some(least) if distances.is_empty() && self.keeps_place(&least, wanted, distances) => {
                [least].into()
            }
            _ => held().collect(),
        }
    }

    /// The pages that a segment has on the device.
    fn held_by(&self, number: u32) -> impl Iterator<Item = Held> {
        let page_bytes = (1u64 << self.arena.bits()) as f64;
        let reads = self.reads(number);
        let pages = 0..self.pages(number);
        let here = pages.filter(move |page| self.is_here(number, *page));
        here.map(move |page| Held {
            number,
            page,
            worth: reads(page) / page_bytes,
        })
    }

    /// Pages of a segment.
    pub(super) fn pages(&self, number: u32) -> usize {
        let outline = &self.entries[number as usize].outline;
        self.arena.frames_of(outline.data_bytes())
    }

    /// Bytes that all queries of late have read of a segment's pages.
    fn reads(&self, number: u32) -> impl Fn(usize) -> f64 + '_ {
        let heat = &self.entries[number as usize].heat;
        heat.reads(self.replacement.now())
    }

    /// Whether a page is worth too much to make room for another.
    fn keeps_place(&self, held: &Held, wanted: &Wanted, distances: &HashMap<u32, usize>) -> bool {
        let is_known = distances.contains_key(&wanted.number) || !self.options.inplace;
        !is_known && wanted.worth < WORTH_MORE * held.worth + WORTH
    }

    /// Whether a page is on the device.
    pub(super) fn is_here(&self, number: u32, page: usize) -> bool {
        match &self.entries[number as usize].place {
            Place::Nowhere => false,
            Place::Whole(..) => true,
            Place::Paged(paged) => paged.frames[page].is_some(),
        }
    }

    /// Lets somebody give frames up for a page: a page, or a segment that lies whole; false where all is pinned, is worth more, or is
    /// needed sooner by those who wait.
    fn give_up(
        &mut self,
        wanted: &Wanted,
        distances: &HashMap<u32, usize>,
        (coldest, may_move): (&mut BinaryHeap<Held>, bool),
    ) -> Result<bool, GpuError> {
        while let Some(held) = coldest.pop() {
            if !self.is_here(held.number, held.page) {
                continue;
            }
            if self.keeps_place(&held, wanted, distances) {
                coldest.push(held);
                return Ok(false);
            }
            if self.may_take(held.number, may_move) && self.take_page(held.number, held.page)? {
                return Ok(true);
            }
            // None of its pages can go.
            coldest.retain(|other| other.number != held.number);
        }
        self.give_up_needed(wanted, distances, may_move)
    }

    /// Whether a segment may give up a page now: one that lies whole is written to the host first, which takes long.
    fn may_take(&mut self, number: u32, may_move: bool) -> bool {
        let is_whole = matches!(self.entries[number as usize].place, Place::Whole(..));
        self.is_left |= is_whole && !may_move;
        may_move || !is_whole
    }

    /// The same of segments that are needed by those who wait: of the one that is needed last, the page that is read least.
    fn give_up_needed(
        &mut self,
        wanted: &Wanted,
        distances: &HashMap<u32, usize>,
        may_move: bool,
    ) -> Result<bool, GpuError> {
        let may_go = |entry: &Entry| {
            has_frames(entry) && (may_move || !matches!(entry.place, Place::Whole(..)))
        };
        let candidates = self.candidates(may_go);
        let Some(number) = self.replacement.first_to_go(&candidates, distances) else {
            return Ok(false);
        };
        let next = |number: u32| distances.get(&number).copied().unwrap_or(usize::MAX);
        let is_sooner = next(wanted.number) < next(number);
        if self.options.inplace && !is_sooner && wanted.reads <= WORTH_TWO {
            return Ok(false);
        }
        let reads = self.reads(number);
        let here = (0..self.pages(number)).filter(|page| self.is_here(number, *page));
        let least = here.min_by(|a, b| reads(*a).total_cmp(&reads(*b)));
        let least = least.expect("a candidate has a frame");
        drop(reads);
        self.take_page(number, least)
    }

    /// Takes a page from the device, or all of its segment where the host has no room for what lay whole; false where a section that begins needs
    /// that.
    fn take_page(&mut self, number: u32, page: usize) -> Result<bool, GpuError> {
        if !self.loosen(number)? {
            let is_needed = self.entries[number as usize].pins > 0;
            if !is_needed {
                self.forget(number)?;
            }
            return Ok(!is_needed);
        }
        let entry = &mut self.entries[number as usize];
        let Place::Paged(paged) = &mut entry.place else {
            unreachable!("a candidate has frames");
        };
        let frame = paged.frames[page].take().expect("the page is here");
        if let (Some(view), Some(space)) = (&entry.view, &mut self.space) {
            let address = self.host.address(paged.host[page]);
            space.set(Write::Now, view.pages.start + page as u64, address);
        }
        self.traffic.evictions += 1;
        self.release(frame..frame + 1)?;
        Ok(true)
    }

    /// Copies pages to their frames, and then the table's entries.
    fn bring(&mut self, coming: Vec<(Wanted, usize)>) -> Result<(), GpuError> {
        let device = Arc::clone(&self.device);
        let mut left = coming.into_iter();
        while let Some((wanted, frame)) = left.next() {
            let Entry {
                outline,
                place: Place::Paged(paged),
                view: Some(view),
                ..
            } = &mut self.entries[wanted.number as usize]
            else {
                unreachable!("a page of a paged segment with a view");
            };
            let at = (wanted.page as u64) << self.arena.bits();
            let bytes = (outline.data_bytes() - at).min(1 << self.arena.bits());
            let to = self.arena.slice(frame, bytes);
            let (slab, from) = self.host.place(paged.host[wanted.page]);
            if let Err(error) = device.upload_staged_from(&self.copies, &to, slab, from) {
                let arrived = self.arrive();
                self.let_go(std::iter::once((wanted, frame)).chain(left).collect())?;
                return arrived.and(Err(error.into()));
            }
            paged.frames[wanted.page] = Some(frame);
            self.traffic.copies += 1;
            self.traffic.copied_bytes += bytes;
            let space = self.space.as_mut().expect("a view has one");
            let page = view.pages.start + wanted.page as u64;
            space.set(Write::Arrived, page, self.arena.address(frame));
        }
        self.arrive()
    }

    /// Writes the entries of pages whose copies were told.
    fn arrive(&mut self) -> Result<(), GpuError> {
        let Some(space) = &mut self.space else {
            return Ok(());
        };
        let written = space.write(&*self.device, &self.copies, Write::Arrived);
        if written.is_err() {
            space.put_off();
        }
        Ok(written?)
    }

    /// How many pages of a paged segment are on the device.
    #[cfg(test)]
    pub(crate) fn pages_here(&self, number: u32) -> Option<usize> {
        match &self.entries[number as usize].place {
            Place::Paged(paged) => Some(paged.frames.iter().flatten().count()),
            Place::Nowhere | Place::Whole(..) => None,
        }
    }

    /// Whether every page of these is on the device.
    fn all_are_here(&self, numbers: &[u32]) -> Result<(), GpuError> {
        for &number in numbers {
            let entry = &self.entries[number as usize];
            let Place::Paged(paged) = &entry.place else {
                continue;
            };
            if paged.frames.iter().any(Option::is_none) {
                return Err(GpuError::NoRoom {
                    asked: entry.outline.bytes(),
                    free: self.arena.free(),
                });
            }
        }
        Ok(())
    }
}
