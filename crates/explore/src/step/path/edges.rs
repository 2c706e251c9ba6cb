//! A negated set at the top of a path: one row for each edge that is not excluded.
//!
//! Rows are grouped by graph only; the vertices of a group are looked up together, label by label.

use super::automaton::Label;
use super::fetch::{Fetched, NeighbourFetch};
use super::{Jobs, PathScope, cell};
use crate::chunk::{Chunk, ROWS_MAX};
use crate::error::WalkError;
use crate::limits::Limits;
use crate::step::{Context, Flow, PatternOperand, StepOutcome};
use query::plan::{Slot, Source};
use rdf::VertexId;
use store::view::{GraphView, Progress};

/// Which edges, from where, and where to.
pub(crate) struct EdgesPolicy {
    pub(crate) from: PatternOperand,
    pub(crate) labels: Vec<Label>,
    pub(crate) scope: PathScope,
    pub(crate) source: Source,
    pub(crate) to: PathEnd,
}

/// The other end.
#[derive(Clone, Copy, Debug)]
pub(crate) enum PathEnd {
    /// It becomes this column; `None`: nobody needs it.
    New(Option<Slot>),
    /// It is known.
    Known(PatternOperand),
}

/// The state of one walk.
pub(crate) struct EdgesExpansion<'p, 'a> {
    policy: &'p EdgesPolicy,
    /// Groups of rows by graph.
    jobs: Jobs,
    is_planned: bool,
    job: usize,
    label: usize,
    /// How often the job was done.
    round: u64,
    is_fetching: bool,
    fetch: NeighbourFetch<'a>,
    /// The vertices of the group, and their other ends.
    batch: Vec<VertexId>,
    targets: Vec<VertexId>,
    rows: Vec<u32>,
    found: Vec<u32>,
}

impl<'p, 'a> EdgesExpansion<'p, 'a> {
    pub(crate) fn new(policy: &'p EdgesPolicy, limits: Limits<'a>) -> Self {
        EdgesExpansion {
            policy,
            jobs: Jobs::default(),
            is_planned: false,
            job: 0,
            label: 0,
            round: 0,
            is_fetching: false,
            fetch: NeighbourFetch::new(limits),
            batch: Vec::new(),
            targets: Vec::new(),
            rows: Vec::new(),
            found: Vec::new(),
        }
    }
}

impl<'a> EdgesExpansion<'_, 'a> {
    pub(crate) fn run<V: GraphView, L>(
        &mut self,
        context: Context<'_, 'a, V, L>,
        flow: &mut Flow<'_>,
    ) -> Result<StepOutcome, WalkError> {
        let dataset = context.scene.dataset(self.policy.source);
        let policy = self.policy;
        if !self.is_planned {
            // One job for each graph: any constant will do for a start.
            let anywhere = PatternOperand::Constant(PLACEHOLDER);
            self.jobs.plan(flow.input, anywhere, &policy.scope, dataset);
            self.is_planned = true;
            (self.job, self.label, self.round) = (0, 0, 0);
        }
        while let Some(job) = self.jobs.list.get(self.job) {
            let Some(edges) = job.edges.filter(|_| self.label < policy.labels.len()) else {
                self.label = 0;
                self.round += 1;
                if self.round >= self.rounds(flow.input) {
                    self.job += 1;
                    self.round = 0;
                }
                continue;
            };
            if flow.is_full() {
                return Ok(StepOutcome::More);
            }
            if !self.is_fetching {
                self.gather(flow.input);
                let label = &policy.labels[self.label];
                if let Progress::Pending(ticket) =
                    self.fetch
                        .begin(context.view(self.policy.source), label, &self.batch)?
                {
                    return Ok(StepOutcome::Pending(ticket));
                }
                self.is_fetching = true;
            }
            match self.step(
                context.view(self.policy.source),
                dataset.graphs(edges),
                flow,
            )? {
                Fetched::Piece => {}
                Fetched::Pending(ticket) => return Ok(StepOutcome::Pending(ticket)),
                Fetched::Done => {
                    self.is_fetching = false;
                    self.label += 1;
                }
            }
        }
        self.is_planned = false;
        Ok(StepOutcome::Drained)
    }

    /// The group's vertices: one for each row, or one for all where rows have no columns.
    fn gather(&mut self, input: &Chunk) {
        let job = &self.jobs.list[self.job];
        let has_columns = input.slots().next().is_some();
        let count = job.rows.end - job.rows.start;
        let count = if has_columns { count } else { count.min(1) };
        let places = job.rows.start..job.rows.start + count;
        self.rows.clear();
        self.rows
            .extend(places.map(|place| self.jobs.row(place) as u32));
        let value = |place: PatternOperand, row: u32| match place {
            PatternOperand::Constant(vertex) => vertex,
            PatternOperand::Slot(slot) => cell(input, slot, row),
        };
        let rows = self.rows.iter();
        self.batch.clear();
        self.batch
            .extend(rows.clone().map(|&row| value(self.policy.from, row)));
        if let PathEnd::Known(to) = self.policy.to {
            self.targets.clear();
            self.targets.extend(rows.map(|&row| value(to, row)));
            assert_eq!(self.targets.len(), self.batch.len(), "a row has both ends");
        }
    }

    /// Gives some rows.
    fn step<V: GraphView>(
        &mut self,
        view: &'a V,
        graphs: store::GraphScope<'_>,
        flow: &mut Flow<'_>,
    ) -> Result<Fetched, WalkError> {
        self.found.clear();
        let (found, rows) = (&mut self.found, &self.rows);
        let fetched = match self.policy.to {
            PathEnd::Known(_) => {
                let fetched = self.fetch.next_with(view, graphs, &self.targets, found)?;
                for at in found.iter_mut() {
                    *at = rows[*at as usize];
                }
                fetched
            }
            PathEnd::New(into) => {
                let room = flow.room();
                let output = &mut *flow.output;
                self.fetch.next(view, graphs, room, |piece| {
                    found.extend(piece.positions().map(|at| rows[at as usize]));
                    if let Some(into) = into {
                        output.cells_mut(into).extend_from_slice(piece.neighbours);
                    }
                    Ok(())
                })?
            }
        };
        let found = self.found.len() as u64;
        if flow.input.slots().next().is_some() {
            flow.output.gather(flow.input, flow.carried, &self.found);
            flow.output.add_rows(found)?;
        } else {
            let times = flow.input.rows() / self.rounds(flow.input).max(1);
            let rows = found.checked_mul(times);
            flow.output.add_rows(rows.unwrap_or(ROWS_MAX + 1))?;
        }
        Ok(fetched)
    }

    /// How often a job is done: rows without columns that get one are given theirs one by one.
    fn rounds(&self, input: &Chunk) -> u64 {
        match self.policy.to {
            PathEnd::New(Some(_)) if input.slots().next().is_none() => input.rows(),
            _ => 1,
        }
    }
}

/// Any id that is bound.
const PLACEHOLDER: VertexId = VertexId::from_bits(0);
