//! What a node is given by whoever runs it: memory, other endpoints, and somebody to do its work.

use crate::run::span::Span;
use explore::{MemoryBudget, Offloader, Service, Stop};
use query::plan::{Plan, Slot};
use std::sync::Arc;
use std::time::Duration;

/// A section of a query that is walked where the vertices are owned that it looks at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HomeSection {
    /// The column of its rows whose vertices are owned here; `None`: none is.
    pub column: Option<Slot>,
    /// Whether it takes of a class the members here, rather than all.
    pub takes_members: bool,
}

/// See the module's documentation.
pub trait Host: Send + Sync + 'static {
    /// A budget for a query of another node, that has so many bytes there.
    fn memory(&self, bytes: u64) -> Arc<dyn MemoryBudget + Send>;

    /// Who asks other endpoints for `SERVICE`, for a query that has so much time from now on (`None`: no deadline) and ends when
    /// `stop` says so; `None`: it is refused.
    fn service(
        &self,
        time: Option<Duration>,
        stop: Arc<dyn Stop + Send>,
    ) -> Option<Arc<dyn Service + Send>>;

    /// There is work: somebody should call [`Node::work`](crate::Node::work). Called often, from any thread, and must not
    /// block.
    fn wake(&self);

    /// Who may do the first steps of such a section of a plan in the walk's stead: a device that has this node's part. By default nobody.
    /// What it holds is that budget's.
    fn offloader(
        &self,
        plan: &Plan,
        section: HomeSection,
        memory: &Arc<dyn MemoryBudget + Send>,
    ) -> Option<Box<dyn Offloader>> {
        let _ = (plan, section, memory);
        None
    }

    /// A query that is followed has ended on this node: what it did there, with times of the fabric's clock, which is at `now`. Must not
    /// block. By default nobody is told.
    fn followed(&self, spans: Vec<Span>, now: Duration) {
        let _ = (spans, now);
    }
}
