//! Typed views of bytes: a column of a file as a slice of numbers, without copying.
//!
//! Invariant: a view exists only where the bytes are aligned for the type and are a whole number
//! of items, both checked here, so that a file with wrong lengths gives `None` (an error of the
//! caller, who knows the file) and never a panic or a misaligned read. Regions begin at least
//! 64-byte aligned, so a writer who pads each part to a multiple of 8 can rely on views of `u64`.
//! The check is two tests on addresses and is done once per batch.

use bytemuck::AnyBitPattern;

/// The bytes as a slice of `T`, or `None` where they are misaligned or not a whole number of items.
///
/// `T` may hold any bit pattern, so no bytes of a damaged file are invalid for it.
#[inline]
pub fn cast<T: AnyBitPattern>(bytes: &[u8]) -> Option<&[T]> {
    bytemuck::try_cast_slice(bytes).ok()
}

#[cfg(test)]
mod tests {
    use super::cast;
    use crate::HeapRegion;

    #[test]
    fn aligned_whole_items_only() {
        let mut heap = HeapRegion::zeroed(64).unwrap();
        heap.bytes_mut()[..8].copy_from_slice(&[1, 0, 0, 0, 2, 0, 0, 0]);
        let region = heap.freeze();
        let bytes = region.bytes();
        assert_eq!(cast::<u32>(&bytes[..8]), Some(&[1, 2][..]));
        assert_eq!(cast::<u32>(&bytes[1..9]), None);
        assert_eq!(cast::<u32>(&bytes[..7]), None);
        assert_eq!(cast::<u64>(&bytes[..0]), Some(&[][..]));
    }
}
