//! Nodes on several machines, or in several processes of one: frames over TCP, encrypted, with a key that all nodes have.
//!
//! ```text
//!  callers: send, read, write          poll
//!      |                                ^
//!      v                                |
//!  station (peers, links, offers) --> inbox
//!      ^ |
//!      | v       one thread a node
//!  wires: preface, TLS, frames  <--> sockets
//! ```
//!
//! Nothing has to be installed for it. A read or write is answered by the thread of its owner's fabric, which wakes nobody else
//! there. Measured with UCX beside it, on one machine, this way is as good on plain TCP.
//!
//! Invariant: nothing is allocated on a stranger's word. Before the key is proven a connection takes 20 bytes in the clear and
//! a handshake that rustls bounds, and there are 64 such connections at most, each for two seconds at most.

mod driver;
mod key;
mod preface;
mod resolver;
mod shared;
#[cfg(test)]
mod tests;
mod wire;

use std::io;
use std::net::TcpListener;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use memory::Region;
use mio::{Interest, Poll, Waker};

use crate::access::Direction;
use crate::call::Call;
use crate::clock::{Clock, new_life};
use crate::counts::Counts;
use crate::error::{FabricError, Refused};
use crate::event::{Event, Presence};
use crate::hello::{Hello, PROTOCOL_VERSION};
use crate::limits::{Facts, Limits, LimitsError};
use crate::node::NodeId;
use crate::offers::allocate_on_host;
use crate::region::{Buffer, MemoryKind, Offered, Piece, RegionKey};
use crate::seam::Fabric;
use crate::station::Station;
use driver::{Driver, LISTENER, WAKER};
pub use key::{KEY_BYTES_MIN, Key, KeyTooShort};
use resolver::Resolver;
use shared::Shared;

/// What a node over TCP has to know.
#[derive(Clone, Debug)]
pub struct TcpConfig {
    /// Which node this is.
    pub here: NodeId,
    /// Where each member is reached, at its number: `host:port`, a name or an address; empty where that is not known yet
    /// ([`Tcp::reached_at`]). This node's own is not used.
    pub members: Vec<String>,
    /// Which cluster, by the graph that it has: nodes of another are refused.
    pub cluster: [u8; 16],
    /// Which state of the cluster's placement: nodes with another are refused.
    pub epoch: u64,
    /// The secret of the cluster.
    pub key: Key,
    /// The same on all nodes: one with others is refused.
    pub limits: Limits,
}

/// Why a node does not start.
#[derive(Debug, thiserror::Error)]
pub enum TcpError {
    /// This node is not in the list.
    #[error("{here} is not in the list of {members} members")]
    NoMember {
        /// Which node this is said to be.
        here: NodeId,
        /// How long the list is.
        members: usize,
    },
    /// The list is too long to count.
    #[error("a list of {0} members is too long: 65535 are possible")]
    TooManyMembers(usize),
    /// The limits cannot be kept to.
    #[error("limits between nodes: {0}")]
    Limits(#[from] LimitsError),
    /// The encryption cannot be set up.
    #[error("the encryption between nodes cannot be set up: {0}")]
    Encryption(String),
    /// The system refuses something.
    #[error("the system refuses what a node needs: {0}")]
    System(#[from] io::Error),
}

/// One node over TCP. Dropping it is leaving, which takes up to two seconds while last words are under way.
pub struct Tcp {
    shared: Arc<Shared>,
    thread: Mutex<Option<JoinHandle<()>>>,
}

impl Tcp {
    /// Starts a node that accepts others at this listener, and dials those with lower numbers than its own.
    pub fn start(listener: TcpListener, config: TcpConfig) -> Result<Arc<Tcp>, TcpError> {
        let hello = hello(&config)?;
        let tls =
            key::Tls::new(&config.key).map_err(|error| TcpError::Encryption(error.to_string()))?;
        let poll = Poll::new()?;
        let waker = Arc::new(Waker::new(poll.registry(), WAKER)?);
        listener.set_nonblocking(true)?;
        let mut listener = mio::net::TcpListener::from_std(listener);
        poll.registry()
            .register(&mut listener, LISTENER, Interest::READABLE)?;
        let resolver = Resolver::new(Arc::clone(&waker));
        let station = Station::new(hello);
        let shared = Shared::new(station, Clock::start(), tls, waker, config.members);
        let shared = Arc::new(shared);
        let driver = Driver::new(Arc::clone(&shared), poll, listener, resolver);
        let thread = thread::Builder::new().name(format!("fabric-{}", config.here.0));
        let ends = Ends(Arc::clone(&shared));
        let thread = thread.spawn(move || {
            let _ends = ends;
            driver.run();
        })?;
        let thread = Mutex::new(Some(thread));
        Ok(Arc::new(Tcp { shared, thread }))
    }

    fn station(&self) -> &Station {
        &self.shared.station
    }

    /// A member is reached at another address from now on (`host:port`). A link that stands is not touched by it. Any thread; a
    /// member that does not exist is nobody.
    pub fn reached_at(&self, node: NodeId, address: &str) {
        self.shared.reached_at(node, address);
    }

    /// Leaves, and waits until the last words are said: two seconds at most.
    pub fn leave_and_wait(&self) {
        self.leave();
        let thread = self
            .thread
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .take();
        if let Some(thread) = thread {
            // It has panicked: that was told by the panic.
            let _ = thread.join();
        }
    }
}

fn hello(config: &TcpConfig) -> Result<Hello, TcpError> {
    let members = config.members.len();
    let nodes = u16::try_from(members).map_err(|_| TcpError::TooManyMembers(members))?;
    let here = config.here;
    if here.0 >= nodes {
        return Err(TcpError::NoMember { here, members });
    }
    config.limits.check()?;
    Ok(Hello {
        version: PROTOCOL_VERSION,
        cluster: config.cluster,
        epoch: config.epoch,
        nodes,
        from: here,
        to: here,
        life: new_life(),
        limits: config.limits,
    })
}

/// However the fabric's thread ends, the node has left then: nobody is to wait for it.
struct Ends(Arc<Shared>);

impl Drop for Ends {
    fn drop(&mut self) {
        self.0.station.leave();
        self.0.station.inbox.wake();
    }
}

impl Drop for Tcp {
    fn drop(&mut self) {
        self.leave_and_wait();
    }
}

impl Fabric for Tcp {
    fn here(&self) -> NodeId {
        self.station().here()
    }

    fn nodes(&self) -> u16 {
        self.station().hello.nodes
    }

    fn life(&self) -> u64 {
        self.station().hello.life
    }

    fn facts(&self) -> Facts {
        self.station().facts("tcp")
    }

    fn counts(&self) -> Counts {
        self.station().counters.get()
    }

    fn presence(&self, node: NodeId) -> Presence {
        self.station().presence(node)
    }

    fn now(&self) -> Duration {
        self.shared.clock.now()
    }

    fn send(&self, to: NodeId, message: Vec<u8>) -> Result<(), Refused<Vec<u8>>> {
        let bytes = message.len();
        self.station().send(to, message)?;
        self.shared.flush(to, bytes);
        Ok(())
    }

    fn allocate(&self, bytes: usize, kind: MemoryKind) -> Result<Buffer, FabricError> {
        allocate_on_host(bytes, kind)
    }

    fn offer(&self, region: Region) -> RegionKey {
        self.station().offers.offer(region)
    }

    fn offer_for_writing(&self, buffer: Buffer) -> RegionKey {
        self.station().offers.offer_for_writing(buffer)
    }

    fn withdraw(&self, region: RegionKey) -> Option<Offered> {
        self.station().offers.withdraw(region)
    }

    fn read(
        &self,
        from: NodeId,
        pieces: &[Piece],
        into: Buffer,
        call: Call,
    ) -> Result<(), Refused<Buffer>> {
        self.station()
            .access(Direction::Read, from, pieces, into, call)?;
        self.shared.flush(from, 0);
        Ok(())
    }

    fn write(
        &self,
        to: NodeId,
        pieces: &[Piece],
        buffer: Buffer,
        call: Call,
    ) -> Result<(), Refused<Buffer>> {
        let bytes = buffer.len();
        self.station()
            .access(Direction::Write, to, pieces, buffer, call)?;
        self.shared.flush(to, bytes);
        Ok(())
    }

    fn poll(&self, events: &mut Vec<Event>, patience: Duration) -> usize {
        let mut talkative = Vec::new();
        let count = self.station().poll(events, patience, &mut talkative);
        for node in talkative {
            self.shared.flush(node, 0);
        }
        count
    }

    fn wake(&self) {
        self.station().inbox.wake();
    }

    fn leave(&self) {
        if self.station().leave() {
            self.shared.wake();
        }
    }
}
