//! Join with a table that is given from outside ([`GivenTable`]).
//!
//! Rows are looked up by hash, all of an input chunk together, and joined with what is found. Without keys each row is
//! joined with every row of the table, a chunk at a time. A table without rows ends everything before the step.

use super::{Flow, StepOutcome};
use crate::chunk::ROWS_MAX;
use crate::error::WalkError;
use crate::given::{GivenTable, Index};
use crate::limits::{Effort, Limits};
use query::plan::Slot;

/// About what looking a row up costs, in nanoseconds.
const LOOKUP_NS: u64 = 20;

/// Which table, and which of its columns.
pub(crate) struct GivenPolicy<'a> {
    pub(crate) table: &'a GivenTable,
    /// What rows are looked up in; `None`: each row meets all of the table's.
    pub(crate) index: Option<&'a Index>,
    /// The columns compared, in the order of the index.
    pub(crate) keys: Vec<Slot>,
    /// Columns of the table that are added to the row.
    pub(crate) made: Vec<(usize, Slot)>,
}

/// The state of one walk.
pub(crate) struct GivenJoin<'p, 'a> {
    policy: &'p GivenPolicy<'a>,
    limits: Limits<'a>,
    /// By row of the input the first row of the table with its keys, once they were looked up.
    heads: Vec<u32>,
    row: usize,
    /// What is left of the row's matches: a row of the table, or where the product stands.
    next: Option<u32>,
    at: usize,
    positions: Vec<u32>,
    found: Vec<u32>,
    effort: Effort,
}

impl<'p, 'a> GivenJoin<'p, 'a> {
    pub(crate) fn new(policy: &'p GivenPolicy<'a>, limits: Limits<'a>) -> Self {
        GivenJoin {
            policy,
            limits,
            heads: Vec::new(),
            row: 0,
            next: None,
            at: 0,
            positions: Vec::new(),
            found: Vec::new(),
            effort: Effort::default(),
        }
    }

    pub(crate) fn run(&mut self, flow: &mut Flow<'_>) -> Result<StepOutcome, WalkError> {
        if self.policy.table.is_empty() {
            return Ok(StepOutcome::Satisfied);
        }
        match self.policy.index {
            Some(index) => self.look_up(index, flow),
            None => self.product(flow),
        }
    }

    fn look_up(&mut self, index: &Index, flow: &mut Flow<'_>) -> Result<StepOutcome, WalkError> {
        if flow.is_full() {
            return Ok(StepOutcome::More);
        }
        let rows = flow.input.len();
        if self.heads.len() != rows {
            let cost = rows as u64 * LOOKUP_NS;
            self.effort.spend(cost, &self.limits)?;
            let slots = self.policy.keys.iter();
            let keys: Vec<_> = slots.map(|slot| flow.input.live(*slot)).collect();
            index.find_all(self.policy.table, &keys, &mut self.heads);
            self.next = self.head();
        }
        let room = flow.room();
        self.positions.clear();
        self.found.clear();
        while self.row < rows && self.found.len() < room {
            if let Some(found) = self.next {
                self.positions.push(self.row as u32);
                self.found.push(found);
                self.next = index.next(found);
            } else {
                self.row += 1;
                self.next = self.head();
            }
        }
        self.give(flow)?;
        if self.row < rows {
            return Ok(StepOutcome::More);
        }
        self.row = 0;
        self.heads.clear();
        Ok(StepOutcome::Drained)
    }

    /// The first match of the row.
    fn head(&self) -> Option<u32> {
        let head = self.heads.get(self.row).copied();
        head.filter(|head| Index::is_row(*head))
    }

    /// Appends the pairs found.
    fn give(&mut self, flow: &mut Flow<'_>) -> Result<(), WalkError> {
        flow.output
            .gather(flow.input, flow.carried, &self.positions);
        for (column, slot) in &self.policy.made {
            let cells = self.policy.table.column(*column);
            let cells = self.found.iter().map(|row| cells[*row as usize]);
            flow.output.cells_mut(*slot).extend(cells);
        }
        flow.output.add_rows(self.found.len() as u64)
    }

    fn product(&mut self, flow: &mut Flow<'_>) -> Result<StepOutcome, WalkError> {
        let (table, made) = (self.policy.table, &self.policy.made);
        if flow.carried.is_empty() && made.is_empty() {
            let product = flow.input.rows().checked_mul(table.rows() as u64);
            flow.output.add_rows(product.unwrap_or(ROWS_MAX + 1))?;
            return Ok(StepOutcome::Drained);
        }
        while (self.row as u64) < flow.input.rows() {
            while self.at < table.rows() {
                if flow.is_full() {
                    return Ok(StepOutcome::More);
                }
                let take = flow.room().min(table.rows() - self.at);
                for (column, slot) in made {
                    let cells = &table.column(*column)[self.at..self.at + take];
                    flow.output.cells_mut(*slot).extend_from_slice(cells);
                }
                let row = self.row as u64;
                flow.output.repeat(flow.input, flow.carried, row, take);
                flow.output.add_rows(take as u64)?;
                self.at += take;
            }
            self.at = 0;
            self.row += 1;
        }
        self.row = 0;
        Ok(StepOutcome::Drained)
    }
}
