//! Walks of random plans over random graphs against the naive evaluator, in every way of running:
//! chunks of any size, suspended at every step and every lookup, cut into ranges.

use crate::support;

use explore::{
    Chunk, Environment, Limits, Options, Prepared, Status, Walk, prepare, prepare_steps, wait_for,
};
use query::plan::{Action, ConstantId, Estimate, Form, Node, Plan, Scope, Slot, Source, Step};
use query::wire::{decode_plan, decode_rows, encode_plan, encode_rows};
use rdf::{Direction, Lexicon, VertexId};
use std::collections::{BTreeMap, HashSet};
use std::sync::atomic::{AtomicU64, Ordering};
use store::testing::snapshot_of;
use store::{GraphView, Snapshot};
use support::naive::{Naive, Row};
use support::{DEFAULT, Numbered, Quad, Random, constants, iri, plans, quads};
use testkit::plain_graph::PlainGraph;
use testkit::waiting::Waiting;

/// Cases of each test; a failing seed is printed.
const CASES: u64 = 2000;

/// Rows of a chunk as the plan's last columns.
fn append(chunk: &Chunk, width: usize, rows: &mut Vec<Row>) {
    for row in 0..chunk.rows() as usize {
        let cell = |slot: u16| {
            chunk
                .column(Slot(slot))
                .map_or(VertexId::UNBOUND, |c| c[row])
        };
        rows.push((0..width as u16).map(cell).collect());
    }
}

fn drain<V: GraphView, L: Lexicon>(walk: &mut Walk<'_, '_, V, L>, width: usize) -> Vec<Row> {
    let mut chunk = Chunk::new();
    let mut rows = Vec::new();
    loop {
        match walk.next(&mut chunk).expect("nothing fails") {
            Status::Rows => append(&chunk, width, &mut rows),
            Status::Done | Status::Starved => return rows,
            Status::Yield | Status::Pending(_) => assert!(chunk.is_empty()),
        }
    }
}

fn bag(rows: &[Row]) -> BTreeMap<Row, usize> {
    let mut bag = BTreeMap::new();
    for row in rows {
        *bag.entry(row.clone()).or_default() += 1;
    }
    bag
}

/// Whether the rows are right, whatever order the plan leaves open.
fn assert_right(plan: &Plan, naive: &Naive<'_>, rows: &[Row], what: &str) {
    let expected = naive.rows(plan.steps.len());
    let slice = plan
        .steps
        .iter()
        .position(|step| matches!(step.action, Action::Slice { .. }));
    let Some(slice) = slice else {
        assert_eq!(bag(rows), bag(&expected), "{what}");
        return;
    };
    assert_eq!(rows.len(), expected.len(), "{what}");
    let all = bag(&naive.rows(slice));
    for (row, times) in bag(rows) {
        assert!(
            times <= all.get(&row).copied().unwrap_or(0),
            "{what}: {row:?}"
        );
    }
}

/// Rows leave in the order of the plan's `Order` step, if that is what it ends with.
fn assert_ordered(plan: &Plan, naive: &Naive<'_>, rows: &[Row], what: &str) {
    let Some(at) = plan
        .steps
        .iter()
        .position(|step| matches!(step.action, Action::Order { .. }))
    else {
        return;
    };
    let Action::Order { keys, limit } = &plan.steps[at].action else {
        unreachable!()
    };
    let sort_key = |row: &Row| -> Vec<(u8, String, i64)> {
        let key = |key: &query::plan::OrderKey| {
            let query::expression::Expression::Slot(slot) = key.expression else {
                unreachable!()
            };
            let id = row[usize::from(slot.0)];
            match id.tag().expect("known") {
                rdf::Tag::Iri => (1, format!("ex:{}", id.payload()), 0),
                rdf::Tag::Unbound => (0, String::new(), 0),
                rdf::Tag::QueryLocal if id.payload() == 0 => (1, "http".to_owned(), 0),
                rdf::Tag::QueryLocal => (3, "absent".to_owned(), 0),
                rdf::Tag::Integer => (2, String::new(), rdf::inline::integer(id).expect("inline")),
                _ => (3, format!("s{}", id.payload()), 0),
            }
        };
        keys.iter().map(key).collect()
    };
    let compare = |left: &Row, right: &Row| {
        let pairs = sort_key(left).into_iter().zip(sort_key(right)).zip(keys);
        pairs.fold(std::cmp::Ordering::Equal, |order, ((left, right), key)| {
            order.then_with(|| {
                if key.descending {
                    right.cmp(&left)
                } else {
                    left.cmp(&right)
                }
            })
        })
    };
    let mut expected = naive.rows(at);
    let is_boolean = |id: &VertexId| id.has_tag(rdf::Tag::Boolean);
    if expected.iter().flatten().any(is_boolean) {
        return; // Between booleans and other literals the order is the engine's.
    }
    expected.sort_by(compare);
    expected.truncate(limit.map_or(usize::MAX, |limit| limit as usize));
    let keys_of = |rows: &[Row]| rows.iter().map(&sort_key).collect::<Vec<_>>();
    assert_eq!(keys_of(rows), keys_of(&expected), "{what}");
}

fn run_case(seed: u64, tail: bool) {
    run_plan_of(seed, |random| plans::plan(random, tail));
}

fn run_plan_of(seed: u64, plan: impl Fn(&mut Random) -> Plan) {
    run_plan_over(seed, 1, plan);
}

/// A plan whose patterns are of any of so many sources, each of random quads.
fn run_plan_over(seed: u64, sources: usize, plan: impl Fn(&mut Random) -> Plan) {
    let mut random = Random::new(seed);
    let graphs: Vec<Vec<Quad>> = (0..sources).map(|_| quads(&mut random)).collect();
    let plan = plan(&mut random);
    let ids = constants(&plan, &Numbered);
    let views: Vec<Snapshot> = graphs
        .iter()
        .map(|quads| snapshot_of(quads, random.chance(50).then(|| iri(1))))
        .collect();
    let views = &views[..];
    let naive = Naive {
        quads: graphs
            .iter()
            .map(|it| it.iter().copied().collect())
            .collect(),
        plan: &plan,
        constants: &ids,
    };
    let environment = Environment::fixed();
    let prepared =
        prepare(&plan, &ids, views, Limits::none(), &environment).expect("nothing fails");
    let policies: Vec<_> = prepared.policies().collect();
    let what = format!("seed {seed}, {policies:?}, {plan:#?}");
    for (chunk_rows, runs_per_call) in [(1, 1), (2, u32::MAX), (3, 2), (1024, u32::MAX)] {
        let options = Options {
            chunk_rows,
            runs_per_call,
            clock: None,
        };
        let mut walk = Walk::new(&prepared, views, &Numbered, Limits::none(), options);
        let rows = drain(&mut walk, plan.variables.len());
        assert_right(&plan, &naive, &rows, &what);
        assert_ordered(&plan, &naive, &rows, &what);
    }
    run_in_parts(&prepared, views, &naive, &mut random, &what);
    run_in_sections((&plan, &ids), views, &naive, &mut random, &what);
    let vectors: Vec<PlainGraph> = graphs.iter().map(|quads| PlainGraph::new(quads)).collect();
    run_over(&vectors, &Numbered, &plan, &ids, &naive, &what);
    let waiting = Waiting::before_each(views, &Numbered);
    run_over(&waiting, &waiting[0], &plan, &ids, &naive, &what);
    let waiting = Waiting::before_each(&vectors, &Numbered);
    run_over(&waiting, &waiting[0], &plan, &ids, &naive, &what);
}

/// Ranges of the seed, then the tail.
fn run_in_parts(
    prepared: &Prepared<'_>,
    views: &[Snapshot],
    naive: &Naive<'_>,
    random: &mut Random,
    what: &str,
) {
    let Some(seed) = prepared.seed(views).expect("nothing fails") else {
        return;
    };
    let plan = prepared.plan();
    let width = plan.variables.len();
    let options = Options {
        chunk_rows: 1 + random.below(5),
        ..Options::default()
    };
    let mut tail = Walk::tail(prepared, views, &Numbered, Limits::none(), options);
    let mut rows = drain(&mut tail, width);
    let mut chunk = Chunk::new();
    let mut from = 0;
    while from < seed.len() {
        let to = (from + 1 + random.below(3) as u64).min(seed.len());
        let limits = Limits::none();
        let mut part = Walk::over(prepared, views, &Numbered, limits, options, &seed, from..to);
        while part.next(&mut chunk).expect("nothing fails") == Status::Rows {
            tail.push(&mut chunk).expect("nothing fails");
            rows.extend(drain(&mut tail, width));
        }
        from = to;
    }
    tail.end_input();
    rows.extend(drain(&mut tail, width));
    if plan.form == Form::Ask {
        let expected = naive.rows(plan.steps.len()).len().min(1);
        assert_eq!(rows.len(), expected, "{what}");
        assert_eq!(tail.is_satisfied(), expected == 1, "{what}");
        return;
    }
    assert_right(plan, naive, &rows, what);
    assert_ordered(plan, naive, &rows, what);
}

/// A section of each step, and two sections that meet anywhere. Each is of a copy of the plan that was prepared for itself,
/// as another node would; plan and rows go there as bytes.
fn run_in_sections(
    (plan, ids): (&Plan, &[Option<VertexId>]),
    views: &[Snapshot],
    naive: &Naive<'_>,
    random: &mut Random,
    what: &str,
) {
    let steps = plan.steps.len();
    let environment = Environment::fixed();
    let cut = 1 + random.below(steps);
    for cuts in [(1..steps).collect(), vec![cut]] {
        let options = Options {
            chunk_rows: 1 + random.below(5),
            ..Options::default()
        };
        let ends: Vec<usize> = cuts.iter().copied().chain([steps]).collect();
        let copies: Vec<_> = ends.iter().map(|_| copy(plan, ids)).collect();
        let starts = std::iter::once(&0).chain(&ends);
        let nodes = copies.iter().zip(starts.zip(&ends));
        let nodes = nodes.map(|((plan, ids), (from, to))| {
            let limits = Limits::none();
            let prepared = prepare_steps(plan, ids, views, limits, &environment, *from..*to);
            prepared.expect("nothing fails")
        });
        let nodes: Vec<Prepared<'_>> = nodes.collect();
        let (mut from, mut sent): (usize, Vec<Vec<u8>>) = (0, Vec::new());
        for (node, &to) in nodes.iter().zip(&ends) {
            let mut walk = Walk::section(node, views, &Numbered, Limits::none(), options, from..to);
            let mut given = Vec::new();
            for rows in std::mem::take(&mut sent) {
                let mut chunk = received(node, &rows);
                walk.push(&mut chunk).expect("nothing fails");
                send(node, &mut walk, &mut given);
            }
            walk.end_input();
            send(node, &mut walk, &mut given);
            (sent, from) = (given, to);
        }
        let mut rows = Vec::new();
        for bytes in &sent {
            // The last node's rows, whose local terms are those of the plan that others are compared with.
            let chunk = received(&nodes[0], bytes);
            append(&chunk, plan.variables.len(), &mut rows);
        }
        let what = format!("cut at {cuts:?}: {what}");
        assert_right(plan, naive, &rows, &what);
        assert_ordered(plan, naive, &rows, &what);
    }
}

/// A plan as it comes to another node; some random plans are walked rightly and no planner would make them.
fn copy(plan: &Plan, ids: &[Option<VertexId>]) -> (Plan, Vec<Option<VertexId>>) {
    if plan.check().is_err() {
        return (plan.clone(), ids.to_vec());
    }
    let mut bytes = Vec::new();
    encode_plan(plan, ids, &mut bytes).expect("a plan has an encoding");
    decode_plan(&bytes).expect("what was encoded is read")
}

/// Sends the rows that a walk has now, chunk by chunk.
fn send<V: GraphView>(
    node: &Prepared<'_>,
    walk: &mut Walk<'_, '_, V, Numbered>,
    sent: &mut Vec<Vec<u8>>,
) {
    let mut chunk = Chunk::new();
    while walk.next(&mut chunk).expect("nothing fails") == Status::Rows {
        let slots: Vec<Slot> = chunk.slots().collect();
        let column = |slot: &Slot| (*slot, chunk.column(*slot).expect("it is there"));
        let columns: Vec<_> = slots.iter().map(column).collect();
        let mut bytes = Vec::new();
        encode_rows(
            chunk.rows(),
            &columns,
            |id| node.locals().get(id),
            &mut bytes,
        )
        .expect("rows have an encoding");
        sent.push(bytes);
    }
}

/// Rows that came from elsewhere, as a node has them.
fn received(node: &Prepared<'_>, bytes: &[u8]) -> Chunk {
    let mut rows = decode_rows(bytes).expect("what was encoded is read");
    let terms = (0..rows.locals.len()).map(|at| rows.locals.get(at).expect("none is unbound"));
    let mut ids = Vec::new();
    let locals = node.locals();
    locals.ids_of(terms, &mut ids).expect("there is memory");
    rows.replace_locals(&ids);
    let width = node.plan().variables.len();
    Chunk::from_columns(width, rows.count, rows.columns).expect("columns of a chunk")
}

/// Over another view of the same graph.
fn run_over<V: GraphView, L: Lexicon>(
    views: &[V],
    lexicon: &L,
    plan: &Plan,
    ids: &[Option<VertexId>],
    naive: &Naive<'_>,
    what: &str,
) {
    let environment = Environment::fixed();
    let prepared = wait_for(&views[0], &Limits::none(), || {
        prepare(plan, ids, views, Limits::none(), &environment)
    });
    let prepared = prepared.expect("nothing fails");
    let options = Options {
        chunk_rows: 3,
        ..Options::default()
    };
    let mut walk = Walk::new(&prepared, views, lexicon, Limits::none(), options);
    let rows = drain(&mut walk, plan.variables.len());
    assert_right(plan, naive, &rows, what);
    assert_ordered(plan, naive, &rows, what);
}

#[test]
fn patterns_and_filters_are_right() {
    (0..CASES).for_each(|seed| run_case(seed, false));
}

#[test]
fn blocking_tails_are_right() {
    (CASES..2 * CASES).for_each(|seed| run_case(seed, true));
}

#[test]
fn composed_plans_are_right() {
    for seed in 2 * CASES..4 * CASES {
        run_plan_of(seed, |random| plans::composed(random, seed % 4 == 0));
    }
}

/// What is counted is counted once, also where a walk is left and gone on with between two lookups of one row.
#[test]
fn counted_plans_are_right() {
    for seed in 8 * CASES..9 * CASES {
        run_plan_of(seed, |random| plans::counted(random, seed % 4 == 0));
    }
}

#[test]
fn plans_over_several_sources_are_right() {
    for seed in 9 * CASES..11 * CASES {
        let sources = 2 + (seed % 2) as usize;
        run_plan_over(seed, sources, |random| {
            plans::mixed(random, seed % 4 == 0, sources as u16)
        });
    }
}

/// The only column of a plan of one step over these views, under a clause of graphs to merge and of named ones.
fn column(views: &[Snapshot], clause: Option<[&[u32]; 2]>, action: Action) -> Vec<VertexId> {
    let mut plan = plans::plan(&mut Random::new(0), false);
    let listed = |graphs: &[u32]| graphs.iter().map(|&graph| ConstantId(graph)).collect();
    plan.dataset.graphs = clause.map(|[merge, named]| (listed(merge), listed(named)));
    plan.dataset.union_default = false;
    let mut keep = Vec::new();
    action.for_each_write(&mut |slot| keep.push(slot));
    plan.form = Form::Select(keep.clone());
    plan.steps = vec![Step {
        action,
        keep,
        estimate: Estimate::default(),
    }];
    let ids = constants(&plan, &Numbered);
    let environment = Environment::fixed();
    let prepared = prepare(&plan, &ids, views, Limits::none(), &environment);
    let prepared = prepared.expect("nothing fails");
    let options = Options::default();
    let mut walk = Walk::new(&prepared, views, &Numbered, Limits::none(), options);
    let rows = drain(&mut walk, 1);
    rows.iter().map(|row| row[0]).collect()
}

#[test]
fn a_dataset_clause_is_of_the_store_alone() {
    let [subject, predicate, stored, streamed] = [1, 0, 4, 5].map(iri);
    let store = [
        (subject, predicate, iri(2), DEFAULT),
        (subject, predicate, iri(3), stored),
    ];
    let window = [
        (subject, predicate, iri(2), DEFAULT),
        (subject, predicate, iri(2), streamed),
        (subject, predicate, iri(3), streamed),
    ];
    let views = [&store[..], &window[..]].map(|quads| snapshot_of(quads, None));
    let graphs = |clause, source| {
        column(
            &views,
            clause,
            Action::AllGraphs {
                source,
                into: Slot(0),
            },
        )
    };
    let objects = |clause, scope, source| {
        let action = Action::Expand {
            from: Node::Constant(ConstantId(1)),
            predicate: Node::Constant(ConstantId(0)),
            direction: Direction::Out,
            scope,
            source,
            into: Slot(0),
        };
        column(&views, clause, action)
    };
    let named = |graph| Scope::Named(Node::Constant(ConstantId(graph)));
    let clauses: [Option<[&[u32]; 2]>; 3] = [None, Some([&[4], &[4, 6]]), Some([&[], &[]])];
    for clause in clauses {
        let window = Source(1);
        let both = [iri(2), iri(3)];
        assert_eq!(graphs(clause, window), [streamed], "{clause:?}");
        assert_eq!(objects(clause, Scope::Default, window), both, "{clause:?}");
        assert_eq!(objects(clause, named(5), window), both, "{clause:?}");
        assert_eq!(objects(clause, named(4), window), [], "{clause:?}");
    }
    // The store's are chosen by it.
    let of_store = clauses.map(|clause| {
        let default = objects(clause, Scope::Default, Source::STORE);
        (graphs(clause, Source::STORE), default)
    });
    let expected = [
        (vec![stored], vec![iri(2)]),
        (vec![stored, iri(6)], vec![iri(3)]),
        (vec![], vec![]),
    ];
    assert_eq!(of_store, expected);
}

#[test]
#[should_panic(expected = "a plan names source 1, and its walk has 1 views")]
fn a_plan_needs_a_view_for_each_source() {
    let mut random = Random::new(0);
    let view = snapshot_of(&quads(&mut random), None);
    let plan = std::iter::repeat_with(|| plans::mixed(&mut random, false, 2))
        .find(|plan| {
            let mut is_first = true;
            plan.steps[0]
                .action
                .for_each_source(&mut |it| is_first &= it.is_store());
            !is_first
        })
        .expect("some plan begins with the second source");
    let ids = constants(&plan, &Numbered);
    let environment = Environment::fixed();
    let _ = prepare(&plan, &ids, &view, Limits::none(), &environment);
}

#[test]
fn ask_stops_at_the_first_row() {
    for seed in 0..CASES / 4 {
        let mut random = Random::new(seed ^ 0xa5);
        let quads = quads(&mut random);
        let mut plan = match seed % 2 {
            0 => plans::plan(&mut random, false),
            _ => plans::composed(&mut random, false),
        };
        plan.form = Form::Ask;
        let ids = constants(&plan, &Numbered);
        let view = snapshot_of(&quads, None);
        let naive = Naive {
            quads: vec![quads.iter().copied().collect()],
            plan: &plan,
            constants: &ids,
        };
        let expected = naive.rows(plan.steps.len()).len().min(1);
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
        let rows = drain(&mut walk, plan.variables.len());
        assert_eq!(rows.len(), expected, "seed {seed}");
        run_in_parts(
            &prepared,
            std::slice::from_ref(&view),
            &naive,
            &mut random,
            &format!("seed {seed}"),
        );
    }
}

#[test]
fn the_profile_counts_rows_and_time() {
    let quads = [
        (iri(1), iri(0), iri(2), support::DEFAULT),
        (iri(1), iri(0), iri(3), support::DEFAULT),
    ];
    let mut random = Random::new(0);
    let mut plan = plans::plan(&mut random, false);
    plan.variables = vec!["x".to_owned(), "y".to_owned()];
    let predicate = query::plan::Node::Constant(query::plan::ConstantId(0));
    let scope = query::plan::Scope::Default;
    let step = |action, keep: &[u16]| query::plan::Step {
        action,
        keep: keep.iter().map(|&slot| Slot(slot)).collect(),
        estimate: query::plan::Estimate::default(),
    };
    let direction = Direction::Out;
    let from = query::plan::Node::Slot(Slot(0));
    plan.dataset.graphs = None;
    plan.steps = vec![
        step(
            Action::ExpandKeys {
                predicate,
                direction,
                scope,
                into: Slot(0),
                source: Source::STORE,
            },
            &[0],
        ),
        step(
            Action::Expand {
                from,
                predicate,
                direction,
                scope,
                into: Slot(1),
                source: Source::STORE,
            },
            &[0, 1],
        ),
    ];
    let ids = constants(&plan, &Numbered);
    let view = snapshot_of(&quads, None);
    let environment = Environment::fixed();
    let prepared = prepare(&plan, &ids, &view, Limits::none(), &environment).unwrap();
    let ticks = AtomicU64::new(0);
    let clock = || ticks.fetch_add(5, Ordering::Relaxed);
    let options = Options {
        clock: Some(&clock),
        ..Options::default()
    };
    let mut walk = Walk::new(&prepared, &view, &Numbered, Limits::none(), options);
    assert_eq!(drain(&mut walk, 2).len(), 2);
    let rows: Vec<u64> = walk.profile().iter().map(|step| step.rows).collect();
    assert_eq!(rows, [1, 2]);
    assert!(
        walk.profile()
            .iter()
            .all(|step| step.nanoseconds == 5 * step.runs)
    );
}

/// A random case is worth something only if the policies are met and rows come out.
#[test]
fn random_cases_meet_every_policy() {
    let mut met = BTreeMap::from([("sizes", 0), ("degree", 0)]);
    let mut with_rows = 0;
    for seed in 0..CASES {
        let mut random = Random::new(seed);
        let quads = quads(&mut random);
        let plan = match seed % 8 {
            3 => plans::composed(&mut random, false),
            7 => plans::counted(&mut random, false),
            other => plans::plan(&mut random, other == 0),
        };
        let ids = constants(&plan, &Numbered);
        let view = snapshot_of(&quads, random.chance(50).then(|| iri(1)));
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
        let rows = drain(&mut walk, plan.variables.len());
        with_rows += usize::from(!rows.is_empty());
        for (policy, step) in prepared.policies().zip(walk.profile()) {
            *met.entry(policy).or_default() += usize::from(step.rows > 0);
        }
    }
    met.remove("nothing");
    assert!(with_rows > 500, "only {with_rows} cases have rows");
    assert!(
        met.values().all(|&times| times > 3),
        "policies with rows: {met:?}"
    );
    eprintln!("{with_rows} {met:?}");
}

/// `?a p0 ?x . ?b p1 ?x` from every subject of p0 as a and as b: one intersection, or an expansion and a check.
fn two_lists(intersects: bool) -> Plan {
    let mut plan = plans::plan(&mut Random::new(0), false);
    plan.variables = ["a", "b", "x"].map(str::to_owned).to_vec();
    plan.dataset.graphs = None;
    let [first, second] = [0, 1].map(query::plan::ConstantId);
    let (direction, scope) = (Direction::Out, query::plan::Scope::Default);
    let keys = |into| Action::ExpandKeys {
        predicate: Node::Constant(first),
        direction,
        scope,
        into,
        source: Source::STORE,
    };
    let into = Slot(2);
    let mut actions = vec![keys(Slot(0)), keys(Slot(1))];
    if intersects {
        let side = |from, predicate| query::plan::Side {
            from: Slot(from),
            predicate,
            direction,
            scope,
            source: Source::STORE,
        };
        let sides = [side(0, first), side(1, second)];
        actions.push(Action::Intersect { sides, into });
    } else {
        actions.push(Action::Expand {
            from: Node::Slot(Slot(0)),
            predicate: Node::Constant(first),
            direction,
            scope,
            into,
            source: Source::STORE,
        });
        actions.push(Action::Check {
            subject: Node::Slot(Slot(1)),
            predicate: Node::Constant(second),
            object: Node::Slot(into),
            from: direction,
            scope,
            source: Source::STORE,
        });
    }
    let keep: [&[u16]; 4] = [&[0], &[0, 1], &[0, 1, 2], &[0, 1, 2]];
    plan.steps = Vec::new();
    for (action, keep) in actions.into_iter().zip(keep) {
        let keep = keep.iter().map(|&slot| Slot(slot)).collect();
        plan.steps.push(query::plan::Step {
            action,
            keep,
            estimate: query::plan::Estimate::default(),
        });
    }
    plan
}

/// Lists longer than what is merged, in one direction and the other, read in pieces.
#[test]
fn long_lists_intersect() {
    for seed in 0..40 {
        let mut random = Random::new(seed);
        let mut quads = Vec::new();
        for vertex in 0..4 {
            for predicate in 0..2 {
                let percent = random.below(100);
                let members = (100..600).filter(|_| random.chance(percent));
                let members: Vec<u64> = members.collect();
                let edge =
                    |member: u64| (iri(vertex), iri(predicate), iri(member), support::DEFAULT);
                quads.extend(members.into_iter().map(edge));
            }
        }
        let view = snapshot_of(&quads, None);
        let edges: HashSet<_> = quads.iter().map(|quad| (quad.0, quad.1, quad.2)).collect();
        let mut expected: Vec<Row> = Vec::new();
        for &(a, predicate, x) in edges.iter().filter(|edge| edge.1 == iri(0)) {
            let others = (0..4).map(iri).filter(|&b| edges.contains(&(b, iri(1), x)));
            let is_key =
                |b: &VertexId| edges.iter().any(|edge| (edge.0, edge.1) == (*b, predicate));
            expected.extend(others.filter(is_key).map(|b| vec![a, b, x]));
        }
        let environment = Environment::fixed();
        for (intersects, chunk_rows) in [(true, 1), (true, 30), (true, 1024), (false, 30)] {
            let plan = two_lists(intersects);
            let ids = constants(&plan, &Numbered);
            let prepared =
                prepare(&plan, &ids, &view, Limits::none(), &environment).expect("nothing fails");
            let options = Options {
                chunk_rows,
                ..Options::default()
            };
            let mut walk = Walk::new(&prepared, &view, &Numbered, Limits::none(), options);
            assert_eq!(bag(&drain(&mut walk, 3)), bag(&expected), "seed {seed}");
        }
    }
}

/// Of rows with equal keys those of the first part are chosen, even if later parts had full choices before.
#[test]
fn parts_that_choose_keep_ties_for_the_first_of_them() {
    let mut plan = two_lists(true);
    plan.variables.pop();
    let keys = plan.steps.swap_remove(0);
    let constant = query::plan::Node::Constant(query::plan::ConstantId(0));
    let expand = Action::Expand {
        from: query::plan::Node::Slot(Slot(0)),
        predicate: constant,
        direction: Direction::Out,
        scope: query::plan::Scope::Default,
        into: Slot(1),
        source: Source::STORE,
    };
    let key = query::plan::OrderKey {
        expression: query::expression::Expression::Slot(Slot(1)),
        descending: false,
    };
    let order = Action::Order {
        keys: vec![key],
        limit: Some(3),
    };
    plan.steps = vec![keys];
    for action in [expand, order] {
        plan.steps.push(query::plan::Step {
            action,
            keep: vec![Slot(0), Slot(1)],
            estimate: query::plan::Estimate::default(),
        });
    }
    let quads: Vec<_> = (0..40)
        .map(|n| (iri(n), iri(0), iri(100 + n % 2), support::DEFAULT))
        .collect();
    let ids = constants(&plan, &Numbered);
    let view = snapshot_of(&quads, None);
    let environment = Environment::fixed();
    let prepared =
        prepare(&plan, &ids, &view, Limits::none(), &environment).expect("nothing fails");
    assert!(prepared.part_steps() > prepared.cut(), "parts choose");
    let seed = prepared.seed(&view).expect("nothing fails");
    let seed = seed.expect("the keys are a set");
    assert_eq!(seed.len(), 40);
    let (limits, options) = (Limits::none(), Options::default());
    let part = |range| {
        let mut walk = Walk::over(&prepared, &view, &Numbered, limits, options, &seed, range);
        let rows = drain(&mut walk, 2);
        rows.iter().map(|row| row[0].payload()).collect::<Vec<_>>()
    };
    assert_eq!(part(20..40), [20, 22, 24], "the last part alone");
    assert_eq!(part(10..20), [10, 12, 14], "ties with a later part");
    assert_eq!(part(1..2), [0; 0], "behind what others have chosen");
    assert_eq!(part(0..10), [0, 2, 4], "ties with all later parts");
}

/// A plan is shared by workers, and a suspended walk may go on on another thread.
#[test]
fn walks_can_move_between_threads() {
    fn assert_send<T: Send>() {}
    fn assert_sync<T: Sync>() {}
    assert_sync::<Prepared<'_>>();
    assert_send::<Walk<'_, '_, Snapshot, Numbered>>();
}
