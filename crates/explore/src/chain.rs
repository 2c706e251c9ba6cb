//! A chain of steps with the chunks between them: what a walk of a plan is, and of a block within one.
//!
//! ```text
//!   rows -> [step 0] -> chunk -> [step 1] -> chunk -> [step 2] -> out
//!                         |                    |
//!                   input of step 1      input of step 2
//! ```
//!
//! Each step has an input chunk, filled by the step before it. The chain always works at the deepest
//! step that has a full input or is within one; when there is none, at the first step that has any
//! input at all, so that deeper chunks fill up. So memory is bounded by depth times chunk, batches
//! are large even behind selective steps, and the chain can stop between any two calls of a step and
//! go on later: nothing but the chunks and cursors is its state.
//!
//! When no step has input left, an open chain starves: everything pushed has been worked off, and
//! more may come. One whose input has ended tells the sorting and counting steps so, in order, and
//! their rows flow on. `LIMIT` and `ASK` stop everything before them as soon as they are satisfied.
//!
//! A step gets at least half a chunk of room, and may exceed a chunk by the rows of one input chunk.
//!
//! Chunks of many columns hold fewer rows, so that all chunks of a plan stay within some megabytes, and
//! what they hold is drawn on the query's budget. A chunk grows with what is put into it, so a block
//! that is walked from one row costs a few small allocations, once for all rows of a walk.
//!
//! Costs per call of a step: some 20 ns of bookkeeping. A look at [`crate::limits::Stop`] costs as much,
//! so it is taken when a call begins and then only when some hundred rows have been worked on
//! ([`LOOK_ROWS`]): LUBM q4 took twelve looks of some 25 ns in its 5 us, prepared and walked.

use crate::chunk::Chunk;
use crate::error::WalkError;
use crate::limits::{Limits, Reservation};
use crate::options::{Options, Status};
use crate::prepare::Block;
use crate::profile::StepProfile;
use crate::step::{Context, Flow, Operator, StepOutcome};
use query::plan::Slot;
use rdf::{Lexicon, VertexId};
use std::ops::Range;
use store::view::GraphView;

/// Rows of the first chunks of a chain that may end early; chunks double from there.
const ROWS_FIRST: usize = 64;

/// Rows that go into steps and come out of them between two looks at the limits.
const LOOK_ROWS: u64 = 512;
/// ... a call of a step counting as so many, whatever it does.
const CALL_ROWS: u64 = 32;

/// Bytes of all chunks of a plan, above which chunks hold fewer rows: a star of a thousand patterns
/// carries half a million columns.
const CHUNKS_BYTES_MAX: usize = 8 << 20;
/// ... but never fewer than these.
const CHUNK_ROWS_MIN: usize = 16;
const _: () = assert!(
    CHUNK_ROWS_MIN <= crate::chunk::ROWS,
    "wide chunks are shorter"
);
const _: () = assert!(
    ROWS_FIRST <= crate::chunk::ROWS,
    "the first chunks are shorter"
);
const _: () = assert!(CALL_ROWS <= LOOK_ROWS, "a look comes after some calls");

/// A chain; see the module's documentation. `'p` is the prepared plan's borrow, `'a` that of the view
/// and of everything else that outlives the query.
pub(crate) struct Chain<'p, 'a> {
    block: &'p Block<'a>,
    /// The steps of the block that are walked.
    steps: Range<usize>,
    stages: Vec<Stage<'p, 'a>>,
    /// The columns of the rows that come in.
    before: &'p [Slot],
    /// The columns of the rows given out.
    output: &'p [Slot],
    options: Options<'p>,
    /// Steps before this one need no input, from the beginning.
    born: usize,
    /// Steps before this one are over.
    live: usize,
    /// Steps before this one have been told that no input comes.
    finished: usize,
    /// Whether somebody pushes rows.
    open: bool,
    asks: Asks,
    /// Whether the answer is known.
    answered: bool,
    /// A chain without steps gives its input as it is.
    pass: Chunk,
    /// Rows of a full chunk now.
    capacity: usize,
    capacity_first: usize,
    profile: Vec<StepProfile>,
    /// What full chunks take, drawn on the budget at the first call.
    chunks_bytes: u64,
    chunks: Reservation<'a>,
}

/// Whether the first row answers the query.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Asks {
    /// All rows are wanted.
    No,
    /// Of an `ASK`, steps whose rows are not the query's: the first rows are wanted soon.
    Part,
    /// Of an `ASK`, its last steps.
    Last,
}

/// One step of the chain and its input.
struct Stage<'p, 'a> {
    operator: Operator<'p, 'a>,
    carried: &'p [Slot],
    input: Chunk,
    /// Within its input, or with rows of its own to give.
    active: bool,
}

/// What the chain does next.
enum Choice {
    Run(usize),
    Deliver,
    Starve,
}

impl<'p, 'a> Chain<'p, 'a> {
    /// These steps of a block, at their beginning, without input.
    pub(crate) fn new<V, L>(
        context: Context<'p, 'a, V, L>,
        block: &'p Block<'a>,
        steps: Range<usize>,
        options: Options<'p>,
    ) -> Self {
        let width = context.scene.width();
        let before = block.columns_before(steps.start);
        let mut columns = before;
        let mut stages = Vec::with_capacity(steps.len());
        let mut born = 0;
        let mut cells = before.len();
        for step in &block.steps()[steps.clone()] {
            stages.push(Stage {
                operator: Operator::new(&step.policy, context.limits),
                carried: block.carried(step),
                input: Chunk::with_columns(width, columns),
                active: false,
            });
            if step.policy.needs_no_input() {
                born = stages.len();
            }
            columns = step.keep;
            cells += columns.len();
        }
        let rows = options
            .chunk_rows
            .clamp(1, rows_fitting(context.scene.cells));
        let asks = match context.scene.is_ask() && block.is_top() {
            true if steps.end == block.steps().len() => Asks::Last,
            true => Asks::Part,
            false => Asks::No,
        };
        let capacity = if asks != Asks::No || block.limits_rows() {
            rows.min(ROWS_FIRST)
        } else {
            rows
        };
        let bytes_of_row = cells.max(1) * size_of::<VertexId>();
        let frames = (stages.len() + 1) * Chunk::frame_bytes(width);
        Chain {
            block,
            options: Options {
                chunk_rows: rows,
                ..options
            },
            before,
            output: columns,
            born,
            live: born,
            finished: born,
            open: false,
            asks,
            answered: false,
            pass: if stages.is_empty() {
                Chunk::with_columns(width, before)
            } else {
                Chunk::new()
            },
            capacity,
            capacity_first: capacity,
            profile: vec![StepProfile::default(); stages.len()],
            stages,
            steps,
            chunks_bytes: (rows * bytes_of_row + frames) as u64,
            chunks: Reservation::new(context.limits),
        }
    }

    /// Puts the unit row before the first step. Asserts that the rows that come in have no columns.
    pub(crate) fn begin(&mut self) {
        assert!(!self.open, "rows are pushed, or one is made");
        match self.stages.first_mut() {
            Some(first) if self.live == 0 => {
                first.input.make_unit();
                first.active = true;
            }
            Some(_) => {}
            None => self.pass.make_unit(),
        }
    }

    /// Lets rows be pushed, until [`Chain::end_input`].
    pub(crate) fn open(&mut self) {
        self.open = true;
    }

    /// The first step's input, to be appended to. The chain must have asked for rows: it starts so,
    /// and after [`Status::Starved`].
    pub(crate) fn input(&mut self) -> &mut Chunk {
        self.stages
            .first_mut()
            .map_or(&mut self.pass, |first| &mut first.input)
    }

    /// Takes rows out of a chunk whose columns are those before the chain, as [`Chain::input`].
    pub(crate) fn push(&mut self, rows: &mut Chunk) -> Result<(), WalkError> {
        assert!(self.open, "the input has ended");
        if self.is_satisfied() {
            rows.clear();
            return Ok(());
        }
        let before = self.before;
        if rows.counts().is_some() {
            let first = self.stages.first().map(|stage| &stage.operator);
            assert!(
                matches!(first, Some(Operator::Aggregate(_))),
                "only groups are made of rows that stand for several"
            );
        }
        self.input().absorb(rows, before)
    }

    /// Says that nothing more is pushed.
    pub(crate) fn end_input(&mut self) {
        self.open = false;
    }

    /// Whether no input can change the rows that come out: a limit was reached, a step lets nothing
    /// pass, or one row answered the query.
    pub(crate) fn is_satisfied(&self) -> bool {
        self.answered || self.live > 0
    }

    /// The operator of a step, counted from the first of the chain.
    pub(crate) fn operator(&mut self, at: usize) -> &mut Operator<'p, 'a> {
        &mut self.stages[at].operator
    }

    /// The counters of the steps.
    pub(crate) fn profile(&self) -> &[StepProfile] {
        &self.profile
    }

    /// The counters of the steps, when the walk is over.
    pub(crate) fn into_profile(self) -> Vec<StepProfile> {
        self.profile
    }

    /// Says how many rows chunks should have at most, unless the chain starts small by itself.
    pub(crate) fn suggest_capacity(&mut self, rows: usize) {
        if !self.block.limits_rows() {
            self.capacity = rows.clamp(1, self.options.chunk_rows);
        }
    }

    /// Goes back to the beginning, whatever was under way, and opens the input. Keeps memory.
    pub(crate) fn reset(&mut self, limits: Limits<'a>) {
        let steps = &self.block.steps()[self.steps.clone()];
        for (at, (stage, step)) in self.stages.iter_mut().zip(steps).enumerate() {
            if stage.active || at < self.live || step.policy.is_global() {
                stage.operator.reset(&step.policy, limits);
            }
            stage.input.clear();
            stage.active = false;
        }
        self.pass.clear();
        self.live = self.born;
        self.finished = self.born;
        self.capacity = self.capacity_first;
        self.open = true;
    }

    /// Fills `out` with the next rows. After [`Status::Done`] or an error there are no more; after
    /// an error the chain is to be dropped.
    pub(crate) fn next<V: GraphView, L: Lexicon>(
        &mut self,
        context: Context<'p, 'a, V, L>,
        out: &mut Chunk,
    ) -> Result<Status, WalkError> {
        self.chunks.cover(self.chunks_bytes)?;
        out.shape(context.scene.width(), self.output);
        let mut runs = 0;
        let mut rows = LOOK_ROWS;
        loop {
            if rows >= LOOK_ROWS {
                context.limits.check()?;
                rows = 0;
            }
            let at = match self.choose(out)? {
                Choice::Run(at) => at,
                Choice::Deliver if out.is_empty() => return Ok(Status::Done),
                Choice::Starve if out.is_empty() => return Ok(Status::Starved),
                Choice::Deliver | Choice::Starve => return Ok(self.deliver(out)),
            };
            rows = rows.saturating_add(self.stages[at].input.rows().saturating_add(CALL_ROWS));
            let given = self.profile[at].rows;
            let turn = self.run(context, at, out)?;
            rows = rows.saturating_add(self.profile[at].rows - given);
            runs += 1;
            let waits = match turn {
                StepOutcome::Pending(ticket) => Status::Pending(ticket),
                _ if runs >= self.options.runs_per_call => Status::Yield,
                _ => continue,
            };
            return Ok(if out.is_empty() {
                waits
            } else {
                self.deliver(out)
            });
        }
    }

    /// One row answers `ASK`.
    fn deliver(&mut self, out: &mut Chunk) -> Status {
        assert!(out.is_consistent(), "columns of a chunk are equally long");
        if self.asks == Asks::Last {
            out.truncate(1);
            self.answered = true;
            self.pass.clear();
            self.end(self.stages.len());
        }
        Status::Rows
    }

    /// The deepest step that is busy or has a full input; else the first with any input; else the
    /// next step that waits for its input's end.
    fn choose(&mut self, out: &mut Chunk) -> Result<Choice, WalkError> {
        let full = (self.capacity as u64).div_ceil(2);
        let has_answer = self.asks != Asks::No && !out.is_empty();
        if out.rows() >= full || has_answer || self.answered {
            return Ok(Choice::Deliver);
        }
        if self.stages.is_empty() {
            out.absorb(&mut self.pass, self.output)?;
            return Ok(if self.open {
                Choice::Starve
            } else {
                Choice::Deliver
            });
        }
        let stages = &self.stages[self.live..];
        let is_busy = |stage: &Stage<'_, '_>| stage.active || stage.input.rows() >= full;
        let deepest = stages.iter().rposition(is_busy);
        let any = || stages.iter().position(|stage| !stage.input.is_empty());
        if let Some(at) = deepest.or_else(any) {
            return Ok(Choice::Run(self.live + at));
        }
        if self.open && self.live == 0 {
            return Ok(Choice::Starve);
        }
        while self.finished < self.stages.len() {
            let at = self.finished;
            self.finished += 1;
            if self.stages[at].operator.finish() {
                self.stages[at].active = true;
                return Ok(Choice::Run(at));
            }
        }
        Ok(Choice::Deliver)
    }

    /// Lets one step work.
    fn run<V: GraphView, L: Lexicon>(
        &mut self,
        context: Context<'p, 'a, V, L>,
        at: usize,
        out: &mut Chunk,
    ) -> Result<StepOutcome, WalkError> {
        let (upper, lower) = self.stages.split_at_mut(at + 1);
        assert!(at >= self.live, "a step that has ended runs no more");
        let stage = &mut upper[at];
        let output = lower.first_mut().map_or(out, |next| &mut next.input);
        let rows_before = output.rows();
        let started = self.options.clock.map(|clock| clock());
        let mut flow = Flow {
            input: &mut stage.input,
            output,
            capacity: self.capacity,
            carried: stage.carried,
        };
        let turn = match stage.operator.run(context, &mut flow) {
            Err(WalkError::Pending(ticket)) => {
                // It runs again from where it is; a row that it had begun is taken back.
                flow.output.truncate(flow.output.rows());
                StepOutcome::Pending(ticket)
            }
            turn => turn?,
        };
        assert!(
            flow.output.rows() >= rows_before,
            "a step takes no rows back"
        );
        let profile = &mut self.profile[at];
        profile.runs += 1;
        profile.rows += flow.output.rows() - rows_before;
        if let Some((clock, started)) = self.options.clock.zip(started) {
            profile.nanoseconds += clock() - started;
        }
        match turn {
            StepOutcome::Drained => {
                stage.input.clear();
                stage.active = false;
            }
            StepOutcome::More | StepOutcome::Pending(_) => stage.active = true,
            StepOutcome::Satisfied => self.end(at + 1),
        }
        if at == self.live {
            self.capacity = (self.capacity * 2).min(self.options.chunk_rows);
        }
        Ok(turn)
    }

    /// Ends the steps before `at`.
    fn end(&mut self, at: usize) {
        for stage in &mut self.stages[..at] {
            stage.input.clear();
            stage.active = false;
        }
        self.live = self.live.max(at);
        self.finished = self.finished.max(at);
    }
}

/// Rows of a chunk with which chunks of so many cells a row, in all, stay within their bound.
fn rows_fitting(cells: usize) -> usize {
    (CHUNKS_BYTES_MAX / (cells.max(1) * size_of::<VertexId>())).max(CHUNK_ROWS_MIN)
}
