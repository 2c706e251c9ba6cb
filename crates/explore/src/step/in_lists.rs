//! Check edges by a constant predicate: against one set, or against lists of a batch.
//!
//! One constant end: its neighbours are one set. Where membership in it is cheap (rank blocks, or
//! small enough for a cache) the column is looked up there, else the column's own lists are, which
//! are short. Both ends columns: the lists of the end with more keys, whose lists are shorter.

use super::{Context, Flow, PatternOperand, StepOutcome};
use crate::drawn_lists::DrawnLists;
use crate::error::WalkError;
use crate::scope::FixedScope;
use query::plan::{Slot, Source};
use rdf::VertexId;
use store::VertexSet;
use store::view::{GraphView, Progress, SegmentKey};

/// A column, and the set that its terms have to be in.
pub(crate) struct InSetPolicy<'a> {
    pub(crate) slot: Slot,
    pub(crate) set: VertexSet<'a>,
}

/// Against one set.
pub(crate) struct SetCheck<'p, 'a> {
    policy: &'p InSetPolicy<'a>,
    positions: Vec<u32>,
}

impl<'p, 'a> SetCheck<'p, 'a> {
    pub(crate) fn new(policy: &'p InSetPolicy<'a>) -> Self {
        SetCheck {
            policy,
            positions: Vec::new(),
        }
    }

    pub(crate) fn run(&mut self, flow: &mut Flow<'_>) -> Result<StepOutcome, WalkError> {
        self.positions.clear();
        let column = flow.input.live(self.policy.slot);
        self.policy.set.select(column, &mut self.positions)?;
        flow.keep(&self.positions)?;
        Ok(StepOutcome::Drained)
    }
}

/// Which lists, and what is looked for in them.
pub(crate) struct InListsPolicy {
    pub(crate) segment: SegmentKey,
    pub(crate) scope: FixedScope,
    pub(crate) source: Source,
    pub(crate) keys: PatternOperand,
    pub(crate) targets: PatternOperand,
}

/// Against the lists of a batch.
pub(crate) struct ListsCheck<'p, 'a> {
    policy: &'p InListsPolicy,
    lists: DrawnLists<'a>,
    scratch: Vec<VertexId>,
    positions: Vec<u32>,
}

impl<'p> ListsCheck<'p, '_> {
    pub(crate) fn new(policy: &'p InListsPolicy) -> Self {
        ListsCheck {
            policy,
            lists: DrawnLists::default(),
            scratch: Vec::new(),
            positions: Vec::new(),
        }
    }
}

impl<'a> ListsCheck<'_, 'a> {
    pub(crate) fn run<V: GraphView, L>(
        &mut self,
        context: Context<'_, 'a, V, L>,
        flow: &mut Flow<'_>,
    ) -> Result<StepOutcome, WalkError> {
        let policy = self.policy;
        let keys = policy.keys.cells(flow.input, &mut self.scratch);
        let graphs = context.scene.dataset(policy.source).graphs(policy.scope);
        let (view, limits) = (context.view(policy.source), context.limits);
        match self.lists.ask(view, limits, policy.segment, keys, graphs)? {
            Progress::Pending(ticket) => return Ok(StepOutcome::Pending(ticket)),
            Progress::Ready => {}
        }
        self.positions.clear();
        let targets = policy.targets.cells(flow.input, &mut self.scratch);
        assert_eq!(self.lists.len(), targets.len(), "a row has both ends");
        self.lists.select(targets, &mut self.positions)?;
        flow.keep(&self.positions)?;
        Ok(StepOutcome::Drained)
    }
}
