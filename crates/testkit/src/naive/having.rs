//! `HAVING` that names an alias of its `SELECT`: by the letter the alias is unbound there; users
//! expect it to be seen as `ORDER BY` sees it, and the engine agrees with them. So do we: the filter
//! of the groups is taken out from below the aliases and put around the last that it names.

use oxrdf::Variable;
use spargebra::algebra::{Expression, GraphPattern};

/// The pattern that is meant by an alias (an `Extend`) that the `HAVING` below it names; `None` where
/// it does not.
pub(super) fn after_alias(pattern: &GraphPattern) -> Option<GraphPattern> {
    let GraphPattern::Extend { variable, .. } = pattern else {
        return None;
    };
    let mut below = pattern;
    let condition = loop {
        below = match below {
            GraphPattern::Extend { inner, .. } | GraphPattern::Join { left: inner, .. } => inner,
            GraphPattern::Filter { expr, inner }
                if matches!(**inner, GraphPattern::Group { .. }) =>
            {
                break expr;
            }
            _ => return None,
        };
    };
    names(condition, variable).then(|| GraphPattern::Filter {
        expr: condition.clone(),
        inner: Box::new(without_having(pattern)),
    })
}

fn without_having(pattern: &GraphPattern) -> GraphPattern {
    match pattern {
        GraphPattern::Extend {
            inner,
            variable,
            expression,
        } => GraphPattern::Extend {
            inner: Box::new(without_having(inner)),
            variable: variable.clone(),
            expression: expression.clone(),
        },
        GraphPattern::Join { left, right } => GraphPattern::Join {
            left: Box::new(without_having(left)),
            right: right.clone(),
        },
        GraphPattern::Filter { inner, .. } => (**inner).clone(),
        _ => pattern.clone(),
    }
}

/// Whether an expression reads a variable, not counting the patterns in it.
fn names(expression: &Expression, variable: &Variable) -> bool {
    use Expression as E;
    let one = |each: &Expression| names(each, variable);
    match expression {
        E::Variable(read) | E::Bound(read) => read == variable,
        E::NamedNode(_) | E::Literal(_) | E::Exists(_) => false,
        E::Or(a, b)
        | E::And(a, b)
        | E::SameTerm(a, b)
        | E::Equal(a, b)
        | E::Less(a, b)
        | E::LessOrEqual(a, b)
        | E::Greater(a, b)
        | E::GreaterOrEqual(a, b)
        | E::Add(a, b)
        | E::Subtract(a, b)
        | E::Multiply(a, b)
        | E::Divide(a, b) => one(a) || one(b),
        E::UnaryPlus(a) | E::UnaryMinus(a) | E::Not(a) => one(a),
        E::If(a, b, c) => one(a) || one(b) || one(c),
        E::In(value, list) => one(value) || list.iter().any(one),
        E::Coalesce(list) | E::FunctionCall(_, list) => list.iter().any(one),
    }
}
