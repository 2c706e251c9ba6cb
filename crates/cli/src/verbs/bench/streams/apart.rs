//! Evaluating on a thread that does nothing else, so that a core has the queries' code and plans in its caches, and no batch
//! drives them out.
//!
//! The hub goes there and back, so no two threads touch it at once. Whoever waits for it spins: threads that take turns and sleep
//! would be put onto one core.

use super::sink::{Answer, evaluated};
use somersault::{Hub, QueryError};
use std::hint::spin_loop;
use std::sync::mpsc::{Receiver, Sender, TryRecvError, channel};
use std::thread;

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
