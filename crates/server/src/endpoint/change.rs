//! A change on its way: from what is wanted to its response.
//!
//! ```text
//! right -> turn -> engine thread: documents -> the façade's turn -> durable commit -> outcome
//!                      ^ feed (the body, piece by piece)                                |
//!                  connection's task  <-------------------------------------------------+
//! ```
//!
//! Changes have gates of their own, so that none waits behind queries and no query behind them:
//! many small ones run at once, because they share the log's syncs; fewer of those whose documents
//! are still arriving, because each holds a thread at the pace of its client. A client that goes
//! away cancels its change unless it is being committed. The answer is 204, or 201 for a graph that
//! was not there; with `Accept: application/json` it says in numbers what was changed.

use crate::metrics::Outcome;
use crate::request::feed::{Fed, feed};
use crate::request::intake;
use crate::request::{Change, ChangeRequest};
use crate::response;
use crate::response::head::{self, Spent};
use crate::response::problem::Problem;
use crate::run::change::{CancelOnDrop, ChangeTask, Outcomes};
use crate::run::fresh;
use crate::run::gate::{ChangePermit, Gate, Turned};
use crate::run::give_back;
use crate::run::job::{Changed, Engine};
use crate::run::pipe::PAST_DEADLINE;
use crate::runtime;
use crate::state::ServerState;
use axum::body::Body;
use hyper::header::{CACHE_CONTROL, HeaderValue, LOCATION, VARY};
use hyper::{HeaderMap, Response, StatusCode};
use serde_json::json;
use somersault::budget::Budget;
use somersault::{GraphTarget, Kind, QueryError};
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use tokio::sync::oneshot;

/// A request's body with its head.
pub(crate) struct Sent {
    /// The head.
    pub headers: HeaderMap,
    /// The body.
    pub body: Body,
}

/// Makes a change, or says why not.
pub(crate) async fn answer(
    server: &Arc<ServerState>,
    wanted: ChangeRequest,
    sent: Option<Sent>,
    request_id: &str,
) -> Response<Body> {
    match carry_out(server, wanted, sent, request_id).await {
        Ok(response) => response,
        Err(problem) => response::refused(problem, request_id),
    }
}

async fn carry_out(
    server: &Arc<ServerState>,
    wanted: ChangeRequest,
    mut sent: Option<Sent>,
    request_id: &str,
) -> Result<Response<Body>, Problem> {
    let arrived = Instant::now();
    let admitted = admit(
        server,
        &wanted,
        sent.as_ref().map(|sent| &sent.headers),
        arrived,
    )
    .await;
    let (engine, place) = match admitted {
        Ok(admitted) => admitted,
        Err(problem) => {
            if let Some(sent) = sent.take() {
                intake::refuse(&sent.headers, sent.body).await;
                return Err(problem.closing());
            }
            return Err(problem);
        }
    };
    let _decoder = decoder(server, &wanted).await?;
    let answering = ChangeResponse::to(&wanted, request_id);
    let wait = Some(arrived.elapsed()).filter(|waited| *waited > response::WAIT_NOTED);
    let cancel = CancelOnDrop::default();
    let (outcome_sender, outcome) = oneshot::channel();
    let limit = Limit {
        timeout: wanted.timeout,
        arrived,
    };
    let mut outcome = pin!(in_time(outcome, &cancel, limit));
    let is_too_large = Arc::new(AtomicBool::new(false));
    let (feeder, reader) = feed(Arc::clone(&place), cancel.is_stopped());
    let task = ChangeTask {
        engine,
        timeout: wanted.timeout.saturating_sub(arrived.elapsed()),
        wanted,
        body: sent.is_some().then_some(reader),
        bytes_max: server.options().body_bytes_max,
        is_too_large: Arc::clone(&is_too_large),
        slot: cancel.slot(),
        _place: Arc::clone(&place),
        metrics: Arc::clone(&server.metrics),
        arrived,
        request_id: request_id.to_owned(),
    };
    // The thread is not waited for: the channel says all there is to say.
    drop(tokio::task::spawn_blocking(move || {
        runtime::stand_back();
        // Nobody listens any more when the client has gone.
        drop(outcome_sender.send(task.run()));
        give_back::before_a_wait();
    }));
    let mut fed = None;
    if let Some(sent) = &mut sent {
        tokio::select! {
            // The outcome of a body that was fed is about to come.
            how = feeder.run(&mut sent.body, server.options().body_timeout) => fed = Some(how),
            early = &mut outcome => {
                let response = answering.ended(early, wait);
                return conclude(server, response, None, (&is_too_large, place), sent).await;
            }
        }
    }
    let response = answering.ended((&mut outcome).await, wait);
    match &mut sent {
        Some(sent) => conclude(server, response, fed, (&is_too_large, place), sent).await,
        None => response,
    }
}

/// What the decoder of a compressed document may hold, until the account that is given is dropped.
async fn decoder(server: &ServerState, wanted: &ChangeRequest) -> Result<Budget, Problem> {
    /// A little later there may be some.
    const PATIENCE: Duration = Duration::from_secs(1);
    let bytes = match &wanted.change {
        Change::Write { content, .. } => content.decoder_bytes(),
        _ => 0,
    };
    let account = server.accounts()?.wait_for(bytes, PATIENCE).await;
    account.ok_or_else(|| {
        let why = "there is no memory for decompressing the document";
        Problem::overloaded(why).closing()
    })
}

type Ended = Result<Outcomes, oneshot::error::RecvError>;

/// The time that a change has.
#[derive(Clone, Copy)]
struct Limit {
    timeout: Duration,
    arrived: Instant,
}

/// What comes of a change. One whose time is over is not waited for, unless it is being committed.
async fn in_time(
    outcome: oneshot::Receiver<Outcomes>,
    cancel: &CancelOnDrop,
    limit: Limit,
) -> Ended {
    let mut outcome = outcome;
    let patience = limit.timeout.saturating_add(PAST_DEADLINE);
    let left = patience.saturating_sub(limit.arrived.elapsed());
    if let Ok(ended) = tokio::time::timeout(left, &mut outcome).await {
        return ended;
    }
    if !cancel.give_up() {
        return outcome.await;
    }
    let error = QueryError::out_of_time(limit.timeout, limit.arrived.elapsed());
    Ok((cancel.id(), Err(error)))
}

/// What a response needs to know of its request.
struct ChangeResponse {
    wants_account: bool,
    /// The address of a graph that was made.
    location: Option<String>,
    /// A graph that was to go.
    deleted: Option<String>,
    is_write: bool,
    request_id: String,
}

impl ChangeResponse {
    fn to(wanted: &ChangeRequest, request_id: &str) -> ChangeResponse {
        let mut answering = ChangeResponse {
            wants_account: wanted.wants_account,
            location: None,
            deleted: None,
            is_write: false,
            request_id: request_id.to_owned(),
        };
        match &wanted.change {
            Change::Write { location, .. } => {
                answering.is_write = true;
                answering.location.clone_from(location);
            }
            Change::Delete(GraphTarget::Named(name)) => answering.deleted = Some(name.clone()),
            Change::Update { .. } | Change::Patch { .. } | Change::Delete(_) => {}
        }
        answering
    }

    fn ended(&self, ended: Ended, wait: Option<Duration>) -> Result<Response<Body>, Problem> {
        let abandoned = QueryError::new(Kind::Internal, "the change was abandoned");
        let (id, result) = ended.unwrap_or((None, Err(abandoned)));
        let id = id.map_or_else(|| self.request_id.clone(), |id| id.to_string());
        let changed = result.map_err(|error| Problem::of_change(&error).with_id(&id))?;
        match &self.deleted {
            Some(name) if !changed.was_there => {
                Err(Problem::not_found(format!("there is no graph <{name}>")).with_id(&id))
            }
            _ => Ok(self.told(changed, wait, &id)),
        }
    }

    /// The response to a change that was made.
    fn told(&self, changed: Changed, wait: Option<Duration>, id: &str) -> Response<Body> {
        let mut response = if self.wants_account {
            let account = json!({
                "snapshot": changed.snapshot,
                "inserted": changed.inserted,
                "deleted": changed.deleted,
            });
            response::text("application/json", account.to_string())
        } else {
            response::done()
        };
        if self.is_write && changed.is_new {
            *response.status_mut() = StatusCode::CREATED;
            let location = self.location.as_deref().and_then(|at| at.parse().ok());
            if let Some(location) = location {
                response.headers_mut().insert(LOCATION, location);
            }
        }
        let headers = response.headers_mut();
        let spent = Spent {
            wait,
            parse: Some(changed.parse),
            exec: Some(changed.exec),
            ..Spent::default()
        };
        headers.insert(head::QUERY_ID, head::value(id));
        headers.insert(head::SERVER_TIMING, spent.to_value());
        headers.insert(head::SNAPSHOT, HeaderValue::from(changed.snapshot));
        headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
        headers.insert(VARY, HeaderValue::from_static("accept"));
        response
    }
}

/// Says of a failure what the body's arrival has to do with it, and lets go of what is left of it.
async fn conclude(
    server: &ServerState,
    response: Result<Response<Body>, Problem>,
    fed: Option<Fed>,
    (is_too_large, place): (&AtomicBool, Arc<ChangePermit>),
    sent: &mut Sent,
) -> Result<Response<Body>, Problem> {
    let has_lost_place = place.is_over();
    // Others need it, and what is left of the body may take its time.
    drop(place);
    let is_whole = fed == Some(Fed::Whole);
    let problem = match response {
        Ok(response) if is_whole => return Ok(response),
        Ok(mut response) => {
            intake::drain(std::mem::take(&mut sent.body)).await;
            let close = HeaderValue::from_static("close");
            response
                .headers_mut()
                .insert(hyper::header::CONNECTION, close);
            return Ok(response);
        }
        Err(problem) => problem,
    };
    let limit = server.options().body_bytes_max.unwrap_or(u64::MAX);
    let problem = match fed {
        _ if is_too_large.load(Ordering::Relaxed) => Problem::too_large(limit),
        _ if has_lost_place => Problem::too_slow(),
        Some(Fed::TooSlow) => return Err(Problem::too_slow()),
        Some(Fed::BrokenOff) => Problem::bad_request("the body of the request broke off"),
        _ => problem,
    };
    if is_whole {
        return Err(problem);
    }
    intake::drain(std::mem::take(&mut sent.body)).await;
    Err(problem.closing())
}

/// What must hold before a change begins.
async fn admit(
    server: &ServerState,
    wanted: &ChangeRequest,
    sent: Option<&HeaderMap>,
    arrived: Instant,
) -> Result<(Arc<dyn Engine>, Arc<ChangePermit>), Problem> {
    let engine = Arc::clone(server.engine()?);
    if !engine.is_writable() {
        return Err(Problem::only_read());
    }
    if let (Some(limit), Some(headers)) = (server.options().body_bytes_max, sent)
        && intake::announced_bytes(headers).is_some_and(|announced| announced > limit)
    {
        return Err(Problem::too_large(limit));
    }
    if let Some(number) = wanted.snapshot {
        fresh::wait(engine.as_ref(), number, wanted.timeout).await?;
    }
    let gate = match sent {
        Some(_) => &server.uploads,
        None => &server.changes,
    };
    let left = wanted.timeout.saturating_sub(arrived.elapsed());
    let place = enter(gate, left, wanted.timeout, arrived).await;
    let place = place.inspect_err(|_| {
        server
            .metrics
            .change_ended(Outcome::TurnedAway, arrived.elapsed());
    });
    Ok((engine, place?))
}

async fn enter(
    gate: &Gate,
    patience: Duration,
    timeout: Duration,
    arrived: Instant,
) -> Result<Arc<ChangePermit>, Problem> {
    gate.enter(patience).await.map_err(|turned| match turned {
        Turned::Away => Problem::overloaded("too many changes wait for their turn"),
        Turned::TooLate => response::out_of_time(timeout, arrived),
    })
}
