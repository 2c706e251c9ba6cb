//! Loading, with the machine's clock and randomness: the edge hands the loader what it must not
//! take for itself.
//!
//! The loader below is a pure function of its input, its options and these, so that a test can replay
//! it. Here is the one place where a load meets the real clock and the system's randomness: the key
//! of its hash tables, without which an input could be written to collide.

use crate::upkeep;
use engine::{Database, Kind, Live, OpenError, Options, QueryError, is_damaged_load};
use std::path::Path;
use std::time::{Duration, Instant};
use store::directory::BeginError;
use store::disk::RealDisk;
use store::load::{LoadOptions, LoadWatch, load_into};

pub use rdf::Strictness;
pub use store::load::{
    Advance, LoadError, LoadProgress, LoadReport, OnError, Phase, Rejection, Source, Syntax,
    Unwatched, read_decompressed,
};

/// What a load is asked for.
#[derive(Clone, Debug)]
pub struct Request {
    /// Threads that work.
    pub threads: usize,
    /// Memory above which temporary files are used.
    pub memory_limit_bytes: u64,
    /// What to do about malformed statements.
    pub on_error: OnError,
    /// An IRI that takes the place of the default graph.
    pub graph: Option<String>,
    /// What relative IRIs are resolved against, in formats that have them.
    pub base: Option<String>,
    /// Which IRIs and language tags are taken.
    pub strictness: Strictness,
}

impl Default for Request {
    fn default() -> Request {
        let threads = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
        Request {
            threads,
            memory_limit_bytes: 2 << 30,
            on_error: OnError::Stop,
            graph: None,
            base: None,
            strictness: Strictness::Strict,
        }
    }
}

/// Why files could not be loaded in memory.
#[derive(Debug, thiserror::Error)]
pub enum MemoryError {
    /// They could not be loaded.
    #[error(transparent)]
    Load(#[from] LoadError),
    /// What was loaded could not be opened: a bug.
    #[error(transparent)]
    Open(#[from] OpenError),
}

/// Why files could not be loaded into a store, which is as it was.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// They could not be loaded.
    #[error(transparent)]
    Load(#[from] LoadError),
    /// The store has changes in its log, and could not be opened to write them into its files.
    #[error(transparent)]
    Open(#[from] OpenError),
    /// Changes in the store's log could not be written into its files.
    #[error("the store's log holds changes, which must be written into its files before: {0}")]
    Fold(QueryError),
}

impl StoreError {
    /// Whether the store that was to grow is damaged.
    pub fn is_damage(&self) -> bool {
        match self {
            StoreError::Load(error) => is_damaged_load(error),
            StoreError::Open(error) => error.is_damage(),
            StoreError::Fold(error) => error.kind == Kind::Damaged,
        }
    }

    /// Whether somebody else has the right to change the store.
    pub fn is_locked(&self) -> bool {
        match self {
            StoreError::Load(LoadError::Begin(error)) => {
                matches!(error, BeginError::Locked { .. })
            }
            StoreError::Open(error) => error.is_locked(),
            _ => false,
        }
    }
}

/// Loads sources into the store at `location`, all or nothing, on top of everything that was
/// committed: changes that are in its log only are written into its files before.
pub fn load(
    location: &Path,
    sources: Vec<Source<'_>>,
    request: &Request,
    progress: &dyn LoadProgress,
) -> Result<LoadReport, StoreError> {
    fold_log(location)?;
    let clock = clock();
    let options = options(request);
    load_into(
        &RealDisk,
        location,
        sources,
        &options,
        LoadWatch {
            progress,
            clock: &clock,
        },
    )
    .map_err(StoreError::Load)
}

/// Writes what is in the log only into the files of the store, if there are both.
pub(crate) fn fold_log(location: &Path) -> Result<(), StoreError> {
    let has_records = match upkeep::tail(location) {
        Ok(tail) => tail.records > 0,
        // The loader says it better.
        Err(OpenError::Directory(_)) => false,
        Err(error) => return Err(error.into()),
    };
    if has_records {
        let database = Live::open(location, &Options::default())?;
        // Who has not read a store's streams may not let go of the log that has them.
        let live = Live::still(database.clone());
        let folded = upkeep::compact(&database).map_err(StoreError::Fold);
        drop(live);
        folded?;
    }
    Ok(())
}

/// Loads sources into memory.
pub fn load_in_memory(
    sources: Vec<Source<'_>>,
    request: &Request,
    options: &Options,
    progress: &dyn LoadProgress,
) -> Result<(Database, LoadReport), MemoryError> {
    load_in_memory_then(sources, request, || options.clone(), progress)
}

/// Loads sources into memory, and asks for the limits of queries when that is done: the graph has
/// taken its memory by then, so what is free can be measured
/// ([`Config::with_free_memory`](crate::config::Config::with_free_memory)).
pub fn load_in_memory_then(
    sources: Vec<Source<'_>>,
    request: &Request,
    options: impl FnOnce() -> Options,
    progress: &dyn LoadProgress,
) -> Result<(Database, LoadReport), MemoryError> {
    let clock = clock();
    let watch = LoadWatch {
        progress,
        clock: &clock,
    };
    let (snapshot, dictionary, report) =
        store::load::load_in_memory(sources, &self::options(request), watch)?;
    let database = Database::in_memory(snapshot, dictionary, &options())?;
    Ok((database, report))
}

fn clock() -> impl Fn() -> Duration + Sync {
    let origin = Instant::now();
    move || origin.elapsed()
}

fn options(request: &Request) -> LoadOptions {
    let mut options = LoadOptions::new(request.threads, hash_key());
    options.memory_limit_bytes = Some(request.memory_limit_bytes);
    options.on_error = request.on_error.clone();
    options.graph.clone_from(&request.graph);
    options.base.clone_from(&request.base);
    options.strictness = request.strictness;
    options
}

/// Sixteen bytes that whoever wrote the input cannot know: the standard library seeds its hash
/// tables from the system, and gives two new keyed hashers here.
fn hash_key() -> [u8; 16] {
    use std::hash::{BuildHasher, RandomState};
    let mut key = [0; 16];
    for half in key.chunks_exact_mut(8) {
        half.copy_from_slice(&RandomState::new().hash_one(0u64).to_le_bytes());
    }
    key
}
