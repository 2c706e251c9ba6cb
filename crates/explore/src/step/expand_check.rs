//! Expand and check in turn: an intersection whose lists are filtered by graph.
//!
//! Lists of which some edges are of other graphs cannot be met as they stand ([`super::intersect`]): what of them is seen
//! is known when it is read. So the near lists are read out, a piece of rows at a time, and each neighbour is looked for
//! in the list of the other end, which reads its own graphs. It costs what an expansion and a check cost.

use super::intersect::Side;
use super::list::Expander;
use super::{Context, Flow, StepOutcome};
use crate::drawn_lists::DrawnLists;
use crate::error::WalkError;
use query::plan::Slot;
use rdf::VertexId;
use store::ListCursor;
use store::view::{GraphView, Progress};

/// Which lists are expanded, and which are searched.
pub(crate) struct ExpandCheckPolicy {
    pub(crate) sides: [Side; 2],
    pub(crate) into: Option<Slot>,
}

/// How far a walk is in its input.
#[derive(Clone, Copy, PartialEq, Eq)]
enum At {
    /// The near lists are not there.
    Start,
    /// The near lists are, and the next piece of them is to be read.
    Lists,
    /// A piece is read and not checked yet; whether it is the last.
    Piece { is_last: bool },
}

/// The state of one walk.
pub(crate) struct ExpandCheck<'p, 'a> {
    policy: &'p ExpandCheckPolicy,
    at: At,
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
        let [near, far] = self.policy.sides;
        if self.at == At::Start {
            let keys = flow.input.live(near.from);
            let graphs = context.scene.dataset(near.source).graphs(near.scope);
            let (view, limits) = (context.view(near.source), context.limits);
            let asked = self.near.ask(view, limits, near.segment, keys, graphs)?;
            match asked {
                Progress::Pending(ticket) => return Ok(StepOutcome::Pending(ticket)),
                Progress::Ready => self.at = At::Lists,
            }
            self.expander.cursor = ListCursor::default();
        }
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
