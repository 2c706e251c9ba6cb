//! Beginning a file of the log.
//!
//! Everything before the file's first record is durable. The file is written under another name, synced,
//! renamed, its folder synced; then the [count](super::super::durable) beside the log names it, and is
//! synced. So a file that the count names is there, whenever the power is cut.
//!
//! Where that fails it is as if nobody had tried: the next record tries again from the beginning. The cost
//! is three or four syncs for each file, of 64 MiB.

use super::super::LogError;
use super::super::durable::{Count, CountFile};
use super::super::format::{FILE_HEAD_BYTES, LogFileHead};
use super::super::names::NEXT_SUFFIX;
use super::super::recover::Kept;
use super::{FileLog, Open, RESERVE, State, Turn};
use crate::disk::{AppendFile, is_out_of_descriptors};
use std::io;
use std::path::{Path, PathBuf};

impl FileLog {
    /// Begins a file for the next record. Everything before is durable. Where that fails it is as if
    /// nobody had tried: the next attempt writes the file anew, and every name and byte of it that
    /// must be durable.
    pub(super) fn begin_file<'l>(
        &'l self,
        state: &mut State,
        mut turn: Turn<'l>,
    ) -> Result<Turn<'l>, LogError> {
        let first = state.next;
        assert!(
            state.durable + 1 == first && state.buffer.is_empty(),
            "all before a file's first record is durable"
        );
        // A file without records is replaced, and so is one that only has a torn one.
        let (is_replaced, previous_end) = match state.sealed.back() {
            Some(last) if last.first == first => (true, last.previous_end),
            Some(last) => (false, last.end),
            None => (false, 0),
        };
        let path = self.path(first);
        let head = LogFileHead::new(first, previous_end);
        let mut begun = self.begun(state, &path, &head);
        if begun.as_ref().is_err_and(is_out_of_descriptors) && state.reserve.take().is_some() {
            begun = self.begun(state, &path, &head);
        }
        if state.reserve.is_none() {
            state.reserve = self.disk.reserve(RESERVE).ok();
        }
        match begun {
            Ok(open) => turn.open = Some(open),
            Err(source) => {
                turn.done(state);
                return Err(LogError::io(path)(source));
            }
        }
        if is_replaced {
            state.sealed.pop_back();
        }
        assert!(
            state.sealed.back().is_none_or(|last| last.first < first),
            "files ascend by their first records"
        );
        state.begun = Kept {
            first,
            end: FILE_HEAD_BYTES as u64,
            previous_end,
        };
        state.synced_end = state.begun.end;
        Ok(turn)
    }

    /// The file with its name, and then the count, which names it. The count is synced: a power cut must
    /// not bring back one that knows nothing of the file.
    fn begun(&self, state: &mut State, path: &Path, head: &LogFileHead) -> io::Result<Open> {
        let file = self.create(state, path, head)?;
        let count = Count::of(head.first - 1, head.first);
        let count = CountFile::open(&*self.disk, &self.store, count)?;
        state.counted = None;
        Ok(Open { file, count })
    }

    fn create(
        &self,
        state: &mut State,
        path: &Path,
        head: &LogFileHead,
    ) -> io::Result<Box<dyn AppendFile>> {
        if !state.is_folder_synced {
            // Where the folder is there already, whoever made it may have been killed before its sync.
            match self.disk.create_dir(&self.folder) {
                Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error),
                _ => self.disk.sync_dir(&self.store)?,
            }
            state.is_folder_synced = true;
        }
        let mut next = path.as_os_str().to_owned();
        next.push(NEXT_SUFFIX);
        let next = PathBuf::from(next);
        match self.disk.remove_file(&next) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        let mut file = self.disk.create(&next)?;
        file.append(bytemuck::bytes_of(head))?;
        file.sync()?;
        self.disk.rename(&next, path)?;
        self.disk.sync_dir(&self.folder)?;
        Ok(file)
    }
}
