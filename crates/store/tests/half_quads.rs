//! What a store does today with half quads: a part of a graph whose two directions are edge sets of their own.
//!
//! In a graph cut over several nodes a quad's out-edge lies with the owner of its subject and its in-edge with the owner
//! of its object. Each test says what a part has to answer, and expects to fail with what stands against it today: whoever
//! changes that is told by the test. Why it matters is in `docs/decisions/2026-11-25-half-quads.md`. The first test shows
//! that the parts made here are what a writer may write.

use crate::common::TYPE;
use rdf::{Direction, PredicateId, Tag, VertexId};
use std::sync::Arc;
use store::check::{IdLimits, check_graph};
use store::delta::{Change, Layer, Version, write_base};
use store::parts::MemoryParts;
use store::testing::{IdQuad, snapshot_of, version_of};
use store::{
    Edge, GraphIndexWriter, GraphScope, GraphView, GraphWriter, Lists, Prefixes, SegmentKey,
    SegmentShape, Snapshot, Spans, write_tables,
};

const DEFAULT: VertexId = GraphScope::DEFAULT_GRAPH;

/// The predicate of most quads here, and its number in each part.
const P: VertexId = VertexId::from_bits(77);
const NUMBER: PredicateId = PredicateId::FIRST_FREE;

fn iri(number: u64) -> VertexId {
    VertexId::new(Tag::Iri, 100 + number)
}

fn quad(subject: u64, predicate: VertexId, object: u64) -> IdQuad {
    (iri(subject), predicate, iri(object), DEFAULT)
}

fn segment(predicate: PredicateId, direction: Direction) -> SegmentKey {
    SegmentKey {
        predicate,
        direction,
    }
}

/// A part with the out-edges of some quads and the in-edges of others, all of the default graph and of `P` or `rdf:type`.
fn part(outgoing: &[IdQuad], incoming: &[IdQuad]) -> Snapshot {
    let files = MemoryParts::new();
    write_tables(&files, &[VertexId::UNBOUND, TYPE, P], &[]).expect("memory");
    for (direction, quads) in [(Direction::Out, outgoing), (Direction::In, incoming)] {
        let mut writer = GraphWriter::create(&files, direction, Arc::new([])).expect("memory");
        for (predicate, number) in [(TYPE, PredicateId::TYPE), (P, NUMBER)] {
            let of_predicate = quads.iter().filter(|quad| quad.1 == predicate);
            let mut edges: Vec<Edge> = of_predicate
                .map(|&(subject, _, object, graph)| {
                    let (key, neighbour) = match direction {
                        Direction::Out => (subject, object),
                        Direction::In => (object, subject),
                    };
                    Edge {
                        key,
                        neighbour,
                        graph,
                    }
                })
                .collect();
            if edges.is_empty() {
                continue;
            }
            edges.sort_by_key(|edge| (edge.key, edge.neighbour));
            let mut neighbours = Spans::default();
            for edge in &edges {
                neighbours.observe(edge.neighbour);
            }
            let shape = SegmentShape {
                rows_max: edges.len() as u64,
                neighbours,
            };
            writer.begin(number, &shape).expect("memory");
            writer.push(&edges).expect("memory");
        }
        writer.finish(&files).expect("memory");
        let index = GraphIndexWriter::create(&files, direction, Arc::new([])).expect("memory");
        index.finish(&files).expect("memory");
    }
    Snapshot::open(&files.freeze().expect("memory")).expect("parts just written")
}

/// The version that a part is, with changes applied one after the other as `delta::apply` does.
fn changed(part: Snapshot, changes: &[Change]) -> Version {
    let base = Arc::new(part);
    let mut layers: Vec<Arc<Layer>> = Vec::new();
    for (number, change) in (1..).zip(changes) {
        let version = version_of(&base, &layers, Some(TYPE));
        let effect = change.effect(&version).expect("memory");
        let layer = Layer::build(&version, &effect, Some(TYPE), number..=number);
        layers.push(Arc::new(layer.expect("memory")));
    }
    version_of(&base, &layers, Some(TYPE))
}

fn inserting(quads: &[IdQuad]) -> Change {
    Change {
        inserts: quads.to_vec(),
        ..Change::default()
    }
}

fn deleting(quads: &[IdQuad]) -> Change {
    Change {
        deletes: quads.to_vec(),
        ..Change::default()
    }
}

fn neighbours(view: &impl GraphView, direction: Direction, vertex: VertexId) -> Vec<VertexId> {
    let mut all = Vec::new();
    if let Some(number) = view.predicate_id(P) {
        let set = view.neighbours(segment(number, direction), vertex, GraphScope::Default);
        let set = set.expect("memory");
        set.decode(0, set.len(), &mut all).expect("memory");
    }
    all
}

#[test]
fn a_part_of_whole_quads_is_a_graph() {
    let quads = [quad(1, P, 2), quad(3, P, 2), quad(1, TYPE, 9)];
    let part = part(&quads, &quads);
    assert!(check_graph(&part, &IdLimits::NONE).is_empty());
    assert_eq!(neighbours(&part, Direction::In, iri(2)), [iri(1), iri(3)]);
}

/// `Snapshot::read_predicates`. Rows are lost without a word: the owner of an object answers that nobody names it.
#[test]
#[should_panic(expected = "a predicate is there only where it has an out-segment")]
fn a_predicate_with_in_edges_only_is_there() {
    let part = part(&[], &[quad(1, P, 2)]);
    assert_eq!(
        neighbours(&part, Direction::In, iri(2)),
        [iri(1)],
        "a predicate is there only where it has an out-segment"
    );
}

/// `Snapshot::edges_of` and the name of a predicate in `Version`: no out-rows are left, so the predicate is dead.
#[test]
#[should_panic(expected = "a predicate whose last out-edge is deleted is dead")]
fn a_predicate_lives_as_long_as_it_has_in_edges() {
    let whole = quad(1, P, 2);
    let version = changed(
        part(&[whole], &[whole, quad(3, P, 2)]),
        &[deleting(&[whole])],
    );
    assert_eq!(
        neighbours(&version, Direction::In, iri(2)),
        [iri(3)],
        "a predicate whose last out-edge is deleted is dead"
    );
}

/// `delta::sources::presence`, which looks along out-edges only: the owner of the object finds nothing.
#[test]
#[should_panic(expected = "what is inserted again is looked for among out-edges")]
fn what_is_there_is_not_inserted_again() {
    let version = changed(part(&[quad(5, P, 6)], &[quad(1, P, 2)]), &[]);
    let effect = inserting(&[quad(1, P, 2)]).effect(&version);
    assert!(
        effect.expect("memory").is_empty(),
        "what is inserted again is looked for among out-edges"
    );
}

/// The same for what goes.
#[test]
#[should_panic(expected = "what is deleted is looked for among out-edges")]
fn what_is_deleted_goes_from_its_objects_owner() {
    let incoming = [quad(1, P, 2), quad(3, P, 2)];
    let version = changed(
        part(&[quad(5, P, 6)], &incoming),
        &[deleting(&[quad(1, P, 2)])],
    );
    assert_eq!(
        neighbours(&version, Direction::In, iri(2)),
        [iri(3)],
        "what is deleted is looked for among out-edges"
    );
}

/// `Layer::build` writes both directions of a quad: the owner of the object gets a key that is another's, and a walk that
/// starts at all keys on all nodes meets it twice.
#[test]
#[should_panic(expected = "a layer holds both halves of a quad, whoever owns them")]
fn a_layer_holds_what_is_owned() {
    let owner_of_2 = changed(
        part(&[quad(2, P, 2)], &[quad(2, P, 2)]),
        &[inserting(&[quad(1, P, 2)])],
    );
    let keys = owner_of_2.keys(segment(NUMBER, Direction::Out));
    assert_eq!(
        keys.expect("memory").len(),
        1,
        "a layer holds both halves of a quad, whoever owns them"
    );
}

/// `Version::quads`, `Layer::quads`: counted with the subject, or the parts' numbers do not add up.
#[test]
#[should_panic(expected = "a layer counts a quad on every node that holds one of its halves")]
fn numbers_of_quads_add_up() {
    let (before, after) = (quad(1, P, 2), inserting(&[quad(1, P, 4)]));
    let owner_of_1 = changed(part(&[before], &[]), std::slice::from_ref(&after));
    let owner_of_2_and_4 = changed(part(&[], &[before]), &[after]);
    let quads = [owner_of_1, owner_of_2_and_4].map(|version| version.quads().expect("memory"));
    assert_eq!(
        quads.iter().sum::<u64>(),
        2,
        "a layer counts a quad on every node that holds one of its halves"
    );
}

/// `delta::checkpoint::write_base`; `delta::merge` says the same of layers, once they hold halves.
#[test]
#[should_panic(expected = "directions of different lengths are an error")]
fn a_checkpoint_writes_directions_of_their_own_lengths() {
    let version = changed(part(&[quad(1, P, 2)], &[quad(1, P, 2), quad(3, P, 2)]), &[]);
    let files = MemoryParts::new();
    let written = write_base(&version, &Prefixes::default(), &files, &|| false);
    written.expect("directions of different lengths are an error");
}

/// `check::sums::Sums::compare`: each part is "damaged".
#[test]
#[should_panic(expected = "a check compares the two directions")]
fn a_part_is_not_damaged() {
    let part = part(&[quad(1, P, 2)], &[quad(1, P, 2), quad(3, P, 2)]);
    let findings = check_graph(&part, &IdLimits::NONE);
    assert!(findings.is_empty(), "a check compares the two directions");
}

/// `statistics`: predicates of in-edges only are missing, so objects do not add up.
#[test]
#[should_panic(expected = "statistics know the predicates with out-edges")]
fn objects_are_counted_by_their_owner() {
    let part = part(&[], &[quad(1, P, 2)]);
    let statistics = part.statistics(16).expect("memory");
    let of_p = statistics.predicates.iter().find(|one| one.vertex == P);
    assert_eq!(
        of_p.map(|sizes| sizes.objects),
        Some(1),
        "statistics know the predicates with out-edges"
    );
}

/// `(rdf:type, in)` lies with the members, so a class is a vertex with an in-edge on every node that has a member.
#[test]
#[should_panic(
    expected = "a class is an object, and a set of in-predicates, on each node with a member"
)]
fn a_class_is_counted_once() {
    let members = [quad(1, TYPE, 9), quad(2, TYPE, 9)];
    let parts = members.map(|member| part(&[member], &[member]));
    let objects = parts.map(|part| part.statistics(16).expect("memory").objects);
    assert_eq!(
        objects.iter().sum::<u64>(),
        1,
        "a class is an object, and a set of in-predicates, on each node with a member"
    );
}

/// `Lists::is_exact` and `GraphView::edges` are facts of a segment over all parts. Nodes that answer them for themselves
/// choose differently, and one of the choices is that a segment has nothing in the scope.
#[test]
#[should_panic(expected = "whether a scope filters a segment is answered by the part alone")]
fn a_scope_filters_a_segment_everywhere_or_nowhere() {
    let quads = [quad(1, P, 2), (iri(3), P, iri(4), iri(50))];
    let is_exact = |quads: &[IdQuad]| {
        let part = snapshot_of(quads, Some(TYPE));
        let mut lists = Lists::new();
        let scope = GraphScope::Named(iri(50));
        let asked = part.lists(segment(NUMBER, Direction::Out), &[], scope, &mut lists);
        assert!(asked.is_ok());
        lists.is_exact()
    };
    let parts = quads.map(|quad| is_exact(&[quad]));
    assert_eq!(
        parts,
        [is_exact(&quads); 2],
        "whether a scope filters a segment is answered by the part alone"
    );
}
