//! The endpoints of the SPARQL protocol: `/sparql`, `/query` and `/update`. `/sparql?graph=IRI` and
//! `/sparql?default` are graphs of the store, as at `/store` ([`graph_store`]).
//!
//! request -> what is asked -> a turn -> an engine thread -> a pipe -> a response. The handler holds
//! the pipe's reader while it waits and the response's body holds it after that, so a client that
//! goes away at any moment takes its query along: hyper drops the handler, or the body.

use crate::endpoint::change;
use crate::endpoint::conditional;
use crate::endpoint::description;
use crate::endpoint::graph_store;
use crate::endpoint::page;
use crate::metrics::Outcome;
use crate::request::QueryRequest;
use crate::request::access::{self, Client};
use crate::request::condition;
use crate::request::protocol::{self, Endpoint, Operation};
use crate::response::answer::{self, Answering};
use crate::response::head;
use crate::response::problem::Problem;
use crate::response::{WAIT_NOTED, options, out_of_time, refused, refused_with_body, share};
use crate::run::admission::{Turn, Turned};
use crate::run::fresh;
use crate::run::job::Engine;
use crate::run::light;
use crate::run::pipe;
use crate::run::work::Task;
use crate::runtime;
use crate::state::{RequestId, ServerState};
use axum::Extension;
use axum::body::Body;
use axum::extract::State;
use hyper::header::HeaderValue;
use hyper::{Method, Request, Response};
use somersault::budget::Budget;
use somersault::config::Right;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Memory of a started query besides what its operators ask for (bytes): stacks and buffers of its threads,
/// measured as some 0.7 MiB on two processors.
const QUERY_BYTES: u64 = 1 << 20;

/// Answers a request to `/sparql`.
pub(crate) async fn both(
    server: State<Arc<ServerState>>,
    id: Extension<RequestId>,
    request: Request<Body>,
) -> Response<Body> {
    if is_of_a_graph(&request) {
        return graph_store::endpoint(server, id, request).await;
    }
    endpoint(server, id, request, Endpoint::Both).await
}

/// Whether a request to `/sparql` reads or changes a graph: its address names one, and neither it nor its
/// body is a query or an update (SPARQL 1.1 Graph Store HTTP Protocol, clause 4.2, leaves the address open).
fn is_of_a_graph(request: &Request<Body>) -> bool {
    let Some(address) = request.uri().query() else {
        return false;
    };
    let names = || {
        address
            .split('&')
            .map(|pair| pair.split('=').next().unwrap_or_default())
    };
    let names_graph = names().any(|name| matches!(name, "graph" | "default"));
    names_graph
        && !names().any(|name| matches!(name, "query" | "update"))
        && request.method().as_str() != "QUERY"
        && !(request.method() == Method::POST && protocol::is_text(request.headers()))
}

/// Answers a request to `/query`.
pub(crate) async fn queries(
    server: State<Arc<ServerState>>,
    id: Extension<RequestId>,
    request: Request<Body>,
) -> Response<Body> {
    endpoint(server, id, request, Endpoint::Query).await
}

/// Answers a request to `/update`.
pub(crate) async fn updates(
    server: State<Arc<ServerState>>,
    id: Extension<RequestId>,
    request: Request<Body>,
) -> Response<Body> {
    endpoint(server, id, request, Endpoint::Update).await
}

async fn endpoint(
    State(server): State<Arc<ServerState>>,
    Extension(RequestId(request_id)): Extension<RequestId>,
    request: Request<Body>,
    door: Endpoint,
) -> Response<Body> {
    let mut response = if request.method() == Method::OPTIONS {
        let mut response = options(&server, door.methods());
        if door != Endpoint::Update {
            let bodies = HeaderValue::from_static(protocol::BODIES);
            response.headers_mut().insert(head::ACCEPT_QUERY, bodies);
        }
        response
    } else {
        respond(&server, request, &request_id, door).await
    };
    share(&server, &mut response);
    response
}

async fn respond(
    server: &Arc<ServerState>,
    request: Request<Body>,
    request_id: &str,
    door: Endpoint,
) -> Response<Body> {
    let granted = match server
        .options()
        .access
        .grant(request.headers(), server.address)
    {
        Ok(granted) => granted,
        Err(problem) => return refused_with_body(problem, request, request_id).await,
    };
    if door != Endpoint::Update
        && let Some(shown) = page::shown(&request)
    {
        return shown.unwrap_or_else(|problem| refused(problem, request_id));
    }
    let base = description::address(&request, server);
    if asks_nothing(&request) && door != Endpoint::Update {
        return granted
            .need(Right::Read)
            .and_then(|()| description::answer(server, request.headers(), &base))
            .unwrap_or_else(|problem| refused(problem, request_id));
    }
    let account = match server.accounts() {
        Ok(accounts) => accounts.body(),
        Err(problem) => return refused_with_body(problem, request, request_id).await,
    };
    let client = granted.client(access::sender(&request));
    let reads = matches!(*request.method(), Method::GET | Method::HEAD);
    let conditions = request.headers();
    let conditions = (reads && condition::is_any(conditions)).then(|| conditions.clone());
    match protocol::read(
        request,
        &server.options(),
        door,
        granted,
        (base, client, account),
    )
    .await
    {
        Ok(Operation::Query(asked)) if reads && asked.explain.is_none() => {
            conditional::answer(server, asked, conditions, request_id).await
        }
        Ok(Operation::Query(asked)) => answer(server, asked, request_id).await,
        Ok(Operation::Update(wanted)) => change::answer(server, wanted, None, request_id).await,
        Err(problem) => refused(problem, request_id),
    }
}

/// A `GET` without parameters wants to know what this is.
fn asks_nothing(request: &Request<Body>) -> bool {
    let reads = matches!(*request.method(), Method::GET | Method::HEAD);
    reads && request.uri().query().unwrap_or_default().is_empty()
}

/// Answers what is asked, or says why not.
pub(crate) async fn answer(
    server: &Arc<ServerState>,
    asked: QueryRequest,
    request_id: &str,
) -> Response<Body> {
    ask(server, asked, request_id)
        .await
        .unwrap_or_else(|problem| refused(problem, request_id))
}

async fn ask(
    server: &Arc<ServerState>,
    asked: QueryRequest,
    request_id: &str,
) -> Result<Response<Body>, Problem> {
    let arrived = Instant::now();
    let engine = Arc::clone(server.engine()?);
    if let Some(number) = asked.snapshot {
        fresh::wait(engine.as_ref(), number, asked.timeout).await?;
    }
    if asked.explain.is_none()
        && let Some(response) = light::answer(engine.as_ref(), server, &asked, arrived)
    {
        light::let_others_read(server, asked.port, arrived).await;
        return Ok(response);
    }
    let patience = |arrived: Instant| asked.timeout.saturating_sub(arrived.elapsed());
    let accounts = server.accounts()?;
    let Some(account) = accounts.wait_for(QUERY_BYTES, patience(arrived)).await else {
        let why = "the memory of all queries is in use";
        return Err(turned_away(server, Problem::overloaded(why), arrived));
    };
    let patience = patience(arrived);
    let turn = turn(server, asked.client, patience, arrived).await?;
    let waited = Some(arrived.elapsed()).filter(|waited| *waited > WAIT_NOTED);
    let answering = Answering {
        accepted: asked.accepted,
        trailers: asked.trailers,
        head_only: asked.head_only,
        is_plan: asked.explain.is_some(),
        timeout: asked.timeout,
        wait: waited,
        request_id: request_id.to_owned(),
    };
    let timeout = asked.timeout.saturating_sub(waited.unwrap_or_default());
    let begun = Begun {
        asked,
        turn,
        account,
        timeout,
        arrived,
        request_id: request_id.to_owned(),
    };
    let reader = start(engine, server, begun);
    Ok(answer::respond(reader, answering).await)
}

/// Runs a query on an engine thread.
fn start(engine: Arc<dyn Engine>, server: &ServerState, begun: Begun) -> pipe::Reader {
    let (writer, reader) = pipe::pipe(begun.turn, begun.account, QUERY_BYTES, begun.timeout);
    let task = Task {
        engine,
        asked: begun.asked,
        timeout: begun.timeout,
        writer,
        metrics: Arc::clone(&server.metrics),
        spool: Arc::clone(&server.spool),
        arrived: begun.arrived,
        request_id: begun.request_id,
    };
    // The thread is not waited for: the pipe says all there is to say.
    drop(tokio::task::spawn_blocking(move || {
        runtime::be_named();
        task.run();
    }));
    reader
}

/// A query that has its turn.
struct Begun {
    asked: QueryRequest,
    turn: Turn,
    /// What it holds outside of the engine.
    account: Budget,
    /// What is left of its time.
    timeout: Duration,
    arrived: Instant,
    request_id: String,
}

async fn turn(
    server: &ServerState,
    client: Client,
    patience: Duration,
    arrived: Instant,
) -> Result<Turn, Problem> {
    let problem = match server.admission.enter(client, patience).await {
        Ok(turn) => return Ok(turn),
        Err(Turned::Away) => Problem::overloaded("too many queries wait for their turn"),
        Err(Turned::TooLate) => out_of_time(patience, arrived),
    };
    Err(turned_away(server, problem, arrived))
}

/// Counts a query that was not let in.
fn turned_away(server: &ServerState, problem: Problem, arrived: Instant) -> Problem {
    let metrics = &server.metrics;
    metrics.query_ended(Outcome::TurnedAway, arrived.elapsed(), 0);
    problem
}
