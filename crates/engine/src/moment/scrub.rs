//! Verifying every block of what was opened, in the background.
//!
//! A scrubber holds its graph alive until it is done, which takes a second for ten gigabytes in memory, but
//! not the database, so that closing one frees its lock. Until it is done each block is verified at first
//! touch, which is slower and as safe.
//!
//! | field | written by | read by |
//! |---|---|---|
//! | `State::number` | whoever opens a graph, with the lock | scrubbers, which are over if it is not theirs |
//! | `State::outcome` | taken back by whoever opens a graph; set by the scrubber of that graph; both with the lock | any thread, with the lock |
//! | `done` | told by the scrubber | whoever waits for the outcome |

use super::Graph;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use store::view::ViewError;

/// How far the scrubber of the graph that was opened last is.
#[derive(Default)]
pub(crate) struct Scrub {
    state: Mutex<State>,
    done: Condvar,
}

#[derive(Default)]
struct State {
    /// Graphs that were opened before this one.
    number: u64,
    outcome: Option<Result<(), ViewError>>,
}

impl Scrub {
    /// There is nothing to verify.
    pub(crate) fn skip(&self) {
        let number = self.lock().number;
        self.finish(number, None);
    }

    /// Verifies a graph on a thread of its own; what is found in those from before does not count any more.
    pub(crate) fn begin(self: &Arc<Scrub>, graph: Arc<Graph>) {
        let number = {
            let mut state = self.lock();
            state.number += 1;
            state.outcome = None;
            state.number
        };
        let scrub = Arc::clone(self);
        let spawned = std::thread::Builder::new()
            .name("scrubber".to_owned())
            .spawn(move || scrub.finish(number, graph.verify().err()));
        if spawned.is_err() {
            // Without a thread blocks stay verified at first touch.
            self.finish(number, None);
        }
    }

    fn finish(&self, number: u64, damage: Option<ViewError>) {
        let mut state = self.lock();
        if state.number == number {
            assert!(
                state.outcome.is_none() || damage.is_none(),
                "a graph is verified once"
            );
            state.outcome = Some(damage.map_or(Ok(()), Err));
            self.done.notify_all();
        }
    }

    /// What was found so far.
    pub(crate) fn damage(&self) -> Option<ViewError> {
        self.lock().outcome.clone()?.err()
    }

    /// Waits until every block has been verified; the first damaged one is the error.
    pub(crate) fn wait(&self) -> Result<(), ViewError> {
        let mut state = self.lock();
        loop {
            if let Some(outcome) = state.outcome.clone() {
                return outcome;
            }
            let waited = self.done.wait(state);
            state = waited.unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// Every change of the state is whole before it can panic.
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
