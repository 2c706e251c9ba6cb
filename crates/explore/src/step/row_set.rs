//! A growing set of rows, for `DISTINCT`.
//!
//! Rows are cells of ids; equality of ids is equality of terms, so nothing is decoded. The set is
//! cut into [`SHARDS`] tables that grow one by one: a table of a hundred million rows would take
//! longer to grow than a cancelled query may take to end, its shards take some 20 ms each.
//!
//! Memory, drawn on the budget before it is taken: the cells and about 5 bytes a row, up to twice that
//! after growing, and the old part of a shard while it grows. A row costs about one cache miss.

use super::aggregate::paged::Meter;
use crate::chunk::Chunk;
use crate::error::WalkError;
use crate::limits::{Limits, table_bytes};
use hashbrown::HashTable;
use query::plan::Slot;
use rdf::VertexId;

/// Number of tables. A power of two.
const SHARDS: usize = 64;
const _: () = assert!(SHARDS.is_power_of_two(), "a shard is some bits of a hash");

/// The set.
pub(crate) struct RowSet<'a> {
    columns: &'a [Slot],
    shards: Vec<Shard>,
    meter: Meter<'a>,
    hashes: Vec<u64>,
    row: Vec<VertexId>,
}

/// Rows whose hashes agree in some bits: cells one row after the other, and a table of row numbers.
#[derive(Default)]
struct Shard {
    cells: Vec<VertexId>,
    table: HashTable<u32>,
}

impl<'a> RowSet<'a> {
    /// An empty set of rows over these columns, at least one.
    pub(crate) fn new(columns: &'a [Slot], limits: Limits<'a>) -> RowSet<'a> {
        assert!(!columns.is_empty(), "rows without columns are all equal");
        RowSet {
            columns,
            shards: Vec::new(),
            meter: Meter::new(limits),
            hashes: Vec::new(),
            row: Vec::new(),
        }
    }

    /// Adds the rows of `chunk`; appends the positions of those that were not in the set.
    pub(crate) fn insert(
        &mut self,
        chunk: &Chunk,
        positions: &mut Vec<u32>,
    ) -> Result<(), WalkError> {
        self.shards.resize_with(SHARDS, Shard::default);
        self.hashes.clear();
        self.hashes.resize(chunk.len(), 0);
        for &slot in self.columns {
            for (hash, cell) in self.hashes.iter_mut().zip(chunk.live(slot)) {
                *hash = fold(*hash, *cell);
            }
        }
        for (position, &hash) in (0_u32..).zip(&self.hashes) {
            self.row.clear();
            let cells = self
                .columns
                .iter()
                .map(|&slot| chunk.live(slot)[position as usize]);
            self.row.extend(cells);
            if self.shards[shard_of(hash)].insert(hash, &self.row, &mut self.meter)? {
                positions.push(position);
            }
        }
        Ok(())
    }

    /// Number of rows.
    pub(crate) fn len(&self) -> u64 {
        self.shards
            .iter()
            .map(|shard| shard.table.len() as u64)
            .sum()
    }
}

impl Shard {
    /// Adds a row; whether it is new.
    fn insert(
        &mut self,
        hash: u64,
        row: &[VertexId],
        meter: &mut Meter<'_>,
    ) -> Result<bool, WalkError> {
        let width = row.len();
        let cells = &self.cells;
        let stored = |at: u32| &cells[at as usize * width..][..width];
        if self.table.find(hash, |&at| stored(at) == row).is_some() {
            return Ok(false);
        }
        let at = u32::try_from(self.table.len()).map_err(|_| WalkError::TooManyRows)?;
        if self.table.len() == self.table.capacity() {
            self.grow_table(width, meter)?;
        }
        if self.cells.capacity() - self.cells.len() < width {
            self.grow_cells(width, meter)?;
        }
        self.table
            .insert_unique(hash, at, |_| unreachable!("there is room"));
        self.cells.extend_from_slice(row);
        Ok(true)
    }

    #[cold]
    fn grow_table(&mut self, width: usize, meter: &mut Meter<'_>) -> Result<(), WalkError> {
        let held = self.table.capacity();
        let wanted = (2 * held).max(3);
        meter.grow(table_bytes::<u32>(wanted) as usize)?;
        let stored = |at: u32| &self.cells[at as usize * width..][..width];
        let hash_of = |&at: &u32| stored(at).iter().fold(0, |hash, &cell| fold(hash, cell));
        self.table.reserve(wanted - held, hash_of);
        meter.shrink(table_bytes::<u32>(held) as usize);
        Ok(())
    }

    #[cold]
    fn grow_cells(&mut self, width: usize, meter: &mut Meter<'_>) -> Result<(), WalkError> {
        let held = self.cells.capacity();
        let wanted = (2 * held).max(4 * width);
        meter.grow(wanted * size_of::<VertexId>())?;
        self.cells.reserve_exact(wanted - self.cells.len());
        meter.shrink(held * size_of::<VertexId>());
        Ok(())
    }
}

/// Bits that choose neither the bucket nor the tag within a table of fewer than 2^32 rows.
fn shard_of(hash: u64) -> usize {
    (hash >> 40) as usize % SHARDS
}

/// One more cell of a row: the two halves of a product, as in wyhash.
pub(crate) fn fold(hash: u64, cell: VertexId) -> u64 {
    const FACTOR: u128 = 0x9e37_79b9_7f4a_7c15;
    const OFFSET: u64 = 0xa076_1d64_78bd_642f;
    let product = u128::from(hash.rotate_left(23) ^ cell.bits() ^ OFFSET) * FACTOR;
    product as u64 ^ (product >> 64) as u64
}
