//! Panes: slices of aligned runs of batches, so that a long window is a few slices.
//!
//! Pane `(level, index)` has the batches of `[index << level, (index + 1) << level)`. Any run of `n` batches is at most
//! two panes of each level, `2 log2 n` in all. A pane is made when a window first asks for it, from the largest panes
//! that are there, so while a window slides, each triple is merged once a level. Panes that no window asked for while
//! [`SWEEP_BATCHES`] batches were sealed are given up: the middle of a long window is one large pane, and its small ones are needed again only when
//! the window's end comes by. So a long window holds about its content once, besides the slices of its batches.
//!
//! A pane is not made larger than [`EDGES_MAX`] edges, because whoever makes it is waited for.
//!
//! Source: Li et al., "No pane, no gain" (SIGMOD Record 2005), with aligned powers of two as in Arasu and Widom,
//! "Resource sharing in continuous sliding-window aggregates" (VLDB 2004, base intervals).

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

use rdf::Direction;
use store::slice::Slice;

/// The most edges of a pane that is merged of others.
pub(crate) const EDGES_MAX: u64 = 1 << 20;

/// A run of so few batches is not merged: to merge each triple once a level costs more than a look at each batch, whose
/// bounds say mostly that it has nothing.
const SINGLE_MAX: usize = 16;

/// After so many batches it is looked which panes nobody asked for meanwhile.
const SWEEP_BATCHES: u64 = 64;

/// Where a pane is: its level, and its index there.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Place {
    level: u32,
    index: u64,
}

#[derive(Clone, Debug)]
struct Pane {
    slice: Arc<Slice>,
    /// Up to which batch the stream was asked for when the pane was last needed.
    used: u64,
}

/// The panes of one stream.
#[derive(Clone, Debug, Default)]
pub(super) struct Panes {
    held: BTreeMap<Place, Pane>,
    /// Up to which batch the stream was asked for.
    newest: u64,
    /// The same, when it was last looked for panes to give up.
    swept: u64,
    bytes: u64,
}

/// The number of the batch at a place of the list of batches, and its slice.
type SliceAt<'a> = dyn Fn(usize) -> (u64, &'a Arc<Slice>) + 'a;

impl Panes {
    /// What they hold (bytes).
    pub(super) fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Adds slices that have exactly the batches of these numbers, which lie at these places.
    pub(super) fn cover(
        &mut self,
        numbers: Range<u64>,
        places: Range<usize>,
        slice_at: &SliceAt<'_>,
        out: &mut Vec<Arc<Slice>>,
    ) {
        self.newest = self.newest.max(numbers.end);
        if self.newest - self.swept >= SWEEP_BATCHES {
            self.sweep();
        }
        if places.len() <= SINGLE_MAX {
            return out.extend(places.filter_map(|place| present(slice_at(place).1)));
        }
        let mut places = places;
        let mut start = numbers.start;
        while !places.is_empty() {
            let place = Place::largest(start, numbers.end);
            let end = place.numbers().end;
            let within = split(&mut places, end, slice_at);
            self.add(place, within, slice_at, out);
            start = end;
        }
    }

    /// Drops all that have a batch before this one.
    pub(super) fn drop_before(&mut self, number: u64) {
        self.keep(|place, _| place.numbers().start >= number);
    }

    /// Drops all that have this batch.
    pub(super) fn drop_of(&mut self, number: u64) {
        self.keep(|place, _| !place.numbers().contains(&number));
    }

    /// Adds the slices of one pane.
    fn add(
        &mut self,
        place: Place,
        places: Range<usize>,
        slice_at: &SliceAt<'_>,
        out: &mut Vec<Arc<Slice>>,
    ) {
        match places.len() {
            0 => return,
            1 => return out.extend(present(slice_at(places.start).1)),
            _ => {}
        }
        if let Some(pane) = self.held.get_mut(&place) {
            pane.used = self.newest;
            return out.extend(present(&pane.slice));
        }
        let mut parts = Vec::new();
        self.parts(place, places.clone(), slice_at, &mut parts);
        let edges: u64 = parts.iter().map(|part| part.edges(Direction::Out)).sum();
        if edges <= EDGES_MAX {
            return out.extend(self.merge(place, &parts));
        }
        let mut right = places;
        let left = split(&mut right, place.left().numbers().end, slice_at);
        self.add(place.left(), left, slice_at, out);
        self.add(place.right(), right, slice_at, out);
    }

    /// The largest slices that are there and make up a pane.
    fn parts(
        &self,
        place: Place,
        places: Range<usize>,
        slice_at: &SliceAt<'_>,
        out: &mut Vec<Arc<Slice>>,
    ) {
        if places.len() < 2 {
            return out.extend(places.map(|at| Arc::clone(slice_at(at).1)));
        }
        if let Some(pane) = self.held.get(&place) {
            return out.push(Arc::clone(&pane.slice));
        }
        let mut right = places;
        let left = split(&mut right, place.left().numbers().end, slice_at);
        self.parts(place.left(), left, slice_at, out);
        self.parts(place.right(), right, slice_at, out);
    }

    fn merge(&mut self, place: Place, parts: &[Arc<Slice>]) -> Option<Arc<Slice>> {
        let parts: Vec<&Slice> = parts.iter().map(AsRef::as_ref).collect();
        let slice = Arc::new(Slice::union(&parts));
        self.bytes += slice.bytes();
        let pane = Pane {
            slice: Arc::clone(&slice),
            used: self.newest,
        };
        self.held.insert(place, pane);
        present(&slice)
    }

    /// Gives up what nobody asked for since the last time.
    fn sweep(&mut self) {
        let oldest = std::mem::replace(&mut self.swept, self.newest);
        self.keep(|_, pane| pane.used >= oldest);
    }

    fn keep(&mut self, is_kept: impl Fn(Place, &Pane) -> bool) {
        let bytes = &mut self.bytes;
        self.held.retain(|&place, pane| {
            let keeps = is_kept(place, pane);
            *bytes -= if keeps { 0 } else { pane.slice.bytes() };
            keeps
        });
    }
}

impl Place {
    /// The largest pane that begins at `start` and does not pass `end`, which is after it.
    fn largest(start: u64, end: u64) -> Place {
        let aligned = start.trailing_zeros().min(u64::BITS - 1);
        let level = aligned.min((end - start).ilog2());
        Place {
            level,
            index: start >> level,
        }
    }

    fn numbers(self) -> Range<u64> {
        self.index << self.level..(self.index + 1) << self.level
    }

    fn left(self) -> Place {
        Place {
            level: self.level - 1,
            index: self.index * 2,
        }
    }

    fn right(self) -> Place {
        Place {
            level: self.level - 1,
            index: self.index * 2 + 1,
        }
    }
}

/// Cuts the places of batches below `number` off the front.
fn split(places: &mut Range<usize>, number: u64, slice_at: &SliceAt<'_>) -> Range<usize> {
    let (mut low, mut high) = (places.start, places.end);
    while low < high {
        let middle = low + (high - low) / 2;
        if slice_at(middle).0 < number {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    let front = places.start..low;
    places.start = low;
    front
}

/// A slice in which there is something.
fn present(slice: &Arc<Slice>) -> Option<Arc<Slice>> {
    (!slice.is_empty()).then(|| Arc::clone(slice))
}
