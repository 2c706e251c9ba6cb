//! Walk blocks from each row: `OPTIONAL`, `UNION`, `EXISTS`, `MINUS`, sub-queries for each row.
//!
//! ```text
//!  rows in       pushed to each branch     leaves a branch      joined by row number
//!  | x | y |       | x | row |              | z | row |          | x | y | z |
//!  | A | . |       | A |  0  |    -->       | C |  1  |   -->    | B | . | C |
//!  | B | . |       | B |  1  |              | D |  1  |          | B | . | D |
//! ```
//!
//! A chunk of rows goes through a branch at once, so lookups within it are batched as everywhere; a row
//! carries only what the branch reads and its number, by which the other columns are gathered when
//! something comes out. So a row costs a few nanoseconds a column besides the branch itself. A
//! branch's [chain](crate::chain) is made at the first row and reused; when it starves, every row of the
//! chunk has been worked off, and rows that gave nothing are known.
//!
//! Branches with steps that look at rows together are walked to the end for each chunk, for each row
//! where the plan says so, and begin anew.
//!
//! What only asks whether a branch gives a row (`EXISTS`) leaves the branches once every row of the chunk
//! has given one.
//!
//! A chunk without columns stands for many equal rows: the branches are walked from one of them and
//! what comes out is repeated, unless an expression is a matter of chance.
//!
//! Blocks within blocks call each other: the limits of query text bound their depth.

use super::{Context, Flow, StepOutcome};
use crate::chain::Chain;
use crate::chunk::{Chunk, ROWS_MAX};
use crate::error::WalkError;
use crate::limits::Limits;
use crate::options::{Options, Status};
use crate::prepare::Block;
use query::plan::{Mode, Slot};
use rdf::{Lexicon, VertexId, inline};
use std::ops::Range;
use store::view::GraphView;

/// Calls of a branch's steps after which the step lets others work.
const RUNS_PER_CALL: u32 = 256;

/// The branches, and what becomes of their rows.
pub(crate) struct NestedPolicy<'a> {
    pub(crate) mode: Mode,
    pub(crate) branches: Vec<Block<'a>>,
    pub(crate) imports: &'a [Slot],
    pub(crate) row: Slot,
    /// The columns that branches make, as far as somebody needs them.
    pub(crate) made: Vec<Slot>,
    /// Whether the mark is needed.
    pub(crate) mark: Option<Slot>,
    pub(crate) row_by_row: bool,
    /// Whether equal rows may give different results.
    pub(crate) by_chance: bool,
}

impl NestedPolicy<'_> {
    /// Whether rows that leave a branch are rows of the result.
    fn gives_rows(&self) -> bool {
        matches!(self.mode, Mode::Inner | Mode::Left)
    }
}

/// The state of one walk.
pub(crate) struct Nesting<'p, 'a> {
    policy: &'p NestedPolicy<'a>,
    limits: Limits<'a>,
    /// Of each branch, from the first row on.
    chains: Vec<Chain<'p, 'a>>,
    /// Rows of the input that are done.
    done: u64,
    /// The rows of the input that are walked now.
    batch: Range<u64>,
    /// How many rows of the input each of them stands for.
    times: u64,
    branch: usize,
    /// Whether the branch has got the batch.
    pushed: bool,
    /// Which rows of the batch have given something, and how many have not.
    matched: Vec<bool>,
    unmatched: usize,
    found: Chunk,
    positions: Vec<u32>,
    repeating: Option<Repeat>,
}

/// Rows of `found` that are each given many times, and how far that is.
struct Repeat {
    rows: u64,
    times: u64,
    row: u64,
    given: u64,
}

impl Repeat {
    fn new(rows: u64, times: u64) -> Repeat {
        Repeat {
            rows,
            times,
            row: 0,
            given: 0,
        }
    }
}

impl<'p, 'a> Nesting<'p, 'a> {
    pub(crate) fn new(policy: &'p NestedPolicy<'a>, limits: Limits<'a>) -> Self {
        Nesting {
            policy,
            limits,
            chains: Vec::new(),
            done: 0,
            batch: 0..0,
            times: 1,
            branch: 0,
            pushed: false,
            matched: Vec::new(),
            unmatched: 0,
            found: Chunk::new(),
            positions: Vec::new(),
            repeating: None,
        }
    }

    /// Goes back to the beginning, whatever was under way. Keeps memory.
    pub(crate) fn reset(&mut self) {
        if self.pushed {
            self.chains[self.branch].reset(self.limits);
        }
        self.done = 0;
        self.batch = 0..0;
        self.branch = 0;
        self.pushed = false;
        self.repeating = None;
    }

    pub(crate) fn run<V: GraphView, L: Lexicon>(
        &mut self,
        context: Context<'p, 'a, V, L>,
        flow: &mut Flow<'_>,
    ) -> Result<StepOutcome, WalkError> {
        if self.chains.is_empty() {
            self.make_chains(context);
        }
        loop {
            if self.batch.is_empty() && self.repeating.is_none() {
                if self.done == flow.input.rows() {
                    self.done = 0;
                    return Ok(StepOutcome::Drained);
                }
                self.begin_batch(flow);
            }
            if flow.is_full() {
                return Ok(StepOutcome::More);
            }
            if self.repeating.is_some() {
                self.repeat(flow)?;
            } else if self.branch < self.chains.len() {
                if let Some(turn) = self.walk(context, flow)? {
                    return Ok(turn);
                }
            } else {
                self.leave(flow)?;
                self.done += (self.batch.end - self.batch.start) * self.times;
                assert!(self.done <= flow.input.rows(), "a row is done once");
                self.batch = 0..0;
                self.branch = 0;
            }
        }
    }

    fn make_chains<V: GraphView, L: Lexicon>(&mut self, context: Context<'p, 'a, V, L>) {
        let options = Options {
            chunk_rows: context.chunk_rows,
            runs_per_call: RUNS_PER_CALL,
            clock: None,
        };
        for block in &self.policy.branches {
            let steps = 0..block.steps().len();
            let mut chain = Chain::new(context, block, steps, options);
            chain.open();
            self.chains.push(chain);
        }
    }

    /// Chooses the rows that are walked next.
    fn begin_batch(&mut self, flow: &Flow<'_>) {
        let is_count = flow.input.slots().next().is_none();
        let (start, rows) = (self.done, flow.input.rows());
        self.times = 1;
        self.batch = if is_count && !self.policy.by_chance {
            self.times = rows;
            0..1
        } else if self.policy.row_by_row {
            start..start + 1
        } else if is_count {
            start..rows.min(start + flow.capacity as u64)
        } else {
            start..rows
        };
        assert!(
            self.batch.start < self.batch.end && self.batch.end <= rows,
            "a batch is some of the rows that are left"
        );
        let length = (self.batch.end - self.batch.start) as usize;
        self.matched.clear();
        self.matched.resize(length, false);
        self.unmatched = length;
    }

    /// Walks the batch through the branch; `Some` where others have to work first.
    fn walk<V: GraphView, L: Lexicon>(
        &mut self,
        context: Context<'p, 'a, V, L>,
        flow: &mut Flow<'_>,
    ) -> Result<Option<StepOutcome>, WalkError> {
        let is_global = self.policy.branches[self.branch].is_global();
        let chain = &mut self.chains[self.branch];
        if !self.pushed {
            chain.suggest_capacity(flow.capacity);
            if !chain.is_satisfied() {
                fill(chain.input(), self.policy, flow.input, self.batch.clone())?;
            }
            if is_global {
                chain.end_input();
            }
            self.pushed = true;
        }
        match chain.next(context, &mut self.found)? {
            Status::Rows => self.join(flow)?,
            Status::Pending(ticket) => return Ok(Some(StepOutcome::Pending(ticket))),
            Status::Yield => return Ok(Some(StepOutcome::More)),
            Status::Starved | Status::Done => {
                if is_global {
                    chain.reset(self.limits);
                }
                self.next_branch();
                return Ok(None);
            }
        }
        if self.unmatched == 0 && !self.policy.gives_rows() {
            self.chains[self.branch].reset(self.limits);
            self.branch = self.chains.len();
            self.pushed = false;
        }
        Ok(None)
    }

    fn next_branch(&mut self) {
        self.branch += 1;
        self.pushed = false;
    }

    /// Notes which rows gave something, and joins what was found to them.
    fn join(&mut self, flow: &mut Flow<'_>) -> Result<(), WalkError> {
        self.positions.clear();
        match self.found.column(self.policy.row) {
            Some(numbers) if self.matched.len() > 1 => {
                let number = |id: &VertexId| inline::integer(*id).expect("a row has a number");
                self.positions
                    .extend(numbers.iter().map(|id| number(id) as u32));
            }
            _ => self.positions.push(0),
        }
        for &row in &self.positions {
            let matched = &mut self.matched[row as usize];
            self.unmatched -= usize::from(!std::mem::replace(matched, true));
        }
        if !self.policy.gives_rows() {
            return Ok(());
        }
        let rows = self.found.rows();
        if flow.carried.is_empty() && self.policy.made.is_empty() {
            let rows = rows.checked_mul(self.times);
            return flow.output.add_rows(rows.unwrap_or(ROWS_MAX + 1));
        }
        if self.found.slots().next().is_none() {
            self.repeating = Some(Repeat::new(1, rows.saturating_mul(self.times)));
            return Ok(());
        }
        if self.times > 1 {
            self.repeating = Some(Repeat::new(rows, self.times));
            return Ok(());
        }
        if self.matched.len() == 1 {
            self.positions.resize(self.found.len(), 0);
        }
        let first = self.batch.start as u32;
        self.positions.iter_mut().for_each(|row| *row += first);
        assert_eq!(
            self.positions.len() as u64,
            rows,
            "what was found is of a row"
        );
        flow.output
            .gather(flow.input, flow.carried, &self.positions);
        for &slot in &self.policy.made {
            let cells = flow.output.cells_mut(slot);
            match self.found.column(slot) {
                Some(found) => cells.extend_from_slice(found),
                None => cells.extend(std::iter::repeat_n(VertexId::UNBOUND, self.positions.len())),
            }
        }
        flow.output.add_rows(self.positions.len() as u64)
    }

    /// The rows of the batch that go on because, or although, no branch gave something.
    fn leave(&mut self, flow: &mut Flow<'_>) -> Result<(), WalkError> {
        let wanted = match self.policy.mode {
            Mode::Inner => return Ok(()),
            Mode::Left | Mode::Anti => Some(false),
            Mode::Semi => Some(true),
            Mode::Mark(_) => None,
        };
        let first = self.batch.start as u32;
        self.positions.clear();
        let goes_on = |matched: bool| wanted.is_none_or(|wanted| matched == wanted);
        let rows = (first..).zip(&self.matched);
        self.positions.extend(
            rows.filter(|(_, matched)| goes_on(**matched))
                .map(|(row, _)| row),
        );
        if self.positions.is_empty() {
            return Ok(());
        }
        if self.times > 1 {
            return self.leave_count(flow);
        }
        flow.output
            .gather(flow.input, flow.carried, &self.positions);
        for &slot in &self.policy.made {
            let before = flow.input.column(slot);
            let cell = |&row: &u32| before.map_or(VertexId::UNBOUND, |cells| cells[row as usize]);
            let cells = self.positions.iter().map(cell);
            flow.output.cells_mut(slot).extend(cells);
        }
        if let Some(mark) = self.policy.mark {
            let matched = &self.matched;
            let cell = |&row: &u32| inline::from_boolean(matched[(row - first) as usize]);
            let cells = self.positions.iter().map(cell);
            flow.output.cells_mut(mark).extend(cells);
        }
        flow.output.add_rows(self.positions.len() as u64)
    }

    /// The same for a row that stands for many.
    fn leave_count(&mut self, flow: &mut Flow<'_>) -> Result<(), WalkError> {
        if self.policy.made.is_empty() && self.policy.mark.is_none() {
            return flow.output.add_rows(self.times);
        }
        self.found.shape(0, &[]);
        self.repeating = Some(Repeat::new(1, self.times));
        Ok(())
    }

    /// Gives some more of the rows that are repeated.
    fn repeat(&mut self, flow: &mut Flow<'_>) -> Result<(), WalkError> {
        let Some(repeat) = &mut self.repeating else {
            return Ok(());
        };
        let take = (repeat.times - repeat.given).min(flow.room() as u64);
        assert!(take > 0, "what is repeated comes to its end");
        for &slot in &self.policy.made {
            let found = self.found.column(slot);
            let cell = found.map_or(VertexId::UNBOUND, |cells| cells[repeat.row as usize]);
            let cells = std::iter::repeat_n(cell, take as usize);
            flow.output.cells_mut(slot).extend(cells);
        }
        if let Some(mark) = self.policy.mark {
            let cell = inline::from_boolean(self.matched[0]);
            let cells = std::iter::repeat_n(cell, take as usize);
            flow.output.cells_mut(mark).extend(cells);
        }
        let row = self.batch.start;
        flow.output
            .repeat(flow.input, flow.carried, row, take as usize);
        flow.output.add_rows(take)?;
        repeat.given += take;
        if repeat.given == repeat.times {
            repeat.given = 0;
            repeat.row += 1;
        }
        if repeat.row == repeat.rows {
            self.repeating = None;
        }
        Ok(())
    }
}

/// Puts rows into a branch's input: what it reads, and each one's number within the batch.
fn fill(
    into: &mut Chunk,
    policy: &NestedPolicy<'_>,
    input: &Chunk,
    batch: Range<u64>,
) -> Result<(), WalkError> {
    for &slot in policy.imports {
        let cells = &input.live(slot)[batch.start as usize..batch.end as usize];
        into.cells_mut(slot).extend_from_slice(cells);
    }
    let rows = batch.end - batch.start;
    let number = |row: u64| {
        let number = i64::try_from(row).ok().and_then(inline::from_integer);
        number.expect("a chunk has few rows")
    };
    into.cells_mut(policy.row).extend((0..rows).map(number));
    into.add_rows(rows)
}
