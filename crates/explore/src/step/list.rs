//! Expand a column by a constant predicate: the hot step.
//!
//! The chunk's keys are looked up together (the view overlaps their cache misses), then the lists
//! are copied out, a chunk of rows at a time; a list longer than that is resumed inside. Rows are
//! appended as (which key, neighbour), and the carried columns are gathered by key.
//!
//! Where no column is needed afterwards the step is a sum of degrees.
//!
//! Floor: one cache miss per key for a functional segment, two for others, overlapped: about 5 ns a
//! key for keys in order; 1 ns a row for the copies.

use super::{Context, Flow, StepOutcome};
use crate::chunk::{Chunk, make_room};
use crate::drawn_lists::DrawnLists;
use crate::error::WalkError;
use crate::scope::FixedScope;
use query::plan::{Slot, Source};
use rdf::VertexId;
use store::view::{GraphView, Progress, SegmentKey};
use store::{ListCursor, Lists};

/// Edges up to which degrees are summed in one call; more are counted in pieces, between which
/// the walk can be stopped.
const DEGREES_EDGES_MAX: u64 = 1 << 16;

/// Which column, by what.
pub(crate) struct ListPolicy {
    pub(crate) from: Slot,
    pub(crate) segment: SegmentKey,
    pub(crate) scope: FixedScope,
    pub(crate) source: Source,
    pub(crate) targets: Targets,
}

/// The columns that an expansion fills; `None` where nobody needs it.
#[derive(Clone, Copy)]
pub(crate) struct Targets {
    /// The neighbour.
    pub(crate) into: Option<Slot>,
    /// The edge's graph.
    pub(crate) graph: Option<Slot>,
    /// Whether the scope gives graphs at all.
    pub(crate) binds_graph: bool,
}

impl Targets {
    /// Whether an expansion fills a column.
    pub(crate) fn is_nothing(&self) -> bool {
        self.into.is_none() && self.graph.is_none()
    }
}

/// Takes rows out of lists.
#[derive(Default)]
pub(crate) struct Expander {
    pub(crate) cursor: ListCursor,
    /// The list of each row of the last piece.
    pub(crate) rows: Vec<u32>,
    neighbours: Vec<VertexId>,
    graphs: Vec<VertexId>,
    degrees: Vec<u64>,
}

impl Expander {
    /// Appends up to `rows_max` rows to the target columns of `output`; `rows` says which list each
    /// is of. The caller gathers the other columns and adds the rows. True: everything was given.
    pub(crate) fn expand(
        &mut self,
        lists: &Lists<'_>,
        targets: Targets,
        rows_max: usize,
        output: &mut Chunk,
    ) -> Result<bool, WalkError> {
        self.rows.clear();
        let mut neighbours = match targets.into {
            Some(slot) => output.take(slot),
            None => std::mem::take(&mut self.neighbours),
        };
        let mut graphs = match targets.graph {
            Some(slot) => output.take(slot),
            None => std::mem::take(&mut self.graphs),
        };
        let room = lists.total_edges().min(rows_max as u64) as usize;
        make_room(&mut neighbours, room);
        let before = neighbours.len();
        let wanted = targets.binds_graph.then_some(&mut graphs);
        let done = lists.expand(
            &mut self.cursor,
            rows_max,
            &mut self.rows,
            &mut neighbours,
            wanted,
        )?;
        let rows = self.rows.len();
        assert!(rows <= rows_max, "there is room for what was found");
        assert_eq!(neighbours.len() - before, rows, "a neighbour has its list");
        if let Some(slot) = targets.into {
            output.put(slot, neighbours);
        } else {
            neighbours.clear();
            self.neighbours = neighbours;
        }
        if let Some(slot) = targets.graph {
            output.put(slot, graphs);
        } else {
            graphs.clear();
            self.graphs = graphs;
        }
        Ok(done)
    }

    /// A piece of (list, neighbour, graph) for the caller to look through.
    pub(crate) fn piece(
        &mut self,
        lists: &Lists<'_>,
        binds_graph: bool,
        rows_max: usize,
    ) -> Result<(bool, &[VertexId], &[VertexId]), WalkError> {
        self.rows.clear();
        self.neighbours.clear();
        self.graphs.clear();
        let (rows, neighbours) = (&mut self.rows, &mut self.neighbours);
        let wanted = binds_graph.then_some(&mut self.graphs);
        let done = lists.expand(&mut self.cursor, rows_max, rows, neighbours, wanted)?;
        assert_eq!(
            self.neighbours.len(),
            self.rows.len(),
            "a neighbour has its list"
        );
        let graphs = if binds_graph { self.rows.len() } else { 0 };
        assert_eq!(
            self.graphs.len(),
            graphs,
            "a neighbour has its graph where that is bound"
        );
        Ok((done, &self.neighbours, &self.graphs))
    }

    /// A piece of neighbours with the list of each, under a scope that binds no graph.
    pub(crate) fn numbered_piece(
        &mut self,
        lists: &Lists<'_>,
        rows_max: usize,
    ) -> Result<(bool, &[u32], &[VertexId]), WalkError> {
        self.rows.clear();
        self.neighbours.clear();
        let (rows, neighbours) = (&mut self.rows, &mut self.neighbours);
        let done = lists.expand(&mut self.cursor, rows_max, rows, neighbours, None)?;
        assert_eq!(
            self.neighbours.len(),
            self.rows.len(),
            "a neighbour has its list"
        );
        Ok((done, &self.rows, &self.neighbours))
    }

    /// The neighbours of the last piece.
    pub(crate) fn neighbours(&self) -> &[VertexId] {
        &self.neighbours
    }

    /// Counts rows instead of giving them: all at once, or one piece of `rows_max`.
    pub(crate) fn count(
        &mut self,
        lists: &Lists<'_>,
        binds_graph: bool,
        rows_max: usize,
    ) -> Result<(bool, u64), WalkError> {
        if lists.is_exact() {
            return Ok((true, lists.total_edges()));
        }
        if lists.total_edges() > DEGREES_EDGES_MAX {
            let (done, neighbours, _) = self.piece(lists, binds_graph, rows_max)?;
            return Ok((done, neighbours.len() as u64));
        }
        self.degrees.clear();
        lists.degrees(&mut self.degrees)?;
        Ok((true, self.degrees.iter().sum()))
    }
}

/// Whether these are the lists of so many rows, one row of each in order: the columns of the input are
/// then those of the output. So it is where every vertex has one name, one address and so on.
fn is_each_once(lists: &[u32], rows: u64) -> bool {
    lists.len() as u64 == rows
        && lists
            .iter()
            .enumerate()
            .all(|(at, &list)| at == list as usize)
}

/// The state of one walk.
pub(crate) struct ListExpansion<'p, 'a> {
    policy: &'p ListPolicy,
    lists: DrawnLists<'a>,
    asked: bool,
    expander: Expander,
}

impl<'p> ListExpansion<'p, '_> {
    pub(crate) fn new(policy: &'p ListPolicy) -> Self {
        ListExpansion {
            policy,
            lists: DrawnLists::default(),
            asked: false,
            expander: Expander::default(),
        }
    }
}

impl<'a> ListExpansion<'_, 'a> {
    pub(crate) fn run<V: GraphView, L>(
        &mut self,
        context: Context<'_, 'a, V, L>,
        flow: &mut Flow<'_>,
    ) -> Result<StepOutcome, WalkError> {
        let policy = self.policy;
        let begins = !self.asked;
        if begins {
            let keys = flow.input.live(policy.from);
            let graphs = context.scene.dataset(policy.source).graphs(policy.scope);
            let (view, limits) = (context.view(policy.source), context.limits);
            match self.lists.ask(view, limits, policy.segment, keys, graphs)? {
                Progress::Pending(ticket) => return Ok(StepOutcome::Pending(ticket)),
                Progress::Ready => self.asked = true,
            }
            assert_eq!(self.lists.len(), keys.len(), "a key has its list");
            self.expander.cursor = ListCursor::default();
        }
        let done = if flow.carried.is_empty() && policy.targets.is_nothing() {
            let binds = policy.targets.binds_graph;
            let (done, rows) = self.expander.count(&self.lists, binds, flow.capacity)?;
            flow.output.add_rows(rows)?;
            done
        } else {
            let room = flow.room();
            let done = self
                .expander
                .expand(&self.lists, policy.targets, room, flow.output)?;
            if begins && done && is_each_once(&self.expander.rows, flow.input.rows()) {
                flow.output.absorb(flow.input, flow.carried)?;
            } else {
                let rows = &self.expander.rows;
                flow.output.gather(flow.input, flow.carried, rows);
                flow.output.add_rows(rows.len() as u64)?;
            }
            done
        };
        self.asked = !done;
        Ok(if done {
            StepOutcome::Drained
        } else {
            StepOutcome::More
        })
    }
}
