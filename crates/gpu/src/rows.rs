//! The rows of a strip, read piece by piece: while one is made ids, the next is on its way.
//!
//! Cells cross the link as the device has them, codes of 4 bytes mostly, into memory of the host that is staged, which is three
//! times as fast as any other (docs/figures.md, "On a card"); the host makes ids of them. Two places take turns.

use crate::error::GpuError;
use crate::layout;
use crate::section::Section;
use device::Mark;
use query::plan::Slot;
use rdf::VertexId;
use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};

/// A piece of rows: how many, and their columns.
pub type Piece = (u64, Vec<(Slot, Vec<VertexId>)>);

/// See the head of this file. Rows that are not read are left where they are.
pub struct Rows<'s> {
    section: &'s Section,
    count: u64,
    /// Rows of a piece.
    length: u64,
    /// Where the piece after the one on its way begins.
    next: u64,
    on_its_way: Option<(Range<u64>, Mark)>,
    /// The place that it comes to.
    place: usize,
}

impl<'s> Rows<'s> {
    /// Rows `0..rows` of the last strip.
    pub(crate) fn new(section: &'s Section, rows: u64) -> Rows<'s> {
        let columns = section.last_columns();
        let place = section.reading(0).bytes();
        let width: u64 = columns.iter().map(|(_, column)| column.cell_bytes()).sum();
        // Each column begins at a word.
        let room = place - columns.len() as u64 * 8;
        Rows {
            section,
            count: rows,
            length: (room / width.max(1)).max(1),
            next: 0,
            on_its_way: None,
            place: 0,
        }
    }

    /// Rows of a piece, at most.
    pub fn piece_rows(&self) -> u64 {
        if self.section.columns() == 0 {
            self.count
        } else {
            self.length.min(self.count)
        }
    }

    /// The next piece; none when all rows were read.
    pub fn piece(&mut self) -> Result<Option<Piece>, GpuError> {
        if self.section.columns() == 0 {
            let rows = std::mem::replace(&mut self.count, 0);
            return Ok((rows > 0).then(|| (rows, Vec::new())));
        }
        if self.on_its_way.is_none() {
            self.ask(self.place)?;
        }
        let Some((rows, mark)) = self.on_its_way.take() else {
            return Ok(None);
        };
        let came_to = self.place;
        self.place = 1 - came_to;
        self.ask(self.place)?;
        self.section.device().wait(&mark)?;
        let staged = self.section.reading(came_to).words();
        let count = rows.end - rows.start;
        let mut at = 0;
        let mut columns = Vec::with_capacity(self.section.columns());
        for (slot, column) in self.section.last_columns() {
            let ids = ids_of(
                self.section,
                column,
                &staged[at as usize / 8..],
                count as usize,
            );
            columns.push((*slot, ids));
            at += bytes_of(column, count);
        }
        Ok(Some((count, columns)))
    }

    /// Lets the next piece come to a place, where there is one.
    fn ask(&mut self, place: usize) -> Result<(), GpuError> {
        let rows = self.next..self.count.min(self.next + self.length);
        if rows.is_empty() {
            return Ok(());
        }
        let (device, stream) = (self.section.device(), self.section.stream());
        let mut at = 0;
        for (_, column) in self.section.last_columns() {
            let slice = self.section.cells(column, &rows);
            device.download_staged(stream, &slice, self.section.reading(place), at)?;
            at += bytes_of(column, rows.end - rows.start);
        }
        self.next = rows.end;
        self.on_its_way = Some((rows, device.mark(stream)?));
        Ok(())
    }
}

/// Bytes of a column's cells where they are staged: whole words.
fn bytes_of(column: &layout::Column, rows: u64) -> u64 {
    (column.cell_bytes() * rows).next_multiple_of(8)
}

/// The ids of cells.
fn ids_of(
    section: &Section,
    column: &layout::Column,
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
    match section.bases(column) {
        Some(bases) if bits > 0 => {
            let id = |code: u64| {
                let plane = code >> (32 - bits);
                let rest = code & (u64::from(u32::MAX) >> bits);
                VertexId::from_bits(bases[plane as usize].wrapping_add(rest))
            };
            ids.extend(words.flat_map(|word| halves(word).map(id)).take(count));
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
