//! Keep rows by what their own columns hold: `FILTER`, and a variable repeated in one pattern.
//!
//! A filter's conjuncts run one after the other, cheapest first, each over the rows that are left;
//! so text is fetched only for rows that passed the tests on ids. A filter that drops a row for an
//! error as for false (section 17.2) may take its conjuncts apart like that.

use super::{Context, Flow, StepOutcome};
use crate::error::WalkError;
use crate::expression::{Batch, Condition, Constants, Scratch, Truth, filter};
use crate::limits::Limits;
use query::expression::Expression;
use query::plan::Slot;
use rdf::Lexicon;

/// Two columns that have to hold the same term.
#[derive(Clone, Copy)]
pub(crate) struct SamePolicy {
    pub(crate) left: Slot,
    pub(crate) right: Slot,
}

/// Compares the two columns.
pub(crate) struct SameCheck {
    columns: SamePolicy,
    positions: Vec<u32>,
}

impl SameCheck {
    #[allow(
        clippy::trivially_copy_pass_by_ref,
        reason = "`steps!` makes each operator of a reference"
    )]
    pub(crate) fn new(policy: &SamePolicy) -> Self {
        SameCheck {
            columns: *policy,
            positions: Vec::new(),
        }
    }

    pub(crate) fn run(&mut self, flow: &mut Flow<'_>) -> Result<StepOutcome, WalkError> {
        self.positions.clear();
        let pairs = flow
            .input
            .live(self.columns.left)
            .iter()
            .zip(flow.input.live(self.columns.right));
        let same = (0_u32..)
            .zip(pairs)
            .filter(|(_, (left, right))| left == right);
        self.positions.extend(same.map(|(row, _)| row));
        flow.keep(&self.positions)?;
        Ok(StepOutcome::Drained)
    }
}

/// What has to be true.
pub(crate) struct FilterPolicy {
    pub(crate) conjuncts: Vec<Condition>,
}

impl FilterPolicy {
    /// Compiles the expression.
    pub(crate) fn of(expression: &Expression, constants: Constants<'_>) -> Result<Self, WalkError> {
        let conjuncts = filter(expression, constants);
        conjuncts.iter().try_for_each(Condition::check)?;
        Ok(FilterPolicy { conjuncts })
    }
}

/// The state of one walk.
pub(crate) struct FilterCheck<'p, 'a> {
    policy: &'p FilterPolicy,
    scratch: Scratch<'a>,
    rows: Vec<u32>,
    at: Vec<u32>,
    truths: Vec<Truth>,
    /// Conjuncts that `rows` have passed; more than none at the beginning where the next one had to wait.
    passed: usize,
}

impl<'p, 'a> FilterCheck<'p, 'a> {
    pub(crate) fn new(policy: &'p FilterPolicy, limits: Limits<'a>) -> Self {
        let (rows, at, truths) = (Vec::new(), Vec::new(), Vec::new());
        FilterCheck {
            policy,
            scratch: Scratch::new(limits),
            rows,
            at,
            truths,
            passed: 0,
        }
    }

    pub(crate) fn run<V, L: Lexicon>(
        &mut self,
        context: Context<'_, 'a, V, L>,
        flow: &mut Flow<'_>,
    ) -> Result<StepOutcome, WalkError> {
        let is_count = flow.input.slots().next().is_none();
        let rows = if is_count {
            flow.input.rows().min(1) as u32
        } else {
            flow.input.len() as u32
        };
        if self.passed == 0 {
            self.rows.clear();
            self.rows.extend(0..rows);
        }
        for conjunct in &self.policy.conjuncts[self.passed..] {
            if self.rows.is_empty() {
                break;
            }
            self.scratch.reset(context.scene.width());
            self.at.clear();
            self.at.extend(0..self.rows.len() as u32);
            let terms = context.scene.terms(context.lexicon);
            let batch = Batch::new(flow.input, &self.rows, terms, &self.scratch, context.limits);
            conjunct.evaluate(&batch, &self.at, &mut self.truths)?;
            drop(batch);
            self.scratch.forget();
            let mut truths = self.truths.iter();
            self.rows.retain(|_| truths.next() == Some(&Truth::True));
            self.passed += 1;
        }
        self.passed = 0;
        if !is_count {
            flow.keep(&self.rows)?;
        } else if !self.rows.is_empty() {
            flow.output.absorb(flow.input, flow.carried)?;
        }
        Ok(StepOutcome::Drained)
    }
}
