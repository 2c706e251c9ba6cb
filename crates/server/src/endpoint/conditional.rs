//! Answers with entity tags, and those that are not given because the client has them.
//!
//! Whether a client has an answer is told before the query runs: a tag names a snapshot, and the graph, or
//! for a query the whole store, was changed since or was not.

use crate::endpoint::asking;
use crate::request::condition::{self, Strength};
use crate::request::{QueryRequest, Read};
use crate::response::format::AnswerFormat;
use crate::response::problem::Problem;
use crate::response::{head, refused};
use crate::run::fresh;
use crate::run::job::Engine;
use crate::state::ServerState;
use axum::body::Body;
use hyper::header::{CACHE_CONTROL, CONTENT_TYPE, ETAG, HeaderValue};
use hyper::{HeaderMap, Response, StatusCode};
use somersault::{GraphState, GraphTarget, Kind, Precondition, QueryError};
use std::sync::Arc;

/// What a tag is about.
enum Subject {
    Graph(GraphTarget),
    /// All that a query sees.
    Query,
}

/// Answers a `GET` or `HEAD`. `conditions`: its head, where it depends on something.
pub(crate) async fn answer(
    server: &Arc<ServerState>,
    asked: QueryRequest,
    conditions: Option<HeaderMap>,
    request_id: &str,
) -> Response<Body> {
    if asked.number.is_some() {
        // It is there for seconds: nobody asks again whether it has changed.
        return asking::answer(server, asked, request_id).await;
    }
    let subject = match &asked.what {
        Read::Graph(None) => Subject::Graph(GraphTarget::Default),
        Read::Graph(Some(name)) => Subject::Graph(GraphTarget::Named(name.clone())),
        Read::Store => Subject::Graph(GraphTarget::Store),
        Read::Query(text) if condition::is_repeatable(text) => Subject::Query,
        Read::Query(_) => return asking::answer(server, asked, request_id).await,
    };
    if let Some(headers) = conditions {
        match judged(server, &asked, &headers, &subject).await {
            Ok(None) => {}
            Ok(Some(response)) => return response,
            Err(problem) => return refused(problem, request_id),
        }
    }
    let mut response = asking::answer(server, asked, request_id).await;
    if response.status() == StatusCode::OK
        && let Ok(engine) = server.engine()
    {
        tag(&mut response, server, engine.as_ref(), &subject);
    }
    response
}

/// The response to a request whose conditions do not hold.
async fn judged(
    server: &ServerState,
    asked: &QueryRequest,
    headers: &HeaderMap,
    subject: &Subject,
) -> Result<Option<Response<Body>>, Problem> {
    let engine = server.engine()?;
    if let Some(number) = asked.snapshot {
        fresh::wait(engine.as_ref(), number, asked.timeout).await?;
    }
    let formats: Vec<AnswerFormat> = match subject {
        Subject::Graph(_) => asked
            .accepted
            .formats()
            .filter(|format| is_graph(*format))
            .collect(),
        Subject::Query => asked.accepted.formats().collect(),
    };
    let asked = condition::of_answer(headers, server.run, &formats);
    let (last, asked) = match subject {
        Subject::Graph(target) => (last_change(engine.as_ref(), target)?, asked),
        // An address of a query is always there, and its tags are weak, which `If-Match` does not take.
        Subject::Query => (Some(engine.snapshot()), of_query(asked)),
    };
    let now = engine.snapshot();
    let first = Precondition {
        is: asked.is.clone(),
        is_not: None,
    };
    if !first.holds(last, now) {
        let message = "the graph is not as the request says: it was changed, made or removed since";
        let error = QueryError::new(Kind::Precondition, message);
        return Err(Problem::of_query(&error));
    }
    if asked.holds(last, now) {
        return Ok(None);
    }
    let mut response = Response::new(Body::empty());
    *response.status_mut() = StatusCode::NOT_MODIFIED;
    let fields = response.headers_mut();
    condition::not_modified(fields);
    fields.insert(head::SNAPSHOT, HeaderValue::from(now));
    let matched = last.and_then(|last| condition::matching(headers, server.run, &formats, last));
    if let Some(tag) = matched {
        fields.insert(ETAG, head::value(tag));
    } else if let (Some(last), Some(format)) = (last, formats.first()) {
        fields.insert(CONTENT_TYPE, HeaderValue::from_static(format.media_type()));
        condition::tag(fields, server.run, last.min(now), strength(subject));
        fields.remove(CONTENT_TYPE);
    }
    Ok(Some(response))
}

/// Of a query only the tags count that say that the client has the answer.
fn of_query(asked: Precondition) -> Precondition {
    Precondition {
        is: None,
        is_not: asked.is_not.filter(|state| *state != GraphState::There),
    }
}

fn is_graph(format: AnswerFormat) -> bool {
    matches!(format, AnswerFormat::Graph(_))
}

fn last_change(engine: &dyn Engine, target: &GraphTarget) -> Result<Option<u64>, Problem> {
    let last = engine.last_change(target);
    last.map_err(|error| Problem::of_query(&error))
}

fn strength(subject: &Subject) -> Strength {
    match subject {
        Subject::Graph(_) => Strength::Strong,
        Subject::Query => Strength::Any,
    }
}

/// Gives an answer its tag.
fn tag(
    response: &mut Response<Body>,
    server: &ServerState,
    engine: &dyn Engine,
    subject: &Subject,
) {
    let headers = response.headers_mut();
    let seen = headers
        .get(head::SNAPSHOT)
        .and_then(|value| value.to_str().ok());
    let Some(seen) = seen.and_then(|number| number.parse::<u64>().ok()) else {
        return;
    };
    let number = match subject {
        Subject::Query => seen,
        // A later change has not been seen, and what was seen held in its own snapshot, too.
        Subject::Graph(target) => match engine.last_change(target) {
            Ok(Some(last)) => last.min(seen),
            Ok(None) | Err(_) => seen,
        },
    };
    condition::tag(headers, server.run, number, strength(subject));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-cache"));
}
