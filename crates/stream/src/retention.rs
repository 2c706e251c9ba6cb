//! Sealed batches, as long as a window may reach them: their items by time, and the slices that windows are unions of.
//!
//! Only batches in which something came are kept, ascending, so whatever is asked is a binary search among those.
//! A window is a piece of the stream between two [`Cut`]s. Its whole batches come as panes ([`panes`]); what it has of
//! a batch in which it begins or ends is a slice of its own. The edge of a batch and the rest without it are kept,
//! because all windows `(o, c]` ask for them; other pieces are made anew, for windows that do not fit the grain.
//!
//! ```text
//!   (o, c]   rest of o    pane        pane              edge of c
//!          | E[///////]|[/////////////////]|[/////////]|[E]       |
//! ```
//!
//! Where somebody asks when and how often quads came, slices are made with that. Those that were made without are made
//! again from their items, which stay readable as long as a window may reach them; so a query that is registered late
//! asks of all that there is. A slice and some 2 bytes a quad are the items ([`crate::columns`]), so readable costs little.
//!
//! Invariants: batches lie in order, with consecutive ordinals of their items; nothing is dropped but from the front,
//! and what was dropped stays known ([`Retained::dropped`]), so that a window says where it is incomplete.
//!
//! Cost: a cut is O(log batches); a window of `n` batches is O(log n) slices, or one for each [`panes::EDGES_MAX`] edges.

mod batch;
mod memo;
mod panes;
mod terms;

use std::collections::VecDeque;
use std::ops::Range;
use std::sync::Arc;

use crate::gaps::Gaps;
use crate::image::{ImagePart, StreamImage};
use crate::items::Items;
use crate::retention::batch::{Batch, Kept, ascending, slice_of};
use crate::retention::memo::Memo;
use crate::retention::panes::{EDGES_MAX, PaneId, Panes, Place};
use crate::time::{SealPoint, Time};
use rdf::Direction;
use store::slice::Slice;

/// A run of so few batches is not merged: to merge each triple once a level costs more than a look at each batch, whose
/// bounds say mostly that it has nothing.
const SINGLE_MAX: usize = 16;

/// After so many batches it is looked what nobody asked for meanwhile.
const SWEEP_BATCHES: u64 = 4;

/// Batches that are so much older than the newest move to larger panes. Shorter windows have dropped them by then.
const SETTLED_BATCHES: u64 = 16;

/// What the sealed batches of a stream hold.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Holdings {
    /// Items that are kept (count).
    pub items: u64,
    /// Their quads, as often as they came (count).
    pub quads: u64,
    /// What items hold beside their slices (bytes).
    pub item_bytes: u64,
    /// What slices hold (bytes).
    pub slice_bytes: u64,
}

/// A place between two items of a stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Cut {
    /// The number of a batch.
    batch: u64,
    /// How many of its items are before the place.
    item: usize,
}

/// The slices between two cuts.
#[derive(Clone, Debug)]
pub(crate) struct Pieces {
    /// Slices of which none is empty; they may share edges. Who asks again gets the same list.
    pub(crate) slices: Arc<[Arc<Slice>]>,
    /// How many items are between the cuts.
    pub(crate) items: u64,
    /// How many edges the slices have, counted in each.
    pub(crate) edges: u64,
}

/// The sealed batches of one stream.
#[derive(Clone, Debug)]
pub(crate) struct Retained {
    grain_ms: u64,
    batches: VecDeque<Batch>,
    panes: Panes,
    /// How many items were ever sealed.
    count: u64,
    /// The first item that was ever sealed.
    first: Option<Time>,
    /// What came before this is no longer there.
    dropped: Option<Time>,
    /// All whole batches below this number have had their slices.
    sliced: u64,
    /// The greatest level of panes.
    level_max: u32,
    /// Up to this batch it was looked for what nobody asks for.
    swept: u64,
    /// Items, columns and the slices of parts of batches (bytes).
    bytes: u64,
    /// Whether slices are made with when and how often quads came.
    has_arrivals: bool,
    /// What came late and revises, by time. Windows that are never revised do not see it.
    late: Items,
    /// When something should have come and found no room.
    gaps: Gaps,
    memo: Memo,
}

impl Retained {
    /// None yet, of a stream of this grain.
    pub(crate) fn new(grain_ms: u64) -> Retained {
        Retained {
            grain_ms,
            batches: VecDeque::new(),
            panes: Panes::default(),
            count: 0,
            first: None,
            dropped: None,
            sliced: 0,
            level_max: panes::LEVEL_MIN,
            swept: 0,
            bytes: 0,
            has_arrivals: false,
            late: Items::new(),
            gaps: Gaps::default(),
            memo: Memo::default(),
        }
    }

    /// The length of its batches (milliseconds).
    pub(crate) fn grain_ms(&self) -> u64 {
        self.grain_ms
    }

    /// None of those that an image says are gone.
    pub(crate) fn behind(grain_ms: u64, image: &StreamImage) -> Retained {
        Retained {
            count: image.dropped_items,
            first: image.first,
            dropped: image.dropped,
            gaps: Gaps::of(&image.gaps),
            ..Retained::new(grain_ms)
        }
    }

    /// How many items were sealed and are no longer there.
    pub(crate) fn dropped_items(&self) -> u64 {
        self.batches
            .front()
            .map_or(self.count, |oldest| oldest.first)
    }

    /// What came late and revises.
    pub(crate) fn revealed(&self) -> &Items {
        &self.late
    }

    /// Takes what came late and revises.
    pub(crate) fn reveal(&mut self, items: &Items) {
        self.bytes += items.bytes();
        self.late.append(items);
        self.late = std::mem::take(&mut self.late).sorted();
    }

    /// The slice of what came late within a span, and of how many items.
    pub(crate) fn late(&self, span: &Range<Time>) -> Option<(Arc<Slice>, u64)> {
        let items = self.late.before(span.start)..self.late.before(span.end);
        if items.is_empty() {
            return None;
        }
        let count = items.len() as u64;
        let slice = slice_of(&self.late, items, self.has_arrivals);
        Some((Arc::new(slice), count))
    }

    /// From now on slices say when and how often quads came, or need not.
    pub(crate) fn note_arrivals(&mut self, are_asked: bool) {
        self.memo.forget();
        if are_asked && !self.has_arrivals {
            self.panes.drop_all();
            self.drop_parts();
        }
        self.has_arrivals = are_asked;
    }

    fn drop_parts(&mut self) {
        for batch in &mut self.batches {
            self.bytes -= batch.bytes();
            batch.drop_parts();
            self.bytes += batch.bytes();
        }
    }

    /// What it holds (bytes).
    pub(crate) fn bytes(&self) -> u64 {
        self.bytes + self.panes.bytes()
    }

    /// What that is. O(batches).
    pub(crate) fn holdings(&self) -> Holdings {
        let mut holdings = Holdings {
            item_bytes: self.late.bytes(),
            ..Holdings::default()
        };
        for batch in &self.batches {
            holdings.items += batch.len() as u64;
            holdings.quads += batch.quads() as u64;
            holdings.item_bytes += batch.item_bytes();
        }
        holdings.slice_bytes = self.bytes() - holdings.item_bytes;
        holdings
    }

    /// The time of the first item that was ever sealed.
    pub(crate) fn first(&self) -> Option<Time> {
        self.first
    }

    /// The moment before which items came that are no longer there, if any are not.
    pub(crate) fn dropped(&self) -> Option<Time> {
        self.dropped
    }

    /// When something should have come and found no room.
    pub(crate) fn gaps(&self) -> &Gaps {
        &self.gaps
    }

    /// Something that should have come at this moment found no room.
    pub(crate) fn note_gap(&mut self, time: Time) {
        self.gaps.note(time);
    }

    /// Takes what was sealed up to `until`, behind what is there. The items are sorted.
    pub(crate) fn seal(&mut self, until: SealPoint, items: Arc<Items>) {
        self.memo.forget();
        if !items.is_empty() {
            self.add(items);
        }
        if let Some(last) = self.batches.back_mut() {
            last.is_whole = last.number < until.batches;
        }
    }

    fn add(&mut self, items: Arc<Items>) {
        let (first, count) = (items.times()[0], items.len() as u64);
        let number = first.0 / self.grain_ms;
        self.first = self.first.or(Some(first));
        match self.batches.back_mut() {
            Some(last) if last.number == number => {
                self.bytes -= last.bytes();
                last.append(&items);
                self.bytes += last.bytes();
            }
            _ => {
                self.sweep(number);
                let batch = Batch::new(number, self.grain_ms, self.count, items);
                self.bytes += batch.bytes();
                self.batches.push_back(batch);
            }
        }
        self.count += count;
    }

    /// The first item that is not before `time`.
    pub(crate) fn first_from(&self, time: Time) -> Option<Time> {
        let cut = self.cut(time);
        let place = self.place(cut.batch);
        let here = self.batches.get(place)?;
        if here.number == cut.batch && cut.item < here.len() {
            return Some(here.time(cut.item));
        }
        let next = place + usize::from(here.number == cut.batch);
        Some(self.batches.get(next)?.time(0))
    }

    /// The last item before `time`.
    pub(crate) fn last_before(&self, time: Time) -> Option<Time> {
        self.time_of(self.rank(time).checked_sub(1)?)
    }

    /// How many items of the stream are before `time`, those that were dropped included.
    pub(crate) fn rank(&self, time: Time) -> u64 {
        self.ordinal(self.cut(time))
    }

    /// The time of the item that so many are before, if it is there.
    pub(crate) fn time_of(&self, ordinal: u64) -> Option<Time> {
        let cut = self.cut_of(ordinal);
        let batch = self.batches.get(self.place(cut.batch))?;
        if batch.number != cut.batch || ordinal < batch.first {
            return None;
        }
        (cut.item < batch.len()).then(|| batch.time(cut.item))
    }

    /// The first end of a whole batch in which something came that is not before `time`.
    pub(crate) fn batch_end_from(&self, time: Time) -> Option<Time> {
        let number = time.earlier(1).0 / self.grain_ms;
        let batch = self.batches.get(self.place(number))?;
        if !batch.is_whole {
            return None;
        }
        Some(Time((batch.number + 1) * self.grain_ms))
    }

    /// The place before the first item that is not before `time`.
    pub(crate) fn cut(&self, time: Time) -> Cut {
        let batch = time.0 / self.grain_ms;
        let here = self.batches.get(self.place(batch));
        let here = here.filter(|here| here.number == batch);
        let item = here.map_or(0, |here| here.before(time));
        Cut { batch, item }
    }

    /// The place before the item that so many are before. One that was dropped counts as the first that was not.
    pub(crate) fn cut_of(&self, ordinal: u64) -> Cut {
        let behind = self.batches.partition_point(|batch| batch.first <= ordinal);
        let Some(batch) = self.batches.get(behind.saturating_sub(1)) else {
            return Cut { batch: 0, item: 0 };
        };
        let item = ordinal.saturating_sub(batch.first) as usize;
        Cut {
            batch: batch.number,
            item: item.min(batch.len()),
        }
    }

    /// How many items of the stream are before a cut.
    pub(crate) fn ordinal(&self, cut: Cut) -> u64 {
        let Some(batch) = self.batches.get(self.place(cut.batch)) else {
            return self.count;
        };
        let within = if batch.number == cut.batch {
            cut.item
        } else {
            0
        };
        batch.first + within as u64
    }

    /// The items between two moments, by time.
    pub(crate) fn items(&self, span: Range<Time>) -> Items {
        let mut items = Items::new();
        let from = self.place(span.start.0 / self.grain_ms);
        for batch in self.batches.range(from..) {
            if batch.number * self.grain_ms >= span.end.0 {
                break;
            }
            for (time, quads) in batch.items(&self.panes).iter() {
                if span.contains(&time) {
                    items.add(time, quads);
                }
            }
        }
        items
    }

    /// Its items for an image, batch by batch.
    pub(crate) fn image(&self) -> Vec<ImagePart> {
        let batches = self.batches.iter();
        let part = |batch: &Batch| match &batch.kept {
            Kept::Plain(items) => ImagePart::Plain(Arc::clone(items)),
            Kept::Columns(columns, pane) => {
                ImagePart::Columns(columns.clone(), Arc::clone(self.panes.slice(*pane)))
            }
        };
        batches.map(part).collect()
    }

    /// The slices of what is between two cuts.
    pub(crate) fn pieces(&mut self, from: Cut, to: Cut) -> Pieces {
        if let Some(known) = self.memo.find(from, to) {
            return known;
        }
        let mut slices = Vec::new();
        let items = self.ordinal(to).saturating_sub(self.ordinal(from));
        if items == 0 {
            return Pieces {
                slices: Arc::default(),
                items: 0,
                edges: 0,
            };
        }
        if from.batch == to.batch {
            slices.extend(self.piece(from.batch, from.item..to.item));
        } else {
            let mut first = from.batch;
            if from.item > 0 {
                slices.extend(self.piece(first, from.item..usize::MAX));
                first += 1;
            }
            self.panes(first..to.batch, &mut slices);
            slices.extend(self.piece(to.batch, 0..to.item));
        }
        let edges = slices.iter().map(|slice| slice.edges(Direction::Out)).sum();
        let pieces = Pieces {
            slices: slices.into(),
            items,
            edges,
        };
        self.memo.keep(from, to, &pieces);
        pieces
    }

    /// Drops all batches that end by `floor`.
    pub(crate) fn drop_until(&mut self, floor: Time) {
        self.gaps.drop_until(floor);
        let grain_ms = self.grain_ms;
        let end_of = |batch: &Batch| Time((batch.number + 1) * grain_ms);
        let mut dropped = None;
        while let Some(batch) = self.batches.front_mut() {
            let end = end_of(batch);
            if end > floor || !batch.is_whole {
                break;
            }
            self.bytes -= batch.bytes();
            batch.leave(&mut self.panes);
            dropped = Some(end);
            self.batches.pop_front();
        }
        if let Some(end) = dropped {
            self.memo.forget();
            self.dropped = Some(end);
            self.panes.drop_before(end.0 / self.grain_ms);
        }
        if self
            .late
            .times()
            .first()
            .is_some_and(|first| *first < floor)
        {
            self.bytes -= self.late.bytes();
            self.late = self.late.from(floor);
            self.bytes += self.late.bytes();
        }
    }

    /// Gives up what can be made again.
    pub(crate) fn drop_panes(&mut self) {
        self.memo.forget();
        self.panes.drop_cached();
        self.drop_parts();
    }

    /// The place of the first batch whose number is not below this one.
    fn place(&self, number: u64) -> usize {
        self.batches.partition_point(|batch| batch.number < number)
    }

    /// Makes the slices of the whole batches below this number that have none yet.
    pub(crate) fn slice_until(&mut self, number: u64) {
        for at in self.place(self.sliced)..self.place(number) {
            if self.batches[at].pane().is_none() {
                self.single(at);
            }
        }
        self.sliced = self.sliced.max(number);
    }

    /// Adds the slices of the whole batches of these numbers.
    fn panes(&mut self, numbers: Range<u64>, out: &mut Vec<Arc<Slice>>) {
        let mut left = self.place(numbers.start)..self.place(numbers.end);
        if left.len() <= SINGLE_MAX {
            return left.for_each(|at| self.cover(self.batches[at].place(), at..at + 1, out));
        }
        let mut start = numbers.start;
        while !left.is_empty() {
            let place = Place::largest(start, numbers.end, self.level_max);
            start = place.numbers().end;
            let within = self.split(&mut left, start);
            self.cover(place, within, out);
        }
    }

    /// Cuts the batches below `number` off the front.
    fn split(&self, batches: &mut Range<usize>, number: u64) -> Range<usize> {
        let at = self.place(number).clamp(batches.start, batches.end);
        let front = batches.start..at;
        batches.start = at;
        front
    }

    /// Adds the slices of one pane's batches.
    fn cover(&mut self, place: Place, batches: Range<usize>, out: &mut Vec<Arc<Slice>>) {
        let place = match batches.len() {
            0 => return,
            1 => self.batches[batches.start].place(),
            _ => place,
        };
        let known = self.panes.get(place);
        let slice = known.or_else(|| match batches.len() {
            1 => Some(self.single(batches.start)),
            _ => self.pane(place, batches.clone()),
        });
        if let Some(slice) = slice {
            return out.extend((!slice.is_empty()).then_some(slice));
        }
        let mut right = batches;
        let left = self.split(&mut right, place.left().numbers().end);
        self.cover(place.left(), left, out);
        self.cover(place.right(), right, out);
    }

    /// The slice of one whole batch, which stands on it from now on if it stood on nothing.
    fn single(&mut self, at: usize) -> Arc<Slice> {
        let batch = &mut self.batches[at];
        if let Some(known) = self.panes.peek(batch.place()) {
            return Arc::clone(known);
        }
        let slice = Arc::new(batch.slice(&self.panes, self.has_arrivals));
        let pane = self.panes.insert(batch.place(), Arc::clone(&slice));
        self.bytes -= batch.bytes();
        batch.stand_on(&mut self.panes, pane, self.grain_ms);
        self.bytes += batch.bytes();
        slice
    }

    /// Makes a pane of several batches; `None`: it would be too large.
    fn pane(&mut self, place: Place, batches: Range<usize>) -> Option<Arc<Slice>> {
        let whole = self.shared(batches.clone());
        let slice = if let Some(whole) = whole.filter(|_| !self.has_arrivals) {
            let kept = self.batches.range(batches).map(|batch| &batch.kept);
            let places = kept.flat_map(Kept::places).collect();
            self.panes.slice(whole).part(&ascending(places))
        } else {
            let mut parts = Vec::new();
            self.parts(place, batches, &mut parts);
            let edges: u64 = parts.iter().map(|part| part.edges(Direction::Out)).sum();
            if edges > EDGES_MAX {
                return None;
            }
            let parts: Vec<&Slice> = parts.iter().map(AsRef::as_ref).collect();
            Slice::union(&parts)
        };
        let slice = Arc::new(slice);
        self.panes.insert(place, Arc::clone(&slice));
        Some(slice)
    }

    /// The pane that all these batches stand on.
    fn shared(&self, batches: Range<usize>) -> Option<PaneId> {
        let mut panes = self.batches.range(batches).map(Batch::pane);
        let first = panes.next()??;
        panes.all(|pane| pane == Some(first)).then_some(first)
    }

    /// The largest slices that are there and make up a pane.
    fn parts(&mut self, place: Place, batches: Range<usize>, out: &mut Vec<Arc<Slice>>) {
        if batches.len() < 2 {
            return batches.for_each(|at| out.push(self.single(at)));
        }
        if let Some(pane) = self.panes.peek(place) {
            return out.push(Arc::clone(pane));
        }
        let mut right = batches;
        let left = self.split(&mut right, place.left().numbers().end);
        self.parts(place.left(), left, out);
        self.parts(place.right(), right, out);
    }

    /// From time to time: batches stand on the largest panes that they lie in, and what nobody asked for since the last
    /// time is given up. Items of batches that no window has asked for whole become columns, too.
    fn sweep(&mut self, number: u64) {
        if number - self.swept.min(number) < SWEEP_BATCHES {
            return;
        }
        for at in 0..self.batches.len() {
            let batch = &self.batches[at];
            if batch.is_whole && batch.pane().is_none() && batch.number < self.swept {
                self.single(at);
            }
        }
        for (place, pane) in self.panes.largest_first() {
            if place.numbers().end + SETTLED_BATCHES <= number {
                self.settle(place, pane);
            }
        }
        self.panes.sweep();
        for batch in &mut self.batches {
            self.bytes -= batch.bytes();
            batch.sweep();
            self.bytes += batch.bytes();
        }
        let oldest = self.batches.front().map_or(number, |batch| batch.number);
        let items = self.count - self.dropped_items();
        self.level_max = panes::level_max(number - oldest, items, self.level_max);
        self.swept = number;
    }

    /// Moves batches to a pane that they lie in from smaller ones, and from such as windows must not see any more.
    fn settle(&mut self, place: Place, pane: PaneId) {
        let numbers = place.numbers();
        let within = self.place(numbers.start)..self.place(numbers.end);
        let mut quads = None;
        let mut moved: Option<(PaneId, Vec<Option<u32>>)> = None;
        for at in within {
            let Some(own) = self.batches[at].pane() else {
                continue;
            };
            let level = self.panes.level(own);
            let is_better =
                level < place.level || level == place.level && !self.panes.is_current(own);
            if own == pane || !is_better {
                continue;
            }
            if moved.as_ref().is_none_or(|(from, _)| *from != own) {
                let quads = quads.get_or_insert_with(|| self.panes.slice(pane).quads());
                moved = Some((own, self.panes.slice(own).places_among(quads)));
            }
            let Some((_, places)) = &moved else {
                continue;
            };
            let batch = &mut self.batches[at];
            self.bytes -= batch.bytes();
            batch.move_to(&mut self.panes, pane, places);
            self.bytes += batch.bytes();
        }
    }

    /// A piece of one batch, if there is anything in it.
    fn piece(&mut self, number: u64, items: Range<usize>) -> Option<Arc<Slice>> {
        let place = self.place(number);
        let batch = self.batches.get_mut(place)?;
        if batch.number != number {
            return None;
        }
        let items = items.start..items.end.min(batch.len());
        let is_all = batch.is_whole && items == (0..batch.len());
        if is_all && items.end != batch.edge_items {
            let known = self.panes.get(batch.place());
            let slice = known.unwrap_or_else(|| self.single(place));
            return Some(slice).filter(|slice| !slice.is_empty());
        }
        self.bytes -= batch.bytes();
        let slice = batch.part(&self.panes, items, self.has_arrivals);
        self.bytes += batch.bytes();
        Some(slice).filter(|slice| !slice.is_empty())
    }
}
