//! A network in virtual time, and the processor time that is spent in between.
//!
//! One thread does what all nodes do, one piece of work after the other, in the order of their virtual beginnings. A piece takes
//! what the thread's processor clock says, and what the model adds for messages that it sends and takes. So a node's work costs
//! what it costs here, and other nodes' work goes on beside it.
//!
//! ```text
//!  piece of work at t --send--> departs at t + so far --line--way--line--> arrives: an event of the receiver
//! ```
//!
//! What the network itself does to carry a message is not counted. Reads and what is offered are those of [`fabric::Local`].

use super::costs::Costs;
use fabric::{
    Buffer, Call, Counts, Event, Fabric, FabricError, Facts, Incarnation, Local, MemoryKind,
    NodeId, Offered, Piece, Presence, Refused, RegionKey,
};
use memory::Region;
use rustix::time::{ClockId, clock_gettime};
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// Nanoseconds, virtual or of the processor.
pub type Nanoseconds = u64;

/// What happens at a time.
pub enum What {
    /// A message leaves its sender.
    Departs { from: u16, to: u16, bytes: Vec<u8> },
    /// Bytes that were read leave their owner.
    Served {
        owner: u16,
        reader: u16,
        bytes: u64,
        event: Event,
    },
    /// Something is there to be polled.
    Arrives(u16, Event),
    /// A node's poller looks.
    Polls(u16),
    /// One of a node's walkers looks for something to do.
    Walks(u16, usize),
}

struct Scheduled {
    at: Nanoseconds,
    order: u64,
    what: What,
}

impl PartialEq for Scheduled {
    fn eq(&self, other: &Scheduled) -> bool {
        self.order == other.order
    }
}

impl Eq for Scheduled {}

impl PartialOrd for Scheduled {
    fn partial_cmp(&self, other: &Scheduled) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Scheduled {
    fn cmp(&self, other: &Scheduled) -> std::cmp::Ordering {
        (self.at, self.order).cmp(&(other.at, other.order))
    }
}

/// A piece of work that is being done.
#[derive(Clone, Copy)]
struct Working {
    began: Nanoseconds,
    processor_began: Nanoseconds,
    /// What the model says it takes besides.
    added: Nanoseconds,
    /// What was done for the network, and takes nothing.
    exempt: Nanoseconds,
}

/// What went over the network.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Traffic {
    pub messages: u64,
    pub bytes: u64,
    pub arrived: u64,
    pub arrived_bytes: u64,
    /// Batches of one-sided reads, their pieces and bytes.
    pub reads: u64,
    pub pieces: u64,
    pub read_bytes: u64,
    /// Most bytes that were under way from one node to another.
    pub under_way_max: u64,
}

struct State {
    now: Nanoseconds,
    working: Option<Working>,
    queue: BinaryHeap<Reverse<Scheduled>>,
    order: u64,
    /// By node, until when its line is taken.
    out_free: Vec<Nanoseconds>,
    in_free: Vec<Nanoseconds>,
    /// By sender and receiver, bytes that were not polled yet.
    under_way: Vec<u64>,
    traffic: Traffic,
    sent: Vec<Counts>,
}

/// See the module's documentation.
pub struct Network {
    nodes: u16,
    pub costs: Costs,
    state: Mutex<State>,
    /// What a look at the processor's clock takes itself.
    look: Nanoseconds,
}

/// Processor time of this thread.
fn processor() -> Nanoseconds {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

fn look() -> Nanoseconds {
    const LOOKS: u64 = 1000;
    let began = processor();
    for _ in 1..LOOKS {
        std::hint::black_box(processor());
    }
    (processor() - began) / LOOKS
}

impl Network {
    pub fn new(nodes: u16, costs: Costs) -> Arc<Network> {
        let count = usize::from(nodes);
        Arc::new(Network {
            nodes,
            costs,
            look: look(),
            state: Mutex::new(State {
                now: 0,
                working: None,
                queue: BinaryHeap::new(),
                order: 0,
                out_free: vec![0; count],
                in_free: vec![0; count],
                under_way: vec![0; count * count],
                traffic: Traffic::default(),
                sent: vec![Counts::default(); count],
            }),
        })
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Each node's side of it.
    pub fn fabrics(self: &Arc<Self>) -> Vec<Arc<dyn Fabric>> {
        let locals = Local::nodes(self.nodes).into_iter();
        let fabric = |local: Arc<Local>| {
            // That all are there is said once, and not over the network.
            local.poll(&mut Vec::new(), Duration::ZERO);
            let network = Arc::clone(self);
            Arc::new(Side { local, network }) as Arc<dyn Fabric>
        };
        locals.map(fabric).collect()
    }

    /// What went over it so far.
    pub fn traffic(&self) -> Traffic {
        self.state().traffic
    }

    /// Virtual time.
    pub fn now(&self) -> Nanoseconds {
        self.state().at(processor(), self.look)
    }

    /// Makes something happen.
    pub fn schedule(&self, at: Nanoseconds, what: What) {
        self.state().schedule(at, what);
    }

    /// Goes on to what happens next.
    pub fn next(&self) -> Option<(Nanoseconds, What)> {
        let mut state = self.state();
        let Reverse(next) = state.queue.pop()?;
        state.now = next.at;
        Some((next.at, next.what))
    }

    /// A message has left its sender: it takes both lines.
    pub fn carry(&self, from: u16, to: u16, bytes: Vec<u8>) {
        let line = self.costs.line(bytes.len());
        let mut state = self.state();
        let (from, to) = (usize::from(from), usize::from(to));
        let left = state.now.max(state.out_free[from]) + line;
        state.out_free[from] = left;
        let arrives = (left + self.costs.one_way_ns).max(state.in_free[to] + line);
        state.in_free[to] = arrives;
        let from = NodeId(from as u16);
        state.schedule(
            arrives,
            What::Arrives(to as u16, Event::Message { from, bytes }),
        );
    }

    /// The same of what was read.
    pub fn serve(&self, owner: u16, reader: u16, bytes: u64, event: Event) {
        let line = self.costs.line(bytes as usize);
        let way = self.costs.read.map_or(0, |read| read.ns / 2);
        let mut state = self.state();
        let (owner, to) = (usize::from(owner), usize::from(reader));
        let left = state.now.max(state.out_free[owner]) + line;
        state.out_free[owner] = left;
        let arrives = (left + way).max(state.in_free[to] + line);
        state.in_free[to] = arrives;
        state.schedule(arrives, What::Arrives(reader, event));
    }

    /// Does a piece of work of a node from a time on; what it gave, and when it ended.
    pub fn work<V>(&self, at: Nanoseconds, work: impl FnOnce() -> V) -> (V, Nanoseconds) {
        self.state().working = Some(Working {
            began: at,
            processor_began: processor(),
            added: 0,
            exempt: 0,
        });
        let done = work();
        let processor = processor();
        let mut state = self.state();
        let ended = state.at(processor, self.look);
        state.working = None;
        (done, ended)
    }

    /// An event is taken by its node.
    pub fn takes(&self, here: u16, event: &Event) {
        let mut state = self.state();
        let Event::Message { from, bytes } = event else {
            return;
        };
        let pair = from.index() * usize::from(self.nodes) + usize::from(here);
        state.under_way[pair] -= bytes.len() as u64;
        state.traffic.arrived += 1;
        state.traffic.arrived_bytes += bytes.len() as u64;
        let sent = &mut state.sent[usize::from(here)];
        sent.messages_received += 1;
        sent.bytes_received += bytes.len() as u64;
        if from.0 != here
            && let Some(working) = &mut state.working
        {
            working.added += self.costs.receive(bytes.len());
        }
    }

    /// Does something for the network within a piece of work, which takes the piece no longer.
    fn exempt<V>(&self, act: impl FnOnce(&mut State, Nanoseconds) -> V) -> V {
        let entered = processor();
        let mut state = self.state();
        let at = state.at(entered, self.look);
        let done = act(&mut state, at);
        if let Some(working) = &mut state.working {
            working.exempt += processor() - entered + self.look;
        }
        done
    }
}

impl State {
    fn at(&self, processor: Nanoseconds, look: Nanoseconds) -> Nanoseconds {
        let Some(working) = &self.working else {
            return self.now;
        };
        let spent = (processor - working.processor_began).saturating_sub(working.exempt + look);
        working.began + spent + working.added
    }

    fn schedule(&mut self, at: Nanoseconds, what: What) {
        let order = self.order;
        self.order += 1;
        self.queue.push(Reverse(Scheduled { at, order, what }));
    }

    fn adds(&mut self, added: Nanoseconds) {
        if let Some(working) = &mut self.working {
            working.added += added;
        }
    }
}

/// One node's side of the network.
struct Side {
    local: Arc<Local>,
    network: Arc<Network>,
}

impl Fabric for Side {
    fn here(&self) -> NodeId {
        self.local.here()
    }

    fn nodes(&self) -> u16 {
        self.network.nodes
    }

    fn life(&self) -> u64 {
        self.local.life()
    }

    fn facts(&self) -> Facts {
        self.network.costs.facts()
    }

    fn counts(&self) -> Counts {
        let read = self.local.counts();
        let sent = self.network.state().sent[self.here().index()];
        Counts {
            messages_sent: sent.messages_sent,
            bytes_sent: sent.bytes_sent,
            messages_received: sent.messages_received,
            bytes_received: sent.bytes_received,
            ..read
        }
    }

    fn presence(&self, _node: NodeId) -> Presence {
        Presence::Up(Incarnation {
            life: self.local.life(),
            link: 1,
        })
    }

    fn now(&self) -> Duration {
        Duration::from_nanos(self.network.now())
    }

    fn send(&self, to: NodeId, message: Vec<u8>) -> Result<(), Refused<Vec<u8>>> {
        let bytes_max = self.facts().limits.message_bytes_max;
        if message.len() > bytes_max {
            let (bytes, bytes_max) = (message.len() as u64, bytes_max as u64);
            let cause = FabricError::TooLong { bytes, bytes_max };
            return Err(Refused {
                given: message,
                cause,
            });
        }
        let (from, to, len) = (self.here().0, to.0, message.len());
        self.network.exempt(|state, at| {
            let pair = usize::from(from) * usize::from(self.network.nodes) + usize::from(to);
            state.under_way[pair] += len as u64;
            let traffic = &mut state.traffic;
            traffic.under_way_max = traffic.under_way_max.max(state.under_way[pair]);
            traffic.messages += 1;
            traffic.bytes += len as u64;
            let sent = &mut state.sent[usize::from(from)];
            sent.messages_sent += 1;
            sent.bytes_sent += len as u64;
            if from == to {
                let event = Event::Message {
                    from: NodeId(from),
                    bytes: message,
                };
                return state.schedule(at, What::Arrives(to, event));
            }
            let cost = self.network.costs.send(len);
            state.adds(cost);
            let what = What::Departs {
                from,
                to,
                bytes: message,
            };
            state.schedule(at + cost, what);
        });
        Ok(())
    }

    fn allocate(&self, bytes: usize, kind: MemoryKind) -> Result<Buffer, FabricError> {
        self.local.allocate(bytes, kind)
    }

    fn offer(&self, region: Region) -> RegionKey {
        self.local.offer(region)
    }

    fn offer_for_writing(&self, buffer: Buffer) -> RegionKey {
        self.local.offer_for_writing(buffer)
    }

    fn withdraw(&self, region: RegionKey) -> Option<Offered> {
        self.local.withdraw(region)
    }

    fn read(
        &self,
        from: NodeId,
        pieces: &[Piece],
        into: Buffer,
        call: Call,
    ) -> Result<(), Refused<Buffer>> {
        let reads = self.network.costs.read.expect("nobody reads without reads");
        let bytes: u64 = pieces.iter().map(|piece| piece.length).sum();
        let (count, reader, owner) = (pieces.len() as u64, self.here().0, from.0);
        self.network.exempt(|state, at| {
            self.local.read(from, pieces, into, call)?;
            let mut events = Vec::new();
            self.local.poll(&mut events, Duration::ZERO);
            let event = events.pop().expect("a local read completes at once");
            let cost = reads.post_ns * count;
            state.adds(cost);
            let traffic = &mut state.traffic;
            traffic.reads += 1;
            traffic.pieces += count;
            traffic.read_bytes += bytes;
            let what = What::Served {
                owner,
                reader,
                bytes,
                event,
            };
            state.schedule(at + cost + reads.ns / 2, what);
            Ok(())
        })
    }

    fn write(
        &self,
        to: NodeId,
        pieces: &[Piece],
        buffer: Buffer,
        call: Call,
    ) -> Result<(), Refused<Buffer>> {
        self.local.write(to, pieces, buffer, call)
    }

    /// Whoever drives the nodes hands events on; see [`Network::next`].
    fn poll(&self, _events: &mut Vec<Event>, _patience: Duration) -> usize {
        0
    }

    fn wake(&self) {}

    fn leave(&self) {}
}
