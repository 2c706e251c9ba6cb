//! The disk that answers take which are finished before they are sent.
//!
//! Invariants: all files together are within one limit, which is asked before a file grows, and get back what they had
//! when they are closed. A file that lies in memory (tmpfs, which `/tmp` is on many machines) is drawn on the
//! memory of all queries besides. Files have no name, so nothing of them is left when the process ends.
//!
//! | `server.spool_folder` | files are made in |
//! |---|---|
//! | a folder | this folder |
//! | `auto` | `TMPDIR`, where that is on a disk; else the folder of the store, where that may be changed and is on a disk; else `TMPDIR`, in memory |
//!
//! The store's own disk comes second, because commits need its room.
//!
//! Cost: two or three system calls for each file.
//!
//! | field | written by | read by |
//! |---|---|---|
//! | `Spool::used_bytes` | engine threads that write, by compare-exchange; whoever closes a file | any thread, for figures |
//! | a `SpoolFile` | the engine thread, then whoever sends it | the same |

use somersault::budget::{Budget, Pool};
use somersault::units::format_size;
use somersault::{Kind, QueryError, Unit};
use std::fs::File;
use std::io::{self, Seek, Write};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// What is to be done about a full spool.
const RAISE: &str = "ask by HTTP/1.1 and in a format other than JSON-LD, so that the answer flows, or raise \
                     `server.spool_limit`";
/// What is to be done where it lies in memory.
const MOVE: &str = "ask by HTTP/1.1 and in a format other than JSON-LD, so that the answer flows, or name a folder \
                    on a disk (`server.spool_folder`)";

/// Where files are made.
#[derive(Clone, Debug, Default)]
pub(crate) struct Folders {
    /// The one that is configured.
    pub configured: Option<PathBuf>,
    /// That of a store that this server changes.
    pub store: Option<PathBuf>,
}

/// What all kept answers may take of the disk.
#[derive(Debug)]
pub(crate) struct Spool {
    limit_bytes: u64,
    used_bytes: AtomicU64,
    folders: Folders,
}

impl Spool {
    /// A spool of so many bytes.
    pub fn new(limit_bytes: u64, folders: Folders) -> Arc<Spool> {
        Arc::new(Spool {
            limit_bytes,
            used_bytes: AtomicU64::new(0),
            folders,
        })
    }

    /// Says in the log where files cannot be made, or lie in memory.
    pub fn warn(&self) {
        match self.create() {
            Ok(file) if is_in_memory(&file) => tracing::info!(
                "answers that are finished before they are sent take memory of queries: their folder is no \
                 disk's (server.spool_folder names another)"
            ),
            Ok(_) => {}
            Err(error) => tracing::warn!(
                "answers that are finished before they are sent have no room (server.spool_folder): {error}"
            ),
        }
    }

    /// A file without a byte. Where it lies in memory, what it takes is drawn on this pool.
    pub fn file(self: &Arc<Spool>, pool: &Arc<Pool>) -> Result<SpoolFile, QueryError> {
        let file = self.create().map_err(|error| failed(&error))?;
        let account = is_in_memory(&file).then(|| Budget::new(pool, u64::MAX));
        Ok(SpoolFile {
            spool: Arc::clone(self),
            bytes: 0,
            account,
            file: Some(file),
        })
    }

    fn create(&self) -> io::Result<File> {
        if let Some(folder) = &self.folders.configured {
            return tempfile::tempfile_in(folder).map_err(|error| {
                let why = format!("{}: {error}", folder.display());
                io::Error::new(error.kind(), why)
            });
        }
        let first = tempfile::tempfile();
        if first.as_ref().is_ok_and(|file| !is_in_memory(file)) {
            return first;
        }
        let beside = self.folders.store.as_ref().map(tempfile::tempfile_in);
        match beside {
            Some(Ok(file)) if first.is_err() || !is_in_memory(&file) => Ok(file),
            _ => first,
        }
    }

    /// Bytes of all files.
    #[cfg(test)]
    pub fn used_bytes(&self) -> u64 {
        self.used_bytes.load(Ordering::Relaxed)
    }

    fn take(&self, bytes: u64) -> Result<(), QueryError> {
        let within = |used: u64| {
            used.checked_add(bytes)
                .filter(|used| *used <= self.limit_bytes)
        };
        let taken = self
            .used_bytes
            .try_update(Ordering::Relaxed, Ordering::Relaxed, within);
        taken.map(drop).map_err(|_| {
            let limit = format_size(self.limit_bytes);
            let why = format!(
                "the answer has to be finished before it is sent, and all such answers together may take {limit}"
            );
            QueryError::new(Kind::DiskFull, why).with_hint(RAISE)
        })
    }

    fn give_back(&self, bytes: u64) {
        self.used_bytes.fetch_sub(bytes, Ordering::Relaxed);
    }
}

/// The file of one answer.
#[derive(Debug)]
pub(crate) struct SpoolFile {
    spool: Arc<Spool>,
    bytes: u64,
    /// What it takes of memory, where it lies there.
    account: Option<Budget>,
    /// Whoever reads has it meanwhile.
    file: Option<File>,
}

impl SpoolFile {
    /// Its length.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Adds bytes at its end.
    pub fn append(&mut self, bytes: &[u8]) -> Result<(), QueryError> {
        let count = bytes.len() as u64;
        if let Some(account) = &self.account {
            account.take(count).map_err(|exhausted| {
                let why = "the answer has to be finished before it is sent, and there is no memory for it";
                let error = QueryError::new(Kind::Memory, why).with_hint(MOVE);
                error.with_limit(Unit::Bytes, exhausted.limit, exhausted.used)
            })?;
        }
        self.spool.take(count)?;
        self.bytes += count;
        let file = self.file.as_mut().ok_or(io::ErrorKind::NotFound.into());
        let written = file.and_then(|file| file.write_all(bytes));
        written.map_err(|error| failed(&error))
    }

    /// From now on it is read, from its beginning.
    pub fn rewind(&mut self) -> Result<(), QueryError> {
        let rewound = self.file.as_mut().map_or(Ok(()), Seek::rewind);
        rewound.map_err(|error| failed(&error))
    }

    /// Lends the file to somebody who reads on another thread.
    pub fn lend(&mut self) -> Option<File> {
        self.file.take()
    }

    /// Takes it back.
    pub fn return_it(&mut self, file: File) {
        assert!(self.file.is_none(), "it was lent");
        self.file = Some(file);
    }
}

impl Drop for SpoolFile {
    fn drop(&mut self) {
        // Closed first, so that nobody is given room that is not there yet.
        drop(self.file.take());
        self.spool.give_back(self.bytes);
    }
}

fn failed(error: &io::Error) -> QueryError {
    let why = format!("the answer could not be kept until it is complete: {error}");
    QueryError::new(Kind::of_io(error), why)
}

/// Whether what is written into a file takes memory and no disk.
fn is_in_memory(file: &File) -> bool {
    #[cfg(target_os = "linux")]
    {
        /// tmpfs and ramfs (`linux/magic.h`).
        const IN_MEMORY: [u64; 2] = [0x0102_1994, 0x8584_58F6];
        let kind = rustix::fs::fstatfs(file).map(|status| status.f_type);
        kind.is_ok_and(|kind| u64::try_from(kind).is_ok_and(|kind| IN_MEMORY.contains(&kind)))
    }
    #[cfg(not(target_os = "linux"))]
    {
        let _ = file;
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    fn spool_in(folder: &Path) -> Arc<Spool> {
        let folders = Folders {
            configured: Some(folder.to_owned()),
            store: None,
        };
        Spool::new(4 << 20, folders)
    }

    #[test]
    fn all_files_share_one_limit() {
        let (spool, pool) = (Spool::new(2 << 20, Folders::default()), Pool::new(64 << 20));
        let mut first = spool.file(&pool).unwrap();
        first.append(&vec![0; 1 << 20]).unwrap();
        let mut second = spool.file(&pool).unwrap();
        let error = second.append(&vec![0; (1 << 20) + 1]).unwrap_err();
        assert_eq!(error.kind, Kind::DiskFull);
        assert!(error.message.contains("2.0 MiB"), "{error}");
        drop(first);
        second.append(&vec![0; (1 << 20) + 1]).unwrap();
        drop(second);
        assert_eq!((spool.used_bytes(), pool.used_bytes()), (0, 0));
    }

    #[test]
    fn a_folder_that_is_not_there_is_named() {
        let error = spool_in(Path::new("/no/such/folder")).file(&Pool::new(1 << 20));
        let error = error.unwrap_err();
        assert!(error.message.contains("/no/such/folder"), "{error}");
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn what_lies_in_memory_is_drawn_on_the_memory_of_queries() {
        let memory = Path::new("/dev/shm");
        let is_there = tempfile::tempfile_in(memory).is_ok_and(|file| is_in_memory(&file));
        if !is_there {
            eprintln!("skipped: /dev/shm is not in memory");
            return;
        }
        let pool = Pool::new(1 << 20);
        let mut file = spool_in(memory).file(&pool).unwrap();
        file.append(&vec![0; 600 << 10]).unwrap();
        assert_eq!(pool.used_bytes(), 600 << 10);
        let error = file.append(&vec![0; 600 << 10]).unwrap_err();
        assert_eq!(error.kind, Kind::Memory, "{error}");
        assert!(
            error
                .hint
                .is_some_and(|hint| hint.contains("server.spool_folder"))
        );
        drop(file);
        assert_eq!(pool.used_bytes(), 0);
        // With a disk beside it, it is not taken.
        let beside = tempfile::tempdir().unwrap();
        if is_in_memory(&tempfile::tempfile_in(&beside).unwrap()) {
            eprintln!("skipped: there is no disk for temporary files");
            return;
        }
        let mut file = spool_in(beside.path()).file(&pool).unwrap();
        file.append(&vec![0; 600 << 10]).unwrap();
        assert_eq!(pool.used_bytes(), 0);
    }
}
