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

use crate::grammar::abstract_query::{Expression, GraphPattern, Name};

/// Puts the `HAVING` among the links of a spine, outermost first, behind the last alias that it names.
pub(super) fn after_aliases(links: &mut [&GraphPattern]) {
    let having = links.iter().enumerate().find_map(|(at, link)| match link {
        GraphPattern::Filter { condition, inner } if is_grouped(inner) => Some((at, condition)),
        _ => None,
    });
    let Some((having, condition)) = having else {
        return;
    };
    let named = variables(condition);
    // `SELECT` and `VALUES` stand around it: the modifiers further out make no alias.
    let is_named = |link: &&GraphPattern| matches!(link, GraphPattern::Extend { variable, .. } if named.contains(variable));
    if let Some(alias) = links[..having].iter().position(is_named) {
        links[alias..=having].rotate_right(1);
    }
}

fn is_grouped(pattern: &GraphPattern) -> bool {
    matches!(pattern, GraphPattern::Group { .. })
}

/// The variables that an expression reads of its row.
fn variables(expression: &Expression) -> Vec<Name> {
    let mut variables = Vec::new();
    let mut pending = vec![expression];
    while let Some(next) = pending.pop() {
        match next {
            Expression::Variable(variable) | Expression::Bound(variable) => {
                variables.push(*variable);
            }
            next => next.operands(&mut pending),
        }
    }
    variables
}
