//! Changes against a naive set of quads: what has an effect, what the layers hold, which keys come
//! and go, merges of any runs of layers, and the new base that a checkpoint writes.

#![allow(clippy::unwrap_used)] // a test's helpers may fail as a test does

use crate::common;

use common::{Model, Numbers, TYPE, dump, vertex};
use rdf::{Direction, Tag, VertexId};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;
use store::Prefixes;
use store::check::{IdLimits, check};
use store::delta::{Change, Checkpoint, DeltaError, Layer, Version, merge, write_base};
use store::directory::{begin, open};
use store::disk::{SimDisk, SimFaults};
use store::testing::{IdQuad, snapshot_of, version_of};
use store::{GraphScope, GraphView, SegmentKey, Snapshot};

const DIRECTIONS: [Direction; 2] = [Direction::Out, Direction::In];
type KeySet = (VertexId, Direction);
/// Every key of every set, and the named graphs under [`GRAPHS`].
type Keys = BTreeMap<KeySet, BTreeSet<VertexId>>;
const GRAPHS: KeySet = (VertexId::from_bits(1), Direction::Out);

fn never() -> bool {
    false
}

/// A quad of a small world, so that changes meet each other.
fn quad(numbers: &mut Numbers, kind: u64) -> IdQuad {
    let thing = |numbers: &mut Numbers| match kind {
        0 => VertexId::new(Tag::Iri, 30 + numbers.below(8)),
        kind => vertex(numbers, kind - 1),
    };
    let predicate = match numbers.below(5) {
        0 => TYPE,
        number => VertexId::new(Tag::Iri, 1000 - 3 * number),
    };
    let graph = match numbers.below(4) {
        0 | 1 => GraphScope::DEFAULT_GRAPH,
        graph => VertexId::new(Tag::Iri, 50 + 10 * graph),
    };
    (thing(numbers), predicate, thing(numbers), graph)
}

fn some_of(numbers: &mut Numbers, quads: &BTreeSet<IdQuad>, share: u64) -> Vec<IdQuad> {
    let mut some: Vec<IdQuad> = quads.iter().copied().collect();
    some.retain(|_| numbers.below(100) < share);
    some
}

fn change(numbers: &mut Numbers, kind: u64, present: &BTreeSet<IdQuad>) -> Change {
    let mut change = Change::default();
    let count = [1, 10, 200][numbers.below(3) as usize];
    for _ in 0..numbers.below(count + 1) {
        change.inserts.push(quad(numbers, kind));
    }
    for _ in 0..numbers.below(count + 1) {
        change.deletes.push(quad(numbers, kind));
    }
    let share = [0, 5, 60, 100][numbers.below(4) as usize];
    change.deletes.extend(some_of(numbers, present, share));
    let share = [0, 0, 3][numbers.below(3) as usize];
    change.inserts.extend(some_of(numbers, present, share));
    change
}

fn keys_of(quads: &BTreeSet<IdQuad>) -> Keys {
    let mut keys = Keys::new();
    for &(subject, predicate, object, graph) in quads {
        for (key, direction) in [(subject, Direction::Out), (object, Direction::In)] {
            keys.entry((predicate, direction)).or_default().insert(key);
            let all = (VertexId::UNBOUND, direction);
            keys.entry(all).or_default().insert(key);
        }
        if graph != GraphScope::DEFAULT_GRAPH {
            keys.entry(GRAPHS).or_default().insert(graph);
        }
    }
    keys
}

/// What is in `left` and not in `right`.
fn difference(left: &Keys, right: &Keys) -> Keys {
    let mut difference = Keys::new();
    for (set, keys) in left {
        let others = right.get(set);
        let gone = |key: &&VertexId| others.is_none_or(|others| !others.contains(key));
        let rest: BTreeSet<VertexId> = keys.iter().filter(gone).copied().collect();
        if !rest.is_empty() {
            difference.insert(*set, rest);
        }
    }
    difference
}

fn lists_of(lists: &BTreeMap<KeySet, Vec<VertexId>>, graphs: &[VertexId]) -> Keys {
    let mut keys: Keys = lists
        .iter()
        .map(|(&set, list)| (set, list.iter().copied().collect()))
        .collect();
    assert!(lists.values().all(|list| list.is_sorted_by(|a, b| a < b)));
    assert!(graphs.is_sorted_by(|a, b| a < b));
    if !graphs.is_empty() {
        keys.insert(GRAPHS, graphs.iter().copied().collect());
    }
    keys
}

/// Keys that are gone over some layers: the newest that names a key decides.
fn gone_over(layers: &[Arc<Layer>]) -> Keys {
    let mut gone = Keys::new();
    for layer in layers {
        let added = keys_of(&quads_in(layer.adds()));
        gone = difference(&gone, &added);
        let keys = lists_of(&layer.keys().gone, &layer.keys().graphs_gone);
        assert_eq!(
            difference(&keys, &added),
            keys,
            "no layer has edges of what is gone"
        );
        for (set, keys) in keys {
            gone.entry(set).or_default().extend(keys);
        }
    }
    gone
}

fn quads_in(graph: Option<&Snapshot>) -> BTreeSet<IdQuad> {
    let Some(graph) = graph else {
        return BTreeSet::new();
    };
    let quads = dump(graph, Direction::Out).unwrap();
    assert_eq!(quads, dump(graph, Direction::In).unwrap());
    assert!(!quads.is_empty(), "no graph is kept for nothing");
    quads
}

/// Base and layers added up.
fn sum_of(base: &Snapshot, layers: &[Arc<Layer>]) -> BTreeSet<IdQuad> {
    let mut quads = dump(base, Direction::Out).unwrap();
    for layer in layers {
        let (adds, dels) = (quads_in(layer.adds()), quads_in(layer.dels()));
        assert_eq!(
            (adds.len(), dels.len()),
            (layer.added() as usize, layer.deleted() as usize)
        );
        for quad in &dels {
            assert!(quads.remove(quad));
        }
        for quad in adds {
            assert!(quads.insert(quad));
        }
    }
    quads
}

/// A base, layers over it, and what they should be.
struct World {
    numbers: Numbers,
    kind: u64,
    base: Arc<Snapshot>,
    layers: Vec<Arc<Layer>>,
    present: BTreeSet<IdQuad>,
    commits: u64,
    /// Every quad that some commit has changed.
    touched: Vec<IdQuad>,
}

impl World {
    fn new(seed: u64) -> World {
        let mut numbers = Numbers::new(seed);
        let kind = seed % 4;
        let count = [0, 30, 900][numbers.below(3) as usize];
        let mut present: BTreeSet<IdQuad> = (0..count).map(|_| quad(&mut numbers, kind)).collect();
        // Where a base does not know `rdf:type` it has no edge of it.
        let knows_types = !seed.is_multiple_of(3);
        present.retain(|quad| knows_types || quad.1 != TYPE);
        let quads: Vec<IdQuad> = present.iter().copied().collect();
        World {
            numbers,
            kind,
            base: Arc::new(snapshot_of(&quads, knows_types.then_some(TYPE))),
            layers: Vec::new(),
            present,
            commits: 0,
            touched: Vec::new(),
        }
    }

    fn version(&self) -> Version {
        version_of(&self.base, &self.layers, Some(TYPE))
    }

    fn commit(&mut self) {
        let change = change(&mut self.numbers, self.kind, &self.present);
        self.commit_built_over(&change, None);
    }

    /// Commits a change whose layer is built over an earlier version, which had these quads.
    fn commit_late(&mut self) {
        let (version, had) = (self.version(), self.present.clone());
        let mut named = change(&mut self.numbers, self.kind, &had);
        self.touched.clear();
        for _ in 0..=self.numbers.below(3) {
            self.commit();
        }
        let between: BTreeSet<IdQuad> = self.touched.iter().copied().collect();
        named.deletes.retain(|quad| !between.contains(quad));
        named.inserts.retain(|quad| !between.contains(quad));
        let mut idle = Vec::new();
        let effect = named.effect_and_idle(&version, &mut idle).unwrap();
        let all: BTreeSet<IdQuad> = named
            .deletes
            .iter()
            .chain(&named.inserts)
            .copied()
            .collect();
        let changed = effect.deletes().chain(effect.inserts());
        assert_eq!(changed.chain(idle).collect::<BTreeSet<_>>(), all);
        let layer = Layer::build(&version, &effect, Some(TYPE), 0..=0).unwrap();
        let mut asked: Vec<IdQuad> = between.into_iter().collect();
        assert!(!layer.changes_any(&asked).unwrap());
        // More may be said to have changed than has.
        for _ in 0..self.numbers.below(9) {
            let other = quad(&mut self.numbers, self.kind);
            let is_ours = effect
                .deletes()
                .chain(effect.inserts())
                .any(|quad| quad == other);
            assert_eq!(layer.changes_any(&[other]).unwrap(), is_ours);
            asked.extend((!is_ours).then_some(other));
        }
        self.commit_built_over(&named, Some((layer, asked)));
    }

    fn commit_built_over(&mut self, change: &Change, early: Option<(Layer, Vec<IdQuad>)>) {
        let inserts: BTreeSet<IdQuad> = change.inserts.iter().copied().collect();
        let deletes: BTreeSet<IdQuad> = change.deletes.iter().copied().collect();
        let before = std::mem::take(&mut self.present);
        self.present = before.difference(&deletes).copied().collect();
        self.present.extend(&inserts);
        let version = self.version();
        let effect = change.effect(&version).unwrap();
        let lost: BTreeSet<IdQuad> = before.difference(&self.present).copied().collect();
        let got: BTreeSet<IdQuad> = self.present.difference(&before).copied().collect();
        assert_eq!(effect.is_empty(), lost.is_empty() && got.is_empty());
        assert_eq!(
            (effect.deletes().len(), effect.inserts().len()),
            (lost.len(), got.len())
        );
        assert_eq!(effect.deletes().collect::<BTreeSet<_>>(), lost);
        assert_eq!(effect.inserts().collect::<BTreeSet<_>>(), got);

        self.touched.extend(lost.iter().chain(&got));
        self.commits += 1;
        let commits = self.commits..=self.commits;
        let layer = match early {
            None => Layer::build(&version, &effect, Some(TYPE), commits).unwrap(),
            Some((layer, between)) => layer.adopted(&version, &between, commits).unwrap(),
        };
        assert_eq!(quads_in(layer.adds()), got);
        assert_eq!(quads_in(layer.dels()), lost);
        assert_eq!(
            (layer.added(), layer.deleted()),
            (got.len() as u64, lost.len() as u64)
        );
        assert!(layer.bytes() > 0 || layer.quads() == 0);
        let (before, after) = (keys_of(&before), keys_of(&self.present));
        let keys = layer.keys();
        assert_eq!(
            lists_of(&keys.gone, &keys.graphs_gone),
            difference(&before, &after)
        );
        self.layers.push(Arc::new(layer));
    }

    /// Merges some layers.
    fn merge(&mut self) {
        let count = self.layers.len() as u64;
        let from = self.numbers.below(count) as usize;
        let to = from + 1 + self.numbers.below(count - from as u64) as usize;
        let gone = gone_over(&self.layers);
        let merged = merge(&self.layers[from..to], &never).unwrap();
        let first = *self.layers[from].commits().start();
        assert_eq!(
            merged.commits(),
            first..=*self.layers[to - 1].commits().end()
        );
        self.layers.splice(from..to, [Arc::new(merged)]);
        assert_eq!(gone_over(&self.layers), gone);
        assert_eq!(sum_of(&self.base, &self.layers), self.present);
    }

    /// Writes a new base and goes on from there.
    fn checkpoint(&mut self) {
        let disk = SimDisk::new(1, Path::new("/"), SimFaults::default());
        let generation = begin(&disk, Path::new("/s")).unwrap();
        let version = self.version();
        let summary = write_base(&version, &Prefixes::default(), &generation, &never).unwrap();
        assert_eq!(summary.rows, self.present.len() as u64);
        generation.commit(BTreeMap::new()).unwrap();
        let opened = open(&disk, Path::new("/s")).unwrap();
        let findings = check(&opened, &IdLimits::NONE);
        assert!(findings.is_empty(), "{findings:?}");
        let base = Snapshot::open(&opened).unwrap();
        check_view(&base, &self.present);
        for predicate in self.base.predicates() {
            let vertex = self.base.predicate_vertex(predicate);
            let kept = base.predicate_id(vertex);
            assert!(
                kept.is_none_or(|kept| kept == predicate),
                "numbers are kept"
            );
        }
        self.base = Arc::new(base);
        self.layers.clear();
    }
}

fn check_view(view: &Snapshot, quads: &BTreeSet<IdQuad>) {
    for direction in DIRECTIONS {
        assert_eq!(dump(view, direction).unwrap(), *quads);
    }
    let model = Model::of(&quads.iter().copied().collect::<Vec<_>>());
    let graphs: Vec<VertexId> = model.graphs.iter().copied().collect();
    assert_eq!(view.named_graphs().unwrap(), graphs);
    let keys = keys_of(quads);
    for direction in DIRECTIONS {
        let all = keys.get(&(VertexId::UNBOUND, direction)).cloned();
        let mut found = Vec::new();
        view.vertices(direction)
            .unwrap()
            .decode(0, u64::MAX, &mut found)
            .unwrap();
        assert_eq!(
            found,
            all.unwrap_or_default().into_iter().collect::<Vec<_>>()
        );
    }
    for (&(predicate, direction), lists) in &model.segments {
        let segment = SegmentKey {
            predicate: view.predicate_id(predicate).unwrap(),
            direction,
        };
        assert_eq!(
            predicate == TYPE,
            segment.predicate == rdf::PredicateId::TYPE
        );
        for &graph in &graphs {
            let mut found = Vec::new();
            view.keys_of_graph(segment, graph, &mut found).unwrap();
            let within =
                |key: &&VertexId| lists[*key].values().any(|graphs| graphs.contains(&graph));
            let wanted: Vec<VertexId> = lists.keys().filter(within).copied().collect();
            assert_eq!(found, wanted);
        }
    }
}

#[test]
fn changes_are_those_of_a_set() {
    for seed in 0..60 {
        let mut world = World::new(seed);
        for step in 0..16 {
            world.commit();
            if world.numbers.below(3) == 0 {
                world.merge();
            }
            if step % 5 == 4 {
                world.checkpoint();
            }
        }
        if !world.layers.is_empty() {
            assert_eq!(sum_of(&world.base, &world.layers), world.present);
        }
        world.checkpoint();
    }
}

#[test]
fn a_layer_is_put_over_later_versions() {
    for seed in 1000..1060 {
        let mut world = World::new(seed);
        for step in 0..8 {
            world.commit_late();
            if world.numbers.below(3) == 0 {
                world.merge();
            }
            if step % 4 == 3 {
                world.checkpoint();
            }
        }
        world.checkpoint();
    }
}

#[test]
fn any_split_of_layers_merges_to_the_same() {
    for seed in 100..115 {
        let mut world = World::new(seed);
        (0..6).for_each(|_| world.commit());
        let whole = merge(&world.layers, &never).unwrap();
        for cut in 1..6 {
            let halves = [&world.layers[..cut], &world.layers[cut..]]
                .map(|layers| Arc::new(merge(layers, &never).unwrap()));
            let both = merge(&halves, &never).unwrap();
            assert_eq!(quads_in(both.adds()), quads_in(whole.adds()));
            assert_eq!(quads_in(both.dels()), quads_in(whole.dels()));
            assert_eq!(both.keys(), whole.keys());
            assert_eq!(
                (both.added(), both.deleted()),
                (whole.added(), whole.deleted())
            );
            assert_eq!(both.commits(), whole.commits());
        }
    }
}

#[test]
fn what_comes_and_goes_leaves_no_trace() {
    let base = Arc::new(snapshot_of(&[], None));
    let mut numbers = Numbers::new(7);
    let quads: Vec<IdQuad> = (0..5000).map(|_| quad(&mut numbers, 2)).collect();
    let mut layers = Vec::new();
    let turns = [
        (vec![], quads.clone()),
        (quads.clone(), vec![]),
        (vec![], quads.clone()),
    ];
    for (number, (deletes, inserts)) in (1..).zip(turns) {
        let version = version_of(&base, &layers, None);
        let effect = Change { deletes, inserts }.effect(&version).unwrap();
        let layer = Layer::build(&version, &effect, None, number..=number).unwrap();
        layers.push(Arc::new(layer));
    }
    let nothing = merge(&layers[..2], &never).unwrap();
    assert!(nothing.adds().is_none() && nothing.dels().is_none());
    assert_eq!(nothing.quads(), 0);
    assert!(!nothing.keys().gone.is_empty());
    let all = merge(&layers, &never).unwrap();
    assert!(all.keys().is_empty());
    let distinct: BTreeSet<IdQuad> = quads.into_iter().collect();
    assert_eq!(quads_in(all.adds()), distinct);
    let again = merge(&[Arc::new(nothing), Arc::clone(&layers[2])], &never).unwrap();
    assert_eq!(quads_in(again.adds()), distinct);
}

#[test]
fn a_large_base_is_merged_with_small_layers() {
    let thing = |number| VertexId::new(Tag::Iri, number);
    let default = GraphScope::DEFAULT_GRAPH;
    let mut present: BTreeSet<IdQuad> = (0..40_000u64)
        .map(|number| {
            (
                thing(number),
                thing(7),
                thing(100_000 + number % 9000),
                default,
            )
        })
        .collect();
    present.extend((0..30_000).map(|number| (thing(number), TYPE, thing(3), thing(9))));
    let quads: Vec<IdQuad> = present.iter().copied().collect();
    let base = Arc::new(snapshot_of(&quads, Some(TYPE)));
    let mut layers = Vec::new();
    for number in 1..5u64 {
        let change = Change {
            deletes: quads
                .iter()
                .skip(number as usize)
                .step_by(777)
                .copied()
                .collect(),
            inserts: (0..3000)
                .map(|at| {
                    (
                        thing(number * 50_000 + at),
                        thing(7 + at % 2),
                        thing(at),
                        default,
                    )
                })
                .collect(),
        };
        let version = version_of(&base, &layers, Some(TYPE));
        let effect = change.effect(&version).unwrap();
        present = &present - &change.deletes.iter().copied().collect();
        present.extend(&change.inserts);
        let layer = Layer::build(&version, &effect, Some(TYPE), number..=number).unwrap();
        layers.push(Arc::new(layer));
    }
    assert_eq!(sum_of(&base, &layers), present);
    let version = version_of(&base, &layers, Some(TYPE));
    let files = store::parts::MemoryParts::new();
    write_base(&version, &Prefixes::default(), &files, &never).unwrap();
    check_view(&Snapshot::open(&files.freeze().unwrap()).unwrap(), &present);
}

#[test]
fn a_checkpoint_or_merge_stops_when_told() {
    let mut numbers = Numbers::new(3);
    let quads: Vec<IdQuad> = (0..200_000).map(|_| quad(&mut numbers, 3)).collect();
    let base = Arc::new(snapshot_of(&quads, Some(TYPE)));
    let version = version_of(&base, &[], Some(TYPE));
    let files = store::parts::MemoryParts::new();
    let halted = write_base(&version, &Prefixes::default(), &files, &|| true);
    assert!(matches!(halted, Err(DeltaError::Halted)));
    let empty = Arc::new(snapshot_of(&[], None));
    let version = version_of(&empty, &[], None);
    let inserts = Change {
        inserts: quads,
        ..Change::default()
    };
    let effect = inserts.effect(&version).unwrap();
    let layer = Arc::new(Layer::build(&version, &effect, None, 1..=1).unwrap());
    assert!(matches!(merge(&[layer], &|| true), Err(DeltaError::Halted)));
}

#[test]
fn both_directions_of_a_checkpoint_may_run_at_once() {
    let mut world = World::new(9);
    (0..4).for_each(|_| world.commit());
    let version = world.version();
    let files = store::parts::MemoryParts::new();
    let checkpoint = Checkpoint::begin(&version, &Prefixes::default(), &files, &never).unwrap();
    std::thread::scope(|scope| {
        let out = scope.spawn(|| checkpoint.direction(Direction::Out).unwrap());
        let into = checkpoint.direction(Direction::In).unwrap();
        assert_eq!(out.join().unwrap().rows, into.rows);
    });
    check_view(
        &Snapshot::open(&files.freeze().unwrap()).unwrap(),
        &world.present,
    );
}
