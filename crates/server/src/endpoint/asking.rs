//! What is asked becomes an answer, whichever endpoint read it: a query, a graph, or the whole store.
//!
//! what is asked -> a turn -> an engine thread -> a pipe -> a response. The handler holds
//! the pipe's reader while it waits and the response's body holds it after that, so a client that
//! goes away at any moment takes its query along: hyper drops the handler, or the body.

use crate::metrics::Outcome;
use crate::request::QueryRequest;
use crate::request::access::Client;
use crate::response::answer::{self, ResponseContext};
use crate::response::problem::Problem;
use crate::response::{WAIT_NOTED, out_of_time, refused};
use crate::run::admission::{Permit, Turned};
use crate::run::fresh;
use crate::run::job::Engine;
use crate::run::light;
use crate::run::pipe;
use crate::run::work::Task;
use crate::runtime;
use crate::state::ServerState;
use axum::body::Body;
use hyper::Response;
use somersault::budget::Budget;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Memory of a started query besides what its operators ask for (bytes): stacks and buffers of its threads,
/// measured as some 0.7 MiB on two processors.
const QUERY_BYTES: u64 = 1 << 20;

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
    mut asked: QueryRequest,
    request_id: &str,
) -> Result<Response<Body>, Problem> {
    let arrived = Instant::now();
    let engine = Arc::clone(server.engine()?);
    if let Some(number) = asked.snapshot {
        fresh::wait(engine.as_ref(), number, asked.timeout).await?;
    }
    if let Some(number) = asked.number {
        // Now: it may be gone when the query has its turn.
        let pinned = engine.graph_at(number);
        asked.pinned = Some(pinned.map_err(|error| Problem::of_query(&error))?);
    }
    if asked.explain.is_none()
        && asked.pinned.is_none()
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
    let answering = ResponseContext {
        accepted: asked.accepted,
        trailers: asked.trailers,
        head_only: asked.head_only,
        is_plan: asked.explain.is_some(),
        timeout: asked.timeout,
        wait: waited,
        request_id: request_id.to_owned(),
    };
    let timeout = asked.timeout.saturating_sub(waited.unwrap_or_default());
    let begun = AdmittedQuery {
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
fn start(engine: Arc<dyn Engine>, server: &ServerState, begun: AdmittedQuery) -> pipe::Reader {
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
struct AdmittedQuery {
    asked: QueryRequest,
    turn: Permit,
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
) -> Result<Permit, Problem> {
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
