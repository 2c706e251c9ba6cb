//! `/api/v1/continuous`: registering queries, looking at them, pausing and dropping them.
//!
//! | address | method | does |
//! |---|---|---|
//! | `/api/v1/continuous` | `GET` | lists them |
//! | | `POST` | registers the query in the body: 201 with its address; 409 where its name is taken |
//! | `/api/v1/continuous/{name}` | `GET` | one, with the plan that it was evaluated by last |
//! | | `DELETE` | forgets it and its reports: 204 |
//! | `.../pause`, `.../resume` | `POST` | evaluates it no more, and from the next close on again: 204 |
//!
//! Reports are in [`crate::endpoint::reports`], queries with a table of constants in [`crate::endpoint::templates`].

use crate::endpoint::call::{Address, Call, Named, ONLY_READ, answered, json_text, name, with};
use crate::endpoint::templates::{self, registered};
use crate::response::done;
use crate::response::problem::Problem;
use crate::state::{RequestId, ServerState};
use axum::Extension;
use axum::body::Body;
use axum::extract::State;
use hyper::{Method, Request, Response};
use serde_json::{Value, json};
use somersault::{LastReport, Live, QueryError, QueryInfo, TemplateInfo, WindowInfo};
use std::sync::Arc;

const ALL: Address = Address {
    methods: "GET, HEAD, POST, OPTIONS",
    parameters: &["name"],
};
const ONE: Address = Address {
    methods: "GET, HEAD, DELETE, OPTIONS",
    parameters: &[],
};
const VERB: Address = Address {
    methods: "POST, OPTIONS",
    parameters: &[],
};
/// The types of a query's text.
pub(crate) const TEXTS: [&str; 2] = ["application/sparql-query", "text/plain"];

/// The type of a document with a query's text and a table.
pub(crate) const JSON: &str = "application/json";
const BODIES: [&str; 3] = [TEXTS[0], TEXTS[1], JSON];

/// `/api/v1/continuous`.
pub(crate) async fn all(
    State(server): State<Arc<ServerState>>,
    Extension(RequestId(id)): Extension<RequestId>,
    request: Request<Body>,
) -> Response<Body> {
    let call = match Call::open(&server, &id, request, &ALL).await {
        Ok(call) => call,
        Err(answer) => return answer,
    };
    let answer = match call.method {
        Method::POST => register(call).await,
        _ => list(&server).await,
    };
    answered(&server, &id, answer)
}

/// `/api/v1/continuous/{name}`.
pub(crate) async fn one(
    State(server): State<Arc<ServerState>>,
    Extension(RequestId(id)): Extension<RequestId>,
    named: Named,
    request: Request<Body>,
) -> Response<Body> {
    let call = match Call::open(&server, &id, request, &ONE).await {
        Ok(call) => call,
        Err(answer) => return answer,
    };
    let answer = match name(named) {
        Ok(name) if call.method == Method::DELETE => {
            let forget = move |live: &Live| live.unregister(&name);
            change(&server, forget).await
        }
        Ok(name) => show(&server, name).await,
        Err(problem) => Err(problem),
    };
    answered(&server, &id, answer)
}

/// `POST /api/v1/continuous/{name}/pause`.
pub(crate) async fn pause(
    server: State<Arc<ServerState>>,
    id: Extension<RequestId>,
    named: Named,
    request: Request<Body>,
) -> Response<Body> {
    verb(server, id, named, request, Live::pause).await
}

/// `POST /api/v1/continuous/{name}/resume`.
pub(crate) async fn resume(
    server: State<Arc<ServerState>>,
    id: Extension<RequestId>,
    named: Named,
    request: Request<Body>,
) -> Response<Body> {
    verb(server, id, named, request, Live::resume).await
}

async fn verb(
    State(server): State<Arc<ServerState>>,
    Extension(RequestId(id)): Extension<RequestId>,
    named: Named,
    request: Request<Body>,
    what: fn(&Live, &str) -> Result<(), QueryError>,
) -> Response<Body> {
    if let Err(answer) = Call::open(&server, &id, request, &VERB).await {
        return answer;
    }
    let answer = match name(named) {
        Ok(name) => change(&server, move |live: &Live| what(live, &name)).await,
        Err(problem) => Err(problem),
    };
    answered(&server, &id, answer)
}

async fn change(
    server: &ServerState,
    what: impl FnOnce(&Live) -> Result<(), QueryError> + Send + 'static,
) -> Result<Response<Body>, Problem> {
    let change = move |live: &Live| what(live).map_err(|error| Problem::of_change(&error));
    with(server, change).await.map(|()| done())
}

async fn list(server: &ServerState) -> Result<Response<Body>, Problem> {
    // Where a database is only read, nobody could have registered one.
    let is_writable = server.engine()?.is_writable();
    let queries = if is_writable {
        with(server, |live| Ok(live.queries())).await?
    } else {
        Vec::new()
    };
    let queries: Vec<Value> = queries.iter().map(described).collect();
    Ok(json_text(
        &json!({ "is_writable": is_writable, "queries": queries }),
    ))
}

/// There is no query of this name.
pub(crate) fn unknown(name: &str) -> Problem {
    Problem::not_found(format!("there is no registered query `{name}`"))
}

async fn show(server: &ServerState, name: String) -> Result<Response<Body>, Problem> {
    if !server.engine()?.is_writable() {
        return Err(unknown(&name).with_hint(ONLY_READ));
    }
    let show = move |live: &Live| {
        let queries = live.queries();
        let found = queries.iter().find(|query| query.name == name);
        let found = found.ok_or_else(|| unknown(&name))?;
        let plan = live.explain(&name);
        let plan = plan.map_err(|error| Problem::of_query(&error))?;
        let mut shown = described(found);
        shown["plan"] = json!(plan);
        Ok(shown)
    };
    with(server, show).await.map(|shown| json_text(&shown))
}

async fn register(mut call: Call) -> Result<Response<Body>, Problem> {
    call.of_type(&BODIES)?;
    let given = call.parameters.single("name")?.map(str::to_owned);
    if given.as_deref() == Some("") {
        return Err(Problem::bad_request("`name` is empty"));
    }
    if call.media_type() == JSON {
        return templates::register(call).await;
    }
    let text = call.text().await?;
    let register = move |live: &Live| {
        let name = given.unwrap_or_else(|| live.free_name());
        let name = live.register(&text, &name);
        let name = name.map_err(|error| Problem::of_query(&error))?;
        let warnings = live.warnings(&name).unwrap_or_default();
        Ok((name, warnings))
    };
    let (name, warnings) = with(&call.server, register).await?;
    Ok(registered(&name, json!({ "name": name }), &warnings))
}

/// The instances of a template, for a client.
fn template(template: &TemplateInfo) -> Value {
    json!({
        "parameters": template.parameters,
        "instances": template.instances,
        "bytes": template.bytes,
        "apart": template.apart,
    })
}

/// A window of a query, for a client.
fn window(window: &WindowInfo) -> Value {
    json!({
        "name": window.name,
        "stream": window.stream,
        "kind": window.kind,
        "range": window.range,
        "step": window.step,
    })
}

/// The last report of a query, for a client.
fn last(last: &LastReport) -> Value {
    json!({
        "close": last.close_ms,
        "rows": last.rows,
        "items": last.items,
        "exec_us": last.exec.as_micros() as u64,
        "told": last.told_ms,
    })
}

/// A query, for a client.
fn described(query: &QueryInfo) -> Value {
    json!({
        "name": query.name,
        "text": query.text,
        "streams": query.streams,
        "dialect": query.dialect,
        "pragmas": query.pragmas,
        "windows": query.windows.iter().map(window).collect::<Vec<Value>>(),
        "form": query.form,
        "relation": query.relation,
        "output": query.output,
        "template": query.template.as_ref().map(template),
        "paused": query.is_paused,
        "evaluations": query.evaluations,
        "close": query.close_ms,
        "failure": query.failure,
        "failures": query.failures,
        "reports": query.reports,
        "last": query.last.as_ref().map(last),
    })
}
