//! A version against a snapshot of the same quads: every method, every scope, on random histories
//! whose ids collide all the time. Key changes come from the naive model, so that the reading side
//! is tested alone, or from `Layer::build`; layers are merged and bases replaced along the way.

#![allow(clippy::unwrap_used)] // a test's helpers may fail as a test does

use crate::common;

use common::{Numbers, TYPE};
use proptest::prelude::*;
use rdf::{Direction, PredicateId, Tag, VertexId};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use store::delta::{Change, KeyChanges, Layer, Version, merge};
use store::statistics::{SetSize, SetSizes};
use store::testing::{IdQuad, snapshot_of};
use store::{GraphScope, GraphView, ListCursor, Lists, Meeting, SegmentKey, Snapshot, VertexSet};

const DIRECTIONS: [Direction; 2] = [Direction::Out, Direction::In];
const ABSENT: VertexId = VertexId::from_bits(3);

/// What a random history is made from.
struct World {
    vertices: Vec<VertexId>,
    predicates: Vec<VertexId>,
    graphs: Vec<VertexId>,
    classes: Vec<VertexId>,
    /// Members of the first class and where they begin.
    hub: (u64, u64),
}

impl World {
    fn small(numbers: &mut Numbers) -> World {
        let count = 3 + numbers.below(12);
        let kinds = [
            Tag::Iri,
            Tag::Blank,
            Tag::Literal,
            Tag::Integer,
            Tag::Double,
        ];
        let spread = [1, 1, 37, 1 << 34][numbers.below(4) as usize];
        let kinds_used = 1 + numbers.below(5);
        let vertex = |number| VertexId::new(kinds[(number % kinds_used) as usize], number * spread);
        let graphs = numbers.below(4);
        World {
            vertices: (0..count).map(vertex).collect(),
            predicates: (0..=numbers.below(3))
                .map(|number| VertexId::new(Tag::Iri, 1000 + number))
                .chain([TYPE])
                .collect(),
            graphs: (0..graphs)
                .map(|number| VertexId::new(Tag::Iri, 70 - 9 * number))
                .collect(),
            classes: (0..2).map(vertex).collect(),
            hub: (0, 0),
        }
    }

    fn with_hub(numbers: &mut Numbers) -> World {
        let mut world = World::small(numbers);
        world.graphs.truncate(numbers.below(2) as usize);
        world.hub = (1200 + numbers.below(1500), 5000 + numbers.below(3));
        world
    }

    fn any(numbers: &mut Numbers, of: &[VertexId]) -> VertexId {
        of[numbers.below(of.len() as u64) as usize]
    }

    fn member(&self, numbers: &mut Numbers) -> VertexId {
        let (count, start) = self.hub;
        VertexId::new(Tag::Iri, start + 2 * numbers.below(count + 50))
    }

    fn quad(&self, numbers: &mut Numbers) -> IdQuad {
        let graph = match numbers.below(2) {
            1 if !self.graphs.is_empty() => World::any(numbers, &self.graphs),
            _ => GraphScope::DEFAULT_GRAPH,
        };
        if self.hub.0 > 0 && numbers.below(2) == 0 {
            return (self.member(numbers), TYPE, self.classes[0], graph);
        }
        let predicate = World::any(numbers, &self.predicates);
        let object = match predicate {
            TYPE => World::any(numbers, &self.classes),
            _ => World::any(numbers, &self.vertices),
        };
        (
            World::any(numbers, &self.vertices),
            predicate,
            object,
            graph,
        )
    }

    fn quads(&self, numbers: &mut Numbers, count: u64) -> BTreeSet<IdQuad> {
        (0..count).map(|_| self.quad(numbers)).collect()
    }

    fn scopes(&self) -> Vec<Vec<VertexId>> {
        let mut lists = vec![self.graphs.clone(), vec![ABSENT]];
        let mut with_default = self.graphs.clone();
        with_default.sort_unstable();
        lists[0].sort_unstable();
        with_default.push(GraphScope::DEFAULT_GRAPH);
        lists.push(with_default);
        if let [first, second, ..] = self.graphs[..] {
            lists.push(vec![first, GraphScope::DEFAULT_GRAPH]);
            lists.push(vec![second.min(first), second.max(first)]);
        }
        lists
    }
}

/// Who has a key: the names of key sets to their keys, and the named graphs.
#[derive(Default)]
struct Keys {
    sets: BTreeMap<(VertexId, Direction), BTreeSet<VertexId>>,
    graphs: BTreeSet<VertexId>,
}

impl Keys {
    fn of(quads: &BTreeSet<IdQuad>) -> Keys {
        let mut keys = Keys::default();
        for &(subject, predicate, object, graph) in quads {
            for name in [predicate, VertexId::UNBOUND] {
                for (direction, key) in [(Direction::Out, subject), (Direction::In, object)] {
                    keys.sets.entry((name, direction)).or_default().insert(key);
                }
            }
            if graph != GraphScope::DEFAULT_GRAPH {
                keys.graphs.insert(graph);
            }
        }
        keys
    }
}

/// What went between two moments.
fn gone_between(before: &Keys, after: &Keys) -> KeyChanges {
    let mut changes = KeyChanges::default();
    let none = BTreeSet::new();
    for (&name, before) in &before.sets {
        let after = after.sets.get(&name).unwrap_or(&none);
        let gone: Vec<VertexId> = before.difference(after).copied().collect();
        if !gone.is_empty() {
            changes.gone.insert(name, gone);
        }
    }
    let gone = before.graphs.difference(&after.graphs);
    changes.graphs_gone.extend(gone);
    changes
}

fn check_set(set: &VertexSet<'_>, wanted: &[VertexId], asked: &[VertexId], numbers: &mut Numbers) {
    assert_eq!(set.len(), wanted.len() as u64);
    assert_eq!(set.is_empty(), wanted.is_empty());
    let mut all = Vec::new();
    set.decode(0, u64::MAX, &mut all).unwrap();
    assert_eq!(all, wanted);
    for _ in 0..3 {
        let from = numbers.below(wanted.len() as u64 + 1) as usize;
        let to = from + numbers.below((wanted.len() - from) as u64 + 1) as usize;
        let mut some = vec![ABSENT];
        set.decode(from as u64, to as u64, &mut some).unwrap();
        assert_eq!(some[1..], wanted[from..to]);
    }
    let mut asked = asked.to_vec();
    asked.extend((0..wanted.len().min(5)).map(|_| World::any(numbers, wanted)));
    if numbers.below(2) == 0 {
        asked.sort_unstable();
    }
    let is_wanted = |vertex: &VertexId| wanted.binary_search(vertex).is_ok();
    let mut positions = vec![77];
    set.select(&asked, &mut positions).unwrap();
    let hits = (0..asked.len() as u32).filter(|&place| is_wanted(&asked[place as usize]));
    assert_eq!(positions[1..], hits.collect::<Vec<u32>>());
    for vertex in asked.iter().take(8) {
        assert_eq!(set.contains(*vertex).unwrap(), is_wanted(vertex));
    }
}

fn all_of(set: &VertexSet<'_>) -> Vec<VertexId> {
    let mut all = Vec::new();
    set.decode(0, u64::MAX, &mut all).unwrap();
    all
}

type Rows = Vec<Vec<(VertexId, VertexId)>>;

fn expand(lists: &Lists<'_>, chunk: usize, binds: bool) -> Rows {
    let mut found = vec![Vec::new(); lists.len()];
    let mut cursor = ListCursor::default();
    loop {
        let (mut rows, mut neighbours, mut graphs) = (Vec::new(), Vec::new(), Vec::new());
        let wanted = binds.then_some(&mut graphs);
        let done = lists
            .expand(&mut cursor, chunk, &mut rows, &mut neighbours, wanted)
            .unwrap();
        assert!(rows.len() <= chunk && rows.len() == neighbours.len());
        assert_eq!(graphs.len(), if binds { rows.len() } else { 0 });
        for (place, (&row, &neighbour)) in rows.iter().zip(&neighbours).enumerate() {
            let graph = graphs.get(place).copied().unwrap_or(VertexId::UNBOUND);
            found[row as usize].push((neighbour, graph));
        }
        if done {
            return found;
        }
        assert_eq!(rows.len(), chunk, "an expansion stops early only when full");
    }
}

/// A version and what it must be like.
struct Pair<'a> {
    world: &'a World,
    version: &'a Version,
    snapshot: &'a Snapshot,
    quads: &'a BTreeSet<IdQuad>,
}

impl Pair<'_> {
    fn segments(&self, predicate: VertexId, direction: Direction) -> Option<[SegmentKey; 2]> {
        let ours = self.version.predicate_id(predicate);
        let theirs = self.snapshot.predicate_id(predicate);
        assert_eq!(ours.is_some(), theirs.is_some());
        let key = |predicate| SegmentKey {
            predicate,
            direction,
        };
        Some([key(ours?), key(theirs?)])
    }

    fn check(&self, numbers: &mut Numbers) {
        let vertices =
            |view: &dyn Fn() -> Vec<VertexId>| view().into_iter().collect::<BTreeSet<_>>();
        let ours = self.version.predicates();
        assert!(ours.is_sorted_by(|a, b| a < b));
        let ours = vertices(&|| {
            let numbers = ours.iter();
            numbers
                .map(|&number| self.version.predicate_vertex(number))
                .collect()
        });
        let theirs = vertices(&|| {
            let numbers = self.snapshot.predicates().into_iter();
            numbers
                .map(|number| self.snapshot.predicate_vertex(number))
                .collect()
        });
        assert_eq!(ours, theirs);
        if theirs.contains(&TYPE) {
            assert_eq!(self.version.predicate_id(TYPE), Some(PredicateId::TYPE));
        }
        assert_eq!(self.version.quads().unwrap(), self.quads.len() as u64);
        assert_eq!(
            self.version.named_graphs().unwrap(),
            self.snapshot.named_graphs().unwrap()
        );
        for direction in DIRECTIONS {
            self.check_vertices(direction, numbers);
            for &predicate in &self.world.predicates {
                if let Some(segments) = self.segments(predicate, direction) {
                    self.check_segment(predicate, segments, numbers);
                }
            }
        }
        self.check_meetings(numbers);
        let statistics = self.version.statistics(usize::MAX).unwrap();
        let exact = self.snapshot.statistics(usize::MAX).unwrap();
        self.check_sets(&statistics.out_sets, &exact.out_sets);
        self.check_sets(&statistics.in_sets, &exact.in_sets);
        assert_eq!(statistics.quads, exact.quads);
        assert_eq!(statistics.type_vertex, exact.type_vertex);
        let edges = |sizes: &store::statistics::PredicateSizes| (sizes.vertex, sizes.edges);
        assert!(
            statistics
                .predicates
                .iter()
                .map(edges)
                .eq(exact.predicates.iter().map(edges))
        );
    }

    /// Sets cover those of the same quads without layers, and are the same where nothing was deleted.
    fn check_sets(&self, told: &SetSizes, exact: &SetSizes) {
        assert!(told.is_complete && exact.is_complete);
        let names = |sets: &SetSizes| -> BTreeMap<_, u64> {
            let of = |set: &SetSize| {
                let predicates = set.predicates.iter().map(|(vertex, _)| *vertex);
                let types: BTreeSet<VertexId> = set.types.iter().copied().collect();
                ((predicates.collect::<BTreeSet<_>>(), types), set.vertices)
            };
            sets.sets.iter().map(of).collect()
        };
        let (told, exact) = (names(told), names(exact));
        if self
            .version
            .layers()
            .iter()
            .all(|layer| layer.dels().is_none())
        {
            assert_eq!(told, exact);
        }
        for (predicates, types) in exact.keys() {
            let mut covers = told.keys();
            let has_all = |(of, kinds): &(BTreeSet<_>, BTreeSet<_>)| {
                of.is_superset(predicates) && kinds.is_superset(types)
            };
            assert!(covers.any(has_all), "{predicates:?} of {types:?}");
        }
    }

    /// What lists of two segments share, whatever columns they consist of.
    fn check_meetings(&self, numbers: &mut Numbers) {
        let segment = |numbers: &mut Numbers| SegmentKey {
            predicate: self
                .version
                .predicate_id(World::any(numbers, &self.world.predicates))
                .unwrap_or(PredicateId::TYPE),
            direction: DIRECTIONS[numbers.below(2) as usize],
        };
        let mut keys = self.world.vertices.clone();
        keys.extend_from_slice(&self.world.classes);
        for scope in [
            GraphScope::Default,
            GraphScope::Union,
            GraphScope::Merge(&self.world.scopes()[2]),
        ] {
            let (mut left, mut right) = (Lists::new(), Lists::new());
            for lists in [&mut left, &mut right] {
                let by = numbers.below(keys.len() as u64) as usize;
                keys.rotate_left(by);
                let segment = segment(numbers);
                let _ = self.version.lists(segment, &keys, scope, lists).unwrap();
            }
            let mut meeting = Meeting::default();
            let rows = [&left, &right].map(|lists| expand(lists, usize::MAX, false));
            for list in 0..keys.len() {
                let mut found = vec![ABSENT];
                if left.meet(list, &right, &mut meeting, &mut found).unwrap() {
                    let [mut wanted, other] = rows.each_ref().map(|rows| rows[list].clone());
                    wanted.retain(|row| other.contains(row));
                    let wanted: Vec<VertexId> = wanted.iter().map(|row| row.0).collect();
                    assert_eq!(found[1..], wanted, "{scope:?}");
                } else {
                    assert_eq!(found, [ABSENT]);
                }
            }
        }
    }

    fn check_vertices(&self, direction: Direction, numbers: &mut Numbers) {
        let wanted = all_of(&self.snapshot.vertices(direction).unwrap());
        let found = self.version.vertices(direction).unwrap();
        let mut asked = self.world.vertices.clone();
        asked.push(ABSENT);
        check_set(&found, &wanted, &asked, numbers);
        asked.extend(wanted.iter().copied().take(40));
        let of = |view: &dyn Fn(&mut Vec<PredicateId>, &mut Vec<u32>)| {
            let (mut predicates, mut ends) = (Vec::new(), Vec::new());
            view(&mut predicates, &mut ends);
            (predicates, ends)
        };
        let (ours, our_ends) = of(&|predicates, ends| {
            let _ = self
                .version
                .predicates_of(direction, &asked, predicates, ends)
                .unwrap();
        });
        let (theirs, their_ends) = of(&|predicates, ends| {
            let _ = self
                .snapshot
                .predicates_of(direction, &asked, predicates, ends)
                .unwrap();
        });
        assert_eq!(our_ends, their_ends);
        let mut start = 0;
        for end in our_ends {
            let range = start..end as usize;
            let ours = &ours[range.clone()];
            assert!(ours.is_sorted_by(|a, b| a < b));
            let ours = ours
                .iter()
                .map(|&number| self.version.predicate_vertex(number));
            let theirs = theirs[range].iter();
            let theirs = theirs.map(|&number| self.snapshot.predicate_vertex(number));
            assert_eq!(ours.collect::<BTreeSet<_>>(), theirs.collect());
            start = end as usize;
        }
    }

    fn check_segment(&self, predicate: VertexId, segments: [SegmentKey; 2], numbers: &mut Numbers) {
        let [ours, theirs] = segments;
        let wanted = all_of(&self.snapshot.keys(theirs).unwrap());
        let mut asked = self.world.vertices.clone();
        asked.push(ABSENT);
        check_set(&self.version.keys(ours).unwrap(), &wanted, &asked, numbers);
        let mut keys: Vec<VertexId> = (0..8).map(|_| World::any(numbers, &wanted)).collect();
        keys.extend((0..6).map(|_| World::any(numbers, &asked)));
        let lists = self.world.scopes();
        let mut scopes = vec![
            GraphScope::Default,
            GraphScope::Union,
            GraphScope::EachNamed,
            GraphScope::Named(ABSENT),
        ];
        let named = self
            .world
            .graphs
            .iter()
            .map(|&graph| GraphScope::Named(graph));
        scopes.extend(named.take(2));
        for list in &lists {
            scopes.push(GraphScope::Merge(list));
            scopes.push(GraphScope::EachOf(list));
        }
        for scope in scopes {
            self.check_lists(predicate, segments, &keys, scope, numbers);
            if !scope.binds_graph() {
                for key in [keys[0], keys[1], self.world.classes[0], ABSENT] {
                    let wanted = self.snapshot.neighbours(theirs, key, scope).unwrap();
                    let found = self.version.neighbours(ours, key, scope).unwrap();
                    check_set(&found, &all_of(&wanted), &asked, numbers);
                }
            }
        }
        for &graph in self.world.graphs.iter().chain(&[ABSENT]) {
            let (mut found, mut wanted) = (vec![ABSENT], vec![ABSENT]);
            self.version.keys_of_graph(ours, graph, &mut found).unwrap();
            self.snapshot
                .keys_of_graph(theirs, graph, &mut wanted)
                .unwrap();
            assert_eq!(found, wanted);
        }
    }

    fn check_lists(
        &self,
        predicate: VertexId,
        [ours, theirs]: [SegmentKey; 2],
        keys: &[VertexId],
        scope: GraphScope<'_>,
        numbers: &mut Numbers,
    ) {
        let (mut found, mut wanted) = (Lists::new(), Lists::new());
        let _ = self.version.lists(ours, keys, scope, &mut found).unwrap();
        let _ = self
            .snapshot
            .lists(theirs, keys, scope, &mut wanted)
            .unwrap();
        let mut of_none = Lists::new();
        let _ = self.version.lists(ours, &[], scope, &mut of_none).unwrap();
        assert_eq!(of_none.is_exact(), found.is_exact(), "{scope:?}");
        let binds = scope.binds_graph();
        let rows = expand(&wanted, usize::MAX, binds);
        let bound = [3, 40, 5000][numbers.below(3) as usize];
        let chunk = 1 + numbers.below(bound) as usize;
        assert_eq!(expand(&found, chunk, binds), rows, "{scope:?}");
        self.check_degrees(predicate, ours.direction, keys, &found, &rows);
        let target = |rows: &Vec<(VertexId, VertexId)>, numbers: &mut Numbers| match rows.len() {
            0 => World::any(numbers, &self.world.vertices),
            _ if numbers.below(3) == 0 => World::any(numbers, &self.world.vertices),
            count => rows[numbers.below(count as u64) as usize].0,
        };
        let targets: Vec<VertexId> = rows.iter().map(|rows| target(rows, numbers)).collect();
        let mut positions = vec![77];
        found.select(&targets, &mut positions).unwrap();
        let is_hit = |place: usize| rows[place].iter().any(|row| row.0 == targets[place]);
        let hits: Vec<u32> = (0..keys.len() as u32)
            .filter(|&place| is_hit(place as usize))
            .collect();
        assert_eq!(positions[1..], hits);
        found.narrow(&targets).unwrap();
        let narrowed: Rows = rows
            .iter()
            .zip(&targets)
            .map(|(rows, target)| {
                rows.iter()
                    .copied()
                    .filter(|row| row.0 == *target)
                    .collect()
            })
            .collect();
        assert_eq!(expand(&found, chunk, binds), narrowed);
        Self::check_bounds(&found, &narrowed);
    }

    fn check_bounds(found: &Lists<'_>, rows: &Rows) {
        let mut degrees = Vec::new();
        found.degrees(&mut degrees).unwrap();
        let lengths: Vec<u64> = rows.iter().map(|rows| rows.len() as u64).collect();
        assert_eq!(degrees, lengths);
        let edges: Vec<u64> = (0..found.len()).map(|list| found.edges(list)).collect();
        assert_eq!(edges.iter().sum::<u64>(), found.total_edges());
        assert!(
            edges
                .iter()
                .zip(&lengths)
                .all(|(edges, length)| edges >= length)
        );
        assert!(!found.is_exact() || edges == lengths);
    }

    fn check_degrees(
        &self,
        predicate: VertexId,
        direction: Direction,
        keys: &[VertexId],
        found: &Lists<'_>,
        rows: &Rows,
    ) {
        Self::check_bounds(found, rows);
        if found.is_exact() && self.quads.len() < 500 && rows.iter().any(|rows| !rows.is_empty()) {
            let is_of = |quad: &&IdQuad, key: VertexId| match direction {
                Direction::Out => (quad.0, quad.1) == (key, predicate),
                Direction::In => (quad.2, quad.1) == (key, predicate),
            };
            for (&key, rows) in keys.iter().zip(rows) {
                let all = self.quads.iter().filter(|quad| is_of(quad, key)).count();
                assert_eq!(rows.len(), all, "exact lists leave no edge out");
            }
        }
    }
}

/// A graph with its history.
struct History {
    world: World,
    version: Version,
    quads: BTreeSet<IdQuad>,
    /// What a base is being made of meanwhile: the quads of an earlier version, and its last commit.
    frozen: Option<(BTreeSet<IdQuad>, u64)>,
    /// Numbers that predicates had.
    known: BTreeMap<VertexId, PredicateId>,
    builds: bool,
}

impl History {
    fn new(world: World, quads: BTreeSet<IdQuad>, numbers: &mut Numbers) -> History {
        let all: Vec<IdQuad> = quads.iter().copied().collect();
        let kind = [Some(TYPE), None][numbers.below(2) as usize];
        let has_type = quads.iter().any(|quad| quad.1 == TYPE);
        let base = snapshot_of(&all, kind.or(has_type.then_some(TYPE)));
        History {
            world,
            version: Version::new(Arc::new(base), 0, Some(TYPE)),
            quads,
            frozen: None,
            known: BTreeMap::new(),
            builds: numbers.below(2) == 0,
        }
    }

    fn some_change(&self, numbers: &mut Numbers) -> (Vec<IdQuad>, Vec<IdQuad>) {
        let all: Vec<IdQuad> = self.quads.iter().copied().collect();
        let mut dels = BTreeSet::new();
        if !all.is_empty() {
            let share = [2, 5, 20, 1000][numbers.below(4) as usize];
            let some = all[numbers.below(all.len() as u64) as usize];
            let mode = numbers.below(6);
            dels.extend(all.iter().copied().filter(|quad| match mode {
                0 => quad.0 == some.0,
                1 => quad.1 == some.1,
                2 => quad.3 == some.3,
                3 => false,
                _ => numbers.below(share) == 0,
            }));
        }
        let count = [0, 1, 4, 40][numbers.below(4) as usize];
        let adds = self.world.quads(numbers, count);
        let adds = adds.difference(&self.quads).copied().collect();
        (adds, dels.into_iter().collect())
    }

    fn commit(&mut self, numbers: &mut Numbers) {
        let (adds, dels) = self.some_change(numbers);
        let number = self.version.number() + 1;
        let before = Keys::of(&self.quads);
        for quad in &dels {
            self.quads.remove(quad);
        }
        self.quads.extend(&adds);
        let keys = gone_between(&before, &Keys::of(&self.quads));
        let commits = number..=number;
        let layer = if self.builds {
            let change = Change {
                deletes: dels,
                inserts: adds,
            };
            let effect = change.effect(&self.version).unwrap();
            Layer::build(&self.version, &effect, Some(TYPE), commits).unwrap()
        } else {
            Layer::of(&adds, &dels, keys, Some(TYPE), commits)
        };
        self.version = self.version.with_layer(Arc::new(layer), number);
    }

    /// Commits, with what is done beside them.
    fn go_on(&mut self, commits: u64, numbers: &mut Numbers) {
        for _ in 0..commits {
            self.commit(numbers);
            match numbers.below(8) {
                0 => self.check(numbers),
                1 => self.rebase(),
                2 | 3 => self.merge(numbers),
                4 | 5 => peek(&self.version, numbers),
                _ => {}
            }
            if self.version.layers().len() > 3 {
                self.merge(numbers);
            }
        }
    }

    fn merge(&mut self, numbers: &mut Numbers) {
        let mut layers = self.version.layers().to_vec();
        let fixed = self.frozen_layers();
        if layers.len() - fixed < 2 {
            return;
        }
        let start = fixed + numbers.below((layers.len() - fixed) as u64 - 1) as usize;
        let end = start + 2 + numbers.below((layers.len() - start) as u64 - 1) as usize;
        let merged = merge(&layers[start..end], &|| false).unwrap();
        layers.splice(start..end, [Arc::new(merged)]);
        self.version = self.version.with_layers(layers);
    }

    /// Layers that go into the base that is being made.
    fn frozen_layers(&self) -> usize {
        let frozen = self.frozen.as_ref().map_or(0, |frozen| frozen.1);
        let layers = self.version.layers().iter();
        layers
            .take_while(|layer| *layer.commits().end() <= frozen)
            .count()
    }

    fn freeze(&mut self) {
        if self.frozen.is_none() {
            self.frozen = Some((self.quads.clone(), self.version.number()));
        }
    }

    /// Goes on over the base of what was frozen, or of all that there is.
    fn rebase(&mut self) {
        self.freeze();
        let fixed = self.frozen_layers();
        let (quads, _) = self.frozen.take().unwrap();
        let all: Vec<IdQuad> = quads.iter().copied().collect();
        let base = Arc::new(snapshot_of(&all, Some(TYPE)));
        let later = self.version.layers()[fixed..].to_vec();
        self.version = self.version.rebased(base, later);
        self.known.clear();
    }

    fn check(&mut self, numbers: &mut Numbers) {
        let all: Vec<IdQuad> = self.quads.iter().copied().collect();
        let snapshot = snapshot_of(&all, Some(TYPE));
        let pair = Pair {
            world: &self.world,
            version: &self.version,
            snapshot: &snapshot,
            quads: &self.quads,
        };
        pair.check(numbers);
        for &predicate in &self.world.predicates {
            if let Some(number) = self.version.predicate_id(predicate) {
                let known = *self.known.entry(predicate).or_insert(number);
                assert_eq!(known, number, "numbers stay");
            } else if let Some(&predicate) = self.known.get(&predicate) {
                let direction = Direction::Out;
                let segment = SegmentKey {
                    predicate,
                    direction,
                };
                assert!(self.version.keys(segment).unwrap().is_empty());
            }
        }
    }
}

/// A light query: it makes the version find some key sets, so that later ones go on from there.
fn peek(version: &Version, numbers: &mut Numbers) {
    for predicate in version.predicates() {
        if numbers.below(2) == 0 {
            let direction = DIRECTIONS[numbers.below(2) as usize];
            let segment = SegmentKey {
                predicate,
                direction,
            };
            let _ = version.keys(segment).unwrap().len();
        }
    }
}

/// Key sets that were found for versions thrown away are nobody else's.
#[test]
fn a_branch_does_not_take_over_keys() {
    let graph = GraphScope::DEFAULT_GRAPH;
    let iri = |number| VertexId::new(Tag::Iri, number);
    let quad = |subject| (iri(subject), iri(1), iri(2), graph);
    let base = Arc::new(snapshot_of(&[quad(10), quad(20)], None));
    let version = Version::new(base, 0, None);
    let next = |version: &Version, subject, number| {
        let change = Change {
            deletes: Vec::new(),
            inserts: vec![quad(subject)],
        };
        let effect = change.effect(version).unwrap();
        let layer = Layer::build(version, &effect, None, number..=number).unwrap();
        version.with_layer(Arc::new(layer), number)
    };
    let keys = |version: &Version| {
        let segment = SegmentKey {
            predicate: version.predicate_id(iri(1)).unwrap(),
            direction: Direction::Out,
        };
        all_of(&version.keys(segment).unwrap())
    };
    let thrown_away = next(&version, 15, 1);
    assert_eq!(keys(&thrown_away), [iri(10), iri(15), iri(20)]);
    let other = next(&version, 30, 1);
    assert_eq!(keys(&other), [iri(10), iri(20), iri(30)]);
    assert_eq!(keys(&next(&other, 12, 2)), [10, 12, 20, 30].map(iri));
    assert_eq!(keys(&next(&thrown_away, 12, 2)), [10, 12, 15, 20].map(iri));
}

fn run(seed: u64, has_hub: bool) {
    let mut numbers = Numbers::new(seed);
    let world = if has_hub {
        World::with_hub(&mut numbers)
    } else {
        World::small(&mut numbers)
    };
    let count = [0, 10, 60][numbers.below(3) as usize];
    let mut quads = world.quads(&mut numbers, count);
    let hub = (0..world.hub.0).map(|member| {
        let subject = VertexId::new(Tag::Iri, world.hub.1 + 2 * member);
        (subject, TYPE, world.classes[0], GraphScope::DEFAULT_GRAPH)
    });
    let hub_in_layer = numbers.below(3) == 0;
    if !hub_in_layer {
        quads.extend(hub.clone());
    }
    let hub: Vec<IdQuad> = hub.filter(|quad| !quads.contains(quad)).collect();
    let mut history = History::new(world, quads, &mut numbers);
    if !hub.is_empty() {
        history.quads.extend(&hub);
        let layer = Layer::of(&hub, &[], KeyChanges::default(), Some(TYPE), 1..=1);
        history.version = history.version.with_layer(Arc::new(layer), 1);
    }
    let commits = numbers.below(5);
    history.go_on(commits, &mut numbers);
    history.check(&mut numbers);
}

/// A small graph whose bases are made beside many commits, so that keys and graphs go and come back around them.
fn run_beside_bases(seed: u64) {
    let mut numbers = Numbers::new(seed);
    let world = World::small(&mut numbers);
    let count = [0, 4, 12][numbers.below(3) as usize];
    let quads = world.quads(&mut numbers, count);
    let mut history = History::new(world, quads, &mut numbers);
    for _ in 0..4 {
        let commits = numbers.below(3);
        history.go_on(commits, &mut numbers);
        history.freeze();
        let commits = numbers.below(4);
        history.go_on(commits, &mut numbers);
        history.check(&mut numbers);
        history.rebase();
        history.check(&mut numbers);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1500, ..ProptestConfig::default() })]

    #[test]
    fn a_version_answers_as_a_snapshot_of_its_quads(seed in any::<u64>()) {
        run(seed, false);
    }
}

#[test]
fn a_version_over_a_base_that_was_made_beside_commits_answers_as_a_snapshot() {
    for seed in testkit::seeds::chosen(60, 5000) {
        println!("seed {seed}");
        run_beside_bases(seed);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 40, ..ProptestConfig::default() })]

    #[test]
    fn long_lists_are_patched(seed in any::<u64>()) {
        run(seed, true);
    }
}
