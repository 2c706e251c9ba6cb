//! What `spareval` makes of an expression.

use oxrdf::{Dataset, Literal, NamedOrBlankNode, Term, Variable};
use spareval::{QueryEvaluator, QueryResults};
use spargebra::algebra::{Expression, GraphPattern};
use spargebra::term::{GroundTerm, GroundTriple};

/// The peer's name of a column.
pub fn variable(slot: usize) -> Variable {
    Variable::new_unchecked(format!("v{slot}"))
}

/// A constant of the peer.
pub fn peer_term(term: &Term) -> Expression {
    match term {
        Term::NamedNode(iri) => Expression::NamedNode(iri.clone()),
        Term::Literal(literal) => Expression::Literal(literal.clone()),
        _ => unreachable!("constants are IRIs and literals"),
    }
}

fn ground(term: &Term) -> GroundTerm {
    match term {
        Term::NamedNode(iri) => GroundTerm::NamedNode(iri.clone()),
        Term::Literal(literal) => GroundTerm::Literal(literal.clone()),
        Term::Triple(triple) => {
            let NamedOrBlankNode::NamedNode(subject) = &triple.subject else {
                unreachable!("rows hold no blank nodes")
            };
            GroundTerm::Triple(Box::new(GroundTriple {
                subject: subject.clone(),
                predicate: triple.predicate.clone(),
                object: ground(&triple.object),
            }))
        }
        Term::BlankNode(_) => unreachable!("rows hold no blank nodes"),
    }
}

/// The peer's value of an expression in each row; `None` is an error.
pub fn peer_values(
    expression: Expression,
    rows: &[Vec<Term>],
    base: Option<&str>,
) -> Vec<Option<Term>> {
    let width = rows.first().map_or(0, Vec::len);
    let mut variables: Vec<Variable> = (0..width).map(variable).collect();
    variables.push(Variable::new_unchecked("row"));
    let bindings = rows.iter().enumerate().map(|(at, row)| {
        let mut cells: Vec<_> = row.iter().map(|term| Some(ground(term))).collect();
        cells.push(Some(GroundTerm::Literal(Literal::from(at as i64))));
        cells
    });
    let result = Variable::new_unchecked("result");
    let pattern = GraphPattern::Extend {
        inner: Box::new(GraphPattern::Values {
            variables,
            bindings: bindings.collect(),
        }),
        variable: result.clone(),
        expression,
    };
    let base = base.map(|base| oxiri::Iri::parse(base.to_owned()).expect("a base"));
    let query = spargebra::Query::Select {
        dataset: None,
        pattern,
        base_iri: base,
    };
    let evaluator = QueryEvaluator::new().without_optimizations();
    let dataset = Dataset::new();
    let results = evaluator
        .prepare(&query)
        .execute(&dataset)
        .expect("it evaluates");
    let QueryResults::Solutions(solutions) = results else {
        unreachable!("a SELECT")
    };
    let mut values = vec![None; rows.len()];
    for solution in solutions {
        let solution = solution.expect("it evaluates");
        let Some(Term::Literal(row)) = solution.get("row") else {
            unreachable!("bound")
        };
        let row: usize = row.value().parse().expect("a number");
        values[row] = solution.get("result").cloned();
    }
    values
}
