//! The seam to stable storage: who keeps bytes?
//!
//! Files are written once from front to back, synced, renamed into place and then only mapped. That
//! is all a store and its log do, so it is all a disk offers: nothing is appended to a file that was found,
//! or to one that was [cut](AppendFile::cut) after a failed write. The one exception is a [`SectorFile`],
//! which is a few sectors that are overwritten in place, and is read and never mapped.
//! A [`SimDisk`] can forget, at a power cut, exactly what a real one may forget: a `kill -9` keeps
//! the kernel's cache, so only this proves that each sync is where it must be.
//!
//! What survives a power cut, by this contract:
//!
//! - bytes appended before a [`AppendFile::sync`] that returned without error;
//! - names created, renamed or removed before a [`Disk::sync_dir`] of their directory that
//!   returned without error;
//! - of a sector that was overwritten since: the bytes of the last sync, or those of one of the writes;
//! - of everything else any part, in any order; but a rename happens whole or not at all.

mod real;
mod sim;

pub use real::RealDisk;
pub use sim::{SimDisk, SimFaults};

pub use crate::parts::AppendFile;
use memory::Region;
use std::io;
use std::path::Path;

/// Holds a lock until it is dropped.
pub trait DiskLock: Send + Sync {
    /// Whether the path names the file that is locked: otherwise somebody else can lock its successor.
    fn is_at(&self, path: &Path) -> io::Result<bool>;
}

/// A directory that was found; holds one descriptor.
pub trait Folder: Send + Sync {
    /// Whether the path names this directory, and not one that has taken its place.
    fn is_at(&self, path: &Path) -> io::Result<bool>;
}

/// Holds descriptors until it is dropped.
pub trait Reserve: Send + Sync {}

/// A file of a few sectors that are overwritten in place, each whole.
pub trait SectorFile: Send {
    /// Puts bytes at the beginning of a sector of [`SECTOR_BYTES`]; at most so many.
    fn write(&mut self, sector: usize, bytes: &[u8]) -> io::Result<()>;
    /// Returns after everything written has reached stable storage.
    fn sync(&mut self) -> io::Result<()>;
}

/// Bytes that a medium writes as a whole, or not at all.
pub const SECTOR_BYTES: usize = 512;

/// Whether a call failed for want of a descriptor, of the process or of the system.
pub fn is_out_of_descriptors(error: &io::Error) -> bool {
    // ENFILE and EMFILE, which have the same numbers on all systems that we build for.
    matches!(error.raw_os_error(), Some(23 | 24))
}

/// Stable storage. Paths are used as they are given. Errors are the system's; a missing file is
/// [`io::ErrorKind::NotFound`], a full disk [`io::ErrorKind::StorageFull`].
pub trait Disk: Send + Sync {
    /// Makes a directory in one that exists.
    fn create_dir(&self, path: &Path) -> io::Result<()>;
    /// A new file, to be appended to. A file of this name must not exist
    /// ([`io::ErrorKind::AlreadyExists`]).
    fn create(&self, path: &Path) -> io::Result<Box<dyn AppendFile>>;
    /// The whole file as bytes that never change: nobody may append to it any more.
    fn map(&self, path: &Path) -> io::Result<Region>;
    /// The bytes of a small file that others may overwrite meanwhile.
    fn read(&self, path: &Path) -> io::Result<Vec<u8>>;
    /// A file that was found, to be overwritten in place.
    fn open_sectors(&self, path: &Path) -> io::Result<Box<dyn SectorFile>>;
    /// Returns after everything appended to a file, by whomever, has reached stable storage. For a
    /// file that was found: its writer may have been killed before it synced.
    fn sync_file(&self, path: &Path) -> io::Result<()>;
    /// The names in a directory, ascending.
    fn list(&self, path: &Path) -> io::Result<Vec<String>>;
    /// Gives a file another name in the same directory, replacing what had it. Atomic.
    fn rename(&self, from: &Path, to: &Path) -> io::Result<()>;
    /// Removes a file. Maps of it stay as they are.
    fn remove_file(&self, path: &Path) -> io::Result<()>;
    /// Removes a directory that is empty.
    fn remove_dir(&self, path: &Path) -> io::Result<()>;
    /// Returns after the names in a directory have reached stable storage.
    fn sync_dir(&self, path: &Path) -> io::Result<()>;
    /// Takes the exclusive lock on this file, making it where it is missing, and on its directory, so that
    /// nobody has a second one where the file is removed. Does not wait:
    /// [`io::ErrorKind::WouldBlock`] where somebody holds it. It ends with its holder's process.
    fn lock(&self, path: &Path) -> io::Result<Box<dyn DiskLock>>;
    /// A directory, to be told from one that takes its place. A disk that cannot tell says so.
    fn folder(&self, _path: &Path) -> io::Result<Box<dyn Folder>> {
        Err(io::ErrorKind::Unsupported.into())
    }
    /// Takes descriptors that are free for others when it is dropped. A disk without descriptors has
    /// nothing to take.
    fn reserve(&self, _descriptors: usize) -> io::Result<Box<dyn Reserve>> {
        Err(io::ErrorKind::Unsupported.into())
    }
}
