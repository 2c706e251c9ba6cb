//! The answer of a live query as a bag of rows, and how it changes.
//!
//! An evaluation counts its rows into the same bag that holds the answer before, so that what stays is there once:
//!
//! ```text
//!  row | before | now            added        now - before, where that is positive
//!  a   |   2    |  2      --->   removed      before - now, where that is
//!  b   |   1    |  0             afterwards   before = now, rows of 0 are gone
//! ```
//!
//! Invariant: outside of an evaluation `now` is 0 everywhere and no `before` is. Memory is asked for before a row is
//! taken, and given back with it. Cost: O(rows of the answer) an evaluation.

use crate::budget::Budget;
use crate::error::{Kind, QueryError, Unit};
use crate::output::Rows;
use crate::standing::report::ReportRow;
use explore::{MemoryBudget, WalkError};
use oxrdf::{Term, TermRef};
use std::collections::HashMap;
use std::sync::Arc;

/// A row, shared by all who name it.
pub(super) type Row = Arc<ReportRow>;
/// How much more often rows are there than before; no weight is 0.
pub(super) type Weights = HashMap<Row, i64>;

/// Bytes of a row besides its cells and their text: its place in the table, with slack, and its counters.
const ROW_BYTES: u64 = 96;

/// See the head of this file.
pub(super) struct Bag {
    rows: HashMap<Row, Count>,
    bytes: u64,
    /// What it may hold (bytes).
    bytes_max: u64,
    budget: Arc<Budget>,
    /// Whether a row is there once at most: that of a graph.
    is_set: bool,
}

#[derive(Clone, Copy, Default)]
struct Count {
    before: u64,
    now: u64,
}

impl Bag {
    /// An empty one.
    pub(super) fn new(bytes_max: u64, budget: Arc<Budget>, is_set: bool) -> Bag {
        Bag {
            rows: HashMap::new(),
            bytes: 0,
            bytes_max,
            budget,
            is_set,
        }
    }

    /// Counts rows of the next answer.
    pub(super) fn count(&mut self, rows: &Rows) -> Result<(), QueryError> {
        for row in 0..rows.len {
            let cells = rows.row(row).map(|cell| cell.map(TermRef::into_owned));
            self.count_row(ReportRow(cells.collect()))?;
        }
        Ok(())
    }

    /// Counts one.
    pub(super) fn count_row(&mut self, row: ReportRow) -> Result<(), QueryError> {
        if let Some(count) = self.rows.get_mut(&row) {
            count.now = if self.is_set { 1 } else { count.now + 1 };
            return Ok(());
        }
        let bytes = row_bytes(&row);
        let used = self.bytes + bytes;
        if used > self.bytes_max {
            let limit = self.bytes_max;
            let message = format!("the answer of a live query may take {limit} bytes of memory");
            return Err(QueryError::new(Kind::Memory, message)
                .with_limit(Unit::Bytes, limit, used)
                .with_hint("ask for less: it is kept to be compared with the next one"));
        }
        MemoryBudget::try_reserve(&*self.budget, bytes).map_err(WalkError::from)?;
        self.bytes = used;
        let count = Count { before: 0, now: 1 };
        self.rows.insert(Arc::new(row), count);
        Ok(())
    }

    /// The answer that was counted takes the place of the one before: what has changed.
    pub(super) fn turn(&mut self) -> Weights {
        let mut weights = Weights::new();
        let mut gone = 0;
        self.rows.retain(|row, count| {
            if count.now != count.before {
                let weight = count.now.cast_signed() - count.before.cast_signed();
                weights.insert(Arc::clone(row), weight);
            }
            *count = Count {
                before: count.now,
                now: 0,
            };
            if count.before == 0 {
                gone += row_bytes(row);
            }
            count.before > 0
        });
        self.bytes -= gone;
        self.budget.give_back(gone);
        weights
    }

    /// The rows of the answer, each with how often it is there.
    pub(super) fn rows(&self) -> impl Iterator<Item = (Row, u64)> + '_ {
        let rows = self.rows.iter();
        rows.map(|(row, count)| (Arc::clone(row), count.before))
    }
}

impl Drop for Bag {
    fn drop(&mut self) {
        self.budget.give_back(self.bytes);
    }
}

/// What a row takes (bytes).
pub(super) fn row_bytes(row: &ReportRow) -> u64 {
    let cells = row.0.iter().flatten().map(term_bytes).sum::<usize>();
    let places = row.0.len() * size_of::<Option<Term>>();
    (cells + places) as u64 + ROW_BYTES
}

fn term_bytes(term: &Term) -> usize {
    match term {
        Term::NamedNode(node) => node.as_str().len(),
        Term::BlankNode(node) => node.as_str().len(),
        Term::Literal(literal) => {
            literal.value().len()
                + literal.datatype().as_str().len()
                + literal.language().map_or(0, str::len)
        }
        Term::Triple(triple) => {
            let subject = Term::from(triple.subject.clone());
            let parts = term_bytes(&subject) + triple.predicate.as_str().len();
            parts + term_bytes(&triple.object) + 3 * size_of::<Term>()
        }
    }
}

/// Adds weights to others; what cancels is gone.
pub(super) fn add(sum: &mut Weights, others: &Weights) {
    for (row, weight) in others {
        let total = sum.get(row).copied().unwrap_or(0) + weight;
        if total == 0 {
            sum.remove(row);
        } else {
            sum.insert(Arc::clone(row), total);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::budget::Pool;
    use oxrdf::Literal;

    fn row(number: u64) -> ReportRow {
        ReportRow(vec![Some(Literal::from(number).into()), None])
    }

    fn bag(bytes_max: u64) -> Bag {
        let pool = Pool::new(1 << 30);
        Bag::new(bytes_max, Arc::new(Budget::new(&pool, u64::MAX)), false)
    }

    fn turned(bag: &mut Bag, rows: &[u64]) -> Vec<(String, i64)> {
        for number in rows {
            bag.count_row(row(*number)).unwrap();
        }
        let weights = bag.turn().into_iter();
        let shown = |(row, weight): (Row, i64)| {
            let cell = row.0[0].as_ref().unwrap().to_string();
            (cell.chars().nth(1).unwrap().to_string(), weight)
        };
        let mut weights: Vec<_> = weights.map(shown).collect();
        weights.sort();
        weights
    }

    fn weighted(row: &str, weight: i64) -> (String, i64) {
        (row.to_owned(), weight)
    }

    #[test]
    fn rows_count_as_often_as_they_are_there() {
        let mut bag = bag(u64::MAX);
        let first = [weighted("1", 2), weighted("2", 1)];
        assert_eq!(turned(&mut bag, &[1, 2, 1]), first);
        assert_eq!(turned(&mut bag, &[1, 2, 1]), []);
        let next = [weighted("1", -1), weighted("2", -1), weighted("3", 3)];
        assert_eq!(turned(&mut bag, &[3, 3, 1, 3]), next);
        let mut counts: Vec<u64> = bag.rows().map(|(_, count)| count).collect();
        counts.sort_unstable();
        assert_eq!(counts, [1, 3]);
        assert_eq!(
            turned(&mut bag, &[]),
            [weighted("1", -1), weighted("3", -3)]
        );
        assert_eq!((bag.bytes, bag.budget.peak_bytes() > 0), (0, true));
    }

    #[test]
    fn a_graph_has_a_triple_once() {
        let mut bag = bag(u64::MAX);
        bag.is_set = true;
        assert_eq!(turned(&mut bag, &[1, 1]), [weighted("1", 1)]);
        assert_eq!(turned(&mut bag, &[1]), []);
    }

    #[test]
    fn an_answer_stays_below_its_limit() {
        let mut bag = bag(2 * row_bytes(&row(1)));
        bag.count_row(row(1)).unwrap();
        bag.count_row(row(2)).unwrap();
        bag.count_row(row(2)).unwrap();
        let error = bag.count_row(row(3)).unwrap_err();
        assert_eq!(
            (error.kind, error.limit),
            (Kind::Memory, Some(bag.bytes_max))
        );
    }

    #[test]
    fn what_cancels_is_gone() {
        let one = Arc::new(row(1));
        let weights = |weight| Weights::from([(Arc::clone(&one), weight)]);
        let mut sum = weights(2);
        add(&mut sum, &weights(-1));
        assert_eq!(sum[&one], 1);
        add(&mut sum, &weights(-1));
        assert!(sum.is_empty());
    }
}
