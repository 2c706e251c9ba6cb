//! The rows of a strip, read piece by piece: while one is made ids, the next is on its way.
//!
//! Cells cross the link as the device has them, codes of 4 bytes mostly, into memory of the host that is staged, which is three
//! times as fast as any other (docs/figures.md, "On a card"); the host makes ids of them. Two places take turns.

use crate::error::GpuError;
use crate::layout;
use crate::patience::Patience;
use crate::rooms::Room;
use device::{Device, Mark, Slice};
use query::plan::Slot;
use rdf::VertexId;
use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};

/// Looks, a microsecond each, before whoever waits is asked: a piece takes twenty on its way.
const LOOKS: u32 = 200;

/// A piece of rows.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Piece {
    /// How many.
    pub rows: u64,
    /// Their columns, each with a cell for each of them.
    pub columns: Vec<(Slot, Vec<VertexId>)>,
    /// How many equal rows each stands for; `None`: each for itself, or nobody asks.
    pub counts: Option<Vec<u64>>,
}

/// A column of a table in a room, and the bases of its planes where it has several.
pub(crate) type Read<'s> = (Slot, layout::Column, Option<&'s [u64]>);

/// See the head of this file. Rows that are not read are left where they are.
pub struct Rows<'s> {
    device: &'s dyn Device,
    room: &'s Room,
    /// The last one is that of counts, where there are some.
    columns: Vec<Read<'s>>,
    has_counts: bool,
    count: u64,
    /// Rows of a piece.
    length: u64,
    /// Where the piece after the one on its way begins.
    next: u64,
    on_its_way: Option<(Range<u64>, Mark)>,
    /// The place that it comes to.
    place: usize,
    /// Whether another piece is let come while one is read.
    is_ahead: bool,
}

impl<'s> Rows<'s> {
    /// So many rows of the table that these columns are of, with the column of how many each stands for.
    pub(crate) fn new(
        device: &'s dyn Device,
        room: &'s Room,
        (mut columns, counts): (Vec<Read<'s>>, Option<layout::Column>),
        rows: u64,
    ) -> Rows<'s> {
        // It is read as the others are; its slot is nobody's.
        columns.extend(counts.map(|column| (Slot(u16::MAX), column, None)));
        let place = room.reading()[0].bytes();
        let widths = columns.iter().map(|(_, column, _)| column.cell_bytes());
        let width: u64 = widths.sum();
        // Each column begins at a word.
        let places = place - columns.len() as u64 * 8;
        Rows {
            device,
            room,
            columns,
            has_counts: counts.is_some(),
            count: rows,
            length: (places / width.max(1)).max(1),
            next: 0,
            on_its_way: None,
            place: 0,
            is_ahead: true,
        }
    }

    /// Those from this one on, of which one piece is read.
    pub(crate) fn only(mut self, from: u64) -> Rows<'s> {
        self.next = from;
        if self.columns.is_empty() {
            self.count -= from;
        }
        self.is_ahead = false;
        self
    }

    /// Bytes of the ids of any piece that comes through this room, at most: each cell has four bytes or more there.
    pub(crate) fn piece_bytes(room: &Room) -> u64 {
        room.reading()[0].bytes() / 4 * size_of::<VertexId>() as u64
    }

    /// Rows of a piece, at most.
    pub fn piece_rows(&self) -> u64 {
        if self.columns.is_empty() {
            self.count
        } else {
            self.length.min(self.count)
        }
    }

    /// The next piece, which is waited for as long as `patience` says; none when all rows were read.
    pub fn piece(&mut self, patience: &mut Patience<'_>) -> Result<Option<Piece>, GpuError> {
        if self.columns.is_empty() {
            let rows = std::mem::replace(&mut self.count, 0);
            let piece = Piece {
                rows,
                ..Piece::default()
            };
            return Ok((rows > 0).then_some(piece));
        }
        if self.on_its_way.is_none() {
            self.ask(self.place)?;
        }
        let Some((rows, mark)) = self.on_its_way.take() else {
            return Ok(None);
        };
        let came_to = self.place;
        self.place = 1 - came_to;
        if self.is_ahead {
            self.ask(self.place)?;
        }
        for look in 0.. {
            if self.device.has_passed(&mark)? {
                break;
            }
            if look >= LOOKS && !patience() {
                return Err(GpuError::GivenUp);
            }
        }
        let staged = self.room.reading()[came_to].words();
        let count = rows.end - rows.start;
        let mut at = 0;
        let mut columns = Vec::with_capacity(self.columns.len());
        for (slot, column, bases) in &self.columns {
            let words = &staged[at as usize / 8..];
            columns.push((*slot, ids_of(column, *bases, words, count as usize)));
            at += bytes_of(column, count);
        }
        let counts = if self.has_counts { columns.pop() } else { None };
        let bits = |cells: Vec<VertexId>| cells.into_iter().map(VertexId::bits).collect();
        Ok(Some(Piece {
            rows: count,
            columns,
            counts: counts.map(|(_, cells)| bits(cells)),
        }))
    }

    /// Lets the next piece come to a place, where there is one.
    fn ask(&mut self, place: usize) -> Result<(), GpuError> {
        let rows = self.next..self.count.min(self.next + self.length);
        if rows.is_empty() {
            return Ok(());
        }
        let (device, stream) = (self.device, self.room.stream());
        let mut at = 0;
        for (_, column, _) in &self.columns {
            let slice = self.cells(column, &rows);
            device.download_staged(stream, &slice, &self.room.reading()[place], at)?;
            at += bytes_of(column, rows.end - rows.start);
        }
        self.next = rows.end;
        self.on_its_way = Some((rows, device.mark(stream)?));
        Ok(())
    }

    /// Where these rows of a column lie.
    fn cells(&self, column: &layout::Column, rows: &Range<u64>) -> Slice {
        let width = column.cell_bytes();
        let tables = self.room.tables();
        let from = column.cells - tables.whole().address() + rows.start * width;
        tables.slice(from..from + (rows.end - rows.start) * width)
    }
}

/// Bytes of a column's cells where they are staged: whole words.
fn bytes_of(column: &layout::Column, rows: u64) -> u64 {
    (column.cell_bytes() * rows).next_multiple_of(8)
}

/// The ids of cells.
fn ids_of(
    column: &layout::Column,
    bases: Option<&[u64]>,
    words: &[AtomicU64],
    count: usize,
) -> Vec<VertexId> {
    let words = words.iter().map(|word| word.load(Ordering::Relaxed));
    if column.wide == 1 {
        return words.take(count).map(VertexId::from_bits).collect();
    }
    let mut ids = Vec::with_capacity(count + 1);
    let bits = column.plane_bits;
    let words = words.take(count.div_ceil(2));
    let halves = |word: u64| [word & u64::from(u32::MAX), word >> 32];
    match bases {
        Some(bases) if bits > 0 => {
            let id = |code: u64| {
                let plane = code >> (32 - bits);
                let rest = code & (u64::from(u32::MAX) >> bits);
                VertexId::from_bits(bases[plane as usize].wrapping_add(rest))
            };
            // What fills the last word is no code.
            ids.extend(words.flat_map(halves).take(count).map(id));
        }
        _ => {
            let id = |code: u64| VertexId::from_bits(column.base.wrapping_add(code));
            for word in words {
                ids.extend(halves(word).map(id));
            }
            ids.truncate(count);
        }
    }
    ids
}

#[cfg(test)]
mod tests {
    use super::*;
    use rdf::Tag;

    #[test]
    fn what_fills_the_last_word_is_no_cell() {
        let column = layout::Column {
            plane_bits: 2,
            ..layout::Column::default()
        };
        let bases = [16, 32, 64];
        let code = |plane: u64, rest: u64| plane << 30 | rest;
        // Of three planes nobody has the fourth, but for what was in the last half of a word.
        let words = [code(0, 1) | code(2, 5) << 32, code(1, 3) | u64::MAX << 32];
        let words = words.map(AtomicU64::new);
        let ids = ids_of(&column, Some(&bases), &words, 3);
        assert_eq!(ids, [17, 69, 35].map(|at| VertexId::new(Tag::Iri, at)));
    }
}
