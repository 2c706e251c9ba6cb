//! A light query whose constants and rows one other node owns: how often something has to go there and come back, and how
//! many messages that takes. In virtual time, in which a message takes a millisecond and everything else none.

use super::world::{Matter, PlainNode};
use cluster::{Mode, PartsQuery, Visit};
use explore::limits::Unlimited;
use explore::{Chunk, Status};
use fabric::sim::{Sim, Step, Weather};
use fabric::{Fabric, Limits, NodeId};
use oxrdf::vocab::rdf::TYPE;
use oxrdf::{Dataset, GraphName, Literal, NamedNode, Quad, Term};
use query::statistics::Statistics;
use rdf::{Lexicon, Placement, Progress, TermBuffer, VertexId};
use std::sync::Arc;
use std::time::Duration;
use testkit::suite::hold::on_a_thread;

const NODES: u16 = 4;

/// Universities, the departments of each, and the professors of a department.
const UNIVERSITIES: u64 = 8;
const DEPARTMENTS: u64 = 4;
const PROFESSORS: u64 = 10;

/// A block of ids has a university.
const BLOCK: usize = 64;
const SHIFT: u8 = 6;

/// How long a message is under way.
const DELAY: Duration = Duration::from_millis(1);

fn name(text: &str) -> NamedNode {
    NamedNode::new_unchecked(format!("http://example.org/{text}"))
}

/// What LUBM's light queries look at, and the IRIs in the order of their ids: classes and predicates first.
fn universities() -> (Dataset, Vec<Term>) {
    let mut dataset = Dataset::new();
    let mut order: Vec<NamedNode> = ["suborganization", "works", "name", "email", "telephone"]
        .into_iter()
        .chain(["Department", "Full", "Associate", "Group"])
        .map(name)
        .collect();
    order.push(TYPE.into_owned());
    let filled = |order: &mut Vec<NamedNode>| {
        while !order.len().is_multiple_of(BLOCK) {
            order.push(name(&format!("filler{}", order.len())));
        }
    };
    filled(&mut order);
    for university in 0..UNIVERSITIES {
        let whole = name(&format!("university{university}"));
        order.push(whole.clone());
        for department in 0..DEPARTMENTS {
            let of = format!("department{department}of{university}");
            let mut add = |subject: &NamedNode, predicate: NamedNode, object: Term| {
                let quad = Quad::new(subject.clone(), predicate, object, GraphName::DefaultGraph);
                dataset.insert(quad.as_ref());
            };
            let part = name(&of);
            order.push(part.clone());
            add(&part, name("suborganization"), whole.clone().into());
            add(&part, TYPE.into_owned(), name("Department").into());
            for number in 0..PROFESSORS {
                let professor = name(&format!("professor{number}of{of}"));
                order.push(professor.clone());
                add(&professor, name("works"), part.clone().into());
                let class = if number % 2 == 0 { "Full" } else { "Associate" };
                add(&professor, TYPE.into_owned(), name(class).into());
                for what in ["name", "email", "telephone"] {
                    let text = format!("{what} of {number} of {of}");
                    add(&professor, name(what), Literal::from(text).into());
                }
            }
            for number in 0..3 {
                let group = name(&format!("group{number}of{of}"));
                order.push(group.clone());
                add(&group, name("suborganization"), part.clone().into());
                add(&group, TYPE.into_owned(), name("Group").into());
            }
        }
        filled(&mut order);
    }
    (dataset, order.into_iter().map(Term::from).collect())
}

/// q4, q5 and q6 of one university, and the number of their rows.
fn light(university: u64) -> [(&'static str, String, u64); 3] {
    let prefix = "PREFIX : <http://example.org/> ";
    let department = format!(":department1of{university}");
    [
        (
            "q4",
            format!(
                "{prefix}SELECT ?x ?n ?e ?t WHERE {{ ?x :works {department} ; a :Full ; :name ?n ; \
                 :email ?e ; :telephone ?t }}"
            ),
            PROFESSORS / 2,
        ),
        (
            "q5",
            format!("{prefix}SELECT ?x WHERE {{ ?x :suborganization {department} ; a :Group }}"),
            3,
        ),
        (
            "q6",
            format!(
                "{prefix}SELECT ?x ?y WHERE {{ ?y :suborganization :university{university} ; a :Department . \
                 ?x :works ?y ; a :Full }}"
            ),
            DEPARTMENTS * PROFESSORS / 2,
        ),
    ]
}

/// Nodes under virtual time.
struct Cluster {
    sim: Sim,
    nodes: Vec<Arc<PlainNode>>,
    matter: Matter,
}

/// What something took.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Cost {
    /// There and back again.
    rounds: u128,
    messages: u64,
}

impl Cluster {
    fn new() -> Cluster {
        let (dataset, order) = universities();
        let placement = Placement::in_turn(NODES, SHIFT, 64).expect("a placement");
        let matter = Matter::placed(&dataset, placement, &order);
        let weather = Weather {
            delay_min: DELAY,
            delay_max: DELAY,
            ns_per_kib: 0,
            ..Weather::CALM
        };
        let sim = Sim::with(NODES, 0, Limits::DEFAULT, weather);
        let node = |node| matter.node(sim.node(NodeId(node)).expect("it runs") as Arc<dyn Fabric>);
        let nodes: Vec<Arc<PlainNode>> = (0..NODES).map(node).collect();
        let mut none = Vec::new();
        for node in &nodes {
            node.ground().fabric().poll(&mut none, DELAY);
        }
        let cluster = Cluster { sim, nodes, matter };
        while cluster.step(Duration::from_secs(1)) {}
        cluster
    }

    /// Lets something happen before this time; whether there was anything.
    fn step(&self, until: Duration) -> bool {
        match self.sim.step(until) {
            None => return false,
            Some(Step::Events(node, events)) => {
                let here = &self.nodes[node.index()];
                let mut events = events;
                loop {
                    here.handle(events.drain(..));
                    while here.work() {}
                    if here.ground().fabric().poll(&mut events, DELAY) == 0 {
                        break;
                    }
                }
            }
            Some(_) => unreachable!("nothing fails"),
        }
        true
    }

    fn messages(&self) -> u64 {
        let sent = self.nodes.iter();
        sent.map(|node| node.ground().fabric().counts().messages_sent)
            .sum()
    }

    /// Does something until it is done, and says what that took.
    fn until<T>(&self, mut act: impl FnMut() -> Option<T>) -> (T, Cost) {
        let (begun, sent) = (self.sim.now(), self.messages());
        let give_up = begun + Duration::from_secs(1);
        loop {
            if let Some(done) = act() {
                let took = self.sim.now().saturating_sub(begun);
                let cost = Cost {
                    rounds: took.as_nanos().div_ceil((2 * DELAY).as_nanos()),
                    messages: self.messages() - sent,
                };
                return (done, cost);
            }
            assert!(self.step(give_up), "nobody goes on");
        }
    }

    fn owner(&self, iri: &str) -> u16 {
        let mut ids = Vec::new();
        let term = Term::from(name(iri));
        let known = self.matter.terms.ids(&[term.as_ref()], &mut ids);
        known.expect("it is known");
        self.matter.placement.owner(ids[0].expect("a stored term"))
    }

    /// Asks a node: the ids of the constants, the rows, and the terms of these.
    fn ask(&self, text: &str, home: u16, mode: Mode) -> (u64, [Cost; 3]) {
        let node = &self.nodes[usize::from(home)];
        let (plan, _) = self
            .matter
            .plan(text, None, &Statistics::default())
            .expect("it plans");
        let visit = Visit::new(node.ground(), Arc::new(Unlimited));
        let constants: Vec<_> = plan.constants.iter().map(Term::as_ref).collect();
        let lexicon = visit.lexicon();
        let there = |fetched: Result<Progress, rdf::LexiconError>| {
            matches!(fetched.expect("nothing fails"), Progress::Ready).then_some(())
        };
        let ((), named) = self.until(|| there(lexicon.fetch(&[], &constants)));
        let mut ids = Vec::new();
        lexicon.ids(&constants, &mut ids).expect("they are here");
        let mut running = None;
        let (mut rows, mut cells) = (0, Vec::new());
        let mut chunk = Chunk::new();
        let ((), walked) = self.until(|| {
            let running = running.get_or_insert_with(|| {
                let question = PartsQuery {
                    plan: Arc::new(plan.clone()),
                    ids: ids.clone(),
                    mode,
                    now: "2020-01-01T00:00:00Z".parse().expect("a moment"),
                    seed: 7,
                    chunk_rows: 1024,
                    memory: Arc::new(Unlimited),
                    visit: visit.clone(),
                    memory_bytes: 1 << 30,
                    stop: Arc::new(Unlimited),
                    time: None,
                    is_profiled: false,
                    trace: None,
                };
                node.start(question).expect("it starts")
            });
            loop {
                match running.next(&mut chunk).expect("nothing fails") {
                    Status::Rows => {
                        rows += chunk.rows();
                        for slot in chunk.slots() {
                            cells.extend_from_slice(chunk.column(slot).expect("a column"));
                        }
                    }
                    Status::Done => return Some(()),
                    Status::Yield => {}
                    Status::Pending(_) | Status::Starved => return None,
                }
            }
        });
        let ids: Vec<VertexId> = cells;
        let ((), told) = self.until(|| there(lexicon.fetch(&ids, &[])));
        let mut terms = TermBuffer::new();
        lexicon.terms(&ids, &mut terms).expect("they are here");
        drop(running);
        // Everybody hears that it has ended.
        let quiet = self.sim.now() + 4 * DELAY;
        while self.step(quiet) {}
        (rows, [named, walked, told])
    }
}

#[test]
fn a_light_query_of_another_node_goes_there_once() {
    on_a_thread(|| {
        let cluster = Cluster::new();
        for (query, text, wanted) in light(2) {
            let owner = cluster.owner("university2");
            assert_eq!(owner, cluster.owner("department1of2"), "one block has both");
            let home = (owner + 2) % NODES;
            for mode in [Mode::ForkJoin, Mode::Dynamic] {
                // The first one has extents fetched, which every node keeps.
                cluster.ask(&text, home, mode);
                let (rows, costs) = cluster.ask(&text, home, mode);
                assert_eq!(rows, wanted, "{query}, {mode:?}");
                // What stays where it is found is told once: begin, rows, what was worked off, end.
                let walk = Cost {
                    rounds: 1,
                    messages: 4,
                };
                let [named, walked, told] = costs;
                assert_eq!(walked, walk, "{query}, {mode:?}");
                assert!(named.rounds <= 1, "{query}, {mode:?}: {named:?}");
                assert!(told.rounds <= 1, "{query}, {mode:?}: {told:?}");
            }
        }
    });
}
