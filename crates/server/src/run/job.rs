//! What the edge needs of the database, as a seam.
//!
//! The second implementation is the scripted engine of the tests: a panic, a memory limit, rows
//! that trickle, a query that heeds nothing but its token cannot be brought about at will by data,
//! and each has a status or a promise of its own to be checked through a real socket. Called a few
//! times per query, so the indirection costs nothing that could be measured.

use crate::request::{ChangeRequest, Explain, QueryRequest};
use somersault::budget::Pool;
use somersault::device::DeviceFigures;
use somersault::nodes::NodeFigures;
use somersault::output::Sink;
use somersault::running::{QueryId, Running};
use somersault::stop::{Pace, StopToken};
use somersault::{
    AnswerKind, ChangeFigures, Documents, FollowFigures, Graph, GraphTarget, Health, Kind, Live,
    PlanFigures, QueryError, SnapshotInfo, SubscriptionLimits, Subscriptions,
};
use std::sync::Arc;
use std::time::Duration;

/// Is told the name of a query that has a new report, or is gone.
pub(crate) type Told = Box<dyn Fn(&str) + Send + Sync>;

/// A database, as the edge sees it.
pub(crate) trait Engine: Send + Sync + 'static {
    /// Checks, parses, plans and prepares a query, which from then on is in the list of
    /// [`Engine::running`]. It computes at this pace.
    fn start(
        &self,
        asked: &QueryRequest,
        timeout: Duration,
        pace: Arc<dyn Pace>,
    ) -> Result<Box<dyn Job>, QueryError>;
    /// A query that is known to take microseconds, planned; `None` for all others.
    fn start_light(&self, _asked: &QueryRequest, _timeout: Duration) -> Option<Box<dyn Job>> {
        None
    }
    /// The queries that run now.
    fn running(&self) -> &Running;
    /// The number of the snapshot that queries see now.
    fn snapshot(&self) -> u64;
    /// An older snapshot, while it is kept, by its number.
    fn graph_at(&self, number: u64) -> Result<Arc<Graph>, QueryError>;
    /// The snapshots that [`Engine::graph_at`] gives now, oldest first.
    fn snapshots(&self) -> Vec<SnapshotInfo>;
    /// One of them; errors are those of [`Engine::graph_at`].
    fn snapshot_info(&self, number: u64) -> Result<SnapshotInfo, QueryError>;
    /// The memory that all requests draw on.
    fn pool(&self) -> &Arc<Pool>;
    /// What has come of keeping plans.
    fn plans(&self) -> PlanFigures {
        PlanFigures::default()
    }
    /// What the device did for queries; `None` where there is none.
    fn device_figures(&self) -> Option<DeviceFigures> {
        None
    }
    /// What the nodes of this process did, where its graph is in parts.
    fn node_figures(&self) -> Vec<NodeFigures> {
        Vec::new()
    }
    /// What the store holds.
    fn contents(&self) -> Contents;
    /// The names of the named graphs; `None` where there are more than `max`, or they cannot be read.
    fn graphs(&self, max: u64) -> Option<Vec<String>>;
    /// Whether it does what it is there for.
    fn health(&self) -> Health;
    /// Whether it was opened for changing.
    fn is_writable(&self) -> bool;
    /// What has come of following another process's changes; `None` where nobody is followed.
    fn follow_figures(&self) -> Option<FollowFigures> {
        None
    }
    /// Gets a change ready, which from then on is in the list of [`Engine::running`].
    fn start_change(
        &self,
        wanted: &ChangeRequest,
        timeout: Duration,
    ) -> Result<Box<dyn ChangeJob>, QueryError>;
    /// The number of a commit from which on a graph holds what it holds now, perhaps not published yet;
    /// `None` where there is no such graph.
    fn last_change(&self, target: &GraphTarget) -> Result<Option<u64>, QueryError>;
    /// What changes have cost and hold; `None` where there cannot be any.
    fn change_figures(&self) -> Option<ChangeFigures>;
    /// Whether it keeps streams that stand still until somebody asks for them.
    fn keeps_streams(&self) -> bool {
        false
    }
    /// Streams and registered queries; `None` where nothing can be changed. `told` is for [`Live::telling`].
    fn live(&self, _told: Told) -> Option<Live> {
        None
    }
    /// Live queries; `None` where there are none.
    fn subscriptions(&self, _limits: SubscriptionLimits) -> Option<Subscriptions> {
        None
    }
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

/// A prepared query; leaves the list of running ones when it is dropped.
pub(crate) trait Job: Send {
    /// What is known before it runs.
    fn started(&self) -> Started;
    /// Runs it on the calling thread; the answer goes into the sink.
    fn run(&mut self, sink: &mut dyn Sink) -> Result<Done, QueryError>;
    /// Its plan as a JSON document, where it has one; what it says of a run is of one that was made for it.
    fn plan(&mut self, _explain: Explain) -> Result<String, QueryError> {
        Err(QueryError::new(Kind::Internal, "this is no query"))
    }
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
    /// How many warnings its answer comes with.
    pub warnings: usize,
}

/// What is known of a query that has ended well.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Done {
    /// Rows of the answer.
    pub rows: u64,
    /// Time of running, writing the answer included.
    pub exec: Duration,
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
