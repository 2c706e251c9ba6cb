//! Samples of partial walks: exact where all rows fit, within their budget elsewhere, ended by limits.

use crate::support;

use explore::{Limits, MemoryBudget, MemoryExceeded, Samples, Stop, StopReason, WalkError};
use query::algebra::Pattern;
use query::plan::{ConstantId, DatasetClause, Node, Slot, Source};
use query::sampling::{Interrupted, SampleId, SampleQuestion, Sampled, Sampler};
use rdf::VertexId;
use store::GraphView;
use store::testing::snapshot_of;
use support::{DEFAULT, Quad, iri};

/// Constants of the questions: three predicates, a vertex, two graphs, and one that is stored nowhere.
const IDS: [u64; 6] = [0, 1, 2, 100, 7, 8];
const P: Node = constant(0);
const Q: Node = constant(1);
const R: Node = constant(2);
const HUB: Node = constant(3);
const GRAPH: Node = constant(4);
const OTHER: Node = constant(5);
const ABSENT: Node = constant(6);

const fn constant(number: u32) -> Node {
    Node::Constant(ConstantId(number))
}

const fn slot(number: u16) -> Node {
    Node::Slot(Slot(number))
}

fn constants() -> Vec<Option<VertexId>> {
    let known = IDS.iter().map(|id| Some(iri(*id)));
    known.chain([None]).collect()
}

fn question(from: Option<Sampled>, subject: Node, predicate: Node, object: Node) -> SampleQuestion {
    SampleQuestion {
        from: from.map(|sampled| sampled.id),
        pattern: Pattern {
            subject,
            predicate,
            object,
            graph: None,
            source: Source::STORE,
        },
        rows_max: 10_000,
        seed: 5,
    }
}

/// A hub, 300 spokes that know each other in a ring, some edges in two named graphs.
fn quads() -> Vec<Quad> {
    let mut quads = Vec::new();
    for number in 0..300 {
        let spoke = iri(200 + number);
        let next = iri(200 + (number + 1) % 300);
        quads.push((iri(100), iri(0), spoke, DEFAULT));
        quads.push((spoke, iri(1), next, DEFAULT));
        if number % 3 == 0 {
            quads.push((spoke, iri(2), spoke, DEFAULT));
            quads.push((spoke, iri(1), next, iri(7)));
        }
    }
    quads
}

fn samples<'a, V: GraphView>(view: &'a V, limits: Limits<'a>) -> Samples<'a, V> {
    Samples::new(view, &DatasetClause::default(), &constants(), limits)
}

fn one<V: GraphView>(samples: &mut Samples<'_, V>, question: SampleQuestion) -> Option<Sampled> {
    samples.sample(&[question]).expect("nothing stops it")[0]
}

#[test]
fn samples_that_hold_all_rows_count_exactly() {
    let view = snapshot_of(&quads(), None);
    let mut samples = samples(&view, Limits::none());
    let [x, y, z] = [0, 1, 2].map(slot);
    let spokes = one(&mut samples, question(None, HUB, P, x));
    assert_eq!(
        spokes.map(|it| (it.rows_in, it.found, it.rows)),
        Some((1, 300.0, 300))
    );
    let next = one(&mut samples, question(spokes, x, Q, y));
    assert_eq!(
        next.map(|it| (it.rows_in, it.found, it.rows)),
        Some((300, 300.0, 300))
    );
    let back = one(&mut samples, question(next, z, Q, x));
    assert_eq!(back.map(|it| (it.found, it.rows)), Some((300.0, 300)));
    // Both ends known, and one of them a constant.
    let same = one(&mut samples, question(next, x, R, x));
    assert_eq!(
        same.map(|it| (it.rows_in, it.found, it.rows)),
        Some((300, 100.0, 100))
    );
    let none = one(&mut samples, question(next, y, Q, x));
    assert_eq!(none.map(|it| (it.found, it.rows)), Some((0.0, 0)));
    let of_hub = one(&mut samples, question(next, HUB, P, y));
    assert_eq!(of_hub.map(|it| it.found), Some(300.0));
    let to_hub = one(&mut samples, question(next, y, P, HUB));
    assert_eq!(to_hub.map(|it| it.found), Some(0.0));
    // Two new variables, of which one may be the other.
    let edges = one(&mut samples, question(None, x, Q, y));
    assert_eq!(
        edges.map(|it| (it.rows_in, it.found, it.rows)),
        Some((1, 300.0, 300))
    );
    let loops = one(&mut samples, question(None, x, R, x));
    assert_eq!(loops.map(|it| (it.found, it.rows)), Some((100.0, 100)));
    let no_loops = one(&mut samples, question(None, x, Q, x));
    assert_eq!(no_loops.map(|it| it.found), Some(0.0));
}

#[test]
fn samples_look_only_at_the_graphs_of_a_pattern() {
    let view = snapshot_of(&quads(), None);
    let mut all = samples(&view, Limits::none());
    let [x, y] = [0, 1].map(slot);
    let within = |graph| {
        let mut asked = question(None, x, Q, y);
        asked.pattern.graph = Some(graph);
        asked
    };
    assert_eq!(one(&mut all, within(GRAPH)).map(|it| it.found), Some(100.0));
    assert_eq!(one(&mut all, within(OTHER)).map(|it| it.found), Some(0.0));
    assert_eq!(one(&mut all, within(ABSENT)).map(|it| it.found), Some(0.0));
    assert_eq!(one(&mut all, within(slot(3))), None);
    assert_eq!(
        one(&mut all, question(None, x, ABSENT, y)).map(|it| it.found),
        Some(0.0)
    );
    // The view is the store's: of a window nothing is known.
    let mut of_window = question(None, HUB, P, x);
    of_window.pattern.source = Source(1);
    assert_eq!(one(&mut all, of_window), None);
    // A dataset clause makes the named graph the default one.
    let dataset = DatasetClause {
        graphs: Some((vec![ConstantId(4)], Vec::new())),
        union_default: false,
    };
    let mut from = Samples::new(&view, &dataset, &constants(), Limits::none());
    assert_eq!(
        one(&mut from, question(None, x, Q, y)).map(|it| it.found),
        Some(100.0)
    );
    assert_eq!(one(&mut from, within(GRAPH)).map(|it| it.found), Some(0.0));
}

#[test]
fn small_samples_are_near_and_cheap() {
    let mut quads = quads();
    for number in 0..20_000 {
        quads.push((
            iri(1_000 + number % 5_000),
            iri(0),
            iri(30_000 + number),
            DEFAULT,
        ));
        quads.push((iri(30_000 + number), iri(2), iri(number % 7), DEFAULT));
    }
    let view = snapshot_of(&quads, None);
    let mut samples = samples(&view, Limits::none());
    let [x, y, z] = [0, 1, 2].map(slot);
    let small = |question: SampleQuestion| SampleQuestion {
        rows_max: 50,
        ..question
    };
    let edges = one(&mut samples, small(question(None, x, P, y))).expect("an answer");
    assert!((10_000.0..40_000.0).contains(&edges.found), "{edges:?}");
    assert_eq!(edges.rows, 50);
    let further = one(&mut samples, small(question(Some(edges), y, R, z))).expect("an answer");
    assert!(further.rows_in == 50 && further.found <= 50.0);
    assert!(further.found >= 40.0, "{further:?}");
    assert!(edges.touched + further.touched < 1_000);
    let again = one(&mut samples, small(question(None, x, P, y))).expect("an answer");
    assert_eq!((again.found, again.rows), (edges.found, edges.rows));
}

#[test]
fn long_lists_that_have_to_be_filtered_are_left_alone() {
    let quads: Vec<Quad> = (0..40_000)
        .map(|number| {
            let graph = if number % 2 == 0 { DEFAULT } else { iri(7) };
            (iri(100), iri(0), iri(1_000 + number), graph)
        })
        .collect();
    let view = snapshot_of(&quads, None);
    let mut samples = samples(&view, Limits::none());
    let asked = question(None, HUB, P, slot(0));
    assert_eq!(one(&mut samples, asked), None);
}

#[test]
fn what_is_no_sample_has_no_answer() {
    let view = snapshot_of(&quads(), None);
    let mut samples = samples(&view, Limits::none());
    let [x, y, z] = [0, 1, 2].map(slot);
    let first = one(&mut samples, question(None, HUB, P, x));
    for (from, subject, predicate, object) in [
        (None, HUB, P, HUB),
        (None, x, z, y),
        (first, y, Q, z),
        (first, HUB, P, y),
    ] {
        assert_eq!(
            one(&mut samples, question(from, subject, predicate, object)),
            None
        );
    }
    let mut unknown = question(first, x, Q, y);
    unknown.from = Some(SampleId(77));
    assert_eq!(one(&mut samples, unknown), None);
}

struct Small;

impl MemoryBudget for Small {
    fn try_reserve(&self, bytes: u64) -> Result<(), MemoryExceeded> {
        if bytes <= 1_000 {
            return Ok(());
        }
        Err(MemoryExceeded {
            limit_bytes: 1_000,
            used_bytes: 0,
            of_all: false,
        })
    }

    fn release(&self, _bytes: u64) {}
}

impl Stop for Small {
    fn reason(&self) -> Option<StopReason> {
        None
    }
}

struct Stopped;

impl Stop for Stopped {
    fn reason(&self) -> Option<StopReason> {
        Some(StopReason::Cancelled)
    }
}

#[test]
fn samples_keep_to_memory_and_end_when_the_query_does() {
    let view = snapshot_of(&quads(), None);
    let (small, none) = (Small, Limits::none());
    let limits = Limits {
        memory: &small,
        ..none
    };
    let mut samples = samples(&view, limits);
    assert_eq!(one(&mut samples, question(None, HUB, P, slot(0))), None);
    let few = SampleQuestion {
        rows_max: 50,
        ..question(None, HUB, P, slot(0))
    };
    assert_eq!(one(&mut samples, few).map(|it| it.rows), Some(50));
    let limits = Limits {
        stop: &Stopped,
        ..none
    };
    let mut stopped = self::samples(&view, limits);
    assert_eq!(stopped.sample(&[few]), Err(Interrupted));
    let error = stopped.into_error();
    assert!(matches!(
        error,
        Some(WalkError::Stopped(StopReason::Cancelled))
    ));
}
