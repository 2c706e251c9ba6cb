//! A disk in memory that fails as told, and forgets at a power cut what a real one may forget.
//!
//! It keeps two pictures: what programs see, and what has certainly reached the medium. A power cut
//! leaves the second and, chosen by the seed, any part of the difference:
//!
//! - of bytes appended since the last sync of a file: none, a prefix, or the length of a prefix with
//!   any of its sectors never written (zeros), or as they were after an earlier one of the appends:
//!   so appends reach the medium in any order, sector by sector;
//! - of a sector that was overwritten since the last sync of its file: what it was then, or after any of
//!   the writes;
//! - of a cut since the last sync of a file: the cut, or the bytes before it;
//! - of names changed since the last sync of a directory: any subset, in order.
//!
//! Everything follows from the seed and the calls, so a failing case is replayed by its seed and
//! the number of the call. Who may touch what: one mutex around all state.

use super::{AppendFile, Disk, DiskLock, Reserve, SECTOR_BYTES, SectorFile};
use memory::Region;
use rand_xoshiro::SplitMix64;
use rand_xoshiro::rand_core::{Rng, SeedableRng};
use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// What shall go wrong. Calls and syncs are counted from 1; every call of the disk and of its files
/// counts.
#[derive(Clone, Debug, Default)]
pub struct SimFaults {
    /// Power is cut instead of this call, and every later call fails.
    pub power_cut_at_call: Option<u64>,
    /// Power is cut instead of this sync, of a file or of a directory.
    pub power_cut_at_sync: Option<u64>,
    /// This call fails with this error and does nothing.
    pub error_at_call: Option<(u64, io::ErrorKind)>,
    /// Bytes that fit; an append beyond is cut short and fails.
    pub capacity_bytes: Option<u64>,
    /// Descriptors that are free for open files and for the calls that need one for a moment; a call that
    /// finds none fails as one of a process that has run out of them.
    pub descriptors: Option<usize>,
}

/// `EMFILE`.
const OUT_OF_DESCRIPTORS: i32 = 24;

/// A simulated disk. Clones are handles of the same disk.
#[derive(Clone)]
pub struct SimDisk {
    state: Arc<Mutex<State>>,
}

struct State {
    numbers: SplitMix64,
    faults: SimFaults,
    calls: u64,
    syncs: u64,
    used_bytes: u64,
    is_off: bool,
    files: Vec<FileState>,
    /// What programs see.
    names: BTreeMap<PathBuf, Entry>,
    /// What is certainly on the medium.
    durable: BTreeMap<PathBuf, Entry>,
    /// Changes of names that are not, in order, each with its directory.
    pending: Vec<(PathBuf, NameChange)>,
    locked: BTreeSet<PathBuf>,
    /// Descriptors of open files, locks and reserves.
    open: usize,
}

#[derive(Clone, Default)]
struct FileState {
    bytes: Vec<u8>,
    /// The bytes before a cut that may not have reached the medium.
    before_cut: Option<Vec<u8>>,
    synced_bytes: usize,
    /// Lengths after each append since the last sync.
    appended: Vec<usize>,
    /// What sectors were before each time that they were overwritten since the last sync.
    overwritten: BTreeMap<usize, Vec<Vec<u8>>>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Entry {
    Dir,
    /// Index in `State::files`.
    File(usize),
}

#[derive(Clone)]
enum NameChange {
    Add(PathBuf, Entry),
    Remove(PathBuf),
    Rename {
        from: PathBuf,
        to: PathBuf,
        entry: Entry,
    },
}

struct SimFile {
    disk: SimDisk,
    file: usize,
}

struct SimSectors {
    disk: SimDisk,
    file: usize,
}

struct SimLock {
    disk: SimDisk,
    path: PathBuf,
    /// Index in `State::files`.
    file: usize,
}

struct SimReserve {
    disk: SimDisk,
    descriptors: usize,
}

impl Reserve for SimReserve {}

impl Drop for SimReserve {
    fn drop(&mut self) {
        self.disk.lock_state().open -= self.descriptors;
    }
}

impl Drop for SimFile {
    fn drop(&mut self) {
        self.disk.lock_state().open -= 1;
    }
}

impl SimDisk {
    /// An empty disk with the directory `root`. Equal seeds and calls give equal disks.
    pub fn new(seed: u64, root: &Path, faults: SimFaults) -> SimDisk {
        let root: BTreeMap<PathBuf, Entry> = root
            .ancestors()
            .map(|path| (path.to_owned(), Entry::Dir))
            .collect();
        SimDisk {
            state: Arc::new(Mutex::new(State {
                numbers: SplitMix64::seed_from_u64(seed),
                faults,
                calls: 0,
                syncs: 0,
                used_bytes: 0,
                is_off: false,
                files: Vec::new(),
                names: root.clone(),
                durable: root,
                pending: Vec::new(),
                locked: BTreeSet::new(),
                open: 0,
            })),
        }
    }

    /// Calls so far.
    pub fn calls(&self) -> u64 {
        self.lock_state().calls
    }

    /// Syncs so far.
    pub fn syncs(&self) -> u64 {
        self.lock_state().syncs
    }

    /// Bytes that all files hold.
    pub fn used_bytes(&self) -> u64 {
        self.lock_state().used_bytes
    }

    /// Whether there is a file or a directory of this name.
    pub fn exists(&self, path: &Path) -> bool {
        self.lock_state().names.contains_key(path)
    }

    /// Whether the power has been cut.
    pub fn is_off(&self) -> bool {
        self.lock_state().is_off
    }

    /// The disk as it is found after power came back, whether it was cut by a fault or is cut by
    /// this call; with new faults, and counting from 0 again.
    #[must_use]
    pub fn restart(&self, faults: SimFaults) -> SimDisk {
        let mut old = self.lock_state();
        old.is_off = true;
        let (names, files) = old.survivors();
        let used_bytes = files.iter().map(|file| file.bytes.len() as u64).sum();
        let numbers = SplitMix64::seed_from_u64(old.numbers.next_u64());
        SimDisk {
            state: Arc::new(Mutex::new(State {
                numbers,
                faults,
                calls: 0,
                syncs: 0,
                used_bytes,
                is_off: false,
                files,
                durable: names.clone(),
                names,
                pending: Vec::new(),
                locked: BTreeSet::new(),
                open: 0,
            })),
        }
    }

    /// Overwrites one byte of a file as a failing medium would, for tests of damage. False where
    /// there is no such byte.
    pub fn damage(&self, path: &Path, offset: usize, flip: u8) -> bool {
        let mut state = self.lock_state();
        let Some(&Entry::File(file)) = state.names.get(path) else {
            return false;
        };
        match state.files[file].bytes.get_mut(offset) {
            Some(byte) => {
                *byte ^= flip;
                true
            }
            None => false,
        }
    }

    /// Cuts a file to a length as a failing file system would, for tests of damage.
    pub fn truncate(&self, path: &Path, length_bytes: usize) -> bool {
        let mut state = self.lock_state();
        let Some(&Entry::File(file)) = state.names.get(path) else {
            return false;
        };
        state.files[file].bytes.truncate(length_bytes);
        true
    }

    /// Says what shall go wrong from now on. Calls are counted on.
    pub fn set_faults(&self, faults: SimFaults) {
        self.lock_state().faults = faults;
    }

    fn lock_state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Counts a call; fails where a fault says so.
    fn call(&self, is_sync: bool) -> io::Result<MutexGuard<'_, State>> {
        let mut state = self.lock_state();
        if state.is_off {
            return Err(io::Error::other("the power is cut"));
        }
        state.calls += 1;
        state.syncs += u64::from(is_sync);
        let cut_here = state.faults.power_cut_at_call == Some(state.calls)
            || (is_sync && state.faults.power_cut_at_sync == Some(state.syncs));
        if cut_here {
            state.is_off = true;
            return Err(io::Error::other("the power is cut"));
        }
        match state.faults.error_at_call {
            Some((call, kind)) if call == state.calls => Err(kind.into()),
            _ => Ok(state),
        }
    }
}

impl FileState {
    fn sync(&mut self) {
        self.synced_bytes = self.bytes.len();
        self.appended.clear();
        self.overwritten.clear();
        self.before_cut = None;
    }
}

impl State {
    fn survivors(&mut self) -> (BTreeMap<PathBuf, Entry>, Vec<FileState>) {
        let mut names = self.durable.clone();
        for (_, change) in std::mem::take(&mut self.pending) {
            if self.numbers.next_u64().is_multiple_of(2) {
                apply(&mut names, change);
            }
        }
        let lost: Vec<PathBuf> = names
            .keys()
            .filter(|path| {
                path.ancestors()
                    .any(|above| names.get(above) != Some(&Entry::Dir) && above != *path)
            })
            .cloned()
            .collect();
        for path in lost {
            names.remove(&path);
        }
        let files = (0..self.files.len())
            .map(|file| self.surviving_bytes(file))
            .collect();
        (names, files)
    }

    fn surviving_bytes(&mut self, file: usize) -> FileState {
        let before_cut = self.files[file].before_cut.take();
        let mut bytes = match before_cut {
            Some(bytes) if self.numbers.next_u64().is_multiple_of(2) => bytes,
            _ => self.files[file].bytes.clone(),
        };
        let appended = std::mem::take(&mut self.files[file].appended);
        let synced = self.files[file].synced_bytes.min(bytes.len());
        let unsynced = bytes.len() - synced;
        let kind = self.numbers.next_u64() % 4;
        if kind == 0 {
            bytes.truncate(synced);
        } else if kind % 2 == 1 {
            bytes.truncate(synced + self.numbers.next_u64() as usize % (unsynced + 1));
        }
        if kind > 1 {
            self.lose_sectors(&mut bytes, synced, &appended);
        }
        for (sector, before) in std::mem::take(&mut self.files[file].overwritten) {
            let chosen = self.numbers.next_u64() as usize % (before.len() + 1);
            if let Some(old) = before.get(chosen) {
                let start = sector * SECTOR_BYTES;
                bytes[start..start + old.len()].copy_from_slice(old);
            }
        }
        FileState {
            synced_bytes: bytes.len(),
            bytes,
            ..FileState::default()
        }
    }

    /// Leaves each sector whole, never written, or as it was after an earlier append.
    fn lose_sectors(&mut self, bytes: &mut [u8], synced: usize, appended: &[usize]) {
        let mut start = synced;
        while start < bytes.len() {
            let end = (start + 1).next_multiple_of(SECTOR_BYTES).min(bytes.len());
            let states: Vec<usize> = appended
                .iter()
                .copied()
                .filter(|length| (start + 1..end).contains(length))
                .chain([start, end])
                .collect();
            let kept = states[self.numbers.next_u64() as usize % states.len()];
            bytes[kept..end].fill(0);
            start = end;
        }
    }

    fn change(&mut self, directory: &Path, change: NameChange) {
        apply(&mut self.names, change.clone());
        self.pending.push((directory.to_owned(), change));
    }

    /// Fails where no more descriptors are to be had.
    fn require_descriptors(&self, count: usize) -> io::Result<()> {
        match self.faults.descriptors {
            Some(most) if self.open + count > most => {
                Err(io::Error::from_raw_os_error(OUT_OF_DESCRIPTORS))
            }
            _ => Ok(()),
        }
    }

    fn require_dir(&self, path: &Path) -> io::Result<()> {
        match self.names.get(path) {
            Some(Entry::Dir) => Ok(()),
            Some(Entry::File(_)) => Err(io::ErrorKind::NotADirectory.into()),
            None => Err(io::ErrorKind::NotFound.into()),
        }
    }

    fn require_file(&self, path: &Path) -> io::Result<usize> {
        match self.names.get(path) {
            Some(&Entry::File(file)) => Ok(file),
            Some(Entry::Dir) => Err(io::ErrorKind::IsADirectory.into()),
            None => Err(io::ErrorKind::NotFound.into()),
        }
    }

    fn children(&self, path: &Path) -> impl Iterator<Item = &PathBuf> {
        self.names
            .keys()
            .filter(move |name| name.parent() == Some(path) && *name != path)
    }
}

fn apply(names: &mut BTreeMap<PathBuf, Entry>, change: NameChange) {
    match change {
        NameChange::Add(path, entry) => {
            names.insert(path, entry);
        }
        NameChange::Remove(path) => {
            names.remove(&path);
        }
        NameChange::Rename { from, to, entry } => {
            names.remove(&from);
            names.insert(to, entry);
        }
    }
}

fn parent(path: &Path) -> &Path {
    path.parent().unwrap_or(Path::new(""))
}

impl Disk for SimDisk {
    fn create_dir(&self, path: &Path) -> io::Result<()> {
        let mut state = self.call(false)?;
        state.require_dir(parent(path))?;
        if state.names.contains_key(path) {
            return Err(io::ErrorKind::AlreadyExists.into());
        }
        state.change(parent(path), NameChange::Add(path.to_owned(), Entry::Dir));
        Ok(())
    }

    fn create(&self, path: &Path) -> io::Result<Box<dyn AppendFile>> {
        let mut state = self.call(false)?;
        state.require_dir(parent(path))?;
        if state.names.contains_key(path) {
            return Err(io::ErrorKind::AlreadyExists.into());
        }
        state.require_descriptors(1)?;
        state.open += 1;
        let file = state.files.len();
        state.files.push(FileState::default());
        state.change(
            parent(path),
            NameChange::Add(path.to_owned(), Entry::File(file)),
        );
        Ok(Box::new(SimFile {
            disk: self.clone(),
            file,
        }))
    }

    fn map(&self, path: &Path) -> io::Result<Region> {
        let state = self.call(false)?;
        let file = state.require_file(path)?;
        state.require_descriptors(1)?;
        Region::heap(&state.files[file].bytes)
    }

    fn read(&self, path: &Path) -> io::Result<Vec<u8>> {
        let state = self.call(false)?;
        let file = state.require_file(path)?;
        state.require_descriptors(1)?;
        Ok(state.files[file].bytes.clone())
    }

    fn open_sectors(&self, path: &Path) -> io::Result<Box<dyn SectorFile>> {
        let mut state = self.call(false)?;
        let file = state.require_file(path)?;
        state.require_descriptors(1)?;
        state.open += 1;
        Ok(Box::new(SimSectors {
            disk: self.clone(),
            file,
        }))
    }

    fn sync_file(&self, path: &Path) -> io::Result<()> {
        let mut state = self.call(true)?;
        let file = state.require_file(path)?;
        state.require_descriptors(1)?;
        state.files[file].sync();
        Ok(())
    }

    fn list(&self, path: &Path) -> io::Result<Vec<String>> {
        let state = self.call(false)?;
        state.require_dir(path)?;
        state.require_descriptors(1)?;
        let names = state.children(path).filter_map(|name| name.file_name());
        Ok(names
            .map(|name| name.to_string_lossy().into_owned())
            .collect())
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        let mut state = self.call(false)?;
        let entry = Entry::File(state.require_file(from)?);
        let change = NameChange::Rename {
            from: from.to_owned(),
            to: to.to_owned(),
            entry,
        };
        state.change(parent(from), change);
        Ok(())
    }

    fn remove_file(&self, path: &Path) -> io::Result<()> {
        let mut state = self.call(false)?;
        let file = state.require_file(path)?;
        state.used_bytes -= state.files[file].bytes.len() as u64;
        state.change(parent(path), NameChange::Remove(path.to_owned()));
        Ok(())
    }

    fn remove_dir(&self, path: &Path) -> io::Result<()> {
        let mut state = self.call(false)?;
        state.require_dir(path)?;
        if state.children(path).next().is_some() {
            return Err(io::ErrorKind::DirectoryNotEmpty.into());
        }
        state.change(parent(path), NameChange::Remove(path.to_owned()));
        Ok(())
    }

    fn sync_dir(&self, path: &Path) -> io::Result<()> {
        let mut state = self.call(true)?;
        state.require_dir(path)?;
        state.require_descriptors(1)?;
        let pending = std::mem::take(&mut state.pending);
        let (done, pending) = pending
            .into_iter()
            .partition(|(directory, _)| directory == path);
        state.pending = pending;
        for (_, change) in done {
            apply(&mut state.durable, change);
        }
        Ok(())
    }

    fn lock(&self, path: &Path) -> io::Result<Box<dyn DiskLock>> {
        let mut state = self.call(false)?;
        state.require_dir(parent(path))?;
        if !state.names.contains_key(path) {
            let file = state.files.len();
            state.files.push(FileState::default());
            state.change(
                parent(path),
                NameChange::Add(path.to_owned(), Entry::File(file)),
            );
        }
        state.require_descriptors(1)?;
        if !state.locked.insert(path.to_owned()) {
            return Err(io::ErrorKind::WouldBlock.into());
        }
        state.open += 1;
        let file = state.require_file(path)?;
        Ok(Box::new(SimLock {
            disk: self.clone(),
            path: path.to_owned(),
            file,
        }))
    }

    fn reserve(&self, descriptors: usize) -> io::Result<Box<dyn Reserve>> {
        let mut state = self.lock_state();
        state.require_descriptors(descriptors)?;
        state.open += descriptors;
        Ok(Box::new(SimReserve {
            disk: self.clone(),
            descriptors,
        }))
    }
}

impl AppendFile for SimFile {
    fn append(&mut self, bytes: &[u8]) -> io::Result<()> {
        let mut state = self.disk.call(false)?;
        let room = state.faults.capacity_bytes.map_or(u64::MAX, |capacity| {
            capacity.saturating_sub(state.used_bytes)
        });
        let fitting = bytes.len().min(usize::try_from(room).unwrap_or(usize::MAX));
        state.files[self.file]
            .bytes
            .extend_from_slice(&bytes[..fitting]);
        state.used_bytes += fitting as u64;
        let file = &mut state.files[self.file];
        file.appended.push(file.bytes.len());
        if fitting < bytes.len() {
            return Err(io::ErrorKind::StorageFull.into());
        }
        Ok(())
    }

    fn sync(&mut self) -> io::Result<()> {
        let mut state = self.disk.call(true)?;
        state.files[self.file].sync();
        Ok(())
    }

    fn cut(&mut self, length_bytes: u64) -> io::Result<()> {
        let mut state = self.disk.call(false)?;
        let file = &mut state.files[self.file];
        let length = usize::try_from(length_bytes).unwrap_or(usize::MAX);
        let freed = file.bytes.len().saturating_sub(length);
        file.before_cut = Some(file.bytes.clone());
        file.bytes.truncate(length);
        file.synced_bytes = file.synced_bytes.min(length);
        state.used_bytes -= freed as u64;
        Ok(())
    }

    fn is_at(&self, path: &Path) -> io::Result<bool> {
        let state = self.disk.call(false)?;
        Ok(state.names.get(path) == Some(&Entry::File(self.file)))
    }
}

impl SectorFile for SimSectors {
    fn write(&mut self, sector: usize, bytes: &[u8]) -> io::Result<()> {
        let mut state = self.disk.call(false)?;
        let file = &mut state.files[self.file];
        let start = sector * SECTOR_BYTES;
        let end = (start + SECTOR_BYTES).min(file.bytes.len());
        if bytes.len() > end.saturating_sub(start) || end > file.synced_bytes {
            return Err(io::Error::other("sectors are overwritten where they are"));
        }
        let before = file.bytes[start..end].to_vec();
        file.overwritten.entry(sector).or_default().push(before);
        file.bytes[start..start + bytes.len()].copy_from_slice(bytes);
        Ok(())
    }

    fn sync(&mut self) -> io::Result<()> {
        let mut state = self.disk.call(true)?;
        state.files[self.file].sync();
        Ok(())
    }
}

impl Drop for SimSectors {
    fn drop(&mut self) {
        self.disk.lock_state().open -= 1;
    }
}

impl DiskLock for SimLock {
    fn is_at(&self, path: &Path) -> io::Result<bool> {
        let state = self.disk.call(false)?;
        Ok(state.names.get(path) == Some(&Entry::File(self.file)))
    }
}

impl Drop for SimLock {
    fn drop(&mut self) {
        let mut state = self.disk.lock_state();
        state.locked.remove(&self.path);
        state.open -= 1;
    }
}

#[cfg(test)]
mod tests;
