//! The keys of a predicate where they are not simply a whole segment's.
//!
//! Predicate or graph may differ by row, and a segment that holds several graphs has keys without an
//! edge in the graphs asked for. One named graph answers from its own index. For the default graph
//! and merges each key's list is looked at (about 10 ns a key), until the view says that its lists
//! need no filtering and holds one: then every key has an edge.
//!
//! Keys are asked for existence only, each once per input row. A worker that has a part of them begins within
//! the first row's and ends within the last one's.

use super::{Context, Flow, PatternOperand, StepOutcome};
use crate::ask;
use crate::drawn_lists::DrawnLists;
use crate::error::WalkError;
use crate::limits::Reservation;
use crate::scope::{FixedScope, ResolvedScope};
use query::plan::{Slot, Source};
use rdf::{Direction, VertexId};
use std::ops::Range;
use store::VertexSet;
use store::view::{GraphView, Progress, SegmentKey};

/// Which keys.
pub(crate) struct KeysPolicy {
    pub(crate) predicate: PatternOperand,
    pub(crate) direction: Direction,
    pub(crate) scope: ResolvedScope,
    pub(crate) source: Source,
    pub(crate) into: Option<Slot>,
}

impl KeysPolicy {
    /// Whether the keys of each row are those of a segment, all of them or some.
    pub(crate) fn lists_segments(&self) -> bool {
        match self.scope {
            ResolvedScope::Fixed(scope) => !matches!(scope, FixedScope::Named(_)),
            ResolvedScope::Nothing | ResolvedScope::PerRow(_) => false,
        }
    }
}

/// A part of the keys of all input rows, of which there are so many.
struct Restriction {
    rows: u64,
    /// The first key of the first row, and the end of those of the last.
    keys: Range<u64>,
}

/// The state of one walk.
pub(crate) struct KeysExpansion<'p, 'a> {
    policy: &'p KeysPolicy,
    restriction: Option<Restriction>,
    /// Rows of inputs before this one.
    rows_before: u64,
    row: u64,
    open: Option<OpenSet<'a>>,
    ordinal: u64,
    batch: Vec<VertexId>,
    lists: DrawnLists<'a>,
    degrees: Vec<u64>,
    reservation: Option<Reservation<'a>>,
}

/// The keys of the row that is worked on.
struct OpenSet<'a> {
    segment: SegmentKey,
    scope: FixedScope,
    set: VertexSet<'a>,
    verify: bool,
}

impl<'p> KeysExpansion<'p, '_> {
    pub(crate) fn new(policy: &'p KeysPolicy) -> Self {
        KeysExpansion {
            policy,
            restriction: None,
            rows_before: 0,
            row: 0,
            open: None,
            ordinal: 0,
            batch: Vec::new(),
            lists: DrawnLists::default(),
            degrees: Vec::new(),
            reservation: None,
        }
    }
}

impl<'a> KeysExpansion<'_, 'a> {
    /// Only these keys: from `keys.start` of the first of `rows` input rows to `keys.end` of the last.
    pub(crate) fn restrict(&mut self, rows: u64, keys: Range<u64>) {
        assert!(rows > 0, "a part has rows");
        self.ordinal = keys.start;
        self.restriction = Some(Restriction { rows, keys });
    }

    /// Where the keys of the current row end, of which there are so many.
    fn end(&self, keys: u64) -> u64 {
        match &self.restriction {
            Some(part) if self.rows_before + self.row + 1 == part.rows => part.keys.end.min(keys),
            _ => keys,
        }
    }

    /// Gives one batch of keys per call.
    pub(crate) fn run<V: GraphView, L>(
        &mut self,
        context: Context<'_, 'a, V, L>,
        flow: &mut Flow<'_>,
    ) -> Result<StepOutcome, WalkError> {
        while self.row < flow.input.rows() {
            if self.batch.is_empty() {
                let keys = self.open(context, flow)?.map_or(0, |open| open.set.len());
                let left = self.end(keys).saturating_sub(self.ordinal);
                if left == 0 {
                    self.row += 1;
                    self.ordinal = 0;
                    continue;
                }
                let take = left.min(flow.room() as u64);
                let open = self.open.as_ref().expect("a set with keys left is open");
                open.set
                    .decode(self.ordinal, self.ordinal + take, &mut self.batch)?;
                assert_eq!(
                    self.batch.len() as u64,
                    take,
                    "a set gives what it was asked for"
                );
                self.ordinal += take;
            }
            if let Progress::Pending(ticket) = self.verify(context)? {
                return Ok(StepOutcome::Pending(ticket));
            }
            if let Some(slot) = self.policy.into {
                flow.output.cells_mut(slot).extend_from_slice(&self.batch);
            }
            flow.output
                .repeat(flow.input, flow.carried, self.row, self.batch.len());
            flow.output.add_rows(self.batch.len() as u64)?;
            self.batch.clear();
            return Ok(StepOutcome::More);
        }
        self.rows_before += self.row;
        self.row = 0;
        Ok(StepOutcome::Drained)
    }

    /// The keys of the current row; the last row's, where they are the same.
    fn open<V: GraphView, L>(
        &mut self,
        context: Context<'_, 'a, V, L>,
        flow: &Flow<'_>,
    ) -> Result<Option<&OpenSet<'a>>, WalkError> {
        let row = self.row as usize;
        let predicate = match self.policy.predicate {
            PatternOperand::Constant(vertex) => vertex,
            PatternOperand::Slot(slot) => flow.input.live(slot)[row],
        };
        let scope = match self.policy.scope {
            ResolvedScope::Nothing => None,
            ResolvedScope::Fixed(scope) => Some(scope),
            ResolvedScope::PerRow(slot) => context
                .scene
                .dataset(self.policy.source)
                .named(flow.input.live(slot)[row]),
        };
        let (Some(predicate), Some(scope)) = (
            context.view(self.policy.source).predicate_id(predicate),
            scope,
        ) else {
            return Ok(None);
        };
        let segment = SegmentKey {
            predicate,
            direction: self.policy.direction,
        };
        let same = |open: &OpenSet<'a>| open.segment == segment && open.scope == scope;
        if !self.open.as_ref().is_some_and(same) {
            let set = self.keys(context, segment, scope)?;
            let verify = matches!(scope, FixedScope::Default | FixedScope::Merge);
            self.open = Some(OpenSet {
                segment,
                scope,
                set,
                verify,
            });
        }
        Ok(self.open.as_ref())
    }

    fn keys<V: GraphView, L>(
        &mut self,
        context: Context<'_, 'a, V, L>,
        segment: SegmentKey,
        scope: FixedScope,
    ) -> Result<VertexSet<'a>, WalkError> {
        let FixedScope::Named(graph) = scope else {
            return ask::keys(context.view(self.policy.source), segment);
        };
        let mut keys = Vec::new();
        ask::keys_of_graph(context.view(self.policy.source), segment, graph, &mut keys)?;
        let mut reservation = Reservation::new(context.limits);
        reservation.cover((keys.capacity() * size_of::<VertexId>()) as u64)?;
        self.reservation = Some(reservation);
        Ok(VertexSet::from_sorted(keys))
    }

    /// Drops keys of the batch without an edge in the scope.
    fn verify<V: GraphView, L>(
        &mut self,
        context: Context<'_, 'a, V, L>,
    ) -> Result<Progress, WalkError> {
        let open = self.open.as_mut().expect("a batch is of an open set");
        if !open.verify {
            return Ok(Progress::Ready);
        }
        let graphs = context.scene.dataset(self.policy.source).graphs(open.scope);
        let (view, limits) = (context.view(self.policy.source), context.limits);
        match self
            .lists
            .ask(view, limits, open.segment, &self.batch, graphs)?
        {
            Progress::Pending(ticket) => return Ok(Progress::Pending(ticket)),
            Progress::Ready => {}
        }
        if self.lists.is_exact() && self.lists.total_edges() > 0 {
            open.verify = false;
            return Ok(Progress::Ready);
        }
        self.degrees.clear();
        self.lists.degrees(&mut self.degrees)?;
        assert_eq!(self.degrees.len(), self.batch.len(), "a key has its length");
        let mut degrees = self.degrees.iter();
        self.batch
            .retain(|_| degrees.next().is_some_and(|&degree| degree > 0));
        Ok(Progress::Ready)
    }
}
