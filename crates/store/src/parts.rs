//! Parts: the files that a graph consists of, as they are written and as they are found again.
//!
//! A part is written once, from front to back, by one [`PartWriter`], which buffers, keeps the
//! checksums of blocks and ends the file with their table. Where the bytes go is the caller's:
//! a generation of a [store directory](crate::directory), or the [`MemoryParts`] of a graph that
//! lives in this process only. Both give the same bytes.
//!
//! Invariant: bytes depend only on what was appended, never on the sizes of the pieces.
//!
//! Cost: one buffer of up to 256 KiB per open part, and a checksum at memory speed.
//!
//! | field | written by | read by |
//! |---|---|---|
//! | `MemoryParts::files`, `complete` | whoever ends a part, with the lock | the same; alone once the writing has ended |

use crate::format::{PartHeader, PartKind};
use memory::{BlockSums, CheckedRegion, GrowingRegion, Region};
use rdf::Direction;
use std::borrow::Cow;
use std::io;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

/// Bytes that most parts of a commit have room in.
const BUFFER_BYTES_FIRST: usize = 256;
/// Buffered bytes after which they are handed on.
const BUFFER_BYTES: usize = 256 << 10;
const _: () = assert!(
    BUFFER_BYTES >= memory::BLOCK_BYTES,
    "blocks are summed whole, not in pieces"
);

/// A part's name within its generation. Nearly all are constants; a commit makes dozens of parts.
pub type PartName = Cow<'static, str>;

/// A file that is being written, from front to back.
pub trait AppendFile: Send {
    /// Appends all bytes.
    fn append(&mut self, bytes: &[u8]) -> io::Result<()>;
    /// Returns after everything appended has reached stable storage.
    fn sync(&mut self) -> io::Result<()>;
    /// Gives up everything behind the first `length_bytes`, to give its space back. Nothing is appended
    /// afterwards. The cut itself is not durable.
    fn cut(&mut self, _length_bytes: u64) -> io::Result<()> {
        Err(io::ErrorKind::Unsupported.into())
    }
    /// Whether the path names this file: false where it was removed, replaced, or the path leads
    /// elsewhere now. Files of no disk are where they are.
    fn is_at(&self, _path: &Path) -> io::Result<bool> {
        Ok(true)
    }
}

/// Where new parts are made.
pub trait PartFiles: Sync {
    /// A new, empty file of this name; the name must be free.
    fn create(&self, name: &PartName) -> io::Result<Box<dyn AppendFile>>;
    /// Takes note of a part that is complete, so that it becomes part of the graph.
    fn completed(&self, part: PartSummary);
}

/// Where the parts of a graph are found.
pub trait PartSource {
    /// The part of this name.
    fn part(&self, name: &str) -> Result<CheckedRegion, PartError>;
}

/// Why a part could not be written or found.
#[derive(Debug, thiserror::Error)]
#[error("{file}: {source}")]
pub struct PartError {
    /// The file's name within its generation.
    pub file: String,
    /// What the system said.
    pub source: io::Error,
}

/// What a manifest records about a part.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PartSummary {
    /// The file's name within its generation.
    pub name: PartName,
    /// Length of its content in bytes, a multiple of 8 for a graph's parts. The table of checksums follows it.
    pub length_bytes: u64,
    /// Checksum of the table of checksums.
    pub sums_sum: u64,
}

/// Writes one part.
pub struct PartWriter {
    name: PartName,
    file: Box<dyn AppendFile>,
    buffer: Vec<u8>,
    sums: BlockSums,
    position: u64,
    /// Whether the content is padded to a multiple of 8 bytes.
    is_padded: bool,
}

impl PartWriter {
    /// A part of a graph, its header written.
    pub fn create(
        files: &dyn PartFiles,
        kind: PartKind,
        direction: Option<Direction>,
    ) -> Result<PartWriter, PartError> {
        let mut part = PartWriter::create_raw(files, kind.file_name(direction))?;
        part.is_padded = true;
        part.append(bytemuck::bytes_of(&PartHeader::new(kind, direction)))?;
        Ok(part)
    }

    /// A part of any content under any name, for instance one of the dictionary's, of exactly the
    /// length that is appended. No header is written.
    pub fn create_raw(
        files: &dyn PartFiles,
        name: impl Into<PartName>,
    ) -> Result<PartWriter, PartError> {
        let name = name.into();
        let file = files
            .create(&name)
            .map_err(|source| failed(&name, source))?;
        Ok(PartWriter {
            name,
            file,
            buffer: Vec::with_capacity(BUFFER_BYTES_FIRST),
            sums: BlockSums::new(),
            position: 0,
            is_padded: false,
        })
    }

    /// Bytes appended so far.
    #[inline]
    pub fn position(&self) -> u64 {
        self.position
    }

    /// Appends bytes.
    #[inline]
    pub fn append(&mut self, bytes: &[u8]) -> Result<(), PartError> {
        self.buffer.extend_from_slice(bytes);
        self.position += bytes.len() as u64;
        if self.buffer.len() >= BUFFER_BYTES {
            self.flush()?;
        }
        Ok(())
    }

    /// Appends zeros until the position is a multiple of `alignment_bytes`, a power of two.
    pub fn align(&mut self, alignment_bytes: u64) -> Result<(), PartError> {
        assert!(
            alignment_bytes.is_power_of_two() && alignment_bytes <= 64,
            "alignment up to a line"
        );
        let padding = self.position.next_multiple_of(alignment_bytes) - self.position;
        self.append(&[0; 64][..padding as usize])
    }

    /// Pads the content (that of a graph's part), appends the table of checksums, syncs, and enters the part into `files`.
    pub fn finish(mut self, files: &dyn PartFiles) -> Result<PartSummary, PartError> {
        if self.is_padded {
            self.align(8)?;
        }
        self.flush()?;
        let PartWriter {
            name,
            mut file,
            sums,
            position,
            ..
        } = self;
        assert_eq!(
            sums.length_bytes(),
            position,
            "every byte that was appended is in the checksums"
        );
        let sums = sums.finish();
        let table: &[u8] = bytemuck::cast_slice(&sums);
        let summary = PartSummary {
            name,
            length_bytes: position,
            sums_sum: memory::block_sum(table),
        };
        file.append(table)
            .and_then(|()| file.sync())
            .map_err(|source| failed(&summary.name, source))?;
        files.completed(summary.clone());
        Ok(summary)
    }

    fn flush(&mut self) -> Result<(), PartError> {
        self.sums.update(&self.buffer);
        self.file
            .append(&self.buffer)
            .map_err(|source| failed(&self.name, source))?;
        self.buffer.clear();
        Ok(())
    }
}

fn failed(name: &str, source: io::Error) -> PartError {
    PartError {
        file: name.to_owned(),
        source,
    }
}

/// Parts in the memory of this process: for graphs that are loaded in memory only, for the changes of a commit,
/// and for tests.
#[derive(Default)]
pub struct MemoryParts {
    files: Arc<Mutex<Vec<(PartName, GrowingRegion)>>>,
    complete: Mutex<Vec<PartSummary>>,
}

/// The table of checksums of a part of a few blocks.
const SMALL_TABLE_BYTES: usize = 64;

struct MemoryFile {
    name: PartName,
    bytes: GrowingRegion,
    files: Arc<Mutex<Vec<(PartName, GrowingRegion)>>>,
}

impl MemoryParts {
    /// No parts.
    pub fn new() -> MemoryParts {
        MemoryParts::default()
    }

    /// What was completed, by name.
    pub fn summaries(&self) -> Vec<PartSummary> {
        let mut all = self
            .complete
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone();
        all.sort_by(|a, b| a.name.cmp(&b.name));
        all
    }

    /// Ends the writing: the completed parts as regions.
    pub fn freeze(self) -> io::Result<FrozenParts> {
        let summaries = self.complete.into_inner();
        let summaries = summaries.unwrap_or_else(PoisonError::into_inner);
        let mut files = self.files.lock().unwrap_or_else(PoisonError::into_inner);
        let mut regions = Vec::with_capacity(summaries.len());
        for PartSummary {
            name, length_bytes, ..
        } in summaries
        {
            let at = files.iter().position(|(file, _)| *file == name);
            let bytes = at.map(|at| files.swap_remove(at).1).unwrap_or_default();
            regions.push((name, bytes.freeze(length_bytes as usize)?));
        }
        Ok(FrozenParts { regions })
    }
}

impl PartFiles for MemoryParts {
    fn create(&self, name: &PartName) -> io::Result<Box<dyn AppendFile>> {
        Ok(Box::new(MemoryFile {
            name: name.clone(),
            bytes: GrowingRegion::default(),
            files: Arc::clone(&self.files),
        }))
    }

    fn completed(&self, part: PartSummary) {
        self.complete
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .push(part);
    }
}

impl AppendFile for MemoryFile {
    fn append(&mut self, bytes: &[u8]) -> io::Result<()> {
        if self.bytes.is_empty() {
            // A small part comes at once, and then its table.
            self.bytes.make_room(bytes.len() + SMALL_TABLE_BYTES)?;
        }
        self.bytes.append(bytes)
    }

    fn sync(&mut self) -> io::Result<()> {
        let mut files = self.files.lock().unwrap_or_else(PoisonError::into_inner);
        let is_free = !self.name.is_empty() && files.iter().all(|(name, _)| *name != self.name);
        debug_assert!(is_free, "synced once, under a name of its own");
        files.push((
            std::mem::take(&mut self.name),
            std::mem::take(&mut self.bytes),
        ));
        Ok(())
    }
}

/// The parts of a graph in memory: two dozen names, which are found by looking at each.
pub struct FrozenParts {
    regions: Vec<(PartName, Region)>,
}

impl FrozenParts {
    /// Total bytes by part, ascending by name.
    pub fn sizes(&self) -> Vec<(String, u64)> {
        let size =
            |(name, region): &(PartName, Region)| (name.clone().into_owned(), region.len() as u64);
        let mut sizes: Vec<(String, u64)> = self.regions.iter().map(size).collect();
        sizes.sort_unstable();
        sizes
    }
}

impl PartSource for FrozenParts {
    fn part(&self, name: &str) -> Result<CheckedRegion, PartError> {
        match self.regions.iter().find(|(part, _)| part == name) {
            Some((_, region)) => Ok(CheckedRegion::unchecked(name, region.clone())),
            None => Err(failed(name, io::Error::from(io::ErrorKind::NotFound))),
        }
    }
}
