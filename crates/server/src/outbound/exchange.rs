//! One call: a thread speaks HTTP, so that the query that asked can end at any moment.
//!
//! An endpoint that accepts a connection and then says nothing would otherwise hold a thread of the
//! engine, and the place that its query has, until the query's deadline, whether or not
//! anybody still waits. The agent of a call is its own and can be shut down from another thread, which
//! ends reads and writes at once. Connecting and looking up a name cannot be interrupted: there the
//! thread is left to end by itself, after [`CONNECT_TIMEOUT`] at most.
//!
//! | who | touches | when |
//! |---|---|---|
//! | the call's thread | the connection, the channel's sender | until the body's end, or its reader has gone |
//! | the query's thread | the channel's receiver, its token; shuts the agent down | when stopped or done |

use somersault::ServiceError;
use somersault::stop::StopToken;
use std::io::{self, Read};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::time::Duration;
use ureq::http::Response;
use ureq::http::response::Parts as Head;
use ureq::{Agent, Body};

/// Longest time to look up a name, and to connect.
pub(super) const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
/// How often a query that waits looks whether it has to end.
const LOOK: Duration = Duration::from_millis(25);
const CHUNK_BYTES: usize = 64 << 10;
/// Chunks between the connection and whoever reads.
const CHUNKS_MAX: usize = 2;

/// What the thread has to say.
enum Part {
    Head(Box<Head>),
    Bytes(Vec<u8>),
    End,
    Refused(ServiceError),
    Failed(io::Error),
}

/// Begins a call with `ask`, and waits for the head of its answer.
pub(super) fn begin(
    agent: Agent,
    stopped: StopToken,
    ask: impl FnOnce(&Agent) -> Result<Response<Body>, ServiceError> + Send + 'static,
) -> Result<(Head, Incoming), ServiceError> {
    let (sender, receiver) = sync_channel(CHUNKS_MAX);
    let mine = agent.clone();
    let work = move || {
        // An error of `send` says that nobody reads any more.
        let _ = match ask(&mine) {
            Ok(response) => stream(response, &sender),
            Err(error) => sender.send(Part::Refused(error)).map_err(|_| ()),
        };
    };
    let thread = std::thread::Builder::new().name("service".to_owned());
    thread
        .spawn(work)
        .map_err(|error| super::failed(format!("no thread for the call: {error}")))?;
    let mut body = Incoming {
        receiver,
        agent,
        stopped,
        chunk: Vec::new(),
        at: 0,
        is_ended: false,
    };
    match body.next() {
        Part::Head(head) => Ok((*head, body)),
        Part::Refused(error) => Err(error),
        Part::Failed(error) => Err(super::failed(error.to_string())),
        Part::Bytes(_) | Part::End => unreachable!("the thread sends the head first"),
    }
}

fn stream(response: Response<Body>, sender: &SyncSender<Part>) -> Result<(), ()> {
    let (head, body) = response.into_parts();
    let send = |part| sender.send(part).map_err(|_| ());
    send(Part::Head(Box::new(head)))?;
    let mut reader = body.into_reader();
    loop {
        let mut chunk = vec![0; CHUNK_BYTES];
        match reader.read(&mut chunk) {
            Ok(0) => return send(Part::End),
            Ok(len) => {
                chunk.truncate(len);
                send(Part::Bytes(chunk))?;
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return send(Part::Failed(error)),
        }
    }
}

/// A body as it comes; an error once its query has to end.
pub(super) struct Incoming {
    receiver: Receiver<Part>,
    agent: Agent,
    stopped: StopToken,
    chunk: Vec<u8>,
    at: usize,
    is_ended: bool,
}

impl Incoming {
    fn next(&mut self) -> Part {
        loop {
            if self.stopped.reason().is_some() {
                return Part::Failed(io::Error::other("the query has ended"));
            }
            match self.receiver.recv_timeout(LOOK) {
                Ok(part) => return part,
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => {
                    return Part::Failed(io::Error::other("the call ended without an answer"));
                }
            }
        }
    }
}

impl Read for Incoming {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        while self.at == self.chunk.len() && !self.is_ended {
            match self.next() {
                Part::Bytes(chunk) => (self.chunk, self.at) = (chunk, 0),
                Part::End | Part::Head(_) => self.is_ended = true,
                Part::Refused(error) => return Err(io::Error::other(error)),
                Part::Failed(error) => return Err(error),
            }
        }
        let len = buffer.len().min(self.chunk.len() - self.at);
        buffer[..len].copy_from_slice(&self.chunk[self.at..self.at + len]);
        self.at += len;
        Ok(len)
    }
}

impl Drop for Incoming {
    /// Drops the connection, whatever is still to come.
    fn drop(&mut self) {
        self.agent.clone().shutdown();
    }
}
