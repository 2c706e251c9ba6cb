//! Accepting connections, and letting them go.
//!
//! Each connection is a task of its own: HTTP/1.1 with keep-alive, a bound on the time a head may
//! take (which is the bound on idleness too), on the bytes it may have, and on how long a client
//! may take nothing of an answer. How many there may be, and which goes where there are too many, is
//! [`crate::sockets`]' business. One that switches to WebSocket goes on in the same task
//! ([`crate::endpoint::socket::handshake`]). HTTP/2 is left to a proxy in front: without TLS no browser speaks it.
//!
//! At the end: readiness falls, and for the delay of the options connections are still taken, so that
//! whoever balances load can see it; then no new connections, idle ones are closed, running requests get
//! their grace, and what still runs then is cancelled and gets a moment to say so.

use crate::endpoint::routes;
use crate::endpoint::socket::handshake::Afterwards;
use crate::half_close::{Exchange, HELD_MAX, Moment};
use crate::options::ServerOptions;
use crate::request::access::{Client, Peer};
use crate::sockets::{InFlight, SocketBounds, SocketPermit, Sockets, Use};
use crate::stall::Impatient;
use crate::state::ServerState;
use axum::Router;
use axum::body::Body;
use hyper::body::{Body as _, Bytes, Frame, Incoming, SizeHint};
use hyper::header::{CONNECTION, CONTENT_LENGTH, HeaderValue};
use hyper::server::conn::http1;
use hyper::service::{HttpService, service_fn};
use hyper::{Request, Response, Version};
use hyper_util::rt::{TokioIo, TokioTimer};
#[cfg(target_os = "linux")]
use socket2::SockRef;
use std::convert::Infallible;
use std::future::Future;
use std::io;
use std::net::SocketAddr;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::{Duration, SystemTime};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Semaphore, watch};
use tokio::time::timeout;
use tower::Service;

/// Bytes of a request's head at most, and of what is buffered for a socket.
const BUFFER_BYTES_MAX: usize = 128 << 10;
/// Bytes of an answer that the system holds before it sends them, about. Without a bound it holds two to four
/// megabytes for each client that takes nothing, which are the process's in the books of a memory group.
#[cfg(target_os = "linux")]
const UNSENT_BYTES: u32 = 256 << 10;
/// Pause after a failed accept: it is mostly file descriptors that are missing, and some come back.
const ACCEPT_PAUSE: Duration = Duration::from_millis(50);
/// Descriptors that are not for connections (count): the store's, the log's, standard streams, event loops, a prompt
/// client's ([`crate::prompt`]), clients that have closed their side ([`HELD_MAX`]).
const OTHER_DESCRIPTORS: usize = 128;
/// Connections that are taken however few descriptors there are (count).
const DESCRIPTORS_MIN: usize = 8;
const _: () = assert!(HELD_MAX < OTHER_DESCRIPTORS, "they are among the others");
const _: () = assert!(DESCRIPTORS_MIN > 0, "somebody is served");

/// Time for cancelled queries to answer that they were.
const LAST_ANSWERS: Duration = Duration::from_millis(500);

/// Serves until `shutdown` ends, then lets go; gives what `shutdown` gave.
pub(crate) async fn serve<T>(
    listener: std::net::TcpListener,
    server: Arc<ServerState>,
    shutdown: impl Future<Output = T>,
) -> io::Result<T> {
    let listener = TcpListener::from_std(listener)?;
    let graceful = Graceful::new();
    let delayed = async {
        let ended = shutdown.await;
        server.begin_to_end();
        tokio::time::sleep(server.options().shutdown_delay).await;
        ended
    };
    let ended = tokio::select! {
        ended = delayed => ended,
        never = accept_all(&listener, &server, &graceful) => match never {},
    };
    drop(listener);
    let grace = server.options().grace;
    let all_done = graceful.end();
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
    graceful: &Graceful,
) -> Never {
    let sockets = Sockets::new(bounds(&server.options()));
    let router = routes::router(server);
    let held = Arc::new(Semaphore::new(HELD_MAX));
    loop {
        match listener.accept().await {
            Ok((stream, peer)) => {
                let is_bounded = !server.options().proxies.contains(&peer.ip().to_canonical());
                let Some(place) = sockets.enter(Client::at(peer.ip()), is_bounded) else {
                    server.metrics.connection_refused();
                    continue;
                };
                let connection = Connection {
                    stream,
                    peer,
                    place,
                    router: router.clone(),
                    held: Arc::clone(&held),
                };
                connection.spawn(server, graceful);
            }
            Err(error) => {
                tracing::warn!(%error, "a connection could not be accepted");
                sockets.make_room();
                tokio::time::sleep(ACCEPT_PAUSE).await;
            }
        }
    }
}

/// How many connections there may be: as configured, as far as there are descriptors. The store needs some
/// as well.
fn bounds(options: &ServerOptions) -> SocketBounds {
    let limit = rustix::process::getrlimit(rustix::process::Resource::Nofile).current;
    let limit = limit.and_then(|limit| usize::try_from(limit).ok());
    let most = limit
        .unwrap_or(usize::MAX)
        .saturating_sub(OTHER_DESCRIPTORS);
    let most = most.saturating_sub(options.reserve).max(DESCRIPTORS_MIN);
    if most < options.connections_max {
        tracing::warn!(
            "{} connections are configured, and there are descriptors for {most}",
            options.connections_max
        );
    }
    let connections = options.connections_max.min(most);
    SocketBounds {
        connections,
        per_peer: connections.div_ceil(4) * 3,
        reserve: options.reserve,
    }
}

/// An end in which connections have a part: `hyper_util`'s is not for those of HTTP/1 that may switch.
struct Graceful(watch::Sender<bool>);

/// The part of a connection, which the end waits for.
struct GracefulPart(watch::Receiver<bool>);

impl Graceful {
    fn new() -> Graceful {
        Graceful(watch::Sender::new(false))
    }

    fn part(&self) -> GracefulPart {
        GracefulPart(self.0.subscribe())
    }

    /// Tells all connections, and waits until the last of them has given its part back.
    async fn end(self) {
        self.0.send_replace(true);
        self.0.closed().await;
    }
}

impl GracefulPart {
    /// Serves a connection until it is over, or switched. At the end it is closed as soon as it is idle.
    async fn served<S>(
        &mut self,
        connection: http1::Connection<TokioIo<Impatient>, S>,
    ) -> hyper::Result<()>
    where
        S: HttpService<Incoming, ResBody = Guarded, Error = Infallible>,
    {
        let mut connection = pin!(connection.with_upgrades());
        tokio::select! {
            served = connection.as_mut() => return served,
            _ = self.0.wait_for(|is_ending| *is_ending) => {}
        }
        connection.as_mut().graceful_shutdown();
        connection.await
    }
}

struct Connection {
    stream: TcpStream,
    peer: SocketAddr,
    place: SocketPermit,
    router: Router,
    /// Room for clients that have closed their side.
    held: Arc<Semaphore>,
}

impl Connection {
    fn spawn(self, server: &Arc<ServerState>, graceful: &Graceful) {
        // Chunks are whole when they are written: waiting for more would only delay them.
        let _ = self.stream.set_nodelay(true);
        #[cfg(target_os = "linux")]
        let _ = SockRef::from(&self.stream).set_tcp_notsent_lowat(UNSENT_BYTES);
        let peer = Peer(self.peer);
        let (router, place) = (self.router, self.place);
        let (socket, purpose) = (Arc::clone(&place.socket), place.purpose);
        let exchange = Arc::new(Exchange::new(self.held));
        let of_service = Arc::clone(&exchange);
        let afterwards = Afterwards::default();
        let of_requests = afterwards.clone();
        let service = service_fn(move |mut request: Request<Incoming>| {
            let in_flight = socket.begin();
            let exchange = Arc::clone(&of_service);
            request.extensions_mut().insert(peer);
            request.extensions_mut().insert(of_requests.clone());
            let is_served = purpose == Use::Full || routes::is_for_watchers(request.uri());
            let takes_chunks = request.version() >= Version::HTTP_11;
            let request = request.map(|body| Arriving::new(body, &exchange));
            let answering = is_served.then(|| router.clone().call(request));
            async move {
                let answered: Result<_, Infallible> = match answering {
                    Some(answering) => answering.await,
                    None => Ok(routes::no_room()),
                };
                answered.map(|mut response| {
                    // What is left of the request's body is not read, and the connection ends: who asks next by it has to
                    // know.
                    if exchange.moment() == Moment::Request {
                        let close = HeaderValue::from_static("close");
                        response.headers_mut().insert(CONNECTION, close);
                    }
                    exchange.come_to(moment(&response, takes_chunks));
                    response.map(|body| Guarded {
                        body,
                        exchange,
                        _in_flight: in_flight,
                    })
                })
            }
        });
        let options = server.options();
        let prompt = Arc::clone(&server.prompt);
        let stream = Impatient::new(
            self.stream,
            (exchange, peer.0, prompt),
            options.stall_timeout,
        );
        let connection = protocol(&options).serve_connection(TokioIo::new(stream), service);
        let mut part = graceful.part();
        let metrics = Arc::clone(&server.metrics);
        metrics.connection_opened();
        tokio::spawn(async move {
            let served = part.served(connection);
            tokio::select! {
                served = served => match served {
                    Ok(()) => switched(&afterwards, &place).await,
                    Err(error) => {
                        tracing::debug!(%error, peer = %peer.0, "connection ended early");
                    }
                },
                () = place.socket.ended() => {
                    tracing::debug!(peer = %peer.0, "an idle connection made room for another");
                }
            }
            metrics.connection_closed();
            drop((place, part));
        });
    }
}

/// Goes on with what the connection was switched to, which is never idle.
async fn switched(afterwards: &Afterwards, place: &SocketPermit) {
    if let Some(life) = afterwards.take() {
        let _in_flight = place.socket.begin();
        tokio::select! {
            () = life => {}
            // It was idle for the moment between the two.
            () = place.socket.ended() => {}
        }
    }
}

/// How a response goes to the socket.
fn moment(response: &Response<Body>, takes_chunks: bool) -> Moment {
    let is_counted = response.body().size_hint().exact().is_some()
        || response.headers().contains_key(CONTENT_LENGTH);
    if takes_chunks && !is_counted {
        Moment::Chunks
    } else {
        Moment::Counted
    }
}

/// A request's body, which tells when it has been read.
struct Arriving {
    body: Incoming,
    exchange: Arc<Exchange>,
}

impl Arriving {
    fn new(body: Incoming, exchange: &Arc<Exchange>) -> Arriving {
        exchange.come_to(if body.is_end_stream() {
            Moment::Computing
        } else {
            Moment::Request
        });
        Arriving {
            body,
            exchange: Arc::clone(exchange),
        }
    }
}

impl hyper::body::Body for Arriving {
    type Data = Bytes;
    type Error = hyper::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, hyper::Error>>> {
        let frame = Pin::new(&mut self.body).poll_frame(context);
        self.exchange.set_starved(frame.is_pending());
        if matches!(frame, Poll::Ready(None)) || self.body.is_end_stream() {
            self.exchange.is_read();
        }
        frame
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

/// A response's body, which tells when it has been sent.
struct Guarded {
    body: Body,
    exchange: Arc<Exchange>,
    _in_flight: InFlight,
}

impl Drop for Guarded {
    fn drop(&mut self) {
        self.exchange.come_to(Moment::Ending);
    }
}

impl hyper::body::Body for Guarded {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        Pin::new(&mut self.body).poll_frame(context)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

/// Whether `Date` can say it (RFC 9110 section 5.6.7): years of four digits, none before 1970 in the library,
/// which panics at others. A server whose clock is that far off has none worth telling (section 6.6.1).
fn has_date(now: SystemTime) -> bool {
    /// Seconds from 1970 to the year 10000.
    const END: u64 = 253_402_300_800;
    now.duration_since(SystemTime::UNIX_EPOCH)
        .is_ok_and(|since| since.as_secs() < END)
}

fn protocol(options: &ServerOptions) -> http1::Builder {
    let mut protocol = http1::Builder::new();
    protocol
        .timer(TokioTimer::new())
        .header_read_timeout(options.head_timeout)
        .auto_date_header(has_date(SystemTime::now()))
        .max_buf_size(BUFFER_BYTES_MAX);
    protocol
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_clock_far_off_tells_no_date() {
        let at = |seconds| SystemTime::UNIX_EPOCH + Duration::from_secs(seconds);
        assert!(has_date(at(0)) && has_date(at(1_795_000_000)));
        assert!(!has_date(at(253_402_300_800)));
        assert!(!has_date(SystemTime::UNIX_EPOCH - Duration::from_secs(1)));
    }
}
