//! When and how often each quad of a slice came: a column beside its out-edges, for those who ask.
//!
//! Windows are sets, and most of their walks need neither. So a slice has the column only if it was built with it
//! ([`Slice::of_arrivals`]): `timestamp()` asks for times and `multiset=on` for counts. It stands behind the other columns
//! of a segment, whose readers do not see it, so an ordinary slice is as large as before and an ordinary lookup does
//! nothing more.
//!
//! ```text
//!  words  ... codes of graphs | counts | offsets of times
//!  ids    ... neighbours      | first time                   (or all times, where they span more than 49 days)
//! ```
//!
//! Invariants: all out segments of a slice have the column or none has; a count is above 0. The union of slices has it if
//! all of them have. In-edges have no column: their counts are found at the out-edges, which lie in the same slice.
//!
//! Cost: 8 bytes a quad (12 where times lie far apart), and a binary search a quad when the slice is built.

use super::Slice;
use super::segment::SliceEntry;
use crate::delta::IdQuad;
use crate::delta::rows::{Row, row_of};
use rdf::{Direction, VertexId};

/// When and how often a quad came.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Arrival {
    /// The greatest time (milliseconds).
    pub latest_ms: u64,
    /// How often (count), above 0.
    pub count: u32,
}

impl Arrival {
    /// What came once.
    pub(super) fn once(time_ms: u64) -> Arrival {
        Arrival {
            latest_ms: time_ms,
            count: 1,
        }
    }

    fn add(&mut self, other: Arrival) {
        self.latest_ms = self.latest_ms.max(other.latest_ms);
        self.count = self.count.saturating_add(other.count);
    }
}

/// Sums what came, for each of these rows, which ascend and are all that came.
pub(super) fn summed(rows: &[Row], came: impl Iterator<Item = (Row, Arrival)>) -> Vec<Arrival> {
    let mut arrivals = vec![Arrival::default(); rows.len()];
    for (row, arrival) in came {
        let place = rows.binary_search(&row);
        arrivals[place.expect("the rows are all that came")].add(arrival);
    }
    arrivals
}

/// The column of one segment.
#[derive(Clone, Copy)]
pub(crate) struct SegmentArrivals<'s> {
    counts: &'s [u32],
    times: Times<'s>,
}

#[derive(Clone, Copy)]
enum Times<'s> {
    Near { first: u64, offsets: &'s [u32] },
    Far(&'s [u64]),
}

impl SegmentArrivals<'_> {
    /// Whether no time is past [`u64::MAX`], as bytes from elsewhere might say.
    fn is_sound(&self) -> bool {
        match self.times {
            Times::Near { first, offsets } => {
                let most = offsets.iter().max().copied().unwrap_or(0);
                first.checked_add(most.into()).is_some()
            }
            Times::Far(_) => true,
        }
    }

    /// That of a row.
    pub(crate) fn of(&self, row: u32) -> Arrival {
        let row = row as usize;
        let latest_ms = match self.times {
            Times::Near { first, offsets } => first + u64::from(offsets[row]),
            Times::Far(times) => times[row],
        };
        Arrival {
            latest_ms,
            count: self.counts[row],
        }
    }
}

/// Appends the column of a segment to the arrays of its slice.
pub(super) fn write(
    entry: &mut SliceEntry,
    arrivals: &[Arrival],
    words: &mut Vec<u32>,
    ids: &mut Vec<u64>,
) {
    words.extend(arrivals.iter().map(|arrival| arrival.count));
    let times = || arrivals.iter().map(|arrival| arrival.latest_ms);
    let first = times().min().unwrap_or(0);
    let span = times().max().unwrap_or(0) - first;
    let is_wide = u32::try_from(span).is_err();
    entry.set_arrivals(is_wide);
    if is_wide {
        ids.extend(times());
    } else {
        ids.push(first);
        words.extend(times().map(|time| (time - first) as u32));
    }
}

impl Slice {
    /// The slice of items, each of a time (milliseconds) and some quads, with the column of when and how often each quad
    /// came.
    pub fn of_arrivals<'i>(items: impl Iterator<Item = (u64, &'i [IdQuad])> + Clone) -> Slice {
        let quads = items.clone().flat_map(|(_, quads)| quads);
        let rows: Vec<Row> = quads.map(row_of).collect();
        let came = items.flat_map(|(time_ms, quads)| {
            let arrival = Arrival::once(time_ms);
            quads.iter().map(move |quad| (row_of(quad), arrival))
        });
        Slice::of_rows_with(rows, came)
    }

    /// Whether it has the column, or no quad that would be in it.
    pub fn has_arrivals(&self) -> bool {
        let mut entries = self.segments[Direction::Out as usize].iter();
        entries.all(|entry| entry.arrivals_at().is_some())
    }

    /// Its quads as [`Slice::quads`], each with when and how often it came; asserts that it has the column.
    pub fn arrivals(&self) -> Vec<(IdQuad, Arrival)> {
        let arrived = self.arrived().map(|(row, arrival)| {
            let quad = crate::delta::rows::quad_of(&row);
            (quad, arrival)
        });
        arrived.collect()
    }

    /// The same by rows.
    pub(super) fn arrived(&self) -> impl Iterator<Item = (Row, Arrival)> {
        (0..self.segments[Direction::Out as usize].len()).flat_map(|place| {
            let mut rows = Vec::new();
            self.segment(Direction::Out, place).append_rows(&mut rows);
            let column = self.arrivals_of(place);
            let arrivals = (0..).map(move |row| column.of(row));
            rows.into_iter().zip(arrivals)
        })
    }

    /// The columns of all out segments; `None` where they are unsound. Asserts that all have one.
    pub(super) fn arrived_checked(&self) -> Option<Vec<Arrival>> {
        let mut all = Vec::new();
        for place in 0..self.segments[Direction::Out as usize].len() {
            let column = self.arrivals_of(place);
            if !column.is_sound() {
                return None;
            }
            let rows = self.segments[Direction::Out as usize][place].rows();
            all.extend((0..rows).map(|row| column.of(row)));
        }
        Some(all)
    }

    /// The column of the out segment at a place. Asserts that there is one.
    pub(crate) fn arrivals_of(&self, place: usize) -> SegmentArrivals<'_> {
        let entry = &self.segments[Direction::Out as usize][place];
        let at = entry.arrivals_at();
        let [words, ids] =
            at.expect("whoever asks for arrivals has slices that were built with them");
        let rows = entry.rows() as usize;
        let words = &self.words[words..];
        let times = if entry.has_wide_times() {
            Times::Far(&self.ids[ids..ids + rows])
        } else {
            Times::Near {
                first: self.ids[ids],
                offsets: &words[rows..2 * rows],
            }
        };
        SegmentArrivals {
            counts: &words[..rows],
            times,
        }
    }

    /// The rows of the out segment at a place that have these ends, one for each graph.
    pub(crate) fn rows_between(
        &self,
        place: usize,
        subject: VertexId,
        object: VertexId,
    ) -> std::ops::Range<u32> {
        let segment = self.segment(Direction::Out, place);
        let rows = segment.rows_of(subject);
        let mut neighbours = Vec::with_capacity(rows.len());
        segment.append_neighbours(rows.clone(), &mut neighbours);
        let before = neighbours.partition_point(|neighbour| *neighbour < object);
        let same = neighbours[before..].partition_point(|neighbour| *neighbour == object);
        let first = rows.start + before as u32;
        first..first + same as u32
    }

    /// The place of the out segment of a predicate.
    pub(crate) fn out_place(&self, predicate: VertexId) -> Option<usize> {
        let entries = &self.segments[Direction::Out as usize];
        let place = entries.binary_search_by_key(&predicate, SliceEntry::predicate);
        place.ok()
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::random_quads;
    use super::*;
    use std::collections::BTreeMap;
    use testkit::random::Random;

    type Items = Vec<(u64, Vec<IdQuad>)>;

    fn random_items(random: &mut Random) -> Items {
        let far = if random.chance(20) { 1 << 40 } else { 0 };
        let pool = random_quads(random, 12);
        let mut items = Items::new();
        for _ in 0..random.below(20) {
            let count = random.below(4);
            let quads = (0..count).map(|_| *random.pick(&pool)).collect();
            items.push((1000 + random.bits() % 50 + far * (random.bits() % 2), quads));
        }
        items
    }

    fn slice_of(items: &Items) -> Slice {
        Slice::of_arrivals(items.iter().map(|(time, quads)| (*time, &quads[..])))
    }

    fn expected(items: &Items) -> BTreeMap<IdQuad, (u64, u32)> {
        let mut all: BTreeMap<IdQuad, (u64, u32)> = BTreeMap::new();
        for (time, quads) in items {
            for quad in quads {
                let arrival = all.entry(*quad).or_default();
                *arrival = (arrival.0.max(*time), arrival.1 + 1);
            }
        }
        all
    }

    fn found(slice: &Slice) -> BTreeMap<IdQuad, (u64, u32)> {
        let arrivals = slice.arrivals().into_iter();
        arrivals
            .map(|(quad, arrival)| (quad, (arrival.latest_ms, arrival.count)))
            .collect()
    }

    #[test]
    fn each_quad_has_its_latest_time_and_its_count() {
        let mut random = Random::new(5);
        for round in 0..400 {
            let [one, other] = [random_items(&mut random), random_items(&mut random)];
            let [here, there] = [&one, &other].map(slice_of);
            assert_eq!(found(&here), expected(&one), "round {round}");
            let both = [&one[..], &other[..]].concat();
            let union = Slice::union(&[&here, &there]);
            assert_eq!(union, slice_of(&both), "round {round}");
            let mut bytes = Vec::new();
            union.encode(&mut bytes);
            assert_eq!(Slice::decode(&bytes), Ok(union), "round {round}");
        }
    }

    /// Whoever does not ask pays nothing: the arrays are those that there were before, and readers see the same edges.
    #[test]
    fn slices_without_the_column_are_as_before_and_unions_with_them_have_none() {
        let mut random = Random::new(6);
        for _ in 0..200 {
            let items = random_items(&mut random);
            let quads: Vec<IdQuad> = items.iter().flat_map(|item| item.1.clone()).collect();
            let [plain, with] = [Slice::of(&quads), slice_of(&items)];
            assert_eq!(plain.quads(), with.quads());
            assert_eq!(plain.has_arrivals(), quads.is_empty());
            assert!(with.has_arrivals());
            assert!(plain.bytes() <= with.bytes());
            assert_eq!(Slice::union(&[&plain, &with]), plain);
        }
    }
}
