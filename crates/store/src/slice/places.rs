//! Quads of a slice by number: the place of a quad among [`Slice::quads`].
//!
//! A slice has each of its quads once, and in the order of ids. Whoever also has to know in which order they came, and how
//! often, keeps their places: some bits each in place of 32 bytes. So the items of a batch are a list of places beside a
//! slice that is there anyhow, be it of the batch alone or of many.
//!
//! Cost: a place is found and read with two binary searches; the places of all quads of one slice in another one are a
//! merge of both.

use super::{Slice, SliceSegment};
use crate::delta::IdQuad;
use crate::delta::rows::{Row, quad_of, row_of, turn};
use rdf::Direction;
use std::ops::Range;

impl Slice {
    /// The places of quads. Asserts that the slice has them.
    pub fn places_of<'q>(&self, quads: impl IntoIterator<Item = &'q IdQuad>) -> Vec<u32> {
        let segments = Segments::of(self);
        let place = |quad: &IdQuad| segments.place(quad);
        quads.into_iter().map(place).collect()
    }

    /// The quads at some places, in the order of these. Asserts that there are such places.
    pub fn quads_at(&self, places: impl IntoIterator<Item = u32>) -> Vec<IdQuad> {
        let segments = Segments::of(self);
        let quad = |place| quad_of(&segments.row(place));
        places.into_iter().map(quad).collect()
    }

    /// The slice of the quads at these places, which ascend, each once. It does not say when and how often they came.
    #[must_use]
    pub fn part(&self, places: &[u32]) -> Slice {
        assert!(
            places.is_sorted_by(|one, next| one < next),
            "places of a part ascend"
        );
        let segments = Segments::of(self);
        let rows: Vec<Row> = places.iter().map(|place| segments.row(*place)).collect();
        let mut turned = rows.clone();
        turn(&mut turned, &mut Vec::new());
        Slice::of_rows([&rows, &turned], None)
    }

    /// For each of its quads, in order, the place among these, which ascend as [`Slice::quads`] do; `None`: it is not there.
    pub fn places_among(&self, quads: &[IdQuad]) -> Vec<Option<u32>> {
        let mut at = 0;
        let place = |quad: &IdQuad| {
            at += leap(&quads[at..], &row_of(quad));
            (quads.get(at) == Some(quad)).then_some(at as u32)
        };
        self.quads().iter().map(place).collect()
    }
}

/// The out segments of a slice, ascending by predicate, and the place of each one's first quad.
struct Segments<'s> {
    segments: Vec<SliceSegment<'s>>,
    starts: Vec<u32>,
}

impl<'s> Segments<'s> {
    fn of(slice: &'s Slice) -> Segments<'s> {
        let segments: Vec<SliceSegment<'s>> = slice.segments(Direction::Out).collect();
        let starts = segments.iter().scan(0, |next, segment| {
            let start = *next;
            *next += segment.rows_count();
            Some(start)
        });
        Segments {
            starts: starts.collect(),
            segments,
        }
    }

    fn place(&self, &(subject, predicate, object, graph): &IdQuad) -> u32 {
        let found = self
            .segments
            .binary_search_by_key(&predicate, SliceSegment::predicate);
        let number = found.expect("the slice has the predicates of its quads");
        let segment = &self.segments[number];
        let Range { mut start, mut end } = segment.rows_of(subject);
        let is_before = |row: u32| {
            (segment.neighbour(row), segment.graph(row).bits()) < (object.bits(), graph.bits())
        };
        while start < end {
            let middle = start + (end - start) / 2;
            if is_before(middle) {
                start = middle + 1;
            } else {
                end = middle;
            }
        }
        assert!(
            segment.rows_of(subject).contains(&start)
                && (segment.neighbour(start), segment.graph(start)) == (object.bits(), graph),
            "a quad has a place in the slice that was made of it"
        );
        self.starts[number] + start
    }

    fn row(&self, place: u32) -> Row {
        let number = self.starts.partition_point(|start| *start <= place) - 1;
        self.segments[number].row(place - self.starts[number])
    }
}

/// How many quads are before a row: looks at one, two, four further, and then between the last two.
fn leap(quads: &[IdQuad], row: &Row) -> usize {
    let is_before = |quad: &IdQuad| row_of(quad) < *row;
    let mut step = 1;
    while step < quads.len() && is_before(&quads[step]) {
        step *= 2;
    }
    let from = step / 2;
    let until = quads.len().min(step + 1);
    from + quads[from..until].partition_point(is_before)
}

#[cfg(test)]
mod tests {
    use super::super::tests::random_quads;
    use super::*;
    use testkit::random::Random;

    #[test]
    fn quads_are_found_and_read_by_their_places() {
        let mut random = Random::new(11);
        for _ in 0..300 {
            let count = random.below(80);
            let quads = random_quads(&mut random, count);
            let slice = Slice::of(&quads);
            let places = slice.places_of(&quads);
            assert_eq!(slice.quads_at(places.iter().copied()), quads);
            let all = 0..slice.edges(Direction::Out) as u32;
            assert_eq!(slice.quads_at(all.clone()), slice.quads());
            assert_eq!(slice.places_of(&slice.quads()), all.collect::<Vec<_>>());
        }
    }

    #[test]
    fn a_part_is_the_slice_of_its_quads_and_its_places_lie_in_the_whole() {
        let mut random = Random::new(12);
        for _ in 0..300 {
            let count = random.below(80);
            let quads = random_quads(&mut random, count);
            let whole = Slice::of(&quads);
            let mut places = whole.places_of(quads.iter().filter(|_| random.chance(40)));
            places.sort_unstable();
            places.dedup();
            let part = whole.part(&places);
            assert_eq!(part, Slice::of(&whole.quads_at(places.iter().copied())));
            let found = part.places_among(&whole.quads());
            assert_eq!(found, places.into_iter().map(Some).collect::<Vec<_>>());
            let here = whole
                .places_among(&part.quads())
                .into_iter()
                .zip(whole.quads());
            for (place, quad) in here {
                let known = place.map(|place| part.quads()[place as usize]);
                assert_eq!(known, part.quads().contains(&quad).then_some(quad));
            }
        }
    }
}
