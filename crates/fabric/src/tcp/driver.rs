//! The thread of a node's fabric: it accepts, dials, reads, answers reads and writes, sends what senders leave, and looks at
//! the clock.
//!
//! One for each node, whatever the number of peers. It never waits but for sockets, and it never calls what is above the
//! fabric: what it has for that lies in the inbox.

use std::collections::{BTreeMap, BTreeSet};
use std::io::ErrorKind;
use std::sync::Arc;
use std::time::Duration;

use mio::event::Event;
use mio::net::{TcpListener, TcpStream};
use mio::{Events, Interest, Poll, Token};

use super::resolver::{Answer, Resolver};
use super::shared::{Shared, SharedWire, lock};
use super::wire::{READ_BYTES, Wire};
use crate::connection::Connection;
use crate::event::Absence;
use crate::link::ConnectionId;
use crate::liveness::TICK;
use crate::node::NodeId;
use crate::station::replaced_by_another;

pub(super) const LISTENER: Token = Token(0);
pub(super) const WAKER: Token = Token(1);

/// Connections have tokens from here on.
const FIRST_CONNECTION: u64 = 2;

/// How many connections may be open that are not linked yet, beside one for each member.
const STRANGERS_MAX: usize = 64;

/// What is sent to one peer before others have their turn (bytes).
const SEND_BYTES: usize = 1 << 20;

/// For how long leaving may take.
const LEAVE_MAX: Duration = Duration::from_secs(1);

/// What the thread has for itself.
pub(super) struct Driver {
    shared: Arc<Shared>,
    poll: Poll,
    listener: Option<TcpListener>,
    resolver: Resolver,
    next_connection: u64,
    /// Dials whose address is being looked up.
    looked_up: BTreeMap<NodeId, ConnectionId>,
    /// Connections with more to read or send than they had a turn for.
    unfinished: BTreeSet<ConnectionId>,
    next_tick: Duration,
    leave_by: Option<Duration>,
    scratch: Vec<u8>,
}

impl Driver {
    pub(super) fn new(
        shared: Arc<Shared>,
        poll: Poll,
        listener: TcpListener,
        resolver: Resolver,
    ) -> Driver {
        Driver {
            shared,
            poll,
            listener: Some(listener),
            resolver,
            next_connection: FIRST_CONNECTION,
            looked_up: BTreeMap::new(),
            unfinished: BTreeSet::new(),
            next_tick: Duration::ZERO,
            leave_by: None,
            scratch: vec![0; READ_BYTES],
        }
    }

    /// Drives until the node has left.
    pub(super) fn run(mut self) {
        let mut events = Events::with_capacity(256);
        loop {
            let now = self.shared.clock.now();
            let wait = if self.unfinished.is_empty() {
                self.next_tick.saturating_sub(now)
            } else {
                Duration::ZERO
            };
            match self.poll.poll(&mut events, Some(wait)) {
                Ok(()) => {}
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                // Without its sockets a node is as good as gone.
                Err(_) => break,
            }
            let mut is_woken = false;
            for event in &events {
                match event.token() {
                    LISTENER => self.accept(),
                    WAKER => is_woken = true,
                    _ => self.move_ready(event),
                }
            }
            for id in std::mem::take(&mut self.unfinished) {
                self.read(id, true);
                self.flush(id);
            }
            if is_woken {
                self.wake();
            }
            if self.shared.clock.now() >= self.next_tick {
                self.tick();
            }
            if self.has_left() {
                break;
            }
        }
    }

    // Connections.

    fn accept(&mut self) {
        while let Some(listener) = &self.listener {
            let (socket, address) = match listener.accept() {
                Ok(accepted) => accepted,
                Err(error) if error.kind() == ErrorKind::WouldBlock => return,
                // A connection that is gone already, or no descriptor left: the next tick tries again.
                Err(_) => return,
            };
            let open = self.shared.wires().len();
            if open > STRANGERS_MAX + usize::from(self.shared.station.hello.nodes) {
                continue;
            }
            let id = self.next_id();
            let connection = Connection::accept(id, self.shared.clock.now());
            if let Ok(tls) = self.shared.tls.accept() {
                // Without the port: whoever tries again and again has another each time.
                self.open(id, socket, tls, connection, address.ip().to_string());
            }
        }
    }

    fn next_id(&mut self) -> ConnectionId {
        let id = ConnectionId(self.next_connection);
        self.next_connection += 1;
        id
    }

    /// Takes a socket into the set that is waited for.
    fn open(
        &mut self,
        id: ConnectionId,
        socket: TcpStream,
        tls: rustls::Connection,
        connection: Connection,
        who: String,
    ) {
        let _ = socket.set_nodelay(true);
        let mut wire = Wire::new(socket, tls, connection, who);
        let token = Token(id.0 as usize);
        let interest = Interest::READABLE | Interest::WRITABLE;
        let registered = self
            .poll
            .registry()
            .register(wire.socket(), token, interest);
        if let Err(error) = registered {
            let reason = error.to_string();
            let now = self.shared.clock.now();
            wire.end(&Absence::Broken { reason }, now, &self.shared.station);
            return;
        }
        self.shared.insert(id, wire);
    }

    fn dial_due(&mut self) {
        let now = self.shared.clock.now();
        for node in self.shared.station.due_dials(now) {
            let id = self.next_id();
            self.shared.station.dialling(node, id);
            self.looked_up.insert(node, id);
            let address = self.shared.address(node);
            if address.is_empty() {
                let why = "where it is reached is not known yet";
                self.dial((node, Err(why.to_owned())));
            } else if let Some(answer) = self.resolver.ask(node, &address) {
                self.dial(answer);
            }
        }
    }

    fn dial(&mut self, (node, found): Answer) {
        let Some(id) = self.looked_up.remove(&node) else {
            return;
        };
        let now = self.shared.clock.now();
        let who = format!("{node} at {}", self.shared.address(node));
        let opened = found.and_then(|address| {
            let socket = TcpStream::connect(address).map_err(|error| error.to_string())?;
            let tls = self.shared.tls.dial().map_err(|error| error.to_string())?;
            Ok((socket, tls))
        });
        match opened {
            Ok((socket, tls)) => {
                let connection = Connection::dial(id, node, &self.shared.station, now);
                self.open(id, socket, tls, connection, who);
            }
            Err(reason) => {
                let cause = Absence::Broken { reason };
                self.shared
                    .station
                    .end_greeting(&who, Some(node), id, &cause, now);
            }
        }
    }

    // Bytes.

    fn move_ready(&mut self, event: &Event) {
        let id = ConnectionId(event.token().0 as u64);
        let to_end = event.is_error() || event.is_read_closed();
        if event.is_readable() || to_end {
            self.read(id, to_end);
        }
        if event.is_writable() {
            self.flush(id);
        }
    }

    fn read(&mut self, id: ConnectionId, to_end: bool) {
        let Some(wire) = self.shared.wire(id) else {
            return;
        };
        let now = self.shared.clock.now();
        let turn = lock(&wire).read(now, &self.shared.station, &mut self.scratch, to_end);
        match turn {
            Ok(turn) => {
                if turn.is_unfinished {
                    self.unfinished.insert(id);
                }
                if let Some(replaced) = turn.replaced {
                    self.end(replaced, &replaced_by_another());
                }
                // Answers, echoes, and the greeting.
                self.flush(id);
            }
            Err(_) if lock(&wire).has_ended() => self.close(id),
            Err(cause) => self.end(id, &cause),
        }
    }

    fn flush(&mut self, id: ConnectionId) {
        let Some(wire) = self.shared.wire(id) else {
            return;
        };
        let now = self.shared.clock.now();
        let mut locked = lock(&wire);
        if locked.has_ended() {
            let said = locked.say_goodbye(now, &self.shared.station);
            drop(locked);
            if said.is_err() {
                self.close(id);
            }
            return;
        }
        let failed = locked.failed.take().map_or(Ok(()), Err);
        let flushed = failed.and_then(|()| locked.flush(now, &self.shared.station, SEND_BYTES));
        drop(locked);
        match flushed {
            Ok(true) => drop(self.unfinished.insert(id)),
            Ok(false) => {}
            Err(cause) => self.end(id, &cause),
        }
    }

    /// Senders have left something, or names are known.
    fn wake(&mut self) {
        for answer in self.resolver.answers() {
            self.dial(answer);
        }
        for (_, id) in self.shared.station.all_talkative() {
            self.flush(id);
        }
        let all: Vec<ConnectionId> = self.shared.wires().keys().copied().collect();
        for id in all {
            let failed = self
                .shared
                .wire(id)
                .and_then(|wire| lock(&wire).failed.take());
            if let Some(cause) = failed {
                self.end(id, &cause);
            }
        }
    }

    // Ends.

    fn end(&mut self, id: ConnectionId, cause: &Absence) {
        if let Some(wire) = self.shared.wire(id) {
            let now = self.shared.clock.now();
            lock(&wire).end(cause, now, &self.shared.station);
        }
    }

    fn close(&mut self, id: ConnectionId) {
        if let Some(wire) = self.shared.remove(id) {
            // An error says that it is gone already.
            let _ = self.poll.registry().deregister(lock(&wire).socket());
        }
        self.unfinished.remove(&id);
    }

    // Time.

    fn tick(&mut self) {
        let now = self.shared.clock.now();
        self.next_tick = now + TICK;
        self.accept();
        for (id, absence) in self.shared.station.tick(now) {
            self.end(id, &absence);
        }
        let all: Vec<(ConnectionId, SharedWire)> = self.shared.all();
        for (id, wire) in all {
            let wire = lock(&wire);
            let is_closed = wire.is_closed(now);
            let looked = if wire.has_ended() {
                Ok(())
            } else {
                wire.tick(now)
            };
            drop(wire);
            match looked {
                _ if is_closed => self.close(id),
                Ok(()) => {}
                Err(cause) => self.end(id, &cause),
            }
        }
        self.dial_due();
        for (_, id) in self.shared.station.all_talkative() {
            self.flush(id);
        }
    }

    /// Whether the node was asked to leave and has.
    fn has_left(&mut self) -> bool {
        let station = &self.shared.station;
        if !station.has_left() {
            return false;
        }
        let now = self.shared.clock.now();
        if self.leave_by.is_none() {
            self.leave_by = Some(now + LEAVE_MAX);
            // Its port is free again.
            if let Some(mut listener) = self.listener.take() {
                let _ = self.poll.registry().deregister(&mut listener);
            }
        }
        let is_late = self.leave_by.is_some_and(|at| now >= at);
        for (id, wire) in self.shared.all() {
            let linked = lock(&wire).linked();
            let is_said = linked.is_none_or(|node| self.shared.station.talkative(node) != Some(id));
            if is_late || (is_said && lock(&wire).is_quiet()) {
                self.end(id, &Absence::Left);
            }
        }
        is_late || self.shared.wires().is_empty()
    }
}
