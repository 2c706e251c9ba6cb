//! Copies of a store that can be trusted: backup beside a live writer, and restore.
//!
//! A backup is a store of its own: the graph as the last durable commit left it, written anew as one
//! generation with an empty log. Reading needs no lock, so nobody waits for a backup, and what is
//! committed meanwhile is not in it. It carries the number of its snapshot and the ids of its terms.
//!
//! Streams and standing queries are in it as they stood then: items that are open or that windows may reach, what sources have
//! promised and their positions, queries and what their reports are compared with, and the reports that are kept. What was
//! ready and not reported is reported in the copy, as a start would ([`engine::whole_store`]). Sources that count their items
//! push again from the positions that the copy knows, and nothing is there twice.
//!
//! What was written is checked as `check` does before anybody is told that it is done: a backup that
//! was never read is a hope. A failure, and a cancel, leave nothing behind; a process that is killed leaves a
//! directory that says so ([`store::directory::copy`]), which nobody opens and the next copy writes anew. The cost is that of a
//! checkpoint, and of reading the copy once.

use crate::upkeep::{self, Checked};
use engine::change::open;
use engine::moment::files::write_graph;
use engine::{Kind, OpenError, Options, QueryError, WholeStore, whole_store};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};
use store::delta::dictionary::Spilling;
use store::directory::{self, BeginError, Copying, begin_copy, begin_locked, in_the_way};
use store::disk::{Disk, RealDisk};

/// Memory in which the dictionary's hashes are sorted.
const SORT_BYTES: u64 = 256 << 20;

/// What was copied.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Copied {
    /// The number of the last commit that it holds.
    pub snapshot: u64,
    /// Distinct quads.
    pub quads: u64,
    /// Bytes of its files.
    pub bytes: u64,
    /// How long it took, checking included.
    pub elapsed: Duration,
}

/// Why there is no copy. Nothing was left behind.
#[derive(Debug, thiserror::Error)]
pub enum CopyError {
    /// What was to be copied could not be opened.
    #[error(transparent)]
    Open(#[from] OpenError),
    /// There is a store or something else where the copy was to be.
    #[error("{path}: {what}; name a directory that does not exist yet, or an empty one")]
    Taken {
        /// The place.
        path: PathBuf,
        /// What is there.
        what: String,
    },
    /// What was to be copied is damaged.
    #[error("{path}: {what}; `somersault check` names all that is wrong with it")]
    Damaged {
        /// The store.
        path: PathBuf,
        /// The first finding.
        what: String,
    },
    /// The copy could not be written.
    #[error("{path}: {error}")]
    Write {
        /// The place.
        path: PathBuf,
        /// What failed.
        error: Box<QueryError>,
    },
    /// What was written is not what was to be written.
    #[error("{path}: what was written cannot be read again and was removed: {what}")]
    Unverified {
        /// The place.
        path: PathBuf,
        /// The first finding.
        what: String,
    },
}

impl CopyError {
    /// Whether a store is damaged, the copied one or the copy.
    pub fn is_damage(&self) -> bool {
        match self {
            CopyError::Open(error) => error.is_damage(),
            CopyError::Damaged { .. } | CopyError::Unverified { .. } => true,
            CopyError::Write { error, .. } => error.kind == Kind::Damaged,
            CopyError::Taken { .. } => false,
        }
    }

    /// Whether it was stopped.
    pub fn is_cancelled(&self) -> bool {
        match self {
            CopyError::Open(OpenError::Replay(error)) => error.kind == Kind::Cancelled,
            CopyError::Write { error, .. } => error.kind == Kind::Cancelled,
            _ => false,
        }
    }

    /// Whether the place for the copy was the wrong one.
    pub fn is_taken(&self) -> bool {
        matches!(self, CopyError::Taken { .. })
    }
}

/// Copies the store at `location`, as the last durable commit left it, to `destination`, which must
/// not exist, be empty, or hold a copy that was not finished: also beside a process that changes the store. `is_stopped` is asked now
/// and then. Standing queries have something to report mostly, and `options` are those that they are to be asked with: the server's.
pub fn backup(
    location: &Path,
    destination: &Path,
    options: &Options,
    is_stopped: &(dyn Fn() -> bool + Sync),
) -> Result<Copied, CopyError> {
    backup_on(&RealDisk, location, destination, options, is_stopped)
}

/// An error where a copy would lie within what is copied.
fn refuse_inside(location: &Path, destination: &Path) -> Result<(), CopyError> {
    let whole = |path: &Path| std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    if whole(destination).starts_with(whole(location)) {
        return Err(CopyError::Taken {
            path: destination.to_owned(),
            what: "it is within the store that is to be copied".to_owned(),
        });
    }
    Ok(())
}

/// [`backup`] on another disk.
pub fn backup_on(
    disk: &dyn Disk,
    location: &Path,
    destination: &Path,
    options: &Options,
    is_stopped: &(dyn Fn() -> bool + Sync),
) -> Result<Copied, CopyError> {
    let begun = Instant::now();
    refuse_inside(location, destination)?;
    let taken = |what: &dyn std::fmt::Display| CopyError::Taken {
        path: destination.to_owned(),
        what: what.to_string(),
    };
    match in_the_way(disk, destination) {
        Ok(None) => {}
        Ok(Some(what)) => return Err(taken(&what)),
        Err(error) => return Err(taken(&error)),
    }
    directory::refuse_unfinished(disk, location).map_err(OpenError::from)?;
    let whole = whole_store(disk, location, options, is_stopped)?;
    let copying = begin_copy(disk, destination).map_err(|error| match error {
        BeginError::Locked { .. } => taken(&"another backup or restore into it is running"),
        error => not_written(destination, &error),
    })?;
    let copied = write(disk, &whole, &copying, is_stopped)
        .and_then(|()| verified(disk, &whole, destination));
    let graph = &whole.graph;
    match copied {
        Ok(bytes) => {
            let finished = copying.finish();
            finished.map_err(|error| not_written(destination, &error))?;
            Ok(Copied {
                snapshot: graph.snapshot.number(),
                quads: graph.quads,
                bytes,
                elapsed: begun.elapsed(),
            })
        }
        Err(error) => {
            copying.give_up();
            Err(error)
        }
    }
}

/// Makes a store at `location` of a backup, which is checked first, as the copy is afterwards.
pub fn restore(
    backup: &Path,
    location: &Path,
    options: &Options,
    is_stopped: &(dyn Fn() -> bool + Sync),
) -> Result<Copied, CopyError> {
    restore_on(&RealDisk, backup, location, options, is_stopped)
}

/// [`restore`] on another disk.
pub fn restore_on(
    disk: &dyn Disk,
    backup: &Path,
    location: &Path,
    options: &Options,
    is_stopped: &(dyn Fn() -> bool + Sync),
) -> Result<Copied, CopyError> {
    let Checked { findings, .. } = upkeep::check_on(disk, backup)?;
    if let Some(finding) = findings.first() {
        return Err(CopyError::Damaged {
            path: backup.to_owned(),
            what: finding.to_string(),
        });
    }
    backup_on(disk, backup, location, options, is_stopped)
}

fn not_written(destination: &Path, error: &BeginError) -> CopyError {
    CopyError::Write {
        path: destination.to_owned(),
        error: Box::new(QueryError::of_cause(error, Kind::Output, error)),
    }
}

fn write(
    disk: &dyn Disk,
    whole: &WholeStore,
    copying: &Copying<'_>,
    is_stopped: &(dyn Fn() -> bool + Sync),
) -> Result<(), CopyError> {
    let (graph, destination) = (&*whole.graph, copying.lock().store());
    let failed = |error: QueryError| CopyError::Write {
        path: destination.to_owned(),
        error: Box::new(error),
    };
    let not_begun = |error: BeginError| not_written(destination, &error);
    let generation = begin_locked(disk, copying.lock()).map_err(not_begun)?;
    let spilling = Spilling::Above {
        limit_bytes: SORT_BYTES,
        disk,
        directory: generation.directory(),
    };
    write_graph(graph, &generation, spilling, is_stopped).map_err(failed)?;
    graph.sound().map_err(failed)?;
    directory::beside::write(&generation, &whole.beside)
        .map_err(|error| failed(QueryError::of_cause(&error, Kind::Output, &error)))?;
    generation
        .commit(graph.manifest_counts())
        .map_err(not_begun)?;
    Ok(())
}

/// Reads the copy as `check` does, and gives its size.
fn verified(disk: &dyn Disk, whole: &WholeStore, destination: &Path) -> Result<u64, CopyError> {
    let graph = &*whole.graph;
    let unverified = |what: String| CopyError::Unverified {
        path: destination.to_owned(),
        what,
    };
    let checked = upkeep::check_on(disk, destination)?;
    if let Some(finding) = checked.findings.first() {
        return Err(unverified(finding.to_string()));
    }
    let copy = open::for_reading(disk, destination)?;
    if (copy.quads, copy.snapshot.number()) != (graph.quads, graph.snapshot.number()) {
        let what = format!(
            "it has {} quads at snapshot {} instead of {} at {}",
            copy.quads,
            copy.snapshot.number(),
            graph.quads,
            graph.snapshot.number()
        );
        return Err(unverified(what));
    }
    let opened = directory::open(disk, destination).map_err(OpenError::from)?;
    let beside = directory::beside::read(&opened).map_err(|error| unverified(error.to_string()))?;
    if beside != whole.beside {
        return Err(unverified(
            "its streams are not those that were written".to_owned(),
        ));
    }
    Ok(copy.stored_bytes)
}
