//! Panes: slices of aligned runs of batches, so that a long window is a few slices.
//!
//! Pane `(level, index)` has the batches of `[index << level, (index + 1) << level)`; a pane of level 0 is one batch. Any run
//! of `n` batches is at most two panes of each level, `2 log2 n` in all. A pane is made when a window first asks for it.
//!
//! **What batches stand on.** The items of a batch are columns beside a pane that has their quads ([`crate::columns`]). So a
//! pane that batches stand on is kept as long as they are, and the other panes are a cache: those that no window asked for
//! between two sweeps are given up. A sweep moves batches to the largest pane that they lie in. So a long window holds its
//! content once, besides the small panes at its two ends:
//!
//! ```text
//!   tail: made of parts of the pane below    middle: stood on, and asked for         front: made by merging
//!   | 1 | 2 |   4   |               | 16 ... | 16 ... | 16 ... | 16 ... | 16 ... |   8   | 4 | 2 | 1 |
//! ```
//!
//! A pane that has what windows must not see any more (batches that were dropped, terms that have other ids now, no column
//! of arrivals) is not *current*: nobody is given it, and it goes with the last batch that stands on it.
//!
//! A pane is not made larger than [`EDGES_MAX`] edges, because whoever makes it is waited for. Nor is it larger than a share of
//! what is kept, unless it is small, because it is held twice while a window's end comes by ([`level_max`]).
//!
//! Source: Li et al., "No pane, no gain" (SIGMOD Record 2005), with aligned powers of two as in Arasu and Widom,
//! "Resource sharing in continuous sliding-window aggregates" (VLDB 2004, base intervals).

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

use store::slice::Slice;

/// The most edges of a pane that is merged of others.
pub(crate) const EDGES_MAX: u64 = 1 << 18;

/// A pane has at most one in so many of the batches that are kept, if it is not small.
const SHARE: u64 = 16;

/// A pane of so few items is small.
const SMALL_ITEMS: u64 = 1 << 12;

/// Panes of this level may be made however few batches are kept: those of a second in batches of 100 ms.
pub(super) const LEVEL_MIN: u32 = 3;

/// The greatest level of panes where so many items are kept in batches of so many numbers. It stays as it was until it is
/// clearly wrong: otherwise all panes of a window would be made again whenever it is a batch longer or shorter.
pub(super) fn level_max(numbers: u64, items: u64, before: u32) -> u32 {
    let small = SMALL_ITEMS.saturating_mul(numbers) / items.max(1);
    let most = small.max(numbers / SHARE);
    let level = |batches: u64| batches.checked_ilog2().unwrap_or(0);
    let (least, most) = (level(most - most / 4), level(most.saturating_add(most / 4)));
    before.clamp(least, most).max(LEVEL_MIN)
}

/// Where a pane is: its level, and its index there.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Place {
    pub(super) level: u32,
    pub(super) index: u64,
}

/// One pane of a stream, ever.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct PaneId(u64);

#[derive(Clone, Debug)]
struct Pane {
    place: Place,
    slice: Arc<Slice>,
    /// It was asked for since the last sweep.
    is_used: bool,
    /// How many batches stand on it.
    batches: u32,
}

/// The panes of one stream.
#[derive(Clone, Debug, Default)]
pub(super) struct Panes {
    held: BTreeMap<PaneId, Pane>,
    /// Those that windows may have.
    current: BTreeMap<Place, PaneId>,
    made: u64,
    bytes: u64,
}

impl Panes {
    /// What they hold (bytes).
    pub(super) fn bytes(&self) -> u64 {
        self.bytes
    }

    /// The pane at a place, if it is current.
    pub(super) fn get(&mut self, place: Place) -> Option<Arc<Slice>> {
        let id = *self.current.get(&place)?;
        let pane = self.held.get_mut(&id)?;
        pane.is_used = true;
        Some(Arc::clone(&pane.slice))
    }

    /// The same, without being asked for by a window.
    pub(super) fn peek(&self, place: Place) -> Option<&Arc<Slice>> {
        let id = self.current.get(&place)?;
        Some(&self.held[id].slice)
    }

    /// The slice of a pane, which batches stand on or which is current (asserted).
    pub(super) fn slice(&self, id: PaneId) -> &Arc<Slice> {
        &self.held[&id].slice
    }

    /// Whether windows may have a pane, and its place.
    pub(super) fn is_current(&self, id: PaneId) -> bool {
        let pane = self.held.get(&id);
        pane.is_some_and(|pane| self.current.get(&pane.place) == Some(&id))
    }

    /// The level of a pane.
    pub(super) fn level(&self, id: PaneId) -> u32 {
        self.held[&id].place.level
    }

    /// Takes a pane that was made. There is no current one at its place.
    pub(super) fn insert(&mut self, place: Place, slice: Arc<Slice>) -> PaneId {
        let id = PaneId(self.made);
        self.made += 1;
        self.bytes += slice.bytes();
        let before = self.current.insert(place, id);
        assert!(before.is_none(), "a pane is made where there is none");
        let pane = Pane {
            place,
            slice,
            is_used: true,
            batches: 0,
        };
        self.held.insert(id, pane);
        id
    }

    /// A batch stands on a pane from now on.
    pub(super) fn stand_on(&mut self, id: PaneId) {
        let pane = self.held.get_mut(&id).expect("the pane is there");
        pane.batches += 1;
    }

    /// A batch does not stand on a pane any more.
    pub(super) fn leave(&mut self, id: PaneId) {
        let pane = self.held.get_mut(&id).expect("a batch stood on the pane");
        pane.batches -= 1;
        if !self.is_current(id) {
            self.give_up(id);
        }
    }

    /// No window is given those any more that have a batch before this one.
    pub(super) fn drop_before(&mut self, number: u64) {
        self.retire(|place| place.numbers().start < number);
    }

    /// No window is given those any more that have this batch.
    pub(super) fn drop_of(&mut self, number: u64) {
        self.retire(|place| place.numbers().contains(&number));
    }

    /// No window is given any of them any more.
    pub(super) fn drop_all(&mut self) {
        self.retire(|_| true);
    }

    /// Gives up those that no batch stands on, whether windows ask for them or not.
    pub(super) fn drop_cached(&mut self) {
        self.give_up_where(|pane| pane.batches == 0);
    }

    /// Gives up those that no batch stands on and nobody asked for since the last time.
    pub(super) fn sweep(&mut self) {
        self.give_up_where(|pane| pane.batches == 0 && !pane.is_used);
        for pane in self.held.values_mut() {
            pane.is_used = false;
        }
    }

    /// The current panes, the largest first.
    pub(super) fn largest_first(&self) -> Vec<(Place, PaneId)> {
        let current = self.current.iter().rev();
        current.map(|(place, id)| (*place, *id)).collect()
    }

    fn retire(&mut self, is_retired: impl Fn(Place) -> bool) {
        let places = self.current.keys().copied();
        let retired: Vec<Place> = places.filter(|place| is_retired(*place)).collect();
        for place in retired {
            if let Some(id) = self.current.remove(&place) {
                self.give_up(id);
            }
        }
    }

    /// Gives up a pane that is not current, if no batch stands on it.
    fn give_up(&mut self, id: PaneId) {
        if self.held.get(&id).is_some_and(|pane| pane.batches == 0) {
            let pane = self.held.remove(&id).expect("it was just there");
            self.bytes -= pane.slice.bytes();
        }
    }

    fn give_up_where(&mut self, is_given_up: impl Fn(&Pane) -> bool) {
        let Panes {
            held,
            current,
            bytes,
            ..
        } = self;
        held.retain(|id, pane| {
            let is_kept = !is_given_up(pane);
            if !is_kept {
                *bytes -= pane.slice.bytes();
                if current.get(&pane.place) == Some(id) {
                    current.remove(&pane.place);
                }
            }
            is_kept
        });
    }
}

impl Place {
    /// That of one batch.
    pub(super) fn single(number: u64) -> Place {
        Place {
            level: 0,
            index: number,
        }
    }

    /// The largest pane of at most this level that begins at `start` and does not pass `end`, which is after it.
    pub(super) fn largest(start: u64, end: u64, level_max: u32) -> Place {
        let aligned = start.trailing_zeros().min(level_max);
        let level = aligned.min((end - start).ilog2());
        Place {
            level,
            index: start >> level,
        }
    }

    /// The numbers of its batches.
    pub(super) fn numbers(self) -> Range<u64> {
        self.index << self.level..(self.index + 1) << self.level
    }

    /// Its first half, of a level above 0.
    pub(super) fn left(self) -> Place {
        Place {
            level: self.level - 1,
            index: self.index * 2,
        }
    }

    /// Its second half, of a level above 0.
    pub(super) fn right(self) -> Place {
        Place {
            level: self.level - 1,
            index: self.index * 2 + 1,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn panes_are_a_share_of_what_is_kept_or_small() {
        // A second of batches of 100 ms, a minute, ten minutes.
        let of = |numbers: u64, items: u64| level_max(numbers, numbers * items, 0);
        assert_eq!([10, 600, 6000].map(|numbers| of(numbers, 8600)), [3, 4, 8]);
        assert_eq!([10, 600, 6000].map(|numbers| of(numbers, 2)), [10, 10, 10]);
        for numbers in 480..660 {
            assert_eq!(
                level_max(numbers, numbers * 8600, 4),
                4,
                "{numbers} batches"
            );
        }
    }
}
