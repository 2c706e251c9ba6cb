//! Plans from elsewhere: what [`query::wire`] reads of damaged bytes is prepared and walked without a panic.
//!
//! Texts are planned, a few bytes of the plan are replaced, and what is a plan still is walked over a random graph. The
//! answer is not looked at: it is that of another plan.

use explore::{
    Chunk, Environment, Limits, MemoryBudget, MemoryExceeded, Options, Status, Stop, StopReason,
    Walk, prepare,
};
use oxrdf::Term;
use query::expression::Expression;
use query::plan::{
    Action, BLOCKS_MAX, ConstantId, DEPTH_MAX, DatasetClause, Estimate, Form, Mode, Plan, Slot,
    Step, Weight,
};
use query::statistics::Statistics;
use query::wire::{decode_plan, encode_plan};
use query::{ParseOptions, PlanOptions, Planner, STACK_BYTES_MIN};
use rdf::{Lexicon, VertexId};
use std::sync::atomic::{AtomicU64, Ordering};
use testkit::plain_graph::PlainGraph;
use testkit::plain_terms::PlainTerms;
use testkit::random::Random;
use testkit::random_graph::{Shape, random_dataset};
use testkit::random_query::{Vocabulary, random_query};
use testkit::seeds;

/// Damaged plans of each text.
const TRIES: usize = 60;

/// Bytes that a walk may hold, and looks at the limits after which it stops.
const MEMORY_BYTES: u64 = 8 << 20;
const LOOKS: u64 = 2000;

/// Grants so many bytes at once, and says stop after so many looks.
struct Few {
    looks: AtomicU64,
}

impl MemoryBudget for Few {
    fn try_reserve(&self, bytes: u64) -> Result<(), MemoryExceeded> {
        if bytes <= MEMORY_BYTES {
            return Ok(());
        }
        Err(MemoryExceeded {
            limit_bytes: MEMORY_BYTES,
            used_bytes: 0,
            of_all: false,
        })
    }

    fn release(&self, _: u64) {}
}

impl Stop for Few {
    fn reason(&self) -> Option<StopReason> {
        let looks = self.looks.fetch_add(1, Ordering::Relaxed);
        (looks > LOOKS).then_some(StopReason::Deadline)
    }
}

/// Prepares and walks a plan to its end, or to an error; gives the rows.
fn walk(plan: &Plan, ids: &[Option<VertexId>], graph: &PlainGraph, terms: &PlainTerms) -> u64 {
    let few = Few {
        looks: AtomicU64::new(0),
    };
    let limits = Limits {
        memory: &few,
        stop: &few,
    };
    let environment = Environment::fixed();
    let Ok(prepared) = prepare(plan, ids, graph, limits, &environment) else {
        return 0;
    };
    let options = Options {
        chunk_rows: 7,
        ..Options::default()
    };
    let mut walk = Walk::new(&prepared, graph, terms, limits, options);
    let (mut chunk, mut rows) = (Chunk::new(), 0_u64);
    for _ in 0..2000 {
        match walk.next(&mut chunk) {
            Ok(Status::Rows) => rows = rows.saturating_add(chunk.rows()),
            Ok(Status::Pending(_) | Status::Yield) => {}
            Ok(Status::Done | Status::Starved) | Err(_) => break,
        }
    }
    rows
}

#[test]
fn damaged_plans_are_walked_without_a_panic() {
    let planner = Planner::new(Statistics::default());
    let mut walked = 0;
    for seed in seeds::chosen(60, 6000) {
        let mut random = Random::new(seed);
        let dataset = random_dataset(&Shape::small(&mut random), &mut random);
        let vocabulary = Vocabulary::of(&dataset);
        let mut terms = PlainTerms::default();
        let graph = PlainGraph::new(&terms.quads(&dataset));
        for _ in 0..5 {
            let text = random_query(&vocabulary, &mut random);
            let query = query::parse(&text, &ParseOptions::default()).unwrap();
            let constants: Vec<_> = query.constants().iter().map(Term::as_ref).collect();
            let mut ids = Vec::new();
            terms.ids(&constants, &mut ids).unwrap();
            let plan = planner
                .plan(&query, &ids, &[], PlanOptions::DEFAULT)
                .unwrap();
            let mut bytes = Vec::new();
            encode_plan(&plan, &ids, &mut bytes).unwrap();
            let (found, found_ids) = decode_plan(&bytes).unwrap();
            assert!(found == plan && found_ids == ids);
            for _ in 0..TRIES {
                let mut damaged = bytes.clone();
                for _ in 0..random.between(1, 2) {
                    let at = random.below(bytes.len());
                    // Most bytes of a plan are small numbers.
                    let most = if random.chance(80) { 30 } else { 256 };
                    damaged[at] = random.below(most) as u8;
                }
                let Ok((plan, found_ids)) = decode_plan(&damaged) else {
                    continue;
                };
                // Whoever has a plan from elsewhere asks both before it walks.
                if plan.views() > 1 || !plan.tables().is_empty() {
                    continue;
                }
                walked += 1;
                let run = || walk(&plan, &found_ids, &graph, &terms);
                let run = std::panic::AssertUnwindSafe(run);
                let ended = std::panic::catch_unwind(run);
                assert!(ended.is_ok(), "seed {seed}: {text}\n{plan:?}");
            }
        }
    }
    assert!(walked > 1000, "{walked} plans");
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
        variables: (0..=BLOCKS_MAX).map(|at| format!(".{at}")).collect(),
        constants: vec![oxrdf::Literal::from(true).into()],
        dataset: DatasetClause::default(),
        base: None,
        steps,
        form: Form::Ask,
        weight: Weight::Light,
    }
}

/// The deepest that [`Plan::check`] lets pass, on the stack that is asked of threads.
#[test]
fn the_deepest_plans_are_walked_on_a_small_stack() {
    let constant = || Expression::Constant(ConstantId(0));
    let filter = |depth: usize| {
        let around = |it, _| Expression::Not(Box::new(it));
        let expression = (1..depth).fold(constant(), around);
        vec![step(Action::Filter(expression), &[])]
    };
    let innermost = filter(DEPTH_MAX - BLOCKS_MAX);
    let tables = (0..BLOCKS_MAX).fold(innermost, |table, _| {
        let probe = Action::Probe {
            table,
            keys: Vec::new(),
            exports: Vec::new(),
        };
        vec![step(probe, &[])]
    });
    let blocks = (0..BLOCKS_MAX).fold(Vec::new(), |branch, at| {
        let row = Slot(at as u16);
        let outer = Slot(at as u16 + 1);
        let nested = Action::Nested {
            mode: Mode::Semi,
            branches: vec![branch],
            imports: Vec::new(),
            row,
            exports: Vec::new(),
            row_by_row: false,
        };
        let keep = if at + 1 == BLOCKS_MAX {
            vec![]
        } else {
            vec![outer]
        };
        vec![step(nested, &keep)]
    });
    for steps in [filter(DEPTH_MAX), tables, blocks] {
        let plan = plan_of(steps);
        plan.check().unwrap();
        let thread = std::thread::Builder::new().stack_size(STACK_BYTES_MIN);
        let rows = thread.spawn(move || {
            let (graph, terms) = (PlainGraph::new(&[]), PlainTerms::default());
            walk(&plan, &[None], &graph, &terms)
        });
        let _ = rows.unwrap().join().unwrap();
    }
}
