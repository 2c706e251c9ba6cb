//! A view that lets every lookup wait once.

use rdf::{Direction, PredicateId, VertexId};
use std::collections::HashSet;
use std::sync::Mutex;
use store::{GraphScope, GraphView, Lists, Progress, SegmentKey, Ticket, VertexSet, ViewError};

pub struct Stuttering<'s, V> {
    view: &'s V,
    asked: Mutex<HashSet<(SegmentKey, Vec<VertexId>)>>,
}

impl<'s, V> Stuttering<'s, V> {
    pub fn new(view: &'s V) -> Self {
        Stuttering {
            view,
            asked: Mutex::default(),
        }
    }

    fn waits(&self, segment: SegmentKey, keys: &[VertexId]) -> bool {
        let mut asked = self.asked.lock().expect("nobody panics");
        let key = (segment, keys.to_vec());
        !asked.remove(&key) && asked.insert(key)
    }
}

impl<V: GraphView> GraphView for Stuttering<'_, V> {
    fn predicate_id(&self, vertex: VertexId) -> Option<PredicateId> {
        self.view.predicate_id(vertex)
    }
    fn predicate_vertex(&self, predicate: PredicateId) -> VertexId {
        self.view.predicate_vertex(predicate)
    }
    fn predicates(&self) -> Vec<PredicateId> {
        self.view.predicates()
    }
    fn named_graphs(&self) -> Result<Vec<VertexId>, ViewError> {
        self.view.named_graphs()
    }
    fn keys(&self, segment: SegmentKey) -> Result<VertexSet<'_>, ViewError> {
        self.view.keys(segment)
    }
    fn vertices(&self, direction: Direction) -> Result<VertexSet<'_>, ViewError> {
        self.view.vertices(direction)
    }
    fn keys_of_graph(
        &self,
        segment: SegmentKey,
        graph: VertexId,
        keys: &mut Vec<VertexId>,
    ) -> Result<(), ViewError> {
        self.view.keys_of_graph(segment, graph, keys)
    }
    fn edges(&self, segment: SegmentKey, scope: GraphScope<'_>) -> Result<Option<u64>, ViewError> {
        self.view.edges(segment, scope)
    }
    fn neighbours(
        &self,
        segment: SegmentKey,
        vertex: VertexId,
        scope: GraphScope<'_>,
    ) -> Result<VertexSet<'_>, ViewError> {
        self.view.neighbours(segment, vertex, scope)
    }
    fn lists<'v>(
        &'v self,
        segment: SegmentKey,
        keys: &[VertexId],
        scope: GraphScope<'_>,
        lists: &mut Lists<'v>,
    ) -> Result<Progress, ViewError> {
        if self.waits(segment, keys) {
            return Ok(Progress::Pending(Ticket(7)));
        }
        self.view.lists(segment, keys, scope, lists)
    }
    fn predicates_of(
        &self,
        direction: Direction,
        vertices: &[VertexId],
        predicates: &mut Vec<PredicateId>,
        ends: &mut Vec<u32>,
    ) -> Result<Progress, ViewError> {
        let segment = SegmentKey {
            predicate: PredicateId::SIGNATURE,
            direction,
        };
        if self.waits(segment, vertices) {
            return Ok(Progress::Pending(Ticket(7)));
        }
        self.view
            .predicates_of(direction, vertices, predicates, ends)
    }
}
