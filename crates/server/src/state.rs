//! What all requests of a server share.
//!
//! A server serves before it has its database: opening takes seconds where a graph is loaded, and
//! whoever asks meanwhile is told to come back, which a balancer understands and a connection that
//! hangs is not.
//!
//! | who | touches | when |
//! |---|---|---|
//! | every request | reads all, `last_request` | at any time |
//! | who opens the database | `engine` | once |
//! | the accept loop | `ending` | once, when the server is to end |

use crate::metrics::Metrics;
use crate::options::ServerOptions;
use crate::response::problem::Problem;
use crate::run::gate::{Bounds, Gate};
use crate::run::job::Engine;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

/// A server's shared state.
pub(crate) struct ServerState {
    engine: OnceLock<Arc<dyn Engine>>,
    /// How to serve.
    pub options: ServerOptions,
    /// The address it is bound to, with its port.
    pub address: SocketAddr,
    /// Who may run now.
    pub gate: Gate,
    /// Which updates and deletions may.
    pub changes: Gate,
    /// Which changes whose documents still arrive may.
    pub uploads: Gate,
    /// Why the store takes no changes any more, once a change has met that.
    pub read_only: Arc<OnceLock<String>>,
    /// What has been counted.
    pub metrics: Arc<Metrics>,
    /// Held while the store is compacted on request.
    pub compacting: tokio::sync::Mutex<()>,
    last_request: AtomicU64,
    ending: AtomicBool,
}

/// The name of a request, which every response carries unless its query has a name of its own.
#[derive(Clone, Debug)]
pub(crate) struct RequestId(pub String);

impl ServerState {
    /// The state of a server that has served nothing yet and has no database.
    pub fn new(options: ServerOptions, address: SocketAddr) -> ServerState {
        let gate = Gate::new(Bounds {
            running: options.queries_max,
            waiting: options.waiting_max,
            aside: options.stalled_max,
        });
        let changes = |running| {
            Gate::new(Bounds {
                running,
                waiting: options.waiting_max,
                aside: 0,
            })
        };
        let (updates, uploads) = (changes(options.changes_max), changes(options.uploads_max));
        ServerState {
            engine: OnceLock::new(),
            options,
            address,
            gate,
            changes: updates,
            uploads,
            read_only: Arc::default(),
            metrics: Arc::new(Metrics::new()),
            compacting: tokio::sync::Mutex::default(),
            last_request: AtomicU64::new(0),
            ending: AtomicBool::new(false),
        }
    }

    /// From now on there is a database.
    pub fn open(&self, engine: Arc<dyn Engine>) {
        assert!(self.engine.set(engine).is_ok(), "a server has one database");
    }

    /// Who answers; 503 before there is a database.
    pub fn engine(&self) -> Result<&Arc<dyn Engine>, Problem> {
        self.engine.get().ok_or_else(Problem::starting)
    }

    /// A name for a request that may never become a query; those of queries begin with `q`.
    pub fn request_id(&self) -> RequestId {
        let number = self.last_request.fetch_add(1, Ordering::Relaxed) + 1;
        RequestId(format!("r{number:08x}"))
    }

    /// From now on the server is not ready for more.
    pub fn begin_to_end(&self) {
        self.ending.store(true, Ordering::Relaxed);
    }

    /// Whether the server takes queries, or why not.
    pub fn readiness(&self) -> Result<(), Problem> {
        if self.ending.load(Ordering::Relaxed) {
            return Err(Problem::overloaded("the server is about to end"));
        }
        self.engine().map(|_| ())
    }
}
