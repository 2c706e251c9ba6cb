//! The Graph Store Protocol: `/store`, also `/data`.
//!
//! | method | on a graph | on the store itself |
//! |---|---|---|
//! | `GET`, `HEAD` | its triples | |
//! | `PUT` | what it holds is replaced: 201 where it was not there, else 204 | everything is |
//! | `POST` | something is added | to the graphs that the document names; a document in a format without graphs makes a new one: 201 with its `Location` |
//! | `PATCH` | an RDF Patch adds and deletes statements of it (clause 5.7 leaves the format open) | of the graphs that it names |
//! | `DELETE` | it goes; 404 where it is not there | everything goes |
//!
//! `?default` names the default graph, `?graph=IRI` a named one (SPARQL 1.1 Graph Store HTTP Protocol,
//! clause 4.2); a relative IRI is refused, because what it is relative to is the address of a proxy as
//! often as ours. A graph that holds nothing does not exist, and is a 404; the default graph always
//! exists. An address below the store's is a graph's own name (clause 4.1): `/store/people` is the graph
//! `http://HOST/store/people`. Everything after that is as with a query: a turn, a deadline, an entry in the list of
//! running ones, an answer that streams. Relative IRIs of a document are resolved against the name of
//! its graph. What is sent is one document, or several in a form ([`crate::document`]), read as it
//! comes; all of it is written, or nothing.

use crate::access::Granted;
use crate::change::{self, Change, Sent, Wanted};
use crate::description;
use crate::document::Content;
use crate::edge::{Edge, RequestId};
use crate::fresh;
use crate::intake::{self, Bound};
use crate::negotiate::Accepted;
use crate::parameters::Parameters;
use crate::problem::Problem;
use crate::protocol::{self, Asked, Envelope, What};
use crate::query;
use axum::Extension;
use axum::body::Body;
use axum::extract::State;
use hyper::header::{CONTENT_TYPE, HeaderName, HeaderValue};
use hyper::{Method, Request, Response};
use somersault::config::Right;
use somersault::oxrdf::NamedNode;
use somersault::{GraphTarget, RDF_PATCH, WriteMode};
use std::hash::{BuildHasher, RandomState};
use std::sync::Arc;

/// The methods that are answered here.
const METHODS: &str = "GET, HEAD, PUT, POST, PATCH, DELETE, OPTIONS";

/// RFC 5789 section 3.1.
const ACCEPT_PATCH: HeaderName = HeaderName::from_static("accept-patch");

/// Answers a request to the graph store.
pub(crate) async fn endpoint(
    State(edge): State<Arc<Edge>>,
    Extension(RequestId(request_id)): Extension<RequestId>,
    request: Request<Body>,
) -> Response<Body> {
    let mut response = if request.method() == Method::OPTIONS {
        let mut response = query::options(&edge, METHODS);
        let patches = HeaderValue::from_static(RDF_PATCH);
        response.headers_mut().insert(ACCEPT_PATCH, patches);
        response
    } else {
        respond(&edge, request, &request_id).await
    };
    query::share(&edge, &mut response);
    response
}

/// What a request to the graph store comes to.
enum Operation {
    Read(Asked),
    Change(Wanted),
}

async fn respond(edge: &Arc<Edge>, request: Request<Body>, request_id: &str) -> Response<Body> {
    if request.method() == Method::PATCH {
        return patch(edge, request, request_id).await;
    }
    match read(&request, edge) {
        Ok(Operation::Read(asked)) => query::answer(edge, asked, request_id).await,
        Ok(Operation::Change(wanted)) => {
            let (head, body) = request.into_parts();
            let has_documents = matches!(wanted.change, Change::Write { .. });
            let sent = has_documents.then_some(Sent {
                headers: head.headers,
                body,
            });
            change::answer(edge, wanted, sent, request_id).await
        }
        Err(problem) => query::refused_with_body(problem, request, request_id).await,
    }
}

fn read(request: &Request<Body>, edge: &Edge) -> Result<Operation, Problem> {
    let (envelope, granted, direct, address) = envelope(request, edge)?;
    let mode = match *request.method() {
        Method::GET | Method::HEAD => {
            granted.need(Right::Read)?;
            let target = target(&envelope.parameters, direct)?;
            return asked(&envelope, target, edge).map(Operation::Read);
        }
        Method::DELETE => {
            granted.need(Right::Write)?;
            let target = target(&envelope.parameters, direct)?;
            let wanted = envelope.wanted_change(Change::Delete(target), &edge.options, None)?;
            return Ok(Operation::Change(wanted));
        }
        Method::PUT => WriteMode::Replace,
        Method::POST => WriteMode::Add,
        ref method => return Err(Problem::method_not_allowed(method.as_str(), METHODS)),
    };
    written(&envelope, (mode, direct, address), granted, edge).map(Operation::Change)
}

/// Changes a graph, or the store, by a patch. It is read whole, as the text of an update is.
async fn patch(edge: &Arc<Edge>, request: Request<Body>, request_id: &str) -> Response<Body> {
    let (envelope, target, base) = match patched(&request, edge) {
        Ok(patched) => patched,
        Err(problem) => return query::refused_with_body(problem, request, request_id).await,
    };
    let limit = edge.options.update_text_bytes_max;
    let bound = Bound {
        body_bytes: limit,
        text_bytes: limit,
        time: edge.options.body_timeout,
    };
    let read = intake::read(&envelope.headers, request.into_body(), bound).await;
    let wanted = read.and_then(|bytes| {
        let text = String::from_utf8(bytes);
        let text = text.map_err(|_| Problem::bad_request("a patch is text in UTF-8"))?;
        envelope.wanted_change(Change::Patch { target, text }, &edge.options, Some(base))
    });
    match wanted {
        Ok(wanted) => change::answer(edge, wanted, None, request_id).await,
        Err(problem) => query::refused(problem, request_id),
    }
}

/// What a patch is of, and its base.
fn patched(
    request: &Request<Body>,
    edge: &Edge,
) -> Result<(Envelope, GraphTarget, String), Problem> {
    let (envelope, granted, direct, address) = envelope(request, edge)?;
    granted.need(Right::Write)?;
    let target = target(&envelope.parameters, direct)?;
    let named = envelope.headers.get(CONTENT_TYPE);
    let named = named
        .and_then(|named| named.to_str().ok())
        .unwrap_or_default();
    let essence = named.split(';').next().unwrap_or_default().trim();
    if !essence.eq_ignore_ascii_case(RDF_PATCH) {
        let why = format!("a patch is of the type {RDF_PATCH}, not `{named}`");
        let problem = Problem::unsupported_media_type(why, vec![RDF_PATCH]);
        return Err(problem.with_header(ACCEPT_PATCH, HeaderValue::from_static(RDF_PATCH)));
    }
    let base = match &target {
        GraphTarget::Named(name) => name.clone(),
        GraphTarget::Default | GraphTarget::Store => address,
    };
    Ok((envelope, target, base))
}

/// What the head of a request says: its rights, the graph whose address it has, its own address.
fn envelope(
    request: &Request<Body>,
    edge: &Edge,
) -> Result<(Envelope, Granted, Option<String>, String), Problem> {
    let granted = edge.options.access.grant(request.headers(), edge.address)?;
    let address = description::address(request, edge);
    let direct = is_direct(request.uri().path()).then(|| address.clone());
    let mut parameters = Parameters::default();
    parameters.add(request.uri().query().unwrap_or_default().as_bytes())?;
    let envelope = Envelope {
        method: request.method().clone(),
        headers: request.headers().clone(),
        parameters,
    };
    Ok((envelope, granted, direct, address))
}

fn asked(envelope: &Envelope, target: GraphTarget, edge: &Edge) -> Result<Asked, Problem> {
    let name = match target {
        GraphTarget::Default => None,
        GraphTarget::Named(name) => Some(name),
        GraphTarget::Store => {
            return Err(Problem::bad_request(
                "say which graph: `?default`, or `?graph=` with its IRI",
            ));
        }
    };
    Ok(Asked {
        what: What::Graph(name),
        base: None,
        default_graphs: Vec::new(),
        named_graphs: Vec::new(),
        timeout: envelope.timeout(edge.options.timeout)?,
        accepted: Accepted::read_graph(&envelope.headers)?,
        head_only: envelope.method == Method::HEAD,
        trailers: protocol::takes_trailers(&envelope.headers),
        snapshot: fresh::wanted(&envelope.headers)?,
    })
}

/// A change by documents; `address` is the request's own.
fn written(
    envelope: &Envelope,
    (mode, direct, address): (WriteMode, Option<String>, String),
    granted: Granted,
    edge: &Edge,
) -> Result<Wanted, Problem> {
    granted.need(Right::Write)?;
    let mut target = target(&envelope.parameters, direct)?;
    let content = Content::of(&envelope.headers)?;
    let mut location = None;
    let is_nameless = target == GraphTarget::Store && !content.has_graphs();
    if is_nameless && mode == WriteMode::Add {
        let made = minted(&address);
        location = Some(made.clone());
        target = GraphTarget::Named(made);
    }
    let base = match &target {
        GraphTarget::Named(name) => name.clone(),
        GraphTarget::Default | GraphTarget::Store => address,
    };
    let change = Change::Write {
        target,
        mode,
        content,
        location,
    };
    envelope.wanted_change(change, &edge.options, Some(base))
}

/// The name of a graph that is not there yet: an address below the store's, by chance.
fn minted(store: &str) -> String {
    let random = || RandomState::new().hash_one(store);
    let store = store.trim_end_matches('/');
    format!("{store}/{:016x}{:016x}", random(), random())
}

/// Whether an address is that of a graph, not of the store.
fn is_direct(path: &str) -> bool {
    let after = |store: &str| path.strip_prefix(store);
    let rest = after("/store/").or_else(|| after("/data/"));
    rest.is_some_and(|rest| !rest.is_empty())
}

/// Which graph is meant.
fn target(parameters: &Parameters, direct: Option<String>) -> Result<GraphTarget, Problem> {
    let named = parameters.single("graph")?;
    if let Some(address) = direct {
        return match (named, parameters.has("default")) {
            (None, false) => Ok(GraphTarget::Named(address)),
            _ => Err(Problem::bad_request(
                "the address is that of a graph already, so it needs no `default` or `graph`",
            )),
        };
    }
    match (parameters.has("default"), named) {
        (true, None) | (false, Some("default")) => Ok(GraphTarget::Default),
        (false, Some(iri)) => match NamedNode::new(iri) {
            Ok(node) => Ok(GraphTarget::Named(node.into_string())),
            Err(error) => Err(Problem::bad_request(format!("`graph` is `{iri}`: {error}"))),
        },
        (true, Some(_)) => Err(Problem::bad_request(
            "either `default` or `graph`, not both",
        )),
        (false, None) => Ok(GraphTarget::Store),
    }
}
