//! The database: one graph with its dictionary, and what queries over it share.
//!
//! Opening maps files and reads their heads; statistics are read once (their size is that of the
//! predicates and characteristic sets, not of the graph), and a scrubber verifies every block in
//! the background, so that hot paths may trust them. Until it is done each block is verified at
//! first touch.

use crate::budget::Pool;
use crate::config::Config;
use crate::error::QueryError;
use crate::federation::ServiceClient;
use crate::query::{Query, Request};
use crate::running::Running;
use ::query::planner::Planner;
use ::query::statistics::{CharacteristicSet, PredicateStatistics, Statistics};
use rdf::dictionary::Dictionary;
use std::path::Path;
use std::sync::{Arc, Condvar, Mutex, PoisonError, RwLock};
use std::time::Duration;
use store::directory::manifest::HeadError;
use store::directory::{self, Opened};
use store::disk::RealDisk;
use store::load::{BLANK_NODES_COUNT, LoadError, open_dictionary};
use store::statistics::{SetSizes, SnapshotStatistics};
use store::view::ViewError;
use store::{Snapshot, SnapshotError};

/// Characteristic sets that the planner is given, a direction: graphs without structure have nearly
/// one for each vertex, and planning must stay in microseconds.
const SETS_MAX: usize = 4096;

/// Limits of queries.
#[derive(Clone)]
pub struct Options {
    /// Memory of all queries together.
    pub memory_pool_bytes: u64,
    /// Memory of one query.
    pub query_memory_bytes: u64,
    /// Threads of a heavy query.
    pub query_threads: usize,
    /// Time of a query.
    pub timeout: Duration,
    /// Longest query text.
    pub text_max_bytes: u64,
    /// Who asks other endpoints for `SERVICE`; `None`: it is refused.
    pub service: Option<Arc<dyn ServiceClient>>,
}

impl std::fmt::Debug for Options {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Options")
            .field("memory_pool_bytes", &self.memory_pool_bytes)
            .field("query_memory_bytes", &self.query_memory_bytes)
            .field("query_threads", &self.query_threads)
            .field("timeout", &self.timeout)
            .field("text_max_bytes", &self.text_max_bytes)
            .field("service", &self.service.is_some())
            .finish()
    }
}

impl Options {
    /// As configured.
    pub fn from_config(config: &Config) -> Options {
        Options {
            memory_pool_bytes: config.memory_pool_bytes,
            query_memory_bytes: config.query_memory_bytes,
            query_threads: config.query_threads,
            timeout: config.timeout,
            text_max_bytes: config.text_max_bytes,
            service: None,
        }
    }
}

impl Default for Options {
    fn default() -> Options {
        Options {
            memory_pool_bytes: 1 << 30,
            query_memory_bytes: 1 << 28,
            query_threads: 2,
            timeout: Duration::from_secs(30),
            text_max_bytes: 1 << 20,
            service: None,
        }
    }
}

/// Why a store could not be opened.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// Its directory was not accepted.
    #[error(transparent)]
    Directory(#[from] directory::OpenError),
    /// Its graph was not accepted.
    #[error(transparent)]
    Snapshot(#[from] SnapshotError),
    /// Its dictionary was not accepted.
    #[error(transparent)]
    Dictionary(#[from] LoadError),
    /// Its statistics could not be read.
    #[error(transparent)]
    Statistics(#[from] ViewError),
}

impl OpenError {
    /// Whether it is a store, and a damaged one.
    pub fn is_damage(&self) -> bool {
        match self {
            OpenError::Directory(error) => is_damaged_directory(error),
            OpenError::Snapshot(_) | OpenError::Statistics(_) => true,
            OpenError::Dictionary(error) => is_damaged_load(error),
        }
    }
}

fn is_damaged_directory(error: &directory::OpenError) -> bool {
    use directory::OpenError as E;
    match error {
        E::Missing { .. } | E::NotAStore { .. } | E::Empty { .. } | E::Io { .. } => false,
        E::Head { source, .. } => matches!(source, HeadError::Damaged(_)),
        E::Length { .. } | E::MissingFile { .. } | E::Sums { .. } => true,
    }
}

/// Whether a load failed because the store that it was to add to is damaged.
pub(crate) fn is_damaged_load(error: &LoadError) -> bool {
    match error {
        LoadError::OpenStore(error) => is_damaged_directory(error),
        LoadError::Snapshot(_)
        | LoadError::OpenDictionary(_)
        | LoadError::View(_)
        | LoadError::Lexicon(_) => true,
        _ => false,
    }
}

/// A graph with its dictionary and what the planner knows of it.
pub struct Graph {
    /// Adjacency.
    pub snapshot: Snapshot,
    /// Terms.
    pub dictionary: Dictionary,
    /// Statistics, indexed; perhaps those of a version before.
    pub planner: Arc<Planner>,
}

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

struct Inner {
    /// What queries that begin now see.
    published: RwLock<Arc<Graph>>,
    options: Options,
    pool: Arc<Pool>,
    running: Running,
    stored_bytes: u64,
    scrub: Scrub,
}

/// A database; cheap to clone, shared by all threads.
#[derive(Clone)]
pub struct Database {
    inner: Arc<Inner>,
}

impl Database {
    /// Opens a store directory.
    pub fn open(location: &Path, options: &Options) -> Result<Database, OpenError> {
        let opened = directory::open(&RealDisk, location)?;
        let (snapshot, dictionary) = open_parts(&opened)?;
        let stored_bytes = opened.sizes().iter().map(|(_, bytes)| bytes).sum();
        let database = Database::new(snapshot, dictionary, stored_bytes, options)?;
        database.start_scrubber();
        Ok(database)
    }

    /// A graph in memory.
    pub(crate) fn in_memory(
        snapshot: Snapshot,
        dictionary: Dictionary,
        options: &Options,
    ) -> Result<Database, OpenError> {
        let database = Database::new(snapshot, dictionary, 0, options)?;
        database.inner.scrub.finish(None);
        Ok(database)
    }

    fn new(
        snapshot: Snapshot,
        dictionary: Dictionary,
        stored_bytes: u64,
        options: &Options,
    ) -> Result<Database, OpenError> {
        let planner = Planner::new(planner_statistics(snapshot.statistics(SETS_MAX)?));
        let graph = Graph {
            snapshot,
            dictionary,
            planner: Arc::new(planner),
        };
        let inner = Inner {
            published: RwLock::new(Arc::new(graph)),
            pool: Pool::new(options.memory_pool_bytes),
            options: options.clone(),
            running: Running::default(),
            stored_bytes,
            scrub: Scrub::default(),
        };
        Ok(Database {
            inner: Arc::new(inner),
        })
    }

    /// Plans a query: guard, parse, look up, plan. Microseconds; runs nothing yet. Needs
    /// `query::STACK_BYTES_MIN` (2 MiB) of stack.
    pub fn start(&self, request: &Request<'_>) -> Result<Query, QueryError> {
        Query::start(self, request)
    }

    /// The graph as it is now. Whoever holds it sees it unchanged for as long as they like.
    pub fn graph(&self) -> Arc<Graph> {
        let published = self.inner.published.read();
        Arc::clone(&published.unwrap_or_else(PoisonError::into_inner))
    }

    /// The limits of queries.
    pub fn options(&self) -> &Options {
        &self.inner.options
    }

    /// Memory of all queries.
    pub fn pool(&self) -> &Arc<Pool> {
        &self.inner.pool
    }

    /// The queries that run now.
    pub fn running(&self) -> &Running {
        &self.inner.running
    }

    /// The number of the snapshot that queries see. Constant until there are updates.
    pub fn snapshot_number(&self) -> u64 {
        0
    }

    /// Sizes.
    pub fn summary(&self) -> Summary {
        let graph = self.graph();
        let statistics = graph.planner.statistics();
        let terms = graph.dictionary.counts();
        Summary {
            quads: statistics.quads,
            terms: terms.iris + terms.blank_nodes + terms.literals + terms.triple_terms,
            predicates: statistics.predicates.len() as u64,
            named_graphs: statistics.named_graphs,
            stored_bytes: self.inner.stored_bytes,
        }
    }

    /// Waits until every block has been verified; the first damaged one is the error.
    pub fn wait_until_verified(&self) -> Result<(), ViewError> {
        self.inner.scrub.wait()
    }

    /// Verifies every block on a thread of its own. It holds the database alive until it is done,
    /// which takes a second for ten gigabytes in memory.
    fn start_scrubber(&self) {
        let database = self.clone();
        let scrub = move || {
            let verified = database.graph().verify();
            database.inner.scrub.finish(verified.err());
        };
        let spawned = std::thread::Builder::new()
            .name("scrubber".to_owned())
            .spawn(scrub);
        if spawned.is_err() {
            // Without a thread blocks stay verified at first touch, which is slower and as safe.
            self.inner.scrub.finish(None);
        }
    }
}

impl Graph {
    /// Verifies every block of every file.
    pub fn verify(&self) -> Result<(), ViewError> {
        self.snapshot.verify_all()?;
        for file in self.dictionary.files() {
            file.verify_all().map_err(|damaged| ViewError::Damaged {
                file: damaged.file.to_string(),
                block: damaged.block,
            })?;
        }
        Ok(())
    }
}

/// How far the scrubber is.
#[derive(Default)]
struct Scrub {
    outcome: Mutex<Option<Result<(), ViewError>>>,
    done: Condvar,
}

impl Scrub {
    fn finish(&self, damage: Option<ViewError>) {
        let mut outcome = self.outcome.lock().unwrap_or_else(PoisonError::into_inner);
        *outcome = Some(damage.map_or(Ok(()), Err));
        self.done.notify_all();
    }

    fn wait(&self) -> Result<(), ViewError> {
        let mut outcome = self.outcome.lock().unwrap_or_else(PoisonError::into_inner);
        loop {
            if let Some(outcome) = outcome.clone() {
                return outcome;
            }
            outcome = self
                .done
                .wait(outcome)
                .unwrap_or_else(PoisonError::into_inner);
        }
    }
}

/// The graph and dictionary of an opened directory.
pub(crate) fn open_parts(opened: &Opened) -> Result<(Snapshot, Dictionary), OpenError> {
    let blank_nodes = opened
        .manifest()
        .counts
        .get(BLANK_NODES_COUNT)
        .copied()
        .unwrap_or(0);
    let dictionary = open_dictionary(opened, blank_nodes)?;
    Ok((Snapshot::open(opened)?, dictionary))
}

/// What the store says about itself in the planner's words. Sets that are not all of them prove
/// nothing, so an incomplete list is not passed on.
fn planner_statistics(statistics: SnapshotStatistics) -> Statistics {
    let predicates = statistics
        .predicates
        .iter()
        .map(|sizes| PredicateStatistics {
            vertex: sizes.vertex,
            subjects: sizes.subjects,
            objects: sizes.objects,
            edges: sizes.edges,
        });
    Statistics {
        quads: statistics.quads,
        predicates: predicates.collect(),
        classes: statistics.classes,
        out_sets: sets(statistics.out_sets),
        in_sets: sets(statistics.in_sets),
        named_graphs: statistics.named_graphs,
        type_vertex: statistics.type_vertex,
    }
}

fn sets(sizes: SetSizes) -> Vec<CharacteristicSet> {
    if !sizes.is_complete {
        return Vec::new();
    }
    let set = |size: store::statistics::SetSize| {
        let mut predicates = size.predicates;
        predicates.sort_unstable();
        CharacteristicSet {
            predicates,
            types: size.types,
            vertices: size.vertices,
        }
    };
    sizes.sets.into_iter().map(set).collect()
}
