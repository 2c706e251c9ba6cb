//! What is found when a log is opened, and where it ends.
//!
//! A file is named by the position of its first record. Reading begins with the last file that does
//! not begin behind the first record that is needed; files before it are what a trim left, and are
//! not looked at. Then each file must begin where the one before ended. A file is begun only after
//! everything before it is durable, and its head says where the file before ends; so only the last
//! file can have a torn tail, and what a torn tail left behind in its file stays there, not counted,
//! when a new file is begun. Nothing is cut off a file, and nothing is appended to one that was
//! found: so opening twice finds the same, and there is no moment in which a cut is half done.
//!
//! What is found is compared with the [count](super::durable) beside the log: a log that ends before the
//! last record that was durable has lost something, and is refused as damage is.
//!
//! Opening modifies nothing. It syncs the last file: a process that was killed may have appended
//! what is in the kernel's memory only, and a record that was replayed must not vanish later.
//!
//! Cost: every needed byte is read and its checksum compared, at the speed of the disk.

use super::durable::{self, Count};
use super::format::{FILE_HEAD_BYTES, HeadFault, LogFileHead};
use super::names::{CUT_SUFFIX, file_name, list};
use super::scan::{Records, TailFault};
use super::{LOG, LogError};
use crate::disk::Disk;
use memory::Region;
use std::io;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// How a log is opened.
#[derive(Clone, Debug)]
pub struct OpenOptions {
    /// Opens a damaged log up to the damage. Everything from there on is lost: what was
    /// acknowledged too. Whole files behind the damage are renamed to end in `.cut`.
    pub accept_damage: bool,
    /// Bytes after which a new file is begun.
    pub file_bytes: u64,
    /// How long the caller who syncs for a group may wait for those who were in the last groups
    /// and have not appended again. Without it groups of *n* writers alternate between 1 and
    /// *n* - 1. Nobody waits who is alone.
    pub gather: Duration,
}

impl Default for OpenOptions {
    fn default() -> OpenOptions {
        OpenOptions {
            accept_damage: false,
            file_bytes: 64 << 20,
            gather: Duration::from_micros(500),
        }
    }
}

/// What was found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Recovery {
    /// Records from the first needed one on.
    pub records: u64,
    /// Bytes of their payloads.
    pub bytes: u64,
    /// What was cut off.
    pub torn: Option<Torn>,
}

/// The end of a log that does not count.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Torn {
    /// The file.
    pub file: PathBuf,
    /// Where the last whole record ends.
    pub offset: u64,
    /// Bytes that do not count.
    pub bytes: u64,
    /// What is damaged, where it is not just torn: only with [`OpenOptions::accept_damage`].
    pub damage: Option<String>,
}

/// A file whose records count.
#[derive(Clone, Debug, Default)]
pub(super) struct Kept {
    pub first: u64,
    /// Where its last record ends. 0: of a file that was not looked at.
    pub end: u64,
    /// What its head says of the file before.
    pub previous_end: u64,
}

/// The files of a log, in order.
pub(super) struct Chain {
    pub files: Vec<Kept>,
    /// The position that the next record will get.
    pub next: u64,
    pub recovery: Recovery,
    /// First positions of files from the damage on, which accepting it cuts away.
    pub cut: Vec<u64>,
    /// What the count beside the log says.
    pub count: Option<Count>,
}

impl Chain {
    /// Whether it ends at damage that was accepted.
    pub fn is_damaged(&self) -> bool {
        let torn = self.recovery.torn.as_ref();
        torn.is_some_and(|torn| torn.damage.is_some())
    }
}

/// Looks at the log of a store whose checkpoint holds every record below `first`, and changes
/// nothing.
pub fn examine(disk: &dyn Disk, store: &Path, first: u64) -> Result<Recovery, LogError> {
    Ok(chain(disk, store, first, false)?.recovery)
}

/// Whether the log of a store holds records that its checkpoint, which holds all below `first`,
/// does not.
pub fn pending(disk: &dyn Disk, store: &Path, first: u64) -> Result<bool, LogError> {
    Ok(examine(disk, store, first)?.records > 0)
}

/// Gives every whole record from `first` on, beside whoever writes the log, and changes nothing. The
/// store's checkpoint holds every record below `first`.
pub fn read_tail(
    disk: &dyn Disk,
    store: &Path,
    first: u64,
    each: &mut dyn FnMut(u64, &[u8]) -> ControlFlow<()>,
) -> Result<Recovery, LogError> {
    let folder = store.join(LOG);
    let first = first.max(1);
    let chain = chain(disk, store, first, false)?;
    replay(disk, &folder, &chain.files, first, chain.next, each)?;
    Ok(chain.recovery)
}

/// One file that was mapped, its head read.
pub(super) struct Mapped {
    path: PathBuf,
    region: Region,
    pub head: LogFileHead,
}

impl Mapped {
    pub fn open(disk: &dyn Disk, folder: &Path, first: u64) -> Result<Mapped, LogError> {
        let path = folder.join(file_name(first));
        let region = disk.map(&path).map_err(LogError::io(&path))?;
        let damaged = |what: &str| LogError::Damaged {
            file: path.clone(),
            offset: 0,
            what: what.to_owned(),
        };
        let head = match LogFileHead::read(region.bytes()) {
            Err(HeadFault::Version(found)) => {
                return Err(LogError::Version {
                    file: path,
                    found,
                    known: super::format::VERSION,
                });
            }
            Err(HeadFault::Other(what)) => return Err(damaged(what)),
            Ok(head) => head,
        };
        if head.first != first {
            let what = format!(
                "it begins with record {}, its name says {first}",
                head.first
            );
            return Err(damaged(&what));
        }
        Ok(Mapped { path, region, head })
    }

    pub fn damaged(&self, offset: u64, what: impl Into<String>) -> LogError {
        LogError::Damaged {
            file: self.path.clone(),
            offset,
            what: what.into(),
        }
    }

    /// An error where the file was cut while it was read: what was found in it may be zeros, and taken
    /// for the end of the log. A writer that meets a full disk cuts what nobody was told of.
    pub fn intact(&self) -> Result<(), LogError> {
        if self.region.is_damaged() || self.region.is_shortened() {
            let what = "it was cut while it was read; try again";
            let source = io::Error::new(io::ErrorKind::UnexpectedEof, what);
            return Err(LogError::io(&self.path)(source));
        }
        Ok(())
    }

    /// The file up to where it counts.
    pub fn bound(&self, end: Option<u64>) -> Result<&[u8], LogError> {
        let bytes = self.region.bytes();
        let Some(end) = end else { return Ok(bytes) };
        let found = bytes.len();
        usize::try_from(end)
            .ok()
            .and_then(|end| bytes.get(..end))
            .ok_or_else(|| {
                let what = format!("it was cut: it has {found} bytes and its records had {end}");
                self.damaged(found as u64, what)
            })
    }
}

/// Finds the files that hold the records from `first` on, checks all of them, and whether any are missing.
/// `accept_damage`: ends the log at damage, and where records are missing.
pub(super) fn chain(
    disk: &dyn Disk,
    store: &Path,
    first: u64,
    accept_damage: bool,
) -> Result<Chain, LogError> {
    let folder = store.join(LOG);
    let (count, mut fault) = match durable::read(disk, store) {
        Ok(count) => (count, None),
        Err(fault) if accept_damage && fault.is_damage() => (None, Some(fault)),
        Err(fault) => return Err(fault),
    };
    let mut chain = files(disk, &folder, first, accept_damage)?;
    chain.count = count;
    if chain.is_damaged() {
        return Ok(chain);
    }
    if let Some(count) = count {
        let last = chain.files.last().map(|kept| kept.first);
        fault = count.missing(&folder, chain.next - 1, last);
    }
    match fault {
        Some(fault) if !accept_damage => return Err(fault),
        Some(fault) => {
            let last = chain.files.last().cloned().unwrap_or_default();
            chain.recovery.torn = Some(Torn {
                file: folder.join(file_name(last.first)),
                offset: last.end,
                bytes: 0,
                damage: Some(fault.to_string()),
            });
        }
        None => {}
    }
    Ok(chain)
}

/// Finds the files that hold the records from `first` on, and checks all of them.
fn files(
    disk: &dyn Disk,
    folder: &Path,
    first: u64,
    accept_damage: bool,
) -> Result<Chain, LogError> {
    let firsts = list(disk, folder)?;
    let begin = firsts.partition_point(|&file| file <= first);
    let old = begin.saturating_sub(1);
    let mut chain = Chain {
        files: Vec::new(),
        next: first,
        recovery: Recovery::default(),
        cut: Vec::new(),
        count: None,
    };
    for &first in &firsts[..old] {
        chain.files.push(Kept {
            first,
            end: 0,
            previous_end: 0,
        });
    }
    if let (0, Some(&found)) = (begin, firsts.first()) {
        let fault = LogError::Damaged {
            file: folder.join(file_name(found)),
            offset: 0,
            what: format!("the log begins with record {found}, and record {first} is needed"),
        };
        return accept(chain, &firsts, fault, accept_damage);
    }
    let mut expected = firsts.get(old).copied().unwrap_or(first);
    for (place, &file) in firsts.iter().enumerate().skip(old) {
        let following = firsts.get(place + 1).copied();
        let walked = if file == expected {
            walk(disk, folder, file, following, first, &mut chain)
        } else {
            Err(LogError::Damaged {
                file: folder.join(file_name(file)),
                offset: 0,
                what: format!("it begins with record {file}, and record {expected} is missing"),
            })
        };
        match walked {
            Ok(next) => expected = next,
            Err(fault @ LogError::Damaged { .. }) => {
                chain.next = chain.next.max(expected);
                return accept(chain, &firsts[place..], fault, accept_damage);
            }
            Err(fault) => return Err(fault),
        }
    }
    chain.next = first.max(expected);
    Ok(chain)
}

/// Ends the log at the damage where that was asked for. `files`: those from the damage on.
fn accept(
    mut chain: Chain,
    files: &[u64],
    fault: LogError,
    accept_damage: bool,
) -> Result<Chain, LogError> {
    let LogError::Damaged { file, offset, what } = fault else {
        return Err(fault);
    };
    if !accept_damage {
        return Err(LogError::Damaged { file, offset, what });
    }
    let is_kept = |first: &u64| chain.files.last().is_some_and(|kept| kept.first == *first);
    chain.cut = files
        .iter()
        .copied()
        .filter(|first| !is_kept(first))
        .collect();
    chain.recovery.torn = Some(Torn {
        file,
        offset,
        bytes: 0,
        damage: Some(what),
    });
    Ok(chain)
}

/// Walks over one file and gives the position behind its last record. Damage leaves in the chain
/// the part before it, where there is one.
fn walk(
    disk: &dyn Disk,
    folder: &Path,
    file: u64,
    following: Option<u64>,
    needed: u64,
    chain: &mut Chain,
) -> Result<u64, LogError> {
    let mapped = Mapped::open(disk, folder, file)?;
    let following = following.map(|following| Mapped::open(disk, folder, following));
    let end = match following {
        Some(Ok(following)) => Some(following.head.previous_end),
        // That file's damage is told when it is its turn.
        None | Some(Err(LogError::Damaged { .. })) => None,
        Some(Err(error)) => return Err(error),
    };
    let bytes = mapped.bound(end)?;
    let mut records = Records::new(bytes, &mapped.head, needed);
    let fault = loop {
        match records.step() {
            Ok(Some(record)) => {
                chain.recovery.records += 1;
                chain.recovery.bytes += record.payload_bytes();
            }
            Ok(None) => break None,
            Err(fault) => break Some(fault),
        }
    };
    mapped.intact()?;
    let (offset, next) = (records.offset, records.next);
    let is_good = match fault {
        None => true,
        Some(TailFault::Torn) => end.is_none(),
        Some(TailFault::Damaged(_)) => false,
    };
    if is_good || offset > FILE_HEAD_BYTES as u64 {
        chain.files.push(Kept {
            first: file,
            end: offset,
            previous_end: mapped.head.previous_end,
        });
    }
    match fault {
        None => Ok(next),
        Some(TailFault::Torn) if is_good => {
            chain.recovery.torn = Some(Torn {
                file: mapped.path.clone(),
                offset,
                bytes: bytes.len() as u64 - offset,
                damage: None,
            });
            Ok(next)
        }
        Some(fault) => {
            chain.next = needed.max(next);
            let what = match fault {
                TailFault::Damaged(what) => what,
                TailFault::Torn => format!("of record {next}: it is cut, and later files exist"),
            };
            Err(mapped.damaged(offset, what))
        }
    }
}

/// Gives the records from `from` on of files whose ends are known, in order.
pub(super) fn replay(
    disk: &dyn Disk,
    folder: &Path,
    files: &[Kept],
    from: u64,
    until: u64,
    each: &mut dyn FnMut(u64, &[u8]) -> ControlFlow<()>,
) -> Result<(), LogError> {
    assert!(
        files.is_sorted_by(|one, next| one.first < next.first),
        "files ascend by their first records"
    );
    let begin = files.partition_point(|kept| kept.first <= from);
    for kept in &files[begin.saturating_sub(1)..] {
        let mapped = Mapped::open(disk, folder, kept.first)?;
        let bytes = mapped.bound(Some(kept.end))?;
        let mut records = Records::new(bytes, &mapped.head, from);
        loop {
            let step = records.step();
            if !matches!(step, Ok(Some(_))) {
                mapped.intact()?;
            }
            let record = match step {
                Ok(Some(record)) => record,
                Ok(None) => break,
                Err(TailFault::Damaged(what)) => return Err(mapped.damaged(records.offset, what)),
                Err(TailFault::Torn) => {
                    let what = format!("of record {}: it is cut", records.next);
                    return Err(mapped.damaged(records.offset, what));
                }
            };
            if record.position >= until || each(record.position, &record.payload()).is_break() {
                return mapped.intact();
            }
        }
    }
    Ok(())
}

/// Renames files so that they no longer are of the log, the last one first, each durably: so that
/// the damage in front of them is found until all are.
pub(super) fn cut_away(disk: &dyn Disk, folder: &Path, files: &[u64]) -> Result<(), LogError> {
    if files.is_empty() {
        return Ok(());
    }
    let taken = disk.list(folder).map_err(LogError::io(folder))?;
    for &first in files.iter().rev() {
        let name = file_name(first);
        let mut free = format!("{name}{CUT_SUFFIX}");
        for number in 2.. {
            if !taken.contains(&free) {
                break;
            }
            free = format!("{name}.{number}{CUT_SUFFIX}");
        }
        let path = folder.join(&name);
        disk.rename(&path, &folder.join(&free))
            .and_then(|()| disk.sync_dir(folder))
            .map_err(LogError::io(&path))?;
    }
    Ok(())
}
