//! The map of addresses, and the small ones among the handlers.
//!
//! | path | |
//! |---|---|
//! | `/sparql`, `/query`, `/update` | the SPARQL protocol, in [`crate::endpoint::query`] |
//! | `/store`, `/data` | the Graph Store Protocol, in [`crate::endpoint::graph_store`] |
//! | `/` | a page with a form, in [`crate::endpoint::page`] |
//! | `/metrics`, `/health/live`, `/health/ready` | for machines that watch |
//! | `/api/v1/...` | our own JSON, in [`crate::endpoint::api`]; `openapi.json` describes all addresses |
//!
//! Methods are told apart in the handlers, not by the router, which does not know `QUERY` and would
//! answer a 405 without a problem document.

use crate::endpoint::api;
use crate::endpoint::cluster;
use crate::endpoint::continuous;
use crate::endpoint::exposition::exposition;
use crate::endpoint::graph_store;
use crate::endpoint::openapi;
use crate::endpoint::page;
use crate::endpoint::pushing;
use crate::endpoint::query;
use crate::endpoint::reports;
use crate::endpoint::snapshots;
use crate::endpoint::streams;
use crate::endpoint::subscribe;
use crate::endpoint::templates;
use crate::request::access::{Client, Peer};
use crate::request::host;
use crate::response::coding::Preferred;
use crate::response::compress;
use crate::response::head::{self, Signature};
use crate::response::problem::Problem;
use crate::response::{allowing, reading, refused_with_body, text};
use crate::state::ServerState;
use axum::Router;
use axum::body::Body;
use axum::extract::{Request, State};
use axum::middleware::{self, Next};
use axum::routing::{MethodRouter, any};
use hyper::{Method, Response, StatusCode, Uri, Version};
use std::sync::Arc;
use std::time::Instant;

const PLAIN: &str = "text/plain; charset=utf-8";

/// Answers at an address.
pub(crate) type Route = MethodRouter<Arc<ServerState>>;

/// All addresses of a server. Each is in [`crate::endpoint::openapi`], too.
pub(crate) fn routes() -> Vec<(&'static str, Route)> {
    vec![
        ("/sparql", any(query::both)),
        ("/sparql/", any(query::both)),
        ("/query", any(query::queries)),
        ("/query/", any(query::queries)),
        ("/update", any(query::updates)),
        ("/update/", any(query::updates)),
        ("/store", any(graph_store::endpoint)),
        ("/store/", any(graph_store::endpoint)),
        ("/store/{*graph}", any(graph_store::endpoint)),
        ("/data/{*graph}", any(graph_store::endpoint)),
        ("/data", any(graph_store::endpoint)),
        ("/data/", any(graph_store::endpoint)),
        ("/", any(page::page)),
        ("/metrics", any(exposition)),
        ("/health/live", any(alive)),
        ("/health/ready", any(prepared)),
        ("/api/v1/openapi.json", any(openapi::answer)),
        ("/api/v1/queries", any(api::list)),
        ("/api/v1/queries/{id}", any(api::one)),
        ("/api/v1/statistics", any(api::statistics)),
        ("/api/v1/compact", any(api::compact)),
        ("/api/v1/cluster", any(cluster::answer)),
        ("/api/v1/snapshots", any(snapshots::all)),
        ("/api/v1/snapshots/{number}", any(snapshots::one)),
        ("/api/v1/streams", any(streams::all)),
        ("/api/v1/streams/{name}", any(streams::one)),
        ("/api/v1/streams/{name}/items", any(pushing::items)),
        ("/api/v1/subscribe", any(subscribe::endpoint)),
        ("/api/v1/continuous", any(continuous::all)),
        ("/api/v1/continuous/{name}", any(continuous::one)),
        ("/api/v1/continuous/{name}/instances", any(templates::add)),
        (
            "/api/v1/continuous/{name}/instances/{instance}",
            any(templates::one),
        ),
        ("/api/v1/continuous/{name}/pause", any(continuous::pause)),
        ("/api/v1/continuous/{name}/resume", any(continuous::resume)),
        ("/api/v1/continuous/{name}/reports", any(reports::reports)),
    ]
}

/// The addresses with what is done at each.
pub(crate) fn router(server: &Arc<ServerState>) -> Router {
    let add = |router: Router<_>, (path, route)| router.route(path, route);
    let router = routes().into_iter().fold(Router::new(), add);
    router
        .fallback(nowhere)
        .layer(middleware::from_fn_with_state(Arc::clone(server), sign))
        .with_state(Arc::clone(server))
}

/// Whether an address is for machines that watch the server: they are answered where nobody else is.
pub(crate) fn is_for_watchers(address: &Uri) -> bool {
    matches!(
        address.path(),
        "/metrics" | "/health/live" | "/health/ready"
    )
}

/// The answer to a request for which there is no room.
pub(crate) fn no_room() -> Response<Body> {
    let problem = Problem::overloaded("too many connections have requests under way");
    problem.closing().into_response()
}

/// What is done to every response, whoever made it.
async fn sign(
    State(server): State<Arc<ServerState>>,
    mut request: Request,
    next: Next,
) -> Response<Body> {
    let arrived = Instant::now();
    let id = server.request_id();
    request.extensions_mut().insert(id.clone());
    let peer = request.extensions().get::<Peer>().copied();
    let peer = peer.expect("every connection knows its peer");
    let options = server.options();
    let sender = Client::sending(peer, request.headers(), &options.proxies);
    request.extensions_mut().insert(sender);
    let preferred = match *request.method() {
        Method::HEAD => None,
        // What is compressed as it is sent has no length, without which HTTP/1.0 cannot tell a whole answer.
        _ if request.version() < Version::HTTP_11 => None,
        _ => Preferred::read(request.headers()),
    };
    let mut response = match host::check(&request, server.address.ip(), &options.hosts) {
        Ok(()) => next.run(request).await,
        Err(problem) => refused_with_body(problem, request, &id.0).await,
    };
    if response.status() == StatusCode::OK {
        compress::vary(response.headers_mut());
    }
    if let Some(preferred) = preferred {
        response = compress::compressed(&server, preferred, response).await;
    }
    let signature = Signature {
        request_id: &id.0,
        total: arrived.elapsed(),
        snapshot: server.engine().ok().map(|engine| engine.snapshot()),
    };
    head::sign(response.headers_mut(), signature);
    server.metrics.request_answered(response.status());
    response
}

async fn alive(method: Method) -> Response<Body> {
    reading(&method, || text(PLAIN, "alive\n"))
}

async fn prepared(State(server): State<Arc<ServerState>>, method: Method) -> Response<Body> {
    reading(&method, || {
        let ready = |remark: Option<String>| match remark {
            Some(remark) => text(PLAIN, format!("ready\n{remark}\n")),
            None => text(PLAIN, "ready\n"),
        };
        server
            .readiness()
            .map_or_else(Problem::into_response, ready)
    })
}

/// What is done anywhere.
const ALL: &str = "GET, HEAD, POST, PUT, PATCH, DELETE, QUERY, OPTIONS";

async fn nowhere(method: Method, address: Uri) -> Response<Body> {
    // The server as a whole (RFC 9110 section 9.3.7).
    if method == Method::OPTIONS && address.path() == "*" {
        return allowing(ALL);
    }
    let detail = format!(
        "nothing lives at `{}`; queries go to /sparql",
        address.path()
    );
    Problem::not_found(detail).into_response()
}
