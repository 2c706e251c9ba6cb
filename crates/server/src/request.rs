//! What requests ask for, once their heads and bodies are read: plain values, which endpoints make and
//! engine threads take.
//!
//! | module | about |
//! |---|---|
//! | `protocol` | the SPARQL protocol's requests |
//! | `host` | the name under which the server is asked |
//! | `parameters`, `known` | parameters, and which there are |
//! | `negotiate`, `access` | formats, rights |
//! | `quality` | how much a client wants each of what it lists |
//! | `condition` | entity tags, and what depends on them |
//! | `intake`, `feed`, `document` | bodies: read whole, as they come, as documents |
//! | `items`, `timing` | bodies: items of a stream, and the times that data bring themselves |

pub(crate) mod access;
pub(crate) mod condition;
pub(crate) mod document;
pub(crate) mod feed;
pub(crate) mod host;
pub(crate) mod intake;
pub(crate) mod items;
pub(crate) mod known;
pub(crate) mod negotiate;
pub(crate) mod parameters;
pub(crate) mod protocol;
pub(crate) mod quality;
pub(crate) mod timing;

use crate::run::account::BodyAccount;
use access::Client;
use document::Content;
use negotiate::Accepted;
use somersault::nodes::Trace;
use somersault::{Graph, GraphTarget, Learnt, Precondition, WriteMode};
use std::sync::Arc;
use std::time::Duration;

/// What a request asks for.
#[derive(Clone, Debug)]
pub(crate) struct QueryRequest {
    /// What is read.
    pub what: Read,
    /// What the attempt to answer it in place learnt of its text.
    pub learnt: Learnt,
    /// What relative IRIs of a query are resolved against: the endpoint's own address.
    pub base: Option<String>,
    /// IRIs that make up the default graph.
    pub default_graphs: Vec<String>,
    /// IRIs of the named graphs.
    pub named_graphs: Vec<String>,
    /// What else is said of a query.
    pub given: Given,
    /// Whose it is.
    pub client: Client,
    /// The port at the other end of its connection, which tells a machine's connections apart.
    pub port: u16,
    /// What its text holds, where that came in a body.
    pub _held: Option<Arc<BodyAccount>>,
    /// The time it may take.
    pub timeout: Duration,
    /// How the answer may be written.
    pub accepted: Accepted,
    /// Only the head of the response is wanted.
    pub head_only: bool,
    /// The client takes trailers.
    pub trailers: bool,
    /// Only its length tells the client whether an answer is whole (HTTP/1.0).
    pub needs_length: bool,
    /// The snapshot that it must not be older than.
    pub snapshot: Option<u64>,
    /// The number of the snapshot that it reads; `None`: the newest.
    pub number: Option<u64>,
    /// That snapshot, held from the request's arrival on.
    pub pinned: Option<Arc<Graph>>,
    /// Whether its plan is wanted instead of its answer.
    pub explain: Option<Explain>,
    /// What it is part of, where its sender follows it (`traceparent`).
    pub trace: Option<Trace>,
}

/// What is told of a plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Explain {
    /// What is expected.
    Plan,
    /// That, and what was found when it was walked.
    Profile,
}

/// What is said of a query beside its text.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Given {
    /// Variables, without question mark, with the terms that they have, as `VALUES` has them.
    pub terms: Vec<(String, String)>,
    /// Rows that are skipped (count).
    pub offset: u64,
    /// Rows after these at most (count); `None`: all.
    pub limit: Option<u64>,
}

/// What is read.
#[derive(Clone, Debug)]
pub(crate) enum Read {
    /// What a query finds, by its text.
    Query(String),
    /// A graph as it is: the default one, or a named one.
    Graph(Option<String>),
    /// All graphs as they are.
    Store,
}

/// What a request wants.
#[derive(Clone, Debug)]
pub(crate) struct ChangeRequest {
    /// What is changed.
    pub change: Change,
    /// What relative IRIs are resolved against.
    pub base: Option<String>,
    /// The time it may take.
    pub timeout: Duration,
    /// The snapshot that it must not be older than.
    pub snapshot: Option<u64>,
    /// What must hold of the graph.
    pub precondition: Precondition,
    /// The client reads an account of it.
    pub wants_account: bool,
    /// What its text holds, where that came in a body.
    pub _held: Option<Arc<BodyAccount>>,
}

/// What is changed.
#[derive(Clone, Debug)]
pub(crate) enum Change {
    /// What an update says.
    Update {
        /// Its text.
        text: String,
        /// IRIs of the protocol's `using-graph-uri`.
        using: Vec<String>,
        /// IRIs of the protocol's `using-named-graph-uri`.
        using_named: Vec<String>,
    },
    /// A graph, by documents in the request's body.
    Write {
        /// Which.
        target: GraphTarget,
        /// What becomes of what it holds.
        mode: WriteMode,
        /// The documents.
        content: Content,
        /// The address of a graph that is made for them.
        location: Option<String>,
    },
    /// A graph or the store, by an RDF Patch.
    Patch {
        /// Which.
        target: GraphTarget,
        /// The patch.
        text: String,
    },
    /// A graph, which goes.
    Delete(GraphTarget),
}
