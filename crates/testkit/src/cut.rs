//! A graph cut into the parts of a cluster's nodes, as half quads: who has which edge, and nothing of how it is sent.
//!
//! ```text
//!  quad s p o   ->  out-edge s -> o   with the owner of s
//!                   in-edge  o -> s   with the owner of o;  of rdf:type: with the owner of s, the member
//! ```
//!
//! So the members of a class lie where they are described, and a walk that starts at a class starts everywhere. The price
//! is that `(rdf:type, in)` is the one segment whose lists are in pieces: its keys are in several parts, and a part has
//! lists of keys that it does not own.
//!
//! A vertex has one owner, by its id alone ([`Placement`]). Parts number predicates as the whole graph does, as the nodes
//! of a cluster would that were told what all of them have.

use crate::plain_graph::{PlainGraph, Quad};
use rdf::{Direction, PredicateId, Tag, VertexId};
use std::collections::BTreeSet;
use store::view::{GraphScope, GraphView, Progress, SegmentKey, ViewError};
use store::{ListCursor, Lists, OwnedLists, VertexSet};

/// Which part owns a vertex. Ids are dense for each kind of term, so that blocks of them are dealt out in turn; inline
/// values by a hash.
#[derive(Clone, Copy, Debug)]
pub struct Placement {
    /// Parts.
    pub parts: usize,
    /// Ids of one kind that are together: two to the power of it.
    pub shift: u32,
    /// `rdf:type`.
    pub kind: VertexId,
}

impl Placement {
    /// The part that owns a vertex.
    pub fn owner(&self, vertex: VertexId) -> usize {
        let slot = match vertex.tag() {
            Some(tag) if tag.is_inline() => vertex.bits().wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32,
            _ => vertex.payload() >> self.shift,
        };
        (slot % self.parts as u64) as usize
    }

    /// Whether a part has all there is of a vertex. A term that exists in a query only has no edges, so everybody does.
    pub fn is_owned(&self, vertex: VertexId, part: usize) -> bool {
        vertex.has_tag(Tag::QueryLocal) || self.owner(vertex) == part
    }
}

/// A graph in parts.
#[derive(Debug)]
pub struct Cut<P> {
    /// Who owns what.
    pub placement: Placement,
    /// By number.
    pub parts: Vec<P>,
}

impl<P: GraphView> Cut<P> {
    /// The segment whose lists are in pieces.
    pub fn pieces(&self) -> Option<SegmentKey> {
        let predicate = self.parts[0].predicate_id(self.placement.kind)?;
        Some(SegmentKey {
            predicate,
            direction: Direction::In,
        })
    }
}

impl Cut<PlainGraph> {
    /// The parts of these quads.
    pub fn of(quads: &[Quad], placement: Placement) -> Cut<PlainGraph> {
        let predicates: BTreeSet<VertexId> = quads.iter().map(|quad| quad.1).collect();
        let part = |here: usize| {
            let owned = |vertex: VertexId| placement.owner(vertex) == here;
            let halves = |end: &dyn Fn(&Quad) -> VertexId| -> Vec<Quad> {
                let quads = quads.iter().filter(|quad| owned(end(quad)));
                quads.copied().collect()
            };
            let outgoing = halves(&|quad| quad.0);
            let incoming = halves(&|quad| {
                if quad.1 == placement.kind {
                    quad.0
                } else {
                    quad.2
                }
            });
            PlainGraph::of_halves(predicates.clone(), &outgoing, &incoming)
        };
        Cut {
            placement,
            parts: (0..placement.parts).map(part).collect(),
        }
    }
}

impl<'v, V: GraphView> Cut<Owned<'v, V>> {
    /// The parts of a graph that stays whole.
    pub fn over(whole: &'v V, placement: Placement) -> Cut<Owned<'v, V>> {
        let part = |here| Owned {
            whole,
            placement,
            here,
        };
        Cut {
            placement,
            parts: (0..placement.parts).map(part).collect(),
        }
    }
}

/// What one part owns of a graph that is whole: as if it had been cut, without a copy. For large graphs; each set that is
/// asked for is looked through.
#[derive(Debug)]
pub struct Owned<'v, V> {
    whole: &'v V,
    placement: Placement,
    here: usize,
}

impl<V: GraphView> Owned<'_, V> {
    fn owns(&self, vertex: VertexId) -> bool {
        self.placement.is_owned(vertex, self.here)
    }

    fn is_in_pieces(&self, segment: SegmentKey) -> bool {
        segment.direction == Direction::In
            && self.whole.predicate_id(self.placement.kind) == Some(segment.predicate)
    }

    fn owned(&self, set: &VertexSet<'_>) -> Result<VertexSet<'static>, ViewError> {
        let mut vertices = Vec::new();
        set.decode(0, set.len(), &mut vertices)?;
        vertices.retain(|vertex| self.owns(*vertex));
        Ok(VertexSet::from_sorted(vertices))
    }
}

impl<V: GraphView> GraphView for Owned<'_, V> {
    fn predicate_id(&self, vertex: VertexId) -> Option<PredicateId> {
        self.whole.predicate_id(vertex)
    }

    fn predicate_vertex(&self, predicate: PredicateId) -> VertexId {
        self.whole.predicate_vertex(predicate)
    }

    fn predicates(&self) -> Vec<PredicateId> {
        self.whole.predicates()
    }

    fn named_graphs(&self) -> Result<Vec<VertexId>, ViewError> {
        self.whole.named_graphs()
    }

    fn keys(&self, segment: SegmentKey) -> Result<VertexSet<'_>, ViewError> {
        let keys = self.whole.keys(segment)?;
        if self.is_in_pieces(segment) {
            // Any class may have a member here.
            return Ok(keys);
        }
        self.owned(&keys)
    }

    fn vertices(&self, direction: Direction) -> Result<VertexSet<'_>, ViewError> {
        self.owned(&self.whole.vertices(direction)?)
    }

    fn keys_of_graph(
        &self,
        segment: SegmentKey,
        graph: VertexId,
        keys: &mut Vec<VertexId>,
    ) -> Result<(), ViewError> {
        let mut all = Vec::new();
        self.whole.keys_of_graph(segment, graph, &mut all)?;
        let is_in_pieces = self.is_in_pieces(segment);
        keys.extend(all.iter().filter(|key| is_in_pieces || self.owns(**key)));
        Ok(())
    }

    fn edges(&self, segment: SegmentKey, scope: GraphScope<'_>) -> Result<Option<u64>, ViewError> {
        // How many of them are owned is not known.
        Ok(self
            .whole
            .edges(segment, scope)?
            .filter(|edges| *edges == 0))
    }

    fn neighbours(
        &self,
        segment: SegmentKey,
        vertex: VertexId,
        scope: GraphScope<'_>,
    ) -> Result<VertexSet<'_>, ViewError> {
        let set = self.whole.neighbours(segment, vertex, scope)?;
        if self.is_in_pieces(segment) {
            return self.owned(&set);
        }
        Ok(if self.owns(vertex) {
            set
        } else {
            VertexSet::empty()
        })
    }

    fn lists<'v>(
        &'v self,
        segment: SegmentKey,
        keys: &[VertexId],
        scope: GraphScope<'_>,
        lists: &mut Lists<'v>,
    ) -> Result<Progress, ViewError> {
        if !self.is_in_pieces(segment) {
            assert!(
                keys.iter().all(|key| self.owns(*key)),
                "a part is asked for what it owns"
            );
            return self.whole.lists(segment, keys, scope, lists);
        }
        let mut whole = Lists::new();
        let progress = self.whole.lists(segment, keys, scope, &mut whole)?;
        let mut rows = OwnedRows::default();
        rows.read(&whole, scope)?;
        lists.refill_owned(whole.is_exact(), |owned| {
            for list in 0..keys.len() {
                rows.copy(list, owned, |vertex| self.owns(vertex));
            }
        });
        Ok(progress)
    }

    fn predicates_of(
        &self,
        direction: Direction,
        vertices: &[VertexId],
        predicates: &mut Vec<PredicateId>,
        ends: &mut Vec<u32>,
    ) -> Result<Progress, ViewError> {
        self.whole
            .predicates_of(direction, vertices, predicates, ends)
    }
}

/// The rows of lists, read out.
#[derive(Default)]
pub(crate) struct OwnedRows {
    pub(crate) neighbours: Vec<VertexId>,
    pub(crate) graphs: Vec<VertexId>,
    /// Where each list begins, and the last one ends.
    starts: Vec<usize>,
}

impl OwnedRows {
    /// Reads all rows.
    pub(crate) fn read(
        &mut self,
        lists: &Lists<'_>,
        scope: GraphScope<'_>,
    ) -> Result<(), ViewError> {
        let mut numbers = Vec::new();
        let graphs = scope.binds_graph().then_some(&mut self.graphs);
        let mut cursor = ListCursor::default();
        let neighbours = &mut self.neighbours;
        lists.expand(&mut cursor, usize::MAX, &mut numbers, neighbours, graphs)?;
        let begins = |list: usize| numbers.partition_point(|number| (*number as usize) < list);
        self.starts = (0..=lists.len()).map(begins).collect();
        Ok(())
    }

    /// The rows of a list.
    pub(crate) fn list(&self, list: usize) -> std::ops::Range<usize> {
        self.starts[list]..self.starts[list + 1]
    }

    /// Appends a list's rows whose neighbour is wanted.
    fn copy(&self, list: usize, owned: &mut OwnedLists, wanted: impl Fn(VertexId) -> bool) {
        for row in self.list(list) {
            if wanted(self.neighbours[row]) {
                owned.neighbours.push(self.neighbours[row]);
                owned.graphs.extend(self.graphs.get(row));
            }
        }
        owned.ends.push(owned.neighbours.len());
    }
}
