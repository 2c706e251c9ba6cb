//! One layer: the edges that some commits added and took away, as two small graphs.
//!
//! Keys need care. That a vertex is a key of a segment is read from indexes, and an index of the
//! base cannot forget. So a layer also says which keys lost their last row ([`KeyChanges::gone`])
//! and which of those got one again ([`KeyChanges::back`]); a key is one where an index has it and
//! the sum of `gone` minus `back` over the layers is 0. Both lists are empty unless something was
//! deleted. `gone` may name keys that no index has any more, after a merge: that means nothing.

use crate::snapshot::Snapshot;
use rdf::{Direction, VertexId};
use std::collections::BTreeMap;
use std::ops::RangeInclusive;

/// Names a set of keys over versions: the predicate as a vertex, or [`VertexId::UNBOUND`] for all
/// vertices with an edge in this direction.
pub type KeySet = (VertexId, Direction);

/// Vertices that stopped or started again to be keys; each list ascending, distinct, not empty.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct KeyChanges {
    /// Keys that lost their last row over all graphs.
    pub gone: BTreeMap<KeySet, Vec<VertexId>>,
    /// Keys that had been gone and have a row again.
    pub back: BTreeMap<KeySet, Vec<VertexId>>,
    /// Named graphs that lost their last quad.
    pub graphs_gone: Vec<VertexId>,
    /// Named graphs that had been gone and hold a quad again.
    pub graphs_back: Vec<VertexId>,
}

impl KeyChanges {
    /// Whether nothing changed.
    pub fn is_empty(&self) -> bool {
        self.gone.is_empty()
            && self.back.is_empty()
            && self.graphs_gone.is_empty()
            && self.graphs_back.is_empty()
    }

    /// Bytes of memory held.
    pub(crate) fn bytes(&self) -> u64 {
        let lists = self.gone.values().chain(self.back.values());
        let graphs = [&self.graphs_gone, &self.graphs_back];
        let held =
            |list: &Vec<VertexId>| size_of_val(&list[..]) + size_of::<(KeySet, Vec<VertexId>)>();
        lists.chain(graphs).map(held).sum::<usize>() as u64
    }
}

/// What a run of commits changed. Immutable, shared by the versions that contain it.
pub struct Layer {
    /// Edges with weight +1; numbers of predicates and codes of graphs are its own.
    pub(crate) adds: Option<Snapshot>,
    /// Edges with weight -1.
    pub(crate) dels: Option<Snapshot>,
    pub(crate) keys: KeyChanges,
    /// By how many quads each named graph grew, where it did not stay as large; ascending.
    pub(crate) graph_sizes: Vec<(VertexId, i64)>,
    /// Quads added and taken away.
    pub(crate) quads: (u64, u64),
    /// Bytes held, of both graphs and the key changes.
    pub(crate) bytes: u64,
    /// The commits whose sum it is.
    pub(crate) commits: RangeInclusive<u64>,
}

impl Layer {
    /// Edges added, as a graph with numbers of its own.
    pub fn adds(&self) -> Option<&Snapshot> {
        self.adds.as_ref()
    }

    /// Edges taken away, as a graph with numbers of its own.
    pub fn dels(&self) -> Option<&Snapshot> {
        self.dels.as_ref()
    }

    /// The keys that came and went.
    pub fn keys(&self) -> &KeyChanges {
        &self.keys
    }

    /// Quads added.
    pub fn added(&self) -> u64 {
        self.quads.0
    }

    /// Quads taken away.
    pub fn deleted(&self) -> u64 {
        self.quads.1
    }

    /// Quads added or taken away.
    pub fn quads(&self) -> u64 {
        self.quads.0 + self.quads.1
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
    /// carry its number each.
    pub(super) fn is_followed_by(&self, next: &Layer) -> bool {
        self.commits == next.commits || self.commits.end() + 1 == *next.commits.start()
    }
}
