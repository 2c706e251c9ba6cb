//! A window over a stream: the union of slices, as a graph that can be walked.
//!
//! **A set.** An edge of several slices is there once, whatever it weighs elsewhere: a stream repeats itself, and a window
//! is what arrived (SPARQL's bags begin above it). Where a scope binds the graph, an edge is there once for each graph.
//!
//! **Or a bag** ([`Window::bag`]): then each occurrence of an edge is there, in a graph of its own. So only scopes that
//! bind the graph see how often an edge came, and patterns that want to know bind a graph that nobody asks
//! (`occurrences`).
//!
//! **A moment.** A window never changes. The next one shares the slices that are in both.
//!
//! Predicates are numbered by their place among those of all slices. For each slice, each predicate and each direction
//! the window knows the slice's segment with its first and last key, or that it has none, so a slice without the predicate
//! costs a lookup nothing, and one whose keys came at another time two comparisons: ids are given in the order in which terms
//! come, so new vertices of one batch lie apart from those of the next.
//!
//! Cost: making one takes a merge of the slices' predicates. A list costs, for each slice that has its predicate, a
//! binary search in the slice's keys; lists of several slices are sorted, since most have a handful of rows. Whoever asks for
//! many lists is given an index of all keys instead ([`key_index`]). Windows of many batches are made of slices
//! that were united before (panes), some ten of them.

mod key_index;
mod occurrences;
mod stream_view;

pub use stream_view::{StreamView, WindowAndStored};

use crate::error::ViewError;
use crate::lists::{Lists, OwnedLists};
use crate::slice::{Slice, SliceSegment, SliceSizes};
use crate::vertex_set::VertexSet;
use crate::view::{GraphScope, GraphView, Progress, SegmentKey};
use key_index::{KeyIndex, LazyIndex};
use rdf::{Direction, PredicateId, VertexId};
use smallvec::SmallVec;
use std::ops::Range;
use std::sync::Arc;

/// A union of slices; see the module's documentation.
#[derive(Clone, Debug, Default)]
pub struct Window {
    slices: Arc<[Arc<Slice>]>,
    /// The predicates of all slices, ascending.
    predicates: Arc<[VertexId]>,
    /// By predicate and direction, the segments. [`Window::runs`] says which are whose.
    places: Arc<[Place]>,
    /// By predicate and direction, where its places begin; one more at the end.
    starts: Arc<[u32]>,
    /// By predicate and direction, what leads to its keys at once.
    indexes: Arc<[LazyIndex]>,
    /// Whether scopes that bind the graph see occurrences.
    is_bag: bool,
    /// Out-edges of all slices.
    edges: u64,
}

/// Where a segment is, and what keys it may have.
#[derive(Clone, Copy, Debug)]
struct Place {
    /// The number of the slice.
    slice: u32,
    /// The number of the segment in it.
    segment: u32,
    keys: u32,
    first: VertexId,
    last: VertexId,
    /// Whether all its rows are of the default graph.
    is_plain: bool,
}

impl Place {
    #[inline]
    fn may_have(&self, key: VertexId) -> bool {
        (self.first..=self.last).contains(&key)
    }
}

impl Window {
    /// The union of these slices.
    pub fn new(slices: Vec<Arc<Slice>>) -> Window {
        let mut places = Vec::new();
        for (number, slice) in (0_u32..).zip(&slices) {
            for direction in [Direction::Out, Direction::In] {
                let segments = (0_u32..).zip(slice.segments(direction));
                places.extend(segments.map(|(place, segment)| {
                    let (first, last) = segment.key_bounds();
                    let place = Place {
                        slice: number,
                        segment: place,
                        keys: segment.keys_count(),
                        first,
                        last,
                        is_plain: segment.is_plain(),
                    };
                    (segment.predicate(), direction, place)
                }));
            }
        }
        // Those of one predicate and direction by slice.
        places.sort_unstable_by_key(|place| (place.0, place.1, place.2.slice));
        let mut predicates: Vec<VertexId> = places.iter().map(|place| place.0).collect();
        predicates.dedup();
        let mut starts = Vec::with_capacity(2 * predicates.len() + 1);
        for predicate in &predicates {
            for direction in [Direction::Out, Direction::In] {
                let first =
                    places.partition_point(|place| (place.0, place.1) < (*predicate, direction));
                starts.push(first as u32);
            }
        }
        starts.push(places.len() as u32);
        let segments = starts.windows(2).map(|ends| {
            let places = &places[ends[0] as usize..ends[1] as usize];
            LazyIndex::new(places.iter().map(|place| place.2.keys))
        });
        let indexes = segments.collect();
        Window {
            indexes,
            predicates: predicates.into(),
            places: places.iter().map(|place| place.2).collect(),
            edges: slices.iter().map(|slice| slice.edges(Direction::Out)).sum(),
            slices: slices.into(),
            starts: starts.into(),
            is_bag: false,
        }
    }

    /// Its slices.
    pub fn slices(&self) -> &[Arc<Slice>] {
        &self.slices
    }

    /// How many edges its slices have together; one that came in several counts in each.
    pub fn edges_of_slices(&self) -> u64 {
        self.edges
    }

    /// What it holds beside its slices for whoever asks for many lists (bytes); grows while it is asked.
    pub fn index_bytes(&self) -> u64 {
        self.indexes.iter().map(LazyIndex::bytes).sum()
    }

    /// Whether nothing arrived in it.
    pub fn is_empty(&self) -> bool {
        self.predicates.is_empty()
    }

    /// The sizes of each predicate, ascending, summed over slices: at least those of the union, and more where slices
    /// repeat each other.
    pub fn sizes(&self) -> Vec<(VertexId, SliceSizes)> {
        let mut sizes = vec![SliceSizes::default(); self.predicates.len()];
        for slice in self.slices.iter() {
            for (predicate, more) in slice.sizes() {
                let place = self.predicates.binary_search(&predicate);
                let sum = &mut sizes[place.expect("the window has the predicates of its slices")];
                sum.edges += more.edges;
                sum.subjects += more.subjects;
                sum.objects += more.objects;
            }
        }
        self.predicates.iter().copied().zip(sizes).collect()
    }

    /// The segments of a predicate in a direction, at most one of each slice.
    fn runs(&self, segment: SegmentKey) -> impl ExactSizeIterator<Item = SliceSegment<'_>> + Clone {
        let places = self.places_of(segment).iter();
        places.map(move |place| self.segment_at(segment.direction, place))
    }

    #[inline]
    fn segment_at(&self, direction: Direction, at: &Place) -> SliceSegment<'_> {
        self.slices[at.slice as usize].segment(direction, at.segment as usize)
    }

    /// The number of a predicate and direction, if the window has it.
    #[inline]
    fn number_of(&self, segment: SegmentKey) -> Option<usize> {
        let first = PredicateId::FIRST_FREE.0;
        let predicate = segment.predicate.0.checked_sub(first)? as usize;
        let is_there = predicate < self.predicates.len();
        is_there.then_some(2 * predicate + segment.direction as usize)
    }

    /// Where they are, ascending by slice.
    fn places_of(&self, segment: SegmentKey) -> &[Place] {
        let places = match self.number_of(segment) {
            Some(at) => self.starts[at] as usize..self.starts[at + 1] as usize,
            None => 0..0,
        };
        &self.places[places]
    }

    /// The index of a segment's keys, if so many further lists of `all` its places make it pay, or did before. Under a scope
    /// that does not bind the graph and sees no occurrences.
    fn index(
        &self,
        segment: SegmentKey,
        all: &[Place],
        lists: usize,
        scope: GraphScope<'_>,
    ) -> Option<&KeyIndex> {
        let has_all =
            matches!(scope, GraphScope::Union) || admits(scope, GraphScope::DEFAULT_GRAPH);
        let lazy = self.indexes.get(self.number_of(segment)?)?;
        let run = |place| self.segment_at(segment.direction, place);
        let runs = || all.iter().map(run);
        has_all
            .then(|| lazy.paying(lists * all.len(), runs))
            .flatten()
    }

    /// [`GraphView::keys`], which a window owns.
    fn keys_owned(&self, segment: SegmentKey) -> VertexSet<'static> {
        if segment.predicate == PredicateId::SIGNATURE {
            return self.vertices_owned(segment.direction);
        }
        let runs = self.runs(segment);
        let is_one = runs.len() < 2;
        let mut keys = Vec::new();
        for run in runs {
            run.append_keys(&mut keys);
        }
        sorted_set(keys, is_one)
    }

    /// [`GraphView::vertices`].
    fn vertices_owned(&self, direction: Direction) -> VertexSet<'static> {
        let mut keys = Vec::new();
        for slice in self.slices.iter() {
            for segment in slice.segments(direction) {
                segment.append_keys(&mut keys);
            }
        }
        sorted_set(keys, false)
    }

    /// [`GraphView::neighbours`].
    fn neighbours_owned(
        &self,
        segment: SegmentKey,
        vertex: VertexId,
        scope: GraphScope<'_>,
    ) -> VertexSet<'static> {
        assert!(!scope.binds_graph(), "a set has no place for graphs");
        let mut neighbours = Vec::new();
        let places = self.places_of(segment);
        if let Some(index) = self.index(segment, places, 1, scope) {
            return VertexSet::from_sorted(index.list(vertex).to_vec());
        }
        let runs = places
            .iter()
            .filter(|place| place.may_have(vertex))
            .map(|place| self.segment_at(segment.direction, place))
            .map(|run| (run, run.rows_of(vertex)))
            .filter(|(_, rows)| !rows.is_empty());
        append_list(runs, scope, &mut neighbours);
        VertexSet::from_sorted(neighbours)
    }

    fn all_predicates(&self) -> Range<u32> {
        let first = PredicateId::FIRST_FREE.0;
        first..first + self.predicates.len() as u32
    }
}

/// Whether edges of a graph are in a scope.
fn admits(scope: GraphScope<'_>, graph: VertexId) -> bool {
    let default = GraphScope::DEFAULT_GRAPH;
    match scope {
        GraphScope::Default => graph == default,
        GraphScope::Named(one) => graph == one && graph != default,
        GraphScope::Merge(graphs) => graphs.binary_search(&graph).is_ok(),
        GraphScope::Union => true,
        GraphScope::EachNamed => graph != default,
        GraphScope::EachOf(graphs) => graph != default && graphs.binary_search(&graph).is_ok(),
    }
}

/// What a scope makes of the rows of one segment of a slice.
fn takes_all(run: SliceSegment<'_>, scope: GraphScope<'_>) -> Option<bool> {
    if matches!(scope, GraphScope::Union) {
        return Some(true);
    }
    run.is_plain()
        .then(|| admits(scope, GraphScope::DEFAULT_GRAPH))
}

/// Appends the rows of a key under a scope that does not bind the graph, each neighbour once, ascending.
fn append_list<'s>(
    runs: impl Iterator<Item = (SliceSegment<'s>, Range<u32>)>,
    scope: GraphScope<'_>,
    out: &mut Vec<VertexId>,
) {
    let begin = out.len();
    let mut is_sorted = true;
    for (run, rows) in runs {
        is_sorted &= out.len() == begin;
        match takes_all(run, scope) {
            Some(false) => {}
            Some(true) => {
                run.append_neighbours(rows, out);
                // One neighbour may be there in several graphs.
                is_sorted &= run.is_plain();
            }
            None => {
                is_sorted = false;
                for row in rows {
                    if admits(scope, run.graph(row)) {
                        run.append_neighbours(row..row + 1, out);
                    }
                }
            }
        }
    }
    if !is_sorted && out.len() > begin + 1 {
        // The stable sort finds the runs that ascend already, and merges them.
        out[begin..].sort();
        dedup_from(out, begin);
    }
}

/// Removes repeated neighbours from the end of a column, which ascends from there on.
fn dedup_from(out: &mut Vec<VertexId>, begin: usize) {
    let mut kept = begin;
    for at in begin..out.len() {
        if kept == begin || out[kept - 1] != out[at] {
            out[kept] = out[at];
            kept += 1;
        }
    }
    out.truncate(kept);
}

/// Appends the rows of a key under a scope that binds the graph, ascending by neighbour and graph.
fn append_bound<'s>(
    runs: impl Iterator<Item = (SliceSegment<'s>, Range<u32>)>,
    scope: GraphScope<'_>,
    owned: &mut OwnedLists,
) {
    let mut pairs: Vec<(VertexId, VertexId)> = Vec::new();
    let mut neighbours = Vec::new();
    for (run, rows) in runs {
        neighbours.clear();
        run.append_neighbours(rows.clone(), &mut neighbours);
        let rows = rows.zip(&neighbours);
        let bound = rows.map(|(row, neighbour)| (*neighbour, run.graph(row)));
        pairs.extend(bound.filter(|pair| admits(scope, pair.1)));
    }
    pairs.sort();
    pairs.dedup();
    for (neighbour, graph) in pairs {
        owned.neighbours.push(neighbour);
        owned.graphs.push(graph);
    }
}

fn sorted_set(mut vertices: Vec<VertexId>, is_sorted: bool) -> VertexSet<'static> {
    if !is_sorted {
        vertices.sort();
        vertices.dedup();
    }
    VertexSet::from_sorted(vertices)
}

impl GraphView for Window {
    fn predicate_id(&self, vertex: VertexId) -> Option<PredicateId> {
        let place = self.predicates.binary_search(&vertex).ok()?;
        Some(PredicateId(PredicateId::FIRST_FREE.0 + place as u32))
    }

    fn predicate_vertex(&self, predicate: PredicateId) -> VertexId {
        self.predicates[(predicate.0 - PredicateId::FIRST_FREE.0) as usize]
    }

    fn predicates(&self) -> Vec<PredicateId> {
        self.all_predicates().map(PredicateId).collect()
    }

    fn named_graphs(&self) -> Result<Vec<VertexId>, ViewError> {
        let mut graphs: Vec<VertexId> = Vec::new();
        for slice in self.slices.iter() {
            graphs.extend(slice.graphs());
        }
        graphs.sort_unstable();
        graphs.dedup();
        Ok(graphs)
    }

    fn keys(&self, segment: SegmentKey) -> Result<VertexSet<'_>, ViewError> {
        Ok(self.keys_owned(segment))
    }

    fn vertices(&self, direction: Direction) -> Result<VertexSet<'_>, ViewError> {
        Ok(self.vertices_owned(direction))
    }

    fn keys_of_graph(
        &self,
        segment: SegmentKey,
        graph: VertexId,
        keys: &mut Vec<VertexId>,
    ) -> Result<(), ViewError> {
        let mut found = Vec::new();
        for run in self.runs(segment).filter(|run| !run.is_plain()) {
            let mut all = Vec::new();
            run.append_keys(&mut all);
            let has_one = |ordinal: u32| run.rows(ordinal).any(|row| run.graph(row) == graph);
            let within = (0_u32..).zip(all).filter(|(ordinal, _)| has_one(*ordinal));
            found.extend(within.map(|(_, key)| key));
        }
        found.sort_unstable();
        found.dedup();
        keys.extend(found);
        Ok(())
    }

    /// How many edges several slices have together is not known without reading them.
    fn edges(&self, segment: SegmentKey, scope: GraphScope<'_>) -> Result<Option<u64>, ViewError> {
        let mut runs = self.runs(segment);
        if self.sees_occurrences(scope) {
            return Ok((runs.len() == 0).then_some(0));
        }
        if runs.clone().all(|run| takes_all(run, scope) == Some(false)) {
            return Ok(Some(0));
        }
        let is_one = matches!(
            scope,
            GraphScope::Default | GraphScope::Named(_) | GraphScope::Union
        );
        Ok(match (runs.next(), runs.next()) {
            (Some(run), None) if is_one && run.is_plain() => Some(run.rows_count().into()),
            _ => None,
        })
    }

    fn neighbours(
        &self,
        segment: SegmentKey,
        vertex: VertexId,
        scope: GraphScope<'_>,
    ) -> Result<VertexSet<'_>, ViewError> {
        Ok(self.neighbours_owned(segment, vertex, scope))
    }

    fn lists<'v>(
        &'v self,
        segment: SegmentKey,
        keys: &[VertexId],
        scope: GraphScope<'_>,
        lists: &mut Lists<'v>,
    ) -> Result<Progress, ViewError> {
        let all = self.places_of(segment);
        let is_exact = all.iter().all(|place| place.is_plain);
        if self.sees_occurrences(scope) {
            lists.refill_owned(false, |owned| self.append_occurrences(segment, keys, owned));
            return Ok(Progress::Ready);
        }
        if !scope.binds_graph()
            && let Some(index) = self.index(segment, all, keys.len(), scope)
        {
            lists.refill_owned(is_exact, |owned| {
                for &key in keys {
                    let begin = owned.neighbours.len();
                    owned.neighbours.extend_from_slice(index.list(key));
                    owned.push_from(begin);
                }
            });
            return Ok(Progress::Ready);
        }
        // Most keys came once: bounds tell most slices that they have nothing of them.
        let bounds = keys.iter().min().zip(keys.iter().max());
        let within = |place: &&Place| {
            bounds.is_some_and(|(least, most)| place.first <= *most && *least <= place.last)
        };
        let runs: SmallVec<[(&Place, SliceSegment<'_>); 16]> = all
            .iter()
            .filter(within)
            .map(|place| (place, self.segment_at(segment.direction, place)))
            .collect();
        lists.refill_owned(is_exact, |owned| {
            for &key in keys {
                let begin = owned.neighbours.len();
                let of_key = runs
                    .iter()
                    .filter(|(place, _)| place.may_have(key))
                    .map(|(_, run)| (*run, run.rows_of(key)))
                    .filter(|(_, rows)| !rows.is_empty());
                if scope.binds_graph() {
                    append_bound(of_key, scope, owned);
                } else {
                    append_list(of_key, scope, &mut owned.neighbours);
                }
                owned.push_from(begin);
            }
        });
        Ok(Progress::Ready)
    }

    fn predicates_of(
        &self,
        direction: Direction,
        vertices: &[VertexId],
        predicates: &mut Vec<PredicateId>,
        ends: &mut Vec<u32>,
    ) -> Result<Progress, ViewError> {
        for &vertex in vertices {
            predicates.extend(self.all_predicates().map(PredicateId).filter(|&predicate| {
                let segment = SegmentKey {
                    predicate,
                    direction,
                };
                let mut places = self.places_of(segment).iter();
                places.any(|place| {
                    let run = || self.segment_at(direction, place);
                    place.may_have(vertex) && !run().rows_of(vertex).is_empty()
                })
            }));
            ends.push(predicates.len() as u32);
        }
        Ok(Progress::Ready)
    }
}
