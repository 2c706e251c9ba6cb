//! From a request to a WebSocket (RFC 6455 section 4.2), on the task of the connection that it came by.
//!
//! A connection that has switched goes on where it was: its task, its place among the connections, its part in a
//! graceful end. So what the socket does is a future that the connection runs when its last response has been sent
//! ([`Afterwards`]); nothing is spawned that could outlive it.
//!
//! **Pages of other origins.** Browsers let any page open a socket anywhere, and let it read what comes: the rule that keeps
//! pages from reading answers of other origins (CORS) knows no sockets. So here a socket is as a change is: whoever
//! says by `Origin` that it speaks for a page of somebody else is refused, unless it has a token, which browsers do not send of
//! their own accord, or it only reads and pages of others may (`--cors`).
//!
//! Sockets are long, so they have a number of their own ([`crate::options::ServerOptions::web_sockets_max`]), which leaves
//! connections to those who ask.

use super::metered::Metered;
use super::{SocketLimits, WebSocket};
use crate::response::problem::Problem;
use crate::run::account::BodyAccount;
use crate::state::{NO_PLACE, ServerState};
use axum::body::Body;
use hyper::body::Body as _;
use hyper::header::{CONNECTION, HeaderName, HeaderValue, UPGRADE};
use hyper::upgrade::OnUpgrade;
use hyper::{HeaderMap, Method, Request, Response, StatusCode};
use hyper_util::rt::TokioIo;
use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use tokio::sync::OwnedSemaphorePermit;
use tokio_tungstenite::tungstenite::Error;
use tokio_tungstenite::tungstenite::error::ProtocolError;
use tokio_tungstenite::tungstenite::handshake::server::create_response_with_body;

const VERSION: HeaderName = hyper::header::SEC_WEBSOCKET_VERSION;

/// Whether a request asks to switch. Addresses without sockets pass that over (RFC 9110 section 7.8).
pub(crate) fn is_asked(method: &Method, headers: &HeaderMap) -> bool {
    let lines = headers.get_all(UPGRADE).iter();
    let mut named = lines
        .filter_map(|line| line.to_str().ok())
        .flat_map(|line| line.split(','));
    *method == Method::GET && named.any(|name| name.trim().eq_ignore_ascii_case("websocket"))
}

type Life = Pin<Box<dyn Future<Output = ()> + Send>>;

/// What a connection does when its last response has been sent. Every request on it has a handle.
#[derive(Clone, Default)]
pub(crate) struct Afterwards(Arc<Mutex<Option<Life>>>);

impl Afterwards {
    /// Takes it, where there is something.
    pub fn take(&self) -> Option<Life> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    fn set(&self, life: Life) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(life);
    }
}

/// A request that may be switched.
pub(crate) struct Handshake {
    upgrade: OnUpgrade,
    afterwards: Afterwards,
    response: Response<Body>,
    place: OwnedSemaphorePermit,
    account: BodyAccount,
}

impl Handshake {
    /// Checks it, and takes a place: 400, 426, 503.
    pub fn begin(server: &ServerState, request: &mut Request<Body>) -> Result<Handshake, Problem> {
        if !request.body().is_end_stream() {
            let why = "a request that switches to WebSocket has no body";
            return Err(Problem::bad_request(why));
        }
        let response = create_response_with_body(request, Body::empty);
        let response = response.map_err(|error| refusal(&error))?;
        let extensions = request.extensions_mut();
        let parts = (
            extensions.remove::<OnUpgrade>(),
            extensions.get::<Afterwards>().cloned(),
        );
        let (Some(upgrade), Some(afterwards)) = parts else {
            return Err(Problem::bad_request("this connection cannot be switched"));
        };
        let place = Arc::clone(&server.web_sockets).try_acquire_owned();
        let place = place.map_err(|_| Problem::overloaded(NO_PLACE))?;
        Ok(Handshake {
            upgrade,
            afterwards,
            response,
            place,
            account: server.accounts()?.body(),
        })
    }

    /// The response that switches. `live` is what the socket does then.
    pub fn switch<F: Future<Output = ()> + Send>(
        self,
        limits: SocketLimits,
        live: impl FnOnce(WebSocket) -> F + Send + 'static,
    ) -> Response<Body> {
        let Handshake {
            upgrade,
            afterwards,
            response,
            place,
            account,
        } = self;
        afterwards.set(Box::pin(async move {
            // The connection broke off before.
            let Ok(upgraded) = upgrade.await else {
                return;
            };
            let stream = Metered::new(TokioIo::new(upgraded), account, limits.message_time);
            live(WebSocket::over(stream, limits).await).await;
            drop(place);
        }));
        response
    }
}

/// 426: it is done by switching (RFC 9110 section 15.5.22), in this version of the protocol.
pub(crate) fn needed(detail: &str) -> Problem {
    let (status, title) = (StatusCode::UPGRADE_REQUIRED, "A WebSocket is needed");
    Problem::new(status, "upgrade-required", title, detail.to_owned())
        .with_header(VERSION, HeaderValue::from_static("13"))
        .with_header(UPGRADE, HeaderValue::from_static("websocket"))
        .with_header(CONNECTION, HeaderValue::from_static("upgrade"))
}

fn refusal(error: &Error) -> Problem {
    let detail = format!("the request does not switch to WebSocket: {error}");
    match error {
        Error::Protocol(ProtocolError::MissingSecWebSocketVersionHeader) => needed(&detail),
        _ => Problem::bad_request(detail),
    }
}
