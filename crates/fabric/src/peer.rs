//! A peer of a node: its link while there is one, what poll has said of it, and when it is to be dialled.

use std::time::Duration;

use crate::event::{Absence, Presence};
use crate::limits::Limits;
use crate::link::{ConnectionId, Link, Surroundings};
use crate::node::Incarnation;

/// The first pause after a dial that failed, or a link that ended.
const PAUSE_MIN: Duration = Duration::from_millis(50);

/// The longest pause between two dials. Part of how soon a peer is used again, see
/// [`DOWN_WITHIN`](crate::liveness::DOWN_WITHIN).
const PAUSE_MAX: Duration = Duration::from_millis(500);

/// One peer.
pub(crate) struct Peer {
    link: Option<Link>,
    links: u64,
    /// The incarnation of the `Up` that poll handed out last, if no `Down` followed.
    seen: Option<Incarnation>,
    absence: Absence,
    attempt: Option<ConnectionId>,
    next_dial: Duration,
    pause: Duration,
}

impl Default for Peer {
    fn default() -> Peer {
        Peer {
            link: None,
            links: 0,
            seen: None,
            absence: Absence::NotYet,
            attempt: None,
            next_dial: Duration::ZERO,
            pause: PAUSE_MIN,
        }
    }
}

impl Peer {
    /// What poll has said; of an absence, the latest reason.
    pub(crate) fn presence(&self) -> Presence {
        match self.seen {
            Some(incarnation) => Presence::Up(incarnation),
            None => Presence::Down(self.absence.clone()),
        }
    }

    /// The link, if poll has said that it is up.
    pub(crate) fn sendable(&mut self) -> Option<&mut Link> {
        self.link.as_mut().filter(|link| link.is_announced)
    }

    /// The link, if this connection carries it.
    pub(crate) fn linked_by(&mut self, connection: ConnectionId) -> Option<&mut Link> {
        self.link
            .as_mut()
            .filter(|link| link.connection == connection)
    }

    /// Which life of the peer is linked.
    pub(crate) fn linked_life(&self) -> Option<u64> {
        Some(self.link.as_ref()?.incarnation.life)
    }

    /// The connection that carries the link, if that has output.
    pub(crate) fn talkative(&self) -> Option<ConnectionId> {
        let link = self.link.as_ref().filter(|link| link.has_output())?;
        Some(link.connection)
    }

    /// What the next link is called.
    pub(crate) fn next_incarnation(&mut self, life: u64) -> Incarnation {
        self.links += 1;
        let link = self.links;
        Incarnation { life, link }
    }

    /// There is a link.
    pub(crate) fn link(&mut self, link: Link) {
        debug_assert!(self.link.is_none(), "a link is ended before another begins");
        self.link = Some(link);
        self.pause = PAUSE_MIN;
    }

    /// Ends the link if it is the one meant, and says which connection carried it.
    pub(crate) fn end(
        &mut self,
        is_it: impl FnOnce(&Link) -> bool,
        cause: &Absence,
        around: Surroundings<'_>,
    ) -> Option<ConnectionId> {
        let link = self.link.take_if(|link| is_it(link))?;
        let connection = link.connection;
        link.end(cause.clone(), around);
        self.absence = cause.clone();
        Some(connection)
    }

    /// Poll hands out an `Up`.
    pub(crate) fn announce_up(&mut self, incarnation: Incarnation) {
        self.seen = Some(incarnation);
        let link = self.link.as_mut();
        if let Some(link) = link.filter(|link| link.incarnation == incarnation) {
            link.is_announced = true;
        }
    }

    /// Poll hands out a `Down`.
    pub(crate) fn announce_down(&mut self, cause: Absence) {
        self.seen = None;
        self.absence = cause;
    }

    /// Poll hands out a message; says whether the peer is to be told of the room. One of an ended link gives none.
    pub(crate) fn handed_out(&mut self, message_bytes: usize, limits: &Limits) -> bool {
        let seen = self.seen;
        let link = self.link.as_mut();
        let link = link.filter(|link| seen == Some(link.incarnation));
        link.is_some_and(|link| link.handed_out(message_bytes, limits))
    }

    /// Says good-bye.
    pub(crate) fn leave(&mut self) {
        if let Some(link) = &mut self.link {
            link.leave();
        }
    }

    /// Looks at the clock. Gives the connection whose link has ended by it, and why.
    pub(crate) fn tick(
        &mut self,
        now: Duration,
        around: Surroundings<'_>,
    ) -> Option<(ConnectionId, Absence)> {
        let absence = self.link.as_mut()?.tick(now, around).err()?;
        self.next_dial = now + self.pause;
        let connection = self.end(|_| true, &absence, around)?;
        Some((connection, absence))
    }

    /// Round trip (ns) and time by length (ns a KiB) of the link.
    pub(crate) fn figures(&self) -> Option<(u64, u64)> {
        self.link.as_ref()?.figures()
    }

    /// Whether it is time to dial.
    pub(crate) fn is_dial_due(&self, now: Duration) -> bool {
        self.link.is_none() && self.attempt.is_none() && now >= self.next_dial
    }

    /// It is being dialled.
    pub(crate) fn dialling(&mut self, connection: ConnectionId) {
        self.attempt = Some(connection);
    }

    /// A connection to it has ended, linked or not: another is tried after a pause.
    pub(crate) fn failed(&mut self, connection: ConnectionId, cause: &Absence, now: Duration) {
        if self.attempt == Some(connection) {
            self.attempt = None;
            self.next_dial = now + self.pause;
            self.pause = (self.pause * 2).min(PAUSE_MAX);
            if self.link.is_none() {
                self.absence = cause.clone();
            }
        }
    }
}
