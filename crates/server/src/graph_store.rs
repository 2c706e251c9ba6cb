//! The Graph Store Protocol: `/store`, also `/data`.
//!
//! | method | on a graph | on the store itself |
//! |---|---|---|
//! | `GET`, `HEAD` | its triples | |
//! | `PUT` | what it holds is replaced: 201 where it was not there, else 204 | everything is |
//! | `POST` | something is added | to the graphs that the document names; a document in a format without graphs makes a new one: 201 with its `Location` |
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
use crate::negotiate::Accepted;
use crate::parameters::Parameters;
use crate::problem::Problem;
use crate::protocol::{self, Asked, Envelope, What};
use crate::query;
use axum::Extension;
use axum::body::Body;
use axum::extract::State;
use hyper::{Method, Request, Response};
use somersault::config::Right;
use somersault::oxrdf::NamedNode;
use somersault::{GraphTarget, WriteMode};
use std::hash::{BuildHasher, RandomState};
use std::sync::Arc;

/// The methods that are answered here.
const METHODS: &str = "GET, HEAD, PUT, POST, DELETE, OPTIONS";

/// Answers a request to the graph store.
pub(crate) async fn endpoint(
    State(edge): State<Arc<Edge>>,
    Extension(RequestId(request_id)): Extension<RequestId>,
    request: Request<Body>,
) -> Response<Body> {
    let mut response = if request.method() == Method::OPTIONS {
        query::options(&edge, METHODS)
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
