//! The solution modifiers (SPARQL 1.1 Query sections 15 and 18.2.5), of a query and of its
//! sub-queries.
//!
//! Of a query everything is kept that the specification says (all rows, the sort keys, the slice),
//! so that an answer can be held against it. A sub-query has to be cut at once: where its slice
//! falls between rows that have no promised order, the whole answer is undetermined.

use super::NaiveError;
use super::evaluator::{Context, Evaluator};
use super::order;
use super::solution::Solution;
use super::{Ordering, ROWS_MAX};
use oxrdf::Variable;
use spargebra::algebra::{GraphPattern, OrderExpression};
use std::collections::{HashMap, HashSet};
use std::{cmp, mem};

const OPEN: NaiveError = NaiveError::Undetermined("a slice between rows without an order");

/// What a query with its modifiers gives, before the slice.
pub(super) struct Selected {
    /// The projected variables, if it projects.
    pub(super) projected: Option<Vec<Variable>>,
    /// All rows, restricted to these variables.
    pub(super) solutions: Vec<Solution>,
    /// Their sort keys.
    pub(super) ordering: Option<Ordering>,
    pub(super) is_reduced: bool,
    pub(super) offset: usize,
    pub(super) limit: Option<usize>,
}

impl Evaluator<'_> {
    /// The modifiers, outermost first: slice, distinct or reduced, project, order.
    pub(super) fn selected(
        &self,
        pattern: &GraphPattern,
        context: &Context,
    ) -> Result<Selected, NaiveError> {
        let mut below = pattern;
        let (mut offset, mut limit) = (0, None);
        if let GraphPattern::Slice {
            inner,
            start,
            length,
        } = below
        {
            (offset, limit, below) = (*start, *length, inner);
        }
        let (mut is_distinct, mut is_reduced) = (false, false);
        match below {
            GraphPattern::Distinct { inner } => (is_distinct, below) = (true, inner),
            GraphPattern::Reduced { inner } => (is_reduced, below) = (true, inner),
            _ => {}
        }
        let mut projected = None;
        let mut context = context.clone();
        if let GraphPattern::Project { inner, variables } = below {
            let slots: Vec<usize> = variables.iter().map(|each| self.slot(each)).collect();
            context.input = context.input.restricted(&slots);
            context.graph_slots.retain(|slot| slots.contains(slot));
            projected = Some((variables.clone(), slots));
            below = inner;
        }
        let mut by: &[OrderExpression] = &[];
        if let GraphPattern::OrderBy { inner, expression } = below {
            (by, below) = (expression, inner);
        }
        let mut solutions = self.evaluate(below, &context)?;
        if solutions.len() > ROWS_MAX {
            return Err(NaiveError::TooLarge);
        }
        let mut ordering = (!by.is_empty()).then(|| self.sort_keys(by, &solutions, &context));
        self.notes.check()?;
        if let Some((_, slots)) = &projected {
            solutions = solutions
                .iter()
                .map(|each| each.restricted(slots))
                .collect();
        }
        if is_distinct {
            self.refuse_choices(&solutions)?;
            (solutions, ordering) = distinct(solutions, ordering);
        }
        Ok(Selected {
            projected: projected.map(|(variables, _)| variables),
            solutions,
            ordering,
            is_reduced,
            offset,
            limit,
        })
    }

    fn sort_keys(
        &self,
        by: &[OrderExpression],
        solutions: &[Solution],
        context: &Context,
    ) -> Ordering {
        let descending = by
            .iter()
            .map(|each| matches!(each, OrderExpression::Desc(_)))
            .collect();
        let keys_of = |solution: &Solution| -> Vec<order::Cell> {
            let scope = self.scope(solution, context);
            let expression = |each| match each {
                &OrderExpression::Asc(ref expression) | &OrderExpression::Desc(ref expression) => {
                    scope.evaluate(expression)
                }
            };
            by.iter().map(expression).collect()
        };
        Ordering {
            descending,
            keys: solutions.iter().map(keys_of).collect(),
        }
    }

    /// A sub-query: its rows, joined with what is known outside.
    pub(super) fn sub_query(
        &self,
        pattern: &GraphPattern,
        context: &Context,
    ) -> Result<Vec<Solution>, NaiveError> {
        let selected = self.selected(pattern, context)?;
        let rows = self.cut(selected)?;
        Ok(rows
            .iter()
            .filter_map(|row| row.merged(&context.input))
            .collect())
    }

    /// The rows that the slice leaves.
    pub(super) fn cut(&self, selected: Selected) -> Result<Vec<Solution>, NaiveError> {
        let mut selected = selected;
        self.refuse_choices(&selected.solutions)?;
        let count = selected.solutions.len();
        let end = selected.limit.map_or(count, |limit| {
            count.min(selected.offset.saturating_add(limit))
        });
        if selected.is_reduced {
            let mut seen = HashSet::new();
            if selected
                .solutions
                .iter()
                .any(|each| !seen.insert(each.clone()))
            {
                return Err(NaiveError::Undetermined(
                    "how many duplicates REDUCED keeps",
                ));
            }
        }
        let has_slice = selected.offset > 0 || selected.limit.is_some();
        let keys = selected
            .ordering
            .as_ref()
            .map_or(0, |each| each.descending.len());
        if has_slice && (0..keys).any(|column| selected.is_mixed(column)) {
            return Err(OPEN);
        }
        if selected.offset >= end {
            return Ok(Vec::new());
        }
        if selected.offset == 0 && end == count {
            return Ok(mem::take(&mut selected.solutions));
        }
        selected.slice(selected.offset, end)
    }
}

impl Selected {
    /// The rows from one place of the order to another, if no tie is cut.
    fn slice(&self, start: usize, end: usize) -> Result<Vec<Solution>, NaiveError> {
        let keys = |index: usize| self.ordering.as_ref().map(|ordering| &ordering.keys[index]);
        let descending = self
            .ordering
            .as_ref()
            .map_or(&[][..], |each| &each.descending);
        let compare = |one: &usize, other: &usize| {
            let (Some(one), Some(other)) = (keys(*one), keys(*other)) else {
                return cmp::Ordering::Equal;
            };
            let pairs = one.iter().zip(other).zip(descending);
            let compared = pairs.map(|((one, other), &is_descending)| {
                let ranks = order::rank(one).cmp(&order::rank(other));
                let order = ranks.then_with(|| order::within_class(one, other));
                if is_descending {
                    order.reverse()
                } else {
                    order
                }
            });
            compared.fold(cmp::Ordering::Equal, cmp::Ordering::then)
        };
        let mut sorted: Vec<usize> = (0..self.solutions.len()).collect();
        sorted.sort_by(compare);
        for boundary in [start, end] {
            let is_inside = boundary > 0 && boundary < sorted.len();
            if !is_inside {
                continue;
            }
            let (last, first) = (sorted[boundary - 1], sorted[boundary]);
            if compare(&last, &first).is_ne() {
                continue;
            }
            let mut tied = sorted.iter().filter(|each| compare(each, &last).is_eq());
            if tied.any(|&each| self.solutions[each] != self.solutions[last]) {
                return Err(OPEN);
            }
        }
        Ok(sorted[start..end]
            .iter()
            .map(|&index| self.solutions[index].clone())
            .collect())
    }

    /// Whether a key has cells of one rank without a promised order.
    fn is_mixed(&self, column: usize) -> bool {
        let mut classes = HashMap::new();
        let keys = self.ordering.iter().flat_map(|ordering| &ordering.keys);
        keys.map(|keys| &keys[column]).any(|cell| {
            let class = order::class(cell);
            *classes
                .entry(order::rank(cell))
                .or_insert_with(|| class.clone())
                != class
        })
    }
}

/// One row of each. The order is lost where equal rows have different keys: then there is none
/// that the specification promises.
fn distinct(
    solutions: Vec<Solution>,
    ordering: Option<Ordering>,
) -> (Vec<Solution>, Option<Ordering>) {
    let mut first: HashMap<Solution, usize> = HashMap::new();
    let (mut kept, mut keys) = (Vec::new(), Vec::new());
    let mut is_ordered = ordering.is_some();
    for (index, solution) in solutions.into_iter().enumerate() {
        let key = ordering
            .as_ref()
            .map(|ordering| ordering.keys[index].clone());
        if let Some(&position) = first.get(&solution) {
            is_ordered &= key.as_ref() == keys.get(position);
            continue;
        }
        first.insert(solution.clone(), kept.len());
        kept.push(solution);
        keys.extend(key);
    }
    let ordering = ordering.filter(|_| is_ordered);
    (kept, ordering.map(|ordering| Ordering { keys, ..ordering }))
}
