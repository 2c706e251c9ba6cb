//! A vertex with very many neighbours costs a row of a check no more than another vertex.

use crate::support;

use explore::{Chunk, Environment, Limits, Options, Status, Walk, prepare};
use query::plan::{Action, ConstantId, Estimate, Node, Plan, Scope, Slot, Source, Step};
use rdf::{Direction, VertexId};
use std::time::{Duration, Instant};
use store::testing::snapshot_of;
use support::{DEFAULT, Numbered, Random, constants, iri, plans};

/// `?h p0 ?x . GRAPH ?k { ?h p1 ?x }`, in this order.
fn plan() -> Plan {
    let mut plan = plans::plan(&mut Random::new(0), false);
    plan.variables = ["h", "x", "k"].map(str::to_owned).to_vec();
    plan.dataset.graphs = None;
    let [h, x, k] = [0, 1, 2].map(Slot);
    let predicate = |number| Node::Constant(ConstantId(number));
    let (direction, scope) = (Direction::Out, Scope::Default);
    let actions = [
        Action::ExpandKeys {
            predicate: predicate(0),
            direction,
            scope,
            into: h,
            source: Source::STORE,
        },
        Action::Expand {
            from: Node::Slot(h),
            predicate: predicate(0),
            direction,
            scope,
            into: x,
            source: Source::STORE,
        },
        Action::Check {
            subject: Node::Slot(h),
            predicate: predicate(1),
            object: Node::Slot(x),
            from: Direction::Out,
            scope: Scope::Bind(k),
            source: Source::STORE,
        },
    ];
    let keep = [vec![h], vec![h, x], vec![h, x, k]];
    let step = |(action, keep)| Step {
        action,
        keep,
        estimate: Estimate::default(),
    };
    plan.steps = actions.into_iter().zip(keep).map(step).collect();
    plan
}

#[test]
fn a_check_that_binds_the_graph_seeks_its_edge() {
    const NEIGHBOURS: u64 = 100_000;
    let (hub, graphs) = (iri(7), [iri(5), iri(6)]);
    let mut quads = Vec::new();
    for number in 0..NEIGHBOURS {
        let neighbour = iri(100 + number);
        quads.push((hub, iri(0), neighbour, DEFAULT));
        quads.push((hub, iri(1), neighbour, DEFAULT));
        // Every third in one graph, every sixth in both.
        let in_graphs = [number % 3 == 0, number % 6 == 0];
        let named = graphs.iter().zip(in_graphs).filter(|(_, is_in)| *is_in);
        quads.extend(named.map(|(&graph, _)| (hub, iri(1), neighbour, graph)));
    }
    let plan = plan();
    let ids = constants(&plan, &Numbered);
    let view = snapshot_of(&quads, None);
    let environment = Environment::fixed();
    let prepared =
        prepare(&plan, &ids, &view, Limits::none(), &environment).expect("nothing fails");
    let mut walk = Walk::new(
        &prepared,
        &view,
        &Numbered,
        Limits::none(),
        Options::default(),
    );
    let started = Instant::now();
    let mut found: Vec<[VertexId; 3]> = Vec::new();
    let mut chunk = Chunk::new();
    loop {
        match walk.next(&mut chunk).expect("nothing fails") {
            Status::Rows => {}
            Status::Done => break,
            other => unreachable!("all is in memory, without a time slice: {other:?}"),
        }
        let column = |slot| chunk.column(Slot(slot)).expect("it is kept");
        let columns = [column(0), column(1), column(2)];
        found.extend((0..chunk.rows() as usize).map(|row| columns.map(|column| column[row])));
    }
    let passed = started.elapsed();
    let mut expected: Vec<[VertexId; 3]> = quads
        .iter()
        .filter(|quad| quad.3 != DEFAULT)
        .map(|&(subject, _, object, graph)| [subject, object, graph])
        .collect();
    expected.sort_unstable();
    found.sort_unstable();
    assert_eq!(found, expected);
    // A few milliseconds; reading the hub's list for every row would take a minute.
    assert!(passed < Duration::from_secs(20), "{passed:?}");
}
