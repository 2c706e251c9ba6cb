//! What is said of a query beside its text: terms for its variables, and a part of its solutions.
//!
//! A term that is given for a variable is its value in the whole query, as in RDF4J: as if `VALUES ?name { TERM }`
//! (SPARQL 1.1 Query section 10.2) were the first element of the query's `WHERE` and of each group in it that has
//! the variable, in a branch of `UNION`, within `OPTIONAL`, `MINUS` or other braces. So a filter finds it bound
//! wherever it stands. A sub-query that does not project the variable has another one of the same name.
//!
//! The element is put into the algebra, whose trees are left-deep: the first element of a group
//! is the last one on the way down the left side. Groups to the right of that way are evaluated by themselves and
//! joined with rows that have the value, so the element is left out of those that would keep the same rows
//! without it: plans stay as they are. Cost: a pass over the query for each level of nesting.
//!
//! **A table** of terms is given in the same places ([`give_table`]): as if each row in turn were what is said. A union
//! that would come first is given the table in each of its branches, so that each is planned with it.

use crate::error::{ParseError, ParseErrorKind};
use crate::grammar::abstract_query::{
    Aggregate, Constant, Expression, Form, GraphPattern, Name, NamePattern, Query, TermPattern,
    Terms, TriplePattern,
};
use crate::options::Given;
use crate::position::Position;
use oxrdf::Term;

/// Variables that a message lists at most.
const LISTED_MAX: usize = 12;

/// Adds what is given.
pub(super) fn give(
    query: &mut Query,
    given: &Given,
    terms: &mut Terms<'_>,
) -> Result<(), ParseError> {
    if given.is_sliced() && !matches!(query.form, Form::Select { .. }) {
        return Err(refused(
            "a part of the solutions is given by SELECT alone".to_owned(),
        ));
    }
    let pattern = &mut query.pattern;
    let mut bound: Vec<Bound> = Vec::with_capacity(given.terms.len());
    for (name, term) in &given.terms {
        let variable = bindable(body(pattern), name, terms)?;
        if has_blank_node(term) {
            return Err(refused(format!("?{name} cannot be bound to a blank node")));
        }
        bound.push((variable, Some(terms.constant(term.clone()))));
    }
    if !bound.is_empty() {
        let mut giving = Giving::default();
        giving.put_first(body(pattern), &bound);
    }
    if given.is_sliced() {
        slice(pattern, given);
    }
    Ok(())
}

/// Adds a table of these variables, each of which stands in the query. Whether it stands anywhere where the text has not
/// all of them: there the rows of the table are no longer distinct in what the text has.
pub(super) fn give_table(
    query: &mut Query,
    names: &[String],
    terms: &Terms<'_>,
) -> Result<bool, ParseError> {
    let pattern = &mut query.pattern;
    let mut bound: Vec<Bound> = Vec::with_capacity(names.len());
    for name in names {
        let variable = bindable(body(pattern), name, terms)?;
        if bound.iter().any(|(known, _)| *known == variable) {
            return Err(refused(format!("the table has two columns ?{name}")));
        }
        bound.push((variable, None));
    }
    if asks_others(pattern) {
        return Err(refused(
            "a query with SERVICE cannot be given a table of terms".to_owned(),
        ));
    }
    let mut giving = Giving {
        table: bound.iter().map(|(name, _)| *name).collect(),
        is_partial: false,
    };
    giving.put_first(body(pattern), &bound);
    Ok(giving.is_partial)
}

fn refused(message: String) -> ParseError {
    ParseError {
        kind: ParseErrorKind::Option,
        position: Position::START,
        message,
    }
}

/// A variable of the query that may be given a term.
fn bindable(body: &GraphPattern, name: &str, terms: &Terms<'_>) -> Result<Name, ParseError> {
    let Some(variable) = terms.known(name) else {
        return Err(refused(format!(
            "the query has no variable ?{name} to be bound{}",
            listed(terms.texts())
        )));
    };
    if computes(body, variable) {
        return Err(refused(format!(
            "the query computes ?{name}, which cannot be bound then"
        )));
    }
    Ok(variable)
}

/// Whether another endpoint is asked outside of `EXISTS`.
fn asks_others(pattern: &GraphPattern) -> bool {
    let mut pending = vec![pattern];
    while let Some(next) = pending.pop() {
        if matches!(next, GraphPattern::Service { .. }) {
            return true;
        }
        pending.extend(operands(next));
    }
    false
}

/// As deep as triple terms are nested.
fn has_blank_node(term: &Term) -> bool {
    match term {
        Term::BlankNode(_) => true,
        Term::NamedNode(_) | Term::Literal(_) => false,
        Term::Triple(triple) => triple.subject.is_blank_node() || has_blank_node(&triple.object),
    }
}

/// Some of the variables that there are, for a message.
fn listed(written: &[&str]) -> String {
    let mut names: Vec<&str> = written.to_vec();
    names.sort_unstable();
    let more = if names.len() > LISTED_MAX {
        ", ..."
    } else {
        ""
    };
    names.truncate(LISTED_MAX);
    match names[..] {
        [] => String::new(),
        _ => format!("; it has ?{}{more}", names.join(", ?")),
    }
}

/// A variable and the term that it has; `None`: those of a table.
type Bound = (Name, Option<Constant>);

/// What is put into groups.
#[derive(Default)]
struct Giving {
    /// The columns of the table; none where terms are given.
    table: Vec<Name>,
    /// Whether it stands where some of its variables do not.
    is_partial: bool,
}

/// The outermost `WHERE`, below the modifiers and the one projection that the query itself has.
fn body(pattern: &mut GraphPattern) -> &mut GraphPattern {
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
    at
}

impl Giving {
    /// Makes a row of these terms the first element of a group, and gives them to the groups in it that are
    /// evaluated by themselves.
    fn put_first(&mut self, pattern: &mut GraphPattern, terms: &[Bound]) {
        let is_split =
            !self.table.is_empty() && !terms.iter().any(|(name, _)| is_computed(pattern, *name));
        match pattern {
            GraphPattern::OrderBy { inner, .. }
            | GraphPattern::Extend { inner, .. }
            | GraphPattern::Group { inner, .. }
            | GraphPattern::Filter { inner, .. } => self.put_first(inner, terms),
            GraphPattern::Join { left, right }
            | GraphPattern::LeftJoin { left, right, .. }
            | GraphPattern::Minus { left, right } => {
                self.put_first(left, terms);
                self.settle(right, terms);
            }
            // Joins distribute over unions.
            GraphPattern::Union { left, right } if is_split => {
                self.put_first(left, terms);
                self.put_first(right, terms);
            }
            // The right side sees the rows of the left one.
            GraphPattern::Lateral { left, .. } => self.put_first(left, terms),
            first => {
                self.settle(first, terms);
                let rest = std::mem::take(first);
                *first = GraphPattern::Join {
                    left: Box::new(self.first(terms)),
                    right: Box::new(rest),
                };
            }
        }
    }

    /// Gives terms to a pattern that is evaluated by itself and joined with rows that have them. Nothing is put into
    /// one of which the join keeps the same rows anyway: triples, paths, and unions and joins of such.
    fn settle(&mut self, pattern: &mut GraphPattern, terms: &[Bound]) {
        let is_seen = |term: &&Bound| occurs(pattern, term.0) && !is_computed(pattern, term.0);
        let terms: Vec<Bound> = terms.iter().filter(is_seen).copied().collect();
        let reads = |expression: &Expression| terms.iter().any(|term| reads(expression, term.0));
        let is_in = |pattern: &GraphPattern| terms.iter().any(|term| occurs(pattern, term.0));
        if terms.is_empty() {
            return;
        }
        match pattern {
            GraphPattern::Bgp(_)
            | GraphPattern::Path { .. }
            | GraphPattern::Values { .. }
            | GraphPattern::Given { .. } => {}
            GraphPattern::Join { left, right } | GraphPattern::Union { left, right } => {
                self.settle(left, &terms);
                self.settle(right, &terms);
            }
            GraphPattern::Graph { inner, .. }
            | GraphPattern::Window { inner, .. }
            | GraphPattern::Service { inner, .. }
            | GraphPattern::Distinct { inner }
            | GraphPattern::Reduced { inner }
            | GraphPattern::Project { inner, .. } => self.settle(inner, &terms),
            GraphPattern::Filter { condition, inner } if !reads(condition) => {
                self.settle(inner, &terms);
            }
            GraphPattern::Extend {
                expression, inner, ..
            } if !reads(expression) => self.settle(inner, &terms),
            GraphPattern::LeftJoin {
                left,
                right,
                condition,
            } if !condition.as_ref().is_some_and(reads) && !is_in(right) => {
                self.settle(left, &terms);
            }
            GraphPattern::Minus { left, right } if !is_in(right) => self.settle(left, &terms),
            // Which rows a part of the solutions has depends on those that there are.
            GraphPattern::Slice { inner, .. } => self.put_first(body(inner), &terms),
            GraphPattern::Filter { .. }
            | GraphPattern::Extend { .. }
            | GraphPattern::LeftJoin { .. }
            | GraphPattern::Minus { .. }
            | GraphPattern::Lateral { .. }
            | GraphPattern::Group { .. }
            | GraphPattern::OrderBy { .. } => self.put_first(pattern, &terms),
        }
    }

    /// The element that has these terms.
    fn first(&mut self, terms: &[Bound]) -> GraphPattern {
        if !self.table.is_empty() {
            self.is_partial |= terms.len() < self.table.len();
            let variables = self.table.clone();
            return GraphPattern::Given { variables };
        }
        GraphPattern::Values {
            variables: terms.iter().map(|(name, _)| *name).collect(),
            rows: vec![terms.iter().map(|(_, term)| *term).collect()],
        }
    }
}

/// The patterns that a pattern is made of and that have its variables: of a sub-query, if it projects this one.
fn operands_with(pattern: &GraphPattern, name: Name) -> Vec<&GraphPattern> {
    match pattern {
        GraphPattern::Project { variables, .. } if !variables.contains(&name) => Vec::new(),
        pattern => operands(pattern),
    }
}

/// The patterns that a pattern is made of.
fn operands(pattern: &GraphPattern) -> Vec<&GraphPattern> {
    match pattern {
        GraphPattern::Bgp(_)
        | GraphPattern::Path { .. }
        | GraphPattern::Values { .. }
        | GraphPattern::Given { .. } => Vec::new(),
        GraphPattern::Join { left, right }
        | GraphPattern::Union { left, right }
        | GraphPattern::LeftJoin { left, right, .. }
        | GraphPattern::Minus { left, right }
        | GraphPattern::Lateral { left, right } => vec![left, right],
        GraphPattern::Graph { inner, .. }
        | GraphPattern::Window { inner, .. }
        | GraphPattern::Service { inner, .. }
        | GraphPattern::Distinct { inner }
        | GraphPattern::Reduced { inner }
        | GraphPattern::Slice { inner, .. }
        | GraphPattern::Project { inner, .. }
        | GraphPattern::Filter { inner, .. }
        | GraphPattern::Extend { inner, .. }
        | GraphPattern::OrderBy { inner, .. }
        | GraphPattern::Group { inner, .. } => vec![inner],
    }
}

/// Whether a pattern has this variable, in a triple or an expression. What a sub-query does not project is
/// another one of the same name.
fn occurs(pattern: &GraphPattern, name: Name) -> bool {
    let is_name = |term: &NamePattern| *term == NamePattern::Variable(name);
    let mut pending = vec![pattern];
    while let Some(next) = pending.pop() {
        let is_here = match next {
            GraphPattern::Bgp(triples) => triples.iter().any(|triple| is_in_triple(triple, name)),
            GraphPattern::Path {
                subject, object, ..
            } => is_in_term(subject, name) || is_in_term(object, name),
            GraphPattern::Values { variables, .. } | GraphPattern::Given { variables } => {
                variables.contains(&name)
            }
            GraphPattern::Graph { name, .. } | GraphPattern::Service { name, .. } => is_name(name),
            GraphPattern::Filter { condition, .. } => reads(condition, name),
            GraphPattern::Extend {
                expression,
                variable,
                ..
            } => *variable == name || reads(expression, name),
            GraphPattern::LeftJoin { condition, .. } => {
                let condition = condition.as_ref();
                condition.is_some_and(|condition| reads(condition, name))
            }
            GraphPattern::OrderBy { keys, .. } => {
                keys.iter().any(|key| reads(&key.expression, name))
            }
            GraphPattern::Group { aggregates, .. } => {
                aggregates.iter().any(|(_, aggregate)| match aggregate {
                    Aggregate::Call { argument, .. } => reads(argument, name),
                    Aggregate::CountSolutions { .. } => false,
                })
            }
            _ => false,
        };
        if is_here {
            return true;
        }
        pending.extend(operands_with(next, name));
    }
    false
}

/// Whether an expression has this variable, or a pattern in it.
fn reads(expression: &Expression, name: Name) -> bool {
    let mut pending = vec![expression];
    while let Some(next) = pending.pop() {
        match next {
            Expression::Variable(variable) | Expression::Bound(variable) if *variable == name => {
                return true;
            }
            Expression::Exists(pattern) if occurs(pattern, name) => return true,
            next => next.operands(&mut pending),
        }
    }
    false
}

fn is_in_triple(triple: &TriplePattern, name: Name) -> bool {
    triple.predicate == NamePattern::Variable(name)
        || is_in_term(&triple.subject, name)
        || is_in_term(&triple.object, name)
}

/// As deep as triple terms are nested.
fn is_in_term(term: &TermPattern, name: Name) -> bool {
    match term {
        TermPattern::Variable(variable) => *variable == name,
        TermPattern::Triple(triple) => is_in_triple(triple, name),
        TermPattern::Constant(_) | TermPattern::Blank(_) => false,
    }
}

/// Whether a pattern computes this variable, by `BIND` or `AS`: then it has no other value in it.
fn is_computed(pattern: &GraphPattern, name: Name) -> bool {
    let mut pending = vec![pattern];
    while let Some(next) = pending.pop() {
        if matches!(next, GraphPattern::Extend { variable, .. } if *variable == name) {
            return true;
        }
        pending.extend(operands_with(next, name));
    }
    false
}

/// Whether the group itself computes this variable, outside of the groups in it.
fn computes(mut pattern: &GraphPattern, name: Name) -> bool {
    loop {
        pattern = match pattern {
            GraphPattern::Extend { variable, .. } if *variable == name => return true,
            GraphPattern::OrderBy { inner, .. }
            | GraphPattern::Extend { inner, .. }
            | GraphPattern::Group { inner, .. }
            | GraphPattern::Filter { inner, .. } => inner,
            GraphPattern::Join { left, .. }
            | GraphPattern::LeftJoin { left, .. }
            | GraphPattern::Minus { left, .. }
            | GraphPattern::Lateral { left, .. } => left,
            _ => return false,
        }
    }
}

/// Of the solutions that there are: those from `offset` on, `limit` at most.
fn slice(pattern: &mut GraphPattern, given: &Given) {
    let (offset, limit) = (given.offset, given.limit);
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
