//! What is written among the arguments for seeds that are copied or [met](crate::meet), and for steps that
//! [spread](crate::spread): they stand where another seed or step would, and parts behind all of them.

use super::{Seeded, Table, Writer, put};
use crate::layout;
use crate::meet::Met;
use crate::program::{Program, ProgramStep};
use crate::spread::Spread;
use device::Kernel;
use query::plan::Slot;
use std::ops::Range;

/// Where the columns of its input stand in the arguments of the first step.
pub(super) fn columns_in_first(program: &Program) -> usize {
    match program.steps.first() {
        Some(ProgramStep {
            spread: Some(_), ..
        }) => std::mem::offset_of!(layout::SpreadStep, columns_in),
        _ => std::mem::offset_of!(layout::Step, columns_in),
    }
}

/// Bytes of the parts of the steps before each, and of all.
pub(super) fn part_bytes(program: &Program) -> Vec<usize> {
    let mut ends = vec![0];
    for step in &program.steps {
        let own = step.spread.as_ref().map_or(0, Spread::part_bytes);
        ends.push(ends[ends.len() - 1] + own);
    }
    // Behind all of them, where equal rows become one.
    ends.push(ends[ends.len() - 1]);
    ends
}

impl Writer {
    /// A seed of which each strip is written to a column of its own, at the beginning of the first half.
    pub(super) fn copied(
        &self,
        words: &mut [u64],
        (index, column): (layout::Index, layout::Column),
        rows: Range<u64>,
        slot: Option<Slot>,
    ) -> (Table, Seeded) {
        let half = &self.halves[0];
        let capacity = (half.end - half.start) / column.cell_bytes();
        let seed = layout::Seed {
            index,
            begin: 0,
            end: 0,
            level: self.level(0),
            out: column.cells,
            base: column.base,
            wide: column.wide,
            page_bits: self.pages.map_or(0, |pages| pages.bits),
            pages: self.pages.map_or(0, |pages| pages.table),
        };
        put(words, self.seed_at(), &seed);
        let seeded = Seeded::Keys {
            range_at: (self.seed_at() + std::mem::offset_of!(layout::Seed, begin)) / 8,
            first: rows.start,
            keys: rows.end - rows.start,
            most: capacity,
        };
        let columns = slot.map(|slot| (slot, column)).into_iter().collect();
        (Table { columns, capacity }, seeded)
    }

    /// The first table of a seed that is met.
    pub(super) fn met_seed(
        &self,
        met: &Met,
        slot: Option<Slot>,
        words: &mut [u64],
    ) -> (Table, Seeded) {
        let (column, capacity) = met.column(&self.halves[0]);
        let arguments = met.arguments(self.level(0), &column, slot.is_some());
        put(words, self.seed_at(), &arguments);
        let seeded = Seeded::Keys {
            range_at: (self.seed_at() + std::mem::offset_of!(layout::Meet, begin)) / 8,
            first: 0,
            keys: met.keys(),
            most: capacity,
        };
        let columns = slot.map(|slot| (slot, column)).into_iter().collect();
        (Table { columns, capacity }, seeded)
    }

    /// The kernel of such a step, and where its arguments stand.
    pub(super) fn launched_spread(&self, number: usize, spread: &Spread) -> (Kernel, usize) {
        (spread.kernel(), self.step_at(number))
    }

    /// The table after a step by predicates that are not known, with its arguments and its parts written.
    pub(super) fn spread(
        &self,
        number: usize,
        (step, spread): (&ProgramStep, &Spread),
        input: &Table,
        words: &mut [u64],
    ) -> Table {
        let next = self.table(number, &step.keep, input, spread.made());
        let made = spread.made().and_then(|(into, _)| next.column(into));
        let parts_at = self.parts_at(number);
        let parts = self.base + parts_at as u64;
        let mut arguments = layout::SpreadStep {
            input: self.level(number),
            output: self.level(number + 1),
            outcome: self.outcome(),
            capacity: next.capacity,
            number: number as u32,
            columns: input.columns.len() as u32,
            made: made.map_or(0, |column| column.cells),
            ..spread.arguments(parts, |slot| input.place(slot))
        };
        for (place, (slot, column)) in input.columns.iter().enumerate() {
            arguments.columns_in[place] = *column;
            arguments.columns_out[place] = next.column(*slot).map_or(0, |column| column.cells);
        }
        put(words, self.step_at(number), &arguments);
        for (place, part) in spread.described().iter().enumerate() {
            put(words, parts_at + place * size_of::<layout::Part>(), part);
        }
        next
    }
}
