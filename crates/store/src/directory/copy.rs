//! A store that is made as a copy of another one, and may be begun again where that was killed.
//!
//! ```text
//! DESTINATION/
//!   LOCK          held until the copy is finished
//!   UNFINISHED    from before the first byte until the copy was verified
//!   ...           the store
//! ```
//!
//! Invariant: a directory with UNFINISHED holds nothing but what a copy has written, and nobody was told that
//! it is done. So the next copy into it may remove everything, and nobody else opens it. The marker is durable
//! before anything else is written, and removed, durably, once the copy was read again. A directory without it
//! is never written into unless it is empty.
//!
//! What a marker proves, and what it does not: [`unfinished`](super::unfinished).

use super::generation::{
    BeginError, WriterLock, lock_directory, make_directory, remove_generations,
};
use super::open::{OpenError, is_ours};
use super::unfinished::{MARK, Marked, UNFINISHED, marked};
use super::{CURRENT, CURRENT_NEXT, LOCK};
use crate::disk::Disk;
use std::io;
use std::path::Path;

/// The right to make a copy in a directory.
pub struct Copying<'d> {
    disk: &'d dyn Disk,
    lock: WriterLock,
    /// Whether the directory itself was made for the copy.
    is_first: bool,
}

/// What is in the way of a copy; `None` where the directory is missing, empty, or holds one that was not
/// finished.
pub fn in_the_way(disk: &dyn Disk, path: &Path) -> io::Result<Option<String>> {
    let names = match disk.list(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        names => names?,
    };
    let marked = marked(disk, path);
    if let Marked::Beside(what) = marked {
        let why = format!("there is {what} beside {UNFINISHED}, so it is no copy that was cut off");
        return Ok(Some(why));
    }
    let is_unfinished = marked == Marked::Unfinished;
    let has = |name: &str| names.iter().any(|found| found == name);
    if has(CURRENT) && !is_unfinished {
        return Ok(Some("there is a store already".to_owned()));
    }
    let is_expected =
        |name: &&String| *name == LOCK || is_unfinished && (*name == UNFINISHED || is_ours(name));
    let other = names.iter().find(|name| !is_expected(name));
    Ok(other.map(|name| format!("it is not empty, there is {name}")))
}

/// Takes a directory for a copy, making it where it is missing (in one that exists), and removes what an
/// unfinished one has left there. [`in_the_way`] has found nothing, and is asked again under the lock.
pub fn begin_copy<'d>(disk: &'d dyn Disk, path: &Path) -> Result<Copying<'d>, BeginError> {
    let failed = |source| BeginError::Io {
        file: path.to_owned(),
        source,
    };
    let is_first = make_directory(disk, path)?;
    let lock = lock_directory(disk, path)?;
    if let Some(what) = in_the_way(disk, path).map_err(failed)? {
        let path = path.to_owned();
        return Err(OpenError::NotAStore { path, what }.into());
    }
    let copying = Copying {
        disk,
        lock,
        is_first,
    };
    copying.sweep();
    copying.mark().map_err(failed)?;
    Ok(copying)
}

impl Copying<'_> {
    /// The lock, under which the copy's generation is begun.
    pub fn lock(&self) -> &WriterLock {
        &self.lock
    }

    /// Removes everything but the marker and the lock, as far as the disk lets it: CURRENT first, so that
    /// nothing that is half gone is taken for a store.
    fn sweep(&self) {
        let path = self.lock.store();
        let _ = self.disk.remove_file(&path.join(CURRENT));
        let _ = self.disk.remove_file(&path.join(CURRENT_NEXT));
        remove_generations(self.disk, path, None);
    }

    /// Writes the marker, durably.
    fn mark(&self) -> io::Result<()> {
        let path = self.lock.store();
        let marker = path.join(UNFINISHED);
        if self.disk.read(&marker).is_ok_and(|bytes| bytes == MARK) {
            // Whoever wrote it may have been killed before a sync.
            self.disk.sync_file(&marker)?;
            return self.disk.sync_dir(path);
        }
        match self.disk.remove_file(&marker) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        let mut file = self.disk.create(&marker)?;
        file.append(MARK)?;
        file.sync()?;
        self.disk.sync_dir(path)
    }

    /// The copy is whole: from now on it is a store like any other.
    pub fn finish(self) -> Result<(), BeginError> {
        let path = self.lock.store();
        let marker = path.join(UNFINISHED);
        let removed = self.disk.remove_file(&marker);
        let removed = removed.and_then(|()| self.disk.sync_dir(path));
        removed.map_err(|source| BeginError::Io {
            file: marker,
            source,
        })
    }

    /// Removes what was written, the marker last.
    pub fn give_up(self) {
        self.sweep();
        let path = self.lock.store();
        let _ = self.disk.remove_file(&path.join(UNFINISHED));
        let _ = self.disk.remove_file(&path.join(LOCK));
        if self.is_first {
            let _ = self.disk.remove_dir(path);
        }
    }
}
