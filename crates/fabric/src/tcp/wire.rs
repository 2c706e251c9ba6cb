//! A socket, the encryption on it, and the connection that it carries.
//!
//! Locked as a whole while bytes are moved. The thread of the fabric moves both ways; a sender moves what it has just queued
//! itself, if nobody else is at it, which saves a wake-up. A frame is encrypted as the socket takes it, so that no more than
//! [`BUFFER_BYTES`] of it are held twice.

use std::io::{self, ErrorKind, Read, Write};
use std::net::Shutdown;
use std::time::Duration;

use mio::net::TcpStream;
use rustls::Connection as Tls;

use super::preface::{PREFACE_BYTES, check, preface};
use crate::connection::Connection;
use crate::event::Absence;
use crate::frame::Sealed;
use crate::link::ConnectionId;
use crate::node::NodeId;
use crate::station::Station;

/// What is encrypted and not taken by the socket yet, at most.
const BUFFER_BYTES: usize = 128 << 10;

/// What is read from a socket at once.
pub(super) const READ_BYTES: usize = 64 << 10;

/// What is read from one socket before others have their turn.
const READS_PER_TURN: usize = 16;

/// For how long a connection that has ended is kept to get its last words across.
const LINGER: Duration = Duration::from_secs(1);

/// One socket.
pub(super) struct Wire {
    socket: TcpStream,
    tls: Tls,
    connection: Connection,
    /// Whose it is, in words.
    who: String,
    preface_came: Vec<u8>,
    preface_left: Vec<u8>,
    /// A frame that is not encrypted to its end, and how far it is.
    frame: Option<(Sealed, usize)>,
    /// Why it failed in a sender's hands: the fabric's thread ends it.
    pub(super) failed: Option<Absence>,
    /// Set once it has ended: when it is closed at the latest.
    close_at: Option<Duration>,
}

/// What reading has brought.
#[derive(Default)]
pub(super) struct Turn {
    /// There may be more to read.
    pub(super) is_unfinished: bool,
    /// A connection that this one has taken the place of.
    pub(super) replaced: Option<ConnectionId>,
}

/// What a socket was asked and does not take or give at the moment.
enum Moved {
    All,
    Blocked,
}

impl Wire {
    pub(super) fn new(
        socket: TcpStream,
        mut tls: Tls,
        connection: Connection,
        who: String,
    ) -> Wire {
        tls.set_buffer_limit(Some(BUFFER_BYTES));
        Wire {
            socket,
            tls,
            connection,
            who,
            preface_came: Vec::with_capacity(PREFACE_BYTES),
            preface_left: preface(),
            frame: None,
            failed: None,
            close_at: None,
        }
    }

    pub(super) fn socket(&mut self) -> &mut TcpStream {
        &mut self.socket
    }

    pub(super) fn linked(&self) -> Option<NodeId> {
        self.connection.linked()
    }

    /// Whether it has ended, and only last words are under way.
    pub(super) fn has_ended(&self) -> bool {
        self.close_at.is_some()
    }

    /// Looks at the clock: an error ends it.
    pub(super) fn tick(&self, now: Duration) -> Result<(), Absence> {
        self.connection.tick(now)
    }

    /// Whether it is to be closed.
    pub(super) fn is_closed(&self, now: Duration) -> bool {
        self.close_at.is_some_and(|at| now >= at)
    }

    /// Whether all that there is to say was given to the socket.
    pub(super) fn is_quiet(&self) -> bool {
        self.frame.is_none() && self.preface_left.is_empty() && !self.tls.wants_write()
    }

    /// Gives the socket what there is to say, up to about `budget` bytes of frames. Says whether more is there to say that the
    /// socket might take.
    pub(super) fn flush(
        &mut self,
        now: Duration,
        station: &Station,
        mut budget: usize,
    ) -> Result<bool, Absence> {
        loop {
            if let Moved::Blocked = self.push().map_err(|error| broken(&error))? {
                return Ok(false);
            }
            if self.tls.is_handshaking() {
                return Ok(false);
            }
            if budget == 0 {
                return Ok(true);
            }
            let filled = self
                .fill(now, station, budget)
                .map_err(|error| broken(&error))?;
            if filled == 0 {
                return Ok(false);
            }
            budget = budget.saturating_sub(filled);
        }
    }

    /// Encrypts frames until the buffer is full, nothing is left to say, or so many bytes are reached; says how many. What is
    /// said in one turn leaves in one call.
    fn fill(&mut self, now: Duration, station: &Station, budget: usize) -> io::Result<usize> {
        let mut filled = 0;
        while filled < budget {
            if self.frame.is_none() {
                self.frame = self.connection.next(now, station).map(|sealed| (sealed, 0));
            }
            let Some((sealed, done)) = &mut self.frame else {
                break;
            };
            let taken = self.tls.writer().write(sealed.after(*done))?;
            if taken == 0 {
                break;
            }
            *done += taken;
            filled += taken;
            if *done == sealed.len() {
                self.frame = None;
            }
        }
        Ok(filled)
    }

    /// Gives the socket what is encrypted.
    fn push(&mut self) -> io::Result<Moved> {
        while !self.preface_left.is_empty() {
            match self.socket.write(&self.preface_left) {
                Ok(count) => drop(self.preface_left.drain(..count)),
                Err(error) => return blocked(error),
            }
        }
        while self.tls.wants_write() {
            if let Err(error) = self.tls.write_tls(&mut self.socket) {
                return blocked(error);
            }
        }
        Ok(Moved::All)
    }

    /// Takes what the socket has, up to a turn's bytes. An error ends the connection.
    ///
    /// A read that is shorter than it might be has emptied the socket, and what comes later is told of again (epoll(7), question
    /// 9); but for the end of the stream, which is told once: with `to_end` it is read for.
    pub(super) fn read(
        &mut self,
        now: Duration,
        station: &Station,
        scratch: &mut [u8],
        to_end: bool,
    ) -> Result<Turn, Absence> {
        let mut turn = Turn::default();
        for _ in 0..READS_PER_TURN {
            match self.socket.read(scratch) {
                Ok(0) => return Err(self.ended()),
                Ok(count) => {
                    if self.close_at.is_none() {
                        self.take(&scratch[..count], now, station, &mut turn)?;
                    }
                    if count < scratch.len() && !to_end {
                        return Ok(turn);
                    }
                }
                Err(error) => {
                    return match blocked(error).map_err(|error| broken(&error))? {
                        Moved::Blocked => Ok(turn),
                        // Interrupted: the turn goes on.
                        Moved::All => continue,
                    };
                }
            }
        }
        turn.is_unfinished = true;
        Ok(turn)
    }

    fn take(
        &mut self,
        mut bytes: &[u8],
        now: Duration,
        station: &Station,
        turn: &mut Turn,
    ) -> Result<(), Absence> {
        let missing = PREFACE_BYTES - self.preface_came.len();
        if missing > 0 {
            let (first, rest) = bytes.split_at(missing.min(bytes.len()));
            self.preface_came.extend_from_slice(first);
            check(&self.preface_came)?;
            bytes = rest;
        }
        let mut plain = [0; 16 << 10];
        while !bytes.is_empty() {
            self.tls
                .read_tls(&mut bytes)
                .map_err(|error| broken(&error))?;
            let is_handshaking = self.tls.is_handshaking();
            let processed = self.tls.process_new_packets();
            processed.map_err(|error| {
                if is_handshaking {
                    refused(&error)
                } else {
                    damaged(&error)
                }
            })?;
            loop {
                let count = match self.tls.reader().read(&mut plain) {
                    // The other side has said that it ends here.
                    Ok(0) => return Err(self.ended()),
                    Ok(count) => count,
                    Err(error) if error.kind() == ErrorKind::WouldBlock => break,
                    Err(error) => return Err(broken(&error)),
                };
                let received = self.connection.receive(&plain[..count], now, station)?;
                turn.replaced = turn.replaced.or(received.replaced);
            }
        }
        Ok(())
    }

    fn ended(&self) -> Absence {
        if self.tls.is_handshaking() {
            let reason = "the other side has closed it before it greeted".to_owned();
            return Absence::Broken { reason };
        }
        self.connection.ended()
    }

    /// Ends the connection and its link. Last words go out for a while yet.
    pub(super) fn end(&mut self, cause: &Absence, now: Duration, station: &Station) {
        if self.close_at.is_some() {
            return;
        }
        self.close_at = Some(now + LINGER);
        self.connection.end(&self.who, cause, now, station);
        if self.say_goodbye(now, station).is_err() {
            self.close_at = Some(now);
        }
    }

    /// Gives last words to the socket as far as it takes them, and then its end. Done when the other side ends it too.
    pub(super) fn say_goodbye(&mut self, now: Duration, station: &Station) -> Result<(), Absence> {
        self.flush(now, station, usize::MAX)?;
        if self.is_quiet() && !self.tls.is_handshaking() {
            self.tls.send_close_notify();
        }
        self.push().map_err(|error| broken(&error))?;
        if self.is_quiet() {
            self.socket
                .shutdown(Shutdown::Write)
                .map_err(|error| broken(&error))?;
        }
        Ok(())
    }
}

impl Sealed {
    fn len(&self) -> usize {
        self.head.len() + self.rest.len()
    }

    /// What is left after so many bytes, up to the end of one of the two parts.
    fn after(&self, done: usize) -> &[u8] {
        match done.checked_sub(self.head.len()) {
            None => &self.head[done..],
            Some(done) => &self.rest[done..],
        }
    }
}

/// Whether an error is one at all.
fn blocked(error: io::Error) -> io::Result<Moved> {
    match error.kind() {
        ErrorKind::WouldBlock | ErrorKind::NotConnected => Ok(Moved::Blocked),
        ErrorKind::Interrupted => Ok(Moved::All),
        _ => Err(error),
    }
}

fn broken(error: &io::Error) -> Absence {
    let reason = error.to_string();
    Absence::Broken { reason }
}

/// What a failed handshake means here.
fn refused(error: &rustls::Error) -> Absence {
    let is_key = matches!(
        error,
        rustls::Error::InvalidCertificate(_) | rustls::Error::AlertReceived(_)
    );
    let reason = if is_key {
        "the two have different keys: give both nodes the same key file".to_owned()
    } else {
        format!("no Somersault node speaks here, or what it says was damaged: {error}")
    };
    Absence::Refused { reason }
}

/// What an error of the encryption means once it stands.
fn damaged(error: &rustls::Error) -> Absence {
    let reason = format!("what came was damaged: {error}");
    Absence::Broken { reason }
}
