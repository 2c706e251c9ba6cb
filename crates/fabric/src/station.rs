//! What a node is whatever carries its bytes: its peers with their links, its offers, its inbox.
//!
//! A simulation and TCP each drive one of these: they bring connections up and end them, carry the bytes of
//! [`Connection`](crate::connection::Connection)s, and call [`tick`](Station::tick). All decisions are here and below.
//!
//! | what | who may touch it, when |
//! |---|---|
//! | a peer | any thread, under its lock, for one call; no call waits or copies more than one message's head under it |
//! | the inbox | as its file says; it may be locked under a peer's lock, never the other way round |
//! | the peers' locks | one at a time |
//!
//! **Who dials.** The node with the higher number, so that two never meet half-way. A new connection of the life that is linked
//! replaces the old one: its peer knows better than this node that the old one is over. A connection of another life is refused
//! as long as the linked one is heard: either there are two nodes of one name, or the old one is about to be found silent.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use crate::access::{Direction, answer, completion};
use crate::call::Call;
use crate::counts::Counters;
use crate::error::{FabricError, Refused};
use crate::event::{Absence, Event, Presence};
use crate::frame::{Draft, Frame};
use crate::hello::Hello;
use crate::inbox::Inbox;
use crate::limits::{Facts, Limits};
use crate::link::{ConnectionId, Link, NextFrame, Surroundings};
use crate::measure::median;
use crate::node::{Incarnation, NodeId};
use crate::offers::{Offers, check_pieces};
use crate::peer::Peer;
use crate::region::{Buffer, Piece};

/// For how long the same refusal of the same somebody is not told again.
const TOLD_FOR: Duration = Duration::from_mins(1);

/// Round trip (ns) and time by length (ns a KiB) before anything was measured: of 10 Gbit/s Ethernet.
const UNMEASURED: (u64, u64) = (50_000, 1_000);

/// How many refusals are remembered, and told in that time.
const TOLD_MAX: usize = 64;

/// One node.
pub(crate) struct Station {
    /// Who this node is, as it tells others.
    pub(crate) hello: Hello,
    pub(crate) offers: Offers,
    pub(crate) counters: Counters,
    pub(crate) inbox: Inbox,
    has_left: AtomicBool,
    peers: Vec<Mutex<Peer>>,
    own: Mutex<Own>,
    /// Who was refused why, and when that was told.
    told: Mutex<BTreeMap<(String, String), Duration>>,
}

/// Messages to this node itself.
#[derive(Default)]
struct Own {
    queued_bytes: usize,
    was_refused: bool,
}

impl Station {
    /// A node that has reached nobody yet.
    pub(crate) fn new(hello: Hello) -> Station {
        Station {
            offers: Offers::new(hello.from, hello.life),
            counters: Counters::default(),
            inbox: Inbox::default(),
            has_left: AtomicBool::new(false),
            peers: (0..hello.nodes)
                .map(|_| Mutex::new(Peer::default()))
                .collect(),
            own: Mutex::default(),
            told: Mutex::default(),
            hello,
        }
    }

    pub(crate) fn here(&self) -> NodeId {
        self.hello.from
    }

    pub(crate) fn limits(&self) -> &Limits {
        &self.hello.limits
    }

    pub(crate) fn has_left(&self) -> bool {
        self.has_left.load(Ordering::Acquire)
    }

    fn others(&self) -> impl Iterator<Item = NodeId> {
        let here = self.here();
        (0..self.hello.nodes)
            .map(NodeId)
            .filter(move |&node| node != here)
    }

    fn lock(&self, node: NodeId) -> MutexGuard<'_, Peer> {
        let peer = &self.peers[node.index()];
        peer.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn around(&self, peer: NodeId) -> Surroundings<'_> {
        Surroundings {
            here: self.here(),
            peer,
            limits: self.limits(),
            inbox: &self.inbox,
            offers: &self.offers,
            counters: &self.counters,
        }
    }

    /// Whether the node exists and this one is still there to ask it.
    fn check(&self, node: NodeId) -> Result<(), FabricError> {
        let nodes = self.hello.nodes;
        if node.0 >= nodes {
            return Err(FabricError::NoSuchNode { node, nodes });
        }
        if self.has_left() {
            return Err(FabricError::Left);
        }
        Ok(())
    }

    // What the seam asks.

    /// What poll has said of a peer; of one that is away, the latest reason.
    pub(crate) fn presence(&self, node: NodeId) -> Presence {
        let (life, link) = (self.hello.life, 0);
        if node == self.here() {
            return Presence::Up(Incarnation { life, link });
        }
        if node.0 >= self.hello.nodes {
            return Presence::Down(Absence::NotYet);
        }
        self.lock(node).presence()
    }

    /// Queues a message. Its peer has output then.
    pub(crate) fn send(&self, to: NodeId, message: Vec<u8>) -> Result<(), Refused<Vec<u8>>> {
        let bytes = message.len();
        if let Err(cause) = self.check(to).and_then(|()| self.check_length(bytes)) {
            return Err(refused(message, cause));
        }
        if to == self.here() {
            self.send_to_self(message)?;
        } else {
            let mut peer = self.lock(to);
            let Some(link) = peer.sendable() else {
                return Err(refused(message, FabricError::Down { node: to }));
            };
            let sent = link.send(message, self.limits());
            sent.map_err(|(message, queued)| refused(message, busy(to, queued)))?;
        }
        self.counters.sent(bytes);
        Ok(())
    }

    fn check_length(&self, bytes: usize) -> Result<(), FabricError> {
        let bytes_max = self.limits().message_bytes_max;
        if bytes <= bytes_max {
            return Ok(());
        }
        let (bytes, bytes_max) = (bytes as u64, bytes_max as u64);
        Err(FabricError::TooLong { bytes, bytes_max })
    }

    fn send_to_self(&self, bytes: Vec<u8>) -> Result<(), Refused<Vec<u8>>> {
        let from = self.here();
        let mut own = self.own.lock().unwrap_or_else(PoisonError::into_inner);
        if !self.limits().fits(own.queued_bytes, bytes.len()) {
            own.was_refused = true;
            return Err(refused(bytes, busy(from, own.queued_bytes)));
        }
        own.queued_bytes += Limits::cost(bytes.len());
        drop(own);
        self.inbox.push(Event::Message { from, bytes });
        Ok(())
    }

    /// Queues a read or write. Its peer has output then.
    pub(crate) fn access(
        &self,
        direction: Direction,
        node: NodeId,
        pieces: &[Piece],
        buffer: Buffer,
        call: Call,
    ) -> Result<(), Refused<Buffer>> {
        let checked = self
            .check(node)
            .and_then(|()| check_pieces(pieces, node, buffer.bytes(), self.limits()));
        let bytes = match checked {
            Ok(bytes) => bytes,
            Err(cause) => return Err(refused(buffer, cause)),
        };
        if node == self.here() {
            self.access_self(direction, pieces, bytes, buffer, call);
            return Ok(());
        }
        let mut peer = self.lock(node);
        let Some(link) = peer.sendable() else {
            return Err(refused(buffer, FabricError::Down { node }));
        };
        let asked = link.access(direction, pieces, buffer, call, self.limits());
        asked.map_err(|(buffer, queued)| refused(buffer, busy(node, queued)))
    }

    fn access_self(
        &self,
        direction: Direction,
        pieces: &[Piece],
        bytes: u64,
        mut buffer: Buffer,
        call: Call,
    ) {
        let result = match direction {
            Direction::Read => self.offers.read(pieces, buffer.bytes_mut()),
            Direction::Write => self.offers.write(pieces, buffer.bytes()),
        };
        match (direction, &result) {
            (Direction::Read, Ok(())) => self.counters.read(pieces.len(), bytes),
            (Direction::Write, Ok(())) => self.counters.written(bytes),
            _ => {}
        }
        let event = completion(direction, call.token, self.here(), buffer, result);
        self.inbox.push(event);
    }

    /// Polls. Adds to `talkative` the peers that have output because of it.
    pub(crate) fn poll(
        &self,
        events: &mut Vec<Event>,
        patience: Duration,
        talkative: &mut Vec<NodeId>,
    ) -> usize {
        let first = events.len();
        let count = self.inbox.take(events, patience);
        for event in &events[first..] {
            if let Some(peer) = self.account(event)
                && !talkative.contains(&peer)
            {
                talkative.push(peer);
            }
        }
        count
    }

    /// What follows from handing out an event: the peer that is to be told something, if one is.
    fn account(&self, event: &Event) -> Option<NodeId> {
        match event {
            Event::Up { node, incarnation } => self.lock(*node).announce_up(*incarnation),
            Event::Down { node, cause, .. } => self.lock(*node).announce_down(cause.clone()),
            Event::Message { from, bytes } => {
                self.counters.received(bytes.len());
                if *from == self.here() {
                    self.make_room(Limits::cost(bytes.len()));
                } else if self.lock(*from).handed_out(bytes.len(), self.limits()) {
                    return Some(*from);
                }
            }
            Event::Read { .. }
            | Event::Written { .. }
            | Event::Room { .. }
            | Event::Refused { .. } => {}
        }
        None
    }

    fn make_room(&self, cost: usize) {
        let mut own = self.own.lock().unwrap_or_else(PoisonError::into_inner);
        own.queued_bytes -= cost;
        let is_told = own.was_refused && self.limits().has_room(own.queued_bytes);
        own.was_refused &= !is_told;
        drop(own);
        if is_told {
            self.inbox.push(Event::Room { to: self.here() });
        }
    }

    /// Says good-bye to all. Nothing is accepted from here on. Says whether it is the first time.
    pub(crate) fn leave(&self) -> bool {
        if self.has_left.swap(true, Ordering::AcqRel) {
            return false;
        }
        for node in self.others() {
            self.lock(node).leave();
        }
        true
    }

    /// What the fabric that drives this is like: as its links were measured, and as one of this house's networks before.
    pub(crate) fn facts(&self, name: &'static str) -> Facts {
        let (round_trip_ns, ns_per_kib) = self.figures().unwrap_or(UNMEASURED);
        Facts {
            name,
            is_one_sided: false,
            round_trip_ns,
            ns_per_kib,
            load_ns: None,
            limits: *self.limits(),
        }
    }

    /// Round trip (ns) and time by length (ns a KiB): the median over the links that were measured.
    fn figures(&self) -> Option<(u64, u64)> {
        let figures = self.others().filter_map(|node| self.lock(node).figures());
        let (round_trips, by_length): (Vec<u64>, Vec<u64>) = figures.unzip();
        Some((median(&round_trips)?, median(&by_length)?))
    }

    // What a connection asks.

    /// Whether somebody who greets belongs here; else why not, as it is told to both.
    pub(crate) fn greet(&self, other: &Hello) -> Result<(), String> {
        if self.has_left() {
            return Err(format!("{} has left", self.here()));
        }
        self.hello.compare(other)?;
        let linked_life = self.lock(other.from).linked_life();
        if linked_life.is_some_and(|life| life != other.life) {
            return Err(format!(
                "{} is linked with {} already: if there are two nodes with that name, give each its own position in the \
                 list of members; if it was started anew, it is let in when the old one is found silent",
                self.here(),
                other.from
            ));
        }
        Ok(())
    }

    /// The two have agreed: makes a link. Gives the connection that it takes the place of, or why not, as of `greet`.
    pub(crate) fn establish(
        &self,
        other: &Hello,
        connection: ConnectionId,
        now: Duration,
    ) -> Result<Option<ConnectionId>, String> {
        self.greet(other)?;
        let node = other.from;
        let mut peer = self.lock(node);
        let replaced = peer.end(|_| true, &replaced_by_another(), self.around(node));
        let incarnation = peer.next_incarnation(other.life);
        peer.link(Link::new(connection, incarnation, now, self.limits()));
        self.inbox.push(Event::Up { node, incarnation });
        Ok(replaced)
    }

    /// Takes a frame that came over a connection. An error ends the connection.
    pub(crate) fn receive(
        &self,
        node: NodeId,
        connection: ConnectionId,
        frame: Frame,
        now: Duration,
    ) -> Result<(), Absence> {
        let mut peer = self.lock(node);
        let link = peer.linked_by(connection).ok_or_else(replaced_by_another)?;
        link.receive(frame, now, self.around(node))
    }

    /// Something came over a connection.
    pub(crate) fn heard(&self, node: NodeId, connection: ConnectionId) {
        if let Some(link) = self.lock(node).linked_by(connection) {
            link.heard();
        }
    }

    /// The next frame for a connection.
    pub(crate) fn next(
        &self,
        node: NodeId,
        connection: ConnectionId,
        now: Duration,
    ) -> Option<Draft> {
        let next = self.lock(node).linked_by(connection)?.next(now)?;
        Some(match next {
            NextFrame::Draft(draft) => draft,
            NextFrame::Answer(asked) => answer(&asked, &self.offers),
        })
    }

    /// Whether there is a next frame for the connection of a peer's link, and which that is.
    pub(crate) fn talkative(&self, node: NodeId) -> Option<ConnectionId> {
        self.lock(node).talkative()
    }

    // What a driver asks.

    /// A connection has ended that carried a link, if it still does.
    pub(crate) fn end(
        &self,
        node: NodeId,
        connection: ConnectionId,
        cause: &Absence,
        now: Duration,
    ) {
        let mut peer = self.lock(node);
        let is_it = |link: &Link| link.connection == connection;
        peer.end(is_it, cause, self.around(node));
        peer.failed(connection, cause, now);
    }

    /// A connection has ended before it carried a link. `who` and `dialled` say whose it was.
    pub(crate) fn end_greeting(
        &self,
        who: &str,
        dialled: Option<NodeId>,
        connection: ConnectionId,
        cause: &Absence,
        now: Duration,
    ) {
        if let Some(node) = dialled {
            self.lock(node).failed(connection, cause, now);
        }
        if let Absence::Refused { reason } = cause {
            self.tell(who, reason, now);
        }
    }

    /// Tells of a refusal, unless it was told just now.
    fn tell(&self, who: &str, reason: &str, now: Duration) {
        let mut told = self.told.lock().unwrap_or_else(PoisonError::into_inner);
        told.retain(|_, at| now.saturating_sub(*at) < TOLD_FOR);
        let refusal = (who.to_owned(), reason.to_owned());
        if told.contains_key(&refusal) || told.len() >= TOLD_MAX {
            return;
        }
        told.insert(refusal, now);
        drop(told);
        let (who, reason) = (who.to_owned(), reason.to_owned());
        self.inbox.push(Event::Refused { who, reason });
    }

    /// The peers that are to be dialled now.
    pub(crate) fn due_dials(&self, now: Duration) -> Vec<NodeId> {
        let below = (0..self.here().0).map(NodeId);
        let due = |&node: &NodeId| !self.has_left() && self.lock(node).is_dial_due(now);
        below.filter(due).collect()
    }

    /// A peer is being dialled.
    pub(crate) fn dialling(&self, node: NodeId, connection: ConnectionId) {
        self.lock(node).dialling(connection);
    }

    /// Looks at the clock. Gives the connections whose links have ended by it, and why.
    pub(crate) fn tick(&self, now: Duration) -> Vec<(ConnectionId, Absence)> {
        let look = |node| self.lock(node).tick(now, self.around(node));
        self.others().filter_map(look).collect()
    }

    /// The peers that have output, each with its connection.
    pub(crate) fn all_talkative(&self) -> Vec<(NodeId, ConnectionId)> {
        let of = |node| Some((node, self.talkative(node)?));
        self.others().filter_map(of).collect()
    }
}

/// Why a link has ended whose peer has made another.
pub(crate) fn replaced_by_another() -> Absence {
    let reason = "the peer has given it up and made another".to_owned();
    Absence::Broken { reason }
}

fn busy(node: NodeId, queued_bytes: usize) -> FabricError {
    FabricError::Busy { node, queued_bytes }
}

fn refused<T>(given: T, cause: FabricError) -> Refused<T> {
    Refused { given, cause }
}
