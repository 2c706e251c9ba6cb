//! What a node is given by whoever runs it: memory, other endpoints, and somebody to do its work.

use explore::{MemoryBudget, Service, Stop};
use std::sync::Arc;
use std::time::Duration;

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
}
