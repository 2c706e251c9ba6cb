//! Measures walks on a loaded LUBM store: `walk_lubm STORE QUERIES [QUERY...]`.
//!
//! For each query file: time to prepare, to walk (rows folded into a checksum, no term decoded) and
//! per step, each the median of many runs on one thread; then the steps as they were chosen. The
//! engine's own `bench lubm` measures from the text on; this shows where the walk's share goes.

use explore::{Checksum, Environment, Limits, Options, StepProfile, prepare, run_to_end};
use oxrdf::Term;
use query::parse::{ParseOptions, parse};
use query::plan::{Form, Plan};
use query::planner::{PlanOptions, Planner};
use query::statistics::{CharacteristicSet, DegreeQuestion, PredicateStatistics, Statistics};
use rdf::dictionary::Dictionary;
use rdf::{Lexicon, VertexId};
use std::ops::ControlFlow;
use std::path::Path;
use std::time::{Duration, Instant};
use store::disk::RealDisk;
use store::load::open_dictionary;
use store::statistics::SetSizes;
use store::{GraphScope, GraphView, Lists, SegmentKey, Snapshot};

fn main() {
    let mut arguments = std::env::args().skip(1);
    let store = arguments
        .next()
        .expect("usage: walk_lubm STORE QUERIES [QUERY...]");
    let queries = arguments
        .next()
        .expect("usage: walk_lubm STORE QUERIES [QUERY...]");
    let mut names: Vec<String> = arguments.collect();
    if names.is_empty() {
        names = (1..=12).map(|number| format!("q{number}")).collect();
    }
    let opened = store::directory::open(&RealDisk, Path::new(&store)).expect("a store");
    let dictionary = open_dictionary(&opened, u64::from(u32::MAX)).expect("a dictionary");
    let snapshot = Snapshot::open(&opened).expect("a graph");
    snapshot.verify_all().expect("an undamaged store");
    let planner = Planner::new(statistics(&snapshot));
    for name in names {
        let path = Path::new(&queries).join(format!("{name}.rq"));
        let text = std::fs::read_to_string(path).expect("a query");
        measure(&name, &text, &planner, &snapshot, &dictionary);
    }
}

fn statistics(snapshot: &Snapshot) -> Statistics {
    let found = snapshot.statistics(100_000).expect("statistics");
    let predicates = found.predicates.iter().map(|sizes| PredicateStatistics {
        vertex: sizes.vertex,
        subjects: sizes.subjects,
        objects: sizes.objects,
        edges: sizes.edges,
    });
    Statistics {
        quads: found.quads,
        predicates: predicates.collect(),
        classes: found.classes,
        out_sets: sets(found.out_sets),
        in_sets: sets(found.in_sets),
        named_graphs: found.named_graphs,
        type_vertex: found.type_vertex,
        complete_at: None,
    }
}

fn sets(sizes: SetSizes) -> Vec<CharacteristicSet> {
    if !sizes.is_complete {
        return Vec::new();
    }
    let set = |size: store::statistics::SetSize| {
        let mut predicates = size.predicates;
        predicates.sort_unstable();
        CharacteristicSet {
            predicates,
            types: size.types,
            vertices: size.vertices,
        }
    };
    sizes.sets.into_iter().map(set).collect()
}

fn degree(snapshot: &Snapshot, question: &DegreeQuestion) -> u64 {
    let Some(predicate) = question
        .predicate
        .and_then(|one| snapshot.predicate_id(one))
    else {
        return 10_000;
    };
    let segment = SegmentKey {
        predicate,
        direction: question.direction,
    };
    let mut lists = Lists::new();
    let keys = [question.vertex];
    let _ = snapshot
        .lists(segment, &keys, GraphScope::Default, &mut lists)
        .expect("a list");
    lists.edges(0)
}

fn measure(name: &str, text: &str, planner: &Planner, snapshot: &Snapshot, lexicon: &Dictionary) {
    let parsed = parse(text, &ParseOptions::default()).expect("it parses");
    let terms: Vec<_> = parsed.constants().iter().map(Term::as_ref).collect();
    let mut ids: Vec<Option<VertexId>> = Vec::new();
    lexicon.ids(&terms, &mut ids).expect("ids");
    let questions = parsed.degree_questions(&ids);
    let degrees: Vec<u64> = questions.iter().map(|one| degree(snapshot, one)).collect();
    let plan = planner
        .plan(&parsed, &ids, &degrees, PlanOptions::DEFAULT)
        .expect("it has a plan");
    let first = run(&plan, &ids, snapshot, lexicon, None);
    let runs = (Duration::from_millis(500).as_nanos() / first.2.as_nanos().max(1)).clamp(5, 5000);
    let mut prepares = Vec::new();
    let mut walks = Vec::new();
    for _ in 0..runs {
        let (_, prepare, walk, _) = run(&plan, &ids, snapshot, lexicon, None);
        prepares.push(prepare);
        walks.push(walk);
    }
    prepares.sort_unstable();
    walks.sort_unstable();
    let median = walks.len() / 2;
    println!(
        "{name}: {} rows, checksum {:x}, prepare {:?}, walk {:?} (least {:?})",
        first.0.rows(),
        first.0.sum(),
        prepares[median],
        walks[median],
        walks[0]
    );
    let begun = Instant::now();
    let clock = move || u64::try_from(begun.elapsed().as_nanos()).expect("a short run");
    let (_, _, _, profile) = run(&plan, &ids, snapshot, lexicon, Some(&clock));
    let environment = Environment::fixed();
    let prepared =
        prepare(&plan, &ids, snapshot, Limits::none(), &environment).expect("it prepares");
    for ((step, counters), policy) in plan.steps.iter().zip(&profile).zip(prepared.policies()) {
        let action = format!("{:?}", step.action);
        println!(
            "  {policy:>10} {:>9} rows {:>6} runs {:>9.1} us  {:.90}",
            counters.rows,
            counters.runs,
            counters.nanoseconds as f64 / 1000.0,
            action
        );
    }
}

type Run = (Checksum, Duration, Duration, Vec<StepProfile>);

fn run(
    plan: &Plan,
    ids: &[Option<VertexId>],
    snapshot: &Snapshot,
    lexicon: &Dictionary,
    clock: Option<&(dyn Fn() -> u64 + Sync)>,
) -> Run {
    let start = Instant::now();
    let environment = Environment::fixed();
    let prepared = prepare(plan, ids, snapshot, Limits::none(), &environment).expect("it prepares");
    let preparing = start.elapsed();
    let start = Instant::now();
    let Form::Select(projection) = &plan.form else {
        panic!("a SELECT")
    };
    let mut checksum = Checksum::new(projection);
    let options = Options {
        clock,
        ..Options::default()
    };
    let profile = run_to_end(
        &prepared,
        snapshot,
        lexicon,
        Limits::none(),
        options,
        |chunk| {
            checksum.add(chunk);
            ControlFlow::Continue(())
        },
    );
    (
        checksum,
        preparing,
        start.elapsed(),
        profile.expect("it runs"),
    )
}
