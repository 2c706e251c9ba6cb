//! The files of a log being written.
//!
//! ```text
//! append ──> buffer ──┐                    one thread at a time has the file; while it
//! append ──> buffer ──┤ (one write, one    writes and syncs, others append to the buffer
//! append ──> buffer ──┘  sync for all)     and wait for the next turn
//! ```
//!
//! **Group commit.** Appending copies into a buffer. The first who wants to have something durable
//! takes the file and the buffer, writes once, syncs once, and wakes everybody: whoever was covered
//! goes, and one of the others is next (leader and follower; no thread of its own). Left to itself
//! this alternates between groups of 1 and of *n* - 1: who was covered is not yet back when the next
//! leader begins. So a leader waits until as many wait as did in the larger of the last two groups,
//! for a bounded time ([`OpenOptions::gather`]), and not at all where that is reached.
//!
//! **A record larger than the buffer** goes to the file in pieces, by its own thread, which then has
//! the file alone. Pieces end at the borders of sectors, so that no sector of a frame is written
//! in two states (`scan` relies on it).
//!
//! **Files** are begun when they are needed: written under another name, synced and renamed, after
//! everything before is durable. No space is reserved: on the disks that were measured
//! (`docs/formats/log.md`) a sync costs the same with and without. How: [`begin`].
//!
//! **The count** of durable records ([`durable`](super::durable)) is written after each sync and before
//! anybody is told of it.
//!
//! **Who touches what.** All of `State` is touched with its lock.
//!
//! | field | written by | read by |
//! |---|---|---|
//! | `file`, and the open file in it | whoever takes it, and gives it back; in the hands of that thread meanwhile, without the lock | whoever appends or wants to have something durable |
//! | `buffer`, `next`, `begun` | whoever appends; emptied by whoever has the file | the same |
//! | `durable`, `synced_end` | whoever has the file, after its sync | any thread |
//! | `counted` | whoever rests or closes | the same |
//! | `callers`, `groups`, `wanted` | whoever wants to have something durable | a leader that gathers |
//! | `failed`, `given_up` | whoever has the file and fails; `resume` | any thread |
//! | `turned` | told by whoever gives the file back or fails | whoever waits for the file or for durability |
//! | `gathered` | told by the last of those whom a leader waits for | that leader |
//! | `is_dead` | a thread that panics with the file, once | any thread |
//!
//! **What fails, and what comes of it.**
//!
//! | what | so |
//! |---|---|
//! | a file cannot be begun (no descriptor, no space, an error of the device) | the append that needs it fails; the next one tries again |
//! | a write fails (no space) | the records that are not durable are given up: the file is cut to where it is durable and ended there; after [`Log::resume`] the next record begins a file |
//! | a sync fails | nothing is written any more, until the log is opened again |
//! | a synced file is not the one that its path names | the same: the next start would not find it |
//!
//! A failed write harms nothing that is durable, and the head of the next file says where the file before
//! ends, as behind any torn tail; the cut only gives the space back. After a failed sync a kernel
//! may drop what it could not write, and say so once ("fsyncgate"): of the sector that holds the last
//! durable record, too. What the file then holds is found at the next open.
//!
//! **A reserve of descriptors** is held for the beginning of a file, and let go where the process has
//! run out of them: the file needs two for a moment and one for good. A file that is
//! created ahead of need would have to be named and removed again, and the folder's sync needs a
//! descriptor even so. Another thread may be faster; then that append fails, and the next one tries again.

mod begin;
mod order;
#[cfg(test)]
mod tests;

use super::durable::{Count, CountFile, DURABLE};
use super::format::{Frame, SECTOR_BYTES};
use super::names::file_name;
use super::recover::{Chain, Kept, OpenOptions, Recovery, chain, cut_away, replay};
use super::{LOG, Log, LogError, LogFigures};
use crate::disk::{AppendFile, Disk, Reserve};
use std::collections::VecDeque;
use std::io;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

/// Bytes of frames that wait for a write; a record that does not fit is written by its thread.
const BUFFER_BYTES: usize = 1 << 20;
const _: () = assert!(BUFFER_BYTES as u64 >= 2 * SECTOR_BYTES, "a sector fits");

/// Descriptors that are held for the beginning of a file.
const RESERVE: usize = 8;

/// A log in files of one folder. Dropping it writes nothing: what was not synced may be lost.
pub struct FileLog {
    disk: Arc<dyn Disk>,
    store: PathBuf,
    folder: PathBuf,
    options: OpenOptions,
    state: Mutex<State>,
    /// The file is free again, or more is durable, or the log is read-only.
    turned: Condvar,
    /// Enough have come for a leader who waits.
    gathered: Condvar,
    /// A thread died while it had the file.
    is_dead: AtomicBool,
}

struct State {
    /// Files that nobody appends to, oldest first.
    sealed: VecDeque<Kept>,
    file: LogFileState,
    /// The file being appended to: what its head says.
    begun: Kept,
    /// How much of it is known to be durable.
    synced_end: u64,
    /// Frames that are not written yet; `begun.end` counts them.
    buffer: Vec<u8>,
    /// Emptied, to be the next buffer.
    spare: Vec<u8>,
    next: u64,
    durable: u64,
    /// What the count beside the log says durably, where that is known.
    counted: Option<Count>,
    /// The first record that is promised to be there.
    oldest: u64,
    /// Threads in [`Log::sync`] for whom nobody has synced yet.
    callers: u64,
    /// How many the last two syncs were for.
    groups: [u64; 2],
    /// How many a leader waits for.
    wanted: Option<u64>,
    failed: Option<Failure>,
    /// How often records were given up, and why the last time.
    given_up: (u64, Option<LogError>),
    /// Whether the folder's name is known to be durable.
    is_folder_synced: bool,
    reserve: Option<Box<dyn Reserve>>,
    records: u64,
    payload_bytes: u64,
    syncs: u64,
}

/// Why nothing is written.
enum Failure {
    /// Records were given up, and whoever appended them has not [resumed](Log::resume).
    GivenUp,
    /// Until the log is opened again.
    Final(Arc<str>),
}

/// Why the buffer is not on the medium.
enum Unwritten {
    /// It was not written, or not whole.
    Write(io::Error),
    /// Whether it is there is not known.
    Sync(io::Error),
    /// It is in a file that nobody will find.
    Gone,
}

/// Where the file is.
enum LogFileState {
    /// There is none: the next record begins one.
    None,
    Here(Open),
    /// Somebody syncs; the buffer may be appended to.
    Syncing,
    /// Somebody writes or changes files; nothing may be appended.
    Taken,
}

/// The file being appended to, and the count beside the log.
struct Open {
    file: Box<dyn AppendFile>,
    count: CountFile,
}

/// The file in the hands of one thread. Dropped without [`Turn::done`], the log is read-only.
struct Turn<'l> {
    log: &'l FileLog,
    open: Option<Open>,
    is_done: bool,
}

impl Turn<'_> {
    /// Gives the file back and wakes everybody.
    fn done(mut self, state: &mut State) {
        state.assert_order();
        state.file = self
            .open
            .take()
            .map_or(LogFileState::None, LogFileState::Here);
        self.is_done = true;
        self.log.turned.notify_all();
    }
}

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        if !self.is_done {
            // Only where that thread panicked, perhaps with the state locked: so without a lock.
            self.log.is_dead.store(true, Ordering::SeqCst);
            self.log.turned.notify_all();
        }
    }
}

impl FileLog {
    /// Opens the log of a store whose checkpoint holds every record below `first`. The caller holds
    /// the writers' lock. Records from `first` on are to be [read](Log::read) and applied.
    pub fn open(
        disk: Arc<dyn Disk>,
        store: &Path,
        first: u64,
    ) -> Result<(FileLog, Recovery), LogError> {
        FileLog::open_with(disk, store, first, OpenOptions::default())
    }

    /// Opens the log with options.
    pub fn open_with(
        disk: Arc<dyn Disk>,
        store: &Path,
        first: u64,
        options: OpenOptions,
    ) -> Result<(FileLog, Recovery), LogError> {
        let folder = store.join(LOG);
        let first = first.max(1);
        let chain = chain(&*disk, store, first, options.accept_damage)?;
        let is_cut = chain.is_damaged();
        let Chain {
            files,
            next,
            recovery,
            cut,
            count,
        } = chain;
        if let Some(last) = files.last().filter(|last| last.end > 0) {
            let path = folder.join(file_name(last.first));
            disk.sync_file(&path).map_err(LogError::io(&path))?;
            disk.sync_dir(&folder).map_err(LogError::io(&folder))?;
            if !is_cut && count.is_some_and(|count| count.durable < next - 1) {
                // A writer was killed between a sync and its count. Who follows the log is to see what is
                // shown here; a count that cannot be written knows less, and harms nothing.
                let found = Count::of(next - 1, last.first);
                drop(CountFile::open(&*disk, store, found));
            }
        }
        cut_away(&*disk, &folder, &cut)?;
        assert!(next >= first, "a log goes on behind the checkpoint");
        let log = FileLog {
            disk,
            store: store.to_owned(),
            folder,
            options,
            state: Mutex::new(State {
                sealed: files.into(),
                file: LogFileState::None,
                begun: Kept::default(),
                synced_end: 0,
                buffer: Vec::new(),
                spare: Vec::new(),
                next,
                counted: count,
                durable: next - 1,
                oldest: first,
                callers: 0,
                groups: [0; 2],
                wanted: None,
                failed: None,
                given_up: (0, None),
                is_folder_synced: false,
                reserve: None,
                records: 0,
                payload_bytes: 0,
                syncs: 0,
            }),
            turned: Condvar::new(),
            gathered: Condvar::new(),
            is_dead: AtomicBool::new(false),
        };
        if is_cut {
            // So that the next open finds no damage.
            let (mut state, turn) = log.take(log.lock())?;
            log.begin_file(&mut state, turn)?.done(&mut state);
        }
        Ok((log, recovery))
    }

    /// Ends the file being written, so that all records so far can be trimmed by whole files. They
    /// are durable then.
    pub fn rotate(&self) -> Result<(), LogError> {
        let (mut state, turn) = self.take(self.lock())?;
        self.seal(&mut state, turn)?.done(&mut state);
        Ok(())
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn wait<'s>(&self, state: MutexGuard<'s, State>) -> MutexGuard<'s, State> {
        let woken = self.turned.wait(state);
        woken.unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits for the file and takes it, or finds that there is none. Nobody appends until it is
    /// given back.
    fn take<'l>(
        &'l self,
        mut state: MutexGuard<'l, State>,
    ) -> Result<(MutexGuard<'l, State>, Turn<'l>), LogError> {
        loop {
            self.check(&state)?;
            if matches!(state.file, LogFileState::None | LogFileState::Here(_)) {
                break;
            }
            state = self.wait(state);
        }
        let open = match std::mem::replace(&mut state.file, LogFileState::Taken) {
            LogFileState::Here(open) => Some(open),
            _ => None,
        };
        let turn = Turn {
            log: self,
            open,
            is_done: false,
        };
        Ok((state, turn))
    }

    /// Whether anything may still be written.
    fn check(&self, state: &State) -> Result<(), LogError> {
        if let Some(cause) = self.refusal(state) {
            return Err(LogError::ReadOnly { cause });
        }
        match (&state.failed, &state.given_up.1) {
            (Some(Failure::GivenUp), Some(error)) => Err(error.clone()),
            _ => Ok(()),
        }
    }

    /// Why nothing is written until the log is opened again.
    fn refusal(&self, state: &State) -> Option<Arc<str>> {
        match &state.failed {
            Some(Failure::Final(cause)) => Some(Arc::clone(cause)),
            _ if self.is_dead.load(Ordering::SeqCst) => Some("a thread died while it wrote".into()),
            _ => None,
        }
    }

    /// Notes why nothing is written any more.
    fn fail(&self, state: &mut State, error: LogError) -> LogError {
        state.failed = Some(Failure::Final(error.to_string().into()));
        self.turned.notify_all();
        error
    }

    /// Ends the turn of whoever could not write.
    fn unwritten(&self, state: &mut State, mut turn: Turn<'_>, why: Unwritten) -> LogError {
        let path = self.path(state.begun.first);
        match why {
            Unwritten::Write(source) => FileLog::give_up(state, turn, LogError::io(path)(source)),
            Unwritten::Sync(source) => {
                turn.is_done = true;
                self.fail(state, LogError::io(path)(source))
            }
            Unwritten::Gone => {
                // So that what was refused does not come back with a folder that was moved away.
                if let Some(open) = &mut turn.open {
                    let _ = open.file.cut(state.synced_end);
                }
                turn.is_done = true;
                self.fail(state, LogError::Gone { file: path })
            }
        }
    }

    /// Gives up every record that is not durable, and ends the file at the last one that is.
    fn give_up(state: &mut State, mut turn: Turn<'_>, error: LogError) -> LogError {
        let mut ended = std::mem::take(&mut state.begun);
        ended.end = state.synced_end;
        if let Some(mut open) = turn.open.take() {
            // Only for the space: the next file's head says where this one ends.
            let _ = open.file.cut(ended.end);
        }
        state.end_file(ended);
        state.buffer.clear();
        state.next = state.durable + 1;
        state.callers = 0;
        state.given_up = (state.given_up.0 + 1, Some(error.clone()));
        state.failed = Some(Failure::GivenUp);
        turn.done(state);
        error
    }

    fn path(&self, first: u64) -> PathBuf {
        self.folder.join(file_name(first))
    }

    /// Makes everything durable and ends the file, if there is one with records.
    fn seal<'l>(&'l self, state: &mut State, mut turn: Turn<'l>) -> Result<Turn<'l>, LogError> {
        let Some(open) = &mut turn.open else {
            return Ok(turn);
        };
        if state.next == state.begun.first {
            return Ok(turn);
        }
        let path = self.path(state.begun.first);
        let count = Count::of(state.next - 1, state.begun.first);
        if let Err(why) = open.write_out(&state.buffer, &path, count) {
            return Err(self.unwritten(state, turn, why));
        }
        state.buffer.clear();
        state.syncs += u64::from(state.durable + 1 < state.next);
        state.durable = state.next - 1;
        state.callers = 0;
        let sealed = std::mem::take(&mut state.begun);
        state.end_file(sealed);
        turn.open = None;
        Ok(turn)
    }

    /// Appends a record for which the file is needed: to begin another one, or because the buffer
    /// does not hold it.
    fn append_to_file(
        &self,
        state: MutexGuard<'_, State>,
        payload: &[&[u8]],
    ) -> Result<u64, LogError> {
        let (mut state, mut turn) = self.take(state)?;
        if turn.open.is_some() && state.begun.end >= self.options.file_bytes {
            turn = self.seal(&mut state, turn)?;
        }
        if turn.open.is_none() {
            turn = self.begin_file(&mut state, turn)?;
        }
        let position = state.next;
        let path = self.path(state.begun.first);
        let Some(frame) = state.frame(payload) else {
            turn.done(&mut state);
            let source = io::Error::new(io::ErrorKind::FileTooLarge, "the record is too large");
            return Err(LogError::io(path)(source));
        };
        let mut buffer = std::mem::take(&mut state.buffer);
        let mut written = state.begun.end - buffer.len() as u64;
        // Others may look at the log's numbers meanwhile; whoever wants the file waits.
        drop(state);
        let open = turn.open.as_mut().expect("a file was begun");
        let file = &mut open.file;
        let outcome = frame.write(&mut buffer, BUFFER_BYTES, |buffer| {
            if buffer.len() < BUFFER_BYTES {
                return Ok(());
            }
            let whole = (written + buffer.len() as u64) / SECTOR_BYTES * SECTOR_BYTES;
            let whole = whole.saturating_sub(written) as usize;
            file.append(&buffer[..whole])?;
            buffer.drain(..whole);
            written += whole as u64;
            Ok(())
        });
        let mut state = self.lock();
        state.buffer = buffer;
        if let Err(source) = outcome {
            return Err(self.unwritten(&mut state, turn, Unwritten::Write(source)));
        }
        state.appended(&frame);
        turn.done(&mut state);
        Ok(position)
    }

    /// Lets others come until as many are here as in the last groups, for a bounded time.
    fn gather<'s>(&self, mut state: MutexGuard<'s, State>) -> MutexGuard<'s, State> {
        let wanted = state.groups[0].max(state.groups[1]);
        if state.callers >= wanted || self.options.gather.is_zero() {
            return state;
        }
        state.wanted = Some(wanted);
        let waited = self
            .gathered
            .wait_timeout_while(state, self.options.gather, |state| state.wanted.is_some());
        state = waited.unwrap_or_else(PoisonError::into_inner).0;
        state.wanted = None;
        state
    }

    /// Writes and syncs what is appended by now. The caller has found the file to be here.
    fn lead<'l>(
        &'l self,
        mut state: MutexGuard<'l, State>,
    ) -> Result<MutexGuard<'l, State>, LogError> {
        let LogFileState::Here(open) = std::mem::replace(&mut state.file, LogFileState::Syncing)
        else {
            unreachable!("the caller looked for it")
        };
        let mut turn = Turn {
            log: self,
            open: Some(open),
            is_done: false,
        };
        state = self.gather(state);
        let spare = std::mem::take(&mut state.spare);
        let mut buffer = std::mem::replace(&mut state.buffer, spare);
        let Kept { first, end, .. } = state.begun;
        // Whoever is here by now has appended before.
        let (target, covered) = (state.next - 1, state.callers);
        drop(state);
        let open = turn.open.as_mut().expect("it was taken");
        let written = open.write_out(&buffer, &self.path(first), Count::of(target, first));
        let mut state = self.lock();
        if let Err(why) = written {
            return Err(self.unwritten(&mut state, turn, why));
        }
        buffer.clear();
        assert!(state.durable <= target, "what is durable stays so");
        state.spare = buffer;
        state.syncs += 1;
        state.groups = [covered, state.groups[0]];
        state.callers -= covered;
        state.durable = target;
        state.synced_end = end;
        turn.done(&mut state);
        Ok(state)
    }
}

impl Open {
    /// Writes and syncs, looks whether what was synced is what the path names, and counts it.
    fn write_out(&mut self, buffer: &[u8], path: &Path, count: Count) -> Result<(), Unwritten> {
        if !buffer.is_empty() {
            self.file.append(buffer).map_err(Unwritten::Write)?;
        }
        self.file.sync().map_err(Unwritten::Sync)?;
        match self.file.is_at(path) {
            Ok(true) => {}
            Ok(false) => return Err(Unwritten::Gone),
            Err(error) => return Err(Unwritten::Sync(error)),
        }
        // A count that says less is one that knows less, and no reason to refuse what is durable.
        let _ = self.count.write(count);
        Ok(())
    }
}

impl State {
    /// The frame that a record would get now.
    fn frame<'p>(&self, payload: &'p [&'p [u8]]) -> Option<Frame<'p>> {
        let Kept { first, end, .. } = self.begun;
        Frame::new(payload, self.next, self.durable, first, end)
    }

    /// Counts a record that is in the buffer now.
    fn appended(&mut self, frame: &Frame<'_>) {
        assert_eq!(frame.head.position, self.next, "positions ascend by one");
        assert!(frame.end > self.begun.end, "frames follow one another");
        self.begun.end = frame.end;
        self.next += 1;
        self.records += 1;
        self.payload_bytes += frame.head.length;
    }
}

impl Log for FileLog {
    fn next(&self) -> u64 {
        self.lock().next
    }

    fn append(&self, payload: &[&[u8]]) -> Result<u64, LogError> {
        let mut state = self.lock();
        self.check(&state)?;
        let length: usize = payload.iter().map(|piece| piece.len()).sum();
        let is_here = matches!(state.file, LogFileState::Here(_) | LogFileState::Syncing);
        let is_small = state.buffer.len().saturating_add(length) < BUFFER_BYTES;
        let frame = if is_here && is_small && state.begun.end < self.options.file_bytes {
            state.frame(payload)
        } else {
            None
        };
        let Some(frame) = frame else {
            return self.append_to_file(state, payload);
        };
        let mut buffer = std::mem::take(&mut state.buffer);
        let Ok(()) = frame.write(&mut buffer, BUFFER_BYTES, |_| {
            Ok::<(), std::convert::Infallible>(())
        });
        state.buffer = buffer;
        let position = state.next;
        state.appended(&frame);
        Ok(position)
    }

    fn sync(&self, position: u64) -> Result<(), LogError> {
        let mut state = self.lock();
        if position >= state.next {
            // It may have been given up.
            self.check(&state)?;
            let next = state.next;
            return Err(LogError::Ahead { position, next });
        }
        if state.durable < position {
            state.callers += 1;
            if state.wanted.is_some_and(|wanted| state.callers >= wanted) {
                state.wanted = None;
                self.gathered.notify_one();
            }
        }
        let given_up = state.given_up.0;
        while state.durable < position {
            self.check(&state)?;
            if let (true, Some(error)) = (state.given_up.0 != given_up, &state.given_up.1) {
                return Err(error.clone());
            }
            state = match state.file {
                LogFileState::Here(_) => self.lead(state)?,
                _ => self.wait(state),
            };
        }
        Ok(())
    }

    fn durable(&self) -> u64 {
        self.lock().durable
    }

    fn resume(&self) -> Result<u64, LogError> {
        let mut state = self.lock();
        if matches!(state.failed, Some(Failure::GivenUp)) {
            assert_eq!(
                state.next,
                state.durable + 1,
                "the positions of records that were given up are given again"
            );
            state.failed = None;
        }
        self.check(&state)?;
        Ok(state.next)
    }

    fn given_up(&self) -> Option<LogError> {
        let state = self.lock();
        let is_given_up = matches!(state.failed, Some(Failure::GivenUp));
        state.given_up.1.clone().filter(|_| is_given_up)
    }

    fn refusal(&self) -> Option<Arc<str>> {
        FileLog::refusal(self, &self.lock())
    }

    fn look(&self) -> Result<(), LogError> {
        let mut state = self.lock();
        self.check(&state)?;
        if let LogFileState::Here(open) = &state.file {
            let path = self.path(state.begun.first);
            if matches!(open.file.is_at(&path), Ok(false)) {
                return Err(self.fail(&mut state, LogError::Gone { file: path }));
            }
        }
        let sealed: Vec<u64> = state.sealed.iter().map(|kept| kept.first).collect();
        drop(state);
        if sealed.is_empty() {
            return Ok(());
        }
        let names = match self.disk.list(&self.folder) {
            Ok(names) => names,
            Err(error) if error.kind() == io::ErrorKind::NotFound => Vec::new(),
            // It cannot be looked at now.
            Err(_) => return Ok(()),
        };
        let mut state = self.lock();
        // What was trimmed meanwhile is not missed.
        let is_missed =
            |kept: &&Kept| sealed.contains(&kept.first) && !names.contains(&file_name(kept.first));
        let gone = state.sealed.iter().find(is_missed);
        match gone.map(|kept| self.path(kept.first)) {
            Some(file) => Err(self.fail(&mut state, LogError::Gone { file })),
            None => Ok(()),
        }
    }

    fn read(
        &self,
        from: u64,
        each: &mut dyn FnMut(u64, &[u8]) -> ControlFlow<()>,
    ) -> Result<(), LogError> {
        let mut state = self.lock();
        if state.failed.is_none() {
            // A file that is mapped is not written any more.
            let (taken, turn) = self.take(state)?;
            state = taken;
            self.seal(&mut state, turn)?.done(&mut state);
        }
        let oldest = state.oldest;
        if from < oldest {
            return Err(LogError::Trimmed { from, oldest });
        }
        let until = state.durable + 1;
        let mut files: Vec<Kept> = state.sealed.iter().cloned().collect();
        if state.failed.is_some() && state.begun.end > 0 {
            files.push(Kept {
                end: state.synced_end,
                ..state.begun.clone()
            });
        }
        drop(state);
        if from >= until {
            return Ok(());
        }
        replay(&*self.disk, &self.folder, &files, from, until, each)
    }

    fn rest(&self) -> Result<(), LogError> {
        let (mut state, mut turn) = self.take(self.lock())?;
        let synced = turn.open.as_mut().map_or(Ok(()), |open| open.count.sync());
        turn.done(&mut state);
        synced.map_err(LogError::io(self.store.join(DURABLE)))
    }

    fn close(&self) -> Result<(), LogError> {
        let (mut state, turn) = self.take(self.lock())?;
        let mut turn = self.seal(&mut state, turn)?;
        let exact = |file| Count {
            is_exact: true,
            ..Count::of(state.durable, file)
        };
        let noted = match (&mut turn.open, state.sealed.back()) {
            (Some(open), _) => {
                let written = open.count.write(exact(state.begun.first));
                written.and_then(|()| open.count.sync())
            }
            (None, Some(last)) if state.counted != Some(exact(last.first)) => {
                let count = exact(last.first);
                let opened = CountFile::open(&*self.disk, &self.store, count);
                opened.map(|_| state.counted = Some(count))
            }
            // It says so, or there are no files that could be missed.
            _ => Ok(()),
        };
        turn.done(&mut state);
        noted.map_err(LogError::io(self.store.join(DURABLE)))
    }

    fn trim(&self, position: u64) -> Result<(), LogError> {
        let mut state = self.lock();
        if position > state.next {
            let next = state.next;
            return Err(LogError::Ahead { position, next });
        }
        if position == state.next {
            // All go; a file without records says where the log goes on.
            let (taken, turn) = self.take(state)?;
            state = taken;
            let mut turn = self.seal(&mut state, turn)?;
            if turn.open.is_none() {
                turn = self.begin_file(&mut state, turn)?;
            }
            turn.done(&mut state);
        }
        state.oldest = state.oldest.max(position);
        let mut gone = Vec::new();
        loop {
            let following = match state.sealed.get(1) {
                Some(file) => file.first,
                None if state.begun.end > 0 => state.begun.first,
                None => break,
            };
            if following > position || state.sealed.is_empty() {
                break;
            }
            gone.extend(state.sealed.pop_front());
        }
        let left = state.sealed.front().unwrap_or(&state.begun);
        assert!(
            left.first <= state.oldest,
            "no file goes that holds a record from the position on"
        );
        drop(state);
        for (place, kept) in gone.iter().enumerate() {
            let path = self.path(kept.first);
            match self.disk.remove_file(&path) {
                Err(source) if source.kind() != io::ErrorKind::NotFound => {
                    let mut state = self.lock();
                    for kept in gone[place..].iter().rev() {
                        state.sealed.push_front(kept.clone());
                    }
                    return Err(LogError::io(path)(source));
                }
                _ => {}
            }
        }
        Ok(())
    }

    fn figures(&self) -> LogFigures {
        let state = self.lock();
        let kept = state.sealed.iter().map(|kept| kept.end).sum::<u64>();
        LogFigures {
            records: state.records,
            payload_bytes: state.payload_bytes,
            syncs: state.syncs,
            files: state.sealed.len() as u64 + u64::from(state.begun.end > 0),
            kept_bytes: kept + state.begun.end,
        }
    }
}
