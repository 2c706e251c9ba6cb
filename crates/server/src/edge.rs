//! What all requests of a server share.
//!
//! | who | touches | when |
//! |---|---|---|
//! | every request | reads all, `last_request` | at any time |
//! | the accept loop | `ending` | once, when the server is to end |

use crate::engine::Engine;
use crate::gate::Gate;
use crate::metrics::Metrics;
use crate::options::ServerOptions;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// A server's shared state.
pub(crate) struct Edge {
    /// Who answers.
    pub engine: Arc<dyn Engine>,
    /// How to serve.
    pub options: ServerOptions,
    /// Who may run now.
    pub gate: Gate,
    /// What has been counted.
    pub metrics: Arc<Metrics>,
    last_request: AtomicU64,
    ending: AtomicBool,
}

impl Edge {
    /// The state of a server that has served nothing yet.
    pub fn new(engine: Arc<dyn Engine>, options: ServerOptions) -> Edge {
        let gate = Gate::new(options.queries_max, options.waiting_max);
        Edge {
            engine,
            options,
            gate,
            metrics: Arc::new(Metrics::new()),
            last_request: AtomicU64::new(0),
            ending: AtomicBool::new(false),
        }
    }

    /// A name for a request that may never become a query; those of queries begin with `q`.
    pub fn request_id(&self) -> String {
        format!(
            "r{:08x}",
            self.last_request.fetch_add(1, Ordering::Relaxed) + 1
        )
    }

    /// From now on the server is not ready for more.
    pub fn begin_to_end(&self) {
        self.ending.store(true, Ordering::Relaxed);
    }

    /// Whether the server takes requests.
    pub fn is_ready(&self) -> bool {
        !self.ending.load(Ordering::Relaxed)
    }
}
