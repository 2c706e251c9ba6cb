//! A chunk of a binding table: columns of ids, one per live slot.
//!
//! ```text
//!            slot 0     slot 1     slot 2
//!          +----------+----------+----------+
//!  rows 3  | Iri:17   |   dead   | Literal:4|
//!          | Iri:17   |          | Literal:5|
//!          | Iri:23   |          | Literal:4|
//!          +----------+----------+----------+
//! ```
//!
//! Invariant: every live column has exactly [`Chunk::rows`] cells; dead columns have none. A chunk
//! without live columns is a mere count, so it may stand for any number of rows: that is how a last
//! expansion that only feeds a count becomes a sum of degrees.
//!
//! Where equal rows came as one, a chunk says how many each stands for ([`Chunk::with_counts`]): a device that groups sends that
//! ([`Prepared::collapse`](crate::Prepared::collapse)), and one step alone takes it.
//!
//! A chunk is refilled, never reallocated in steady state: about [`ROWS`] rows keep the columns of
//! a step (8 KiB each) within the first two cache levels.

use crate::error::WalkError;
use query::plan::Slot;
use rdf::VertexId;

/// Rows of a full chunk, unless a walk is told otherwise.
pub const ROWS: usize = 1024;

/// No table is larger: a count must fit an inline integer.
pub const ROWS_MAX: u64 = 1 << 59;
const _: () = assert!(
    ROWS > 0 && ROWS <= u32::MAX as usize,
    "positions of rows are 32 bits"
);
const _: () = assert!((ROWS as u64) < ROWS_MAX, "a chunk's rows are within bounds");

/// Some rows of a binding table.
#[derive(Clone, Debug, Default)]
pub struct Chunk {
    rows: u64,
    /// How many rows each stands for; empty: each for itself.
    counts: Vec<u64>,
    columns: Vec<Column>,
}

/// How a step may be told of rows that are equal in all columns: as one row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Collapse {
    /// The row alone: how many there are makes no difference.
    Once,
    /// The row with how many there are ([`Chunk::with_counts`]).
    Counted,
}

#[derive(Clone, Debug, Default)]
struct Column {
    live: bool,
    cells: Vec<VertexId>,
}

impl Chunk {
    /// A chunk without columns or rows: what is given to a walk to fill.
    pub fn new() -> Chunk {
        Chunk::default()
    }

    /// A chunk of `rows` rows with these columns, of `width` slots in all: rows that come from elsewhere.
    /// `None` if the columns are not equally long, one comes twice or is beyond the width, or the rows are
    /// more than [`ROWS_MAX`].
    pub fn from_columns(
        width: usize,
        rows: u64,
        columns: impl IntoIterator<Item = (Slot, Vec<VertexId>)>,
    ) -> Option<Chunk> {
        let mut chunk = Chunk::with_columns(width, &[]);
        for (slot, cells) in columns {
            let column = chunk.columns.get_mut(usize::from(slot.0))?;
            if column.live || cells.len() as u64 != rows {
                return None;
            }
            *column = Column { live: true, cells };
        }
        chunk.rows = rows;
        (rows <= ROWS_MAX).then_some(chunk)
    }

    /// The same, where each row stands for so many equal ones. Asserts that there is a number for each row.
    #[must_use]
    pub fn with_counts(mut self, counts: Vec<u64>) -> Chunk {
        assert_eq!(counts.len() as u64, self.rows, "a row has its number");
        self.counts = counts;
        self
    }

    /// How many rows each stands for; `None`: each for itself.
    pub fn counts(&self) -> Option<&[u64]> {
        (!self.counts.is_empty()).then_some(self.counts.as_slice())
    }

    /// The live columns, ascending by slot, each with one cell a [row](Chunk::rows).
    pub fn into_columns(self) -> impl Iterator<Item = (Slot, Vec<VertexId>)> {
        let slots: Vec<Slot> = self.slots().collect();
        let live = self.columns.into_iter().filter(|column| column.live);
        slots.into_iter().zip(live.map(|column| column.cells))
    }

    /// An empty chunk with these columns, of `width` slots in all.
    pub(crate) fn with_columns(width: usize, live: &[Slot]) -> Chunk {
        let mut chunk = Chunk::new();
        chunk.shape(width, live);
        chunk
    }

    /// Makes an empty chunk without columns the table that a walk starts with: one row.
    pub(crate) fn make_unit(&mut self) {
        assert!(
            self.columns.iter().all(|column| !column.live),
            "a walk starts without columns"
        );
        self.rows = 1;
    }

    /// Bytes of a chunk of `width` slots besides its cells.
    pub(crate) fn frame_bytes(width: usize) -> usize {
        width * size_of::<Column>()
    }

    /// Empties the chunk and gives it exactly these columns. Keeps memory.
    pub(crate) fn shape(&mut self, width: usize, live: &[Slot]) {
        self.clear();
        self.columns.resize_with(width, Column::default);
        for column in &mut self.columns {
            column.live = false;
        }
        for slot in live {
            self.columns[usize::from(slot.0)].live = true;
        }
    }

    /// Number of rows.
    pub fn rows(&self) -> u64 {
        self.rows
    }

    /// Whether there is no row.
    pub fn is_empty(&self) -> bool {
        self.rows == 0
    }

    /// Rows as an index bound of the live columns. Asserts that there is a column or few rows.
    pub(crate) fn len(&self) -> usize {
        usize::try_from(self.rows).expect("rows with columns are in memory")
    }

    /// The cells of a column, one per row; `None` where the slot is unbound in every row.
    pub fn column(&self, slot: Slot) -> Option<&[VertexId]> {
        let column = self.columns.get(usize::from(slot.0))?;
        column.live.then_some(column.cells.as_slice())
    }

    /// The cells of a column that the plan says is alive here.
    pub(crate) fn live(&self, slot: Slot) -> &[VertexId] {
        let column = &self.columns[usize::from(slot.0)];
        assert!(
            column.live,
            "a plan uses slot {} before it is bound or after it is dropped",
            slot.0
        );
        &column.cells
    }

    /// The slots of the live columns, ascending.
    pub fn slots(&self) -> impl Iterator<Item = Slot> {
        let live = self
            .columns
            .iter()
            .enumerate()
            .filter(|(_, column)| column.live);
        live.map(|(index, _)| Slot(u16::try_from(index).expect("slots are 16 bits")))
    }

    /// Forgets the rows, keeps columns and memory.
    pub(crate) fn clear(&mut self) {
        self.rows = 0;
        self.counts.clear();
        for column in &mut self.columns {
            column.cells.clear();
        }
    }

    /// Takes a column's cells out to be appended to; [`Chunk::put`] brings them back.
    pub(crate) fn take(&mut self, slot: Slot) -> Vec<VertexId> {
        let column = &mut self.columns[usize::from(slot.0)];
        assert!(column.live, "only a live column is filled");
        std::mem::take(&mut column.cells)
    }

    /// Brings back what [`Chunk::take`] gave.
    pub(crate) fn put(&mut self, slot: Slot, cells: Vec<VertexId>) {
        self.columns[usize::from(slot.0)].cells = cells;
    }

    /// A live column's cells, to be appended to.
    pub(crate) fn cells_mut(&mut self, slot: Slot) -> &mut Vec<VertexId> {
        let column = &mut self.columns[usize::from(slot.0)];
        debug_assert!(column.live);
        &mut column.cells
    }

    /// Says that `rows` more rows have been appended to every live column.
    pub(crate) fn add_rows(&mut self, rows: u64) -> Result<(), WalkError> {
        self.rows = self
            .rows
            .checked_add(rows)
            .filter(|&rows| rows <= ROWS_MAX)
            .ok_or(WalkError::TooManyRows)?;
        debug_assert!(self.is_consistent(), "a live column misses cells");
        Ok(())
    }

    /// Appends to each of `slots` the cells of `from` at these positions.
    pub(crate) fn gather(&mut self, from: &Chunk, slots: &[Slot], positions: &[u32]) {
        for &slot in slots {
            let cells = from.live(slot);
            let into = self.cells_mut(slot);
            make_room(into, positions.len());
            into.extend(positions.iter().map(|&row| cells[row as usize]));
        }
    }

    /// Appends to each of `slots` the cell of one row, `times` times.
    pub(crate) fn repeat(&mut self, from: &Chunk, slots: &[Slot], row: u64, times: usize) {
        for &slot in slots {
            let cell = from.live(slot)[row as usize];
            self.cells_mut(slot)
                .extend(std::iter::repeat_n(cell, times));
        }
    }

    /// Appends whole columns of `from`, swapping where this chunk is empty.
    pub(crate) fn absorb(&mut self, from: &mut Chunk, slots: &[Slot]) -> Result<(), WalkError> {
        let rows = from.rows;
        if !from.counts.is_empty() {
            assert_eq!(
                self.rows, 0,
                "rows that stand for several come by themselves"
            );
            std::mem::swap(&mut self.counts, &mut from.counts);
        }
        for &slot in slots {
            let index = usize::from(slot.0);
            assert!(from.columns[index].live, "a kept column is alive before");
            let source = &mut from.columns[index].cells;
            assert_eq!(
                source.len() as u64,
                rows,
                "columns of a chunk are equally long"
            );
            let target = &mut self.columns[index].cells;
            if target.is_empty() {
                std::mem::swap(source, target);
            } else {
                target.extend_from_slice(source);
            }
        }
        from.clear();
        self.add_rows(rows)
    }

    /// Keeps the first `rows` rows.
    pub(crate) fn truncate(&mut self, rows: u64) {
        self.rows = self.rows.min(rows);
        for column in &mut self.columns {
            column
                .cells
                .truncate(usize::try_from(rows).unwrap_or(usize::MAX));
        }
    }

    /// Drops the first `rows` rows.
    pub(crate) fn skip(&mut self, rows: u64) {
        let rows = rows.min(self.rows);
        self.rows -= rows;
        for column in self.columns.iter_mut().filter(|column| column.live) {
            column
                .cells
                .drain(..usize::try_from(rows).expect("rows with columns are in memory"));
        }
    }

    pub(crate) fn is_consistent(&self) -> bool {
        let is_counted = self.counts.is_empty() || self.counts.len() as u64 == self.rows;
        is_counted
            && self.columns.iter().all(|column| {
                if column.live {
                    column.cells.len() as u64 == self.rows
                } else {
                    column.cells.is_empty()
                }
            })
    }
}

/// Makes room in a column: at first what is asked for, because most columns of light queries hold a few
/// rows in all; then a whole chunk, instead of growing piece by piece.
pub(crate) fn make_room(cells: &mut Vec<VertexId>, more: usize) {
    let needed = cells.len() + more;
    if cells.capacity() == 0 {
        cells.reserve_exact(more);
    } else if cells.capacity() < needed {
        cells.reserve_exact(needed.next_power_of_two().max(ROWS) - cells.len());
    }
}
