//! What is written among the arguments for seeds that are copied or [met](crate::meet), and for steps that
//! [spread](crate::spread): they stand where another seed or step would, and parts behind all of them.

use super::seeded::CELL_BYTES;
use super::stepped::launches_of;
use super::{ROWS_MAX, Seeded, Table, Writer, put};
use crate::image::Image;
use crate::layout;
use crate::meet::Met;
use crate::program::{Program, ProgramJoined, ProgramSeed, ProgramStep};
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
    /// The table of the seed, with its arguments written.
    pub(super) fn seed(
        &self,
        program: &Program,
        words: &mut [u64],
        launches: &mut Vec<(Kernel, usize)>,
    ) -> (Table, Seeded) {
        match &program.seed {
            ProgramSeed::Rows(image, rows) if self.pages.is_some() && program.slot.is_some() => {
                let neighbours = image.segment.neighbours;
                let column = layout::Column {
                    cells: self.halves[0].start,
                    ..neighbours
                };
                let index = layout::Index {
                    data: neighbours.cells,
                    ..layout::Index::default()
                };
                launches.push((Kernel::SeedRowsPaged, self.seed_at()));
                self.copied(words, (index, column), rows.clone(), program.slot)
            }
            ProgramSeed::Rows(image, rows) => {
                let neighbours = image.segment.neighbours;
                let column = layout::Column {
                    cells: neighbours.cells + rows.start * neighbours.cell_bytes(),
                    ..neighbours
                };
                let in_step = columns_in_first(program);
                let seeded = Seeded::Rows {
                    cells_at: match program.slot {
                        Some(_) => self.firsts(program).map(|at| (at + in_step) / 8).collect(),
                        None => Vec::new(),
                    },
                    count_at: 0,
                    first: column.cells,
                    cell_bytes: column.cell_bytes(),
                    rows: rows.end - rows.start,
                };
                let columns = program
                    .slot
                    .map(|slot| (slot, column))
                    .into_iter()
                    .collect();
                (
                    Table {
                        columns,
                        capacity: ROWS_MAX,
                    },
                    seeded,
                )
            }
            ProgramSeed::Keys(image) => {
                let index = image.segment.index;
                let column = key_column(image, &self.halves[0]);
                launches.push((Kernel::Seed, self.seed_at()));
                self.copied(words, (index, column), 0..index.keys, program.slot)
            }
            ProgramSeed::Joined(joined) => self.joined(joined, program.slot, words, launches),
            ProgramSeed::Loaded(columns) => self.loaded(program, columns),
            ProgramSeed::Met(met) => {
                launches.push((Kernel::Meet, self.seed_at()));
                self.met_seed(met, program.slot, words)
            }
        }
    }

    /// A seed of rows that are loaded.
    fn loaded(&self, program: &Program, columns: &[Slot]) -> (Table, Seeded) {
        let Range { start, end } = self.loaded;
        let in_step = columns_in_first(program);
        let described = |place: usize| {
            let at = in_step + place * size_of::<layout::Column>();
            let at = at + std::mem::offset_of!(layout::Column, cells);
            self.firsts(program).map(|first| (first + at) / 8).collect()
        };
        let row = columns.len() as u64 * CELL_BYTES;
        let most = (end - start) / row;
        let seeded = Seeded::Loaded {
            cells_at: (0..columns.len()).map(described).collect(),
            count_at: 0,
            first: start,
            rows: 0,
            most: most.min(ROWS_MAX),
        };
        let column = layout::Column {
            cells: start,
            wide: 1,
            ..layout::Column::default()
        };
        let columns = columns.iter().map(|slot| (*slot, column)).collect();
        let table = Table {
            columns,
            capacity: most,
        };
        (table, seeded)
    }

    /// Where the arguments stand of the launches that read the seed.
    fn firsts(&self, program: &Program) -> impl Iterator<Item = usize> {
        let launches = program.steps.first().map_or(0, launches_of);
        let further = (1..launches).map(|launch| self.further_at(0, launch));
        std::iter::once(self.step_at(0)).chain(further)
    }

    /// A seed of two parts, of which each strip is written to a column of 8-byte ids.
    fn joined(
        &self,
        joined: &ProgramJoined,
        slot: Option<Slot>,
        words: &mut [u64],
        launches: &mut Vec<(Kernel, usize)>,
    ) -> (Table, Seeded) {
        let (image, rows) = &joined.first;
        let half = &self.halves[0];
        let column = layout::Column {
            cells: half.start,
            wide: 1,
            ..layout::Column::default()
        };
        let (second, came) = &joined.second;
        let first_rows = joined.first_elements();
        let mut arguments = layout::Joined {
            level: self.level(0),
            out: column.cells,
            second: second.segment.neighbours,
            second_row: came.start,
            first_rows,
            page_bits: self.pages.map_or(0, |pages| pages.bits),
            pages: self.pages.map_or(0, |pages| pages.table),
            ..layout::Joined::default()
        };
        let mut ranges_at = Vec::with_capacity(2);
        let mut at = self.seed_at();
        if let Some(rows) = rows {
            arguments.first = image.segment.neighbours;
            arguments.first_row = rows.start;
        } else {
            let index = image.segment.index;
            self.copied(words, (index, column), 0..first_rows, slot);
            launches.push((Kernel::Seed, at));
            ranges_at.push((at + std::mem::offset_of!(layout::Seed, begin)) / 8);
            at += size_of::<layout::Seed>();
        }
        put(words, at, &arguments);
        launches.push((Kernel::SeedJoined, at));
        ranges_at.push((at + std::mem::offset_of!(layout::Joined, begin)) / 8);
        let capacity = (half.end - half.start) / column.cell_bytes();
        let seeded = Seeded::Keys {
            ranges_at,
            first: 0,
            keys: first_rows + came.end - came.start,
            most: capacity,
        };
        let columns = slot.map(|slot| (slot, column)).into_iter().collect();
        (Table { columns, capacity }, seeded)
    }

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
            ranges_at: vec![(self.seed_at() + std::mem::offset_of!(layout::Seed, begin)) / 8],
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
            ranges_at: vec![(self.seed_at() + std::mem::offset_of!(layout::Meet, begin)) / 8],
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

/// The column of a seed's keys.
fn key_column(image: &Image, half: &Range<u64>) -> layout::Column {
    let base = image.segment.index.first.first;
    let wide = image.last_key - base > u64::from(u32::MAX);
    layout::Column {
        cells: half.start,
        bases: 0,
        base: if wide { 0 } else { base },
        wide: u32::from(wide),
        plane_bits: 0,
    }
}
