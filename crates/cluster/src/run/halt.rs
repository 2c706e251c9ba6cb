//! Why a query has to end on a node: somebody said so, or its time is over.

use explore::{Stop, StopReason};
use fabric::Fabric;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// Says stop to all walks of a query on this node.
pub(crate) struct Halt {
    is_over: AtomicBool,
    /// By the fabric's clock.
    deadline: Option<Duration>,
    fabric: Arc<dyn Fabric>,
    /// What the asker's own limits say, on its node.
    stop: Option<Arc<dyn Stop + Send>>,
}

impl Halt {
    pub(crate) fn new(
        fabric: Arc<dyn Fabric>,
        time: Option<Duration>,
        stop: Option<Arc<dyn Stop + Send>>,
    ) -> Halt {
        let deadline = time.and_then(|time| fabric.now().checked_add(time));
        Halt {
            is_over: AtomicBool::new(false),
            deadline,
            fabric,
            stop,
        }
    }

    /// What is left until the deadline; `None`: there is none.
    pub(crate) fn left(&self) -> Option<Duration> {
        let deadline = self.deadline?;
        Some(deadline.saturating_sub(self.fabric.now()))
    }

    pub(crate) fn end(&self) {
        self.is_over.store(true, Ordering::Relaxed);
    }

    pub(crate) fn is_over(&self) -> bool {
        self.is_over.load(Ordering::Relaxed)
    }
}

impl Halt {
    /// Why whoever asked wants it to end, if so: its time is over, or its own limits say so.
    pub(crate) fn asked_to(&self) -> Option<StopReason> {
        if self
            .deadline
            .is_some_and(|deadline| self.fabric.now() >= deadline)
        {
            return Some(StopReason::Deadline);
        }
        self.stop.as_ref().and_then(|stop| stop.reason())
    }
}

impl Stop for Halt {
    fn reason(&self) -> Option<StopReason> {
        if self.is_over() {
            return Some(StopReason::Cancelled);
        }
        self.asked_to()
    }

    fn is_stopped(&self) -> bool {
        let is_late = self.left().is_some_and(|left| left.is_zero());
        self.is_over() || is_late || self.stop.as_ref().is_some_and(|stop| stop.is_stopped())
    }

    fn waiting(&self, wait: &mut dyn FnMut()) {
        match &self.stop {
            Some(stop) => stop.waiting(wait),
            None => wait(),
        }
    }
}
