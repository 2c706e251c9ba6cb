//! Responses that several endpoints give: texts, refusals, what may be done at an address.
//!
//! | module | about |
//! |---|---|
//! | `answer` | from a query's pipe to its response |
//! | `coding`, `compress` | gzip, Brotli and Zstandard; answers compressed on their way |
//! | `head` | header fields of our own |
//! | `problem` | errors as problem documents |
//! | `format` | the formats of answers, and their writers |

pub(crate) mod answer;
pub(crate) mod coding;
pub(crate) mod compress;
pub(crate) mod format;
pub(crate) mod head;
pub(crate) mod problem;

use crate::request::intake;
use crate::state::ServerState;
use axum::body::Body;
use hyper::header::{ALLOW, CACHE_CONTROL, CONTENT_TYPE, HeaderName, HeaderValue, RETRY_AFTER};
use hyper::{Method, Request, Response, StatusCode};
use problem::Problem;
use somersault::{Kind, QueryError, Unit};
use std::time::{Duration, Instant};

/// A shorter wait is only the clock being read.
pub(crate) const WAIT_NOTED: Duration = Duration::from_millis(1);
const ALLOW_ORIGIN: HeaderName = hyper::header::ACCESS_CONTROL_ALLOW_ORIGIN;
const READS: &str = "GET, HEAD, OPTIONS";

/// A response of a text.
pub(crate) fn text(media_type: &'static str, text: impl Into<Body>) -> Response<Body> {
    let mut response = Response::new(text.into());
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static(media_type));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    response
}

/// The status of a response that has nothing to say besides.
pub(crate) fn done() -> Response<Body> {
    let mut response = Response::new(Body::empty());
    *response.status_mut() = StatusCode::NO_CONTENT;
    response
}

/// An address that can only be read.
pub(crate) fn reading(method: &Method, answer: impl FnOnce() -> Response<Body>) -> Response<Body> {
    match *method {
        Method::GET | Method::HEAD => answer(),
        Method::OPTIONS => allowing(READS),
        _ => Problem::method_not_allowed(method.as_str(), READS).into_response(),
    }
}

/// What may be done at an address.
pub(crate) fn allowing(methods: &'static str) -> Response<Body> {
    let mut response = done();
    let headers = response.headers_mut();
    headers.insert(ALLOW, HeaderValue::from_static(methods));
    response
}

/// A problem as a response.
pub(crate) fn refused(problem: Problem, request_id: &str) -> Response<Body> {
    let mut response = problem.with_id(request_id).into_response();
    let headers = response.headers_mut();
    headers.insert(hyper::header::VARY, HeaderValue::from_static("accept"));
    response
}

/// A problem in answer to a request whose body is not read.
pub(crate) async fn refused_with_body(
    problem: Problem,
    request: Request<Body>,
    request_id: &str,
) -> Response<Body> {
    let (head, body) = request.into_parts();
    if hyper::body::Body::is_end_stream(&body) {
        return refused(problem, request_id);
    }
    intake::refuse(&head.headers, body).await;
    refused(problem.closing(), request_id)
}

/// Lets pages of other origins read a response, where that is configured.
pub(crate) fn share(server: &ServerState, response: &mut Response<Body>) {
    let headers = response.headers_mut();
    if server.options().cross_origin {
        headers.insert(ALLOW_ORIGIN, HeaderValue::from_static("*"));
        let ours = HeaderValue::from_static(
            "query-id, server-timing, somersault-snapshot, somersault-warnings, etag, location, \
             somersault-report, somersault-close, somersault-query, somersault-instance, somersault-revision, \
             somersault-window-incomplete, somersault-missed, somersault-event",
        );
        headers.insert(hyper::header::ACCESS_CONTROL_EXPOSE_HEADERS, ours);
    }
}

/// What may be done here; with other origins allowed, also the answer to a preflight.
pub(crate) fn options(server: &ServerState, methods: &'static str) -> Response<Body> {
    let mut response = allowing(methods);
    let headers = response.headers_mut();
    let methods = HeaderValue::from_static(methods);
    if server.options().cross_origin {
        use hyper::header as h;
        headers.insert(h::ACCESS_CONTROL_ALLOW_METHODS, methods);
        let fields = "accept, authorization, content-encoding, content-type, if-match, if-none-match, \
                      somersault-snapshot";
        let fields = HeaderValue::from_static(fields);
        headers.insert(h::ACCESS_CONTROL_ALLOW_HEADERS, fields);
        headers.insert(h::ACCESS_CONTROL_MAX_AGE, HeaderValue::from_static("86400"));
    }
    response
}

/// The failure of a query whose time was over before its turn came.
pub(crate) fn out_of_time(timeout: Duration, arrived: Instant) -> Problem {
    let error = QueryError::new(Kind::Timeout, "the time was over before its turn came");
    let (limit, used) = (timeout.as_millis(), arrived.elapsed().as_millis());
    let limited = error.with_limit(Unit::Milliseconds, limit as u64, used as u64);
    Problem::of_query(&limited).with_header(RETRY_AFTER, HeaderValue::from_static("1"))
}
