//! A list as the codes of one column: what two lists are met by.
//!
//! [`meet`](super::meet) cuts such runs, [`marks`](super::marks) turns them into bits, and [`hubs`](super::hubs) keeps
//! the bits under a run's name. A run is what all three share, so runs stand below them.
//!
//! Invariant: the codes of a run ascend, and there is at least one. So its first and last code bound its ids.

use crate::vertex_set::seek;
use rdf::VertexId;
use std::ops::Range;

/// The rows of a list in one column of one plane; not empty. Runs are passed by reference, and which of
/// two is meant is branched on: where they were gathered in arrays, a copy of four words just written had
/// to wait for them to reach memory, a third of the time that triangles took (2026-11-22).
pub(super) struct CodedRows<'v> {
    pub(super) codes: &'v [u32],
    /// What is to be added to a code.
    pub(super) base: u64,
    /// The first row.
    pub(super) start: u64,
}

/// Names a list among all of a view: where its codes lie. Row numbers do not, because batches of one
/// segment may be answered by different graphs of a version.
pub(super) type ListName = (usize, usize);

impl<'v> CodedRows<'v> {
    #[inline]
    pub(super) fn name(&self) -> ListName {
        (self.codes.as_ptr() as usize, self.codes.len())
    }

    #[inline]
    pub(super) fn id(&self, code: u32) -> VertexId {
        VertexId::from_bits(self.base.wrapping_add(u64::from(code)))
    }

    /// The ids of the first and the last row.
    #[inline]
    pub(super) fn ends(&self) -> (u64, u64) {
        let id = |code: u32| self.base + u64::from(code);
        (id(self.codes[0]), id(self.codes[self.codes.len() - 1]))
    }

    /// The codes of the ids from `first` to `last`, which lie between the ends. `known`: a list by its
    /// first row, and where its last cut ended.
    #[inline]
    pub(super) fn within(&self, first: u64, last: u64, known: &mut (u64, usize)) -> &'v [u32] {
        // Both ids lie between the ends of this list, so they have codes.
        let code = |id: u64| (id - self.base) as u32;
        let (of, place) = *known;
        let hint = if of == self.start {
            place.min(self.codes.len())
        } else {
            0
        };
        let range = span(self.codes, code(first)..code(last), hint);
        *known = (self.start, range.end);
        &self.codes[range]
    }
}

/// The places of the codes within `wanted`, both ends included.
#[inline]
fn span(codes: &[u32], wanted: Range<u32>, hint: usize) -> Range<usize> {
    let start = if codes[0] >= wanted.start {
        0
    } else {
        seek(codes, hint, &wanted.start)
    };
    let end = if codes[codes.len() - 1] <= wanted.end {
        codes.len()
    } else {
        // Below the last code, so there is a next one.
        seek(codes, start, &(wanted.end + 1))
    };
    start..end.max(start)
}
