//! What the edge needs of the database, as a seam.
//!
//! The second implementation is the scripted engine of the tests: a panic, a memory limit, rows
//! that trickle, a query that heeds nothing but its token cannot be brought about at will by data,
//! and each has a status or a promise of its own to be checked through a real socket. Called a few
//! times per query, so the indirection costs nothing that could be measured.

use crate::protocol::{Asked, What};
use somersault::dump;
use somersault::results::Sink;
use somersault::running::{QueryId, Running};
use somersault::stop::StopToken;
use somersault::{AnswerKind, Database, GraphRead, Kind, Query, QueryError, Request};
use std::time::Duration;

/// A database, as the edge sees it.
pub(crate) trait Engine: Send + Sync + 'static {
    /// Checks, parses, plans and prepares a query, which from then on is in the list of
    /// [`Engine::running`].
    fn start(&self, asked: &Asked, timeout: Duration) -> Result<Box<dyn Job>, QueryError>;
    /// The queries that run now.
    fn running(&self) -> &Running;
    /// The number of the snapshot that queries see now.
    fn snapshot(&self) -> u64;
    /// The memory that all queries draw on.
    fn memory(&self) -> Memory;
    /// What the store holds.
    fn contents(&self) -> Contents;

    /// The names of the named graphs; `None` where there are more than `max`, or they cannot be read.
    fn graphs(&self, max: u64) -> Option<Vec<String>>;
}

/// A prepared query; leaves the list of running ones when it is dropped.
pub(crate) trait Job: Send {
    /// What is known before it runs.
    fn started(&self) -> Started;
    /// Runs it on the calling thread; the answer goes into the sink.
    fn run(&mut self, sink: &mut dyn Sink) -> Result<Done, QueryError>;
}

/// What is known of a query once it is planned.
#[derive(Clone, Debug)]
pub(crate) struct Started {
    /// Its name.
    pub id: QueryId,
    /// Stops it.
    pub token: StopToken,
    /// Time of checking and parsing.
    pub parse: Duration,
    /// Time of planning.
    pub plan: Duration,
    /// What the answer is.
    pub kind: AnswerKind,
}

fn no_such_graph(name: &str) -> QueryError {
    QueryError::new(Kind::NotFound, format!("there is no graph <{name}>"))
}

/// What is known of a query that has ended well.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Done {
    /// Rows of the answer.
    pub rows: u64,
    /// Time of running, writing the answer included.
    pub exec: Duration,
}

/// The pool of memory of all queries.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Memory {
    /// Bytes in use.
    pub used_bytes: u64,
    /// Bytes there are.
    pub limit_bytes: u64,
}

/// Sizes of what the store holds.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Contents {
    /// Statements.
    pub quads: u64,
    /// Graphs with a name.
    pub named_graphs: u64,
    /// Distinct terms.
    pub terms: u64,
    /// Distinct predicates.
    pub predicates: u64,
    /// Bytes of the store's files; 0 for a graph in memory.
    pub bytes: u64,
}

impl Engine for Database {
    fn start(&self, asked: &Asked, timeout: Duration) -> Result<Box<dyn Job>, QueryError> {
        let text = match &asked.what {
            What::Query(text) => text,
            What::Graph(name) => {
                let graph = self.open_graph(name.as_deref(), Some(timeout))?;
                return Ok(Box::new(graph.ok_or_else(|| {
                    no_such_graph(name.as_deref().unwrap_or_default())
                })?));
            }
        };
        let request = Request {
            text,
            base: asked.base.as_deref(),
            default_graphs: asked.default_graphs.clone(),
            named_graphs: asked.named_graphs.clone(),
            timeout: Some(timeout),
            ..Request::default()
        };
        Ok(Box::new(Database::start(self, &request)?))
    }

    fn running(&self) -> &Running {
        Database::running(self)
    }

    fn snapshot(&self) -> u64 {
        self.snapshot_number()
    }

    fn memory(&self) -> Memory {
        let pool = self.pool();
        Memory {
            used_bytes: pool.used_bytes(),
            limit_bytes: pool.limit_bytes(),
        }
    }

    fn contents(&self) -> Contents {
        let summary = self.summary();
        Contents {
            quads: summary.quads,
            named_graphs: summary.named_graphs,
            terms: summary.terms,
            predicates: summary.predicates,
            bytes: summary.stored_bytes,
        }
    }

    fn graphs(&self, max: u64) -> Option<Vec<String>> {
        dump::names(&self.graph(), max).ok().flatten()
    }
}

impl Job for Query {
    fn started(&self) -> Started {
        let timings = self.timings();
        let token = self.token().clone();
        Started {
            id: self.id(),
            token,
            parse: timings.parse,
            plan: timings.plan,
            kind: self.kind(),
        }
    }

    fn run(&mut self, sink: &mut dyn Sink) -> Result<Done, QueryError> {
        let finished = Query::run(self, sink)?;
        Ok(Done {
            rows: finished.rows,
            exec: finished.exec,
        })
    }
}

impl Job for GraphRead {
    fn started(&self) -> Started {
        Started {
            id: self.id(),
            token: self.token().clone(),
            parse: Duration::ZERO,
            plan: Duration::ZERO,
            kind: AnswerKind::Graph,
        }
    }

    fn run(&mut self, sink: &mut dyn Sink) -> Result<Done, QueryError> {
        let finished = GraphRead::run(self, sink)?;
        Ok(Done {
            rows: finished.rows,
            exec: finished.exec,
        })
    }
}
