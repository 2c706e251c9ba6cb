//! Grouping and the set functions (SPARQL 1.1 Query sections 11 and 18.5.1).
//!
//! An error among the values of a group makes `SUM`, `AVG`, `MIN`, `MAX` and `GROUP_CONCAT` an
//! error, which leaves the variable unbound; `COUNT` skips errors, `SAMPLE` takes something else.
//! Equality, for groups and `DISTINCT`, is of terms. `MIN` and `MAX` go by `ORDER BY`: where that
//! leaves open which value comes first, so does the answer.

use super::NaiveError;
use super::choice::Choice;
use super::evaluator::{Context, Evaluator};
use super::number::Number;
use super::order;
use super::solution::Solution;
use super::value::{self, Value};
use crate::Row;
use oxrdf::{Literal, Term, Variable};
use spargebra::algebra::{AggregateExpression, AggregateFunction, Expression, GraphPattern};
use std::collections::{HashMap, HashSet};
use std::rc::Rc;

impl Evaluator<'_> {
    /// One solution a group: its keys and aggregates. Without keys there is one group, also where
    /// nothing is in it.
    pub(super) fn group(
        &self,
        inner: &GraphPattern,
        solutions: &[Solution],
        keys: &[Variable],
        aggregates: &[(Variable, AggregateExpression)],
        context: &Context,
    ) -> Result<Vec<Solution>, NaiveError> {
        self.spend(solutions.len())?;
        self.refuse_choices(solutions)?;
        let slots: Vec<usize> = keys.iter().map(|key| self.slot(key)).collect();
        let mut numbers: HashMap<Solution, usize> = HashMap::new();
        let mut groups: Vec<(Solution, Vec<&Solution>)> = Vec::new();
        if keys.is_empty() {
            groups.push((Solution::default(), solutions.iter().collect()));
        } else {
            for solution in solutions {
                let key = solution.restricted(&slots);
                let number = *numbers.entry(key.clone()).or_insert(groups.len());
                if number == groups.len() {
                    groups.push((key, Vec::new()));
                }
                groups[number].1.push(solution);
            }
        }
        let mut grouped = Vec::new();
        for (mut row, members) in groups {
            for (variable, aggregate) in aggregates {
                let value = self.aggregate(aggregate, &members, inner, context)?;
                if let Some(value) = value {
                    let is_new = row.bind(self.slot(variable), &Rc::new(value));
                    assert!(is_new, "each aggregate has its own variable");
                }
            }
            grouped.push(row);
        }
        Ok(grouped)
    }

    fn aggregate(
        &self,
        aggregate: &AggregateExpression,
        members: &[&Solution],
        inner: &GraphPattern,
        context: &Context,
    ) -> Result<Option<Term>, NaiveError> {
        let (name, expression, is_distinct) = match aggregate {
            AggregateExpression::CountSolutions { distinct: false } => {
                return Ok(Some(count(members.len())));
            }
            AggregateExpression::CountSolutions { distinct: true } => {
                return Ok(Some(count(self.distinct_rows(members, inner, context))));
            }
            AggregateExpression::FunctionCall {
                name,
                expr,
                distinct,
            } => (name, expr, *distinct),
        };
        self.spend(members.len())?;
        let value = |member: &&Solution| self.scope(member, context).evaluate(expression);
        let values: Vec<Option<Term>> = members.iter().map(value).collect();
        self.notes.check()?;
        let has_error = values.iter().any(Option::is_none);
        let mut values: Vec<Term> = values.into_iter().flatten().collect();
        if is_distinct {
            self.note_distinct(&values);
            let mut seen = HashSet::new();
            values.retain(|value| seen.insert(value.clone()));
        }
        match name {
            AggregateFunction::Count => {
                if has_error && !matches!(expression, Expression::Variable(_)) {
                    self.notes
                        .spareval_differs("errors end its COUNT of an expression");
                }
                Ok(Some(count(values.len())))
            }
            AggregateFunction::Sample => Ok(self.any_of(values)),
            AggregateFunction::Custom(_) => {
                Err(NaiveError::Unsupported("an aggregate that is not SPARQL's"))
            }
            _ if has_error => Ok(None),
            AggregateFunction::Sum => Ok(self.number(sum(&values))),
            AggregateFunction::Avg => Ok(self.number(average(&values))),
            AggregateFunction::Min => self.extreme(values, false),
            AggregateFunction::Max => self.extreme(values, true),
            AggregateFunction::GroupConcat { separator } => {
                Ok(self.joined(&values, separator.as_deref().unwrap_or(" ")))
            }
        }
    }

    /// Number of solutions that differ in what is in scope.
    fn distinct_rows(
        &self,
        members: &[&Solution],
        inner: &GraphPattern,
        context: &Context,
    ) -> usize {
        if self.has_blank_slots() {
            self.notes
                .spareval_differs("it tells solutions by the query's blank nodes too");
        }
        let slots = self.slots_in_scope(inner);
        let is_hidden = |slot: &usize| context.input.get(*slot).is_some() && !slots.contains(slot);
        if context.graph_slots.iter().any(is_hidden) {
            self.notes
                .spareval_differs("it counts the graph as a part of solutions");
        }
        let row =
            |member: &&Solution| -> Row { slots.iter().map(|&slot| member.term(slot)).collect() };
        members.iter().map(row).collect::<HashSet<_>>().len()
    }

    /// A computed number as a term.
    fn number(&self, number: Option<Number>) -> Option<Term> {
        let is_small = number.as_ref().is_some_and(Number::is_small);
        if !is_small || matches!(number, Some(Number::Decimal(_))) {
            self.notes
                .spareval_differs("its integers and decimals are bounded, its quotients cut");
        }
        Some(number?.literal().into())
    }

    fn note_distinct(&self, values: &[Term]) {
        let is_odd = |value: &Term| {
            !value::is_canonical(value)
                || matches!(Value::of(value), Value::Number(number) if number.is_odd())
        };
        if values.iter().any(is_odd) {
            self.notes
                .spareval_differs("its DISTINCT in aggregates is of values, not of terms");
        }
    }

    /// One of several values: a choice, unless they are all the same.
    fn any_of(&self, mut values: Vec<Term>) -> Option<Term> {
        if values.iter().any(|value| !value::is_canonical(value)) {
            self.notes
                .spareval_differs("it forgets how a value was written");
        }
        let mut seen = HashSet::new();
        values.retain(|value| seen.insert(value.clone()));
        match values.len() {
            0 | 1 => values.pop(),
            _ => Some(self.chosen(Choice::Member(values))),
        }
    }

    /// The first or the last value in the order of `ORDER BY`.
    fn extreme(&self, values: Vec<Term>, is_last: bool) -> Result<Option<Term>, NaiveError> {
        let cells: Vec<order::Cell> = values.into_iter().map(Some).collect();
        let ranks = cells.iter().map(order::rank);
        let rank = if is_last { ranks.max() } else { ranks.min() };
        let Some(rank) = rank else {
            return Ok(None);
        };
        let mut first: Vec<order::Cell> = Vec::new();
        let cells: Vec<_> = cells
            .into_iter()
            .filter(|cell| order::rank(cell) == rank)
            .collect();
        let classes: HashSet<order::Class> = cells.iter().map(order::class).collect();
        if classes.len() > 1 {
            return Err(NaiveError::Undetermined(
                "the least of values without an order",
            ));
        }
        for cell in cells {
            let ordering = first.first().map(|best| order::within_class(&cell, best));
            let is_better = |ordering: std::cmp::Ordering| {
                if is_last {
                    ordering.is_gt()
                } else {
                    ordering.is_lt()
                }
            };
            if ordering.is_none_or(is_better) {
                first.clear();
                first.push(cell);
            } else if ordering.is_some_and(std::cmp::Ordering::is_eq) {
                first.push(cell);
            }
        }
        Ok(self.any_of(first.into_iter().flatten().collect()))
    }

    /// `GROUP_CONCAT`: what `STR` gives of each value, joined to a simple literal.
    fn joined(&self, values: &[Term], separator: &str) -> Option<Term> {
        let mut parts = Vec::new();
        for value in values {
            if !matches!(Value::of(value), Value::Text(_)) {
                self.notes
                    .spareval_differs("its GROUP_CONCAT takes strings only and keeps a language");
            }
            match value {
                Term::NamedNode(iri) => parts.push(iri.as_str().to_owned()),
                Term::Literal(literal) => parts.push(literal.value().to_owned()),
                Term::BlankNode(_) | Term::Triple(_) => return None,
            }
        }
        let is_fixed = parts.windows(2).all(|pair| pair[0] == pair[1]);
        if is_fixed {
            return Some(Literal::from(parts.join(separator)).into());
        }
        let separator = separator.to_owned();
        Some(self.chosen(Choice::Joined { parts, separator }))
    }
}

fn count(count: usize) -> Term {
    Literal::from(count as i64).into()
}

/// The sum from zero, with `op:numeric-add`; `None` is an error.
fn sum(values: &[Term]) -> Option<Number> {
    let mut sum = Number::Integer(0.into());
    for value in values {
        let Value::Number(number) = Value::of(value) else {
            return None;
        };
        sum = sum.plus(&number)?;
    }
    Some(sum)
}

fn average(values: &[Term]) -> Option<Number> {
    if values.is_empty() {
        return Some(Number::Integer(0.into()));
    }
    sum(values)?.by(&Number::Integer(values.len().into()))
}
