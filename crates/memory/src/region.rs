//! Regions: bytes that stay where they are and never change.
//!
//! Two kinds, one type: a file mapped read-only, and memory of this process, filled once through a
//! [`HeapRegion`] and then frozen. Both begin at a multiple of 64 (a cache line), so that parts
//! which a format pads to 8 or 64 bytes can be viewed as numbers in place. Cloning and slicing
//! share the memory; it is released with the last handle.
//!
//! Invariant: between creation and release nothing writes to the bytes. For heap memory the types
//! see to it. For a mapped file it rests on how stores treat their files: a file is written once,
//! synced, named by the manifest and from then on only read or unlinked (an unlinked file stays
//! mapped). A foreign process that writes into a store's files breaks this; checksums find what it
//! did before the first touch, nothing in user space finds what it overwrites after. What it cuts off
//! is found: see [`faults`](crate::survive_bus_errors).
//!
//! Cost: mapping is one system call whatever the length; pages come in at first touch. Heap
//! memory of 2 MiB and more asks for huge pages, which saves most of the misses of the TLB on
//! random lookups; the kernel may refuse silently.

#![allow(unsafe_code)]

use crate::faults::RegionEntry;
use memmap2::{Mmap, MmapMut};
use std::fs::File;
use std::io;
use std::ops::Range;
use std::sync::Arc;

/// From this size on, heap memory is mapped anonymously and asks for huge pages.
pub(crate) const HUGE_FROM_BYTES: usize = 2 << 20;

/// Bytes of a cache line.
pub(crate) const LINE_BYTES: usize = 64;

/// One cache line, to give heap memory its alignment.
#[derive(Clone, Copy, bytemuck::Zeroable, bytemuck::Pod)]
#[repr(C, align(64))]
pub(crate) struct Line([u8; LINE_BYTES]);
const _: () = assert!(
    size_of::<Line>() == LINE_BYTES && align_of::<Line>() == LINE_BYTES,
    "lines begin at multiples of their length"
);
const _: () = assert!(
    HUGE_FROM_BYTES.is_multiple_of(2 << 20),
    "memory of huge pages holds one at least"
);

/// Immutable bytes at a fixed place, aligned to 64 bytes unless sliced elsewhere. Cheap to clone;
/// `Send` and `Sync`.
#[derive(Clone)]
pub struct Region {
    memory: Arc<Memory>,
    start: usize,
    len: usize,
}

/// Who holds the bytes.
enum Memory {
    /// In this order: the region is no longer watched when it is unmapped.
    Mapped {
        watch: RegionEntry,
        map: Mmap,
        file: File,
    },
    Anonymous {
        map: MmapMut,
    },
    Lines {
        lines: Vec<Line>,
    },
}

impl Memory {
    #[inline]
    fn bytes(&self) -> &[u8] {
        match self {
            Memory::Mapped { map, .. } => map,
            Memory::Anonymous { map } => map,
            Memory::Lines { lines } => bytemuck::cast_slice(lines),
        }
    }
}

impl Region {
    /// Maps the whole file, read-only. The file may be closed or unlinked afterwards; it must not
    /// be written to (see the module's documentation).
    pub fn map(file: &File) -> io::Result<Region> {
        let len = usize::try_from(file.metadata()?.len()).map_err(io::Error::other)?;
        if len == 0 {
            return Ok(HeapRegion::zeroed(0)?.freeze());
        }
        let file = file.try_clone()?;
        // SAFETY: the map is read-only and private to this value. The bytes behind it do not
        // change while it lives, because files of a store are never written after they are named
        // (module documentation); a reader of a file that breaks this promise sees other bytes
        // than were checked, and every format decoded from a region bounds-checks what it reads.
        let map = unsafe { memmap2::MmapOptions::new().len(len).map(&file)? };
        let watch = RegionEntry::new(map.as_ptr() as usize, len);
        Ok(Region {
            memory: Arc::new(Memory::Mapped { watch, map, file }),
            start: 0,
            len,
        })
    }

    /// A region of this process's memory holding a copy of `bytes`.
    pub fn heap(bytes: &[u8]) -> io::Result<Region> {
        let mut heap = HeapRegion::zeroed(bytes.len())?;
        heap.bytes_mut().copy_from_slice(bytes);
        Ok(heap.freeze())
    }

    /// A region of these lines, of which the first `len` bytes count.
    pub(crate) fn of_lines(lines: Vec<Line>, len: usize) -> Region {
        assert!(len <= lines.len() * LINE_BYTES, "bytes lie in the lines");
        Region {
            memory: Arc::new(Memory::Lines { lines }),
            start: 0,
            len,
        }
    }

    /// All bytes.
    #[inline]
    pub fn bytes(&self) -> &[u8] {
        &self.memory.bytes()[self.start..self.start + self.len]
    }

    /// Some of the bytes; `None` where the range does not lie within them.
    #[inline]
    pub fn get(&self, range: Range<usize>) -> Option<&[u8]> {
        if range.start > range.end || range.end > self.len {
            return None;
        }
        // What is within the length is within the memory.
        let (start, end) = (self.start + range.start, self.start + range.end);
        self.memory.bytes().get(start..end)
    }

    /// Length in bytes.
    #[inline]
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether there are no bytes.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// A part of this region, sharing its memory; `None` where the range exceeds it.
    pub fn slice(&self, range: Range<usize>) -> Option<Region> {
        self.bytes().get(range.clone())?;
        Some(Region {
            memory: Arc::clone(&self.memory),
            start: self.start + range.start,
            len: range.len(),
        })
    }

    /// Tells the kernel that a mapped region will be read at random places, so that reading ahead
    /// is wasted. A hint: errors are ignored.
    pub fn advise_random(&self) {
        #[cfg(unix)]
        if let Memory::Mapped { map, .. } = &*self.memory {
            let _ = map.advise_range(memmap2::Advice::Random, self.start, self.len);
        }
    }

    /// Tells the kernel that all of a mapped region will be needed soon. A hint: errors are
    /// ignored.
    pub fn advise_will_need(&self) {
        #[cfg(unix)]
        if let Memory::Mapped { map, .. } = &*self.memory {
            let _ = map.advise_range(memmap2::Advice::WillNeed, self.start, self.len);
        }
    }

    /// Whether bytes of the mapped file were found to be gone since it was mapped; zeros may have been
    /// read in their place, in this region or another one of the same map. It stays so.
    pub fn is_damaged(&self) -> bool {
        match &*self.memory {
            Memory::Mapped { watch, .. } => watch.is_damaged(),
            Memory::Anonymous { .. } | Memory::Lines { .. } => false,
        }
    }

    /// Whether the mapped file is shorter now than it was; then the region [is
    /// damaged](Region::is_damaged). One system call.
    pub fn is_shortened(&self) -> bool {
        let Memory::Mapped { watch, map, file } = &*self.memory else {
            return false;
        };
        let length = file.metadata().map(|metadata| metadata.len());
        let is_shortened = length.is_ok_and(|length| length < map.len() as u64);
        if is_shortened && !watch.is_damaged() {
            watch.condemn();
        }
        is_shortened
    }

    /// The bytes of `range`, read so that an error of the device or a file cut short is an error
    /// here: touching such a page of a map would end the process with `SIGBUS` instead. For a
    /// mapped file it reads through the descriptor into `scratch`, which also brings the pages
    /// into the cache that the map shares; other memory is borrowed as it is.
    ///
    /// `range` must lie within the region (asserted: callers cut it from the region's own length).
    pub(crate) fn read<'a>(
        &'a self,
        range: Range<usize>,
        scratch: &'a mut Vec<u8>,
    ) -> io::Result<&'a [u8]> {
        assert!(
            range.start <= range.end && range.end <= self.len,
            "range within the region"
        );
        match &*self.memory {
            #[cfg(unix)]
            Memory::Mapped { file, .. } => {
                scratch.resize(range.len(), 0);
                let offset = (self.start + range.start) as u64;
                std::os::unix::fs::FileExt::read_exact_at(file, scratch, offset)?;
                Ok(scratch)
            }
            _ => Ok(&self.bytes()[range]),
        }
    }
}

impl std::fmt::Debug for Region {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let kind = match &*self.memory {
            Memory::Mapped { .. } => "mapped",
            Memory::Anonymous { .. } | Memory::Lines { .. } => "heap",
        };
        write!(f, "Region({kind}, {} bytes)", self.len)
    }
}

/// Zeroed memory of this process, to be filled and then frozen into a [`Region`].
pub struct HeapRegion {
    memory: Memory,
    len: usize,
}

impl HeapRegion {
    /// `len` zero bytes, 64-byte aligned. Pages are taken from the system as they are touched.
    pub fn zeroed(len: usize) -> io::Result<HeapRegion> {
        let memory = if len >= HUGE_FROM_BYTES && !cfg!(miri) {
            let map = MmapMut::map_anon(len)?;
            #[cfg(target_os = "linux")]
            let _ = map.advise(memmap2::Advice::HugePage);
            Memory::Anonymous { map }
        } else {
            let lines = bytemuck::allocation::try_zeroed_vec(len.div_ceil(size_of::<Line>()))
                .map_err(|()| io::Error::from(io::ErrorKind::OutOfMemory))?;
            Memory::Lines { lines }
        };
        Ok(HeapRegion { memory, len })
    }

    /// All bytes.
    pub fn bytes(&self) -> &[u8] {
        &self.memory.bytes()[..self.len]
    }

    /// Length in bytes.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether there are no bytes.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The bytes, to be written.
    pub fn bytes_mut(&mut self) -> &mut [u8] {
        let bytes = match &mut self.memory {
            Memory::Anonymous { map } => map,
            Memory::Lines { lines } => bytemuck::cast_slice_mut(lines),
            Memory::Mapped { .. } => unreachable!("heap memory is never a mapped file"),
        };
        &mut bytes[..self.len]
    }

    /// Ends the writing: from now on the bytes never change.
    pub fn freeze(self) -> Region {
        Region {
            memory: Arc::new(self.memory),
            start: 0,
            len: self.len,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn heap_is_zeroed_aligned_and_keeps_what_is_written() {
        for len in [0, 1, 63, 64, 65, 4096, HUGE_FROM_BYTES + 1] {
            if cfg!(miri) && len > 4096 {
                continue;
            }
            let mut heap = HeapRegion::zeroed(len).unwrap();
            assert_eq!((heap.bytes_mut().len(), heap.len()), (len, len));
            assert_eq!(heap.is_empty(), len == 0);
            assert!(heap.bytes_mut().iter().all(|&byte| byte == 0));
            if let Some(last) = heap.bytes_mut().last_mut() {
                *last = 7;
            }
            assert_eq!(heap.bytes().last().copied().unwrap_or(7), 7);
            let region = heap.freeze();
            assert_eq!(region.bytes().as_ptr() as usize % 64, 0);
            assert_eq!(region.len(), len);
            assert_eq!(region.bytes().last().copied().unwrap_or(7), 7);
        }
    }

    #[test]
    fn slices_share_and_stay_within() {
        let region = Region::heap(b"somersault").unwrap();
        let slice = region.slice(2..6).unwrap();
        drop(region);
        assert_eq!(slice.bytes(), b"mers");
        assert_eq!(slice.slice(1..3).unwrap().bytes(), b"er");
        assert!(slice.slice(0..5).is_none());
        #[allow(clippy::reversed_empty_ranges)]
        let reversed = 3..1;
        assert!(slice.slice(reversed).is_none());
    }

    #[test]
    #[cfg(not(miri))]
    fn a_mapped_file_outlives_its_name() {
        use std::io::Write;
        let mut file = tempfile::tempfile().unwrap();
        assert!(Region::map(&file).unwrap().is_empty());
        file.write_all(b"somersault").unwrap();
        let region = Region::map(&file).unwrap();
        drop(file);
        assert_eq!(region.bytes(), b"somersault");
        let mut scratch = Vec::new();
        assert_eq!(region.read(3..7, &mut scratch).unwrap(), b"ersa");
        region.advise_random();
        region.advise_will_need();
    }
}
