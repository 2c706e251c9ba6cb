//! One exchange of HTTP: a thread speaks it, so that whoever waits can stop waiting at any moment.
//!
//! The client blocks (there is one exchange at a time, and nothing to schedule), and its agent can
//! be shut down from another thread, which ends reads and writes at once. Connecting and looking
//! up a name cannot be interrupted: there the thread is left to end by itself, which costs nothing.
//!
//! Redirects are followed here rather than by the client, because it would turn a POST that is
//! moved from http to https into a GET without a query. The user's headers (which may carry a
//! token) go along only to the same host, and never from https to http.
//!
//! | who | touches | when |
//! |---|---|---|
//! | the exchange's thread | the connection, the channel's sender | until the body's end, or its reader has gone |
//! | the reader | the channel's receiver; shuts the agent down | when stopped or dropped |

use super::{Endpoint, GRACE, Spent};
use crate::exit::Code;
use crate::stop::Stop;
use crate::trouble::Trouble;
use rustls::crypto::ring;
use std::io::{self, Read};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::time::Duration;
use ureq::http::uri::{PathAndQuery, Uri};
use ureq::http::{HeaderMap, StatusCode, header};
use ureq::tls::{RootCerts, TlsConfig};
use ureq::{Agent, Body, SendBody, http};

const CHUNK_BYTES: usize = 64 << 10;
/// Chunks between the connection and whoever reads.
const CHUNKS_MAX: usize = 4;
/// How often a waiting reader looks whether to stop.
const LOOK: Duration = Duration::from_millis(25);
const REDIRECTS_MAX: usize = 5;
/// The end of an answer that is kept, to find in it why it broke off.
const TAIL_BYTES: usize = 4 << 10;

/// What the thread has to say.
enum Part {
    Head(StatusCode, HeaderMap),
    Bytes(Vec<u8>),
    End,
    Failed(Trouble),
}

/// A head, and the body to come.
pub(super) struct Response {
    status: StatusCode,
    headers: HeaderMap,
    pub body: Incoming,
}

impl Response {
    pub fn is_success(&self) -> bool {
        self.status.is_success()
    }

    pub fn status(&self) -> StatusCode {
        self.status
    }

    /// The media type without its parameters, in lower case; empty where none was sent.
    pub fn media_type(&self) -> String {
        let value = self.headers.get(header::CONTENT_TYPE);
        let text = value.and_then(|value| value.to_str().ok());
        let essence = text.and_then(|text| text.split(';').next());
        essence.unwrap_or_default().trim().to_ascii_lowercase()
    }

    /// What the server calls itself.
    pub fn server(&self) -> Option<String> {
        let value = self.headers.get(header::SERVER)?;
        value.to_str().ok().map(str::to_owned)
    }

    /// What `Somersault-Snapshot` says.
    pub fn snapshot(&self) -> Option<u64> {
        let value = self.headers.get("somersault-snapshot")?;
        value.to_str().ok()?.trim().parse().ok()
    }

    /// What `Somersault-Warnings` says.
    pub fn warnings(&self) -> u64 {
        let value = self.headers.get("somersault-warnings");
        let number = value.and_then(|value| value.to_str().ok()?.trim().parse().ok());
        number.unwrap_or(0)
    }

    /// What `Server-Timing` says.
    pub fn spent(&self) -> Spent {
        let value = self.headers.get("server-timing");
        server_timing(
            value
                .and_then(|value| value.to_str().ok())
                .unwrap_or_default(),
        )
    }
}

fn server_timing(text: &str) -> Spent {
    let dur = |name: &str| {
        let metric = text.split(',').map(str::trim).find_map(|metric| {
            let (found, parameters) = metric.split_once(';')?;
            (found.trim() == name).then_some(parameters)
        })?;
        let millis = metric
            .split(';')
            .find_map(|p| p.trim().strip_prefix("dur="))?;
        Duration::try_from_secs_f64(millis.parse::<f64>().ok()? / 1000.0).ok()
    };
    Spent {
        parse: dur("parse"),
        plan: dur("plan"),
        exec: dur("exec"),
    }
}

/// What is sent.
pub(super) struct Message {
    /// The body's type.
    pub content_type: &'static str,
    /// How it is compressed.
    pub coding: Option<&'static str>,
    /// The types that may come back.
    pub accept: String,
    pub body: Sent,
}

/// A body.
pub(super) enum Sent {
    Text(String),
    /// Read as it is sent, once; `None` afterwards.
    Stream(Option<Box<dyn Read + Send>>),
}

/// Sends a message and waits for the head of its answer.
pub(super) fn send(
    endpoint: &Endpoint,
    message: Message,
    stop: &Stop,
) -> Result<Response, Trouble> {
    let agent = agent(endpoint.timeout.map(|timeout| timeout + GRACE));
    let (sender, receiver) = sync_channel(CHUNKS_MAX);
    let mut task = Task {
        endpoint: endpoint.clone(),
        message,
        agent: agent.clone(),
    };
    let spawned = std::thread::Builder::new()
        .name("exchange".to_owned())
        .spawn(move || task.run(&sender));
    if let Err(error) = spawned {
        let message = format!("no thread for the exchange could be started: {error}");
        return Err(Trouble::new(Code::Failed, message));
    }
    let mut body = Incoming {
        receiver,
        agent,
        stop: stop.clone(),
        chunk: Vec::new(),
        at: 0,
        tail: Vec::new(),
        trouble: None,
        is_ended: false,
    };
    match body.next() {
        Part::Head(status, headers) => Ok(Response {
            status,
            headers,
            body,
        }),
        Part::Failed(trouble) => Err(trouble),
        Part::Bytes(_) | Part::End => unreachable!("the thread sends the head first"),
    }
}

pub(super) fn agent(timeout: Option<Duration>) -> Agent {
    let tls = TlsConfig::builder()
        .root_certs(RootCerts::PlatformVerifier)
        .unversioned_rustls_crypto_provider(Arc::new(ring::default_provider()))
        .build();
    let config = Agent::config_builder()
        .timeout_global(timeout)
        .http_status_as_error(false)
        .max_redirects(0)
        .max_redirects_will_error(false)
        .user_agent(concat!("somersault/", env!("CARGO_PKG_VERSION")))
        .tls_config(tls)
        .build();
    config.into()
}

/// What the thread does.
struct Task {
    endpoint: Endpoint,
    message: Message,
    agent: Agent,
}

impl Task {
    fn run(&mut self, sender: &SyncSender<Part>) {
        // An error of `send` says that nobody reads any more.
        let _ = match self.answer() {
            Ok(response) => stream(response, sender),
            Err(trouble) => sender.send(Part::Failed(trouble)).map_err(|_| ()),
        };
    }

    fn answer(&mut self) -> Result<http::Response<Body>, Trouble> {
        let mut url = self.endpoint.url.clone();
        for _ in 0..=REDIRECTS_MAX {
            let response = match self.post(&url) {
                Ok(response) => response,
                Err(error) => return Err(self.trouble(&url, &error)),
            };
            if !matches!(response.status().as_u16(), 301 | 302 | 307 | 308) {
                return Ok(response);
            }
            let location = response.headers().get(header::LOCATION);
            let location = location.and_then(|value| value.to_str().ok());
            let Some(next) = location.and_then(|location| redirected(&url, location)) else {
                let message = format!("{url}: the endpoint has moved, and does not say where to");
                return Err(Trouble::new(Code::Connection, message));
            };
            if matches!(self.message.body, Sent::Stream(None)) {
                let message = format!("{url}: the endpoint has moved to {next}: name that");
                return Err(Trouble::new(Code::Connection, message));
            }
            url = next;
        }
        let message = format!(
            "{}: moved more than {REDIRECTS_MAX} times",
            self.endpoint.url
        );
        Err(Trouble::new(Code::Connection, message))
    }

    fn post(&mut self, url: &Uri) -> Result<http::Response<Body>, ureq::Error> {
        let message = &mut self.message;
        let mut request = self
            .agent
            .post(url)
            .header(header::CONTENT_TYPE, message.content_type);
        if let Some(coding) = message.coding {
            request = request.header(header::CONTENT_ENCODING, coding);
        }
        let own: &[_] = if may_have_headers(&self.endpoint.url, url) {
            &self.endpoint.headers
        } else {
            &[]
        };
        if !own.iter().any(|(name, _)| name == header::ACCEPT) {
            request = request.header(header::ACCEPT, &message.accept);
        }
        for (name, value) in own {
            request = request.header(name, value);
        }
        if let (true, Some(timeout)) = (self.endpoint.is_timeout_sent, self.endpoint.timeout) {
            request = request.query("timeout", timeout.as_secs_f64().to_string());
        }
        for (name, value) in &self.endpoint.parameters {
            request = request.query(name, value);
        }
        match &mut message.body {
            Sent::Text(text) => request.send(&*text),
            Sent::Stream(stream) => match stream.take() {
                Some(reader) => request.send(SendBody::from_owned_reader(reader)),
                None => request.send_empty(),
            },
        }
    }

    fn trouble(&self, url: &Uri, error: &ureq::Error) -> Trouble {
        match error {
            ureq::Error::Timeout(_) => {
                let timeout = self.endpoint.timeout.unwrap_or_default();
                let seconds = timeout.as_secs_f64();
                let message = format!("{url}: no answer within {seconds} s");
                Trouble::new(Code::Limit, message)
            }
            ureq::Error::BadUri(_) => Trouble::new(Code::Usage, format!("{url}: {error}")),
            _ => Trouble::new(Code::Connection, format!("{url}: cannot connect: {error}")),
        }
    }
}

fn stream(response: http::Response<Body>, sender: &SyncSender<Part>) -> Result<(), ()> {
    let (head, mut body) = response.into_parts();
    let send = |part| sender.send(part).map_err(|_| ());
    send(Part::Head(head.status, head.headers))?;
    let mut reader = body.as_reader();
    loop {
        let mut chunk = vec![0; CHUNK_BYTES];
        match reader.read(&mut chunk) {
            Ok(0) => return send(Part::End),
            Ok(len) => {
                chunk.truncate(len);
                send(Part::Bytes(chunk))?;
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => {
                let message = format!("the answer broke off: {error}");
                return send(Part::Failed(Trouble::new(Code::Failed, message)));
            }
        }
    }
}

/// Where a redirect leads: another URL, or a path on the same host.
fn redirected(from: &Uri, location: &str) -> Option<Uri> {
    if location.starts_with("http://") || location.starts_with("https://") {
        return location.parse().ok();
    }
    let path: PathAndQuery = location.starts_with('/').then(|| location.parse().ok())??;
    let mut parts = from.clone().into_parts();
    parts.path_and_query = Some(path);
    Uri::from_parts(parts).ok()
}

fn may_have_headers(first: &Uri, now: &Uri) -> bool {
    let port = |uri: &Uri| uri.port_u16();
    let is_upgrade = first.scheme_str() == Some("http") && now.scheme_str() == Some("https");
    first.host() == now.host()
        && (is_upgrade || (first.scheme() == now.scheme() && port(first) == port(now)))
}

/// A body as it comes.
pub(super) struct Incoming {
    receiver: Receiver<Part>,
    agent: Agent,
    stop: Stop,
    chunk: Vec<u8>,
    at: usize,
    tail: Vec<u8>,
    trouble: Option<Trouble>,
    is_ended: bool,
}

impl Incoming {
    fn next(&mut self) -> Part {
        loop {
            if self.stop.is_raised() {
                self.agent.clone().shutdown();
                return Part::Failed(Trouble::new(Code::Interrupted, "cancelled"));
            }
            match self.receiver.recv_timeout(LOOK) {
                Ok(part) => return part,
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => {
                    let message = "the exchange ended without an answer";
                    return Part::Failed(Trouble::new(Code::Failed, message));
                }
            }
        }
    }

    /// Why a read failed, if one did: better words than those of whoever was reading.
    pub fn take_trouble(&mut self) -> Option<Trouble> {
        let mut trouble = self.trouble.take()?;
        if let Some(reason) = last_record(&self.tail) {
            trouble.message = format!("{}; the endpoint says: {reason}", trouble.message);
        }
        Some(trouble)
    }

    fn keep_tail(&mut self) {
        self.tail.extend_from_slice(&self.chunk);
        let excess = self.tail.len().saturating_sub(TAIL_BYTES);
        self.tail.drain(..excess);
    }
}

/// The reason that Somersault's own server writes at the end of an answer that it breaks off.
fn last_record(tail: &[u8]) -> Option<String> {
    let text = String::from_utf8_lossy(tail);
    let (_, reason) = text
        .rsplit_once("# error: ")
        .or_else(|| text.rsplit_once("<!-- error: "))?;
    let reason = reason.lines().next()?.trim_end_matches("-->").trim();
    Some(reason.to_owned())
}

impl Read for Incoming {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        while self.at == self.chunk.len() && !self.is_ended {
            match self.next() {
                Part::Bytes(chunk) => {
                    (self.chunk, self.at) = (chunk, 0);
                    self.keep_tail();
                }
                Part::End | Part::Head(..) => self.is_ended = true,
                Part::Failed(trouble) => {
                    let error = io::Error::other(trouble.message.clone());
                    self.trouble = Some(trouble);
                    return Err(error);
                }
            }
        }
        let len = buffer.len().min(self.chunk.len() - self.at);
        buffer[..len].copy_from_slice(&self.chunk[self.at..self.at + len]);
        self.at += len;
        Ok(len)
    }
}

impl Drop for Incoming {
    /// Drops the connection, if the answer is not whole: its server then knows that nobody waits.
    fn drop(&mut self) {
        self.agent.clone().shutdown();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn timings_are_read() {
        let spent = server_timing("wait;dur=1, parse;dur=0.120, exec;desc=x;dur=3");
        assert_eq!(spent.parse, Some(Duration::from_micros(120)));
        assert_eq!(spent.plan, None);
        assert_eq!(spent.exec, Some(Duration::from_millis(3)));
        assert_eq!(
            server_timing("parse;dur=nan, plan;dur=-1"),
            Spent::default()
        );
    }

    #[test]
    fn headers_stay_with_their_host() {
        let uri = |text: &str| text.parse::<Uri>().unwrap();
        let may = |from: &str, to: &str| may_have_headers(&uri(from), &uri(to));
        assert!(may("http://e/a", "http://e/b"));
        assert!(may("http://e/a", "https://e/a"));
        assert!(!may("https://e/a", "http://e/a"));
        assert!(!may("http://e/a", "http://f/a"));
        assert!(!may("http://e:1/a", "http://e:2/a"));
        let to = redirected(&uri("http://e:1/a?b"), "/c?d").unwrap();
        assert_eq!(to, uri("http://e:1/c?d"));
        assert_eq!(redirected(&uri("http://e/"), "c"), None);
    }

    #[test]
    fn the_reason_of_a_broken_answer_is_found() {
        assert_eq!(
            last_record(b"a\tb\n# error: out of time\n").as_deref(),
            Some("out of time")
        );
        assert_eq!(last_record(b"<x><!-- error: y -->").as_deref(), Some("y"));
        assert_eq!(last_record(b"{\"a\":"), None);
    }
}
