//! What the edge needs of the database, as a seam.
//!
//! The second implementation is the scripted engine of the tests: a panic, a memory limit, rows
//! that trickle, a query that heeds nothing but its token cannot be brought about at will by data,
//! and each has a status or a promise of its own to be checked through a real socket. Called a few
//! times per query, so the indirection costs nothing that could be measured.

use crate::change::{Change, Wanted};
use crate::protocol::{Asked, What};
use somersault::dump;
use somersault::results::Sink;
use somersault::running::{QueryId, Running};
use somersault::stop::StopToken;
use somersault::{
    AnswerKind, ChangeFigures, Committed, Database, Documents, Finished, GraphRead, Kind,
    PlanFigures, Query, QueryError, Request, RunningGraphChange, RunningUpdate, UpdateRequest,
    WriteMode,
};
use std::time::Duration;

/// A database, as the edge sees it.
pub(crate) trait Engine: Send + Sync + 'static {
    /// Checks, parses, plans and prepares a query, which from then on is in the list of
    /// [`Engine::running`].
    fn start(&self, asked: &Asked, timeout: Duration) -> Result<Box<dyn Job>, QueryError>;
    /// A query that is known to take microseconds, planned; `None` for all others.
    fn start_light(&self, _asked: &Asked, _timeout: Duration) -> Option<Box<dyn Job>> {
        None
    }
    /// The queries that run now.
    fn running(&self) -> &Running;
    /// The number of the snapshot that queries see now.
    fn snapshot(&self) -> u64;
    /// The memory that all queries draw on.
    fn memory(&self) -> Memory;
    /// What has come of keeping plans.
    fn plans(&self) -> PlanFigures {
        PlanFigures::default()
    }
    /// What the store holds.
    fn contents(&self) -> Contents;
    /// The names of the named graphs; `None` where there are more than `max`, or they cannot be read.
    fn graphs(&self, max: u64) -> Option<Vec<String>>;
    /// Whether it was opened for changing.
    fn is_writable(&self) -> bool;
    /// Gets a change ready, which from then on is in the list of [`Engine::running`].
    fn start_change(
        &self,
        wanted: &Wanted,
        timeout: Duration,
    ) -> Result<Box<dyn ChangeJob>, QueryError>;
    /// What changes have cost and hold; `None` where there cannot be any.
    fn change_figures(&self) -> Option<ChangeFigures>;
    /// Writes all changes into the store's files.
    fn compact(&self) -> Result<(), QueryError>;
}

/// A change that is ready; leaves the list of running ones when it is dropped.
pub(crate) trait ChangeJob {
    /// Its name.
    fn id(&self) -> QueryId;
    /// Stops it, until it is being committed.
    fn token(&self) -> StopToken;
    /// Makes it on the calling thread, with the documents that it needs.
    fn run(self: Box<Self>, documents: &mut dyn Documents) -> Result<Changed, QueryError>;
}

/// What a change has done.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Changed {
    /// The number of the snapshot that has it.
    pub snapshot: u64,
    /// Statements that are new.
    pub inserted: u64,
    /// Statements that are gone.
    pub deleted: u64,
    /// The graph was not there before.
    pub is_new: bool,
    /// What was to be deleted was there.
    pub was_there: bool,
    /// Time of reading text or documents.
    pub parse: Duration,
    /// Time from there to the durable commit.
    pub exec: Duration,
}

impl Changed {
    fn by(committed: Committed) -> Changed {
        Changed {
            snapshot: committed.snapshot,
            inserted: committed.inserted,
            deleted: committed.deleted,
            is_new: false,
            was_there: true,
            parse: committed.parse,
            exec: committed.exec,
        }
    }
}

/// A prepared query; leaves the list of running ones when it is dropped.
pub(crate) trait Job: Send {
    /// What is known before it runs.
    fn started(&self) -> Started;
    /// Runs it on the calling thread; the answer goes into the sink.
    fn run(&mut self, sink: &mut dyn Sink) -> Result<Done, QueryError>;
    /// The same within a slice of time; after an error it has to be started and run again.
    fn run_slice(&mut self, sink: &mut dyn Sink, _slice: Duration) -> Result<Done, QueryError> {
        self.run(sink)
    }
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
    /// The number of the snapshot that it sees.
    pub snapshot: u64,
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

    fn start_light(&self, asked: &Asked, timeout: Duration) -> Option<Box<dyn Job>> {
        let What::Query(text) = &asked.what else {
            return None;
        };
        if !(asked.default_graphs.is_empty() && asked.named_graphs.is_empty()) {
            return None;
        }
        let query = Database::start_light(
            self,
            &Request {
                text,
                base: asked.base.as_deref(),
                timeout: Some(timeout),
                ..Request::default()
            },
        );
        Some(Box::new(query?))
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

    fn plans(&self) -> PlanFigures {
        self.plan_figures()
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

    fn is_writable(&self) -> bool {
        Database::is_writable(self)
    }

    fn start_change(
        &self,
        wanted: &Wanted,
        timeout: Duration,
    ) -> Result<Box<dyn ChangeJob>, QueryError> {
        let timeout = Some(timeout);
        match &wanted.change {
            Change::Update {
                text,
                using,
                using_named,
            } => Ok(Box::new(self.start_update(&UpdateRequest {
                text,
                base: wanted.base.as_deref(),
                using: using.clone(),
                using_named: using_named.clone(),
                timeout,
                memory_bytes: None,
            })?)),
            Change::Patch { target, text } => {
                let base = wanted.base.as_deref();
                Ok(Box::new(self.start_patch(text, target, base, timeout)?))
            }
            Change::Write { target, mode, .. } => Ok(Box::new(GraphWriting {
                change: self.start_graph_change(target, timeout)?,
                mode: *mode,
                base: wanted.base.clone(),
            })),
            Change::Delete(target) => {
                let change = self.start_graph_change(target, timeout)?;
                Ok(Box::new(GraphDeleting(change)))
            }
        }
    }

    fn change_figures(&self) -> Option<ChangeFigures> {
        Database::change_figures(self)
    }

    fn compact(&self) -> Result<(), QueryError> {
        Database::compact(self)
    }
}

impl ChangeJob for RunningUpdate {
    fn id(&self) -> QueryId {
        RunningUpdate::id(self)
    }

    fn token(&self) -> StopToken {
        RunningUpdate::token(self).clone()
    }

    fn run(self: Box<Self>, _: &mut dyn Documents) -> Result<Changed, QueryError> {
        RunningUpdate::run(*self).map(Changed::by)
    }
}

struct GraphWriting {
    change: RunningGraphChange,
    mode: WriteMode,
    base: Option<String>,
}

impl ChangeJob for GraphWriting {
    fn id(&self) -> QueryId {
        self.change.id()
    }

    fn token(&self) -> StopToken {
        self.change.token().clone()
    }

    fn run(self: Box<Self>, documents: &mut dyn Documents) -> Result<Changed, QueryError> {
        let base = self.base.as_deref();
        let written = self.change.write(self.mode, base, documents)?;
        Ok(Changed {
            is_new: written.is_new,
            ..Changed::by(written.committed)
        })
    }
}

struct GraphDeleting(RunningGraphChange);

impl ChangeJob for GraphDeleting {
    fn id(&self) -> QueryId {
        self.0.id()
    }

    fn token(&self) -> StopToken {
        self.0.token().clone()
    }

    fn run(self: Box<Self>, _: &mut dyn Documents) -> Result<Changed, QueryError> {
        let committed = self.0.delete()?;
        Ok(Changed {
            was_there: committed.is_some(),
            ..Changed::by(committed.unwrap_or_default())
        })
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
            snapshot: self.snapshot_number(),
        }
    }

    fn run(&mut self, sink: &mut dyn Sink) -> Result<Done, QueryError> {
        Query::run(self, sink).map(Done::with)
    }

    fn run_slice(&mut self, sink: &mut dyn Sink, slice: Duration) -> Result<Done, QueryError> {
        Query::run_slice(self, sink, slice).map(Done::with)
    }
}

impl Done {
    fn with(finished: Finished) -> Done {
        Done {
            rows: finished.rows,
            exec: finished.exec,
        }
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
            snapshot: self.snapshot_number(),
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
