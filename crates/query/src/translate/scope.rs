//! Which variables a pattern binds.
//!
//! | set | of what | who asks |
//! |---|---|---|
//! | in scope | what a solution may bind (SPARQL 1.1 Query section 18.2.1); the endpoint of a `SERVICE`, too | `SELECT *`, `BIND`, `AS` |
//! | assigned | what `AS` and `VALUES` give a value | `LATERAL`, on whose left side none of it may be in scope (SEP-0006) |

use hashbrown::HashSet;
use oxrdf::Variable;
use spargebra::algebra::GraphPattern;
use spargebra::term::NamedNodePattern;

/// The variables in scope, each once.
pub(crate) fn in_scope(pattern: &GraphPattern) -> Vec<&Variable> {
    let mut seen = HashSet::new();
    let mut found = Vec::new();
    let mut add = |variable| {
        if seen.insert(variable) {
            found.push(variable);
        }
    };
    pattern.on_in_scope_variable(&mut add);
    endpoints(pattern, &mut add);
    found
}

/// The variables in the place of endpoints, which the library leaves out.
fn endpoints<'p>(pattern: &'p GraphPattern, add: &mut impl FnMut(&'p Variable)) {
    let mut pending = vec![pattern];
    while let Some(next) = pending.pop() {
        match next {
            GraphPattern::Service { name, inner, .. } => {
                if let NamedNodePattern::Variable(variable) = name {
                    add(variable);
                }
                pending.push(inner);
            }
            GraphPattern::Join { left, right }
            | GraphPattern::LeftJoin { left, right, .. }
            | GraphPattern::Lateral { left, right }
            | GraphPattern::Union { left, right } => pending.extend([&**left, &**right]),
            GraphPattern::Minus { left: inner, .. }
            | GraphPattern::Filter { inner, .. }
            | GraphPattern::Extend { inner, .. }
            | GraphPattern::Graph { inner, .. }
            | GraphPattern::OrderBy { inner, .. }
            | GraphPattern::Distinct { inner }
            | GraphPattern::Reduced { inner }
            | GraphPattern::Slice { inner, .. } => pending.push(inner),
            // What a sub-query projects is listed there.
            GraphPattern::Project { .. }
            | GraphPattern::Group { .. }
            | GraphPattern::Bgp { .. }
            | GraphPattern::Path { .. }
            | GraphPattern::Values { .. } => {}
        }
    }
}

/// The variables that `AS` and `VALUES` give a value, as far as they are seen outside.
pub(super) fn assigned(pattern: &GraphPattern) -> HashSet<&Variable> {
    let mut found = HashSet::new();
    let mut pending = vec![pattern];
    while let Some(next) = pending.pop() {
        match next {
            GraphPattern::Bgp { .. } | GraphPattern::Path { .. } => {}
            GraphPattern::Values { variables, .. } => found.extend(variables),
            GraphPattern::Join { left, right }
            | GraphPattern::LeftJoin { left, right, .. }
            | GraphPattern::Lateral { left, right }
            | GraphPattern::Union { left, right }
            | GraphPattern::Minus { left, right } => pending.extend([&**left, &**right]),
            GraphPattern::Extend {
                inner, variable, ..
            } => {
                found.insert(variable);
                pending.push(inner);
            }
            GraphPattern::Project { variables, inner } => {
                found.extend(kept(inner, variables));
            }
            GraphPattern::Group {
                variables,
                aggregates,
                inner,
            } => {
                found.extend(aggregates.iter().map(|(variable, _)| variable));
                found.extend(kept(inner, variables));
            }
            GraphPattern::Graph { inner, .. }
            | GraphPattern::Service { inner, .. }
            | GraphPattern::Filter { inner, .. }
            | GraphPattern::OrderBy { inner, .. }
            | GraphPattern::Distinct { inner }
            | GraphPattern::Reduced { inner }
            | GraphPattern::Slice { inner, .. } => pending.push(inner),
        }
    }
    found
}

/// Those that are among these.
fn kept<'p>(
    inner: &'p GraphPattern,
    variables: &'p [Variable],
) -> impl Iterator<Item = &'p Variable> {
    let inner = assigned(inner);
    inner
        .into_iter()
        .filter(|variable| variables.contains(variable))
}
