//! Our own JSON below `/api/v1`: the running queries, and what the store holds.
//!
//! The texts of queries may be nobody else's business, and cancelling and compacting are a right: of
//! bearers of a token with the right `admin`; and of everybody where `api.open` says so. That a request
//! comes from this machine gives no right: a proxy on it may forward requests of the world without a trace
//! (nginx does, as it comes), and so does a browser that was sent here by a page of another origin.

use crate::response::problem::Problem;
use crate::response::{allowing, done, reading, text};
use crate::run::job::Engine;
use crate::runtime;
use crate::state::ServerState;
use axum::body::Body;
use axum::extract::rejection::PathRejection;
use axum::extract::{Path, State};
use hyper::{HeaderMap, Method, Response};
use serde_json::{Value, json};
use somersault::config::Right;
use somersault::running::{QueryId, RunningQuery};
use somersault::{Kind, QueryError};
use std::sync::Arc;

const CANCELS: &str = "DELETE, OPTIONS";
const COMPACTS: &str = "POST, OPTIONS";

/// `GET /api/v1/queries`: the queries that run now, oldest first.
pub(crate) async fn list(
    State(server): State<Arc<ServerState>>,
    headers: HeaderMap,
    method: Method,
) -> Response<Body> {
    if method != Method::OPTIONS
        && let Err(problem) = keeper(&server, &headers)
    {
        return problem.into_response();
    }
    reading(&method, || match server.engine() {
        Ok(engine) => {
            let queries: Vec<Value> = engine.running().list().iter().map(described).collect();
            json_text(&json!({ "queries": queries }))
        }
        Err(problem) => problem.into_response(),
    })
}

/// `DELETE /api/v1/queries/{id}`: cancels one.
pub(crate) async fn one(
    State(server): State<Arc<ServerState>>,
    headers: HeaderMap,
    method: Method,
    id: Result<Path<String>, PathRejection>,
) -> Response<Body> {
    if method == Method::OPTIONS {
        return allowing(CANCELS);
    }
    let cancelled = keeper(&server, &headers).and_then(|()| match (method, id) {
        (Method::DELETE, Ok(Path(id))) => cancel(&server, &id),
        (Method::DELETE, Err(rejection)) => Err(Problem::bad_request(rejection.body_text())),
        (method, _) => Err(Problem::method_not_allowed(method.as_str(), CANCELS)),
    });
    match cancelled {
        Ok(()) => done(),
        Err(problem) => problem.into_response(),
    }
}

/// `POST /api/v1/compact`: writes all changes into the store's files; answers when that is done.
pub(crate) async fn compact(
    State(server): State<Arc<ServerState>>,
    headers: HeaderMap,
    method: Method,
) -> Response<Body> {
    if method == Method::OPTIONS {
        return allowing(COMPACTS);
    }
    match compacted(&server, &headers, &method).await {
        Ok(()) => done(),
        Err(problem) => problem.into_response(),
    }
}

async fn compacted(
    server: &ServerState,
    headers: &HeaderMap,
    method: &Method,
) -> Result<(), Problem> {
    keeper(server, headers)?;
    if *method != Method::POST {
        return Err(Problem::method_not_allowed(method.as_str(), COMPACTS));
    }
    let engine = Arc::clone(server.engine()?);
    let Ok(_running) = server.compacting.try_lock() else {
        let problem = QueryError::new(Kind::Conflict, "the store is being compacted already");
        return Err(Problem::of_change(&problem));
    };
    let compacted = tokio::task::spawn_blocking(move || {
        runtime::stand_back();
        engine.compact()
    })
    .await;
    let panicked = |_| {
        Err(QueryError::new(
            Kind::Internal,
            "compacting met a bug of the server",
        ))
    };
    let compacted = compacted.unwrap_or_else(panicked);
    compacted.map_err(|error| Problem::of_change(&error))
}

/// `GET /api/v1/statistics`: what the store holds.
pub(crate) async fn statistics(
    State(server): State<Arc<ServerState>>,
    headers: HeaderMap,
    method: Method,
) -> Response<Body> {
    to_readers(&server, (&headers, &method), || {
        Ok(json_text(&sizes(server.engine()?.as_ref())))
    })
}

/// Answers whoever may read the graph.
pub(crate) fn to_readers(
    server: &ServerState,
    (headers, method): (&HeaderMap, &Method),
    answer: impl FnOnce() -> Result<Response<Body>, Problem>,
) -> Response<Body> {
    let granted = server.options().access.grant(headers, server.address);
    if method != Method::OPTIONS
        && let Err(problem) = granted.and_then(|granted| granted.need(Right::Read))
    {
        return problem.into_response();
    }
    reading(method, || answer().unwrap_or_else(Problem::into_response))
}

/// Whether a request comes from somebody who may see and stop what others do.
fn keeper(server: &ServerState, headers: &HeaderMap) -> Result<(), Problem> {
    let options = server.options();
    let granted = options.access.grant(headers, server.address)?;
    if !options.api_open {
        let hint = "a token with the right admin gives that right (auth.tokens); `api.open = true` gives it to all";
        return granted
            .need(Right::Admin)
            .map_err(|problem| problem.with_hint(hint));
    }
    if granted.is_from_here() || granted.has(Right::Admin) {
        return Ok(());
    }
    Err(Problem::forbidden("this is not for pages of other origins"))
}

fn sizes(engine: &dyn Engine) -> Value {
    let contents = engine.contents();
    json!({
        "quads": contents.quads,
        "terms": contents.terms,
        "predicates": contents.predicates,
        "bytes": contents.bytes,
        "snapshot": engine.snapshot(),
        "version": env!("CARGO_PKG_VERSION"),
    })
}

fn described(query: &RunningQuery) -> Value {
    json!({
        "id": query.id.to_string(),
        "text": query.text,
        "elapsed_seconds": query.elapsed.as_secs_f64(),
    })
}

fn cancel(server: &ServerState, id: &str) -> Result<(), Problem> {
    let number = id
        .strip_prefix('q')
        .and_then(|digits| u64::from_str_radix(digits, 16).ok());
    let Some(number) = number else {
        return Err(Problem::bad_request(format!(
            "`{id}` is no name of a query, like q00000001"
        )));
    };
    match server.engine()?.running().cancel(QueryId(number)) {
        Some(true) => Ok(()),
        Some(false) => {
            let why = format!("`{id}` is being committed, and cannot be stopped any more");
            Err(Problem::of_change(&QueryError::new(Kind::Conflict, why)))
        }
        None => Err(Problem::not_found(format!("no query `{id}` is running"))),
    }
}

fn json_text(value: &Value) -> Response<Body> {
    text("application/json", value.to_string())
}
