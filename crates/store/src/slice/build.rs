//! A slice from sorted rows: one pass over the rows of each segment.

use super::Slice;
use super::arrivals::{self, Arrival};
use super::segment::SliceEntry;
use crate::delta::rows::{Row, graphs_of, runs_of};
use crate::segment::planes::{Encoding, Spans};
use crate::view::GraphScope;
use rdf::{Direction, VertexId};

/// Writes the segments of a slice, one after the other.
pub(super) struct Writer {
    slice: Slice,
}

impl Writer {
    /// For the rows of both directions, ascending and distinct.
    pub(super) fn new(rows: [&[Row]; 2]) -> Writer {
        let mut graphs = graphs_of(rows[0]);
        if !std::ptr::eq(rows[0], rows[1]) {
            graphs.extend(graphs_of(rows[1]));
            graphs.sort_unstable();
            graphs.dedup();
        }
        let count = rows[0].len() + rows[1].len();
        Writer {
            slice: Slice {
                graphs,
                words: Vec::with_capacity(count),
                halves: Vec::with_capacity(count),
                ..Slice::default()
            },
        }
    }

    /// Writes all segments of a direction; `arrivals` are those of its rows.
    pub(super) fn direction(
        &mut self,
        direction: Direction,
        rows: &[Row],
        arrivals: Option<&[Arrival]>,
    ) {
        for (predicate, range) in runs_of(rows) {
            let mut entry = self.segment(predicate, &rows[range.clone()]);
            if let Some(arrivals) = arrivals {
                let Slice { words, ids, .. } = &mut self.slice;
                arrivals::write(&mut entry, &arrivals[range], words, ids);
            }
            self.slice.segments[direction as usize].push(entry);
        }
    }

    pub(super) fn finish(self) -> Slice {
        let mut slice = self.slice;
        slice.words.shrink_to_fit();
        slice.halves.shrink_to_fit();
        slice.ids.shrink_to_fit();
        for entries in &mut slice.segments {
            entries.shrink_to_fit();
        }
        slice
    }

    fn segment(&mut self, predicate: VertexId, rows: &[Row]) -> SliceEntry {
        let Slice {
            halves, words, ids, ..
        } = &mut self.slice;
        let mut entry = SliceEntry::new(predicate, [halves.len(), words.len(), ids.len()]);
        entry.set_rows(rows.len());
        let (mut keys, mut chunks) = (0_usize, 0_usize);
        let mut last = None;
        for row in rows {
            if last != Some(row[1]) {
                keys += 1;
                chunks += usize::from(last.is_none_or(|last: u64| last >> 16 != row[1] >> 16));
                last = Some(row[1]);
            }
        }
        entry.set_keys(keys, chunks);
        self.keys(&entry, rows);
        self.offsets(&entry, rows);
        self.neighbours(&mut entry, rows);
        self.graphs(&mut entry, rows);
        entry
    }

    fn keys(&mut self, entry: &SliceEntry, rows: &[Row]) {
        let Slice {
            halves, words, ids, ..
        } = &mut self.slice;
        let (mut last, mut ordinal) = (None, 0_u32);
        for row in rows {
            let key = row[1];
            if last == Some(key) {
                continue;
            }
            if entry.has_wide_keys() {
                ids.push(key);
            } else {
                if last.is_none_or(|last: u64| last >> 16 != key >> 16) {
                    ids.push(key >> 16);
                    words.push(ordinal);
                }
                halves.push(key as u16);
            }
            last = Some(key);
            ordinal += 1;
        }
    }

    fn offsets(&mut self, entry: &SliceEntry, rows: &[Row]) {
        if entry.is_functional() {
            return;
        }
        let Slice { halves, words, .. } = &mut self.slice;
        let starts = (0_u32..).zip(rows).filter(|(row, _)| {
            let row = *row as usize;
            row == 0 || rows[row - 1][1] != rows[row][1]
        });
        let offsets = starts.map(|(row, _)| row).chain([entry.rows()]);
        if entry.has_narrow_offsets() {
            halves.extend(offsets.map(|offset| offset as u16));
        } else {
            words.extend(offsets);
        }
    }

    fn neighbours(&mut self, entry: &mut SliceEntry, rows: &[Row]) {
        let Slice {
            halves, words, ids, ..
        } = &mut self.slice;
        let mut spans = Spans::default();
        for row in rows {
            spans.observe(VertexId::from_bits(row[2]));
        }
        match Encoding::for_spans(&spans) {
            Encoding::Codes { bases, .. } if is_near(&bases, rows) => {
                ids.push(bases[0]);
                entry.set_near_neighbours();
                halves.extend(rows.iter().map(|row| (row[2] - bases[0]) as u16));
            }
            Encoding::Codes { bases, plane_bits } => {
                ids.extend_from_slice(&bases);
                entry.set_planes(bases.len(), plane_bits);
                let codes = rows
                    .iter()
                    .map(|row| Encoding::code(&bases, plane_bits, row[2]));
                words.extend(codes);
            }
            Encoding::Ids => {
                entry.set_wide_neighbours();
                ids.extend(rows.iter().map(|row| row[2]));
            }
        }
    }

    fn graphs(&mut self, entry: &mut SliceEntry, rows: &[Row]) {
        let default = GraphScope::DEFAULT_GRAPH.bits();
        if rows.iter().all(|row| row[3] == default) {
            return;
        }
        entry.set_graphs();
        let Slice { words, graphs, .. } = &mut self.slice;
        words.extend(rows.iter().map(|row| {
            if row[3] == default {
                return 0;
            }
            let place = graphs.binary_search(&VertexId::from_bits(row[3]));
            place.expect("the table has the graphs of all rows") as u32 + 1
        }));
    }
}

/// Whether the neighbours of rows lie within 2^16 ids from the only base.
fn is_near(bases: &[u64], rows: &[Row]) -> bool {
    matches!(bases, [base] if rows.iter().all(|row| u16::try_from(row[2] - base).is_ok()))
}
