//! The count of durable records beside the log: how a log that ends too early is told from a short one.
//!
//! A log whose last file was removed, or cut behind a whole record, looks like one that was never longer.
//! So `STORE/DURABLE` says up to which record the log was durable, and which file was appended to then.
//!
//! Invariant: the file never says more than was synced. It is overwritten after the sync of what it counts,
//! and itself synced only where a file of the log is begun, where nobody writes for a while, and at a clean
//! close. So a power cut leaves it saying as much as the log holds, or less; a killed process leaves it
//! exact, because the system's memory outlives the process. A log that holds less than it says has lost
//! something, whatever else happened ([`Count::missing`]).
//!
//! Two sectors are written in turn, each with its own checksum, and the newer one counts: a write that a
//! crash tears leaves the other. A count that goes down (an operator accepted a loss) replaces the file by a
//! rename, so that no older sector says more.
//!
//! Cost: one `write` of 64 bytes into the system's memory for each group of commits; no sync of its own.

use super::LogError;
use super::names::file_name;
use crate::disk::{Disk, SECTOR_BYTES, SectorFile};
use std::io;
use std::path::{Path, PathBuf};
use xxhash_rust::xxh3::xxh3_64;

/// Name of the file in a store.
pub(crate) const DURABLE: &str = "DURABLE";
/// The name under which it is made.
pub(crate) const DURABLE_NEXT: &str = "DURABLE.next";
const MAGIC: [u8; 8] = *b"SOMERDUR";
const VERSION: u16 = 1;
const SECTORS: usize = 2;
/// How often the file is read where no entry is whole.
const READS: usize = 3;

/// What the file says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Count {
    /// The last record that was durable; 0: none.
    pub durable: u64,
    /// The first record of the file that was appended to. A file of this name, or a later one, is there.
    pub file: u64,
    /// The log was closed then: it holds nothing behind `durable`.
    pub is_exact: bool,
}

/// One sector's bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, bytemuck::Pod, bytemuck::Zeroable)]
#[repr(C)]
struct Entry {
    magic: [u8; 8],
    version: u16,
    is_exact: u8,
    reserved: [u8; 5],
    durable: u64,
    file: u64,
    /// Ascends with every write: the entry with the higher one counts.
    number: u64,
    reserved_words: [u64; 2],
    /// Checksum of the 56 bytes before.
    sum: u64,
}

const ENTRY_BYTES: usize = 64;
const _: () = assert!(size_of::<Entry>() == ENTRY_BYTES);
const _: () = assert!(ENTRY_BYTES <= SECTOR_BYTES, "an entry lies in one sector");

impl Entry {
    fn new(count: Count, number: u64) -> Entry {
        let mut entry = Entry {
            magic: MAGIC,
            version: VERSION,
            is_exact: u8::from(count.is_exact),
            reserved: [0; 5],
            durable: count.durable,
            file: count.file,
            number,
            reserved_words: [0; 2],
            sum: 0,
        };
        entry.sum = entry.right_sum();
        entry
    }

    fn right_sum(&self) -> u64 {
        xxh3_64(&bytemuck::bytes_of(self)[..ENTRY_BYTES - 8])
    }

    /// The entry in this sector of the file, if it is whole; of whichever version.
    fn read(bytes: &[u8], sector: usize) -> Option<Entry> {
        let bytes = bytes.get(sector * SECTOR_BYTES..)?.get(..ENTRY_BYTES)?;
        let entry: Entry = bytemuck::pod_read_unaligned(bytes);
        (entry.magic == MAGIC && entry.sum == entry.right_sum()).then_some(entry)
    }

    fn count(&self) -> Count {
        Count {
            durable: self.durable,
            file: self.file,
            is_exact: self.is_exact != 0,
        }
    }
}

/// The newest entry of the file; `None` where there is no file.
fn newest(disk: &dyn Disk, path: &Path) -> Result<Option<Entry>, LogError> {
    let mut newest = None;
    // A reader may meet a live writer in the middle of an entry.
    for _ in 0..READS {
        let bytes = match disk.read(path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            bytes => bytes.map_err(LogError::io(path))?,
        };
        let entries = (0..SECTORS).filter_map(|sector| Entry::read(&bytes, sector));
        newest = entries.max_by_key(|entry| entry.number);
        if newest.is_some() {
            break;
        }
    }
    let Some(newest) = newest else {
        return Err(LogError::Damaged {
            file: path.to_owned(),
            offset: 0,
            what: "none of its two entries matches its checksum, so whether changes are missing \
                   cannot be told (`somersault compact --accept-log-damage` makes it anew)"
                .to_owned(),
        });
    };
    if newest.version != VERSION {
        return Err(LogError::Version {
            file: path.to_owned(),
            found: newest.version,
            known: VERSION,
        });
    }
    Ok(Some(newest))
}

/// What the file says; `None` where there is none: then nothing is known. Read before the log is listed,
/// because a live writer counts only what is in the log already.
pub(super) fn read(disk: &dyn Disk, store: &Path) -> Result<Option<Count>, LogError> {
    let newest = newest(disk, &store.join(DURABLE))?;
    Ok(newest.map(|entry| entry.count()))
}

impl Count {
    /// `durable` records, the last ones in the file that begins with record `file`, and perhaps more.
    pub(super) fn of(durable: u64, file: u64) -> Count {
        Count {
            durable,
            file,
            is_exact: false,
        }
    }

    /// What is missing of a log whose last record is `found`, and whose last file begins with record `last`.
    pub(super) fn missing(&self, folder: &Path, found: u64, last: Option<u64>) -> Option<LogError> {
        if found < self.durable {
            return Some(LogError::Missing {
                folder: folder.to_owned(),
                durable: self.durable,
                found,
            });
        }
        if self.is_exact || last >= Some(self.file) {
            return None;
        }
        Some(LogError::MissingFile {
            file: folder.join(file_name(self.file)),
            found,
        })
    }
}

/// The file, to be overwritten.
pub(super) struct CountFile {
    file: Box<dyn SectorFile>,
    /// Number of the last write.
    number: u64,
    /// Whether the last write may be lost by a power cut.
    is_dirty: bool,
    last: Count,
}

impl CountFile {
    /// Opens the file, which says `count` then, durably. It is made where it is missing, and made anew where
    /// it is damaged or says more.
    pub(super) fn open(disk: &dyn Disk, store: &Path, count: Count) -> io::Result<CountFile> {
        let path = store.join(DURABLE);
        let found = match newest(disk, &path) {
            Ok(found) => found.filter(|entry| entry.durable <= count.durable),
            Err(LogError::Damaged { .. }) => None,
            Err(LogError::Io { source, .. }) => return Err(io::Error::new(source.kind(), source)),
            Err(error) => return Err(io::Error::other(error)),
        };
        if found.is_none() {
            make(disk, store, count)?;
        }
        let mut opened = CountFile {
            file: disk.open_sectors(&path)?,
            number: found.map_or(1, |entry| entry.number),
            // Whoever wrote it may have been killed before a sync.
            is_dirty: true,
            last: found.map_or(count, |entry| entry.count()),
        };
        opened.write(count)?;
        opened.sync()?;
        Ok(opened)
    }

    /// Says `count` from now on. Every record that it counts is durable. A failed write leaves the entry
    /// before, and the next write goes to the same sector.
    pub(super) fn write(&mut self, count: Count) -> io::Result<()> {
        if count == self.last {
            return Ok(());
        }
        assert!(
            count.durable >= self.last.durable,
            "a count that goes down replaces the file"
        );
        let number = self.number + 1;
        let entry = Entry::new(count, number);
        self.file
            .write(number as usize % SECTORS, bytemuck::bytes_of(&entry))?;
        (self.number, self.last, self.is_dirty) = (number, count, true);
        Ok(())
    }

    /// Returns when a power cut does not take back what was written.
    pub(super) fn sync(&mut self) -> io::Result<()> {
        if self.is_dirty {
            self.file.sync()?;
            self.is_dirty = false;
        }
        Ok(())
    }
}

/// Makes the file, both of its sectors saying the same.
fn make(disk: &dyn Disk, store: &Path, count: Count) -> io::Result<()> {
    let mut bytes = vec![0; SECTORS * SECTOR_BYTES];
    for sector in 0..SECTORS {
        let entry = Entry::new(count, sector as u64);
        bytes[sector * SECTOR_BYTES..][..ENTRY_BYTES].copy_from_slice(bytemuck::bytes_of(&entry));
    }
    let next: PathBuf = store.join(DURABLE_NEXT);
    match disk.remove_file(&next) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    let mut file = disk.create(&next)?;
    file.append(&bytes)?;
    file.sync()?;
    disk.rename(&next, &store.join(DURABLE))?;
    disk.sync_dir(store)
}
