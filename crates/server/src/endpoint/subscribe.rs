//! `/api/v1/subscribe`: a query whose answer is followed. The request is that of a query at `/query`, with `after`,
//! `wait` and `format` in the address.
//!
//! | asked by | answer |
//! |---|---|
//! | WebSocket | the answer, then its differences as they come, without end: a message each ([`messages`]) |
//! | `Accept: text/event-stream` | the same as Server-Sent Events ([`events`]) |
//! | `Accept` or `format` of an answer's format | the whole answer as that document; with `after` it is the new one, or 204 where it is still what the client has |
//! | anything else | one JSON document: the answer, or with `after` the difference since then; with `wait` it waits for one (long poll) |
//!
//! All need the right to read. `Last-Event-ID`, and `after` otherwise, is the id of what the client has; where that is not known
//! any more, the whole answer comes again and says so.
//!
//! **Formats.** A difference is two bags of rows, and no format of answers has two. So events and messages have a document
//! for each, and what is one document alone is the whole answer.
//!
//! A query is evaluated first as any query is: in its turn, on an engine thread; what cannot be evaluated is refused with
//! a status. Afterwards a consumer that follows ([`Follower`]) is one task and no thread. It holds one piece of text while its client takes
//! nothing, and the differences meanwhile become one; the connection's own patience ends one that takes nothing for
//! too long. The task ends with its client, with its query (`ended` says why), and when the server is
//! about to end.

mod events;
mod messages;

use crate::endpoint::call::answered;
use crate::endpoint::description;
use crate::endpoint::documents::{self, WantedFormat};
use crate::endpoint::reports::{EVENTS, HEARTBEAT, LAST_EVENT_ID, WAIT_MAX, takes};
use crate::endpoint::socket::handshake::{Handshake, is_asked};
use crate::endpoint::socket::{SocketLimits, WebSocket};
use crate::request::QueryRequest;
use crate::request::Read;
use crate::request::access;
use crate::request::known::FORMATS;
use crate::request::parameters::Parameters;
use crate::request::protocol::{self, Endpoint, Operation};
use crate::response::problem::Problem;
use crate::response::{done, options, out_of_time, refused_with_body, share, text};
use crate::run::admission::Turned;
use crate::run::fresh;
use crate::run::subscribing::{Consumer, Mark};
use crate::runtime;
use crate::state::{RequestId, ServerState};
use axum::Extension;
use axum::body::Body;
use axum::extract::State;
use hyper::header::{ACCEPT, HeaderName};
use hyper::http::uri::InvalidUri;
use hyper::{Method, Request, Response, Uri};
use serde_json::{Value, json};
use somersault::budget::Budget;
use somersault::config::Right;
use somersault::units::parse_duration;
use somersault::{AnswerFormat, Kind, LiveChange, QueryError, ReportKind, Unit};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// What is said of a subscription beside its query.
pub(crate) const PARAMETERS: [&str; 3] = ["after", "wait", "format"];
const JSON: &str = "application/json";
/// The id of an answer that is a document.
const EVENT_ID: HeaderName = HeaderName::from_static("somersault-event");

/// Answers.
pub(crate) async fn endpoint(
    State(server): State<Arc<ServerState>>,
    Extension(RequestId(id)): Extension<RequestId>,
    request: Request<Body>,
) -> Response<Body> {
    if request.method() == Method::OPTIONS {
        let mut response = options(&server, protocol::METHODS);
        share(&server, &mut response);
        return response;
    }
    let access = &server.options().access;
    let granted = access.grant(request.headers(), server.address);
    let is_socket = is_asked(request.method(), request.headers());
    let is_shared = !is_socket || server.options().cross_origin;
    let granted = granted.and_then(|granted| {
        granted.need(Right::Read)?;
        granted.need_here(is_shared)?;
        Ok(granted)
    });
    let granted = match granted {
        Ok(granted) => granted,
        Err(problem) => {
            let mut refused = refused_with_body(problem, request, &id).await;
            share(&server, &mut refused);
            return refused;
        }
    };
    let answer = if is_socket {
        switched(&server, request, granted).await
    } else {
        subscribed(&server, request, granted).await
    };
    answered(&server, &id, answer)
}

/// What a client says of what it wants to be told.
struct Wanted {
    /// The id of what it has.
    after: Option<String>,
    wait: Duration,
    are_events: bool,
    is_head: bool,
    format: WantedFormat,
}

impl Wanted {
    /// Takes it out of the request, which is that of a query then.
    fn take(request: &mut Request<Body>) -> Result<Wanted, Problem> {
        let parameters = taken_out(request.uri_mut())?;
        let last = request.headers().get(LAST_EVENT_ID);
        let last = last.map(|id| id.to_str().unwrap_or_default().to_owned());
        let after = parameters.single("after")?.map(str::to_owned);
        let wait = parameters.single("wait")?.map(|text| {
            let refuse = |error| Problem::bad_request(format!("`wait`: {error}"));
            parse_duration(text).map_err(refuse)
        });
        let are_events = takes(request.headers(), EVENTS);
        let format = if are_events || is_asked(request.method(), request.headers()) {
            WantedFormat::named(&parameters)?
        } else {
            WantedFormat::read(request.headers(), &parameters, &[EVENTS])?
        };
        let wanted = Wanted {
            after: last.or(after),
            wait: wait.transpose()?.unwrap_or_default().min(WAIT_MAX),
            are_events,
            is_head: request.method() == Method::HEAD,
            format,
        };
        // Formats of answers have no part in it.
        request.headers_mut().remove(ACCEPT);
        Ok(wanted)
    }
}

/// Our own parameters, which are no more in the address.
fn taken_out(address: &mut Uri) -> Result<Parameters, Problem> {
    let mut parameters = Parameters::default();
    let Some(query) = address.query() else {
        return Ok(parameters);
    };
    let is_ours = |pair: &&str| {
        let name = pair.split('=').next().unwrap_or_default();
        PARAMETERS.contains(&name) || FORMATS.contains(&name)
    };
    let (ours, others): (Vec<&str>, Vec<&str>) = query.split('&').partition(is_ours);
    if ours.is_empty() {
        return Ok(parameters);
    }
    parameters.add(ours.join("&").as_bytes())?;
    let rest = format!("{}?{}", address.path(), others.join("&"));
    // A part of what was an address is one.
    let refuse = |error: InvalidUri| Problem::bad_request(error.to_string());
    *address = rest.parse().map_err(refuse)?;
    Ok(parameters)
}

async fn subscribed(
    server: &Arc<ServerState>,
    mut request: Request<Body>,
    granted: access::Granted,
) -> Result<Response<Body>, Problem> {
    let wanted = Wanted::take(&mut request)?;
    let asked = asked(server, request, granted).await?;
    let timeout = asked.timeout;
    let place = wanted.are_events.then(|| server.event_place());
    let place = place.transpose()?;
    let (mut consumer, mark) = begun(server, &asked, wanted.after.as_deref()).await?;
    let is_graph = consumer.kind() == ReportKind::Graph;
    let format = wanted.format.of_kind(is_graph)?;
    if let Some(place) = place {
        let body = if wanted.is_head {
            Body::empty()
        } else {
            let formats = format.map(|format| (Arc::clone(server), format));
            events::events(consumer, mark, formats, place)
        };
        return Ok(text(EVENTS, body));
    }
    let wait = if wanted.is_head {
        Duration::ZERO
    } else {
        wanted.wait
    };
    let change = consumer.next(wait, timeout).await.map_err(failed)?;
    let Some(format) = format else {
        let document = match change {
            Some(change) => document(&change, mark)?,
            None => json!({ "id": wanted.after, "type": "unchanged" }).to_string(),
        };
        return Ok(text(JSON, document));
    };
    let whole = match change {
        None => return Ok(done()),
        Some(change) if change.since.is_none() => change,
        // There is a difference, so there is another answer.
        Some(_) => {
            let (mut whole, _) = begun(server, &asked, None).await?;
            let whole = whole.next(timeout, timeout).await.map_err(failed)?;
            let none = || Problem::overloaded("the answer was not there in time");
            whole.ok_or_else(none)?
        }
    };
    let id = mark.id(whole.snapshot);
    let made = Rendered::of(server, whole, format).await?;
    let mut response = text(format.media_type(), made.added);
    let id = crate::response::head::value(&id);
    response.headers_mut().insert(EVENT_ID, id);
    Ok(response)
}

/// A subscription that goes on as a WebSocket.
async fn switched(
    server: &Arc<ServerState>,
    mut request: Request<Body>,
    granted: access::Granted,
) -> Result<Response<Body>, Problem> {
    let handshake = Handshake::begin(server, &mut request)?;
    let wanted = Wanted::take(&mut request)?;
    let asked = asked(server, request, granted).await?;
    let (consumer, mark) = begun(server, &asked, wanted.after.as_deref()).await?;
    let format = wanted
        .format
        .of_kind(consumer.kind() == ReportKind::Graph)?;
    let formats = format.map(|format| (Arc::clone(server), format));
    let limits = SocketLimits::deaf(&server.options());
    let live = move |socket: WebSocket| messages::send(socket, consumer, mark, formats);
    Ok(handshake.switch(limits, live))
}

/// The query of a request.
async fn asked(
    server: &Arc<ServerState>,
    request: Request<Body>,
    granted: access::Granted,
) -> Result<Arc<QueryRequest>, Problem> {
    let base = description::address(&request, server);
    let account = server.accounts()?.body();
    let client = granted.client(access::sender(&request));
    let options = server.options();
    let given = (base, client, account);
    match protocol::read(request, &options, Endpoint::Query, granted, given).await? {
        Operation::Query(asked) if asked.number.is_some() => {
            let why = "`snapshot` is for queries at /query: a live query follows the newest";
            Err(Problem::bad_request(why))
        }
        Operation::Query(asked) if asked.explain.is_none() => Ok(Arc::new(asked)),
        Operation::Query(_) => Err(Problem::bad_request("`explain` is for queries at /query")),
        Operation::Update(_) => Err(Problem::bad_request("an update has no answer")),
    }
}

/// Subscribes on an engine thread, in its turn.
async fn begun(
    server: &Arc<ServerState>,
    asked: &Arc<QueryRequest>,
    after: Option<&str>,
) -> Result<(Consumer, Mark), Problem> {
    let arrived = Instant::now();
    let engine = Arc::clone(server.engine()?);
    let limits = server.options().subscriptions;
    let all = server.subscriptions.of(engine.as_ref(), limits);
    let all = all.cloned().ok_or_else(Problem::only_read)?;
    let Read::Query(query) = &asked.what else {
        return Err(Problem::bad_request(
            "a graph is not followed; ask for it by CONSTRUCT",
        ));
    };
    // Its own copy: the request goes to another thread.
    let query = query.clone();
    let mark = server.subscriptions.mark(&engine_request(asked, &query));
    let seen = after.map(|id| {
        let refuse = || Problem::bad_request("`Last-Event-ID`, or `after`, is no id of an event");
        mark.snapshot(id).ok_or_else(refuse)
    });
    let seen = seen.transpose()?;
    if let Some(number) = asked.snapshot {
        fresh::wait(engine.as_ref(), number, asked.timeout).await?;
    }
    let patience = asked.timeout.saturating_sub(arrived.elapsed());
    let turn = server.admission.enter(asked.client, patience).await;
    let turn = turn.map_err(|turned| match turned {
        Turned::Away => Problem::overloaded("too many queries wait for their turn"),
        Turned::TooLate => out_of_time(asked.timeout, arrived),
    })?;
    let (server, asked) = (Arc::clone(server), Arc::clone(asked));
    let consumer = tokio::task::spawn_blocking(move || {
        runtime::stand_back();
        let request = engine_request(&asked, &query);
        let consumer = Consumer::begin(&server.subscriptions, &all, &request, seen);
        drop((all, turn));
        consumer
    });
    let bug = |_| {
        Err(QueryError::new(
            Kind::Internal,
            "subscribing met a bug of the server",
        ))
    };
    let consumer = consumer.await.unwrap_or_else(bug);
    let consumer = consumer.map_err(failed)?;
    if consumer.is_ending() {
        return Err(Problem::overloaded("the server is about to end"));
    }
    Ok((consumer, mark))
}

fn engine_request<'q>(asked: &'q QueryRequest, text: &'q str) -> somersault::Request<'q> {
    somersault::Request {
        text,
        base: asked.base.as_deref(),
        default_graphs: asked.default_graphs.clone(),
        named_graphs: asked.named_graphs.clone(),
        bindings: asked.given.terms.clone(),
        offset: asked.given.offset,
        limit: asked.given.limit,
        timeout: Some(asked.timeout),
        ..somersault::Request::default()
    }
}

#[allow(clippy::needless_pass_by_value, reason = "for `map_err`")]
fn failed(error: QueryError) -> Problem {
    Problem::of_query(&error)
}

/// The member that names what a client has then.
fn members(change: &LiveChange, mark: Mark) -> String {
    format!("\"id\":\"{}\",", mark.id(change.snapshot))
}

fn document(change: &LiveChange, mark: Mark) -> Result<String, Problem> {
    let text: std::io::Result<String> = change.pieces(&members(change, mark)).collect();
    text.map_err(|error| failed(QueryError::new(Kind::Internal, error)))
}

/// What is made of changes; `None`: JSON of our own.
type Formats = Option<(Arc<ServerState>, AnswerFormat)>;

/// The rows of a change as documents.
struct Rendered {
    /// What came, which of an answer and of an `ASK` is all.
    added: String,
    removed: Option<String>,
    _memory: Budget,
}

impl Rendered {
    async fn of(
        server: &ServerState,
        change: LiveChange,
        format: AnswerFormat,
    ) -> Result<Rendered, Problem> {
        /// What a row is as JSON, about (bytes).
        const ROW_BYTES: u64 = 256;
        let rows = change.added.iter().chain(&change.removed);
        let rows: u64 = rows.map(|row| row.count).sum();
        let bytes = ROW_BYTES.saturating_mul(rows);
        let memory = documents::memory(server, bytes).await?;
        let make = move || {
            let removed = change.removed_in(format).transpose()?;
            Ok((change.added_in(format)?, removed))
        };
        let length = usize::try_from(bytes).unwrap_or(usize::MAX);
        let (added, removed) = documents::at_length(length, make).await?;
        Ok(Rendered {
            added,
            removed,
            _memory: memory,
        })
    }
}

/// What is said when a live query has ended.
fn ended(error: &QueryError) -> Value {
    json!({
        "detail": error.message,
        "hint": error.hint,
        "limit": error.limit,
        "unit": error.unit.map(Unit::as_str),
    })
}

/// The client has gone.
struct Gone;

/// Whoever is told of changes as they come: a response of events, or a socket.
trait Follower: Send {
    /// Ends when the client is gone.
    fn left(&mut self) -> impl Future<Output = ()> + Send;

    /// There is nothing new.
    fn beat(&mut self) -> impl Future<Output = Result<(), Gone>> + Send;

    /// The answer, or how it has changed.
    fn change(&mut self, change: LiveChange) -> impl Future<Output = Result<(), Gone>> + Send;

    /// The query has ended.
    fn ended(&mut self, error: &QueryError) -> impl Future<Output = Result<(), Gone>> + Send;
}

/// Tells of all changes, until the client, the query or the server is gone.
async fn follow<F: Follower>(mut consumer: Consumer, follower: &mut F) -> Result<(), Gone> {
    loop {
        let change = tokio::select! {
            change = consumer.next(HEARTBEAT, HEARTBEAT) => change,
            () = follower.left() => return Err(Gone),
        };
        match change {
            Ok(Some(change)) => follower.change(change).await?,
            Ok(None) if consumer.is_ending() => return Ok(()),
            Ok(None) => follower.beat().await?,
            Err(error) => return follower.ended(&error).await,
        }
    }
}
