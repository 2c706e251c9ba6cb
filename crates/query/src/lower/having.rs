//! `HAVING` that names what `SELECT` computes: `SELECT ?c (COUNT(*) AS ?n) ... HAVING(?n > 3)`.
//!
//! By the letter `HAVING` is evaluated before `SELECT` (SPARQL 1.1 Query section 18.2.4.1), where
//! `?n` is unbound, so the answer is always empty. People write it all the same, since `ORDER BY ?n`
//! may. So a condition that names an alias which nothing else binds is evaluated after that alias, over
//! the row that `ORDER BY` sees. Any other condition stays where the specification has it: it is
//! cheaper there, and means the same.
//!
//! The parser has refused an alias whose name the groups bind. The condition is moved and the alias is
//! not copied: the text of a query cannot grow by it, and `RAND()` is drawn once. A name within an
//! `EXISTS` of the condition is that pattern's own, and moves nothing.

use oxrdf::Variable;
use spargebra::algebra::{Expression, GraphPattern};

/// Puts the `HAVING` among the links of a spine, outermost first, behind the last alias that it names.
pub(super) fn after_aliases(links: &mut [&GraphPattern]) {
    let having = links.iter().enumerate().find_map(|(at, link)| match link {
        GraphPattern::Filter { expr, inner } if is_grouped(inner) => Some((at, expr)),
        _ => None,
    });
    let Some((having, condition)) = having else {
        return;
    };
    let named = variables(condition);
    // `SELECT` and `VALUES` stand around it: the modifiers further out make no alias.
    let is_named = |link: &&GraphPattern| matches!(link, GraphPattern::Extend { variable, .. } if named.contains(&variable));
    if let Some(alias) = links[..having].iter().position(is_named) {
        links[alias..=having].rotate_right(1);
    }
}

fn is_grouped(pattern: &GraphPattern) -> bool {
    matches!(pattern, GraphPattern::Group { .. })
}

/// The variables that an expression reads of its row.
fn variables(expression: &Expression) -> Vec<&Variable> {
    let mut variables = Vec::new();
    let mut pending = vec![expression];
    while let Some(next) = pending.pop() {
        match next {
            Expression::Variable(variable) | Expression::Bound(variable) => {
                variables.push(variable);
            }
            next => operands(next, &mut pending),
        }
    }
    variables
}

/// Adds the expressions that an expression is made of; a pattern in it is none.
pub(super) fn operands<'e>(expression: &'e Expression, into: &mut Vec<&'e Expression>) {
    use Expression as E;
    match expression {
        E::Variable(_) | E::Bound(_) | E::NamedNode(_) | E::Literal(_) | E::Exists(_) => {}
        E::Or(a, b)
        | E::And(a, b)
        | E::Equal(a, b)
        | E::SameTerm(a, b)
        | E::Greater(a, b)
        | E::GreaterOrEqual(a, b)
        | E::Less(a, b)
        | E::LessOrEqual(a, b)
        | E::Add(a, b)
        | E::Subtract(a, b)
        | E::Multiply(a, b)
        | E::Divide(a, b) => into.extend([&**a, &**b]),
        E::UnaryPlus(a) | E::UnaryMinus(a) | E::Not(a) => into.push(a),
        E::If(a, b, c) => into.extend([&**a, &**b, &**c]),
        E::In(value, list) => {
            into.push(value);
            into.extend(list);
        }
        E::Coalesce(list) | E::FunctionCall(_, list) => into.extend(list),
    }
}
