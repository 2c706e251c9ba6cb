//! What all requests of a server share.
//!
//! A server serves before it has its database: opening takes seconds where a graph is loaded, and
//! whoever asks meanwhile is told to come back, which a balancer understands and a connection that
//! hangs is not.
//!
//! | who | touches | when |
//! |---|---|---|
//! | every request | reads all, `last_request`, `prompt` | at any time |
//! | who opens the database | `engine`, `accounts` | once |
//! | whoever reloads the configuration | `options` | at any time |
//! | the accept loop | `ending` | once, when the server is to end |

use crate::metrics::Metrics;
use crate::options::ServerOptions;
use crate::prompt::Prompt;
use crate::request::condition::ServerStart;
use crate::response::problem::Problem;
use crate::run::account::BodyAccounts;
use crate::run::admission::{Admission, Bounds};
use crate::run::crew::Crew;
use crate::run::gate::Gate;
use crate::run::job::Engine;
use crate::run::live::LiveDoor;
use crate::run::spool::{Folders, Spool};
use crate::run::subscribing::SubscriptionDoor;
use somersault::nodes::Member;
use somersault::{ChangeHealth, FollowHealth, Health};
use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock, PoisonError, RwLock};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// A server's shared state.
pub(crate) struct ServerState {
    engine: OnceLock<Arc<dyn Engine>>,
    accounts: OnceLock<BodyAccounts>,
    options: RwLock<Arc<ServerOptions>>,
    /// The node of a cluster that the database is of.
    member: Option<Arc<Member>>,
    /// Marks its entity tags.
    pub run: ServerStart,
    /// The address it is bound to, with its port.
    pub address: SocketAddr,
    /// Which queries may start, and which compute now.
    pub admission: Admission,
    /// Which updates and deletions may.
    pub changes: Gate,
    /// Which changes whose documents still arrive may.
    pub uploads: Gate,
    /// Room for WebSockets and event streams, and for how many there is room (count).
    pub web_sockets: Arc<Semaphore>,
    web_sockets_max: usize,
    /// Event streams that are open (count).
    event_streams: AtomicUsize,
    /// Answers that are finished before they are sent.
    pub spool: Arc<Spool>,
    /// What has been counted.
    pub metrics: Arc<Metrics>,
    /// Streams, registered queries, and who waits for reports.
    pub live: LiveDoor,
    /// Who does pushes.
    pub crew: Crew,
    /// Live queries, and who follows them.
    pub subscriptions: SubscriptionDoor,
    /// Held while the store is compacted on request.
    pub compacting: tokio::sync::Mutex<()>,
    /// Whether a client asks again at once.
    pub prompt: Arc<Prompt>,
    last_request: AtomicU64,
    ending: AtomicBool,
}

/// The name of a request, which every response carries unless its query has a name of its own.
#[derive(Clone, Debug)]
pub(crate) struct RequestId(pub String);

/// What is said where there is no place for one more connection that stays.
pub(crate) const NO_PLACE: &str = "too many WebSockets and event streams are open";

/// The place of an event stream, given back when it is dropped.
pub(crate) struct EventPlace {
    server: Arc<ServerState>,
    _place: OwnedSemaphorePermit,
}

impl Drop for EventPlace {
    fn drop(&mut self) {
        self.server.event_streams.fetch_sub(1, Ordering::Relaxed);
    }
}

impl ServerState {
    /// The state of a server that has served nothing yet and has no database. `member`: the node of a cluster that it will
    /// be of.
    pub fn new(
        options: ServerOptions,
        address: SocketAddr,
        member: Option<Arc<Member>>,
    ) -> ServerState {
        let admission = Admission::new(Bounds {
            shares: options.shares,
            started: options.started_max,
            started_per_client: options.started_per_client_max,
            long_per_client: (2 * options.shares).max(4),
            open_per_client: 16 * options.shares,
            waiting: options.waiting_max,
            stalled: options.stalled_max,
        });
        let changes = |running| Gate::new(running, options.waiting_max);
        let folders = Folders {
            configured: options.spool_folder.clone(),
            store: options.store.clone(),
        };
        let spool = Spool::new(options.spool_bytes_max, folders);
        // Before anything answers: whoever reads that it listens has read this.
        spool.warn();
        options.warn(address);
        let web_sockets_max = options.web_sockets_max.min(Semaphore::MAX_PERMITS);
        let (updates, uploads) = (changes(options.changes_max), changes(options.uploads_max));
        ServerState {
            engine: OnceLock::new(),
            accounts: OnceLock::new(),
            options: RwLock::new(Arc::new(options)),
            member,
            run: ServerStart::begin(),
            address,
            admission,
            changes: updates,
            uploads,
            web_sockets: Arc::new(Semaphore::new(web_sockets_max)),
            web_sockets_max,
            event_streams: AtomicUsize::new(0),
            spool,
            metrics: Arc::new(Metrics::new()),
            live: LiveDoor::new(),
            crew: Crew::of_processors(),
            subscriptions: SubscriptionDoor::new(),
            compacting: tokio::sync::Mutex::default(),
            prompt: Prompt::new(),
            last_request: AtomicU64::new(0),
            ending: AtomicBool::new(false),
        }
    }

    /// From now on there is a database.
    pub fn open(&self, engine: Arc<dyn Engine>) {
        // First, because whoever has the engine has the accounts.
        let accounts = BodyAccounts::on(engine.pool(), self.options().shares);
        assert!(self.accounts.set(accounts).is_ok(), "it is set here alone");
        assert!(self.engine.set(engine).is_ok(), "a server has one database");
    }

    /// Who answers; 503 before there is a database.
    pub fn engine(&self) -> Result<&Arc<dyn Engine>, Problem> {
        self.engine.get().ok_or_else(|| self.starting())
    }

    /// Why there is no database yet.
    fn starting(&self) -> Problem {
        let state = self.member().map(Member::state);
        let why = state.and_then(|state| Some((state.missing()?, state.are_all_there())));
        match why {
            None => Problem::starting(),
            Some((what, true)) => {
                Problem::starting_because(format!("this node of a cluster cannot begin: {what}"))
            }
            Some((missing, false)) => Problem::starting_because(format!(
                "the nodes of the cluster are not all there: {missing}"
            )),
        }
    }

    /// The node of a cluster that the database is of.
    pub fn member(&self) -> Option<&Member> {
        self.member.as_deref()
    }

    /// How to serve, from now on.
    pub fn options(&self) -> Arc<ServerOptions> {
        // A pointer is whole at every moment.
        let options = self.options.read().unwrap_or_else(PoisonError::into_inner);
        Arc::clone(&options)
    }

    /// Serves by other options. What is made when the server starts stays as it is: its address, its
    /// threads, how much of everything there may be at once.
    pub fn reload(&self, options: ServerOptions) {
        *self.options.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(options);
    }

    /// What requests draw memory on; 503 before there is a database.
    pub fn accounts(&self) -> Result<&BodyAccounts, Problem> {
        self.accounts.get().ok_or_else(|| self.starting())
    }

    /// A name for a request that may never become a query; those of queries begin with `q`.
    pub fn request_id(&self) -> RequestId {
        let number = self.last_request.fetch_add(1, Ordering::Relaxed) + 1;
        RequestId(format!("r{number:08x}"))
    }

    /// WebSockets that are open (count).
    pub fn web_sockets_open(&self) -> usize {
        let taken = self.web_sockets_max - self.web_sockets.available_permits();
        taken.saturating_sub(self.event_streams_open())
    }

    /// Event streams that are open (count).
    pub fn event_streams_open(&self) -> usize {
        self.event_streams.load(Ordering::Relaxed)
    }

    /// A place for an event stream, which stays as long as a WebSocket does, and shares their number: without it consumers could
    /// take all connections, and sources would get none. 503 where there is none.
    pub fn event_place(self: &Arc<ServerState>) -> Result<EventPlace, Problem> {
        let place = Arc::clone(&self.web_sockets).try_acquire_owned();
        let place = place.map_err(|_| Problem::overloaded(NO_PLACE))?;
        self.event_streams.fetch_add(1, Ordering::Relaxed);
        Ok(EventPlace {
            server: Arc::clone(self),
            _place: place,
        })
    }

    /// From now on the server is not ready for more.
    pub fn begin_to_end(&self) {
        self.ending.store(true, Ordering::Relaxed);
        self.live.end();
        self.subscriptions.end();
    }

    /// Whether the server does what it was started for, with a remark, or why not.
    pub fn readiness(&self) -> Result<Option<String>, Problem> {
        if self.ending.load(Ordering::Relaxed) {
            return Err(Problem::overloaded("the server is about to end"));
        }
        let Health {
            changes,
            following,
            damage,
        } = self.engine()?.health();
        if let Some(damage) = damage {
            return Err(Problem::unsound(format!("the store is damaged: {damage}")));
        }
        match changes {
            ChangeHealth::Taken => Ok(None),
            ChangeHealth::NotOffered => {
                let missing = self.member().and_then(|member| member.state().missing());
                missing.map_or_else(|| followed(following), |missing| Ok(Some(missing)))
            }
            ChangeHealth::Failing(why) => Ok(Some(format!("the last change failed: {why}"))),
            ChangeHealth::Refused(why) => {
                Err(Problem::unsound(format!("changes are refused: {why}")))
            }
        }
    }
}

/// What is said of a database that was opened for reading.
fn followed(following: FollowHealth) -> Result<Option<String>, Problem> {
    match following {
        FollowHealth::NotOffered => Ok(Some("read-only: opened for reading".to_owned())),
        FollowHealth::Shown => Ok(Some("read-only: shows what others change".to_owned())),
        FollowHealth::Failing(why) => Ok(Some(format!("the last changes are not shown: {why}"))),
        FollowHealth::Lost(why) => Err(Problem::unsound(format!(
            "changes of the store are not shown any more: {why}"
        ))),
    }
}
