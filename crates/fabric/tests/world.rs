//! Several nodes of one fabric, driven by a test.

use std::net::TcpListener;
use std::sync::Arc;
use std::time::{Duration, Instant};

use fabric::sim::{Sim, Step, Weather};
use fabric::tcp::{Key, Tcp, TcpConfig};
use fabric::{Event, Fabric, Limits, Local, NodeId, Presence};

/// Limits that a test can reach.
pub const SMALL: Limits = Limits {
    message_bytes_max: 4096,
    queue_bytes_max: 8192,
    pieces_max: 8,
    accesses_max: 4,
};

/// How long a test waits for what must come.
const PATIENCE: Duration = Duration::from_secs(20);

/// Nodes of one fabric, and what they have seen.
pub struct World {
    /// The nodes.
    pub nodes: Vec<Arc<dyn Fabric>>,
    /// What each has polled and no test has taken yet.
    pub seen: Vec<Vec<Event>>,
    advance: Advance,
}

/// Lets something happen and gives what nodes polled, each by its position.
type Advance = Box<dyn FnMut(&[Arc<dyn Fabric>]) -> Vec<(usize, Event)>>;

impl World {
    /// Nodes that are driven by polling each of them in turn.
    pub fn polled(nodes: Vec<Arc<dyn Fabric>>) -> World {
        World::new(nodes, Box::new(poll_all))
    }

    /// Nodes that something else drives.
    pub fn new(nodes: Vec<Arc<dyn Fabric>>, advance: Advance) -> World {
        let seen = nodes.iter().map(|_| Vec::new()).collect();
        World {
            nodes,
            seen,
            advance,
        }
    }

    /// Lets something happen.
    pub fn advance(&mut self) {
        for (position, event) in (self.advance)(&self.nodes) {
            self.seen[position].push(event);
        }
    }

    /// Lets things happen until this holds.
    pub fn until(&mut self, what: &str, mut holds: impl FnMut(&World) -> bool) {
        let start = Instant::now();
        while !holds(self) {
            assert!(
                start.elapsed() < PATIENCE,
                "in vain: {what}; seen: {:?}",
                self.seen
            );
            self.advance();
        }
    }

    /// Lets things happen until all nodes see one another, and forgets that.
    pub fn join(&mut self) {
        let count = self.nodes.len();
        self.until("all are up", |world| {
            world.nodes.iter().all(|node| {
                (0..count).all(|peer| matches!(node.presence(NodeId(peer as u16)), Presence::Up(_)))
            })
        });
        self.seen.iter_mut().for_each(Vec::clear);
    }

    /// The messages that a node got from another, taken away.
    pub fn take_messages(&mut self, at: usize, of: NodeId) -> Vec<Vec<u8>> {
        let mut messages = Vec::new();
        for event in std::mem::take(&mut self.seen[at]) {
            match event {
                Event::Message { from, bytes } if from == of => messages.push(bytes),
                other => self.seen[at].push(other),
            }
        }
        messages
    }

    /// Lets things happen until a node has an event like this, and takes it.
    pub fn wait_for(&mut self, at: usize, what: &str, is_it: impl Fn(&Event) -> bool) -> Event {
        self.until(what, |world| world.seen[at].iter().any(&is_it));
        let position = self.seen[at].iter().position(&is_it);
        self.seen[at].remove(position.expect("it was just seen"))
    }
}

fn poll_all(nodes: &[Arc<dyn Fabric>]) -> Vec<(usize, Event)> {
    let mut all = Vec::new();
    for (position, node) in nodes.iter().enumerate() {
        let mut events = Vec::new();
        node.poll(&mut events, Duration::from_millis(1));
        all.extend(events.into_iter().map(|event| (position, event)));
    }
    all
}

/// Nodes of one process.
pub fn local(count: u16, limits: Limits) -> World {
    let nodes = Local::with_limits(count, limits);
    World::polled(
        nodes
            .into_iter()
            .map(|node| node as Arc<dyn Fabric>)
            .collect(),
    )
}

/// Nodes of a simulation in calm weather.
pub fn sim(count: u16, limits: Limits) -> World {
    let sim = Sim::with(count, 1, limits, Weather::CALM);
    let node = |node| sim.node(NodeId(node)).expect("all nodes run") as Arc<dyn Fabric>;
    let nodes = (0..count).map(node).collect();
    let advance = move |_: &[Arc<dyn Fabric>]| {
        let until = sim.now() + Duration::from_millis(100);
        match sim.step(until) {
            Some(Step::Events(node, events)) => events
                .into_iter()
                .map(|event| (node.index(), event))
                .collect(),
            _ => Vec::new(),
        }
    };
    World::new(nodes, Box::new(advance))
}

/// A configuration of nodes of this machine that are reached there.
pub fn tcp_config(here: u16, members: &[String]) -> TcpConfig {
    TcpConfig {
        here: NodeId(here),
        members: members.to_vec(),
        cluster: [7; 16],
        epoch: 3,
        key: Key::new(&[42; 32]).expect("32 bytes are a key"),
        limits: Limits::DEFAULT,
    }
}

/// Free ports of this machine, held, and where they are reached.
pub fn listeners(count: u16) -> (Vec<TcpListener>, Vec<String>) {
    let bind = |_| TcpListener::bind("127.0.0.1:0").expect("a port is free");
    let listeners: Vec<TcpListener> = (0..count).map(bind).collect();
    let address = |listener: &TcpListener| listener.local_addr().expect("it is bound").to_string();
    let addresses = listeners.iter().map(address).collect();
    (listeners, addresses)
}

/// Nodes over TCP in this process.
pub fn tcp(count: u16, limits: Limits) -> World {
    let (listeners, members) = listeners(count);
    let start = |(here, listener)| {
        let config = TcpConfig {
            limits,
            ..tcp_config(here, &members)
        };
        Tcp::start(listener, config).expect("a node starts") as Arc<dyn Fabric>
    };
    World::polled((0..count).zip(listeners).map(start).collect())
}
