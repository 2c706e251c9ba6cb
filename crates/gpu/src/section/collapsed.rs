//! What is written among the arguments for [equal rows that become one](crate::collapse): one block for three kernels, where
//! another step would stand.

use super::{Table, Writer, put};
use crate::arena::ALIGNMENT;
use crate::collapse::{ProgramCollapse, Slots};
use crate::layout;
use crate::program::Program;
use device::Kernel;

/// Bytes of a slot, and of a number of rows.
const SLOT_BYTES: u64 = 8;
const COUNT_BYTES: u64 = 4;

/// How equal rows become one, over tables of this memory.
pub(super) struct Collapsed {
    pub(super) slots: Slots,
    /// The numbers of rows, where somebody asks.
    pub(super) counts: Option<layout::Column>,
}

impl Writer {
    /// The table after it, with its arguments written; nothing, where there is no room for slots.
    pub(super) fn collapsed(
        &self,
        program: &Program,
        (collapse, input): (&ProgramCollapse, &Table),
        words: &mut [u64],
        launches: &mut Vec<(Kernel, usize)>,
    ) -> (Table, Collapsed) {
        let number = program.steps.len();
        let half = &self.halves[(number + 1) % 2];
        let columns: Vec<_> = input.columns.iter().map(|(_, column)| *column).collect();
        let count_bytes = if collapse.counted { COUNT_BYTES } else { 0 };
        let row = columns.iter().map(layout::Column::cell_bytes).sum::<u64>() + count_bytes;
        let paddings = ALIGNMENT * (columns.len() as u64 + 2);
        let room = (half.end - half.start).saturating_sub(paddings);
        let most = 1 << (room / (SLOT_BYTES + row)).max(1).ilog2();
        let capacity = room.saturating_sub(most * SLOT_BYTES) / row;
        let mut at = (half.start + most * SLOT_BYTES).next_multiple_of(ALIGNMENT);
        let mut place = |bytes: u64| {
            let place = at;
            at = (at + capacity * bytes).next_multiple_of(ALIGNMENT);
            place
        };
        let slots = collapse.slots(most);
        let mut arguments = layout::Collapse {
            input: self.level(number),
            output: self.level(number + 1),
            outcome: self.outcome(),
            slots: half.start,
            mask: slots - 1,
            capacity,
            columns: columns.len() as u32,
            number: number as u32,
            ..layout::Collapse::default()
        };
        let mut out = Vec::with_capacity(columns.len());
        for (at, (slot, column)) in input.columns.iter().enumerate() {
            let cells = place(column.cell_bytes());
            arguments.columns_in[at] = *column;
            arguments.columns_out[at] = cells;
            out.push((*slot, layout::Column { cells, ..*column }));
        }
        let counts = collapse.counted.then(|| layout::Column {
            cells: place(COUNT_BYTES),
            ..layout::Column::default()
        });
        arguments.counts = counts.map_or(0, |column| column.cells);
        let begins = self.step_at(number);
        put(words, begins, &arguments);
        for kernel in [
            Kernel::CollapseClear,
            Kernel::CollapseRows,
            Kernel::CollapseOut,
        ] {
            launches.push((kernel, begins));
        }
        let slots = Slots {
            mask_at: (begins + std::mem::offset_of!(layout::Collapse, mask)) / 8,
            count: slots,
            most,
            number,
        };
        let table = Table {
            columns: out,
            capacity,
        };
        (table, Collapsed { slots, counts })
    }
}
