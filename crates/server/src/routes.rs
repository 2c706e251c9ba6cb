//! The map of addresses, and the small ones among the handlers.
//!
//! | path | |
//! |---|---|
//! | `/sparql`, `/query`, `/update` | the SPARQL protocol, in [`crate::query`] |
//! | `/store`, `/data` | the Graph Store Protocol, in [`crate::graph_store`] |
//! | `/` | a page with a form |
//! | `/metrics`, `/health/live`, `/health/ready` | for machines that watch |
//! | `/api/v1/...` | our own JSON, in [`crate::api`] |
//!
//! Methods are told apart in the handlers, not by the router, which does not know `QUERY` and would
//! answer a 405 without a problem document.

use crate::api;
use crate::edge::Edge;
use crate::graph_store;
use crate::head::{self, Signature};
use crate::problem::Problem;
use crate::query;
use axum::Router;
use axum::body::Body;
use axum::extract::{Request, State};
use axum::middleware::{self, Next};
use axum::routing::any;
use hyper::header::{CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE, HeaderValue};
use hyper::{HeaderMap, Method, Response, StatusCode, Uri};
use somersault::config::Right;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Instant;

/// The address at the other end of a request's connection.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Peer(pub SocketAddr);

const PAGE: &str = include_str!("page.html");
const PLAIN: &str = "text/plain; charset=utf-8";
const READS: &str = "GET, HEAD";
/// The page has everything in itself and talks to this server only.
const PAGE_POLICY: &str = "default-src 'none'; style-src 'unsafe-inline'; \
    script-src 'unsafe-inline'; img-src data:; connect-src 'self'; base-uri 'none'; \
    form-action 'none'; frame-ancestors 'none'";

/// All addresses of a server.
pub(crate) fn router(edge: &Arc<Edge>) -> Router {
    Router::new()
        .route("/sparql", any(query::both))
        .route("/sparql/", any(query::both))
        .route("/query", any(query::queries))
        .route("/query/", any(query::queries))
        .route("/update", any(query::updates))
        .route("/update/", any(query::updates))
        .route("/store", any(graph_store::endpoint))
        .route("/store/", any(graph_store::endpoint))
        .route("/store/{*graph}", any(graph_store::endpoint))
        .route("/data/{*graph}", any(graph_store::endpoint))
        .route("/data", any(graph_store::endpoint))
        .route("/data/", any(graph_store::endpoint))
        .route("/", any(page))
        .route("/metrics", any(exposition))
        .route("/health/live", any(alive))
        .route("/health/ready", any(prepared))
        .route("/api/v1/queries", any(api::list))
        .route("/api/v1/queries/{id}", any(api::one))
        .route("/api/v1/statistics", any(api::statistics))
        .route("/api/v1/compact", any(api::compact))
        .fallback(nowhere)
        .layer(middleware::from_fn_with_state(Arc::clone(edge), sign))
        .with_state(Arc::clone(edge))
}

/// What is done to every response, whoever made it.
async fn sign(State(edge): State<Arc<Edge>>, mut request: Request, next: Next) -> Response<Body> {
    let arrived = Instant::now();
    let id = edge.request_id();
    request.extensions_mut().insert(id.clone());
    let mut response = next.run(request).await;
    let signature = Signature {
        request_id: &id.0,
        total: arrived.elapsed(),
        snapshot: edge.engine().ok().map(|engine| engine.snapshot()),
    };
    head::sign(response.headers_mut(), signature);
    edge.metrics.request_answered(response.status());
    response
}

/// An address that can only be read.
pub(crate) fn reading(method: &Method, answer: impl FnOnce() -> Response<Body>) -> Response<Body> {
    match *method {
        Method::GET | Method::HEAD => answer(),
        _ => Problem::method_not_allowed(method.as_str(), READS).into_response(),
    }
}

/// A response of a text.
pub(crate) fn text(media_type: &'static str, text: impl Into<Body>) -> Response<Body> {
    let mut response = Response::new(text.into());
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static(media_type));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    response
}

async fn page(method: Method) -> Response<Body> {
    reading(&method, || {
        let mut response = text("text/html; charset=utf-8", PAGE);
        let policy = HeaderValue::from_static(PAGE_POLICY);
        response
            .headers_mut()
            .insert(CONTENT_SECURITY_POLICY, policy);
        response
    })
}

async fn exposition(
    State(edge): State<Arc<Edge>>,
    headers: HeaderMap,
    method: Method,
) -> Response<Body> {
    let granted = edge.options.access.grant(&headers, edge.address);
    if let Err(problem) = granted.and_then(|granted| granted.need(Right::Read)) {
        return problem.into_response();
    }
    reading(&method, || {
        let page = edge.metrics.to_text(&edge);
        text("text/plain; version=0.0.4; charset=utf-8", page)
    })
}

async fn alive(method: Method) -> Response<Body> {
    reading(&method, || text(PLAIN, "alive\n"))
}

async fn prepared(State(edge): State<Arc<Edge>>, method: Method) -> Response<Body> {
    reading(&method, || {
        edge.readiness().map_or_else(Problem::into_response, |()| {
            text(PLAIN, prepared_text(&edge))
        })
    })
}

/// It answers queries; whether it takes changes is said too, because a balancer of reads need not
/// mind.
fn prepared_text(edge: &Edge) -> String {
    let is_writable = edge.engine().is_ok_and(|engine| engine.is_writable());
    match (edge.read_only.get(), is_writable) {
        (Some(why), _) => format!("ready\nread-only: {why}\n"),
        (None, false) => "ready\nread-only: opened for reading\n".to_owned(),
        (None, true) => "ready\n".to_owned(),
    }
}

async fn nowhere(address: Uri) -> Response<Body> {
    let detail = format!(
        "nothing lives at `{}`; queries go to /sparql",
        address.path()
    );
    Problem::not_found(detail).into_response()
}

/// The status of a response that has nothing to say besides.
pub(crate) fn done() -> Response<Body> {
    let mut response = Response::new(Body::empty());
    *response.status_mut() = StatusCode::NO_CONTENT;
    response
}
