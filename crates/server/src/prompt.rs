//! A client that asks again as soon as it has its answer is waited for awake.
//!
//! Who waits for a socket gives its processor to the system, which lets it sleep where there is no other work. Waking it
//! takes as long as a light query, twice for each answer: once at the client and once here. (`ASK {}`
//! over one connection takes 28 us while other programs keep both processors awake, and 60 to 80 us on a machine
//! with nothing else to do.) So a thread that is about to wait looks at the socket of such a client for [`AWAKE`]
//! first.
//!
//! For one client and no more: its last two light answers followed one another within [`AWAKE`] with nobody else's between
//! them, and no query and no change runs, so that the processor has little else to do for us. And in vain for
//! once: then the next [`REST`] prompt answers are not waited for, since it may be the client that waits for this processor.
//!
//! | who | touches | when |
//! |---|---|---|
//! | the light path | `port`, `answered_ns`, `rest`, `awaited` | an answer is ready |
//! | the connection `awaited` | `awaited`, `socket`, `until_ns` | that answer has been sent |
//! | connections | `socket` | they end |
//! | threads of the runtime | `until_ns`, `socket`, `rest` | before they wait |
//!
//! Cost: two clocks an answer. A client that stays prompt keeps a processor awake for as long as it does, which would
//! sleep for a part of that; one that was and is not, for [`AWAKE`]. Whatever else comes meanwhile (a timer, another
//! connection) is seen that much later. Connections are told apart by the ports of their clients: where two are the same,
//! the wrong one is looked at, in vain.

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use std::net::SocketAddr;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::atomic::{AtomicU16, AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, TryLockError};
use std::time::{Duration, Instant};

/// How soon a prompt client asks again, waking both sides included; and how long it is waited for awake.
const AWAKE: Duration = Duration::from_micros(100);
/// Prompt answers after one whose client was waited for in vain, which are not waited for.
const REST: u32 = 256;
/// No connection has this port.
const NOBODY: u16 = 0;

/// Whether there is a prompt client, and its socket. One for all threads of a server.
#[derive(Debug)]
pub(crate) struct Prompt {
    begun: Instant,
    /// There is another processor for the client.
    has_room: bool,
    /// Of whose connection the last light answer was.
    port: AtomicU16,
    answered_ns: AtomicU64,
    /// Answers that are not waited for.
    rest: AtomicU32,
    /// The connection whose next request is waited for awake.
    awaited: AtomicU16,
    until_ns: AtomicU64,
    socket: Mutex<Option<Watched>>,
}

/// A descriptor of its own for a connection's socket.
#[derive(Clone, Debug)]
struct Watched {
    port: u16,
    socket: Arc<OwnedFd>,
}

impl Prompt {
    /// Nobody has asked yet.
    pub fn new() -> Arc<Prompt> {
        Prompt::with_room(std::thread::available_parallelism().is_ok_and(|count| count.get() > 1))
    }

    fn with_room(has_room: bool) -> Arc<Prompt> {
        Arc::new(Prompt {
            begun: Instant::now(),
            has_room,
            port: AtomicU16::new(NOBODY),
            answered_ns: AtomicU64::new(0),
            rest: AtomicU32::new(0),
            awaited: AtomicU16::new(NOBODY),
            until_ns: AtomicU64::new(0),
            socket: Mutex::new(None),
        })
    }

    fn now_ns(&self) -> u64 {
        self.begun.elapsed().as_nanos() as u64
    }

    /// A light query that came by the connection from this port has its answer. `is_quiet`: whether nothing runs.
    /// Says whether the one before came by the same connection.
    pub fn answered(&self, port: u16, arrived: Instant, is_quiet: impl FnOnce() -> bool) -> bool {
        let is_same = self.port.swap(port, Ordering::Relaxed) == port;
        let arrived_ns = arrived.saturating_duration_since(self.begun).as_nanos() as u64;
        let before_ns = self.answered_ns.swap(self.now_ns(), Ordering::Relaxed);
        let is_prompt = arrived_ns.saturating_sub(before_ns) < AWAKE.as_nanos() as u64;
        let is_awaited = is_same && is_prompt && self.has_room && self.has_rested() && is_quiet();
        let awaited = if is_awaited { port } else { NOBODY };
        self.awaited.store(awaited, Ordering::Relaxed);
        is_same
    }

    fn has_rested(&self) -> bool {
        let less = |rest: u32| rest.checked_sub(1);
        let rested = self
            .rest
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, less);
        rested.is_err()
    }

    /// All that was to be sent to this peer has been sent.
    pub fn sent(&self, peer: SocketAddr, socket: impl AsFd) {
        // Of one answer, not of what the connection is asked next.
        let taken = self.awaited.compare_exchange(
            peer.port(),
            NOBODY,
            Ordering::Relaxed,
            Ordering::Relaxed,
        );
        if taken.is_err() {
            return;
        }
        // Whoever holds it looks at it for a moment: next time.
        let Ok(mut watched) = self.socket.try_lock() else {
            return;
        };
        if watched
            .as_ref()
            .is_none_or(|watched| watched.port != peer.port())
        {
            let Ok(socket) = socket.as_fd().try_clone_to_owned() else {
                return;
            };
            *watched = Some(Watched {
                port: peer.port(),
                socket: Arc::new(socket),
            });
        }
        let until_ns = self.now_ns() + AWAKE.as_nanos() as u64;
        self.until_ns.store(until_ns, Ordering::Relaxed);
    }

    /// The connection to this peer has ended.
    pub fn left(&self, peer: SocketAddr) {
        let mut watched = match self.socket.lock() {
            Ok(watched) => watched,
            Err(poisoned) => poisoned.into_inner(),
        };
        if watched
            .as_ref()
            .is_some_and(|watched| watched.port == peer.port())
        {
            *watched = None;
        }
    }

    /// To be called by a thread that is about to wait for all sockets: returns when there is something to read of the
    /// prompt client's, or it was not prompt.
    pub fn stay_awake(&self) {
        if self.until_ns.load(Ordering::Relaxed) == 0 {
            return;
        }
        let until_ns = self.until_ns.swap(0, Ordering::Relaxed);
        let watched = match self.socket.try_lock() {
            Ok(watched) => watched.clone(),
            Err(TryLockError::Poisoned(_) | TryLockError::WouldBlock) => None,
        };
        let Some(watched) = watched else { return };
        // The thread had other work meanwhile.
        if self.now_ns() >= until_ns {
            return;
        }
        let at_once = Timespec::default();
        loop {
            let mut looked = [PollFd::new(&watched.socket, PollFlags::IN)];
            match poll(&mut looked, Some(&at_once)) {
                Ok(0) if self.now_ns() < until_ns => {}
                Ok(0) => {
                    // Unless another thread has answered it meanwhile.
                    if self.until_ns.load(Ordering::Relaxed) == 0 {
                        self.rest.store(REST, Ordering::Relaxed);
                    }
                    return;
                }
                Ok(_) | Err(_) => return,
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;
    use std::net::{TcpListener, TcpStream};

    fn pair() -> (TcpStream, TcpStream, SocketAddr) {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let client = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let (served, peer) = listener.accept().unwrap();
        (client, served, peer)
    }

    fn is_awaited(prompt: &Prompt) -> bool {
        prompt.awaited.load(Ordering::Relaxed) != NOBODY
    }

    #[test]
    fn awaited_is_who_asks_again_at_once_and_alone() {
        let prompt = Prompt::with_room(true);
        let at_once =
            || prompt.begun + Duration::from_nanos(prompt.answered_ns.load(Ordering::Relaxed));
        assert!(!prompt.answered(7, Instant::now(), || true));
        assert!(!is_awaited(&prompt), "the first");
        assert!(prompt.answered(7, at_once(), || true));
        assert!(is_awaited(&prompt));
        assert!(prompt.answered(7, at_once() + 2 * AWAKE, || true));
        assert!(!is_awaited(&prompt), "late");
        assert!(prompt.answered(7, at_once(), || false));
        assert!(!is_awaited(&prompt), "queries compute");
        assert!(!prompt.answered(8, at_once(), || true));
        assert!(!is_awaited(&prompt), "another");
        let alone = Prompt::with_room(false);
        for _ in 0..2 {
            alone.answered(7, alone.begun, || true);
        }
        assert!(!is_awaited(&alone), "one processor");
    }

    #[test]
    fn its_socket_is_looked_at_and_given_up() {
        let prompt = Prompt::with_room(true);
        let (mut client, served, peer) = pair();
        prompt.awaited.store(peer.port(), Ordering::Relaxed);
        prompt.sent(peer, &served);
        prompt.until_ns.store(0, Ordering::Relaxed);
        prompt.sent(peer, &served);
        assert_eq!(prompt.until_ns.load(Ordering::Relaxed), 0, "of one answer");
        client.write_all(b"GET").unwrap();
        prompt.until_ns.store(u64::MAX, Ordering::Relaxed);
        prompt.stay_awake();
        assert_eq!(prompt.rest.load(Ordering::Relaxed), 0);
        assert_eq!(prompt.until_ns.load(Ordering::Relaxed), 0);

        let (_silent, served, peer) = pair();
        prompt.awaited.store(peer.port(), Ordering::Relaxed);
        prompt.sent(peer, &served);
        // However late this thread goes on.
        let soon_ns = prompt.now_ns() + 50_000_000;
        prompt.until_ns.store(soon_ns, Ordering::Relaxed);
        prompt.stay_awake();
        assert_eq!(prompt.rest.load(Ordering::Relaxed), REST);
        prompt.answered(peer.port(), Instant::now(), || true);
        prompt.answered(peer.port(), prompt.begun, || true);
        assert!(!is_awaited(&prompt), "it rests");

        prompt.left(peer);
        assert!(prompt.socket.lock().unwrap().is_none());
    }

    #[test]
    fn others_are_not_looked_at() {
        let prompt = Prompt::with_room(true);
        let (_client, served, peer) = pair();
        prompt.sent(peer, &served);
        assert!(prompt.socket.lock().unwrap().is_none());
        prompt.stay_awake();
        assert_eq!(prompt.rest.load(Ordering::Relaxed), 0);
    }
}
