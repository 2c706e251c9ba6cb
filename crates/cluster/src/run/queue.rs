//! Sections that have something to do, of all queries of a node, in the order in which they came to have it.

use super::{At, Run, lock};
use crate::host::Host;
use std::collections::VecDeque;
use std::sync::{Arc, Mutex};

type Queue<P, T> = VecDeque<(Arc<Run<P, T>>, At)>;

/// Sections that have something to do, of all queries of a node.
pub(crate) struct Scheduler<P, T> {
    queue: Mutex<Queue<P, T>>,
    host: Arc<dyn Host>,
}

impl<P, T> Scheduler<P, T> {
    pub(crate) fn new(host: Arc<dyn Host>) -> Scheduler<P, T> {
        Scheduler {
            queue: Mutex::default(),
            host,
        }
    }

    /// Forgets what is to be done: the node is over.
    pub(crate) fn forget(&self) {
        let queue = std::mem::take(&mut *lock(&self.queue));
        drop(queue);
    }

    pub(crate) fn host(&self) -> &Arc<dyn Host> {
        &self.host
    }

    /// Queues a section for whoever works next.
    pub(crate) fn push_quietly(&self, run: Arc<Run<P, T>>, at: At) {
        run.is_queued();
        lock(&self.queue).push_back((run, at));
    }

    pub(crate) fn push(&self, run: Arc<Run<P, T>>, at: At) {
        self.push_quietly(run, at);
        self.host.wake();
    }

    pub(crate) fn pop(&self) -> Option<(Arc<Run<P, T>>, At)> {
        let next = lock(&self.queue).pop_front()?;
        next.0.is_taken();
        Some(next)
    }
}
