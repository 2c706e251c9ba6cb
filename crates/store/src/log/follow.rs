//! Reading a log that another process goes on writing, as it grows.
//!
//! Invariant: no record is given before the count beside the log says that it is durable. So what a writer
//! gives up after a failed write, or has not synced yet, is never seen; and because the count is written after
//! the sync and before anybody is told, a record is seen about as soon as its writer's client has its answer.
//! A record is given once its checksum was compared, each once and in order.
//!
//! What is read may be cut or trimmed meanwhile: a writer cuts what is not durable, a checkpoint removes
//! files whose records it holds. The first concerns no byte that is read here; after the second the next
//! record is found in the file that is left, or it is [`LogError::Trimmed`], and the checkpoint has it.
//!
//! Cost: where nothing is new the 1,024 bytes of the count are read. Otherwise the folder is listed and the
//! file mapped; reading goes on where it ended, so that every byte is looked at once.

use super::durable;
use super::names::list;
use super::recover::{Mapped, chain, replay};
use super::scan::{Records, TailFault};
use super::{LOG, LogError};
use crate::disk::Disk;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

/// A place in the log of a store that somebody else writes.
#[derive(Clone, Debug)]
pub struct Follower {
    store: PathBuf,
    /// Position of the next record.
    next: u64,
    /// The file that the last record was read from, by its first position, and where that record ends.
    place: Option<(u64, u64)>,
    /// The last record that the count has named.
    counted: u64,
}

/// Gives every record from `first` on that is known to be durable, beside whoever writes the log, and
/// the place behind them. The store's checkpoint holds every record below `first`. All whole records count
/// as durable where there is no count, as in stores of before. Damage and missing records are found as they
/// are where a store is opened for changing.
pub fn read_durable(
    disk: &dyn Disk,
    store: &Path,
    first: u64,
    each: &mut dyn FnMut(u64, &[u8]) -> ControlFlow<()>,
) -> Result<Follower, LogError> {
    let first = first.max(1);
    let chain = chain(disk, store, first, false)?;
    let durable = chain.count.map(|count| count.durable);
    let until = durable.map_or(chain.next, |durable| (durable + 1).clamp(first, chain.next));
    replay(disk, &store.join(LOG), &chain.files, first, until, each)?;
    Ok(Follower {
        store: store.to_owned(),
        next: until,
        place: None,
        counted: durable.unwrap_or(0),
    })
}

impl Follower {
    /// Position of the next record.
    pub fn next(&self) -> u64 {
        self.next
    }

    /// The last record that is known to be durable; 0 where nothing is known. An error where records are
    /// not any more that were: somebody accepted their loss, or this is another log.
    pub fn durable(&mut self, disk: &dyn Disk) -> Result<u64, LogError> {
        let count = durable::read(disk, &self.store)?;
        let Some(count) = count else { return Ok(0) };
        if count.durable < self.counted {
            return Err(LogError::Missing {
                folder: self.store.join(LOG),
                durable: self.counted,
                found: count.durable,
            });
        }
        self.counted = count.durable;
        Ok(count.durable)
    }

    /// Gives the records up to `durable`, which [`Follower::durable`] has said. After an error, and where
    /// `each` breaks, what was given must not be used: whoever wants to read again keeps the place from
    /// before (a [`Clone`]).
    pub fn read(
        &mut self,
        disk: &dyn Disk,
        durable: u64,
        each: &mut dyn FnMut(u64, &[u8]) -> ControlFlow<()>,
    ) -> Result<ControlFlow<()>, LogError> {
        let folder = self.store.join(LOG);
        while self.next <= durable {
            let firsts = list(disk, &folder)?;
            let behind = firsts.partition_point(|&file| file <= self.next);
            let Some(file) = behind.checked_sub(1).map(|place| firsts[place]) else {
                return Err(LogError::Trimmed {
                    from: self.next,
                    oldest: firsts.first().copied().unwrap_or(durable + 1),
                });
            };
            let following = firsts.get(behind).copied();
            if self
                .read_file(disk, &folder, (file, following), durable, each)?
                .is_break()
            {
                return Ok(ControlFlow::Break(()));
            }
        }
        Ok(ControlFlow::Continue(()))
    }

    /// Reads on in a file; `following`: the one behind it.
    fn read_file(
        &mut self,
        disk: &dyn Disk,
        folder: &Path,
        (file, following): (u64, Option<u64>),
        durable: u64,
        each: &mut dyn FnMut(u64, &[u8]) -> ControlFlow<()>,
    ) -> Result<ControlFlow<()>, LogError> {
        let mapped = Mapped::open(disk, folder, file)?;
        let end = match following {
            Some(following) => Some(Mapped::open(disk, folder, following)?.head.previous_end),
            None => None,
        };
        let bytes = mapped.bound(end)?;
        let mut records = Records::new(bytes, &mapped.head, self.next);
        if let Some((_, offset)) = self.place.filter(|(known, _)| *known == file) {
            (records.next, records.offset) = (self.next, offset);
        }
        while self.next <= durable {
            let step = records.step();
            if !matches!(step, Ok(Some(_))) {
                mapped.intact()?;
            }
            let what = match step {
                Ok(Some(record)) => {
                    assert_eq!(record.position, self.next, "each record is given once");
                    if each(record.position, &record.payload()).is_break() {
                        return Ok(ControlFlow::Break(()));
                    }
                    self.next = record.position + 1;
                    self.place = Some((file, records.offset));
                    continue;
                }
                Ok(None) if following == Some(self.next) => break,
                Ok(None) => "its records end before it".to_owned(),
                Err(TailFault::Torn) => "it is cut".to_owned(),
                Err(TailFault::Damaged(what)) => return Err(mapped.damaged(records.offset, what)),
            };
            let what = format!("record {} was durable, and {what}", self.next);
            return Err(mapped.damaged(records.offset, what));
        }
        mapped.intact()?;
        Ok(ControlFlow::Continue(()))
    }
}
