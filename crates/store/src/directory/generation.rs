//! Writing a generation, and making it current.
//!
//! The order of steps is the whole point: files and their names are synced before the manifest,
//! the manifest before CURRENT names it, CURRENT's rename before anything old is removed.
//!
//! | step | a crash before it leaves |
//! |---|---|
//! | lock; make `g-N`; write and sync its files | the old store, and an unnamed `g-N` |
//! | write and sync MANIFEST; sync `g-N` and the store directory | the same |
//! | write and sync `CURRENT.next`; rename it to CURRENT | the same, perhaps with `CURRENT.next` |
//! | sync the store directory | the old store or the new one |
//! | remove older generations | the new store, and older generations |
//!
//! What such a crash leaves goes when the next load begins, before it writes anything, so that
//! loads that are killed again and again do not fill the disk. Then CURRENT must have reached the
//! medium first: were it the rename of a load that was cut off before its last sync, a power cut
//! could bring back the CURRENT before, whose generation must then be there. A reader that has read
//! a CURRENT from before finds its files missing and reads it again (see [`open`](super::open)).
//! A first load that fails removes the directory that it made.
//!
//! One writer at a time holds the lock: a load for its own time, a live store for all of its life
//! ([`lock_writer`]), in which it begins generations [under it](begin_locked). The number of a new generation is above every number found,
//! named or not, so leftovers are never written into.

use super::manifest::{FileHead, KIND_CURRENT, Manifest};
use super::open::{OpenError, is_ours, read_current};
use super::unfinished::refuse_unfinished;
use super::{CURRENT, CURRENT_NEXT, LOCK, MANIFEST, generation_name, generation_number};
use crate::disk::{AppendFile, Disk, DiskLock};
use crate::parts::{PartFiles, PartName, PartSummary};
use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Why no new generation could be begun or completed. The store is as it was.
#[derive(Debug, thiserror::Error)]
pub enum BeginError {
    /// Another writer holds the lock.
    #[error("{path}: a server that changes this store, or another load into it, is running")]
    Locked {
        /// The store.
        path: PathBuf,
    },
    /// The directory is not a store, or its store is damaged.
    #[error(transparent)]
    Store(#[from] OpenError),
    /// The disk refused.
    #[error("{file}: {source}")]
    Io {
        /// The file or directory.
        file: PathBuf,
        /// What the system said.
        source: io::Error,
    },
}

/// A generation that is being written. Dropped without [`NewGeneration::commit`], it removes what
/// it wrote, as far as the disk lets it.
pub struct NewGeneration<'d> {
    disk: &'d dyn Disk,
    store: PathBuf,
    directory: PathBuf,
    number: u64,
    previous: Option<u64>,
    /// What will stand in the manifest.
    files: Mutex<Vec<PartSummary>>,
    is_committed: bool,
    /// Whether the store's directory was made for this generation.
    is_first: bool,
    /// Held for this generation only; absent where its caller holds one.
    own_lock: Option<WriterLock>,
}

/// The right to write into a store, until it is dropped or its holder's process ends.
pub struct WriterLock {
    store: PathBuf,
    lock: Box<dyn DiskLock>,
}

impl WriterLock {
    /// The store.
    pub fn store(&self) -> &Path {
        &self.store
    }

    /// Looks whether the store is still where it was locked, and whole enough to be opened there again:
    /// the lock's file, CURRENT, and the files of the generation that it names, by name. No part of
    /// the graph is read. What cannot be looked at now (no descriptor, an error of the device) is
    /// taken to be there.
    pub fn look(&self, disk: &dyn Disk) -> Result<(), LostError> {
        let lost = |path: PathBuf| Err(LostError { path });
        let file = self.store.join(LOCK);
        if matches!(self.lock.is_at(&file), Ok(false)) {
            return lost(file);
        }
        for _ in 0..LOOKS {
            let Some(missing) = missing(disk, &self.store) else {
                return Ok(());
            };
            // A checkpoint may have removed what CURRENT named before.
            if missing.generation == generation_of(disk, &self.store) {
                return lost(missing.path);
            }
        }
        Ok(())
    }
}

/// How often a generation is looked for while checkpoints replace it.
const LOOKS: usize = 8;

/// The store is not where it was opened.
#[derive(Clone, Debug, thiserror::Error)]
#[error(
    "{path}: it was removed or replaced while the store is open, so changes would be lost and are \
     refused; put the store back in its place, then open it again"
)]
pub struct LostError {
    /// What is missing.
    pub path: PathBuf,
}

/// A file that is missing, and the generation that CURRENT named then.
struct Missing {
    path: PathBuf,
    generation: Option<u64>,
}

fn generation_of(disk: &dyn Disk, store: &Path) -> Option<u64> {
    let current = read_current(disk, store);
    current.ok().map(|current| current.generation)
}

/// The first file of the current generation that is missing.
fn missing(disk: &dyn Disk, store: &Path) -> Option<Missing> {
    let generation = match read_current(disk, store) {
        Ok(current) => current.generation,
        // It cannot be read now.
        Err(OpenError::Io { .. }) => return None,
        Err(_) => {
            let path = store.join(CURRENT);
            let generation = None;
            return Some(Missing { path, generation });
        }
    };
    let directory = store.join(generation_name(generation));
    let path = directory.join(MANIFEST);
    let generation = Some(generation);
    let is_absent = |error: &io::Error| {
        let kind = error.kind();
        matches!(kind, io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
    };
    let region = match disk.map(&path) {
        Ok(region) => region,
        Err(error) if is_absent(&error) => return Some(Missing { path, generation }),
        Err(_) => return None,
    };
    let Ok(manifest) = Manifest::from_bytes(region.bytes()) else {
        return Some(Missing { path, generation });
    };
    let names = disk.list(&directory).ok()?;
    let is_missing = |part: &&PartSummary| !names.iter().any(|name| *name == part.name);
    let part = manifest.files.iter().find(is_missing)?;
    let path = directory.join(part.name.as_ref());
    Some(Missing { path, generation })
}

/// Takes the writers' lock of the store at `path`, which must be there. Does not wait.
pub fn lock_writer(disk: &dyn Disk, path: &Path) -> Result<WriterLock, BeginError> {
    refuse_foreign(disk, path)?;
    let lock = lock_directory(disk, path)?;
    // A copy holds the lock until it is finished.
    refuse_unfinished(disk, path)?;
    Ok(lock)
}

/// Takes the lock of a directory, whatever it holds.
pub(super) fn lock_directory(disk: &dyn Disk, path: &Path) -> Result<WriterLock, BeginError> {
    let file = path.join(LOCK);
    match disk.lock(&file) {
        Ok(lock) => Ok(WriterLock {
            store: path.to_owned(),
            lock,
        }),
        Err(error) if error.kind() == io::ErrorKind::WouldBlock => Err(BeginError::Locked {
            path: path.to_owned(),
        }),
        Err(source) => Err(BeginError::Io { file, source }),
    }
}

/// Begins a new generation of the store at `path`, making the directory where it is missing (in
/// one that exists). Takes the writers' lock.
pub fn begin<'d>(disk: &'d dyn Disk, path: &Path) -> Result<NewGeneration<'d>, BeginError> {
    let is_first = make_directory(disk, path)?;
    let lock = lock_writer(disk, path)?;
    let mut begun = begin_locked(disk, &lock)?;
    begun.is_first = is_first;
    begun.own_lock = Some(lock);
    Ok(begun)
}

/// Makes a directory durably, in one that exists; false where it is there already.
pub(crate) fn make_directory(disk: &dyn Disk, path: &Path) -> Result<bool, BeginError> {
    let at = |file: &Path| {
        let file = file.to_owned();
        move |source| BeginError::Io { file, source }
    };
    match disk.create_dir(path) {
        Ok(()) => {
            let above = path.parent().filter(|above| !above.as_os_str().is_empty());
            let above = above.unwrap_or(Path::new("."));
            disk.sync_dir(above).map_err(at(above))?;
            Ok(true)
        }
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(false),
        Err(error) => Err(at(path)(error)),
    }
}

/// Begins a new generation of the store whose writers' lock the caller holds, for as long as it is
/// written.
pub fn begin_locked<'d>(
    disk: &'d dyn Disk,
    lock: &WriterLock,
) -> Result<NewGeneration<'d>, BeginError> {
    let path = lock.store();
    let at = |file: &Path| {
        let file = file.to_owned();
        move |source| BeginError::Io { file, source }
    };
    let previous = match read_current(disk, path) {
        Ok(current) => Some(current.generation),
        Err(OpenError::Missing { .. } | OpenError::Empty { .. }) => adopt(disk, path)?,
        Err(error) => return Err(error.into()),
    };
    let names = disk.list(path).map_err(at(path))?;
    let highest = names
        .iter()
        .filter_map(|name| generation_number(name))
        .chain(previous)
        .max();
    let number = highest.map_or(1, |highest| highest + 1);
    assert!(
        previous.is_none_or(|previous| previous < number),
        "a new generation has the highest number"
    );
    disk.sync_dir(path).map_err(at(path))?;
    remove_generations(disk, path, previous);
    let directory = path.join(generation_name(number));
    disk.create_dir(&directory).map_err(at(&directory))?;
    Ok(NewGeneration {
        disk,
        store: path.to_owned(),
        directory,
        number,
        previous,
        files: Mutex::default(),
        is_committed: false,
        is_first: false,
        own_lock: None,
    })
}

/// Without CURRENT the highest whole generation becomes current, if there is one: a first load that
/// was killed just before it would have been, or a store whose CURRENT somebody has lost. Otherwise
/// the next load would sweep away a whole store as if it were a leftover.
fn adopt(disk: &dyn Disk, path: &Path) -> Result<Option<u64>, BeginError> {
    let names = disk.list(path).unwrap_or_default();
    let mut numbers: Vec<u64> = names
        .iter()
        .filter_map(|name| generation_number(name))
        .collect();
    numbers.sort_unstable();
    for &number in numbers.iter().rev() {
        let directory = path.join(generation_name(number));
        let Ok(region) = disk.map(&directory.join(MANIFEST)) else {
            continue;
        };
        let bytes = region.bytes();
        let is_whole = Manifest::from_bytes(bytes).is_ok_and(|manifest| {
            manifest.generation == number
                && manifest.files.iter().all(|part| {
                    let sums = memory::block_count(part.length_bytes) * 8;
                    disk.map(&directory.join(part.name.as_ref()))
                        .is_ok_and(|file| file.len() as u64 == part.length_bytes + sums)
                })
        });
        if is_whole {
            make_current(disk, path, number, bytes)?;
            return Ok(Some(number));
        }
    }
    Ok(None)
}

/// Writes CURRENT beside its name, renames it and makes that durable.
fn make_current(
    disk: &dyn Disk,
    store: &Path,
    number: u64,
    manifest: &[u8],
) -> Result<(), BeginError> {
    let (next, current) = (store.join(CURRENT_NEXT), store.join(CURRENT));
    let head = FileHead::new(KIND_CURRENT, number, manifest);
    let _ = disk.remove_file(&next);
    let written = disk.create(&next).and_then(|mut file| {
        file.append(bytemuck::bytes_of(&head))?;
        file.sync()?;
        disk.rename(&next, &current)?;
        disk.sync_dir(store)
    });
    written.map_err(|source| BeginError::Io {
        file: current,
        source,
    })
}

/// A directory that holds other things and no store is left alone.
fn refuse_foreign(disk: &dyn Disk, path: &Path) -> Result<(), BeginError> {
    let names = disk.list(path).map_err(|source| match source.kind() {
        io::ErrorKind::NotADirectory => {
            let what = "it is a file".to_owned();
            BeginError::Store(OpenError::NotAStore {
                path: path.to_owned(),
                what,
            })
        }
        io::ErrorKind::NotFound => BeginError::Store(OpenError::Missing {
            path: path.to_owned(),
        }),
        _ => BeginError::Io {
            file: path.to_owned(),
            source,
        },
    })?;
    if names.iter().any(|name| name == CURRENT) {
        return Ok(());
    }
    match names.iter().find(|name| !is_ours(name)) {
        None => Ok(()),
        Some(name) => {
            let what = format!("it has no {CURRENT}, but other things such as {name}");
            Err(BeginError::Store(OpenError::NotAStore {
                path: path.to_owned(),
                what,
            }))
        }
    }
}

impl NewGeneration<'_> {
    /// The generation that was current when this one was begun.
    pub fn previous(&self) -> Option<u64> {
        self.previous
    }

    /// The directory of this generation, for temporary files of the load: whatever is neither
    /// completed nor removed goes with the next load.
    pub fn directory(&self) -> &Path {
        &self.directory
    }

    /// Makes this generation current: the whole of it or nothing. Older ones are removed as far as
    /// the disk lets it. An error leaves the old store, except that after a failed last sync either
    /// may be found after a power cut.
    pub fn commit(mut self, counts: BTreeMap<String, u64>) -> Result<Manifest, BeginError> {
        let mut files = self.lock_files().clone();
        files.sort_by(|a, b| a.name.cmp(&b.name));
        let manifest = Manifest {
            generation: self.number,
            counts,
            files,
        };
        let bytes = manifest.to_bytes();
        self.write(&self.directory.join(MANIFEST), &bytes)?;
        self.sync_dir(&self.directory)?;
        self.sync_dir(&self.store)?;
        let next = self.store.join(CURRENT_NEXT);
        match self.disk.remove_file(&next) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                return Err(BeginError::Io {
                    file: next,
                    source: error,
                });
            }
            _ => {}
        }
        let head = FileHead::new(KIND_CURRENT, self.number, &bytes);
        self.write(&next, bytemuck::bytes_of(&head))?;
        let current = self.store.join(CURRENT);
        if let Err(source) = self.disk.rename(&next, &current) {
            self.is_committed = self.may_be_current();
            return Err(BeginError::Io {
                file: current,
                source,
            });
        }
        // From the rename on the new generation may be found, so it must stay.
        self.is_committed = true;
        self.sync_dir(&self.store)?;
        remove_generations(self.disk, &self.store, Some(self.number));
        Ok(manifest)
    }

    fn lock_files(&self) -> MutexGuard<'_, Vec<PartSummary>> {
        self.files.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn write(&self, path: &Path, bytes: &[u8]) -> Result<(), BeginError> {
        let written = self.disk.create(path).and_then(|mut file| {
            file.append(bytes)?;
            file.sync()
        });
        written.map_err(|source| BeginError::Io {
            file: path.to_owned(),
            source,
        })
    }

    fn sync_dir(&self, path: &Path) -> Result<(), BeginError> {
        let synced = self.disk.sync_dir(path);
        synced.map_err(|source| BeginError::Io {
            file: path.to_owned(),
            source,
        })
    }

    /// Whether CURRENT names this generation after a rename that failed: a network's file system
    /// may have done what it says it did not. Where CURRENT cannot be read it may.
    fn may_be_current(&self) -> bool {
        match read_current(self.disk, &self.store) {
            Ok(current) => current.generation == self.number,
            Err(OpenError::Missing { .. } | OpenError::Empty { .. }) => false,
            Err(_) => true,
        }
    }
}

/// Removes every generation but this one. What cannot be removed is left for the next load.
pub(super) fn remove_generations(disk: &dyn Disk, store: &Path, kept: Option<u64>) {
    for name in disk.list(store).unwrap_or_default() {
        if generation_number(&name).is_some_and(|number| Some(number) != kept) {
            remove_directory(disk, &store.join(name));
        }
    }
}

fn remove_directory(disk: &dyn Disk, directory: &Path) {
    for name in disk.list(directory).unwrap_or_default() {
        let _ = disk.remove_file(&directory.join(name));
    }
    let _ = disk.remove_dir(directory);
}

impl Drop for NewGeneration<'_> {
    fn drop(&mut self) {
        if self.is_committed {
            return;
        }
        remove_directory(self.disk, &self.directory);
        let _ = self.disk.remove_file(&self.store.join(CURRENT_NEXT));
        if self.is_first {
            // The lock is still held, so nobody else has begun anything here.
            let _ = self.disk.remove_file(&self.store.join(LOCK));
            let _ = self.disk.remove_dir(&self.store);
        }
    }
}

impl PartFiles for NewGeneration<'_> {
    fn create(&self, name: &PartName) -> io::Result<Box<dyn AppendFile>> {
        self.disk.create(&self.directory.join(name.as_ref()))
    }

    fn completed(&self, part: PartSummary) {
        let mut files = self.lock_files();
        assert!(
            files.iter().all(|known| known.name != part.name),
            "a part is completed once"
        );
        files.push(part);
    }
}
