//! Join with a table that does not depend on the row: a block of its own that is walked once, or the
//! rows of a `VALUES`.
//!
//! With keys, each row is looked up by hash and joined with what is found; without, with every row of
//! the table, a chunk at a time, so that a product is never held. Where no column is needed afterwards
//! a product is a multiplication.
//!
//! The table of a block is made at the first row that comes, and shared by all walks of the query: one
//! makes it, the others wait for it, which ends when the one that makes it has to end. A table without
//! rows ends everything before the step.
//!
//! | field | written by | read by |
//! |---|---|---|
//! | `JoinPolicy::table` | the worker that has `making`, once | workers of the query |
//! | `JoinPolicy::making` | held by the worker that makes the table; the others wait there |  |

use super::{Context, Flow, StepOutcome};
use crate::chain::Chain;
use crate::chunk::{Chunk, ROWS_MAX};
use crate::error::WalkError;
use crate::limits::{Effort, Limits, Reservation};
use crate::options::{Options, Status};
use crate::prepare::Block;
use crate::table::{Held, Table};
use query::plan::Slot;
use rdf::Lexicon;
use std::sync::{Mutex, OnceLock, PoisonError};
use store::view::{GraphView, Progress};

/// About what looking a row up costs, in nanoseconds.
const LOOKUP_NS: u64 = 100;

/// Which table, and which of its columns.
pub(crate) struct JoinPolicy<'a> {
    /// The block that makes the table; `None`: it is there.
    block: Option<Block<'a>>,
    /// The columns compared: the table's first.
    keys: &'a [Slot],
    /// The columns added to the row: the table's others.
    made: Vec<Slot>,
    table: OnceLock<Table>,
    /// Held by whoever makes the table.
    making: Mutex<()>,
    held: Held<'a>,
}

impl<'a> JoinPolicy<'a> {
    /// A join with the rows of a block.
    pub(crate) fn with_block(
        block: Block<'a>,
        keys: &'a [Slot],
        made: Vec<Slot>,
        limits: Limits<'a>,
    ) -> JoinPolicy<'a> {
        JoinPolicy {
            block: Some(block),
            keys,
            made,
            table: OnceLock::new(),
            making: Mutex::new(()),
            held: Held::new(limits),
        }
    }

    /// A product with a table of these columns.
    pub(crate) fn with_table(
        table: Table,
        made: Vec<Slot>,
        reservation: Reservation<'a>,
        limits: Limits<'a>,
    ) -> JoinPolicy<'a> {
        let held = Held::new(limits);
        assert_eq!(
            table.width(),
            made.len(),
            "a column of the table has its slot"
        );
        held.take(reservation);
        JoinPolicy {
            block: None,
            keys: &[],
            made,
            table: OnceLock::from(table),
            making: Mutex::new(()),
            held,
        }
    }
}

/// The state of one walk.
pub(crate) struct Join<'p, 'a> {
    policy: &'p JoinPolicy<'a>,
    limits: Limits<'a>,
    making: Option<Making<'p, 'a>>,
    product: Product,
    row: u32,
    /// Whether the row was looked up, and what was found and not yet joined.
    looked_up: bool,
    next: Option<u32>,
    positions: Vec<u32>,
    found: Vec<u32>,
    effort: Effort,
}

/// A table in the making.
struct Making<'p, 'a> {
    chain: Chain<'p, 'a>,
    chunk: Chunk,
    table: Table,
    reservation: Reservation<'a>,
}

impl<'p, 'a> Join<'p, 'a> {
    pub(crate) fn new(policy: &'p JoinPolicy<'a>, limits: Limits<'a>) -> Self {
        Join {
            policy,
            limits,
            making: None,
            product: Product::default(),
            row: 0,
            looked_up: false,
            next: None,
            positions: Vec::new(),
            found: Vec::new(),
            effort: Effort::default(),
        }
    }

    pub(crate) fn run<V: GraphView, L: Lexicon>(
        &mut self,
        context: Context<'p, 'a, V, L>,
        flow: &mut Flow<'_>,
    ) -> Result<StepOutcome, WalkError> {
        let policy = self.policy;
        let table = match policy.table.get() {
            Some(table) => table,
            None => match self.make(context)? {
                Progress::Pending(ticket) => return Ok(StepOutcome::Pending(ticket)),
                Progress::Ready => policy.table.get().expect("it was made"),
            },
        };
        if table.rows() == 0 {
            return Ok(StepOutcome::Satisfied);
        }
        if policy.keys.is_empty() {
            return self.product.run(table, &policy.made, flow);
        }
        self.look_up(table, flow)
    }

    /// Makes the table, unless another walk has.
    fn make<V: GraphView, L: Lexicon>(
        &mut self,
        context: Context<'p, 'a, V, L>,
    ) -> Result<Progress, WalkError> {
        let policy = self.policy;
        let block = policy
            .block
            .as_ref()
            .expect("a table that is there is not made");
        // A walk that panicked here has ended the query; there is no table yet.
        let _alone = policy.making.lock().unwrap_or_else(PoisonError::into_inner);
        context.limits.check()?;
        if policy.table.get().is_some() {
            self.making = None;
            return Ok(Progress::Ready);
        }
        let limits = self.limits;
        let making = self
            .making
            .get_or_insert_with(|| Making::new(context, block, policy, limits));
        loop {
            match making.chain.next(context, &mut making.chunk)? {
                Status::Rows => {
                    let slots = policy.keys.iter().chain(&policy.made).copied();
                    making
                        .table
                        .append(&making.chunk, slots, &mut making.reservation)?;
                }
                Status::Yield => {}
                Status::Pending(ticket) => return Ok(Progress::Pending(ticket)),
                Status::Done | Status::Starved => break,
            }
        }
        let Some(Making {
            mut table,
            mut reservation,
            ..
        }) = self.making.take()
        else {
            unreachable!("it was there above")
        };
        if !policy.keys.is_empty() {
            table.make_index(policy.keys.len(), &limits, &mut reservation)?;
        }
        if policy.table.set(table).is_ok() {
            policy.held.take(reservation);
        }
        Ok(Progress::Ready)
    }

    /// Joins each row with the table's rows that have its keys.
    fn look_up(&mut self, table: &Table, flow: &mut Flow<'_>) -> Result<StepOutcome, WalkError> {
        if flow.is_full() {
            return Ok(StepOutcome::More);
        }
        let room = flow.room();
        self.positions.clear();
        self.found.clear();
        let rows = flow.input.len() as u32;
        while self.row < rows && self.found.len() < room {
            if !self.looked_up {
                self.effort.spend(LOOKUP_NS, &self.limits)?;
                let key =
                    |column: usize| flow.input.live(self.policy.keys[column])[self.row as usize];
                self.next = table.find(key);
                self.looked_up = true;
            }
            if let Some(found) = self.next {
                self.positions.push(self.row);
                self.found.push(found);
                self.next = table.before(found);
            } else {
                self.row += 1;
                self.looked_up = false;
            }
        }
        assert_eq!(
            self.positions.len(),
            self.found.len(),
            "a pair has both rows"
        );
        flow.output
            .gather(flow.input, flow.carried, &self.positions);
        for (column, &slot) in (self.policy.keys.len()..).zip(&self.policy.made) {
            let cells = self
                .found
                .iter()
                .map(|&row| table.cell(column, u64::from(row)));
            flow.output.cells_mut(slot).extend(cells);
        }
        flow.output.add_rows(self.found.len() as u64)?;
        if self.row < rows {
            return Ok(StepOutcome::More);
        }
        self.row = 0;
        Ok(StepOutcome::Drained)
    }
}

impl<'p, 'a> Making<'p, 'a> {
    fn new<V: GraphView, L: Lexicon>(
        context: Context<'p, 'a, V, L>,
        block: &'p Block<'a>,
        policy: &JoinPolicy<'a>,
        limits: Limits<'a>,
    ) -> Self {
        let options = Options {
            chunk_rows: context.chunk_rows,
            ..Options::default()
        };
        let mut chain = Chain::new(context, block, 0..block.steps().len(), options);
        chain.begin();
        Making {
            chain,
            chunk: Chunk::new(),
            table: Table::new(policy.keys.len() + policy.made.len()),
            reservation: Reservation::new(limits),
        }
    }
}

/// Where the product of the input with a table stands.
#[derive(Default)]
pub(crate) struct Product {
    row: u64,
    at: u64,
}

impl Product {
    /// Joins each row of the input with each row of the table; `made` are the table's columns.
    pub(crate) fn run(
        &mut self,
        table: &Table,
        made: &[Slot],
        flow: &mut Flow<'_>,
    ) -> Result<StepOutcome, WalkError> {
        if flow.carried.is_empty() && made.is_empty() {
            let product = flow.input.rows().checked_mul(table.rows());
            flow.output.add_rows(product.unwrap_or(ROWS_MAX + 1))?;
            return Ok(StepOutcome::Drained);
        }
        if table.rows() == 0 {
            return Ok(StepOutcome::Drained);
        }
        while self.row < flow.input.rows() {
            if !self.piece(table, made, flow)? {
                return Ok(StepOutcome::More);
            }
            self.row += 1;
        }
        self.row = 0;
        Ok(StepOutcome::Drained)
    }

    /// Joins one row of the input with the rest of the table; false when the output is full before.
    pub(crate) fn piece(
        &mut self,
        table: &Table,
        made: &[Slot],
        flow: &mut Flow<'_>,
    ) -> Result<bool, WalkError> {
        assert_eq!(
            table.width(),
            made.len(),
            "a column of the table has its slot"
        );
        while self.at < table.rows() {
            if flow.is_full() {
                return Ok(false);
            }
            let take = (flow.room() as u64).min(table.rows() - self.at);
            for (column, &slot) in made.iter().enumerate() {
                table.copy(column, self.at, take as usize, flow.output.cells_mut(slot));
            }
            flow.output
                .repeat(flow.input, flow.carried, self.row, take as usize);
            flow.output.add_rows(take)?;
            self.at += take;
        }
        self.at = 0;
        Ok(true)
    }

    /// The row of the input that is joined.
    pub(crate) fn row(&self) -> u64 {
        self.row
    }

    /// Goes on with this row of the input.
    pub(crate) fn go_on_with(&mut self, row: u64) {
        self.row = row;
    }
}
