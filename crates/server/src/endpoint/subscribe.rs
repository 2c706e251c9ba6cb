//! `/api/v1/subscribe`: a query whose answer is followed. The request is that of a query at `/query`, with `after` and
//! `wait` in the address.
//!
//! | `Accept` | answer |
//! |---|---|
//! | `text/event-stream` | the answer, then its differences as they come, without end (Server-Sent Events, WHATWG HTML section 9.2) |
//! | anything else | one document: the answer, or with `after` the difference since then; with `wait` it waits for one (long poll) |
//!
//! Both need the right to read. `Last-Event-ID`, and `after` otherwise, is the id of what the client has; where that is not known
//! any more, the whole answer comes again and says so.
//!
//! A query is evaluated first as any query is: in its turn, on an engine thread; what cannot be evaluated is refused with
//! a status. Afterwards a consumer of events is one task and no thread. It holds one piece of text while its client takes
//! nothing, and the differences meanwhile become one; the connection's own patience ends one that takes nothing for
//! too long. The task ends with its client, with its query (an event `ended` that says why), and when the server is
//! about to end.

use crate::endpoint::call::answered;
use crate::endpoint::description;
use crate::endpoint::reports::{
    EVENTS, HEARTBEAT, LAST_EVENT_ID, PIECE_BYTES, Pieces, WAIT_MAX, takes,
};
use crate::request::QueryRequest;
use crate::request::Read;
use crate::request::access;
use crate::request::parameters::Parameters;
use crate::request::protocol::{self, Endpoint, Operation};
use crate::response::problem::Problem;
use crate::response::{options, out_of_time, refused_with_body, share, text};
use crate::run::admission::Turned;
use crate::run::fresh;
use crate::run::subscribing::{Consumer, Mark};
use crate::runtime;
use crate::state::{RequestId, ServerState};
use axum::Extension;
use axum::body::Body;
use axum::extract::State;
use hyper::header::ACCEPT;
use hyper::http::uri::InvalidUri;
use hyper::{Method, Request, Response, Uri};
use serde_json::json;
use somersault::config::Right;
use somersault::units::parse_duration;
use somersault::{Kind, LiveChange, QueryError, Unit};
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::sync::mpsc::{Sender, channel};

/// What is said of a subscription beside its query.
pub(crate) const PARAMETERS: [&str; 2] = ["after", "wait"];
const JSON: &str = "application/json";

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
    let granted = granted.and_then(|granted| granted.need(Right::Read).map(|()| granted));
    let granted = match granted {
        Ok(granted) => granted,
        Err(problem) => {
            let mut refused = refused_with_body(problem, request, &id).await;
            share(&server, &mut refused);
            return refused;
        }
    };
    let answer = subscribed(&server, request, granted).await;
    answered(&server, &id, answer)
}

/// What a client says of what it wants to be told.
struct Wanted {
    /// The id of what it has.
    after: Option<String>,
    wait: Duration,
    are_events: bool,
    is_head: bool,
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
        let wanted = Wanted {
            after: last.or(after),
            wait: wait.transpose()?.unwrap_or_default().min(WAIT_MAX),
            are_events: takes(request.headers(), EVENTS),
            is_head: request.method() == Method::HEAD,
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
    let is_ours = |pair: &&str| PARAMETERS.contains(&pair.split('=').next().unwrap_or_default());
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
    let base = description::address(&request, server);
    let account = server.accounts()?.body();
    let client = granted.client(access::sender(&request));
    let options = server.options();
    let given = (base, client, account);
    let asked = match protocol::read(request, &options, Endpoint::Query, granted, given).await? {
        Operation::Query(asked) if asked.number.is_some() => {
            let why = "`snapshot` is for queries at /query: a live query follows the newest";
            return Err(Problem::bad_request(why));
        }
        Operation::Query(asked) if asked.explain.is_none() => asked,
        Operation::Query(_) => {
            return Err(Problem::bad_request("`explain` is for queries at /query"));
        }
        Operation::Update(_) => return Err(Problem::bad_request("an update has no answer")),
    };
    let timeout = asked.timeout;
    let (mut consumer, mark) = begun(server, asked, wanted.after.as_deref()).await?;
    if consumer.is_ending() {
        return Err(Problem::overloaded("the server is about to end"));
    }
    if wanted.are_events {
        let body = if wanted.is_head {
            Body::empty()
        } else {
            events(consumer, mark)
        };
        return Ok(text(EVENTS, body));
    }
    let wait = if wanted.is_head {
        Duration::ZERO
    } else {
        wanted.wait
    };
    let change = consumer.next(wait, timeout).await.map_err(failed)?;
    let document = match change {
        Some(change) => document(&change, mark)?,
        None => json!({ "id": wanted.after, "type": "unchanged" }).to_string(),
    };
    Ok(text(JSON, document))
}

/// Subscribes on an engine thread, in its turn.
async fn begun(
    server: &Arc<ServerState>,
    asked: QueryRequest,
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
    let mark = server.subscriptions.mark(&engine_request(&asked, &query));
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
    let server = Arc::clone(server);
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
    Ok((consumer.map_err(failed)?, mark))
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

/// Changes as events, from now on.
fn events(consumer: Consumer, mark: Mark) -> Body {
    let (sender, receiver) = channel(1);
    tokio::spawn(async move {
        // Whoever receives is gone: nobody is left to be told.
        let _ = send_events(consumer, mark, &sender).await;
    });
    Body::new(Pieces(receiver))
}

/// The client has gone.
struct Gone;

async fn send_events(
    mut consumer: Consumer,
    mark: Mark,
    sender: &Sender<String>,
) -> Result<(), Gone> {
    let send = async |text: String| sender.send(text).await.map_err(|_| Gone);
    // The head of the response is sent with its first bytes.
    send(":\n\n".to_owned()).await?;
    loop {
        let change = tokio::select! {
            change = consumer.next(HEARTBEAT, HEARTBEAT) => change,
            () = sender.closed() => return Err(Gone),
        };
        let change = match change {
            Ok(Some(change)) => change,
            Ok(None) if consumer.is_ending() => return Ok(()),
            Ok(None) => {
                send(":\n\n".to_owned()).await?;
                continue;
            }
            Err(error) => return send(ended(&error)).await,
        };
        let kind = if change.since.is_none() {
            "answer"
        } else {
            "difference"
        };
        let id = mark.id(change.snapshot);
        let mut text = format!("event: {kind}\nid: {id}\ndata: ");
        for piece in change.pieces(&members(&change, mark)) {
            let Ok(piece) = piece else {
                let error = QueryError::new(Kind::Internal, "an answer could not be written");
                return send(format!("{text}\n\n{}", ended(&error))).await;
            };
            text.push_str(&piece);
            if text.len() >= PIECE_BYTES {
                send(std::mem::take(&mut text)).await?;
            }
        }
        text.push_str("\n\n");
        send(text).await?;
    }
}

/// The event that says why a live query has ended.
fn ended(error: &QueryError) -> String {
    let told = json!({
        "detail": error.message,
        "hint": error.hint,
        "limit": error.limit,
        "unit": error.unit.map(Unit::as_str),
    });
    format!("event: ended\ndata: {told}\n\n")
}
