//! Our own JSON below `/api/v1`: the running queries, and what the store holds.
//!
//! The texts of queries may be nobody else's business, and cancelling and compacting are a right: of
//! bearers of a token with the right `admin`, and, where there is no such token, of peers on this
//! machine. A proxy on this machine is such a peer and speaks for anybody, and so does a browser that
//! was sent here under a foreign name (DNS rebinding) or by a page of another origin: a request that
//! was forwarded, whose `Host` is not of this machine or whose `Origin` is another, is refused.

use crate::request::access::Peer;
use crate::request::host;
use crate::response::problem::Problem;
use crate::response::{done, reading, text};
use crate::run::job::Engine;
use crate::runtime;
use crate::state::ServerState;
use axum::Extension;
use axum::body::Body;
use axum::extract::rejection::PathRejection;
use axum::extract::{Path, State};
use hyper::header::{HOST, ORIGIN};
use hyper::{HeaderMap, Method, Response};
use serde_json::{Value, json};
use somersault::config::Right;
use somersault::running::{QueryId, RunningQuery};
use somersault::{Kind, QueryError};
use std::net::SocketAddr;
use std::sync::Arc;

/// `GET /api/v1/queries`: the queries that run now, oldest first.
pub(crate) async fn list(
    State(server): State<Arc<ServerState>>,
    Extension(peer): Extension<Peer>,
    headers: HeaderMap,
    method: Method,
) -> Response<Body> {
    if let Err(problem) = keeper(&server, peer, &headers) {
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
    Extension(peer): Extension<Peer>,
    headers: HeaderMap,
    method: Method,
    id: Result<Path<String>, PathRejection>,
) -> Response<Body> {
    let cancelled = keeper(&server, peer, &headers).and_then(|()| match (method, id) {
        (Method::DELETE, Ok(Path(id))) => cancel(&server, &id),
        (Method::DELETE, Err(rejection)) => Err(Problem::bad_request(rejection.body_text())),
        (method, _) => Err(Problem::method_not_allowed(method.as_str(), "DELETE")),
    });
    match cancelled {
        Ok(()) => done(),
        Err(problem) => problem.into_response(),
    }
}

/// `POST /api/v1/compact`: writes all changes into the store's files; answers when that is done.
pub(crate) async fn compact(
    State(server): State<Arc<ServerState>>,
    Extension(peer): Extension<Peer>,
    headers: HeaderMap,
    method: Method,
) -> Response<Body> {
    match compacted(&server, peer, &headers, &method).await {
        Ok(()) => done(),
        Err(problem) => problem.into_response(),
    }
}

async fn compacted(
    server: &ServerState,
    peer: Peer,
    headers: &HeaderMap,
    method: &Method,
) -> Result<(), Problem> {
    keeper(server, peer, headers)?;
    if *method != Method::POST {
        return Err(Problem::method_not_allowed(method.as_str(), "POST"));
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
    let granted = server.options().access.grant(&headers, server.address);
    if let Err(problem) = granted.and_then(|granted| granted.need(Right::Read)) {
        return problem.into_response();
    }
    reading(&method, || match server.engine() {
        Ok(engine) => json_text(&sizes(engine.as_ref())),
        Err(problem) => problem.into_response(),
    })
}

/// Whether a request comes from somebody who may see and stop what others do.
fn keeper(server: &ServerState, peer: Peer, headers: &HeaderMap) -> Result<(), Problem> {
    let access = &server.options().access;
    let granted = access.grant(headers, server.address)?;
    if access.has_admins() {
        return granted.need(Right::Admin);
    }
    if headers.contains_key(ORIGIN) && !granted.is_from_here() {
        return Err(Problem::forbidden("this is not for pages of other origins"));
    }
    local(peer, headers, server.address)
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

/// Fields by which a proxy says that it speaks for another.
const FORWARDED: [&str; 6] = [
    "forwarded",
    "via",
    "x-forwarded-for",
    "x-forwarded-host",
    "x-forwarded-proto",
    "x-real-ip",
];

fn local(peer: Peer, headers: &HeaderMap, bound: SocketAddr) -> Result<(), Problem> {
    if !peer.0.ip().to_canonical().is_loopback() {
        return Err(Problem::forbidden(
            "running queries are shown to peers on the same machine only",
        ));
    }
    if FORWARDED.iter().any(|name| headers.contains_key(*name)) {
        return Err(Problem::forbidden(
            "running queries are not shown through a proxy",
        ));
    }
    let mut hosts = headers.get_all(HOST).iter().peekable();
    let is_ours = hosts.peek().is_some()
        && hosts.all(|host| {
            host.to_str().is_ok_and(|host| {
                host::name(host).is_some_and(|name| host::is_here(name, bound.ip()))
            })
        });
    if is_ours {
        Ok(())
    } else {
        Err(Problem::forbidden(
            "running queries are shown to a `Host` of this machine only, like localhost",
        ))
    }
}

fn json_text(value: &Value) -> Response<Body> {
    text("application/json", value.to_string())
}
