//! `/api/v1/streams`: making streams, looking at them, pushing items, dropping them.
//!
//! | address | method | does |
//! |---|---|---|
//! | `/api/v1/streams` | `GET` | lists them |
//! | | `POST` | makes one: 201 with its address; 409 where there is one of that name |
//! | `/api/v1/streams/{IRI}` | `GET` | one, as it stands |
//! | | `DELETE` | forgets it: 204; 409 while a query names it |
//! | `/api/v1/streams/{IRI}/items` | `POST` | takes items, see [`crate::request::items`]; lines of a body in chunks as they come ([`chunked`]) |
//! | | WebSocket | takes items without end, see [`crate::endpoint::pushing`] |
//!
//! A push is answered when its seals are committed and the reports that it completes are made, so a source is slowed
//! down by what it costs. Where the budget of a stream is full, nothing of a push is taken and the answer is 429.

use crate::endpoint::call::{
    Address, Call, Named, ONLY_READ, answered, json_text, made, name, with,
};
use crate::endpoint::chunked;
use crate::endpoint::socket::handshake::needed;
use crate::endpoint::taking::{ITEM_PARAMETERS, delivery, taken};
use crate::request::items::ItemsForm;
use crate::response::done;
use crate::response::problem::Problem;
use crate::state::{RequestId, ServerState};
use axum::Extension;
use axum::body::Body;
use axum::extract::State;
use hyper::{Method, Request, Response};
use serde::Deserialize;
use serde_json::{Value, json};
use somersault::terms::NamedNode;
use somersault::units::{parse_duration, parse_size};
use somersault::{HubStream, Live, QueryError, SourceInfo, StreamInfo};
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

const FOLDER: &str = "/api/v1/streams";
const ALL: Address = Address {
    methods: "GET, HEAD, POST, OPTIONS",
    parameters: &[],
};
const ONE: Address = Address {
    methods: "GET, HEAD, DELETE, OPTIONS",
    parameters: &[],
};
const ITEMS: Address = Address {
    methods: "GET, POST, OPTIONS",
    parameters: &ITEM_PARAMETERS,
};
/// A source that is silent for so long is not waited for, unless its stream says something else.
const IDLE: Duration = Duration::from_secs(5);
/// What `idle` is where sources are waited for without end.
const NEVER: &str = "never";

/// `/api/v1/streams`.
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
        Method::POST => create(call).await,
        _ => list(&server, call.may_change).await,
    };
    answered(&server, &id, answer)
}

/// `/api/v1/streams/{IRI}`.
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
        Ok(name) if call.method == Method::DELETE => forget(&server, name).await,
        Ok(name) => show(&server, name).await,
        Err(problem) => Err(problem),
    };
    answered(&server, &id, answer)
}

/// `/api/v1/streams/{IRI}/items`, as far as it is no WebSocket.
pub(crate) async fn items(
    State(server): State<Arc<ServerState>>,
    Extension(RequestId(id)): Extension<RequestId>,
    named: Named,
    request: Request<Body>,
) -> Response<Body> {
    let call = match Call::open(&server, &id, request, &ITEMS).await {
        Ok(call) => call,
        Err(answer) => return answer,
    };
    let answer = match name(named) {
        Ok(_) if call.method == Method::GET => Err(needed(
            "items are not read; they are pushed by POST, or by WebSocket",
        )),
        Ok(name) => push(call, name).await,
        Err(problem) => Err(problem),
    };
    answered(&server, &id, answer)
}

async fn list(server: &ServerState, may_change: bool) -> Result<Response<Body>, Problem> {
    // Where a database is only read, nobody could have made one.
    let is_writable = server.engine()?.is_writable();
    let streams = if is_writable {
        with(server, |live| Ok(live.streams())).await?
    } else {
        Vec::new()
    };
    let streams: Vec<Value> = streams.iter().map(described).collect();
    Ok(json_text(&json!({
        "now": now_ms(),
        "is_writable": is_writable,
        "may_change": is_writable && may_change,
        "streams": streams,
    })))
}

/// What the clock says (milliseconds), for whoever compares moments of streams with it.
fn now_ms() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    since.map_or(0, |since| since.as_millis() as u64)
}

async fn show(server: &ServerState, name: String) -> Result<Response<Body>, Problem> {
    if !server.engine()?.is_writable() {
        let problem = Problem::not_found(format!("there is no stream <{name}>"));
        return Err(problem.with_hint(ONLY_READ));
    }
    let stream = with(server, move |live| live.stream(&name).map_err(failed)).await?;
    Ok(json_text(&described(&stream)))
}

async fn forget(server: &ServerState, name: String) -> Result<Response<Body>, Problem> {
    let forget = move |live: &Live| live.drop_stream(&name).map_err(failed);
    with(server, forget).await.map(|()| done())
}

async fn create(mut call: Call) -> Result<Response<Body>, Problem> {
    call.of_type(&["application/json"])?;
    let text = call.text().await?;
    let definition: Definition = serde_json::from_str(&text).map_err(|error| {
        Problem::bad_request(format!("the body defines no stream: {error}")).with_hint(
            r#"{"name": "http://example.org/stream", "grain": "100ms"}; also lateness, idle, absorb, into, arrival_time, budget, begin"#,
        )
    })?;
    let begin_ms = definition.begin;
    let settings = definition.settings()?;
    let create = move |live: &Live| {
        live.create(&settings, begin_ms).map_err(failed)?;
        live.stream(&settings.name).map_err(failed)
    };
    let stream = with(&call.server, create).await?;
    Ok(made(FOLDER, &stream.settings.name, &described(&stream)))
}

/// A stream as a client defines it.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Definition {
    name: String,
    grain: Option<String>,
    lateness: Option<String>,
    idle: Option<String>,
    absorb: Option<AbsorbedNames>,
    into: Option<String>,
    arrival_time: Option<bool>,
    budget: Option<String>,
    /// Milliseconds.
    begin: Option<u64>,
}

/// The predicates that are stored.
#[derive(Deserialize)]
#[serde(untagged)]
enum AbsorbedNames {
    Word(String),
    Predicates(Vec<String>),
}

impl Definition {
    fn settings(self) -> Result<HubStream, Problem> {
        let refuse = |member: &str, why: &dyn std::fmt::Display| {
            Problem::bad_request(format!("`{member}` of the stream: {why}"))
        };
        let mut settings = HubStream::new(&self.name);
        for (member, iri) in [("name", Some(&self.name)), ("into", self.into.as_ref())] {
            let checked = iri.map(NamedNode::new).transpose();
            checked.map_err(|error| refuse(member, &error))?;
        }
        let milliseconds = |member: &str, text: &str| {
            let duration = parse_duration(text).map_err(|error| refuse(member, &error))?;
            let whole = u64::try_from(duration.as_millis()).ok();
            let whole = whole.filter(|whole| Duration::from_millis(*whole) == duration);
            whole.ok_or_else(|| refuse(member, &"it must be whole milliseconds"))
        };
        if let Some(grain) = &self.grain {
            settings.grain_ms = milliseconds("grain", grain)?;
        }
        if let Some(lateness) = &self.lateness {
            settings.lateness_ms = milliseconds("lateness", lateness)?;
        }
        settings.idle_ms = match self.idle.as_deref() {
            None => Some(IDLE.as_millis() as u64),
            Some(NEVER) => None,
            Some(idle) => Some(milliseconds("idle", idle)?),
        };
        settings.absorb = match self.absorb {
            None => None,
            Some(AbsorbedNames::Word(word)) if word == "all" => None,
            Some(AbsorbedNames::Word(word)) if word == "none" => Some(Vec::new()),
            Some(AbsorbedNames::Word(word)) => {
                let why = format!("`{word}` is neither `all` nor `none`, nor a list of IRIs");
                return Err(refuse("absorb", &why));
            }
            Some(AbsorbedNames::Predicates(predicates)) => Some(predicates),
        };
        settings.into = self.into;
        settings.arrival_time = self.arrival_time.unwrap_or(false);
        if let Some(budget) = &self.budget {
            settings.budget_bytes = parse_size(budget).map_err(|error| refuse("budget", &error))?;
        }
        Ok(settings)
    }
}

/// A source of a stream, for a client.
fn source(source: &SourceInfo) -> Value {
    json!({
        "name": source.name,
        "watermark": source.watermark_ms,
        "is_idle": source.is_idle,
    })
}

/// A stream, for a client.
fn described(stream: &StreamInfo) -> Value {
    let settings = &stream.settings;
    let span = |milliseconds: u64| format!("{milliseconds}ms");
    let absorb = match &settings.absorb {
        None => json!("all"),
        Some(predicates) if predicates.is_empty() => json!("none"),
        Some(predicates) => json!(predicates),
    };
    json!({
        "name": settings.name,
        "grain": span(settings.grain_ms),
        "lateness": span(settings.lateness_ms),
        "idle": settings.idle_ms.map_or_else(|| NEVER.to_owned(), span),
        "absorb": absorb,
        "into": settings.into,
        "arrival_time": settings.arrival_time,
        "budget_bytes": settings.budget_bytes,
        "held_bytes": stream.held_bytes,
        "open_bytes": stream.open_bytes,
        "item_bytes": stream.item_bytes,
        "slice_bytes": stream.slice_bytes,
        "held_items": stream.items,
        "held_quads": stream.quads,
        "term_bytes": stream.term_bytes,
        "source_bytes": stream.source_bytes,
        "watermark": stream.watermark_ms,
        "settled": stream.covered_ms,
        "is_idle": stream.is_idle,
        "items": stream.arrivals.items,
        "last_arrival": (stream.arrivals.last_ms > 0).then_some(stream.arrivals.last_ms),
        "late": stream.late,
        "rejected": stream.arrivals.rejected,
        "sources": stream.sources.iter().map(source).collect::<Vec<Value>>(),
        "source_count": stream.source_count,
        "idle_source_count": stream.idle_source_count,
        "queries": stream.queries,
    })
}

async fn push(mut call: Call, stream: String) -> Result<Response<Body>, Problem> {
    let delivery = delivery(&call)?;
    let media_type = call.media_type();
    if let Ok(form) = ItemsForm::of(&media_type)
        && chunked::is_endless(&call.headers, form)
    {
        return chunked::push(call, stream, delivery, form).await;
    }
    let body = call.body().await?;
    let form = if body.bytes.is_empty() {
        None
    } else {
        Some(ItemsForm::of(&media_type)?)
    };
    let (delivery, body) = (Arc::new(delivery), Arc::new(body));
    let account = taken(&call.server, &stream, &delivery, (form, false), &body).await?;
    Ok(json_text(&account.json()))
}

#[allow(clippy::needless_pass_by_value, reason = "for `map_err`")]
pub(crate) fn failed(error: QueryError) -> Problem {
    Problem::of_change(&error)
}
