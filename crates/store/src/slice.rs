//! A slice: the small graph of one batch of a stream, or of several batches together.
//!
//! A window over a stream is a union of slices ([`Window`](crate::window::Window)). So a slice is to streams what the
//! stream index with its fat pointers is in Wukong+S (SOSP'17 section 4.2): for each predicate and direction the keys
//! of the batch with the neighbours that came in it, found without touching the stored lists, and freed when no window
//! needs them. It also has the keys of each predicate, those included that the store has long known.
//!
//! **Not a layer.** A layer drops what was there before, and a window must hold it. A slice is a set of quads, whatever
//! the store holds. Its two directions are edge sets of their own, as everywhere ("half quads").
//!
//! **Lean.** A slice has keys, offsets and neighbours, and no signatures, checksums or files: it lives in memory, some
//! hundred of them at a time, for seconds. Columns of all segments lie in three arrays by their width, so a slice is
//! five allocations. Memory: 2 bytes a key in chunks of 2^16 ids (8 where ids lie far apart), nothing for offsets where
//! each key has one row, 4 bytes a neighbour (2 where their ids span less than 2^16, 8 where they span more than 2^32), 48 bytes a
//! segment.
//!
//! ```text
//!  segment of a predicate and a direction
//!    u16    low halves of keys | offsets, where there are fewer than 2^16 rows | near codes of neighbours
//!    u32    starts of chunks | offsets, where there are more | codes of neighbours | codes of graphs
//!    u64    high halves of chunks, or keys | bases of neighbours, or neighbours
//! ```
//!
//! Behind these an out segment has when and how often its quads came, where somebody asks that ([`Arrival`]).
//!
//! Cost: a radix sort and one pass for each direction, some 50 ns a quad and direction.

mod arrivals;
mod build;
mod bytes;
mod places;
mod segment;

pub use arrivals::Arrival;
pub use bytes::SliceError;
pub(crate) use segment::SliceSegment;

use crate::delta::rows::{IdQuad, Row, row_of, turn};
use crate::load::radix;
use build::Writer;
use rdf::{Direction, VertexId};
use segment::SliceEntry;

/// A small immutable graph; see the module's documentation.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Slice {
    /// The named graphs, ascending. The code of a graph is its place here and 1; that of the default graph is 0.
    graphs: Vec<VertexId>,
    /// By direction, ascending by predicate.
    segments: [Vec<SliceEntry>; 2],
    halves: Vec<u16>,
    words: Vec<u32>,
    ids: Vec<u64>,
}

impl Slice {
    /// The slice of these quads, in any order and repeatedly.
    pub fn of(quads: &[IdQuad]) -> Slice {
        Slice::of_halves(quads, quads)
    }

    /// The slice that has the out-edges of some quads and the in-edges of others, in any order and repeatedly: what a
    /// part of a graph holds that is cut by vertices.
    pub fn of_halves(outgoing: &[IdQuad], incoming: &[IdQuad]) -> Slice {
        let mut scratch = Vec::new();
        let mut rows: Vec<_> = outgoing.iter().map(row_of).collect();
        radix::sort(&mut rows, &mut scratch);
        rows.dedup();
        let mut turned: Vec<_> = incoming.iter().map(row_of).collect();
        turn(&mut turned, &mut scratch);
        turned.dedup();
        Slice::of_rows([&rows, &turned], None)
    }

    /// From the rows of both directions, ascending and distinct, and when and how often those of out-edges came.
    fn of_rows(rows: [&[Row]; 2], arrivals: Option<&[Arrival]>) -> Slice {
        let mut writer = Writer::new(rows);
        writer.direction(Direction::Out, rows[0], arrivals);
        writer.direction(Direction::In, rows[1], None);
        writer.finish()
    }

    /// The slice of rows in any order and repeatedly, with what `came` says of them; it says something of each.
    fn of_rows_with(mut rows: Vec<Row>, came: impl Iterator<Item = (Row, Arrival)>) -> Slice {
        let mut scratch = Vec::new();
        radix::sort(&mut rows, &mut scratch);
        rows.dedup();
        let arrivals = arrivals::summed(&rows, came);
        let mut turned = rows.clone();
        turn(&mut turned, &mut scratch);
        Slice::of_rows([&rows, &turned], Some(&arrivals))
    }

    /// The union of slices: a quad of several is there once. O(edges), sorting included. Where all of them say when and how
    /// often quads came, it says so, too.
    pub fn union(slices: &[&Slice]) -> Slice {
        if slices.iter().all(|slice| slice.has_arrivals()) {
            let came = || slices.iter().flat_map(|slice| slice.arrived());
            return Slice::of_rows_with(came().map(|(row, _)| row).collect(), came());
        }
        let mut scratch = Vec::new();
        let rows = [Direction::Out, Direction::In].map(|direction| {
            let mut rows = Vec::new();
            for slice in slices {
                for segment in slice.segments(direction) {
                    segment.append_rows(&mut rows);
                }
            }
            radix::sort(&mut rows, &mut scratch);
            rows.dedup();
            rows
        });
        Slice::of_rows([&rows[0], &rows[1]], None)
    }

    /// Its quads, as far as their out-edges are here, ascending by predicate, subject, object and graph.
    pub fn quads(&self) -> Vec<IdQuad> {
        let mut rows = Vec::new();
        for segment in self.segments(Direction::Out) {
            segment.append_rows(&mut rows);
        }
        rows.iter().map(crate::delta::rows::quad_of).collect()
    }

    /// Whether it has no edge.
    pub fn is_empty(&self) -> bool {
        self.segments.iter().all(Vec::is_empty)
    }

    /// Distinct edges of one direction: of [`Direction::Out`] the quads.
    pub fn edges(&self, direction: Direction) -> u64 {
        let entries = self.segments[direction as usize].iter();
        entries.map(|entry| u64::from(entry.rows())).sum()
    }

    /// Bytes of memory that it holds.
    pub fn bytes(&self) -> u64 {
        let [out, into] = &self.segments;
        let bytes = size_of::<Slice>()
            + size_of_val(&self.graphs[..])
            + size_of_val(&out[..])
            + size_of_val(&into[..])
            + size_of_val(&self.halves[..])
            + size_of_val(&self.words[..])
            + size_of_val(&self.ids[..]);
        bytes as u64
    }

    /// The sizes of each predicate, ascending: the predicate, its edges, its subjects and its objects.
    pub fn sizes(&self) -> Vec<(VertexId, SliceSizes)> {
        let mut sizes: Vec<(VertexId, SliceSizes)> = Vec::new();
        for segment in self.segments(Direction::Out) {
            let of_segment = SliceSizes {
                edges: u64::from(segment.rows_count()),
                subjects: u64::from(segment.keys_count()),
                objects: 0,
            };
            sizes.push((segment.predicate(), of_segment));
        }
        for segment in self.segments(Direction::In) {
            let place = sizes.binary_search_by_key(&segment.predicate(), |known| known.0);
            let place = place.unwrap_or_else(|place| {
                sizes.insert(place, (segment.predicate(), SliceSizes::default()));
                place
            });
            sizes[place].1.objects = u64::from(segment.keys_count());
        }
        sizes
    }

    /// The segments of a direction, ascending by predicate.
    pub(crate) fn segments(
        &self,
        direction: Direction,
    ) -> impl ExactSizeIterator<Item = SliceSegment<'_>> {
        let entries = self.segments[direction as usize].iter();
        entries.map(|entry| SliceSegment::new(self, entry))
    }

    /// The segment at a place among those of a direction. Asserts that it is there.
    pub(crate) fn segment(&self, direction: Direction, place: usize) -> SliceSegment<'_> {
        SliceSegment::new(self, &self.segments[direction as usize][place])
    }

    /// The named graphs of its quads, ascending.
    pub(crate) fn graphs(&self) -> &[VertexId] {
        &self.graphs
    }
}

/// The sizes of one predicate in a slice; see [`Slice::sizes`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SliceSizes {
    /// Distinct edges over all graphs (count).
    pub edges: u64,
    /// Distinct subjects (count).
    pub subjects: u64,
    /// Distinct objects (count).
    pub objects: u64,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::view::GraphScope;
    use rdf::Tag;
    use std::collections::BTreeSet;
    use testkit::random::Random;

    /// Ids of several kinds, near each other and far apart.
    fn vertex(random: &mut Random) -> VertexId {
        match random.below(8) {
            0 => VertexId::new(Tag::Literal, random.bits() % 5),
            1 => VertexId::new(Tag::Double, random.bits() >> 4),
            2 => VertexId::new(Tag::Iri, (random.bits() % 3) << 40),
            _ => VertexId::new(Tag::Iri, random.bits() % 40),
        }
    }

    pub(super) fn random_quads(random: &mut Random, count: usize) -> Vec<IdQuad> {
        (0..count)
            .map(|_| {
                let graph = match random.below(6) {
                    0 => VertexId::new(Tag::Iri, 100 + random.bits() % 3),
                    _ => GraphScope::DEFAULT_GRAPH,
                };
                let predicate = VertexId::new(Tag::Iri, 50 + random.bits() % 3);
                (vertex(random), predicate, vertex(random), graph)
            })
            .collect()
    }

    #[test]
    fn quads_come_back_each_once() {
        let mut random = Random::new(1);
        for round in 0..400 {
            let count = random.below(60);
            let quads = random_quads(&mut random, count);
            let more = random_quads(&mut random, round % 7);
            let [one, other] = [Slice::of(&quads), Slice::of(&more)];
            let set = |quads: &[IdQuad]| quads.iter().copied().collect::<BTreeSet<_>>();
            assert_eq!(set(&one.quads()), set(&quads));
            assert_eq!(one.quads().len() as u64, one.edges(Direction::Out));
            assert_eq!(one.edges(Direction::In), one.edges(Direction::Out));
            let both = [&quads[..], &more[..]].concat();
            assert_eq!(Slice::union(&[&one, &other]), Slice::of(&both));
            assert_eq!(one.is_empty(), quads.is_empty());
        }
    }

    #[test]
    fn halves_are_edge_sets_of_their_own() {
        let mut random = Random::new(2);
        let [out, into] = [20, 30].map(|count| random_quads(&mut random, count));
        let halves = Slice::of_halves(&out, &into);
        let [whole_out, whole_in] = [Slice::of(&out), Slice::of(&into)];
        assert_eq!(halves.quads(), whole_out.quads());
        assert_eq!(halves.edges(Direction::In), whole_in.edges(Direction::In));
    }

    #[test]
    fn sizes_are_counted() {
        let iri = |number| VertexId::new(Tag::Iri, number);
        let default = GraphScope::DEFAULT_GRAPH;
        let quads = [
            (iri(1), iri(9), iri(2), default),
            (iri(1), iri(9), iri(3), default),
            (iri(4), iri(9), iri(3), iri(7)),
        ];
        let sizes = SliceSizes {
            edges: 3,
            subjects: 2,
            objects: 2,
        };
        assert_eq!(Slice::of(&quads).sizes(), [(iri(9), sizes)]);
    }
}
