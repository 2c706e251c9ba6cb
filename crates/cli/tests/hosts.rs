//! Three nodes on three hosts, under clients with deadlines, while processes, cables and links fail.
//!
//! ```text
//!  8 clients --HTTP--> host 0   host 1   host 2        network namespaces, see `network`
//!                        |        |        |
//!                        +---- relays -----+           one for each pair, here: late, slow, deaf, reset
//! ```
//!
//! What must hold, whatever fails: an answer is that of the whole store or an error; an error names who is away, and that one is;
//! no answer comes more than half a second after its deadline; three seconds after a fault is mended all nodes answer again.
//! Each of the seven kinds of fault happens once a seed, in an order of its own, to nodes of its own.
//!
//! `SOMERSAULT_SEED` and `SOMERSAULT_LONG=1` as for all tests of random cases. Skipped, and said so, where there can be no namespaces.

#![cfg(target_os = "linux")]

#[allow(dead_code)] // of what another test draws
#[path = "../../fabric/tests/chance.rs"]
mod chance;
mod client;
mod fault;
mod machine;
mod network;
mod relay;
mod verdict;

use crate::common::{BINARY, at_home, run, text, write};
use crate::nodes::{Data, QUESTIONS, Served, UB};
use chance::{Random, seeds};
use client::{Asked, Question, ask_on, rows, until_answered};
use fault::{Failing, Fault};
use machine::Machine;
use network::Network;
use relay::{Passing, Relay, Way};
use std::io::Write;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};
use std::thread;
use std::time::{Duration, Instant};
use verdict::Figures;

const HOSTS: u16 = 3;
const CLIENTS: u64 = 8;

/// Students of whom a question is asked.
const STUDENTS: usize = 40;

/// How much later a late link passes on.
const LATE: Duration = Duration::from_millis(100);

/// What a slow link passes on (bytes a second).
const SLOW: u32 = 64 << 10;

/// How often connections are reset.
const RESET_EVERY: Duration = Duration::from_millis(700);

/// Not answered within any deadline here: some billions of rows.
const ENDLESS: &str =
    "SELECT (COUNT(*) AS ?n) { ?a ub:takesCourse ?b . ?c ub:takesCourse ?d . ?e ub:advisor ?f }";

/// The nodes, their hosts and what is between them.
struct Hosts {
    // In this order they end: a namespace goes when nothing runs in it.
    nodes: Vec<Served>,
    /// The numbers of their processes.
    processes: Arc<Mutex<Vec<u32>>>,
    /// Of each pair, the node that dials and the one that is dialled.
    relays: Vec<(u16, u16, Relay)>,
    files: Vec<PathBuf>,
    _data: Data,
    network: Network,
}

impl Hosts {
    fn start(network: Network, data: Data) -> Hosts {
        let port = |host: u16| -> SocketAddr {
            let address = format!("{}:7373", network.on_switch(host));
            address.parse().expect("an address")
        };
        let pairs = (0..HOSTS).flat_map(|dials| (0..dials).map(move |dialled| (dials, dialled)));
        let relays: Vec<(u16, u16, Relay)> = pairs
            .map(|(dials, dialled)| (dials, dialled, Relay::at(&network.here(), port(dialled))))
            .collect();
        let reached = |from: u16, to: u16| {
            let mut relays = relays.iter();
            let relay = relays.find(|(dials, dialled, _)| (*dials, *dialled) == (from, to));
            // Nobody dials a node with a higher number.
            relay.map_or(port(to), |(_, _, relay)| relay.address)
        };
        let file = |host: u16| {
            let nodes: Vec<String> = (0..HOSTS).map(|to| reached(host, to).to_string()).collect();
            let text = format!(
                "[node]\npart = \"part-{host:04}\"\nlisten = \"{}\"\n[cluster]\nnodes = {nodes:?}\nkey = \"cluster.key\"\n",
                port(host)
            );
            write(&data.path("cluster"), &format!("host-{host}.toml"), text)
        };
        let files = (0..HOSTS).map(file).collect();
        let mut hosts = Hosts {
            nodes: Vec::new(),
            processes: Arc::default(),
            relays,
            files,
            _data: data,
            network,
        };
        for host in 0..HOSTS {
            let node = hosts.node(host);
            hosts.processes().push(node.child.id());
            hosts.nodes.push(node);
        }
        hosts
    }

    fn processes(&self) -> MutexGuard<'_, Vec<u32>> {
        self.processes.lock().expect("nobody panics")
    }

    fn http(&self, host: u16) -> SocketAddr {
        let address = format!("{}:7272", self.network.for_http(host));
        address.parse().expect("an address")
    }

    /// Starts a node on its host.
    fn node(&self, host: u16) -> Served {
        let mut command = at_home(self.network.command(host, BINARY));
        command.args(["node", "--config", text(&self.files[usize::from(host)])]);
        command.args(["--bind", &self.http(host).to_string()]);
        Served::of(command)
    }

    /// Tells all links of a node how to pass on.
    fn pass(&self, node: u16, passing: Passing) {
        for (dials, dialled, relay) in &self.relays {
            if node == *dials || node == *dialled {
                relay.set(Way::There, passing);
                relay.set(Way::Back, passing);
            }
        }
    }

    /// Tells one way of one link how to pass on.
    fn pass_one_way(&self, from: u16, to: u16, passing: Passing) {
        for (dials, dialled, relay) in &self.relays {
            if (from, to) == (*dials, *dialled) {
                relay.set(Way::There, passing);
            } else if (to, from) == (*dials, *dialled) {
                relay.set(Way::Back, passing);
            }
        }
    }

    /// Resets all links of a node, for so long.
    fn reset(&self, node: u16, hold: Duration) {
        let until = Instant::now() + hold;
        while Instant::now() < until {
            for (dials, dialled, relay) in &self.relays {
                if node == *dials || node == *dialled {
                    relay.reset();
                }
            }
            thread::sleep(RESET_EVERY);
        }
    }

    /// Lets something fail for so long, mends it, and waits until all nodes answer again.
    fn fail(&mut self, fault: Fault, hold: Duration, questions: &[Question]) -> Failing {
        let begun = Instant::now();
        match fault {
            Fault::Killed(node) => drop(self.nodes[usize::from(node)].end("KILL")),
            Fault::Frozen(node) => self.nodes[usize::from(node)].signal("STOP"),
            Fault::CutOff(node) => self.network.plug(node, false),
            Fault::Late(node) => self.pass(node, Passing::Late(LATE)),
            Fault::Slow(node) => self.pass(node, Passing::Slowly(SLOW)),
            Fault::Reset(node) => self.reset(node, hold),
            Fault::Deaf(from, to) => self.pass_one_way(from, to, Passing::Never),
        }
        if !matches!(fault, Fault::Reset(_)) {
            thread::sleep(hold);
        }
        let healed = Instant::now();
        match fault {
            Fault::Killed(node) => {
                let (number, anew) = (usize::from(node), self.node(node));
                self.processes()[number] = anew.child.id();
                self.nodes[number] = anew;
            }
            Fault::Frozen(node) => self.nodes[usize::from(node)].signal("CONT"),
            Fault::CutOff(node) => self.network.plug(node, true),
            Fault::Late(node) | Fault::Slow(node) => self.pass(node, Passing::Well),
            Fault::Reset(_) => {}
            Fault::Deaf(from, to) => self.pass_one_way(from, to, Passing::Well),
        }
        Failing {
            fault,
            begun,
            healed,
            resumed: self.all_answer(questions),
        }
    }

    /// When each node has answered what needs all nodes.
    fn all_answer(&self, questions: &[Question]) -> Instant {
        thread::scope(|scope| {
            let answered = (0..HOSTS).map(|host| {
                let address = self.http(host);
                scope.spawn(move || until_answered(host, address, questions))
            });
            let answered: Vec<_> = answered.collect();
            let answered = answered.into_iter().map(|it| it.join().expect("it comes"));
            answered.max().expect("there are nodes")
        })
    }
}

/// Heavy questions first, with the one that has no end; how many these are.
fn questions(data: &Data) -> (Vec<Question>, usize) {
    let whole = data.path("whole");
    let answered = |query: String| {
        let asked = format!("{UB} {query}");
        let arguments = [
            "query",
            "-l",
            text(&whole),
            "--results-format",
            "json",
            "--query",
            &asked,
        ];
        let found = run(arguments);
        assert_eq!(found.code, Some(0), "{query}: {}", found.errors);
        let document = serde_json::from_str(&found.output).expect("a document of results");
        Question {
            text: query,
            rows: Some(rows(&document).expect("rows")),
        }
    };
    let mut questions: Vec<Question> = QUESTIONS.map(str::to_owned).map(answered).into();
    questions.push(Question {
        text: ENDLESS.to_owned(),
        rows: None,
    });
    let heavy = questions.len();
    let of = |student: usize| {
        let department = student % 3;
        format!(
            "SELECT ?p ?o WHERE {{ <http://www.Department{department}.University0.edu/UndergraduateStudent{student}> ?p ?o }}"
        )
    };
    questions.extend((0..STUDENTS).map(of).map(answered));
    (questions, heavy)
}

/// Each kind of fault once, under clients.
fn round(
    hosts: &mut Hosts,
    seed: u64,
    (questions, heavy): (&[Question], usize),
    figures: &mut Figures,
) {
    let mut random = Random::new(seed);
    let hosts_count = usize::from(HOSTS);
    let one = random.below(hosts_count);
    let other = (one + 1 + random.below(hosts_count - 1)) % hosts_count;
    let mut faults = Fault::all(one as u16, other as u16);
    for last in (1..faults.len()).rev() {
        faults.swap(last, random.below(last + 1));
    }
    let addresses: Vec<SocketAddr> = (0..HOSTS).map(|host| hosts.http(host)).collect();
    let is_over = AtomicBool::new(false);
    let processes = Arc::clone(&hosts.processes);
    let (failing, asked, machine) = thread::scope(|scope| {
        let watching = scope.spawn(|| Machine::watch(&processes, &is_over));
        let clients = (0..CLIENTS).map(|client| {
            let (addresses, is_over) = (&addresses, &is_over);
            scope.spawn(move || {
                ask_on(
                    seed * CLIENTS + client,
                    addresses,
                    (questions, heavy),
                    is_over,
                )
            })
        });
        let clients: Vec<_> = clients.collect();
        let fail = |fault| {
            let hold = Duration::from_millis(2000 + random.below(1000) as u64);
            hosts.fail(fault, hold, questions)
        };
        let failing: Vec<Failing> = faults.map(fail).into();
        is_over.store(true, Ordering::Relaxed);
        let asked = clients
            .into_iter()
            .flat_map(|it| it.join().expect("a client ends"));
        let asked: Vec<Asked> = asked.collect();
        (failing, asked, watching.join().expect("it ends"))
    });
    let taken = asked.iter().map(|it| figures.take(it, &failing, &machine));
    let mut wrong: Vec<String> = taken.filter_map(Result::err).collect();
    let healed = failing.iter().map(|it| figures.heal(it, &machine));
    wrong.extend(healed.filter_map(Result::err));
    let said: Vec<String> = hosts.nodes.iter().map(Served::said).collect();
    assert!(
        wrong.is_empty(),
        "seed {seed}: {} wrong:\n{}\n{figures}\n{}",
        wrong.len(),
        wrong[..wrong.len().min(20)].join("\n"),
        said.join("\n--\n")
    );
}

#[test]
fn clients_get_right_answers_or_reasons_while_hosts_and_links_fail() {
    let network = match Network::of(HOSTS) {
        Ok(network) => network,
        Err(why) => {
            // Not by a macro: what those print of a test that passes is kept from everybody.
            let _ = writeln!(
                std::io::stderr(),
                "SKIPPED: hosts in network namespaces: {why}"
            );
            return;
        }
    };
    let data = Data::new();
    let (questions, heavy) = questions(&data);
    let mut hosts = Hosts::start(network, data);
    hosts.all_answer(&questions);
    let mut figures = Figures::default();
    for seed in seeds(1, 12) {
        round(&mut hosts, seed, (&questions, heavy), &mut figures);
    }
    println!("{figures}");
    for fault in Fault::all(0, 1) {
        let name = fault.name();
        assert!(
            figures.count(name, "right") > 0,
            "{name}: nothing was answered:\n{figures}"
        );
    }
    for name in ["killed", "frozen", "cut off"] {
        assert!(
            figures.count(name, "away") > 0,
            "{name}: nobody was named:\n{figures}"
        );
    }
}
