//! The second oracle: the same question answered by `spareval`, over the same dataset.
//!
//! It shares the grammar with the naive evaluator (`spargebra`), and nothing else: joins, filters
//! and expressions are other people's. Its optimiser is off for wide queries: it sees variables of an
//! outer group in a `BIND` of an `OPTIONAL`, and takes for bound in a sub-query what is bound outside.
//! Three things are
//! taken off its hands, because it is known to treat them otherwise than specified: the merge of several `FROM` graphs (it repeats shared
//! triples), the order (its comparison of literals of mixed types is not transitive, on which
//! Rust's sort may panic) and the slice, which says nothing about a bag without an order.
//!
//! Without its optimiser it may take for ever over what the naive evaluator answers at once; so what
//! it reads is bounded, and [`GAVE_UP`] is its answer then.

use crate::{Answer, Row, TRIPLE_COLUMNS};
use oxrdf::{Dataset, GraphName, Quad, Term, Triple};
use spareval::{InternalQuad, QueryEvaluator, QueryResults, QueryableDataset};
use spargebra::algebra::{GraphPattern, QueryDataset};
use spargebra::{Query, SparqlParser};
use std::cell::Cell;
use std::collections::HashSet;
use std::rc::Rc;

/// The error of an evaluation that was given up.
pub const GAVE_UP: &str = "too much to read";

/// What is read of a dataset before an evaluation is given up: quads, and ten for each look-up.
const READ_MAX: u64 = 2_000_000;

/// All rows of a `SELECT`, unordered and before `OFFSET` and `LIMIT`; the answer of an `ASK`; each
/// triple of a `CONSTRUCT` or `DESCRIBE` once.
pub fn answer(dataset: &Dataset, query: &str) -> Result<Answer, String> {
    answer_by(
        &QueryEvaluator::new().without_optimizations(),
        dataset,
        query,
    )
}

/// The same with its optimiser, which larger basic graph patterns need.
pub fn answer_optimized(dataset: &Dataset, query: &str) -> Result<Answer, String> {
    answer_by(&QueryEvaluator::new(), dataset, query)
}

/// The same as [`answer_optimized`], however much is read.
pub(crate) fn answer_unbounded(dataset: &Dataset, query: &str) -> Result<Answer, String> {
    answer_within(&QueryEvaluator::new(), dataset, query, u64::MAX)
}

fn answer_by(evaluator: &QueryEvaluator, dataset: &Dataset, query: &str) -> Result<Answer, String> {
    answer_within(evaluator, dataset, query, READ_MAX)
}

fn answer_within(
    evaluator: &QueryEvaluator,
    dataset: &Dataset,
    query: &str,
    read_max: u64,
) -> Result<Answer, String> {
    let parsed = SparqlParser::new()
        .parse_query(query)
        .map_err(|error| error.to_string())?;
    let (query, clause) = bare(parsed);
    let narrowed = clause.map(|clause| narrow(dataset, &clause));
    let prepared = evaluator.prepare(&query);
    let left = Rc::new(Cell::new(read_max));
    let bounded = Bounded {
        dataset: narrowed.as_ref().unwrap_or(dataset),
        left: Rc::clone(&left),
    };
    let results = prepared.execute(bounded);
    let answer = results
        .map_err(|error| error.to_string())
        .and_then(collected);
    // Within an expression the error may have become a value.
    if left.get() == 0 {
        return Err(GAVE_UP.to_owned());
    }
    answer
}

/// A dataset of which so much may be read.
struct Bounded<'d> {
    dataset: &'d Dataset,
    left: Rc<Cell<u64>>,
}

/// All that may be read was read.
#[derive(Debug, thiserror::Error)]
#[error("{GAVE_UP}")]
struct TooMuch;

/// Takes steps off; an error when none are left.
fn spend(left: &Cell<u64>, steps: u64) -> Result<(), TooMuch> {
    left.set(left.get().saturating_sub(steps));
    if left.get() == 0 {
        Err(TooMuch)
    } else {
        Ok(())
    }
}

type TermOf<'d> = <&'d Dataset as QueryableDataset<'d>>::InternalTerm;

impl<'d> QueryableDataset<'d> for Bounded<'d> {
    type InternalTerm = TermOf<'d>;
    type Error = TooMuch;

    fn internal_quads_for_pattern(
        &self,
        subject: Option<&TermOf<'d>>,
        predicate: Option<&TermOf<'d>>,
        object: Option<&TermOf<'d>>,
        graph_name: Option<Option<&TermOf<'d>>>,
    ) -> impl Iterator<Item = Result<InternalQuad<TermOf<'d>>, TooMuch>> + use<'d> {
        let dataset = self.dataset;
        let refused = spend(&self.left, 10).err();
        let quads = dataset.internal_quads_for_pattern(subject, predicate, object, graph_name);
        let left = Rc::clone(&self.left);
        let given = quads.map(move |quad| {
            spend(&left, 1)?;
            let Ok(quad) = quad;
            Ok(quad)
        });
        refused.map(Err).into_iter().chain(given)
    }

    fn internalize_term(&self, term: Term) -> Result<TermOf<'d>, TooMuch> {
        let Ok(term) = self.dataset.internalize_term(term);
        Ok(term)
    }

    fn externalize_term(&self, term: TermOf<'d>) -> Result<Term, TooMuch> {
        let Ok(term) = self.dataset.externalize_term(term);
        Ok(term)
    }
}

fn collected(results: QueryResults<'_>) -> Result<Answer, String> {
    match results {
        QueryResults::Boolean(value) => Ok(Answer::Boolean(value)),
        QueryResults::Graph(triples) => {
            let triples: Result<HashSet<Triple>, _> = triples.collect();
            let row = |triple: Triple| -> Row {
                vec![
                    Some(triple.subject.into()),
                    Some(triple.predicate.into()),
                    Some(triple.object),
                ]
            };
            Ok(Answer::Rows {
                variables: TRIPLE_COLUMNS.map(str::to_owned).to_vec(),
                rows: triples
                    .map_err(|error| error.to_string())?
                    .into_iter()
                    .map(row)
                    .collect(),
            })
        }
        QueryResults::Solutions(solutions) => {
            let names = solutions.variables().iter();
            let variables: Vec<String> = names.map(|name| name.as_str().to_owned()).collect();
            let mut rows: Vec<Row> = Vec::new();
            for solution in solutions {
                let solution = solution.map_err(|error| error.to_string())?;
                rows.push(
                    (0..variables.len())
                        .map(|index| solution.get(index).cloned())
                        .collect(),
                );
            }
            Ok(Answer::Rows { variables, rows })
        }
    }
}

/// The query without its dataset clause; a `SELECT` without its slice and order too.
fn bare(mut query: Query) -> (Query, Option<QueryDataset>) {
    let (Query::Select { dataset, .. }
    | Query::Ask { dataset, .. }
    | Query::Construct { dataset, .. }
    | Query::Describe { dataset, .. }) = &mut query;
    let clause = dataset.take();
    let query = match query {
        Query::Select {
            dataset,
            pattern,
            base_iri,
        } => Query::Select {
            dataset,
            pattern: without_order(without_slice(pattern)),
            base_iri,
        },
        other => other,
    };
    (query, clause)
}

fn without_slice(pattern: GraphPattern) -> GraphPattern {
    match pattern {
        GraphPattern::Slice { inner, .. } => *inner,
        other => other,
    }
}

fn without_order(pattern: GraphPattern) -> GraphPattern {
    match pattern {
        GraphPattern::Distinct { inner } => GraphPattern::Distinct {
            inner: Box::new(without_order(*inner)),
        },
        GraphPattern::Reduced { inner } => GraphPattern::Reduced {
            inner: Box::new(without_order(*inner)),
        },
        GraphPattern::Project { inner, variables } => GraphPattern::Project {
            inner: Box::new(without_order(*inner)),
            variables,
        },
        GraphPattern::OrderBy { inner, .. } => *inner,
        other => other,
    }
}

/// The dataset that a clause makes of another one. A `FROM NAMED` graph without triples is lost,
/// which only `GRAPH ?g {}` could tell.
pub fn narrow(dataset: &Dataset, clause: &QueryDataset) -> Dataset {
    let mut narrowed = Dataset::new();
    for quad in dataset {
        let GraphName::NamedNode(graph) = quad.graph_name.into_owned() else {
            continue;
        };
        if clause.named.iter().flatten().any(|name| *name == graph) {
            narrowed.insert(quad);
        }
        if clause.default.contains(&graph) {
            let merged = Quad {
                graph_name: GraphName::DefaultGraph,
                ..quad.into_owned()
            };
            narrowed.insert(&merged);
        }
    }
    narrowed
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graph;

    #[test]
    fn what_reads_too_much_is_given_up() {
        let triples = (0..40).map(|n| format!(":a{n} :p :a{n} . "));
        let text = "PREFIX : <http://e/> ".to_owned() + &triples.collect::<Vec<_>>().concat();
        let dataset = graph::parse(&text).unwrap();
        let evaluator = QueryEvaluator::new().without_optimizations();
        for query in [
            "SELECT ?s { ?s ?p ?o }",
            "SELECT ?s { VALUES ?s { 1 } FILTER(!EXISTS { ?a ?b ?c FILTER(?b = ?c) }) }",
        ] {
            let within = |most| answer_within(&evaluator, &dataset, query, most);
            assert_eq!(within(30), Err(GAVE_UP.to_owned()), "{query}");
            assert!(within(100).is_ok(), "{query}");
        }
    }

    #[test]
    fn shared_triples_of_two_graphs_are_merged() {
        let text = "PREFIX : <http://e/> GRAPH :g { :a :b :c } GRAPH :h { :a :b :c }";
        let query =
            "SELECT ?s FROM <http://e/g> FROM <http://e/h> { ?s ?p ?o } ORDER BY ?s LIMIT 9";
        let answer = answer(&graph::parse(text).unwrap(), query).unwrap();
        let Answer::Rows { variables, rows } = answer else {
            panic!("a SELECT gives rows")
        };
        assert_eq!((variables, rows.len()), (vec!["s".to_owned()], 1));
    }
}
