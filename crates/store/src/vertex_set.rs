//! An ordered set of vertices: the keys of a segment, or one neighbour list.
//!
//! Borrowed from the store wherever it stands there in order already, else owned. Elements have
//! ordinals, so a set can be cut for several workers and read on from anywhere.
//!
//! Cost: [`VertexSet::select`] and [`VertexSet::contains`] take about one cache line an element
//! where the set is dense, else a binary search within a chunk or the list.

use crate::segment::index::{ABSENT, Index};
use crate::segment::planes::Decode;
use crate::segment::reader::{Column, ColumnRun};
use crate::source::{Fault, Source};
use crate::view::ViewError;
use rdf::VertexId;
use std::ops::Range;

/// An ordered set of distinct vertices.
pub struct VertexSet<'v> {
    elements: Elements<'v>,
}

enum Elements<'v> {
    Owned(Vec<VertexId>),
    /// A key index, or a list kept as one.
    Index(Index<'v>),
    /// A list whose neighbours are distinct.
    Rows(Column<'v>, Range<u64>),
}

impl<'v> VertexSet<'v> {
    /// The set without elements.
    pub fn empty() -> Self {
        VertexSet {
            elements: Elements::Owned(Vec::new()),
        }
    }

    /// The set of these vertices. Asserts that they ascend and are distinct.
    pub fn from_sorted(vertices: Vec<VertexId>) -> Self {
        assert!(
            vertices.is_sorted_by(|a, b| a < b),
            "vertices ascend and are distinct"
        );
        VertexSet {
            elements: Elements::Owned(vertices),
        }
    }

    pub(crate) fn of_index(index: Index<'v>) -> Self {
        VertexSet {
            elements: Elements::Index(index),
        }
    }

    pub(crate) fn of_rows(column: Column<'v>, rows: Range<u64>) -> Self {
        VertexSet {
            elements: Elements::Rows(column, rows),
        }
    }

    /// Number of elements. O(1).
    pub fn len(&self) -> u64 {
        match &self.elements {
            Elements::Owned(vertices) => vertices.len() as u64,
            Elements::Index(index) => index.keys(),
            Elements::Rows(_, rows) => rows.end - rows.start,
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
        match &self.elements {
            Elements::Owned(vertices) => {
                out.extend_from_slice(&vertices[from as usize..to as usize]);
                Ok(())
            }
            Elements::Index(index) => index.decode(from, to, out).map_err(|fault| *fault),
            Elements::Rows(column, rows) => {
                let range = rows.start + from..rows.start + to;
                column.decode(range, out).map_err(|fault| *fault)
            }
        }
    }

    /// Whether the vertex is an element.
    pub fn contains(&self, vertex: VertexId) -> Result<bool, ViewError> {
        match &self.elements {
            Elements::Owned(vertices) => Ok(vertices.binary_search(&vertex).is_ok()),
            Elements::Index(index) => index
                .ordinal(vertex)
                .map(|ordinal| ordinal != ABSENT)
                .map_err(|fault| *fault),
            Elements::Rows(..) => {
                let mut positions = Vec::new();
                self.select(&[vertex], &mut positions)?;
                Ok(!positions.is_empty())
            }
        }
    }

    /// Appends the positions `i` for which `vertices[i]` is an element, ascending. The misses of
    /// the batch overlap. `vertices` needs no order, but ascending ones are answered faster by
    /// sets that are not dense.
    pub fn select(&self, vertices: &[VertexId], positions: &mut Vec<u32>) -> Result<(), ViewError> {
        match &self.elements {
            Elements::Owned(elements) => {
                select_sorted(
                    elements,
                    vertices.iter().map(|&vertex| Some(vertex)),
                    positions,
                );
                Ok(())
            }
            Elements::Index(index) => index.select(vertices, positions).map_err(|fault| *fault),
            Elements::Rows(column, rows) => column
                .run(SelectRows {
                    column,
                    rows: rows.clone(),
                    vertices,
                    positions,
                })
                .map_err(|fault| *fault),
        }
    }

    /// Whether membership costs about one cache line (rank blocks).
    pub fn is_dense(&self) -> bool {
        match &self.elements {
            Elements::Owned(_) | Elements::Rows(..) => false,
            Elements::Index(index) => index.is_dense(),
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

    fn run<S: Source<'v>, D: Decode>(self, source: S, decode: D) -> Self::Output {
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
