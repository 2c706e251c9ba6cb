//! What every node of a simulated run does, and the run.
//!
//! A message says who sent it in which life, by which of its links, as which of that link's. Each node offers a region that
//! holds its number and life, and reads those of others.

use std::time::Duration;

use super::checkers::{Absences, Deliveries, Reads, Turns};
use crate::chance::Random;
use fabric::sim::{Fault, Schedule, Sim, SimNode, Step, Weather};
use fabric::{
    Call, Event, Fabric, FabricError, Incarnation, Limits, MemoryKind, NodeId, Piece, Presence,
    RegionKey, Token,
};

/// How often a node does something of its own accord.
const PACE: Duration = Duration::from_millis(20);

/// How long a read may take.
const READ_MAX: Duration = Duration::from_millis(700);

/// A simulated run with all checkers.
pub struct Run {
    sim: Sim,
    random: Random,
    programs: Vec<Program>,
    deliveries: Deliveries,
    turns: Turns,
    reads: Reads,
    absences: Absences,
    /// Since when messages that are sent must arrive.
    healed: bool,
}

/// One node's program in one of its lives.
#[derive(Default)]
struct Program {
    /// Of each peer: its link here, how many messages were sent over it, where its region is.
    peers: Vec<Option<Known>>,
    next_token: u64,
}

struct Known {
    incarnation: Incarnation,
    sent: u64,
    region: Option<RegionKey>,
}

impl Run {
    pub fn new(nodes: u16, seed: u64, limits: Limits, weather: Weather) -> Run {
        let mut run = Run {
            sim: Sim::with(nodes, seed, limits, weather),
            random: Random::new(seed),
            programs: (0..nodes).map(|_| Program::new(nodes)).collect(),
            deliveries: Deliveries::default(),
            turns: Turns::new(nodes),
            reads: Reads::default(),
            absences: Absences::new(nodes),
            healed: false,
        };
        for node in (0..nodes).map(NodeId) {
            run.act(node, Vec::new());
        }
        run
    }

    pub fn faults(&mut self, schedule: &Schedule) {
        self.sim.faults(schedule);
        self.absences.expect(schedule);
    }

    pub fn digest(&self) -> u64 {
        self.sim.digest()
    }

    pub fn messages(&self) -> u64 {
        self.deliveries.count()
    }

    pub fn reads(&self) -> u64 {
        self.reads.succeeded()
    }

    /// Goes on to a time.
    pub fn go(&mut self, until: Duration) {
        while let Some(step) = self.sim.step(until) {
            let now = self.sim.now();
            match step {
                Step::Events(node, events) => self.act(node, events),
                Step::Stopped(node) => {
                    self.turns.stopped(node);
                    self.reads.stopped(node);
                    self.deliveries.stopped(node);
                    self.absences.restarted(node);
                }
                Step::Started(node) => {
                    let nodes = self.programs.len() as u16;
                    self.programs[node.index()] = Program::new(nodes);
                    self.absences.restarted(node);
                    self.act(node, Vec::new());
                }
            }
            self.absences.check(now);
        }
    }

    pub fn heal(&mut self) {
        let now = self.sim.now();
        self.sim.fault(now, Fault::Heal);
    }

    pub fn expect_all_up(&mut self) {
        for (one, other) in pairs(self.programs.len()) {
            let node = self.sim.node(one).unwrap();
            let presence = node.presence(other);
            assert!(
                matches!(presence, Presence::Up(_)),
                "{one} sees {other}: {presence:?}"
            );
        }
        self.deliveries.forget_unfinished();
        self.healed = true;
    }

    pub fn expect_all_delivered(&mut self) {
        assert!(self.healed);
        // What was sent last may be on its way.
        self.programs
            .iter_mut()
            .for_each(|program| program.next_token = u64::MAX);
        let until = self.sim.now() + Duration::from_secs(1);
        self.go(until);
        self.deliveries.expect_all();
        self.reads.expect_all();
    }

    fn act(&mut self, node: NodeId, events: Vec<Event>) {
        let Some(handle) = self.sim.node(node) else {
            return;
        };
        // By its own pace alone: if messages made messages, there would soon be nothing else.
        let is_paced = events.is_empty();
        for event in events {
            self.take(&handle, event);
        }
        let is_idle = self.programs[node.index()].next_token == u64::MAX;
        if is_paced && self.random.chance(60) && !is_idle {
            self.send_something(&handle);
            self.read_something(&handle);
        }
        let mut events = Vec::new();
        handle.poll(&mut events, PACE);
        assert!(events.is_empty() || handle.here() == node);
        for event in events {
            self.take(&handle, event);
        }
    }

    fn take(&mut self, node: &SimNode, event: Event) {
        let here = node.here();
        let now = self.sim.now();
        match event {
            Event::Up {
                node: peer,
                incarnation,
            } => {
                self.turns.up(here, peer, incarnation);
                self.deliveries.up(here, peer, incarnation);
                self.absences.up(here, peer, now);
                let known = Known {
                    incarnation,
                    sent: 0,
                    region: None,
                };
                self.programs[here.index()].peers[peer.index()] = Some(known);
                self.greet(node, peer);
            }
            Event::Down {
                node: peer,
                incarnation,
                ..
            } => {
                self.turns.down(here, peer, incarnation);
                self.absences.down(here, peer);
                self.programs[here.index()].peers[peer.index()] = None;
            }
            Event::Message { from, bytes } => {
                self.turns.message(here, from);
                let region = self.deliveries.arrived(here, from, node.life(), &bytes);
                if let Some(known) = &mut self.programs[here.index()].peers[from.index()] {
                    known.region = region.or(known.region);
                }
            }
            Event::Read {
                token,
                from,
                into,
                result,
            } => {
                self.reads.completed(here, token, now);
                self.check_read(here, from, into.bytes(), &result);
            }
            Event::Written { .. } => panic!("nothing is written"),
            Event::Room { .. } => {}
            Event::Refused { who, reason } => {
                // A node that came back before its old life was found silent, and greetings that were damaged.
                let is_right = reason.contains("is linked with") || reason.contains("no greeting");
                assert!(is_right, "{who} is refused: {reason}");
            }
        }
    }

    /// The first message of a link: where this node's region is.
    fn greet(&mut self, node: &SimNode, peer: NodeId) {
        let here = node.here();
        let mut buffer = node.allocate(16, MemoryKind::Host).unwrap();
        buffer.bytes_mut()[..8].copy_from_slice(&u64::from(here.0).to_le_bytes());
        buffer.bytes_mut()[8..].copy_from_slice(&node.life().to_le_bytes());
        let region = node.offer(buffer.freeze());
        self.send(node, peer, region, 0);
    }

    fn send_something(&mut self, node: &SimNode) {
        let here = node.here();
        let peer = NodeId(self.random.below(self.programs.len()) as u16);
        let length = if self.random.chance(5) { 60_000 } else { 200 };
        let length = self.random.below(length);
        let region = RegionKey {
            node: here,
            key: u64::MAX,
            generation: 0,
        };
        if self.programs[here.index()].peers[peer.index()].is_some() {
            for _ in 0..=self.random.below(4) {
                self.send(node, peer, region, length);
            }
        }
    }

    fn send(&mut self, node: &SimNode, peer: NodeId, region: RegionKey, length: usize) {
        let here = node.here();
        let known = self.programs[here.index()].peers[peer.index()]
            .as_mut()
            .unwrap();
        let link = known.incarnation.link;
        let message = Deliveries::compose(here, node.life(), link, known.sent, region, length);
        match node.send(peer, message) {
            Ok(()) => {
                known.sent += 1;
                self.deliveries.sent(here, peer, node.life(), link);
            }
            Err(refused) => {
                let is_right = matches!(
                    refused.cause,
                    FabricError::Busy { .. } | FabricError::Down { .. }
                );
                assert!(is_right, "{refused}");
            }
        }
    }

    fn read_something(&mut self, node: &SimNode) {
        let here = node.here();
        let peer = NodeId(self.random.below(self.programs.len()) as u16);
        let program = &mut self.programs[here.index()];
        let known = program.peers[peer.index()].as_ref();
        let Some(region) = known.and_then(|known| known.region) else {
            return;
        };
        let token = Token(program.next_token);
        program.next_token += 1;
        let deadline = self.sim.now() + READ_MAX;
        let into = node.allocate(16, MemoryKind::Host).unwrap();
        let piece = |offset| Piece {
            region,
            offset,
            length: 8,
        };
        let call = Call { token, deadline };
        if node.read(peer, &[piece(8), piece(0)], into, call).is_ok() {
            self.reads.started(here, token, deadline);
        }
    }

    fn check_read(
        &mut self,
        here: NodeId,
        from: NodeId,
        bytes: &[u8],
        result: &Result<(), FabricError>,
    ) {
        match result {
            Ok(()) => {
                let known = self.programs[here.index()].peers[from.index()].as_ref();
                let life = u64::from_le_bytes(bytes[..8].try_into().unwrap());
                let node = u64::from_le_bytes(bytes[8..].try_into().unwrap());
                assert_eq!(node, u64::from(from.0));
                assert!(known.is_none_or(|known| known.incarnation.life == life));
            }
            Err(FabricError::Down { node } | FabricError::Late { node }) => assert_eq!(*node, from),
            Err(other) => panic!("{here} read from {from}: {other}"),
        }
    }
}

impl Program {
    fn new(nodes: u16) -> Program {
        Program {
            peers: (0..nodes).map(|_| None).collect(),
            next_token: 0,
        }
    }
}

/// All pairs of different nodes.
pub fn pairs(nodes: usize) -> impl Iterator<Item = (NodeId, NodeId)> {
    let nodes = nodes as u16;
    let all = (0..nodes).flat_map(move |one| (0..nodes).map(move |other| (one, other)));
    all.filter(|(one, other)| one != other)
        .map(|(one, other)| (NodeId(one), NodeId(other)))
}
