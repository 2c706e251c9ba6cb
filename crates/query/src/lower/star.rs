//! `SELECT *` in a sub-query: the variables in the place of endpoints.
//!
//! `?e` of `SERVICE ?e { ... }` is in scope where that stands, as the variable of `GRAPH` is (SPARQL
//! 1.1 Query section 18.2.1). The parser leaves it out of what it writes for `*`; it is added here,
//! before anything else looks at what sub-queries project.
//!
//! The algebra does not say which projections were a `*`. One was if it lists, in order of the alphabet,
//! all that the parser finds in scope, unless a `SELECT` of the text lists the same: where a text has
//! both, none gets more. Asked only of texts with a `*` and a variable for an endpoint. Costs time
//! linear in the algebra times its depth.

use super::service::endpoints_and_projections;
use crate::guard::token::{TokenKind, Tokens};
use oxrdf::Variable;
use spargebra::algebra::{AggregateExpression, Expression, GraphPattern, OrderExpression};
use std::collections::HashSet;

/// The lists of variables after `SELECT` in a text.
struct Listed<'t>(HashSet<Vec<&'t str>>);

/// What is still to be looked at.
enum Part<'a> {
    Pattern(&'a mut GraphPattern),
    Expression(&'a mut Expression),
}

/// Adds endpoints to the projections of sub-queries that were a `*`.
pub(crate) fn add_endpoints(pattern: &mut GraphPattern, tokens: &Tokens<'_>) {
    if !asks_for_endpoints(tokens) {
        return;
    }
    let listed = Listed::of(tokens);
    let mut pending = vec![Part::Pattern(pattern)];
    while let Some(part) = pending.pop() {
        match part {
            Part::Pattern(pattern) => {
                // From the outside inwards: what is a `*` is asked of projections as they were parsed.
                listed.complete(pattern);
                parts_of_pattern(pattern, &mut pending);
            }
            Part::Expression(expression) => parts_of_expression(expression, &mut pending),
        }
    }
}

/// Whether there is a `SELECT *`, and a `SERVICE ?variable`.
fn asks_for_endpoints(tokens: &Tokens<'_>) -> bool {
    let is_word = |at: usize, words: &[&str]| {
        let slice = tokens.slice(tokens.tokens[at]);
        words.iter().any(|word| word.eq_ignore_ascii_case(slice))
    };
    let (mut has_star, mut has_endpoint) = (false, false);
    for (at, token) in tokens.tokens.iter().enumerate().skip(1) {
        let is_after = |words| is_word(at - 1, words);
        has_star |= is_word(at, &["*"]) && is_after(&["SELECT", "DISTINCT", "REDUCED"]);
        has_endpoint |= token.kind == TokenKind::Variable && is_after(&["SERVICE", "SILENT"]);
    }
    has_star && has_endpoint
}

impl<'t> Listed<'t> {
    fn of(tokens: &Tokens<'t>) -> Listed<'t> {
        let mut all = HashSet::new();
        let mut words = tokens.tokens.iter().map(|token| tokens.slice(*token));
        while words.any(|word| word.eq_ignore_ascii_case("SELECT")) {
            // An `EXISTS` among what is selected has a `SELECT` of its own, after this one.
            let (mut names, mut depth, mut is_named) = (Vec::new(), 0, false);
            for word in words.clone() {
                match word {
                    "(" => depth += 1,
                    ")" => depth -= 1,
                    "{" if depth == 0 => break,
                    _ if depth == 0 || (depth == 1 && is_named) => {
                        names.extend(word.strip_prefix(['?', '$']));
                    }
                    _ => {}
                }
                is_named = word.eq_ignore_ascii_case("AS");
            }
            // None but for a `*`.
            if !names.is_empty() {
                all.insert(names);
            }
        }
        Listed(all)
    }

    /// The variables of a projection, if it was a `*`.
    fn of_star<'a>(&self, pattern: &'a GraphPattern) -> Option<Vec<&'a Variable>> {
        let GraphPattern::Project { inner, variables } = pattern else {
            return None;
        };
        let names: Vec<&str> = variables.iter().map(Variable::as_str).collect();
        let mut in_scope = Vec::new();
        inner.on_in_scope_variable(|variable| in_scope.push(variable));
        in_scope.sort_unstable();
        in_scope.dedup();
        let is_star = in_scope.iter().copied().eq(variables) && !self.0.contains(&names);
        is_star.then_some(in_scope)
    }

    fn complete(&self, pattern: &mut GraphPattern) {
        let Some(mut all) = self.of_star(pattern) else {
            return;
        };
        let mut pending = vec![&*pattern];
        while let Some(GraphPattern::Project { inner, .. }) = pending.pop() {
            let (endpoints, projections) = endpoints_and_projections(inner);
            all.extend(endpoints);
            let stars = projections.into_iter();
            pending.extend(stars.filter(|inner| self.of_star(inner).is_some()));
        }
        all.sort_unstable();
        all.dedup();
        let all = all.into_iter().cloned().collect();
        if let GraphPattern::Project { variables, .. } = pattern {
            *variables = all;
        }
    }
}

fn parts_of_pattern<'a>(pattern: &'a mut GraphPattern, parts: &mut Vec<Part<'a>>) {
    match pattern {
        GraphPattern::Bgp { .. } | GraphPattern::Path { .. } | GraphPattern::Values { .. } => {}
        GraphPattern::Join { left, right }
        | GraphPattern::Lateral { left, right }
        | GraphPattern::Union { left, right }
        | GraphPattern::Minus { left, right } => {
            parts.extend([Part::Pattern(left), Part::Pattern(right)]);
        }
        GraphPattern::LeftJoin {
            left,
            right,
            expression,
        } => {
            parts.extend([Part::Pattern(left), Part::Pattern(right)]);
            parts.extend(expression.as_mut().map(Part::Expression));
        }
        GraphPattern::Filter { expr, inner }
        | GraphPattern::Extend {
            inner,
            expression: expr,
            ..
        } => parts.extend([Part::Pattern(inner), Part::Expression(expr)]),
        GraphPattern::OrderBy { inner, expression } => {
            parts.push(Part::Pattern(inner));
            let keys = expression.iter_mut().map(|key| match key {
                OrderExpression::Asc(key) | OrderExpression::Desc(key) => Part::Expression(key),
            });
            parts.extend(keys);
        }
        GraphPattern::Group {
            inner, aggregates, ..
        } => {
            parts.push(Part::Pattern(inner));
            for (_, aggregate) in aggregates {
                if let AggregateExpression::FunctionCall { expr, .. } = aggregate {
                    parts.push(Part::Expression(expr));
                }
            }
        }
        GraphPattern::Graph { inner, .. }
        | GraphPattern::Service { inner, .. }
        | GraphPattern::Project { inner, .. }
        | GraphPattern::Distinct { inner }
        | GraphPattern::Reduced { inner }
        | GraphPattern::Slice { inner, .. } => parts.push(Part::Pattern(inner)),
    }
}

fn parts_of_expression<'a>(expression: &'a mut Expression, parts: &mut Vec<Part<'a>>) {
    use Expression as E;
    match expression {
        E::NamedNode(_) | E::Literal(_) | E::Variable(_) | E::Bound(_) => {}
        E::Exists(pattern) => parts.push(Part::Pattern(pattern)),
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
        | E::Divide(a, b) => parts.extend([Part::Expression(a), Part::Expression(b)]),
        E::UnaryPlus(a) | E::UnaryMinus(a) | E::Not(a) => parts.push(Part::Expression(a)),
        E::If(a, b, c) => parts.extend([a, b, c].map(|part| Part::Expression(part))),
        E::In(value, list) => {
            parts.push(Part::Expression(value));
            parts.extend(list.iter_mut().map(Part::Expression));
        }
        E::Coalesce(list) | E::FunctionCall(_, list) => {
            parts.extend(list.iter_mut().map(Part::Expression));
        }
    }
}
