//! A window answers as a graph of plain vectors does that was given the quads that arrived: random slices, repeated and
//! in named graphs, every question of the seam under every scope.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use rdf::{Direction, PredicateId, Tag, VertexId};
use std::sync::Arc;
use store::delta::IdQuad;
use store::view::{GraphScope, GraphView, Progress, SegmentKey};
use store::window::{StreamView, WindowAndStored};
use store::{ListCursor, Lists, Slice, VertexSet, Window};
use testkit::plain_graph::PlainGraph;
use testkit::random::Random;
use testkit::seeds;

fn iri(number: usize) -> VertexId {
    VertexId::new(Tag::Iri, number as u64)
}

fn vertex(random: &mut Random) -> VertexId {
    match random.below(10) {
        0 => VertexId::new(Tag::Literal, random.bits() % 4),
        1 => VertexId::new(Tag::Double, (random.bits() % 3) << 50),
        _ => iri(random.below(12)),
    }
}

const GRAPHS: usize = 3;

fn graph(random: &mut Random, named_percent: usize) -> VertexId {
    if random.chance(named_percent) {
        return iri(100 + random.below(GRAPHS));
    }
    GraphScope::DEFAULT_GRAPH
}

/// The batches of a stream, of which each repeats some of the one before.
fn batches(random: &mut Random) -> Vec<Vec<IdQuad>> {
    let named_percent = [0, 0, 30][random.below(3)];
    let mut batches: Vec<Vec<IdQuad>> = Vec::new();
    for _ in 0..random.below(5) {
        let mut batch: Vec<IdQuad> = (0..random.below(30))
            .map(|_| {
                let predicate = iri(50 + random.below(4));
                let of = graph(random, named_percent);
                (vertex(random), predicate, vertex(random), of)
            })
            .collect();
        if let Some(before) = batches.last() {
            batch.extend(before.iter().filter(|_| random.chance(30)));
        }
        batches.push(batch);
    }
    batches
}

fn elements(set: &VertexSet<'_>) -> Vec<VertexId> {
    let mut elements = Vec::new();
    set.decode(0, set.len(), &mut elements).unwrap();
    elements
}

/// A segment by the predicate's name; `None` where the view does not know it.
fn segment(view: &impl GraphView, predicate: VertexId, direction: Direction) -> Option<SegmentKey> {
    let predicate = view.predicate_id(predicate)?;
    Some(SegmentKey {
        predicate,
        direction,
    })
}

/// All rows of a batch of lists: number, neighbour, graph.
fn rows<V: GraphView>(
    view: &V,
    segment: SegmentKey,
    keys: &[VertexId],
    scope: GraphScope<'_>,
) -> (Vec<(u32, VertexId, VertexId)>, Vec<u32>) {
    let mut lists = Lists::new();
    let asked = view.lists(segment, keys, scope, &mut lists).unwrap();
    assert_eq!(asked, Progress::Ready);
    let (mut numbers, mut neighbours, mut graphs) = (Vec::new(), Vec::new(), Vec::new());
    let mut cursor = ListCursor::default();
    let wants = scope.binds_graph().then_some(&mut graphs);
    assert!(
        lists
            .expand(
                &mut cursor,
                usize::MAX,
                &mut numbers,
                &mut neighbours,
                wants
            )
            .unwrap()
    );
    if !scope.binds_graph() {
        graphs.resize(neighbours.len(), GraphScope::DEFAULT_GRAPH);
    }
    let mut selected = Vec::new();
    lists
        .select(&vec![iri(3); keys.len()], &mut selected)
        .unwrap();
    let rows = numbers.into_iter().zip(neighbours).zip(graphs);
    (
        rows.map(|((number, to), graph)| (number, to, graph))
            .collect(),
        selected,
    )
}

/// What is compared.
struct Compared<'a, V> {
    view: &'a V,
    plain: &'a PlainGraph,
    /// Whether keys are those of the scope's edges alone; a union also lists those that are stored in other graphs.
    is_whole: bool,
    seed: u64,
}

impl<V: GraphView> Compared<'_, V> {
    fn same_or_more(&self, found: &[VertexId], wanted: &[VertexId]) {
        if self.is_whole {
            assert_eq!(found, wanted, "seed {}", self.seed);
        }
        assert!(found.is_sorted_by(|one, next| one < next));
        for vertex in wanted {
            assert!(found.contains(vertex), "seed {}: {vertex:?}", self.seed);
        }
    }

    fn whole(&self) {
        let named = self.view.named_graphs().unwrap();
        assert_eq!(named, self.plain.named_graphs().unwrap());
        for predicate in self.view.predicates() {
            let vertex = self.view.predicate_vertex(predicate);
            assert_eq!(self.view.predicate_id(vertex), Some(predicate));
        }
        for direction in [Direction::Out, Direction::In] {
            let [here, there] = [
                self.view.vertices(direction),
                self.plain.vertices(direction),
            ];
            self.same_or_more(&elements(&here.unwrap()), &elements(&there.unwrap()));
            for key in keys() {
                self.same_or_more(
                    &predicates_of(self.view, direction, key),
                    &predicates_of(self.plain, direction, key),
                );
            }
            for predicate in (50..55).map(iri) {
                self.segment(predicate, direction);
            }
        }
    }

    fn segment(&self, predicate: VertexId, direction: Direction) {
        let here = segment(self.view, predicate, direction);
        let there = segment(self.plain, predicate, direction);
        if self.is_whole {
            assert_eq!(here.is_some(), there.is_some());
        }
        let Some(here) = here else {
            assert!(there.is_none(), "seed {}: {predicate:?}", self.seed);
            return;
        };
        let Some(there) = there else {
            return;
        };
        let [found, wanted] = [self.view.keys(here), self.plain.keys(there)];
        self.same_or_more(&elements(&found.unwrap()), &elements(&wanted.unwrap()));
        let mut merge = [GraphScope::DEFAULT_GRAPH, iri(100), iri(101)];
        merge.sort_unstable();
        let some = [iri(100), iri(102)];
        for scope in [
            GraphScope::Default,
            GraphScope::Named(iri(100)),
            GraphScope::Named(iri(107)),
            GraphScope::Merge(&merge),
            GraphScope::Merge(&some),
            GraphScope::Union,
            GraphScope::EachNamed,
            GraphScope::EachOf(&some),
        ] {
            self.scope([here, there], scope);
        }
        for graph in [iri(100), iri(107)] {
            let (mut mine, mut theirs) = (Vec::new(), Vec::new());
            self.view.keys_of_graph(here, graph, &mut mine).unwrap();
            self.plain.keys_of_graph(there, graph, &mut theirs).unwrap();
            assert_eq!(mine, theirs, "seed {}", self.seed);
        }
    }

    fn scope(&self, [here, there]: [SegmentKey; 2], scope: GraphScope<'_>) {
        let seed = self.seed;
        assert_eq!(
            rows(self.view, here, &keys(), scope),
            rows(self.plain, there, &keys(), scope),
            "seed {seed}: {scope:?}"
        );
        // A view may not know; what it knows is so.
        let edges = self.view.edges(here, scope).unwrap();
        if let (Some(edges), Some(known)) = (edges, self.plain.edges(there, scope).unwrap()) {
            assert_eq!(edges, known, "seed {seed}: {scope:?}");
        }
        if edges == Some(0) {
            assert!(rows(self.plain, there, &keys(), scope).0.is_empty());
        }
        if scope.binds_graph() {
            return;
        }
        for key in keys() {
            let found = self.view.neighbours(here, key, scope).unwrap();
            let wanted = self.plain.neighbours(there, key, scope).unwrap();
            assert_eq!(
                elements(&found),
                elements(&wanted),
                "seed {seed}: {scope:?}"
            );
        }
    }
}

/// Vertices that are asked about, of which some are keys.
fn keys() -> Vec<VertexId> {
    (0..14)
        .map(iri)
        .chain((0..5).map(|number| VertexId::new(Tag::Literal, number)))
        .chain((0..3).map(|number| VertexId::new(Tag::Double, number << 50)))
        .collect()
}

/// The predicates of a vertex by name, ascending.
fn predicates_of(view: &impl GraphView, direction: Direction, key: VertexId) -> Vec<VertexId> {
    let (mut numbers, mut ends) = (Vec::new(), Vec::new());
    let asked = view.predicates_of(direction, &[key], &mut numbers, &mut ends);
    assert_eq!(asked.unwrap(), Progress::Ready);
    assert_eq!(ends, [numbers.len() as u32]);
    let mut names: Vec<VertexId> = numbers
        .iter()
        .map(|it| view.predicate_vertex(*it))
        .collect();
    names.sort_unstable();
    names
}

fn compare(view: &impl GraphView, plain: &PlainGraph, is_whole: bool, seed: u64) {
    let compared = Compared {
        view,
        plain,
        is_whole,
        seed,
    };
    compared.whole();
}

#[test]
fn windows_answer_as_the_graph_of_what_arrived() {
    for seed in seeds::chosen(300, 20_000) {
        let mut random = Random::new(seed);
        let batches = batches(&mut random);
        let all = batches.concat();
        let plain = PlainGraph::new(&all);
        let slices: Vec<Arc<Slice>> = batches
            .iter()
            .map(|batch| Arc::new(Slice::of(batch)))
            .collect();
        compare(&Window::new(slices.clone()), &plain, true, seed);
        // Some of them united before, as panes are.
        let cut = random.below(slices.len() + 1);
        let (united, rest) = slices.split_at(cut);
        let united: Vec<&Slice> = united.iter().map(|slice| &**slice).collect();
        let mut panes = vec![Arc::new(Slice::union(&united))];
        panes.extend_from_slice(rest);
        compare(&Window::new(panes.clone()), &plain, true, seed);
        let view: StreamView<'_, PlainGraph> = StreamView::Window(Window::new(panes));
        compare(&view, &plain, true, seed);
    }
}

/// Each key of a union has an edge in it.
fn same_keys(view: &impl GraphView, plain: &PlainGraph, seed: u64) {
    for direction in [Direction::Out, Direction::In] {
        let [here, there] = [view.vertices(direction), plain.vertices(direction)];
        assert_eq!(
            elements(&here.unwrap()),
            elements(&there.unwrap()),
            "seed {seed}"
        );
        for predicate in (50..55).map(iri) {
            let keys = |view: &dyn Fn() -> Option<Vec<VertexId>>| view().unwrap_or_default();
            let here = keys(&|| {
                Some(elements(
                    &view.keys(segment(view, predicate, direction)?).unwrap(),
                ))
            });
            let there = keys(&|| {
                Some(elements(
                    &plain.keys(segment(plain, predicate, direction)?).unwrap(),
                ))
            });
            assert_eq!(here, there, "seed {seed}");
        }
    }
}

/// The union has all that arrived, and what is stored in the graphs of its share as if it were in the default graph.
#[test]
fn unions_have_windows_and_stored_graphs() {
    let default = GraphScope::DEFAULT_GRAPH;
    for seed in seeds::chosen(300, 20_000) {
        let mut random = Random::new(seed);
        let batches = batches(&mut random);
        let stored: Vec<IdQuad> = (0..random.below(60))
            .map(|_| {
                let predicate = iri(51 + random.below(4));
                let of = graph(&mut random, 50);
                (vertex(&mut random), predicate, vertex(&mut random), of)
            })
            .collect();
        let share = [
            vec![],
            vec![default],
            vec![iri(101)],
            vec![iri(100), default, iri(107)],
        ];
        let mut share = random.pick(&share).clone();
        share.sort_unstable();
        let mut all = batches.concat();
        let of_share = stored.iter().filter(|quad| share.contains(&quad.3));
        all.extend(of_share.map(|quad| (quad.0, quad.1, quad.2, default)));
        let stored = PlainGraph::new(&stored);
        let slices = batches.iter().map(|batch| Arc::new(Slice::of(batch)));
        let view = StreamView::Union(WindowAndStored {
            window: Window::new(slices.collect()),
            stored: &stored,
            graphs: share,
        });
        compare(&view, &PlainGraph::new(&all), false, seed);
        same_keys(&view, &PlainGraph::new(&all), seed);
        let view: StreamView<'_, PlainGraph> = StreamView::Stored(&stored);
        compare(&view, &stored, true, seed);
    }
}

#[test]
fn an_empty_window_is_an_empty_graph() {
    for window in [
        Window::default(),
        Window::new(vec![Arc::new(Slice::default())]),
    ] {
        assert!(window.is_empty());
        assert!(window.predicates().is_empty());
        assert_eq!(window.predicate_id(iri(1)), None);
        assert!(window.vertices(Direction::Out).unwrap().is_empty());
        let segment = SegmentKey {
            predicate: PredicateId::SIGNATURE,
            direction: Direction::In,
        };
        assert!(window.keys(segment).unwrap().is_empty());
    }
}
