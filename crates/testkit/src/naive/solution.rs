//! A solution: a partial function from variables to terms (SPARQL 1.1 Query section 18.1.8).
//!
//! Variables are numbered by whoever evaluates; a number without a cell is unbound, so a solution
//! may be shorter than another one. Terms are shared, because a naive evaluation copies solutions.

use oxrdf::Term;
use std::rc::Rc;

/// A partial function from numbered variables to terms.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct Solution {
    cells: Vec<Option<Rc<Term>>>,
}

impl Solution {
    /// The value of a variable.
    pub(super) fn get(&self, slot: usize) -> Option<&Rc<Term>> {
        self.cells.get(slot)?.as_ref()
    }

    /// The value of a variable, for keeps.
    pub(super) fn term(&self, slot: usize) -> Option<Term> {
        self.get(slot).map(|term| Term::clone(term))
    }

    /// Gives a variable a value, or says that it has another one.
    #[must_use]
    pub(super) fn bind(&mut self, slot: usize, term: &Rc<Term>) -> bool {
        if self.cells.len() <= slot {
            self.cells.resize(slot + 1, None);
        }
        self.cells[slot].get_or_insert_with(|| Rc::clone(term)) == term
    }

    /// The numbers of the variables that have a value.
    pub(super) fn bound(&self) -> impl Iterator<Item = usize> + '_ {
        let bound = |(slot, cell): (usize, &Option<Rc<Term>>)| cell.as_ref().map(|_| slot);
        self.cells.iter().enumerate().filter_map(bound)
    }

    /// All values.
    pub(super) fn terms(&self) -> impl Iterator<Item = &Rc<Term>> {
        self.cells.iter().flatten()
    }

    /// Only these variables.
    pub(super) fn restricted(&self, slots: &[usize]) -> Solution {
        let mut restricted = Solution::default();
        for &slot in slots {
            if let Some(term) = self.get(slot) {
                assert!(restricted.bind(slot, term), "a value agrees with itself");
            }
        }
        restricted
    }

    /// Both together, where they agree on the variables that both bind (compatible mappings).
    pub(super) fn merged(&self, other: &Solution) -> Option<Solution> {
        let mut merged = self.clone();
        for (slot, cell) in other.cells.iter().enumerate() {
            if let Some(term) = cell
                && !merged.bind(slot, term)
            {
                return None;
            }
        }
        Some(merged)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use oxrdf::Literal;

    fn solution(cells: &[(usize, i64)]) -> Solution {
        let mut solution = Solution::default();
        for &(slot, value) in cells {
            assert!(solution.bind(slot, &Rc::new(Literal::from(value).into())));
        }
        solution
    }

    #[test]
    fn compatible_solutions_merge() {
        let left = solution(&[(0, 1), (2, 3)]);
        let merged = left.merged(&solution(&[(2, 3), (5, 9)])).unwrap();
        assert_eq!(merged.term(5), Some(Literal::from(9).into()));
        assert_eq!(merged.term(0), Some(Literal::from(1).into()));
        assert_eq!(merged.term(1), None);
        assert!(left.merged(&solution(&[(2, 4)])).is_none());
        assert!(left.merged(&Solution::default()).is_some());
    }
}
