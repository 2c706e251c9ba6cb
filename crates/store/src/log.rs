//! The seam to the log: who orders and keeps changes?
//!
//! A change is one record of bytes, and its position in the log is its snapshot number. A change is
//! acknowledged when its record is durable; what a store holds is its last checkpoint and the
//! records behind it, replayed. So the log is the only thing that has to be synced before an answer
//! (write-ahead logging; the papers log their injected streams for the same reason, SOSP'17
//! section 5, "fault tolerance").
//!
//! One machine's log is [`FileLog`], files in `STORE/log/`. The trait asks nothing that a
//! replicated log cannot give: positions ascend by one, appending and waiting are two things, and
//! readers read in order.
//!
//! - [`file`]: the files being written: group commit, rotation, trimming;
//! - [`recover`]: what is found at open, and where a log ends;
//! - [`follow`]: reading one that another process goes on writing;
//! - [`durable`]: the count beside the log, by which a log that ends too early is found;
//! - [`names`]: the names of its files;
//! - [`scan`]: one file's records; a torn tail told from damage;
//! - [`format`]: the bytes, which `docs/formats/log.md` draws.

mod durable;
mod file;
mod follow;
mod format;
mod names;
mod recover;
mod scan;

pub(crate) use durable::{DURABLE, DURABLE_NEXT};
pub use file::FileLog;
pub use follow::{Follower, read_durable};
pub use recover::{OpenOptions, Recovery, Torn, examine, pending, read_tail};

use std::io;
use std::ops::ControlFlow;
use std::path::PathBuf;
use std::sync::Arc;

/// Name of the log's folder in a store.
pub const LOG: &str = "log";

/// Who orders and keeps changes? Any number of threads may call; writers order themselves.
pub trait Log: Send + Sync {
    /// The position that the next record will get.
    fn next(&self) -> u64;

    /// Appends one record, the concatenation of `payload`, and gives its position. Positions
    /// ascend by 1. The record is not durable yet.
    fn append(&self, payload: &[&[u8]]) -> Result<u64, LogError>;

    /// Returns when every record up to `position` is durable. Callers share syncs: whoever comes
    /// first syncs for all that is appended by then, the others wait for it.
    fn sync(&self, position: u64) -> Result<(), LogError>;

    /// The last position known to be durable.
    fn durable(&self) -> u64;

    /// Goes on after records were given up: a write failed, they are not durable, and their positions
    /// are given again. Until this is called nothing can be appended. The caller sees to it that nobody
    /// who waits for one of those records takes the next record of its position for it. Gives the
    /// position that the next record will get; changes nothing where nothing was given up.
    fn resume(&self) -> Result<u64, LogError>;

    /// Why records were given up, where [`Log::resume`] has not been called since.
    fn given_up(&self) -> Option<LogError>;

    /// Why nothing can be appended until the log is opened again, if it is so.
    fn refusal(&self) -> Option<Arc<str>>;

    /// Looks whether the log is still where the next start will look for it; where it is not, nothing can
    /// be appended any more. A few system calls, no bytes are read.
    fn look(&self) -> Result<(), LogError>;

    /// Gives every record from `from` on that is appended when this is called, in order and whole,
    /// until `each` breaks. No record is given before its checksum was compared.
    fn read(
        &self,
        from: u64,
        each: &mut dyn FnMut(u64, &[u8]) -> ControlFlow<()>,
    ) -> Result<(), LogError>;

    /// Makes the count of durable records itself durable, so that a power cut does not take it back. For
    /// whoever has nothing else to do: it is one sync, and none where nothing was appended since.
    fn rest(&self) -> Result<(), LogError>;

    /// Makes everything durable, and notes durably that the log ends here. Records may be appended later.
    fn close(&self) -> Result<(), LogError>;

    /// Forgets records below `position`, which a durable checkpoint holds.
    fn trim(&self, position: u64) -> Result<(), LogError>;

    /// Numbers for whoever watches.
    fn figures(&self) -> LogFigures;
}

/// What a log has done since it was opened, and what it keeps.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LogFigures {
    /// Records appended.
    pub records: u64,
    /// Bytes of their payloads.
    pub payload_bytes: u64,
    /// Syncs of a file for records. Records over syncs is the mean group.
    pub syncs: u64,
    /// Files kept.
    pub files: u64,
    /// Bytes kept, without what a torn tail left.
    pub kept_bytes: u64,
}

/// Why a log could not be opened, read or written. Says what to do where something can be done.
#[derive(Clone, Debug, thiserror::Error)]
pub enum LogError {
    /// An earlier sync failed, or a file has gone. What the medium holds after a failed sync is not
    /// known to anybody, and asking again would be answered with a lie (a kernel drops what it could
    /// not write).
    #[error("the log takes no changes any more ({cause}); mend that, then open the store again")]
    ReadOnly {
        /// What failed.
        cause: Arc<str>,
    },
    /// A file of the log is not where the next start will look for it.
    #[error(
        "{file}: it was removed or replaced while the store is open, so changes would be lost and \
         are refused; put the store back in its place, then open it again"
    )]
    Gone {
        /// The file.
        file: PathBuf,
    },
    /// Bytes that were once whole are not what was written.
    #[error(
        "{file}: damaged at byte {offset}: {what}; restore a backup, or open the log up to the \
         damage and lose every change from there on"
    )]
    Damaged {
        /// The file.
        file: PathBuf,
        /// Where the record begins that is damaged, or 0.
        offset: u64,
        /// What is wrong.
        what: String,
    },
    /// Records that were durable are not in the log.
    #[error(
        "{folder}: {} missing: change {durable} was durable, and the log ends with change \
         {found}, so files of it were removed or cut; put them back or restore a backup, or give up what \
         is missing with `somersault compact --accept-log-damage`",
        counted(durable - found)
    )]
    Missing {
        /// The log's folder.
        folder: PathBuf,
        /// The last record that was durable.
        durable: u64,
        /// The last record there is.
        found: u64,
    },
    /// A file that was begun is not in the log.
    #[error(
        "{file}: it is missing, with every change behind number {found}, how many is not known; put it \
         back or restore a backup, or give up what is missing with `somersault compact \
         --accept-log-damage`"
    )]
    MissingFile {
        /// The file.
        file: PathBuf,
        /// The last record there is.
        found: u64,
    },
    /// The file was written by another version of this program.
    #[error(
        "{file}: it has version {found} of the log and this program reads version {known}; use \
         the program that wrote it to make a checkpoint"
    )]
    Version {
        /// The file.
        file: PathBuf,
        /// What it says.
        found: u16,
        /// What this program reads.
        known: u16,
    },
    /// The folder holds a file that claims to be of the log and is not.
    #[error("{file}: it is not named like a file of the log; move it elsewhere")]
    Stray {
        /// The file.
        file: PathBuf,
    },
    /// Records that a checkpoint holds are no longer in the log.
    #[error("record {from} is asked for, but the log begins at record {oldest}")]
    Trimmed {
        /// What was asked for.
        from: u64,
        /// The first record there is.
        oldest: u64,
    },
    /// A position was named that no record has yet.
    #[error("record {position} is named, but the next record will be {next}")]
    Ahead {
        /// What was named.
        position: u64,
        /// The position that the next record will get.
        next: u64,
    },
    /// The disk refused.
    #[error("{file}: {source}")]
    Io {
        /// The file or folder.
        file: PathBuf,
        /// What the system said.
        source: Arc<io::Error>,
    },
}

/// So many changes, as the subject of what is said of them.
fn counted(changes: u64) -> String {
    match changes {
        1 => "1 change is".to_owned(),
        count => format!("{count} changes are"),
    }
}

impl LogError {
    /// Whether something is not as it was written, or is missing.
    pub fn is_damage(&self) -> bool {
        matches!(
            self,
            LogError::Damaged { .. } | LogError::Missing { .. } | LogError::MissingFile { .. }
        )
    }

    fn io(file: impl Into<PathBuf>) -> impl FnOnce(io::Error) -> LogError {
        let file = file.into();
        move |source| LogError::Io {
            file,
            source: Arc::new(source),
        }
    }
}
