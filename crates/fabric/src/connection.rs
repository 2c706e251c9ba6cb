//! A connection: a stream of bytes in each direction between two nodes, from the first greeting to its end.
//!
//! ```text
//!  dialler                          listener
//!     |---- Hello ----------------->|   compares; refuses, or
//!     |<--------------- Hello ------|
//!  compares; refuses, or is linked  |
//!     |---- Ready ----------------->|   is linked
//!     |<=== frames of the link ====>|
//! ```
//!
//! The listener is linked by the third frame, not by its own answer, so it takes nobody for present who has refused it. Before
//! both are linked, frames of a greeting's length are taken and no others. A value without a clock and without a socket, as
//! [`Link`](crate::link::Link) is.

use std::collections::VecDeque;
use std::time::Duration;

use crate::event::Absence;
use crate::frame::{Decoder, Draft, Frame, FrameError, GREETING_BYTES_MAX, Kind, Sealed};
use crate::hello::Hello;
use crate::link::ConnectionId;
use crate::node::NodeId;
use crate::station::Station;

/// How long a greeting may take, all of it.
pub(crate) const GREETING_MAX: Duration = Duration::from_secs(2);

/// One side of a connection.
pub(crate) struct Connection {
    id: ConnectionId,
    /// Who is dialled; `None` at the listener.
    dialled: Option<NodeId>,
    phase: Phase,
    decoder: Decoder,
    sequence: u64,
    greeting: VecDeque<Draft>,
    since: Duration,
}

/// How far the two are.
enum Phase {
    /// The other's greeting is waited for.
    Greeting,
    /// The listener has answered, the dialler's consent is waited for.
    Answered(Box<Hello>),
    /// There is a link.
    Linked(NodeId),
}

/// What came of some bytes.
#[derive(Debug, Default)]
pub(crate) struct Received {
    /// A connection that this one has taken the place of. Its link has ended already.
    pub(crate) replaced: Option<ConnectionId>,
}

impl Connection {
    /// The side that dials.
    pub(crate) fn dial(
        id: ConnectionId,
        node: NodeId,
        station: &Station,
        now: Duration,
    ) -> Connection {
        let mut connection = Connection::accept(id, now);
        connection.dialled = Some(node);
        connection
            .greeting
            .push_back(station.hello.to(node).draft());
        connection
    }

    /// The side that is dialled.
    pub(crate) fn accept(id: ConnectionId, now: Duration) -> Connection {
        Connection {
            id,
            dialled: None,
            phase: Phase::Greeting,
            decoder: Decoder::new(),
            sequence: 0,
            greeting: VecDeque::new(),
            since: now,
        }
    }

    /// The peer, once there is a link.
    pub(crate) fn linked(&self) -> Option<NodeId> {
        match self.phase {
            Phase::Linked(node) => Some(node),
            Phase::Greeting | Phase::Answered(_) => None,
        }
    }

    /// Takes bytes that have come. An error ends the connection, after what [`next`](Connection::next) still gives.
    pub(crate) fn receive(
        &mut self,
        mut bytes: &[u8],
        now: Duration,
        station: &Station,
    ) -> Result<Received, Absence> {
        if let Phase::Linked(node) = self.phase {
            station.heard(node, self.id);
        }
        let mut received = Received::default();
        while !bytes.is_empty() {
            let frame = self
                .decoder
                .next(&mut bytes)
                .map_err(|error| self.unreadable(&error))?;
            let Some(frame) = frame else {
                break;
            };
            if let Phase::Linked(node) = self.phase {
                station.receive(node, self.id, frame, now)?;
            } else {
                self.greet(&frame, now, station, &mut received)?;
            }
        }
        Ok(received)
    }

    /// The other side has ended the stream.
    pub(crate) fn ended(&self) -> Absence {
        let reason = if self.decoder.is_between_frames() {
            "the other side has closed it"
        } else {
            "it ended in the middle of a frame"
        };
        let reason = reason.to_owned();
        Absence::Broken { reason }
    }

    /// The next frame to send, as bytes.
    pub(crate) fn next(&mut self, now: Duration, station: &Station) -> Option<Sealed> {
        let greeting = self.greeting.pop_front();
        let draft = greeting.or_else(|| station.next(self.linked()?, self.id, now))?;
        let sealed = draft.seal(self.sequence);
        self.sequence += 1;
        Some(sealed)
    }

    /// Looks at the clock: a greeting may not take for ever.
    pub(crate) fn tick(&self, now: Duration) -> Result<(), Absence> {
        if self.linked().is_some() || now.saturating_sub(self.since) < GREETING_MAX {
            return Ok(());
        }
        let reason = format!("no greeting within {} ms", GREETING_MAX.as_millis());
        Err(Absence::Broken { reason })
    }

    /// The connection has ended, here or there. `who` says whose it was where no member is known.
    pub(crate) fn end(&self, who: &str, cause: &Absence, now: Duration, station: &Station) {
        match self.phase {
            Phase::Linked(node) => station.end(node, self.id, cause, now),
            Phase::Greeting | Phase::Answered(_) => {
                station.end_greeting(who, self.dialled, self.id, cause, now);
            }
        }
    }

    fn greet(
        &mut self,
        frame: &Frame,
        now: Duration,
        station: &Station,
        received: &mut Received,
    ) -> Result<(), Absence> {
        let phase = std::mem::replace(&mut self.phase, Phase::Greeting);
        match (frame.kind, phase) {
            (Kind::Refuse, _) => {
                let reason = String::from_utf8_lossy(&frame.body);
                let reason = format!("the other side says: {reason}");
                Err(Absence::Refused { reason })
            }
            (Kind::Hello, Phase::Greeting) => self.hear(frame, now, station, received),
            (Kind::Ready, Phase::Answered(hello)) => {
                received.replaced = self.link(&hello, now, station)?;
                Ok(())
            }
            (kind, _) => Err(self.unreadable(&FrameError::Unexpected(kind))),
        }
    }

    /// Compares the other's greeting with this node's.
    fn hear(
        &mut self,
        frame: &Frame,
        now: Duration,
        station: &Station,
        received: &mut Received,
    ) -> Result<(), Absence> {
        let hello = Hello::parse(frame).map_err(|error| self.unreadable(&error))?;
        let fits = station
            .greet(&hello)
            .and_then(|()| self.check_name(&hello, station));
        fits.map_err(|reason| self.refuse(reason))?;
        if self.dialled.is_some() {
            received.replaced = self.link(&hello, now, station)?;
            self.greeting
                .push_back(Draft::short(Kind::Ready, Vec::new()));
        } else {
            self.greeting
                .push_back(station.hello.to(hello.from).draft());
            self.phase = Phase::Answered(Box::new(hello));
        }
        Ok(())
    }

    /// Whether it is the one who was dialled, or one who dials.
    fn check_name(&self, hello: &Hello, station: &Station) -> Result<(), String> {
        match self.dialled {
            Some(node) if node != hello.from => Err(format!(
                "{} answers where {node} was dialled: check the addresses in the list of members",
                hello.from
            )),
            None if hello.from < station.here() => Err(format!(
                "{} dials {}, which dials it: run the same release on both",
                hello.from,
                station.here()
            )),
            _ => Ok(()),
        }
    }

    fn link(
        &mut self,
        hello: &Hello,
        now: Duration,
        station: &Station,
    ) -> Result<Option<ConnectionId>, Absence> {
        let established = station.establish(hello, self.id, now);
        let replaced = established.map_err(|reason| self.refuse(reason))?;
        self.phase = Phase::Linked(hello.from);
        self.decoder.trust(station.limits());
        Ok(replaced)
    }

    /// Tells the other side why it is refused.
    fn refuse(&mut self, reason: String) -> Absence {
        let mut text = reason.clone();
        text.truncate(text.floor_char_boundary(GREETING_BYTES_MAX));
        self.greeting
            .push_back(Draft::short(Kind::Refuse, text.into_bytes()));
        Absence::Refused { reason }
    }

    /// What came is nothing that a node says. The other side is told, if it can read that.
    fn unreadable(&mut self, error: &FrameError) -> Absence {
        if self.linked().is_some() {
            let reason = error.to_string();
            self.greeting
                .push_back(Draft::short(Kind::Refuse, reason.clone().into_bytes()));
            return Absence::Broken { reason };
        }
        self.refuse(format!("this is no greeting of a node: {error}"))
    }
}
