//! Expand and check at once: the new vertex is a neighbour of two columns, so it is in the
//! intersection of two sorted lists.
//!
//! ```text
//!  ?z -memberOf-> ?x   }           members of z   12 13 14 15 16 17 18
//!  ?y <-degreeFrom- ?x }  for x:   alumni of y     3     14          90 311 ...
//! ```
//!
//! An expansion would copy every member out and look each up again. Here both lists are first cut to
//! the range of ids that they share (entities described together have neighbouring ids, so a
//! department's members are a narrow range among a university's alumni); then the shorter rest is
//! read and searched for in the longer one, galloping. A row costs the shorter list at most:
//! worst-case optimal on triangles (cf. leapfrog join). Two short lists are simply merged, and a list
//! that many rows meet is marked as bits once, so that a row costs a look for each of the other's.
//!
//! On LUBM-160, one thread, 2026-11-21: Q1's 1.67 M members and 402,024 lookups, 20 ms, become 3,200
//! intersections. The planner chooses it (`query::planner`).

use super::list::Expander;
use super::{Context, Flow, StepOutcome};
use crate::ask;
use crate::drawn_lists::DrawnLists;
use crate::error::WalkError;
use crate::limits::{Effort, Limits, Reservation};
use crate::scope::FixedScope;
use query::plan::{Slot, Source};
use rdf::VertexId;
use std::ops::Range;
use store::view::{GraphView, Progress, SegmentKey};
use store::{ListCursor, Meeting, VertexSet};

/// Lists of up to so many rows are copied out to be merged.
const SHORT_ROWS: u64 = 64;

/// Rows whose lists' last lines are asked for before it is their turn.
const ROWS_AHEAD: usize = 8;

/// One of the two lists of a row.
#[derive(Clone, Copy)]
pub(crate) struct Side {
    pub(crate) from: Slot,
    pub(crate) segment: SegmentKey,
    pub(crate) scope: FixedScope,
    pub(crate) source: Source,
}

/// Which lists; neither is filtered by graph.
pub(crate) struct IntersectPolicy {
    pub(crate) sides: [Side; 2],
    pub(crate) into: Option<Slot>,
}

/// The state of one walk.
pub(crate) struct Intersection<'p, 'a> {
    policy: &'p IntersectPolicy,
    lists: [DrawnLists<'a>; 2],
    asked: usize,
    row: usize,
    /// Within the row: what is left to be searched for, which side it is of.
    left: Option<(usize, Range<u64>)>,
    readers: [Expander; 2],
    meeting: Meeting,
    /// Long lists as sets, and whose they are; kept for the next row, which often has the same.
    sets: [Option<(VertexId, VertexSet<'a>)>; 2],
    candidates: Vec<VertexId>,
    positions: Vec<u32>,
    found: Vec<VertexId>,
    /// The input's row of each one found.
    met: Vec<u32>,
    effort: Effort,
    reservation: Reservation<'a>,
}

impl<'p, 'a> Intersection<'p, 'a> {
    pub(crate) fn new(policy: &'p IntersectPolicy, limits: Limits<'a>) -> Self {
        Intersection {
            policy,
            lists: Default::default(),
            asked: 0,
            row: 0,
            left: None,
            readers: Default::default(),
            meeting: Meeting::default(),
            sets: [None, None],
            candidates: Vec::new(),
            positions: Vec::new(),
            found: Vec::new(),
            met: Vec::new(),
            effort: Effort::default(),
            reservation: Reservation::new(limits),
        }
    }
}

impl<'a> Intersection<'_, 'a> {
    pub(crate) fn run<V: GraphView, L>(
        &mut self,
        context: Context<'_, 'a, V, L>,
        flow: &mut Flow<'_>,
    ) -> Result<StepOutcome, WalkError> {
        while let Some(side) = self.policy.sides.get(self.asked) {
            let keys = flow.input.live(side.from);
            let graphs = context.scene.dataset(side.source).graphs(side.scope);
            let lists = &mut self.lists[self.asked];
            match lists.ask(
                context.view(side.source),
                context.limits,
                side.segment,
                keys,
                graphs,
            )? {
                Progress::Pending(ticket) => return Ok(StepOutcome::Pending(ticket)),
                Progress::Ready => {
                    assert_eq!(lists.len(), keys.len(), "a key has its list");
                    self.asked += 1;
                }
            }
        }
        let counts = flow.carried.is_empty() && self.policy.into.is_none();
        while self.row < flow.input.len() {
            if flow.is_full() && !counts {
                return Ok(StepOutcome::More);
            }
            // A mere count has room for ever.
            let room = if counts { flow.capacity } else { flow.room() };
            if self.left.is_none() && self.rows(context, flow, room)? {
                continue;
            }
            self.found.clear();
            let is_done = self.piece(context, flow)?;
            if let Some(slot) = self.policy.into {
                flow.output.cells_mut(slot).extend_from_slice(&self.found);
            }
            let rows = self.found.len();
            if rows > 0 {
                flow.output
                    .repeat(flow.input, flow.carried, self.row as u64, rows);
                flow.output.add_rows(rows as u64)?;
            }
            self.row += usize::from(is_done);
        }
        self.row = 0;
        self.asked = 0;
        self.draw()?;
        Ok(StepOutcome::Drained)
    }

    /// Meets the lists of the rows that come, as far as they are met as they stand and the output has room; whether there
    /// was such a row.
    fn rows<V, L>(
        &mut self,
        context: Context<'_, 'a, V, L>,
        flow: &mut Flow<'_>,
        room: usize,
    ) -> Result<bool, WalkError> {
        self.found.clear();
        self.met.clear();
        let [left, right] = &self.lists;
        let bounds = (room, flow.capacity as u64);
        let into = (&mut self.met, &mut self.found);
        let met = left.meet_rows(right, self.row, bounds, &mut self.meeting, into)?;
        self.effort.spend(met.work, &context.limits)?;
        if let Some(slot) = self.policy.into {
            flow.output.cells_mut(slot).extend_from_slice(&self.found);
        }
        flow.output.gather(flow.input, flow.carried, &self.met);
        flow.output.add_rows(self.met.len() as u64)?;
        let has_met = met.next > self.row;
        self.row = met.next;
        Ok(has_met)
    }

    /// Draws marks and lists that were copied out on the budget: a chunk adds a megabyte of marks at
    /// most.
    fn draw(&mut self) -> Result<(), WalkError> {
        let sets = self.sets.iter().flatten();
        let sets: usize = sets.map(|(_, set)| set.owned_bytes()).sum();
        self.reservation.cover((self.meeting.bytes() + sets) as u64)
    }

    /// Puts more common neighbours of the row into `found`; whether these were the last.
    fn piece<V: GraphView, L>(
        &mut self,
        context: Context<'_, 'a, V, L>,
        flow: &Flow<'_>,
    ) -> Result<bool, WalkError> {
        let rows = [0, 1].map(|side: usize| self.lists[side].edges(self.row));
        if rows.contains(&0) {
            return Ok(true);
        }
        if self.left.is_none() && rows[0].min(rows[1]) <= flow.capacity as u64 {
            let [left, right] = &self.lists;
            for lists in &self.lists {
                lists.prefetch_end(self.row + ROWS_AHEAD);
            }
            self.effort
                .spend(4 * rows[0].min(rows[1]) + 8, &context.limits)?;
            if left.meet(self.row, right, &mut self.meeting, &mut self.found)? {
                return Ok(true);
            }
        }
        if rows.iter().all(|&rows| rows <= SHORT_ROWS) {
            self.effort.spend(rows[0] + rows[1], &context.limits)?;
            self.merge(rows)?;
            return Ok(true);
        }
        let (side, left) = match self.left.take() {
            Some(left) => left,
            None => self.open(context, flow)?,
        };
        self.search(context, flow, side, left)
    }

    /// Merges two short lists.
    fn merge(&mut self, rows: [u64; 2]) -> Result<(), WalkError> {
        let [left, right] = &mut self.readers;
        let start = ListCursor::at(self.row as u32);
        (left.cursor, right.cursor) = (start, start);
        let (_, left, _) = left.piece(&self.lists[0], false, rows[0] as usize)?;
        let (_, right, _) = right.piece(&self.lists[1], false, rows[1] as usize)?;
        let (mut at, mut other) = (0, 0);
        while at < left.len() && other < right.len() {
            let order = left[at].cmp(&right[other]);
            if order.is_eq() {
                self.found.push(left[at]);
            }
            at += usize::from(order.is_le());
            other += usize::from(order.is_ge());
        }
        Ok(())
    }

    /// Opens both lists of the row, cuts them to the ids they share, and chooses which is read.
    fn open<V: GraphView, L>(
        &mut self,
        context: Context<'_, 'a, V, L>,
        flow: &Flow<'_>,
    ) -> Result<(usize, Range<u64>), WalkError> {
        for (open, side) in self.sets.iter_mut().zip(&self.policy.sides) {
            let vertex = flow.input.live(side.from)[self.row];
            if open.as_ref().is_none_or(|(of, _)| *of != vertex) {
                let graphs = context.scene.dataset(side.source).graphs(side.scope);
                let set = ask::neighbours(context.view(side.source), side.segment, vertex, graphs)?;
                *open = Some((vertex, set));
            }
        }
        self.draw()?;
        let [Some((_, left)), Some((_, right))] = &self.sets else {
            unreachable!("both were opened above")
        };
        if left.is_dense() || right.is_dense() {
            let side =
                usize::from(left.is_dense() && (!right.is_dense() || right.len() < left.len()));
            let read = if side == 0 { left } else { right };
            return Ok((side, 0..read.len()));
        }
        let ranges = shared_ranges(left, right, &mut self.candidates)?;
        let length = |range: &Range<u64>| range.end - range.start;
        let side = usize::from(length(&ranges[1]) < length(&ranges[0]));
        Ok((side, ranges[side].clone()))
    }

    /// Searches for a chunk of one list in the other.
    fn search<V, L>(
        &mut self,
        context: Context<'_, 'a, V, L>,
        flow: &Flow<'_>,
        side: usize,
        left: Range<u64>,
    ) -> Result<bool, WalkError> {
        let (Some((_, read)), Some((_, searched))) = (&self.sets[side], &self.sets[1 - side])
        else {
            unreachable!("both are open within a row")
        };
        assert!(
            left.start <= left.end && left.end <= read.len(),
            "what is left of a list is a part of it"
        );
        let end = left.end.min(left.start + flow.capacity as u64);
        self.effort
            .spend(4 * (end - left.start) + 512, &context.limits)?;
        self.candidates.clear();
        read.decode(left.start, end, &mut self.candidates)?;
        self.positions.clear();
        searched.select(&self.candidates, &mut self.positions)?;
        let candidates = &self.candidates;
        self.found
            .extend(self.positions.iter().map(|&at| candidates[at as usize]));
        if end < left.end {
            self.left = Some((side, end..left.end));
        }
        Ok(end == left.end)
    }
}

/// The ordinals of each list between the ids that both lists span. Neither is empty.
fn shared_ranges(
    left: &VertexSet<'_>,
    right: &VertexSet<'_>,
    scratch: &mut Vec<VertexId>,
) -> Result<[Range<u64>; 2], WalkError> {
    let mut element = |set: &VertexSet<'_>, ordinal: u64| -> Result<VertexId, WalkError> {
        scratch.clear();
        set.decode(ordinal, ordinal + 1, scratch)?;
        Ok(scratch[0])
    };
    let sets = [left, right];
    assert!(
        !left.is_empty() && !right.is_empty(),
        "the lists of a row have elements"
    );
    let mut spans = [(VertexId::UNBOUND, VertexId::UNBOUND); 2];
    for (span, set) in spans.iter_mut().zip(sets) {
        *span = (element(set, 0)?, element(set, set.len() - 1)?);
    }
    let first = spans[0].0.max(spans[1].0);
    let last = spans[0].1.min(spans[1].1);
    if first > last {
        return Ok([0..0, 0..0]);
    }
    let mut ranges = [0..0, 0..0];
    for ((range, set), span) in ranges.iter_mut().zip(sets).zip(spans) {
        let mut place = |wanted: VertexId| -> Result<u64, WalkError> {
            let (mut low, mut high) = (0, set.len() - 1);
            while low < high {
                let middle = low + (high - low) / 2;
                if element(set, middle)? < wanted {
                    low = middle + 1;
                } else {
                    high = middle;
                }
            }
            Ok(low)
        };
        let start = if span.0 < first { place(first)? } else { 0 };
        let end = if span.1 > last {
            place(last)?
        } else {
            set.len() - 1
        };
        *range = start..end + 1;
    }
    Ok(ranges)
}
