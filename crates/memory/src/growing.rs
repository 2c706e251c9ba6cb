//! A region that is written from front to back, where its length is not known before.
//!
//! The bytes lie in whole cache lines from the start, so that a small region is frozen where it is, without being
//! copied: a commit makes some forty of a few hundred bytes each. One of [`HUGE_FROM_BYTES`] or more is
//! copied once into memory of huge pages.

use crate::region::{HUGE_FROM_BYTES, LINE_BYTES, Line, Region};
use bytemuck::Zeroable;
use std::io;

/// Memory of this process that grows at its end, to be frozen into a [`Region`].
#[derive(Default)]
pub struct GrowingRegion {
    lines: Vec<Line>,
    /// Bytes that were appended; what is behind them in the last line is zeros.
    len: usize,
}

impl GrowingRegion {
    /// Bytes appended so far.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether nothing was appended.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Takes memory for so many bytes more and not for others, where that is known. An error where there is none.
    pub fn make_room(&mut self, bytes: usize) -> io::Result<()> {
        let no_memory = || io::Error::from(io::ErrorKind::OutOfMemory);
        let end = self.len.checked_add(bytes).ok_or_else(no_memory)?;
        let lines = end.div_ceil(LINE_BYTES) - self.lines.len();
        self.lines.try_reserve_exact(lines).map_err(|_| no_memory())
    }

    /// Appends bytes. An error where there is no memory for them; then nothing was appended.
    pub fn append(&mut self, bytes: &[u8]) -> io::Result<()> {
        let end = self.len + bytes.len();
        let lines = end.div_ceil(LINE_BYTES);
        if lines > self.lines.len() {
            self.lines
                .try_reserve(lines - self.lines.len())
                .map_err(|_| io::Error::from(io::ErrorKind::OutOfMemory))?;
            self.lines.resize(lines, Line::zeroed());
        }
        let place = &mut bytemuck::cast_slice_mut::<Line, u8>(&mut self.lines)[self.len..end];
        place.copy_from_slice(bytes);
        self.len = end;
        assert_eq!(
            self.lines.len(),
            lines,
            "there are as many lines as bytes need"
        );
        Ok(())
    }

    /// Ends the writing: the first `len` bytes, all at most, never change from now on. Memory that was taken for more is
    /// given back, but for two lines or a sixteenth.
    pub fn freeze(mut self, len: usize) -> io::Result<Region> {
        let len = len.min(self.len);
        if len >= HUGE_FROM_BYTES {
            return Region::heap(&bytemuck::cast_slice(&self.lines)[..len]);
        }
        self.lines.truncate(len.div_ceil(LINE_BYTES));
        if self.lines.capacity() > self.lines.len() + self.lines.len() / 16 + 2 {
            self.lines.shrink_to_fit();
        }
        Ok(Region::of_lines(self.lines, len))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_of_any_size_stand_one_behind_the_other() {
        let all: Vec<u8> = (0..1000_u32).map(|at| (at * 7) as u8).collect();
        for piece in [1, 3, 63, 64, 65, 200, 1000] {
            let mut growing = GrowingRegion::default();
            assert!(growing.is_empty());
            for bytes in all.chunks(piece) {
                growing.append(bytes).unwrap();
            }
            assert_eq!(growing.len(), all.len());
            let region = growing.freeze(990).unwrap();
            assert_eq!(region.bytes(), &all[..990]);
            assert_eq!(region.bytes().as_ptr() as usize % LINE_BYTES, 0);
        }
    }

    #[test]
    fn room_is_taken_once_and_given_back() {
        let mut growing = GrowingRegion::default();
        growing.make_room(130).unwrap();
        let capacity = growing.lines.capacity();
        growing.append(&[1; 100]).unwrap();
        growing.append(&[2; 30]).unwrap();
        assert_eq!(growing.lines.capacity(), capacity);
        assert_eq!(growing.freeze(usize::MAX).unwrap().len(), 130);
        assert!(GrowingRegion::default().make_room(1 << 62).is_err());
        let nothing = GrowingRegion::default().freeze(5).unwrap();
        assert!(nothing.is_empty());
    }

    #[test]
    #[cfg_attr(miri, ignore = "megabytes")]
    fn a_large_one_is_as_it_was_written() {
        let mut growing = GrowingRegion::default();
        for piece in 0..40_u8 {
            growing.append(&vec![piece; 64 << 10]).unwrap();
        }
        let region = growing.freeze(40 << 16).unwrap();
        assert!(region.len() > HUGE_FROM_BYTES);
        let as_written = |(at, &byte): (usize, &u8)| at >> 16 == usize::from(byte);
        assert!(region.bytes().iter().enumerate().all(as_written));
    }
}
