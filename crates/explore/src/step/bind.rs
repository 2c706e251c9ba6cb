//! `BIND`: a computed column.
//!
//! The expression is evaluated over a whole chunk at once. A row's term becomes an id: inline where
//! there is such, else the dictionary's, else one of the query's own, drawn on its budget.

use super::{Context, Flow, StepOutcome};
use crate::error::WalkError;
use crate::expression::{Batch, Computation, Constants, Scratch, computation};
use crate::limits::Limits;
use query::expression::Expression;
use query::plan::Slot;
use rdf::Lexicon;

/// What is computed, and the column that it fills.
pub(crate) struct BindPolicy {
    pub(crate) computation: Computation,
    pub(crate) into: Slot,
}

impl BindPolicy {
    /// Compiles the expression.
    pub(crate) fn of(
        expression: &Expression,
        into: Slot,
        constants: Constants<'_>,
    ) -> Result<Self, WalkError> {
        let computation = computation(expression, constants);
        computation.check()?;
        Ok(BindPolicy { computation, into })
    }
}

/// The state of one walk.
pub(crate) struct Binding<'p, 'a> {
    policy: &'p BindPolicy,
    scratch: Scratch<'a>,
    rows: Vec<u32>,
    /// Rows of a mere count that are done.
    done: u64,
}

impl<'p, 'a> Binding<'p, 'a> {
    pub(crate) fn new(policy: &'p BindPolicy, limits: Limits<'a>) -> Self {
        Binding {
            policy,
            scratch: Scratch::new(limits),
            rows: Vec::new(),
            done: 0,
        }
    }

    pub(crate) fn run<V, L: Lexicon>(
        &mut self,
        context: Context<'_, 'a, V, L>,
        flow: &mut Flow<'_>,
    ) -> Result<StepOutcome, WalkError> {
        let is_count = flow.input.slots().next().is_none();
        let take = match flow.input.rows() - self.done {
            left if is_count => left.min(flow.room() as u64),
            left => left,
        };
        self.scratch.reset(context.scene.width());
        self.rows.clear();
        self.rows
            .extend(0..u32::try_from(take).expect("a table with columns is cut into chunks"));
        let terms = context.scene.terms(context.lexicon);
        let batch = Batch::new(flow.input, &self.rows, terms, &self.scratch, context.limits);
        let cells = flow.output.cells_mut(self.policy.into);
        self.policy.computation.ids(&batch, &self.rows, cells)?;
        drop(batch);
        self.scratch.forget();
        if !is_count {
            flow.output.absorb(flow.input, flow.carried)?;
            return Ok(StepOutcome::Drained);
        }
        flow.output.add_rows(take)?;
        self.done += take;
        if self.done < flow.input.rows() {
            return Ok(StepOutcome::More);
        }
        self.done = 0;
        Ok(StepOutcome::Drained)
    }
}
