//! Expand a constant where the graph is bound too, or look up in which graphs a constant edge is.
//!
//! `GRAPH ?g { <s> <p> ?o }` and `GRAPH ?g { <s> <p> <o> }`: one list, asked once per walk and read
//! again for each input row (there is one, unless the step makes a product).

use super::list::{Expander, Targets};
use super::{Context, Flow, StepOutcome};
use crate::chunk::ROWS_MAX;
use crate::drawn_lists::DrawnLists;
use crate::error::WalkError;
use crate::scope::FixedScope;
use query::plan::Source;
use rdf::VertexId;
use store::ListCursor;
use store::view::{GraphView, Progress, SegmentKey};

/// Which list.
pub(crate) struct OneListPolicy {
    pub(crate) from: VertexId,
    pub(crate) segment: SegmentKey,
    pub(crate) scope: FixedScope,
    pub(crate) source: Source,
    /// Only edges to this vertex.
    pub(crate) to: Option<VertexId>,
    pub(crate) targets: Targets,
}

/// The state of one walk.
pub(crate) struct OneListExpansion<'p, 'a> {
    policy: &'p OneListPolicy,
    lists: DrawnLists<'a>,
    asked: bool,
    row: u64,
    rows_per_row: u64,
    expander: Expander,
}

impl<'p> OneListExpansion<'p, '_> {
    pub(crate) fn new(policy: &'p OneListPolicy) -> Self {
        OneListExpansion {
            policy,
            lists: DrawnLists::default(),
            asked: false,
            row: 0,
            rows_per_row: 0,
            expander: Expander::default(),
        }
    }
}

impl<'a> OneListExpansion<'_, 'a> {
    pub(crate) fn run<V: GraphView, L>(
        &mut self,
        context: Context<'_, 'a, V, L>,
        flow: &mut Flow<'_>,
    ) -> Result<StepOutcome, WalkError> {
        let policy = self.policy;
        if !self.asked {
            let graphs = context.scene.dataset(policy.source).graphs(policy.scope);
            let (view, limits, from) = (context.view(policy.source), context.limits, [policy.from]);
            match self
                .lists
                .ask(view, limits, policy.segment, &from, graphs)?
            {
                Progress::Pending(ticket) => return Ok(StepOutcome::Pending(ticket)),
                Progress::Ready => self.asked = true,
            }
        }
        if flow.carried.is_empty() && policy.targets.is_nothing() {
            return self.count(flow);
        }
        while self.row < flow.input.rows() {
            if flow.is_full() {
                return Ok(StepOutcome::More);
            }
            if self.piece(flow)? {
                self.row += 1;
                self.expander.cursor = ListCursor::default();
            } else if policy.to.is_some() {
                return Ok(StepOutcome::More);
            }
        }
        self.row = 0;
        Ok(StepOutcome::Drained)
    }

    /// Appends a piece of the list for the row; whether the list is at its end.
    fn piece(&mut self, flow: &mut Flow<'_>) -> Result<bool, WalkError> {
        let targets = self.policy.targets;
        let Some(to) = self.policy.to else {
            let done = self
                .expander
                .expand(&self.lists, targets, flow.room(), flow.output)?;
            let rows = self.expander.rows.len();
            flow.output.repeat(flow.input, flow.carried, self.row, rows);
            flow.output.add_rows(rows as u64)?;
            return Ok(done);
        };
        let binds = targets.binds_graph;
        let (done, neighbours, graphs) = self.expander.piece(&self.lists, binds, flow.capacity)?;
        let mut rows = 0;
        for (at, _) in neighbours
            .iter()
            .enumerate()
            .filter(|(_, neighbour)| **neighbour == to)
        {
            rows += 1;
            if let Some(slot) = targets.graph {
                flow.output.cells_mut(slot).push(graphs[at]);
            }
        }
        flow.output.repeat(flow.input, flow.carried, self.row, rows);
        flow.output.add_rows(rows as u64)?;
        Ok(done)
    }

    /// No column is needed: the rows of one input row, times the input rows.
    fn count(&mut self, flow: &mut Flow<'_>) -> Result<StepOutcome, WalkError> {
        let binds = self.policy.targets.binds_graph;
        let (done, rows) = match self.policy.to {
            None => self.expander.count(&self.lists, binds, flow.capacity)?,
            Some(to) => {
                let piece = self.expander.piece(&self.lists, binds, flow.capacity)?;
                (
                    piece.0,
                    piece.1.iter().filter(|neighbour| **neighbour == to).count() as u64,
                )
            }
        };
        self.rows_per_row += rows;
        if !done {
            return Ok(StepOutcome::More);
        }
        let product = flow.input.rows().checked_mul(self.rows_per_row);
        flow.output.add_rows(product.unwrap_or(ROWS_MAX + 1))?;
        self.rows_per_row = 0;
        self.expander.cursor = ListCursor::default();
        Ok(StepOutcome::Drained)
    }
}
