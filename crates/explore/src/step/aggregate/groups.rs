//! Rows of ids to dense numbers, in order of first appearance: what `GROUP BY` and `DISTINCT` within
//! an aggregate need.
//!
//! An open-addressing table of 16-byte entries with linear probing, so that a row costs one cache
//! line; the cells themselves lie in columns by number. One column's id is the entry's tag, so no
//! column is read to compare; of several the tag is their hash. The table is cut into [`SHARDS`]
//! that grow one by one: a table of a hundred million entries would take longer to grow than a
//! cancelled query may take to end.
//!
//! Rows equal to the one before, which inputs grouped by an earlier step have many of, are not looked
//! up. When the table exceeds the caches, a first pass over the batch touches the entries, so that
//! their misses overlap.
//!
//! Memory, drawn on the budget before it grows: 24 to 48 bytes and 8 a cell for each distinct row.

use super::paged::{Meter, Paged};
use crate::error::WalkError;
use crate::step::row_set::fold;
use rdf::VertexId;

/// Number of tables. A power of two.
const SHARDS: usize = 64;

/// Entries of the smallest shard. A power of two.
const SMALLEST: usize = 8;

/// Distinct rows up to which the table stays within the second cache level.
const CACHED: usize = 1 << 13;

/// The number of an entry that is free.
const FREE: u32 = u32::MAX;
const _: () = assert!(
    SHARDS == 1 << (u64::BITS - 58),
    "a shard is the upper bits of a hash"
);
const _: () = assert!(SMALLEST.is_power_of_two(), "places are bits of a hash");

/// The table.
pub(crate) struct GroupTable {
    shards: Vec<Vec<Entry>>,
    used: Vec<u32>,
    /// The columns of the distinct rows, by number.
    cells: Vec<Paged<VertexId>>,
    len: u32,
    hashes: Vec<u64>,
    /// What the touching pass read, so that it is not left out.
    touched: u64,
}

#[derive(Clone, Copy)]
struct Entry {
    tag: u64,
    number: u32,
}

const FREE_ENTRY: Entry = Entry {
    tag: 0,
    number: FREE,
};

impl GroupTable {
    /// An empty table of rows of `width` cells, at least one.
    pub(crate) fn new(width: usize) -> GroupTable {
        assert!(width > 0, "rows without columns are all equal");
        GroupTable {
            shards: Vec::new(),
            used: Vec::new(),
            cells: (0..width).map(|_| Paged::default()).collect(),
            len: 0,
            hashes: Vec::new(),
            touched: 0,
        }
    }

    /// Number of distinct rows.
    pub(crate) fn len(&self) -> usize {
        self.len as usize
    }

    /// The cell of a distinct row; asserts that it exists.
    pub(crate) fn cell(&self, column: usize, number: usize) -> VertexId {
        *self.cells[column].get(number)
    }

    /// Appends to `numbers` the number of each row. New rows get the next ones. Asserts that the
    /// columns are as many as the table's and of one length.
    pub(crate) fn number(
        &mut self,
        columns: &[&[VertexId]],
        numbers: &mut Vec<u32>,
        meter: &mut Meter<'_>,
    ) -> Result<(), WalkError> {
        assert_eq!(columns.len(), self.cells.len(), "the table's columns");
        self.shards.resize_with(SHARDS, Vec::new);
        self.used.resize(SHARDS, 0);
        let rows = columns[0].len();
        let are_equal = columns.iter().all(|column| column.len() == rows);
        assert!(are_equal, "columns of a chunk are equally long");
        let mut hashes = std::mem::take(&mut self.hashes);
        hashes.clear();
        hashes.resize(rows, 0);
        for column in columns {
            for (hash, &cell) in hashes.iter_mut().zip(*column) {
                *hash = fold(*hash, cell);
            }
        }
        if self.len() > CACHED {
            self.touch(&hashes);
        }
        numbers.reserve(rows);
        let mut last = FREE;
        for row in 0..rows {
            let same = |column: &&[VertexId]| row > 0 && column[row] == column[row - 1];
            if !columns.iter().all(same) {
                last = self.find_or_insert(columns, row, hashes[row], meter)?;
            }
            numbers.push(last);
        }
        assert_eq!(self.cells[0].len(), self.len(), "a group has its cells");
        self.hashes = hashes;
        Ok(())
    }

    /// Reads the entry where each lookup begins.
    fn touch(&mut self, hashes: &[u64]) {
        for &hash in hashes {
            let shard = &self.shards[shard_of(hash)];
            if let Some(entry) = shard.get(hash as usize & shard.len().wrapping_sub(1)) {
                self.touched ^= entry.tag;
            }
        }
    }

    #[inline]
    fn find_or_insert(
        &mut self,
        columns: &[&[VertexId]],
        row: usize,
        hash: u64,
        meter: &mut Meter<'_>,
    ) -> Result<u32, WalkError> {
        let tag = match columns {
            [column] => column[row].bits(),
            _ => hash,
        };
        let shard = &self.shards[shard_of(hash)];
        let mask = shard.len().wrapping_sub(1);
        let mut at = hash as usize & mask;
        while let Some(entry) = shard.get(at) {
            if entry.number == FREE {
                break;
            }
            if entry.tag == tag && self.is_row(columns, row, entry.number) {
                return Ok(entry.number);
            }
            at = (at + 1) & mask;
        }
        self.insert(columns, row, hash, tag, meter)
    }

    /// Whether the row is the one with this number, whose tag is the same.
    #[inline]
    fn is_row(&self, columns: &[&[VertexId]], row: usize, number: u32) -> bool {
        columns.len() == 1 || {
            let mut pairs = columns.iter().zip(&self.cells);
            pairs.all(|(column, cells)| column[row] == *cells.get(number as usize))
        }
    }

    #[cold]
    fn insert(
        &mut self,
        columns: &[&[VertexId]],
        row: usize,
        hash: u64,
        tag: u64,
        meter: &mut Meter<'_>,
    ) -> Result<u32, WalkError> {
        let number = self.len;
        if number == FREE {
            return Err(WalkError::TooManyRows);
        }
        let shard = shard_of(hash);
        let is_full = (self.used[shard] as usize + 1) * 3 > self.shards[shard].len() * 2;
        if is_full {
            self.grow(shard, meter)?;
        }
        place(&mut self.shards[shard], hash, Entry { tag, number });
        self.used[shard] += 1;
        for (cells, column) in self.cells.iter_mut().zip(columns) {
            cells.push(column[row], meter)?;
        }
        self.len += 1;
        Ok(number)
    }

    /// Doubles a shard.
    fn grow(&mut self, shard: usize, meter: &mut Meter<'_>) -> Result<(), WalkError> {
        let held = self.shards[shard].len();
        let wanted = (2 * held).max(SMALLEST);
        meter.grow(wanted * size_of::<Entry>())?;
        let mut grown = vec![FREE_ENTRY; wanted];
        let is_single = self.cells.len() == 1;
        let entries = self.shards[shard].iter();
        for &entry in entries.filter(|entry| entry.number != FREE) {
            let hash = if is_single {
                fold(0, VertexId::from_bits(entry.tag))
            } else {
                entry.tag
            };
            place(&mut grown, hash, entry);
        }
        self.shards[shard] = grown;
        meter.shrink(held * size_of::<Entry>());
        Ok(())
    }
}

/// Puts an entry into the first free place.
fn place(shard: &mut [Entry], hash: u64, entry: Entry) {
    let mask = shard.len() - 1;
    let mut at = hash as usize & mask;
    while shard[at].number != FREE {
        at = (at + 1) & mask;
    }
    shard[at] = entry;
}

/// The top bits; the lowest choose the place within a shard.
fn shard_of(hash: u64) -> usize {
    (hash >> 58) as usize
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::limits::Limits;
    use rdf::Tag;
    use std::collections::HashMap;

    /// Numbers of rows as a map gives them.
    fn assert_numbered(rows: &[Vec<VertexId>]) {
        let width = rows[0].len();
        let mut meter = Meter::new(Limits::none());
        let mut table = GroupTable::new(width);
        let mut numbers = Vec::new();
        for chunk in rows.chunks(1000) {
            let columns: Vec<Vec<VertexId>> = (0..width)
                .map(|column| chunk.iter().map(|row| row[column]).collect())
                .collect();
            let columns: Vec<&[VertexId]> = columns.iter().map(Vec::as_slice).collect();
            table
                .number(&columns, &mut numbers, &mut meter)
                .expect("no limit");
        }
        let mut expected: HashMap<&Vec<VertexId>, u32> = HashMap::new();
        for (row, number) in rows.iter().zip(numbers) {
            let next = expected.len() as u32;
            assert_eq!(number, *expected.entry(row).or_insert(next));
            for (column, &cell) in row.iter().enumerate() {
                assert_eq!(table.cell(column, number as usize), cell);
            }
        }
        assert_eq!(table.len(), expected.len());
    }

    #[test]
    fn rows_are_numbered_by_first_appearance() {
        let iri = |number: u64| VertexId::new(Tag::Iri, number % 50_021);
        let rows = |width: u64| -> Vec<Vec<VertexId>> {
            (0..200_000_u64)
                .map(|row| {
                    let cell =
                        |column| iri(row.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> (20 + column));
                    (0..width).map(cell).collect()
                })
                .collect()
        };
        for width in 1..=3 {
            assert_numbered(&rows(width));
        }
        assert_numbered(&vec![vec![VertexId::UNBOUND]; 2000]);
    }
}
