//! A table that is kept: rows in columns of pages, and an index from keys to rows.
//!
//! ```text
//!  columns            pages of 16,384 cells          index over the key columns
//!  +------+------+    +-----+-----+--               hash of keys -> last row with them
//!  | key  | other|    |     |     |                 row -> the row before with the same keys
//!  +------+------+    +-----+-----+--
//! ```
//!
//! Pages, so that a table grows without copying what it holds: the copy of some gigabytes would be
//! longer than a cancelled query may take to end. The index is made when the table is complete and its
//! size is known, so it never grows either.
//!
//! Memory, drawn on the budget before it is taken: 8 bytes a cell, and about 10 a row for an index. A
//! lookup costs a cache miss for the bucket, one for each key cell, one for each row found.
//!
//! | field | written by | read by |
//! |---|---|---|
//! | `Table` | the worker that makes it, alone | workers, once it is made |
//! | `Held::bytes` | workers, relaxed | whoever drops the plan |

use crate::chunk::Chunk;
use crate::error::WalkError;
use crate::limits::{Effort, Limits, MemoryBudget, Reservation};
use hashbrown::HashTable;
use query::plan::Slot;
use rdf::VertexId;
use std::sync::atomic::{AtomicU64, Ordering};

/// Rows of a page. A power of two.
const PAGE_ROWS: usize = 1 << 14;

/// No row: the end of a chain, so a table with an index has fewer rows.
const NO_ROW: u32 = u32::MAX;

/// About what putting a row into the index costs, in nanoseconds.
const INSERT_NS: u64 = 32;
const _: () = assert!(
    PAGE_ROWS.is_power_of_two(),
    "a first page grows up to a whole one"
);
const _: () = assert!(PAGE_ROWS < NO_ROW as usize, "no row has the number of none");

/// The table; see the module's documentation.
#[derive(Default)]
pub(crate) struct Table {
    rows: u64,
    columns: Vec<Column>,
    index: Index,
}

/// Cells by pages, all full but the last.
#[derive(Default)]
struct Column {
    pages: Vec<Vec<VertexId>>,
}

/// From the hash of a row's first columns to rows.
#[derive(Default)]
struct Index {
    keys: usize,
    last: HashTable<u32>,
    before: Vec<u32>,
}

impl Table {
    /// An empty table of so many columns.
    pub(crate) fn new(columns: usize) -> Table {
        let mut table = Table::default();
        table.columns.resize_with(columns, Column::default);
        table
    }

    /// Number of columns.
    pub(crate) fn width(&self) -> usize {
        self.columns.len()
    }

    /// Number of rows.
    pub(crate) fn rows(&self) -> u64 {
        self.rows
    }

    /// Appends the rows of a chunk; column `i` is that of `slots[i]`, unbound where the chunk has none.
    pub(crate) fn append(
        &mut self,
        chunk: &Chunk,
        slots: impl Iterator<Item = Slot>,
        reservation: &mut Reservation<'_>,
    ) -> Result<(), WalkError> {
        if self.columns.is_empty() {
            return self.add_rows(chunk.rows());
        }
        self.reserve(chunk.len(), reservation)?;
        for (column, slot) in self.columns.iter_mut().zip(slots) {
            match chunk.column(slot) {
                Some(cells) => column.extend(self.rows, cells.iter().copied()),
                None => column.extend(
                    self.rows,
                    std::iter::repeat_n(VertexId::UNBOUND, chunk.len()),
                ),
            }
        }
        self.add_rows(chunk.rows())?;
        let are_equal = self.columns.iter().all(|column| column.has(self.rows));
        assert!(are_equal, "columns of a table are equally long");
        Ok(())
    }

    /// Appends a row of these cells, one for each column.
    pub(crate) fn push(
        &mut self,
        cells: impl Iterator<Item = VertexId>,
        reservation: &mut Reservation<'_>,
    ) -> Result<(), WalkError> {
        self.reserve(1, reservation)?;
        for (column, cell) in self.columns.iter_mut().zip(cells) {
            column.extend(self.rows, std::iter::once(cell));
        }
        self.add_rows(1)
    }

    fn add_rows(&mut self, rows: u64) -> Result<(), WalkError> {
        self.rows = self
            .rows
            .checked_add(rows)
            .filter(|&rows| rows <= crate::chunk::ROWS_MAX)
            .ok_or(WalkError::TooManyRows)?;
        Ok(())
    }

    /// Makes room for more rows, as large as what was drawn on the budget.
    fn reserve(&mut self, more: usize, reservation: &mut Reservation<'_>) -> Result<(), WalkError> {
        let cells = (self.rows as usize + more).next_power_of_two();
        let cells = match self.rows as usize + more {
            few if few <= PAGE_ROWS => cells,
            many => many.next_multiple_of(PAGE_ROWS),
        };
        reservation.cover((cells * self.columns.len() * size_of::<VertexId>()) as u64)?;
        for column in &mut self.columns {
            column.reserve(cells);
        }
        Ok(())
    }

    /// A cell.
    pub(crate) fn cell(&self, column: usize, row: u64) -> VertexId {
        let row = row as usize;
        self.columns[column].pages[row / PAGE_ROWS][row % PAGE_ROWS]
    }

    /// Puts another id into a cell. Not where an index has been made of its column.
    pub(crate) fn put(&mut self, column: usize, row: u64, id: VertexId) {
        assert!(column >= self.index.keys, "what was hashed stays as it is");
        let row = row as usize;
        self.columns[column].pages[row / PAGE_ROWS][row % PAGE_ROWS] = id;
    }

    /// Appends the cells of these rows of a column to `into`.
    pub(crate) fn copy(&self, column: usize, from: u64, rows: usize, into: &mut Vec<VertexId>) {
        assert!(
            from + rows as u64 <= self.rows,
            "rows are copied that are there"
        );
        let (mut at, end) = (from as usize, from as usize + rows);
        while at < end {
            let (page, start) = (at / PAGE_ROWS, at % PAGE_ROWS);
            let stop = PAGE_ROWS.min(start + end - at);
            into.extend_from_slice(&self.columns[column].pages[page][start..stop]);
            at += stop - start;
        }
    }

    /// Makes the index over the first `keys` columns. Rows with an unbound key are not found by it.
    pub(crate) fn make_index(
        &mut self,
        keys: usize,
        limits: &Limits<'_>,
        reservation: &mut Reservation<'_>,
    ) -> Result<(), WalkError> {
        let rows = usize::try_from(self.rows)
            .ok()
            .filter(|&rows| rows < NO_ROW as usize)
            .ok_or(WalkError::TooManyRows)?;
        assert!(
            0 < keys && keys <= self.columns.len(),
            "keys are the first columns"
        );
        let bucket_bytes = (size_of::<u32>() + 1) * (rows * 8 / 7 + 16).next_power_of_two();
        let index_bytes = bucket_bytes + rows * size_of::<u32>();
        reservation.cover(self.bytes() + index_bytes as u64)?;
        let mut index = Index {
            keys,
            last: HashTable::with_capacity(rows),
            before: Vec::with_capacity(rows),
        };
        let mut effort = Effort::default();
        for row in 0..rows as u32 {
            effort.spend(INSERT_NS, limits)?;
            let key = |column: usize| self.cell(column, u64::from(row));
            let before = match hash(keys, key) {
                None => NO_ROW,
                Some(hash) => self.link(&mut index, hash, row),
            };
            index.before.push(before);
        }
        self.index = index;
        Ok(())
    }

    /// Makes `row` the last of its keys; gives the one before.
    fn link(&self, index: &mut Index, hash: u64, row: u32) -> u32 {
        let keys = index.keys;
        let same = |other: &u32| {
            (0..keys).all(|column| {
                self.cell(column, u64::from(*other)) == self.cell(column, u64::from(row))
            })
        };
        if let Some(last) = index.last.find_mut(hash, same) {
            return std::mem::replace(last, row);
        }
        let rehash = |other: &u32| {
            self::hash(keys, |column| self.cell(column, u64::from(*other)))
                .expect("a row without keys is not in the index")
        };
        index.last.insert_unique(hash, row, rehash);
        NO_ROW
    }

    /// The last row with these keys.
    pub(crate) fn find(&self, key: impl Fn(usize) -> VertexId) -> Option<u32> {
        let keys = self.index.keys;
        let hash = hash(keys, &key)?;
        let same =
            |row: &u32| (0..keys).all(|column| self.cell(column, u64::from(*row)) == key(column));
        self.index.last.find(hash, same).copied()
    }

    /// The row before `row` that has the same keys.
    pub(crate) fn before(&self, row: u32) -> Option<u32> {
        let before = self.index.before[row as usize];
        (before != NO_ROW).then_some(before)
    }

    fn bytes(&self) -> u64 {
        let cells: usize = self.columns.iter().map(Column::capacity).sum();
        (cells * size_of::<VertexId>()) as u64
    }
}

impl Column {
    /// Makes room for cells in all: a page that grows, then whole pages.
    fn reserve(&mut self, cells: usize) {
        while self.capacity() < cells {
            match self.pages.last_mut() {
                Some(page) if page.capacity() < PAGE_ROWS => {
                    page.reserve_exact(cells.min(PAGE_ROWS) - page.len());
                }
                _ => self.pages.push(Vec::with_capacity(cells.min(PAGE_ROWS))),
            }
        }
    }

    /// Whether the cells of so many rows are there, and no more.
    fn has(&self, rows: u64) -> bool {
        let (page, rest) = (rows as usize / PAGE_ROWS, rows as usize % PAGE_ROWS);
        let is_whole = page == 0 || self.pages[page - 1].len() == PAGE_ROWS;
        is_whole && self.pages.get(page).map_or(0, Vec::len) == rest
    }

    fn capacity(&self) -> usize {
        self.pages.last().map_or(0, |last| {
            (self.pages.len() - 1) * PAGE_ROWS + last.capacity()
        })
    }

    /// Appends cells behind the first `rows`, for which there is room.
    fn extend(&mut self, rows: u64, cells: impl Iterator<Item = VertexId>) {
        let mut at = rows as usize / PAGE_ROWS;
        for cell in cells {
            if self.pages[at].len() == PAGE_ROWS {
                at += 1;
            }
            self.pages[at].push(cell);
        }
    }
}

/// The hash of keys; `None` where one is unbound.
fn hash(keys: usize, key: impl Fn(usize) -> VertexId) -> Option<u64> {
    const FACTOR: u128 = 0x9e37_79b9_7f4a_7c15;
    const OFFSET: u64 = 0xa076_1d64_78bd_642f;
    let mut hash = 0_u64;
    for column in 0..keys {
        let cell = key(column);
        if cell.is_unbound() {
            return None;
        }
        let product = u128::from(hash.rotate_left(23) ^ cell.bits() ^ OFFSET) * FACTOR;
        hash = product as u64 ^ (product >> 64) as u64;
    }
    Some(hash)
}

/// Bytes granted by a budget to what a prepared plan keeps for all its walks, given back with it.
pub(crate) struct Held<'a> {
    memory: &'a dyn MemoryBudget,
    bytes: AtomicU64,
}

impl<'a> Held<'a> {
    /// Nothing yet.
    pub(crate) fn new(limits: Limits<'a>) -> Held<'a> {
        Held {
            memory: limits.memory,
            bytes: AtomicU64::new(0),
        }
    }

    /// Takes over what was reserved.
    pub(crate) fn take(&self, reservation: Reservation<'_>) {
        self.bytes
            .fetch_add(reservation.into_bytes(), Ordering::Relaxed);
    }
}

impl Drop for Held<'_> {
    fn drop(&mut self) {
        self.memory.release(*self.bytes.get_mut());
    }
}
