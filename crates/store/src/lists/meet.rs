//! The common neighbours of two lists, as the codes of their columns stand.
//!
//! ```text
//!  here    12 13 14 15 16 17 18                  cut both to the ids that both span (first and last
//!  there       3     14          90 311 ...      codes decide, usually against), then merge what is
//!                   `----'                       left, or gallop where one side is much shorter
//! ```
//!
//! Nothing is copied out but what is common, and nothing is decoded that is not: two columns of one plane
//! differ by a constant. The place where the last cut of a long list ended is remembered: rows of a walk
//! often ask the same list with neighbours that ascend, and then the next cut begins where the last ended
//! (a university's alumni, department by department). Floor for a pair that shares nothing: the two lines
//! with the first codes, which the look-up of the lists has asked for, and those with the last.
//!
//! Where ids are strewn, cuts leave most of both lists. Then a list that the next rows ask for too is
//! [marked](super::marks) and theirs are read past the marks. Whether ids are strewn is what the cuts of
//! the rows before have left, so a list now and then is cut all the same. On a million edges of a random graph
//! (triangles, 2026-11-22, one thread of a 2-core EPYC VM, minima of one run): 169 ms before, 98 ms with marks
//! and with nearer look-ups of keys.
//!
//! A list that layers changed is several columns, each met with each of the other's
//! ([`layered`](super::layered)): all but one pair of them share nothing, as a rule, which is seen at once.
//!
//! Only for columns of one plane; whoever asks has another way for the rest.

use super::coded::{CodedRows, ListName};
use super::hubs::{HUB_ROWS_MIN, HUB_SHARE, Hubs};
use super::marks::Marks;
use super::{Columns, Filter, Further, Lists};
use crate::error::ViewError;
use crate::segment::planes::OnePlane;
use crate::segment::reader::{Column, ColumnKind};
use crate::source::{Fault, Plain, with_source};
use crate::vertex_set::seek;
use rdf::VertexId;

/// From how many times the shorter side's length on the longer is galloped through.
const GALLOP: usize = 8;
/// Lists that are longer are better asked as sets, which may be dense.
pub(super) const ROWS_MAX: u64 = 1 << 16;

/// A list is marked if the lists that it is to be met with have at least one member for so many of its
/// own, all together.
const MARK_SHARE: u64 = 4;
/// ... and it has at least so many.
const MARK_ROWS_MIN: u64 = 2;
/// A list that is more than so many times longer than the marked one is cut and galloped through.
const MARK_GALLOP: usize = 24;
/// Of so many lists that could be marked one is cut all the same, to see what that leaves.
const MARKS_PER_CUT: u32 = 16;
/// Members of cut lists after which older cuts count half.
const CUTS_MEMBERS: usize = 1 << 12;

/// What is remembered from pair to pair of lists of the same two segments of a view; begin with the
/// default. Its lists are named by where they lie in a store, so it must not outlive the view; owned lists are
/// not remembered.
#[derive(Clone, Debug, Default)]
pub struct Meeting {
    /// By side: a list by its first row, and where its last cut ended.
    last: [(u64, usize); 2],
    cuts: Cuts,
    marks: Marks,
    /// The list that is marked, and its side.
    marked: Option<(usize, ListName)>,
    /// The lists that were last looked at whether to mark them, by side, and how many were.
    weighed: [(u64, u64); 2],
    weighings: u32,
    hubs: Hubs,
    hub_pairs: u32,
    /// What is read of lists that are met with owned ones: the list of each row, and its neighbour.
    pub(super) read: (Vec<u32>, Vec<VertexId>),
}

impl Meeting {
    /// Bytes of the marks and of what is read, for the accounting of a query's memory: at most about a megabyte.
    pub fn bytes(&self) -> usize {
        let (numbers, neighbours) = &self.read;
        let read =
            numbers.capacity() * size_of::<u32>() + neighbours.capacity() * size_of::<VertexId>();
        self.marks.bytes() + self.hubs.bytes() + read
    }

    /// Whether one of the lists is a hub's whose marks are kept; then what is common has been appended.
    #[inline]
    fn met_a_hub(
        &mut self,
        here: &CodedRows<'_>,
        there: &CodedRows<'_>,
        common: &mut Vec<VertexId>,
    ) -> bool {
        let (hub, list) = if here.codes.len() < there.codes.len() {
            (there, here)
        } else {
            (here, there)
        };
        let length = hub.codes.len();
        if length < HUB_ROWS_MIN || length < HUB_SHARE * list.codes.len() || !self.cuts.are_vain() {
            return false;
        }
        self.hub_pairs = self.hub_pairs.wrapping_add(1);
        if self.hub_pairs.is_multiple_of(MARKS_PER_CUT) {
            return false;
        }
        match self.hubs.marks_of(hub) {
            Some(marks) => {
                marks.common(hub, list, common);
                true
            }
            None => false,
        }
    }
}

/// What cuts have left of the shorter lists.
#[derive(Clone, Copy, Debug, Default)]
struct Cuts {
    left: usize,
    of: usize,
}

impl Cuts {
    fn add(&mut self, left: usize, of: usize) {
        if self.of > CUTS_MEMBERS {
            self.left /= 2;
            self.of /= 2;
        }
        self.left += left;
        self.of += of;
    }

    /// Whether cuts leave most of what they are made in.
    fn are_vain(&self) -> bool {
        self.left * 2 > self.of
    }
}

impl<'v> Lists<'v> {
    /// Appends the neighbours, ascending, that a list has here and the list of the same number has in
    /// `other`. False: these lists cannot be met so, and nothing was done. At most as many are appended
    /// as the shorter list has rows, which is at most 65,536.
    pub fn meet(
        &self,
        list: usize,
        other: &Lists<'v>,
        meeting: &mut Meeting,
        common: &mut Vec<VertexId>,
    ) -> Result<bool, ViewError> {
        let (Some((left, base)), Some((right, other_base))) = (self.plain(list), other.plain(list))
        else {
            let met = if self.columns.is_none() || other.columns.is_none() {
                self.meet_owned(list, other, meeting, common)
            } else {
                self.meet_layered(list, other, meeting, common)
            };
            return met.map_err(|fault| *fault);
        };
        let (here, there) = (self.rows[list], other.rows[list]);
        let (length, other_length) = (here.1 - here.0, there.1 - there.0);
        if length == 0 || other_length == 0 {
            return Ok(true);
        }
        if length > ROWS_MAX || other_length > ROWS_MAX {
            return Ok(false);
        }
        let here = CodedRows {
            codes: codes(left, here).map_err(|fault| *fault)?,
            base,
            start: here.0,
        };
        let there = CodedRows {
            codes: codes(right, there).map_err(|fault| *fault)?,
            base: other_base,
            start: there.0,
        };
        self.meet_coded(list, other, (&here, &there), meeting, common);
        Ok(true)
    }

    /// Meets a list of this number here with that of the same number there.
    #[inline]
    pub(super) fn meet_coded(
        &self,
        list: usize,
        other: &Lists<'v>,
        (here, there): (&CodedRows<'_>, &CodedRows<'_>),
        meeting: &mut Meeting,
        common: &mut Vec<VertexId>,
    ) {
        if meeting.met_a_hub(here, there, common) {
            return;
        }
        match self.marked(list, other, here, there, meeting) {
            Some(0) => meeting.marks.common(here, there, common),
            Some(_) => meeting.marks.common(there, here, common),
            None => meet_runs(here, there, meeting, common),
        }
    }

    /// The side whose list is marked and is to be met so; marks one where that pays.
    #[inline]
    fn marked(
        &self,
        list: usize,
        other: &Lists<'v>,
        here: &CodedRows<'_>,
        there: &CodedRows<'_>,
        meeting: &mut Meeting,
    ) -> Option<usize> {
        let sides = [self, other].map(|lists| &lists.rows[..]);
        let is_marked = |(side, name): (usize, ListName)| {
            name == if side == 0 { here.name() } else { there.name() }
        };
        if !meeting.marked.is_some_and(is_marked) {
            let is_again = |side: &usize| {
                let rows = sides[*side];
                rows.get(list + 1) == Some(&rows[list]) && meeting.weighed[*side] != rows[list]
            };
            let side = [0, 1].into_iter().find(is_again)?;
            meeting.weighed[side] = sides[side][list];
            meeting.weighings = meeting.weighings.wrapping_add(1);
            let pays = !meeting.weighings.is_multiple_of(MARKS_PER_CUT)
                && meeting.cuts.are_vain()
                && is_worth_marking(sides[side], sides[1 - side], list);
            if !pays {
                return None;
            }
            let marked = if side == 0 { here } else { there };
            meeting.marks.mark(marked);
            meeting.marked = Some((side, marked.name()));
        }
        let (side, _) = meeting.marked?;
        let (own, other) = (here.codes.len(), there.codes.len());
        let (marked, read) = if side == 0 {
            (own, other)
        } else {
            (other, own)
        };
        (read <= MARK_GALLOP * marked).then_some(side)
    }

    /// Asks for the ends of a list's rows.
    #[inline]
    pub fn prefetch_end(&self, list: usize) {
        if let (Some(columns), Some((start, end))) = (&self.columns, self.rows.get(list))
            && start < end
        {
            columns.neighbours.prefetch(end - 1);
        }
        for further in &self.further {
            if let Some((start, end)) = further.rows.get(list)
                && start < end
            {
                further.columns.neighbours.prefetch(end - 1);
            }
        }
    }

    /// The column of a list that is whole in it, with the column's base.
    #[inline]
    pub(super) fn plain(&self, list: usize) -> Option<(&Column<'v>, u64)> {
        let Some(Columns { neighbours, .. }) = &self.columns else {
            return None;
        };
        let ColumnKind::One(OnePlane(base)) = neighbours.kind else {
            return None;
        };
        let is_patched = |further: &Further<'_>| {
            let (start, end) = further.rows[list];
            start < end
        };
        let is_plain = self.filter == Filter::Every && !self.further.iter().any(is_patched);
        is_plain.then_some((neighbours, base))
    }
}

/// Whether the lists that one will be met with are long enough together. They are those of the rows that
/// follow as long as the list stays the same.
fn is_worth_marking(rows: &[(u64, u64)], others: &[(u64, u64)], list: usize) -> bool {
    let length = |(start, end): (u64, u64)| end - start;
    let own = length(rows[list]);
    let follow = rows[list..].iter().zip(&others[list..]);
    let follow = follow.take_while(|(again, _)| **again == rows[list]);
    let together: u64 = follow.map(|(_, other)| length(*other)).sum();
    own >= MARK_ROWS_MIN && together >= own / MARK_SHARE
}

/// Cuts two runs and appends what is common.
#[inline]
pub(super) fn meet_runs(
    here: &CodedRows<'_>,
    there: &CodedRows<'_>,
    meeting: &mut Meeting,
    common: &mut Vec<VertexId>,
) {
    let shorter = here.codes.len().min(there.codes.len());
    let Some((left, right)) = cut(here, there, meeting) else {
        meeting.cuts.add(0, shorter);
        return;
    };
    meeting.cuts.add(left.len().min(right.len()), shorter);
    common_codes(
        left,
        right,
        there.base.wrapping_sub(here.base),
        &mut |code| {
            common.push(here.id(code));
        },
    );
}

#[inline]
pub(super) fn codes<'v>(column: &Column<'v>, (start, end): (u64, u64)) -> Result<&'v [u32], Fault> {
    with_source!(column.region, |source| {
        column.codes(source, OnePlane(0), start..end)
    })
}

/// The same of a column whose source is known.
#[inline]
pub(super) fn codes_in<'v>(
    column: &Column<'v>,
    source: Plain<'v>,
    (start, end): (u64, u64),
) -> Result<&'v [u32], Fault> {
    column.codes(source, OnePlane(0), start..end)
}

/// Both runs without what lies beyond an end of the other; `None` if then nothing is left.
#[inline]
fn cut<'v>(
    here: &CodedRows<'v>,
    there: &CodedRows<'v>,
    meeting: &mut Meeting,
) -> Option<(&'v [u32], &'v [u32])> {
    let (first, last) = here.ends();
    let (other_first, other_last) = there.ends();
    let (first, last) = (first.max(other_first), last.min(other_last));
    if first > last {
        return None;
    }
    let left = here.within(first, last, &mut meeting.last[0]);
    let right = there.within(first, last, &mut meeting.last[1]);
    (!left.is_empty() && !right.is_empty()).then_some((left, right))
}

/// Gives the codes of `left` for which `right` has the same id; `difference` is what a code of `right` is
/// more than that of the same id in `left`, negated.
#[inline]
fn common_codes(left: &[u32], right: &[u32], difference: u64, give: &mut impl FnMut(u32)) {
    // All ids here have codes on both sides, so this is their difference modulo 2^32.
    let difference = difference as u32;
    let in_right = |code: u32| code.wrapping_sub(difference);
    if left.len() * GALLOP < right.len() {
        let mut place = 0;
        for &code in left {
            let wanted = in_right(code);
            place = seek(right, place, &wanted);
            if right.get(place) == Some(&wanted) {
                give(code);
            }
        }
    } else if right.len() * GALLOP < left.len() {
        let mut place = 0;
        for &code in right {
            let wanted = code.wrapping_add(difference);
            place = seek(left, place, &wanted);
            if left.get(place) == Some(&wanted) {
                give(wanted);
            }
        }
    } else {
        let (mut at, mut other) = (0, 0);
        while let (Some(&code), Some(&there)) = (left.get(at), right.get(other)) {
            let here = in_right(code);
            if here == there {
                give(code);
            }
            at += usize::from(here <= there);
            other += usize::from(here >= there);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::snapshot_of;
    use crate::view::{GraphScope, GraphView, Progress, SegmentKey};
    use rdf::{Direction, Tag};
    use std::collections::BTreeSet;
    use testkit::random::Random;

    fn ids(codes: &[u32], base: u64) -> Vec<u64> {
        codes.iter().map(|&code| base + u64::from(code)).collect()
    }

    fn met(left: &[u32], right: &[u32], bases: [u64; 2], meeting: &mut Meeting) -> Vec<u64> {
        let mut found = Vec::new();
        let run = |codes, side: usize| CodedRows {
            codes,
            base: bases[side],
            start: side as u64,
        };
        meet_runs(&run(left, 0), &run(right, 1), meeting, &mut found);
        found.iter().map(|vertex| vertex.bits()).collect()
    }

    /// Room for a few more, or for all, in turn.
    fn all_room(next: usize, found: usize) -> usize {
        found + if next.is_multiple_of(3) { 1 } else { 1 << 20 }
    }

    const KNOWS: VertexId = VertexId::from_bits(1);

    /// A random graph of skewed degrees whose ids are so far apart.
    struct Skewed {
        edges: BTreeSet<(VertexId, VertexId)>,
        graph: crate::snapshot::Snapshot,
    }

    impl Skewed {
        fn new(apart: u64, numbers: &mut Random) -> Skewed {
            let mut random = move |bound: u64| numbers.bits() % bound;
            let vertex = |number: u64| VertexId::new(Tag::Iri, 10 + number * apart);
            let mut edges = BTreeSet::new();
            for _ in 0..20_000 {
                // Low numbers have long lists.
                let below = 1 + random(300);
                edges.insert((vertex(random(below)), vertex(random(300))));
            }
            let default = GraphScope::DEFAULT_GRAPH;
            let quads = edges.iter().map(|&(from, to)| (from, KNOWS, to, default));
            let graph = snapshot_of(&quads.collect::<Vec<_>>(), None);
            Skewed { edges, graph }
        }

        /// Meets the lists of both ends of each edge, edges of one vertex after the other; whether a list
        /// was marked.
        fn meet_ends_of_edges(&self, meeting: &mut Meeting) -> bool {
            let segment = SegmentKey {
                predicate: self.graph.predicate_id(KNOWS).unwrap(),
                direction: Direction::Out,
            };
            let least = VertexId::from_bits(0);
            let most = VertexId::from_bits(u64::MAX);
            let neighbours = |of: VertexId| self.edges.range((of, least)..=(of, most));
            let (mut left, mut right) = (Lists::new(), Lists::new());
            let mut has_marked = false;
            for batch in self.edges.iter().collect::<Vec<_>>().chunks(100) {
                let ends: (Vec<_>, Vec<_>) = batch.iter().map(|edge| **edge).unzip();
                for (keys, lists) in [(&ends.0, &mut left), (&ends.1, &mut right)] {
                    let asked = self.graph.lists(segment, keys, GraphScope::Default, lists);
                    assert_eq!(asked.unwrap(), Progress::Ready);
                }
                let (mut lists, mut all) = (Vec::new(), Vec::new());
                let mut next = 0;
                while next < left.len() {
                    let into = (&mut lists, &mut all);
                    let room = all_room(next, into.1.len());
                    let met = left.meet_rows(&right, next, (room, ROWS_MAX), meeting, into);
                    let met = met.unwrap();
                    assert!(met.next > next, "these lists are plain");
                    next = met.next;
                }
                for (list, (from, to)) in batch.iter().enumerate() {
                    let mut found = Vec::new();
                    assert!(left.meet(list, &right, meeting, &mut found).unwrap());
                    let together = lists.iter().zip(&all);
                    let of_list = together.filter(|(number, _)| **number == list as u32);
                    assert!(of_list.map(|(_, common)| *common).eq(found.iter().copied()));
                    let mut expected: Vec<_> = neighbours(*from).map(|edge| edge.1).collect();
                    expected.retain(|both| self.edges.contains(&(*to, *both)));
                    assert_eq!(found, expected);
                    has_marked |= meeting.marked.is_some();
                }
            }
            has_marked
        }
    }

    #[test]
    fn lists_that_come_again_are_marked_and_met_rightly() {
        let mut numbers = Random::new(3);
        for apart in [1, 50, 20_000, 10_000_000] {
            let mut meeting = Meeting::default();
            assert!(
                Skewed::new(apart, &mut numbers).meet_ends_of_edges(&mut meeting),
                "{apart}"
            );
            assert!(meeting.hubs.are_used(), "{apart}");
        }
    }

    /// As in a version whose base and layers answer different batches: lists of the same rows are others.
    #[test]
    fn lists_of_other_graphs_are_not_taken_for_those_that_are_marked() {
        let mut numbers = Random::new(5);
        let graphs = [1, 50, 1, 20_000].map(|apart| Skewed::new(apart, &mut numbers));
        let mut meeting = Meeting::default();
        for _ in 0..2 {
            for graph in &graphs {
                graph.meet_ends_of_edges(&mut meeting);
            }
        }
        assert!(meeting.hubs.are_used());
    }

    #[test]
    fn what_is_common_is_found_whatever_the_bases_lengths_and_hints() {
        let mut numbers = Random::new(7);
        let mut random = move |bound: u64| numbers.bits() % bound;
        let far = u64::from(u32::MAX) - 500;
        for round in 0..4000_u64 {
            let bases = [1000 + random(900), 1000 + random(900)];
            let offset = if round % 5 == 0 { far } else { 0 };
            let mut list = |length: u64, step: u64| {
                let mut code = random(300);
                let mut codes = Vec::new();
                for _ in 0..length {
                    codes.push((code.min(u64::from(u32::MAX))) as u32);
                    code += 1 + random(step);
                }
                codes.dedup();
                codes
            };
            let right = list(1 + round % 300, 3);
            let mut meeting = Meeting::default();
            for length in [1, 4, 40, 200] {
                let left = list(length, 6);
                let (left, right): (Vec<u32>, Vec<u32>) = if offset == 0 {
                    (left, right.clone())
                } else {
                    let far = |codes: &[u32]| {
                        let mut codes: Vec<u32> = codes
                            .iter()
                            .filter_map(|&code| u32::try_from(u64::from(code) + offset).ok())
                            .collect();
                        codes.dedup();
                        codes
                    };
                    (far(&left), far(&right))
                };
                if left.is_empty() || right.is_empty() {
                    continue;
                }
                let there = ids(&right, bases[1]);
                let mut expected = ids(&left, bases[0]);
                expected.retain(|id| there.contains(id));
                assert_eq!(met(&left, &right, bases, &mut meeting), expected);
            }
        }
    }
}
