//! `GET /api/v1/continuous/{name}/reports`: what a registered query has found, numbered from 1.
//!
//! | `Accept` | answer |
//! |---|---|
//! | `text/event-stream` | an event for each report, as it comes, without end (Server-Sent Events, WHATWG HTML section 9.2) |
//! | `application/x-ndjson` | what there is behind `after`, a line each, with its number |
//! | anything else | the same as one JSON document |
//!
//! Without events, `wait` says how long an answer may wait for the first report (long poll), `limit` how many it has at
//! most; `instance` names one of a template's, whose reports alone are wanted. `after`, and `Last-Event-ID` before it, is the number that was seen last.
//!
//! A consumer of events is one task and no thread. It holds one piece of [`PIECE_BYTES`] or one report while its client
//! takes nothing; the connection's own patience ends one that takes nothing for too long. The task ends with its client,
//! with its query (an event `gone`), and when the server is about to end.

use crate::endpoint::call::{Address, Call, Named, answered, name, opened, with};
use crate::endpoint::continuous::unknown;
use crate::response::problem::Problem;
use crate::response::text;
use crate::run::live::Listening;
use crate::state::{RequestId, ServerState};
use axum::Extension;
use axum::body::Body;
use axum::extract::State;
use hyper::body::{Bytes, Frame};
use hyper::header::{ACCEPT, HeaderName};
use hyper::{HeaderMap, Method, Request, Response};
use serde_json::json;
use somersault::{JournalRead, Live, QueryError};
use std::convert::Infallible;
use std::fmt::Write;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;
use tokio::sync::mpsc::{Receiver, Sender, channel};

const ADDRESS: Address = Address {
    methods: "GET, HEAD, OPTIONS",
    parameters: &PARAMETERS,
};
/// What is said of the reports that are wanted.
pub(crate) const PARAMETERS: [&str; 4] = ["after", "wait", "limit", "instance"];
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
/// Reports that are looked at together (count).
const LOOK: usize = 64;

/// Answers.
pub(crate) async fn reports(
    State(server): State<Arc<ServerState>>,
    Extension(RequestId(id)): Extension<RequestId>,
    named: Named,
    request: Request<Body>,
) -> Response<Body> {
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

async fn read(call: Call, name: &str) -> Result<Response<Body>, Problem> {
    let seen = match call.headers.get(LAST_EVENT_ID) {
        None => call.number("after")?.unwrap_or(0),
        Some(id) => {
            let id = id.to_str().ok().and_then(|id| id.trim().parse().ok());
            id.ok_or_else(|| {
                Problem::bad_request(
                    "`Last-Event-ID` is no number of a report, which is what it is here",
                )
            })?
        }
    };
    let wait = call.duration("wait")?.unwrap_or_default().min(WAIT_MAX);
    let limit = call
        .number("limit")?
        .map(|limit| limit.min(LIMIT_MAX as u64));
    let limit = limit.map_or(LIMIT, |limit| limit.max(1) as usize);
    if !call.server.engine()?.is_writable() {
        return Err(unknown(name));
    }
    let instance = call.parameters.single("instance")?.map(str::to_owned);
    if let Some(instance) = instance.clone() {
        let template = name.to_owned();
        let look = move |live: &Live| {
            let looked = live.need_instance(&template, &instance);
            looked.map_err(|error| Problem::of_query(&error))
        };
        with(&call.server, look).await?;
    }
    let live = opened(&call.server)?;
    let mut listening = Listening::to(&call.server.live, live, name, instance);
    if takes(&call.headers, EVENTS) {
        // That there is such a query.
        listening
            .next(seen, 1, Duration::ZERO)
            .await
            .map_err(failed)?;
        if listening.is_ending() {
            return Err(Problem::overloaded("the server is about to end"));
        }
        let body = match call.method {
            Method::HEAD => Body::empty(),
            _ => events(listening, seen),
        };
        return Ok(text(EVENTS, body));
    }
    let wait = if call.method == Method::HEAD {
        Duration::ZERO
    } else {
        wait
    };
    let read = listening.next(seen, limit, wait).await.map_err(failed)?;
    Ok(if takes(&call.headers, LINES) {
        text(LINES, lines(&read))
    } else {
        text("application/json", document(&read, seen))
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
fn document(read: &JournalRead, seen: u64) -> String {
    let last = read.entries.last().map_or(seen, |entry| entry.number);
    let missed = read.missed;
    let mut text = format!("{{\"last\":{last},\"missed\":{missed},\"reports\":[");
    for (place, entry) in read.entries.iter().enumerate() {
        let comma = if place == 0 { "" } else { "," };
        let (number, line) = (entry.number, &entry.line);
        let _ = write!(text, "{comma}{{\"number\":{number},\"report\":{line}}}");
    }
    text.push_str("]}");
    text
}

/// Reports as lines.
fn lines(read: &JournalRead) -> String {
    let mut text = String::new();
    if read.missed > 0 {
        let _ = writeln!(text, "{{\"missed\":{}}}", read.missed);
    }
    for entry in &read.entries {
        let (number, line) = (entry.number, &entry.line);
        let _ = writeln!(text, "{{\"number\":{number},\"report\":{line}}}");
    }
    text
}

/// Reports as events, from now on.
fn events(listening: Listening, seen: u64) -> Body {
    let (sender, receiver) = channel(1);
    tokio::spawn(async move {
        // Whoever receives is gone: nobody is left to be told.
        let _ = send_events(listening, seen, &sender).await;
    });
    Body::new(Pieces(receiver))
}

/// The client has gone.
struct Gone;

async fn send_events(
    mut listening: Listening,
    mut seen: u64,
    sender: &Sender<String>,
) -> Result<(), Gone> {
    let send = async |text: String| sender.send(text).await.map_err(|_| Gone);
    // The head of the response is sent with its first bytes.
    send(":\n\n".to_owned()).await?;
    loop {
        let read = tokio::select! {
            read = listening.next(seen, LOOK, HEARTBEAT) => read,
            () = sender.closed() => return Err(Gone),
        };
        let read = match read {
            Ok(read) => read,
            Err(error) => {
                let told = json!({ "detail": error.message });
                return send(format!("event: gone\ndata: {told}\n\n")).await;
            }
        };
        if listening.is_ending() {
            return Ok(());
        }
        let mut piece = String::new();
        if read.entries.is_empty() {
            piece.push_str(":\n\n");
        }
        if read.missed > 0 {
            let missed = read.missed;
            let _ = write!(piece, "event: missed\ndata: {{\"missed\":{missed}}}\n\n");
        }
        for entry in &read.entries {
            let (number, line) = (entry.number, &entry.line);
            let _ = write!(piece, "id: {number}\ndata: {line}\n\n");
            seen = number;
            if piece.len() >= PIECE_BYTES {
                break;
            }
        }
        send(piece).await?;
    }
}

/// A body of what is received.
pub(crate) struct Pieces(pub(crate) Receiver<String>);

impl hyper::body::Body for Pieces {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        let piece = self.0.poll_recv(context);
        piece.map(|piece| piece.map(|text| Ok(Frame::data(Bytes::from(text)))))
    }
}
