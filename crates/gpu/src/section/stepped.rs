//! What is written among the arguments for steps of a program that expand or check: a block for each launch.

use super::{ROWS_MAX, Table, Writer, put};
use crate::arena::ALIGNMENT;
use crate::condition::{Operand, ProgramCheck};
use crate::layout::{self, Joins};
use crate::program::{Branch, Program, ProgramStep, Whose};
use device::Kernel;
use query::plan::Slot;

/// Launches of a step: one for each branch of what it expands, one where it only checks.
pub(super) fn launches_of(step: &ProgramStep) -> usize {
    match (&step.spread, &step.expansion) {
        (Some(_), _) => 0,
        (None, Some(expansion)) => expansion.branches.len(),
        (None, None) => 1,
    }
}

/// The sums of this over all steps before each, and over all.
pub(super) fn sums(program: &Program, of: impl Fn(&ProgramStep) -> usize) -> Vec<usize> {
    let mut sums = vec![0];
    for step in &program.steps {
        sums.push(sums[sums.len() - 1] + of(step));
    }
    sums
}

impl Writer {
    /// The table after a step, with the arguments of its launches written: one for each branch of what it expands.
    pub(super) fn step(
        &self,
        number: usize,
        step: &ProgramStep,
        input: &Table,
        (words, launches): (&mut [u64], &mut Vec<(Kernel, usize)>),
    ) -> Table {
        let expansion = step.expansion.as_ref();
        let made = expansion.map(|expansion| (expansion.into, expansion.column()));
        let next = self.table(number, &step.keep, input, made);
        for launch in 0..launches_of(step) {
            let branch = expansion.map(|expansion| &expansion.branches[launch]);
            let arguments = self.arguments((number, launch), (step, branch), (input, &next));
            let at = match launch {
                0 => self.step_at(number),
                _ => self.further_at(number, launch),
            };
            put(words, at, &arguments);
            let keeps = expansion.is_some_and(|expansion| expansion.keeps);
            launches.push((kernel_of(branch, &arguments, keeps), at));
            if arguments.hubs != 0 {
                launches.push((Kernel::ExpandHubs, at));
            }
        }
        next
    }

    /// The arguments of one launch.
    fn arguments(
        &self,
        (number, launch): (usize, usize),
        (step, branch): (&ProgramStep, Option<&Branch>),
        (input, next): (&Table, &Table),
    ) -> layout::Step {
        let launch = self.launches[number] + launch;
        let [tickets, hub_level] = self.own_levels(launch);
        let own = branch.iter().flat_map(|branch| &branch.checks);
        let checks: Vec<&ProgramCheck> = own.chain(&step.checks).collect();
        let mut arguments = layout::Step {
            input: self.level(number),
            output: self.level(number + 1),
            outcome: self.outcome(),
            capacity: next.capacity,
            columns: input.columns.len() as u32,
            checks: checks.len() as u32,
            number: number as u32,
            page_bits: self.pages.map_or(0, |pages| pages.bits),
            pages: self.pages.map_or(0, |pages| pages.table),
            tickets,
            ..layout::Step::default()
        };
        for (place, (slot, column)) in input.columns.iter().enumerate() {
            arguments.columns_in[place] = *column;
            arguments.columns_out[place] = next.column(*slot).map_or(0, |column| column.cells);
        }
        let made = step.expansion.as_ref().map(|expansion| expansion.into);
        if let (Some(branch), Some(expansion)) = (branch, &step.expansion) {
            arguments.segment = branch.image.segment;
            match &branch.whose {
                Whose::Column(slot) => arguments.from = input.place(*slot),
                Whose::Rows(rows) => {
                    arguments.from = layout::CONSTANT;
                    (arguments.first, arguments.last) = (rows.start, rows.end);
                }
            }
            let column = next.column(expansion.into);
            arguments.made = column.map_or(0, |column| column.cells);
            arguments.widens = u32::from(column.is_some() && expansion.widens());
            if !expansion.keeps {
                arguments.partner = partner_of(branch, &checks, expansion.into);
            }
            if branch.image.longest > self.long_list && arguments.partner == 0 {
                arguments.hub_level = hub_level;
                arguments.hubs = self.hubs(launch);
                arguments.long_list = self.long_list;
            }
        }
        for (check, place) in checks.iter().zip(&mut arguments.check) {
            *place = check_of(check, made, input);
        }
        arguments
    }

    /// Room for the columns that are kept: of the half that the input is not in.
    pub(super) fn table(
        &self,
        number: usize,
        keep: &[Slot],
        input: &Table,
        made: Option<(Slot, layout::Column)>,
    ) -> Table {
        let half = &self.halves[(number + 1) % 2];
        let described = |slot: Slot| match made {
            Some((into, column)) if into == slot => Some(column),
            _ => input.column(slot).copied(),
        };
        let kept: Vec<(Slot, layout::Column)> = keep
            .iter()
            .filter_map(|&slot| Some((slot, described(slot)?)))
            .collect();
        let row: u64 = kept.iter().map(|(_, column)| column.cell_bytes()).sum();
        let room = (half.end - half.start).saturating_sub(ALIGNMENT * kept.len() as u64);
        let capacity = room.checked_div(row).unwrap_or(ROWS_MAX).min(ROWS_MAX);
        let mut at = half.start;
        let mut columns = kept;
        for (_, column) in &mut columns {
            column.cells = at;
            at += (capacity * column.cell_bytes()).next_multiple_of(ALIGNMENT);
        }
        Table { columns, capacity }
    }
}

/// The kernel that does a step.
fn kernel_of(branch: Option<&Branch>, arguments: &layout::Step, keeps: bool) -> Kernel {
    let Some(Branch { image, whose, .. }) = branch else {
        return Kernel::Filter;
    };
    let has_one = image.segment.functional == 1 && matches!(whose, Whose::Column(_));
    match (has_one && arguments.partner == 0, keeps) {
        (true, false) => Kernel::ExpandOne,
        (false, false) => Kernel::Expand,
        (true, true) => Kernel::ExpandOneLeft,
        (false, true) => Kernel::ExpandLeft,
    }
}

/// 1 + the check that has a list of its own for each row, in which what the step makes is looked for; 0: none.
///
/// Kernels keep 31 bits of a list's length.
fn partner_of(branch: &Branch, checks: &[&ProgramCheck], made: Slot) -> u32 {
    const ROWS_MAX: u64 = i32::MAX as u64;
    let own = branch.image.segment.rows;
    // One that others make good is none; where they take something away, it is taken away of what has passed.
    let is_alone = |at: usize| {
        let mut others = checks[at + 1..].iter().map(|check| check.joins);
        checks[at].joins == Joins::And
            && others.find(|joins| *joins != Joins::Unless) != Some(Joins::Or)
    };
    let is_partner = |check: &ProgramCheck| {
        if own.max(check.segment.rows) > ROWS_MAX {
            return false;
        }
        let Operand::Column(left) = check.left else {
            return false;
        };
        let finds_made = matches!(check.right, Operand::Column(slot) if slot == made);
        check.kind == layout::CheckKind::Edge && finds_made && left != made
    };
    let place = (0..checks.len()).find(|&at| is_alone(at) && is_partner(checks[at]));
    place.map_or(0, |place| place as u32 + 1)
}

fn check_of(check: &ProgramCheck, made: Option<Slot>, input: &Table) -> layout::Check {
    let mut constant = 0;
    let mut place = |operand: Operand| match operand {
        Operand::Column(slot) if Some(slot) == made => layout::MADE,
        Operand::Column(slot) => input.place(slot),
        Operand::Constant(id) => {
            constant = id.bits();
            layout::CONSTANT
        }
    };
    let (left, right) = (place(check.left), place(check.right));
    layout::Check {
        segment: check.segment,
        constant,
        from: check.rows.start,
        to: check.rows.end,
        kind: check.kind as u32,
        left,
        right,
        joins: check.joins as u32,
    }
}
