//! The items of a sealed batch as columns beside a slice that has their quads.
//!
//! A slice has each quad once and in the order of ids. What it lacks is in which item each was, at what time, and how often:
//!
//! ```text
//!  moments  | 0 | 3 | 4 | ...        different times, from the batch's begin on (milliseconds)
//!  until    | 2 | 3 | 9 | ...        how many items are there by the end of each
//!  ends     | 1 | 2 | 4 | ...        where each item's quads end; nothing where each item has one
//!  places   | 17 | 3 | 17 | ...      each quad's place in the slice
//! ```
//!
//! Invariant: with the slice that they were made for, columns are the same items as before, in the same order. They can be
//! moved to another slice that has all quads of the first ([`Columns::moved`]), such as a pane.
//!
//! Cost: some 2 bytes a quad in a slice of some thousand, in place of 48.

mod packed;

use std::ops::Range;

use crate::items::Items;
use crate::time::Time;
use packed::Packed;
use store::delta::IdQuad;
use store::slice::Slice;

/// See the head of this file.
#[derive(Clone, Debug)]
pub(crate) struct Columns {
    begin: Time,
    moments: Packed,
    until: Packed,
    ends: Option<Packed>,
    places: Packed,
}

impl Columns {
    /// Those of items, which are sorted and none of them is before `begin` nor 2^32 ms after it. `slice` has their quads.
    pub(crate) fn of(begin: Time, items: &Items, slice: &Slice) -> Columns {
        let (mut moments, mut until) = (Vec::new(), Vec::new());
        for (item, time) in (0_u32..).zip(items.times()) {
            let moment = u32::try_from(time.0 - begin.0).expect("a batch is a day at most");
            if moments.last() != Some(&moment) {
                moments.push(moment);
                until.push(item);
            }
            *until.last_mut().expect("there is a moment") = item + 1;
        }
        let mut ends = Vec::with_capacity(items.len());
        let mut end = 0;
        for (_, quads) in items.iter() {
            end += quads.len() as u32;
            ends.push(end);
        }
        let are_single = (1..).zip(&ends).all(|(end, known)| end == *known);
        Columns {
            begin,
            moments: Packed::of(&moments),
            until: Packed::of(&until),
            ends: (!are_single).then(|| Packed::of(&ends)),
            places: Packed::of(&slice.places_of(items.quads())),
        }
    }

    /// How many items.
    pub(crate) fn len(&self) -> usize {
        let last = self.until.len().checked_sub(1);
        last.map_or(0, |last| self.until.get(last) as usize)
    }

    /// How many quads, as often as they came.
    pub(crate) fn quads(&self) -> usize {
        self.places.len()
    }

    /// The time of an item.
    pub(crate) fn time(&self, item: usize) -> Time {
        let moment = self.until.below(item as u32 + 1);
        self.begin.later(self.moments.get(moment).into())
    }

    /// How many items are before `time`.
    pub(crate) fn before(&self, time: Time) -> usize {
        let Some(within) = time.0.checked_sub(self.begin.0) else {
            return 0;
        };
        let within = u32::try_from(within).unwrap_or(u32::MAX);
        let moment = self.moments.below(within);
        moment
            .checked_sub(1)
            .map_or(0, |last| self.until.get(last) as usize)
    }

    /// The places of the quads of some items, in their order.
    pub(crate) fn places(&self, items: Range<usize>) -> impl Iterator<Item = u32> {
        self.places
            .range(self.start(items.start)..self.start(items.end))
    }

    /// The items of a range, by the slice.
    pub(crate) fn items(&self, range: Range<usize>, slice: &Slice) -> Items {
        let quads: Vec<IdQuad> = slice.quads_at(self.places(range.clone()));
        let first = self.start(range.start);
        let mut items = Items::new();
        for item in range {
            let own = self.start(item) - first..self.start(item + 1) - first;
            items.add(self.time(item), &quads[own]);
        }
        items
    }

    /// The same for another slice: `places[n]` is the place there of the quad at place `n` of this one. Asserts that it has
    /// all that the items name.
    pub(crate) fn moved(&self, places: &[Option<u32>]) -> Columns {
        let place = |at| places[at as usize].expect("a batch moves to a slice that has its quads");
        let moved: Vec<u32> = self.places.iter().map(place).collect();
        Columns {
            places: Packed::of(&moved),
            ..self.clone()
        }
    }

    /// Memory behind it (bytes).
    pub(crate) fn bytes(&self) -> u64 {
        let ends = self.ends.as_ref().map_or(0, Packed::bytes);
        self.moments.bytes() + self.until.bytes() + ends + self.places.bytes()
    }

    /// Where the quads of an item begin, or all quads end.
    fn start(&self, item: usize) -> usize {
        match (&self.ends, item.checked_sub(1)) {
            (_, None) => 0,
            (None, _) => item,
            (Some(ends), Some(before)) => ends.get(before) as usize,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rdf::{Tag, VertexId};
    use store::GraphScope;
    use testkit::random::Random;

    fn random_items(random: &mut Random, are_single: bool) -> Items {
        let mut items = Items::new();
        let mut time = 1000;
        for _ in 0..random.below(60) {
            time += random.below(3) as u64;
            let count = if are_single { 1 } else { random.below(4) };
            let quads: Vec<IdQuad> = (0..count)
                .map(|_| {
                    let id = |random: &mut Random| VertexId::new(Tag::Iri, random.below(9) as u64);
                    let ids = [id(random), id(random), id(random)];
                    (ids[0], ids[1], ids[2], GraphScope::DEFAULT_GRAPH)
                })
                .collect();
            items.add(Time(time), &quads);
        }
        items
    }

    #[test]
    fn columns_are_the_items_beside_any_slice_that_has_them() {
        let mut random = Random::new(21);
        for round in 0..400 {
            let items = random_items(&mut random, round % 2 == 0);
            let slice = Slice::of(items.quads());
            let columns = Columns::of(Time(1000), &items, &slice);
            assert_eq!(columns.items(0..items.len(), &slice), items);
            let other = random_items(&mut random, false);
            let whole = Slice::union(&[&slice, &Slice::of(other.quads())]);
            let moved = columns.moved(&slice.places_among(&whole.quads()));
            let from = random.below(items.len() + 1);
            let part = moved.items(from..items.len(), &whole);
            assert!(part.iter().eq(items.iter().skip(from)), "round {round}");
            assert_eq!(
                (moved.len(), moved.quads()),
                (items.len(), items.quads().len())
            );
            for time in 990..1100 {
                assert_eq!(moved.before(Time(time)), items.before(Time(time)));
            }
            for (item, time) in items.times().iter().enumerate() {
                assert_eq!(moved.time(item), *time);
            }
        }
    }
}
