//! Our own JSON below `/api/v1`: the running queries, and what the store holds.
//!
//! The texts of queries may be nobody else's business, and cancelling is a right, so both are for
//! peers on this machine only until there are tokens.

use crate::edge::Edge;
use crate::problem::Problem;
use crate::routes::{Peer, done, reading, text};
use axum::Extension;
use axum::body::Body;
use axum::extract::{Path, State};
use hyper::{Method, Response};
use serde_json::{Value, json};
use somersault::running::{QueryId, RunningQuery};
use std::sync::Arc;

/// `GET /api/v1/queries`: the queries that run now, oldest first.
pub(crate) async fn list(
    State(edge): State<Arc<Edge>>,
    Extension(peer): Extension<Peer>,
    method: Method,
) -> Response<Body> {
    if let Err(problem) = local(peer) {
        return problem.into_response();
    }
    reading(&method, || {
        let queries: Vec<Value> = edge.engine.running().list().iter().map(described).collect();
        json_text(&json!({ "queries": queries }))
    })
}

/// `DELETE /api/v1/queries/{id}`: cancels one.
pub(crate) async fn one(
    State(edge): State<Arc<Edge>>,
    Extension(peer): Extension<Peer>,
    method: Method,
    Path(id): Path<String>,
) -> Response<Body> {
    let cancelled = local(peer).and_then(|()| match method {
        Method::DELETE => cancel(&edge, &id),
        _ => Err(Problem::method_not_allowed(method.as_str(), "DELETE")),
    });
    match cancelled {
        Ok(()) => done(),
        Err(problem) => problem.into_response(),
    }
}

/// `GET /api/v1/statistics`: what the store holds.
pub(crate) async fn statistics(State(edge): State<Arc<Edge>>, method: Method) -> Response<Body> {
    reading(&method, || {
        let contents = edge.engine.contents();
        json_text(&json!({
            "quads": contents.quads,
            "terms": contents.terms,
            "predicates": contents.predicates,
            "bytes": contents.bytes,
            "snapshot": edge.engine.snapshot(),
            "version": env!("CARGO_PKG_VERSION"),
        }))
    })
}

fn described(query: &RunningQuery) -> Value {
    json!({
        "id": query.id.to_string(),
        "text": query.text,
        "elapsed_seconds": query.elapsed.as_secs_f64(),
    })
}

fn cancel(edge: &Edge, id: &str) -> Result<(), Problem> {
    let number = id
        .strip_prefix('q')
        .and_then(|digits| u64::from_str_radix(digits, 16).ok());
    let Some(number) = number else {
        return Err(Problem::bad_request(format!(
            "`{id}` is no name of a query, like q00000001"
        )));
    };
    if edge.engine.running().cancel(QueryId(number)) {
        Ok(())
    } else {
        Err(Problem::not_found(format!("no query `{id}` is running")))
    }
}

fn local(peer: Peer) -> Result<(), Problem> {
    if peer.0.ip().to_canonical().is_loopback() {
        Ok(())
    } else {
        Err(Problem::forbidden(
            "running queries are shown to peers on the same machine only",
        ))
    }
}

fn json_text(value: &Value) -> Response<Body> {
    text("application/json", value.to_string())
}
