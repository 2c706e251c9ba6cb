//! From the ordinals that a node owns to their places in its files, and back: arithmetic, no memory of the data.
//!
//! ```text
//! ordinal   | block 0 | block 1 | block 2 | block 3 | block 4 | block 5 | ...     blocks of 2^shift ids
//! slot           0         1         2         0         1         2              3 slots
//! owner          a         b         a         a         b         a
//! place     |    0    |         |    1    |    2    |         |    3    |         of a's blocks, in blocks
//! ```
//!
//! Invariant: places are dense and in the order of ordinals. The owners of blocks repeat with the slots, so the number of
//! owned blocks before one is that of whole rounds and a sum kept by slot. A stored table of blocks would say the same,
//! grow with the data, and cost a search through memory for each lookup.
//!
//! Cost: two divisions a lookup; 8 bytes a slot.

use crate::placement::Placement;

/// What a node owns of the ordinals of each kind; see the module's documentation.
#[derive(Debug)]
pub(super) struct OwnedOrdinals {
    shift: u32,
    /// Owned slots before each slot, and behind the last one their number.
    before: Vec<u32>,
    /// The slots that are owned, ascending.
    slots: Vec<u32>,
}

impl OwnedOrdinals {
    /// Those of a node. O(slots).
    pub(super) fn new(placement: &Placement, node: u16) -> OwnedOrdinals {
        let mut before = Vec::with_capacity(placement.owners().len() + 1);
        let mut slots = Vec::new();
        for (slot, owner) in (0..).zip(placement.owners()) {
            before.push(slots.len() as u32);
            if *owner == node {
                slots.push(slot);
            }
        }
        before.push(slots.len() as u32);
        OwnedOrdinals {
            shift: placement.shift().into(),
            before,
            slots,
        }
    }

    /// The place of an ordinal, where it is owned.
    #[inline]
    pub(super) fn place(&self, ordinal: u64) -> Option<u64> {
        let (rank, is_owned) = self.rank(ordinal >> self.shift);
        is_owned.then(|| rank << self.shift | self.within_block(ordinal))
    }

    /// The ordinal of a place. There must be an owned slot.
    pub(super) fn ordinal(&self, place: u64) -> u64 {
        let rank = place >> self.shift;
        let owned = self.slots.len() as u64;
        let round = rank / owned;
        let slot = self.slots[(rank % owned) as usize];
        let block = round * self.slot_count() + u64::from(slot);
        block << self.shift | self.within_block(place)
    }

    /// Number of owned ordinals below one.
    pub(super) fn count_below(&self, end: u64) -> u64 {
        let (rank, is_owned) = self.rank(end >> self.shift);
        let within = if is_owned { self.within_block(end) } else { 0 };
        (rank << self.shift) + within
    }

    /// The number of owned blocks before one, and whether it is owned itself.
    #[inline]
    fn rank(&self, block: u64) -> (u64, bool) {
        let slots = self.slot_count();
        let (round, slot) = (block / slots, (block % slots) as usize);
        let [before, with] = [self.before[slot], self.before[slot + 1]];
        let rank = round * self.slots.len() as u64 + u64::from(before);
        (rank, with > before)
    }

    #[inline]
    fn within_block(&self, number: u64) -> u64 {
        number & ((1 << self.shift) - 1)
    }

    #[inline]
    fn slot_count(&self) -> u64 {
        self.before.len() as u64 - 1
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::id::{Tag, VertexId};

    #[test]
    fn places_are_those_of_the_ordinals_that_the_placement_gives_a_node() {
        let tables = [vec![0], vec![1, 0, 2, 1, 1], vec![2, 2, 0], vec![0, 1]];
        for owners in tables {
            for shift in [0, 1, 3, 6] {
                let placement = Placement::new(3, shift, owners.clone()).unwrap();
                for node in 0..3 {
                    let owned = OwnedOrdinals::new(&placement, node);
                    let mut places = 0;
                    for ordinal in 0..1500 {
                        assert_eq!(owned.count_below(ordinal), places);
                        let id = VertexId::new(Tag::Literal, ordinal);
                        let is_owned = placement.owner(id) == node;
                        assert_eq!(owned.place(ordinal), is_owned.then_some(places));
                        if is_owned {
                            assert_eq!(owned.ordinal(places), ordinal);
                            places += 1;
                        }
                    }
                }
            }
        }
    }

    #[test]
    fn the_largest_ordinals_have_places() {
        for shift in [0, 14, crate::placement::SHIFT_MAX] {
            let placement = Placement::in_turn(3, shift, 4096).unwrap();
            for ordinal in [VertexId::PAYLOAD_MAX, VertexId::PAYLOAD_MAX - 1, 1 << 59] {
                let places: Vec<u64> = (0..3)
                    .filter_map(|node| {
                        let owned = OwnedOrdinals::new(&placement, node);
                        let place = owned.place(ordinal)?;
                        assert_eq!(owned.ordinal(place), ordinal);
                        assert_eq!(owned.count_below(ordinal), place);
                        Some(place)
                    })
                    .collect();
                assert!(places.len() == 1 && places[0] <= ordinal);
            }
        }
    }
}
