//! A naive evaluator: the definitions of SPARQL 1.1 Query section 18, and nothing clever.
//!
//! A solution is a partial function from variables to terms; a basic graph pattern is matched by
//! looping over all triples of the active graph for each of its patterns; a join compares all
//! pairs. Invariant: nothing is decided by an estimate, an index or an order of evaluation that the
//! definitions do not allow, so what comes out is the specified bag.
//!
//! Covers all of SPARQL 1.1 and what the grammar has of 1.2, with `LATERAL`, but for `SERVICE` and
//! functions that give something else each time. What the specification leaves open is kept open in
//! [`Expected`], or makes the question [`NaiveError::Undetermined`] where more depends on it. Cost:
//! patterns times rows times triples, bounded by a budget after which the question is given back as
//! too large.

mod aggregate;
mod basic;
mod cast;
pub mod choice;
mod dataset;
mod digest;
mod duration;
mod evaluator;
pub(crate) mod expression;
mod form;
mod function;
mod having;
mod moment;
mod notes;
mod number;
pub mod order;
mod path;
mod select;
mod solution;
mod term_function;
mod time;
pub mod update;
mod value;

use crate::Row;
use choice::Choice;
use evaluator::Evaluator;
use notes::Notes;
use number::Number;
use oxrdf::{Dataset, Literal, NamedNode, Term, Triple, Variable};
use solution::Solution;
use spargebra::algebra::QueryDataset;
use spargebra::{Query, SparqlParser};
use std::collections::HashMap;
use value::Value;

/// Comparisons of a pattern with a triple, or of two rows, after which a question is too large.
pub const WORK_MAX: u64 = 600_000;

/// Rows of an answer above which a question is too large: comparing them would be what costs.
pub const ROWS_MAX: usize = 5_000;

/// Why there is no expected answer.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NaiveError {
    /// The query or update does not parse.
    #[error("the text does not parse: {0}")]
    Parse(String),
    /// It is outside the subset.
    #[error("{0} is not evaluated naively")]
    Unsupported(&'static str),
    /// The specification allows several values of something that the rest depends on.
    #[error("the answer is not determined: {0}")]
    Undetermined(&'static str),
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
    /// Values of which any will do; cells of the rows refer to them ([`choice::number`]).
    pub choices: Vec<Choice>,
    /// Whether something was met in which `spareval` deviates from the specification, and what.
    pub spareval_differs: Option<&'static str>,
}

/// The sort keys of an answer.
#[derive(Clone, Debug, PartialEq)]
pub struct Ordering {
    /// For each key whether it is descending.
    pub descending: Vec<bool>,
    /// For each row of [`Expected::rows`] its keys.
    pub keys: Vec<Vec<order::Cell>>,
}

/// Whether two literals of one datatype are the same number, however they are written.
pub fn have_same_number(one: &Literal, other: &Literal) -> bool {
    let number = |literal: &Literal| match Value::of(&Term::from(literal.clone())) {
        Value::Number(number) => Some(number),
        _ => None,
    };
    let order = number(one)
        .zip(number(other))
        .and_then(|(one, other)| Number::order(&one, &other));
    order.is_some_and(std::cmp::Ordering::is_eq)
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
    answer_beside(dataset, &Beside::default(), query, work_max)
}

/// What there is besides a dataset.
#[derive(Clone, Debug, Default)]
pub struct Beside {
    /// Graphs that are not of the dataset: `GRAPH <name>` finds them, also where they are empty, while `GRAPH ?g` and
    /// dataset clauses do not see them. Windows of streams are such graphs. A triple is there as often as it is listed.
    pub graphs: Vec<(NamedNode, Vec<Triple>)>,
    /// The default graph, where it is another than the dataset's; a triple is there as often as it is listed.
    pub default: Option<Vec<Triple>>,
    /// When triples came (milliseconds), for the function `timestamp`.
    pub times: HashMap<Triple, u64>,
    /// Whether the time of any other triple is `false`, not an error.
    pub is_compat: bool,
}

/// The same with what there is besides.
pub fn answer_beside(
    dataset: &Dataset,
    beside: &Beside,
    query: &str,
    work_max: u64,
) -> Result<Expected, NaiveError> {
    let has_free_columns = selects_all(query);
    let query = SparqlParser::new()
        .parse_query(query)
        .map_err(|error| NaiveError::Parse(error.to_string()))?;
    let base = query.base_iri().cloned();
    let resolve = |text: &str| -> Option<Term> {
        let iri = base.as_ref()?.resolve(text).ok()?;
        Some(NamedNode::new_unchecked(iri.into_inner()).into())
    };
    let resolve = base
        .is_some()
        .then_some(&resolve as &dyn Fn(&str) -> Option<Term>);
    let notes = Notes::default();
    let clause: Option<&QueryDataset> = query.dataset();
    let evaluator = Evaluator::new(dataset, clause, beside, &notes, work_max, resolve);
    let mut expected = evaluator.form(&query)?;
    notes.check()?;
    expected.choices = evaluator.choices();
    expected.spareval_differs = notes.difference();
    expected.has_free_columns = has_free_columns;
    Ok(expected)
}

impl Evaluator<'_> {
    /// The answer to a query of any form.
    fn form(&self, query: &Query) -> Result<Expected, NaiveError> {
        let context = self.outside();
        match query {
            Query::Select { pattern, .. } => {
                let selected = self.selected(pattern, &context)?;
                let variables = selected.projected.unwrap_or_default();
                let slots: Vec<usize> = variables.iter().map(|each| self.slot(each)).collect();
                let row = |solution: &Solution| -> Row {
                    slots.iter().map(|&slot| solution.term(slot)).collect()
                };
                Ok(Expected {
                    variables: variables.into_iter().map(Variable::into_string).collect(),
                    rows: selected.solutions.iter().map(row).collect(),
                    ordering: selected.ordering,
                    is_reduced: selected.is_reduced,
                    offset: selected.offset,
                    limit: selected.limit,
                    ..Expected::nothing()
                })
            }
            Query::Ask { pattern, .. } => {
                let selected = self.selected(pattern, &context)?;
                let given = selected.solutions.len().saturating_sub(selected.offset);
                Ok(Expected {
                    boolean: Some(given > 0 && selected.limit != Some(0)),
                    ..Expected::nothing()
                })
            }
            Query::Construct {
                template, pattern, ..
            } => Ok(Expected {
                variables: form::columns(),
                rows: self.construct(template, pattern, &context)?,
                ..Expected::nothing()
            }),
            Query::Describe { pattern, .. } => Ok(Expected {
                variables: form::columns(),
                rows: self.describe(pattern, &context)?,
                ..Expected::nothing()
            }),
        }
    }
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

impl Expected {
    /// No columns and no rows.
    pub(crate) fn nothing() -> Expected {
        Expected {
            boolean: None,
            variables: Vec::new(),
            has_free_columns: false,
            rows: Vec::new(),
            ordering: None,
            is_reduced: false,
            offset: 0,
            limit: None,
            choices: Vec::new(),
            spareval_differs: None,
        }
    }

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
