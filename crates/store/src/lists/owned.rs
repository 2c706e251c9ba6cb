//! Lists in columns of their own: the answer of a view that has no segments to point into.
//!
//! What came by message, from a device, or out of several places is copied into plain columns that [`Lists`] keeps and
//! fills again for the next batch. So an address may hold one list now and another one next: owned lists are never
//! remembered by where they lie ([`Meeting`](super::Meeting) names lists so), and two of them are met by galloping through the ids
//! that both span.
//! Marks gain most where one segment is met with itself again and again, which is a store's case.
//!
//! Invariant: `columns` is `None` while lists are owned, and the rows of each list are a range of `neighbours`, which several may
//! share: keys that come again have the list of before. Owned lists are looked for only where there are no columns, so a store's lists pay nothing for them.

use super::{Filter, ListCursor, Lists};
use crate::lists::meet::{Meeting, ROWS_MAX, codes};
use crate::source::Fault;
use crate::vertex_set::{VertexSet, seek};
use rdf::VertexId;
use std::ops::Range;

/// Neighbour lists in plain columns; see [`Lists::refill_owned`].
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OwnedLists {
    /// The neighbours of all lists. Within a list they ascend and are distinct; under a scope that binds the graph
    /// a neighbour comes once for each graph.
    pub neighbours: Vec<VertexId>,
    /// Where each list lies in `neighbours`: one for each key.
    pub lists: Vec<Range<usize>>,
    /// Under a scope that binds the graph, the graph of each row; else empty.
    pub graphs: Vec<VertexId>,
}

impl OwnedLists {
    /// Adds a list of the neighbours from this place on.
    #[inline]
    pub fn push_from(&mut self, begin: usize) {
        self.lists.push(begin..self.neighbours.len());
    }

    fn bytes(&self) -> usize {
        (self.neighbours.capacity() + self.graphs.capacity()) * size_of::<VertexId>()
            + self.lists.capacity() * size_of::<Range<usize>>()
    }
}

impl<'v> Lists<'v> {
    /// Forgets the lists and has others filled in, in columns that keep their memory and are empty before. `is_exact`:
    /// whether the scope filters no row of the segment ([`Lists::is_exact`]). Only rows within the scope are filled in.
    /// Asserts that lists lie within the neighbours and that graphs are there for all rows or none.
    pub fn refill_owned(&mut self, is_exact: bool, fill: impl FnOnce(&mut OwnedLists)) {
        self.forget(None, Filter::Every);
        self.note_exactness(is_exact);
        let owned = self.owned.get_or_insert_default();
        owned.neighbours.clear();
        owned.lists.clear();
        owned.graphs.clear();
        fill(owned);
        let all = owned.neighbours.len();
        let are_within = |list: &Range<usize>| list.start <= list.end && list.end <= all;
        assert!(
            owned.lists.iter().all(are_within),
            "a list is a range of the neighbours"
        );
        assert!(
            owned.graphs.is_empty() || owned.graphs.len() == owned.neighbours.len(),
            "all rows have a graph or none"
        );
        let rows = |list: &Range<usize>| (list.start as u64, list.end as u64);
        self.rows.extend(owned.lists.iter().map(rows));
        self.total_edges = owned.lists.iter().map(|list| list.len() as u64).sum();
    }

    /// Bytes of the columns that the lists own, for the accounting of a query's memory: they are there as long as the lists
    /// are, whatever is filled in. None for lists that stand in a store's columns, and never were others.
    #[inline]
    pub fn owned_bytes(&self) -> usize {
        self.owned.as_ref().map_or(0, |owned| owned.bytes())
    }

    /// A list that is owned, as a set of its own; `None` where it stands in a store's columns. Under a scope that does
    /// not bind the graph. O(list).
    pub fn owned_set(&self, list: usize) -> Option<VertexSet<'v>> {
        let neighbours = self.owned_list(list)?;
        Some(VertexSet::from_sorted(neighbours.to_vec()))
    }

    /// The rows of an owned list.
    fn owned_list(&self, list: usize) -> Option<&[VertexId]> {
        if self.columns.is_some() {
            return None;
        }
        let (start, end) = self.rows[list];
        let owned = self.owned.as_ref()?;
        Some(&owned.neighbours[start as usize..end as usize])
    }

    /// [`Lists::expand`].
    pub(super) fn expand_owned(
        &self,
        cursor: &mut ListCursor,
        rows_max: usize,
        rows: &mut Vec<u32>,
        neighbours: &mut Vec<VertexId>,
        mut graphs: Option<&mut Vec<VertexId>>,
    ) -> bool {
        let Some(owned) = self.owned.as_ref().filter(|_| self.total_edges > 0) else {
            return true;
        };
        assert!(
            graphs.is_none() || !owned.graphs.is_empty(),
            "whoever fills lists under a scope that binds the graph gives the graphs"
        );
        let mut left = rows_max as u64;
        while let Some(&(start, end)) = self.rows.get(cursor.list as usize) {
            let begin = start + cursor.offset;
            let take = (end - begin).min(left);
            let taken = begin as usize..(begin + take) as usize;
            rows.resize(rows.len() + taken.len(), cursor.list);
            neighbours.extend_from_slice(&owned.neighbours[taken.clone()]);
            if let (Some(graphs), false) = (&mut graphs, owned.graphs.is_empty()) {
                graphs.extend_from_slice(&owned.graphs[taken]);
            }
            left -= take;
            if begin + take < end {
                cursor.offset += take;
                return false;
            }
            *cursor = ListCursor::at(cursor.list + 1);
        }
        true
    }

    /// [`Lists::select`].
    pub(super) fn select_owned(&self, targets: &[VertexId], positions: &mut Vec<u32>) {
        for (position, target) in (0_u32..).zip(targets) {
            if let Some(neighbours) = self.owned_list(position as usize)
                && neighbours.binary_search(target).is_ok()
            {
                positions.push(position);
            }
        }
    }

    /// [`Lists::narrow`].
    pub(super) fn narrow_owned(&mut self, targets: &[VertexId]) {
        let Some(owned) = &self.owned else {
            return;
        };
        self.total_edges = 0;
        for ((start, end), target) in self.rows.iter_mut().zip(targets) {
            let neighbours = &owned.neighbours[*start as usize..*end as usize];
            let first = neighbours.partition_point(|neighbour| neighbour < target);
            let same = neighbours[first..].partition_point(|neighbour| neighbour == target);
            *start += first as u64;
            *end = *start + same as u64;
            self.total_edges += same as u64;
        }
    }

    /// [`Lists::meet`] where at least one of the two is owned.
    pub(super) fn meet_owned(
        &self,
        list: usize,
        other: &Lists<'v>,
        meeting: &mut Meeting,
        common: &mut Vec<VertexId>,
    ) -> Result<bool, Fault> {
        let edges = [self.edges(list), other.edges(list)];
        if edges.contains(&0) {
            return Ok(true);
        }
        if edges[0].max(edges[1]) > ROWS_MAX {
            return Ok(false);
        }
        match (self.owned_list(list), other.owned_list(list)) {
            (Some(here), Some(there)) => gallop(here, there, common),
            (Some(owned), None) => other.meet_stored(list, owned, meeting, common)?,
            (None, Some(owned)) => self.meet_stored(list, owned, meeting, common)?,
            (None, None) => unreachable!("one of the lists is owned, and has rows"),
        }
        Ok(true)
    }

    /// The same of a list in a store's columns: as its codes stand, or read piece by piece.
    fn meet_stored(
        &self,
        list: usize,
        owned: &[VertexId],
        meeting: &mut Meeting,
        common: &mut Vec<VertexId>,
    ) -> Result<(), Fault> {
        if let Some((column, base)) = self.plain(list) {
            gallop_codes(codes(column, self.rows[list])?, base, owned, common);
            return Ok(());
        }
        let (numbers, neighbours) = &mut meeting.read;
        let mut cursor = ListCursor::at(list as u32);
        let mut rest = owned;
        while let (Some(_), true) = (rest.first(), cursor.list as usize == list) {
            numbers.clear();
            neighbours.clear();
            let done = self.expand(&mut cursor, ROWS_READ, numbers, neighbours, None)?;
            let of_list = numbers.partition_point(|&number| number == list as u32);
            let Some(last) = neighbours[..of_list].last() else {
                break;
            };
            let (within, after) = rest.split_at(rest.partition_point(|vertex| vertex <= last));
            gallop(within, &neighbours[..of_list], common);
            rest = after;
            if done || of_list < numbers.len() {
                break;
            }
        }
        Ok(())
    }
}

/// Rows of a list that are read at once.
const ROWS_READ: usize = 1024;

/// Appends what two lists share: of the ids that both span, the shorter list is read and looked for in the other. Entities that are
/// described together have neighbouring ids, so that little is left of most pairs.
fn gallop(left: &[VertexId], right: &[VertexId], common: &mut Vec<VertexId>) {
    let (Some(span), Some(other)) = (span(left), span(right)) else {
        return;
    };
    let (first, last) = (span.0.max(other.0), span.1.min(other.1));
    let [left, right] = [left, right].map(|list| within(list, &first, &last));
    let (read, searched) = if left.len() < right.len() {
        (left, right)
    } else {
        (right, left)
    };
    let mut place = 0;
    for vertex in read {
        place = seek(searched, place, vertex);
        if searched.get(place) == Some(vertex) {
            common.push(*vertex);
        }
    }
}

/// The same of a list's codes and a list.
fn gallop_codes(codes: &[u32], base: u64, owned: &[VertexId], common: &mut Vec<VertexId>) {
    let id = |code: u32| VertexId::from_bits(base.wrapping_add(u64::from(code)));
    let (Some(span), Some(of_codes)) = (span(owned), span(codes)) else {
        return;
    };
    let (first, last) = (span.0.max(id(of_codes.0)), span.1.min(id(of_codes.1)));
    if first > last {
        return;
    }
    let owned = within(owned, &first, &last);
    let code = |id: VertexId| (id.bits() - base) as u32;
    let codes = within(codes, &code(first), &code(last));
    let mut place = 0;
    if codes.len() < owned.len() {
        for code in codes {
            let vertex = id(*code);
            place = seek(owned, place, &vertex);
            if owned.get(place) == Some(&vertex) {
                common.push(vertex);
            }
        }
        return;
    }
    for vertex in owned {
        let code = code(*vertex);
        place = seek(codes, place, &code);
        if codes.get(place) == Some(&code) {
            common.push(*vertex);
        }
    }
}

/// The first and the last of a list that is not empty.
fn span<T: Copy>(list: &[T]) -> Option<(T, T)> {
    Some((*list.first()?, *list.last()?))
}

/// What a list has between these two.
fn within<'l, T: Ord>(list: &'l [T], first: &T, last: &T) -> &'l [T] {
    let begin = list.partition_point(|element| element < first);
    let rest = &list[begin..];
    &rest[..rest.partition_point(|element| element <= last)]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::snapshot_of;
    use crate::view::{GraphScope, GraphView, Progress, SegmentKey};
    use rdf::{Direction, PredicateId, Tag};
    use std::collections::BTreeSet;
    use testkit::random::Random;

    fn owned(lists: &[BTreeSet<u64>]) -> Lists<'static> {
        let mut owned = Lists::new();
        refill(&mut owned, lists);
        owned
    }

    fn refill(owned: &mut Lists<'_>, lists: &[BTreeSet<u64>]) {
        owned.refill_owned(true, |columns| {
            for list in lists {
                let begin = columns.neighbours.len();
                columns.neighbours.extend(list.iter().copied().map(vertex));
                columns.push_from(begin);
            }
        });
    }

    fn vertex(number: u64) -> VertexId {
        VertexId::new(Tag::Iri, number)
    }

    fn random_lists(random: &mut Random, count: usize) -> Vec<BTreeSet<u64>> {
        let mut below = |bound: u64| random.bits() % bound;
        (0..count)
            .map(|_| (0..below(60)).map(|_| 10 + below(80)).collect())
            .collect()
    }

    /// The same lists as a store has them.
    fn stored(lists: &[BTreeSet<u64>]) -> crate::snapshot::Snapshot {
        let default = GraphScope::DEFAULT_GRAPH;
        let knows = vertex(1);
        let quads = (100..).zip(lists).flat_map(|(from, list)| {
            list.iter()
                .map(move |&to| (vertex(from), knows, vertex(to), default))
        });
        snapshot_of(&quads.collect::<Vec<_>>(), None)
    }

    fn ask<'v>(graph: &'v crate::snapshot::Snapshot, count: u64, lists: &mut Lists<'v>) {
        let segment = SegmentKey {
            predicate: graph.predicate_id(vertex(1)).unwrap_or(PredicateId::TYPE),
            direction: Direction::Out,
        };
        let keys: Vec<_> = (100..100 + count).map(vertex).collect();
        let asked = graph.lists(segment, &keys, GraphScope::Default, lists);
        assert_eq!(asked.expect("nothing fails"), Progress::Ready);
    }

    #[test]
    fn owned_lists_answer_as_stored_ones() {
        let mut random = Random::new(11);
        for _ in 0..300 {
            let count = 1 + (random.bits() % 6) as usize;
            let lists = random_lists(&mut random, count);
            let graph = stored(&lists);
            let (mut mine, mut theirs) = (owned(&lists), Lists::new());
            ask(&graph, count as u64, &mut theirs);
            assert_eq!(mine.total_edges(), theirs.total_edges());
            let targets: Vec<_> = (0..count)
                .map(|_| vertex(10 + random.bits() % 80))
                .collect();
            let selected = [&mine, &theirs].map(|lists| {
                let mut positions = Vec::new();
                lists
                    .select(&targets, &mut positions)
                    .expect("nothing fails");
                positions
            });
            assert_eq!(selected[0], selected[1]);
            for narrows in [false, true] {
                if narrows {
                    mine.narrow(&targets).expect("nothing fails");
                    theirs.narrow(&targets).expect("nothing fails");
                }
                let rows_max = 1 + (random.bits() % 7) as usize;
                let read = [&mine, &theirs].map(|lists| {
                    let (mut cursor, mut rows, mut neighbours) =
                        (ListCursor::default(), Vec::new(), Vec::new());
                    while !lists
                        .expand(&mut cursor, rows_max, &mut rows, &mut neighbours, None)
                        .expect("nothing fails")
                    {}
                    let mut degrees = Vec::new();
                    lists.degrees(&mut degrees).expect("nothing fails");
                    (rows, neighbours, degrees, lists.total_edges())
                });
                assert_eq!(read[0], read[1]);
            }
        }
    }

    /// A list that its codes do not tell whole is read in pieces, however long it is.
    #[test]
    fn owned_lists_are_met_with_stored_ones_of_any_length_and_kind() {
        let mut random = Random::new(13);
        let mut meeting = Meeting::default();
        for round in 0..60 {
            let kinds = if round % 2 == 0 {
                [Tag::Iri, Tag::Iri]
            } else {
                [Tag::Iri, Tag::Literal]
            };
            let mut list = |length: u64| -> BTreeSet<VertexId> {
                let mut vertex = |_| {
                    let number = 1000 + random.bits() % 6000;
                    VertexId::new(kinds[(number % 2) as usize], number)
                };
                (0..length).map(&mut vertex).collect()
            };
            let lengths = [0, 3, 300, 4000];
            let there: Vec<_> = (0..16).map(|at| list(lengths[at % 4])).collect();
            let mut here: Vec<_> = (0..16).map(|at| list(lengths[at / 4])).collect();
            here[10] = here[9].clone();
            let (knows, default) = (vertex(1), GraphScope::DEFAULT_GRAPH);
            let quads = (100..).zip(&there).flat_map(|(from, list)| {
                list.iter()
                    .map(move |&to| (vertex(from), knows, to, default))
            });
            let graph = snapshot_of(&quads.collect::<Vec<_>>(), None);
            let (mut stored, mut owned) = (Lists::new(), Lists::new());
            ask(&graph, 16, &mut stored);
            owned.refill_owned(true, |columns| {
                for (at, list) in here.iter().enumerate() {
                    // Lists that are equal may be one.
                    match columns.lists.last() {
                        Some(last) if at > 0 && here[at - 1] == *list => {
                            columns.lists.push(last.clone());
                        }
                        _ => {
                            let begin = columns.neighbours.len();
                            columns.neighbours.extend(list);
                            columns.push_from(begin);
                        }
                    }
                }
            });
            assert!(owned.owned_bytes() > 0 && stored.owned_bytes() == 0);
            for at in 0..16 {
                let expected: Vec<_> = here[at].intersection(&there[at]).copied().collect();
                for (one, two) in [(&owned, &stored), (&stored, &owned)] {
                    let mut common = Vec::new();
                    assert!(one.meet(at, two, &mut meeting, &mut common).expect("met"));
                    assert_eq!(common, expected, "round {round}, list {at}");
                }
            }
        }
    }

    /// Buffers that are filled again lie where other lists lay: nothing may be remembered of those.
    #[test]
    fn lists_met_in_buffers_that_are_filled_again_are_not_taken_for_others() {
        let mut random = Random::new(12);
        let mut meeting = Meeting::default();
        let (mut left, mut right) = (Lists::new(), Lists::new());
        for round in 0..2000 {
            // Lists of equal lengths, most of them: an address and a length then say nothing.
            let lengths: Vec<u64> = (0..4).map(|_| 200 + random.bits() % 2).collect();
            let mut lists = |spread: u64| -> Vec<BTreeSet<u64>> {
                let fill = |&length: &u64| {
                    let mut list = BTreeSet::new();
                    while (list.len() as u64) < length {
                        list.insert(10 + random.bits() % spread);
                    }
                    list
                };
                lengths.iter().map(fill).collect()
            };
            let (here, there) = (lists(400), lists(300));
            refill(&mut left, &here);
            let graph = stored(&there);
            let mut in_store = Lists::new();
            if round % 3 == 0 {
                ask(&graph, 4, &mut in_store);
            }
            refill(&mut right, &there);
            let right = if round % 3 == 0 { &in_store } else { &right };
            for list in 0..4 {
                let expected: Vec<_> = here[list].intersection(&there[list]).copied().collect();
                for (one, two) in [(&left, right), (right, &left)] {
                    let mut common = Vec::new();
                    assert!(one.meet(list, two, &mut meeting, &mut common).expect("met"));
                    assert_eq!(
                        common,
                        expected.iter().copied().map(vertex).collect::<Vec<_>>()
                    );
                }
                let set = left.owned_set(list).expect("it is owned");
                assert_eq!(set.len(), here[list].len() as u64);
            }
        }
    }
}
