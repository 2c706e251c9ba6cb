//! A graph as plain sorted vectors, for walks: the seam [`GraphView`] by its definitions, with nothing of a store.
//!
//! A second opinion on every question that the walk asks: it shares no format, no index and no list with `store`, whose
//! snapshots and versions answer the same questions. Lists and sets own what they hold, as those of a view will that gets
//! them by message. Predicates are numbered by their place, and not as a store numbers them.
//!
//! Its two directions are edge sets of their own: a quad has an out-edge and an in-edge, and a part of a graph that was
//! cut holds one of them without the other.
//!
//! Everything costs a search in all edges of the segment, or all edges of it.

use rdf::{Direction, PredicateId, VertexId};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicBool, Ordering};
use store::view::{GraphScope, GraphView, Progress, SegmentKey, ViewError};
use store::{Lists, VertexSet};

/// Subject, predicate, object, graph; the default graph is [`GraphScope::DEFAULT_GRAPH`].
pub type Quad = (VertexId, VertexId, VertexId, VertexId);

/// An edge as its segment has it: key, neighbour, graph.
type Edge = (VertexId, VertexId, VertexId);

/// See the module's documentation.
#[derive(Debug, Default)]
pub struct PlainGraph {
    /// By number, from [`PredicateId::FIRST_FREE`] on.
    predicates: Vec<VertexId>,
    segments: BTreeMap<SegmentKey, BTreeSet<Edge>>,
    /// Set from outside, as a file is damaged.
    is_damaged: AtomicBool,
}

impl PlainGraph {
    /// The graph of these quads, in any order and repeatedly.
    pub fn new(quads: &[Quad]) -> PlainGraph {
        let predicates: BTreeSet<VertexId> = quads.iter().map(|quad| quad.1).collect();
        PlainGraph::of_halves(predicates, quads, quads)
    }

    /// The graph that has the out-edges of some quads and the in-edges of others, in any order and repeatedly. These
    /// predicates are numbered, whether it has an edge of them or not. Asserts that no other has one.
    pub fn of_halves(
        predicates: BTreeSet<VertexId>,
        outgoing: &[Quad],
        incoming: &[Quad],
    ) -> PlainGraph {
        let mut graph = PlainGraph {
            predicates: predicates.into_iter().collect(),
            segments: BTreeMap::new(),
            is_damaged: AtomicBool::new(false),
        };
        for (direction, quads) in [(Direction::Out, outgoing), (Direction::In, incoming)] {
            for &(subject, predicate, object, of) in quads {
                let predicate = graph.predicate_id(predicate);
                let segment = SegmentKey {
                    predicate: predicate.expect("a quad's predicate is numbered"),
                    direction,
                };
                let edge = match direction {
                    Direction::Out => (subject, object, of),
                    Direction::In => (object, subject, of),
                };
                graph.segments.entry(segment).or_default().insert(edge);
            }
        }
        graph
    }

    /// From now on whatever is read of it may be wrong, which it says when it is asked.
    pub fn damage_it(&self) {
        self.is_damaged.store(true, Ordering::Relaxed);
    }

    fn edges_of(&self, segment: SegmentKey) -> impl Iterator<Item = Edge> {
        self.segments.get(&segment).into_iter().flatten().copied()
    }

    /// The rows of a key within a scope, ascending: neighbour, graph. Of a scope that does not bind the graph each
    /// neighbour once.
    fn rows(
        &self,
        segment: SegmentKey,
        key: VertexId,
        scope: GraphScope<'_>,
    ) -> Vec<(VertexId, VertexId)> {
        let least = (key, VertexId::from_bits(0), VertexId::from_bits(0));
        let most = VertexId::from_bits(u64::MAX);
        let edges = self.segments.get(&segment).into_iter();
        let edges = edges.flat_map(|edges| edges.range(least..=(key, most, most)));
        let mut rows: Vec<_> = edges
            .filter(|edge| admits(scope, edge.2))
            .map(|edge| (edge.1, edge.2))
            .collect();
        if !scope.binds_graph() {
            rows.dedup_by_key(|row| row.0);
        }
        rows
    }

    /// Whether no edge of a segment has a named graph, so that a scope takes all of them or none.
    fn is_plain(&self, segment: SegmentKey) -> bool {
        self.edges_of(segment)
            .all(|edge| edge.2 == GraphScope::DEFAULT_GRAPH)
    }
}

fn admits(scope: GraphScope<'_>, graph: VertexId) -> bool {
    let default = GraphScope::DEFAULT_GRAPH;
    match scope {
        GraphScope::Default => graph == default,
        GraphScope::Named(one) => graph == one && graph != default,
        GraphScope::Merge(graphs) => graphs.contains(&graph),
        GraphScope::Union => true,
        GraphScope::EachNamed => graph != default,
        GraphScope::EachOf(graphs) => graph != default && graphs.contains(&graph),
    }
}

fn set_of(vertices: impl Iterator<Item = VertexId>) -> VertexSet<'static> {
    let vertices: BTreeSet<VertexId> = vertices.collect();
    VertexSet::from_sorted(vertices.into_iter().collect())
}

impl GraphView for PlainGraph {
    fn damage(&self) -> Option<ViewError> {
        let is_damaged = self.is_damaged.load(Ordering::Relaxed);
        is_damaged.then(|| ViewError::Inconsistent {
            file: "plain".to_owned(),
            what: "it was damaged".to_owned(),
        })
    }

    fn predicate_id(&self, vertex: VertexId) -> Option<PredicateId> {
        let place = self.predicates.binary_search(&vertex).ok()?;
        Some(PredicateId(PredicateId::FIRST_FREE.0 + place as u32))
    }

    fn predicate_vertex(&self, predicate: PredicateId) -> VertexId {
        self.predicates[(predicate.0 - PredicateId::FIRST_FREE.0) as usize]
    }

    fn predicates(&self) -> Vec<PredicateId> {
        let first = PredicateId::FIRST_FREE.0;
        (first..first + self.predicates.len() as u32)
            .map(PredicateId)
            .collect()
    }

    fn named_graphs(&self) -> Result<Vec<VertexId>, ViewError> {
        let edges = self.segments.values().flatten();
        let graphs: BTreeSet<VertexId> = edges.map(|edge| edge.2).collect();
        let is_named = |graph: &VertexId| *graph != GraphScope::DEFAULT_GRAPH;
        Ok(graphs.into_iter().filter(is_named).collect())
    }

    fn keys(&self, segment: SegmentKey) -> Result<VertexSet<'_>, ViewError> {
        if segment.predicate == PredicateId::SIGNATURE {
            return self.vertices(segment.direction);
        }
        Ok(set_of(self.edges_of(segment).map(|edge| edge.0)))
    }

    fn vertices(&self, direction: Direction) -> Result<VertexSet<'_>, ViewError> {
        let of_direction = |(segment, _): &(&SegmentKey, _)| segment.direction == direction;
        let edges = self.segments.iter().filter(of_direction);
        let edges = edges.flat_map(|(_, edges)| edges);
        Ok(set_of(edges.map(|edge| edge.0)))
    }

    fn keys_of_graph(
        &self,
        segment: SegmentKey,
        graph: VertexId,
        keys: &mut Vec<VertexId>,
    ) -> Result<(), ViewError> {
        let within = |edge: &Edge| admits(GraphScope::Named(graph), edge.2);
        let found: BTreeSet<VertexId> = self
            .edges_of(segment)
            .filter(within)
            .map(|edge| edge.0)
            .collect();
        keys.extend(found);
        Ok(())
    }

    fn edges(&self, segment: SegmentKey, scope: GraphScope<'_>) -> Result<Option<u64>, ViewError> {
        let is_one = matches!(
            scope,
            GraphScope::Default | GraphScope::Named(_) | GraphScope::Union
        );
        if !is_one {
            return Ok(None);
        }
        let all = self.edges_of(segment).count() as u64;
        let within = self.edges_of(segment);
        let within = within.filter(|edge| admits(scope, edge.2)).count();
        Ok(match within {
            0 => Some(0),
            _ if self.is_plain(segment) => Some(all),
            _ => None,
        })
    }

    fn neighbours(
        &self,
        segment: SegmentKey,
        vertex: VertexId,
        scope: GraphScope<'_>,
    ) -> Result<VertexSet<'_>, ViewError> {
        assert!(!scope.binds_graph(), "a set has no place for graphs");
        let rows = self.rows(segment, vertex, scope);
        Ok(set_of(rows.into_iter().map(|row| row.0)))
    }

    fn lists<'v>(
        &'v self,
        segment: SegmentKey,
        keys: &[VertexId],
        scope: GraphScope<'_>,
        lists: &mut Lists<'v>,
    ) -> Result<Progress, ViewError> {
        lists.refill_owned(self.is_plain(segment), |owned| {
            for (at, &key) in keys.iter().enumerate() {
                // A key that comes twice side by side has one list.
                if at > 0 && keys[at - 1] == key {
                    owned.lists.push(owned.lists[at - 1].clone());
                    continue;
                }
                let begin = owned.neighbours.len();
                for (neighbour, graph) in self.rows(segment, key, scope) {
                    owned.neighbours.push(neighbour);
                    if scope.binds_graph() {
                        owned.graphs.push(graph);
                    }
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
            let of_vertex = self.segments.iter().filter(|(segment, edges)| {
                segment.direction == direction && edges.iter().any(|edge| edge.0 == vertex)
            });
            predicates.extend(of_vertex.map(|(segment, _)| segment.predicate));
            ends.push(predicates.len() as u32);
        }
        Ok(Progress::Ready)
    }
}
