//! An ordered set of vertices: the keys of a segment, or one neighbour list.
//!
//! Borrowed from the store wherever it stands there in order already, else owned. Elements have
//! ordinals, so a set can be cut for several workers and read on from anywhere. Where layers changed
//! it, a set is what is borrowed with [patches](patch) over it.
//!
//! Cost: [`VertexSet::select`] and [`VertexSet::contains`] take about one cache line an element
//! where the set is dense, else a binary search within a chunk or the list.

pub(crate) mod patch;

use crate::error::ViewError;
use crate::segment::index::{ABSENT, Index};
use crate::segment::planes::Decode;
use crate::segment::reader::{Column, ColumnRun};
use crate::source::{ByteSource, Fault};
use patch::Patch;
use rdf::VertexId;
use std::ops::Range;
use std::sync::Arc;

/// An ordered set of distinct vertices.
#[derive(Clone)]
pub struct VertexSet<'v> {
    elements: Elements<'v>,
    /// What changed, each over the elements with the ones before.
    patches: Vec<Arc<Patch>>,
}

#[derive(Clone)]
enum Elements<'v> {
    Owned(Vec<VertexId>),
    /// Put together once for all who ask for it.
    Shared(Arc<[VertexId]>),
    /// A key index, or a list kept as one.
    Index(Index<'v>),
    /// A list whose neighbours are distinct.
    Rows(Column<'v>, Range<u64>),
}

impl Default for VertexSet<'_> {
    fn default() -> Self {
        VertexSet::empty()
    }
}

impl<'v> VertexSet<'v> {
    /// The set without elements.
    pub fn empty() -> Self {
        VertexSet::of(Elements::Owned(Vec::new()))
    }

    /// The set of these vertices. Asserts that they ascend and are distinct.
    pub fn from_sorted(vertices: Vec<VertexId>) -> Self {
        assert!(
            vertices.is_sorted_by(|a, b| a < b),
            "vertices ascend and are distinct"
        );
        VertexSet::of(Elements::Owned(vertices))
    }

    /// The set of these vertices, which ascend and are distinct.
    pub(crate) fn shared(vertices: Arc<[VertexId]>) -> Self {
        VertexSet::of(Elements::Shared(vertices))
    }

    pub(crate) fn of_index(index: Index<'v>) -> Self {
        VertexSet::of(Elements::Index(index))
    }

    pub(crate) fn of_rows(column: Column<'v>, rows: Range<u64>) -> Self {
        VertexSet::of(Elements::Rows(column, rows))
    }

    fn of(elements: Elements<'v>) -> Self {
        VertexSet {
            elements,
            patches: Vec::new(),
        }
    }

    /// The set with these changes, each made for the set with the ones before.
    pub(crate) fn patched(mut self, patches: Vec<Arc<Patch>>) -> Self {
        self.patches.extend(patches);
        self
    }

    /// Number of elements. O(1).
    pub fn len(&self) -> u64 {
        let length = self.elements.len();
        let patched = |length, patch: &Arc<Patch>| patch.len_over(length);
        self.patches.iter().fold(length, patched)
    }

    /// Bytes of the elements where the set owns them, for the accounting of a query's memory.
    pub fn owned_bytes(&self) -> usize {
        match &self.elements {
            Elements::Owned(vertices) => vertices.capacity() * size_of::<VertexId>(),
            Elements::Shared(_) | Elements::Index(_) | Elements::Rows(..) => 0,
        }
    }

    /// Whether there are no elements.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Appends the elements with ordinals `from..to`, ascending; ordinals at or above the length
    /// give nothing. O(elements), and a binary search to begin.
    pub fn decode(&self, from: u64, to: u64, out: &mut Vec<VertexId>) -> Result<(), ViewError> {
        let to = to.min(self.len());
        if from >= to {
            return Ok(());
        }
        patch::decode(&self.elements, &self.patches, from..to, out).map_err(|fault| *fault)
    }

    /// Whether the vertex is an element.
    pub fn contains(&self, vertex: VertexId) -> Result<bool, ViewError> {
        for patch in self.patches.iter().rev() {
            if let Some(is_element) = patch.verdict(vertex) {
                return Ok(is_element);
            }
        }
        match &self.elements {
            Elements::Owned(vertices) => Ok(vertices.binary_search(&vertex).is_ok()),
            Elements::Shared(vertices) => Ok(vertices.binary_search(&vertex).is_ok()),
            Elements::Index(index) => index
                .ordinal(vertex)
                .map(|ordinal| ordinal != ABSENT)
                .map_err(|fault| *fault),
            Elements::Rows(..) => {
                let mut positions = Vec::new();
                self.elements
                    .select(&[vertex], &mut positions)
                    .map_err(|fault| *fault)?;
                Ok(!positions.is_empty())
            }
        }
    }

    /// Appends the positions `i` for which `vertices[i]` is an element, ascending. The misses of
    /// the batch overlap. `vertices` needs no order, but ascending ones are answered faster by
    /// sets that are not dense.
    pub fn select(&self, vertices: &[VertexId], positions: &mut Vec<u32>) -> Result<(), ViewError> {
        let start = positions.len();
        self.elements
            .select(vertices, positions)
            .map_err(|fault| *fault)?;
        for patch in &self.patches {
            patch.select(vertices, positions, start);
        }
        Ok(())
    }

    /// Whether membership costs about one cache line (rank blocks).
    pub fn is_dense(&self) -> bool {
        match &self.elements {
            Elements::Owned(_) | Elements::Shared(_) | Elements::Rows(..) => false,
            Elements::Index(index) => index.is_dense(),
        }
    }

    /// The number of elements below the vertex.
    pub(crate) fn elements_below(&self, vertex: VertexId) -> Result<u64, Fault> {
        let below = match &self.elements {
            Elements::Owned(vertices) => {
                vertices.partition_point(|element| *element < vertex) as u64
            }
            Elements::Shared(vertices) => {
                vertices.partition_point(|element| *element < vertex) as u64
            }
            Elements::Index(index) => index.keys_below(vertex)?,
            Elements::Rows(column, rows) => column.lower_bound(rows.clone(), vertex)? - rows.start,
        };
        let patched = |below, patch: &Arc<Patch>| patch.below_over(below, vertex);
        Ok(self.patches.iter().fold(below, patched))
    }
}

impl Elements<'_> {
    fn len(&self) -> u64 {
        match self {
            Elements::Owned(vertices) => vertices.len() as u64,
            Elements::Shared(vertices) => vertices.len() as u64,
            Elements::Index(index) => index.keys(),
            Elements::Rows(_, rows) => rows.end - rows.start,
        }
    }

    /// Appends the elements with these ordinals, which exist.
    fn decode(&self, ordinals: Range<u64>, out: &mut Vec<VertexId>) -> Result<(), Fault> {
        let Range { start, end } = ordinals;
        match self {
            Elements::Owned(vertices) => {
                out.extend_from_slice(&vertices[start as usize..end as usize]);
                Ok(())
            }
            Elements::Shared(vertices) => {
                out.extend_from_slice(&vertices[start as usize..end as usize]);
                Ok(())
            }
            Elements::Index(index) => index.decode(start, end, out),
            Elements::Rows(column, rows) => {
                column.decode(rows.start + start..rows.start + end, out)
            }
        }
    }

    fn select(&self, vertices: &[VertexId], positions: &mut Vec<u32>) -> Result<(), Fault> {
        match self {
            Elements::Owned(elements) => {
                let wanted = vertices.iter().map(|&vertex| Some(vertex));
                select_sorted(elements, wanted, positions);
                Ok(())
            }
            Elements::Shared(elements) => {
                let wanted = vertices.iter().map(|&vertex| Some(vertex));
                select_sorted(elements, wanted, positions);
                Ok(())
            }
            Elements::Index(index) => index.select(vertices, positions),
            Elements::Rows(column, rows) => column.run(SelectRows {
                column,
                rows: rows.clone(),
                vertices,
                positions,
            }),
        }
    }
}

struct SelectRows<'a, 'v> {
    column: &'a Column<'v>,
    rows: Range<u64>,
    vertices: &'a [VertexId],
    positions: &'a mut Vec<u32>,
}

impl<'v> ColumnRun<'v> for SelectRows<'_, 'v> {
    type Output = Result<(), Fault>;

    fn run<S: ByteSource<'v>, D: Decode>(self, source: S, decode: D) -> Self::Output {
        let codes = self.column.codes(source, decode, self.rows)?;
        let wanted = self.vertices.iter().map(|&vertex| decode.code(vertex));
        select_sorted(codes, wanted, self.positions);
        Ok(())
    }
}

/// Appends the positions of what is found in the ascending `elements`. Each search gallops from
/// the last one's place while what is wanted ascends.
fn select_sorted<T: Ord + Copy>(
    elements: &[T],
    wanted: impl Iterator<Item = Option<T>>,
    positions: &mut Vec<u32>,
) {
    let mut place = 0;
    for (position, wanted) in (0..).zip(wanted) {
        let Some(wanted) = wanted else {
            continue;
        };
        place = seek(elements, place, &wanted);
        if elements.get(place) == Some(&wanted) {
            positions.push(position);
        }
    }
}

/// The place of the first element not below `wanted`, galloping from `place`.
#[inline]
pub(crate) fn seek<T: Ord>(elements: &[T], place: usize, wanted: &T) -> usize {
    if place > 0 && elements[place - 1] >= *wanted {
        return elements[..place].partition_point(|element| element < wanted);
    }
    let rest = &elements[place..];
    let mut bound = 1;
    while bound < rest.len() && rest[bound] < *wanted {
        bound *= 2;
    }
    let start = bound / 2;
    let end = (bound + 1).min(rest.len());
    place + start + rest[start..end].partition_point(|element| element < wanted)
}
