//! Clients that have closed their side of a connection: those that still read, and those that are gone.
//!
//! Both look the same from here: the socket has no more to read. Who has only ended its own direction
//! (`shutdown`, `nc -N`, RFC 9112 section 9.6) waits for its answer; who is gone must not keep a query running.
//! The difference shows when something is sent: the system of one that is gone answers with a reset. So
//! what stands in every answer anyway is sent ahead, one byte of it: the `H` of the status line while there is
//! none yet, and between the chunks of a body a zero, which may stand before any chunk's length (RFC 9112
//! section 7.1). No client sees a difference; the connection's end is told only when the reset comes.
//!
//! ```text
//! Idle -> Request (its body arrives) -> Computing -> Chunks | Counted -> Ending (not all is sent) -> Idle
//!                                       `H`          `0`      nothing: writes tell
//! ```
//!
//! Invariants: bytes go ahead only where all earlier ones have been taken by the socket; the end of a client's
//! side is held back from the protocol while a request is under way that was sent to its end, and passed on
//! otherwise. Who leaves long after having closed its side is not noticed before the next byte.
//!
//! Cost: an atomic load for each write of a connection, and a second descriptor while a client's end is held back.
//!
//! | field | written by | read by |
//! |---|---|---|
//! | all of `Exchange` | the tasks of one connection, of which one follows another | the same |

use std::io;
use std::os::fd::AsFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU8, Ordering};
use std::time::Duration;
use tokio::io::Interest;
use tokio::net::TcpStream;
use tokio::sync::Semaphore;

/// How long an answer may take until its client is asked whether it still reads: most are over by then.
const PAUSE: Duration = Duration::from_millis(5);

/// Where a connection is between a request's first byte and its response's last.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Moment {
    /// There is no request.
    Idle,
    /// A request's body is being read.
    Request,
    /// The request has been read, nothing of its response was sent.
    Computing,
    /// A response of unknown length is under way, in chunks.
    Chunks,
    /// A response of known length is under way.
    Counted,
    /// The response is over for us, the socket has not taken all of it.
    Ending,
}

/// Clients whose end is held back at once: each takes a descriptor, of those that connections leave to others
/// ([`crate::connections`]). Beyond, who has closed its side counts as gone.
pub(crate) const HELD_MAX: usize = 64;

/// What the socket of a connection and the requests on it know of each other.
#[derive(Debug)]
pub(crate) struct Exchange {
    /// Room for the clients of all connections whose end is held back.
    held: Arc<Semaphore>,
    moment: AtomicU8,
    /// Whoever reads the request waits for more of it.
    is_starved: AtomicBool,
    /// The socket takes nothing at the moment.
    is_blocked: AtomicBool,
    /// The first byte of the response has been sent already.
    has_begun: AtomicBool,
}

impl Exchange {
    /// A connection without a request, one of those that share this room.
    pub fn new(held: Arc<Semaphore>) -> Exchange {
        Exchange {
            held,
            moment: AtomicU8::new(Moment::Idle as u8),
            is_starved: AtomicBool::new(false),
            is_blocked: AtomicBool::new(false),
            has_begun: AtomicBool::new(false),
        }
    }

    /// Where it is. All who ask and tell are one task, or follow one another.
    pub fn moment(&self) -> Moment {
        const ALL: [Moment; 6] = [
            Moment::Idle,
            Moment::Request,
            Moment::Computing,
            Moment::Chunks,
            Moment::Counted,
            Moment::Ending,
        ];
        const {
            let mut at = 0;
            while at < ALL.len() {
                assert!(ALL[at] as usize == at, "moments are listed in their order");
                at += 1;
            }
        }
        ALL[usize::from(self.moment.load(Ordering::Relaxed))]
    }

    /// It has come to this.
    pub fn come_to(&self, moment: Moment) {
        self.moment.store(moment as u8, Ordering::Relaxed);
    }

    /// The request has been read to its end.
    pub fn is_read(&self) {
        if self.moment() == Moment::Request {
            self.come_to(Moment::Computing);
        }
    }

    /// Whoever reads the request waits for more of it, or has some.
    pub fn set_starved(&self, is_starved: bool) {
        self.is_starved.store(is_starved, Ordering::Relaxed);
    }

    /// Everything written so far has been taken by the socket. True where that ends the exchange.
    pub fn is_flushed(&self) -> bool {
        let ends = self.moment() == Moment::Ending;
        if ends {
            self.come_to(Moment::Idle);
        }
        ends
    }

    /// Whether the end of the client's side may be held back.
    pub fn is_under_way(&self) -> bool {
        self.moment() != Moment::Idle
    }

    /// Waits until the request has been read to its end. False where it has none: more of it is waited for,
    /// and the client's side is closed.
    async fn until_read(&self) -> bool {
        while self.moment() == Moment::Request {
            // What the library has read may not have been taken yet.
            tokio::time::sleep(PAUSE).await;
            if self.moment() == Moment::Request && self.is_starved.load(Ordering::Relaxed) {
                return false;
            }
        }
        true
    }

    /// The last write could not be made, or could.
    pub fn set_blocked(&self, is_blocked: bool) {
        self.is_blocked.store(is_blocked, Ordering::Relaxed);
    }

    /// Whether the first byte of what is about to be written was sent already. The answer is given once.
    pub fn take_begun(&self) -> bool {
        self.has_begun.load(Ordering::Relaxed) && self.has_begun.swap(false, Ordering::Relaxed)
    }

    /// The write of the rest was not made.
    pub fn put_back_begun(&self) {
        self.has_begun.store(true, Ordering::Relaxed);
    }

    /// Sends a byte ahead, where one may be.
    fn send_ahead(&self, socket: &TcpStream) {
        let byte: &[u8] = match self.moment() {
            _ if self.is_blocked.load(Ordering::Relaxed) => return,
            Moment::Computing => b"H",
            Moment::Chunks => b"0",
            Moment::Idle | Moment::Request | Moment::Counted | Moment::Ending => return,
        };
        let sent = socket2::SockRef::from(socket).send(byte);
        if sent.is_ok_and(|bytes| bytes == 1) && byte == b"H" {
            self.put_back_begun();
        }
    }
}

/// Ends when the client of this socket is gone, which has closed its side.
pub(crate) fn until_gone(
    socket: &TcpStream,
    exchange: Arc<Exchange>,
) -> io::Result<impl Future<Output = ()> + Send + use<>> {
    let room = Arc::clone(&exchange.held).try_acquire_owned();
    let room = room.map_err(io::Error::other)?;
    // What the library's own handle is told of, it keeps to itself; so this is a second one.
    let socket = std::net::TcpStream::from(socket.as_fd().try_clone_to_owned()?);
    let socket = TcpStream::from_std(socket)?;
    Ok(async move {
        if !exchange.until_read().await {
            return;
        }
        tokio::time::sleep(PAUSE).await;
        exchange.send_ahead(&socket);
        // An error of the readiness itself: nothing more will be heard of this client.
        let _ = socket.ready(Interest::ERROR).await;
        drop(room);
    })
}
