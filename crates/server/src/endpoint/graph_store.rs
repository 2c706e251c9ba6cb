//! The Graph Store Protocol: `/store`, also `/data`, and `/sparql` where its address names a graph.
//!
//! | method | on a graph | on the store itself |
//! |---|---|---|
//! | `GET`, `HEAD` | its triples | everything, in a format of quads; in another where no graph is named |
//! | `PUT` | what it holds is replaced: 201 where it was not there, else 204 | with `?all`, everything is, by a document of quads |
//! | `POST` | something is added | to the graphs that the document names; a document in a format without graphs makes a new one: 201 with its `Location` |
//! | `PATCH` | an RDF Patch adds and deletes statements of it (clause 5.7 leaves the format open) | of the graphs that it names |
//! | `DELETE` | it goes; 404 where it is not there | with `?all`, everything goes |
//!
//! `?default` names the default graph, `?graph=IRI` a named one (SPARQL 1.1 Graph Store HTTP Protocol,
//! clause 4.2). A relative IRI is refused, because what it is relative to is the address of a proxy as
//! often as ours. A graph that holds nothing does not exist, and is a 404; the default graph always
//! exists. An address below the store's is a graph's own name (clause 4.1): `/store/people` is the graph
//! `http://HOST/store/people`. Everything after that is as with a query: a turn, a deadline, an entry in the list of
//! running ones, an answer that streams. Relative IRIs of a document are resolved against the name of
//! its graph. What is sent is one document, or several in a form ([`crate::request::document`]), read as it
//! comes; all of it is written, or nothing.

use crate::endpoint::change::{self, Sent};
use crate::endpoint::conditional;
use crate::endpoint::description;
use crate::request::access::{self, Granted, Peer};
use crate::request::condition;
use crate::request::document::{self, Content};
use crate::request::intake::Bound;
use crate::request::known::{self, Language};
use crate::request::negotiate::{Accepted, foreign_charset};
use crate::request::parameters::Parameters;
use crate::request::protocol::{self, Envelope};
use crate::request::{Change, ChangeRequest};
use crate::request::{Given, QueryRequest, Read};
use crate::response;
use crate::response::problem::Problem;
use crate::run::account::BodyAccounts;
use crate::run::fresh;
use crate::state::{RequestId, ServerState};
use axum::Extension;
use axum::body::Body;
use axum::extract::State;
use hyper::header::{CONTENT_TYPE, HeaderName, HeaderValue};
use hyper::{Method, Request, Response, Version};
use somersault::config::Right;
use somersault::terms::NamedNode;
use somersault::{GraphTarget, Learnt, RDF_PATCH, WriteMode};
use std::hash::{BuildHasher, RandomState};
use std::sync::Arc;

/// The methods that are answered here.
const METHODS: &str = "GET, HEAD, PUT, POST, PATCH, DELETE, OPTIONS";

/// Says that the whole store is meant.
const ALL: &str = "all";

/// RFC 5789 section 3.1.
const ACCEPT_PATCH: HeaderName = HeaderName::from_static("accept-patch");

/// Answers a request to the graph store.
pub(crate) async fn endpoint(
    State(server): State<Arc<ServerState>>,
    Extension(RequestId(request_id)): Extension<RequestId>,
    request: Request<Body>,
) -> Response<Body> {
    let mut response = if request.method() == Method::OPTIONS {
        let mut response = response::options(&server, METHODS);
        let patches = HeaderValue::from_static(RDF_PATCH);
        response.headers_mut().insert(ACCEPT_PATCH, patches);
        response
    } else {
        respond(&server, request, &request_id).await
    };
    response::share(&server, &mut response);
    response
}

/// What a request to the graph store comes to.
enum Operation {
    Read(QueryRequest),
    Change(ChangeRequest),
}

async fn respond(
    server: &Arc<ServerState>,
    request: Request<Body>,
    request_id: &str,
) -> Response<Body> {
    if request.method() == Method::PATCH {
        return patch(server, request, request_id).await;
    }
    match read(&request, server) {
        Ok(Operation::Read(asked)) => {
            let headers = request.headers();
            let conditions = condition::is_any(headers).then(|| headers.clone());
            conditional::answer(server, asked, conditions, request_id).await
        }
        Ok(Operation::Change(wanted)) => {
            let (head, body) = request.into_parts();
            let has_documents = matches!(wanted.change, Change::Write { .. });
            let sent = has_documents.then_some(Sent {
                headers: head.headers,
                body,
            });
            change::answer(server, wanted, sent, request_id).await
        }
        Err(problem) => response::refused_with_body(problem, request, request_id).await,
    }
}

fn read(request: &Request<Body>, server: &ServerState) -> Result<Operation, Problem> {
    let (envelope, granted, direct, address) = envelope(request, server)?;
    let mode = match *request.method() {
        Method::GET | Method::HEAD => {
            granted.need(Right::Read)?;
            let target = target(&envelope.parameters, direct)?;
            return asked(&envelope, target, server).map(Operation::Read);
        }
        Method::DELETE => {
            granted.need(Right::Write)?;
            let target = target(&envelope.parameters, direct)?;
            explicit(&target, &envelope, "DELETE")?;
            let wanted = envelope.wanted_change(Change::Delete(target), &server.options(), None)?;
            return Ok(Operation::Change(conditioned(wanted, &envelope, server)));
        }
        Method::PUT => WriteMode::Replace,
        Method::POST => WriteMode::Add,
        ref method => return Err(Problem::method_not_allowed(method.as_str(), METHODS)),
    };
    let wanted = written(&envelope, (mode, direct, address), granted, server)?;
    Ok(Operation::Change(conditioned(wanted, &envelope, server)))
}

/// A change with what its head says of the graph.
fn conditioned(wanted: ChangeRequest, envelope: &Envelope, server: &ServerState) -> ChangeRequest {
    ChangeRequest {
        precondition: condition::of_change(&envelope.headers, server.run),
        ..wanted
    }
}

/// Changes a graph, or the store, by a patch. It is read whole, as the text of an update is.
async fn patch(
    server: &Arc<ServerState>,
    request: Request<Body>,
    request_id: &str,
) -> Response<Body> {
    let (mut envelope, target, base) = match patched(&request, server) {
        Ok(patched) => patched,
        Err(problem) => return response::refused_with_body(problem, request, request_id).await,
    };
    let limit = server.options().update_text_bytes_max;
    let bound = Bound {
        body_bytes: limit,
        text_bytes: limit,
        time: server.options().body_timeout,
    };
    let account = server.accounts().map(BodyAccounts::body);
    let coding = document::coding(&envelope.headers);
    let read = match account.and_then(|account| Ok((account, coding?))) {
        Ok((account, coding)) => {
            let body = request.into_body();
            protocol::taken(&envelope.headers, body, (bound, coding), account).await
        }
        Err(problem) => return response::refused_with_body(problem, request, request_id).await,
    };
    let wanted = read.and_then(|patch| {
        let text = String::from_utf8(patch.bytes);
        let text = text.map_err(|_| Problem::bad_request("a patch is text in UTF-8"))?;
        envelope.account = Some(Arc::new(patch.account));
        envelope.wanted_change(
            Change::Patch { target, text },
            &server.options(),
            Some(base),
        )
    });
    match wanted {
        Ok(wanted) => change::answer(server, wanted, None, request_id).await,
        Err(problem) => response::refused(problem, request_id),
    }
}

/// What a patch is of, and its base.
fn patched(
    request: &Request<Body>,
    server: &ServerState,
) -> Result<(Envelope, GraphTarget, String), Problem> {
    let (envelope, granted, direct, address) = envelope(request, server)?;
    granted.need(Right::Write)?;
    envelope.is_unconditional()?;
    let target = target(&envelope.parameters, direct)?;
    let named = envelope.headers.get(CONTENT_TYPE);
    let named = named
        .and_then(|named| named.to_str().ok())
        .unwrap_or_default();
    let (essence, rest) = named.split_once(';').unwrap_or((named, ""));
    if let Some(charset) = foreign_charset(rest) {
        let why = format!("a patch is UTF-8, not `{charset}`");
        return Err(Problem::unsupported_media_type(why, vec![RDF_PATCH]));
    }
    if !essence.trim().eq_ignore_ascii_case(RDF_PATCH) {
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
    server: &ServerState,
) -> Result<(Envelope, Granted, Option<String>, String), Problem> {
    let granted = server
        .options()
        .access
        .grant(request.headers(), server.address)?;
    let address = description::address(request, server);
    let direct = is_direct(request.uri().path()).then(|| address.clone());
    let mut parameters = Parameters::default();
    parameters.add(request.uri().query().unwrap_or_default().as_bytes())?;
    known::check(&parameters, Language::Store)?;
    let envelope = Envelope {
        method: request.method().clone(),
        version: request.version(),
        headers: request.headers().clone(),
        parameters,
        client: granted.client(access::sender(request)),
        port: Peer::port(request.extensions()),
        account: None,
    };
    Ok((envelope, granted, direct, address))
}

fn asked(
    envelope: &Envelope,
    target: GraphTarget,
    server: &ServerState,
) -> Result<QueryRequest, Problem> {
    let (headers, parameters) = (&envelope.headers, &envelope.parameters);
    let (what, accepted) = match target {
        GraphTarget::Default => (
            Read::Graph(None),
            Accepted::read_graph(headers, parameters)?,
        ),
        GraphTarget::Named(name) => (
            Read::Graph(Some(name)),
            Accepted::read_graph(headers, parameters)?,
        ),
        GraphTarget::Store => (Read::Store, Accepted::read_store(headers, parameters)?),
    };
    Ok(QueryRequest {
        what,
        learnt: Learnt::default(),
        base: None,
        default_graphs: Vec::new(),
        named_graphs: Vec::new(),
        given: Given::default(),
        client: envelope.client,
        port: envelope.port,
        _held: None,
        timeout: envelope.timeout(server.options().timeout)?,
        accepted,
        head_only: envelope.method == Method::HEAD,
        trailers: protocol::takes_trailers(&envelope.headers),
        needs_length: envelope.version < Version::HTTP_11,
        snapshot: fresh::wanted(&envelope.headers)?,
        number: None,
        pinned: None,
        explain: None,
        trace: None,
    })
}

/// A change by documents; `address` is the request's own.
fn written(
    envelope: &Envelope,
    (mode, direct, address): (WriteMode, Option<String>, String),
    granted: Granted,
    server: &ServerState,
) -> Result<ChangeRequest, Problem> {
    granted.need(Right::Write)?;
    let mut target = target(&envelope.parameters, direct)?;
    let content = Content::of(&envelope.headers)?;
    if mode == WriteMode::Replace {
        explicit(&target, envelope, "PUT")?;
        if target == GraphTarget::Store && !content.has_graphs() {
            return Err(Problem::bad_request(
                "what replaces the whole store names its graphs: it is in a format of quads",
            ));
        }
    }
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
    envelope.wanted_change(change, &server.options(), Some(base))
}

/// Refuses to empty the whole store where that is not said.
fn explicit(target: &GraphTarget, envelope: &Envelope, method: &str) -> Result<(), Problem> {
    if *target != GraphTarget::Store || envelope.parameters.has(ALL) {
        return Ok(());
    }
    Err(Problem::bad_request(format!(
        "{method} needs `?default`, or `?graph=` with an IRI; `?{ALL}` is for all graphs, which are gone then"
    )))
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
    if parameters.has(ALL) {
        return match (named, parameters.has("default"), direct) {
            (None, false, None) => Ok(GraphTarget::Store),
            _ => Err(Problem::bad_request("either `all`, or a graph")),
        };
    }
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
