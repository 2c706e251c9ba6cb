//! A naive evaluator: the definitions of SPARQL 1.1 Query section 18, and nothing clever.
//!
//! A solution is a partial function from variables to terms; a basic graph pattern is matched by
//! looping over all triples of the active graph for each of its patterns; a join compares all
//! pairs. Invariant: nothing is decided by an estimate, an index or an order of evaluation that the
//! definitions do not allow, so what comes out is the specified bag.
//!
//! Covers this release's subset: `SELECT` and `ASK` over basic graph patterns, `GRAPH`, `FILTER`,
//! datasets, `DISTINCT`, `REDUCED`, `ORDER BY`, `LIMIT`, `OFFSET`, `COUNT(*)`. Cost: patterns times
//! rows times triples, bounded by a budget after which the question is given back as too large.

mod expression;
mod function;
mod notes;
pub mod order;
mod pattern;
mod solution;
mod value;

use crate::Row;
use expression::Scope;
use notes::Notes;
use oxrdf::{Dataset, Term, Variable};
use pattern::Evaluator;
use solution::Solution;
use spargebra::algebra::{GraphPattern, OrderExpression};
use spargebra::{Query, SparqlParser};
use std::collections::HashMap;

/// Comparisons of a pattern with a triple, or of two rows, after which a question is too large.
pub const WORK_MAX: u64 = 600_000;

/// Rows of an answer above which a question is too large: comparing them would be what costs.
pub const ROWS_MAX: usize = 5_000;

/// Why there is no expected answer.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NaiveError {
    /// The query does not parse.
    #[error("the query does not parse: {0}")]
    Parse(String),
    /// It is outside the subset.
    #[error("{0} is not evaluated naively")]
    Unsupported(&'static str),
    /// It would take more than [`WORK_MAX`] steps, or give more than [`ROWS_MAX`] rows.
    #[error("the question is too large for a naive evaluation")]
    TooLarge,
}

/// Everything that the specification says of an answer.
#[derive(Clone, Debug, PartialEq)]
pub struct Expected {
    /// The answer of an `ASK`; the rest is then empty.
    pub boolean: Option<bool>,
    /// The projected variables, without question marks.
    pub variables: Vec<String>,
    /// Whether the order of the variables is left open (`SELECT *`).
    pub has_free_columns: bool,
    /// All rows, before `OFFSET` and `LIMIT`; no order is meant by this one.
    pub rows: Vec<Row>,
    /// What `ORDER BY` sorts by.
    pub ordering: Option<Ordering>,
    /// Whether duplicates may be missing (`REDUCED`).
    pub is_reduced: bool,
    /// Rows that are skipped.
    pub offset: usize,
    /// Rows that are given at most.
    pub limit: Option<usize>,
    /// Whether a value was met for which `spareval` deviates from the specification.
    pub spareval_differs: bool,
}

/// The sort keys of an answer.
#[derive(Clone, Debug, PartialEq)]
pub struct Ordering {
    /// For each key whether it is descending.
    pub descending: Vec<bool>,
    /// For each row of [`Expected::rows`] its keys.
    pub keys: Vec<Vec<order::Cell>>,
}

/// What the specification says about this query on this dataset.
pub fn answer(dataset: &Dataset, query: &str) -> Result<Expected, NaiveError> {
    answer_within(dataset, query, WORK_MAX)
}

/// The same with another bound on the work.
pub fn answer_within(
    dataset: &Dataset,
    query: &str,
    work_max: u64,
) -> Result<Expected, NaiveError> {
    let has_free_columns = selects_all(query);
    let query = SparqlParser::new()
        .parse_query(query)
        .map_err(|error| NaiveError::Parse(error.to_string()))?;
    let (clause, pattern, asks) = match &query {
        Query::Select {
            dataset, pattern, ..
        } => (dataset, pattern, false),
        Query::Ask {
            dataset, pattern, ..
        } => (dataset, pattern, true),
        _ => return Err(NaiveError::Unsupported("a form other than SELECT and ASK")),
    };
    let notes = Notes::default();
    let mut evaluator = Evaluator::new(dataset, clause.as_ref(), &notes, work_max);
    let mut expected = modified(pattern, &mut evaluator)?;
    if let Some(missing) = notes.missing() {
        return Err(NaiveError::Unsupported(missing));
    }
    expected.spareval_differs = notes.differs();
    expected.has_free_columns = has_free_columns;
    if asks {
        let given = expected.rows.len().saturating_sub(expected.offset);
        let is_some = given > 0 && expected.limit != Some(0);
        expected = Expected {
            boolean: Some(is_some),
            variables: Vec::new(),
            rows: Vec::new(),
            ordering: None,
            is_reduced: false,
            offset: 0,
            limit: None,
            ..expected
        };
    }
    Ok(expected)
}

/// Whether a query says `SELECT *`; the algebra no longer tells.
pub(crate) fn selects_all(query: &str) -> bool {
    let words = query.to_ascii_uppercase();
    let mut words = words
        .split_whitespace()
        .skip_while(|word| *word != "SELECT")
        .skip(1);
    let first = words.find(|word| !matches!(*word, "DISTINCT" | "REDUCED"));
    first.is_some_and(|word| word.starts_with('*'))
}

/// The solution modifiers (section 18.2.5), outermost first: slice, distinct or reduced, project,
/// order.
fn modified(pattern: &GraphPattern, evaluator: &mut Evaluator<'_>) -> Result<Expected, NaiveError> {
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
    let mut projected: Vec<Variable> = Vec::new();
    if let GraphPattern::Project { inner, variables } = below {
        projected.clone_from(variables);
        below = inner;
    }
    let mut by: &[OrderExpression] = &[];
    if let GraphPattern::OrderBy { inner, expression } = below {
        (by, below) = (expression, inner);
    }
    let solutions = evaluator.evaluate(below)?;
    if solutions.len() > ROWS_MAX {
        return Err(NaiveError::TooLarge);
    }
    let slots: Vec<_> = projected
        .iter()
        .map(|variable| evaluator.slot(variable))
        .collect();
    let project =
        |solution: &Solution| -> Row { slots.iter().map(|&slot| solution.term(slot)).collect() };
    let mut rows: Vec<Row> = solutions.iter().map(project).collect();
    let mut ordering = (!by.is_empty()).then(|| sort_keys(by, &solutions, evaluator));
    if is_distinct {
        (rows, ordering) = distinct(rows, ordering);
    }
    let variables = projected.into_iter().map(Variable::into_string).collect();
    Ok(Expected {
        boolean: None,
        variables,
        has_free_columns: false,
        rows,
        ordering,
        is_reduced,
        offset,
        limit,
        spareval_differs: false,
    })
}

fn sort_keys(
    by: &[OrderExpression],
    solutions: &[Solution],
    evaluator: &Evaluator<'_>,
) -> Ordering {
    let descending = by
        .iter()
        .map(|each| matches!(each, OrderExpression::Desc(_)))
        .collect();
    let keys_of = |solution: &Solution| -> Vec<order::Cell> {
        let lookup = |variable: &Variable| evaluator.value(variable, solution);
        let scope = Scope {
            lookup: &lookup,
            notes: evaluator.notes,
        };
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

/// One row of each. The order is lost where equal rows have different keys: then there is none
/// that the specification promises.
fn distinct(rows: Vec<Row>, ordering: Option<Ordering>) -> (Vec<Row>, Option<Ordering>) {
    let mut first: HashMap<Row, usize> = HashMap::new();
    let (mut kept, mut keys) = (Vec::new(), Vec::new());
    let mut is_ordered = ordering.is_some();
    for (index, row) in rows.into_iter().enumerate() {
        let key = ordering
            .as_ref()
            .map(|ordering| ordering.keys[index].clone());
        if let Some(&position) = first.get(&row) {
            is_ordered &= key.as_ref() == keys.get(position);
            continue;
        }
        first.insert(row.clone(), kept.len());
        kept.push(row);
        keys.extend(key);
    }
    let ordering = ordering.filter(|_| is_ordered);
    (kept, ordering.map(|ordering| Ordering { keys, ..ordering }))
}

impl Expected {
    /// Number of rows that an engine has to give.
    pub fn given(&self) -> usize {
        let left = self.rows.len().saturating_sub(self.offset);
        self.limit.map_or(left, |limit| left.min(limit))
    }
}

/// A term, as text in messages.
pub(crate) fn shown(cell: Option<&Term>) -> String {
    cell.map_or_else(|| "UNDEF".to_owned(), ToString::to_string)
}

#[cfg(test)]
mod tests;
