//! Expand by one sorted set that all rows share: the seed of most walks.
//!
//! From a constant (`?x rdf:type ub:Course`), the keys of a predicate, all predicates, all graphs.
//! Elements are decoded by ordinal, so workers share a seed by cutting `from..to`. Several input
//! rows make a product, row by row. Where no column is needed afterwards the step is a
//! multiplication.
//!
//! Costs a decode (about 1 ns an element) and a copy of the carried columns.

use super::{Flow, StepOutcome};
use crate::chunk::ROWS_MAX;
use crate::error::WalkError;
use query::plan::Slot;
use rdf::VertexId;
use std::fmt;
use std::ops::Range;
use store::VertexSet;

/// The set, and the column it fills (`None`: nobody needs it).
pub(crate) struct SetPolicy<'a> {
    pub(crate) set: VertexSet<'a>,
    pub(crate) into: Option<Slot>,
}

/// Numbers of which the elements are counted at once.
const COUNTED: usize = 1 << 12;

/// The same elements in the order in which somebody else numbers them: those of a set, some of which are none, then others.
pub struct ArrangedSet<'a> {
    first: VertexSet<'a>,
    others: Vec<VertexId>,
    /// Of the first ones, those that are none; ascending.
    without: Vec<VertexId>,
}

impl fmt::Debug for ArrangedSet<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut out = formatter.debug_struct("ArrangedSet");
        out.field("len", &self.len()).finish_non_exhaustive()
    }
}

impl<'a> ArrangedSet<'a> {
    /// Asserts that what is left out ascends.
    pub fn new(first: VertexSet<'a>, others: Vec<VertexId>, without: Vec<VertexId>) -> Self {
        assert!(without.is_sorted(), "what is left out ascends");
        ArrangedSet {
            first,
            others,
            without,
        }
    }

    /// Numbers that are given out: more than there are elements, where some are none.
    pub(crate) fn len(&self) -> u64 {
        self.first.len() + self.others.len() as u64
    }

    /// How many elements have these numbers.
    fn count(&self, numbers: Range<u64>) -> Result<u64, WalkError> {
        if self.without.is_empty() {
            return Ok(numbers.end - numbers.start);
        }
        let (mut elements, mut some) = (0, Vec::new());
        for from in numbers.clone().step_by(COUNTED) {
            some.clear();
            let to = numbers.end.min(from + COUNTED as u64);
            elements += self.decode(from..to, &mut some)?;
        }
        Ok(elements)
    }

    /// Appends the elements with these numbers; gives how many they are.
    fn decode(&self, numbers: Range<u64>, out: &mut Vec<VertexId>) -> Result<u64, WalkError> {
        let begun = out.len();
        let first = self.first.len();
        if numbers.start < first {
            self.first
                .decode(numbers.start, numbers.end.min(first), out)?;
            if !self.without.is_empty() {
                let mut kept = begun;
                for place in begun..out.len() {
                    if self.without.binary_search(&out[place]).is_err() {
                        out[kept] = out[place];
                        kept += 1;
                    }
                }
                out.truncate(kept);
            }
        }
        if numbers.end > first {
            let from = numbers.start.saturating_sub(first) as usize;
            out.extend_from_slice(&self.others[from..(numbers.end - first) as usize]);
        }
        Ok((out.len() - begun) as u64)
    }
}

/// The state of one walk.
pub(crate) struct SetExpansion<'p, 'a> {
    policy: &'p SetPolicy<'a>,
    /// How elements are numbered, where that is not by their order.
    arranged: Option<&'p ArrangedSet<'a>>,
    range: Range<u64>,
    row: u64,
    ordinal: u64,
}

impl<'p, 'a> SetExpansion<'p, 'a> {
    pub(crate) fn new(policy: &'p SetPolicy<'a>) -> Self {
        SetExpansion {
            policy,
            arranged: None,
            range: 0..policy.set.len(),
            row: 0,
            ordinal: 0,
        }
    }

    /// Only these elements, by ordinal or as they are numbered so. Asserts that they exist.
    pub(crate) fn restrict(&mut self, range: Range<u64>, arranged: Option<&'p ArrangedSet<'a>>) {
        let length = arranged.map_or(self.policy.set.len(), ArrangedSet::len);
        assert!(range.end <= length, "a seed is cut within its length");
        self.arranged = arranged;
        self.ordinal = range.start;
        self.range = range;
    }

    /// How many elements there are of some numbers; they are appended to a column, where there is one.
    fn take(&self, numbers: Range<u64>, out: Option<&mut Vec<VertexId>>) -> Result<u64, WalkError> {
        match (self.arranged, out) {
            (Some(arranged), Some(out)) => arranged.decode(numbers, out),
            (Some(arranged), None) => arranged.count(numbers),
            (None, Some(out)) => {
                self.policy.set.decode(numbers.start, numbers.end, out)?;
                Ok(numbers.end - numbers.start)
            }
            (None, None) => Ok(numbers.end - numbers.start),
        }
    }

    pub(crate) fn run(&mut self, flow: &mut Flow<'_>) -> Result<StepOutcome, WalkError> {
        let length = self.range.end.saturating_sub(self.range.start);
        if flow.carried.is_empty() && self.policy.into.is_none() {
            let elements = self.take(self.range.clone(), None)?;
            let product = flow.input.rows().checked_mul(elements);
            flow.output.add_rows(product.unwrap_or(ROWS_MAX + 1))?;
            return Ok(StepOutcome::Drained);
        }
        if length == 0 {
            return Ok(StepOutcome::Drained);
        }
        while self.row < flow.input.rows() {
            if flow.is_full() {
                return Ok(StepOutcome::More);
            }
            let take = (flow.room() as u64).min(self.range.end - self.ordinal);
            let numbers = self.ordinal..self.ordinal + take;
            let cells = self.policy.into.map(|into| flow.output.cells_mut(into));
            let elements = self.take(numbers, cells)?;
            flow.output
                .repeat(flow.input, flow.carried, self.row, elements as usize);
            flow.output.add_rows(elements)?;
            self.ordinal += take;
            if self.ordinal == self.range.end {
                self.row += 1;
                self.ordinal = self.range.start;
            }
        }
        self.row = 0;
        Ok(StepOutcome::Drained)
    }
}
