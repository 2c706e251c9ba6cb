//! Accepting connections, bounding them, and letting them go.
//!
//! Each connection is a task of its own: HTTP/1.1 with keep-alive, a bound on the time a head may
//! take (which is the bound on idleness too), on the bytes it may have, and on how long a client
//! may take nothing of an answer. Beyond the greatest number of connections, new ones wait in the
//! system's queue. HTTP/2 is left to a proxy in front: without TLS no browser speaks it.
//!
//! At the end: no new connections, idle ones are closed, running requests get their grace, and what
//! still runs then is cancelled and gets a moment to say so.

use crate::endpoint::routes;
use crate::options::ServerOptions;
use crate::request::access::Peer;
use crate::stall::Impatient;
use crate::state::ServerState;
use axum::Router;
use hyper::Request;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::server::graceful::GracefulShutdown;
use std::future::Future;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::timeout;
use tower::Service;

/// Bytes of a request's head at most, and of what is buffered for a socket.
const BUFFER_BYTES_MAX: usize = 128 << 10;
/// Pause after a failed accept: it is mostly file descriptors that are missing, and some come back.
const ACCEPT_PAUSE: Duration = Duration::from_millis(50);
/// Time for cancelled queries to answer that they were.
const LAST_ANSWERS: Duration = Duration::from_millis(500);

/// Serves until `shutdown` ends, then lets go; gives what `shutdown` gave.
pub(crate) async fn serve<T>(
    listener: std::net::TcpListener,
    server: Arc<ServerState>,
    shutdown: impl Future<Output = T>,
) -> io::Result<T> {
    let listener = TcpListener::from_std(listener)?;
    let graceful = GracefulShutdown::new();
    let ended = tokio::select! {
        ended = shutdown => ended,
        never = accept_all(&listener, &server, &graceful) => match never {},
    };
    drop(listener);
    server.begin_to_end();
    let grace = server.options.grace;
    let all_done = graceful.shutdown();
    tokio::pin!(all_done);
    if timeout(grace, &mut all_done).await.is_err() {
        tracing::warn!("queries still run after {grace:?}: they are cancelled");
        if let Ok(engine) = server.engine() {
            engine.running().cancel_all();
        }
        // Connections that are open still are cut when the runtime ends.
        let _ = timeout(LAST_ANSWERS, all_done).await;
    }
    Ok(ended)
}

enum Never {}

async fn accept_all(
    listener: &TcpListener,
    server: &Arc<ServerState>,
    graceful: &GracefulShutdown,
) -> Never {
    let places = Arc::new(Semaphore::new(server.options.connections_max));
    let router = routes::router(server);
    loop {
        let place = Arc::clone(&places).acquire_owned().await;
        let place = place.expect("the semaphore is never closed");
        match listener.accept().await {
            Ok((stream, peer)) => {
                let connection = Connection {
                    stream,
                    peer,
                    place,
                    router: router.clone(),
                };
                connection.spawn(server, graceful);
            }
            Err(error) => {
                tracing::warn!(%error, "a connection could not be accepted");
                tokio::time::sleep(ACCEPT_PAUSE).await;
            }
        }
    }
}

struct Connection {
    stream: TcpStream,
    peer: SocketAddr,
    place: OwnedSemaphorePermit,
    router: Router,
}

impl Connection {
    fn spawn(self, server: &Arc<ServerState>, graceful: &GracefulShutdown) {
        // Chunks are whole when they are written: waiting for more would only delay them.
        let _ = self.stream.set_nodelay(true);
        let peer = Peer(self.peer);
        let router = self.router;
        let service = service_fn(move |mut request: Request<Incoming>| {
            request.extensions_mut().insert(peer);
            router.clone().call(request)
        });
        let stream = Impatient::new(self.stream, server.options.stall_timeout);
        let connection = protocol(&server.options).serve_connection(TokioIo::new(stream), service);
        let served = graceful.watch(connection);
        let (metrics, place) = (Arc::clone(&server.metrics), self.place);
        metrics.connection_opened();
        tokio::spawn(async move {
            if let Err(error) = served.await {
                tracing::debug!(%error, peer = %peer.0, "connection ended early");
            }
            metrics.connection_closed();
            drop(place);
        });
    }
}

fn protocol(options: &ServerOptions) -> http1::Builder {
    let mut protocol = http1::Builder::new();
    protocol
        .timer(TokioTimer::new())
        .header_read_timeout(options.head_timeout)
        .max_buf_size(BUFFER_BYTES_MAX);
    protocol
}
