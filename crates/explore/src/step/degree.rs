//! How many edges of a predicate each vertex has: a column of numbers beside a column of vertices.
//!
//! The lists of a batch are found as an expansion finds them, and only their lengths are read: one or two
//! cache misses a vertex, overlapped, none for the neighbours, unless the scope filters them. A vertex without
//! an edge goes, as it would from an expansion.

use super::sizes::number;
use super::{Context, Flow, StepOutcome};
use crate::drawn_lists::DrawnLists;
use crate::error::WalkError;
use crate::scope::FixedScope;
use query::plan::{Slot, Source};
use rdf::VertexId;
use store::view::{GraphView, Progress, SegmentKey};

/// Edges that have to be looked at one by one up to which it is done without a look at the limits.
const EDGES_MAX: u64 = 1 << 16;

/// Which column, by what.
pub(crate) struct DegreePolicy {
    pub(crate) from: Slot,
    pub(crate) segment: SegmentKey,
    pub(crate) scope: FixedScope,
    pub(crate) source: Source,
    /// The columns that somebody needs.
    pub(crate) into: Vec<Slot>,
}

/// The state of one walk.
pub(crate) struct Degrees<'p, 'a> {
    policy: &'p DegreePolicy,
    lists: DrawnLists<'a>,
    /// Of the rows so far.
    lengths: Vec<u64>,
    positions: Vec<u32>,
}

impl<'p, 'a> Degrees<'p, 'a> {
    pub(crate) fn new(policy: &'p DegreePolicy) -> Self {
        Degrees {
            policy,
            lists: DrawnLists::default(),
            lengths: Vec::new(),
            positions: Vec::new(),
        }
    }

    pub(crate) fn run<V: GraphView, L>(
        &mut self,
        context: Context<'_, 'a, V, L>,
        flow: &mut Flow<'_>,
    ) -> Result<StepOutcome, WalkError> {
        let keys = flow.input.live(self.policy.from);
        while self.lengths.len() < keys.len() {
            let left = &keys[self.lengths.len()..];
            if let Progress::Pending(ticket) = self.look_up(context, left)? {
                return Ok(StepOutcome::Pending(ticket));
            }
        }
        assert_eq!(self.lengths.len(), keys.len(), "a key has its length");
        self.positions.clear();
        let has_some = |(_, degree): &(u32, &u64)| **degree > 0;
        let kept = (0..).zip(&self.lengths).filter(has_some);
        self.positions.extend(kept.map(|(position, _)| position));
        for &into in &self.policy.into {
            let cells = flow.output.cells_mut(into);
            for &position in &self.positions {
                cells.push(number(self.lengths[position as usize])?);
            }
        }
        self.lengths.clear();
        flow.keep(&self.positions)?;
        Ok(StepOutcome::Drained)
    }

    /// Looks up all of these keys, or the first of them where their lists are long.
    fn look_up<V: GraphView, L>(
        &mut self,
        context: Context<'_, 'a, V, L>,
        keys: &[VertexId],
    ) -> Result<Progress, WalkError> {
        context.limits.check()?;
        let graphs = context
            .scene
            .dataset(self.policy.source)
            .graphs(self.policy.scope);
        let segment = self.policy.segment;
        let (view, limits) = (context.view(self.policy.source), context.limits);
        let asked = self.lists.ask(view, limits, segment, keys, graphs)?;
        let is_long = !self.lists.is_exact() && self.lists.total_edges() > EDGES_MAX;
        if asked == Progress::Ready && is_long && keys.len() > 1 {
            return self.look_up(context, &keys[..keys.len().div_ceil(2)]);
        }
        if asked == Progress::Ready {
            self.lists.degrees(&mut self.lengths)?;
        }
        Ok(asked)
    }
}
