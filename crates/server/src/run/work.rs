//! One query on one engine thread, from its text to the end of its answer.
//!
//! Invariants: whatever happens here, a panic included, the pipe gets its end, the query leaves the
//! list of running ones before that end is seen, and the failure is counted and logged once. A
//! panic is a bug of ours: the client gets its id, the log gets its message, and the process goes
//! on with everything else.

use crate::metrics::{Metrics, Outcome};
use crate::request::{Explain, QueryRequest};
use crate::response::format::offered;
use crate::run::give_back;
use crate::run::job::{Done, Engine, Job};
use crate::run::pipe::Writer;
use crate::run::pipe_sink::PipeSink;
use crate::run::spool::Spool;
use somersault::stop::StopReason;
use somersault::units::format_duration;
use somersault::{AnswerKind, Kind, QueryError};
use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// What an engine thread is given.
pub(crate) struct Task {
    /// Who answers.
    pub engine: Arc<dyn Engine>,
    /// What is asked.
    pub asked: QueryRequest,
    /// What is left of the query's time.
    pub timeout: Duration,
    /// Where the answer goes.
    pub writer: Writer,
    /// Where it is counted.
    pub metrics: Arc<Metrics>,
    /// Where an answer is kept that is finished before it is sent.
    pub spool: Arc<Spool>,
    /// When the request came.
    pub arrived: Instant,
    /// The request's name, for a query that never gets its own.
    pub request_id: String,
}

impl Task {
    /// Runs the query to its end.
    pub fn run(self) {
        // Nothing of what the closure touches is used after a panic but the pipe, whose state is
        // whole at every moment.
        let result = catch_unwind(AssertUnwindSafe(|| self.evaluate())).unwrap_or_else(|panic| {
            self.metrics.panicked();
            Err(bug(panic.as_ref()))
        });
        let result = result.map_err(|error| self.in_other_words(error));
        self.record(&result);
        let result = result.map_err(without_internals);
        let Task { writer, asked, .. } = self;
        // What its text holds is given back before the end is seen.
        drop(asked);
        writer.end(result);
        give_back::before_a_wait();
    }

    fn evaluate(&self) -> Result<Done, QueryError> {
        let mut job = self
            .engine
            .start(&self.asked, self.timeout, self.writer.pace())?;
        let started = job.started();
        let kind = started.kind;
        self.writer.start(started);
        if let Some(explain) = self.asked.explain {
            return self.explain(job.as_mut(), explain);
        }
        let format = self.asked.accepted.format(kind);
        let format = format.ok_or_else(|| not_acceptable(kind))?;
        if self.asked.head_only {
            return Ok(Done::default());
        }
        if self.asked.needs_length || !format.can_be_cut() {
            self.writer.keep(&self.spool, self.engine.pool());
        }
        let mut outlet = PipeSink::new(format, &self.writer);
        job.run(&mut outlet)
    }

    /// Answers with the plan, which is one piece.
    fn explain(&self, job: &mut dyn Job, explain: Explain) -> Result<Done, QueryError> {
        let begun = Instant::now();
        let document = job.plan(explain)?;
        if !self.asked.head_only {
            if self.asked.needs_length {
                self.writer.keep(&self.spool, self.engine.pool());
            }
            let handed = self.writer.hand_over(&mut document.into_bytes());
            handed.map_err(|error| QueryError::new(Kind::Output, error))?;
            self.writer.complete();
        }
        Ok(Done {
            rows: 0,
            exec: begun.elapsed(),
        })
    }

    /// An output that failed because the query's time was over while it waited for its client is
    /// a timeout.
    fn in_other_words(&self, error: QueryError) -> QueryError {
        if let Some(error) = self.writer.why_not_kept() {
            return error;
        }
        if error.kind == Kind::Output && self.writer.is_out_of_turn() {
            let why = "cancelled in favour of others: the client took nothing of the answer";
            return QueryError::new(Kind::Cancelled, why);
        }
        let reason = self
            .writer
            .started()
            .and_then(|started| started.token.reason());
        match (error.kind, reason) {
            (Kind::Output, Some(StopReason::Outdated)) => QueryError::new(
                Kind::Timeout,
                "the client took the answer so slowly that what it reads grew too old",
            ),
            (Kind::Output, Some(StopReason::Deadline)) => QueryError::new(
                Kind::Timeout,
                format!(
                    "out of time after {}, while the client took the answer",
                    format_duration(self.timeout)
                ),
            ),
            (Kind::Output, Some(StopReason::Cancelled)) => QueryError::new(
                Kind::Cancelled,
                "cancelled while the client took the answer",
            ),
            _ => error,
        }
    }

    fn record(&self, result: &Result<Done, QueryError>) {
        let elapsed = self.arrived.elapsed();
        let outcome = match result {
            _ if self.writer.is_late() => Outcome::Failed(Kind::Timeout),
            Ok(_) => Outcome::Answered,
            Err(_) if self.writer.is_reader_gone() => Outcome::Disconnected,
            Err(error) => Outcome::Failed(error.kind),
        };
        let bytes = self.writer.bytes();
        self.metrics.query_ended(outcome, elapsed, bytes);
        let id = self.id();
        let trace = self.asked.trace.map(tracing::field::display);
        match result {
            Ok(done) => {
                tracing::debug!(%id, trace, rows = done.rows, bytes, ?elapsed, "query answered");
            }
            Err(error) if matches!(error.kind, Kind::Internal | Kind::Damaged) => {
                tracing::error!(%id, trace, %error, "query failed");
            }
            Err(error) => tracing::debug!(%id, trace, %error, bytes, ?elapsed, "query failed"),
        }
    }

    fn id(&self) -> String {
        match self.writer.started() {
            Some(started) => started.id.to_string(),
            None => self.request_id.clone(),
        }
    }
}

/// The client takes none of the formats of what its query answers with.
fn not_acceptable(kind: AnswerKind) -> QueryError {
    let what = match kind {
        AnswerKind::Solutions => "rows, which are",
        AnswerKind::Boolean => "a boolean, which is",
        AnswerKind::Graph => "a graph, which is",
    };
    let list = offered(kind).join(", ");
    let message = format!(
        "the answer is {what} offered as {list}; neither `Accept` nor a parameter names one of these"
    );
    QueryError::new(Kind::Format, message)
}

/// The error of a panic, with its message for the log.
pub(crate) fn bug(panic: &(dyn Any + Send)) -> QueryError {
    let message = panic
        .downcast_ref::<&str>()
        .map(|message| (*message).to_owned())
        .or_else(|| panic.downcast_ref::<String>().cloned())
        .unwrap_or_default();
    QueryError::new(Kind::Internal, format!("panic: {message}"))
}

/// What a client hears of a bug: that it is one. The rest is in the log.
pub(crate) fn without_internals(error: QueryError) -> QueryError {
    match error.kind {
        Kind::Internal => QueryError::new(Kind::Internal, "the query met a bug of the server")
            .with_hint("please report it with the query and this id; the server's log says more"),
        _ => error,
    }
}
