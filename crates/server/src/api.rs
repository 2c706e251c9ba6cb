//! Our own JSON below `/api/v1`: the running queries, and what the store holds.
//!
//! The texts of queries may be nobody else's business, and cancelling is a right, so both are for
//! peers on this machine only until there are tokens. A proxy on this machine is such a peer and
//! speaks for anybody, and so does a browser that was sent here under a foreign name (DNS
//! rebinding): a request that was forwarded, or whose `Host` is not of this machine, is refused.

use crate::edge::Edge;
use crate::engine::Engine;
use crate::problem::Problem;
use crate::routes::{Peer, done, reading, text};
use axum::Extension;
use axum::body::Body;
use axum::extract::rejection::PathRejection;
use axum::extract::{Path, State};
use hyper::header::HOST;
use hyper::{HeaderMap, Method, Response};
use serde_json::{Value, json};
use somersault::running::{QueryId, RunningQuery};
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

/// `GET /api/v1/queries`: the queries that run now, oldest first.
pub(crate) async fn list(
    State(edge): State<Arc<Edge>>,
    Extension(peer): Extension<Peer>,
    headers: HeaderMap,
    method: Method,
) -> Response<Body> {
    if let Err(problem) = local(peer, &headers, edge.address) {
        return problem.into_response();
    }
    reading(&method, || match edge.engine() {
        Ok(engine) => {
            let queries: Vec<Value> = engine.running().list().iter().map(described).collect();
            json_text(&json!({ "queries": queries }))
        }
        Err(problem) => problem.into_response(),
    })
}

/// `DELETE /api/v1/queries/{id}`: cancels one.
pub(crate) async fn one(
    State(edge): State<Arc<Edge>>,
    Extension(peer): Extension<Peer>,
    headers: HeaderMap,
    method: Method,
    id: Result<Path<String>, PathRejection>,
) -> Response<Body> {
    let cancelled = local(peer, &headers, edge.address).and_then(|()| match (method, id) {
        (Method::DELETE, Ok(Path(id))) => cancel(&edge, &id),
        (Method::DELETE, Err(rejection)) => Err(Problem::bad_request(rejection.body_text())),
        (method, _) => Err(Problem::method_not_allowed(method.as_str(), "DELETE")),
    });
    match cancelled {
        Ok(()) => done(),
        Err(problem) => problem.into_response(),
    }
}

/// `GET /api/v1/statistics`: what the store holds.
pub(crate) async fn statistics(State(edge): State<Arc<Edge>>, method: Method) -> Response<Body> {
    reading(&method, || match edge.engine() {
        Ok(engine) => json_text(&sizes(engine.as_ref())),
        Err(problem) => problem.into_response(),
    })
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

fn cancel(edge: &Edge, id: &str) -> Result<(), Problem> {
    let number = id
        .strip_prefix('q')
        .and_then(|digits| u64::from_str_radix(digits, 16).ok());
    let Some(number) = number else {
        return Err(Problem::bad_request(format!(
            "`{id}` is no name of a query, like q00000001"
        )));
    };
    if edge.engine()?.running().cancel(QueryId(number)) {
        Ok(())
    } else {
        Err(Problem::not_found(format!("no query `{id}` is running")))
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
        && hosts.all(|host| host.to_str().is_ok_and(|host| is_ours(host, bound.ip())));
    if is_ours {
        Ok(())
    } else {
        Err(Problem::forbidden(
            "running queries are shown to a `Host` of this machine only, like localhost",
        ))
    }
}

/// Whether a `Host` names this machine: `localhost`, a loopback address, or the one bound.
fn is_ours(host: &str, bound: IpAddr) -> bool {
    let name = match host.rsplit_once(':') {
        Some((name, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) => name,
        _ => host,
    };
    let bare = name
        .strip_prefix('[')
        .and_then(|rest| rest.strip_suffix(']'));
    let address = bare.unwrap_or(name).parse::<IpAddr>();
    name.eq_ignore_ascii_case("localhost")
        || address.is_ok_and(|address| address.is_loopback() || address == bound)
}

fn json_text(value: &Value) -> Response<Body> {
    text("application/json", value.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts_of_this_machine() {
        let bound: IpAddr = "192.0.2.7".parse().unwrap();
        for ours in [
            "localhost",
            "LocalHost:7272",
            "127.0.0.1:7272",
            "127.0.0.1",
            "[::1]",
            "[::1]:7272",
            "192.0.2.7:80",
        ] {
            assert!(is_ours(ours, bound), "{ours}");
        }
        for foreign in [
            "",
            "evil.example",
            "localhost.evil.example:7272",
            "192.0.2.8",
            "[::2]:1",
        ] {
            assert!(!is_ours(foreign, bound), "{foreign}");
        }
    }
}
