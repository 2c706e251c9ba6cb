//! Expand where the predicate or the graph differs by row: rows are grouped first.
//!
//! A chunk has few distinct predicates and graphs, so its rows are ordered by them and each group is
//! looked up as a batch of its own, as in [`super::list`]. Ordering a chunk costs about 10 ns a row.

use super::list::{Expander, Targets};
use super::{Context, Flow, PatternOperand, StepOutcome};
use crate::chunk::Chunk;
use crate::drawn_lists::DrawnLists;
use crate::error::WalkError;
use crate::scope::{Dataset, FixedScope, ResolvedScope};
use query::plan::Source;
use rdf::{Direction, PredicateId, VertexId};
use store::ListCursor;
use store::view::{GraphView, Progress, SegmentKey};

/// What decides a row's group.
#[derive(Clone, Copy)]
pub(crate) struct GroupBy {
    pub(crate) predicate: PatternOperand,
    pub(crate) direction: Direction,
    pub(crate) scope: ResolvedScope,
    pub(crate) source: Source,
}

/// Rows of a chunk that share a segment and a scope.
#[derive(Clone, Copy)]
struct Group {
    segment: SegmentKey,
    scope: FixedScope,
    start: u32,
    end: u32,
}

/// The groups of a chunk, and which one is worked on.
#[derive(Default)]
pub(crate) struct Groups {
    rows: Vec<u32>,
    runs: Vec<Group>,
    current: usize,
}

impl Groups {
    /// Groups the rows of `input`. Rows whose predicate or graph is not there are in no group.
    pub(crate) fn build<V: GraphView>(
        &mut self,
        view: &V,
        dataset: &Dataset,
        input: &Chunk,
        by: GroupBy,
    ) {
        self.rows.clear();
        self.runs.clear();
        self.current = 0;
        let count = u32::try_from(input.rows()).expect("a table with columns is cut into chunks");
        self.rows.extend(0..count);
        let key = |row: u32| -> (VertexId, VertexId) {
            let predicate = match by.predicate {
                PatternOperand::Slot(slot) => input.live(slot)[row as usize],
                PatternOperand::Constant(vertex) => vertex,
            };
            let graph = match by.scope {
                ResolvedScope::PerRow(slot) => input.live(slot)[row as usize],
                _ => VertexId::UNBOUND,
            };
            (predicate, graph)
        };
        self.rows.sort_by_key(|&row| key(row));
        let mut start = 0;
        while start < self.rows.len() {
            let (predicate, graph) = key(self.rows[start]);
            let rest = &self.rows[start..];
            let length = rest
                .iter()
                .take_while(|&&row| key(row) == (predicate, graph))
                .count();
            let scope = match by.scope {
                ResolvedScope::Nothing => None,
                ResolvedScope::Fixed(scope) => Some(scope),
                ResolvedScope::PerRow(_) => dataset.named(graph),
            };
            if let (Some(predicate), Some(scope)) = (predicate_id(view, predicate), scope) {
                let segment = SegmentKey {
                    predicate,
                    direction: by.direction,
                };
                let (start, end) = (start as u32, (start + length) as u32);
                self.runs.push(Group {
                    segment,
                    scope,
                    start,
                    end,
                });
            }
            start += length;
        }
    }

    /// The rows of the group that is worked on, with its segment and scope; `None` after the last.
    pub(crate) fn current(&self) -> Option<(SegmentKey, FixedScope, &[u32])> {
        let group = self.runs.get(self.current)?;
        Some((
            group.segment,
            group.scope,
            &self.rows[group.start as usize..group.end as usize],
        ))
    }

    /// Goes on to the next group.
    pub(crate) fn advance(&mut self) {
        assert!(self.current < self.runs.len(), "a group is left once");
        self.current += 1;
    }
}

/// The predicate of a vertex that may be any term.
fn predicate_id<V: GraphView>(view: &V, vertex: VertexId) -> Option<PredicateId> {
    if vertex.is_unbound() {
        None
    } else {
        view.predicate_id(vertex)
    }
}

/// What is expanded by what.
pub(crate) struct GroupsPolicy {
    pub(crate) from: PatternOperand,
    pub(crate) by: GroupBy,
    pub(crate) targets: Targets,
}

/// The state of one walk.
pub(crate) struct GroupsExpansion<'p, 'a> {
    policy: &'p GroupsPolicy,
    groups: Groups,
    grouped: bool,
    keys: Vec<VertexId>,
    lists: DrawnLists<'a>,
    asked: bool,
    expander: Expander,
    positions: Vec<u32>,
}

impl<'p> GroupsExpansion<'p, '_> {
    pub(crate) fn new(policy: &'p GroupsPolicy) -> Self {
        GroupsExpansion {
            policy,
            groups: Groups::default(),
            grouped: false,
            keys: Vec::new(),
            lists: DrawnLists::default(),
            asked: false,
            expander: Expander::default(),
            positions: Vec::new(),
        }
    }
}

impl<'a> GroupsExpansion<'_, 'a> {
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
        let counts = flow.carried.is_empty() && self.policy.targets.is_nothing();
        while let Some((segment, scope, rows)) = self.groups.current() {
            if flow.is_full() && !counts {
                return Ok(StepOutcome::More);
            }
            if !self.asked {
                self.keys.clear();
                self.policy.from.gather(flow.input, rows, &mut self.keys);
                let graphs = dataset.graphs(scope);
                let (view, limits) = (context.view(self.policy.by.source), context.limits);
                match self.lists.ask(view, limits, segment, &self.keys, graphs)? {
                    Progress::Pending(ticket) => return Ok(StepOutcome::Pending(ticket)),
                    Progress::Ready => self.asked = true,
                }
                assert_eq!(self.lists.len(), rows.len(), "a key has its list");
                self.expander.cursor = ListCursor::default();
            }
            if !self.piece(flow)? {
                return Ok(StepOutcome::More);
            }
            self.asked = false;
            self.groups.advance();
        }
        self.grouped = false;
        Ok(StepOutcome::Drained)
    }

    /// Appends a piece of the group's lists; whether they are at their end.
    fn piece(&mut self, flow: &mut Flow<'_>) -> Result<bool, WalkError> {
        let targets = self.policy.targets;
        if flow.carried.is_empty() && targets.is_nothing() {
            let binds = targets.binds_graph;
            let (done, rows) = self.expander.count(&self.lists, binds, flow.capacity)?;
            flow.output.add_rows(rows)?;
            return Ok(done);
        }
        let done = self
            .expander
            .expand(&self.lists, targets, flow.room(), flow.output)?;
        let (_, _, rows) = self.groups.current().expect("a piece is taken of a group");
        self.positions.clear();
        self.positions
            .extend(self.expander.rows.iter().map(|&list| rows[list as usize]));
        flow.output
            .gather(flow.input, flow.carried, &self.positions);
        flow.output.add_rows(self.positions.len() as u64)?;
        Ok(done)
    }
}
