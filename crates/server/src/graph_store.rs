//! The Graph Store Protocol's reading side: `/store`, also `/data`.
//!
//! `?default` names the default graph, `?graph=IRI` a named one (SPARQL 1.1 Graph Store HTTP Protocol,
//! clause 4.2); a relative IRI is refused, because what it is relative to is the address of a proxy as
//! often as ours. A graph that holds nothing does not exist, and is a 404; the default graph always
//! exists. An address below the store's is a graph's own name (clause 4.1): `/store/people` is the graph
//! `http://HOST/store/people`. Everything after that is as with a query: a turn, a deadline, an entry in the list of
//! running ones, an answer that streams. Writing is not in this release, and says so.

use crate::description;
use crate::edge::{Edge, RequestId};
use crate::negotiate::Accepted;
use crate::parameters::Parameters;
use crate::problem::Problem;
use crate::protocol::{self, Asked, Envelope, What};
use crate::query;
use crate::routes;
use axum::Extension;
use axum::body::Body;
use axum::extract::State;
use hyper::header::{ALLOW, HeaderValue};
use hyper::{Method, Request, Response};
use somersault::oxrdf::NamedNode;
use std::sync::Arc;

/// The methods that are answered here.
const METHODS: &str = "GET, HEAD, OPTIONS";
/// The methods of the protocol that change a graph.
const WRITES: [&str; 4] = ["PUT", "POST", "DELETE", "PATCH"];

/// Answers a request to the graph store.
pub(crate) async fn endpoint(
    State(edge): State<Arc<Edge>>,
    Extension(RequestId(request_id)): Extension<RequestId>,
    request: Request<Body>,
) -> Response<Body> {
    let mut response = if request.method() == Method::OPTIONS {
        let mut response = routes::done();
        let methods = HeaderValue::from_static(METHODS);
        response.headers_mut().insert(ALLOW, methods);
        response
    } else {
        match read(request, &edge) {
            Ok(asked) => query::answer(&edge, asked, &request_id).await,
            Err(problem) => query::refused(problem, &request_id),
        }
    };
    query::share(&edge, &mut response);
    response
}

fn read(request: Request<Body>, edge: &Edge) -> Result<Asked, Problem> {
    let direct = is_direct(request.uri().path()).then(|| description::address(&request, edge));
    let (head, _) = request.into_parts();
    match head.method {
        Method::GET | Method::HEAD => {}
        method if WRITES.contains(&method.as_str()) => {
            let why = "changes to graphs are not available in this release";
            return Err(Problem::forbidden(why).closing());
        }
        method => return Err(Problem::method_not_allowed(method.as_str(), METHODS).closing()),
    }
    let mut parameters = Parameters::default();
    parameters.add(head.uri.query().unwrap_or_default().as_bytes())?;
    let envelope = Envelope {
        method: head.method,
        headers: head.headers,
        parameters,
    };
    Ok(Asked {
        what: What::Graph(graph(&envelope.parameters, direct)?),
        base: None,
        default_graphs: Vec::new(),
        named_graphs: Vec::new(),
        timeout: envelope.timeout(edge.options.timeout)?,
        accepted: Accepted::read_graph(&envelope.headers)?,
        head_only: envelope.method == Method::HEAD,
        trailers: protocol::takes_trailers(&envelope.headers),
    })
}

/// Whether an address is that of a graph, not of the store.
fn is_direct(path: &str) -> bool {
    let after = |store: &str| path.strip_prefix(store);
    let rest = after("/store/").or_else(|| after("/data/"));
    rest.is_some_and(|rest| !rest.is_empty())
}

/// Which graph is meant.
fn graph(parameters: &Parameters, direct: Option<String>) -> Result<Option<String>, Problem> {
    let named = parameters.single("graph")?;
    if let Some(address) = direct {
        return match (named, parameters.has("default")) {
            (None, false) => Ok(Some(address)),
            _ => Err(Problem::bad_request(
                "the address is that of a graph already, so it needs no `default` or `graph`",
            )),
        };
    }
    match (parameters.has("default"), named) {
        (true, None) | (false, Some("default")) => Ok(None),
        (false, Some(iri)) => match NamedNode::new(iri) {
            Ok(node) => Ok(Some(node.into_string())),
            Err(error) => Err(Problem::bad_request(format!("`graph` is `{iri}`: {error}"))),
        },
        (true, Some(_)) => Err(Problem::bad_request(
            "either `default` or `graph`, not both",
        )),
        (false, None) => Err(Problem::bad_request(
            "say which graph: `?default`, or `?graph=` with its IRI",
        )),
    }
}
