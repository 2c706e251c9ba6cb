//! One exchange of HTTP with another endpoint: a thread speaks it, so that whoever waits can stop at any moment.
//!
//! Queries that call services make exchanges, `LOAD` does, and so do the verbs of the binary that are given an
//! endpoint. What is sent, where redirects may lead and how long it may take is each one's own business; the load
//! generator of `bench` speaks HTTP by itself, because a thread for each query would be what it measures.
//!
//! An endpoint that accepts a connection and then says nothing would otherwise hold a thread of the
//! engine, and the place that its query has, until the query's deadline, whether or not
//! anybody still waits. The agent of an exchange is its own and can be shut down from another thread, which
//! ends reads and writes at once. Connecting and looking up a name cannot be interrupted: there the
//! thread is left to end by itself, after the agent's time for that.
//!
//! | who | touches | when |
//! |---|---|---|
//! | the exchange's thread | the connection, the channels' senders | until the body's end, or its reader has gone |
//! | whoever waits | the channels' receivers; shuts the agent down | when stopped or done |

use rustls::crypto::ring;
use std::io::{self, Read};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::time::Duration;
use ureq::config::ConfigBuilder;
use ureq::http::header::AsHeaderName;
use ureq::http::response::Parts;
use ureq::http::{HeaderMap, Response};
use ureq::tls::{RootCerts, TlsConfig};
use ureq::typestate::AgentScope;
use ureq::{Agent, Body};

/// How often whoever waits looks whether to stop.
const LOOK: Duration = Duration::from_millis(25);
const CHUNK_BYTES: usize = 64 << 10;
/// Chunks between the connection and whoever reads.
const CHUNKS_MAX: usize = 2;

/// Says whether nobody waits for the answer any more.
pub type IsStopped = Box<dyn Fn() -> bool + Send>;

/// Why an exchange was not carried to its end, besides what its endpoint and the connection say.
#[derive(Debug, thiserror::Error)]
pub enum Broken {
    /// It was stopped.
    #[error("the query has ended")]
    Stopped,
    /// It could not begin.
    #[error("no thread for the exchange could be started: {0}")]
    Thread(io::Error),
    /// Its thread met a bug.
    #[error("the exchange ended without an answer")]
    Silent,
}

/// What all agents have in common. Statuses are answers, and redirects are followed by whoever asks: the library
/// would follow them anywhere, and turn a POST that is moved from http to https into a GET without a query.
pub fn config() -> ConfigBuilder<AgentScope> {
    let tls = TlsConfig::builder()
        .root_certs(RootCerts::PlatformVerifier)
        .unversioned_rustls_crypto_provider(Arc::new(ring::default_provider()))
        .build();
    Agent::config_builder()
        .max_redirects(0)
        .http_status_as_error(false)
        .user_agent(concat!("somersault/", env!("CARGO_PKG_VERSION")))
        .tls_config(tls)
}

/// The text of a field; empty where it is not there.
pub fn field(headers: &HeaderMap, name: impl AsHeaderName) -> &str {
    let value = headers.get(name);
    value
        .and_then(|value| value.to_str().ok())
        .unwrap_or_default()
}

/// Begins an exchange with `ask`, and waits for the head of its answer. The agent is this exchange's alone.
///
/// # Errors
/// That of `ask`, or [`Broken`].
pub fn begin<E: From<Broken> + Send + 'static>(
    agent: Agent,
    is_stopped: IsStopped,
    ask: impl FnOnce(&Agent) -> Result<Response<Body>, E> + Send + 'static,
) -> Result<(Parts, Incoming), E> {
    let (head_sender, head) = sync_channel(1);
    let (sender, chunks) = sync_channel(CHUNKS_MAX);
    let mine = agent.clone();
    let body = Incoming {
        chunks,
        agent,
        is_stopped,
        chunk: Vec::new(),
        at: 0,
        is_ended: false,
    };
    let work = move || {
        let answered = ask(&mine).map(Response::into_parts);
        let (head, body) = match answered {
            Ok((head, body)) => (Ok(head), Some(body)),
            Err(error) => (Err(error), None),
        };
        // An error of `send` says that nobody reads any more.
        if let (Ok(()), Some(body)) = (head_sender.send(head), body) {
            let _ = stream(body, &sender);
        }
    };
    let thread = std::thread::Builder::new().name("exchange".to_owned());
    thread.spawn(work).map_err(Broken::Thread)?;
    let head = next(&head, &*body.is_stopped)??;
    Ok((head, body))
}

/// Sends the body in chunks, then an empty one or an error.
fn stream(body: Body, sender: &SyncSender<io::Result<Vec<u8>>>) -> Result<(), ()> {
    let mut reader = body.into_reader();
    loop {
        let mut chunk = vec![0; CHUNK_BYTES];
        let part = match reader.read(&mut chunk) {
            Ok(len) => {
                chunk.truncate(len);
                Ok(chunk)
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => Err(error),
        };
        let is_last = part.as_ref().map_or(true, Vec::is_empty);
        sender.send(part).map_err(|_| ())?;
        if is_last {
            return Ok(());
        }
    }
}

/// Waits for what the thread has to say.
fn next<T>(receiver: &Receiver<T>, is_stopped: &dyn Fn() -> bool) -> Result<T, Broken> {
    loop {
        if is_stopped() {
            return Err(Broken::Stopped);
        }
        match receiver.recv_timeout(LOOK) {
            Ok(part) => return Ok(part),
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => return Err(Broken::Silent),
        }
    }
}

/// A body as it comes. A read fails with what the connection says, or with a [`Broken`] inside.
pub struct Incoming {
    chunks: Receiver<io::Result<Vec<u8>>>,
    agent: Agent,
    is_stopped: IsStopped,
    chunk: Vec<u8>,
    at: usize,
    is_ended: bool,
}

impl Read for Incoming {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.at == self.chunk.len() && !self.is_ended {
            let part = next(&self.chunks, &*self.is_stopped).map_err(io::Error::other)?;
            (self.chunk, self.at) = (part?, 0);
            self.is_ended = self.chunk.is_empty();
        }
        let len = buffer.len().min(self.chunk.len() - self.at);
        buffer[..len].copy_from_slice(&self.chunk[self.at..self.at + len]);
        self.at += len;
        Ok(len)
    }
}

impl Drop for Incoming {
    /// Drops the connection, whatever is still to come: the endpoint then knows that nobody waits.
    fn drop(&mut self) {
        self.agent.clone().shutdown();
    }
}
