//! What is said of a query beside its text: terms for its variables, and a part of its solutions.
//!
//! A term that is given for a variable means what `VALUES ?name { TERM }` means as the first element of
//! the query's `WHERE` (SPARQL 1.1 Query section 10.2): it is joined with what follows, so `OPTIONAL`,
//! `FILTER`, `EXISTS` and `MINUS` of the same group find it bound, groups are made of what is left, and a
//! sub-query that does not project the variable does not see it.
//!
//! The element is put into the parser's algebra, whose trees are left-deep: the first element of `WHERE`
//! is the last one on the way down the left side, below the modifiers and the one projection that the
//! query itself has.

use crate::parse::{Given, ParseError, ParseErrorKind};
use crate::position::Position;
use hashbrown::HashSet;
use oxrdf::Variable;
use spargebra::Query;
use spargebra::algebra::GraphPattern;
use spargebra::term::GroundTerm;

/// Adds what is given. `written` are the names of the variables in the text.
pub(super) fn give(
    query: &mut Query,
    given: &Given,
    written: &HashSet<&str>,
) -> Result<(), ParseError> {
    let refused = |message: String| ParseError {
        kind: ParseErrorKind::Option,
        position: Position::START,
        message,
    };
    if given.is_sliced() && !matches!(query, Query::Select { .. }) {
        return Err(refused(
            "a part of the solutions is given by SELECT alone".to_owned(),
        ));
    }
    let mut variables = Vec::with_capacity(given.terms.len());
    let mut row = Vec::with_capacity(given.terms.len());
    for (name, term) in &given.terms {
        if !written.contains(name.as_str()) {
            return Err(refused(format!(
                "the query has no variable ?{name} to be bound"
            )));
        }
        let term = GroundTerm::try_from(term.clone());
        let term =
            term.map_err(|()| refused(format!("?{name} cannot be bound to a blank node")))?;
        variables.push(Variable::new_unchecked(name));
        row.push(Some(term));
    }
    let (Query::Select { pattern, .. }
    | Query::Construct { pattern, .. }
    | Query::Describe { pattern, .. }
    | Query::Ask { pattern, .. }) = query;
    if !variables.is_empty() {
        let first = first_of_where(pattern);
        let rest = std::mem::take(first);
        *first = GraphPattern::Join {
            left: Box::new(GraphPattern::Values {
                variables,
                bindings: vec![row],
            }),
            right: Box::new(rest),
        };
    }
    if given.is_sliced() {
        slice(pattern, given);
    }
    Ok(())
}

/// The first element of the outermost `WHERE`.
fn first_of_where(pattern: &mut GraphPattern) -> &mut GraphPattern {
    let mut at = pattern;
    while let GraphPattern::Slice { inner, .. }
    | GraphPattern::Distinct { inner }
    | GraphPattern::Reduced { inner } = at
    {
        at = inner;
    }
    if let GraphPattern::Project { inner, .. } = at {
        at = inner;
    }
    loop {
        at = match at {
            GraphPattern::OrderBy { inner: left, .. }
            | GraphPattern::Extend { inner: left, .. }
            | GraphPattern::Group { inner: left, .. }
            | GraphPattern::Filter { inner: left, .. }
            | GraphPattern::Join { left, .. }
            | GraphPattern::LeftJoin { left, .. }
            | GraphPattern::Minus { left, .. }
            | GraphPattern::Lateral { left, .. } => left,
            first => return first,
        };
    }
}

/// Of the solutions that there are: those from `offset` on, `limit` at most.
fn slice(pattern: &mut GraphPattern, given: &Given) {
    let count = |count: u64| usize::try_from(count).unwrap_or(usize::MAX);
    let (offset, limit) = (count(given.offset), given.limit.map(count));
    let whole = std::mem::take(pattern);
    let (inner, start, length) = match whole {
        GraphPattern::Slice {
            inner,
            start,
            length,
        } => (inner, start, length),
        whole => (Box::new(whole), 0, None),
    };
    let left = length.map(|length| length.saturating_sub(offset));
    *pattern = GraphPattern::Slice {
        inner,
        start: start.saturating_add(offset),
        length: match (left, limit) {
            (Some(left), Some(limit)) => Some(left.min(limit)),
            (left, limit) => left.or(limit),
        },
    };
}
