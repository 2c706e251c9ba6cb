//! The database: one graph with its dictionary, and what queries over it share.
//!
//! Opening maps files and reads their heads; statistics are read (their size is that of the
//! predicates and characteristic sets, not of the graph; after changes maintenance reads them anew),
//! and a scrubber verifies every block in the background, so that hot paths may trust them. Until it
//! is done each block is verified at first touch.

use crate::accelerator::DeviceFigures;
use crate::budget::Pool;
use crate::change::follow::{self, FollowFigures, Followed, Notice};
use crate::change::maintenance::{CheckpointLimits, maintain};
use crate::change::writer::StoreHandle;
use crate::change::{
    Beside, Committed, Deaf, GraphTarget, GraphWrite, GraphWritten, Keeper, KeptVersions, Listener,
    RunningGraphChange, RunningUpdate, UpdateRequest, Writer, open, store_write,
};
use crate::error::{Kind, QueryError};
use crate::graph_read::GraphRead;
use crate::health::{ChangeHealth, FollowHealth, Health};
pub use crate::moment::Graph;
use crate::moment::scrub::Scrub;
use crate::moment::statistics::{self, ForeignStatistics};
use crate::moment::vector::SnapshotVector;
use crate::open_error::OpenError;
pub use crate::options::Options;
use crate::parts::{NodeOptions, PartNodes};
use crate::prepared::Query;
use crate::request::Request;
use crate::request::plan_cache::{PlanCache, PlanFigures};
use crate::request::shared::Shared;
use crate::request::start;
use crate::request::warnings::EmptyDefault;
use crate::running::Running;
use crate::sync::RwLock;
use rdf::dictionary::Dictionary;
use std::any::Any;
use std::path::Path;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Weak};
use std::thread::JoinHandle;
use std::time::Duration;
use store::Snapshot;
use store::cut::Deal;
use store::directory;
use store::disk::{Disk, RealDisk};
use store::log::LogFigures;
use store::view::ViewError;

/// Sizes, for people and metrics.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Summary {
    /// Distinct quads.
    pub quads: u64,
    /// Distinct terms in the dictionary, blank nodes included.
    pub terms: u64,
    /// Distinct predicates.
    pub predicates: u64,
    /// Named graphs.
    pub named_graphs: u64,
    /// Bytes of all files; 0 for a graph in memory.
    pub stored_bytes: u64,
}

/// A snapshot that can be read by its number, for people.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SnapshotInfo {
    /// Its number: that of the last commit in it.
    pub number: u64,
    /// Distinct quads.
    pub quads: u64,
    /// How far it holds each stream, by name; `None` where another process keeps the streams.
    pub vector: Option<SnapshotVector>,
}

/// What requests share, and what is done beside them.
struct Inner {
    shared: Arc<Shared>,
    background: Arc<Background>,
}

/// What a database does beside requests. It ends when neither the database nor a request is left.
struct Background {
    /// Who publishes changes; `None` where there are none.
    writer: Option<Arc<Writer>>,
    /// Who makes them, where that is another process.
    follower: Option<follow::RunningFollower>,
    maintenance: Option<JoinHandle<()>>,
    scrub: Arc<Scrub>,
}

/// Whether a graph can be changed, and where changes are kept.
enum Changes {
    None,
    InMemory,
    Kept(Box<(StoreHandle, Beside)>),
    /// Made and kept by another process.
    Followed(Box<Followed>),
}

impl Drop for Background {
    fn drop(&mut self) {
        self.follower = None;
        if let Some(writer) = &self.writer {
            writer.wakeup.close();
        }
        if let Some(maintenance) = self.maintenance.take() {
            // A panic there has been reported by the thread; nothing of it is left to be mended.
            drop(maintenance.join());
        }
        if let Some(writer) = &self.writer {
            writer.close();
        }
    }
}

/// A database; cheap to clone, shared by all threads.
#[derive(Clone)]
pub struct Database {
    inner: Arc<Inner>,
}

impl Database {
    /// Opens a store directory for reading, as it is now: also beside a process that changes it.
    pub fn open(location: &Path, options: &Options) -> Result<Database, OpenError> {
        Database::open_on(&RealDisk, location, options)
    }

    /// [`Database::open`] on another disk.
    pub fn open_on(
        disk: &dyn Disk,
        location: &Path,
        options: &Options,
    ) -> Result<Database, OpenError> {
        directory::refuse_unfinished(disk, location)?;
        let graph = open::for_reading(disk, location)?;
        let database = Database::new(graph, Changes::None, options);
        database.inner.background.scrub.begin(database.graph());
        Ok(database)
    }

    /// Opens a store directory for reading, and follows it: what a process that changes it makes durable is
    /// seen within a moment. `told` gets a line when that ends, and when it goes on.
    pub fn open_following(
        location: &Path,
        options: &Options,
        told: Notice,
    ) -> Result<Database, OpenError> {
        Database::open_following_on(Arc::new(RealDisk), location, options, told)
    }

    /// [`Database::open_following`] on another disk.
    pub fn open_following_on(
        disk: Arc<dyn Disk>,
        location: &Path,
        options: &Options,
        told: Notice,
    ) -> Result<Database, OpenError> {
        let (graph, followed) = Followed::open(disk, location, told)?;
        let changes = Changes::Followed(Box::new(followed));
        Ok(Database::new(graph, changes, options))
    }

    /// Opens a store directory for reading and changing; an empty one is made where there is none.
    /// One process at a time.
    pub fn open_writable(location: &Path, options: &Options) -> Result<Database, OpenError> {
        Database::open_writable_on(Arc::new(RealDisk), location, options)
    }

    /// [`Database::open_writable`] on another disk.
    pub fn open_writable_on(
        disk: Arc<dyn Disk>,
        location: &Path,
        options: &Options,
    ) -> Result<Database, OpenError> {
        let mut deaf = Deaf::default();
        let opened = open::for_writing(disk, location, options, &mut deaf)?;
        let beside = Beside::unread(opened.kept, deaf.has_messages);
        Ok(Database::changing(
            opened.graph,
            opened.home,
            beside,
            options,
        ))
    }

    /// [`Database::open_writable`], telling `listener` what the store keeps beside its graph. Whoever listens keeps
    /// it from then on ([`Beside::keep`]).
    pub(crate) fn open_told(
        disk: Arc<dyn Disk>,
        location: &Path,
        options: &Options,
        listener: &mut dyn Listener,
    ) -> Result<Database, OpenError> {
        let opened = open::for_writing(disk, location, options, listener)?;
        let beside = Beside::awaited();
        Ok(Database::changing(
            opened.graph,
            opened.home,
            beside,
            options,
        ))
    }

    fn changing(graph: Graph, home: StoreHandle, beside: Beside, options: &Options) -> Database {
        let changes = Changes::Kept(Box::new((home, beside)));
        let database = Database::new(graph, changes, options);
        database.inner.background.scrub.begin(database.graph());
        database
    }

    /// A graph that was loaded into memory.
    pub fn in_memory(
        snapshot: Snapshot,
        dictionary: Dictionary,
        options: &Options,
    ) -> Result<Database, OpenError> {
        let graph = Graph::new(snapshot, dictionary, 0, 0)?;
        let changes = if options.memory_is_writable {
            Changes::InMemory
        } else {
            Changes::None
        };
        let database = Database::new(graph, changes, options);
        database.inner.background.scrub.skip();
        Ok(database)
    }

    /// A graph in parts, of which this process has some: for reading. Waits until each node has said what planners have to
    /// know.
    pub fn over_parts(parts: PartNodes, options: &Options) -> Result<Database, OpenError> {
        let graph = Graph::in_parts(parts)?;
        let database = Database::new(graph, Changes::None, options);
        database.inner.background.scrub.skip();
        Ok(database)
    }

    /// The graph as it is now, cut into parts in memory, each with a node of this process.
    pub fn in_nodes(
        &self,
        deal: &Deal,
        nodes: &NodeOptions,
        options: &Options,
    ) -> Result<Database, OpenError> {
        let graph = self.graph();
        if graph.parts.is_some() {
            return Err(OpenError::Cluster(
                "the graph is in parts already".to_owned(),
            ));
        }
        Database::over_parts(
            PartNodes::in_process(&graph, deal, nodes, options)?,
            options,
        )
    }

    /// All parts of a directory, each with a node of this process.
    pub fn open_in_nodes(
        location: &Path,
        count: u16,
        nodes: &NodeOptions,
        options: &Options,
    ) -> Result<Database, OpenError> {
        let parts = PartNodes::of_directory(location, count, nodes, options)?;
        Database::over_parts(parts, options)
    }

    /// The nodes of this process, where its graph is in parts.
    pub fn parts(&self) -> Option<Arc<PartNodes>> {
        self.graph().parts.clone()
    }

    /// Opens a store directory for changes that nobody keeps: the files stay as they are, and what is changed is seen
    /// as long as the database lives. Also beside a process that changes the store.
    pub fn open_unkept(location: &Path, options: &Options) -> Result<Database, OpenError> {
        directory::refuse_unfinished(&RealDisk, location)?;
        let graph = open::for_reading(&RealDisk, location)?;
        let database = Database::new(graph, Changes::InMemory, options);
        database.inner.background.scrub.begin(database.graph());
        Ok(database)
    }

    /// A graph that was read, for changes that nobody keeps.
    pub(crate) fn unkept(graph: Graph, options: &Options) -> Database {
        let database = Database::new(graph, Changes::InMemory, options);
        database.inner.background.scrub.skip();
        database
    }

    fn new(graph: Graph, changes: Changes, options: &Options) -> Database {
        let of_nodes = graph.parts.as_ref().map(|parts| Arc::clone(parts.pool()));
        let pool = of_nodes.unwrap_or_else(|| Pool::new(options.memory_pool_bytes));
        if let Some(accelerator) = &options.accelerator {
            accelerator.draw_on(&pool);
        }
        let published = Arc::new(RwLock::new(Arc::new(graph)));
        let kept = KeptVersions::new(options.keep_snapshots, options.memory_pool_bytes);
        let kept = Arc::new(kept);
        let scrub: Arc<Scrub> = Arc::default();
        let nothing = || Beside::unread(Vec::new(), false);
        let writer = |home, beside| {
            let (published, kept) = (Arc::clone(&published), Arc::clone(&kept));
            let writer = Writer::new(published, kept, home, beside, Arc::clone(&pool));
            Some(Arc::new(writer))
        };
        let mut pace = CheckpointLimits {
            log_bytes: options.checkpoint_log_bytes,
            ..CheckpointLimits::default()
        };
        let (writer, followed) = match changes {
            Changes::None => (None, None),
            Changes::InMemory => (writer(None, nothing()), None),
            Changes::Kept(kept) => {
                let (home, beside) = *kept;
                (writer(Some(home), beside), None)
            }
            Changes::Followed(followed) => {
                // Whoever makes the changes makes the checkpoints.
                pace.memory_quads = u64::MAX;
                (writer(None, nothing()), Some(*followed))
            }
        };
        let maintenance = writer.clone().and_then(|writer| {
            let maintenance = std::thread::Builder::new().name("maintenance".to_owned());
            // Without a thread layers stay unmerged and the log untrimmed, which is slower and as
            // safe; `compact` does both.
            maintenance.spawn(move || maintain(&writer, pace)).ok()
        });
        let follower = writer.clone().zip(followed).map(|(writer, followed)| {
            let graph = writer.published();
            scrub.begin(graph);
            follow::follow(followed, writer, Arc::clone(&pool), Arc::clone(&scrub))
        });
        let is_changed = writer.is_some();
        let background = Arc::new(Background {
            writer,
            follower,
            maintenance,
            scrub,
        });
        let plans =
            (options.plan_cache_bytes > 0).then(|| PlanCache::new(options.plan_cache_bytes));
        let shared = Arc::new(Shared {
            options: options.clone(),
            pool,
            running: Running::default(),
            plans,
            empty_default: EmptyDefault::default(),
            published,
            kept,
            is_changed,
            _background: Arc::clone(&background) as Arc<dyn Any + Send + Sync>,
        });
        Database {
            inner: Arc::new(Inner { shared, background }),
        }
    }

    /// What its requests share.
    pub(crate) fn shared(&self) -> &Arc<Shared> {
        &self.inner.shared
    }

    /// Who changes the database.
    pub(crate) fn writer(&self) -> Result<Arc<Writer>, QueryError> {
        let writer = self.inner.background.writer.clone();
        writer.filter(|_| self.is_writable()).ok_or_else(|| {
            QueryError::new(Kind::Policy, "this database was opened for reading only")
                .with_hint("open it with --allow-update")
        })
    }

    /// Who publishes versions, its own or those of another process.
    pub(crate) fn publisher(&self) -> Option<&Arc<Writer>> {
        self.inner.background.writer.as_ref()
    }

    /// Whether it can be changed.
    pub fn is_writable(&self) -> bool {
        self.inner.background.writer.is_some() && self.inner.background.follower.is_none()
    }

    /// Leaves what was read beside the graph for whoever will keep it; `None`: there was nothing.
    pub(crate) fn leave_beside(&self, read: Option<Box<dyn Any + Send>>) {
        if let Some(writer) = &self.inner.background.writer {
            writer.beside.leave(read);
        }
    }

    /// Whether something was left so.
    pub(crate) fn has_left_beside(&self) -> bool {
        let writer = self.inner.background.writer.as_ref();
        writer.is_some_and(|writer| writer.beside.is_awaited())
    }

    /// What was left so, once.
    pub(crate) fn take_beside(&self) -> Option<Box<dyn Any + Send>> {
        self.inner.background.writer.as_ref()?.beside.take()
    }

    /// Who keeps something beside the graph from now on. A store whose streams nobody has read takes none.
    pub(crate) fn keep_beside(&self, keeper: Weak<dyn Keeper>) {
        if let Some(writer) = &self.inner.background.writer {
            writer.beside.keep(keeper);
        }
    }

    /// Whether changes are kept in a log.
    pub(crate) fn keeps_log(&self) -> bool {
        let writer = self.inner.background.writer.as_ref();
        writer.is_some_and(|writer| writer.home.is_some())
    }

    /// Whether it shows what another process changes.
    pub fn is_following(&self) -> bool {
        self.inner.background.follower.is_some()
    }

    /// What has come of following; `None` where nobody is followed.
    pub fn follow_figures(&self) -> Option<FollowFigures> {
        let follower = self.inner.background.follower.as_ref()?;
        Some(follower.shared.figures(self.snapshot_number()))
    }

    /// Waits until queries see commit `number`; false where that takes longer than `timeout`, or
    /// where there is nobody who could make it.
    pub fn wait_for_snapshot(&self, number: u64, timeout: Duration) -> bool {
        if self.snapshot_number() >= number {
            return true;
        }
        let writer = self.inner.background.writer.as_ref();
        writer.is_some_and(|writer| writer.wait_for(number, timeout))
    }

    /// Writes all changes into the store's files and lets go of the log that held them: maintenance
    /// does so when the log has grown. Returns when it is done; readers and writers go on meanwhile.
    pub fn compact(&self) -> Result<(), QueryError> {
        self.writer()?.checkpoint()
    }

    /// What changes have cost and hold, for people and metrics.
    pub fn change_figures(&self) -> Option<ChangeFigures> {
        let writer = self.inner.background.writer.as_ref()?;
        let graph = self.graph();
        let layers = graph.snapshot.layers();
        Some(ChangeFigures {
            log: writer.log_figures(),
            layers: layers.len() as u64,
            layer_quads: layers.iter().map(|layer| layer.quads()).sum(),
            layer_bytes: layers.iter().map(|layer| layer.bytes()).sum(),
            term_bytes: graph.dictionary.live().bytes(),
            beside: writer.tally.beside.load(Ordering::Relaxed),
            again: writer.tally.again.load(Ordering::Relaxed),
            merges: writer.wakeup.merges.load(Ordering::Relaxed),
            checkpoints: writer.wakeup.checkpoints.load(Ordering::Relaxed),
            upkeep_failure: writer.wakeup.failure(),
        })
    }

    /// Plans a request if that takes microseconds and so will its walk: a shape that is known, for which
    /// a light plan is kept. `None`: ask [`Database::start`].
    pub fn start_light(&self, request: &Request<'_>) -> Option<Query> {
        start::start_light(&self.inner.shared, request)
    }

    /// Plans a query: parse, look up, plan. Microseconds; runs nothing yet. Needs
    /// `query::STACK_BYTES_MIN` (2 MiB) of stack.
    pub fn start(&self, request: &Request<'_>) -> Result<Query, QueryError> {
        start::start(&self.inner.shared, request)
    }

    /// Gets ready to read the default graph (`None`) or a named one; `None` where no graph has the
    /// name. The default graph always exists.
    pub fn open_graph(
        &self,
        name: Option<&str>,
        timeout: Option<Duration>,
    ) -> Result<Option<GraphRead>, QueryError> {
        GraphRead::of_graph(&self.inner.shared, name, timeout)
    }

    /// Gets ready to read everything.
    pub fn open_dataset(&self, timeout: Option<Duration>) -> Result<GraphRead, QueryError> {
        GraphRead::of_dataset(&self.inner.shared, timeout)
    }

    /// Carries out an update: all of it or nothing. Returns when it is durable, and visible to
    /// every query that begins then. Needs `query::STACK_BYTES_MIN` (2 MiB) of stack.
    pub fn update(&self, request: &UpdateRequest<'_>) -> Result<Committed, QueryError> {
        self.start_update(request)?.run()
    }

    /// Reads an update, which from then on is in the list of running queries.
    pub fn start_update(&self, request: &UpdateRequest<'_>) -> Result<RunningUpdate, QueryError> {
        RunningUpdate::start(&self.inner.shared, self.writer()?, request)
    }

    /// Reads a patch of a graph, or of the store, which from then on is in the list of running queries.
    /// `base`: what relative IRIs are resolved against.
    pub fn start_patch(
        &self,
        text: &str,
        target: &GraphTarget,
        base: Option<&str>,
        timeout: Option<Duration>,
    ) -> Result<RunningUpdate, QueryError> {
        let patch = UpdateRequest {
            text,
            base,
            timeout,
            ..UpdateRequest::default()
        };
        RunningUpdate::start_patch(&self.inner.shared, self.writer()?, &patch, target)
    }

    /// Writes a document into a graph: all of it or nothing.
    pub fn write_graph(&self, write: GraphWrite<'_>) -> Result<GraphWritten, QueryError> {
        let change = self.start_graph_change(&write.target, write.timeout)?;
        let document = (write.format, write.body);
        change.write_single(write.mode, write.base.as_deref(), document)
    }

    /// Removes a graph; `None` where there is none of this name. The default graph and the store
    /// are emptied.
    pub fn delete_graph(
        &self,
        target: &GraphTarget,
        timeout: Option<Duration>,
    ) -> Result<Option<Committed>, QueryError> {
        self.start_graph_change(target, timeout)?.delete()
    }

    /// Gets ready to change a graph; from then on that is in the list of running queries.
    pub fn start_graph_change(
        &self,
        target: &GraphTarget,
        timeout: Option<Duration>,
    ) -> Result<RunningGraphChange, QueryError> {
        RunningGraphChange::start(&self.inner.shared, self.writer()?, target, timeout)
    }

    /// The number of a commit from which on a graph holds what it holds now: of the last one that changed
    /// it, or of a later one, perhaps not published yet. `None` where there is no graph of this name.
    pub fn last_change(&self, target: &GraphTarget) -> Result<Option<u64>, QueryError> {
        store_write::last_change(&self.graph(), self.inner.background.writer.as_ref(), target)
    }

    /// What the planner knows now, as a document.
    pub fn planner_statistics(&self) -> Result<String, QueryError> {
        statistics::document(&self.graph())
    }

    /// Reads a document, of this graph or of another one, to plan queries of this graph by it
    /// ([`crate::Request::statistics`]).
    pub fn read_planner_statistics(&self, text: &str) -> Result<ForeignStatistics, QueryError> {
        ForeignStatistics::read(text, &self.graph())
    }

    /// Prefixes that documents declare which were loaded, names without colons with their IRIs, by name. Those of
    /// `LOAD` and of the Graph Store Protocol survive the process once a checkpoint has written what was changed.
    pub fn prefixes(&self) -> Vec<(String, String)> {
        let prefixes = self.graph().prefixes();
        prefixes
            .iter()
            .map(|(name, iri)| (name.to_owned(), iri.to_owned()))
            .collect()
    }

    /// The graph as it is now. Whoever holds it sees it unchanged for as long as they like.
    pub fn graph(&self) -> Arc<Graph> {
        self.inner.shared.graph()
    }

    /// The graph as commit `number` left it, while it is kept ([`Options::keep_snapshots`]). Two kinds of error:
    /// [`Kind::Gone`] where it is kept no more, [`Kind::NotFound`] where nobody has seen such a commit yet.
    pub fn graph_at(&self, number: u64) -> Result<Arc<Graph>, QueryError> {
        let newest = self.graph();
        let newest_number = newest.snapshot.number();
        if number == newest_number {
            return Ok(newest);
        }
        if number > newest_number {
            let message =
                format!("there is no snapshot {number} yet: the newest is {newest_number}");
            return Err(QueryError::new(Kind::NotFound, message));
        }
        self.inner.shared.kept.get(number).ok_or_else(|| {
            let message =
                format!("snapshot {number} is kept no more: the newest is {newest_number}");
            QueryError::new(Kind::Gone, message)
                .with_hint("`store.keep_snapshots` is how long a snapshot is kept for those who read it by number")
        })
    }

    /// The snapshots that [`Database::graph_at`] gives now, oldest first. The last is the newest.
    pub fn snapshots(&self) -> Vec<SnapshotInfo> {
        // In this order: what is superseded between the two is twice in the list rather than not at all.
        let newest = self.graph();
        let mut kept = self.inner.shared.kept.all();
        kept.retain(|graph| graph.snapshot.number() < newest.snapshot.number());
        kept.push(newest);
        kept.iter().map(|graph| self.snapshot_info(graph)).collect()
    }

    /// What is told of a snapshot; errors are those of [`Database::graph_at`].
    pub fn snapshot(&self, number: u64) -> Result<SnapshotInfo, QueryError> {
        Ok(self.snapshot_info(&*self.graph_at(number)?))
    }

    fn snapshot_info(&self, graph: &Graph) -> SnapshotInfo {
        // What streams say is in the log, and whoever only reads a store passes it over.
        let is_told = self.is_writable() || graph.stored_bytes == 0;
        SnapshotInfo {
            number: graph.snapshot.number(),
            quads: graph.quads,
            vector: is_told.then(|| Arc::clone(&graph.vector)),
        }
    }

    /// What has come of keeping plans; zeros where none are kept.
    pub fn plan_figures(&self) -> PlanFigures {
        let plans = self.inner.shared.plans.as_ref();
        plans.map(PlanCache::figures).unwrap_or_default()
    }

    /// What the device did for queries; `None`: there is none.
    pub fn device_figures(&self) -> Option<DeviceFigures> {
        let accelerator = self.options().accelerator.as_ref();
        accelerator.map(|device| device.figures())
    }

    /// The limits of queries.
    pub fn options(&self) -> &Options {
        &self.inner.shared.options
    }

    /// Memory of all queries.
    pub fn pool(&self) -> &Arc<Pool> {
        &self.inner.shared.pool
    }

    /// The queries that run now.
    pub fn running(&self) -> &Running {
        &self.inner.shared.running
    }

    /// The number of the snapshot that queries which begin now see: that of the last commit.
    pub fn snapshot_number(&self) -> u64 {
        self.graph().snapshot.number()
    }

    /// Sizes.
    pub fn summary(&self) -> Summary {
        let graph = self.graph();
        let statistics = graph.planner.statistics();
        let terms = match &graph.parts {
            None => graph.dictionary.counts(),
            Some(parts) => parts.terms(),
        };
        Summary {
            quads: graph.quads,
            terms: terms.iris + terms.blank_nodes + terms.literals + terms.triple_terms,
            predicates: statistics.predicates.len() as u64,
            named_graphs: statistics.named_graphs,
            stored_bytes: graph.stored_bytes,
        }
    }

    /// Whether the database does what it is there for, for readiness probes. Cheap: some locks that
    /// nobody holds for long, and where nobody changes the database a system call for each file.
    pub fn health(&self) -> Health {
        let graph = self.graph();
        let changes = if let Ok(writer) = self.writer() {
            writer.health()
        } else {
            // There is no maintenance to look, or it sleeps long.
            graph.look();
            ChangeHealth::NotOffered
        };
        let follower = self.inner.background.follower.as_ref();
        let following = follower.map(|follower| follower.shared.health());
        let damage = graph
            .damage()
            .or_else(|| self.inner.background.scrub.damage());
        Health {
            changes,
            following: following.unwrap_or(FollowHealth::NotOffered),
            damage: damage.map(|damage| damage.to_string()),
        }
    }

    /// Waits until every block has been verified; the first damaged one is the error.
    pub fn wait_until_verified(&self) -> Result<(), ViewError> {
        self.inner.background.scrub.wait()
    }
}

/// What changes have cost and hold.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ChangeFigures {
    /// The log; `None` in memory.
    pub log: Option<LogFigures>,
    /// Layers over the base.
    pub layers: u64,
    /// Quads in them, added or taken away.
    pub layer_quads: u64,
    /// Bytes of memory that they hold.
    pub layer_bytes: u64,
    /// Bytes of memory of terms that are in no file yet.
    pub term_bytes: u64,
    /// Changes that were evaluated beside other writers, before their turn.
    pub beside: u64,
    /// How often such a one had to be evaluated again, because another commit may have changed what it
    /// does.
    pub again: u64,
    /// Merges of layers beside the writers.
    pub merges: u64,
    /// Checkpoints.
    pub checkpoints: u64,
    /// Why the last merge or checkpoint failed, if it did.
    pub upkeep_failure: Option<String>,
}
