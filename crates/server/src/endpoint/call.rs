//! A request to one of our own addresses for streams: rights, parameters, bodies and engine threads in one place.
//!
//! Reading (`GET`, `HEAD`) needs the right to read, every other method the right to change, and a database that can be
//! changed. Both are known before a body is read, so nobody without that right sends a long one.
//!
//! What takes the lock of the streams ([`with`]) goes through the gate of changes, and so holds as many engine threads as
//! changes may.

use crate::endpoint::socket::handshake::Handshake;
use crate::request::access::Granted;
use crate::request::document;
use crate::request::intake::{Bound, Intake};
use crate::request::known;
use crate::request::parameters::{Parameters, quoted};
use crate::request::protocol;
use crate::response::problem::Problem;
use crate::response::{self, refused, refused_with_body, share, text};
use crate::run::gate::Turned;
use crate::run::give_back;
use crate::runtime;
use crate::state::ServerState;
use axum::body::Body;
use axum::extract::Path;
use axum::extract::rejection::PathRejection;
use hyper::header::{CONTENT_TYPE, HeaderValue, LOCATION};
use hyper::{HeaderMap, Method, Request, Response, StatusCode};
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use serde_json::Value;
use somersault::config::Right;
use somersault::units::parse_duration;
use somersault::{Kind, Live, QueryError};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// The name at the end of an address, as the router found it.
pub(crate) type Named = Result<Path<String>, PathRejection>;

/// What is said of an address.
pub(crate) struct Address {
    /// Its methods, as `Allow` has them.
    pub methods: &'static str,
    /// Its parameters.
    pub parameters: &'static [&'static str],
}

/// A request that may be answered.
pub(crate) struct Call {
    pub server: Arc<ServerState>,
    pub method: Method,
    pub headers: HeaderMap,
    pub parameters: Parameters,
    /// Whether its sender may change what is here.
    pub may_change: bool,
    body: Body,
}

impl Call {
    /// A request whose sender may do what it asks for, or the answer to any other.
    pub async fn open(
        server: &Arc<ServerState>,
        request_id: &str,
        request: Request<Body>,
        address: &Address,
    ) -> Result<Call, Response<Body>> {
        if request.method() == Method::OPTIONS {
            let mut answer = response::options(server, address.methods);
            share(server, &mut answer);
            return Err(answer);
        }
        let (parameters, granted) = match permitted(server, &request, address) {
            Ok(permitted) => permitted,
            Err(problem) => {
                let mut answer = refused_with_body(problem, request, request_id).await;
                share(server, &mut answer);
                return Err(answer);
            }
        };
        let (head, body) = request.into_parts();
        Ok(Call {
            server: Arc::clone(server),
            method: head.method,
            headers: head.headers,
            parameters,
            may_change: granted.has(Right::Write),
            body,
        })
    }

    /// As [`Call::open`], of a request that switches to WebSocket, for which this right is needed: to read, or to change.
    pub async fn open_socket(
        server: &Arc<ServerState>,
        request_id: &str,
        mut request: Request<Body>,
        parameters: &'static [&'static str],
        right: Right,
    ) -> Result<(Call, Handshake), Response<Body>> {
        let opened = permitted_socket(server, &request, parameters, right);
        let opened = opened.and_then(|known| Ok((known, Handshake::begin(server, &mut request)?)));
        let ((parameters, granted), handshake) = match opened {
            Ok(opened) => opened,
            Err(problem) => {
                let mut answer = refused_with_body(problem, request, request_id).await;
                share(server, &mut answer);
                return Err(answer);
            }
        };
        let (head, body) = request.into_parts();
        let call = Call {
            server: Arc::clone(server),
            method: head.method,
            headers: head.headers,
            parameters,
            may_change: granted.has(Right::Write),
            body,
        };
        Ok((call, handshake))
    }

    /// Reads the body, decompressed; as long as an update's text at most.
    pub async fn body(&mut self) -> Result<Intake, Problem> {
        let options = self.server.options();
        let limit = options.update_text_bytes_max;
        let bound = Bound {
            body_bytes: limit,
            text_bytes: limit,
            time: options.body_timeout,
        };
        let account = self.server.accounts()?.body();
        let coding = document::coding(&self.headers)?;
        let body = std::mem::take(&mut self.body);
        protocol::taken(&self.headers, body, (bound, coding), account).await
    }

    /// The body as it comes, for whoever reads it to no end.
    pub fn take_body(&mut self) -> Body {
        std::mem::take(&mut self.body)
    }

    /// Reads the body as a text.
    pub async fn text(&mut self) -> Result<String, Problem> {
        let bytes = self.body().await?.bytes;
        String::from_utf8(bytes).map_err(|_| Problem::bad_request("the body is not UTF-8"))
    }

    /// The type of the body in lower case, without parameters; empty where nothing is said.
    pub fn media_type(&self) -> String {
        let named = self.headers.get(CONTENT_TYPE);
        let named = named.and_then(|named| named.to_str().ok());
        let essence = named.unwrap_or_default().split(';').next();
        essence.unwrap_or_default().trim().to_ascii_lowercase()
    }

    /// Refuses a body of another type than these.
    pub fn of_type(&self, taken: &[&'static str]) -> Result<(), Problem> {
        let named = self.media_type();
        if taken.contains(&named.as_str()) {
            return Ok(());
        }
        let why = if named.is_empty() {
            "the body needs a `Content-Type`".to_owned()
        } else {
            format!("the body is of the type {}", quoted(&named))
        };
        Err(Problem::unsupported_media_type(why, taken.to_vec()).closing())
    }

    /// A whole number among the parameters.
    pub fn number(&self, name: &str) -> Result<Option<u64>, Problem> {
        let text = self.parameters.single(name)?;
        let number = text.map(|text| {
            text.parse().map_err(|_| {
                let why = format!("`{name}` is {}: it is a whole number", quoted(text));
                Problem::bad_request(why)
            })
        });
        number.transpose()
    }

    /// A span of time among the parameters.
    pub fn duration(&self, name: &str) -> Result<Option<Duration>, Problem> {
        let text = self.parameters.single(name)?;
        let duration = text.map(|text| {
            let refuse = |error| Problem::bad_request(format!("`{name}`: {error}"));
            parse_duration(text).map_err(refuse)
        });
        duration.transpose()
    }
}

fn permitted(
    server: &ServerState,
    request: &Request<Body>,
    address: &Address,
) -> Result<(Parameters, Granted), Problem> {
    let method = request.method();
    if !address.methods.split(", ").any(|known| known == method) {
        let problem = Problem::method_not_allowed(method.as_str(), address.methods);
        return Err(problem);
    }
    let granted = server
        .options()
        .access
        .grant(request.headers(), server.address)?;
    if matches!(*method, Method::GET | Method::HEAD) {
        granted.need(Right::Read)?;
    } else {
        granted.need(Right::Write)?;
        if !server.engine()?.is_writable() {
            return Err(Problem::only_read());
        }
    }
    let mut parameters = Parameters::default();
    parameters.add(request.uri().query().unwrap_or_default().as_bytes())?;
    known::only(&parameters, address.parameters)?;
    Ok((parameters, granted))
}

fn permitted_socket(
    server: &ServerState,
    request: &Request<Body>,
    known: &'static [&'static str],
    right: Right,
) -> Result<(Parameters, Granted), Problem> {
    let options = server.options();
    let granted = options.access.grant(request.headers(), server.address)?;
    granted.need(right)?;
    granted.need_here(options.cross_origin && right == Right::Read)?;
    if right == Right::Write && !server.engine()?.is_writable() {
        return Err(Problem::only_read());
    }
    let mut parameters = Parameters::default();
    parameters.add(request.uri().query().unwrap_or_default().as_bytes())?;
    known::only(&parameters, known)?;
    Ok((parameters, granted))
}

/// Why there is no stream and no registered query.
pub(crate) const ONLY_READ: &str = "the database was opened for reading only, so it has none: start the server with --allow-update, or with a token \
     that may write";

/// The streams of a server; 403 where its database is only read.
pub(crate) fn opened(server: &ServerState) -> Result<&Live, Problem> {
    let engine = server.engine()?;
    let live = server.live.of(engine.as_ref());
    live.ok_or_else(Problem::only_read)
}

/// Does something with the streams on an engine thread, in its turn. It is done even if the client goes meanwhile.
pub(crate) async fn with<T: Send + 'static>(
    server: &ServerState,
    call: impl FnOnce(&Live) -> Result<T, Problem> + Send + 'static,
) -> Result<T, Problem> {
    let call = in_turn(server, call).await?;
    let called = tokio::task::spawn_blocking(move || {
        runtime::stand_back();
        call()
    });
    called.await.unwrap_or_else(bug)
}

/// The same for a push, by the threads that all pushes share ([`crate::run::crew`]).
pub(crate) async fn pushed<T: Send + 'static>(
    server: &ServerState,
    call: impl FnOnce(&Live) -> Result<T, Problem> + Send + 'static,
) -> Result<T, Problem> {
    let call = in_turn(server, call).await?;
    server.crew.call(call).await.unwrap_or_else(bug)
}

/// What a call of the streams is to do once it has its turn.
async fn in_turn<T, F>(
    server: &ServerState,
    call: F,
) -> Result<impl FnOnce() -> Result<T, Problem> + use<T, F>, Problem>
where
    F: FnOnce(&Live) -> Result<T, Problem>,
{
    let live = opened(server)?.clone();
    let (arrived, timeout) = (Instant::now(), server.options().update_timeout);
    let place = server.changes.enter(timeout).await;
    let place = place.map_err(|turned| match turned {
        Turned::Away => Problem::overloaded("too many changes wait for their turn"),
        Turned::TooLate => response::out_of_time(timeout, arrived),
    })?;
    Ok(move || {
        let outcome = call(&live);
        drop((live, place));
        give_back::before_a_wait();
        outcome
    })
}

fn bug<T>(error: impl std::fmt::Display) -> Result<T, Problem> {
    tracing::error!(%error, "a call of the streams failed");
    let message = "the streams met a bug of the server";
    Err(Problem::of_change(&QueryError::new(
        Kind::Internal,
        message,
    )))
}

/// The answer that a call has come to.
pub(crate) fn answered(
    server: &ServerState,
    request_id: &str,
    answer: Result<Response<Body>, Problem>,
) -> Response<Body> {
    let mut response = answer.unwrap_or_else(|problem| refused(problem, request_id));
    share(server, &mut response);
    response
}

/// The name at the end of an address.
pub(crate) fn name(named: Named) -> Result<String, Problem> {
    let refuse = |rejection: PathRejection| Problem::bad_request(rejection.body_text());
    named.map(|Path(name)| name).map_err(refuse)
}

/// A document.
pub(crate) fn json_text(value: &Value) -> Response<Body> {
    text("application/json", value.to_string())
}

/// What was made at `folder` under this name.
pub(crate) fn made(folder: &str, name: &str, value: &Value) -> Response<Body> {
    /// RFC 3986 section 2.3.
    const PLAIN: &AsciiSet = &NON_ALPHANUMERIC
        .remove(b'-')
        .remove(b'.')
        .remove(b'_')
        .remove(b'~');
    let mut response = json_text(value);
    *response.status_mut() = StatusCode::CREATED;
    let location = format!("{folder}/{}", utf8_percent_encode(name, PLAIN));
    if let Ok(location) = HeaderValue::from_str(&location) {
        response.headers_mut().insert(LOCATION, location);
    }
    response
}
