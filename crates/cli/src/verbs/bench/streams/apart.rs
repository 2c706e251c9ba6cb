//! Evaluating on a thread that does nothing else, so that a core has the queries' code and plans in its caches, and no batch
//! drives them out.
//!
//! The hub goes there and back, so no two threads touch it at once. Whoever waits for it spins: threads that take turns and sleep
//! would be put onto one core.

use somersault::{Hub, QueryError, Reported};
use std::hint::spin_loop;
use std::ops::ControlFlow;
use std::sync::mpsc::{Receiver, Sender, TryRecvError, channel};
use std::thread;
use std::time::Duration;

/// A report, as far as it is timed.
pub(super) struct Answer {
    /// The query's name.
    pub(super) query: String,
    pub(super) rows: u64,
    /// To rows as ids, where that is known.
    pub(super) ids: Option<Duration>,
    /// To rows of terms.
    pub(super) terms: Duration,
}

/// What comes back.
type Evaluated = (Result<Box<Hub>, QueryError>, Vec<Answer>);

/// See the head of this file.
pub(super) struct Evaluator {
    to: Sender<Box<Hub>>,
    from: Receiver<Evaluated>,
}

impl Evaluator {
    /// A thread that evaluates until this is dropped.
    pub(super) fn new() -> Evaluator {
        let (to, hubs) = channel();
        let (back, from) = channel();
        thread::spawn(move || {
            while let Some(hub) = next(&hubs) {
                let mut answers = Vec::new();
                let hub = evaluated(hub, &mut answers);
                if back.send((hub, answers)).is_err() {
                    return;
                }
            }
        });
        Evaluator { to, from }
    }

    /// Has all that is ready evaluated there.
    pub(super) fn evaluated(
        &self,
        hub: Box<Hub>,
        answers: &mut Vec<Answer>,
    ) -> Result<Box<Hub>, QueryError> {
        let sent = self.to.send(hub);
        assert!(sent.is_ok(), "its thread ends with it, or by a bug");
        let (hub, more) = next(&self.from).expect("its thread ends with it, or by a bug");
        answers.extend(more);
        hub
    }
}

/// What is sent next; none where nobody sends any more.
fn next<T>(from: &Receiver<T>) -> Option<T> {
    loop {
        match from.try_recv() {
            Ok(it) => return Some(it),
            Err(TryRecvError::Empty) => spin_loop(),
            Err(TryRecvError::Disconnected) => return None,
        }
    }
}

/// Evaluates all that is ready. A report that failed is an error.
pub(super) fn evaluated(
    mut hub: Box<Hub>,
    answers: &mut Vec<Answer>,
) -> Result<Box<Hub>, QueryError> {
    let shown = hub.evaluate_due_and_ready(&mut |Reported { mut report, .. }| {
        if let Some(failure) = report.failure.take() {
            return Err(failure);
        }
        answers.push(Answer {
            rows: report.rows.len() as u64,
            ids: Some(report.exec.saturating_sub(report.decoding)),
            terms: report.exec,
            query: report.query,
        });
        Ok(ControlFlow::Continue(()))
    });
    shown.map(|_| hub)
}
