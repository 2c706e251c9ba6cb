//! Occurrences of a window's edges: when one came last, and each of them for itself where the window is a bag.
//!
//! An occurrence is a row of its own: the neighbour, and as its graph a number from 0 up, which is an integer that no graph
//! is called by. So whoever walks a bag sees a multigraph through the question that `GRAPH ?g` asks, and needs no other.
//! Graphs of items are not told apart: an edge that came in two graphs came twice.
//!
//! Invariant: slices of a bag have their arrivals; they are asked of the out-edges alone.
//!
//! Cost: as a list of the window, and for lists of in-edges a search in the out-edges of each neighbour.

use super::Window;
use crate::lists::OwnedLists;
use crate::slice::Slice;
use crate::view::{GraphScope, GraphView, SegmentKey};
use rdf::{Direction, VertexId, inline};
use std::sync::Arc;

/// The graph that a stored edge has beside the occurrences of a window.
const STORED: i64 = -1;

/// The graph of an occurrence.
pub(super) fn occurrence(number: i64) -> VertexId {
    inline::from_integer(number).expect("a small integer has an id")
}

/// The graph of a stored edge.
pub(super) fn stored_occurrence() -> VertexId {
    occurrence(STORED)
}

impl Window {
    /// The union of slices as a bag. Asserts that each says how often its quads came ([`Slice::has_arrivals`]).
    #[must_use]
    pub fn bag(slices: Vec<Arc<Slice>>) -> Window {
        assert!(
            slices.iter().all(|slice| slice.has_arrivals()),
            "whoever asks for a bag has slices that count"
        );
        Window {
            is_bag: true,
            ..Window::new(slices)
        }
    }

    /// Whether lists of a scope have a row for each occurrence.
    #[inline]
    pub(super) fn sees_occurrences(&self, scope: GraphScope<'_>) -> bool {
        self.is_bag && scope.binds_graph()
    }

    /// When an edge came last in any graph (milliseconds); `None` where it did not. Asserts that slices with the predicate
    /// say when their quads came.
    #[must_use]
    pub fn latest_ms(
        &self,
        subject: VertexId,
        predicate: VertexId,
        object: VertexId,
    ) -> Option<u64> {
        let segment = SegmentKey {
            predicate: self.predicate_id(predicate)?,
            direction: Direction::Out,
        };
        let places = self.places_of(segment).iter();
        let latest = places.flat_map(|at| {
            let (slice, place) = (&self.slices[at.slice as usize], at.segment as usize);
            let rows = slice.rows_between(place, subject, object);
            rows.map(move |row| slice.arrivals_of(place).of(row).latest_ms)
        });
        latest.max()
    }

    /// Appends the list of each key with a row for each occurrence.
    pub(super) fn append_occurrences(
        &self,
        segment: SegmentKey,
        keys: &[VertexId],
        owned: &mut OwnedLists,
    ) {
        let mut counted: Vec<(VertexId, u32)> = Vec::new();
        for &key in keys {
            let begin = owned.neighbours.len();
            counted.clear();
            for at in self.places_of(segment) {
                let (slice, place) = (&self.slices[at.slice as usize], at.segment as usize);
                append_counted(slice, place, segment.direction, key, &mut counted);
            }
            counted.sort_unstable();
            for same in counted.chunk_by(|one, next| one.0 == next.0) {
                let count: i64 = same.iter().map(|(_, count)| i64::from(*count)).sum();
                for number in 0..count {
                    owned.neighbours.push(same[0].0);
                    owned.graphs.push(occurrence(number));
                }
            }
            owned.push_from(begin);
        }
    }
}

/// Appends the neighbours of a key in one slice, each with how often its edge came there.
fn append_counted(
    slice: &Slice,
    place: usize,
    direction: Direction,
    key: VertexId,
    counted: &mut Vec<(VertexId, u32)>,
) {
    let segment = slice.segment(direction, place);
    let rows = segment.rows_of(key);
    let mut neighbours = Vec::with_capacity(rows.len());
    segment.append_neighbours(rows.clone(), &mut neighbours);
    if direction == Direction::Out {
        let arrivals = slice.arrivals_of(place);
        let counts = rows.map(|row| arrivals.of(row).count);
        return counted.extend(neighbours.into_iter().zip(counts));
    }
    let out = slice.out_place(segment.predicate());
    let out = out.expect("a slice of a bag has both directions of its edges");
    let arrivals = slice.arrivals_of(out);
    // One neighbour for each graph: the out-edges of all graphs are counted once.
    neighbours.dedup();
    for neighbour in neighbours {
        let rows = slice.rows_between(out, neighbour, key);
        counted.extend(rows.map(|row| (neighbour, arrivals.of(row).count)));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::delta::IdQuad;
    use crate::lists::{ListCursor, Lists};
    use rdf::Tag;
    use std::collections::BTreeMap;
    use testkit::random::Random;

    fn vertex(number: u64) -> VertexId {
        VertexId::new(Tag::Iri, number)
    }

    fn random_item(random: &mut Random) -> (u64, Vec<IdQuad>) {
        let count = random.below(4);
        let mut below = |bound: usize| random.below(bound) as u64;
        let quads = (0..count)
            .map(|_| {
                let graph = match below(4) {
                    0 => vertex(90 + below(2)),
                    _ => GraphScope::DEFAULT_GRAPH,
                };
                (
                    vertex(below(3)),
                    vertex(50 + below(2)),
                    vertex(below(3)),
                    graph,
                )
            })
            .collect();
        (1000 + random.below(100) as u64, quads)
    }

    /// How often each neighbour is in a list, whose rows are told apart by their graphs.
    fn list(window: &Window, segment: SegmentKey, key: VertexId) -> BTreeMap<VertexId, usize> {
        let mut lists = Lists::new();
        let asked = window.lists(segment, &[key], GraphScope::EachNamed, &mut lists);
        assert!(asked.is_ok());
        let (mut rows, mut neighbours, mut graphs) = (Vec::new(), Vec::new(), Vec::new());
        let mut cursor = ListCursor::default();
        lists
            .expand(
                &mut cursor,
                usize::MAX,
                &mut rows,
                &mut neighbours,
                Some(&mut graphs),
            )
            .expect("nothing fails");
        let mut pairs: Vec<_> = neighbours.iter().zip(&graphs).collect();
        assert!(pairs.is_sorted());
        pairs.dedup();
        assert_eq!(
            pairs.len(),
            neighbours.len(),
            "each occurrence is another row"
        );
        let mut counts = BTreeMap::new();
        for neighbour in neighbours {
            *counts.entry(neighbour).or_default() += 1;
        }
        counts
    }

    #[test]
    fn lists_of_a_bag_have_each_occurrence_and_times_are_the_latest() {
        let mut random = Random::new(7);
        for round in 0..300 {
            let mut batches: Vec<Vec<(u64, Vec<IdQuad>)>> = vec![Vec::new(); random.below(4)];
            for batch in &mut batches {
                let count = random.below(8);
                batch.extend((0..count).map(|_| random_item(&mut random)));
            }
            let slice = |items: &Vec<(u64, Vec<IdQuad>)>| {
                let items = items.iter().map(|(time, quads)| (*time, &quads[..]));
                Arc::new(Slice::of_arrivals(items))
            };
            let window = Window::bag(batches.iter().map(slice).collect());
            let all: Vec<(u64, IdQuad)> = batches
                .iter()
                .flatten()
                .flat_map(|(time, quads)| quads.iter().map(move |quad| (*time, *quad)))
                .collect();
            for predicate in [vertex(50), vertex(51)] {
                for (key, other) in (0..9).map(|pair| (vertex(pair / 3), vertex(pair % 3))) {
                    let came = all
                        .iter()
                        .filter(|(_, quad)| (quad.0, quad.1, quad.2) == (key, predicate, other));
                    let came: Vec<u64> = came.map(|(time, _)| *time).collect();
                    let latest = window.latest_ms(key, predicate, other);
                    assert_eq!(latest, came.iter().copied().max(), "round {round}");
                    let Some(number) = window.predicate_id(predicate) else {
                        assert!(came.is_empty());
                        continue;
                    };
                    for (direction, key, other) in
                        [(Direction::Out, key, other), (Direction::In, other, key)]
                    {
                        let segment = SegmentKey {
                            predicate: number,
                            direction,
                        };
                        let counts = list(&window, segment, key);
                        let count = counts.get(&other).copied().unwrap_or(0);
                        assert_eq!(count, came.len(), "round {round}, {direction:?}");
                    }
                }
            }
        }
    }
}
