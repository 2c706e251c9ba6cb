//! How the bytes of a part are reached: trusted, or verified block by block at first touch.
//!
//! Invariant: nothing is read from a block that was not verified. A batch asks once whether the
//! whole part has been verified; then it runs on plain slices ([`Plain`]), else each access passes
//! through the part's [`CheckedRegion`] ([`Checked`]). The walk's loops are written once, generic
//! over [`ByteSource`], and compiled twice, so the question is never asked per row.
//!
//! Positions come from the files themselves, so every access is checked against the part's length
//! and answers with an error, never a panic.

use crate::error::ViewError;
use memory::{CheckedRegion, Damage, DamagedBlock};
use std::ops::Range;

/// An error on its way out of a hot loop: one pointer wide.
pub(crate) type Fault = Box<ViewError>;

/// The error of a damaged block, as the view tells it.
#[cold]
#[allow(clippy::unnecessary_box_returns, clippy::needless_pass_by_value)] // see `Fault`; for `map_err`
pub(crate) fn damaged(block: DamagedBlock) -> Fault {
    let file = block.file.to_string();
    Box::new(match block.damage {
        Damage::Checksum | Damage::Unreadable(_) => ViewError::Damaged {
            file,
            block: block.block,
        },
        Damage::Gone => ViewError::Inconsistent {
            file,
            what: block.damage.to_string(),
        },
        Damage::Beyond | Damage::Length => ViewError::Inconsistent {
            file,
            what: format!("a reference beyond the end, to byte {}", block.offset),
        },
    })
}

/// The error of a part that contradicts itself or another.
#[cold]
#[allow(clippy::unnecessary_box_returns)] // see `Fault`
pub(crate) fn inconsistent(region: &CheckedRegion, what: &str) -> Fault {
    Box::new(ViewError::Inconsistent {
        file: region.name().to_string(),
        what: what.to_owned(),
    })
}

/// Items of a part, by position.
pub(crate) trait ByteSource<'v>: Copy {
    /// `count` items from the byte position `at`, which must be a multiple of their size.
    fn items<T: bytemuck::Pod>(self, at: u64, count: u64) -> Result<&'v [T], Fault>;

    /// Asks for the cache line at this position.
    fn prefetch(self, at: u64);
}

/// A part whose blocks have all been verified.
#[derive(Clone, Copy)]
pub(crate) struct Plain<'v> {
    words: &'v [u64],
    region: &'v CheckedRegion,
}

/// A part that is verified as it is touched.
#[derive(Clone, Copy)]
pub(crate) struct Checked<'v>(pub &'v CheckedRegion);

impl<'v> Plain<'v> {
    /// The part as a plain source, if all of it has been verified.
    #[inline]
    pub(crate) fn new(region: &'v CheckedRegion) -> Option<Plain<'v>> {
        let words = memory::cast(region.trusted()?)?;
        Some(Plain { words, region })
    }
}

/// Bytes from `at`, `count` items of `size` bytes, without overflow.
#[inline]
fn byte_range(at: u64, count: u64, size: usize) -> Range<u64> {
    at..at.saturating_add(count.saturating_mul(size as u64))
}

impl<'v> ByteSource<'v> for Plain<'v> {
    #[inline]
    fn items<T: bytemuck::Pod>(self, at: u64, count: u64) -> Result<&'v [T], Fault> {
        let bytes: &'v [u8] = bytemuck::cast_slice(self.words);
        let range = byte_range(at, count, size_of::<T>());
        bytes
            .get(range.start as usize..range.end as usize)
            .and_then(memory::cast)
            .ok_or_else(|| inconsistent(self.region, "a reference beyond the end"))
    }

    #[inline]
    fn prefetch(self, at: u64) {
        memory::prefetch(self.words, (at / 8) as usize);
    }
}

impl<'v> ByteSource<'v> for Checked<'v> {
    #[inline]
    fn items<T: bytemuck::Pod>(self, at: u64, count: u64) -> Result<&'v [T], Fault> {
        let bytes = self
            .0
            .bytes(byte_range(at, count, size_of::<T>()))
            .map_err(damaged)?;
        memory::cast(bytes).ok_or_else(|| inconsistent(self.0, "a misaligned reference"))
    }

    #[inline]
    fn prefetch(self, at: u64) {
        memory::prefetch(self.0.region().bytes(), at as usize);
    }
}

/// Runs an expression with the fastest source that the region allows.
macro_rules! with_source {
    ($region:expr, |$source:ident| $body:expr) => {
        match $crate::source::Plain::new($region) {
            Some($source) => $body,
            None => {
                let $source = $crate::source::Checked($region);
                $body
            }
        }
    };
}
pub(crate) use with_source;
