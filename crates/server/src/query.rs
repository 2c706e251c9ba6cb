//! The endpoints of the SPARQL protocol: `/sparql`, `/query` and `/update`.
//!
//! request -> what is asked -> a turn -> an engine thread -> a pipe -> a response. The handler holds
//! the pipe's reader while it waits and the response's body holds it after that, so a client that
//! goes away at any moment takes its query along: hyper drops the handler, or the body.

use crate::answer::{self, Answering};
use crate::change;
use crate::description;
use crate::edge::{Edge, RequestId};
use crate::engine::Engine;
use crate::fresh;
use crate::gate::{Turn, Turned};
use crate::head;
use crate::intake;
use crate::light;
use crate::metrics::Outcome;
use crate::pipe;
use crate::problem::Problem;
use crate::protocol::{self, Asked, Door, Operation};
use crate::routes;
use crate::work::Task;
use axum::Extension;
use axum::body::Body;
use axum::extract::State;
use hyper::header::{ALLOW, HeaderName, HeaderValue, RETRY_AFTER};
use hyper::{Method, Request, Response};
use somersault::config::Right;
use somersault::{Kind, QueryError, Unit};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// A shorter wait is only the clock being read.
pub(crate) const WAIT_NOTED: Duration = Duration::from_millis(1);

const ALLOW_ORIGIN: HeaderName = hyper::header::ACCESS_CONTROL_ALLOW_ORIGIN;

/// Answers a request to `/sparql`.
pub(crate) async fn both(
    edge: State<Arc<Edge>>,
    id: Extension<RequestId>,
    request: Request<Body>,
) -> Response<Body> {
    endpoint(edge, id, request, Door::Both).await
}

/// Answers a request to `/query`.
pub(crate) async fn queries(
    edge: State<Arc<Edge>>,
    id: Extension<RequestId>,
    request: Request<Body>,
) -> Response<Body> {
    endpoint(edge, id, request, Door::Query).await
}

/// Answers a request to `/update`.
pub(crate) async fn updates(
    edge: State<Arc<Edge>>,
    id: Extension<RequestId>,
    request: Request<Body>,
) -> Response<Body> {
    endpoint(edge, id, request, Door::Update).await
}

async fn endpoint(
    State(edge): State<Arc<Edge>>,
    Extension(RequestId(request_id)): Extension<RequestId>,
    request: Request<Body>,
    door: Door,
) -> Response<Body> {
    let mut response = if request.method() == Method::OPTIONS {
        let mut response = options(&edge, door.methods());
        if door != Door::Update {
            let bodies = HeaderValue::from_static(protocol::BODIES);
            response.headers_mut().insert(head::ACCEPT_QUERY, bodies);
        }
        response
    } else {
        respond(&edge, request, &request_id, door).await
    };
    share(&edge, &mut response);
    response
}

/// Lets pages of other origins read a response, where that is configured.
pub(crate) fn share(edge: &Edge, response: &mut Response<Body>) {
    let headers = response.headers_mut();
    if edge.options.cross_origin {
        headers.insert(ALLOW_ORIGIN, HeaderValue::from_static("*"));
        let ours = HeaderValue::from_static("query-id, server-timing, somersault-snapshot");
        headers.insert(hyper::header::ACCESS_CONTROL_EXPOSE_HEADERS, ours);
    }
}

async fn respond(
    edge: &Arc<Edge>,
    request: Request<Body>,
    request_id: &str,
    door: Door,
) -> Response<Body> {
    let granted = match edge.options.access.grant(request.headers(), edge.address) {
        Ok(granted) => granted,
        Err(problem) => return refused_with_body(problem, request, request_id).await,
    };
    let base = description::address(&request, edge);
    if asks_nothing(&request) && door != Door::Update {
        return granted
            .need(Right::Read)
            .and_then(|()| description::answer(edge, request.headers(), &base))
            .unwrap_or_else(|problem| refused(problem, request_id));
    }
    match protocol::read(request, &edge.options, door, granted, base).await {
        Ok(Operation::Query(asked)) => answer(edge, asked, request_id).await,
        Ok(Operation::Update(wanted)) => change::answer(edge, wanted, None, request_id).await,
        Err(problem) => refused(problem, request_id),
    }
}

/// A problem in answer to a request whose body is not read.
pub(crate) async fn refused_with_body(
    problem: Problem,
    request: Request<Body>,
    request_id: &str,
) -> Response<Body> {
    let (head, body) = request.into_parts();
    if hyper::body::Body::is_end_stream(&body) {
        return refused(problem, request_id);
    }
    intake::refuse(&head.headers, body).await;
    refused(problem.closing(), request_id)
}

/// A `GET` without parameters wants to know what this is.
fn asks_nothing(request: &Request<Body>) -> bool {
    let reads = matches!(*request.method(), Method::GET | Method::HEAD);
    reads && request.uri().query().unwrap_or_default().is_empty()
}

/// Answers what is asked, or says why not.
pub(crate) async fn answer(edge: &Arc<Edge>, asked: Asked, request_id: &str) -> Response<Body> {
    ask(edge, asked, request_id)
        .await
        .unwrap_or_else(|problem| refused(problem, request_id))
}

async fn ask(edge: &Arc<Edge>, asked: Asked, request_id: &str) -> Result<Response<Body>, Problem> {
    let arrived = Instant::now();
    let engine = Arc::clone(edge.engine()?);
    if let Some(number) = asked.snapshot {
        fresh::wait(engine.as_ref(), number, asked.timeout).await?;
    }
    if let Some(response) = light::answer(engine.as_ref(), edge, &asked, arrived) {
        light::let_others_read().await;
        return Ok(response);
    }
    let patience = asked.timeout.saturating_sub(arrived.elapsed());
    let turn = turn(edge, patience, arrived).await?;
    let waited = Some(arrived.elapsed()).filter(|waited| *waited > WAIT_NOTED);
    let answering = Answering {
        accepted: asked.accepted,
        trailers: asked.trailers,
        head_only: asked.head_only,
        wait: waited,
        request_id: request_id.to_owned(),
    };
    let timeout = asked.timeout.saturating_sub(waited.unwrap_or_default());
    let begun = Begun {
        asked,
        turn,
        timeout,
        arrived,
        request_id: request_id.to_owned(),
    };
    let reader = start(engine, edge, begun);
    Ok(answer::respond(reader, answering).await)
}

/// Runs a query on an engine thread.
fn start(engine: Arc<dyn Engine>, edge: &Edge, begun: Begun) -> pipe::Reader {
    let (writer, reader) = pipe::pipe(begun.turn);
    let task = Task {
        engine,
        asked: begun.asked,
        timeout: begun.timeout,
        writer,
        metrics: Arc::clone(&edge.metrics),
        arrived: begun.arrived,
        request_id: begun.request_id,
    };
    // The thread is not waited for: the pipe says all there is to say.
    drop(tokio::task::spawn_blocking(move || task.run()));
    reader
}

/// A query that has its turn.
struct Begun {
    asked: Asked,
    turn: Turn,
    /// What is left of its time.
    timeout: Duration,
    arrived: Instant,
    request_id: String,
}

async fn turn(edge: &Edge, patience: Duration, arrived: Instant) -> Result<Turn, Problem> {
    let problem = match edge.gate.enter(patience).await {
        Ok(turn) => return Ok(turn),
        Err(Turned::Away) => Problem::overloaded("too many queries wait for their turn"),
        Err(Turned::TooLate) => out_of_time(patience, arrived),
    };
    edge.metrics
        .query_ended(Outcome::TurnedAway, arrived.elapsed(), 0);
    Err(problem)
}

/// The failure of a query whose time was over before its turn came.
pub(crate) fn out_of_time(timeout: Duration, arrived: Instant) -> Problem {
    let error = QueryError::new(Kind::Timeout, "the time was over before its turn came");
    let (limit, used) = (timeout.as_millis(), arrived.elapsed().as_millis());
    let limited = error.with_limit(Unit::Milliseconds, limit as u64, used as u64);
    Problem::of_query(&limited).with_header(RETRY_AFTER, HeaderValue::from_static("1"))
}

/// A problem as a response.
pub(crate) fn refused(problem: Problem, request_id: &str) -> Response<Body> {
    let mut response = problem.with_id(request_id).into_response();
    let headers = response.headers_mut();
    headers.insert(hyper::header::VARY, HeaderValue::from_static("accept"));
    response
}

/// What may be done here; with other origins allowed, also the answer to a preflight.
pub(crate) fn options(edge: &Edge, methods: &'static str) -> Response<Body> {
    let mut response = routes::done();
    let headers = response.headers_mut();
    let methods = HeaderValue::from_static(methods);
    headers.insert(ALLOW, methods.clone());
    if edge.options.cross_origin {
        use hyper::header as h;
        headers.insert(h::ACCESS_CONTROL_ALLOW_METHODS, methods);
        let fields = "accept, authorization, content-type, somersault-snapshot";
        let fields = HeaderValue::from_static(fields);
        headers.insert(h::ACCESS_CONTROL_ALLOW_HEADERS, fields);
        headers.insert(h::ACCESS_CONTROL_MAX_AGE, HeaderValue::from_static("86400"));
    }
    response
}
