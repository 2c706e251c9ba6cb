//! Nodes that have a device each: sections begin there over the node's part, over its own keys and over tables that come from others.

use super::{MEMORY, figures, rows};
use crate::support::{self, NoAnswer};
use device::twin::Twin;
use device::{Device, DeviceError};
use oxrdf::Dataset;
use rdf::Placement;
use somersault::device::{Accelerator, Memory, Offload, Opened};
use somersault::load::{Request as LoadRequest, Source, Syntax, Unwatched, load_in_memory};
use somersault::nodes::{Mode, NodeOptions};
use somersault::output::Collected;
use somersault::parts::Deal;
use somersault::{Database, Options, Request};
use std::sync::Arc;
use testkit::compare;
use testkit::graph::{self, Format};
use testkit::random::Random;
use testkit::random_graph::{Shape, random_dataset};
use testkit::random_query::{Vocabulary, random_query};
use testkit::{oracles, seeds};
use workload::lubm::{Lubm, Parameters, Syntax as LubmSyntax};
use workload::queries::QUERIES;

/// Graphs, and queries for each.
const GRAPHS: u64 = 60;
const LONG: u64 = 4_000;
const QUERIES_A_GRAPH: usize = 20;

/// Queries of LUBM of which every node's device does some steps, wherever a node has rows.
const HEAVY: [&str; 4] = ["q1", "q2", "q3", "q7"];

/// Twins, of which the one with this number fails at a call.
fn twins(
    count: u16,
    seed: u64,
    memory: Memory,
    failing: Option<&(u16, u64, DeviceError)>,
) -> Option<Arc<Accelerator>> {
    let twin = |number: u16| {
        let twin = Twin::new(64 << 20, seed + u64::from(number)).ok()?;
        let device: Arc<dyn Device> = Arc::new(match failing {
            Some((which, call, error)) if *which == number => twin.failing(*call, error.clone()),
            _ => twin,
        });
        Some(Opened::one(device, memory))
    };
    let twins: Option<Vec<Opened>> = (0..count).map(twin).collect();
    if twins.is_none() {
        eprintln!("SKIPPED: there is no host twin");
    }
    Some(Arc::new(Accelerator::new(twins?, Offload::Always)))
}

fn spread(
    whole: &Database,
    nodes: u16,
    shift: u8,
    accelerator: Option<Arc<Accelerator>>,
) -> Database {
    let placement = Placement::in_turn(nodes, shift, 64).expect("a placement");
    let options = Options {
        accelerator,
        ..Options::default()
    };
    let spread = whole.in_nodes(&Deal::By(placement), &NodeOptions::default(), &options);
    spread.expect("the nodes start")
}

fn lubm() -> Database {
    let generator = Lubm::new(Parameters::default(), LubmSyntax::NTriples);
    let reader = generator.and_then(|lubm| lubm.reader(1));
    let source = Source::reader("lubm", reader.expect("it is made"));
    let source = source.with_syntax(Syntax::NTriples);
    let (request, options) = (LoadRequest::default(), Options::default());
    let loaded = load_in_memory(vec![source], &request, &options, &Unwatched);
    loaded.expect("it loads").0
}

/// The rows of an answer in this mode, as a bag, and the plan for people after it.
fn profiled(database: &Database, text: &str, mode: Mode) -> (Vec<String>, String) {
    let request = Request {
        execution: Some(mode),
        ..Request::new(text)
    };
    let mut query = database.start(&request).expect("nothing fails");
    query.enable_profile();
    let mut found = Collected::default();
    query.run(&mut found).expect("nothing fails");
    let mut rows: Vec<String> = found.rows.iter().map(|row| format!("{row:?}")).collect();
    rows.sort_unstable();
    (rows, query.explain_profile())
}

#[test]
fn lubm_has_the_same_answers_over_nodes_with_devices() {
    let whole = lubm();
    for nodes in [1, 2, 3, 4] {
        let Some(accelerator) = twins(nodes, 5, MEMORY, None) else {
            return;
        };
        let database = spread(&whole, nodes, 6, Some(accelerator));
        for query in QUERIES {
            let expected = rows(&whole, query.text);
            for mode in [Mode::ForkJoin, Mode::Dynamic, Mode::InPlace] {
                let (found, said) = profiled(&database, query.text, mode);
                assert_eq!(found, expected, "{}, {nodes} nodes, {mode:?}", query.name);
                let has_steps = said.contains("  on device  ");
                if HEAVY.contains(&query.name) && mode == Mode::ForkJoin {
                    assert!(has_steps, "{} over {nodes} nodes: {said}", query.name);
                    if query.name == "q7" && nodes == 2 {
                        eprintln!("{said}");
                    }
                }
            }
        }
        let before = figures(&database);
        assert_eq!((before.failures, before.is_lost), (0, false));
        // Of one node the whole plan is a section.
        let least = if nodes == 1 { 20 } else { 30 };
        assert!(before.queries >= least, "{} sections", before.queries);
        let q7 = QUERIES.iter().find(|query| query.name == "q7");
        let q7 = q7.expect("it is one of them").text;
        assert_eq!(rows(&database, q7), rows(&whole, q7));
        assert!(
            figures(&database).queries > before.queries,
            "profiled or not"
        );
    }
}

/// What was asked, over all seeds.
#[derive(Default)]
struct Tally {
    compared: usize,
    sections: u64,
    failures: u64,
    /// Queries that ended with an error because a device failed while its rows were read.
    ended: usize,
}

fn run_seed(seed: u64, tally: &mut Tally) {
    let mut random = Random::new(seed ^ 1 << 42);
    let shape = Shape::random(&mut random);
    let dataset: Dataset = random_dataset(&shape, &mut random);
    if dataset.is_empty() {
        return;
    }
    let text = graph::write(&dataset, Format::NQuads);
    let whole = support::loaded(&text, Format::NQuads, 1).expect("it loads");
    let nodes = random.between(1, 4) as u16;
    let shift = random.between(1, 3) as u8;
    let memory = Memory {
        images: *random.pick(&[4 << 10, 2 << 20]),
        host: 16 << 20,
        tables: *random.pick(&[4 << 10, 64 << 10]),
        sections: random.between(1, 2),
    };
    let failing = random.chance(30).then(|| {
        let reason = "as planned".to_owned();
        let error = match random.below(2) {
            0 => DeviceError::Lost { reason },
            _ => DeviceError::Refused {
                call: "work",
                reason,
            },
        };
        let which = random.below(usize::from(nodes)) as u16;
        (which, random.below(600) as u64, error)
    });
    let is_failing = failing.is_some();
    let Some(accelerator) = twins(nodes, seed, memory, failing.as_ref()) else {
        return;
    };
    let database = spread(&whole, nodes, shift, Some(accelerator));
    let blanks = support::blanks(&database).expect("they are there");
    let vocabulary = Vocabulary::of(&dataset);
    for _ in 0..QUERIES_A_GRAPH {
        let query = random_query(&vocabulary, &mut random);
        let mode = *random.pick(&[Mode::ForkJoin, Mode::ForkJoin, Mode::Dynamic]);
        let Ok(Some(expected)) = oracles::expected(&dataset, &query) else {
            continue;
        };
        let request = Request {
            execution: Some(mode),
            ..Request::new(&query)
        };
        match support::answer_to(&database, &request) {
            Ok(answer) => {
                let verdict = compare::check(&expected, &answer, &blanks);
                verdict.unwrap_or_else(|complaint| {
                    panic!("SOMERSAULT_SEED={seed}, {nodes} nodes, {mode:?}: {complaint}\n{query}")
                });
                tally.compared += 1;
            }
            Err(NoAnswer::Refused(_)) => {}
            Err(NoAnswer::Failed(message)) => {
                assert!(
                    is_failing && message.contains("its device failed"),
                    "SOMERSAULT_SEED={seed}: {message}\n{query}"
                );
                tally.ended += 1;
            }
        }
    }
    let figures = figures(&database);
    tally.sections += figures.queries;
    tally.failures += figures.failures;
    assert!(is_failing || figures.failures == 0, "seed {seed}");
}

#[test]
fn random_queries_over_nodes_with_devices_are_answered_as_the_oracles_do() {
    if twins(1, 0, MEMORY, None).is_none() {
        return;
    }
    let mut tally = Tally::default();
    let seeds = seeds::chosen(GRAPHS, LONG);
    for seed in seeds.clone() {
        run_seed(seed, &mut tally);
    }
    eprintln!(
        "{} queries, {} sections on devices, {} failures of theirs, {} queries ended by them",
        tally.compared, tally.sections, tally.failures, tally.ended
    );
    let is_few = seeds.count() < GRAPHS as usize;
    assert!(is_few || tally.compared > 400 && tally.sections > 200 && tally.failures > 0);
}
