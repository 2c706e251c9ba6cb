//! Queries while nodes and links fail, in virtual time: each is answered, whole and right, or ends with an error that names
//! its cause, in time; and once all is well again, all are answered.
//!
//! A seed is a graph, queries, and faults; the same one is the same run. What is asserted of each query:
//!
//! | | |
//! |---|---|
//! | an answer | is the naive evaluator's |
//! | an error | is its deadline, or names a node, and something has failed before |
//! | time | at most half a second more than it may take |
//! | begun three seconds after all is well | an answer |
//! | all have ended | no node knows one of them |
//!
//! How many were answered is printed, and asserted: of those that were asked while nothing failed all are.

use super::conformance::answer_of;
use super::world::{Matter, PlainNode};
use cluster::{Mode, PartsQuery, Running, Visit};
use explore::limits::Unlimited;
use explore::{Chunk, Status, WalkError};
use fabric::sim::{Sim, Step, drawn};
use fabric::{Fabric, NodeId};
use query::plan::{Form, Plan};
use query::statistics::Statistics;
use rdf::VertexId;
use std::sync::Arc;
use std::time::Duration;
use testkit::collected::Collected;
use testkit::compare::{self, Blanks};
use testkit::naive::Expected;
use testkit::random::Random;
use testkit::random_graph::{Shape, random_dataset};
use testkit::random_query::{Vocabulary, random_query};
use testkit::suite::hold::on_a_thread;
use testkit::{oracles, seeds};

/// Seeds of an ordinary run and of the long one.
const SEEDS: u64 = 150;
const SEEDS_LONG: u64 = 100_000;

/// When faults begin, and when all is well again.
const FAULTS: Duration = Duration::from_secs(1);
const HEALED: Duration = Duration::from_secs(7);
/// How long nodes may take to find each other again.
const RESUMED: Duration = Duration::from_secs(3);
const END: Duration = Duration::from_secs(20);
/// When the last query is asked, at the latest.
const LAST: Duration = Duration::from_secs(15);

/// What a deadline may be missed by.
const LATE: Duration = Duration::from_millis(500);

/// How often whoever waits for a query looks at its limits.
const LOOK: Duration = Duration::from_millis(20);

type PlainRunning = Running<testkit::plain_graph::PlainGraph, super::world::Owned>;

/// A query, its plan, and what it has to answer.
struct Known {
    text: String,
    plan: Arc<Plan>,
    ids: Vec<Option<VertexId>>,
    expected: Expected,
}

/// A query under way.
struct Asked<'k> {
    known: &'k Known,
    home: u16,
    running: PlainRunning,
    collected: Collected<'k>,
    begun: Duration,
    deadline: Duration,
}

#[derive(Debug, Default)]
struct Tally {
    answered: u64,
    failed: u64,
    calm: u64,
    lost: u64,
}

struct Simulation<'k> {
    seed: u64,
    sim: Sim,
    matter: &'k Matter,
    nodes: Vec<Option<Arc<PlainNode>>>,
    under_way: Vec<Asked<'k>>,
    tally: Tally,
}

impl<'k> Simulation<'k> {
    fn new(seed: u64, nodes: u16, matter: &'k Matter) -> Simulation<'k> {
        let sim = Sim::new(nodes, seed);
        sim.faults(&drawn(seed, nodes, FAULTS, HEALED));
        let mut simulation = Simulation {
            seed,
            sim,
            matter,
            nodes: Vec::new(),
            under_way: Vec::new(),
            tally: Tally::default(),
        };
        simulation.nodes = (0..nodes).map(|node| simulation.started(node)).collect();
        simulation
    }

    fn started(&self, node: u16) -> Option<Arc<PlainNode>> {
        let fabric = self.sim.node(NodeId(node))?;
        let mut none = Vec::new();
        fabric.poll(&mut none, LOOK);
        Some(self.matter.node(fabric))
    }

    /// One step of the simulation.
    fn step(&mut self, until: Duration) -> bool {
        let Some(step) = self.sim.step(until) else {
            return false;
        };
        match step {
            Step::Stopped(node) => {
                self.nodes[node.index()] = None;
                let before = self.under_way.len();
                self.under_way.retain(|asked| asked.home != node.0);
                self.tally.lost += (before - self.under_way.len()) as u64;
            }
            Step::Started(node) => self.nodes[node.index()] = self.started(node.0),
            Step::Events(node, events) => {
                let Some(here) = self.nodes[node.index()].clone() else {
                    return true;
                };
                let mut events = events;
                loop {
                    here.handle(events.drain(..));
                    while here.work() {}
                    self.walk(node.0);
                    while here.work() {}
                    // Once nothing is there, its next step comes soon, so that somebody looks at the limits.
                    if here.ground().fabric().poll(&mut events, LOOK) == 0 {
                        break;
                    }
                }
            }
        }
        true
    }

    /// Whoever asked this node goes on as far as it can.
    fn walk(&mut self, node: u16) {
        let mut at = 0;
        while at < self.under_way.len() {
            if self.under_way[at].home != node {
                at += 1;
                continue;
            }
            match self.walk_one(at) {
                None => at += 1,
                Some(ended) => {
                    let asked = self.under_way.swap_remove(at);
                    self.ended(asked, ended);
                }
            }
        }
    }

    fn walk_one(&mut self, at: usize) -> Option<Result<(), WalkError>> {
        let matter = self.matter;
        let asked = &mut self.under_way[at];
        let mut chunk = Chunk::new();
        loop {
            match asked.running.next(&mut chunk) {
                Ok(Status::Rows) => {
                    let collected = &mut asked.collected;
                    asked.running.prepared(|prepared| {
                        let term = |id| prepared.locals().term(id).or_else(|| matter.term(id));
                        collected.add(chunk.rows(), |slot| chunk.column(slot), &term);
                    });
                }
                Ok(Status::Yield) => {}
                Ok(Status::Done) => return Some(Ok(())),
                Ok(Status::Pending(_) | Status::Starved) => return None,
                Err(error) => return Some(Err(error)),
            }
        }
    }

    fn ended(&mut self, asked: Asked<'k>, ended: Result<(), WalkError>) {
        let now = self.sim.now();
        let Asked {
            known,
            collected,
            begun,
            deadline,
            running,
            ..
        } = asked;
        drop(running);
        let seed = self.seed;
        let is_calm = now < FAULTS || begun >= HEALED + RESUMED;
        match ended {
            Ok(()) => {
                let answer = answer_of(collected.into_results());
                let checked = compare::check(&known.expected, &answer, &Blanks::Same);
                checked.unwrap_or_else(|what| panic!("seed {seed}: {what}\n{}", known.text));
                self.tally.answered += 1;
                self.tally.calm += u64::from(is_calm);
            }
            Err(error) => {
                let text = error.to_string();
                assert!(
                    !is_calm,
                    "seed {seed}, {now:?}: nothing failed, but {text}\n{}",
                    known.text
                );
                let is_named = text.contains("node ") || matches!(error, WalkError::Stopped(_));
                assert!(is_named, "seed {seed}: no cause in {text}");
                self.tally.failed += 1;
            }
        }
        // A frozen node looks at nothing; nobody waits for it there.
        let is_frozen = now > deadline + LATE && now < HEALED + RESUMED;
        assert!(
            is_frozen || now <= deadline + LATE,
            "seed {seed}: {now:?} is after {deadline:?}"
        );
    }

    /// Asks a node, if it is there.
    fn ask(&mut self, known: &'k Known, home: u16, mode: Mode, time: Duration) {
        let Some(node) = self.nodes[usize::from(home)].clone() else {
            return;
        };
        let begun = self.sim.now();
        let started = node.start(PartsQuery {
            plan: Arc::clone(&known.plan),
            ids: known.ids.clone(),
            mode,
            now: "2020-01-01T00:00:00Z".parse().expect("a moment"),
            seed: 7,
            chunk_rows: 3,
            memory: Arc::new(Unlimited),
            visit: Visit::new(node.ground(), Arc::new(Unlimited)),
            memory_bytes: 1 << 30,
            stop: Arc::new(Unlimited),
            time: Some(time),
        });
        match started {
            Ok(running) => self.under_way.push(Asked {
                known,
                home,
                running,
                collected: Collected::new(&known.plan, &known.ids),
                begun,
                deadline: begun + time,
            }),
            Err(error) => {
                let is_calm = begun < FAULTS || begun >= HEALED + RESUMED;
                assert!(!is_calm, "seed {}: nothing failed, but {error}", self.seed);
                self.tally.failed += 1;
            }
        }
        node.ground().fabric().wake();
    }
}

/// A graph, and queries with their answers.
fn matter(random: &mut Random, nodes: u16) -> (Matter, Vec<Known>) {
    let dataset = random_dataset(&Shape::small(random), random);
    let vocabulary = Vocabulary::of(&dataset);
    let matter = Matter::new(&dataset, nodes, None);
    let mut known = Vec::new();
    for _ in 0..40 {
        let text = random_query(&vocabulary, random);
        let Ok(Some(expected)) = oracles::expected_wide(&dataset, &text) else {
            continue;
        };
        let planned = matter.plan(&text, None, &Statistics::default());
        let Ok((plan, ids)) = planned else { continue };
        if matches!(plan.form, Form::Describe(_)) {
            continue;
        }
        known.push(Known {
            text,
            plan: Arc::new(plan),
            ids,
            expected,
        });
    }
    (matter, known)
}

fn simulated(seed: u64) -> (Tally, u64) {
    let mut random = Random::new(seed);
    let nodes = [3, 2, 4, 5][random.below(4)];
    let (matter, known) = matter(&mut random, nodes);
    let mut simulation = Simulation::new(seed, nodes, &matter);
    let mut at = Duration::from_millis(500);
    while at < LAST && !known.is_empty() {
        while simulation.step(at) {}
        let is_settled = at < HEALED || at >= HEALED + RESUMED;
        if is_settled {
            let mode = [Mode::ForkJoin, Mode::InPlace, Mode::Dynamic][random.below(3)];
            let time = Duration::from_millis(random.between(200, 4_000) as u64);
            let home = random.below(nodes.into()) as u16;
            simulation.ask(random.pick(&known), home, mode, time);
        }
        at += Duration::from_millis(random.between(1, 600) as u64);
    }
    while simulation.step(END) {}
    assert!(
        simulation.under_way.is_empty(),
        "seed {seed}: a query never ended"
    );
    for node in simulation.nodes.iter().flatten() {
        assert_eq!(
            node.queries(),
            0,
            "seed {seed}: a query that has ended is known"
        );
    }
    (simulation.tally, simulation.sim.digest())
}

#[test]
fn queries_are_right_or_say_why_they_are_not_answered() {
    on_a_thread(|| {
        let mut sum = Tally::default();
        for seed in seeds::chosen(SEEDS, SEEDS_LONG) {
            let (tally, _) = simulated(seed);
            sum.answered += tally.answered;
            sum.failed += tally.failed;
            sum.calm += tally.calm;
            sum.lost += tally.lost;
        }
        println!("{sum:?}");
        let is_single = std::env::var(seeds::SEED_VARIABLE).is_ok();
        assert!(
            is_single || (sum.failed > 0 && sum.answered > 2 * sum.failed),
            "{sum:?}"
        );
    });
}

#[test]
fn a_seed_is_one_run() {
    on_a_thread(|| {
        for seed in 0..3 {
            assert_eq!(simulated(seed).1, simulated(seed).1, "seed {seed}");
        }
    });
}
