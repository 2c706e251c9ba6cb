//! The walk: a resumable state machine over a plan's steps.
//!
//! ```text
//!   unit row -> [step 0] -> chunk -> [step 1] -> chunk -> [step 2] -> out
//!                             |                    |
//!                       input of step 1      input of step 2
//! ```
//!
//! Each step has an input chunk, filled by the step before it. The walk always works at the deepest
//! step that has a full input or is within one; when there is none, at the first step that has any
//! input at all, so that deeper chunks fill up. So memory is bounded by depth times chunk, batches
//! are large even behind selective steps, and the walk can stop between any two calls of a step and
//! go on later: nothing but the chunks and cursors is its state.
//!
//! When no step has input left, the sorting and counting steps are told so, in order, and their rows
//! flow on. `LIMIT` and `ASK` stop everything before them as soon as they are satisfied.
//!
//! A step gets at least half a chunk of room, and may exceed a chunk by the rows of one input chunk.
//!
//! Chunks of many columns hold fewer rows, so that all chunks of a walk stay within some megabytes, and
//! what they hold is drawn on the query's budget.
//!
//! Costs per call of a step: a look at [`crate::limits::Stop`], some 20 ns of bookkeeping.

use crate::chunk::{Chunk, ROWS};
use crate::error::WalkError;
use crate::limits::{Limits, Reservation};
use crate::prepare::Prepared;
use crate::profile::StepProfile;
use crate::step::{Context, Flow, Operator, Turn};
use query::plan::Slot;
use rdf::{Lexicon, VertexId};
use std::ops::Range;
use store::view::{GraphView, Ticket};

/// Rows of the first chunks of a query that may end early; chunks double from there.
const ROWS_FIRST: usize = 64;

/// What a call of [`Walk::next`] found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub enum Status {
    /// The chunk holds rows; there may be more.
    Rows,
    /// No more rows; the chunk is empty.
    Done,
    /// No rows yet: the time slice is over, call again.
    Yield,
    /// No rows yet: call again when the ticket completes.
    Pending(Ticket),
    /// No rows until more are [pushed](Walk::push) or the [input ends](Walk::end_input).
    Starved,
}

/// How a walk is run.
#[derive(Clone, Copy)]
pub struct Options<'a> {
    /// Rows of a full chunk, at least one.
    pub chunk_rows: usize,
    /// Calls of steps (about 20 us each for full chunks) after which [`Walk::next`] yields.
    pub runs_per_call: u32,
    /// A clock in nanoseconds, for the profile.
    pub clock: Option<&'a (dyn Fn() -> u64 + Sync)>,
}

impl Default for Options<'_> {
    fn default() -> Self {
        Options {
            chunk_rows: ROWS,
            runs_per_call: u32::MAX,
            clock: None,
        }
    }
}

/// Bytes of all chunks of a walk, above which chunks hold fewer rows: a star of a thousand patterns
/// carries half a million columns.
const CHUNKS_BYTES_MAX: usize = 8 << 20;
/// ... but never fewer than these.
const CHUNK_ROWS_MIN: usize = 16;

/// A walk; see the module's documentation. `'p` is the prepared plan's borrow, `'a` that of the view
/// and of everything else that outlives the query.
pub struct Walk<'p, 'a, V, L> {
    context: Context<'p, 'a, V, L>,
    options: Options<'p>,
    stages: Vec<Stage<'p, 'a>>,
    /// The columns of the rows given out.
    output: &'p [Slot],
    /// The first step of the plan that is walked.
    start: usize,
    /// Steps before this one are over.
    live: usize,
    /// Steps before this one have been told that no input comes.
    finished: usize,
    /// Whether somebody pushes rows.
    open: bool,
    /// Whether the answer is known.
    answered: bool,
    /// A walk without steps gives its input as it is.
    pass: Chunk,
    capacity: usize,
    profile: Vec<StepProfile>,
    /// What full chunks take, drawn on the budget at the first call.
    chunks_bytes: u64,
    chunks: Reservation<'a>,
}

/// One step of the walk and its input.
struct Stage<'p, 'a> {
    operator: Operator<'p, 'a>,
    carried: &'p [Slot],
    input: Chunk,
    /// Within its input, or with rows of its own to give.
    active: bool,
}

/// What the walk does next.
enum Choice {
    Run(usize),
    Deliver,
    Starve,
}

impl<'p, 'a, V: GraphView, L: Lexicon> Walk<'p, 'a, V, L> {
    /// A walk of the whole plan.
    pub fn new(
        prepared: &'p Prepared<'a>,
        view: &'a V,
        lexicon: &'a L,
        limits: Limits<'a>,
        options: Options<'p>,
    ) -> Self {
        let context = Context {
            view,
            lexicon,
            prepared,
            limits,
        };
        let mut walk = Walk::over_steps(context, 0..prepared.steps().len(), options);
        walk.begin();
        walk
    }

    /// A walk of the steps before [`Prepared::cut`] over a part of the seed, whose length is
    /// [`Prepared::seed_len`]. The rows of all parts are the rows of the whole. Asserts that there
    /// is a seed and that the range is within it.
    pub fn over(
        prepared: &'p Prepared<'a>,
        view: &'a V,
        lexicon: &'a L,
        limits: Limits<'a>,
        options: Options<'p>,
        range: Range<u64>,
    ) -> Self {
        let context = Context {
            view,
            lexicon,
            prepared,
            limits,
        };
        let mut walk = Walk::over_steps(context, 0..prepared.cut(), options);
        let seed = prepared.seed().expect("only a walk from a seed is cut");
        match &mut walk.stages[seed].operator {
            Operator::Set(expansion) => expansion.restrict(range),
            _ => unreachable!("a seed is a set"),
        }
        walk.begin();
        walk
    }

    /// A walk of the steps from [`Prepared::cut`] on, over rows that are pushed.
    pub fn tail(
        prepared: &'p Prepared<'a>,
        view: &'a V,
        lexicon: &'a L,
        limits: Limits<'a>,
        options: Options<'p>,
    ) -> Self {
        let context = Context {
            view,
            lexicon,
            prepared,
            limits,
        };
        let steps = prepared.cut()..prepared.steps().len();
        let mut walk = Walk::over_steps(context, steps, options);
        walk.open = true;
        walk
    }

    fn over_steps(
        context: Context<'p, 'a, V, L>,
        steps: Range<usize>,
        options: Options<'p>,
    ) -> Self {
        let prepared = context.prepared;
        let width = prepared.width();
        let before: &'p [Slot] = match steps.start {
            0 => &[],
            start => prepared.steps()[start - 1].keep,
        };
        let mut columns = before;
        let mut stages = Vec::with_capacity(steps.len());
        let mut live = 0;
        for step in &prepared.steps()[steps.clone()] {
            stages.push(Stage {
                operator: Operator::new(&step.policy, context.limits),
                carried: &step.carried,
                input: Chunk::with_columns(width, columns),
                active: false,
            });
            if step.policy.needs_no_input() {
                live = stages.len();
            }
            columns = step.keep;
        }
        let cells: usize = prepared.steps()[steps.clone()]
            .iter()
            .map(|step| step.keep.len())
            .sum();
        let row_bytes = (cells + before.len()).max(1) * size_of::<VertexId>();
        let fitting = (CHUNKS_BYTES_MAX / row_bytes).max(CHUNK_ROWS_MIN);
        let rows = options.chunk_rows.clamp(1, fitting);
        let options = Options {
            chunk_rows: rows,
            ..options
        };
        let may_end_early = prepared.is_ask() || prepared.limits_rows();
        Walk {
            context,
            options,
            output: columns,
            start: steps.start,
            live,
            finished: live,
            open: false,
            answered: false,
            pass: Chunk::with_columns(width, before),
            capacity: if may_end_early {
                rows.min(ROWS_FIRST)
            } else {
                rows
            },
            profile: vec![StepProfile::default(); stages.len()],
            stages,
            chunks_bytes: (rows * row_bytes) as u64,
            chunks: Reservation::new(context.limits),
        }
    }

    /// Puts the unit row before the first step.
    fn begin(&mut self) {
        let unit = Chunk::unit(self.context.prepared.width());
        match self.stages.first_mut() {
            Some(first) if self.live == 0 => {
                first.input = unit;
                first.active = true;
            }
            Some(_) => {}
            None => self.pass = unit,
        }
    }

    /// Gives a tail more rows, taken out of `rows`: a chunk that a walk [over](Walk::over) a part of
    /// the seed filled. The tail must have asked for it: it starts so, and after
    /// [`Status::Starved`]. Asserts that the columns are those before the cut.
    pub fn push(&mut self, rows: &mut Chunk) -> Result<(), WalkError> {
        assert!(self.open, "the input has ended");
        if self.is_satisfied() {
            rows.clear();
            return Ok(());
        }
        let before = match self.start {
            0 => &[],
            start => self.context.prepared.steps()[start - 1].keep,
        };
        let input = self
            .stages
            .first_mut()
            .map_or(&mut self.pass, |first| &mut first.input);
        input.absorb(rows, before)
    }

    /// Says that nothing more is pushed.
    pub fn end_input(&mut self) {
        self.open = false;
    }

    /// Whether no input can change the answer any more: a limit was reached, or one row answers the
    /// query.
    pub fn is_satisfied(&self) -> bool {
        self.answered || self.live > 0
    }

    /// The counters of this walk's steps; the first is that of step number [`Walk::start`].
    pub fn profile(&self) -> &[StepProfile] {
        &self.profile
    }

    /// The number in the plan of the first step walked.
    pub fn start(&self) -> usize {
        self.start
    }

    /// Fills `out` with the next rows. After [`Status::Done`] or an error there are no more; after
    /// an error the walk is to be dropped.
    pub fn next(&mut self, out: &mut Chunk) -> Result<Status, WalkError> {
        self.chunks.cover(self.chunks_bytes)?;
        out.shape(self.context.prepared.width(), self.output);
        let mut runs = 0;
        loop {
            self.context.limits.check()?;
            let at = match self.choose(out)? {
                Choice::Run(at) => at,
                Choice::Deliver if out.is_empty() => return Ok(Status::Done),
                Choice::Starve if out.is_empty() => return Ok(Status::Starved),
                Choice::Deliver | Choice::Starve => return Ok(self.deliver(out)),
            };
            let turn = self.run(at, out)?;
            runs += 1;
            if let Turn::Pending(ticket) = turn {
                let is_empty = out.is_empty();
                return Ok(if is_empty {
                    Status::Pending(ticket)
                } else {
                    self.deliver(out)
                });
            }
            if runs >= self.options.runs_per_call {
                return Ok(if out.is_empty() {
                    Status::Yield
                } else {
                    self.deliver(out)
                });
            }
        }
    }

    /// One row answers `ASK`.
    fn deliver(&mut self, out: &mut Chunk) -> Status {
        if self.context.prepared.is_ask() && self.is_last_part() {
            out.truncate(1);
            self.answered = true;
            self.pass.clear();
            self.end(self.stages.len());
        }
        Status::Rows
    }

    /// Whether the rows given out are the query's.
    fn is_last_part(&self) -> bool {
        self.start + self.stages.len() == self.context.prepared.steps().len()
    }

    /// The deepest step that is busy or has a full input; else the first with any input; else the
    /// next step that waits for its input's end.
    fn choose(&mut self, out: &mut Chunk) -> Result<Choice, WalkError> {
        let full = (self.capacity as u64).div_ceil(2);
        let has_answer = self.context.prepared.is_ask() && !out.is_empty();
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
    fn run(&mut self, at: usize, out: &mut Chunk) -> Result<Turn, WalkError> {
        let (upper, lower) = self.stages.split_at_mut(at + 1);
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
        let turn = stage.operator.run(self.context, &mut flow)?;
        let profile = &mut self.profile[at];
        profile.runs += 1;
        profile.rows += flow.output.rows() - rows_before;
        if let Some((clock, started)) = self.options.clock.zip(started) {
            profile.nanoseconds += clock() - started;
        }
        match turn {
            Turn::Drained => {
                stage.input.clear();
                stage.active = false;
            }
            Turn::More | Turn::Pending(_) => stage.active = true,
            Turn::Satisfied => self.end(at + 1),
        }
        if at == self.live {
            self.capacity = (self.capacity * 2).min(self.options.chunk_rows.max(1));
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
