//! Memory and time: every operator that holds rows draws on the budget and gives it back, every
//! walk ends soon after it is told to.

use crate::support;

use explore::limits::Unlimited;
use explore::{
    Chunk, Environment, Limits, MemoryBudget, MemoryExceeded, Options, Status, Stop, StopReason,
    Walk, WalkError, prepare, run_to_end, wait_for,
};
use query::expression::{Comparison, Expression, Function};
use query::plan::{
    Action, ConstantId, DatasetClause, Estimate, Form, Mode, Node, OrderKey, Plan, Scope, Slot,
    Source, Step, Weight,
};
use rdf::{Direction, VertexId};
use std::sync::atomic::{AtomicU64, Ordering};
use store::GraphView;
use store::testing::snapshot_of;
use support::{DEFAULT, Numbered, Quad, constants, integer, iri};
use testkit::plain_graph::PlainGraph;
use testkit::waiting::Waiting;

struct Budget {
    limit_bytes: u64,
    used: AtomicU64,
    most: AtomicU64,
}

impl Budget {
    fn new(limit_bytes: u64) -> Budget {
        Budget {
            limit_bytes,
            used: AtomicU64::new(0),
            most: AtomicU64::new(0),
        }
    }
}

impl MemoryBudget for Budget {
    fn try_reserve(&self, bytes: u64) -> Result<(), MemoryExceeded> {
        let used = self.used.load(Ordering::Relaxed);
        if used + bytes > self.limit_bytes {
            return Err(MemoryExceeded {
                limit_bytes: self.limit_bytes,
                used_bytes: used,
                of_all: false,
            });
        }
        self.used.fetch_add(bytes, Ordering::Relaxed);
        self.most.fetch_max(used + bytes, Ordering::Relaxed);
        Ok(())
    }

    fn release(&self, bytes: u64) {
        self.used.fetch_sub(bytes, Ordering::Relaxed);
    }
}

/// Says stop after it was asked a number of times.
struct After {
    looks: AtomicU64,
    reason: StopReason,
}

impl Stop for After {
    fn reason(&self) -> Option<StopReason> {
        let left = self.looks.load(Ordering::Relaxed);
        if left == 0 {
            return Some(self.reason);
        }
        self.looks.store(left - 1, Ordering::Relaxed);
        None
    }
}

const X: Slot = Slot(0);
const Y: Slot = Slot(1);
const Z: Slot = Slot(2);
const GRAPH: u64 = 9;

/// `?x p0 ?y` for many x, in the default graph and in one named graph, objects few numbers.
fn graph() -> Vec<Quad> {
    (0..5000)
        .flat_map(|n| {
            let edge = |graph| (iri(100 + n), iri(0), integer((n % 50) as i64), graph);
            [edge(DEFAULT), edge(iri(GRAPH))]
        })
        .collect()
}

fn step(action: Action, keep: &[Slot]) -> Step {
    Step {
        action,
        keep: keep.to_vec(),
        estimate: Estimate::default(),
    }
}

fn plan_of(steps: Vec<Step>) -> Plan {
    Plan {
        variables: ["x", "y", "z", ".row"].map(str::to_owned).to_vec(),
        constants: vec![Numbered::term(iri(0)), Numbered::term(iri(GRAPH))],
        dataset: DatasetClause::default(),
        base: None,
        form: Form::Select(
            steps
                .last()
                .map(|step| step.keep.clone())
                .unwrap_or_default(),
        ),
        steps,
        weight: Weight::Heavy,
    }
}

const PREDICATE: Node = Node::Constant(ConstantId(0));

fn keys(into: Slot, keep: &[Slot]) -> Step {
    let (direction, scope) = (Direction::Out, Scope::Default);
    step(
        Action::ExpandKeys {
            predicate: PREDICATE,
            direction,
            scope,
            into,
            source: Source::STORE,
        },
        keep,
    )
}

fn expand(from: Slot, direction: Direction, into: Slot, keep: &[Slot]) -> Step {
    let scope = Scope::Default;
    let from = Node::Slot(from);
    step(
        Action::Expand {
            from,
            predicate: PREDICATE,
            direction,
            scope,
            into,
            source: Source::STORE,
        },
        keep,
    )
}

const ROW: Slot = Slot(3);

/// Walks these steps from each row with an X.
fn nested(mode: Mode, branch: Vec<Step>, exports: &[Slot], keep: &[Slot]) -> Step {
    step(
        Action::Nested {
            mode,
            branches: vec![branch],
            imports: vec![X],
            row: ROW,
            exports: exports.to_vec(),
            row_by_row: false,
        },
        keep,
    )
}

fn probe(table: Vec<Step>, keys: &[Slot], exports: &[Slot], keep: &[Slot]) -> Step {
    let (keys, exports) = (keys.to_vec(), exports.to_vec());
    step(
        Action::Probe {
            table,
            keys,
            exports,
        },
        keep,
    )
}

/// Plans that hold rows, each by another operator.
fn holders() -> Vec<(&'static str, Plan)> {
    let sort = |limit| Action::Order {
        keys: vec![OrderKey {
            expression: Expression::Slot(X),
            descending: true,
        }],
        limit,
    };
    let text = Expression::Call(Function::Str, vec![Expression::Slot(X)]);
    let upper = Expression::Call(Function::Concat, vec![text; 10]);
    let filter = Expression::Compare(
        Comparison::Equal,
        Box::new(upper),
        Box::new(Expression::Slot(Y)),
    );
    let scope = Scope::Named(Node::Constant(ConstantId(1)));
    let (direction, into) = (Direction::Out, X);
    vec![
        (
            "distinct",
            plan_of(vec![
                keys(X, &[X]),
                step(Action::Distinct { columns: vec![X] }, &[X]),
            ]),
        ),
        (
            "order",
            plan_of(vec![keys(X, &[X]), step(sort(None), &[X])]),
        ),
        (
            "top",
            plan_of(vec![keys(X, &[X]), step(sort(Some(3000)), &[X])]),
        ),
        (
            "count distinct",
            plan_of(vec![
                keys(X, &[X]),
                step(
                    Action::Count {
                        distinct: Some(vec![X]),
                        into: Z,
                    },
                    &[Z],
                ),
            ]),
        ),
        (
            "computed strings",
            plan_of(vec![
                keys(X, &[X]),
                expand(X, Direction::Out, Y, &[X, Y]),
                step(Action::Filter(filter), &[X]),
            ]),
        ),
        (
            "keys of a graph",
            plan_of(vec![step(
                Action::ExpandKeys {
                    predicate: PREDICATE,
                    direction,
                    scope,
                    into,
                    source: Source::STORE,
                },
                &[X],
            )]),
        ),
    ]
}

/// The same by steps that hold steps.
fn composed_holders() -> Vec<(&'static str, Plan)> {
    vec![
        (
            "probe",
            plan_of(vec![
                keys(X, &[X]),
                probe(
                    vec![keys(X, &[X]), expand(X, Direction::Out, Y, &[X, Y])],
                    &[X],
                    &[Y],
                    &[X, Y],
                ),
            ]),
        ),
        (
            "distinct rows of a block",
            plan_of(vec![
                keys(X, &[X]),
                nested(
                    Mode::Left,
                    vec![
                        keys(Y, &[ROW, Y]),
                        step(
                            Action::Distinct {
                                columns: vec![Y, ROW],
                            },
                            &[Y, ROW],
                        ),
                    ],
                    &[Y],
                    &[X, Y],
                ),
                step(
                    Action::Slice {
                        offset: 0,
                        limit: Some(100),
                    },
                    &[X],
                ),
            ]),
        ),
    ]
}

/// Plans that take long: products without end, sorted, counted, filtered.
fn endless() -> Vec<(&'static str, Plan)> {
    let product = |last: &[Slot]| vec![keys(X, &[X]), keys(Y, &[X, Y]), keys(Z, last)];
    let with = |action, keep: &[Slot]| {
        let mut steps = product(&[X, Y, Z]);
        steps.push(step(action, keep));
        plan_of(steps)
    };
    let never = Expression::Compare(
        Comparison::Less,
        Box::new(Expression::Slot(X)),
        Box::new(Expression::Slot(Y)),
    );
    let key = OrderKey {
        expression: Expression::Slot(X),
        descending: false,
    };
    vec![
        ("rows", plan_of(product(&[X, Y, Z]))),
        ("filter", with(Action::Filter(never), &[X])),
        ("same", with(Action::Same { left: X, right: Y }, &[X])),
        (
            "distinct",
            with(
                Action::Distinct {
                    columns: vec![X, Y, Z],
                },
                &[X],
            ),
        ),
        (
            "order",
            with(
                Action::Order {
                    keys: vec![key.clone()],
                    limit: None,
                },
                &[X],
            ),
        ),
        (
            "top",
            with(
                Action::Order {
                    keys: vec![key],
                    limit: Some(5),
                },
                &[X],
            ),
        ),
        (
            "count",
            with(
                Action::Count {
                    distinct: None,
                    into: X,
                },
                &[X],
            ),
        ),
        (
            "slice",
            with(
                Action::Slice {
                    offset: u64::MAX,
                    limit: None,
                },
                &[X],
            ),
        ),
    ]
}

/// The same by steps that hold steps.
fn composed_endless() -> Vec<(&'static str, Plan)> {
    let product = vec![keys(X, &[X]), keys(Y, &[X, Y]), keys(Z, &[X, Y, Z])];
    let branch = |last: &[Slot]| vec![keys(Y, &[Y, ROW]), keys(Z, last)];
    let in_vain = || {
        let mut steps = branch(&[Y, Z, ROW]);
        let never = Expression::Compare(
            Comparison::Less,
            Box::new(Expression::Slot(Z)),
            Box::new(Expression::Slot(Y)),
        );
        steps.push(step(Action::Filter(never), &[ROW]));
        steps
    };
    vec![
        (
            "nested",
            plan_of(vec![
                keys(X, &[X]),
                nested(Mode::Inner, branch(&[Y, Z, ROW]), &[Y, Z], &[X, Y, Z]),
            ]),
        ),
        (
            "optional in vain",
            plan_of(vec![
                keys(X, &[X]),
                nested(Mode::Left, in_vain(), &[Y], &[X, Y]),
            ]),
        ),
        (
            "not exists",
            plan_of(vec![
                keys(X, &[X]),
                nested(Mode::Anti, in_vain(), &[], &[X]),
            ]),
        ),
        ("bind", {
            let (expression, into) = (Expression::Bound(X), ROW);
            let mut steps = product.clone();
            steps.push(step(Action::Bind { expression, into }, &[ROW]));
            plan_of(steps)
        }),
        (
            "a large table",
            plan_of(vec![
                keys(X, &[X]),
                probe(product, &[X], &[Y, Z], &[X, Y, Z]),
            ]),
        ),
        (
            "a product with tables",
            plan_of(vec![
                keys(X, &[X]),
                probe(vec![keys(Y, &[Y])], &[], &[Y], &[X, Y]),
                probe(vec![keys(Z, &[Z])], &[], &[Z], &[X, Y, Z]),
            ]),
        ),
    ]
}

fn run(plan: &Plan, limits: Limits<'_>) -> Result<u64, WalkError> {
    let view = snapshot_of(&graph(), None);
    let ids: Vec<Option<VertexId>> = constants(plan, &Numbered);
    let lexicon = Numbered;
    run_over(plan, &ids, &view, &lexicon, limits)
}

fn run_over<'a, V: GraphView>(
    plan: &'a Plan,
    ids: &[Option<VertexId>],
    view: &'a V,
    lexicon: &'a Numbered,
    limits: Limits<'a>,
) -> Result<u64, WalkError> {
    let environment = Environment::fixed();
    let prepared = prepare(plan, ids, view, limits, &environment)?;
    let mut walk = Walk::new(&prepared, view, lexicon, limits, Options::default());
    let (mut chunk, mut rows) = (Chunk::new(), 0);
    while walk.next(&mut chunk)? == Status::Rows {
        rows += chunk.rows();
    }
    Ok(rows)
}

#[test]
fn a_small_budget_is_refused_and_given_back() {
    for (name, plan) in holders().into_iter().chain(composed_holders()) {
        for limit_bytes in [0, 1000, 20_000] {
            let memory = Budget::new(limit_bytes);
            let result = run(
                &plan,
                Limits {
                    memory: &memory,
                    stop: &Unlimited,
                },
            );
            assert!(
                matches!(result, Err(WalkError::OutOfMemory { .. })),
                "{name} with {limit_bytes} bytes: {result:?}"
            );
            assert_eq!(memory.used.into_inner(), 0, "{name}");
        }
    }
}

#[test]
fn what_is_enough_is_enough_and_given_back() {
    for (name, plan) in holders().into_iter().chain(composed_holders()) {
        let memory = Budget::new(4 << 20);
        let result = run(
            &plan,
            Limits {
                memory: &memory,
                stop: &Unlimited,
            },
        );
        assert!(result.is_ok(), "{name}: {result:?}");
        assert_eq!(memory.used.into_inner(), 0, "{name}");
        assert!(memory.most.into_inner() > 8 * 1000, "{name} holds rows");
    }
}

#[test]
fn a_walk_ends_when_told_to() {
    for (name, plan) in endless().into_iter().chain(composed_endless()) {
        for (looks, reason) in [(0, StopReason::Cancelled), (500, StopReason::Deadline)] {
            let memory = Budget::new(u64::MAX / 2);
            let stop = After {
                looks: AtomicU64::new(looks),
                reason,
            };
            let result = run(
                &plan,
                Limits {
                    memory: &memory,
                    stop: &stop,
                },
            );
            assert!(
                matches!(result, Err(WalkError::Stopped(found)) if found == reason),
                "{name}: {result:?}"
            );
            assert_eq!(memory.used.into_inner(), 0, "{name}");
        }
    }
}

#[test]
fn a_product_is_counted_without_being_walked() {
    let mut steps: Vec<Step> = (0..4).map(|_| keys(X, &[])).collect();
    steps.push(step(
        Action::Count {
            distinct: None,
            into: X,
        },
        &[X],
    ));
    let stop = After {
        looks: AtomicU64::new(100),
        reason: StopReason::Deadline,
    };
    let limits = Limits {
        memory: &Unlimited,
        stop: &stop,
    };
    // Keys of the default graph have to be looked at: one graph less.
    let quads: Vec<Quad> = graph()
        .into_iter()
        .filter(|quad| quad.3 == DEFAULT)
        .collect();
    let view = snapshot_of(&quads, None);
    let mut plan = plan_of(steps);
    let ids = constants(&plan, &Numbered);
    {
        let environment = Environment::fixed();
        let prepared = prepare(&plan, &ids, &view, limits, &environment).unwrap();
        let mut walk = Walk::new(&prepared, &view, &Numbered, limits, Options::default());
        let mut chunk = Chunk::new();
        assert_eq!(walk.next(&mut chunk).unwrap(), Status::Rows);
        assert_eq!(chunk.column(X), Some(&[integer(5000_i64.pow(4))][..]));
    }
    for _ in 0..3 {
        plan.steps.insert(0, keys(X, &[]));
    }
    let result = run_over(&plan, &ids, &view, &Numbered, Limits::none());
    assert!(matches!(result, Err(WalkError::TooManyRows)), "{result:?}");
}

#[test]
fn few_rows_of_an_endless_product_come_at_once() {
    for limit in [1, 100] {
        let mut steps = vec![keys(X, &[X]), keys(Y, &[X, Y]), keys(Z, &[X, Y, Z])];
        steps.push(step(
            Action::Slice {
                offset: 10,
                limit: Some(limit),
            },
            &[X, Y, Z],
        ));
        let stop = After {
            looks: AtomicU64::new(100),
            reason: StopReason::Deadline,
        };
        let rows = run(
            &plan_of(steps),
            Limits {
                memory: &Unlimited,
                stop: &stop,
            },
        );
        assert_eq!(rows.unwrap(), limit);
    }
}

/// `FILTER(value = ?y)` for each x, at this budget: the rows, and the most bytes that were reserved.
fn filtered(value: Expression, memory: &Budget) -> Result<u64, WalkError> {
    let filter = Expression::Compare(
        Comparison::Equal,
        Box::new(value),
        Box::new(Expression::Slot(Y)),
    );
    let plan = plan_of(vec![
        keys(X, &[X]),
        expand(X, Direction::Out, Y, &[X, Y]),
        step(Action::Filter(filter), &[X]),
    ]);
    let stop = &Unlimited;
    run(&plan, Limits { memory, stop })
}

#[test]
fn many_arguments_hold_one_column_at_a_time() {
    // `?z` is unbound: no text is computed, only columns are held.
    let memory = Budget::new(1 << 20);
    let joined = Expression::Call(Function::Concat, vec![Expression::Slot(Z); 2000]);
    assert_eq!(filtered(joined, &memory).unwrap(), 0);
    assert!(memory.most.into_inner() > 64 * 1024, "columns are counted");
}

/// Waiting is work, too: whoever waits for an answer that never comes ends as all others do.
#[test]
fn a_view_that_never_answers_ends_with_its_query() {
    let graph = snapshot_of(&graph(), None);
    let silent = Waiting::for_ever(&graph, &Numbered);
    let plan = plan_of(vec![keys(X, &[X]), expand(X, Direction::Out, Y, &[X, Y])]);
    let ids = constants(&plan, &Numbered);
    let environment = Environment::fixed();
    for reason in [StopReason::Deadline, StopReason::Cancelled] {
        let stop = After {
            looks: AtomicU64::new(3),
            reason,
        };
        let limits = Limits {
            memory: &Unlimited,
            stop: &stop,
        };
        let prepared = wait_for(&silent, &limits, || {
            prepare(&plan, &ids, &silent, limits, &environment)
        });
        let error = prepared.err().expect("nothing is ever there");
        assert!(matches!(error, WalkError::Stopped(why) if why == reason));
        stop.looks.store(3, Ordering::Relaxed);
        let prepared = prepare(&plan, &ids, &graph, limits, &environment);
        let prepared = prepared.expect("a store's view has everything");
        let walked = run_to_end(
            &prepared,
            &silent,
            &silent,
            limits,
            Options::default(),
            |_| panic!("there are no rows"),
        );
        let error = walked.expect_err("nothing is ever there");
        assert!(matches!(error, WalkError::Stopped(why) if why == reason));
    }
}

/// Lists that point into a store take nothing; those that came from elsewhere are the query's own.
#[test]
fn lists_that_own_their_rows_are_drawn_on_the_budget() {
    let store = snapshot_of(&graph(), None);
    let vectors = PlainGraph::new(&graph());
    let plan = plan_of(vec![
        keys(X, &[X]),
        expand(X, Direction::Out, Y, &[Y]),
        expand(Y, Direction::In, Z, &[Z]),
    ]);
    let ids = constants(&plan, &Numbered);
    let run = |limit_bytes: u64, over_store: bool| {
        let memory = Budget::new(limit_bytes);
        let limits = Limits {
            memory: &memory,
            stop: &Unlimited,
        };
        let rows = if over_store {
            run_over(&plan, &ids, &store, &Numbered, limits)
        } else {
            run_over(&plan, &ids, &vectors, &Numbered, limits)
        };
        assert_eq!(memory.used.load(Ordering::Relaxed), 0, "all is given back");
        (rows, memory.most.load(Ordering::Relaxed))
    };
    let (rows, in_store) = run(u64::MAX / 2, true);
    assert_eq!(rows.expect("no limit"), 500_000);
    let (rows, owned) = run(u64::MAX / 2, false);
    assert_eq!(rows.expect("no limit"), 500_000);
    // A chunk of a thousand keys has a hundred neighbours for each.
    let lists = 100_000 * size_of::<VertexId>() as u64;
    assert!(owned >= in_store + lists, "{owned}, {in_store}");
    assert!(run(in_store, true).0.is_ok());
    let refused = run(in_store + lists, false).0;
    assert!(
        matches!(refused, Err(WalkError::OutOfMemory { .. })),
        "{refused:?}"
    );
}
