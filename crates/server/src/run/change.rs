//! One change on one engine thread, from its request to the durable commit.
//!
//! Invariants: whatever happens here, a panic included, the outcome is told, counted and logged once; a
//! client that goes away cancels its change, whenever it goes, unless it is being committed.
//!
//! | field | written by | read by |
//! |---|---|---|
//! | `State::started` | the engine thread, once, with the lock of `Slot` | whoever gives the change up |
//! | `State::is_unwanted`, `State::is_late` | the connection's task, with the lock | the engine thread, with the lock |

use crate::metrics::{Metrics, Outcome};
use crate::request::feed::BodyReader;
use crate::request::{Change, ChangeRequest};
use crate::run::gate::ChangePermit;
use crate::run::job::{Changed, Engine};
use crate::run::work::{bug, without_internals};
use somersault::running::QueryId;
use somersault::stop::StopToken;
use somersault::{Documents, Kind, QueryError};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// The change's name, once it has one, and what has come of it.
pub(crate) type Outcomes = (Option<QueryId>, Result<Changed, QueryError>);

/// The documents of a change that has none.
struct Nothing;

impl Documents for Nothing {
    fn next(
        &mut self,
    ) -> Result<Option<(somersault::terms::format::Format, &mut dyn std::io::Read)>, QueryError>
    {
        Ok(None)
    }
}

/// What the engine thread says of its change while it runs.
#[derive(Default)]
pub(crate) struct Slot {
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    started: Option<(QueryId, StopToken)>,
    is_unwanted: bool,
    /// Its client has been told that its time is over.
    is_late: bool,
}

impl State {
    /// Nobody waits for the change any more, unless it is being committed; true where it is not, and so will
    /// not be made.
    fn give_up(&mut self) -> bool {
        let started = self.started.as_ref();
        let is_ended = started.is_none_or(|(_, token)| token.cancel());
        self.is_unwanted |= is_ended;
        is_ended
    }
}

impl Slot {
    fn state(&self) -> MutexGuard<'_, State> {
        // Whole wherever something could panic.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The change can be stopped from now on; it is at once where the client has gone already.
    fn start(&self, id: QueryId, token: StopToken) {
        let mut state = self.state();
        if state.is_unwanted {
            token.cancel();
        }
        assert!(state.started.is_none(), "a change starts once");
        state.started = Some((id, token));
    }

    fn id(&self) -> Option<QueryId> {
        self.state().started.as_ref().map(|(id, _)| *id)
    }
}

/// Held by the handler: hyper drops it when the client goes away, and its change is cancelled. After
/// its end that does nothing.
#[derive(Default)]
pub(crate) struct CancelOnDrop {
    slot: Arc<Slot>,
}

impl CancelOnDrop {
    /// What the change is called by, and stopped.
    pub fn slot(&self) -> Arc<Slot> {
        Arc::clone(&self.slot)
    }

    /// Gives the change up, because its time is over. True says that it will not be made; it may still be
    /// giving back what it holds.
    pub fn give_up(&self) -> bool {
        let mut state = self.slot.state();
        state.is_late = state.give_up();
        state.is_late
    }

    /// What the change is called, once it has a name.
    pub fn id(&self) -> Option<QueryId> {
        self.slot.id()
    }

    /// Whether the change is to end.
    pub fn is_stopped(&self) -> impl Fn() -> bool + Send + 'static {
        let slot = Arc::clone(&self.slot);
        move || {
            let state = slot.state();
            let started = state.started.as_ref();
            state.is_unwanted || started.is_some_and(|(_, token)| token.reason().is_some())
        }
    }
}

impl Drop for CancelOnDrop {
    fn drop(&mut self) {
        self.slot.state().give_up();
    }
}

/// What an engine thread is given.
pub(crate) struct ChangeTask<S> {
    pub engine: Arc<dyn Engine>,
    pub wanted: ChangeRequest,
    pub timeout: Duration,
    pub body: Option<BodyReader<S>>,
    pub bytes_max: Option<u64>,
    pub is_too_large: Arc<AtomicBool>,
    pub slot: Arc<Slot>,
    /// Given back at the end.
    pub _place: Arc<ChangePermit>,
    pub metrics: Arc<Metrics>,
    pub arrived: Instant,
    pub request_id: String,
}

impl<S: Fn() -> bool> ChangeTask<S> {
    /// Makes the change, a panic included.
    pub fn run(mut self) -> Outcomes {
        // Nothing of what the closure touches is used after a panic but the slot, whose state is
        // whole at every moment.
        let result = catch_unwind(AssertUnwindSafe(|| self.make())).unwrap_or_else(|panic| {
            self.metrics.panicked();
            Err(bug(panic.as_ref()))
        });
        self.record(&result);
        (self.slot.id(), result.map_err(without_internals))
    }

    fn make(&mut self) -> Result<Changed, QueryError> {
        let job = self.engine.start_change(&self.wanted, self.timeout)?;
        self.slot.start(job.id(), job.token());
        match (&self.wanted.change, self.body.take()) {
            (Change::Write { content, .. }, Some(body)) => {
                let is_too_large = Arc::clone(&self.is_too_large);
                let documents = content.documents(Box::new(body), self.bytes_max, is_too_large);
                let mut documents =
                    documents.map_err(|error| QueryError::new(Kind::Internal, error))?;
                job.run(&mut *documents)
            }
            _ => job.run(&mut Nothing),
        }
    }

    fn record(&self, result: &Result<Changed, QueryError>) {
        let elapsed = self.arrived.elapsed();
        let (is_gone, is_late) = {
            let state = self.slot.state();
            (state.is_unwanted, state.is_late)
        };
        let outcome = match result {
            Ok(_) => Outcome::Answered,
            Err(_) if is_late => Outcome::Failed(Kind::Timeout),
            Err(_) if is_gone => Outcome::Disconnected,
            Err(error) => Outcome::Failed(error.kind),
        };
        self.metrics.change_ended(outcome, elapsed);
        if let Ok(changed) = result {
            self.metrics.changed(changed.inserted, changed.deleted);
        }
        let id = self.slot.id();
        let id = id.map_or_else(|| self.request_id.clone(), |id| id.to_string());
        match result {
            Ok(changed) => tracing::debug!(%id, ?changed, ?elapsed, "change made"),
            Err(error) if matches!(error.kind, Kind::Internal | Kind::Damaged | Kind::ReadOnly) => {
                tracing::error!(%id, %error, "change failed");
            }
            Err(error) => tracing::debug!(%id, %error, ?elapsed, "change failed"),
        }
    }
}
