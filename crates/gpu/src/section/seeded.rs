//! Which part of a seed a launch walks: the words of its arguments that differ from strip to strip.

use super::ROWS_MAX;
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
}

impl Seeded {
    /// Elements of a first strip.
    pub(super) fn strip(&self) -> u64 {
        match self {
            Seeded::Rows { rows, .. } => (*rows).clamp(1, ROWS_MAX),
            Seeded::Keys { keys, most, .. } => (*keys).min(*most).clamp(1, ROWS_MAX),
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
            Seeded::Rows { rows, .. } => *rows,
            Seeded::Keys { keys, .. } => *keys,
        }
    }
}
