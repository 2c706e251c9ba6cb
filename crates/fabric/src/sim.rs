//! Nodes under a simulated network: one thread, virtual time, one seed.
//!
//! The nodes are what they are over TCP (stations, connections, links), but their bytes go in datagrams of a network that
//! delays, drops, doubles, damages and reorders them, that is cut in one direction or both, and whose machines freeze, stop
//! and start again. Nothing runs by itself: a test takes one [`step`](Sim::step) after the other and acts for the node that
//! it names. The same seed, faults and actions give the same run, and [`digest`](Sim::digest) says so.
//!
//! ```
//! use std::time::Duration;
//! use fabric::{Event, Fabric, NodeId, sim::{Sim, Step}};
//!
//! let sim = Sim::new(2, 7);
//! let mut greeted = Vec::new();
//! while let Some(step) = sim.step(Duration::from_secs(1)) {
//!     let Step::Events(node, events) = step else { continue };
//!     for event in events {
//!         match event {
//!             Event::Up { node: peer, .. } => sim.node(node).expect("it runs").send(peer, b"hello".to_vec())?,
//!             Event::Message { from, .. } => greeted.push((from, node)),
//!             _ => {}
//!         }
//!     }
//! }
//! greeted.sort();
//! assert_eq!(greeted, [(NodeId(0), NodeId(1)), (NodeId(1), NodeId(0))]);
//! # Ok::<(), fabric::Refused<Vec<u8>>>(())
//! ```

mod fault;
mod network;
mod random;
mod stream;

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use memory::Region;

use crate::access::Direction;
use crate::call::Call;
use crate::counts::Counts;
use crate::error::{FabricError, Refused};
use crate::event::{Event, Presence};
use crate::limits::{Facts, Limits};
use crate::node::NodeId;
use crate::offers::allocate_on_host;
use crate::region::{Buffer, MemoryKind, Offered, Piece, RegionKey};
use crate::seam::Fabric;
use crate::station::Station;
pub use fault::{Fault, Schedule, Stop, Weather, drawn};
use network::{Network, Next};

/// A simulated network with its nodes.
pub struct Sim {
    network: Arc<Mutex<Network>>,
}

/// What happens next.
#[derive(Debug)]
pub enum Step {
    /// A node has polled this. None at all: its patience has ended, or it was woken.
    Events(NodeId, Vec<Event>),
    /// A node is gone with all that it knew. Its handle refuses everything as [`Left`](FabricError::Left).
    Stopped(NodeId),
    /// A node is there again: [`node`](Sim::node) gives its new handle.
    Started(NodeId),
}

/// One node of a simulation, in one of its lives.
pub struct SimNode {
    station: Arc<Station>,
    network: Arc<Mutex<Network>>,
}

impl Sim {
    /// So many nodes in calm weather.
    pub fn new(nodes: u16, seed: u64) -> Sim {
        Sim::with(nodes, seed, Limits::DEFAULT, Weather::CALM)
    }

    /// So many nodes with these limits, which can be kept to (asserted), in this weather.
    pub fn with(nodes: u16, seed: u64, limits: Limits, weather: Weather) -> Sim {
        assert_eq!(limits.check(), Ok(()), "limits can be kept to");
        let network = Network::new(nodes, seed, limits, weather);
        let network = Arc::new(Mutex::new(network));
        Sim { network }
    }

    /// A node's present life; `None` while it is stopped, and where there is no such node.
    pub fn node(&self, node: NodeId) -> Option<Arc<SimNode>> {
        let station = lock(&self.network).station(node)?;
        let network = Arc::clone(&self.network);
        Some(Arc::new(SimNode { station, network }))
    }

    /// Virtual time since the start.
    pub fn now(&self) -> Duration {
        lock(&self.network).now
    }

    /// Lets something go wrong at a time; now, if that is past.
    pub fn fault(&self, at: Duration, fault: Fault) {
        lock(&self.network).schedule_fault(at, fault);
    }

    /// Lets all of this go wrong.
    pub fn faults(&self, schedule: &[(Duration, Fault)]) {
        for &(at, fault) in schedule {
            self.fault(at, fault);
        }
    }

    /// Goes on in virtual time until something is to be seen, at most to `until`; `None` when it is that late. A node that
    /// has been asked to do something acts at the time of its step.
    pub fn step(&self, until: Duration) -> Option<Step> {
        let next = lock(&self.network).next(until)?;
        Some(match next {
            Next::Stopped(node) => Step::Stopped(node),
            Next::Started(node) => Step::Started(node),
            Next::Look(node) => {
                let mut events = Vec::new();
                if let Some(node) = self.node(node) {
                    node.poll(&mut events, Duration::ZERO);
                }
                Step::Events(node, events)
            }
        })
    }

    /// A number that two runs share if all datagrams and all events were the same at the same times.
    pub fn digest(&self) -> u64 {
        lock(&self.network).digest()
    }
}

impl SimNode {
    fn flush(&self) {
        let mut network = lock(&self.network);
        if network.is_running(&self.station) {
            network.flush(self.station.here());
        }
    }
}

fn lock(network: &Mutex<Network>) -> MutexGuard<'_, Network> {
    network.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Fabric for SimNode {
    fn here(&self) -> NodeId {
        self.station.here()
    }

    fn nodes(&self) -> u16 {
        self.station.hello.nodes
    }

    fn life(&self) -> u64 {
        self.station.hello.life
    }

    fn facts(&self) -> Facts {
        self.station.facts("sim")
    }

    fn counts(&self) -> Counts {
        self.station.counters.get()
    }

    fn presence(&self, node: NodeId) -> Presence {
        self.station.presence(node)
    }

    fn now(&self) -> Duration {
        lock(&self.network).now
    }

    fn send(&self, to: NodeId, message: Vec<u8>) -> Result<(), Refused<Vec<u8>>> {
        self.station.send(to, message)?;
        self.flush();
        Ok(())
    }

    fn allocate(&self, bytes: usize, kind: MemoryKind) -> Result<Buffer, FabricError> {
        allocate_on_host(bytes, kind)
    }

    fn offer(&self, region: Region) -> RegionKey {
        self.station.offers.offer(region)
    }

    fn offer_for_writing(&self, buffer: Buffer) -> RegionKey {
        self.station.offers.offer_for_writing(buffer)
    }

    fn withdraw(&self, region: RegionKey) -> Option<Offered> {
        self.station.offers.withdraw(region)
    }

    fn read(
        &self,
        from: NodeId,
        pieces: &[Piece],
        into: Buffer,
        call: Call,
    ) -> Result<(), Refused<Buffer>> {
        self.station
            .access(Direction::Read, from, pieces, into, call)?;
        self.flush();
        Ok(())
    }

    fn write(
        &self,
        to: NodeId,
        pieces: &[Piece],
        buffer: Buffer,
        call: Call,
    ) -> Result<(), Refused<Buffer>> {
        self.station
            .access(Direction::Write, to, pieces, buffer, call)?;
        self.flush();
        Ok(())
    }

    /// Never waits: where nothing is there, the node's next [`Step`] comes when its patience has ended, at the latest.
    fn poll(&self, events: &mut Vec<Event>, patience: Duration) -> usize {
        let first = events.len();
        let mut talkative = Vec::new();
        let count = self.station.poll(events, Duration::ZERO, &mut talkative);
        let here = self.here();
        let mut network = lock(&self.network);
        for event in &events[first..] {
            network.note_event(here, event);
        }
        if count == 0 && !patience.is_zero() && network.is_running(&self.station) {
            let at = network.now.saturating_add(patience);
            network.set_alarm(here, at);
        }
        drop(network);
        if !talkative.is_empty() {
            self.flush();
        }
        count
    }

    fn wake(&self) {
        let mut network = lock(&self.network);
        if network.is_running(&self.station) {
            let now = network.now;
            network.set_alarm(self.here(), now);
        }
    }

    fn leave(&self) {
        if self.station.leave() {
            self.flush();
        }
    }
}
