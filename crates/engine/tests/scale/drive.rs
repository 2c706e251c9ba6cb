//! Who does what when: each node's poller and walkers, in virtual time.
//!
//! A node has a core for its poller, which takes what has come, and one for each walker. A walker does what there is to do, the
//! sections of others' queries and the queries of its own clients in turn, as threads of one core would. Its pieces of work are
//! those of [`cluster::Node::work`] and [`cluster::Running::next`]: some milliseconds at most.
//!
//! Inexact: of one node, the poller may see what a walker did some part of a piece of work earlier than it was done, because a
//! piece is done at once. Between nodes nothing is seen before it was sent and came.

use super::network::{Nanoseconds, Network, What};
use engine::parts::PartNode;
use fabric::Event;
use rdf::Ticket;
use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// What a client's piece of work came to.
pub enum Step {
    /// There is more to do.
    Again,
    /// Nothing before this ticket of its node completes.
    Waits(Ticket),
    /// The client is gone.
    Over,
}

/// A client of a node: what it does next.
pub type Client = Box<dyn FnMut(&Arc<PartNode>) -> Step>;

/// A node with its cores.
struct Machine {
    node: Arc<PartNode>,
    inbox: VecDeque<Event>,
    poller_free: Nanoseconds,
    is_polled: bool,
    walkers: Vec<Walker>,
    ready: VecDeque<Client>,
    waiting: Vec<(Arc<AtomicBool>, Client)>,
    /// Whose turn it is.
    is_clients_turn: bool,
    /// Time that its cores were at work.
    busy: Nanoseconds,
    polling: Nanoseconds,
}

#[derive(Clone, Copy, Default)]
struct Walker {
    free: Nanoseconds,
    is_scheduled: bool,
}

/// See the module's documentation.
pub struct Cluster {
    pub network: Arc<Network>,
    machines: Vec<Machine>,
}

/// What a node's cores did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Busy {
    pub walking: Nanoseconds,
    pub polling: Nanoseconds,
}

impl Cluster {
    pub fn new(network: Arc<Network>, nodes: Vec<Arc<PartNode>>, walkers: usize) -> Cluster {
        let machine = |node| Machine {
            node,
            inbox: VecDeque::new(),
            poller_free: 0,
            is_polled: false,
            walkers: vec![Walker::default(); walkers],
            ready: VecDeque::new(),
            waiting: Vec::new(),
            is_clients_turn: false,
            busy: 0,
            polling: 0,
        };
        Cluster {
            network,
            machines: nodes.into_iter().map(machine).collect(),
        }
    }

    pub fn nodes(&self) -> impl ExactSizeIterator<Item = &Arc<PartNode>> {
        self.machines.iter().map(|machine| &machine.node)
    }

    pub fn node(&self, node: u16) -> &Arc<PartNode> {
        &self.machines[usize::from(node)].node
    }

    /// What each node's cores did so far.
    pub fn busy(&self) -> Vec<Busy> {
        let machines = self.machines.iter();
        let busy = machines.map(|machine| Busy {
            walking: machine.busy,
            polling: machine.polling,
        });
        busy.collect()
    }

    /// A client comes to a node.
    pub fn comes(&mut self, node: u16, client: Client) {
        let now = self.network.now();
        self.machines[usize::from(node)].ready.push_back(client);
        self.rouse(node, now);
    }

    /// Goes on until nobody has anything to do. Fails where a client waits for what does not come.
    pub fn run(&mut self) {
        while let Some((at, what)) = self.network.next() {
            match what {
                What::Departs { from, to, bytes } => self.network.carry(from, to, bytes),
                What::Served {
                    owner,
                    reader,
                    bytes,
                    event,
                } => self.network.serve(owner, reader, bytes, event),
                What::Arrives(node, event) => self.arrives(node, event, at),
                What::Polls(node) => self.polls(node, at),
                What::Walks(node, walker) => self.walks(node, walker, at),
            }
        }
        let waiting = self.machines.iter().map(|machine| machine.waiting.len());
        assert_eq!(
            waiting.sum::<usize>(),
            0,
            "clients wait for what never comes"
        );
    }

    fn arrives(&mut self, node: u16, event: Event, at: Nanoseconds) {
        let machine = &mut self.machines[usize::from(node)];
        machine.inbox.push_back(event);
        if !machine.is_polled {
            machine.is_polled = true;
            let looks = machine.poller_free.max(at);
            self.network.schedule(looks, What::Polls(node));
        }
    }

    fn polls(&mut self, number: u16, at: Nanoseconds) {
        let machine = &mut self.machines[usize::from(number)];
        machine.is_polled = false;
        let events = std::mem::take(&mut machine.inbox);
        let node = Arc::clone(&machine.node);
        let network = &self.network;
        let ((), ended) = network.work(at, || {
            for event in events {
                network.takes(number, &event);
                node.handle(std::iter::once(event));
            }
        });
        machine.poller_free = ended;
        machine.polling += ended - at;
        self.rouse(number, ended);
    }

    fn walks(&mut self, number: u16, walker: usize, at: Nanoseconds) {
        let machine = &mut self.machines[usize::from(number)];
        machine.walkers[walker].is_scheduled = false;
        machine.is_clients_turn = !machine.is_clients_turn;
        let node = Arc::clone(&machine.node);
        let first = machine.is_clients_turn.then(|| machine.ready.pop_front());
        let mut client = first.flatten();
        let ((is_busy, step), ended) = self.network.work(at, || match &mut client {
            Some(client) => (true, Some(client(&node))),
            None => (node.work(), None),
        });
        let machine = &mut self.machines[usize::from(number)];
        match (client, step) {
            (Some(client), Some(Step::Again)) => machine.ready.push_back(client),
            (Some(client), Some(Step::Waits(ticket))) => {
                let is_done = Arc::new(AtomicBool::new(false));
                let done = Arc::clone(&is_done);
                let wake = Box::new(move || done.store(true, Ordering::Relaxed));
                node.ground().when_done(ticket, wake);
                machine.waiting.push((is_done, client));
            }
            _ => {}
        }
        if is_busy {
            machine.walkers[walker].free = ended;
            machine.busy += ended - at;
            machine.walkers[walker].is_scheduled = true;
            self.network.schedule(ended, What::Walks(number, walker));
            self.rouse(number, ended);
        } else if !machine.ready.is_empty() {
            machine.walkers[walker].is_scheduled = true;
            self.network.schedule(at, What::Walks(number, walker));
        }
    }

    /// Something happened at a node: clients may go on, and who has nothing to do looks whether there is something.
    fn rouse(&mut self, number: u16, at: Nanoseconds) {
        let machine = &mut self.machines[usize::from(number)];
        let is_done = |waiting: &mut (Arc<AtomicBool>, Client)| waiting.0.load(Ordering::Relaxed);
        let done = machine.waiting.extract_if(.., is_done);
        machine.ready.extend(done.map(|(_, client)| client));
        let idle = machine.walkers.iter_mut().enumerate();
        for (walker, state) in idle.filter(|(_, walker)| !walker.is_scheduled) {
            state.is_scheduled = true;
            let wakes = at.max(state.free) + self.network.costs.wake_ns;
            self.network.schedule(wakes, What::Walks(number, walker));
        }
    }
}
