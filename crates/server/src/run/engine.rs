//! The database as an [`Engine`]: what is asked becomes a call of the façade.
//!
//! Every method is a few lines: the seam and its values are in [`crate::run::job`].

use crate::request::{Change, ChangeRequest, Explain, Given};
use crate::request::{QueryRequest, Read};
use crate::run::job::{ChangeJob, Changed, Contents, Done, Engine, Job, Started, Told};
use somersault::budget::Pool;
use somersault::device::DeviceFigures;
use somersault::dump;
use somersault::nodes::NodeFigures;
use somersault::output::{Rows, Sink};
use somersault::running::{QueryId, Running};
use somersault::stop::{Pace, StopToken};
use somersault::{
    AnswerKind, ChangeFigures, Committed, Database, Documents, Finished, FollowFigures, Graph,
    GraphRead, GraphTarget, Health, Kind, Live, PlanFigures, Query, QueryError, Request,
    RunningGraphChange, RunningUpdate, SnapshotInfo, SubscriptionLimits, Subscriptions,
    UpdateRequest, WriteMode,
};
use std::io;
use std::sync::Arc;
use std::time::Duration;

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

fn no_such_graph(name: &str) -> QueryError {
    QueryError::new(Kind::NotFound, format!("there is no graph <{name}>"))
}

impl Engine for Database {
    fn start(
        &self,
        asked: &QueryRequest,
        timeout: Duration,
        pace: Arc<dyn Pace>,
    ) -> Result<Box<dyn Job>, QueryError> {
        let text = match &asked.what {
            Read::Query(text) => text,
            Read::Graph(name) => {
                let graph = self.open_graph(name.as_deref(), Some(timeout))?;
                let graph = graph
                    .ok_or_else(|| no_such_graph(name.as_deref().unwrap_or_default()))?
                    .with_pace(Some(pace));
                return Ok(Box::new(graph));
            }
            Read::Store => {
                let store = self.open_dataset(Some(timeout))?.with_pace(Some(pace));
                if store.has_named_graphs() && !asked.accepted.takes_graphs() {
                    let message = "the store has named graphs, which only application/n-quads, \
                                   application/trig and application/ld+json can name";
                    let error = QueryError::new(Kind::Format, message);
                    return Err(error.with_hint("`?default` is the default graph alone"));
                }
                return Ok(Box::new(store));
            }
        };
        let request = Request {
            text,
            graph: asked.pinned.clone(),
            learnt: Some(&asked.learnt),
            base: asked.base.as_deref(),
            default_graphs: asked.default_graphs.clone(),
            named_graphs: asked.named_graphs.clone(),
            bindings: asked.given.terms.clone(),
            offset: asked.given.offset,
            limit: asked.given.limit,
            timeout: Some(timeout),
            pace: Some(pace),
            trace: asked.trace,
            ..Request::default()
        };
        Ok(Box::new(Database::start(self, &request)?))
    }

    fn start_light(&self, asked: &QueryRequest, timeout: Duration) -> Option<Box<dyn Job>> {
        let Read::Query(text) = &asked.what else {
            return None;
        };
        let has_dataset = !(asked.default_graphs.is_empty() && asked.named_graphs.is_empty());
        if has_dataset || asked.given != Given::default() {
            return None;
        }
        let query = Database::start_light(
            self,
            &Request {
                text,
                learnt: Some(&asked.learnt),
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

    fn graph_at(&self, number: u64) -> Result<Arc<Graph>, QueryError> {
        Database::graph_at(self, number)
    }

    fn snapshots(&self) -> Vec<SnapshotInfo> {
        Database::snapshots(self)
    }

    fn snapshot_info(&self, number: u64) -> Result<SnapshotInfo, QueryError> {
        Database::snapshot(self, number)
    }

    fn pool(&self) -> &Arc<Pool> {
        Database::pool(self)
    }

    fn plans(&self) -> PlanFigures {
        self.plan_figures()
    }

    fn device_figures(&self) -> Option<DeviceFigures> {
        Database::device_figures(self)
    }

    fn node_figures(&self) -> Vec<NodeFigures> {
        let parts = self.parts();
        parts.map_or_else(Vec::new, |parts| parts.figures())
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

    fn health(&self) -> Health {
        Database::health(self)
    }

    fn is_writable(&self) -> bool {
        Database::is_writable(self)
    }

    fn follow_figures(&self) -> Option<FollowFigures> {
        Database::follow_figures(self)
    }

    fn start_change(
        &self,
        wanted: &ChangeRequest,
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
                change: self
                    .start_graph_change(target, timeout)?
                    .only_if(wanted.precondition.clone()),
                mode: *mode,
                base: wanted.base.clone(),
            })),
            Change::Delete(target) => {
                let change = self.start_graph_change(target, timeout)?;
                let change = change.only_if(wanted.precondition.clone());
                Ok(Box::new(GraphDeleting(change)))
            }
        }
    }

    fn last_change(&self, target: &GraphTarget) -> Result<Option<u64>, QueryError> {
        Database::last_change(self, target)
    }

    fn change_figures(&self) -> Option<ChangeFigures> {
        Database::change_figures(self)
    }

    fn keeps_streams(&self) -> bool {
        Live::is_awaited(self)
    }

    fn live(&self, told: Told) -> Option<Live> {
        Database::is_writable(self).then(|| Live::telling(self.clone(), told))
    }

    fn subscriptions(&self, limits: SubscriptionLimits) -> Option<Subscriptions> {
        Some(Subscriptions::new(self.clone(), limits))
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
            warnings: self.warnings().len(),
        }
    }

    fn run(&mut self, sink: &mut dyn Sink) -> Result<Done, QueryError> {
        Query::run(self, sink).map(Done::with)
    }

    fn plan(&mut self, explain: Explain) -> Result<String, QueryError> {
        if explain == Explain::Profile {
            self.enable_profile();
            Query::run(self, &mut Unread)?;
        }
        Ok(self.plan_document())
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

/// Takes an answer that nobody reads.
struct Unread;

impl Sink for Unread {
    fn head(&mut self, _: &[String]) -> io::Result<()> {
        Ok(())
    }

    fn graph_head(&mut self, _: &[(String, String)]) -> io::Result<()> {
        Ok(())
    }

    fn rows(&mut self, _: &Rows) -> io::Result<()> {
        Ok(())
    }

    fn finish(&mut self) -> io::Result<()> {
        Ok(())
    }

    fn boolean(&mut self, _: bool) -> io::Result<()> {
        Ok(())
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
            warnings: 0,
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
