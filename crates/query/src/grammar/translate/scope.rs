//! Which variables a pattern binds.
//!
//! | set | of what | who asks |
//! |---|---|---|
//! | in scope | what a solution may bind (SPARQL 1.1 Query section 18.2.1); the endpoint of a `SERVICE`, too | `SELECT *`, `BIND`, `AS` |
//! | assigned | what `AS` and `VALUES` give a value | `LATERAL`, on whose left side none of it may be in scope (SEP-0006) |

use crate::grammar::abstract_query::{GraphPattern, Name, NamePattern, TermPattern, TriplePattern};
use hashbrown::HashSet;

/// The variables in scope, each once.
pub(crate) fn in_scope(pattern: &GraphPattern) -> Vec<Name> {
    let mut found = Vec::new();
    visit(pattern, &mut |variable| found.push(variable));
    let mut seen = HashSet::with_capacity(found.len());
    found.retain(|variable| seen.insert(*variable));
    found
}

/// Whether a variable is in scope.
pub(crate) fn is_in_scope(pattern: &GraphPattern, name: Name) -> bool {
    let mut is_there = false;
    visit(pattern, &mut |variable| is_there |= variable == name);
    is_there
}

/// Each place in which a variable in scope stands.
fn visit(pattern: &GraphPattern, add: &mut impl FnMut(Name)) {
    let mut pending = vec![pattern];
    while let Some(next) = pending.pop() {
        match next {
            GraphPattern::Bgp(triples) => {
                for triple in triples {
                    of_triple(triple, add);
                }
            }
            GraphPattern::Path {
                subject, object, ..
            } => {
                of_term(subject, add);
                of_term(object, add);
            }
            GraphPattern::Join { left, right }
            | GraphPattern::LeftJoin { left, right, .. }
            | GraphPattern::Lateral { left, right }
            | GraphPattern::Union { left, right } => pending.extend([&**right, &**left]),
            GraphPattern::Graph { name, inner } | GraphPattern::Service { name, inner, .. } => {
                if let NamePattern::Variable(variable) = name {
                    add(*variable);
                }
                pending.push(inner);
            }
            GraphPattern::Extend {
                inner, variable, ..
            } => {
                add(*variable);
                pending.push(inner);
            }
            GraphPattern::Values { variables, .. }
            | GraphPattern::Given { variables }
            | GraphPattern::Project { variables, .. } => {
                variables.iter().copied().for_each(&mut *add);
            }
            GraphPattern::Group {
                variables,
                aggregates,
                ..
            } => {
                let computed = aggregates.iter().map(|(variable, _)| *variable);
                variables
                    .iter()
                    .copied()
                    .chain(computed)
                    .for_each(&mut *add);
            }
            GraphPattern::Minus { left: inner, .. }
            | GraphPattern::Window { inner, .. }
            | GraphPattern::Filter { inner, .. }
            | GraphPattern::OrderBy { inner, .. }
            | GraphPattern::Distinct { inner }
            | GraphPattern::Reduced { inner }
            | GraphPattern::Slice { inner, .. } => pending.push(inner),
        }
    }
}

fn of_triple(triple: &TriplePattern, add: &mut impl FnMut(Name)) {
    of_term(&triple.subject, add);
    if let NamePattern::Variable(variable) = triple.predicate {
        add(variable);
    }
    of_term(&triple.object, add);
}

/// As deep as triple terms are nested.
fn of_term(term: &TermPattern, add: &mut impl FnMut(Name)) {
    match term {
        TermPattern::Variable(variable) => add(*variable),
        TermPattern::Triple(triple) => of_triple(triple, add),
        TermPattern::Constant(_) | TermPattern::Blank(_) => {}
    }
}

/// The variables that `AS` and `VALUES` give a value, as far as they are seen outside.
pub(super) fn assigned(pattern: &GraphPattern) -> HashSet<Name> {
    let mut found = HashSet::new();
    let mut pending = vec![pattern];
    while let Some(next) = pending.pop() {
        match next {
            GraphPattern::Bgp(_) | GraphPattern::Path { .. } => {}
            GraphPattern::Values { variables, .. } | GraphPattern::Given { variables } => {
                found.extend(variables);
            }
            GraphPattern::Join { left, right }
            | GraphPattern::LeftJoin { left, right, .. }
            | GraphPattern::Lateral { left, right }
            | GraphPattern::Union { left, right }
            | GraphPattern::Minus { left, right } => pending.extend([&**left, &**right]),
            GraphPattern::Extend {
                inner, variable, ..
            } => {
                found.insert(*variable);
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
                found.extend(aggregates.iter().map(|(variable, _)| *variable));
                found.extend(kept(inner, variables));
            }
            GraphPattern::Graph { inner, .. }
            | GraphPattern::Window { inner, .. }
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
fn kept(inner: &GraphPattern, variables: &[Name]) -> impl Iterator<Item = Name> {
    let inner = assigned(inner);
    let variables = variables.iter().copied();
    variables.filter(move |variable| inner.contains(variable))
}
