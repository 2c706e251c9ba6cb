//! What an HTTP server is given: where to listen, and how much of everything.
//!
//! Every bound of the edge stands here with its default and the reason for it, so that nothing a
//! client does is without one: connections, queries at once, queries waiting, text, time to send a
//! request, time to take an answer.

use crate::request::access::Access;
use somersault::SubscriptionLimits;
use somersault::config::{Config, Right, Upkeep};
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::time::Duration;

/// The port of the default address.
pub const PORT: u16 = 7272;

/// How to serve.
#[derive(Clone, Debug)]
pub struct ServerOptions {
    /// Address and port to listen on; port 0 lets the system choose one.
    pub bind: SocketAddr,
    /// Connections at once (count); for more, the idlest are closed.
    pub connections_max: usize,
    /// Connections besides (count), for `/health` and `/metrics` while all others have requests under way.
    pub reserve: usize,
    /// Queries that compute at once beyond their first moments (count). One per processor: a light query
    /// is over before it needs a share, a heavy one uses every processor on its own.
    pub shares: usize,
    /// Queries that have started and not ended (count). Each has a thread.
    pub started_max: usize,
    /// Of these, those of one client (count).
    pub started_per_client_max: usize,
    /// Queries that wait to be started; more are told to come back (503 with `Retry-After`).
    pub waiting_max: usize,
    /// Queries whose clients take nothing (count), before the longest of them is ended. Each keeps a thread
    /// and its memory, but no share of the processors; so many slow clients stop nobody.
    pub stalled_max: usize,
    /// Updates and deletions that run at once. They take turns, and wait together for the disk: the
    /// more there are, the more of them share a sync.
    pub changes_max: usize,
    /// Changes at once whose documents are still arriving; each holds a thread meanwhile.
    pub uploads_max: usize,
    /// WebSockets and event streams at once (count); they are connections, and stay for long, so others are to be left.
    pub web_sockets_max: usize,
    /// After so long a silence the far end of a WebSocket is asked whether it is there, and after as much again it is let
    /// go.
    pub web_socket_beat: Duration,
    /// Live queries at once, and what their answers may take. They are kept to be compared with the next ones.
    pub subscriptions: SubscriptionLimits,
    /// Longest query text, in bytes after decoding.
    pub text_bytes_max: u64,
    /// Longest update text, in bytes after decoding.
    pub update_text_bytes_max: u64,
    /// Largest body of a write of a graph, in bytes after decompression; `None`: no limit.
    pub body_bytes_max: Option<u64>,
    /// Bytes on the disk of answers that are finished before they are sent, together.
    pub spool_bytes_max: u64,
    /// Where their files are made; `None`: in the folder for temporary files, or in that of the store where the
    /// other lies in memory.
    pub spool_folder: Option<PathBuf>,
    /// The folder of the store, where this server changes it.
    pub store: Option<PathBuf>,
    /// Time of a query, waiting included: the default, and the most that a client may ask for.
    pub timeout: Duration,
    /// The same for a change, its document's arrival included.
    pub update_timeout: Duration,
    /// Addresses of proxies that are believed when they say for whom they speak (`X-Forwarded-For`, or
    /// `Forwarded`).
    pub proxies: Vec<IpAddr>,
    /// Names under which it is asked besides those of this machine, see [`crate::request::host`]; in lower
    /// case, without ports.
    pub hosts: Vec<String>,
    /// Who may what.
    pub access: Access,
    /// Whether queries are listed and cancelled, and the store compacted, without a token, too.
    pub api_open: bool,
    /// Whether pages of other origins may read answers (`Access-Control-Allow-Origin: *`).
    pub cross_origin: bool,
    /// Whether `SERVICE` may call other endpoints, for the description.
    pub calls_out: bool,
    /// Time to send a request's head, or for the next request on an idle connection.
    pub head_timeout: Duration,
    /// Time to send a request's body; of a document that is written as it comes, the longest pause.
    pub body_timeout: Duration,
    /// Time in which a client must take some part of an answer before its connection is closed.
    pub stall_timeout: Duration,
    /// Time for which connections are still taken at shutdown, while readiness says 503 already.
    pub shutdown_delay: Duration,
    /// Time that running queries get to finish at shutdown before they are cancelled.
    pub grace: Duration,
}

impl Default for ServerOptions {
    fn default() -> ServerOptions {
        let cores = std::thread::available_parallelism().map_or(2, usize::from);
        ServerOptions {
            bind: SocketAddr::from((Ipv4Addr::LOCALHOST, PORT)),
            connections_max: 1024,
            reserve: 32,
            shares: cores,
            started_max: 384,
            started_per_client_max: 128,
            waiting_max: 256,
            stalled_max: 128,
            changes_max: 64,
            uploads_max: 32,
            web_sockets_max: 512,
            web_socket_beat: Duration::from_secs(15),
            subscriptions: SubscriptionLimits::default(),
            text_bytes_max: 1 << 20,
            update_text_bytes_max: 64 << 20,
            body_bytes_max: None,
            spool_bytes_max: 4 << 30,
            spool_folder: None,
            store: None,
            timeout: Duration::from_secs(30),
            update_timeout: Duration::from_mins(5),
            proxies: Vec::new(),
            hosts: Vec::new(),
            access: Access::default(),
            api_open: false,
            cross_origin: false,
            calls_out: false,
            head_timeout: Duration::from_secs(30),
            body_timeout: Duration::from_secs(30),
            stall_timeout: Duration::from_secs(30),
            shutdown_delay: Duration::ZERO,
            grace: Duration::from_secs(5),
        }
    }
}

impl ServerOptions {
    /// The part of the configuration that is about serving; the rest as by default.
    pub fn from_config(config: &Config) -> ServerOptions {
        ServerOptions {
            bind: config.bind,
            connections_max: config.connections,
            web_sockets_max: config.connections.div_ceil(2),
            subscriptions: SubscriptionLimits {
                count_max: config.live_queries,
                answer_bytes_max: config.live_answer_bytes,
                ..SubscriptionLimits::default()
            },
            text_bytes_max: config.text_max_bytes,
            update_text_bytes_max: config.update_text_max_bytes,
            body_bytes_max: config.body_max_bytes,
            spool_bytes_max: config.spool_limit_bytes,
            spool_folder: config.spool_folder.clone(),
            timeout: config.timeout,
            update_timeout: config.update_timeout,
            proxies: config.proxies.clone(),
            hosts: config.hosts.clone(),
            shutdown_delay: config.shutdown_delay,
            grace: config.drain,
            access: Access::from_config(config),
            api_open: config.upkeep == Upkeep::OfAll,
            calls_out: !config.services.is_empty(),
            ..ServerOptions::default()
        }
    }

    /// Says in the log what is given to everybody on a network, which whoever tries a server on one machine
    /// and then opens it to others may not have thought of.
    pub(crate) fn warn(&self, address: SocketAddr) {
        if address.ip().to_canonical().is_loopback() {
            return;
        }
        if self.access.anonymous >= Some(Right::Write) {
            tracing::warn!(
                "everybody who reaches {address} may change and delete the graph: no token is asked for \
                 (server.allow_update); auth.tokens would give that right to some"
            );
        }
        if self.api_open {
            tracing::warn!(
                "everybody who reaches {address} may see and cancel the queries of others (api.open)"
            );
        }
    }
}
