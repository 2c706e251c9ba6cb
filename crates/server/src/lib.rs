//! HTTP: the SPARQL protocol, metrics and the page at the root.
//!
//! ```text
//! listener -> connections -> endpoint::routes -> request   what is asked: rights, parameters, bodies
//!                                             -> endpoint  one module a kind of address
//!                                                run       admission, engine threads, the pipe
//!                                             <- response  status, head, the answer as it comes
//! ```
//!
//! A server may serve before its database is open ([`Server::serve_while_opening`]): requests are
//! then told to come back rather than left hanging.
//!
//! A request becomes an answer that is whole, or an error that cannot be mistaken for one. Every
//! part of this path is bounded: connections, heads, bodies, queries at once, queries waiting,
//! queries whose clients are slow, output ahead of them.
//!
//! ```no_run
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! use server::{Server, ServerOptions, ended_by_signal};
//! use somersault::{Database, Options};
//!
//! let database = Database::open("store".as_ref(), &Options::default())?;
//! let server = Server::bind(ServerOptions::default())?;
//! tracing::info!("listening on http://{}", server.address());
//! server.serve(database, ended_by_signal())?;
//! # Ok(())
//! # }
//! ```
//!
//! Deliberately does not know: anything below the façade.

mod connections;
mod endpoint;
mod error;
pub mod etcd;
mod half_close;
mod in_process;
mod listener;
mod metrics;
mod opening;
mod options;
pub mod otlp;
pub mod outbound;
mod prompt;
pub mod registration;
mod request;
mod response;
mod run;
mod runtime;
mod signals;
mod sockets;
mod stall;
mod state;

#[cfg(test)]
mod tests;

pub use error::{OpeningError, ServeError};
pub use in_process::InProcess;
pub use options::{PORT, ServerOptions};
pub use request::access::Access;
pub use signals::{Ended, ended_by_signal};

use opening::Opening;
use run::job::Engine;
use somersault::Database;
use somersault::nodes::Member;
use state::ServerState;
use std::fmt;
use std::future::Future;
use std::net::{SocketAddr, TcpListener};
use std::sync::Arc;

/// A server that has its address and does not serve yet.
pub struct Server {
    listener: TcpListener,
    address: SocketAddr,
    options: ServerOptions,
    reload: Option<Reload>,
    member: Option<Arc<Member>>,
}

/// Reads the configuration again; an error leaves what is in force.
pub type Reload = Box<dyn Fn() -> Result<ServerOptions, String> + Send + Sync>;

impl fmt::Debug for Server {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = f.debug_struct("Server");
        shown.field("address", &self.address);
        shown.field("options", &self.options);
        shown.finish_non_exhaustive()
    }
}

impl Server {
    /// Binds the address of the options. Clients may connect from now on; they are answered once
    /// it serves.
    pub fn bind(options: ServerOptions) -> Result<Server, ServeError> {
        let listener = listener::listen(options.bind)?;
        let address = listener.local_addr().map_err(|source| ServeError::Bind {
            address: options.bind,
            source,
        })?;
        Ok(Server {
            listener,
            address,
            options,
            reload: None,
            member: None,
        })
    }

    /// Reads the configuration again at `SIGHUP`. Rights, tokens, proxies, times and limits of texts and
    /// bodies are by the new one from then on; the address, and how much there may be at once, stay.
    #[must_use]
    pub fn reloading(self, reload: Reload) -> Server {
        Server {
            reload: Some(reload),
            ..self
        }
    }

    /// The database will be of this node of a cluster: before it is there, whoever asks is told which nodes are missing, and
    /// `/api/v1/cluster` says what the node sees.
    #[must_use]
    pub fn of_member(self, member: Arc<Member>) -> Server {
        Server {
            member: Some(member),
            ..self
        }
    }

    /// The address it is bound to, with the port that the system chose.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Serves a database, on this thread and others, until `shutdown` ends; then lets running
    /// queries finish within the grace of the options, cancels those that do not, and gives what
    /// `shutdown` gave. `shutdown` is polled within the runtime of the server: [`ended_by_signal`]
    /// is one.
    pub fn serve<T>(
        self,
        database: Database,
        shutdown: impl Future<Output = T>,
    ) -> Result<T, ServeError> {
        self.serve_engine(Arc::new(database), shutdown)
    }

    /// Serves at once, while `open` opens the database on a thread of its own. Until it is there,
    /// `/health/live` is 200, and `/health/ready` and queries are 503 with `Retry-After`. `opened`
    /// is called on that thread as soon as queries are answered. An error of `open` ends the server
    /// and is given back; a panic goes on in the caller. When `shutdown` ends first, `open` is not
    /// waited for: its thread ends with the process.
    pub fn serve_while_opening<T, E: Send + 'static>(
        self,
        open: impl FnOnce() -> Result<Database, E> + Send + 'static,
        opened: impl FnOnce() + Send + 'static,
        shutdown: impl Future<Output = T>,
    ) -> Result<T, OpeningError<E>> {
        let open = || open().map(|database| Arc::new(database) as Arc<dyn Engine>);
        self.serve_opening(open, opened, shutdown)
    }

    fn serve_engine<T>(
        self,
        engine: Arc<dyn Engine>,
        shutdown: impl Future<Output = T>,
    ) -> Result<T, ServeError> {
        let server = ServerState::new(self.options, self.address, self.member);
        server.open(engine);
        let reload = self.reload;
        run(self.listener, Arc::new(server), reload, shutdown)
    }

    fn serve_opening<T, E: Send + 'static>(
        self,
        open: impl FnOnce() -> Result<Arc<dyn Engine>, E> + Send + 'static,
        opened: impl FnOnce() + Send + 'static,
        shutdown: impl Future<Output = T>,
    ) -> Result<T, OpeningError<E>> {
        let server = Arc::new(ServerState::new(self.options, self.address, self.member));
        let opening =
            Opening::begin(Arc::clone(&server), open, opened).map_err(ServeError::Start)?;
        let ended = run(
            self.listener,
            server,
            self.reload,
            opening.failed_or(shutdown),
        )?;
        ended.map_err(OpeningError::Open)
    }
}

fn run<T>(
    listener: TcpListener,
    server: Arc<ServerState>,
    reload: Option<Reload>,
    shutdown: impl Future<Output = T>,
) -> Result<T, ServeError> {
    run::give_back::begin(&server);
    let options = server.options();
    let changes_max = options.changes_max + options.uploads_max;
    // One more for upkeep, and one to read the configuration again.
    let engine_threads_max = options.started_max + changes_max + 2;
    let (prompt, state) = (Arc::clone(&server.prompt), Arc::clone(&server));
    let serving = async {
        if let Some(reload) = reload {
            tokio::spawn(signals::reload_at_hangup(Arc::clone(&server), reload));
        }
        connections::serve(listener, server, shutdown).await
    };
    let ended = runtime::run(engine_threads_max, prompt, serving);
    state.crew.end(runtime::LAST_WAIT);
    ended.and_then(|ended| ended).map_err(ServeError::Start)
}
