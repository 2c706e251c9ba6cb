//! Problem documents: what a client gets instead of an answer (RFC 9457).
//!
//! Every failure of a request becomes one [`Problem`], and this file alone turns it into a response,
//! so that all of them look alike: `type`, `title`, `status`, `detail`, and where they are known
//! `position`, `query_id`, `limit`, `used`, `unit` (ms, bytes, count), `hint`, `node`, `part`, `offered`, `further`. The table from a query's failure to
//! its status is here too: a status says whose turn it is (4xx: change the request; 503: come back
//! later; 504, 507: ask for less; 500: a bug of ours).

use crate::response::coding::Coding;
use crate::response::head;
use axum::body::Body;
use hyper::header::{
    ACCEPT_ENCODING, ALLOW, CONNECTION, CONTENT_TYPE, HeaderName, HeaderValue, RETRY_AFTER,
};
use hyper::{Response, StatusCode};
use serde::Serialize;
use somersault::parts::part_name;
use somersault::{Further, Kind, Position, QueryError, Unit};

/// The media type of a problem document.
pub(crate) const MEDIA_TYPE: &str = "application/problem+json";

/// A failure on its way to a client. Boxed, because results that carry it are mostly without.
#[derive(Clone, Debug)]
pub(crate) struct Problem(Box<Document>);

#[derive(Clone, Debug, Serialize)]
struct Document {
    #[serde(rename = "type")]
    kind: String,
    title: &'static str,
    #[serde(serialize_with = "as_number")]
    status: StatusCode,
    detail: String,
    #[serde(skip_serializing_if = "Option::is_none", serialize_with = "as_object")]
    position: Option<Position>,
    #[serde(skip_serializing_if = "Option::is_none")]
    query_id: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    limit: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    used: Option<u64>,
    /// Of `limit` and `used`.
    #[serde(skip_serializing_if = "Option::is_none")]
    unit: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    hint: Option<&'static str>,
    /// The node of the cluster that did not do its share.
    #[serde(skip_serializing_if = "Option::is_none")]
    node: Option<u16>,
    /// The part of the graph that it has.
    #[serde(skip_serializing_if = "Option::is_none")]
    part: Option<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    offered: Vec<&'static str>,
    /// What else is wrong with the text.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    further: Vec<Also>,
    #[serde(skip)]
    headers: Vec<(HeaderName, HeaderValue)>,
}

impl Problem {
    /// A problem; `name` becomes the last part of its type.
    pub fn new(status: StatusCode, name: &str, title: &'static str, detail: String) -> Problem {
        let is_error = status.is_client_error() || status.is_server_error();
        assert!(is_error, "{status} is no problem");
        Problem(Box::new(Document {
            kind: format!("urn:somersault:problem:{name}"),
            title,
            status,
            detail,
            position: None,
            query_id: None,
            limit: None,
            used: None,
            unit: None,
            hint: None,
            node: None,
            part: None,
            offered: Vec::new(),
            further: Vec::new(),
            headers: Vec::new(),
        }))
    }

    /// 400: the request is not one of the SPARQL protocol.
    pub fn bad_request(detail: impl Into<String>) -> Problem {
        let title = "The request is not well formed";
        Problem::new(StatusCode::BAD_REQUEST, "bad-request", title, detail.into())
    }

    /// 403: not in this release, or not from there.
    pub fn forbidden(detail: impl Into<String>) -> Problem {
        Problem::new(
            StatusCode::FORBIDDEN,
            "forbidden",
            "This is not allowed",
            detail.into(),
        )
    }

    /// 403: nothing can be changed here.
    pub fn only_read() -> Problem {
        Problem::forbidden("the database was opened for reading only")
            .with_hint("start the server with --allow-update, or with a token that may write")
    }

    /// 404: nothing lives there.
    pub fn not_found(detail: impl Into<String>) -> Problem {
        Problem::new(
            StatusCode::NOT_FOUND,
            "not-found",
            "There is nothing here",
            detail.into(),
        )
    }

    /// 405: it lives there, but does not do that.
    pub fn method_not_allowed(method: &str, allowed: &'static str) -> Problem {
        let detail = format!("{method} is not one of the methods {allowed}");
        let title = "The method is not allowed here";
        Problem::new(
            StatusCode::METHOD_NOT_ALLOWED,
            "method-not-allowed",
            title,
            detail,
        )
        .with_header(ALLOW, HeaderValue::from_static(allowed))
    }

    /// 406: the client takes none of what there is.
    pub fn not_acceptable(offered: Vec<&'static str>) -> Problem {
        let detail = format!(
            "`Accept` takes none of what is offered: {}",
            offered.join(", ")
        );
        let title = "No acceptable format";
        Problem::new(StatusCode::NOT_ACCEPTABLE, "not-acceptable", title, detail)
            .with_offered(offered)
    }

    /// 406: the client takes answers neither as they are nor compressed as they can be.
    pub fn no_coding(detail: &str) -> Problem {
        let status = StatusCode::NOT_ACCEPTABLE;
        let title = "No acceptable content coding";
        Problem::new(status, "not-acceptable", title, detail.to_owned())
    }

    /// 408: the client took too long to send its request.
    pub fn too_slow() -> Problem {
        let detail = "the body of the request did not arrive in time".to_owned();
        Problem::new(
            StatusCode::REQUEST_TIMEOUT,
            "too-slow",
            "The request took too long",
            detail,
        )
        .closing()
    }

    /// 413: a document is larger than allowed.
    pub fn too_large(limit_bytes: u64) -> Problem {
        let detail = format!("a document may have at most {limit_bytes} bytes, decompressed");
        let status = StatusCode::PAYLOAD_TOO_LARGE;
        let title = "The document is too large";
        let mut problem = Problem::new(status, "too-large", title, detail);
        problem.0.limit = Some(limit_bytes);
        problem.0.unit = Some(Unit::Bytes.as_str());
        problem.with_hint("server.body_max in the configuration is the limit")
    }

    /// 413: the text is longer than allowed.
    pub fn too_long(limit_bytes: u64) -> Problem {
        let detail = format!("the text may have at most {limit_bytes} bytes");
        let status = StatusCode::PAYLOAD_TOO_LARGE;
        let mut problem = Problem::new(status, "too-long", "The text is too long", detail);
        problem.0.limit = Some(limit_bytes);
        problem.0.unit = Some(Unit::Bytes.as_str());
        problem
    }

    /// 415: the body is something else than what is taken.
    pub fn unsupported_media_type(detail: String, accepted: Vec<&'static str>) -> Problem {
        let list = HeaderValue::from_str(&accepted.join(", ")).expect("media types are ASCII");
        let title = "The body is of a type that is not taken here";
        Problem::new(
            StatusCode::UNSUPPORTED_MEDIA_TYPE,
            "unsupported-media-type",
            title,
            detail,
        )
        .with_offered(accepted)
        .with_header(hyper::header::ACCEPT, list)
    }

    /// 415: the body is compressed in a way that is not taken.
    pub fn unsupported_coding(named: &str) -> Problem {
        let codings = Coding::OFFERED;
        let detail = format!("`Content-Encoding` is `{named}`, and may be one of {codings}");
        let title = "The body is compressed in a way that is not taken here";
        let status = StatusCode::UNSUPPORTED_MEDIA_TYPE;
        Problem::new(status, "unsupported-media-type", title, detail)
            .with_offered(codings.split(", ").collect())
            .with_header(ACCEPT_ENCODING, HeaderValue::from_static(codings))
    }

    /// 421: whoever was asked under this name is somebody else.
    pub fn misdirected(name: &str) -> Problem {
        let title = "This server does not answer under that name";
        let detail =
            format!("the request is for the host `{name}`, which is not one of this server");
        let status = StatusCode::MISDIRECTED_REQUEST;
        Problem::new(status, "misdirected", title, detail).with_hint(
            "name it in server.hosts of the configuration, or by --allow-host, if it is meant to be one; \
             localhost and loopback addresses are known",
        )
    }

    /// 429: what is sent has no room for now.
    pub fn full(error: &QueryError) -> Problem {
        let title = "There is no room for now";
        let status = StatusCode::TOO_MANY_REQUESTS;
        let mut problem = Problem::new(status, "full", title, error.message.clone());
        problem.0.limit = error.limit;
        problem.0.used = error.used;
        problem.0.unit = error.unit.map(Unit::as_str);
        problem.retry_after("1")
    }

    /// Its status.
    pub fn status(&self) -> StatusCode {
        self.0.status
    }

    /// With the place of what is wrong.
    pub fn at(mut self, position: Option<Position>) -> Problem {
        self.0.position = position;
        self
    }

    /// With what else is wrong (what, where).
    pub fn and_also<'w>(mut self, wrong: impl Iterator<Item = (&'w str, Position)>) -> Problem {
        self.0.further = wrong
            .map(|(detail, position)| Also {
                detail: detail.to_owned(),
                position: LineColumn::of(position),
            })
            .collect();
        self
    }

    /// 503: too many queries wait already, or this one waited too long for its turn.
    pub fn overloaded(detail: &str) -> Problem {
        let title = "The server is busy";
        Problem::new(
            StatusCode::SERVICE_UNAVAILABLE,
            "overloaded",
            title,
            detail.to_owned(),
        )
        .retry_after("1")
    }

    /// 503: the store does not do what it is there for, and will not until somebody does something.
    pub fn unsound(detail: String) -> Problem {
        let title = "The store is not sound";
        Problem::new(StatusCode::SERVICE_UNAVAILABLE, "unsound", title, detail).with_hint(
            "run `somersault check` on it; it has to be repaired, or restored, and opened again",
        )
    }

    /// 503: the database is being opened.
    pub fn starting() -> Problem {
        Problem::starting_because("the database is being opened".to_owned())
    }

    /// 503: it is being opened, and this is what is waited for.
    pub fn starting_because(detail: String) -> Problem {
        let status = StatusCode::SERVICE_UNAVAILABLE;
        Problem::new(status, "starting", "The server is starting", detail).retry_after("1")
    }

    /// What a failed query becomes.
    pub fn of_query(error: &QueryError) -> Problem {
        let (status, name, title) = class(error.kind);
        let mut problem = Problem::new(status, name, title, error.message.clone());
        problem.0.position = error.position;
        problem.0.limit = error.limit;
        problem.0.used = error.used;
        problem.0.unit = error.unit.map(Unit::as_str);
        problem.0.hint = error.hint;
        problem.0.node = error.node;
        problem.0.part = error.node.map(part_name);
        problem.0.further = error.further().iter().map(Also::of).collect();
        match error.kind {
            Kind::Cancelled | Kind::Remote | Kind::Away | Kind::Unavailable => {
                problem.retry_after("1")
            }
            Kind::Damaged => problem.retry_after("60"),
            _ => problem,
        }
    }

    /// What a failed change becomes: the same, in words for a change.
    pub fn of_change(error: &QueryError) -> Problem {
        let mut problem = Problem::of_query(error);
        problem.0.title = match error.kind {
            Kind::Syntax => "The request does not parse",
            Kind::Unsupported => "The update uses what is not supported",
            Kind::Shape => "The update is too deep or too large",
            Kind::Timeout => "The change ran out of time",
            Kind::Cancelled => "The change was cancelled",
            Kind::Memory => "The change ran out of memory",
            Kind::Damaged => "Data that the change needs is damaged",
            Kind::Policy => "The update asks for what is not allowed here",
            Kind::Remote => "A document or an endpoint gave no answer",
            _ => problem.0.title,
        };
        problem
    }

    /// Where something of the request is not well formed, and what.
    pub fn malformed(&self) -> Option<(Position, &str)> {
        let position = self
            .0
            .position
            .filter(|_| self.0.status == StatusCode::BAD_REQUEST);
        position.map(|position| (position, &*self.0.detail))
    }

    /// Whether the same may be taken a little later.
    pub fn is_for_now(&self) -> bool {
        matches!(
            self.0.status,
            StatusCode::TOO_MANY_REQUESTS | StatusCode::SERVICE_UNAVAILABLE
        )
    }

    /// Whether the disk had no room for what was to be kept.
    pub fn is_of_disk(&self) -> bool {
        self.0.status == StatusCode::INSUFFICIENT_STORAGE
    }

    /// 413: the same can never be taken, whatever goes meanwhile.
    pub fn for_good(mut self) -> Problem {
        self.0.status = StatusCode::PAYLOAD_TOO_LARGE;
        self.0.hint = Some("send less at once, or make the stream again with a larger budget");
        self.0.headers.retain(|(name, _)| *name != RETRY_AFTER);
        self
    }

    /// How much there is too much of: what was used, and the limit.
    pub fn used_and_limit(&self) -> Option<(u64, u64)> {
        self.0.used.zip(self.0.limit)
    }

    /// The document, for a message.
    pub fn to_value(&self) -> serde_json::Value {
        serde_json::to_value(&self.0).expect("a problem has only strings and numbers")
    }

    /// With what to do about it.
    pub fn with_hint(mut self, hint: &'static str) -> Problem {
        self.0.hint = Some(hint);
        self
    }

    /// Names the query, or the request where there is no query yet.
    pub fn with_id(mut self, id: &str) -> Problem {
        self.0.query_id = Some(id.to_owned());
        self
    }

    /// Ends the connection after the answer, because the rest of the request is not read.
    pub fn closing(self) -> Problem {
        self.with_header(CONNECTION, HeaderValue::from_static("close"))
    }

    /// With a header of its own.
    pub fn with_header(mut self, name: HeaderName, value: HeaderValue) -> Problem {
        self.0.headers.push((name, value));
        self
    }

    /// The response.
    pub fn into_response(self) -> Response<Body> {
        let text = serde_json::to_vec(&self.0).expect("a problem has only strings and numbers");
        let mut response = Response::new(Body::from(text));
        *response.status_mut() = self.0.status;
        let headers = response.headers_mut();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static(MEDIA_TYPE));
        if let Some(id) = &self.0.query_id {
            headers.insert(head::QUERY_ID, head::value(id));
        }
        headers.extend(self.0.headers);
        response
    }

    /// With the media types that there are.
    pub fn with_offered(mut self, offered: Vec<&'static str>) -> Problem {
        self.0.offered = offered;
        self
    }

    fn retry_after(self, seconds: &'static str) -> Problem {
        self.with_header(RETRY_AFTER, HeaderValue::from_static(seconds))
    }
}

/// Status, name and title of each kind of failure.
fn class(kind: Kind) -> (StatusCode, &'static str, &'static str) {
    use StatusCode as S;
    match kind {
        Kind::Syntax => (S::BAD_REQUEST, "syntax", "The query does not parse"),
        Kind::Unsupported => (
            S::UNPROCESSABLE_ENTITY,
            "unsupported",
            "The query uses what is not supported",
        ),
        Kind::TooLong => (S::PAYLOAD_TOO_LARGE, "too-long", "The query is too long"),
        Kind::Shape => (
            S::UNPROCESSABLE_ENTITY,
            "shape",
            "The query is too deep or too large",
        ),
        Kind::Timeout => (S::GATEWAY_TIMEOUT, "timeout", "The query ran out of time"),
        Kind::Memory => (
            S::INSUFFICIENT_STORAGE,
            "memory",
            "The query ran out of memory",
        ),
        Kind::Cancelled
        | Kind::Damaged
        | Kind::Remote
        | Kind::Away
        | Kind::ReadOnly
        | Kind::Unavailable => {
            let (name, title) = unavailable(kind);
            (S::SERVICE_UNAVAILABLE, name, title)
        }
        Kind::Policy => (
            S::UNPROCESSABLE_ENTITY,
            "policy",
            "The query asks for what is not allowed here",
        ),
        Kind::NotFound => (S::NOT_FOUND, "not-found", "There is nothing here"),
        Kind::Gone => (S::GONE, "gone", "That is kept no more"),
        Kind::Conflict => (
            S::CONFLICT,
            "conflict",
            "The graph's state does not allow that",
        ),
        Kind::Precondition => (
            S::PRECONDITION_FAILED,
            "precondition",
            "The precondition does not hold",
        ),
        Kind::DiskFull => (S::INSUFFICIENT_STORAGE, "disk-full", "The disk is full"),
        Kind::Format => (S::NOT_ACCEPTABLE, "not-acceptable", "No acceptable format"),
        Kind::Output | Kind::Internal => (
            S::INTERNAL_SERVER_ERROR,
            "internal",
            "An error of the server's own",
        ),
    }
}

/// Name and title of a failure that the same request may not have a little later.
fn unavailable(kind: Kind) -> (&'static str, &'static str) {
    match kind {
        Kind::Cancelled => ("cancelled", "The query was cancelled"),
        Kind::Damaged => ("damaged", "Data that the query needs is damaged"),
        Kind::Remote => ("remote", "An endpoint that the query asks gave no answer"),
        Kind::Away => ("away", "A part of the graph does not answer"),
        // Without `Retry-After`: it stays so until somebody mends the disk.
        Kind::ReadOnly => ("read-only", "The store takes no changes"),
        _ => ("unavailable", "The system refused a file for now"),
    }
}

#[expect(
    clippy::trivially_copy_pass_by_ref,
    reason = "the signature that serde asks for"
)]
fn as_number<S: serde::Serializer>(status: &StatusCode, to: S) -> Result<S::Ok, S::Error> {
    to.serialize_u16(status.as_u16())
}

#[expect(clippy::ref_option, reason = "the signature that serde asks for")]
fn as_object<S: serde::Serializer>(position: &Option<Position>, to: S) -> Result<S::Ok, S::Error> {
    position.map(LineColumn::of).serialize(to)
}

#[derive(Clone, Copy, Debug, Serialize)]
struct LineColumn {
    line: u64,
    column: u64,
}

impl LineColumn {
    fn of(position: Position) -> LineColumn {
        LineColumn {
            line: position.line,
            column: position.column,
        }
    }
}

/// What is wrong with a text beside its first error.
#[derive(Clone, Debug, Serialize)]
struct Also {
    detail: String,
    position: LineColumn,
}

impl Also {
    fn of(further: &Further) -> Also {
        Also {
            detail: further.message.clone(),
            position: LineColumn::of(further.position),
        }
    }
}
