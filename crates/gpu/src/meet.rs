//! A seed whose ids are met with other sets of ids before there are rows: `?x a :C . ?x a :D`, both kept as bits.
//!
//! ```text
//!  list of a constant, kept as a key index --+
//!  keys of a segment ------------------------+--> first set   \
//!  checks of the seed's column by a key index ---> other sets  } --> one kernel --> the first column
//!  keys of what expands the seed's column -------> other sets /
//! ```
//!
//! Checks become other sets while no step was made yet. The expansion that follows them is one that drops ids without a list; where
//! it is expected to drop most, its keys are one more set, and stay what they are for the step.
//!
//! Invariant: the seed's elements are those of the first set, in its order, be they met or not; so a strip is the same range for
//! whoever walks it. A strip has never more rows than elements: it always has room.
//!
//! Cost: the words of all sets once, in lines, instead of a lookup of two sectors a row and set (Wukong+G's steps check rows that
//! are written already).

use crate::condition::{Operand, ProgramCheck};
use crate::image::Image;
use crate::layout::{self, CheckKind, SETS};
use query::plan::Slot;
use std::ops::Range;
use std::sync::Arc;

/// Of so many elements the expansion is expected to keep one, or it is no set: most would be looked at twice.
const DROPS: f64 = 2.0;

/// See the head of this file.
pub(crate) struct Met {
    /// The segment of the first set.
    pub(crate) image: Arc<Image>,
    first: layout::Index,
    sets: Vec<layout::Index>,
}

impl Met {
    /// The first set alone: an index of this segment, or of one of its lists.
    pub(crate) fn new(image: &Arc<Image>, first: layout::Index) -> Met {
        Met {
            image: Arc::clone(image),
            first,
            sets: Vec::new(),
        }
    }

    /// Whether there are other sets.
    pub(crate) fn is_met(&self) -> bool {
        !self.sets.is_empty()
    }

    /// Elements of the first set.
    pub(crate) fn keys(&self) -> u64 {
        self.first.keys
    }

    /// Takes a check of the seed's column, where it is one of a key; whether it was taken.
    pub(crate) fn take(&mut self, column: Slot, check: &ProgramCheck) -> bool {
        let is_key = check.kind == CheckKind::Key && check.left == Operand::Column(column);
        is_key && self.add(check.segment.index)
    }

    /// Takes the keys of what expands the seed's column next, where so many `rows` of all elements are expected to be left.
    pub(crate) fn expect(&mut self, expanded: &Image, rows: f64) {
        if rows * DROPS <= self.first.keys as f64 {
            self.add(expanded.segment.index);
        }
    }

    fn add(&mut self, set: layout::Index) -> bool {
        let has_room = self.sets.len() < SETS;
        if has_room {
            self.sets.push(set);
        }
        has_room
    }

    /// The column of its ids in this memory, and how many fit.
    pub(crate) fn column(&self, room: &Range<u64>) -> (layout::Column, u64) {
        // Of several chunks only the first one's last id is told here.
        let is_narrow = self.first.count == 1
            && u32::try_from(self.first.first.last - self.first.first.first).is_ok();
        let column = layout::Column {
            cells: room.start,
            bases: 0,
            base: if is_narrow { self.first.first.first } else { 0 },
            wide: u32::from(!is_narrow),
            plane_bits: 0,
        };
        (column, (room.end - room.start) / column.cell_bytes())
    }

    /// What its kernel is told, but for the strip: counted at `level`, written to the column where it is kept.
    pub(crate) fn arguments(
        &self,
        level: u64,
        column: &layout::Column,
        is_kept: bool,
    ) -> layout::Meet {
        let mut arguments = layout::Meet {
            index: self.first,
            begin: 0,
            end: 0,
            level,
            out: if is_kept { column.cells } else { 0 },
            base: column.base,
            wide: column.wide,
            sets: self.sets.len() as u32,
            set: [layout::Index::default(); SETS],
        };
        for (place, set) in arguments.set.iter_mut().zip(&self.sets) {
            *place = *set;
        }
        arguments
    }
}
