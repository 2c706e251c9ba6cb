//! `GET /api/v1/continuous/{name}/reports`: what a registered query has found, numbered from 1.
//!
//! | asked by | answer |
//! |---|---|
//! | WebSocket | a message for each report, as it comes, without end ([`messages`]) |
//! | `Accept: text/event-stream` | an event for each, likewise ([`events`]) |
//! | `Accept: application/x-ndjson` | what there is behind `after`, a line each, with its number |
//! | `Accept` or `format` of an answer's format | the next report behind `after` as that document ([`crate::endpoint::documents`]); 204 where there is none |
//! | anything else | what there is behind `after`, as one JSON document |
//!
//! Without events, `wait` says how long an answer may wait for the first report (long poll), `limit` how many it has at
//! most; `instance` names one of a template's, whose reports alone are wanted. `after`, and `Last-Event-ID` before it, is the number that was seen last.
//! `format` is for events and messages, too.
//!
//! A consumer that follows ([`Follower`]) is one task and no thread. It holds one piece of [`PIECE_BYTES`] or one report while its
//! client takes nothing; the connection's own patience ends one that takes nothing for too long, and how many reports were let
//! go meanwhile is said. The task ends with its client, with its query, and when the server is about to end.

mod events;
mod messages;

use crate::endpoint::call::{Address, Call, Named, ONLY_READ, answered, name, opened, with};
use crate::endpoint::continuous::unknown;
use crate::endpoint::documents::{Documents, Part, WantedFormat};
use crate::endpoint::socket::handshake::is_asked;
use crate::endpoint::socket::{SocketLimits, WebSocket};
use crate::response::problem::Problem;
use crate::response::{done, text};
use crate::run::live::Listening;
use crate::state::{RequestId, ServerState};
use axum::Extension;
use axum::body::Body;
use axum::extract::State;
use hyper::header::{ACCEPT, HeaderName};
use hyper::{HeaderMap, Method, Request, Response};
use somersault::config::Right;
use somersault::{JournalEntry, JournalRead, Live, QueryError};
use std::fmt::Write;
use std::sync::Arc;
use std::time::Duration;

pub(crate) use events::{Pieces, data};

const ADDRESS: Address = Address {
    methods: "GET, HEAD, OPTIONS",
    parameters: &PARAMETERS,
};
/// What is said of the reports that are wanted.
pub(crate) const PARAMETERS: [&str; 6] = ["after", "wait", "limit", "instance", "format", "part"];
/// The same of a socket.
const SOCKET_PARAMETERS: [&str; 3] = ["after", "instance", "format"];
pub(crate) const LAST_EVENT_ID: HeaderName = HeaderName::from_static("last-event-id");
/// The media type of events.
pub(crate) const EVENTS: &str = "text/event-stream";
/// The media type of lines.
pub(crate) const LINES: &str = "application/x-ndjson";

/// Reports of an answer where nothing is said (count), and at most.
const LIMIT: usize = 100;
const LIMIT_MAX: usize = 1000;
/// The longest that an answer waits for a report.
pub(crate) const WAIT_MAX: Duration = Duration::from_mins(1);
/// A consumer of events hears something at least so often, so that whatever stands between does not take the connection
/// for dead, and so that one that is gone is noticed.
pub(crate) const HEARTBEAT: Duration = Duration::from_secs(15);
/// Events are sent in pieces of about so much (bytes).
pub(crate) const PIECE_BYTES: usize = 64 << 10;

/// Answers.
pub(crate) async fn reports(
    State(server): State<Arc<ServerState>>,
    Extension(RequestId(id)): Extension<RequestId>,
    named: Named,
    request: Request<Body>,
) -> Response<Body> {
    if is_asked(request.method(), request.headers()) {
        return socket(server, id, named, request).await;
    }
    let call = match Call::open(&server, &id, request, &ADDRESS).await {
        Ok(call) => call,
        Err(answer) => return answer,
    };
    let answer = match name(named) {
        Ok(name) => read(call, &name).await,
        Err(problem) => Err(problem),
    };
    answered(&server, &id, answer)
}

async fn socket(
    server: Arc<ServerState>,
    id: String,
    named: Named,
    request: Request<Body>,
) -> Response<Body> {
    let known = &SOCKET_PARAMETERS;
    let opened = Call::open_socket(&server, &id, request, known, Right::Read).await;
    let (call, handshake) = match opened {
        Ok(opened) => opened,
        Err(answer) => return answer,
    };
    let following = match name(named) {
        Ok(name) => socket_of(call, &name).await,
        Err(problem) => Err(problem),
    };
    let answer = following.map(|(listening, seen, documents)| {
        let limits = SocketLimits::deaf(&server.options());
        let live = move |socket: WebSocket| messages::send(socket, listening, seen, documents);
        handshake.switch(limits, live)
    });
    answered(&server, &id, answer)
}

async fn socket_of(call: Call, name: &str) -> Result<Following, Problem> {
    let wanted = WantedFormat::named(&call.parameters)?;
    let reading = Reading::of(&call, name)?;
    drop(call);
    reading.followed(wanted).await
}

/// Which reports are wanted.
struct Reading {
    server: Arc<ServerState>,
    query: String,
    /// The only instance of a template.
    instance: Option<String>,
    /// The number that was seen last.
    seen: u64,
}

/// A consumer that follows: its place, what it has seen, and what it wants reports to be.
type Following = (Listening, u64, Option<Documents>);

impl Reading {
    fn of(call: &Call, query: &str) -> Result<Reading, Problem> {
        let seen = match call.headers.get(LAST_EVENT_ID) {
            None => call.number("after")?.unwrap_or(0),
            Some(id) => {
                let id = id.to_str().ok().and_then(|id| id.trim().parse().ok());
                let why = "`Last-Event-ID` is no number of a report, which is what it is here";
                id.ok_or_else(|| Problem::bad_request(why))?
            }
        };
        if !call.server.engine()?.is_writable() {
            return Err(unknown(query).with_hint(ONLY_READ));
        }
        Ok(Reading {
            server: Arc::clone(&call.server),
            query: query.to_owned(),
            instance: call.parameters.single("instance")?.map(str::to_owned),
            seen,
        })
    }

    async fn listening(&self) -> Result<Listening, Problem> {
        if let Some(instance) = self.instance.clone() {
            let template = self.query.clone();
            let look = move |live: &Live| {
                let looked = live.need_instance(&template, &instance);
                looked.map_err(|error| Problem::of_query(&error))
            };
            with(&self.server, look).await?;
        }
        let live = opened(&self.server)?;
        let (door, instance) = (&self.server.live, self.instance.clone());
        Ok(Listening::to(door, live, &self.query, instance))
    }

    async fn followed(self, wanted: WantedFormat) -> Result<Following, Problem> {
        let mut listening = self.listening().await?;
        let documents = wanted.of_query(&self.server, &self.query).await?;
        // That there is such a query.
        let read = listening.next(self.seen, 1, Duration::ZERO).await;
        read.map_err(failed)?;
        if listening.is_ending() {
            return Err(Problem::overloaded("the server is about to end"));
        }
        Ok((listening, self.seen, documents))
    }
}

/// What an answer that is no document of a format may have.
struct Extent {
    wait: Duration,
    limit: usize,
    are_lines: bool,
    part: Option<String>,
}

impl Extent {
    fn of(call: &Call) -> Result<Extent, Problem> {
        let wait = call.duration("wait")?.unwrap_or_default().min(WAIT_MAX);
        let limit = call
            .number("limit")?
            .map(|limit| limit.min(LIMIT_MAX as u64));
        let is_head = call.method == Method::HEAD;
        Ok(Extent {
            wait: if is_head { Duration::ZERO } else { wait },
            limit: limit.map_or(LIMIT, |limit| limit.max(1) as usize),
            are_lines: takes(&call.headers, LINES) && !call.parameters.has("format"),
            part: call.parameters.single("part")?.map(str::to_owned),
        })
    }
}

async fn read(call: Call, name: &str) -> Result<Response<Body>, Problem> {
    let extent = Extent::of(&call)?;
    let reading = Reading::of(&call, name)?;
    if takes(&call.headers, EVENTS) {
        let wanted = WantedFormat::named(&call.parameters)?;
        let is_head = call.method == Method::HEAD;
        drop(call);
        let place = reading.server.event_place()?;
        let (listening, seen, documents) = reading.followed(wanted).await?;
        let body = if is_head {
            Body::empty()
        } else {
            events::events(listening, seen, documents, place)
        };
        return Ok(text(EVENTS, body));
    }
    let wanted = if extent.are_lines {
        WantedFormat::json()
    } else {
        WantedFormat::read(&call.headers, &call.parameters, &[EVENTS, LINES])?
    };
    drop(call);
    read_once(reading, &extent, wanted).await
}

/// What there is, or comes soon.
async fn read_once(
    reading: Reading,
    extent: &Extent,
    wanted: WantedFormat,
) -> Result<Response<Body>, Problem> {
    let seen = reading.seen;
    let mut listening = reading.listening().await?;
    if let Some(documents) = wanted.of_query(&reading.server, &reading.query).await? {
        let part = Part::named(extent.part.as_deref())?;
        let read = listening.next(seen, 1, extent.wait).await.map_err(failed)?;
        return match read.entries.first() {
            Some(entry) => documents.response(entry, read.missed, part).await,
            None => Ok(done()),
        };
    }
    if extent.part.is_some() {
        let why =
            "`part` is of a report as one document, in a format that `Accept` or `format` names";
        return Err(Problem::bad_request(why));
    }
    let read = listening.next(seen, extent.limit, extent.wait).await;
    let read = read.map_err(failed)?;
    Ok(if extent.are_lines {
        text(LINES, lines(&read))
    } else {
        text("application/json", document(&read))
    })
}

#[allow(clippy::needless_pass_by_value, reason = "for `map_err`")]
fn failed(error: QueryError) -> Problem {
    Problem::of_query(&error)
}

/// Whether a client names this type.
pub(crate) fn takes(headers: &HeaderMap, media_type: &str) -> bool {
    let lines = headers.get_all(ACCEPT).iter();
    let mut named = lines
        .filter_map(|line| line.to_str().ok())
        .flat_map(|line| line.split(','));
    named.any(|range| {
        let essence = range.split(';').next().unwrap_or_default();
        essence.trim().eq_ignore_ascii_case(media_type)
    })
}

/// Reports as one document. `last` is what to give as `after` next.
fn document(read: &JournalRead) -> String {
    let (last, missed) = (read.looked, read.missed);
    let mut text = format!("{{\"last\":{last},\"missed\":{missed},\"reports\":[");
    for (place, entry) in read.entries.iter().enumerate() {
        let comma = if place == 0 { "" } else { "," };
        let _ = write!(text, "{comma}{}", member(entry));
    }
    text.push_str("]}");
    text
}

/// A report with its number.
fn member(entry: &JournalEntry) -> String {
    let (number, line) = (entry.number, &entry.line);
    format!("{{\"number\":{number},\"report\":{line}}}")
}

/// Reports as lines.
fn lines(read: &JournalRead) -> String {
    let mut text = String::new();
    if read.missed > 0 {
        let _ = writeln!(text, "{{\"missed\":{}}}", read.missed);
    }
    for entry in &read.entries {
        let _ = writeln!(text, "{}", member(entry));
    }
    text
}

/// The client has gone.
struct Gone;

/// Whoever is told of reports as they come: a response of events, or a socket.
trait Follower: Send {
    /// Reports that are looked at together (count).
    const LOOK: usize;

    /// Ends when the client is gone.
    fn left(&mut self) -> impl Future<Output = ()> + Send;

    /// There is nothing new.
    fn beat(&mut self) -> impl Future<Output = Result<(), Gone>> + Send;

    /// So many reports were let go before the next one (count).
    fn missed(&mut self, count: u64) -> impl Future<Output = Result<(), Gone>> + Send;

    /// A report. False where what there is of reports goes out first.
    fn report(&mut self, entry: &JournalEntry) -> impl Future<Output = Result<bool, Gone>> + Send;

    /// What there is goes out.
    fn flush(&mut self) -> impl Future<Output = Result<(), Gone>> + Send;

    /// There is no such query any more.
    fn gone(&mut self, error: &QueryError) -> impl Future<Output = Result<(), Gone>> + Send;
}

/// Tells of all reports behind number `seen`, until the client, the query or the server is gone.
async fn follow<F: Follower>(
    mut listening: Listening,
    mut seen: u64,
    follower: &mut F,
) -> Result<(), Gone> {
    loop {
        let read = tokio::select! {
            read = listening.next(seen, F::LOOK, HEARTBEAT) => read,
            () = follower.left() => return Err(Gone),
        };
        let read = match read {
            Ok(read) => read,
            Err(error) => return follower.gone(&error).await,
        };
        if listening.is_ending() {
            return Ok(());
        }
        if read.entries.is_empty() {
            follower.beat().await?;
        }
        if read.missed > 0 {
            follower.missed(read.missed).await?;
        }
        seen = read.looked;
        for entry in &read.entries {
            if !follower.report(entry).await? {
                seen = entry.number;
                break;
            }
        }
        // What was looked at is not held while the client takes nothing.
        drop(read);
        follower.flush().await?;
    }
}
