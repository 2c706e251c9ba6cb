//! Loading, with the machine's clock and randomness: the edge hands the loader what it must not
//! take for itself.
//!
//! The loader below is a pure function of its input, its options and these, so that a test can replay
//! it. Here is the one place where a load meets the real clock and the system's randomness: the key
//! of its hash tables, without which an input could be written to collide.

use crate::database::{Database, OpenError, Options};
use std::path::Path;
use std::time::{Duration, Instant};
use store::disk::RealDisk;
use store::load::{LoadOptions, Watch, load_into};

pub use store::load::{
    Advance, LoadError, LoadProgress, LoadReport, OnError, Phase, Rejection, Source, Syntax,
    Unwatched,
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
        }
    }
}

/// Whether a load failed because the store that it was to add to is damaged.
pub fn is_damage(error: &LoadError) -> bool {
    crate::database::is_damaged_load(error)
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

/// Loads sources into the store at `location`, all or nothing.
pub fn load(
    location: &Path,
    sources: Vec<Source<'_>>,
    request: &Request,
    progress: &dyn LoadProgress,
) -> Result<LoadReport, LoadError> {
    let clock = clock();
    let options = options(request);
    load_into(
        &RealDisk,
        location,
        sources,
        &options,
        Watch {
            progress,
            clock: &clock,
        },
    )
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
    let watch = Watch {
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
