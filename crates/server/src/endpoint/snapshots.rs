//! `/api/v1/snapshots`: which snapshots can be read by number, and how far each holds the streams.
//!
//! | path | |
//! |---|---|
//! | `/api/v1/snapshots` | `GET`: all that are kept, oldest first |
//! | `/api/v1/snapshots/{number}` | `GET`: one. 410 where it is kept no more, 404 where it is not there yet |
//!
//! A one-shot query reads a prefix of every stream: that of its snapshot's vector (SOSP'17 section 4.3). Several queries with
//! the same `snapshot=N` at `/sparql` read the same one. A request that has `Somersault-Snapshot` waits for that snapshot
//! first, as everywhere.
//!
//! Cost: two short locks and the document. Nobody who publishes waits for more than a copy of some pointers.

use crate::endpoint::call::{Address, Call, Named, answered, json_text, name};
use crate::request::parameters::quoted;
use crate::response::problem::Problem;
use crate::run::fresh;
use crate::run::job::Engine;
use crate::state::{RequestId, ServerState};
use axum::Extension;
use axum::body::Body;
use axum::extract::State;
use hyper::{HeaderMap, Request, Response};
use serde_json::{Value, json};
use somersault::{SnapshotInfo, StreamPoint};
use std::sync::Arc;

const READS: Address = Address {
    methods: "GET, HEAD, OPTIONS",
    parameters: &[],
};

/// `/api/v1/snapshots`.
pub(crate) async fn all(
    State(server): State<Arc<ServerState>>,
    Extension(RequestId(id)): Extension<RequestId>,
    request: Request<Body>,
) -> Response<Body> {
    match Call::open(&server, &id, request, &READS).await {
        Ok(call) => answered(&server, &id, list(&call.server, &call.headers).await),
        Err(refused) => refused,
    }
}

/// `/api/v1/snapshots/{number}`.
pub(crate) async fn one(
    State(server): State<Arc<ServerState>>,
    Extension(RequestId(id)): Extension<RequestId>,
    named: Named,
    request: Request<Body>,
) -> Response<Body> {
    match Call::open(&server, &id, request, &READS).await {
        Ok(call) => answered(
            &server,
            &id,
            shown(&call.server, &call.headers, named).await,
        ),
        Err(refused) => refused,
    }
}

async fn list(server: &ServerState, headers: &HeaderMap) -> Result<Response<Body>, Problem> {
    let engine = waited(server, headers).await?;
    let snapshots: Vec<Value> = engine.snapshots().iter().map(described).collect();
    Ok(json_text(&json!({ "snapshots": snapshots })))
}

async fn shown(
    server: &ServerState,
    headers: &HeaderMap,
    named: Named,
) -> Result<Response<Body>, Problem> {
    let text = name(named)?;
    let number = text.parse().map_err(|_| {
        let why = format!("{} is no number of a snapshot", quoted(&text));
        Problem::bad_request(why)
    })?;
    let engine = waited(server, headers).await?;
    let snapshot = engine.snapshot_info(number);
    let snapshot = snapshot.map_err(|error| Problem::of_query(&error))?;
    Ok(json_text(&described(&snapshot)))
}

/// The database, when it has the snapshot that the request must not be older than.
async fn waited<'s>(
    server: &'s ServerState,
    headers: &HeaderMap,
) -> Result<&'s dyn Engine, Problem> {
    let engine = server.engine()?.as_ref();
    if let Some(number) = fresh::wanted(headers)? {
        fresh::wait(engine, number, server.options().timeout).await?;
    }
    Ok(engine)
}

fn described(snapshot: &SnapshotInfo) -> Value {
    let vector = snapshot.vector.as_ref();
    let vector = vector.map(|points| points.iter().map(point).collect::<Vec<Value>>());
    json!({ "snapshot": snapshot.number, "quads": snapshot.quads, "vector": vector })
}

fn point(point: &StreamPoint) -> Value {
    json!({
        "stream": *point.stream,
        "batch": point.batches.checked_sub(1),
        "until": point.covered_ms,
    })
}
