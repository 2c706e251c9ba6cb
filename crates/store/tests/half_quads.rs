//! What a store does with half quads: a part of a graph whose two directions are edge sets of their own.
//!
//! In a graph cut over several nodes a quad's out-edge lies with the owner of its subject and its in-edge with the owner
//! of its object. Each test is one place that once took both halves to be where one is; why it matters is in
//! `docs/decisions/2026-11-25-half-quads.md`. The last two say what parts cannot know, so whoever puts parts together must.

use crate::common::TYPE;
use rdf::placement::Placement;
use rdf::{Direction, PredicateId, Tag, VertexId};
use std::sync::Arc;
use store::check::{IdLimits, check_graph};
use store::delta::{Change, Layer, Version, merge, write_base};
use store::parts::MemoryParts;
use store::testing::{IdQuad, snapshot_of, version_of};
use store::{
    Edge, GraphIndexWriter, GraphScope, GraphView, GraphWriter, Lists, PartOf, Prefixes,
    SegmentKey, SegmentShape, Snapshot, Spans, write_tables,
};

const DEFAULT: VertexId = GraphScope::DEFAULT_GRAPH;

/// The predicate of most quads here, and its number in each part.
const P: VertexId = VertexId::from_bits(77);
const NUMBER: PredicateId = PredicateId::FIRST_FREE;

/// Ordinals of the ids here begin with this one.
const FIRST: u64 = 100;

fn iri(number: u64) -> VertexId {
    VertexId::new(Tag::Iri, FIRST + number)
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

/// The mark of the part that owns these vertices; another one owns all others.
fn owner_of(numbers: &[u64]) -> PartOf {
    let mut owners = vec![1; 256];
    for number in numbers {
        owners[(FIRST + number) as usize] = 0;
    }
    PartOf::new(Placement::new(2, 0, owners).expect("a placement"), 0, 1)
}

/// A part that owns these vertices, with the out-edges of some quads and the in-edges of others, all of the default graph
/// and of `P` or `rdf:type`.
fn part(owned: &[u64], outgoing: &[IdQuad], incoming: &[IdQuad]) -> Snapshot {
    of_halves(Some(&owner_of(owned)), outgoing, incoming)
}

fn of_halves(mark: Option<&PartOf>, outgoing: &[IdQuad], incoming: &[IdQuad]) -> Snapshot {
    let files = MemoryParts::new();
    if let Some(mark) = mark {
        mark.write(&files).expect("memory");
    }
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

fn neighbours(
    view: &(impl GraphView + ?Sized),
    direction: Direction,
    vertex: VertexId,
) -> Vec<VertexId> {
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
    let part = part(&[1, 2, 3], &quads, &quads);
    assert!(check_graph(&part, &IdLimits::NONE).is_empty());
    assert_eq!(neighbours(&part, Direction::In, iri(2)), [iri(1), iri(3)]);
}

/// `Snapshot::read_predicates`.
#[test]
fn a_predicate_with_in_edges_only_is_there() {
    let part = part(&[2], &[], &[quad(1, P, 2)]);
    assert_eq!(part.predicate_id(P), Some(NUMBER));
    assert_eq!(part.predicates(), [NUMBER]);
    assert_eq!(neighbours(&part, Direction::In, iri(2)), [iri(1)]);
    assert_eq!(neighbours(&part, Direction::Out, iri(1)), []);
}

/// `Snapshot::edges_of` and the name of a predicate in `Version`.
#[test]
fn a_predicate_lives_as_long_as_it_has_in_edges() {
    let whole = quad(1, P, 2);
    let base = || part(&[1, 2], &[whole], &[whole, quad(3, P, 2)]);
    let version = changed(base(), &[deleting(&[whole])]);
    assert_eq!(neighbours(&version, Direction::In, iri(2)), [iri(3)]);
    assert_eq!(version.quads().expect("memory"), 0);
    let version = changed(base(), &[deleting(&[whole, quad(3, P, 2)])]);
    assert_eq!(version.predicate_id(P), None, "without an edge it is dead");
}

/// `delta::sources::presence`.
#[test]
fn what_is_there_is_not_inserted_again() {
    let version = changed(part(&[2, 5], &[quad(5, P, 6)], &[quad(1, P, 2)]), &[]);
    let effect = inserting(&[quad(1, P, 2)]).effect(&version);
    assert!(effect.expect("memory").is_empty());
}

/// The same for what goes.
#[test]
fn what_is_deleted_goes_from_its_objects_owner() {
    let incoming = [quad(1, P, 2), quad(3, P, 2)];
    let version = changed(
        part(&[2, 5], &[quad(5, P, 6)], &incoming),
        &[deleting(&[quad(1, P, 2)])],
    );
    assert_eq!(neighbours(&version, Direction::In, iri(2)), [iri(3)]);
    assert_eq!(neighbours(&version, Direction::Out, iri(5)), [iri(6)]);
}

/// `Layer::build`: a key that is another's would be met twice by a walk that starts at all keys on all nodes.
#[test]
fn a_layer_holds_what_is_owned() {
    let owner_of_2 = changed(
        part(&[2], &[quad(2, P, 2)], &[quad(2, P, 2)]),
        &[inserting(&[quad(1, P, 2)])],
    );
    let keys = owner_of_2.keys(segment(NUMBER, Direction::Out));
    assert_eq!(keys.expect("memory").len(), 1);
    assert_eq!(
        neighbours(&owner_of_2, Direction::In, iri(2)),
        [iri(1), iri(2)]
    );
}

/// A class's member has both halves of its class, whoever owns the class.
#[test]
fn a_members_class_lies_with_the_member() {
    let (mine, other) = (quad(1, TYPE, 9), quad(2, TYPE, 9));
    let version = changed(part(&[1], &[], &[]), &[inserting(&[mine, other])]);
    let members = version.neighbours(
        segment(PredicateId::TYPE, Direction::In),
        iri(9),
        GraphScope::Default,
    );
    let (members, mut all) = (members.expect("memory"), Vec::new());
    members.decode(0, members.len(), &mut all).expect("memory");
    assert_eq!(all, [iri(1)]);
    let class = changed(part(&[9], &[], &[]), &[inserting(&[mine, other])]);
    assert_eq!(class.predicate_id(TYPE), None);
}

/// `Version::quads`, `Layer::added`: a quad is counted with its subject, or the parts' numbers do not add up.
#[test]
fn numbers_of_quads_add_up() {
    let (before, after) = (quad(1, P, 2), inserting(&[quad(1, P, 4)]));
    let owner_of_1 = changed(part(&[1], &[before], &[]), std::slice::from_ref(&after));
    let owner_of_2_and_4 = changed(part(&[2, 4], &[], &[before]), &[after]);
    assert_eq!(owner_of_2_and_4.layers()[0].quads(), 1, "it has an edge");
    let quads = [owner_of_1, owner_of_2_and_4].map(|version| version.quads().expect("memory"));
    assert_eq!(quads, [2, 0]);
}

/// `delta::checkpoint::write_base`, `delta::merge`; and both take their columns' spans from the rows, because the keys
/// of the other direction are not the neighbours.
#[test]
fn directions_have_lengths_of_their_own() {
    let changes = [
        inserting(&[quad(3, P, 2), quad(70, P, 2), quad(2, P, 90)]),
        deleting(&[quad(3, P, 2)]),
    ];
    let base = part(&[1, 2], &[quad(1, P, 2)], &[quad(1, P, 2)]);
    let version = changed(base, &changes);
    let merged = merge(version.layers(), &|| false).expect("memory");
    let merged = version_of(version.base(), &[Arc::new(merged)], Some(TYPE));
    let files = MemoryParts::new();
    write_base(&version, &Prefixes::default(), &files, &|| false).expect("memory");
    let written = Snapshot::open(&files.freeze().expect("memory")).expect("parts just written");
    assert_eq!(written.part_of(), version.base().part_of());
    assert_eq!(check_graph(&written, &IdLimits::NONE), []);
    let views: [&dyn GraphView; 3] = [&version, &merged, &written];
    for view in views {
        assert_eq!(neighbours(view, Direction::In, iri(2)), [iri(1), iri(70)]);
        assert_eq!(neighbours(view, Direction::Out, iri(2)), [iri(90)]);
        assert_eq!(neighbours(view, Direction::In, iri(90)), []);
    }
}

/// `check::sums::Sums::compare`; and what the directions of a part do say is looked at.
#[test]
fn a_part_is_not_damaged() {
    let (whole, half) = (quad(1, P, 2), quad(3, P, 2));
    let of = |owned: &[u64]| check_graph(&part(owned, &[whole], &[whole, half]), &IdLimits::NONE);
    assert_eq!(of(&[1, 2]), []);
    assert!(of(&[1])[0].what.contains("belongs into another part"));
    assert!(of(&[2])[0].what.contains("belongs into another part"));
}

/// A graph without a mark is a whole one.
#[test]
fn a_whole_graph_that_lacks_a_half_is_damaged() {
    let quads = [quad(1, P, 2), quad(3, P, 2)];
    let of = |outgoing| check_graph(&of_halves(None, outgoing, &quads), &IdLimits::NONE);
    assert_eq!(of(&quads), []);
    assert!(of(&quads[..1])[0].what.contains("different quads"));
}

/// `statistics`.
#[test]
fn objects_are_counted_by_their_owner() {
    let part_with_in_edges = || part(&[2], &[], &[quad(1, P, 2), quad(3, P, 2)]);
    let version = changed(part_with_in_edges(), &[deleting(&[quad(1, P, 2)])]);
    let before = version.base().statistics(16).expect("memory");
    let after = version.statistics(16).expect("memory");
    for statistics in [before, after] {
        let of_p = statistics.predicates.iter().find(|one| one.vertex == P);
        let sizes = of_p.map(|sizes| (sizes.subjects, sizes.objects, sizes.edges));
        assert_eq!(sizes, Some((0, 1, 0)));
        assert_eq!((statistics.quads, statistics.objects), (0, 1));
    }
    let both = deleting(&[quad(1, P, 2), quad(3, P, 2)]);
    let gone = changed(part_with_in_edges(), &[both]);
    assert_eq!(gone.statistics(16).expect("memory").predicates, []);
}

/// `(rdf:type, in)` lies with the members, so a class is a vertex with an in-edge on every node that has a member: whoever
/// adds numbers of objects up takes each class of the parts once.
#[test]
fn a_class_is_counted_by_each_part_with_a_member() {
    let members = [quad(1, TYPE, 9), quad(2, TYPE, 9)];
    let owned = [1, 2];
    let statistics = [0, 1].map(|at| {
        let part = part(&[owned[at]], &[members[at]], &[members[at]]);
        part.statistics(16).expect("memory")
    });
    assert_eq!(statistics.iter().map(|one| one.objects).sum::<u64>(), 2);
    assert!(statistics.iter().all(|one| one.classes == [(iri(9), 1)]));
}

/// `Lists::is_exact` and `GraphView::edges` are told of the edges that a part has. Nodes that take them for facts of the
/// whole segment choose differently, and one of the choices is that a segment has nothing in the scope.
#[test]
fn whether_a_scope_filters_is_told_of_the_part_alone() {
    let quads = [quad(1, P, 2), (iri(3), P, iri(4), iri(50))];
    let is_exact = |quads: &[IdQuad]| {
        let part = snapshot_of(quads, Some(TYPE));
        let mut lists = Lists::new();
        let scope = GraphScope::Named(iri(50));
        let asked = part.lists(segment(NUMBER, Direction::Out), &[], scope, &mut lists);
        assert!(asked.is_ok());
        lists.is_exact()
    };
    assert_eq!(quads.map(|quad| is_exact(&[quad])), [true, false]);
    assert!(!is_exact(&quads));
}
