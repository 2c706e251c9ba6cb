//! A version as a [`GraphView`].
//!
//! Every method asks first who has a say: with no layer, or none that has the segment, the base
//! answers as if it were alone; where one graph of those that have it, base or layer, is alone, it
//! answers. Only otherwise lists and sets of several graphs are put together, see
//! [`lists`](crate::lists), [`patch`](crate::vertex_set::patch) and [`key_sets`](super::key_sets).
//!
//! A list that was put together as a set is [kept](super::kept_lists) with the version: intersections ask for
//! the same classes and hubs again and again. Measured on LUBM-40 under a layer of 4 %, in the order of
//! what was tried (2026-11-21, times of the same graph without layers): q1 3.1, q3 3.1, q10 5.8; large
//! patches kept 2.9, 2.8, 1.0; lists kept whole 1.4 to 1.9, 1.5, 1.0.

use super::kept_lists::KeptList;
use super::key_filter::FilteredKeys;
use super::layer::{KeySet, LayerGraph};
use super::version::Version;
use crate::error::ViewError;
use crate::lists::{Filter, Lists, weigh};
use crate::segment::location::Located;
use crate::snapshot::{ListSource, Snapshot};
use crate::source::Fault;
use crate::vertex_set::VertexSet;
use crate::vertex_set::patch::Patch;
use crate::view::{GraphScope, GraphView, Progress, SegmentKey};
use rdf::{Direction, PredicateId, VertexId};
use std::collections::HashMap;
use std::sync::Arc;

/// One graph's part in an answer.
struct Share<'v> {
    source: ListSource<'v>,
    /// Its keys, where it is a layer's and filtered.
    keys: Option<FilteredKeys<'v>>,
    /// It has none of the keys before this place.
    first: usize,
    is_minus: bool,
}

/// The graphs that have a part in an answer.
struct Shares<'v> {
    shares: Vec<Share<'v>>,
    /// Whether the scope admits every row of every graph from which it admits any, those without a part
    /// included.
    is_exact: bool,
}

impl<'v> Shares<'v> {
    /// Takes the base's part, where its index does not tell that it has none.
    fn take_base(&mut self, source: ListSource<'v>, keys: Keys<'_>) -> Result<(), Fault> {
        self.is_exact &= source.filter == Filter::Every;
        if keys.may_be_in(&source)? {
            self.shares.push(Share {
                source,
                keys: None,
                first: 0,
                is_minus: false,
            });
        }
        Ok(())
    }

    /// Takes a layer's part, where neither its index nor its filter tells that it has none. What was described together
    /// has neighbouring ids, so that the index tells it of most batches, without a look at each key.
    fn take_layer(
        &mut self,
        (layer, is_minus): (&'v LayerGraph, bool),
        name: KeySet,
        keys: Keys<'_>,
        scope: GraphScope<'_>,
    ) -> Result<(), Fault> {
        let Some(segment) = layer.segment_of(name) else {
            return Ok(());
        };
        let Some(source) = layer.graph.list_source(segment, scope)? else {
            return Ok(());
        };
        self.is_exact &= source.filter == Filter::Every;
        if keys.may_be_in(&source)?
            && let Some(first) = layer.first_of(name, keys.all)
        {
            self.shares.push(Share {
                source,
                keys: layer.keys.as_ref().map(|filter| filter.of_set(name)),
                first,
                is_minus,
            });
        }
        Ok(())
    }
}

/// The keys of a batch, and between which ids they lie.
#[derive(Clone, Copy)]
struct Keys<'k> {
    all: &'k [VertexId],
    /// Both included; `None`: no keys.
    span: Option<(VertexId, VertexId)>,
}

impl<'k> Keys<'k> {
    fn new(all: &'k [VertexId]) -> Keys<'k> {
        let span = all.iter().copied().min().zip(all.iter().copied().max());
        Keys { all, span }
    }

    /// Whether the segment's index reaches into the span.
    fn may_be_in(self, source: &ListSource<'_>) -> Result<bool, Fault> {
        let index = source.segment.index()?;
        Ok(self
            .span
            .is_some_and(|(least, most)| index.may_hold(least, most)))
    }
}

impl Version {
    /// Gives every graph that has this segment: with the segment as it numbers it, and whether its
    /// edges are taken away.
    pub(super) fn each_with<'v>(
        &'v self,
        segment: SegmentKey,
        mut give: impl FnMut(&'v Snapshot, SegmentKey, bool) -> Result<(), Fault>,
    ) -> Result<(), Fault> {
        give(&self.base, segment, false)?;
        let Some(name) = self.key_set_of(segment) else {
            return Ok(());
        };
        for (layer, is_minus) in self.layer_graphs() {
            if let Some(segment) = layer.segment_of(name) {
                give(&layer.graph, segment, is_minus)?;
            }
        }
        Ok(())
    }

    /// The graphs of all layers, oldest first, and whether their edges are taken away.
    fn layer_graphs(&self) -> impl Iterator<Item = (&LayerGraph, bool)> {
        self.layers.iter().flat_map(|layer| layer.graphs())
    }

    /// What layers call the keys of this segment.
    fn key_set_of(&self, segment: SegmentKey) -> Option<KeySet> {
        let vertex = self.vertex_of(segment.predicate)?;
        Some((vertex, segment.direction))
    }

    /// Whether some layer may have a say in what the list of this key holds, or in whether the scope filters it. (Where no
    /// graph is named, a scope admits all rows of a layer or none, and there is nothing to be told of it.)
    fn is_touched(&self, segment: SegmentKey, key: VertexId) -> bool {
        if self.layers.is_empty() {
            return false;
        }
        let Some(name) = self.key_set_of(segment) else {
            return false;
        };
        self.layer_graphs().any(|(layer, _)| {
            let may_hold = layer.has_named || layer.first_of(name, &[key]).is_some();
            may_hold && layer.segment_of(name).is_some()
        })
    }

    /// Whether some layer has the segment.
    fn is_layered(&self, segment: SegmentKey) -> bool {
        if self.layers.is_empty() {
            return false;
        }
        let has = |graph: Option<&Snapshot>, vertex| {
            graph.is_some_and(|graph| graph.predicate_id(vertex).is_some())
        };
        self.vertex_of(segment.predicate).is_some_and(|vertex| {
            let mut layers = self.layers.iter();
            layers.any(|layer| has(layer.adds(), vertex) || has(layer.dels(), vertex))
        })
    }

    /// Whether the base holds the segment as it is in this version, so that an image of the base's segment
    /// ([`raw`](crate::raw)) is the whole of it: no layer adds to it or takes from it. The base numbers the predicate
    /// as this version does; where it has no edge of it, the version has none. O(layers).
    ///
    /// For [`PredicateId::SIGNATURE`], which any edge may change, it says whether there are no layers.
    pub fn is_base_alone(&self, segment: SegmentKey) -> bool {
        match segment.predicate {
            PredicateId::SIGNATURE => self.layers.is_empty(),
            _ => !self.is_layered(segment),
        }
    }

    /// The graphs from which the scope admits something of one of these keys, the largest that adds
    /// first. What was described together has neighbouring ids, so most layers have nothing for a batch.
    /// Whether the scope filters is told of the segment, whatever the keys.
    fn shares<'v>(
        &'v self,
        segment: SegmentKey,
        keys: &[VertexId],
        scope: GraphScope<'_>,
    ) -> Result<Shares<'v>, Fault> {
        let mut found = Shares {
            shares: Vec::with_capacity(4),
            is_exact: true,
        };
        let keys = Keys::new(keys);
        if let Some(source) = self.base.list_source(segment, scope)? {
            found.take_base(source, keys)?;
        }
        if let Some(name) = self.key_set_of(segment) {
            for layer in self.layer_graphs() {
                found.take_layer(layer, name, keys, scope)?;
            }
        }
        let shares = &mut found.shares;
        let mut first: Option<usize> = None;
        for (place, share) in shares.iter().enumerate() {
            let rows = |place: usize| shares[place].source.segment.descriptor.rows;
            if !share.is_minus && first.is_none_or(|first| rows(place) > rows(first)) {
                first = Some(place);
            }
        }
        match first {
            Some(first) => shares.swap(0, first),
            None => shares.clear(),
        }
        Ok(found)
    }

    fn known_edges(
        &self,
        segment: SegmentKey,
        scope: GraphScope<'_>,
    ) -> Result<Option<u64>, Fault> {
        if !self.is_layered(segment) {
            return self.base.known_edges(segment, scope);
        }
        let (mut plus, mut minus) = (0, 0);
        let (mut all, mut none) = (true, true);
        self.each_with(segment, |graph, segment, is_minus| {
            let edges = graph.known_edges(segment, scope)?;
            let is_empty = graph.set_of_keys(segment)?.is_empty();
            all &= is_empty || edges.is_some_and(|edges| edges > 0);
            none &= edges == Some(0);
            *(if is_minus { &mut minus } else { &mut plus }) += edges.unwrap_or(0);
            Ok(())
        })?;
        Ok(match (all, none) {
            (_, true) => Some(0),
            // A layer takes away what was there, and adds what was not.
            (true, false) => Some(plus - minus),
            (false, false) => None,
        })
    }

    fn fill_lists<'v>(
        &'v self,
        segment: SegmentKey,
        keys: &[VertexId],
        scope: GraphScope<'_>,
        lists: &mut Lists<'v>,
    ) -> Result<(), Fault> {
        if self.layers.is_empty() {
            return self.base.fill_lists(segment, keys, scope, lists);
        }
        self.fill_layered(segment, keys, scope, lists)
    }

    /// The same where there are layers. Apart, so that a version without pays nothing for it.
    #[inline(never)]
    fn fill_layered<'v>(
        &'v self,
        segment: SegmentKey,
        keys: &[VertexId],
        scope: GraphScope<'_>,
        lists: &mut Lists<'v>,
    ) -> Result<(), Fault> {
        let is_touched = match keys {
            [key] => self.is_touched(segment, *key),
            _ => self.is_layered(segment),
        };
        if !is_touched {
            return self.base.fill_lists(segment, keys, scope, lists);
        }
        let Shares { shares, is_exact } = self.shares(segment, keys, scope)?;
        let mut shares = shares.into_iter();
        let Some(first) = shares.next() else {
            lists.refill_empty(keys.len(), is_exact);
            return Ok(());
        };
        assert!(
            !first.is_minus,
            "rows are taken away from some that are there"
        );
        if std::ptr::eq(first.source.segment.side, self.base.side(segment.direction)) {
            // Its code for the walk over a single graph, not a copy of it.
            self.base.fill_lists(segment, keys, scope, lists)?;
            lists.note_exactness(is_exact);
        } else {
            first.source.fill_first(keys, is_exact, lists)?;
        }
        if shares.len() > 0 {
            for share in shares {
                let may_hold = share.keys.map(|filter| move |key| filter.may_hold(key));
                let (source, first) = (share.source, share.first);
                source.fill_further(share.is_minus, may_hold, first, keys, lists)?;
            }
            lists.end_further(match scope {
                GraphScope::Merge(graphs) => graphs.len() > 1,
                GraphScope::Union => true,
                _ => false,
            });
        }
        Ok(())
    }

    fn set_of_neighbours(
        &self,
        segment: SegmentKey,
        vertex: VertexId,
        scope: GraphScope<'_>,
    ) -> Result<VertexSet<'_>, Fault> {
        if !self.is_touched(segment, vertex) {
            return self.base.set_of_neighbours(segment, vertex, scope);
        }
        assert!(!scope.binds_graph(), "a set has no place for graphs");
        // Only of the default graph, so that the list's name says which rows were admitted.
        let is_kept = scope == GraphScope::Default;
        let name = (segment, vertex);
        let known = is_kept.then(|| self.lists.get(name)).flatten();
        if let Some(KeptList::Whole(list)) = known {
            return Ok(VertexSet::shared(list));
        }
        let mut shares = Vec::new();
        for share in self.shares(segment, &[vertex], scope)?.shares {
            let rows = share.source.rows(vertex)?;
            if !rows.is_empty() {
                shares.push((share, rows));
            }
        }
        let adding = shares
            .iter()
            .enumerate()
            .filter(|(_, (share, _))| !share.is_minus);
        let Some((ground, _)) = adding.max_by_key(|(_, (_, rows))| rows.end - rows.start) else {
            return Ok(VertexSet::empty());
        };
        let (ground, _) = shares.swap_remove(ground);
        if ground.source.filter != Filter::Every {
            let mut lists = Lists::new();
            self.fill_lists(segment, &[vertex], scope, &mut lists)?;
            return Ok(VertexSet::from_sorted(lists.all_neighbours()?));
        }
        let older = ground.source.set_of(vertex)?;
        if shares.is_empty() {
            return Ok(older);
        }
        if let Some(KeptList::Patch(patch)) = known {
            return Ok(with_patch(older, patch));
        }
        let mut weights = Vec::new();
        for (share, rows) in shares {
            let weight = if share.is_minus { -1 } else { 1 };
            let ListSource {
                columns, filter, ..
            } = &share.source;
            weigh(columns, filter, rows, weight, &mut weights)?;
        }
        let patch = Arc::new(patch_of(&older, weights)?);
        let is_dense = older.is_dense();
        let set = with_patch(older, Arc::clone(&patch));
        if !is_kept {
            return Ok(set);
        }
        if is_dense || set.len() > WHOLE_LEN_MAX {
            self.lists.keep(name, KeptList::Patch(patch));
            return Ok(set);
        }
        let mut whole = Vec::with_capacity(set.len() as usize);
        set.decode(0, set.len(), &mut whole).map_err(Box::new)?;
        let whole: Arc<[VertexId]> = whole.into();
        self.lists.keep(name, KeptList::Whole(Arc::clone(&whole)));
        Ok(VertexSet::shared(whole))
    }

    fn keys_in_graph(
        &self,
        segment: SegmentKey,
        graph: VertexId,
        keys: &mut Vec<VertexId>,
    ) -> Result<(), Fault> {
        if !self.is_layered(segment) {
            return self.base.graph_keys(segment, graph, keys);
        }
        let (mut found, mut doubtful) = (Vec::new(), Vec::new());
        self.each_with(segment, |view, segment, is_minus| {
            let keys = if is_minus { &mut doubtful } else { &mut found };
            view.graph_keys(segment, graph, keys)
        })?;
        for list in [&mut found, &mut doubtful] {
            list.sort_unstable();
            list.dedup();
        }
        if !doubtful.is_empty() {
            let mut lists = Lists::new();
            let mut degrees = Vec::new();
            self.fill_lists(segment, &doubtful, GraphScope::Named(graph), &mut lists)?;
            lists.degrees(&mut degrees)?;
            let gone = doubtful.iter().zip(&degrees);
            let gone: Vec<VertexId> = gone
                .filter(|(_, degree)| **degree == 0)
                .map(|(key, _)| *key)
                .collect();
            found.retain(|key| gone.binary_search(key).is_err());
        }
        keys.extend(found);
        Ok(())
    }

    /// The named graphs that hold a quad, ascending.
    pub(super) fn graphs_with_edges(&self) -> Result<Vec<VertexId>, Fault> {
        // The last layer that says it, by graph.
        let mut gone = HashMap::<VertexId, usize>::new();
        for (place, layer) in (1..).zip(&self.layers) {
            let graphs = layer.keys.graphs_gone.iter();
            gone.extend(graphs.map(|&graph| (graph, place)));
        }
        let mut graphs: Vec<VertexId> = Vec::new();
        for (adding, place) in self.adding() {
            let named = adding.graphs()?.all();
            // A layer's own word counts, too: its table may name graphs whose edges were merged away.
            let is_there = |graph: &VertexId| gone.get(graph).is_none_or(|&last| last < place);
            if gone.is_empty() {
                graphs.extend(named);
            } else {
                graphs.extend(named.filter(is_there));
            }
        }
        if !self.layers.is_empty() {
            graphs.sort_unstable();
            graphs.dedup();
        }
        Ok(graphs)
    }

    fn append_predicates(
        &self,
        direction: Direction,
        vertices: &[VertexId],
        predicates: &mut Vec<PredicateId>,
        ends: &mut Vec<u32>,
    ) -> Result<(), Fault> {
        if self.layers.is_empty() {
            return self
                .base
                .append_predicates(direction, vertices, predicates, ends);
        }
        let mut layers = self.layers.iter();
        // Layers from here on say nothing of keys that went.
        let last_gone = layers.rposition(|layer| !layer.keys.gone.is_empty());
        let last_gone = last_gone.map_or(0, |place| place + 1);
        let mut runs = Vec::with_capacity(1 + self.layers.len());
        let all = (VertexId::UNBOUND, direction);
        for (adding, place) in self.adding() {
            let layer = place
                .checked_sub(1)
                .and_then(|place| self.layers[place].adds.as_ref());
            if layer.is_some_and(|layer| layer.first_of(all, vertices).is_none()) {
                continue;
            }
            let (mut numbers, mut ends) = (Vec::new(), Vec::new());
            adding.append_predicates(direction, vertices, &mut numbers, &mut ends)?;
            assert_eq!(ends.len(), vertices.len(), "an end for each vertex");
            if place > 0 {
                if numbers.is_empty() {
                    continue;
                }
                for predicate in &mut numbers {
                    let number = self.number_of(adding.predicate_vertex(*predicate));
                    *predicate = number.expect("a layer's predicates have numbers");
                }
            }
            runs.push((numbers, ends, place));
        }
        for (at, &vertex) in vertices.iter().enumerate() {
            let begin = predicates.len();
            for (numbers, ends, place) in &runs {
                let start = at.checked_sub(1).map_or(0, |before| ends[before]);
                let numbers = &numbers[start as usize..ends[at] as usize];
                if *place >= last_gone {
                    predicates.extend_from_slice(numbers);
                    continue;
                }
                let is_there = |predicate: &&PredicateId| {
                    let name = self.vertex_of(**predicate);
                    !name.is_some_and(|name| self.is_gone_since(*place, (name, direction), vertex))
                };
                predicates.extend(numbers.iter().filter(is_there));
            }
            if runs.len() > 1 {
                predicates[begin..].sort_unstable();
                let mut kept = begin;
                for at in begin..predicates.len() {
                    let predicate = predicates[at];
                    if kept == begin || predicates[kept - 1] != predicate {
                        predicates[kept] = predicate;
                        kept += 1;
                    }
                }
                predicates.truncate(kept);
            }
            ends.push(predicates.len() as u32);
        }
        Ok(())
    }
}

/// What these weights bring to a set and take away: a vertex is an element where the sum of its
/// weights, 1 for being one before, is above 0.
fn patch_of(older: &VertexSet<'_>, mut weights: Vec<(VertexId, i32)>) -> Result<Patch, Fault> {
    weights.sort_unstable_by_key(|(vertex, _)| *vertex);
    let sums: Vec<(VertexId, i32)> = weights
        .chunk_by(|left, right| left.0 == right.0)
        .map(|same| (same[0].0, same.iter().map(|(_, weight)| weight).sum()))
        .collect();
    let touched: Vec<VertexId> = sums.iter().map(|(vertex, _)| *vertex).collect();
    let mut positions = Vec::new();
    older.select(&touched, &mut positions)?;
    let mut positions = positions.into_iter().peekable();
    let (mut adds, mut minus) = (Vec::new(), Vec::new());
    for (place, (vertex, sum)) in (0..).zip(sums) {
        let was = positions.next_if_eq(&place).is_some();
        match (was, sum + i32::from(was) > 0) {
            (false, true) => adds.push(vertex),
            (true, false) => minus.push(vertex),
            _ => {}
        }
    }
    assert!(
        positions.next().is_none(),
        "positions ascend, each that of a vertex asked for"
    );
    Patch::over(older, adds, minus)
}

fn with_patch(older: VertexSet<'_>, patch: Arc<Patch>) -> VertexSet<'_> {
    match patch.changes() {
        0 => older,
        _ => older.patched(vec![patch]),
    }
}

/// A list of at most so many elements is kept whole, because reading it between its changes costs
/// more than a copy; a dense one is not, because it is searched by cache lines.
const WHOLE_LEN_MAX: u64 = 1 << 16;

impl GraphView for Version {
    fn damage(&self) -> Option<ViewError> {
        Version::damage(self)
    }

    fn commit_number(&self) -> Option<u64> {
        Some(self.number())
    }

    fn predicate_id(&self, vertex: VertexId) -> Option<PredicateId> {
        let number = self.number_of(vertex)?;
        (!self.names.dead.contains(&vertex)).then_some(number)
    }

    fn predicate_vertex(&self, predicate: PredicateId) -> VertexId {
        let vertex = self.vertex_of(predicate);
        vertex.expect("the view gave this number out")
    }

    fn predicates(&self) -> Vec<PredicateId> {
        let mut predicates = self.base.predicates();
        predicates.extend(self.names.by_vertex.values());
        if !self.names.dead.is_empty() {
            let is_dead = |predicate: &PredicateId| {
                let vertex = self.vertex_of(*predicate);
                vertex.is_some_and(|vertex| self.names.dead.contains(&vertex))
            };
            predicates.retain(|predicate| !is_dead(predicate));
        }
        predicates.sort_unstable();
        predicates
    }

    fn named_graphs(&self) -> Result<Vec<VertexId>, ViewError> {
        self.graphs_with_edges().map_err(|fault| *fault)
    }

    fn keys(&self, segment: SegmentKey) -> Result<VertexSet<'_>, ViewError> {
        let keys = if self.layers.is_empty() {
            self.base.set_of_keys(segment)
        } else {
            self.set_of_keys(segment)
        };
        keys.map_err(|fault| *fault)
    }

    fn vertices(&self, direction: Direction) -> Result<VertexSet<'_>, ViewError> {
        self.keys(SegmentKey {
            predicate: PredicateId::SIGNATURE,
            direction,
        })
    }

    fn keys_of_graph(
        &self,
        segment: SegmentKey,
        graph: VertexId,
        keys: &mut Vec<VertexId>,
    ) -> Result<(), ViewError> {
        self.keys_in_graph(segment, graph, keys)
            .map_err(|fault| *fault)
    }

    fn edges(&self, segment: SegmentKey, scope: GraphScope<'_>) -> Result<Option<u64>, ViewError> {
        self.known_edges(segment, scope).map_err(|fault| *fault)
    }

    fn neighbours(
        &self,
        segment: SegmentKey,
        vertex: VertexId,
        scope: GraphScope<'_>,
    ) -> Result<VertexSet<'_>, ViewError> {
        self.set_of_neighbours(segment, vertex, scope)
            .map_err(|fault| *fault)
    }

    fn lists<'v>(
        &'v self,
        segment: SegmentKey,
        keys: &[VertexId],
        scope: GraphScope<'_>,
        lists: &mut Lists<'v>,
    ) -> Result<Progress, ViewError> {
        self.fill_lists(segment, keys, scope, lists)
            .map_err(|fault| *fault)?;
        Ok(Progress::Ready)
    }

    fn predicates_of(
        &self,
        direction: Direction,
        vertices: &[VertexId],
        predicates: &mut Vec<PredicateId>,
        ends: &mut Vec<u32>,
    ) -> Result<Progress, ViewError> {
        self.append_predicates(direction, vertices, predicates, ends)
            .map_err(|fault| *fault)?;
        Ok(Progress::Ready)
    }

    fn located(&self, segment: SegmentKey, verify_bytes: u64) -> Result<Located, ViewError> {
        self.locate(segment, verify_bytes).map_err(|fault| *fault)
    }
}
