//! What a stream brings: items, each of one time and of some quads.
//!
//! Several items may have one time, and one quad may come again and again: a window is a set, but how often something
//! came and when is what count windows and multisets ask. Items lie in three columns, so that a batch of a million
//! items is three allocations. Invariant: item `i` has the quads `ends[i - 1] .. ends[i]`.
//!
//! Cost: 16 bytes an item and 32 a quad.

use crate::time::Time;
use rdf::VertexId;
use rdf::transient::Renamed;
use store::delta::IdQuad;

/// Items in the order in which they came, or sorted by time where that is said.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Items {
    times: Vec<Time>,
    ends: Vec<usize>,
    quads: Vec<IdQuad>,
}

impl Items {
    /// None.
    pub fn new() -> Items {
        Items::default()
    }

    /// One item for each of these quads, at its time.
    pub fn singles(quads: impl IntoIterator<Item = (Time, IdQuad)>) -> Items {
        let mut items = Items::new();
        for (time, quad) in quads {
            items.add(time, &[quad]);
        }
        items
    }

    /// Adds an item of these quads. It may have none, and counts all the same.
    pub fn add(&mut self, time: Time, quads: &[IdQuad]) {
        self.times.push(time);
        self.quads.extend_from_slice(quads);
        self.ends.push(self.quads.len());
    }

    /// Adds all of `others` behind these.
    pub(crate) fn append(&mut self, others: &Items) {
        let quads = self.quads.len();
        self.times.extend_from_slice(&others.times);
        self.quads.extend_from_slice(&others.quads);
        self.ends.extend(others.ends.iter().map(|end| quads + end));
    }

    /// How many items.
    pub fn len(&self) -> usize {
        self.times.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.times.is_empty()
    }

    /// Their times, in order.
    pub fn times(&self) -> &[Time] {
        &self.times
    }

    /// All their quads, in order and as often as they came.
    pub fn quads(&self) -> &[IdQuad] {
        &self.quads
    }

    /// The items, in order.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = (Time, &[IdQuad])> {
        (0..self.len()).map(|item| (self.times[item], self.quads_of(item..item + 1)))
    }

    /// The quads of the items of a range.
    pub(crate) fn quads_of(&self, items: std::ops::Range<usize>) -> &[IdQuad] {
        &self.quads[self.start_of(items.start)..self.start_of(items.end)]
    }

    /// How many items are before `time`. They must be sorted.
    pub(crate) fn before(&self, time: Time) -> usize {
        self.times.partition_point(|&item| item < time)
    }

    /// Those that are not before `time`. They must be sorted.
    pub(crate) fn from(&self, time: Time) -> Items {
        let mut left = Items::new();
        for (at, quads) in self.iter().skip(self.before(time)) {
            left.add(at, quads);
        }
        left
    }

    /// The transient ids that their quads name, as often as they do.
    pub(crate) fn transients(&self) -> impl Iterator<Item = VertexId> {
        transients_of(&self.quads)
    }

    /// Puts stored ids in place of transient ones; whether there were such.
    pub(crate) fn rename(&mut self, renamed: &Renamed) -> bool {
        let mut is_changed = false;
        for quad in &mut self.quads {
            let before = *quad;
            let [subject, predicate, object, graph] = parts(before).map(|id| renamed.of(id));
            *quad = (subject, predicate, object, graph);
            is_changed |= *quad != before;
        }
        is_changed
    }

    /// What they hold (bytes).
    pub fn bytes(&self) -> u64 {
        bytes_of(self.len(), self.quads.len())
    }

    /// The same items by time, those of one time in the order in which they came.
    #[must_use]
    pub(crate) fn sorted(self) -> Items {
        if self.times.is_sorted() {
            return self;
        }
        let mut order: Vec<usize> = (0..self.len()).collect();
        order.sort_by_key(|&item| self.times[item]);
        let mut sorted = Items::with_capacity(self.len(), self.quads.len());
        for item in order {
            sorted.add(self.times[item], self.quads_of(item..item + 1));
        }
        sorted
    }

    /// Takes out the items at `time` and leaves the others, both in their order.
    pub(crate) fn take_at(&mut self, time: Time) -> Items {
        let mut taken = Items::new();
        let mut left = Items::new();
        for (at, quads) in self.iter() {
            let part = if at == time { &mut taken } else { &mut left };
            part.add(at, quads);
        }
        *self = left;
        taken
    }

    fn with_capacity(items: usize, quads: usize) -> Items {
        Items {
            times: Vec::with_capacity(items),
            ends: Vec::with_capacity(items),
            quads: Vec::with_capacity(quads),
        }
    }

    /// Where the quads of this item begin, or all quads end.
    fn start_of(&self, item: usize) -> usize {
        item.checked_sub(1).map_or(0, |before| self.ends[before])
    }
}

/// The transient ids that quads name, as often as they do.
pub(crate) fn transients_of(quads: &[IdQuad]) -> impl Iterator<Item = VertexId> {
    let ids = quads.iter().flat_map(|quad| parts(*quad));
    ids.filter(|id| id.is_transient())
}

fn parts((subject, predicate, object, graph): IdQuad) -> [VertexId; 4] {
    [subject, predicate, object, graph]
}

/// What so many items with so many quads hold (bytes).
pub(crate) const fn bytes_of(items: usize, quads: usize) -> u64 {
    (items * (size_of::<Time>() + size_of::<usize>()) + quads * size_of::<IdQuad>()) as u64
}

#[cfg(test)]
mod tests {
    use super::*;
    use rdf::{Tag, VertexId};

    fn quad(number: u64) -> IdQuad {
        let id = VertexId::new(Tag::Iri, number);
        (id, id, id, id)
    }

    fn items(times: &[u64]) -> Items {
        let mut items = Items::new();
        for (place, &time) in (0..).zip(times) {
            let quads: Vec<IdQuad> = (0..place % 3).map(|part| quad(10 * place + part)).collect();
            items.add(Time(time), &quads);
        }
        items
    }

    #[test]
    fn sorting_keeps_the_order_of_one_time_and_the_quads_of_an_item() {
        let shuffled = items(&[5, 3, 5, 4, 3]);
        let sorted = shuffled.clone().sorted();
        let mut expected: Vec<(Time, &[IdQuad])> = shuffled.iter().collect();
        expected.sort_by_key(|&(time, _)| time);
        assert_eq!(sorted.iter().collect::<Vec<_>>(), expected);
        assert_eq!((sorted.before(Time(3)), sorted.before(Time(5))), (0, 3));
        assert_eq!(sorted.bytes(), shuffled.bytes());
    }

    #[test]
    fn what_is_taken_and_what_is_left_are_all() {
        let all = items(&[5, 3, 5, 4, 3]);
        let mut left = all.clone();
        let taken = left.take_at(Time(5));
        assert_eq!(taken.times(), [Time(5), Time(5)]);
        assert_eq!(left.times(), [Time(3), Time(4), Time(3)]);
        assert_eq!(taken.bytes() + left.bytes(), all.bytes());
        let mut again = taken.clone();
        again.append(&left);
        assert_eq!(
            again.iter().skip(2).collect::<Vec<_>>(),
            left.iter().collect::<Vec<_>>()
        );
    }
}
