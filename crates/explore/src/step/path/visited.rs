//! The vertices that a search has been at: a set made for ids that lie close together.
//!
//! Ids of one kind are dense, so a set of them is a bitmap in blocks of 512 ids, one cache line each,
//! found by an open-addressing table of the blocks' numbers. A million neighbouring vertices take 125
//! KiB of blocks and 64 KiB of table, which stay in the second cache level; a hash set of the ids
//! would take 16 MiB. Vertices far apart from each other take a block each, some 100 bytes.
//!
//! Entries carry the number of the search, so that forgetting everything for the next search costs
//! nothing.

use super::super::aggregate::paged::Meter;
use crate::error::WalkError;
use rdf::VertexId;

/// Ids of a block, as a power of two.
const BLOCK_BITS: u32 = 9;

/// 64-bit words of a block.
const WORDS: usize = (1 << BLOCK_BITS) / 64;

/// Entries of the smallest table. A power of two.
const SMALLEST: usize = 16;

/// Entries beyond which a table is not kept for the next search.
const KEPT: usize = 1 << 14;

/// Entries that are moved between two looks at the limits.
const MOVED: usize = 1 << 16;
const _: () = assert!(BLOCK_BITS >= u64::BITS.ilog2(), "a block is some words");
const _: () = assert!(SMALLEST.is_power_of_two(), "places are bits of a hash");

/// The set.
pub(crate) struct Visited {
    /// Entries of other searches than this one are free.
    entries: Vec<Entry>,
    blocks: Vec<[u64; WORDS]>,
    search: u32,
    /// The table's and the blocks' memory, as it was drawn.
    bytes: usize,
}

#[derive(Clone, Copy, Default)]
struct Entry {
    number: u64,
    search: u32,
    block: u32,
}

impl Visited {
    /// The empty set.
    pub(crate) fn new() -> Visited {
        Visited {
            entries: Vec::new(),
            blocks: Vec::new(),
            search: 1,
            bytes: 0,
        }
    }

    /// Forgets all vertices.
    pub(crate) fn clear(&mut self, meter: &mut Meter<'_>) {
        let is_large = self.entries.len() > KEPT || self.blocks.capacity() > KEPT;
        if is_large || self.search == u32::MAX {
            meter.shrink(self.bytes);
            *self = Visited::new();
        }
        self.search += 1;
        self.blocks.clear();
    }

    /// Whether the vertex is in the set.
    pub(crate) fn contains(&self, vertex: VertexId) -> bool {
        let (number, word, bit) = place(vertex);
        let found = self.find(number);
        found.is_some_and(|block| self.blocks[block as usize][word] & bit != 0)
    }

    /// Adds a vertex; whether it is new.
    #[inline]
    pub(crate) fn insert(
        &mut self,
        vertex: VertexId,
        meter: &mut Meter<'_>,
    ) -> Result<bool, WalkError> {
        let (number, word, bit) = place(vertex);
        let block = match self.find(number) {
            Some(block) => block,
            None => self.add_block(number, meter)?,
        };
        let word = &mut self.blocks[block as usize][word];
        let is_new = *word & bit == 0;
        *word |= bit;
        Ok(is_new)
    }

    #[inline]
    fn find(&self, number: u64) -> Option<u32> {
        let mask = self.entries.len().wrapping_sub(1);
        let mut at = hash(number) & mask;
        loop {
            let entry = self.entries.get(at)?;
            if entry.search != self.search {
                return None;
            }
            if entry.number == number {
                return Some(entry.block);
            }
            at = (at + 1) & mask;
        }
    }

    #[cold]
    fn add_block(&mut self, number: u64, meter: &mut Meter<'_>) -> Result<u32, WalkError> {
        let used = self.blocks.len();
        if (used + 1) * 2 > self.entries.len() {
            self.grow(meter)?;
        }
        let block = u32::try_from(used).map_err(|_| WalkError::TooManyRows)?;
        self.place(Entry {
            number,
            search: self.search,
            block,
        });
        if used == self.blocks.capacity() {
            let wanted = (2 * used).max(SMALLEST / 2);
            meter.grow(wanted * size_of::<[u64; WORDS]>())?;
            self.blocks.reserve_exact(wanted - used);
            meter.shrink(used * size_of::<[u64; WORDS]>());
            self.bytes += (wanted - used) * size_of::<[u64; WORDS]>();
        }
        self.blocks.push([0; WORDS]);
        assert!(
            self.blocks.len() < self.entries.len(),
            "a search ends at a free entry"
        );
        Ok(block)
    }

    fn grow(&mut self, meter: &mut Meter<'_>) -> Result<(), WalkError> {
        let held = self.entries.len();
        let wanted = (2 * held).max(SMALLEST);
        meter.grow(wanted * size_of::<Entry>())?;
        let old = std::mem::replace(&mut self.entries, vec![Entry::default(); wanted]);
        self.bytes += (wanted - held) * size_of::<Entry>();
        for (moved, entry) in old.into_iter().enumerate() {
            if moved.is_multiple_of(MOVED) {
                meter.check()?;
            }
            if entry.search == self.search {
                self.place(entry);
            }
        }
        meter.shrink(held * size_of::<Entry>());
        Ok(())
    }

    fn place(&mut self, entry: Entry) {
        let mask = self.entries.len() - 1;
        let mut at = hash(entry.number) & mask;
        while self.entries[at].search == self.search {
            at = (at + 1) & mask;
        }
        self.entries[at] = entry;
    }
}

/// The block of a vertex, and its word and bit there.
#[inline]
fn place(vertex: VertexId) -> (u64, usize, u64) {
    let bits = vertex.bits();
    let within = bits & ((1 << BLOCK_BITS) - 1);
    (
        bits >> BLOCK_BITS,
        (within / 64) as usize,
        1 << (within % 64),
    )
}

/// The upper half of a product (Fibonacci hashing), so that neighbouring blocks spread.
#[inline]
fn hash(number: u64) -> usize {
    (number.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32) as usize
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::limits::Limits;
    use rdf::Tag;
    use std::collections::HashSet;
    use testkit::random::Random;

    #[test]
    fn it_is_a_set() {
        let mut meter = Meter::new(Limits::none());
        let mut visited = Visited::new();
        let mut random = Random::new(7);
        for (round, spread) in [1_000, 1 << 40, 1_000, 100_000].into_iter().enumerate() {
            let mut expected = HashSet::new();
            for _ in 0..50_000 {
                let tag = *random.pick(&[Tag::Iri, Tag::Integer]);
                let vertex = VertexId::new(tag, random.bits() % spread);
                let is_new = visited.insert(vertex, &mut meter).expect("no limit");
                assert_eq!(is_new, expected.insert(vertex), "round {round}");
            }
            assert!(expected.iter().all(|&vertex| visited.contains(vertex)));
            assert!(!visited.contains(VertexId::new(Tag::Blank, 3)));
            visited.clear(&mut meter);
            assert!(!expected.iter().any(|&vertex| visited.contains(vertex)));
        }
    }
}
