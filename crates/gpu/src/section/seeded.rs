//! Which part of a seed a launch walks: the words of its arguments that differ from strip to strip.

use super::ROWS_MAX;
use device::{Region, Slice};
use rdf::VertexId;
use std::ops::Range;

/// How a strip's beginning and length stand in the arguments.
pub(super) enum Seeded {
    /// A column that is a part of a segment: where its address stands, for each launch that reads it, and its count; the address of the first row.
    Rows {
        cells_at: Vec<usize>,
        count_at: usize,
        first: u64,
        cell_bytes: u64,
        rows: u64,
    },
    /// Keys, or rows that are copied: where the range stands, for each kernel; the first of them; a strip's most.
    Keys {
        ranges_at: Vec<usize>,
        first: u64,
        keys: u64,
        most: u64,
    },
    /// Rows that are loaded: where the addresses of each column stand, one for each launch that reads it, and their count; the address of the
    /// first column's first cell; how many there are, and may be.
    Loaded {
        cells_at: Vec<Vec<usize>>,
        count_at: usize,
        first: u64,
        rows: u64,
        most: u64,
    },
}

/// Bytes of a cell that is loaded.
pub(super) const CELL_BYTES: u64 = size_of::<VertexId>() as u64;

impl Seeded {
    /// Elements of a first strip.
    pub(super) fn strip(&self) -> u64 {
        match self {
            Seeded::Rows { rows, .. } => (*rows).clamp(1, ROWS_MAX),
            Seeded::Keys { keys, most, .. } => (*keys).min(*most).clamp(1, ROWS_MAX),
            Seeded::Loaded { most, .. } => *most,
        }
    }

    pub(super) fn patch(&self, words: &mut [u64], strip: &Range<u64>) {
        match self {
            Seeded::Rows {
                cells_at,
                count_at,
                first,
                cell_bytes,
                ..
            } => {
                for at in cells_at {
                    words[*at] = first + strip.start * cell_bytes;
                }
                words[*count_at] = strip.end - strip.start;
            }
            Seeded::Loaded {
                cells_at,
                count_at,
                first,
                rows,
                ..
            } => {
                for (column, all_at) in (0..).zip(cells_at) {
                    for at in all_at {
                        words[*at] = first + (column * rows + strip.start) * CELL_BYTES;
                    }
                }
                words[*count_at] = strip.end - strip.start;
            }
            Seeded::Keys {
                ranges_at, first, ..
            } => {
                for at in ranges_at {
                    words[*at] = first + strip.start;
                    words[at + 1] = first + strip.end;
                }
            }
        }
    }
}

impl Seeded {
    /// Elements of the whole seed.
    pub(super) fn elements(&self) -> u64 {
        match self {
            Seeded::Rows { rows, .. } | Seeded::Loaded { rows, .. } => *rows,
            Seeded::Keys { keys, .. } => *keys,
        }
    }

    /// Rows that may be loaded at once, where it is made of such.
    pub(super) fn loads(&self) -> Option<u64> {
        match self {
            Seeded::Loaded { most, .. } => Some(*most),
            Seeded::Rows { .. } | Seeded::Keys { .. } => None,
        }
    }

    /// It is made of these rows from now on; where their columns go, one behind the other.
    pub(super) fn load(&mut self, count: u64, columns: &[&[VertexId]], tables: &Region) -> Slice {
        let Seeded::Loaded {
            cells_at,
            first,
            rows,
            most,
            ..
        } = self
        else {
            panic!("it has a seed of its own");
        };
        assert!(
            count <= *most && columns.len() == cells_at.len(),
            "no more rows than it takes, with all columns"
        );
        let are_long = |cells: &&[VertexId]| cells.len() as u64 == count;
        assert!(columns.iter().all(are_long), "columns of one table");
        *rows = count;
        let from = *first - tables.whole().address();
        tables.slice(from..from + columns.len() as u64 * count * CELL_BYTES)
    }
}
