//! Keys and named graphs that go and come back while a base is made beside: frozen, changed meanwhile, put over the new
//! base, changed again. In each step a version knows those of its quads and no others, and so does the next base.

#![allow(clippy::unwrap_used)] // a test's helpers may fail as a test does

use rdf::{Direction, PredicateId, Tag, VertexId};
use std::collections::BTreeSet;
use std::sync::Arc;
use store::delta::{Change, Layer, Version, merge, write_base};
use store::parts::MemoryParts;
use store::testing::{IdQuad, snapshot_of};
use store::{GraphView, Prefixes, SegmentKey, Snapshot};

fn iri(number: u64) -> VertexId {
    VertexId::new(Tag::Iri, number)
}

/// The quad that comes and goes: alone with its predicate, in its graph, and of its subject and object.
fn quad() -> IdQuad {
    (iri(1), iri(2), iri(3), iri(4))
}

/// Others, which stay: all of the same predicate and graph.
fn other(number: u64) -> IdQuad {
    (iri(100 + number), iri(2), iri(300 + number), iri(14))
}

fn base_of(version: &Version) -> Arc<Snapshot> {
    let files = MemoryParts::new();
    write_base(version, &Prefixes::default(), &files, &|| false).unwrap();
    Arc::new(Snapshot::open(&files.freeze().unwrap()).unwrap())
}

/// A commit that takes these quads away and adds those.
fn commit(version: &Version, deletes: &[IdQuad], inserts: &[IdQuad]) -> Version {
    let number = version.number() + 1;
    let (deletes, inserts) = (deletes.to_vec(), inserts.to_vec());
    let effect = Change { deletes, inserts }.effect(version).unwrap();
    assert!(!effect.is_empty());
    let layer = Layer::build(version, &effect, None, number..=number).unwrap();
    version.with_layer(Arc::new(layer), number)
}

/// The same with the layers from this one on merged.
fn merged(version: &Version, from: usize) -> Version {
    let mut layers = version.layers().to_vec();
    let run = layers.split_off(from);
    layers.push(Arc::new(merge(&run, &|| false).unwrap()));
    version.with_layers(layers)
}

fn check(view: &dyn GraphView, quads: &BTreeSet<IdQuad>, case: &str) {
    let graphs: BTreeSet<VertexId> = quads.iter().map(|quad| quad.3).collect();
    let found = view.named_graphs().unwrap();
    assert!(found.into_iter().eq(graphs), "{case}: named graphs");
    let predicates: BTreeSet<VertexId> = quads.iter().map(|quad| quad.1).collect();
    let found = view.predicates().into_iter();
    let found = found.map(|number| view.predicate_vertex(number));
    assert!(found.eq(predicates.iter().copied()), "{case}: predicates");
    let numbers = predicates
        .iter()
        .filter_map(|name| view.predicate_id(*name));
    for predicate in numbers.chain([PredicateId::SIGNATURE]) {
        for direction in [Direction::Out, Direction::In] {
            let segment = SegmentKey {
                predicate,
                direction,
            };
            let end = |quad: &IdQuad| match direction {
                Direction::Out => quad.0,
                Direction::In => quad.2,
            };
            let wanted: BTreeSet<VertexId> = quads.iter().map(end).collect();
            let mut found = Vec::new();
            let keys = view.keys(segment).unwrap();
            keys.decode(0, u64::MAX, &mut found).unwrap();
            assert!(found.into_iter().eq(wanted), "{case}: {segment:?}");
            let asked = [1, 3].map(iri);
            let (mut some, mut ends) = (Vec::new(), Vec::new());
            let _ = view
                .predicates_of(direction, &asked, &mut some, &mut ends)
                .unwrap();
            let has = asked.map(|vertex| quads.iter().any(|quad| end(quad) == vertex));
            let counts = [ends[0], ends[1] - ends[0]].map(|count| count == 1);
            assert_eq!(counts, has, "{case}: predicates of vertices, {direction:?}");
        }
    }
}

/// How layers that no base holds are left: as they came, merged before the rebase, merged after it.
#[derive(Clone, Copy, Debug)]
enum Merged {
    Never,
    Before,
    After,
}

/// What a version is made of, and what it should hold.
struct State {
    version: Version,
    quads: BTreeSet<IdQuad>,
    /// Each commit brings another quad, too, so that no layer is empty.
    brings_others: bool,
}

impl State {
    /// Lets the quad come or go.
    fn turn(&mut self) {
        let mut inserts = Vec::new();
        let mut deletes = Vec::new();
        if self.quads.contains(&quad()) {
            deletes.push(quad());
        } else {
            inserts.push(quad());
        }
        if self.brings_others {
            inserts.push(other(1 + self.version.number()));
        }
        self.version = commit(&self.version, &deletes, &inserts);
        self.quads.retain(|quad| !deletes.contains(quad));
        self.quads.extend(inserts);
    }

    fn check(&self, case: &str) {
        check(&self.version, &self.quads, case);
    }
}

/// The quad comes and goes so often in the layers of a base that is being made, meanwhile, and over that base.
fn run(in_base: bool, [frozen, meanwhile, later]: [u32; 3], when: Merged, brings_others: bool) {
    let case = format!("{in_base} {frozen} {meanwhile} {later} {when:?} {brings_others}");
    let mut quads = vec![other(0)];
    quads.extend(in_base.then(quad));
    let mut state = State {
        version: Version::new(Arc::new(snapshot_of(&quads, None)), 0, None),
        quads: quads.into_iter().collect(),
        brings_others,
    };
    (0..frozen).for_each(|_| state.turn());
    let checkpoint = state.version.clone();
    let fixed = checkpoint.layers().len();
    for _ in 0..meanwhile {
        state.turn();
        state.check(&format!("{case}, meanwhile"));
    }
    if matches!(when, Merged::Before) && meanwhile > 1 {
        state.version = merged(&state.version, fixed);
        state.check(&format!("{case}, merged"));
    }
    let left = state.version.layers()[fixed..].to_vec();
    state.version = state.version.rebased(base_of(&checkpoint), left);
    state.check(&format!("{case}, rebased"));
    for _ in 0..later {
        state.turn();
        if matches!(when, Merged::After) {
            state.version = merged(&state.version, 0);
        }
        state.check(&format!("{case}, later"));
    }
    check(&*base_of(&state.version), &state.quads, &case);
}

/// Emptied, frozen, refilled while the base is written, rebased, emptied again.
#[test]
fn what_comes_back_beside_a_checkpoint_goes_again() {
    run(true, [1, 1, 1], Merged::Never, false);
}

/// It comes back and goes again while the base is written, and both are one layer over it.
#[test]
fn what_comes_back_and_goes_beside_a_checkpoint_is_gone() {
    run(true, [1, 2, 0], Merged::Before, true);
}

/// Every way to come and go in a few commits before a checkpoint, beside and behind it each.
#[test]
fn whatever_comes_and_goes_around_a_checkpoint() {
    for counts in 0..4u32.pow(3) {
        let counts = [counts % 4, counts / 4 % 4, counts / 16];
        for (in_base, brings_others) in [(false, false), (false, true), (true, false), (true, true)]
        {
            for when in [Merged::Never, Merged::Before, Merged::After] {
                run(in_base, counts, when, brings_others);
            }
        }
    }
}
