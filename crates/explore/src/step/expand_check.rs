//! Expand and check in turn: an intersection whose lists are filtered by graph.
//!
//! Lists of which some edges are of other graphs cannot be met as they stand ([`super::intersect`]): what of them is seen
//! is known when it is read. So the near lists are read out, a piece of rows at a time, and each neighbour is looked for
//! in the list of the other end, which reads its own graphs. It costs what an expansion and a check cost.
//!
//! Which lists are near is decided for each chunk, by how many rows they have: what a plan expects of a window is what it
//! held when the query was planned, and keys that one side has rarely are in the other.

use super::intersect::Side;
use super::list::Expander;
use super::{Context, Flow, StepOutcome};
use crate::drawn_lists::DrawnLists;
use crate::error::WalkError;
use query::plan::Slot;
use rdf::VertexId;
use store::ListCursor;
use store::view::{GraphView, Progress};

/// Neighbours a row beyond which it is asked whether the other side has fewer.
const LONG: u64 = 2;

/// Two sides, in the order of the plan.
pub(crate) struct ExpandCheckPolicy {
    pub(crate) sides: [Side; 2],
    pub(crate) into: Option<Slot>,
}

/// How far a walk is in its input.
#[derive(Clone, Copy, PartialEq, Eq)]
enum At {
    /// No lists are there.
    Start,
    /// Those of the first side are, and are long.
    Near,
    /// The near lists are, and the next piece of them is to be read.
    Lists,
    /// A piece is read and not checked yet; whether it is the last.
    Piece { is_last: bool },
}

/// The state of one walk.
pub(crate) struct ExpandCheck<'p, 'a> {
    policy: &'p ExpandCheckPolicy,
    at: At,
    /// Which side's lists are read out.
    near_side: usize,
    near: DrawnLists<'a>,
    far: DrawnLists<'a>,
    expander: Expander,
    keys: Vec<VertexId>,
    positions: Vec<u32>,
    /// The input's row of each row that stays.
    rows: Vec<u32>,
}

impl<'p> ExpandCheck<'p, '_> {
    pub(crate) fn new(policy: &'p ExpandCheckPolicy) -> Self {
        ExpandCheck {
            policy,
            at: At::Start,
            near_side: 0,
            near: DrawnLists::default(),
            far: DrawnLists::default(),
            expander: Expander::default(),
            keys: Vec::new(),
            positions: Vec::new(),
            rows: Vec::new(),
        }
    }
}

impl<'a> ExpandCheck<'_, 'a> {
    pub(crate) fn run<V: GraphView, L>(
        &mut self,
        context: Context<'_, 'a, V, L>,
        flow: &mut Flow<'_>,
    ) -> Result<StepOutcome, WalkError> {
        while matches!(self.at, At::Start | At::Near) {
            if let Some(pending) = self.choose(context, flow)? {
                return Ok(pending);
            }
        }
        let far = self.policy.sides[1 - self.near_side];
        let is_last = if let At::Piece { is_last } = self.at {
            is_last
        } else {
            let (is_last, rows, _) = self.expander.numbered_piece(&self.near, flow.room())?;
            let cells = flow.input.live(far.from);
            self.keys.clear();
            self.keys
                .extend(rows.iter().map(|&row| cells[row as usize]));
            self.at = At::Piece { is_last };
            is_last
        };
        let graphs = context.scene.dataset(far.source).graphs(far.scope);
        let (view, limits) = (context.view(far.source), context.limits);
        let asked = self
            .far
            .ask(view, limits, far.segment, &self.keys, graphs)?;
        match asked {
            Progress::Pending(ticket) => return Ok(StepOutcome::Pending(ticket)),
            Progress::Ready => {}
        }
        self.give(flow)?;
        self.at = if is_last { At::Start } else { At::Lists };
        Ok(if is_last {
            StepOutcome::Drained
        } else {
            StepOutcome::More
        })
    }

    /// Asks for the lists of the first side, and where those are long for those of the other, too: the shorter ones are read
    /// out.
    fn choose<V: GraphView, L>(
        &mut self,
        context: Context<'_, 'a, V, L>,
        flow: &Flow<'_>,
    ) -> Result<Option<StepOutcome>, WalkError> {
        let is_first = self.at == At::Start;
        let side = self.policy.sides[usize::from(!is_first)];
        let keys = flow.input.live(side.from);
        let graphs = context.scene.dataset(side.source).graphs(side.scope);
        let (view, limits) = (context.view(side.source), context.limits);
        let lists = if is_first {
            &mut self.near
        } else {
            &mut self.far
        };
        match lists.ask(view, limits, side.segment, keys, graphs)? {
            Progress::Pending(ticket) => return Ok(Some(StepOutcome::Pending(ticket))),
            Progress::Ready => {}
        }
        if is_first && self.near.total_edges() > LONG * keys.len() as u64 {
            self.at = At::Near;
            return Ok(None);
        }
        self.near_side = usize::from(!is_first && self.far.total_edges() < self.near.total_edges());
        if self.near_side == 1 {
            std::mem::swap(&mut self.near, &mut self.far);
        }
        self.expander.cursor = ListCursor::default();
        self.at = At::Lists;
        Ok(None)
    }

    /// Appends the rows of the piece whose neighbours the far lists have.
    fn give(&mut self, flow: &mut Flow<'_>) -> Result<(), WalkError> {
        let neighbours = self.expander.neighbours();
        self.positions.clear();
        self.far.select(neighbours, &mut self.positions)?;
        let found = self.positions.iter().map(|&at| at as usize);
        if let Some(slot) = self.policy.into {
            let cells = flow.output.cells_mut(slot);
            cells.extend(found.clone().map(|at| neighbours[at]));
        }
        self.rows.clear();
        self.rows.extend(found.map(|at| self.expander.rows[at]));
        flow.output.gather(flow.input, flow.carried, &self.rows);
        flow.output.add_rows(self.rows.len() as u64)
    }
}
