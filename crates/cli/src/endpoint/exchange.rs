//! One exchange with an endpoint: a request, its redirects, the head that answers it, the body as it comes.
//!
//! A thread speaks it, so that whoever waits can stop waiting at any moment; that is the server's
//! ([`server::outbound::exchange`]), whose queries call other endpoints the same way.
//!
//! Redirects are followed here rather than by the library, because it would turn a POST that is
//! moved from http to https into a GET without a query. The user's headers (which may carry a
//! token) go along only to the same host, and never from https to http.
//!
//! **A server that starts.** The line after `somersault serve &` meets a port at which nobody listens for a moment, and then a
//! server that opens its store. Both are waited for: the first on this machine alone and for a second, the second for
//! as long as the answer may take, or a minute. Not so by who has another way to try again ([`Waiting`]), nor where a body is
//! read as it is sent.

use super::{Endpoint, GRACE, Spent};
use crate::exit::Code;
use crate::say::say;
use crate::stop::Stop;
use crate::trouble::Trouble;
use server::outbound::exchange::{self, Broken, IsStopped, field};
use std::io::{self, Read};
use std::sync::Arc;
use std::time::{Duration, Instant};
use ureq::http::uri::{PathAndQuery, Uri};
use ureq::http::{HeaderMap, Method, StatusCode, header};
use ureq::{Agent, Body, RequestBuilder, SendBody, http};

const REDIRECTS_MAX: usize = 5;
/// The end of an answer that is kept, to find in it why it broke off.
const TAIL_BYTES: usize = 4 << 10;

/// How long a port of this machine is looked at, at which nobody listens.
const LISTEN_MAX: Duration = Duration::from_secs(1);
/// How long a server may open its store, where the answer may take as long as it takes.
const START_MAX: Duration = Duration::from_mins(1);
/// The pause between two looks, where a server names none.
const PAUSE: Duration = Duration::from_millis(50);
/// As much of a refusal as is read.
const REFUSAL_BYTES_MAX: u64 = 64 << 10;

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
        let text = field(&self.headers, header::CONTENT_TYPE);
        let essence = text.split(';').next().unwrap_or_default();
        essence.trim().to_ascii_lowercase()
    }

    /// What the server calls itself.
    pub fn server(&self) -> Option<String> {
        let name = field(&self.headers, header::SERVER);
        (!name.is_empty()).then(|| name.to_owned())
    }

    /// What `Somersault-Snapshot` says.
    pub fn snapshot(&self) -> Option<u64> {
        let number = field(&self.headers, "somersault-snapshot");
        number.trim().parse().ok()
    }

    /// How long to wait before the request is made again, where the server says so in seconds (`Retry-After`).
    pub fn retry_after(&self) -> Option<Duration> {
        let seconds = field(&self.headers, header::RETRY_AFTER);
        seconds.trim().parse().ok().map(Duration::from_secs)
    }

    /// What `Somersault-Warnings` says.
    pub fn warnings(&self) -> u64 {
        let number = field(&self.headers, "somersault-warnings");
        number.trim().parse().unwrap_or(0)
    }

    /// What `Server-Timing` says.
    pub fn spent(&self) -> Spent {
        server_timing(field(&self.headers, "server-timing"))
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

/// What is waited for of a server that starts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Waiting {
    /// Nothing.
    No,
    /// That somebody listens.
    Listening,
    /// That, and that its store is open.
    Open,
}

/// What is sent.
pub(super) struct Message {
    /// `POST`, or `GET` or `DELETE`, which have no body.
    pub method: Method,
    /// The body's type.
    pub content_type: &'static str,
    /// How it is compressed.
    pub coding: Option<&'static str>,
    /// The types that may come back.
    pub accept: String,
    pub body: Sent,
    pub waiting: Waiting,
}

/// A body.
pub(super) enum Sent {
    Text(String),
    Bytes(Vec<u8>),
    /// Read as it is sent, once; `None` afterwards.
    Stream(Option<Box<dyn Read + Send>>),
}

/// Sends a message and waits for the head of its answer.
pub(super) fn send(
    endpoint: &Endpoint,
    message: Message,
    stop: &Stop,
) -> Result<Response, Trouble> {
    let stop = stop.clone();
    send_watched(endpoint, message, move || stop.is_raised())
}

/// The same, for whoever stops to wait for reasons of its own.
pub(super) fn send_watched(
    endpoint: &Endpoint,
    message: Message,
    is_stopped: impl Fn() -> bool + Send + Sync + 'static,
) -> Result<Response, Trouble> {
    let agent = agent(endpoint.timeout.map(|timeout| timeout + GRACE));
    let is_stopped: Arc<dyn Fn() -> bool + Send + Sync> = Arc::new(is_stopped);
    let mut task = Task {
        endpoint: endpoint.clone(),
        message,
        is_stopped: Arc::clone(&is_stopped),
        begun: Instant::now(),
        is_said: false,
    };
    let is_stopped: IsStopped = Box::new(move || is_stopped());
    let (head, body) = exchange::begin(agent, is_stopped, move |agent| task.answer(agent))?;
    Ok(Response {
        status: head.status,
        headers: head.headers,
        body: Incoming {
            body,
            tail: Vec::new(),
            trouble: None,
        },
    })
}

pub(super) fn agent(timeout: Option<Duration>) -> Agent {
    exchange::config().timeout_global(timeout).build().into()
}

impl From<Broken> for Trouble {
    fn from(broken: Broken) -> Trouble {
        trouble(&broken)
    }
}

fn trouble(broken: &Broken) -> Trouble {
    match broken {
        Broken::Stopped => Trouble::new(Code::Interrupted, "cancelled"),
        Broken::Thread(_) | Broken::Silent => Trouble::new(Code::Failed, broken.to_string()),
    }
}

/// What the exchange's thread does until the head has come.
struct Task {
    endpoint: Endpoint,
    message: Message,
    is_stopped: Arc<dyn Fn() -> bool + Send + Sync>,
    begun: Instant,
    /// Whether it was said what is waited for.
    is_said: bool,
}

impl Task {
    fn answer(&mut self, agent: &Agent) -> Result<http::Response<Body>, Trouble> {
        let mut url = self.endpoint.url.clone();
        for _ in 0..=REDIRECTS_MAX {
            let response = self.send_to_started(agent, &url)?;
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

    /// Sends to a server that may be starting; see the head of this file.
    fn send_to_started(
        &mut self,
        agent: &Agent,
        url: &Uri,
    ) -> Result<http::Response<Body>, Trouble> {
        loop {
            let waiting = match self.message.body {
                Sent::Stream(_) => Waiting::No,
                Sent::Text(_) | Sent::Bytes(_) => self.message.waiting,
            };
            let limit = self.endpoint.timeout.unwrap_or(START_MAX);
            let pause = match self.send(agent, url) {
                Ok(response) if waiting != Waiting::Open || response.status() != 503 => {
                    return Ok(response);
                }
                Ok(response) => {
                    let (response, starting) = starting(response);
                    match starting {
                        Some((detail, pause)) if self.begun.elapsed() + pause < limit => {
                            if !std::mem::replace(&mut self.is_said, true) {
                                say!("somersault: waiting for {url}: {detail}");
                            }
                            pause
                        }
                        _ => return Ok(response),
                    }
                }
                Err(error) if waiting != Waiting::No && is_refused(&error) && is_here(url) => {
                    if self.begun.elapsed() >= LISTEN_MAX.min(limit) {
                        let message = format!(
                            "{url}: cannot connect: nobody listens there; somersault serve starts a server"
                        );
                        return Err(Trouble::new(Code::Connection, message));
                    }
                    PAUSE
                }
                Err(error) => return Err(self.trouble(url, &error)),
            };
            self.pause(pause)?;
        }
    }

    fn pause(&self, pause: Duration) -> Result<(), Trouble> {
        let until = Instant::now() + pause;
        while Instant::now() < until {
            if (self.is_stopped)() {
                return Err(trouble(&Broken::Stopped));
            }
            std::thread::sleep(PAUSE.min(until.saturating_duration_since(Instant::now())));
        }
        Ok(())
    }

    fn send(&mut self, agent: &Agent, url: &Uri) -> Result<http::Response<Body>, ureq::Error> {
        match self.message.method {
            Method::GET => return self.dressed(agent.get(url), url).call(),
            Method::DELETE => return self.dressed(agent.delete(url), url).call(),
            _ => {}
        }
        let mut request = self.dressed(agent.post(url), url);
        if !self.message.content_type.is_empty() {
            request = request.header(header::CONTENT_TYPE, self.message.content_type);
        }
        if let Some(coding) = self.message.coding {
            request = request.header(header::CONTENT_ENCODING, coding);
        }
        match &mut self.message.body {
            Sent::Text(text) => request.send(&*text),
            Sent::Bytes(bytes) => request.send(&bytes[..]),
            Sent::Stream(stream) => match stream.take() {
                Some(reader) => request.send(SendBody::from_owned_reader(reader)),
                None => request.send_empty(),
            },
        }
    }

    /// A request with the fields and parameters that all methods have.
    fn dressed<B>(&self, mut request: RequestBuilder<B>, url: &Uri) -> RequestBuilder<B> {
        let own: &[_] = if may_have_headers(&self.endpoint.url, url) {
            &self.endpoint.headers
        } else {
            &[]
        };
        if !own.iter().any(|(name, _)| name == header::ACCEPT) {
            request = request.header(header::ACCEPT, &self.message.accept);
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
        request
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

/// A refusal, and where it is that of a Somersault server that is starting: what it waits for, and when to ask again.
fn starting(response: http::Response<Body>) -> (http::Response<Body>, Option<(String, Duration)>) {
    let (head, mut body) = response.into_parts();
    let mut text = Vec::new();
    // What could be read before an error is all that there is to show.
    let _ = body
        .as_reader()
        .take(REFUSAL_BYTES_MAX)
        .read_to_end(&mut text);
    let problem: serde_json::Value = serde_json::from_slice(&text).unwrap_or_default();
    let is_starting = problem["type"]
        .as_str()
        .is_some_and(|name| name.ends_with(":starting"));
    let seconds = field(&head.headers, header::RETRY_AFTER)
        .trim()
        .parse()
        .ok();
    let pause = seconds.map_or(PAUSE, Duration::from_secs);
    let detail = problem["detail"].as_str().unwrap_or_default();
    let starting = is_starting.then(|| (detail.to_owned(), pause));
    let body = Body::builder().data(text);
    (http::Response::from_parts(head, body), starting)
}

fn is_refused(error: &ureq::Error) -> bool {
    matches!(error, ureq::Error::Io(error) if error.kind() == io::ErrorKind::ConnectionRefused)
}

/// Whether a URL names a port of this machine.
fn is_here(url: &Uri) -> bool {
    let host = url.host().unwrap_or_default().trim_matches(['[', ']']);
    let address: Result<std::net::IpAddr, _> = host.parse();
    host == "localhost" || address.is_ok_and(|address| address.is_loopback())
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
    body: exchange::Incoming,
    tail: Vec<u8>,
    trouble: Option<Trouble>,
}

impl Incoming {
    /// Why a read failed, if one did: better words than those of whoever was reading.
    pub fn take_trouble(&mut self) -> Option<Trouble> {
        let mut trouble = self.trouble.take()?;
        if let Some(reason) = last_record(&self.tail) {
            trouble.message = format!("{}; the endpoint says: {reason}", trouble.message);
        }
        Some(trouble)
    }

    fn keep_tail(&mut self, read: &[u8]) {
        let read = &read[read.len().saturating_sub(TAIL_BYTES)..];
        let kept = TAIL_BYTES - read.len();
        let excess = self.tail.len().saturating_sub(kept);
        self.tail.drain(..excess);
        self.tail.extend_from_slice(read);
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
        let error = match self.body.read(buffer) {
            Ok(len) => {
                self.keep_tail(&buffer[..len]);
                return Ok(len);
            }
            Err(error) => error,
        };
        let broken = error.get_ref().and_then(|error| error.downcast_ref());
        let trouble = match broken {
            Some(broken) => trouble(broken),
            None => Trouble::new(Code::Failed, format!("the answer broke off: {error}")),
        };
        let error = io::Error::other(trouble.message.clone());
        self.trouble = Some(trouble);
        Err(error)
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
