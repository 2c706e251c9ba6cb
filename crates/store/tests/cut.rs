//! A graph cut into parts: every part answers as the half quads that a naive placement gives it, every question of
//! [`GraphView`] over random graphs; and through random changes, merges, checkpoints and two numbers read at once.
//!
//! The naive parts are plain vectors (`testkit::plain_graph`) and share no format, no index and no list with the store. What
//! all parts answer together is the answer of the whole.

#![allow(clippy::unwrap_used)] // a test's helpers may fail as a test does

mod stores;

use crate::common::{Numbers, Shape, TYPE, quads_of};
use rdf::placement::Placement;
use rdf::{Direction, Tag, VertexId};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use store::check::{IdLimits, PartsCheck, check_graph};
use store::cut::{Cut, CutError, PartView};
use store::delta::{Change, Layer, Version, merge, write_base};
use store::part_of::holder;
use store::parts::MemoryParts;
use store::testing::{IdQuad, snapshot_of, write_parts};
use store::{GraphScope, GraphView, ListCursor, Lists, Prefixes, SegmentKey, Snapshot, VertexSet};
use testkit::plain_graph::PlainGraph;

const DIRECTIONS: [Direction; 2] = [Direction::Out, Direction::In];
const WHOLE: u128 = 77;

pub fn placement(nodes: u16, shift: u8) -> Placement {
    Placement::in_turn(nodes, shift, 64).unwrap()
}

fn cut(whole: &Snapshot, placement: &Placement) -> Vec<Snapshot> {
    let cut = Cut::new(whole, placement.clone(), WHOLE).unwrap();
    cut.in_memory().unwrap()
}

/// The quads whose edges of a direction lie with a node.
fn halves(
    quads: &BTreeSet<IdQuad>,
    placement: &Placement,
    direction: Direction,
    node: u16,
) -> Vec<IdQuad> {
    let is_held = |&&(subject, predicate, object, _): &&IdQuad| {
        let (key, neighbour) = match direction {
            Direction::Out => (subject, object),
            Direction::In => (object, subject),
        };
        holder(placement, direction, predicate == TYPE, key, neighbour) == node
    };
    quads.iter().filter(is_held).copied().collect()
}

/// What a part is to answer.
struct Expected {
    plain: PlainGraph,
    predicates: BTreeSet<VertexId>,
    graphs: Vec<VertexId>,
    vertices: Vec<VertexId>,
    out: Vec<IdQuad>,
}

impl Expected {
    fn of(quads: &BTreeSet<IdQuad>, placement: &Placement, node: u16) -> Expected {
        let [out, into] = DIRECTIONS.map(|direction| halves(quads, placement, direction, node));
        let ends = quads.iter().flat_map(|quad| [quad.0, quad.2]);
        let here = || out.iter().chain(&into);
        let predicates: BTreeSet<VertexId> = here().map(|quad| quad.1).collect();
        let graphs: BTreeSet<VertexId> = quads.iter().map(|quad| quad.3).collect();
        Expected {
            plain: PlainGraph::of_halves(predicates.clone(), &out, &into),
            predicates,
            graphs: graphs.into_iter().collect(),
            vertices: ends.collect::<BTreeSet<_>>().into_iter().collect(),
            out,
        }
    }

    fn scopes(&self) -> Vec<GraphScope<'_>> {
        let named = self.graphs.iter();
        let named = named.filter(|graph| **graph != GraphScope::DEFAULT_GRAPH);
        let mut scopes = vec![
            GraphScope::Default,
            GraphScope::Union,
            GraphScope::EachNamed,
            GraphScope::Merge(&self.graphs),
            GraphScope::EachOf(&self.graphs),
        ];
        scopes.extend(named.take(2).map(|graph| GraphScope::Named(*graph)));
        scopes
    }

    /// Compares every answer of a part.
    fn check(&self, part: &dyn GraphView, case: &str) {
        let names = part.predicates().into_iter();
        let names = names.map(|number| part.predicate_vertex(number));
        assert_eq!(names.collect::<BTreeSet<_>>(), self.predicates, "{case}");
        self.check_answers(part, case);
    }

    /// Compares every answer but which predicates there are.
    fn check_answers(&self, part: &dyn GraphView, case: &str) {
        let plain = &self.plain;
        assert_eq!(
            part.named_graphs().unwrap(),
            plain.named_graphs().unwrap(),
            "{case}"
        );
        for direction in DIRECTIONS {
            let [found, wanted] = [part, plain as &dyn GraphView]
                .map(|view| all_of(&view.vertices(direction).unwrap()));
            assert_eq!(found, wanted, "{case}: vertices {direction:?}");
            let some = self.vertices.iter().step_by(1 + self.vertices.len() / 300);
            let some: Vec<VertexId> = some.copied().collect();
            assert_eq!(
                predicates_of(part, direction, &some),
                predicates_of(plain, direction, &some),
                "{case}: predicates {direction:?}"
            );
            for &predicate in &self.predicates {
                self.check_segment(part, predicate, direction, case);
            }
        }
    }

    fn check_segment(
        &self,
        part: &dyn GraphView,
        predicate: VertexId,
        direction: Direction,
        case: &str,
    ) {
        let views = [part, &self.plain as &dyn GraphView];
        let segments = views.map(|view| SegmentKey {
            predicate: view.predicate_id(predicate).unwrap(),
            direction,
        });
        let both = || views.iter().zip(segments);
        let keys: Vec<_> = both()
            .map(|(view, segment)| all_of(&view.keys(segment).unwrap()))
            .collect();
        assert_eq!(
            keys[0], keys[1],
            "{case}: keys of {predicate:?} {direction:?}"
        );
        for &graph in &self.graphs {
            let keys: Vec<_> = both()
                .map(|(view, segment)| {
                    let mut keys = Vec::new();
                    view.keys_of_graph(segment, graph, &mut keys).unwrap();
                    keys
                })
                .collect();
            assert_eq!(
                keys[0], keys[1],
                "{case}: keys of {predicate:?} in {graph:?}"
            );
        }
        for scope in self.scopes() {
            let edges: Vec<_> = both()
                .map(|(view, segment)| view.edges(segment, scope).unwrap())
                .collect();
            let rows: Vec<_> = both()
                .map(|(view, segment)| rows_of(*view, segment, &self.vertices, scope))
                .collect();
            assert_eq!(
                rows[0], rows[1],
                "{case}: lists of {predicate:?} {direction:?} in {scope:?}"
            );
            // That there is none may be said of any scope.
            let is_told = edges[0] == edges[1] || edges[0] == Some(0) && rows[0].is_empty();
            assert!(edges[0].is_none() || is_told, "{case}: {edges:?}");
            if !scope.binds_graph() {
                for &vertex in self.vertices.iter().step_by(7) {
                    let sets: Vec<_> = both()
                        .map(|(view, segment)| view.neighbours(segment, vertex, scope).unwrap())
                        .collect();
                    assert_eq!(all_of(&sets[0]), all_of(&sets[1]), "{case}: {vertex:?}");
                }
            }
        }
    }
}

fn all_of(set: &VertexSet<'_>) -> Vec<VertexId> {
    let mut all = Vec::new();
    set.decode(0, u64::MAX, &mut all).unwrap();
    all
}

/// The rows of each of these keys: place of the key, neighbour, graph.
fn rows_of(
    view: &dyn GraphView,
    segment: SegmentKey,
    keys: &[VertexId],
    scope: GraphScope<'_>,
) -> Vec<(u32, VertexId, Option<VertexId>)> {
    let mut lists = Lists::new();
    let _ = view.lists(segment, keys, scope, &mut lists).unwrap();
    let (mut rows, mut neighbours, mut graphs) = (Vec::new(), Vec::new(), Vec::new());
    let binds = scope.binds_graph().then_some(&mut graphs);
    let mut cursor = ListCursor::default();
    lists
        .expand(&mut cursor, usize::MAX, &mut rows, &mut neighbours, binds)
        .unwrap();
    let graph = |at: usize| graphs.get(at).copied();
    let rows = rows.iter().zip(&neighbours).enumerate();
    rows.map(|(at, (row, neighbour))| (*row, *neighbour, graph(at)))
        .collect()
}

fn predicates_of(
    view: &dyn GraphView,
    direction: Direction,
    vertices: &[VertexId],
) -> Vec<BTreeSet<VertexId>> {
    let (mut predicates, mut ends) = (Vec::new(), Vec::new());
    let _ = view
        .predicates_of(direction, vertices, &mut predicates, &mut ends)
        .unwrap();
    let mut start = 0;
    let of = |end: u32| {
        let numbers = &predicates[std::mem::replace(&mut start, end as usize)..end as usize];
        numbers
            .iter()
            .map(|number| view.predicate_vertex(*number))
            .collect()
    };
    ends.into_iter().map(of).collect()
}

/// The out-edges or in-edges of a graph as quads.
fn edges_of(view: &dyn GraphView, direction: Direction) -> BTreeMap<IdQuad, u32> {
    let mut quads = BTreeMap::new();
    for number in view.predicates() {
        let segment = SegmentKey {
            predicate: number,
            direction,
        };
        let predicate = view.predicate_vertex(number);
        let keys = all_of(&view.keys(segment).unwrap());
        let default = rows_of(view, segment, &keys, GraphScope::Default);
        let named = rows_of(view, segment, &keys, GraphScope::EachNamed);
        for (row, neighbour, graph) in default.into_iter().chain(named) {
            let (key, graph) = (
                keys[row as usize],
                graph.unwrap_or(GraphScope::DEFAULT_GRAPH),
            );
            let quad = match direction {
                Direction::Out => (key, predicate, neighbour, graph),
                Direction::In => (neighbour, predicate, key, graph),
            };
            *quads.entry(quad).or_default() += 1;
        }
    }
    quads
}

/// What the parts have together: each half of each quad once.
fn check_union(parts: &[&dyn GraphView], quads: &BTreeSet<IdQuad>, case: &str) {
    for direction in DIRECTIONS {
        let mut all: BTreeMap<IdQuad, u32> = BTreeMap::new();
        for part in parts {
            for (quad, times) in edges_of(*part, direction) {
                *all.entry(quad).or_default() += times;
            }
        }
        assert!(
            all.values().all(|times| *times == 1),
            "{case}: a half twice"
        );
        assert!(all.keys().eq(quads), "{case}: {direction:?}");
    }
}

fn shape(numbers: &mut Numbers, seed: u64) -> Shape {
    Shape {
        seed,
        quads: [0, 30, 300][numbers.below(3) as usize],
        predicates: 1 + numbers.below(6),
        graphs: numbers.below(4),
        vertices: numbers.below(3),
        hub: [0, 0, 0, 0, 0, 0, 0, 1500][numbers.below(8) as usize],
    }
}

#[test]
fn parts_answer_as_their_half_quads() {
    for seed in testkit::seeds::chosen(40, 2000) {
        let mut numbers = Numbers::new(seed);
        let shape = shape(&mut numbers, seed);
        let quads = quads_of(&shape);
        let placement = placement(1 + (seed % 4) as u16, 2 + numbers.below(5) as u8);
        let whole = snapshot_of(&quads, Some(TYPE));
        let quads: BTreeSet<IdQuad> = quads.into_iter().collect();
        let case = format!("seed {seed}, {placement:?}, {shape:?}");
        let parts = cut(&whole, &placement);
        let mut together = PartsCheck::default();
        for (node, part) in (0..).zip(&parts) {
            assert_eq!(check_graph(part, &IdLimits::NONE), [], "{case}");
            assert_eq!(together.add_graph(part, &IdLimits::NONE), []);
            Expected::of(&quads, &placement, node).check(part, &case);
        }
        assert_eq!(together.finish(), [], "{case}");
        let views: Vec<&dyn GraphView> = parts.iter().map(|part| part as _).collect();
        check_union(&views, &quads, &case);
    }
}

/// Nodes that were told which predicates there are answer alike, by the same numbers; a number without an edge here has none.
#[test]
fn parts_number_predicates_alike() {
    for seed in 0..20 {
        let mut numbers = Numbers::new(seed);
        let quads = quads_of(&shape(&mut numbers, seed));
        let whole = snapshot_of(&quads, Some(TYPE));
        let placement = placement(3, 4);
        let table = |views: &[&dyn GraphView]| -> Vec<Vec<(VertexId, u32)>> {
            let of = |view: &&dyn GraphView| {
                let all = view.predicates().into_iter();
                all.map(|number| (view.predicate_vertex(number), number.0))
                    .collect()
            };
            views.iter().map(of).collect()
        };
        let quads: BTreeSet<IdQuad> = quads.into_iter().collect();
        let parts = cut(&whole, &placement).into_iter();
        let parts: Vec<_> = parts.map(PartView::unchanged).collect();
        let mut views: Vec<&dyn GraphView> = parts.iter().map(|part| part as _).collect();
        views.push(&whole);
        let tables = table(&views);
        assert!(tables.iter().all(|one| *one == tables[3]), "seed {seed}");
        check_union(&views[..3], &quads, "told of all");
        // In another order, as parts would have that were changed.
        let mut names: Vec<VertexId> = tables[3].iter().map(|one| one.0).collect();
        names.sort_unstable_by(|one, other| other.cmp(one));
        names.insert(0, VertexId::UNBOUND);
        let (mut others, mut nodes) = (Vec::new(), 0..);
        for part in cut(&whole, &placement) {
            let view = PartView::new(part, names.clone());
            let expected = Expected::of(&quads, &placement, nodes.next().unwrap());
            expected.check_answers(&view, &format!("seed {seed}"));
            others.push(view);
        }
        let views: Vec<&dyn GraphView> = others.iter().map(|part| part as _).collect();
        let tables = table(&views);
        assert!(tables.iter().all(|one| *one == tables[0]), "seed {seed}");
        check_union(&views, &quads, "in another order");
    }
}

/// The numbers of parts add up to those of the whole; classes are objects of each part with a member.
#[test]
fn statistics_of_parts_add_up() {
    for seed in 0..20 {
        let mut numbers = Numbers::new(seed);
        let quads = quads_of(&shape(&mut numbers, seed));
        let whole = snapshot_of(&quads, Some(TYPE));
        let parts = cut(&whole, &placement(3, 3));
        let whole = whole.statistics(usize::MAX).unwrap();
        let parts = parts
            .iter()
            .map(|part| part.statistics(usize::MAX).unwrap());
        let parts: Vec<_> = parts.collect();
        let proves = |part: &store::SnapshotStatistics| part.in_sets.is_complete;
        assert!(!parts.iter().any(proves) && parts.iter().all(|part| part.out_sets.is_complete));
        let sum =
            |of: &dyn Fn(&store::SnapshotStatistics) -> u64| parts.iter().map(of).sum::<u64>();
        assert_eq!(sum(&|part| part.quads), whole.quads);
        assert_eq!(sum(&|part| part.subjects), whole.subjects);
        for wanted in &whole.predicates {
            let of = |part: &store::SnapshotStatistics| {
                let mut all = part.predicates.iter();
                all.find(|one| one.vertex == wanted.vertex).copied()
            };
            let found: Vec<_> = parts.iter().filter_map(of).collect();
            let subjects: u64 = found.iter().map(|one| one.subjects).sum();
            let objects: u64 = found.iter().map(|one| one.objects).sum();
            let edges: u64 = found.iter().map(|one| one.edges).sum();
            assert_eq!((subjects, edges), (wanted.subjects, wanted.edges));
            if wanted.vertex != TYPE {
                assert_eq!(objects, wanted.objects);
            }
        }
        let mut classes: BTreeMap<VertexId, u64> = BTreeMap::new();
        for (class, members) in parts.iter().flat_map(|part| &part.classes) {
            *classes.entry(*class).or_default() += members;
        }
        assert!(classes.into_iter().eq(whole.classes.iter().copied()));
        let of_out = |one: &store::SnapshotStatistics| {
            let sets = one.out_sets.sets.iter();
            sets.map(|set| {
                let names = set.predicates.iter().map(|one| one.0);
                let name: Vec<VertexId> = names.chain(set.types.iter().copied()).collect();
                (name, set.vertices)
            })
            .collect::<Vec<_>>()
        };
        let mut sets: BTreeMap<Vec<VertexId>, u64> = BTreeMap::new();
        for (set, vertices) in parts.iter().flat_map(of_out) {
            *sets.entry(set).or_default() += vertices;
        }
        let wanted: BTreeMap<_, _> = of_out(&whole).into_iter().collect();
        assert_eq!(sets, wanted, "seed {seed}");
    }
}

/// A part is named by what it holds: the same cut, the same bytes; and one part is the whole.
#[test]
fn a_cut_depends_on_its_input_alone() {
    let shape = Shape {
        seed: 5,
        quads: 500,
        predicates: 6,
        graphs: 3,
        vertices: 2,
        hub: 2000,
    };
    let quads: Vec<IdQuad> = {
        let quads: BTreeSet<IdQuad> = quads_of(&shape).into_iter().collect();
        quads.into_iter().collect()
    };
    let whole = snapshot_of(&quads, Some(TYPE));
    let written = |nodes, node| {
        let files = MemoryParts::new();
        let cut = Cut::new(&whole, placement(nodes, 4), WHOLE).unwrap();
        let sizes = cut.part(node, &files).unwrap();
        (sizes, files.summaries())
    };
    assert_eq!(written(3, 1), written(3, 1));
    assert_ne!(written(3, 1).1, written(3, 2).1);
    let files = MemoryParts::new();
    write_parts(&files, &quads, Some(TYPE)).unwrap();
    let (sizes, mut one) = written(1, 0);
    one.retain(|file| file.name != "part");
    assert_eq!(one, files.summaries());
    assert_eq!(sizes.out_edges, quads.len() as u64);
    assert_eq!(sizes.in_edges, quads.len() as u64);
    assert_eq!(sizes.crossing, 0);
}

/// One part of a history.
struct Part {
    version: Version,
    node: u16,
}

impl Part {
    fn commit(&mut self, change: &Change, number: u64) {
        let effect = change.effect(&self.version).unwrap();
        let layer = Layer::build(&self.version, &effect, Some(TYPE), number..=number).unwrap();
        self.version = self.version.with_layer(Arc::new(layer), number);
    }

    fn merge(&mut self, numbers: &mut Numbers) {
        let layers = self.version.layers();
        if layers.is_empty() {
            return;
        }
        let from = numbers.below(layers.len() as u64) as usize;
        let to = from + 1 + numbers.below((layers.len() - from) as u64) as usize;
        let merged = merge(&layers[from..to], &|| false).unwrap();
        let mut layers = layers.to_vec();
        layers.splice(from..to, [Arc::new(merged)]);
        self.version = self.version.with_layers(layers);
    }

    /// A new base of an earlier version; the later layers stay.
    fn checkpoint(&mut self, earlier: &Version) {
        let files = MemoryParts::new();
        write_base(earlier, &Prefixes::default(), &files, &|| false).unwrap();
        let base = Snapshot::open(&files.freeze().unwrap()).unwrap();
        assert_eq!(base.part_of(), self.version.base().part_of());
        assert_eq!(check_graph(&base, &IdLimits::NONE), []);
        let later = self.version.layers()[earlier.layers().len()..].to_vec();
        self.version = self.version.rebased(Arc::new(base), later);
    }
}

/// Parts under change: each answers as its half quads at every number, also at one that is read beside a later one.
fn run(seed: u64) {
    let mut numbers = Numbers::new(seed);
    let shape = Shape {
        hub: 0,
        quads: [0, 40, 150][numbers.below(3) as usize],
        ..shape(&mut numbers, seed)
    };
    let pool = quads_of(&Shape {
        quads: 400,
        seed: seed + 1000,
        ..shape.clone()
    });
    let mut quads: BTreeSet<IdQuad> = quads_of(&shape).into_iter().collect();
    let placement = placement(3, 1 + numbers.below(4) as u8);
    let base: Vec<IdQuad> = quads.iter().copied().collect();
    let whole = snapshot_of(&base, Some(TYPE));
    let mut parts: Vec<Part> = (0..)
        .zip(cut(&whole, &placement))
        .map(|(node, part)| Part {
            version: Version::new(Arc::new(part), 0, Some(TYPE)),
            node,
        })
        .collect();
    for number in 1..=12 {
        let change = some_change(&quads, &pool, &mut numbers);
        let before: Vec<Version> = parts.iter().map(|part| part.version.clone()).collect();
        let quads_before = quads.clone();
        change.deletes.iter().for_each(|quad| {
            quads.remove(quad);
        });
        quads.extend(change.inserts.iter().copied());
        for (part, earlier) in parts.iter_mut().zip(&before) {
            part.commit(&change, number);
            match numbers.below(6) {
                0 | 1 => part.merge(&mut numbers),
                2 => part.checkpoint(earlier),
                _ => {}
            }
        }
        let case = format!("seed {seed}, {placement:?}, number {number}");
        for (part, earlier) in parts.iter().zip(&before) {
            Expected::of(&quads, &placement, part.node).check(&part.version, &case);
            let expected = Expected::of(&quads_before, &placement, part.node);
            expected.check(earlier, &format!("{case}, before"));
            assert_eq!(earlier.quads().unwrap(), expected.out.len() as u64);
            let statistics = part.version.statistics(usize::MAX).unwrap();
            assert_eq!(statistics.quads, part.version.quads().unwrap());
        }
        for (versions, quads) in [
            (
                parts.iter().map(|part| &part.version).collect::<Vec<_>>(),
                &quads,
            ),
            (before.iter().collect(), &quads_before),
        ] {
            let views: Vec<&dyn GraphView> = versions.into_iter().map(|one| one as _).collect();
            check_union(&views, quads, &case);
        }
    }
}

/// Quads of a pool come, some of those that are there go, and some are named in vain.
fn some_change(quads: &BTreeSet<IdQuad>, pool: &[IdQuad], numbers: &mut Numbers) -> Change {
    let share = [0, 3, 30, 100][numbers.below(4) as usize];
    let mut change = Change::default();
    for quad in quads {
        if numbers.below(100) < share {
            change.deletes.push(*quad);
        } else if numbers.below(40) == 0 {
            change.inserts.push(*quad);
        }
    }
    let count = [0, 1, 20, 60][numbers.below(4) as usize];
    for _ in 0..count {
        let quad = pool[numbers.below(pool.len() as u64) as usize];
        match numbers.below(4) {
            0 => change.deletes.push(quad),
            _ => change.inserts.push(quad),
        }
    }
    let kept: BTreeSet<IdQuad> = change.inserts.iter().copied().collect();
    change.deletes.retain(|quad| !kept.contains(quad));
    change
}

#[test]
fn parts_change_as_their_half_quads() {
    testkit::seeds::chosen(10, 1000).for_each(run);
}

fn iri(number: u64) -> VertexId {
    VertexId::new(Tag::Iri, 100 + number)
}

/// What lies where, by hand: three nodes, blocks of one id.
#[test]
fn each_kind_of_half_lies_with_its_owner() {
    let placement = Placement::in_turn(3, 0, 3).unwrap();
    let owned = |node: u64, number: u64| VertexId::new(Tag::Iri, 300 + 3 * number + node);
    let (subject, object, class) = (owned(0, 1), owned(1, 2), owned(2, 3));
    let blank = VertexId::new(Tag::Blank, 4);
    let value = VertexId::new(Tag::Integer, (1 << 59) + 7);
    let (knows, has, graph) = (iri(0), iri(1), owned(2, 9));
    let default = GraphScope::DEFAULT_GRAPH;
    let quads = [
        (subject, knows, object, default),
        (subject, TYPE, class, default),
        (subject, has, blank, graph),
        (blank, has, value, default),
    ];
    let parts = cut(&snapshot_of(&quads, Some(TYPE)), &placement);
    let lists = |node: u16, predicate, direction, key| {
        let part = &parts[usize::from(node)];
        let predicate = part.predicate_id(predicate)?;
        let segment = SegmentKey {
            predicate,
            direction,
        };
        let rows = rows_of(part, segment, &[key], GraphScope::Union);
        Some(rows.iter().map(|row| row.1).collect::<Vec<_>>())
    };
    use Direction::{In, Out};
    // A predicate with no out-edge on a node.
    assert_eq!(lists(0, knows, Out, subject), Some(vec![object]));
    assert_eq!(lists(1, knows, In, object), Some(vec![subject]));
    assert_eq!(lists(1, knows, Out, subject), Some(vec![]));
    assert_eq!(lists(2, knows, In, object), None);
    // A class owned elsewhere: its members lie with themselves.
    assert_eq!(lists(0, TYPE, In, class), Some(vec![subject]));
    assert_eq!(lists(2, TYPE, In, class), None);
    // A blank node's edges, and an inline value's.
    let (of_blank, of_value) = (placement.owner(blank), placement.owner(value));
    assert_eq!(of_blank, 1, "the fourth of blocks of one");
    assert_eq!(lists(of_blank, has, In, blank), Some(vec![subject]));
    assert_eq!(lists(of_blank, has, Out, blank), Some(vec![value]));
    assert_eq!(lists(of_value, has, In, value), Some(vec![blank]));
    // A named graph is one of the nodes that have an edge in it, whoever owns its name.
    let graphs = parts.iter().map(|part| part.named_graphs().unwrap());
    let graphs: Vec<_> = graphs.collect();
    assert_eq!(graphs, [vec![graph], vec![graph], vec![]]);
    let in_graph = |node: usize, direction| {
        let part = &parts[node];
        let segment = SegmentKey {
            predicate: part.predicate_id(has).unwrap(),
            direction,
        };
        let mut keys = Vec::new();
        part.keys_of_graph(segment, graph, &mut keys).unwrap();
        keys
    };
    assert_eq!(in_graph(0, Out), [subject]);
    assert_eq!(in_graph(1, Out), []);
    assert_eq!(in_graph(1, In), [blank]);
}

#[test]
fn parts_that_do_not_fit_are_told() {
    let quads = [(iri(1), iri(50), iri(2), GraphScope::DEFAULT_GRAPH)];
    let whole = snapshot_of(&quads, Some(TYPE));
    let parts = cut(&whole, &placement(2, 0));
    let told = |parts: &[&Snapshot]| {
        let mut check = PartsCheck::default();
        let mut findings = Vec::new();
        for part in parts {
            findings.extend(check.add_graph(part, &IdLimits::NONE));
        }
        findings.extend(check.finish());
        let texts = findings.iter().map(ToString::to_string);
        texts.collect::<Vec<_>>().join("; ")
    };
    assert_eq!(told(&[&parts[0], &parts[1]]), "");
    assert!(told(&[&parts[0]]).contains("part 1 of 2 is missing"));
    assert!(told(&[&parts[0], &parts[0]]).contains("part 0 is there twice"));
    assert!(told(&[&parts[0], &whole]).contains("is a whole graph"));
    let other = cut(&whole, &placement(2, 1));
    assert!(told(&[&parts[0], &other[1]]).contains("another placement"));
    // A part of a graph that lacks the quad, under the same name.
    let empty = cut(&snapshot_of(&[], Some(TYPE)), &placement(2, 0));
    assert!(told(&[&parts[0], &empty[1]]).contains("of different quads"));
    assert!(matches!(
        Cut::new(&parts[1], placement(2, 0), 0),
        Err(CutError::IsPart { node: 1, nodes: 2 })
    ));
}
