//! The neighbours of a batch of vertices by one label.
//!
//! A predicate is one lookup of the batch. A negated set first asks which predicates each vertex has,
//! by its signature, and then looks each predicate's vertices up together; so it costs what the
//! vertices have, not what the store has.
//!
//! Answers come in pieces, so that nobody holds more than a piece, and a lookup that pends is asked
//! again where it stood.

use super::automaton::Label;
use crate::drawn_lists::DrawnLists;
use crate::error::WalkError;
use crate::limits::Limits;
use crate::step::list::Expander;
use rdf::{Direction, PredicateId, VertexId};
use std::ops::Range;
use store::ListCursor;
use store::view::{GraphScope, GraphView, Progress, SegmentKey, Ticket};

/// What a call gave.
pub(crate) enum Fetched {
    /// Neighbours, or positions.
    Piece,
    /// Everything has been given.
    Done,
    /// A lookup is under way.
    Pending(Ticket),
}

/// A batch on its way through its segments.
pub(crate) struct NeighbourFetch<'a> {
    /// The vertices of each segment, one segment after the other.
    keys: Vec<VertexId>,
    /// The positions of these vertices in the batch; empty: each its own.
    positions: Vec<u32>,
    runs: Vec<(SegmentKey, Range<usize>)>,
    run: usize,
    asked: bool,
    lists: DrawnLists<'a>,
    limits: Limits<'a>,
    expander: Expander,
    predicates: Vec<PredicateId>,
    ends: Vec<u32>,
    targets: Vec<VertexId>,
    selected: Vec<u32>,
    degrees: Vec<u64>,
}

impl<'a> NeighbourFetch<'a> {
    /// No batch yet.
    pub(crate) fn new(limits: Limits<'a>) -> NeighbourFetch<'a> {
        NeighbourFetch {
            keys: Vec::new(),
            positions: Vec::new(),
            runs: Vec::new(),
            run: 0,
            asked: false,
            lists: DrawnLists::default(),
            limits,
            expander: Expander::default(),
            predicates: Vec::new(),
            ends: Vec::new(),
            targets: Vec::new(),
            selected: Vec::new(),
            degrees: Vec::new(),
        }
    }

    /// Begins a batch.
    pub(crate) fn begin<V: GraphView>(
        &mut self,
        view: &V,
        label: &Label,
        batch: &[VertexId],
    ) -> Result<Progress, WalkError> {
        self.keys.clear();
        self.positions.clear();
        self.runs.clear();
        self.run = 0;
        self.asked = false;
        match label {
            Label::One(segment) => {
                self.keys.extend_from_slice(batch);
                self.runs.push((*segment, 0..batch.len()));
            }
            Label::Other(direction, excluded) => {
                self.predicates.clear();
                self.ends.clear();
                let (predicates, ends) = (&mut self.predicates, &mut self.ends);
                match view.predicates_of(*direction, batch, predicates, ends)? {
                    Progress::Ready => self.group(*direction, excluded, batch),
                    pending @ Progress::Pending(_) => return Ok(pending),
                }
            }
        }
        Ok(Progress::Ready)
    }

    /// Puts the vertices of each predicate together.
    fn group(&mut self, direction: Direction, excluded: &[PredicateId], batch: &[VertexId]) {
        assert_eq!(self.ends.len(), batch.len(), "a vertex has its predicates");
        let mut pairs: Vec<(PredicateId, u32)> = Vec::with_capacity(self.predicates.len());
        let mut start = 0;
        for (position, &end) in (0_u32..).zip(&self.ends) {
            for &predicate in &self.predicates[start as usize..end as usize] {
                if excluded.binary_search(&predicate).is_err() {
                    pairs.push((predicate, position));
                }
            }
            start = end;
        }
        pairs.sort_unstable();
        pairs.dedup();
        for run in pairs.chunk_by(|left, right| left.0 == right.0) {
            let begin = self.keys.len();
            for &(_, position) in run {
                self.keys.push(batch[position as usize]);
                self.positions.push(position);
            }
            let predicate = run[0].0;
            let segment = SegmentKey {
                predicate,
                direction,
            };
            self.runs.push((segment, begin..self.keys.len()));
        }
    }

    /// Looks the current segment's vertices up.
    fn ask<V: GraphView>(
        &mut self,
        view: &'a V,
        graphs: GraphScope<'_>,
    ) -> Result<Option<Fetched>, WalkError> {
        let Some((segment, range)) = self.runs.get(self.run) else {
            return Ok(Some(Fetched::Done));
        };
        if !self.asked {
            let keys = &self.keys[range.clone()];
            if let Progress::Pending(ticket) =
                self.lists.ask(view, self.limits, *segment, keys, graphs)?
            {
                return Ok(Some(Fetched::Pending(ticket)));
            }
            self.asked = true;
            self.expander.cursor = ListCursor::default();
            assert_eq!(self.lists.len(), range.len(), "a key has its list");
        }
        Ok(None)
    }

    /// Gives at most `rows_max` neighbours to `each`, with the list of each.
    pub(crate) fn next<V: GraphView>(
        &mut self,
        view: &'a V,
        graphs: GraphScope<'_>,
        rows_max: usize,
        each: impl FnOnce(NeighbourBatch<'_>) -> Result<(), WalkError>,
    ) -> Result<Fetched, WalkError> {
        if let Some(fetched) = self.ask(view, graphs)? {
            return Ok(fetched);
        }
        let first = self.runs[self.run].1.start;
        let (done, lists, neighbours) = self.expander.numbered_piece(&self.lists, rows_max)?;
        each(NeighbourBatch {
            neighbours,
            lists,
            positions: self.positions.get(first..).unwrap_or_default(),
        })?;
        if done {
            self.run += 1;
            self.asked = false;
        }
        Ok(Fetched::Piece)
    }

    /// Appends the position of each vertex of the batch whose list in the next segment has the
    /// position's target.
    pub(crate) fn next_with<V: GraphView>(
        &mut self,
        view: &'a V,
        graphs: GraphScope<'_>,
        targets: &[VertexId],
        found: &mut Vec<u32>,
    ) -> Result<Fetched, WalkError> {
        if let Some(fetched) = self.ask(view, graphs)? {
            return Ok(fetched);
        }
        let range = self.runs[self.run].1.clone();
        let mut wanted = std::mem::take(&mut self.targets);
        wanted.clear();
        wanted.extend(range.clone().map(|at| targets[self.position(at)]));
        self.targets = wanted;
        self.selected.clear();
        self.lists.select(&self.targets, &mut self.selected)?;
        for &selected in &self.selected {
            found.push(self.position(range.start + selected as usize) as u32);
        }
        self.run += 1;
        self.asked = false;
        Ok(Fetched::Piece)
    }

    /// Marks the vertices of the batch that have an edge in the next segment.
    pub(crate) fn next_existing<V: GraphView>(
        &mut self,
        view: &'a V,
        graphs: GraphScope<'_>,
        exists: &mut [bool],
    ) -> Result<Fetched, WalkError> {
        if let Some(fetched) = self.ask(view, graphs)? {
            return Ok(fetched);
        }
        let range = self.runs[self.run].1.clone();
        self.degrees.clear();
        self.lists.degrees(&mut self.degrees)?;
        assert_eq!(self.degrees.len(), range.len(), "a key has its length");
        for (at, &degree) in range.zip(&self.degrees) {
            if degree > 0 {
                exists[self.position(at)] = true;
            }
        }
        self.run += 1;
        self.asked = false;
        Ok(Fetched::Piece)
    }

    /// The position in the batch of a key.
    fn position(&self, key: usize) -> usize {
        self.positions.get(key).map_or(key, |&at| at as usize)
    }
}

/// Some neighbours of a batch.
pub(crate) struct NeighbourBatch<'f> {
    pub(crate) neighbours: &'f [VertexId],
    lists: &'f [u32],
    positions: &'f [u32],
}

impl NeighbourBatch<'_> {
    /// The vertex of the batch that each neighbour is of, by position.
    pub(crate) fn positions(&self) -> impl Iterator<Item = u32> {
        let position = |&list: &u32| *self.positions.get(list as usize).unwrap_or(&list);
        self.lists.iter().map(position)
    }
}
