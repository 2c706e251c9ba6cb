//! What all requests to one database share: options, memory, the list of running requests, kept plans, and the graph
//! that queries see now.
//!
//! A request holds this and not the database, which starts requests. A database stays open as long as a request
//! needs it: `_background` keeps its threads and its lock, whatever they are, until the last request is gone.
//!
//! | who | touches | when |
//! |---|---|---|
//! | requests | `published`, for the time of cloning a pointer | at their beginning |
//! | requests | `pool`, `running`, `plans`, `empty_default`, each of which is shared in its own way | always |
//! | the writer | `published` | when commits are durable |

use super::plan_cache::PlanCache;
use super::warnings::EmptyDefault;
use crate::budget::Pool;
use crate::change::KeptVersions;
use crate::moment::Graph;
use crate::options::Options;
use crate::running::Running;
use crate::stop::StopToken;
use crate::sync::RwLock;
use std::any::Any;
use std::sync::{Arc, PoisonError};
use std::time::Duration;

/// See the head of this file.
pub(crate) struct Shared {
    /// The limits of queries.
    pub(crate) options: Options,
    /// Memory of all queries.
    pub(crate) pool: Arc<Pool>,
    /// The requests that run now.
    pub(crate) running: Running,
    /// Plans of known shapes; `None`: they are not kept.
    pub(crate) plans: Option<PlanCache>,
    /// What was found out of a version's default graph.
    pub(crate) empty_default: EmptyDefault,
    /// What queries that begin now see.
    pub(crate) published: Arc<RwLock<Arc<Graph>>>,
    /// What they saw a moment ago.
    pub(crate) kept: Arc<KeptVersions>,
    /// Whether somebody publishes changes.
    pub(crate) is_changed: bool,
    /// What the database does beside requests; held, and never looked at.
    pub(crate) _background: Arc<dyn Any + Send + Sync>,
}

impl Shared {
    /// The graph as it is now.
    pub(crate) fn graph(&self) -> Arc<Graph> {
        let published = self.published.read();
        Arc::clone(&published.unwrap_or_else(PoisonError::into_inner))
    }

    /// The token of a reader whose time begins now.
    pub(crate) fn reader_token(&self, timeout: Duration) -> StopToken {
        let token = StopToken::starting_now(Some(timeout));
        if self.is_changed {
            token.with_snapshot_age(self.options.max_snapshot_age)
        } else {
            token
        }
    }
}
