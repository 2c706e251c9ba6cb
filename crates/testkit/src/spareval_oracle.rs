//! The second oracle: the same question answered by `spareval`, over the same dataset.
//!
//! It shares the grammar with the naive evaluator (`spargebra`), and nothing else: joins, filters
//! and expressions are other people's. Its optimiser is off for wide queries: it sees variables of an
//! outer group in a `BIND` of an `OPTIONAL`, and takes for bound in a sub-query what is bound outside.
//! Three things are
//! taken off its hands, because it is known to treat them otherwise than specified: the merge of several `FROM` graphs (it repeats shared
//! triples), the order (its comparison of literals of mixed types is not transitive, on which
//! Rust's sort may panic) and the slice, which says nothing about a bag without an order.

use crate::{Answer, Row, TRIPLE_COLUMNS};
use oxrdf::{Dataset, GraphName, Quad, Triple};
use spareval::{QueryEvaluator, QueryResults};
use spargebra::algebra::{GraphPattern, QueryDataset};
use spargebra::{Query, SparqlParser};
use std::collections::HashSet;

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

fn answer_by(evaluator: &QueryEvaluator, dataset: &Dataset, query: &str) -> Result<Answer, String> {
    let parsed = SparqlParser::new()
        .parse_query(query)
        .map_err(|error| error.to_string())?;
    let (query, clause) = bare(parsed);
    let narrowed = clause.map(|clause| narrow(dataset, &clause));
    let prepared = evaluator.prepare(&query);
    let results = prepared.execute(narrowed.as_ref().unwrap_or(dataset));
    collected(results.map_err(|error| error.to_string())?)
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
