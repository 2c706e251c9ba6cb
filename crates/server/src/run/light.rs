//! Light queries, answered on the thread that read them.
//!
//! The papers' engine runs a query on the worker that received it (OSDI'16 section 5: in-place execution),
//! because a hand-over to another thread and back takes longer than the query. Here a query is tried so
//! if its shape is known and its plan light: then it needs no parser, no pipe and no place at admission,
//! so that heavy queries are not in its way.
//!
//! An estimate may be wrong and an answer long, and this thread has other connections to serve. So the
//! attempt has a slice of time and a small buffer; what exceeds either, or fails in any way but a panic, is forgotten
//! and asked again on an engine thread, which then says what there is to say. What is lost is a slice at
//! most. (Queries change nothing and ask nobody else, which [`Engine::start_light`] sees to.)

use crate::metrics::Outcome;
use crate::request::QueryRequest;
use crate::response::answer;
use crate::response::format::AnswerWriter;
use crate::response::head::Spent;
use crate::response::problem::Problem;
use crate::run::job::{Engine, Job};
use crate::run::work::{bug, without_internals};
use crate::state::ServerState;
use axum::body::Body;
use hyper::Response;
use somersault::QueryError;
use somersault::output::Output;
use std::io::{self, Write};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::{Duration, Instant};

/// How long other connections of this thread may wait for one query.
const SLICE: Duration = Duration::from_micros(500);
/// Bytes of an answer at most.
const BYTES_MAX: usize = 64 << 10;
/// Bytes that most answers have room in.
const BYTES: usize = 4 << 10;
const _: () = assert!(BYTES <= BYTES_MAX, "most answers are short ones");

/// The response to a light query; `None`: it is to be answered as others are.
pub(crate) fn answer(
    engine: &dyn Engine,
    server: &ServerState,
    asked: &QueryRequest,
    arrived: Instant,
) -> Option<Response<Body>> {
    if asked.head_only {
        return None;
    }
    // Nothing of what the closure touches is used after a panic.
    let tried = catch_unwind(AssertUnwindSafe(|| {
        run(engine.start_light(asked, asked.timeout)?, asked)
    }));
    let (response, bytes) = match tried {
        Ok(answered) => answered?,
        Err(panic) => return Some(failed(&bug(panic.as_ref()), server, arrived)),
    };
    let elapsed = arrived.elapsed();
    server
        .metrics
        .query_ended(Outcome::Answered, elapsed, bytes as u64);
    Some(response)
}

/// The response to a query that met a bug of ours: it would meet it on an engine thread as well.
fn failed(error: &QueryError, server: &ServerState, arrived: Instant) -> Response<Body> {
    let metrics = &server.metrics;
    metrics.panicked();
    metrics.query_ended(Outcome::Failed(error.kind), arrived.elapsed(), 0);
    let id = server.request_id();
    tracing::error!(id = %id.0, %error, "a light query failed");
    let problem = Problem::of_query(&without_internals(error.clone()));
    problem.with_id(&id.0).into_response()
}

/// Lets this thread's other connections, whose requests have come, be answered before any answer is
/// sent: the task goes behind them and one look for more. A client on the same machine, or the proxy in
/// front, is woken by the first answer of a batch instead of by each, and waking a processor costs
/// more than the query: a core answers 1.05 times as many, and 1.5 times where other work has its share
/// of both cores.
///
/// Where the last light query came by the same connection there are no others to wait for, and the task that goes
/// behind them would wake another thread of the runtime in vain: `ASK {}` by one connection, one request
/// after the other, took 40 us more of processor time (92 us, now 52, 2026-11-23). That connection's next request is
/// waited for awake ([`crate::prompt`]).
pub(crate) async fn let_others_read(server: &ServerState, port: u16, arrived: Instant) {
    let is_quiet = || {
        let engine = server.engine();
        engine.is_ok_and(|engine| engine.running().is_empty())
    };
    if !server.prompt.answered(port, arrived, is_quiet) {
        tokio::task::yield_now().await;
    }
}

fn run(mut job: Box<dyn Job>, asked: &QueryRequest) -> Option<(Response<Body>, usize)> {
    let started = job.started();
    let format = asked.accepted.format(started.kind)?;
    let mut answer = Short(Vec::with_capacity(BYTES));
    let mut writer = AnswerWriter::new(format, &mut answer);
    let done = job.run_slice(&mut writer, SLICE).ok()?;
    drop(writer);
    let spent = Spent {
        parse: Some(started.parse),
        plan: Some(started.plan),
        exec: Some(done.exec),
        ..Spent::default()
    };
    tracing::debug!(id = %started.id, rows = done.rows, "query answered at once");
    let bytes = answer.0.len();
    let response = answer::whole(answer.0.into(), format, &started, spent);
    Some((response, bytes))
}

/// A buffer that refuses a long answer.
struct Short(Vec<u8>);

impl Write for Short {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.0.len() + bytes.len() > BYTES_MAX {
            return Err(io::ErrorKind::FileTooLarge.into());
        }
        self.0.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Output for Short {}
