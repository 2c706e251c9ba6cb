//! Checksums of blocks, as the writer of a file computes them while its bytes pass by.
//!
//! A file is cut into blocks of 64 KiB, the last one shorter; each has the xxh3-64 of its bytes.
//! 64 KiB costs 8 bytes in 65,536 of table and about 3 microseconds at the first touch (xxh3 runs
//! at memory speed), little beside reading the block from a disk. xxh3 finds rot, torn and
//! misplaced writes, which is what blocks are checked for; it is no defence against an adversary.
//!
//! Invariant: the table has exactly `block_count(length)` entries, whatever the sizes of the
//! pieces in which the bytes were given.

use xxhash_rust::xxh3::{Xxh3, xxh3_64};

/// Bytes of a block, and so the unit of verification.
pub const BLOCK_BYTES: usize = 1 << 16;
const _: () = assert!(
    BLOCK_BYTES.is_multiple_of(4096),
    "a block is whole pages, so a page's damage is one block's"
);

/// Number of blocks of a file of this length.
#[inline]
pub const fn block_count(length_bytes: u64) -> u64 {
    length_bytes.div_ceil(BLOCK_BYTES as u64)
}

/// The checksum of one block.
#[inline]
pub fn block_sum(block: &[u8]) -> u64 {
    xxh3_64(block)
}

/// Computes the table of checksums of a file written in pieces. Holds one hash state (about 600
/// bytes) and the table; O(length).
pub struct BlockSums {
    state: Box<Xxh3>,
    filled_bytes: usize,
    sums: Vec<u64>,
}

impl Default for BlockSums {
    fn default() -> BlockSums {
        BlockSums::new()
    }
}

impl BlockSums {
    /// The table of a file of which nothing was written yet.
    pub fn new() -> BlockSums {
        BlockSums {
            state: Box::new(Xxh3::new()),
            filled_bytes: 0,
            sums: Vec::new(),
        }
    }

    /// Takes the next bytes of the file.
    pub fn update(&mut self, mut bytes: &[u8]) {
        if self.filled_bytes > 0 {
            let (head, rest) = bytes.split_at(bytes.len().min(BLOCK_BYTES - self.filled_bytes));
            self.fill(head);
            bytes = rest;
        }
        let mut blocks = bytes.chunks_exact(BLOCK_BYTES);
        for block in &mut blocks {
            self.sums.push(block_sum(block));
        }
        self.fill(blocks.remainder());
    }

    /// Bytes taken so far.
    pub fn length_bytes(&self) -> u64 {
        (self.sums.len() * BLOCK_BYTES + self.filled_bytes) as u64
    }

    /// The table: one checksum per block, in order.
    pub fn finish(mut self) -> Vec<u64> {
        let blocks = block_count(self.length_bytes());
        if self.filled_bytes > 0 {
            self.sums.push(self.state.digest());
        }
        assert_eq!(self.sums.len() as u64, blocks, "a checksum for each block");
        self.sums
    }

    fn fill(&mut self, bytes: &[u8]) {
        if bytes.is_empty() {
            return;
        }
        self.state.update(bytes);
        self.filled_bytes += bytes.len();
        assert!(self.filled_bytes <= BLOCK_BYTES, "bytes are of one block");
        if self.filled_bytes == BLOCK_BYTES {
            self.sums.push(self.state.digest());
            self.state.reset();
            self.filled_bytes = 0;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn in_pieces(bytes: &[u8], piece: usize) -> Vec<u64> {
        let mut sums = BlockSums::new();
        for piece in bytes.chunks(piece) {
            sums.update(piece);
        }
        assert_eq!(sums.length_bytes(), bytes.len() as u64);
        sums.finish()
    }

    #[test]
    fn pieces_do_not_matter() {
        let largest = if cfg!(miri) {
            BLOCK_BYTES + 1
        } else {
            3 * BLOCK_BYTES + 17
        };
        let bytes: Vec<u8> = (0..largest).map(|i| ((i * 31) >> 3) as u8).collect();
        for length in [0, 1, BLOCK_BYTES - 1, BLOCK_BYTES, BLOCK_BYTES + 1, largest] {
            let whole: Vec<u64> = bytes[..length].chunks(BLOCK_BYTES).map(block_sum).collect();
            assert_eq!(whole.len() as u64, block_count(length as u64));
            for piece in [
                1000,
                BLOCK_BYTES - 1,
                BLOCK_BYTES,
                BLOCK_BYTES + 1,
                usize::MAX,
            ] {
                assert_eq!(
                    in_pieces(&bytes[..length], piece),
                    whole,
                    "{length} by {piece}"
                );
            }
        }
    }
}
