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
//! asks of all that there is.
//!
//! Invariants: batches lie in order, with consecutive ordinals of their items; nothing is dropped but from the front,
//! and what was dropped stays known ([`Retained::dropped`]), so that a window says where it is incomplete.
//!
//! Cost: a cut is O(log batches); a window of `n` batches is O(log n) slices, or one for each [`panes::EDGES_MAX`] edges.

mod memo;
mod panes;
mod terms;

use std::collections::VecDeque;
use std::ops::Range;
use std::sync::Arc;

use crate::image::StreamImage;
use crate::items::Items;
use crate::retention::memo::{Memo, no_slices};
use crate::retention::panes::Panes;
use crate::time::{SealPoint, Time};
use rdf::{Direction, VertexId};
use store::slice::Slice;

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

/// A sealed batch in which something came.
#[derive(Clone, Debug)]
struct Batch {
    number: u64,
    /// How many items of the stream are before its first.
    first: u64,
    /// By time.
    items: Arc<Items>,
    /// How many of them are its edge.
    edge_items: usize,
    /// The newest transient term that it names (its number).
    newest_transient: Option<u64>,
    /// Whether its rest is sealed, too.
    is_whole: bool,
    whole: Option<Arc<Slice>>,
    edge: Option<Arc<Slice>>,
    rest: Option<Arc<Slice>>,
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
    /// All whole batches below this number have their slices.
    sliced: u64,
    /// Items and the slices of single batches (bytes).
    bytes: u64,
    /// Whether slices are made with when and how often quads came.
    has_arrivals: bool,
    /// What came late and revises, by time. Windows that are never revised do not see it.
    late: Items,
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
            bytes: 0,
            has_arrivals: false,
            late: Items::new(),
            memo: Memo::default(),
        }
    }

    /// None of those that an image says are gone.
    pub(crate) fn behind(grain_ms: u64, image: &StreamImage) -> Retained {
        Retained {
            count: image.dropped_items,
            first: image.first,
            dropped: image.dropped,
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
            self.drop_panes();
            self.sliced = 0;
            for batch in &mut self.batches {
                let before = batch.bytes();
                batch.drop_slices();
                self.bytes -= before - batch.bytes();
            }
        }
        self.has_arrivals = are_asked;
    }

    /// What it holds (bytes).
    pub(crate) fn bytes(&self) -> u64 {
        self.bytes + self.panes.bytes()
    }

    /// The time of the first item that was ever sealed.
    pub(crate) fn first(&self) -> Option<Time> {
        self.first
    }

    /// The moment before which items came that are no longer there, if any are not.
    pub(crate) fn dropped(&self) -> Option<Time> {
        self.dropped
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
        self.bytes += items.bytes();
        let (first, count) = (items.times()[0], items.len() as u64);
        let number = first.0 / self.grain_ms;
        self.first = self.first.or(Some(first));
        let newest_transient = items.transients().map(VertexId::payload).max();
        match self.batches.back_mut() {
            Some(last) if last.number == number => {
                last.newest_transient = last.newest_transient.max(newest_transient);
                Arc::make_mut(&mut last.items).append(&items);
            }
            _ => self.batches.push_back(Batch {
                number,
                first: self.count,
                edge_items: items.before(Time(number * self.grain_ms).later(1)),
                items,
                newest_transient,
                is_whole: false,
                whole: None,
                edge: None,
                rest: None,
            }),
        }
        self.count += count;
    }

    /// The first item that is not before `time`.
    pub(crate) fn first_from(&self, time: Time) -> Option<Time> {
        let cut = self.cut(time);
        let place = self.place(cut.batch);
        let here = self.batches.get(place)?;
        if here.number == cut.batch && cut.item < here.items.len() {
            return Some(here.items.times()[cut.item]);
        }
        let next = place + usize::from(here.number == cut.batch);
        Some(self.batches.get(next)?.items.times()[0])
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
        batch.items.times().get(cut.item).copied()
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
        let item = here.map_or(0, |here| here.items.before(time));
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
            item: item.min(batch.items.len()),
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
            for (time, quads) in batch.items.iter() {
                if span.contains(&time) {
                    items.add(time, quads);
                }
            }
        }
        items
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
                slices: no_slices(),
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
        let end_of = |batch: &Batch| Time((batch.number + 1) * self.grain_ms);
        let mut dropped = None;
        while let Some(batch) = self.batches.front() {
            let end = end_of(batch);
            if end > floor || !batch.is_whole {
                break;
            }
            self.bytes -= batch.bytes();
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

    /// Gives up what can be made again from items.
    pub(crate) fn drop_panes(&mut self) {
        self.memo.forget();
        self.panes = Panes::default();
    }

    /// The place of the first batch whose number is not below this one.
    fn place(&self, number: u64) -> usize {
        self.batches.partition_point(|batch| batch.number < number)
    }

    /// Makes the slices of the whole batches below this number that have none yet.
    pub(crate) fn slice_until(&mut self, number: u64) {
        for place in self.place(self.sliced)..self.place(number) {
            self.bytes += self.batches[place].make_whole(self.has_arrivals);
        }
        self.sliced = self.sliced.max(number);
    }

    /// Adds the slices of the whole batches of these numbers.
    fn panes(&mut self, numbers: Range<u64>, out: &mut Vec<Arc<Slice>>) {
        let places = self.place(numbers.start)..self.place(numbers.end);
        self.slice_until(numbers.end);
        let slice_at = |place: usize| {
            let batch: &Batch = &self.batches[place];
            let slice = batch
                .whole
                .as_ref()
                .expect("batches before `sliced` have theirs");
            (batch.number, slice)
        };
        self.panes.cover(numbers, places, &slice_at, out);
    }

    /// A piece of one batch, if there is anything in it.
    fn piece(&mut self, number: u64, items: Range<usize>) -> Option<Arc<Slice>> {
        let place = self.place(number);
        let batch = self.batches.get_mut(place)?;
        if batch.number != number {
            return None;
        }
        let before = batch.bytes();
        let items = items.start..items.end.min(batch.items.len());
        let slice = batch.piece(items, self.has_arrivals);
        self.bytes += batch.bytes() - before;
        Some(slice).filter(|slice| !slice.is_empty())
    }
}

impl Batch {
    /// Its items and the slices that it keeps (bytes).
    fn bytes(&self) -> u64 {
        let slices = [&self.whole, &self.edge, &self.rest];
        let slices = slices.into_iter().flatten().map(|slice| slice.bytes());
        self.items.bytes() + slices.sum::<u64>()
    }

    fn drop_slices(&mut self) {
        (self.whole, self.edge, self.rest) = (None, None, None);
    }

    /// Makes the slice of all its items; so many bytes more.
    fn make_whole(&mut self, has_arrivals: bool) -> u64 {
        assert!(
            self.is_whole,
            "a window has whole batches only when they are sealed"
        );
        if self.whole.is_some() {
            return 0;
        }
        let slice = slice_of(&self.items, 0..self.items.len(), has_arrivals);
        let bytes = slice.bytes();
        self.whole = Some(Arc::new(slice));
        bytes
    }

    /// The slice of some of its items, kept where windows will ask again.
    fn piece(&mut self, items: Range<usize>, has_arrivals: bool) -> Arc<Slice> {
        let (edge, all) = (self.edge_items, self.items.len());
        let is_end = self.is_whole && items.end == all;
        let of = Arc::clone(&self.items);
        let kept = match (items.start, items.end) {
            (0, end) if end == edge => &mut self.edge,
            (0, _) if is_end => &mut self.whole,
            (start, _) if start == edge && is_end => &mut self.rest,
            _ => &mut None,
        };
        let make = || Arc::new(slice_of(&of, items, has_arrivals));
        Arc::clone(kept.get_or_insert_with(make))
    }
}

/// The slice of some items of a batch.
fn slice_of(items: &Items, range: Range<usize>, has_arrivals: bool) -> Slice {
    if !has_arrivals {
        return Slice::of(items.quads_of(range));
    }
    Slice::of_arrivals(range.map(|item| {
        let time_ms = items.times()[item].0;
        (time_ms, items.quads_of(item..item + 1))
    }))
}
