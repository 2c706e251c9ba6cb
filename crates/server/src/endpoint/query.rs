//! The endpoints of the SPARQL protocol: `/sparql`, `/query` and `/update`. `/sparql?graph=IRI` and
//! `/sparql?default` are graphs of the store, as at `/store` ([`graph_store`]).
//!
//! Each reads a request's head and body to what is asked, and passes that on to [`asking`], or to [`change`].

use crate::endpoint::asking;
use crate::endpoint::change;
use crate::endpoint::conditional;
use crate::endpoint::description;
use crate::endpoint::graph_store;
use crate::endpoint::page;
use crate::request::access;
use crate::request::condition;
use crate::request::protocol::{self, Endpoint, Operation};
use crate::response::head;
use crate::response::{options, refused, refused_with_body, share};
use crate::state::{RequestId, ServerState};
use axum::Extension;
use axum::body::Body;
use axum::extract::State;
use hyper::header::HeaderValue;
use hyper::{Method, Request, Response};
use somersault::config::Right;
use std::sync::Arc;

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
        Ok(Operation::Query(asked)) => asking::answer(server, asked, request_id).await,
        Ok(Operation::Update(wanted)) => change::answer(server, wanted, None, request_id).await,
        Err(problem) => refused(problem, request_id),
    }
}

/// A `GET` without parameters wants to know what this is.
fn asks_nothing(request: &Request<Body>) -> bool {
    let reads = matches!(*request.method(), Method::GET | Method::HEAD);
    reads && request.uri().query().unwrap_or_default().is_empty()
}
