//! As much HTTP/1.1 as a load generator needs, cheaply: queries sent, rows of answers counted.
//!
//! ```text
//! POST /sparql, one buffer, one write  -->  server
//! head (RFC 9112 sections 4, 5) -> body by its length, in chunks, or until the close -> newlines
//! ```
//!
//! A general client allocates for headers, URIs and pools and takes longer than an engine that
//! answers within microseconds; measuring with it would measure it. Here an answer that comes in
//! one read is parsed where it lies. Answers are asked for as TSV, which has one line for the
//! variables and one a row, and escapes the line feeds inside of terms (SPARQL 1.1 TSV section 3).
//!
//! No TLS, no redirects, no compression: none of them is asked for. Who needs them uses `server::outbound::exchange`.

use memchr::{memchr, memchr_iter, memmem};
use std::fmt::Write as _;
use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpStream, ToSocketAddrs};
use std::time::Duration;

/// A head that is longer is none.
const HEAD_BYTES_MAX: usize = 64 << 10;
/// As much of a body as is kept to be said when it is not 200.
const EXCERPT_BYTES: usize = 1 << 10;
/// What is read at once.
pub(crate) const READ_BYTES: usize = 64 << 10;

/// Why there is no answer.
#[derive(Debug, thiserror::Error)]
pub enum HttpError {
    /// The address cannot be used.
    #[error("{url}: {why}")]
    Address {
        /// What was given.
        url: String,
        /// What is wrong with it.
        why: &'static str,
    },
    /// The connection failed.
    #[error("{address}: {source}")]
    Connection {
        /// Whose.
        address: String,
        /// How.
        source: io::Error,
    },
    /// It was closed before the answer was complete.
    #[error("the server closed the connection before its answer was complete")]
    Closed,
    /// What came is not HTTP/1.1.
    #[error("the answer is not HTTP/1.1: {0}")]
    Malformed(&'static str),
    /// Another status than 200.
    #[error("the server answered {status}: {body}")]
    Status {
        /// Which.
        status: u16,
        /// The beginning of what it said.
        body: String,
    },
}

/// Where queries are sent.
#[derive(Clone, Debug)]
pub struct Address {
    /// Host and port, as sent.
    host: String,
    path: String,
    socket: SocketAddr,
}

impl Address {
    /// Of an `http` URL, whose host is looked up. Without a path it is `/sparql`.
    ///
    /// # Errors
    /// [`HttpError::Address`], [`HttpError::Connection`].
    pub fn new(url: &str) -> Result<Self, HttpError> {
        let wrong = |why| HttpError::Address {
            url: url.to_owned(),
            why,
        };
        let rest = url
            .strip_prefix("http://")
            .ok_or_else(|| wrong("the load generator speaks plain http:// only"))?;
        let (host, path) = match rest.find('/') {
            Some(at) => rest.split_at(at),
            None => (rest, ""),
        };
        let path = path.split('#').next().unwrap_or_default();
        if url.contains(|c: char| c.is_ascii_control() || c == ' ') || host.contains('@') {
            return Err(wrong("a URL has no spaces, and no user here"));
        }
        let with_port = match host.rsplit_once(':') {
            Some((_, port)) if port.parse::<u16>().is_ok() => host.to_owned(),
            _ => format!("{host}:80"),
        };
        let found = with_port.to_socket_addrs();
        let mut found = found.map_err(|source| HttpError::Connection {
            address: host.to_owned(),
            source,
        })?;
        Ok(Self {
            socket: found
                .next()
                .ok_or_else(|| wrong("the host has no address"))?,
            host: host.to_owned(),
            path: match path {
                "" | "/" => "/sparql".to_owned(),
                other => other.to_owned(),
            },
        })
    }

    /// Connects.
    ///
    /// # Errors
    /// [`HttpError::Connection`].
    pub fn connect(&self) -> Result<TcpStream, HttpError> {
        const PATIENCE: Duration = Duration::from_secs(10);
        let connected = TcpStream::connect_timeout(&self.socket, PATIENCE);
        let stream = connected.map_err(|error| self.failed(error))?;
        stream
            .set_nodelay(true)
            .map_err(|error| self.failed(error))?;
        Ok(stream)
    }

    /// Replaces what is in `out` by a request.
    pub(crate) fn request(&self, query: &str, out: &mut String) {
        out.clear();
        // Writing to a string does not fail.
        let _ = write!(
            out,
            "POST {} HTTP/1.1\r\nHost: {}\r\nContent-Type: application/sparql-query\r\n\
             Accept: text/tab-separated-values\r\nContent-Length: {}\r\n\r\n{query}",
            self.path,
            self.host,
            query.len()
        );
    }

    pub(crate) fn failed(&self, source: io::Error) -> HttpError {
        HttpError::Connection {
            address: self.host.clone(),
            source,
        }
    }
}

/// An answer as it comes.
#[derive(Debug, Default)]
pub(crate) struct Response {
    state: State,
    /// The part of a head, or of the line of a chunk's length, that has come.
    pending: Vec<u8>,
    status: u16,
    /// The connection is closed after it.
    pub(crate) closes: bool,
    lines: u64,
    ends_in_line: bool,
    keep: Option<usize>,
    kept: Vec<u8>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum State {
    #[default]
    Head,
    /// So many bytes of the body are left.
    Length(u64),
    UntilClose,
    ChunkLength,
    /// So many bytes of this chunk are left, then CRLF.
    Chunk(u64),
    ChunkEnd,
    Trailer,
    Done,
}

impl Response {
    /// Ready for the next answer.
    pub(crate) fn clear(&mut self) {
        let kept = std::mem::take(&mut self.kept);
        let pending = std::mem::take(&mut self.pending);
        *self = Self {
            kept,
            pending,
            keep: self.keep,
            ..Self::default()
        };
        self.kept.clear();
        self.pending.clear();
    }

    /// Rows of a complete TSV answer: its lines but the first.
    pub(crate) fn rows(&self) -> u64 {
        (self.lines + u64::from(self.ends_in_line)).saturating_sub(1)
    }

    /// Takes what has come; whether the answer is complete.
    pub(crate) fn feed(&mut self, mut bytes: &[u8]) -> Result<bool, HttpError> {
        while self.state != State::Done {
            if bytes.is_empty() {
                return Ok(false);
            }
            bytes = self.step(bytes)?;
        }
        if !bytes.is_empty() {
            return Err(HttpError::Malformed("more came than the answer"));
        }
        self.complete()
    }

    /// The connection was closed; whether the answer is complete.
    pub(crate) fn close(&mut self) -> Result<bool, HttpError> {
        if self.state != State::UntilClose {
            return Err(HttpError::Closed);
        }
        self.state = State::Done;
        self.complete()
    }

    fn complete(&self) -> Result<bool, HttpError> {
        if self.status == 200 {
            return Ok(true);
        }
        Err(HttpError::Status {
            status: self.status,
            body: String::from_utf8_lossy(&self.kept).into_owned(),
        })
    }

    /// One part of what has come; what is behind it.
    fn step<'b>(&mut self, bytes: &'b [u8]) -> Result<&'b [u8], HttpError> {
        match self.state {
            State::Head => self.head(bytes),
            State::Length(left) => {
                assert!(
                    self.pending.is_empty(),
                    "a body begins after the head was taken"
                );
                let (body, rest) = split(bytes, left);
                self.body(body);
                self.state = State::length(left - body.len() as u64);
                Ok(rest)
            }
            State::UntilClose => {
                self.body(bytes);
                Ok(&[])
            }
            State::Chunk(left) => {
                let (body, rest) = split(bytes, left);
                self.body(body);
                self.state = match left - body.len() as u64 {
                    0 => State::ChunkEnd,
                    left => State::Chunk(left),
                };
                Ok(rest)
            }
            State::ChunkLength | State::ChunkEnd | State::Trailer => self.line(bytes),
            State::Done => Ok(bytes),
        }
    }

    /// A line between chunks.
    fn line<'b>(&mut self, bytes: &'b [u8]) -> Result<&'b [u8], HttpError> {
        let Some(end) = memchr(b'\n', bytes) else {
            self.pend(bytes)?;
            return Ok(&[]);
        };
        self.pend(&bytes[..end])?;
        let line = self.pending.trim_ascii();
        self.state = match (self.state, line) {
            (State::ChunkEnd, b"") => State::ChunkLength,
            (State::ChunkEnd, _) => return Err(HttpError::Malformed("a chunk without its end")),
            (State::Trailer, b"") => State::Done,
            (State::Trailer, _) => State::Trailer,
            (_, line) => {
                let digits = line.split(|&byte| byte == b';').next().unwrap_or_default();
                let digits = std::str::from_utf8(digits.trim_ascii()).ok();
                let length = digits.and_then(|digits| u64::from_str_radix(digits, 16).ok());
                match length.ok_or(HttpError::Malformed("a chunk without its length"))? {
                    0 => State::Trailer,
                    length => State::Chunk(length),
                }
            }
        };
        self.pending.clear();
        Ok(&bytes[end + 1..])
    }

    fn head<'b>(&mut self, bytes: &'b [u8]) -> Result<&'b [u8], HttpError> {
        const END: &[u8] = b"\r\n\r\n";
        if self.pending.is_empty()
            && let Some(end) = memmem::find(bytes, END)
        {
            self.fields(&bytes[..end])?;
            return Ok(&bytes[end + END.len()..]);
        }
        let before = self.pending.len();
        self.pend(bytes)?;
        let Some(end) = memmem::find(&self.pending, END) else {
            return Ok(&[]);
        };
        assert!(
            end + END.len() > before,
            "the head ends in the bytes that came last"
        );
        let head = std::mem::take(&mut self.pending);
        self.fields(&head[..end])?;
        Ok(&bytes[end + END.len() - before..])
    }

    /// Reads the lines of a head.
    fn fields(&mut self, head: &[u8]) -> Result<(), HttpError> {
        let mut lines = head
            .split(|&byte| byte == b'\n')
            .map(<[u8]>::trim_ascii_end);
        let first = lines.next().unwrap_or_default();
        let status = first
            .strip_prefix(b"HTTP/1.")
            .and_then(|rest| rest.get(2..5))
            .and_then(|digits| std::str::from_utf8(digits).ok()?.parse().ok());
        self.status = status.ok_or(HttpError::Malformed("no status line"))?;
        self.closes = first.starts_with(b"HTTP/1.0");
        if (100..200).contains(&self.status) {
            return Ok(());
        }
        let mut state = State::UntilClose;
        for line in lines {
            let Some(colon) = memchr(b':', line) else {
                return Err(HttpError::Malformed("a header without a colon"));
            };
            let (name, value) = (&line[..colon], line[colon + 1..].trim_ascii());
            if name.eq_ignore_ascii_case(b"content-length") && state != State::ChunkLength {
                let length = std::str::from_utf8(value).ok();
                let length = length.and_then(|length| length.parse().ok());
                state = State::length(length.ok_or(HttpError::Malformed("no length"))?);
            } else if name.eq_ignore_ascii_case(b"transfer-encoding") {
                if !value.eq_ignore_ascii_case(b"chunked") {
                    return Err(HttpError::Malformed("a coding that was not asked for"));
                }
                state = State::ChunkLength;
            } else if name.eq_ignore_ascii_case(b"connection") {
                self.closes = value.eq_ignore_ascii_case(b"close");
            }
        }
        self.closes |= state == State::UntilClose;
        self.state = state;
        Ok(())
    }

    fn pend(&mut self, bytes: &[u8]) -> Result<(), HttpError> {
        self.pending.extend_from_slice(bytes);
        if self.pending.len() > HEAD_BYTES_MAX + READ_BYTES {
            return Err(HttpError::Malformed("a head without end"));
        }
        Ok(())
    }

    fn body(&mut self, bytes: &[u8]) {
        let Some(last) = bytes.last() else { return };
        self.lines += memchr_iter(b'\n', bytes).count() as u64;
        self.ends_in_line = *last != b'\n';
        let keep = match self.status {
            200 => self.keep.unwrap_or(0),
            _ => EXCERPT_BYTES,
        };
        let free = keep.saturating_sub(self.kept.len());
        self.kept.extend_from_slice(&bytes[..free.min(bytes.len())]);
    }
}

impl State {
    fn length(left: u64) -> Self {
        match left {
            0 => State::Done,
            left => State::Length(left),
        }
    }
}

fn split(bytes: &[u8], left: u64) -> (&[u8], &[u8]) {
    let here = usize::try_from(left).map_or(bytes.len(), |left| left.min(bytes.len()));
    bytes.split_at(here)
}

/// One connection that waits for each answer.
#[derive(Debug)]
pub struct Client {
    address: Address,
    stream: Option<TcpStream>,
    response: Response,
    request: String,
    buffer: Vec<u8>,
}

impl Client {
    /// Connects at its first query.
    pub fn new(address: &Address) -> Self {
        Self {
            address: address.clone(),
            stream: None,
            response: Response::default(),
            request: String::new(),
            buffer: vec![0; READ_BYTES],
        }
    }

    /// Asks, and counts the rows of the answer.
    ///
    /// # Errors
    /// [`HttpError`].
    pub fn rows(&mut self, query: &str) -> Result<u64, HttpError> {
        self.ask(query, None)?;
        Ok(self.response.rows())
    }

    /// Asks, and gives the answer's TSV, of at most so many bytes.
    ///
    /// # Errors
    /// [`HttpError`].
    pub fn text(&mut self, query: &str, bytes_max: usize) -> Result<Vec<u8>, HttpError> {
        self.ask(query, Some(bytes_max.saturating_add(1)))?;
        if self.response.kept.len() > bytes_max {
            return Err(HttpError::Malformed("it is longer than can be kept"));
        }
        Ok(std::mem::take(&mut self.response.kept))
    }

    fn ask(&mut self, query: &str, keep: Option<usize>) -> Result<(), HttpError> {
        let address = &self.address;
        let stream = match &mut self.stream {
            Some(stream) => stream,
            none => none.insert(address.connect()?),
        };
        self.response.keep = keep;
        self.response.clear();
        address.request(query, &mut self.request);
        let failed = |error| address.failed(error);
        stream.write_all(self.request.as_bytes()).map_err(failed)?;
        loop {
            let read = stream.read(&mut self.buffer).map_err(failed)?;
            let is_complete = match read {
                0 => self.response.close()?,
                read => self.response.feed(&self.buffer[..read])?,
            };
            if is_complete {
                break;
            }
        }
        if self.response.closes {
            self.stream = None;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
