//! Random graphs and the naive model that the store is compared with.

#![allow(dead_code)]

use rdf::{Direction, Tag, VertexId};
use std::collections::{BTreeMap, BTreeSet};
use store::testing::IdQuad;
use store::{GraphScope, SegmentKey};
use testkit::random::Random;

/// Random numbers of 64 bits: the same seed, the same graph.
pub struct Numbers(Random);

impl Numbers {
    pub fn new(seed: u64) -> Numbers {
        Numbers(Random::new(seed))
    }

    pub fn below(&mut self, bound: u64) -> u64 {
        self.0.bits() % bound
    }
}

/// What a random graph looks like.
#[derive(Clone, Debug)]
pub struct Shape {
    pub seed: u64,
    pub quads: u64,
    pub predicates: u64,
    pub graphs: u64,
    /// 0: dense IRIs; 1: mixed kinds; 2: scattered ids of all kinds.
    pub vertices: u64,
    /// A class with this many members.
    pub hub: u64,
}

pub const TYPE: VertexId = VertexId::from_bits(5);

pub fn vertex(numbers: &mut Numbers, kind: u64) -> VertexId {
    let iri = VertexId::new(Tag::Iri, 10 + numbers.below(700));
    match (kind, numbers.below(8)) {
        (0, _) | (_, 0..=2) => iri,
        (_, 3) => VertexId::new(Tag::Literal, numbers.below(300)),
        (_, 4) => VertexId::new(Tag::Integer, (1 << 59) + numbers.below(200)),
        (1, _) => VertexId::new(Tag::Blank, numbers.below(50)),
        (_, 5) => VertexId::new(Tag::Double, numbers.below(1 << 59)),
        (_, 6) => VertexId::new(Tag::Iri, numbers.below(1 << 40)),
        (_, _) => VertexId::new(Tag::Iri, 100_000 + 37 * numbers.below(5000)),
    }
}

pub fn quads_of(shape: &Shape) -> Vec<IdQuad> {
    let mut numbers = Numbers::new(shape.seed);
    let mut quads = Vec::new();
    for _ in 0..shape.quads {
        let subject = vertex(&mut numbers, shape.vertices);
        let predicate = match numbers.below(shape.predicates) {
            0 => TYPE,
            number => VertexId::new(Tag::Iri, 1000 + 3 * number),
        };
        let object = match predicate {
            TYPE => VertexId::new(Tag::Iri, 20 + numbers.below(6)),
            _ => vertex(&mut numbers, shape.vertices),
        };
        let graph = match numbers.below(shape.graphs + 1) {
            0 => GraphScope::DEFAULT_GRAPH,
            graph => VertexId::new(Tag::Iri, 50 + 10 * graph),
        };
        quads.push((subject, predicate, object, graph));
    }
    let hub = VertexId::new(Tag::Iri, 20);
    let start = numbers.below(100_000);
    for member in 0..shape.hub {
        let subject = VertexId::new(Tag::Iri, start + 2 * member + numbers.below(2));
        quads.push((subject, TYPE, hub, GraphScope::DEFAULT_GRAPH));
    }
    quads
}

/// Key -> neighbour -> graphs.
pub type NaiveLists = BTreeMap<VertexId, BTreeMap<VertexId, BTreeSet<VertexId>>>;

/// The naive graph: (vertex of the predicate, direction) -> key -> neighbour -> graphs.
#[derive(Default)]
pub struct Model {
    pub segments: BTreeMap<(VertexId, Direction), NaiveLists>,
    pub graphs: BTreeSet<VertexId>,
}

impl Model {
    pub fn of(quads: &[IdQuad]) -> Model {
        let mut model = Model::default();
        for &(subject, predicate, object, graph) in quads {
            for (direction, key, neighbour) in [
                (Direction::Out, subject, object),
                (Direction::In, object, subject),
            ] {
                let segment = model.segments.entry((predicate, direction)).or_default();
                segment
                    .entry(key)
                    .or_default()
                    .entry(neighbour)
                    .or_default()
                    .insert(graph);
            }
            if graph != GraphScope::DEFAULT_GRAPH {
                model.graphs.insert(graph);
            }
        }
        model
    }

    /// Rows of a list as `Lists::expand` gives them; the graph is unbound where not asked for.
    pub fn rows(
        &self,
        predicate: VertexId,
        direction: Direction,
        key: VertexId,
        scope: GraphScope<'_>,
    ) -> Vec<(VertexId, VertexId)> {
        let mut rows = Vec::new();
        let list = self
            .segments
            .get(&(predicate, direction))
            .and_then(|keys| keys.get(&key));
        for (&neighbour, graphs) in list.into_iter().flatten() {
            let is_named = |graph: &VertexId| *graph != GraphScope::DEFAULT_GRAPH;
            let mut within = graphs.iter().copied().filter(|graph| match scope {
                GraphScope::Default => !is_named(graph),
                GraphScope::Named(named) => *graph == named,
                GraphScope::Merge(merged) => merged.contains(graph),
                GraphScope::Union => true,
                GraphScope::EachNamed => is_named(graph),
                GraphScope::EachOf(some) => is_named(graph) && some.contains(graph),
            });
            if scope.binds_graph() {
                rows.extend(within.map(|graph| (neighbour, graph)));
            } else if within.next().is_some() {
                rows.push((neighbour, VertexId::UNBOUND));
            }
        }
        rows
    }
}

pub fn key_of(
    view: &impl store::GraphView,
    predicate: VertexId,
    direction: Direction,
) -> SegmentKey {
    let predicate = view
        .predicate_id(predicate)
        .expect("the predicate has edges");
    SegmentKey {
        predicate,
        direction,
    }
}

/// Every quad of a snapshot, read along one direction.
pub fn dump(
    view: &impl store::GraphView,
    direction: Direction,
) -> Result<BTreeSet<IdQuad>, store::ViewError> {
    let mut quads = BTreeSet::new();
    for predicate in view.predicates() {
        let segment = SegmentKey {
            predicate,
            direction,
        };
        let mut keys = Vec::new();
        view.keys(segment)?.decode(0, u64::MAX, &mut keys)?;
        for scope in [GraphScope::Default, GraphScope::EachNamed] {
            let mut lists = store::Lists::new();
            let _ = view.lists(segment, &keys, scope, &mut lists)?;
            let (mut rows, mut neighbours, mut graphs) = (vec![], vec![], vec![]);
            let wanted = scope.binds_graph().then_some(&mut graphs);
            let mut cursor = store::ListCursor::default();
            assert!(lists.expand(&mut cursor, usize::MAX, &mut rows, &mut neighbours, wanted)?);
            for (place, (&row, &neighbour)) in rows.iter().zip(&neighbours).enumerate() {
                let graph = graphs
                    .get(place)
                    .copied()
                    .unwrap_or(GraphScope::DEFAULT_GRAPH);
                let vertex = view.predicate_vertex(predicate);
                quads.insert(match direction {
                    Direction::Out => (keys[row as usize], vertex, neighbour, graph),
                    Direction::In => (neighbour, vertex, keys[row as usize], graph),
                });
            }
        }
    }
    Ok(quads)
}
