//! One layer: the edges that some commits added and took away, as two small graphs.
//!
//! Keys need care. That a vertex is a key of a segment is read from indexes, and an index of the
//! base cannot forget. So a layer also says which keys lost their last row ([`KeyChanges::gone`]).
//!
//! **Whether a key is there**: the newest layer that names it decides. One that adds an edge of it
//! says that it is there, one of whose `gone` it is says that it is not; where no layer names it, the
//! base's index tells. In other words, what an index has holds until a later layer says that it is
//! gone. Named graphs likewise.
//!
//! Each of these statements is about the graph as it is after the layer, whatever lies below. So it
//! stays true when layers below are merged, or go into a new base, and nothing has to be repaired
//! then. (A list of keys that came back, whose weights are added to those of `gone`, is right only
//! as long as the layer that they were gone in is among those that are added up: a checkpoint takes
//! it away.)
//!
//! Invariant: no layer has an edge of a key that it says is gone. The table of graphs of what was
//! added may name graphs without an edge of theirs, after a merge; then `graphs_gone` names such a
//! graph, or it was there below the layer. `gone` is empty unless something was deleted, and may name
//! keys that no index has any more, after a merge: that means nothing.

use super::key_filter::KeyFilter;
use crate::snapshot::Snapshot;
use crate::source::Fault;
use crate::view::{GraphView, SegmentKey};
use rdf::{Direction, VertexId};
use std::collections::BTreeMap;
use std::ops::RangeInclusive;

/// Names a set of keys over versions: the predicate as a vertex, or [`VertexId::UNBOUND`] for all
/// vertices with an edge in this direction.
pub type KeySet = (VertexId, Direction);

/// Vertices that are no keys after a layer, and were before it; each list ascending, distinct, not empty.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct KeyChanges {
    /// Keys that lost their last row over all graphs.
    pub gone: BTreeMap<KeySet, Vec<VertexId>>,
    /// Named graphs that lost their last quad.
    pub graphs_gone: Vec<VertexId>,
}

impl KeyChanges {
    /// Whether nothing changed.
    pub fn is_empty(&self) -> bool {
        self.gone.is_empty() && self.graphs_gone.is_empty()
    }

    /// Bytes of memory held.
    pub(crate) fn bytes(&self) -> u64 {
        let lists = self.gone.values().chain([&self.graphs_gone]);
        let held =
            |list: &Vec<VertexId>| size_of_val(&list[..]) + size_of::<(KeySet, Vec<VertexId>)>();
        lists.map(held).sum::<usize>() as u64
    }
}

/// Edges that a layer adds and takes away.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct EdgeCounts {
    /// Out-edges, of which each quad has one.
    pub out: (u64, u64),
    /// In-edges, in a layer of a part of a graph. `None`: those of the same quads.
    pub into: Option<(u64, u64)>,
}

impl EdgeCounts {
    /// In-edges.
    pub fn incoming(&self) -> (u64, u64) {
        self.into.unwrap_or(self.out)
    }
}

/// One of a layer's graphs, with what tells at once that it has nothing to say.
pub(crate) struct LayerGraph {
    /// Numbers of predicates and codes of graphs are its own.
    pub graph: Snapshot,
    /// Its keys, where they are not too many.
    pub keys: Option<KeyFilter>,
    /// Whether some edge may be in a named graph, so that a scope may filter: its table names one.
    pub has_named: bool,
}

impl LayerGraph {
    /// Reads the keys. O(keys).
    pub(crate) fn new(graph: Snapshot) -> Result<LayerGraph, Fault> {
        let keys = KeyFilter::of(&graph)?;
        let has_named = graph.graphs()?.all().next().is_some();
        Ok(LayerGraph {
            graph,
            keys,
            has_named,
        })
    }

    /// The segment as this graph numbers it, where it has one.
    pub(crate) fn segment_of(&self, (vertex, direction): KeySet) -> Option<SegmentKey> {
        let predicate = self.graph.predicate_id(vertex)?;
        Some(SegmentKey {
            predicate,
            direction,
        })
    }

    /// The place of the first of these keys that it may have something of: the first one where it is not filtered.
    #[inline]
    pub(crate) fn first_of(&self, name: KeySet, keys: &[VertexId]) -> Option<usize> {
        match &self.keys {
            Some(filter) => filter.of_set(name).first_of(keys),
            None => (!keys.is_empty()).then_some(0),
        }
    }
}

/// What a run of commits changed. Immutable, shared by the versions that contain it.
pub struct Layer {
    /// Edges with weight +1.
    pub(crate) adds: Option<LayerGraph>,
    /// Edges with weight -1.
    pub(crate) dels: Option<LayerGraph>,
    pub(crate) keys: KeyChanges,
    /// By how many quads each named graph grew, where it did not stay as large; ascending. Over a part of a graph: by how
    /// many edges of both directions.
    pub(crate) graph_sizes: Vec<(VertexId, i64)>,
    pub(crate) edges: EdgeCounts,
    /// Bytes held, of both graphs with their filters and the key changes.
    pub(crate) bytes: u64,
    /// The commits whose sum it is.
    pub(crate) commits: RangeInclusive<u64>,
}

impl Layer {
    /// Edges added, as a graph with numbers of its own.
    pub fn adds(&self) -> Option<&Snapshot> {
        self.adds.as_ref().map(|adds| &adds.graph)
    }

    /// Edges taken away, as a graph with numbers of its own.
    pub fn dels(&self) -> Option<&Snapshot> {
        self.dels.as_ref().map(|dels| &dels.graph)
    }

    /// Both graphs, as far as they are there, and whether its edges are taken away.
    pub(crate) fn graphs(&self) -> impl Iterator<Item = (&LayerGraph, bool)> {
        let adds = self.adds.iter().map(|adds| (adds, false));
        adds.chain(self.dels.iter().map(|dels| (dels, true)))
    }

    /// The keys that went.
    pub fn keys(&self) -> &KeyChanges {
        &self.keys
    }

    /// Quads added; over a part of a graph those whose out-edges lie there.
    pub fn added(&self) -> u64 {
        self.edges.out.0
    }

    /// Quads taken away, likewise.
    pub fn deleted(&self) -> u64 {
        self.edges.out.1
    }

    /// Quads added or taken away: how large the layer is. Over a part of a graph, edges of the direction that has more.
    pub fn quads(&self) -> u64 {
        let EdgeCounts { out, into } = self.edges;
        into.map_or(0, |into| into.0 + into.1).max(out.0 + out.1)
    }

    /// Whether it is a layer over a part of a graph, so that its directions are edge sets of their own.
    pub fn is_of_part(&self) -> bool {
        self.edges.into.is_some()
    }

    /// Bytes of memory held.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// The commits whose sum it is.
    pub fn commits(&self) -> RangeInclusive<u64> {
        self.commits.clone()
    }

    /// Whether the next layer's commits begin behind this one's, or both are parts of one commit, which
    /// carry its number each. Commits between them changed no quad.
    pub(super) fn is_followed_by(&self, next: &Layer) -> bool {
        self.commits == next.commits || self.commits.end() < next.commits.start()
    }
}
