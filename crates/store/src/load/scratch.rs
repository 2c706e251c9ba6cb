//! Temporary files: where a load's data goes that its memory limit does not let it keep.
//!
//! A [`Spill`] is one such file, created when the first bytes come, appended to by any thread,
//! mapped when the first bytes are wanted back, and removed when it is dropped. Data are never
//! synced and never outlive the load: a crash leaves a file in a directory that CURRENT does not
//! name, which the next load removes when it begins.
//!
//! Invariant: every write of a spill comes before its first read (asserted): each phase of a load
//! writes what the next one reads.
//!
//! Cost: one system call per extent written; extents are 32 KiB and more. What is read back is a
//! copy from the kernel's cache, which is not the process's own memory. What may be packed is, from
//! 4 GiB of a file on: a sixth of the disk for a tenth of the time (zstd, level 1; LUBM's chunks). Less
//! than that stays in the kernel's cache, where packing gains nothing.
//!
//! | field | written by | read by |
//! |---|---|---|
//! | `Spill::writing` | workers, with its lock | the same |
//! | `Spill::mapped` | the first that reads, once | workers |

use super::error::LoadError;
use crate::disk::Disk;
use crate::parts::AppendFile;
use bytemuck::Pod;
use memory::Region;
use std::io;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, OnceLock, PoisonError};

/// Where temporary files are made.
pub trait ScratchSpace: Sync {
    /// A new empty file of this name.
    fn create(&self, name: &str) -> io::Result<Box<dyn AppendFile>>;
    /// All bytes of a file that is complete.
    fn map(&self, name: &str) -> io::Result<Region>;
    /// Removes a file.
    fn remove(&self, name: &str);
}

/// Temporary files in a directory of a disk.
pub struct DiskScratch<'d> {
    disk: &'d dyn Disk,
    dir: PathBuf,
}

impl<'d> DiskScratch<'d> {
    /// Files in `dir`, which exists.
    pub fn new(disk: &'d dyn Disk, dir: &Path) -> DiskScratch<'d> {
        DiskScratch {
            disk,
            dir: dir.to_owned(),
        }
    }
}

impl ScratchSpace for DiskScratch<'_> {
    fn create(&self, name: &str) -> io::Result<Box<dyn AppendFile>> {
        self.disk.create(&self.dir.join(name))
    }

    fn map(&self, name: &str) -> io::Result<Region> {
        self.disk.map(&self.dir.join(name))
    }

    fn remove(&self, name: &str) {
        // What stays goes with its directory, at the latest when the next load begins.
        drop(self.disk.remove_file(&self.dir.join(name)));
    }
}

/// No temporary files: for loads without a limit.
pub struct NoScratch;

impl ScratchSpace for NoScratch {
    fn create(&self, _name: &str) -> io::Result<Box<dyn AppendFile>> {
        Err(io::ErrorKind::Unsupported.into())
    }

    fn map(&self, _name: &str) -> io::Result<Region> {
        Err(io::ErrorKind::Unsupported.into())
    }

    fn remove(&self, _name: &str) {}
}

/// Where a run of records lies in a temporary file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Extent {
    /// Offset of its first byte.
    pub offset: u64,
    /// How many records.
    pub records: usize,
}

/// Where records lie that may be packed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Packed {
    /// Of the records, or of the bytes they were packed to.
    extent: Extent,
    records: usize,
    packs: bool,
}

/// Bytes of a file from which on records are packed.
const PACKS_FROM: u64 = 4 << 30;

/// How hard it is tried to make packed records small: hardly.
const LEVEL: i32 = 1;

/// One temporary file, created at first use.
pub struct Spill<'l> {
    space: &'l dyn ScratchSpace,
    name: String,
    writing: Mutex<Writing>,
    mapped: OnceLock<io::Result<Region>>,
    packs_from: u64,
}

#[derive(Default)]
struct Writing {
    file: Option<Box<dyn AppendFile>>,
    length: u64,
}

impl<'l> Spill<'l> {
    /// A file that does not exist yet.
    pub fn new(space: &'l dyn ScratchSpace, name: impl Into<String>) -> Spill<'l> {
        Spill {
            space,
            name: name.into(),
            writing: Mutex::default(),
            mapped: OnceLock::new(),
            packs_from: PACKS_FROM,
        }
    }

    /// The same, that packs from so many bytes on: for tests.
    #[cfg(test)]
    pub fn packing_from(mut self, bytes: u64) -> Spill<'l> {
        self.packs_from = bytes;
        self
    }

    /// Writes records to the end of the file.
    pub fn write<T: Pod>(&self, records: &[T]) -> Result<Extent, LoadError> {
        assert!(
            self.mapped.get().is_none(),
            "what was written is read later"
        );
        let bytes: &[u8] = bytemuck::cast_slice(records);
        let mut writing = self.writing.lock().unwrap_or_else(PoisonError::into_inner);
        let offset = writing.length;
        if !bytes.is_empty() {
            let file = match &mut writing.file {
                Some(file) => file,
                none => {
                    let file = self
                        .space
                        .create(&self.name)
                        .map_err(|error| self.failed(&error))?;
                    none.insert(file)
                }
            };
            file.append(bytes).map_err(|error| self.failed(&error))?;
            writing.length += bytes.len() as u64;
        }
        Ok(Extent {
            offset,
            records: records.len(),
        })
    }

    /// Appends the records `part` of `extent` to `records`.
    pub fn read<T: Pod>(
        &self,
        extent: Extent,
        part: Range<usize>,
        records: &mut Vec<T>,
    ) -> Result<(), LoadError> {
        assert!(part.end <= extent.records, "what is read was written");
        if part.is_empty() {
            return Ok(());
        }
        let offset = extent.offset as usize;
        let bytes = offset + part.start * size_of::<T>()..offset + part.end * size_of::<T>();
        let bytes = self.region()?.bytes().get(bytes);
        let bytes = bytes.ok_or_else(|| self.failed(&io::ErrorKind::UnexpectedEof.into()))?;
        let before = records.len();
        records.resize(before + part.len(), T::zeroed());
        bytemuck::cast_slice_mut(&mut records[before..]).copy_from_slice(bytes);
        // Zeros were copied in place of what is gone.
        if self.region()?.is_damaged() {
            return Err(self.failed(&io::ErrorKind::UnexpectedEof.into()));
        }
        Ok(())
    }

    /// A whole extent.
    pub fn read_all<T: Pod>(&self, extent: Extent) -> Result<Vec<T>, LoadError> {
        let mut records = Vec::new();
        self.read(extent, 0..extent.records, &mut records)?;
        Ok(records)
    }

    /// Writes records to the end of the file, packed where it is long already.
    pub fn write_packed<T: Pod>(&self, records: &[T]) -> Result<Packed, LoadError> {
        let length = self
            .writing
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .length;
        let is_packed = length >= self.packs_from && !records.is_empty();
        let extent = if is_packed {
            let bytes: &[u8] = bytemuck::cast_slice(records);
            let packed = zstd::bulk::compress(bytes, LEVEL);
            self.write(&packed.map_err(|error| self.failed(&error))?)?
        } else {
            self.write(records)?
        };
        Ok(Packed {
            extent,
            records: records.len(),
            packs: is_packed,
        })
    }

    /// Records that may have been packed.
    pub fn read_packed<T: Pod>(&self, packed: Packed) -> Result<Vec<T>, LoadError> {
        if !packed.packs {
            return self.read_all(packed.extent);
        }
        let mut records = vec![T::zeroed(); packed.records];
        let bytes: Vec<u8> = self.read_all(packed.extent)?;
        let into: &mut [u8] = bytemuck::cast_slice_mut(&mut records);
        let length = into.len();
        let unpacked = zstd::bulk::decompress_to_buffer(&bytes, into);
        match unpacked.map_err(|error| self.failed(&error))? {
            found if found == length => Ok(records),
            _ => Err(self.failed(&io::ErrorKind::UnexpectedEof.into())),
        }
    }

    fn region(&self) -> Result<&Region, LoadError> {
        let mapped = self.mapped.get_or_init(|| {
            let mut writing = self.writing.lock().unwrap_or_else(PoisonError::into_inner);
            writing.file = None;
            self.space.map(&self.name)
        });
        mapped.as_ref().map_err(|error| self.failed(error))
    }

    fn failed(&self, error: &io::Error) -> LoadError {
        // The error of a failed map is met by every later call: only a copy can be given.
        let error = match error.raw_os_error() {
            Some(code) => io::Error::from_raw_os_error(code),
            None => io::Error::new(error.kind(), error.to_string()),
        };
        LoadError::Scratch {
            name: self.name.clone(),
            error,
        }
    }
}

impl Drop for Spill<'_> {
    fn drop(&mut self) {
        let writing = self
            .writing
            .get_mut()
            .unwrap_or_else(PoisonError::into_inner);
        if writing.length > 0 || writing.file.is_some() {
            writing.file = None;
            self.space.remove(&self.name);
        }
    }
}

#[cfg(test)]
pub mod tests {
    use super::*;
    use std::collections::BTreeMap;
    use std::sync::Arc;

    type Files = Arc<Mutex<BTreeMap<String, Vec<u8>>>>;

    /// Temporary files in memory.
    #[derive(Default)]
    pub struct MemoryScratch(pub Files);

    struct MemoryFile(Files, String);

    impl ScratchSpace for MemoryScratch {
        fn create(&self, name: &str) -> io::Result<Box<dyn AppendFile>> {
            let before = self.0.lock().unwrap().insert(name.to_owned(), Vec::new());
            assert!(before.is_none(), "{name} exists");
            Ok(Box::new(MemoryFile(Arc::clone(&self.0), name.to_owned())))
        }

        fn map(&self, name: &str) -> io::Result<Region> {
            Region::heap(&self.0.lock().unwrap()[name])
        }

        fn remove(&self, name: &str) {
            self.0.lock().unwrap().remove(name).unwrap();
        }
    }

    impl AppendFile for MemoryFile {
        fn append(&mut self, bytes: &[u8]) -> io::Result<()> {
            self.0
                .lock()
                .unwrap()
                .get_mut(&self.1)
                .unwrap()
                .extend_from_slice(bytes);
            Ok(())
        }

        fn sync(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn what_is_packed_comes_back_and_what_is_damaged_is_said() {
        let scratch = MemoryScratch::default();
        let spill = Spill::new(&scratch, "a").packing_from(100);
        let [before, ascending_from] = [[7_u64; 20]; 2];
        let plain = spill.write_packed(&before).unwrap();
        assert_eq!(scratch.0.lock().unwrap()["a"].len(), 160, "not packed yet");
        let ascending: Vec<u64> = (0..10_000).collect();
        let pairs = [[1_u32, 2], [3, 4]];
        let (first, second) = (
            spill.write_packed(&ascending).unwrap(),
            spill.write_packed(&pairs).unwrap(),
        );
        let third = spill.write_packed::<u64>(&[]).unwrap();
        let length = scratch.0.lock().unwrap()["a"].len();
        assert!(length < 40_000, "{length} bytes of 80,176");
        assert_eq!(spill.read_packed::<u64>(plain).unwrap(), ascending_from);
        assert_eq!(spill.read_packed::<u64>(first).unwrap(), ascending);
        assert_eq!(spill.read_packed::<[u32; 2]>(second).unwrap(), pairs);
        assert!(spill.read_packed::<u64>(third).unwrap().is_empty());
        drop(spill);
        let spill = Spill::new(&scratch, "b").packing_from(0);
        let packed = spill.write_packed(&ascending).unwrap();
        let short = Packed {
            records: packed.records + 1,
            ..packed
        };
        assert!(spill.read_packed::<u64>(short).is_err());
        drop(spill);
        let spill = Spill::new(&scratch, "c").packing_from(0);
        let packed = spill.write_packed(&ascending).unwrap();
        scratch.0.lock().unwrap().get_mut("c").unwrap()[..8].fill(0xff);
        assert!(spill.read_packed::<u64>(packed).is_err());
    }

    #[test]
    fn extents_come_back_and_files_go() {
        let scratch = MemoryScratch::default();
        let spill = Spill::new(&scratch, "a");
        let first = spill.write(&[1_u32, 2, 3]).unwrap();
        let second = spill.write(&[[4_u64, 5]]).unwrap();
        let empty = spill.write::<u64>(&[]).unwrap();
        assert_eq!(spill.read_all::<u32>(first).unwrap(), [1, 2, 3]);
        assert_eq!(spill.read_all::<[u64; 2]>(second).unwrap(), [[4, 5]]);
        assert!(spill.read_all::<u64>(empty).unwrap().is_empty());
        let mut part = vec![9];
        spill.read::<u32>(first, 1..3, &mut part).unwrap();
        assert_eq!(part, [9, 2, 3]);
        drop(Spill::new(&scratch, "never written"));
        assert_eq!(scratch.0.lock().unwrap().len(), 1);
        drop(spill);
        assert_eq!(scratch.0.lock().unwrap().len(), 0);
    }
}
