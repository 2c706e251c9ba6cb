//! The rows of one segment of a whole graph that lie in a part, ascending.
//!
//! Which part a row lies in follows from its key, so the rows of other nodes' keys are passed over unread; of the members of
//! classes it follows from the neighbour, so all of these are read. Owned keys come in blocks, whose rows are one range.
//!
//! Cost: a look at each key of the whole, and some nanoseconds a row that is read.

use crate::cut::part_of::PartOf;
use crate::format::DEFAULT_GRAPH_CODE;
use crate::lists::NamedGraphs;
use crate::segment::reader::{Column, GraphColumn};
use crate::segment::writer::Edge;
use crate::snapshot::Snapshot;
use crate::source::{Fault, inconsistent};
use crate::view::{GraphScope, SegmentKey};
use rdf::{Direction, PredicateId, VertexId};
use std::ops::Range;

/// Keys read at a time.
const BATCH_KEYS: u64 = 1 << 11;
/// Rows read at a time.
const BATCH_ROWS: u64 = 1 << 12;

/// The rows of a segment that lie in a part.
#[derive(Clone, Copy)]
pub(super) struct HeldRows<'v> {
    whole: &'v Snapshot,
    part: &'v PartOf,
    segment: SegmentKey,
}

/// Some keys of a segment, and where the rows of each of them end.
struct KeyRun<'k> {
    keys: &'k [VertexId],
    ends: &'k [u64],
    /// The first row of the first key.
    start: u64,
}

/// What rows are read from.
struct Rows<'v> {
    column: Column<'v>,
    graphs: Option<GraphColumn<'v>>,
    named: NamedGraphs<'v>,
    neighbours: Vec<VertexId>,
    batch: Vec<Edge>,
    last: Option<Edge>,
}

impl<'v> HeldRows<'v> {
    /// The rows of a segment of `whole`.
    pub(super) fn new(whole: &'v Snapshot, part: &'v PartOf, segment: SegmentKey) -> HeldRows<'v> {
        HeldRows {
            whole,
            part,
            segment,
        }
    }

    /// Whether it is the segment whose rows lie with their neighbours.
    fn is_of_members(&self) -> bool {
        let SegmentKey {
            predicate,
            direction,
        } = self.segment;
        predicate == PredicateId::TYPE && direction == Direction::In
    }

    fn is_held(&self, key: VertexId, neighbour: VertexId) -> bool {
        let is_type = self.segment.predicate == PredicateId::TYPE;
        self.part
            .holds(self.segment.direction, is_type, key, neighbour)
    }

    /// Gives the rows, some thousand at a time.
    pub(super) fn each<E: From<Fault>>(
        &self,
        mut give: impl FnMut(&[Edge]) -> Result<(), E>,
    ) -> Result<(), E> {
        let Some(segment) = self.whole.segment(self.segment)? else {
            return Ok(());
        };
        let index = segment.index()?;
        let mut rows = Rows {
            column: segment.column()?,
            graphs: segment.graph_column(),
            named: self.whole.graphs()?,
            neighbours: Vec::new(),
            batch: Vec::new(),
            last: None,
        };
        let (mut keys, mut ends) = (Vec::new(), Vec::new());
        let mut start = 0;
        for from in (0..index.keys()).step_by(BATCH_KEYS as usize) {
            let to = (from + BATCH_KEYS).min(index.keys());
            keys.clear();
            ends.clear();
            index.decode(from, to, &mut keys)?;
            segment.row_ends(from..to, &mut ends)?;
            self.each_of_keys(&keys, &ends, start, &mut rows, &mut give)?;
            start = ends.last().copied().unwrap_or(start);
        }
        Ok(())
    }

    /// Gives the rows of some keys, whose first row is `start`.
    fn each_of_keys<E: From<Fault>>(
        &self,
        keys: &[VertexId],
        ends: &[u64],
        start: u64,
        rows: &mut Rows<'_>,
        give: &mut impl FnMut(&[Edge]) -> Result<(), E>,
    ) -> Result<(), E> {
        if self.is_of_members() {
            let run = KeyRun { keys, ends, start };
            return rows.each(&run, |edge| self.is_held(edge.key, edge.neighbour), give);
        }
        let is_mine = |key: &VertexId| self.is_held(*key, *key);
        let (mut at, mut start) = (0, start);
        for keys in keys.chunk_by(|one, next| is_mine(one) == is_mine(next)) {
            let ends = &ends[at..at + keys.len()];
            if is_mine(&keys[0]) {
                rows.each(&KeyRun { keys, ends, start }, |_| true, give)?;
            }
            at += keys.len();
            start = ends.last().copied().unwrap_or(start);
        }
        Ok(())
    }
}

impl Rows<'_> {
    /// Gives those rows of some keys that are wanted.
    fn each<E: From<Fault>>(
        &mut self,
        run: &KeyRun<'_>,
        is_wanted: impl Fn(&Edge) -> bool,
        give: &mut impl FnMut(&[Edge]) -> Result<(), E>,
    ) -> Result<(), E> {
        let end = run.ends.last().copied().unwrap_or(run.start);
        let mut key = 0;
        for from in (run.start..end).step_by(BATCH_ROWS as usize) {
            let piece = from..end.min(from + BATCH_ROWS);
            self.read(run, piece, &mut key, &is_wanted)?;
            let follows = self
                .last
                .is_none_or(|last| self.batch.first().is_none_or(|first| last < *first));
            if !follows || !self.batch.is_sorted_by(|one, next| one < next) {
                return Err(inconsistent(self.column.region, "rows do not ascend").into());
            }
            self.last = self.batch.last().copied().or(self.last);
            if !self.batch.is_empty() {
                give(&self.batch)?;
            }
        }
        Ok(())
    }

    /// Reads one piece of rows; `key`: which key the next row is of.
    fn read(
        &mut self,
        run: &KeyRun<'_>,
        rows: Range<u64>,
        key: &mut usize,
        is_wanted: impl Fn(&Edge) -> bool,
    ) -> Result<(), Fault> {
        self.batch.clear();
        self.neighbours.clear();
        self.column.decode(rows.clone(), &mut self.neighbours)?;
        let codes = match &self.graphs {
            Some(graphs) => graphs.codes(rows.clone())?,
            None => &[],
        };
        for (place, (row, &neighbour)) in rows.zip(&self.neighbours).enumerate() {
            while run.ends[*key] <= row {
                *key += 1;
            }
            let graph = match codes.get(place) {
                None | Some(&DEFAULT_GRAPH_CODE) => GraphScope::DEFAULT_GRAPH,
                Some(&code) => self.named.vertex(code)?,
            };
            let edge = Edge {
                key: run.keys[*key],
                neighbour,
                graph,
            };
            if is_wanted(&edge) {
                self.batch.push(edge);
            }
        }
        Ok(())
    }
}
