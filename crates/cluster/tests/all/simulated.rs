//! Queries while nodes and links fail, in virtual time: each is answered, whole and right, or ends with an error that names
//! its cause, in time; and once all is well again, all are answered.
//!
//! A seed is a graph, queries, and faults of one kind or of all ([`faults`]); the same one is the same run. What is asserted
//! of each query:
//!
//! | | |
//! |---|---|
//! | an answer | is the naive evaluator's |
//! | an error | is its deadline, or names a node; and it, the node that was asked, or their links have failed just then |
//! | needs no part that has failed | an answer |
//! | time | at most half a second more than it may take |
//! | begun three seconds after all is well | an answer |
//! | all have ended | no node knows one of them, or has memory for one |
//!
//! Which nodes a query needs is seen before anything fails, in a *rehearsal*: asked alone, twice, it needs those between which
//! messages go the second time. That says nothing where chance decides: of rows that stay or go by what they cost, and of
//! queries that end before they have seen all.
//!
//! In every other seed nodes read lists out of each other's memory. There a rehearsal says nothing either: a node that is known
//! to have no edge of a predicate is needed and not asked, until what is known of it is forgotten.
//!
//! How many were answered is printed for each kind of fault, and held against what is usual for it.
//!
//! `cargo xtask simulate` runs it; one seed alone is told step by step.

#[path = "simulated/ended.rs"]
mod ended;
#[path = "simulated/faults.rs"]
mod faults;
#[path = "simulated/shares.rs"]
mod shares;

use super::conformance::answer_of;
use super::part::Form as PartForm;
use super::world::{Matter, PlainNode};
use cluster::{Mode, PartsQuery, ReadPolicy, Running, Visit};
use explore::{Chunk, Status, Stop, StopReason, WalkError};
use fabric::sim::{Sim, Step};
use fabric::{Event, Fabric, NodeId};
use faults::{FAULTS, HEALED, Hits, Kind, RESUMED};
use query::plan::{Action, Form, Plan};
use query::statistics::Statistics;
use rdf::VertexId;
use shares::Shares;
use std::cell::OnceCell;
use std::collections::BTreeSet;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
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
const SEEDS: u64 = 500;
const SEEDS_LONG: u64 = 100_000;

/// When nodes have found each other, and the rehearsal begins.
const READY: Duration = Duration::from_millis(500);
const END: Duration = Duration::from_secs(20);
/// When the last query is asked, at the latest.
const LAST: Duration = Duration::from_secs(15);

/// What a deadline may be missed by.
const LATE: Duration = Duration::from_millis(500);

/// How often whoever waits for a query looks at its limits.
const LOOK: Duration = Duration::from_millis(20);

/// How long last messages may be on their way in calm.
const QUIET: Duration = Duration::from_millis(2);

/// Stack of a thread that runs seeds: queries may be nested deep.
const STACK_BYTES: usize = 16 << 20;

/// Queries of a run, each with a node and a mode.
const PLANNED: usize = 14;

type PlainRunning = Running<super::part::HeldPart, super::world::Owned>;

/// A query, its plan, and what it has to answer.
struct Known {
    text: String,
    plan: Arc<Plan>,
    ids: Vec<Option<VertexId>>,
    expected: Expected,
}

/// A query to be asked of a node in a mode.
struct Planned<'k> {
    known: &'k Known,
    home: u16,
    mode: Mode,
    /// The nodes that it needs; not there: that cannot be told, so all.
    needs: OnceCell<BTreeSet<u16>>,
}

/// A query under way.
struct Asked<'p> {
    planned: &'p Planned<'p>,
    running: PlainRunning,
    collected: Collected<'p>,
    begun: Duration,
    deadline: Duration,
}

/// What became of the queries that were asked while things failed.
#[derive(Clone, Copy, Debug, Default)]
pub struct Tally {
    pub answered: u64,
    /// Those that ended with an error that names a node.
    pub failed: u64,
    /// Those whose time was over.
    pub late: u64,
    /// Those whose node was gone.
    pub lost: u64,
    /// Those of the answered ones that needed nobody who had failed.
    pub spared: u64,
    /// Those asked when nothing failed, all of them answered.
    pub calm: u64,
    /// Lists that were read out of others' memory.
    pub lists_read: u64,
}

struct Simulation<'p> {
    sim: Sim,
    matter: &'p Matter,
    nodes: Vec<Option<Arc<PlainNode>>>,
    under_way: Vec<Asked<'p>>,
    hits: Hits,
    /// Nodes between which messages went.
    seen: BTreeSet<u16>,
    tally: Tally,
    is_told: bool,
    /// Stops the query that is asked next.
    stop: Arc<Cancel>,
    /// Whether queries are stopped before they have failed or been answered.
    stops: bool,
}

/// Stops a query once it is told to.
#[derive(Default)]
struct Cancel(AtomicBool);

impl Stop for Cancel {
    fn reason(&self) -> Option<StopReason> {
        let is_cancelled = self.0.load(Ordering::Relaxed);
        is_cancelled.then_some(StopReason::Cancelled)
    }
}

impl<'p> Simulation<'p> {
    fn new(seed: u64, nodes: u16, matter: &'p Matter, is_told: bool) -> Simulation<'p> {
        let sim = Sim::new(nodes, seed);
        let kind = Kind::of(seed);
        let schedule = kind.schedule(seed, nodes);
        sim.faults(&schedule);
        let mut simulation = Simulation {
            sim,
            matter,
            nodes: Vec::new(),
            under_way: Vec::new(),
            hits: Hits::of(&schedule),
            seen: BTreeSet::new(),
            tally: Tally::default(),
            is_told,
            stop: Arc::default(),
            stops: false,
        };
        simulation.tell(|| format!("seed {seed}: {nodes} nodes, {kind:?}"));
        for (at, fault) in schedule {
            simulation.tell(|| format!("at {at:?} {fault:?}"));
        }
        simulation.nodes = (0..nodes).map(|node| simulation.started(node)).collect();
        simulation
    }

    fn tell(&self, what: impl FnOnce() -> String) {
        if self.is_told {
            println!("{:>12.6} {}", self.sim.now().as_secs_f64(), what());
        }
    }

    fn started(&self, node: u16) -> Option<Arc<PlainNode>> {
        let fabric = self.sim.node(NodeId(node))?;
        let mut none = Vec::new();
        fabric.poll(&mut none, LOOK);
        Some(self.matter.node(fabric))
    }

    /// One step of the simulation; `false`: it is that late.
    fn step(&mut self, until: Duration) -> bool {
        let Some(step) = self.sim.step(until) else {
            return false;
        };
        match step {
            Step::Stopped(node) => {
                self.tell(|| format!("{node} is gone"));
                self.nodes[node.index()] = None;
                let before = self.under_way.len();
                self.under_way.retain(|asked| asked.planned.home != node.0);
                self.tally.lost += (before - self.under_way.len()) as u64;
            }
            Step::Started(node) => {
                self.tell(|| format!("{node} is there again"));
                self.nodes[node.index()] = self.started(node.0);
            }
            Step::Events(node, events) => {
                if let Some(here) = self.nodes[node.index()].clone() {
                    self.turn(node.0, &here, events);
                }
            }
        }
        true
    }

    /// A node does what there is to do.
    fn turn(&mut self, node: u16, here: &Arc<PlainNode>, mut events: Vec<Event>) {
        loop {
            for event in &events {
                if let Event::Message { from, .. } = event {
                    self.seen.extend([from.0, node]);
                } else {
                    self.tell(|| format!("node {node}: {event:?}"));
                }
            }
            here.handle(events.drain(..));
            while here.work() {}
            self.walk(node);
            while here.work() {}
            // Once nothing is there, its next step comes soon, so that somebody looks at the limits.
            if here.ground().fabric().poll(&mut events, LOOK) == 0 {
                break;
            }
        }
    }

    /// Whoever asked this node goes on as far as it can.
    fn walk(&mut self, node: u16) {
        let mut at = 0;
        while at < self.under_way.len() {
            if self.under_way[at].planned.home != node {
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

    /// What became of a query is looked at.
    fn ended(&mut self, asked: Asked<'p>, ended: Result<(), WalkError>) {
        let now = self.sim.now();
        let (planned, begun, deadline) = (asked.planned, asked.begun, asked.deadline);
        drop(asked.running);
        let is_spared = !self.hits.touch(planned.needs.get(), begun, now);
        let is_calm = now < FAULTS || begun >= HEALED + RESUMED;
        self.tell(|| {
            let how = ended
                .as_ref()
                .map_or_else(ToString::to_string, |()| "answered".into());
            format!("node {}: {how}\n{}", planned.home, planned.known.text)
        });
        let text = &planned.known.text;
        match ended {
            Ok(()) => {
                let answer = answer_of(asked.collected.into_results());
                let checked = compare::check(&planned.known.expected, &answer, &Blanks::Same);
                checked.unwrap_or_else(|what| panic!("{what}\n{text}"));
                if is_calm {
                    self.tally.calm += 1;
                } else {
                    self.tally.answered += 1;
                    self.tally.spared += u64::from(is_spared);
                }
            }
            Err(WalkError::Stopped(_)) if self.stops => {}
            Err(error) => {
                let what = format!("{begun:?} to {now:?}: {error}\n{text}");
                assert!(!is_calm, "nothing failed: {what}");
                assert!(!is_spared, "nothing failed that it needs: {what}");
                self.failed(planned, begun, &error);
            }
        }
        // A frozen node looks at nothing; nobody waits for it there.
        assert!(
            now <= deadline + LATE || self.hits.freeze(planned.home, begun, now),
            "{now:?} is after {deadline:?}\n{text}"
        );
    }

    /// A query that was begun then has failed: whoever it names, or was asked, has to do with what failed.
    fn failed(&mut self, planned: &Planned<'p>, begun: Duration, error: &WalkError) {
        if matches!(error, WalkError::Stopped(_)) {
            self.tally.late += 1;
            return;
        }
        let what = error.to_string();
        let mut named = nodes_in(&what);
        assert!(!named.is_empty(), "no cause in {what}");
        named.push(planned.home);
        let is_its_fault = self.hits.concern(&named, begun, self.sim.now());
        assert!(is_its_fault, "another cause than in {what}");
        self.tally.failed += 1;
    }

    /// Asks a node, if it is there.
    fn ask(&mut self, planned: &'p Planned<'p>, time: Duration) {
        let Some(node) = self.nodes[usize::from(planned.home)].clone() else {
            return;
        };
        let known = planned.known;
        let begun = self.sim.now();
        let memory = self.matter.memory(planned.home);
        let started = node.start(PartsQuery {
            plan: Arc::clone(&known.plan),
            ids: known.ids.clone(),
            mode: planned.mode,
            now: "2020-01-01T00:00:00Z".parse().expect("a moment"),
            seed: 7,
            chunk_rows: 3,
            memory: Arc::clone(&memory) as Arc<_>,
            visit: Visit::new(node.ground(), memory),
            memory_bytes: 1 << 30,
            stop: Arc::clone(&self.stop) as Arc<_>,
            time: Some(time),
            is_profiled: false,
            trace: None,
        });
        self.tell(|| format!("node {} is asked, {:?}", planned.home, planned.mode));
        match started {
            Ok(running) => self.under_way.push(Asked {
                planned,
                running,
                collected: Collected::new(&known.plan, &known.ids),
                begun,
                deadline: begun + time,
            }),
            Err(error) => {
                let is_calm = begun < FAULTS || begun >= HEALED + RESUMED;
                assert!(!is_calm, "nothing failed, but {error}");
                let is_spared = !self.hits.touch(planned.needs.get(), begun, begun);
                assert!(!is_spared, "nothing failed that it needs, but {error}");
                self.failed(planned, begun, &error.into());
            }
        }
        node.ground().fabric().wake();
    }

    /// Asks a query before anything fails; the nodes between which messages went.
    fn rehearse(&mut self, planned: &'p Planned<'p>) -> BTreeSet<u16> {
        self.seen = BTreeSet::from([planned.home]);
        let until = self.sim.now() + Duration::from_millis(100);
        self.ask(planned, Duration::from_secs(1));
        while !self.under_way.is_empty() && self.step(until) {}
        assert!(self.under_way.is_empty(), "in calm a query takes no time");
        let until = self.sim.now() + QUIET;
        while self.step(until) {}
        assert!(
            until < FAULTS,
            "the rehearsal is over before anything fails"
        );
        std::mem::take(&mut self.seen)
    }
}

/// The numbers of the nodes that a text names.
fn nodes_in(text: &str) -> Vec<u16> {
    let after = text.split("node ").skip(1);
    let digits = after.map(|rest| rest.split(|c: char| !c.is_ascii_digit()).next());
    digits.filter_map(|digits| digits?.parse().ok()).collect()
}

/// Whether the nodes of a seed read lists out of each other's memory.
fn reads(seed: u64) -> bool {
    seed % 2 == 1
}

/// A graph, and queries with their answers.
fn matter(seed: u64, random: &mut Random, nodes: u16) -> (Matter, Vec<Known>) {
    let dataset = random_dataset(&Shape::small(random), random);
    let vocabulary = Vocabulary::of(&dataset);
    let mut matter = Matter::new(&dataset, nodes, None);
    if reads(seed) {
        matter = matter.in_form(PartForm::Stored, ReadPolicy::Always);
    }
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

/// Whether a query may end before it has seen all.
fn may_end_early(plan: &Plan) -> bool {
    let is_slice = |action: &Action| matches!(action, Action::Slice { .. });
    matches!(plan.form, Form::Ask) || plan.steps.iter().any(|step| is_slice(&step.action))
}

/// Queries to be asked.
fn planned<'k>(nodes: u16, known: &'k [Known], random: &mut Random) -> Vec<Planned<'k>> {
    let modes = [Mode::ForkJoin, Mode::InPlace, Mode::Dynamic];
    let planned = modes.into_iter().cycle().take(PLANNED);
    let planned = planned.map(|mode| Planned {
        known: random.pick(known),
        home: random.below(nodes.into()) as u16,
        mode,
        needs: OnceCell::new(),
    });
    planned.collect()
}

/// The run of a seed, and a number that another run of it has as well.
fn simulated(seed: u64, is_told: bool) -> (Tally, u64) {
    let mut random = Random::new(seed);
    let nodes = [3, 2, 4, 5][random.below(4)];
    let (matter, known) = matter(seed, &mut random, nodes);
    let planned = if known.is_empty() {
        Vec::new()
    } else {
        planned(nodes, &known, &mut random)
    };
    let mut simulation = Simulation::new(seed, nodes, &matter, is_told);
    while simulation.step(READY) {}
    for planned in &planned {
        simulation.rehearse(planned);
        let needs = simulation.rehearse(planned);
        let is_seen = planned.mode != Mode::Dynamic && !reads(seed);
        let is_certain = is_seen && !may_end_early(&planned.known.plan);
        if is_certain {
            planned.needs.get_or_init(|| needs);
        }
    }
    let mut at = simulation.sim.now();
    while at < LAST && !planned.is_empty() {
        while simulation.step(at) {}
        let is_settled = at < HEALED || at >= HEALED + RESUMED;
        if is_settled {
            let time = Duration::from_millis(random.between(200, 4_000) as u64);
            simulation.ask(random.pick(&planned), time);
            if random.chance(8) {
                // Whoever asked goes away; what is under way for it finds nobody.
                simulation.under_way.pop();
            }
        }
        at += Duration::from_millis(random.between(1, 600) as u64);
    }
    while simulation.step(END) {}
    assert!(simulation.under_way.is_empty(), "a query never ended");
    for (number, node) in (0..).zip(&simulation.nodes) {
        let known = node.as_ref().map_or(0, |node| node.queries());
        let figures = node.as_ref().map(|node| node.figures());
        let figures = figures.unwrap_or_default();
        // Where others' lists lie is kept for the next query, and so are terms.
        let kept = figures.locations.bytes + figures.term_bytes;
        simulation.tally.lists_read += figures.fetched.lists_read;
        let left = (known, matter.held_bytes(number) - kept);
        assert_eq!(
            left,
            (0, 0),
            "queries and bytes that node {number} has left"
        );
    }
    (simulation.tally, simulation.sim.digest())
}

/// The run of a seed; `None`: it fails, which has been told.
fn held(seed: u64, is_told: bool) -> Option<Tally> {
    let run = catch_unwind(AssertUnwindSafe(|| simulated(seed, is_told)));
    if run.is_err() {
        println!("seed {seed} fails: cargo xtask simulate --seed {seed}");
    }
    run.ok().map(|(tally, _)| tally)
}

#[test]
fn queries_are_right_or_say_why_they_are_not_answered() {
    let seeds = seeds::chosen(SEEDS, SEEDS_LONG);
    let is_told = seeds.end - seeds.start == 1;
    let next = AtomicU64::new(seeds.start);
    let shares = Mutex::new(Shares::default());
    let walk = || {
        loop {
            let seed = next.fetch_add(1, Ordering::Relaxed);
            if seed >= seeds.end {
                break;
            }
            let tally = held(seed, is_told);
            let mut shares = shares.lock().unwrap_or_else(PoisonError::into_inner);
            shares.add(Kind::of(seed), tally);
        }
    };
    std::thread::scope(|scope| {
        let threads = std::thread::available_parallelism().map_or(1, usize::from);
        for _ in 0..threads {
            let thread = std::thread::Builder::new().stack_size(STACK_BYTES);
            thread.spawn_scoped(scope, walk).expect("a thread");
        }
    });
    let shares = shares.into_inner().unwrap_or_else(PoisonError::into_inner);
    println!("{shares}");
    shares.check();
}

#[test]
fn a_seed_is_one_run() {
    on_a_thread(|| {
        for seed in 0..3 {
            assert_eq!(simulated(seed, false).1, simulated(seed, false).1, "{seed}");
        }
    });
}
