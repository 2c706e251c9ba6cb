//! Executions: parked in any number, gone on with in any order and by any thread, cut into sections.

use crate::support;

use explore::execution::{Execution, Ground, Origin};
use explore::limits::Unlimited;
use explore::{
    Chunk, Limits, MemoryBudget, MemoryExceeded, Options, Status, Stop, StopReason, Walk, WalkError,
};
use oxsdatatypes::DateTime;
use query::plan::{Action, ConstantId, Estimate, Node, Plan, Scope, Slot, Source, Step};
use rdf::{Direction, VertexId};
use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use store::testing::snapshot_of;
use support::naive::Naive;
use support::{DEFAULT, Numbered, Random, constants, iri, plans, quads};
use testkit::plain_graph::PlainGraph;
use testkit::waiting::Waiting;

pub type Row = Vec<VertexId>;
pub type WaitingWorld = Waiting<'static, PlainGraph, Numbered>;

/// A view of random edges that lets every question wait; it lives as long as the program.
fn world(random: &mut Random) -> Arc<WaitingWorld> {
    let graph = Box::leak(Box::new(PlainGraph::new(&quads(random))));
    Arc::new(Waiting::new(graph, &Numbered))
}

pub fn origin<G: Ground>(ground: G, plan: &Arc<Plan>, steps: Option<Range<usize>>) -> Origin<G> {
    Origin {
        ground,
        plan: Arc::clone(plan),
        constants: constants(plan, &Numbered),
        steps,
        clock: Arc::new(|| DateTime::MIN),
        seed: 0,
        service: None,
        memory: Arc::new(Unlimited),
        stop: Arc::new(Unlimited),
        options: Options::default(),
        ticks: None,
        offloader: None,
    }
}

pub fn append(chunk: &Chunk, plan: &Plan, rows: &mut Vec<Row>) {
    let width = plan.variables.len() as u16;
    for row in 0..chunk.rows() as usize {
        let cell = |slot| chunk.column(Slot(slot)).map(|column| column[row]);
        let cells = (0..width).map(|slot| cell(slot).unwrap_or(VertexId::UNBOUND));
        rows.push(cells.collect());
    }
}

/// Rows with how often each comes.
pub fn bag(rows: &[Row]) -> BTreeMap<&Row, usize> {
    let mut bag = BTreeMap::new();
    for row in rows {
        *bag.entry(row).or_default() += 1;
    }
    bag
}

/// The rows of a plan as a walk on one stack gives them.
pub fn walked(world: &WaitingWorld, plan: &Plan) -> Vec<Row> {
    let environment = explore::Environment::fixed();
    let ids = constants(plan, &Numbered);
    let limits = Limits::none();
    let prepared = explore::wait_for(world, &limits, || {
        explore::prepare(plan, &ids, world, limits, &environment)
    });
    let prepared = prepared.expect("nothing fails");
    let mut walk = Walk::new(&prepared, world, world, limits, Options::default());
    let (mut chunk, mut rows) = (Chunk::new(), Vec::new());
    loop {
        match walk.next(&mut chunk).expect("nothing fails") {
            Status::Rows => append(&chunk, plan, &mut rows),
            Status::Done => return rows,
            Status::Yield | Status::Pending(_) => {}
            Status::Starved => unreachable!("a whole walk feeds itself"),
        }
    }
}

/// Plans whose rows do not depend on the order of others, with a world each.
pub fn cases(count: usize) -> Vec<(Arc<WaitingWorld>, Arc<Plan>)> {
    let mut random = Random::new(15);
    let mut case = || {
        let world = world(&mut random);
        (world, Arc::new(plans::plan(&mut random, false)))
    };
    (0..count).map(|_| case()).collect()
}

/// One call; whether it is over.
fn step(execution: &mut Execution, plan: &Plan, rows: &mut Vec<Row>) -> bool {
    let mut chunk = Chunk::new();
    match execution.next(&mut chunk).expect("nothing fails") {
        Status::Rows => append(&chunk, plan, rows),
        Status::Done => return true,
        Status::Yield | Status::Pending(_) => {}
        Status::Starved => unreachable!("a whole walk feeds itself"),
    }
    false
}

/// What a plan without an order may give more than one answer to: a slice.
pub fn is_fixed(plan: &Plan) -> bool {
    let names = plan.steps.iter().map(|step| step.action.name());
    !names
        .into_iter()
        .any(|name| name == "slice" || name == "order")
}

#[test]
fn ten_thousand_are_parked_and_resumed_in_any_order() {
    const PARKED: usize = 10_000;
    let cases: Vec<_> = cases(120)
        .into_iter()
        .filter(|case| is_fixed(&case.1))
        .collect();
    let expected: Vec<Vec<Row>> = cases.iter().map(|case| walked(&case.0, &case.1)).collect();
    // Worlds of their own, in which nothing has been asked yet.
    let before = resident();
    let mut parked: Vec<(Execution, usize, Vec<Row>)> = (0..PARKED)
        .map(|number| {
            let case = number % cases.len();
            let (world, plan) = &cases[case];
            let ground = (Arc::clone(world), Arc::clone(world));
            (Execution::new(origin(ground, plan, None)), case, Vec::new())
        })
        .collect();
    let mut random = Random::new(7);
    // Every one is begun before the first goes on.
    for (execution, case, rows) in &mut parked {
        step(execution, &cases[*case].1, rows);
    }
    let each = resident().saturating_sub(before) / PARKED as u64;
    eprintln!(
        "{PARKED} executions are parked, {each} bytes each with the rows of their first chunk"
    );
    let mut ended = 0;
    while !parked.is_empty() {
        let at = random.below(parked.len());
        let (execution, case, rows) = &mut parked[at];
        if step(execution, &cases[*case].1, rows) {
            let (_, case, rows) = parked.swap_remove(at);
            assert_eq!(bag(&rows), bag(&expected[case]), "case {case}");
            ended += 1;
        }
    }
    assert_eq!(ended, PARKED);
}

/// `<0> <0> ?x . ?x <1> ?y`, in this order.
fn light() -> Plan {
    let mut plan = plans::plan(&mut Random::new(0), false);
    plan.variables = ["x", "y"].map(str::to_owned).to_vec();
    plan.dataset.graphs = None;
    let expand = |from, predicate, into| Action::Expand {
        from,
        predicate: Node::Constant(ConstantId(predicate)),
        direction: Direction::Out,
        scope: Scope::Default,
        into: Slot(into),
        source: Source::STORE,
    };
    let first = Node::Constant(ConstantId(0));
    let actions = [expand(first, 0, 0), expand(Node::Slot(Slot(0)), 1, 1)];
    let keep = [vec![Slot(0)], vec![Slot(0), Slot(1)]];
    let step = |(action, keep)| Step {
        action,
        keep,
        estimate: Estimate::default(),
    };
    plan.steps = actions.into_iter().zip(keep).map(step).collect();
    plan
}

#[test]
fn a_parked_light_walk_is_small() {
    const PARKED: usize = 10_000;
    let plan = Arc::new(light());
    let quads = [
        (iri(0), iri(0), iri(1), DEFAULT),
        (iri(1), iri(1), iri(2), DEFAULT),
    ];
    let graph: &'static PlainGraph = Box::leak(Box::new(PlainGraph::new(&quads)));
    let world = || Arc::new(Waiting::new(graph, &Numbered));
    let worlds: Vec<_> = (0..PARKED).map(|_| world()).collect();
    let begin = |world: Arc<WaitingWorld>| {
        let mut execution = Execution::new(origin((Arc::clone(&world), world), &plan, None));
        let mut chunk = Chunk::new();
        // Prepared, and waiting for the lists of its second step.
        while execution.prepared(|_| ()).is_none() || execution.profile()[0].rows == 0 {
            let status = execution.next(&mut chunk).expect("nothing fails");
            assert!(matches!(status, Status::Pending(_)), "{status:?}");
        }
        execution
    };
    let before = resident();
    let mut parked: Vec<Execution> = worlds.into_iter().map(begin).collect();
    let each = resident().saturating_sub(before) / PARKED as u64;
    eprintln!("{PARKED} light walks are parked within their second step, {each} bytes each");
    for execution in &mut parked {
        let mut rows = Vec::new();
        while !step(execution, &plan, &mut rows) {}
        assert_eq!(rows, [[iri(1), iri(2)]]);
    }
}

/// Bytes of memory that this process has; 0 where the system does not say.
fn resident() -> u64 {
    let pages = std::fs::read_to_string("/proc/self/statm").unwrap_or_default();
    let pages = pages
        .split_whitespace()
        .nth(1)
        .and_then(|it| it.parse().ok());
    pages.unwrap_or(0) * 4096
}

#[test]
fn any_thread_goes_on_with_what_another_has_parked() {
    let cases: Vec<_> = cases(200)
        .into_iter()
        .filter(|case| is_fixed(&case.1))
        .collect();
    let expected: Vec<Vec<Row>> = cases.iter().map(|case| walked(&case.0, &case.1)).collect();
    let queue: Vec<(Execution, usize, Vec<Row>)> = (0..cases.len())
        .map(|case| {
            let (world, plan) = &cases[case];
            let ground = (Arc::clone(world), Arc::clone(world));
            (Execution::new(origin(ground, plan, None)), case, Vec::new())
        })
        .collect();
    let left = AtomicU64::new(queue.len() as u64);
    let queue = Mutex::new(queue);
    std::thread::scope(|scope| {
        for seed in 0..4 {
            let (queue, cases, expected, left) = (&queue, &cases, &expected, &left);
            scope.spawn(move || {
                let mut random = Random::new(seed);
                while left.load(Ordering::Relaxed) > 0 {
                    let mut parked = queue.lock().expect("nobody panics");
                    if parked.is_empty() {
                        drop(parked);
                        std::thread::yield_now();
                        continue;
                    }
                    let at = random.below(parked.len());
                    let (mut execution, case, mut rows) = parked.swap_remove(at);
                    drop(parked);
                    if step(&mut execution, &cases[case].1, &mut rows) {
                        assert_eq!(bag(&rows), bag(&expected[case]), "case {case}");
                        left.fetch_sub(1, Ordering::Relaxed);
                    } else {
                        let mut parked = queue.lock().expect("nobody panics");
                        parked.push((execution, case, rows));
                    }
                }
            });
        }
    });
}

#[test]
fn sections_hand_their_rows_on() {
    for (number, (world, plan)) in cases(300).into_iter().enumerate() {
        if !is_fixed(&plan) {
            continue;
        }
        let expected = walked(&world, &plan);
        let cut = number % (plan.steps.len() + 1);
        if cut == 0 {
            continue;
        }
        let section = |steps| {
            let ground = (Arc::clone(&world), Arc::clone(&world));
            Execution::new(origin(ground, &plan, Some(steps)))
        };
        let mut first = section(0..cut);
        let mut second = section(cut..plan.steps.len());
        let (mut chunk, mut given, mut rows) = (Chunk::new(), Chunk::new(), Vec::new());
        let mut is_over = false;
        loop {
            match second.next(&mut given).expect("nothing fails") {
                Status::Rows => append(&given, &plan, &mut rows),
                Status::Done => break,
                Status::Yield | Status::Pending(_) => {}
                Status::Starved => {
                    while !is_over && chunk.is_empty() {
                        let status = first.next(&mut chunk).expect("nothing fails");
                        is_over = status == Status::Done;
                    }
                    if is_over {
                        second.end_input();
                    } else {
                        second.push(&mut chunk).expect("nothing fails");
                    }
                }
            }
        }
        assert_eq!(bag(&rows), bag(&expected), "case {number}, cut at {cut}");
    }
}

/// Executions over several sources: begun all, then gone on with in any order.
#[test]
fn what_is_parked_over_several_sources_is_right() {
    const SOURCES: usize = 3;
    let mut random = Random::new(21);
    let mut parked = Vec::new();
    for number in 0..400 {
        let graphs: Vec<_> = (0..SOURCES).map(|_| quads(&mut random)).collect();
        let plan = Arc::new(plans::mixed(&mut random, false, SOURCES as u16));
        if !is_fixed(&plan) {
            continue;
        }
        let ids = constants(&plan, &Numbered);
        let naive = Naive {
            quads: graphs
                .iter()
                .map(|it| it.iter().copied().collect())
                .collect(),
            plan: &plan,
            constants: &ids,
        };
        let expected = naive.rows(plan.steps.len());
        let vectors = graphs.iter().map(|quads| PlainGraph::new(quads));
        let vectors: &'static [PlainGraph] = vectors.collect::<Vec<_>>().leak();
        let views: Arc<[WaitingWorld]> = Waiting::before_each(vectors, &Numbered).into();
        let execution = Execution::new(origin((views, Arc::new(Numbered)), &plan, None));
        parked.push((number, plan, expected, execution, Vec::new()));
    }
    assert!(parked.len() > 300, "most plans give rows in any order");
    while !parked.is_empty() {
        let at = random.below(parked.len());
        let (number, plan, expected, execution, rows) = &mut parked[at];
        if step(execution, plan, rows) {
            assert_eq!(bag(rows), bag(expected), "case {number}: {plan:#?}");
            parked.swap_remove(at);
        }
    }
}

/// Memory with a limit, and a flag that ends what looks at it.
#[derive(Default)]
struct Account {
    held: AtomicU64,
    is_over: AtomicBool,
}

impl MemoryBudget for Account {
    fn try_reserve(&self, bytes: u64) -> Result<(), MemoryExceeded> {
        self.held.fetch_add(bytes, Ordering::Relaxed);
        Ok(())
    }

    fn release(&self, bytes: u64) {
        self.held.fetch_sub(bytes, Ordering::Relaxed);
    }
}

impl Stop for Account {
    fn reason(&self) -> Option<StopReason> {
        let is_over = self.is_over.load(Ordering::Relaxed);
        is_over.then_some(StopReason::Cancelled)
    }
}

#[test]
fn what_is_dropped_or_stopped_gives_back_what_it_held() {
    let mut held_most = 0;
    for (number, (_, plan)) in cases(200).into_iter().enumerate() {
        let view = Arc::new(snapshot_of(&quads(&mut Random::new(number as u64)), None));
        let account = Arc::new(Account::default());
        let mut execution = Execution::new(Origin {
            memory: Arc::clone(&account) as Arc<dyn MemoryBudget + Send>,
            stop: Arc::clone(&account) as Arc<dyn Stop + Send>,
            options: Options {
                chunk_rows: 2,
                ..Options::default()
            },
            ..origin((view, Arc::new(Numbered)), &plan, None)
        });
        let mut chunk = Chunk::new();
        let first = execution.next(&mut chunk);
        held_most = held_most.max(account.held.load(Ordering::Relaxed));
        if number % 2 == 0 && matches!(first, Ok(Status::Rows)) {
            account.is_over.store(true, Ordering::Relaxed);
            let mut rest = Chunk::new();
            let stopped = loop {
                match execution.next(&mut rest) {
                    Ok(Status::Done) => break None,
                    Ok(_) => {}
                    Err(error) => break Some(error),
                }
            };
            let is_stop = |error| matches!(error, WalkError::Stopped(StopReason::Cancelled));
            assert!(stopped.is_none_or(is_stop), "case {number}");
        }
        drop((execution, chunk));
        assert_eq!(account.held.load(Ordering::Relaxed), 0, "case {number}");
    }
    assert!(held_most > 0, "some plan holds memory");
}

#[test]
fn its_local_terms_are_those_of_its_plan() {
    let (world, plan) = cases(1).remove(0);
    let ground = (Arc::clone(&world), world);
    let mut execution = Execution::new(origin(ground, &plan, None));
    assert!(
        execution.prepared(|_| ()).is_none(),
        "nothing is prepared yet"
    );
    let mut rows = Vec::new();
    while !step(&mut execution, &plan, &mut rows) {}
    let steps = execution.prepared(|prepared| prepared.plan().steps.len());
    assert_eq!(steps, Some(plan.steps.len()));
    assert_eq!(execution.profile().len(), plan.steps.len());
}
