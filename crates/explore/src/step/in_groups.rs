//! Check edges where predicate or graph differ by row, or where the graph is bound by the check.
//!
//! Rows are grouped as in [`super::groups`]; each group is a batch of lists, looked from the
//! subject. Binding the graph gives one row for each graph that has the edge: each list is cut down
//! to the rows of its neighbour by a binary search, so that a hub costs a row no more than another
//! vertex, and what is left is read a piece at a time.

use super::groups::{GroupBy, Groups};
use super::list::Expander;
use super::{Context, Flow, PatternOperand, StepOutcome};
use crate::drawn_lists::DrawnLists;
use crate::error::WalkError;
use query::plan::Slot;
use rdf::VertexId;
use store::ListCursor;
use store::view::{GraphView, Progress};

/// What is looked for where.
pub(crate) struct InGroupsPolicy {
    pub(crate) subject: PatternOperand,
    pub(crate) object: PatternOperand,
    pub(crate) by: GroupBy,
    /// Whether one row is given for each graph, and the column it is put in.
    pub(crate) binds_graph: bool,
    pub(crate) graph: Option<Slot>,
}

/// The state of one walk.
pub(crate) struct GroupsCheck<'p, 'a> {
    policy: &'p InGroupsPolicy,
    groups: Groups,
    grouped: bool,
    keys: Vec<VertexId>,
    targets: Vec<VertexId>,
    lists: DrawnLists<'a>,
    asked: bool,
    expander: Expander,
    found: Vec<u32>,
    positions: Vec<u32>,
}

impl<'p> GroupsCheck<'p, '_> {
    pub(crate) fn new(policy: &'p InGroupsPolicy) -> Self {
        GroupsCheck {
            policy,
            groups: Groups::default(),
            grouped: false,
            keys: Vec::new(),
            targets: Vec::new(),
            lists: DrawnLists::default(),
            asked: false,
            expander: Expander::default(),
            found: Vec::new(),
            positions: Vec::new(),
        }
    }
}

impl<'a> GroupsCheck<'_, 'a> {
    pub(crate) fn run<V: GraphView, L>(
        &mut self,
        context: Context<'_, 'a, V, L>,
        flow: &mut Flow<'_>,
    ) -> Result<StepOutcome, WalkError> {
        let dataset = context.scene.dataset(self.policy.by.source);
        if !self.grouped {
            self.groups.build(
                context.view(self.policy.by.source),
                dataset,
                flow.input,
                self.policy.by,
            );
            self.grouped = true;
        }
        while let Some((segment, scope, rows)) = self.groups.current() {
            if !self.asked {
                self.keys.clear();
                self.targets.clear();
                self.policy.subject.gather(flow.input, rows, &mut self.keys);
                self.policy
                    .object
                    .gather(flow.input, rows, &mut self.targets);
                assert_eq!(self.keys.len(), self.targets.len(), "a row has both ends");
                let graphs = dataset.graphs(scope);
                let (view, limits) = (context.view(self.policy.by.source), context.limits);
                match self.lists.ask(view, limits, segment, &self.keys, graphs)? {
                    Progress::Pending(ticket) => return Ok(StepOutcome::Pending(ticket)),
                    Progress::Ready => self.asked = true,
                }
                if self.policy.binds_graph {
                    self.lists.narrow(&self.targets)?;
                }
                self.expander.cursor = ListCursor::default();
            }
            let done = if self.policy.binds_graph {
                self.piece(flow)?
            } else {
                self.select()?
            };
            self.pass(flow)?;
            if !done {
                return Ok(StepOutcome::More);
            }
            self.asked = false;
            self.groups.advance();
        }
        self.grouped = false;
        Ok(StepOutcome::Drained)
    }

    /// The rows of the group whose edge is there.
    fn select(&mut self) -> Result<bool, WalkError> {
        self.found.clear();
        self.lists.select(&self.targets, &mut self.found)?;
        Ok(true)
    }

    /// A row for each row of a piece of the narrowed lists, with its graph.
    fn piece(&mut self, flow: &mut Flow<'_>) -> Result<bool, WalkError> {
        self.found.clear();
        let (done, _, graphs) = self.expander.piece(&self.lists, true, flow.capacity)?;
        if let Some(slot) = self.policy.graph {
            flow.output.cells_mut(slot).extend_from_slice(graphs);
        }
        self.found.extend_from_slice(&self.expander.rows);
        Ok(done)
    }

    /// Passes on the rows that were found in the group.
    fn pass(&mut self, flow: &mut Flow<'_>) -> Result<(), WalkError> {
        let (_, _, rows) = self.groups.current().expect("rows are found in a group");
        self.positions.clear();
        self.positions
            .extend(self.found.iter().map(|&list| rows[list as usize]));
        flow.output
            .gather(flow.input, flow.carried, &self.positions);
        flow.output.add_rows(self.positions.len() as u64)
    }
}
