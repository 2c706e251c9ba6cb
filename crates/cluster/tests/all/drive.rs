//! What moves the bytes between the nodes of a [world](super::world), and who takes their turns.
//!
//! | | nodes are | when nothing is there |
//! |---|---|---|
//! | local | in this thread, messages change hands | nothing comes |
//! | sim | in this thread, in a simulated network in calm | virtual time goes on |
//! | tcp | in this thread, behind sockets of this machine with threads of their own | something may come: a turn waits a little |

use super::world::PlainNode;
use fabric::sim::{Sim, Step};
use fabric::tcp::{Key, Tcp, TcpConfig};
use fabric::{Event, Fabric, Limits, Local, NodeId, Presence};
use std::net::TcpListener;
use std::sync::Arc;
use std::time::Duration;

/// How long a turn waits for each node's socket.
const PATIENCE: Duration = Duration::from_millis(1);

/// How far virtual time goes on in a turn without an event.
const TICK: Duration = Duration::from_millis(5);

/// Turns within which nodes find each other.
const TURNS_MAX: usize = 10_000;

/// See the module's documentation.
pub enum Drive {
    Local,
    Sim(Sim),
    Tcp,
}

impl Drive {
    /// Nodes of this process.
    pub fn local(count: u16) -> (Drive, Vec<Arc<dyn Fabric>>) {
        let nodes = Local::nodes(count).into_iter();
        (Drive::Local, nodes.map(|node| node as Arc<_>).collect())
    }

    /// Nodes of a simulated network, which have found each other.
    pub fn sim(count: u16, seed: u64) -> (Drive, Vec<Arc<dyn Fabric>>) {
        let sim = Sim::new(count, seed);
        while sim.step(Duration::from_millis(500)).is_some() {}
        let node = |number| sim.node(NodeId(number)).expect("nobody stops") as Arc<dyn Fabric>;
        let nodes: Vec<_> = (0..count).map(node).collect();
        assert!(are_joined(&nodes), "nodes find each other in calm");
        (Drive::Sim(sim), nodes)
    }

    /// Nodes over sockets of this machine, which have found each other.
    pub fn tcp(count: u16) -> (Drive, Vec<Arc<dyn Fabric>>) {
        let bind = |_| TcpListener::bind("127.0.0.1:0").expect("a port is free");
        let listeners: Vec<TcpListener> = (0..count).map(bind).collect();
        let address = |listener: &TcpListener| listener.local_addr().expect("it is bound");
        let members: Vec<String> = listeners
            .iter()
            .map(|one| address(one).to_string())
            .collect();
        let start = |(number, listener)| {
            let config = TcpConfig {
                here: NodeId(number),
                members: members.clone(),
                cluster: [7; 16],
                epoch: 1,
                key: Key::new(&[42; 32]).expect("32 bytes are a key"),
                limits: Limits::DEFAULT,
            };
            Tcp::start(listener, config).expect("a node starts") as Arc<dyn Fabric>
        };
        let nodes: Vec<Arc<dyn Fabric>> = (0..count).zip(listeners).map(start).collect();
        let mut greetings = Vec::new();
        for _ in 0..TURNS_MAX {
            if are_joined(&nodes) {
                return (Drive::Tcp, nodes);
            }
            for node in &nodes {
                node.poll(&mut greetings, PATIENCE);
            }
        }
        panic!("nodes do not find each other: {greetings:?}");
    }

    /// Everybody does what there is to do; whether there was anything.
    pub fn turn(&self, nodes: &[Arc<PlainNode>]) -> bool {
        match self {
            Drive::Local => polled(nodes, Duration::ZERO),
            Drive::Tcp => polled(nodes, Duration::ZERO) || polled(nodes, PATIENCE),
            Drive::Sim(sim) => {
                let is_busy = polled(nodes, Duration::ZERO);
                match sim.step(sim.now() + TICK) {
                    Some(Step::Events(node, mut events)) => {
                        take(&nodes[node.index()], &mut events) || is_busy
                    }
                    Some(step) => panic!("{step:?}: nobody stops"),
                    None => is_busy,
                }
            }
        }
    }

    /// Whether what was sent has come when nothing is there.
    pub fn is_at_once(&self) -> bool {
        matches!(self, Drive::Local)
    }
}

fn are_joined(nodes: &[Arc<dyn Fabric>]) -> bool {
    let count = nodes.len() as u16;
    nodes.iter().all(|node| {
        let is_up = |peer| matches!(node.presence(NodeId(peer)), Presence::Up(_));
        (0..count).all(is_up)
    })
}

fn polled(nodes: &[Arc<PlainNode>], patience: Duration) -> bool {
    let mut events = Vec::new();
    let mut is_busy = false;
    for node in nodes {
        node.ground().fabric().poll(&mut events, patience);
        is_busy |= take(node, &mut events);
    }
    is_busy
}

fn take(node: &PlainNode, events: &mut Vec<Event>) -> bool {
    let mut is_busy = !events.is_empty();
    node.handle(events.drain(..));
    while node.work() {
        is_busy = true;
    }
    is_busy
}
